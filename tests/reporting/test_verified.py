"""Tests with a `fault` or a `verify`, as every report tells them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.results import Attempt, Failure, FailureKind, Part, Verdict, VerifyResult
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import FORMATS, RenderOptions, render

if TYPE_CHECKING:
    from collections.abc import Callable

LOST = Attempt(
    verdict=Verdict.INCONCLUSIVE,
    duration_ms=3.0,
    message='server "demo" had its answer to "tools/call" dropped by `fault: drop_response`',
    fault="drop_response",
)
REQUEST = {"method": "tools/call", "params": {"name": "balance", "arguments": {}}}
AUTH = (
    "auth failed: HTTP 401 from https://mcp.example.com, server advertises Bearer\nset `TOKEN`\nor ask a person for one"
)


def step(index: int, verdict: str = "pass", **more: Any) -> VerifyResult:
    skipped = verdict == "skip"
    fields: dict[str, Any] = {
        "index": index,
        "server": "demo",
        "tool": "balance",
        "verdict": Verdict(verdict),
        "duration_ms": 0.0 if skipped else 1.5,
        "request": None if skipped else REQUEST,
    }
    return VerifyResult(**{**fields, **more})


@pytest.fixture
def verified(build: Any) -> RunRecord:
    """One of each: found by a step, both wrong, a step that died, a refused step, a lost answer that was judged well."""
    row = build.assertion(
        0,
        target="result.structuredContent",
        matcher={"exact": {"balance": 90}},
        message="assertion 1 (`result.structuredContent`) failed: at `/balance` expected `90`, got `80`",
        pointer="/balance",
        diff='--- expected\n+++ actual\n@@ -1,3 +1,3 @@\n {\n-  "balance": 90\n+  "balance": 80\n }',
        actual={"balance": 80},
    )
    wrong = Failure(kind=FailureKind.ASSERTION, message=row.message)
    other = build.assertion(1, target="result.isError", message="assertion 2 (`result.isError`) failed: is absent")
    moved = step(1, "fail", name="balance is 90", message=row.message, failure=wrong, assertions=(row, other))
    died = Failure(
        kind=FailureKind.SERVER,
        message='server "bank" exited with code 4',
        stderr_tail="the vault is on fire\n::error::x",
    )
    crashed = step(0, "fail", server="bank", tool="crash", message=died.message, failure=died)
    refused = Failure(kind=FailureKind.AUTH, message=AUTH)
    own = build.assertion()

    def of_step(failure: Failure, told: str) -> Failure:
        return replace(failure, message=told, parts=((Part.STEP, told),))

    def failing(name: str, failure: Failure, *steps: VerifyResult, **more: Any) -> Any:
        return build.test(name, "fail", failure=failure, verify=steps, **more)

    return build.record(
        failing(
            "a lost answer is applied once",
            of_step(wrong, moved.summary),
            step(0),
            moved,
            attempts=(LOST, Attempt(verdict=Verdict.FAIL, duration_ms=2.0, message=moved.summary)),
            line=12,
        ),
        failing(
            "both are wrong",
            Failure(kind=FailureKind.ASSERTION, message=str(own.message)).with_part(Part.STEP, moved.summary),
            step(0),
            moved,
            assertions=(own,),
        ),
        failing(
            "the bank burns",
            of_step(died, crashed.summary),
            crashed,
            step(1, "skip", server="bank", message="not run: the server has ended"),
            step(2, name="\x1b[2J the other\nbank"),
            attempts=(LOST,),
        ),
        failing(
            "nobody may look",
            of_step(refused, f"verify step 1 (balance): {AUTH}"),
            step(0, "fail", message=AUTH, failure=refused),
        ),
        failing(
            "too slow, and wrong",
            Failure(kind=FailureKind.TIMEOUT, message='server "demo" did not answer').with_part(
                Part.STEP, moved.summary
            ),
            moved,
            attempts=(
                Attempt(verdict=Verdict.FAIL, duration_ms=9.0, message="no answer", fault="delay_ms"),
                Attempt(verdict=Verdict.FAIL, duration_ms=9.0, message="no answer either"),
            ),
        ),
        build.test(
            "an answer is lost", attempts=(LOST, Attempt(verdict=Verdict.PASS, duration_ms=2.0)), verify=(step(0),)
        ),
    )


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in {"json", "ndjson", "html"}])
def test_a_report_of_what_was_verified_is_the_accepted_one(
    name: str, verified: RunRecord, golden: Callable[[str, str], None]
) -> None:
    """House: what is looked at is a snapshot."""
    golden(f"verified-{name}.txt", render(name, verified, RenderOptions(agent_budget=4000)).text)


def test_the_record_says_what_was_verified_and_reads_it_back(verified: RunRecord) -> None:
    """The published schema knows it."""
    data = json.loads(render("json", verified).stdout)
    assert record_fault(data) is None
    assert RunRecord.from_json(data) == verified
    assert [list(test)[-1] for test in data["tests"]] == ["verify"] * 6


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in {"json", "ndjson", "html"}])
def test_each_failure_of_a_step_is_told_once(name: str, verified: RunRecord) -> None:
    """The test's message and the step's own are the same words."""
    text = render(name, verified, RenderOptions(agent_budget=4000)).text
    told = text.count("verify step 2 (balance is 90): assertion 1")
    if name in {"minimal", "agent", "gitlab"}:  # the first reason of each test
        assert told == 1
    else:  # with JUnit's attribute beside its text
        assert told == (4 if name == "junit" else 3)


def test_a_record_from_before_there_were_steps_still_reads(build: Any) -> None:
    """`mcptest.run/v1` grew by members that may be absent."""
    data = build.record(build.test("a", attempts=(Attempt(verdict=Verdict.PASS, duration_ms=1.0),))).to_json()
    assert "verify" not in data["tests"][0]
    assert data["tests"][0]["attempts"] == [{"verdict": "pass", "duration_ms": 1.0}]
    assert RunRecord.from_json(data).tests[0].verify == ()


def test_a_step_that_contradicts_itself_is_refused(verified: RunRecord) -> None:
    """The schema is strict for steps as for tests."""
    data = json.loads(render("json", verified).stdout)
    for change in ({"verdict": "pass"}, {"surprise": 1}, {"index": -1}):
        spoilt = json.loads(json.dumps(data))
        spoilt["tests"][0]["verify"][1] |= change
        assert record_fault(spoilt) is not None
