"""What changed in a test between two runs: which assertion, whether it demands less, and what made the test green."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcptest_engine.core.enums import ExpectedOutcome, FailureKind, TestKind, Verdict
from mcptest_engine.core.results import Failure, TestResult
from mcptest_engine.judging.validity import Validity
from mcptest_engine.running.case_results import definition_of
from mcptest_engine.running.cases import ORDINARY, Case
from mcptest_engine.running.test_changes import compare_tests, earlier_version_passes
from mcptest_engine.running.verdicts import Outcome, judge

HELD = Validity("2025-11-25", fails=True)
SUM = "result.structuredContent.sum"
TEXT = "result.content[0].text"
Rows = list[dict[str, Any]]


def row(target: str, **more: Any) -> dict[str, Any]:
    """row(SUM, exact=4): an assertion; `transform` and `weight` stand beside the matcher."""
    beside: dict[str, Any] = {key: more.pop(key) for key in ("transform", "weight") if key in more}
    ((name, operand),) = more.items()
    return {"target": target, "matcher": {name.replace("_", "-"): operand}, **beside}


def run(rows: Rows, total: float = 5, **more: Any) -> TestResult:
    """The result of a test with these assertions whose tool answered `total`. `expect`, `case` and `arguments` change it."""
    params = {"name": "add", "arguments": more.pop("arguments", {"a": 2, "b": 2})}
    expect = {**more.pop("expect", {}), "assertions": rows}
    case = Case(
        id="m.yml::tool::adds", name="adds", kind=TestKind.TOOL, body=ORDINARY, server="calc", servers=("calc",),
        method="tools/call", params=params, expect=expect, timeout_seconds=0.5, file="m.yml", line=1, tool="add",
        outcome=ExpectedOutcome.SUCCESS,
    )._replace(**more.pop("case", {}))  # fmt: skip
    result = {"content": [{"type": "text", "text": f"{total:g}"}], "structuredContent": {"sum": total}}
    answer = {"result": result}
    envelope = {
        **answer, "error": None, "duration_ms": more.pop("duration_ms", 1.0), "attempt": 1, "notifications": [],
        "server_requests": [], "http": None, "request": {"method": case.method, "params": params},
    }  # fmt: skip
    outcome = judge(case, envelope, snapshots=None, redact=lambda value: value, validity=more.pop("validity", HELD))
    return _result(case, outcome, answer)


def _result(case: Case, outcome: Outcome, answer: dict[str, Any] | None) -> TestResult:
    return TestResult(
        id=case.id, name=case.name, kind=case.kind, server=case.server, tool=case.tool, verdict=outcome.verdict,
        duration_ms=outcome.duration_ms, started_offset_ms=0, file=case.file, line=case.line, message=outcome.message,
        failure=outcome.failure, assertions=outcome.assertions, threshold=outcome.threshold, score=outcome.score,
        request={"method": case.method, "params": case.params}, output=answer, definition=definition_of(case, outcome),
    )  # fmt: skip


def told(before: TestResult, after: TestResult) -> list[str]:
    return [("weaker: " if change.weakens else "") + change.text for change in compare_tests(before, after)]


FOUR = [row(SUM, exact=4)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (row(SUM, exact=4), row(SUM, exact=5), "expected value replaced: `SUM`: exact: 4 → exact: 5"),
        (row(SUM, exact=4), row(SUM, one_of=[4, 5]), "weaker: assertion weakened: `SUM`: exact: 4 → one-of: [4,5]"),
        (row(SUM, exact=4), row(SUM, type="number"), 'weaker: assertion weakened: `SUM`: exact: 4 → type: "number"'),
        (row(SUM, exact=4), row(SUM, exists=True), "weaker: assertion weakened: `SUM`: exact: 4 → exists: true"),
        (row(SUM, lt=4), row(SUM, lt=40), "weaker: assertion weakened: `SUM`: lt: 4 → lt: 40"),
        (row(SUM, lt=40), row(SUM, lt=4), "assertion strengthened: `SUM`: lt: 40 → lt: 4"),
        (row(TEXT, contains="sum 5"), row(TEXT, contains="5"),
         'weaker: assertion weakened: `TEXT`: contains: "sum 5" → contains: "5"'),
        (row(TEXT, contains="four"), row(TEXT, contains="5"),
         'expected value replaced: `TEXT`: contains: "four" → contains: "5"'),
        (row(TEXT, exact="4"), row(TEXT, regex="."), 'weaker: assertion weakened: `TEXT`: exact: "4" → regex: "."'),
        (row(TEXT, all_of=[{"contains": "a"}, {"contains": "b"}]), row(TEXT, contains="a"),
         'weaker: assertion weakened: `TEXT`: all-of: [{"contains":"a"},{"contains":"b"}] → contains: "a"'),
        (row(SUM, exact=4, transform={"jq": ". + 0"}), row(SUM, exact=5, transform={"jq": ". + 0"}),
         "expected value replaced: `SUM | . + 0`: exact: 4 → exact: 5"),
    ],
)  # fmt: skip
def test_a_changed_assertion_is_named_with_both_texts(
    before: dict[str, Any], after: dict[str, Any], expected: str
) -> None:
    """Removed, weakened and replaced are told apart; which demands more is found by what each accepts."""
    found = [text.replace(SUM, "SUM").replace(TEXT, "TEXT") for text in told(run([before]), run([after]))]
    assert found == [expected]


def test_an_assertion_is_removed_unless_another_one_looks_at_the_same() -> None:
    """Moving from the text to the structured content is no weakening; moving to something else is."""
    exact = row(TEXT, exact="5")
    assert told(run([exact, *FOUR]), run(FOUR)) == [f'weaker: assertion removed: `{TEXT}`: exact: "5"']
    moved = told(run([exact]), run([row("result.structuredContent", exact={"sum": 5})]))
    assert [text.partition(":")[0] for text in moved] == ["assertion removed", "assertion added"]
    elsewhere = told(run([exact]), run([row("result.content[0].type", exact="text")]))
    assert elsewhere[0].startswith("weaker: assertion removed")
    assert told(run(FOUR), run([*FOUR, exact])) == [f'assertion added: `{TEXT}`: exact: "5"']


def test_what_stands_beside_the_assertions_counts_too() -> None:
    """Outcome, budgets, retries, thresholds, arguments, the tool."""
    assert told(run(FOUR), run(FOUR, case={"outcome": ExpectedOutcome.ANY})) == [
        "weaker: expected outcome changed: success → any"
    ]
    budget = {"max_duration_ms": 100}
    assert told(run(FOUR, expect=budget), run(FOUR, expect={"max_duration_ms": 900})) == [
        "weaker: limit changed: `max_duration_ms`: 100 → 900"
    ]
    assert told(run(FOUR, expect=budget), run(FOUR)) == ["weaker: limit changed: `max_duration_ms`: 100 → none"]
    unchecked = run([], case={"outcome": ExpectedOutcome.ANY}, validity=None)
    assert [text.partition(":")[0] for text in told(run(FOUR), unchecked)] == ["weaker"] * 3, "nothing is left to judge"
    assert told(run(FOUR), run(FOUR, case={"retries": 3})) == ["weaker: limit changed: `retries`: none → 3"]
    in_part = told(run(FOUR), run(FOUR, case={"threshold": 0.5}))
    assert f"weaker: assertion weakened: `{SUM}`: exact: 4, must hold → exact: 4, counts for a score" in in_part
    assert told(run(FOUR), run(FOUR, arguments={"a": 2, "b": 3})) == [
        'arguments changed: {"a":2,"b":2} → {"a":2,"b":3}'
    ]
    assert told(run(FOUR), run(FOUR, case={"tool": "sum"})) == ["call changed: calc/add → calc/sum"]
    assert told(run(FOUR), run(FOUR)) == []


def test_a_skip_of_the_suite_is_a_change_and_another_skip_is_none() -> None:
    """What an interrupted run left out was not taken out of the suite."""
    case = Case(
        id="", name="adds", kind=TestKind.TOOL, body=ORDINARY, server="calc", servers=(), method="", params=None,
        expect={"assertions": FOUR}, timeout_seconds=1, file="m.yml", line=1, skip="later",
    )  # fmt: skip
    skipped = Outcome(verdict=Verdict.SKIP, duration_ms=0.0, message="later")
    assert told(run(FOUR), _result(case, skipped, None)) == ["weaker: skipped: later"]
    assert told(run(FOUR), _result(case._replace(skip=None), skipped, None)) == []


def test_a_test_that_was_never_judged_still_shows_what_it_demanded() -> None:
    """A server that died is no reason to forget what the test wanted of it."""
    failure = Failure(kind=FailureKind.TIMEOUT, message="no answer within 500 ms")
    lost = Outcome(verdict=Verdict.FAIL, duration_ms=500.0, message=failure.message, failure=failure)
    case = Case(
        id="", name="adds", kind=TestKind.TOOL, body=ORDINARY, server="calc", servers=(), method="tools/call",
        params={"name": "add", "arguments": {"a": 2, "b": 2}}, expect={"assertions": FOUR}, timeout_seconds=0.5,
        file="m.yml", line=1, tool="add", outcome=ExpectedOutcome.SUCCESS,
    )  # fmt: skip
    before = _result(case, lost, None)
    assert told(before, run([row(SUM, type="number")])) == [
        f'weaker: assertion weakened: `{SUM}`: exact: 4 → type: "number"'
    ]
    assert earlier_version_passes(before, run(FOUR, total=4, duration_ms=900.0)) is False, "it took longer than before"
    assert earlier_version_passes(before, run(FOUR, total=4)) is True


def test_the_earlier_version_is_judged_on_the_later_answer() -> None:
    """What made a test green: its change, if what it demanded before still fails; the server's, if it would hold now."""
    red, weak = run(FOUR), [row(SUM, type="number")]
    assert red.verdict is Verdict.FAIL
    assert earlier_version_passes(red, run(weak)) is False
    assert earlier_version_passes(red, run(weak, total=4)) is True
    masked = run([row(TEXT, exact="4")])
    unusable = tuple(
        replace(one, matcher={"regex": "***"}) if one.implicit is None else one for one in masked.assertions
    )
    masked = replace(masked, assertions=unusable)
    assert earlier_version_passes(masked, run(weak)) is None, "a secret is masked in its pattern"
    assert told(masked, run([row(TEXT, regex=".")])) != []
    assert earlier_version_passes(red, run(weak, arguments={"a": 1, "b": 1})) is None, "another question was asked"
    slow = run(FOUR, total=4, expect={"max_duration_ms": 100}, duration_ms=500.0)
    assert earlier_version_passes(slow, run(FOUR, total=4, duration_ms=500.0)) is False
    assert earlier_version_passes(slow, run(FOUR, total=4, duration_ms=50.0)) is True
