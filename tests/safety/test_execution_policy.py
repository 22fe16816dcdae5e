"""What may be done with a tool of a class, and how many calls are left."""

from __future__ import annotations

import threading

import pytest

from mcptest_engine.core.errors import BudgetExhausted, PolicyDenied
from mcptest_engine.safety.execution_policy import (
    DEFAULT_POLICY,
    REVIEW_FIRST,
    CallBudget,
    Decision,
    ExecutionPolicy,
    Purpose,
)
from mcptest_engine.safety.tool_classes import ToolClass, classify, classify_name

READ_ONLY, PRESUMED = ToolClass.READ_ONLY, ToolClass.READ_ONLY_PRESUMED
MUTATING, DESTRUCTIVE = ToolClass.MUTATING, ToolClass.DESTRUCTIVE


@pytest.mark.parametrize("purpose", list(Purpose))
@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize(
    ("tool_class", "decision"),
    [(READ_ONLY, Decision.EXECUTE), (PRESUMED, Decision.EXECUTE), (MUTATING, Decision.EXECUTE_ONCE)],
)
def test_what_is_not_destructive_runs_whatever_the_flag_says(
    tool_class: ToolClass, decision: Decision, allowed: bool, purpose: Purpose
) -> None:
    assert ExecutionPolicy(execute_destructive=allowed).decide(tool_class, purpose) is decision


@pytest.mark.parametrize(
    ("allowed", "purpose", "decision"),
    [
        (False, Purpose.GENERATE, Decision.GENERATE_ONLY),
        (False, Purpose.CALL, Decision.REFUSE),
        (True, Purpose.GENERATE, Decision.EXECUTE_ONCE),
        (True, Purpose.CALL, Decision.EXECUTE_ONCE),
    ],
)
def test_a_destructive_tool_runs_once_and_only_when_allowed(
    allowed: bool, purpose: Purpose, decision: Decision
) -> None:
    assert ExecutionPolicy(execute_destructive=allowed).decide(DESTRUCTIVE, purpose) is decision


def test_the_defaults_are_those_of_the_specification() -> None:
    assert (
        ExecutionPolicy(execute_destructive=False, max_calls=None, concurrency=2, call_delay_seconds=0.1)
        == DEFAULT_POLICY
    )
    assert REVIEW_FIRST == "review before first run"


@pytest.mark.parametrize("limit", [0, 1, 37])
def test_of_fifty_threads_exactly_as_many_get_a_call_as_the_budget_has(limit: int) -> None:
    budget, start = CallBudget(limit), threading.Barrier(50)
    got: list[bool] = []

    def take() -> None:
        start.wait()
        for _ in range(3):
            try:
                budget.acquire()
                got.append(True)
            except BudgetExhausted as none_left:
                assert none_left.limit == limit
                got.append(False)

    threads = [threading.Thread(target=take) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (got.count(True), got.count(False), budget.made) == (limit, 150 - limit, limit)


def test_a_budget_without_a_limit_only_counts() -> None:
    budget = CallBudget(None)
    for _ in range(1000):
        budget.acquire()
    assert budget.made == 1000


def test_an_exhausted_budget_is_a_refusal_by_policy_that_names_its_limit() -> None:
    with pytest.raises(PolicyDenied, match="the budget of 0 tool calls is used up") as refused:
        CallBudget(0).acquire()
    assert refused.value.hint == "allow more with --max-calls"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("deleteURLs", DESTRUCTIVE),
        ("HTTPDelete2", DESTRUCTIVE),
        ("DELETE_USER", DESTRUCTIVE),
        ("delete2files", DESTRUCTIVE),
        ("ns.delete/file", DESTRUCTIVE),
        ("delete file", DESTRUCTIVE),
        ("Löschen_delete", DESTRUCTIVE),
        ("create_or_delete", DESTRUCTIVE),
        ("fileRemove", DESTRUCTIVE),
        ("get_deleted_items", PRESUMED),
        ("undelete", PRESUMED),
        ("dropdown", PRESUMED),
        ("reset", PRESUMED),
        ("settings", PRESUMED),
        ("address_lookup", PRESUMED),
        ("input", PRESUMED),
        ("HTTPPut", MUTATING),
        ("s3PUTObject", MUTATING),
        ("set-value", MUTATING),
        ("addURL", MUTATING),
        ("", PRESUMED),
        ("___", PRESUMED),
        ("削除", PRESUMED),
    ],
)
def test_a_name_is_split_into_its_words(name: str, expected: ToolClass) -> None:
    """At separators, digits and camelCase boundaries; only whole words count."""
    assert classify_name(name) is expected


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"readOnlyHint": True, "destructiveHint": True}, READ_ONLY),
        ({"destructiveHint": True, "idempotentHint": True}, DESTRUCTIVE),
        ({"idempotentHint": False}, MUTATING),
        ({"idempotentHint": True}, DESTRUCTIVE),
        ({"openWorldHint": True}, DESTRUCTIVE),
        ({"readOnlyHint": False}, DESTRUCTIVE),
        ({"destructiveHint": False}, MUTATING),
        ({"readOnlyHint": False, "destructiveHint": False}, MUTATING),
        ({"destructiveHint": "yes", "readOnlyHint": True}, DESTRUCTIVE),
        ("readOnlyHint", DESTRUCTIVE),
        ([], DESTRUCTIVE),
        (None, DESTRUCTIVE),
        ({}, DESTRUCTIVE),
    ],
)
def test_annotations_come_before_the_name_and_malformed_ones_are_ignored(annotations, expected) -> None:
    """An explicit false is at least mutating; only `destructiveHint: false` outweighs the name."""
    assert classify({"name": "delete_x", "annotations": annotations}) is expected


@pytest.mark.parametrize("name", [None, 5, ["delete"], {}])
def test_a_descriptor_without_a_name_has_a_class_all_the_same(name) -> None:
    assert classify({"name": name}) is PRESUMED
