"""`contains`, `icontains`, `contains-all`, `contains-any`: a part of a text, an element of an array, pairs of an object."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mcptest_engine.core.clipping import kind_of, show, show_text
from mcptest_engine.core.results import Mismatch
from mcptest_engine.judging.differences import NOTHING, equal
from mcptest_engine.judging.matchers.reasons import wrong_kind

if TYPE_CHECKING:
    from mcptest_engine.judging.matchers import Context, Judge, Reason

_ANY_OF_THESE = "a string, an array or an object"


def contains(part: object, _: Context) -> Judge:
    """A substring of a text, an element of an array, or every given pair of an object."""

    def judge(actual: object) -> Reason | None:
        if type(actual) is str and type(part) is str:
            return None if part in actual else lambda: _missing("substring", part, actual)
        return _lacking(part, actual)

    return judge


def icontains(part: str, _: Context) -> Judge:
    """A substring whatever its case, or a text that is an element of an array whatever its case."""
    folded = part.casefold()

    def judge(actual: object) -> Reason | None:
        if isinstance(actual, str):
            return (
                None if folded in actual.casefold() else lambda: _missing("substring", part, actual, ", in any case,")
            )
        if isinstance(actual, list):
            found = any(isinstance(element, str) and element.casefold() == folded for element in actual)
            return None if found else lambda: _missing("element", part, actual, ", in any case,")
        return wrong_kind("a string or an array", actual)

    return judge


def contains_all(parts: list[object], _: Context) -> Judge:
    """Every one of the parts, each as `contains` has it."""

    def judge(actual: object) -> Reason | None:
        if not isinstance(actual, (str, list, dict)):
            return wrong_kind(_ANY_OF_THESE, actual)
        missing = [part for part in parts if _lacking(part, actual) is not None]
        if not missing:
            return None
        return lambda: _missing_parts(missing, actual)

    return judge


def contains_any(parts: list[object], _: Context) -> Judge:
    """At least one of the parts, each as `contains` has it."""

    def judge(actual: object) -> Reason | None:
        if not isinstance(actual, (str, list, dict)):
            return wrong_kind(_ANY_OF_THESE, actual)
        if any(_lacking(part, actual) is None for part in parts):
            return None
        return lambda: Mismatch(
            message=f"none of the {_parts_of(actual)} {_parts_text(parts)} found in `{show_text(actual)}`"
        )

    return judge


def _lacking(part: object, actual: object) -> Reason | None:
    """Why `actual` does not contain `part`; None when it does."""
    if isinstance(actual, str):
        if not isinstance(part, str):
            return lambda: Mismatch(
                message=f"a string can contain only strings, but `{show(part)}` is {kind_of(part)}; the value is "
                f"`{show_text(actual)}`"
            )
        return None if part in actual else lambda: _missing("substring", part, actual)
    if isinstance(actual, list):
        return None if any(equal(part, element) for element in actual) else lambda: _missing("element", part, actual)
    if isinstance(actual, dict):
        return _lacking_pairs(part, actual)
    return wrong_kind(_ANY_OF_THESE, actual)


def _lacking_pairs(part: object, actual: dict[str, object]) -> Reason | None:
    if not isinstance(part, dict):
        return lambda: Mismatch(
            message=f"an object can contain only pairs, but `{show(part)}` is {kind_of(part)}; the value is "
            f"`{show(actual)}`"
        )
    for key, value in part.items():
        found = actual.get(key, NOTHING)
        if not equal(value, found):
            return partial(_unequal_pair, key, value, found, actual)
    return None


def _unequal_pair(key: str, value: object, found: object, actual: dict[str, object]) -> Mismatch:
    from mcptest_engine.core.text import pointer

    pair = f"pair `{show_text(key, 60)}: {show(value)}`"
    if found is NOTHING:
        return Mismatch(message=f"{pair} not found in `{show(actual)}`")
    return Mismatch(message=f"{pair} not found: the value there is `{show(found)}`", pointer=pointer((key,)))


def _missing_parts(missing: list[object], actual: object) -> Mismatch:
    if len(missing) == 1:
        reason = _lacking(missing[0], actual)
        assert reason is not None
        return reason()
    return Mismatch(message=f"{_parts_of(actual)} {_parts_text(missing)} not found in `{show_text(actual)}`")


def _parts_of(actual: object) -> str:
    if isinstance(actual, str):
        return "substrings"
    return "elements" if isinstance(actual, list) else "pairs"


def _missing(word: str, part: object, actual: object, note: str = "") -> Mismatch:
    shown = show_text(part) if word == "substring" else show(part)
    return Mismatch(message=f"{word} `{shown}`{note} not found in `{show_text(actual)}`")


def _parts_text(parts: list[object]) -> str:
    shown = [f"`{show(part, 60)}`" for part in parts[:10]]
    return ", ".join(shown) + (" and more" if len(parts) > 10 else "")
