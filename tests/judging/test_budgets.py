"""Budgets gate outside the score; a warning fails nothing."""

from __future__ import annotations

import pytest

from mcptest_engine.core.results import FailureKind
from mcptest_engine.judging.budgets import judge_budgets, response_tokens


def answer(duration_ms=612.0, result=None):
    return {"duration_ms": duration_ms, "result": result}


def failure_of(outcome):
    assert outcome.failure is not None
    return outcome.failure


@pytest.mark.parametrize(
    ("duration", "budget", "message"),
    [
        (612.0, 500, "duration budget exceeded: 612ms > 500ms (max_duration_ms)"),
        (612.4, 500, "duration budget exceeded: 612ms > 500ms (max_duration_ms)"),
        (500.3, 500, "duration budget exceeded: 500.3ms > 500ms (max_duration_ms)"),
        (0.7512, 0.75, "duration budget exceeded: 1ms > 0.75ms (max_duration_ms)"),
    ],
)
def test_a_duration_beyond_its_budget_fails(duration, budget, message):
    """Upstream facts 2.4: the wording."""
    outcome = judge_budgets({"max_duration_ms": budget}, answer(duration))
    assert failure_of(outcome).kind is FailureKind.BUDGET
    assert failure_of(outcome).message == message


def test_what_equals_the_budget_fits():
    assert judge_budgets({"max_duration_ms": 500}, answer(500.0)).failure is None
    texts = {"content": [{"type": "text", "text": "x" * 40}]}
    assert judge_budgets({"max_response_tokens": 10}, answer(1.0, texts)).failure is None


def test_a_response_of_too_many_tokens_fails():
    """A quarter of the characters, rounded up."""
    texts = {"content": [{"type": "text", "text": "x" * 40}, {"type": "text", "text": "y"}]}
    outcome = judge_budgets({"max_response_tokens": 10}, answer(1.0, texts))
    assert failure_of(outcome).message == "response token budget exceeded: 11 > 10 (max_response_tokens)"


def test_a_budget_that_only_warns_is_a_warning():
    expect = {"max_duration_ms": {"budget": 1, "mode": "warn"}, "max_response_tokens": {"budget": 0, "mode": "fail"}}
    outcome = judge_budgets(expect, answer(2.0, {"content": [{"text": "x"}]}))
    assert outcome.warnings == ("duration budget exceeded: 2ms > 1ms (max_duration_ms)",)
    assert failure_of(outcome).message == "response token budget exceeded: 1 > 0 (max_response_tokens)"


def test_two_budgets_exceeded_are_told_together():
    outcome = judge_budgets({"max_duration_ms": 1, "max_response_tokens": 0}, answer(2.0, {"content": [{"text": "x"}]}))
    assert failure_of(outcome).message == (
        "duration budget exceeded: 2ms > 1ms (max_duration_ms);"
        " response token budget exceeded: 1 > 0 (max_response_tokens)"
    )


@pytest.mark.parametrize(
    ("result", "tokens"),
    [
        ({"content": [{"text": "abcde"}, {"type": "image", "data": "zzzz"}]}, 2),
        ({"contents": [{"uri": "a", "text": "abcd"}, {"uri": "b", "blob": "zzzz"}]}, 1),
        ({"messages": [{"role": "user", "content": {"type": "text", "text": "abcd"}}]}, 1),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "abcd"}]}]}, 1),
        ({"content": [{"type": "resource", "resource": {"uri": "a", "text": "abcdefgh"}}]}, 2),
        ({"content": [None, 5, {"text": 5}]}, 0),
        ({"content": "abcd"}, 0),
        ({"messages": [None, {"content": None}]}, 0),
        (None, 0),
        ([], 0),
    ],
)
def test_tokens_are_counted_over_all_text_content(result, tokens):
    """MCP 2025-11-25: tools, resources, prompts. Whatever a server sends, counting does not raise."""
    assert response_tokens({"result": result}) == tokens


def test_without_a_result_there_are_no_tokens():
    assert response_tokens({"error": {"code": 1}}) == 0


@pytest.mark.parametrize(
    ("output", "tokens"),
    [
        (None, 0),
        ("x" * 9, 3),
        ({"content": [{"type": "text", "text": "x" * 8}], "structuredContent": {"more": "x" * 99}}, 2),
        ({"stars": 900}, 4),
        ([1, 2], 2),
    ],
)
def test_the_combined_output_of_a_composition_is_counted_as_it_is(output, tokens):
    """A budget that nobody judges would be green for nothing."""
    envelope = {"composition": {"ran": True}, "output": output, "duration_ms": 1.0}
    assert response_tokens(envelope) == tokens
    assert (judge_budgets({"max_response_tokens": 2}, envelope).failure is None) == (tokens <= 2)
