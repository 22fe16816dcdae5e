"""Edits of a text as values: made, applied, taken back.

Indexes count code points of the text as it was passed, a byte order mark included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.errors import McptestError

if TYPE_CHECKING:
    from collections.abc import Iterable


class EditRefused(McptestError):
    """No edit does what was asked without changing something else; the message says what is in the way."""


class TextEdit(NamedTuple):
    """Replace the characters `start` up to, without, `end` by `text`."""

    start: int
    end: int
    text: str


def apply(text: str, edits: TextEdit | Iterable[TextEdit]) -> str:
    """The edited text. All edits speak of `text`, in any order. Raises: ValueError when two overlap or one is out of range."""
    out: list[str] = []
    at = 0
    in_order = [edits] if isinstance(edits, TextEdit) else sorted(edits, key=lambda edit: (edit.start, edit.end))
    for edit in in_order:
        if not at <= edit.start <= edit.end <= len(text):
            raise ValueError(f"the edit at {edit.start} overlaps another, or lies outside of the text")
        out += (text[at : edit.start], edit.text)
        at = edit.end
    return "".join((*out, text[at:]))


def edit_between(before: str, after: str) -> TextEdit:
    """The one edit that leads from a text to another, without what both begin and end with."""
    least = min(len(before), len(after))
    start = _common(before, after, least)
    end = _common(before[::-1], after[::-1], least - start)
    if start and before[start - 1 : start] == "\r":
        start -= 1  # never between the two characters of a line's end
    if end and before[len(before) - end] == "\n" and end < len(before) and before[len(before) - end - 1] == "\r":
        end -= 1
    return TextEdit(start, len(before) - end, after[start : len(after) - end])


def line_start(text: str, at: int) -> int:
    """Where the line begins on which `at` stands."""
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _common(one: str, other: str, most: int) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low
