"""What stands there instead of everything when the terminal is smaller than 40x10."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget


class NoRoom(Widget):
    """One line that asks for more room; shown by the class `-no-room` of its screen."""

    def render(self) -> Content:
        """As much of it as fits."""
        width, height = self.app.size
        return Content(f"needs 40x10, is {width}x{height}"[: max(width, 1)])
