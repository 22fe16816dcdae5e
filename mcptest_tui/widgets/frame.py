"""The frame of every screen: classes for its size, titles of panes, and what is shown in an empty pane or without room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.geometry import Region
from textual.widget import Widget

from mcptest_tui.safe import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.geometry import Size

SHORT = 30
"""Rows, below which a terminal counts as short."""


def size_classes(size: Size) -> dict[str, bool]:
    """Return the layout classes of a terminal size, and whether each is set."""
    width, height = size
    return {
        "-narrow": width < 100,
        "-wide": width >= 160,
        "-short": height < SHORT,
        "-tiny": width <= 60 or height <= 15,
        "-no-room": width < 40 or height < 10,
    }


def show_titles(pane: Widget, title: Content | None = None, subtitle: Content | None = None) -> None:
    """Show a title in the upper edge of a pane's frame, a subtitle in the lower one; None leaves what is there.

    Textual draws all of the pane and of what is in it for every title that is set, the same one too. Here the edge is drawn
    whose words are other than before.
    """
    width, height = pane.outer_size
    for name, words, row in (("_border_title", title, 0), ("_border_subtitle", subtitle, height - 1)):
        before = getattr(pane, name)
        if words is None or (before is not None and before.is_same(words)):
            continue
        setattr(pane, name, words)
        if height > 0:
            pane.refresh(Region(0, row, width, 1).translate(-pane.content_offset))


class Empty(Widget):
    """Shown where there is nothing to list: a title, lines, and hints as (key, what it does)."""

    can_focus = True

    def __init__(
        self,
        title: str,
        lines: Sequence[str] = (),
        hints: Sequence[tuple[str, str]] = (),
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id, classes="pane")
        self._title, self._lines, self._hints = title, tuple(lines), tuple(hints)

    def show(self, title: str, lines: Sequence[str] = (), hints: Sequence[tuple[str, str]] = ()) -> None:
        """Replace the title, the lines and the hints."""
        self._title, self._lines, self._hints = title, tuple(lines), tuple(hints)
        self.refresh(layout=True)

    def render(self) -> Content:
        """Draw the title, the lines, and the hints with their keys."""
        rows = [shown(self._title, style="bold"), Content("")]
        rows += [shown(line, style="$muted") for line in self._lines]
        if self._hints:
            width = max(len(key) for key, _ in self._hints)
            rows.append(Content(""))
            rows += [
                Content.assemble((f"{key:>{width}}", "bold $footer-key-foreground"), "  ", shown(what))
                for key, what in self._hints
            ]
        return Content("\n").join(rows)


class NoRoom(Widget):
    """One line that asks for more room; shown by the class `-no-room` of its screen."""

    def render(self) -> Content:
        """Draw the least and the current size, cut to the width."""
        width, height = self.app.size
        return Content(f"needs 40x10, is {width}x{height}"[: max(width, 1)])
