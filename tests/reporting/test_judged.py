"""What a model judged, as every reporter tells it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcptest_engine.core.results import Failure, FailureKind, TestKind
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import render
from tests.reporting.conftest import make_assertion, make_record, make_test

MODELS = [{"model": "claude-x", "calls": 1, "tokens": 120, "cost_usd": 0.0002}]
BASE = {
    "by": "judge",
    "threshold": 0.7,
    "input": "Greet.",
    "output": "Go away!",
    "model": "claude-x",
    "cost_usd": 0.0002,
}
CRITERIA = [
    {
        "name": "kind | @team",
        "weight": 2,
        "score": 0.1,
        "passed": False,
        "reasoning": "it says <b>go</b> away\u202e\n::error::x",
    },
    {"name": "short", "weight": 1, "score": 1.0, "passed": True, "reasoning": "two words"},
]
FAILED = {**BASE, "verdict": "fail", "score": 0.4, "reasoning": "kind 0.1", "criteria": CRITERIA, "models": MODELS}
PATH = [{"ask": "Is it kind?", "answer": "no", "score": 0.2, "reasoning": "rude"}]
JURY: list[dict[str, Any]] = [
    {"model": "claude-x", "score": 1.0, "passed": True, "reasoning": "fine"},
    {"model": "claude-x", "score": 0.0, "passed": False, "reasoning": "rude"},
    {"model": "claude-x", "score": None, "passed": None, "reasoning": "no grade"},
]


@pytest.fixture
def judged() -> RunRecord:
    eval_row = {"kind": TestKind.EVAL, "tool": None, "request": None, "output": None}
    why = "score 0.4, needs 0.7: kind 0.1"
    findings = {"findings": [{"call": 2, "tool": "mail", "ok": False, "reasoning": "made up"}, {"call": 1, "ok": True}]}
    passed = {**BASE, "verdict": "pass", "score": 0.9, "reasoning": "it greets", "models": MODELS}
    split = {**BASE, "verdict": "inconclusive", "score": 0.5, "reasoning": "split", "jury": JURY, "models": []}
    row = make_assertion(matcher={"llm-judge": {"rubric": "x"}}, judgement={**FAILED, "criteria": [], "path": PATH})
    return make_record(
        make_test("greets", "fail", failure=Failure(kind=FailureKind.SCORE, message=why), judgement=FAILED, score=0.4,
                  threshold=0.7, tokens=120, cost_usd=0.0002, **eval_row),
        make_test("greets: mcp_use", "fail", failure=Failure(kind=FailureKind.SCORE, message=why),
                  judgement={**FAILED, "criteria": [], "extra": findings}, **eval_row),
        make_test("is kind", "pass", judgement=passed, score=0.9, threshold=0.7, **eval_row),
        make_test("is split", "inconclusive", message="the jury is split", judgement=split, **eval_row),
        make_test("asserts", "fail", assertions=(row,), failure=Failure(kind=FailureKind.ASSERTION, message="no")),
    )  # fmt: skip


def test_a_record_with_judgements_is_one_of_the_schema_and_comes_back_equal(judged: RunRecord) -> None:
    data = json.loads(json.dumps(judged.to_json()))
    assert record_fault(data) is None
    assert RunRecord.from_json(data) == judged


def test_pretty_tells_criteria_questions_and_findings_below_what_failed(judged: RunRecord) -> None:
    text = render("pretty", judged).stdout
    assert "criterion kind | @team: 0.1, it says <b>go</b> away" in text
    assert "criterion short: 1, two words" in text
    assert "call 2 (mail): made up" in text
    assert "call 1" not in text
    assert "Is it kind?: no (0.2), rude" in text
    assert "\u202e" not in text


def test_pretty_tells_beneath_a_pass_why_it_is_one(judged: RunRecord) -> None:
    lines = render("pretty", judged).stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if "is kind" in line)
    assert lines[at + 1].strip() == "it greets"


@pytest.mark.parametrize("reporter", ["md", "junit", "github", "agent", "tap"])
def test_every_reporter_gives_the_judges_reason(judged: RunRecord, reporter: str) -> None:
    text = render(reporter, judged).stdout
    assert "score 0.4, needs 0.7: kind 0.1" in text
    assert "\u202e" not in text
    assert "\n::error::x" not in text
    if reporter in ("md", "junit", "github"):
        assert "two words" in text


def test_a_damaged_judgement_costs_no_report(judged: RunRecord) -> None:
    broken = {
        "by": "judge",
        "criteria": [{"name": 5, "score": "x"}, 7],
        "path": "no",
        "jury": [{}],
        "extra": {"findings": [{}]},
    }
    record = make_record(make_test("x", "fail", judgement=broken), make_test("y", judgement=broken))
    for reporter in ("pretty", "md", "junit", "github", "agent"):
        assert render(reporter, record).stdout


def test_an_eval_line_says_what_was_needed() -> None:
    """A reason such as "fine" explains no failure; the threshold does."""
    low = Failure(kind=FailureKind.SCORE, message="score 0.9 is under 0.95")
    judgement = {"by": "judge", "verdict": "fail", "reasoning": "fine"}
    told = {
        "kind": TestKind.EVAL,
        "score": 0.9,
        "threshold": 0.95,
        "judgement": judgement,
        "tokens": 5,
        "cost_usd": 0.0001,
    }
    text = render("eval", make_record(make_test("thr", "fail", failure=low, **told))).stdout
    assert text.startswith("FAIL [judge] thr: cost=$0.0001 (score 0.9, needs 0.95) fine\n")


def test_jurors_of_several_models_are_named() -> None:
    jury = [{**JURY[0], "model": "gpt-y"}, *JURY[1:]]
    told = {**BASE, "model": "gpt-y, claude-x", "verdict": "fail", "score": 0.5, "reasoning": "no", "jury": jury}
    why = Failure(kind=FailureKind.SCORE, message="1 of 3 jurors pass")
    test = make_test("is judged", "fail", kind=TestKind.EVAL, failure=why, judgement={**told, "models": []})
    text = render("pretty", make_record(test)).stdout
    assert "juror 1 (gpt-y): pass 1, fine" in text
    assert "juror 2 (claude-x): fail 0, rude" in text
    assert "juror 3 (claude-x): no verdict, no grade" in text
