"""How sure a share is: whether enough of a test's runs passed, by the Wald interval of the pass rate. Pure."""

from __future__ import annotations

import math
from typing import NamedTuple

from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.text import counted

HALF = 0.5


class Interval(NamedTuple):
    """Where the true pass rate is held to lie, both ends included; within 0 and 1."""

    low: float
    high: float

    @property
    def text(self) -> str:
        """`0.42 to 0.98`, rounded away from a half, so that what is told fits what was decided."""
        return f"{_shown(self.low)} to {_shown(self.high)}"


class Decided(NamedTuple):
    """What some runs come to, and one line on why; `interval` is None where there were too few."""

    verdict: Verdict
    message: str
    interval: Interval | None


def wald_interval(passed: int, runs: int, confidence_pct: float) -> Interval:
    """The interval p ± z·√(p(1 - p) / n) of `passed` among `runs`, of which there is at least one."""
    rate = passed / runs
    reach = z_value(confidence_pct) * math.sqrt(rate * (1 - rate) / runs)
    return Interval(max(rate - reach, 0.0), min(rate + reach, 1.0))


def wilson_interval(hits: int, trials: int, confidence_pct: float) -> Interval:
    """The Wilson score interval of `hits` among `trials`; from 0 to 1 without a trial."""
    if not trials:
        return Interval(0.0, 1.0)
    rate, z = hits / trials, z_value(confidence_pct)
    reach = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    middle, scale = rate + z * z / (2 * trials), 1 + z * z / trials
    return Interval(max((middle - reach) / scale, 0.0), min((middle + reach) / scale, 1.0))


def decide_runs(passed: int, runs: int, *, min_trials: int, confidence_pct: float, open_: int = 0) -> Decided:
    """Pass where the whole interval is above a half, fail where it is below, else inconclusive; also with too few runs.

    `runs` are those that were decided one way or the other. As many as `open_` were not: what they might have come to must
    change nothing, since what was not judged passes nothing.
    """
    told = f"{passed} of {counted(runs, 'run')} passed"
    needed = max(min_trials, 1)
    if runs < needed:
        return Decided(Verdict.INCONCLUSIVE, f"{told}: too few; {needed} are needed", None)
    interval = wald_interval(passed, runs, confidence_pct)
    if open_:
        worst, best = (wald_interval(count, runs + open_, confidence_pct) for count in (passed, passed + open_))
        if not (worst.low > HALF or best.high < HALF):
            told += f", and {counted(open_, 'run')} have no verdict, which could change the result"
            return Decided(Verdict.INCONCLUSIVE, told, interval)
    told += f" ({confidence_pct:g} % interval {interval.text})"
    if interval.low > HALF:
        return Decided(Verdict.PASS, told, interval)
    if interval.high < HALF:
        return Decided(Verdict.FAIL, told, interval)
    return Decided(Verdict.INCONCLUSIVE, f"{told}: the pass rate may be one half", interval)


def z_value(confidence_pct: float) -> float:
    """The two-sided quantile of the normal distribution: 1.96 for 95."""
    from statistics import NormalDist  # it brings fractions and decimals, which few runs need

    return NormalDist().inv_cdf((1 + confidence_pct / 100) / 2)


def _shown(value: float) -> str:
    for digits in (2, 3, 4):
        text = f"{value:.{digits}f}"
        if (float(text) > HALF) == (value > HALF) and (float(text) < HALF) == (value < HALF):
            return text
    return repr(value)
