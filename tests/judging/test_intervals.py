"""Runs decided by the interval of their pass rate: the published rule at its edges, and what holds for all counts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest_engine.core.results import Verdict
from mcptest_engine.judging.intervals import decide_runs, wald_interval, z_value

COUNTS = st.integers(1, 400).flatmap(lambda runs: st.tuples(st.integers(0, runs), st.just(runs)))
CONFIDENCE = st.floats(80, 99)


def decided(passed, runs, *, min_trials=5, confidence=95.0):
    return decide_runs(passed, runs, min_trials=min_trials, confidence_pct=confidence)


def test_seven_of_ten_may_as_well_be_half():
    """0.7 ± 1.96·√(0.021) straddles a half."""
    found = decided(7, 10)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.message == "7 of 10 runs passed (95 % interval 0.42 to 0.98): the pass rate may be one half"


def test_eight_of_ten_are_above_a_half_at_95_and_not_at_99_percent():
    assert decided(8, 10).verdict is Verdict.PASS
    assert decided(8, 10, confidence=99.0).verdict is Verdict.INCONCLUSIVE


def test_two_of_ten_are_below_a_half():
    found = decided(2, 10)
    assert (found.verdict, found.message) == (Verdict.FAIL, "2 of 10 runs passed (95 % interval 0.00 to 0.45)")


@pytest.mark.parametrize(("passed", "verdict"), [(5, Verdict.PASS), (0, Verdict.FAIL)])
def test_all_runs_alike_leave_no_doubt(passed, verdict):
    """The interval has no width at 0 and at 1."""
    assert decided(passed, 5).verdict is verdict


def test_fewer_runs_than_are_needed_are_inconclusive_however_they_went():
    found = decided(4, 4)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.message == "4 of 4 runs passed: too few; 5 are needed"
    assert decided(0, 0).verdict is Verdict.INCONCLUSIVE


def test_runs_without_a_verdict_decide_nothing_that_they_could_turn():
    """Of ten runs five passed, and a judge came to no verdict on the others: that is no pass."""
    found = decide_runs(5, 5, min_trials=5, confidence_pct=95, open_=5)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.message == "5 of 5 runs passed, and 5 runs have no verdict, which could change the result"
    assert decide_runs(0, 5, min_trials=5, confidence_pct=95, open_=5).verdict is Verdict.INCONCLUSIVE
    assert decide_runs(9, 9, min_trials=5, confidence_pct=95, open_=1).verdict is Verdict.PASS
    assert decide_runs(0, 9, min_trials=5, confidence_pct=95, open_=1).verdict is Verdict.FAIL


def test_the_quantile_is_the_familiar_one():
    assert round(z_value(95), 4) == 1.96
    assert round(z_value(80), 4) == 1.2816


@settings(max_examples=60)
@given(COUNTS, CONFIDENCE)
def test_passing_and_failing_are_mirror_images(counts, confidence):
    passed, runs = counts
    swapped = {Verdict.PASS: Verdict.FAIL, Verdict.FAIL: Verdict.PASS, Verdict.INCONCLUSIVE: Verdict.INCONCLUSIVE}
    there = decided(passed, runs, confidence=confidence).verdict
    assert decided(runs - passed, runs, confidence=confidence).verdict is swapped[there]


@settings(max_examples=60)
@given(COUNTS, CONFIDENCE)
def test_one_more_pass_never_makes_it_worse(counts, confidence):
    passed, runs = counts
    order = [Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS]
    if passed < runs:
        worse = order.index(decided(passed, runs, confidence=confidence).verdict)
        assert order.index(decided(passed + 1, runs, confidence=confidence).verdict) >= worse


@settings(max_examples=60)
@given(COUNTS, CONFIDENCE)
def test_the_interval_holds_the_rate_and_what_is_told_fits_the_verdict(counts, confidence):
    passed, runs = counts
    interval = wald_interval(passed, runs, confidence)
    assert 0 <= interval.low <= passed / runs <= interval.high <= 1
    low, high = map(float, interval.text.split(" to "))
    assert (low > 0.5, high < 0.5) == (interval.low > 0.5, interval.high < 0.5)


@settings(max_examples=60)
@given(COUNTS)
def test_more_confidence_never_decides_what_less_left_open(counts):
    if decided(*counts, confidence=80.0).verdict is Verdict.INCONCLUSIVE:
        assert decided(*counts, confidence=99.0).verdict is Verdict.INCONCLUSIVE
