"""The open files in one row: the one that is edited, those with unsaved text, a click goes there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from mcptest_tui.safe import one_line, shown
from mcptest_tui.words import MARKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events


class Tab(NamedTuple):
    """One open file, as the line of tabs shows it."""

    path: str
    title: str
    dirty: bool = False
    problems: int = 0


class FileTabs(Widget):
    """` weather.yml •  files.yml ✗2 `; when there are too many, those around the one that is edited."""

    DEFAULT_CSS = """
    FileTabs { height: 1; background: $panel; color: $foreground; }
    """

    class Chosen(Message):
        """Posted when the tab of a file was clicked."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    def __init__(self) -> None:
        super().__init__(id="file-tabs")
        self._tabs: Sequence[Tab] = ()
        self._current = ""

    def show(self, tabs: Sequence[Tab], current: str) -> None:
        """Show these files as tabs, with the edited one marked."""
        if (tabs, current) != (self._tabs, self._current):
            self._tabs, self._current = tabs, current
            self.refresh()

    def render(self) -> Content:
        """Draw the tabs that fit, always with that of the edited file."""
        return Content("").join([part for _, part in self._fitted()])

    def on_click(self, event: events.Click) -> None:
        """Post `Chosen` for the file under the pointer."""
        x = 0
        for tab, part in self._fitted():
            if x <= event.x < x + part.cell_length and tab is not None:
                self.post_message(self.Chosen(tab.path))
                return
            x += part.cell_length

    def _fitted(self) -> list[tuple[Tab | None, Content]]:
        parts: list[tuple[Tab | None, Content]] = [(tab, self._part(tab)) for tab in self._tabs]
        at = next((at for at, tab in enumerate(self._tabs) if tab.path == self._current), 0)
        room = self.size.width
        first = 0
        while first < at and sum(part.cell_length for _, part in parts[first : at + 1]) > room - 2:
            first += 1
        shown_parts = parts[first:]
        while len(shown_parts) > 1 and sum(part.cell_length for _, part in shown_parts) > room - 2:
            shown_parts.pop()
        cut = Content.styled(MARKS["cut"], "$foreground 60%")
        return [
            *([(None, cut)] if first else []),
            *shown_parts,
            *([(None, cut)] if first + len(shown_parts) < len(parts) else []),
        ]

    def _part(self, tab: Tab) -> Content:
        is_current = tab.path == self._current
        name = shown(f" {one_line(tab.title, 30)}", style="bold $primary" if is_current else "")
        dirty = Content.styled(f" {MARKS['dot']}", "bold $warning") if tab.dirty else Content("")
        problems = Content.styled(f" ✗{tab.problems}", "$text-error") if tab.problems else Content("")
        return Content("").join([name, dirty, problems, Content(" ")])
