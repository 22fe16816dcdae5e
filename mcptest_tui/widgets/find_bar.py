"""Find and replace: a row below the text that it searches, with the count of what was found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static
from textual.widgets.text_area import Selection

from mcptest_engine.core.text import counted
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import shown
from mcptest_tui.state.finding import Hit, find_all, next_of, replacement
from mcptest_tui.widgets.line import Line

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from mcptest_tui.widgets.yaml_area import YamlArea


class FindBar(Horizontal):
    """The bar for finding and replacing; Enter finds the next match or replaces it."""

    HELP = """{line.take} and {find.next} go to the next hit, {find.previous} to the one before; {find.replace} opens a second
    field, where {line.take} replaces and {find.replace} replaces all; {find.pattern} finds a regular expression."""
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("find")
    DEFAULT_CSS = """
    FindBar {
        display: none; height: 1; background: $panel;
        & > Static { width: auto; }
        & > #find-said { width: auto; min-width: 10; padding: 0 1; color: $foreground 70%; }
        & > Input { width: 1fr; border: none; height: 1; padding: 0 1; background: $surface; }
        & > .find-by { display: none; }
        &.-replacing > .find-by { display: block; }
    }
    """

    class Replaced(Message):
        """Posted when all matches were replaced; `count` is their number."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    def __init__(self) -> None:
        super().__init__(id="find-bar")
        self.as_pattern = False
        self._area: YamlArea | None = None

    def attach(self, area: YamlArea | None) -> None:
        """Set the editor to search in; with None the bar is hidden."""
        if area is self._area:
            return
        if self._area is not None:
            self._area.mark(hits={})
        self._area = area
        if area is None:
            self.display = False
        elif self.display:
            self._find(area)

    def compose(self) -> ComposeResult:
        """Lay out the field to find, the field to replace with, and the count."""
        yield Static(Content(" find "))
        yield Line(enter="next", id="find-what", select_on_focus=True)
        yield Static(Content(" by "), classes="find-by")
        yield Line(enter="replace", id="find-with", select_on_focus=True, classes="find-by")
        yield Static("", id="find-said")

    @property
    def text_to_find(self) -> str:
        """The text in the first field, which is searched for."""
        return self.query_one("#find-what", Input).value

    @property
    def by(self) -> str:
        """The text in the second field, which replaces a match."""
        return self.query_one("#find-with", Input).value

    def open(self, *, replacing: bool) -> None:
        """Show the bar, with the selected text of the editor as the text to find."""
        area = self._area
        if area is None:
            return
        self.display = True
        self.set_class(replacing and not area.read_only, "-replacing")
        field = self.query_one("#find-what", Input)
        word = area.selected_text
        if word and "\n" not in word:
            field.value = word
        field.focus()
        field.action_select_all()
        self._go_to_nearest()

    def say(self, text: str) -> None:
        """Show how many matches there are: `3 of 12`."""
        pattern = "  .*" if self.as_pattern else ""
        self.query_one("#find-said", Static).update(shown(text + pattern))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input.id == "find-what" and self.display:
            self._go_to_nearest()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input.id == "find-what":
            self.action_step(1)
        else:
            self._replace_one()

    def _go_to_nearest(self) -> None:
        if self._area is not None:
            self._go(self._area, self._find(self._area), min(self._area.selection))

    def action_step(self, step: int) -> None:
        """Select the next match, or the previous one."""
        if self._area is not None:
            start, end = sorted(self._area.selection)
            self._go(self._area, self._find(self._area), end if step > 0 else start, back=step < 0)

    def action_replace_all(self) -> None:
        """Replace every match; the first time, only show the second field."""
        if not self.has_class("-replacing"):
            self.add_class("-replacing")
            self.query_one("#find-with", Input).focus()
            return
        area = self._area
        hits = self._find(area) if area is not None and not area.read_only else []
        if area is None or not hits:
            return
        lines = list(area.lines)
        for hit in reversed(hits):
            by = self._replacement(area, hit)
            if by is None:
                return
            lines[hit.row] = lines[hit.row][: hit.start] + by + lines[hit.row][hit.end :]
        area.become(area.document.newline.join(lines))
        self.say(f"replaced {counted(len(hits), 'place')}")
        self.post_message(self.Replaced(len(hits)))

    def action_pattern(self) -> None:
        """Switch between regular expressions and plain text."""
        self.as_pattern = not self.as_pattern
        self._go_to_nearest()

    def action_leave(self) -> None:
        """Hide the bar, and go back to the text."""
        self.display = False
        if self._area is not None:
            self._area.mark(hits={})
            self._area.focus()

    def _replace_one(self) -> None:
        """Replace the selected match, and select the next."""
        area = self._area
        hits = self._find(area) if area is not None and not area.read_only else []
        if area is None or not hits:
            return
        start, end = sorted(area.selection)
        selected = next((hit for hit in hits if ((hit.row, hit.start), (hit.row, hit.end)) == (start, end)), None)
        if selected is not None:
            by = self._replacement(area, selected)
            if by is None:
                return
            result = area.replace(by, start, end, maintain_selection_offset=False)
            area.move_cursor(result.end_location)
            hits = self._find(area)
        self._go(area, hits, max(area.selection))

    def _replacement(self, area: YamlArea, hit: Hit) -> str | None:
        try:
            return replacement(area.lines[hit.row], hit, self.text_to_find, self.by, as_pattern=self.as_pattern)
        except (re.error, IndexError) as wrong:
            self.say(f"not a replacement: {wrong}")
            return None

    def _find(self, area: YamlArea) -> list[Hit]:
        """Return all matches, mark them, and show how many there are."""
        hits, wrong = find_all(area.lines, self.text_to_find, as_pattern=self.as_pattern)
        marked: dict[int, list[tuple[int, int]]] = {}
        for hit in hits:
            marked.setdefault(hit.row, []).append((hit.start, hit.end))
        area.mark(hits=marked)
        self.say(wrong or (counted(len(hits), "place") if self.text_to_find else ""))
        return hits

    def _go(self, area: YamlArea, hits: list[Hit], place: tuple[int, int], *, back: bool = False) -> None:
        at = next_of(hits, *place, back=back)
        if at is not None:
            hit = hits[at]
            area.selection = Selection((hit.row, hit.start), (hit.row, hit.end))
            area.scroll_cursor_visible()
            self.say(f"{at + 1} of {len(hits)}")
