"""The score model: sets of assertions, the combined score of a test, and metrics derived from named scores.

See docs/how-to/scores.md. Numbers are taken as the decimals that they were written as and reckoned
with as exact fractions, so that 7 of 10 is exactly 0.7 and a comparison never turns on a rounding. What hangs on an assertion
that was not judged has no score; it fails all the same where it would if that assertion held.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.results import AssertionResult, AssertionSet, DerivedMetric, Failure, FailureKind
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonMapping

_ZERO, _ONE = Fraction(0), Fraction(1)


class Scored(NamedTuple):
    """What the score model makes of a test: the combined score, None without a threshold, its metrics, and who failed."""

    score: float | None
    threshold: float | None
    metrics: tuple[DerivedMetric, ...]
    failure: Failure | None


def exact(number: float) -> Fraction:
    """A number as the decimal that it is written as: 0.1 is one tenth."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def share(weighed: Iterable[tuple[bool | None, float]]) -> Fraction:
    """The weight of what passed, divided by the weight of all, at most: what was not judged counts. 0 where nothing weighs."""
    passing = total = _ZERO
    for passed, weight in weighed:
        weight_exactly = exact(weight)
        total += weight_exactly
        if passed is not False:
            passing += weight_exactly
    return passing / total if total else _ZERO


def judged_set(index: int, written: JsonMapping, rows: tuple[AssertionResult, ...]) -> AssertionResult:
    """The row of a set whose assertions came to `rows`."""
    threshold = written.get("threshold", 1.0)
    score = share((row.passed, row.weight) for row in rows)
    passed: bool | None = score >= exact(threshold)
    if passed and any(row.passed is None for row in rows):
        certain = share((row.passed is True, row.weight) for row in rows)
        passed = True if certain >= exact(threshold) else None
    name = written.get("name")
    row = AssertionResult(
        index=index,
        target="",
        matcher={},
        passed=passed,
        name=name,
        weight=written.get("weight", 1.0),
        absent=True,
        set=AssertionSet(
            name=name,
            threshold=float(threshold),
            score=float(score) if _all_judged(rows) else None,
            passed=passed,
            assertions=rows,
        ),
    )
    if passed:
        return row
    if passed is None:
        unjudged = next(one for one in rows if one.passed is None)
        return replace(row, message=unjudged.message, deferred=unjudged.deferred)
    return replace(row, message=f"{_set_label(index, name)} failed: {_below_text(score, threshold, rows)}")


def score_test(
    rows: Sequence[AssertionResult],
    *,
    threshold: float | None,
    metrics: Sequence[Mapping[str, object]],
) -> Scored:
    """The combined score of a test, its metrics in declared order, and the failure that they make.

    What was not judged is left out: the score is None then, and a metric that refers to it is not among them.
    A test whose own score and whose metrics fall short is told as failed by its score, with the metrics named after it.
    """
    score = None if threshold is None else share((row.passed, row.weight) for row in rows)
    failures = []
    if score is not None and threshold is not None and score < exact(threshold):
        failures.append(Failure(kind=FailureKind.SCORE, message=_below_text(score, threshold, rows)))
    derived = _derive(rows, metrics)
    failures += [_metric_failure(metric, judged) for metric, judged in derived if metric.passed is False]
    failure = None
    if failures:
        failure = replace(failures[0], message="; ".join(failure.message for failure in failures))
    return Scored(
        score=None if score is None or not _all_judged(rows) else float(score),
        threshold=None if threshold is None else float(threshold),
        metrics=tuple(metric for metric, judged in derived if judged),
        failure=failure,
    )


def _all_judged(rows: Iterable[AssertionResult]) -> bool:
    return all(row.passed is not None for row in rows)


def apart(value: Fraction, threshold: Fraction) -> tuple[str, str]:
    """Both for people: three digits behind the point, or as many as tell them apart."""
    for digits in (3, 6, 9, 12, 17):
        told = number_text(as_float(value), digits), number_text(as_float(threshold), digits)
        if told[0] != told[1]:
            return told
    return f"just under {told[1]}", told[1]


def as_float(value: Fraction) -> float:
    """The nearest float; the largest there is (1.8e308) where it is larger."""
    try:
        return float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max


def _derive(rows: Sequence[AssertionResult], metrics: Sequence[JsonMapping]) -> list[tuple[DerivedMetric, bool]]:
    """Each metric, and whether all was judged that it refers to; of one that was not, the value is the largest it can be."""
    scores = _named_scores(rows)
    derived = []
    for metric in metrics:
        (way, terms), missing = next(iter(metric["value"].items())), []
        total = weights = _ZERO
        all_judged = True
        for term in terms:
            weight = exact(term.get("weight", 1.0))
            found = scores.get(term["ref"])
            if found is None:
                missing.append(term["ref"])
            score, judged = (_ZERO, True) if found is None else found
            total += weight * score
            weights += weight
            all_judged = all_judged and judged
        value = total / weights if way == "weighted_average" and weights else total
        threshold = metric.get("threshold")
        scores[metric["name"]] = value, all_judged
        told = DerivedMetric(
            name=metric["name"],
            value=as_float(value),
            threshold=None if threshold is None else float(threshold),
            passed=None if threshold is None else value >= exact(threshold),
            missing=tuple(missing),
        )
        derived.append((told, all_judged))
    return derived


def _named_scores(rows: Iterable[AssertionResult]) -> dict[str, tuple[Fraction, bool]]:
    """The score of every name: 1 or 0 of an assertion, the share of a set; and whether all of it was judged."""
    scores: dict[str, tuple[Fraction, bool]] = {}
    for row in rows:
        if row.set is not None:
            scores |= _named_scores(row.set.assertions)
        if row.name is not None:
            part = row.set
            scores[row.name] = (
                (share((one.passed, one.weight) for one in part.assertions), _all_judged(part.assertions))
                if part is not None
                else (_ZERO if row.passed is False else _ONE, row.passed is not None)
            )
    return scores


def _metric_failure(metric: DerivedMetric, judged: bool) -> Failure:
    threshold = metric.threshold or 0.0
    value, needed = apart(exact(metric.value), exact(threshold))
    most = "" if judged else "at most "
    message = f"metric `{one_line(metric.name)}` is {most}{value}, below its threshold {needed}"
    lacking = ", ".join(f"`{one_line(name)}`" for name in metric.missing)
    return Failure(
        kind=FailureKind.METRIC,
        message=f"{message}; no assertion, set or metric is named {lacking}, so its score is 0" if lacking else message,
    )


def _below_text(score: Fraction, threshold: float, rows: Sequence[AssertionResult]) -> str:
    held, unjudged = (sum(row.passed is passed for row in rows) for passed in (True, None))
    value, needed = apart(score, exact(threshold))
    most, more = ("at most ", f", {unjudged} not judged") if unjudged else ("", "")
    return f"score {most}{value} is below the threshold {needed} ({held} of {len(rows)} hold{more})"


def _set_label(index: int, name: str | None) -> str:
    return f"assert-set {index + 1}" + (f" (`{one_line(name)}`)" if name else "")
