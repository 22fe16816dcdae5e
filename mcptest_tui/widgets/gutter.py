"""The columns left of the text: the verdict of the test that begins on a line, the mark of a problem, the line's number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment

from mcptest_tui.words import MARKS, mark

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.style import Style

    from mcptest_tui.state.verdict_notes import Note

SIDE = 3
"""Cells for the two marks and the gap before the number."""


def gutter_width(lines: int) -> int:
    """How wide the gutter of a file with so many lines is."""
    return SIDE + max(len(str(lines)), 3) + 1


def gutter(
    number: int | None, width: int, note: Note | None, severity: str, ink: Callable[[str], Style], base: Style
) -> list[Segment]:
    """The segments of one line; `number` is None on the further rows of a wrapped line."""
    if number is None:
        return [Segment(" " * width, base)]
    verdict = (mark(note.status) if note is not None else " ", _verdict_ink(note))
    problem = {"error": MARKS["bar"], "warning": "!"}.get(severity, " ")
    return [
        Segment(verdict[0], base + ink(verdict[1]) if verdict[1] else base),
        Segment(problem, base + ink(f"yaml-area--{severity}-mark") if severity else base),
        Segment(f"{number:>{width - SIDE}} ", base),
    ]


def _verdict_ink(note: Note | None) -> str:
    if note is None:
        return ""
    return "yaml-area--stale" if note.stale else f"yaml-area--{note.status}"
