"""A run's costs against a baseline: what is compared, and when it is too much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcptest_engine.core.enums import TestKind, Verdict
from mcptest_engine.core.results import TestResult
from mcptest_engine.core.run_record import RunRecord, SuiteInfo, Totals
from mcptest_engine.running.conclude import concluded
from mcptest_engine.running.cost_gate import Cost, CostGate, baseline_of, costs_in, regression


def a_test(name: str, cost_usd: float | None, tokens: int, *, verdict: Verdict = Verdict.PASS) -> TestResult:
    return TestResult(
        id=f"m.yml::composition::{name}",
        name=name,
        kind=TestKind.COMPOSITION,
        server="s",
        verdict=verdict,
        duration_ms=1.0,
        started_offset_ms=0.0,
        file="m.yml",
        line=1,
        cost_usd=cost_usd,
        tokens=tokens,
    )


def run(*tests: TestResult) -> RunRecord:
    return RunRecord(
        run_id="01JCQQYV4S3H6KX7M8RN2T5XZC",
        mcptest_version="0.1.0",
        started_at="2026-01-02T03:04:05Z",
        duration_ms=1.0,
        verdict=Verdict.FAIL,
        suite=SuiteInfo(name="m", path="m.yml", sha256="a" * 64),
        source={},
        environment={},
        servers=(),
        tests=tests,
        totals=Totals.of(tests),
    )


def gate(record: RunRecord, tolerance: float = 10.0) -> CostGate:
    return CostGate(costs_in(baseline_of(record)), "costs.json", tolerance)


def test_more_than_the_tolerance_allows_is_a_regression() -> None:
    """The run costs more than the baseline plus a tolerance."""
    before = gate(run(a_test("a", 0.1, 10), a_test("b", 0.2, 20)))
    assert regression(run(a_test("a", 0.1, 10), a_test("b", 0.23, 20)), before) == (None, False)
    told, over = regression(run(a_test("a", 0.1, 10), a_test("b", 0.26, 20)), before)
    assert over
    assert told == "cost regression: the run cost $0.36, 20% over the $0.3 of costs.json (10% allowed)"


def test_three_times_a_tenth_is_no_regression() -> None:
    """Costs are summed as the decimals that they are, and the limit itself is allowed."""
    before = CostGate({"m.yml::composition::a": Cost(0.3, 1)}, "costs.json", 0.0)
    same = [replace(a_test("a", 0.1, 1), id=f"m.yml::composition::a #run{number}") for number in (1, 2, 3)]
    assert regression(run(a_test("a", 0.3, 1)), before) == (None, False)
    assert baseline_of(run(*same))["tests"] == {"m.yml::composition::a": {"cost_usd": 0.1, "tokens": 1}}  # type: ignore[index]


def test_a_run_of_a_part_is_held_against_that_part() -> None:
    """`--filter` must not hide a regression behind tests that did not run."""
    before = gate(run(a_test("a", 0.1, 10), a_test("b", 5.0, 20)))
    assert regression(run(a_test("a", 0.2, 10)), before)[1]


def test_a_test_that_the_baseline_does_not_know_adds_to_the_run_and_is_told() -> None:
    """What is new costs money as well."""
    told, over = regression(run(a_test("a", 0.1, 10), a_test("new", 0.1, 1)), gate(run(a_test("a", 0.1, 10))))
    assert over
    assert told is not None
    assert told.endswith("; not in the baseline: 1 test")


@pytest.mark.parametrize("unknown_before", [True, False])
def test_where_a_price_is_unknown_tokens_are_compared(unknown_before: bool) -> None:
    """An unknown price is null, never 0."""
    costs = (None, 0.1) if unknown_before else (0.1, None)
    told, over = regression(run(a_test("a", costs[1], 150)), gate(run(a_test("a", costs[0], 100))))
    assert over
    assert told == "cost regression: the run took 150 tokens, 50% over the 100 of costs.json (10% allowed)"


def test_over_a_baseline_of_nothing_everything_is_too_much() -> None:
    """No division by zero."""
    told, over = regression(run(a_test("a", 0.1, 10)), gate(run(a_test("a", 0.0, 0))))
    assert over
    assert "all of it over the $0 of" in str(told)


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.PASS, 6), (Verdict.FAIL, 1)])
def test_the_exit_code_is_6_unless_a_test_failed(verdict: Verdict, code: int) -> None:
    """Of several, 1 comes before 6; the regression is told in both cases."""
    record = run(a_test("a", 0.9, 10, verdict=verdict))
    before = gate(run(a_test("a", 0.1, 10)))
    done = concluded(record, performance={}, empty_is_fine=False, missed=None, cost_gate=before)
    assert done.exit_code == code
    assert done.warnings[0].startswith("cost regression")


def test_a_run_that_says_nothing_of_costs_is_no_baseline() -> None:
    """An empty one would let everything look expensive."""
    silent = replace(a_test("a", None, 0), tokens=None)
    assert baseline_of(run(silent)) is None
    assert regression(run(silent), CostGate({}, "costs.json")) == (None, False)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"schema_version": "mcptest.costs/v1"},
        {"schema_version": "mcptest.costs/v1", "tests": {"a": 1}},
        {"schema_version": "mcptest.costs/v1", "tests": {"a": {"cost_usd": -1, "tokens": 1}}},
        {"schema_version": "mcptest.costs/v1", "tests": {"a": {"cost_usd": True, "tokens": 1}}},
        {"schema_version": "mcptest.costs/v1", "tests": {"a": {"cost_usd": 1}}},
        {"schema_version": "mcptest.costs/v1", "tests": {"a": {"cost_usd": float("nan"), "tokens": 1}}},
    ],
)
def test_what_is_no_baseline_is_refused(data: Any) -> None:
    """A file that was edited by hand or belongs to something else."""
    with pytest.raises(ValueError, match=r"is not a cost|its version is not|has no"):
        costs_in(data)
