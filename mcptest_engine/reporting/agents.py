"""What every reporter says of agent tests: what a conversation took, and of one that failed what was called and said.

All text given here is one line and sanitised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.results import FailureKind, TestKind, Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.reporting.facts import cost_text, value_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.core.results import TestResult

CALLS_SHOWN = 8
ARGS_LIMIT = 160
TEXT_LIMIT = 300
END, ERROR = "end", "error"


def is_conversation(test: TestResult) -> bool:
    """Whether a model talked in this test, and the record says what."""
    return test.trace is not None and "conversation" in test.trace


def took_text(test: TestResult) -> str:
    """`87 tokens, $0.0003, 2 turns, 1 call` of a test in which a model talked; "" of any other.

    The tokens are those that were paid: with `--cache` there may be none.
    """
    if test.kind is not TestKind.AGENT or not is_conversation(test):
        return ""
    assert test.trace is not None
    parts: list[str] = []  # of a model that never answered there is nothing to tell
    if test.tokens:
        parts = [f"{test.tokens:,} tokens", "price unknown" if test.cost_usd is None else cost_text(test.cost_usd)]
    elif test.tokens == 0 and test.trace["conversation"]["tokens"]["total"]:
        parts = ["kept answers"]
    if test.trials:
        passed = sum(trial["verdict"] == Verdict.PASS for trial in test.trials)
        return ", ".join([*parts, f"{passed} of {counted(len(test.trials), 'run')} passed"])
    return ", ".join([*parts, counted(test.trace["turns"], "turn"), counted(calls_total(test.trace), "call")])


def provider_failure_text(test: TestResult) -> str:
    """Such as "model provider failure", where a model gave no answer and no server is to blame; "" for any other failure."""
    failure = test.failure
    if failure is None or not is_conversation(test) or (test.trace or {})["stop"] != ERROR:
        return ""
    if failure.kind is FailureKind.SERVER:
        return "model provider failure"
    of_models = failure.kind in (FailureKind.AUTH, FailureKind.TIMEOUT)
    return f"{failure.kind.value} failure of the model provider" if of_models else ""


def calls_total(trace: JsonMapping) -> int:
    """How many calls a model asked for."""
    return int(trace.get("calls_total", len(trace["tool_calls"])))


def conversation_lines(test: TestResult) -> list[str]:
    """What was called in a conversation that failed, what went wrong there, and what the model said last."""
    if test.verdict is not Verdict.FAIL or not is_conversation(test):
        return []
    assert test.trace is not None
    return list(_trace_lines(test.trace, "" if test.failure is None else test.failure.message))


def _trace_lines(trace: JsonMapping, said_already: str) -> Iterator[str]:
    calls, model = trace["tool_calls"], one_line(str(trace["model"]), 80)
    stop = trace["stop"]
    ended = "" if stop == END else f", ended by {one_line(str(stop), 40)}"
    yield f"conversation with {model}: {counted(trace['turns'], 'turn')}, {counted(calls_total(trace), 'call')}{ended}"
    for call in calls[:CALLS_SHOWN]:
        yield f"  turn {call['turn']}: {_call_text(call)}"
    if calls_total(trace) > CALLS_SHOWN:
        yield f"  … {counted(calls_total(trace) - CALLS_SHOWN, 'more call')}"
    final = one_line(trace["final_response"], TEXT_LIMIT)
    if final and final not in said_already:
        yield f"  said: {final}"


def _call_text(call: JsonMapping) -> str:
    args = call.get("raw") if call["args"] is None else value_text(call["args"])
    told = f"`{one_line(call['name'], 80)}` {one_line(str(args or ''), ARGS_LIMIT)}".rstrip()
    if call.get("error"):
        return f"{told} failed: {one_line(str(call['error']), TEXT_LIMIT)}"
    return f"{told} reported an error" if call["is_error"] else told
