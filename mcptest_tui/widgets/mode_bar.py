"""The row of modes at the top: numbers, titles, counts that need action; a click goes there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from mcptest_tui.safe import one_line, shown
from mcptest_tui.themes import cursor_style
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual import events

MODES = (
    ("tests", "Tests"),
    ("edit", "Edit"),
    ("servers", "Servers"),
    ("review", "Review"),
    ("traffic", "Traffic"),
    ("agents", "Agents"),
)


class ModeBar(Widget):
    """`mcptest  1 Tests  2 Edit ✗2 …      name of the suite`; `1T 2E …` when narrow."""

    @dataclass
    class Chosen(Message):
        """Posted when a mode was clicked."""

        mode: str

    def __init__(self, current: str) -> None:
        super().__init__()
        self._current = "tests" if current == "home" else current
        self._badges: dict[str, str] = {}
        self._right = ""

    def show(self, badges: dict[str, str], right: str) -> None:
        """Show new counts, and a text at the right end, which may be untrusted."""
        if (badges, right) != (self._badges, self._right):
            self._badges, self._right = dict(badges), right
            self.refresh()

    def render(self) -> Content:
        width = self.size.width
        parts = [part for _, _, _, part in self._tabs()]
        row = Content("").join(parts)
        room = width - row.cell_length - 2
        # In Edit it is there whole or not at all: the frame of the text names the file, too.
        least = cell_len(one_line(self._right, width)) if self._current == "edit" else 8
        right = one_line(self._right, room) if room >= least else ""
        gap = max(width - row.cell_length - cell_len(right) - 1, 0)
        return row + Content(" " * gap) + shown(right, style="$muted")

    def on_click(self, event: events.Click) -> None:
        """Post `Chosen` for the mode under the pointer."""
        for mode, start, end, _ in self._tabs():
            if mode and start <= event.x < end:
                self.post_message(self.Chosen(mode))

    def jump_targets(self) -> Iterator[tuple[int, int, str]]:
        """Return (x, y, action) of every mode, for the jump overlay."""
        for mode, start, _, _ in self._tabs():
            if mode:
                yield start, 0, f"app.go('{mode}')"

    def _tabs(self) -> list[tuple[str, int, int, Content]]:
        narrow = self.size.width < 90  # the name goes before the title of what is open does
        tabs: list[tuple[str, int, int, Content]] = []
        x = 0
        if not narrow:
            name = Content.styled(" mcptest ", "bold $primary")
            tabs.append(("", 0, name.cell_length, name))
            x = name.cell_length
        for number, (mode, title) in enumerate(MODES, 1):
            part = self._tab(number, mode, title[0] if self.size.width < 50 else title)
            tabs.append((mode, x, x + part.cell_length, part))
            x += part.cell_length
        return tabs

    def _tab(self, number: int, mode: str, title: str) -> Content:
        current = mode == self._current
        badge = self._badges.get(mode, "")
        key = key_of(f"app.mode.{number}", typing=True) if self._current == "edit" else number  # a digit is typed there
        if current:
            style = cursor_style(ansi=self.app.native_ansi_color)
            return Content.styled(f" {key} {title}{f' {badge}' if badge else ''} ", style)
        ink = "bold $verdict-fail" if badge.startswith(MARKS["fail"]) else "bold $primary"  # proposals are no failures
        return Content.assemble((f" {key} ", "$footer-key-foreground"), title, (f" {badge}" if badge else "", ink), " ")
