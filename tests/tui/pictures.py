"""The screen as text, and pictures of it under `pictures/` that are compared; MCPTEST_UPDATE_GOLDEN=1 accepts new ones."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import Any

from textual._context import visible_screen_stack

PICTURES = Path(__file__).parent / "pictures"
UPDATE = "MCPTEST_UPDATE_GOLDEN"
_DURATION = re.compile(r"[ ━]*(?:\(time\)|<1 ms|\b\d+(?:\.\d+)? m?s\b)")
_LIVE = re.compile(
    r"(   \d+ (?:live process(?:es)?|HTTP sessions?)(?:, \d+ HTTP sessions?)?)( *)(?=watch: |$)", re.MULTILINE
)
LEFT_OF_A_CLIPPED_TEXT = 20
"""Characters. Where a text is clipped that stands beside a duration goes by how wide that is."""


class Drawings:
    """How often the screen was drawn."""

    count = 0


def drawn(app: Any) -> list[Any]:
    """The rows of the terminal as strips of segments: the screen, and the screens behind it where it lets them through."""
    Drawings.count += 1
    visible_screen_stack.set(app._background_screens)
    app.screen._compositor._dirty_regions.clear()
    return list(app.screen._compositor.render_strips())


def rows_of(app: Any) -> list[str]:
    """The text of each row of the terminal, without trailing spaces."""
    return ["".join(segment.text for segment in strip).rstrip() for strip in drawn(app)]


def text_of(app: Any) -> str:
    """The whole screen as text."""
    return "\n".join(rows_of(app))


def without_times(text: str) -> str:
    """The text with every duration as `(time)`, so that two runs give the same whatever they took.

    A duration moves what stands after it in the same cell of its row, that is between two `│`: so the blanks there, bars that
    grow with time, and where a text is clipped are left out, too. The count of live
    processes is left out, too: a spare server starts when it will. What comes of it stays as it is when it is given once more.
    """
    text = _LIVE.sub(lambda found: " " * len(found[0]) if found[2] else "", text)
    return "\n".join("│".join(map(_without_time, row.split("│"))) for row in text.split("\n"))


def _without_time(cell: str) -> str:
    before, *after = _DURATION.split(cell)
    if not after:
        return cell
    rest = re.sub(r"[ ━]+", " ", " (time)".join(after)).rstrip()
    return f"{left_of(before)} (time){left_of(rest)}"


def left_of(text: str) -> str:
    """The beginning of a text that is clipped; another as it is."""
    shown, clipped, _ = text.partition("…")
    return f"{shown[:LEFT_OF_A_CLIPPED_TEXT].rstrip()}{clipped}" if clipped else text


def assert_picture(app: Any, name: str, *, folder: str = "", masks: tuple[tuple[str, str], ...] = ()) -> None:
    """The screen is as in `pictures/<folder>/<name>.txt`; durations, and what matches a mask, are left out of it."""
    width, height = app.size
    path = PICTURES / folder / f"{name}-{width}x{height}.txt"
    text = without_times(text_of(app))
    for pattern, stand_in in masks:
        text = re.sub(pattern, stand_in, text)
    if os.environ.get(UPDATE) and not os.environ.get("CI"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
        return
    assert path.is_file(), f"no picture {path.name} yet; {UPDATE}=1 makes it:\n{text}"
    known = path.read_text(encoding="utf-8")
    assert text + "\n" == known, "\n".join(difflib.unified_diff(known.split("\n"), text.split("\n"), path.name, "now"))
