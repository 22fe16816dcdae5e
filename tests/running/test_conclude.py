"""What a run comes to as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcptest_engine.core.coverage import Dimension
from mcptest_engine.core.results import TestKind, TestResult, Verdict
from mcptest_engine.core.run_record import RunRecord, SuiteInfo
from mcptest_engine.running.conclude import concluded


def result(verdict: Verdict, duration_ms: float = 1.0) -> TestResult:
    return TestResult(
        id="s::tool::t",
        name="t",
        kind=TestKind.TOOL,
        server="s",
        verdict=verdict,
        duration_ms=duration_ms,
        started_offset_ms=0.0,
        file="s.yml",
        line=1,
    )


def record(*tests: TestResult, interrupted: bool = False) -> RunRecord:
    blank = RunRecord(
        run_id="r",
        mcptest_version="0",
        started_at="2026-01-01T00:00:00.000Z",
        duration_ms=1.0,
        verdict=Verdict.FAIL,
        suite=SuiteInfo(name="s", path="s.yml", sha256="0"),
        source={},
        environment={},
        servers=(),
        tests=(),
        interrupted=interrupted,
    )
    return blank.with_tests(tests)


def end(run: RunRecord, *, empty_is_fine: bool = False, not_ready: bool = False, **performance: float) -> RunRecord:
    missed = "the selection matched none of 4 tests"
    return concluded(run, performance=performance, empty_is_fine=empty_is_fine, missed=missed, not_ready=not_ready)


@pytest.mark.parametrize(
    ("tests", "more", "code"),
    [
        ((Verdict.PASS, Verdict.INCONCLUSIVE), {"failing": {Verdict.INCONCLUSIVE: "--fail-on-inconclusive"}}, 1),
        ((Verdict.PASS,), {"failing": {Verdict.INCONCLUSIVE: "--fail-on-inconclusive"}}, 0),
        ((Verdict.PASS, Verdict.SKIP), {"capped": True}, 5),
        ((Verdict.FAIL, Verdict.SKIP), {"capped": True}, 5),
        ((Verdict.INCONCLUSIVE,), {"capped": True, "failing": {Verdict.INCONCLUSIVE: "--fail-on-inconclusive"}}, 5),
        ((Verdict.INCONCLUSIVE,), {"not_ready": True, "failing": {Verdict.INCONCLUSIVE: "--fail-on-inconclusive"}}, 3),
    ],
)
def test_a_spent_budget_and_inconclusive_tests_may_fail_a_run(
    tests: tuple[Verdict, ...], more: dict[str, Any], code: int
) -> None:
    """130, 2, 3, 5, 1, 6; `treat_as: fail`."""
    run = record(*(result(verdict) for verdict in tests))
    ended = concluded(run, performance={}, empty_is_fine=False, missed=None, **more)
    assert (ended.exit_code, ended.verdict) == (code, "pass" if code == 0 else "fail")
    told = [warning for warning in ended.warnings if "fails the run" in warning]
    assert told == ["1 inconclusive test fails the run (--fail-on-inconclusive)"] * (code == 1)


@pytest.mark.parametrize(
    ("run", "code", "verdict"),
    [
        (record(result(Verdict.PASS), result(Verdict.SKIP)), 0, "pass"),
        (record(result(Verdict.PASS), result(Verdict.INCONCLUSIVE)), 0, "pass"),
        (record(result(Verdict.PASS), result(Verdict.FAIL)), 1, "fail"),
        (record(result(Verdict.FAIL), interrupted=True), 130, "fail"),
        (record(), 7, "fail"),
    ],
)
def test_the_verdict_of_a_run_mirrors_its_exit_code(run: RunRecord, code: int, verdict: str) -> None:
    """Exit codes, and "the run's `verdict` mirrors the exit code"."""
    ended = end(run)
    assert (ended.exit_code, ended.verdict) == (code, verdict)


def test_a_floor_of_coverage_that_is_missed_fails_a_run_whose_tests_pass() -> None:
    """6, and when several apply 1 before 6."""
    short = (Dimension(name="tools", covered=1, total=4, floor=50.0, judged=True),)
    ended = end(replace(record(result(Verdict.PASS)), coverage=short))
    assert (ended.exit_code, ended.verdict) == (6, "fail")
    assert end(replace(record(result(Verdict.FAIL)), coverage=short)).exit_code == 1


def test_an_empty_selection_says_so() -> None:
    """7, the selection matched no test."""
    assert end(record()).warnings == ("the selection matched none of 4 tests",)


def test_an_empty_shard_is_fine() -> None:
    """An empty shard is 0."""
    assert end(record(), empty_is_fine=True).exit_code == 0


def test_slow_tests_are_advised_and_never_gate() -> None:
    """`performance:` is advisory."""
    slow = record(*(result(Verdict.PASS, duration_ms) for duration_ms in (1.0, 2.0, 900.0)))
    ended = end(slow, p95_latency_ms=100)
    assert ended.exit_code == 0
    assert ended.warnings == ("p95 latency 900ms is above the desired 100ms (performance.p95_latency_ms)",)
    assert end(slow, p95_latency_ms=900).warnings == ()


def test_a_server_that_was_not_ready_in_time_is_told_by_the_exit_code() -> None:
    """3, and when several apply 130 before 3 before 1."""
    ended = end(record(result(Verdict.FAIL)), not_ready=True)
    assert (ended.exit_code, ended.verdict) == (3, "fail")
    assert end(record(result(Verdict.PASS)), not_ready=True).exit_code == 3
    assert end(record(result(Verdict.FAIL), interrupted=True), not_ready=True).exit_code == 130
