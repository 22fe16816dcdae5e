"""Find and replace over the lines of a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 10_000


class Hit(NamedTuple):
    """One match in the text: row, start and end column, each from 0."""

    row: int
    start: int
    end: int


def find_all(lines: Sequence[str], wanted: str, *, as_pattern: bool = False) -> tuple[list[Hit], str]:
    """Every place of `wanted`, and what is wrong with it as a pattern ("" for nothing).

    Upper and lower case are the same unless a letter in `wanted` is upper case.
    """
    if not wanted:
        return [], ""
    try:
        flags = re.IGNORECASE if wanted == wanted.lower() else 0
        pattern = re.compile(wanted if as_pattern else re.escape(wanted), flags)
    except re.error as wrong:
        return [], f"not a pattern: {wrong}"
    found: list[Hit] = []
    for row, line in enumerate(lines):
        found += [Hit(row, *match.span()) for match in pattern.finditer(line) if match.end() > match.start()]
        if len(found) >= MOST:
            break
    return found[:MOST], ""


def next_of(hits: Sequence[Hit], row: int, column: int, *, back: bool = False) -> int | None:
    """The index of the first hit at or behind a place, around the end; `back` the last that ends before it."""
    if not hits:
        return None
    if back:
        before = [index for index, hit in enumerate(hits) if (hit.row, hit.end) <= (row, column)]
        return before[-1] if before else len(hits) - 1
    return next((index for index, hit in enumerate(hits) if (hit.row, hit.start) >= (row, column)), 0)


def replacement(line: str, hit: Hit, wanted: str, by: str, *, as_pattern: bool) -> str:
    r"""What takes the place of a hit; in a pattern's, `\1` stands for its groups. Raises: re.error."""
    if not as_pattern:
        return by
    flags = re.IGNORECASE if wanted == wanted.lower() else 0
    found = re.compile(wanted, flags).match(line, hit.start)
    return found.expand(by) if found is not None else by
