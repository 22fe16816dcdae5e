"""Numbers within bounds, exact: bounds and multiples are decimals as they were written, not their binary neighbours."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MACHINE = frozenset(sign * 2**bits - (sign > 0) for bits in (31, 32, 53, 63, 64) for sign in (1, -1)) | {-(2**53) + 1}


def is_number(value: object) -> TypeGuard[int | float]:
    """A JSON number: neither a boolean nor one of the floats that JSON does not have."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def exact(number: float) -> Fraction:
    """The number as it was written: 0.1 is a tenth."""
    return Fraction(number) if isinstance(number, int) else Fraction(Decimal(repr(number)))


def is_machine_bound(number: float | Fraction) -> bool:
    """Whether it is the end of some type of integer, as generators of schemas write it unasked."""
    return number in _MACHINE


_FINE = 2_000  # numbers that are told apart in a narrow range


class Range:
    """The numbers that all of some schemas allow."""

    def __init__(self, schemas: Iterable[dict[str, object]], *, integer: bool) -> None:
        self.low: Fraction | None = None
        self.high: Fraction | None = None
        self.low_open = self.high_open = False
        self.step = Fraction(1) if integer else None
        for schema in schemas:
            self._take(schema)

    @property
    def bounded(self) -> bool:
        """Whether somebody thought of a bound: what a machine's integers can hold at most is none."""
        return any(end is not None and not is_machine_bound(end) for end in (self.low, self.high))

    def __contains__(self, value: float) -> bool:
        number = exact(value)
        if self.low is not None and (number < self.low or (self.low_open and number == self.low)):
            return False
        if self.high is not None and (number > self.high or (self.high_open and number == self.high)):
            return False
        return self.step is None or number % self.step == 0

    def lowest(self) -> float | None:
        return None if self.low is None else self._inward(self.low, 1, open_end=self.low_open)

    def highest(self) -> float | None:
        return None if self.high is None else self._inward(self.high, -1, open_end=self.high_open)

    def choices(self, preferred: Sequence[float], nth: int = 0) -> list[float]:
        """Numbers that fit: the preferred, the ends and what lies next to them; each `nth` begins with another one."""
        offered: list[float | None] = [*preferred, 1, 0, self.lowest(), self.highest()]
        if self.low is not None and self.high is not None:
            offered.append(_plain((self.low + self.high) / 2))
        fitting: dict[float, None] = {number: None for number in offered if number is not None and number in self}
        if not nth or not fitting:
            return [*fitting, *(number for number in self._next_ones(0) if number not in fitting)]
        first = next(iter(fitting))
        others = [number for number in self._next_ones(nth - 1) if number != first]
        if others and self._place(first) <= self._place(others[0]):  # it was the first choice for number 0
            others = [number for number in self._next_ones(nth) if number != first]
        return [*others, *fitting]

    def _start(self) -> tuple[Fraction, Fraction]:
        """Where to count from, and by how much."""
        step = self.step or Fraction(1)
        if self.step is None and self.low is not None and self.high is not None and self.high - self.low < _FINE:
            step = (self.high - self.low) / (2 * _FINE)
        low, high = self.lowest(), self.highest()
        if low is not None:
            return exact(low), step
        return (exact(high), -step) if high is not None else (Fraction(0), step)

    def _next_ones(self, skipped: int) -> list[float]:
        start, step = self._start()
        numbers = [_plain(start + step * (skipped + count)) for count in range(4)]
        return [number for number in numbers if number is not None and number in self]

    def _place(self, number: float) -> Fraction:
        start, step = self._start()
        place = (exact(number) - start) / step if step else Fraction(0)
        return place if place >= 0 else Fraction(_FINE * _FINE)

    def _take(self, schema: dict[str, object]) -> None:
        low, high = schema.get("minimum"), schema.get("maximum")
        above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
        if is_number(low):
            self._raise(exact(low), open_end=above is True)
        if is_number(high):
            self._lower(exact(high), open_end=below is True)
        if is_number(above):
            self._raise(exact(above), open_end=True)
        if is_number(below):
            self._lower(exact(below), open_end=True)
        step = schema.get("multipleOf", schema.get("divisibleBy"))
        if is_number(step) and step > 0:
            self.step = exact(step) if self.step is None else _common(self.step, exact(step))

    def _raise(self, bound: Fraction, *, open_end: bool) -> None:
        if self.low is None or (bound, open_end) > (self.low, self.low_open):
            self.low, self.low_open = bound, open_end

    def _lower(self, bound: Fraction, *, open_end: bool) -> None:
        if self.high is None or (-bound, open_end) > (-self.high, self.high_open):
            self.high, self.high_open = bound, open_end

    def _inward(self, bound: Fraction, sign: int, *, open_end: bool) -> float | None:
        if self.step is not None:
            count = math.ceil(bound / self.step) if sign > 0 else math.floor(bound / self.step)
            number = count * self.step
            return _plain(number + sign * self.step if open_end and number == bound else number)
        if not open_end:
            return _plain(bound)
        if self.low is not None and self.high is not None:
            gap = min((self.high - self.low) / 2, Fraction(1, 2))
        else:
            gap = Fraction(1, 2)
        return _plain(bound + sign * gap)


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The least number that both divide."""
    return Fraction(math.lcm(one.numerator, other.numerator), math.gcd(one.denominator, other.denominator))


def _plain(number: Fraction) -> float | None:
    if number.denominator == 1:
        return int(number)
    try:
        return float(number)
    except OverflowError:
        return None
