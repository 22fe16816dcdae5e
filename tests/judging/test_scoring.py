"""The score model: each worked number, and what holds of scores whatever the weights."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.results import AssertionResult, FailureKind
from mcptest_engine.core.text import number_text
from mcptest_engine.judging.assertions import judge_assertions
from mcptest_engine.judging.scoring import exact, judged_set, score_test, share

DECIMALS = st.decimals(min_value=0, max_value=100, places=2).map(float)
WEIGHED = st.lists(st.tuples(st.booleans(), DECIMALS), min_size=1, max_size=12)
SHARES = st.integers(0, 1000).map(lambda thousandths: thousandths / 1000)


def row(passed: bool | None, weight: float = 1.0, name: str | None = None, index: int = 0) -> AssertionResult:
    return AssertionResult(
        index=index, target="result", matcher={"exists": True}, passed=passed, weight=weight, name=name
    )


def rows(*passed: bool | None) -> tuple[AssertionResult, ...]:
    return tuple(row(one, index=number) for number, one in enumerate(passed))


def scored(found, threshold=None, metrics=()):
    return score_test(found, threshold=threshold, metrics=metrics)


def metric(name, *refs, way="weighted_average", threshold=None):
    terms = [{"ref": ref, "weight": weight} for ref, weight in refs]
    found = {"name": name, "value": {way: terms}}
    return found if threshold is None else {**found, "threshold": threshold}


def test_three_quarters_by_weight_clear_a_threshold_of_seven_tenths():
    """3 / 4."""
    found = scored((row(True, 3.0), row(False, 1.0)), threshold=0.7)
    assert (found.score, found.failure) == (0.75, None)


def test_two_of_three_clear_a_set_at_six_tenths():
    """2 / 3."""
    found = judged_set(0, {"name": "keyword-coverage", "threshold": 0.6}, rows(True, True, False))
    assert found.passed is True
    assert found.set is not None
    assert found.set.score == pytest.approx(2 / 3)
    assert found.message is None


def test_three_of_four_at_exactly_the_threshold_pass():
    """The comparison is inclusive."""
    assert scored(rows(True, True, True, False), threshold=0.75).failure is None


@pytest.mark.parametrize(("passing", "of", "threshold"), [(7, 10, 0.7), (3, 4, 0.75), (6, 10, 0.6), (29, 100, 0.29)])
def test_a_share_that_equals_its_threshold_passes_however_floats_round(passing, of, threshold):
    """Compared without floating-point surprises."""
    found = rows(*[True] * passing, *[False] * (of - passing))
    assert scored(found, threshold=threshold).failure is None
    tenths = tuple(row(one.passed, 0.1, index=one.index) for one in found)
    assert scored(tenths, threshold=threshold).failure is None


def test_the_metric_of_the_document_fails_a_test_whose_score_passed():
    """(1 * 2 + 0 * 1) / 3 is below 0.7, and 0.5 reaches 0.5."""
    found = scored(
        (row(True, name="cites_sources"), row(False, name="well_formed")),
        threshold=0.5,
        metrics=[metric("quality", ("cites_sources", 2.0), ("well_formed", 1.0), threshold=0.7)],
    )
    assert found.score == 0.5
    assert [(one.name, round(one.value, 3), one.passed) for one in found.metrics] == [("quality", 0.667, False)]
    assert found.failure is not None
    assert found.failure.kind is FailureKind.METRIC
    assert found.failure.message == "metric `quality` is 0.667, below its threshold 0.7"


def test_a_failed_score_comes_before_a_failed_metric_and_both_are_told():
    """The failure is of one kind."""
    found = scored((row(False, name="a"),), threshold=0.5, metrics=[metric("m", ("a", 1), threshold=0.5)])
    assert found.failure is not None
    assert found.failure.kind is FailureKind.SCORE
    assert found.failure.message == (
        "score 0 is below the threshold 0.5 (0 of 1 hold); metric `m` is 0, below its threshold 0.5"
    )


def test_a_metric_of_what_was_not_judged_is_not_among_the_metrics():
    found = scored(
        (row(None, name="a"), row(True, name="b")),
        metrics=[metric("half", ("a", 1), ("b", 1)), metric("of_half", ("half", 1)), metric("whole", ("b", 1))],
    )
    assert [(one.name, one.value) for one in found.metrics] == [("whole", 1.0)]


def test_a_metric_of_metrics_and_of_sets():
    """Chained derivation; a set counts with its internal score."""
    inner = judged_set(1, {"name": "set", "threshold": 0.9}, rows(True, True, False, False))
    found = scored(
        (row(True, name="one"), inner),
        metrics=[
            metric("sum", ("one", 2), ("set", 1), way="weighted_sum"),
            metric("half", ("sum", 1), ("nothing", 1)),
        ],
    )
    assert [one.value for one in found.metrics] == [2.5, 1.25]
    assert [one.missing for one in found.metrics] == [(), ("nothing",)]
    assert (found.score, found.failure) == (None, None)


def test_an_assertion_inside_a_set_can_be_referred_to():
    """Named assertions and sets."""
    inner = judged_set(0, {"threshold": 0}, (row(True, name="in"), row(False, name="out")))
    found = scored((inner,), metrics=[metric("m", ("in", 1), ("out", 1))])
    assert [one.value for one in found.metrics] == [0.5]


def test_a_threshold_of_zero_is_reached_by_nothing_at_all():
    """Explicit, even `threshold: 0`."""
    assert scored(rows(False, False), threshold=0).failure is None


def test_a_failed_set_says_how_far_it_came():
    """The words that reports show."""
    found = judged_set(2, {"name": "cover", "threshold": 0.6}, rows(True, False, False))
    assert found.message == "assert-set 3 (`cover`) failed: score 0.333 is below the threshold 0.6 (1 of 3 hold)"


@pytest.mark.parametrize(
    ("passed", "threshold", "verdict"),
    [((True, None), 0.5, True), ((None, False), 0.5, None), ((None, False), 0.6, False), ((None, None), 1.0, None)],
)
def test_a_deferred_assertion_leaves_a_set_open_only_where_it_matters(passed, threshold, verdict):
    """Counted as passed, and decided only when it makes no difference."""
    assert judged_set(0, {"threshold": threshold}, rows(*passed)).passed is verdict


def test_a_set_that_waits_for_a_model_says_so_as_its_assertion_does():
    """As data too, so that nobody reads it from the message."""
    waiting = replace(row(None), message="assertion 1.1 is deferred: no provider", deferred="no provider")
    found = judged_set(0, {"threshold": 1.0}, (row(True), waiting))
    assert (found.message, found.deferred) == (waiting.message, "no provider")


def test_the_rows_of_a_set_are_numbered_within_it():
    """`#2.1`."""
    items: list[dict[str, Any]] = [
        {"target": "result", "matcher": {"exists": True}},
        {"assert-set": {"assertions": [{"target": "result", "matcher": {"exact": 1}}] * 2, "weight": 2.5}},
    ]
    first, second = judge_assertions(items, {"result": 0})
    assert first.passed
    assert (second.index, second.weight, second.passed) == (1, 2.5, False)
    assert second.set is not None
    assert [one.index for one in second.set.assertions] == [0, 1]
    assert second.set.assertions[1].message == "assertion 2.2 (`result`) failed: expected `1`, got `0`"


@given(WEIGHED)
def test_a_share_lies_between_nothing_and_everything_and_agrees_with_fractions(weighed):
    """Bounds, and agreement with exact fractions."""
    found = share(weighed)
    assert 0 <= found <= 1
    total = sum(Fraction(str(weight)) for _, weight in weighed)
    passing = sum(Fraction(str(weight)) for passed, weight in weighed if passed)
    assert found == (passing / total if total else 0)


@given(WEIGHED, st.randoms())
def test_the_order_of_assertions_does_not_matter(weighed, chance):
    """Order independence."""
    shuffled = list(weighed)
    chance.shuffle(shuffled)
    assert share(weighed) == share(shuffled)


@given(WEIGHED, st.data())
def test_a_score_never_falls_when_one_more_assertion_holds(weighed, data):
    """Monotone in each passing item."""
    at = data.draw(st.integers(0, len(weighed) - 1))
    better = [(True, weight) if number == at else (passed, weight) for number, (passed, weight) in enumerate(weighed)]
    assert share(better) >= share(weighed)


@given(WEIGHED, SHARES)
def test_a_test_passes_when_and_only_when_its_exact_share_reaches_the_threshold(weighed, threshold):
    """The verdict is that of fractions, never of floats."""
    found = scored(tuple(row(passed, weight) for passed, weight in weighed), threshold=threshold)
    assert (found.failure is None) == (share(weighed) >= Fraction(str(threshold)))
    assert found.score == float(share(weighed))


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9)), min_size=1, max_size=6))
def test_an_average_of_metrics_stays_within_its_parts(named):
    """A weighted average lies between 0 and 1, and a weighted sum between 0 and the sum of its weights."""
    found = tuple(row(passed, name=f"n{number}") for number, (passed, _) in enumerate(named))
    refs = [(f"n{number}", weight) for number, (_, weight) in enumerate(named)]
    average, total = scored(found, metrics=[metric("average", *refs), metric("sum", *refs, way="weighted_sum")]).metrics
    assert 0 <= average.value <= 1
    assert total.value == sum(weight for passed, weight in named if passed)


def test_a_number_is_the_decimal_that_it_is_written_as():
    """0.1 is one tenth, and an integer itself."""
    assert (exact(0.1), exact(3), exact(1e-7)) == (Fraction(1, 10), Fraction(3), Fraction(1, 10_000_000))


def test_a_sum_that_is_too_large_for_a_number_is_the_largest_number():
    huge = [{"name": "big", "value": {"weighted_sum": [{"ref": "a", "weight": 1e308}, {"ref": "a", "weight": 1e308}]}}]
    metric = score_test((row(True, name="a"),), threshold=None, metrics=huge).metrics[0]
    assert metric.value == sys.float_info.max
    assert number_text(metric.value) == "1.79769e+308"
