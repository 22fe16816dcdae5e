"""`lt`, `lte`, `gt`, `gte`, `between`, `approx`: numbers only. A numeric string is none, nor is a boolean."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import show
from mcptest_engine.core.results import Mismatch
from mcptest_engine.judging.matchers.reasons import unjudged_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.judging.matchers import Context, Judge, Reason

Number = int | float


def lt(bound: Number, _: Context) -> Judge:
    return _compared(operator.lt, bound, "less than")


def lte(bound: Number, _: Context) -> Judge:
    """Less than the bound, or equal to it."""
    return _compared(operator.le, bound, "at most")


def gt(bound: Number, _: Context) -> Judge:
    return _compared(operator.gt, bound, "greater than")


def gte(bound: Number, _: Context) -> Judge:
    """Greater than the bound, or equal to it."""
    return _compared(operator.ge, bound, "at least")


def between(bounds: list[Number], _: Context) -> Judge:
    """Within both bounds, which count as within."""
    low, high = bounds

    def judge(actual: object) -> Reason | None:
        if not is_number(actual):
            return unjudged_kind("a number", actual)
        if low <= actual <= high:  # type: ignore[operator]
            return None
        return lambda: Mismatch(message=f"`{show(actual)}` is not between `{show(low)}` and `{show(high)}`")

    return judge


def approx(argument: dict[str, Number], _: Context) -> Judge:
    """No further from `value` than `tolerance`, the rounding of floats forgiven: 3.1 is within 0.1 of 3."""
    value, tolerance = argument["value"], argument["tolerance"]

    def judge(actual: object) -> Reason | None:
        if not is_number(actual):
            return unjudged_kind("a number", actual)
        if _near(actual, value, tolerance):
            return None
        return lambda: Mismatch(message=f"`{show(actual)}` is not within `{show(tolerance)}` of `{show(value)}`")

    return judge


def is_number(value: object) -> bool:
    """Whether JSON calls it a number; `true` is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _compared(holds: Callable[[Any, Any], bool], bound: Number, words: str) -> Judge:
    def judge(actual: object) -> Reason | None:
        if not is_number(actual):
            return unjudged_kind("a number", actual)
        if holds(actual, bound):
            return None
        return lambda: Mismatch(message=f"`{show(actual)}` is not {words} `{show(bound)}`")

    return judge


def _near(actual: Any, value: Number, tolerance: Number) -> bool:
    if actual == value:
        return True  # infinities too, whose distance from themselves is no number
    try:
        distance = abs(actual - value)
        slack = 0 if isinstance(distance, int) else 2 * math.ulp(max(abs(actual), abs(value), tolerance))
        return bool(math.isfinite(slack) and distance <= tolerance + slack)
    except OverflowError:  # an integer beyond all floats
        from fractions import Fraction

        numbers = (actual, value, tolerance)
        return all(map(_is_finite, numbers)) and abs(Fraction(actual) - Fraction(value)) <= Fraction(tolerance)


def _is_finite(number: Number) -> bool:
    return isinstance(number, int) or math.isfinite(number)
