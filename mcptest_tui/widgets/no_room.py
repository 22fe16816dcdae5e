"""What stands there instead of everything when the terminal is smaller than 40x10."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.geometry import Size


SHORT = 30
"""Rows, below which a terminal counts as short."""


def size_classes(size: Size) -> dict[str, bool]:
    """Which layout classes hold at a size."""
    width, height = size
    return {
        "-narrow": width < 100,
        "-wide": width >= 160,
        "-short": height < SHORT,
        "-tiny": width <= 60 or height <= 15,
        "-no-room": width < 40 or height < 10,
    }


class NoRoom(Widget):
    """One line that asks for more room; shown by the class `-no-room` of its screen."""

    def render(self) -> Content:
        """As much of it as fits."""
        width, height = self.app.size
        return Content(f"needs 40x10, is {width}x{height}"[: max(width, 1)])
