"""The screen as text, and pictures of it under `pictures/` that are compared; MCPTEST_UPDATE_GOLDEN=1 accepts new ones."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

PICTURES = Path(__file__).parent / "pictures"
UPDATE = "MCPTEST_UPDATE_GOLDEN"
_DURATION = re.compile(r" *\b\d+(\.\d+)? m?s\b")


def rows_of(app: Any) -> list[str]:
    """What stands on each row of the terminal, without the spaces at its end."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def text_of(app: Any) -> str:
    """The whole screen as text."""
    return "\n".join(rows_of(app))


def without_times(text: str) -> str:
    """The text with every duration as `(time)`, so that two runs give the same."""
    return "\n".join(_DURATION.sub(" (time)", row).rstrip() for row in text.split("\n"))


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
    assert text + "\n" == path.read_text(encoding="utf-8")
