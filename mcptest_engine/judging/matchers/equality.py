"""`exact`, `one-of` and `subset`: equal as JSON, equal to one of several, containing what is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.clipping import LIMIT, show
from mcptest_engine.core.results import Mismatch
from mcptest_engine.core.targets import Absent, render_pointer
from mcptest_engine.judging.differences import (
    NOTHING,
    Difference,
    aligned_difference,
    equal,
    first_difference,
    needs_diff,
    unified_diff,
)
from mcptest_engine.judging.matchers.reasons import absent, wrong_kind

if TYPE_CHECKING:
    from mcptest_engine.judging.matchers import Context, Judge, Reason


def exact(expected: object, _: Context) -> Judge:
    """Deep JSON equality: `1` equals `1.0`, `true` does not equal `1`, null is not absent."""
    kind = type(expected)
    if kind is str or kind is bool or kind is int:

        def judge_scalar(actual: object) -> Reason | None:
            if type(actual) is kind:
                return None if actual == expected else lambda: unequal(expected, actual)
            return None if equal(expected, actual) else lambda: unequal(expected, actual)

        return judge_scalar

    def judge(actual: object) -> Reason | None:
        if first_difference(expected, actual) is None:
            return None
        return lambda: unequal(expected, actual, aligned_difference(expected, actual))

    return judge


def subset(expected: object, _: Context) -> Judge:
    """Every key and value given is there, at any depth; arrays element by element, more may follow at the end."""

    def judge(actual: object) -> Reason | None:
        difference = first_difference(expected, actual, subset=True)
        return None if difference is None else lambda: unequal(expected, actual, difference)

    return judge


def one_of(choices: list[object], _: Context) -> Judge:
    """Equals one of the values given."""

    def judge(actual: object) -> Reason | None:
        if any(equal(choice, actual) for choice in choices):
            return None
        if isinstance(actual, Absent):
            return wrong_kind("", actual)
        shown = ", ".join(f"`{show(choice, 60)}`" for choice in choices[:10]) + (", …" if len(choices) > 10 else "")
        return lambda: Mismatch(message=f"`{show(actual)}` is none of {shown}")

    return judge


def unequal(expected: object, actual: object, difference: Difference | None = None) -> Mismatch:
    """How two values differ: in words, by the first place, and as a diff where that says more."""
    if isinstance(actual, Absent):
        return absent(actual)
    if difference is None or not difference.path:
        diff = unified_diff(expected, actual) if needs_diff(expected, actual) else None
        return Mismatch(message=_sides(expected, actual), diff=diff)
    words = _sides(difference.expected, difference.actual)
    if difference.expected is NOTHING and isinstance(difference.actual, Absent):
        # The list of a target with a wildcard: it has an entry more, and that one lacks what the target asks for.
        words = (
            f"expected no further entry, got one in which the target does not exist: {difference.actual.explanation}"
        )
    message = f"differs at `{show_place(difference.pointer)}`: {words}"
    return Mismatch(message=message, pointer=difference.pointer, diff=unified_diff(expected, actual))


def show_place(pointer: str) -> str:
    """The place of a JSON Pointer as targets are spelled, fit for a message."""
    from mcptest_engine.core.sanitise import one_line

    return one_line(render_pointer(pointer), LIMIT)


def _sides(expected: object, actual: object) -> str:
    if isinstance(actual, Absent):
        return f"expected {_side(expected)}, got nothing: {actual.explanation}"
    left, right = _side(expected), _side(actual)
    if isinstance(expected, str) and isinstance(actual, str) and max(len(left), len(right)) >= LIMIT:
        return _text_sides(expected, actual)
    return f"expected {left}, got {right}"


def _side(value: object) -> str:
    return "nothing" if value is NOTHING else f"`{show(value)}`"


def _text_sides(expected: str, actual: str) -> str:
    """Long texts, shown from shortly before the first character that differs."""
    same = _common_length(expected, actual)
    start = max(0, same - 30)
    lead = "…" if start else ""
    left, right = (f"`{lead}{show(text[start : start + 100])[1:-1]}`" for text in (expected, actual))
    lengths = f"{len(expected)} and {len(actual)} characters"
    return f"texts of {lengths} differ from character {same + 1} on: expected {left}, got {right}"


def _common_length(left: str, right: str) -> int:
    """How many characters are the same at the start of both, by halving: comparing slices is far quicker than a loop."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
