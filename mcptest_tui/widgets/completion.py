"""The popup at the cursor: what could be typed there, with one line about what is marked; and the card that explains a word.

`Completing` is what the editor knows of it: it is asked about every key before the editor takes it, at once, so that no message
is on its way while a fast typist goes on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.widget import Widget

from mcptest_tui.safe import one_line, shown
from mcptest_tui.themes import cursor_style
from mcptest_tui.words import MARKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events

    from mcptest_engine.suite.completion import Completions, Help, Item
    from mcptest_tui.widgets.yaml_area import YamlArea

ROWS = 8
WIDEST = 72
_KINDS = {"argument": "arg", "variable": "var", "snippet": "…"}
_BEGINS = re.compile(r"(?:[:\-{,\[]\s+|\$\{|(?<=[\s\[{,])[\"'])$")
_GOES_ON = re.compile(r"(?:: |- |\{ |\"|\{\s)$")


class Popup(Widget):
    """A list of completions, drawn over the text."""

    DEFAULT_CSS = """
    Popup { display: none; position: absolute; layer: overlay; background: $panel; color: $foreground; }
    """
    can_focus = False

    class Chosen(Message):
        """Posted when an item was clicked; `at` is its index."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self) -> None:
        super().__init__(id="popup")
        self.items: Sequence[Item] = ()
        self.at = 0
        self._top = 0

    def show(self, items: Sequence[Item], at: int, cursor: Offset, room: tuple[int, int]) -> None:
        """Show `items` below the cursor, or above it; item `at` is marked, -1 for none."""
        self.items, self.at = items, at
        rows = min(len(items), ROWS)
        self._top = min(max(self._top, at - rows + 1, 0), max(at, 0)) if self.display else max(at - rows + 1, 0)
        self._top = min(self._top, len(items) - rows)
        width = min(max(self._width(), 24), WIDEST, room[0])
        height = rows + any(item.help for item in items)
        _show_beside(self, cursor, (width, height), room)

    def close(self) -> None:
        self.display = False
        self._top = 0

    def render(self) -> Content:
        """Draw the visible items, and the help of the marked one."""
        width = self.size.width
        rows = []
        for at, item in list(enumerate(self.items))[self._top : self._top + ROWS]:
            kind = _KINDS.get(item.kind, item.kind)
            label = one_line(item.label, width - len(kind) - 4)
            gap = " " * max(width - cell_len(label) - len(kind) - 3, 1)
            begin = MARKS["bar"] if at == self.at else " "
            row = Content.assemble(f"{begin}{label}{gap}", (kind, "$text-muted" if at != self.at else ""), "  ")
            rows.append(row.stylize(cursor_style(ansi=self.app.native_ansi_color)) if at == self.at else row)
        help_text = self.items[max(self.at, 0)].help if self.items else ""
        if any(item.help for item in self.items):
            rows.append(shown(f" {one_line(help_text, width - 2)}".ljust(width), style="italic $foreground 75%"))
        return Content("\n").join(rows)

    def on_click(self, event: events.Click) -> None:
        """Post `Chosen` for the item under the pointer."""
        if event.y < min(len(self.items), ROWS):
            self.post_message(self.Chosen(self._top + event.y))

    def _width(self) -> int:
        widest = max(
            (cell_len(item.label) + len(_KINDS.get(item.kind, item.kind)) + 6 for item in self.items), default=0
        )
        return max(widest, max((min(cell_len(item.help) + 2, 60) for item in self.items), default=0))


class HelpCard(Widget):
    """Explains a key of the suite, over the text or in a pane of its own."""

    DEFAULT_CSS = """
    HelpCard { height: auto; width: 1fr; color: $foreground; }
    HelpCard.-popup { display: none; position: absolute; layer: overlay; background: $panel; padding: 0 1; }
    HelpCard.-popup:ansi { padding: 0 1 0 0; border-left: outer $primary; }
    """
    can_focus = False

    def __init__(self, *, popup: bool = False, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="-popup" if popup else "")
        self._help: Help | None = None

    def show(self, key_help: Help | None) -> None:
        """Show what a key of the suite means."""
        if key_help != self._help:
            self._help = key_help
            self.refresh(layout=True)

    def show_at(self, key_help: Help, cursor: Offset, room: tuple[int, int]) -> None:
        """Show the help over the text, below the cursor or above it."""
        self.show(key_help)
        width = min(WIDEST, room[0])
        height = min(len(self._text().wrap(max(width - 2, 1))), room[1])
        _show_beside(self, cursor, (width, height), room)

    def render(self) -> Content:
        """Draw the title, the accepted values, the description and the examples."""
        return self._text()

    def _text(self) -> Content:
        told = self._help
        if told is None:
            return Content("")
        title = Content.assemble(
            shown(told.title, style="bold"), "   ", shown(told.takes, limit=120, style="$text-muted")
        )
        rows = [title]
        if told.text.strip():
            rows.append(shown(told.text.strip(), limit=1_200))
        rows += [shown(f"  {example}", limit=200, style="$json-string") for example in told.examples]
        return Content("\n").join(rows)


def _show_beside(widget: Widget, cursor: Offset, size: tuple[int, int], room: tuple[int, int]) -> None:
    """Show it below a place of the room, or above it where there is more of it."""
    width, height = size
    below = room[1] - cursor.y - 1
    y = cursor.y + 1 if below >= height or below >= cursor.y else max(cursor.y - height, 0)
    widget.styles.width, widget.styles.height = width, min(height, max(below, cursor.y))
    widget.styles.offset = (max(min(cursor.x, room[0] - width), 0), y)
    widget.display = True
    widget.refresh()


class Completing:
    """The popup's state beside the editor that it belongs to. `offer` gives the completions at the editor's cursor."""

    PASSED: ClassVar[frozenset[str]] = frozenset({"left", "right", "home", "end", "ctrl+left", "ctrl+right"})

    def __init__(self, popup: Popup, card: HelpCard, offer: Callable[[bool], Completions]) -> None:
        self._popup, self._card, self._offer = popup, card, offer
        self._area: YamlArea | None = None
        self._found: Completions | None = None
        self._place = (0, 0)
        self._fits = False
        """Whether the first choice begins with what was typed: Tab takes it."""
        self._stops: list[int] = []
        """Where the next Tabs go in the cursor's line, counted from its end: what is typed before them moves them along."""
        self._stop_row = 0

    def attach(self, area: YamlArea) -> None:
        self.close()
        self._stops = []
        self._area = area
        area.typing.assist = self

    @property
    def is_open(self) -> bool:
        """Whether the popup or the help card is shown over the text."""
        return bool(self._popup.display or self._card.display)

    def key(self, key: str) -> bool:
        """Handle a key while the popup or the help card is open; return True when it was used."""
        if self._card.display:
            self._card.display = False
            if key == "escape":
                return True
        if not self._popup.display:
            return False
        step = {"up": -1, "down": 1, "pageup": -ROWS, "pagedown": ROWS}.get(key)
        if step is not None:
            self._move(step)
            return True
        if key == "escape":
            self.close()
            return True
        if key == "tab" and not self._fits and self._popup.at < 0 and self.go_to_stop():
            return True
        if key == "tab" or (key == "enter" and self._popup.at >= 0):
            self.take(max(self._popup.at, 0))
            return True
        if key == "enter" or key in self.PASSED:
            self.close()
        return False

    def typed(self, character: str) -> None:
        """Update the popup after the text has changed at the cursor."""
        if character in ("", "\n") and not self.is_open:
            return
        self.look(explicit=False)

    def look(self, *, explicit: bool) -> bool:
        """Show the completions that fit at the cursor; return False when there are none."""
        area = self._area
        if area is None or area.read_only:
            return False
        self._card.display = False
        found = self._offer(explicit)
        line, start, _ = found.replace_span
        row, column = area.cursor_location
        word = area.lines[row][start - 1 : column]
        before = area.lines[row][:column]
        items = found.items
        if len(items) == 1 and items[0].insert == word and not explicit:
            items = ()
        wanted = explicit or bool(word.strip()) or _BEGINS.search(before) is not None
        if not items or not wanted or line != row + 1:
            self.close()
            return False
        self._found = found
        self._place = (row, column)
        typed = word.strip().casefold().lstrip("\"'")
        self._fits = bool(explicit or typed) and items[0].label.casefold().startswith(typed)
        # Marked is what Enter takes: a key that was begun. A value ends with its line, unless a choice was moved to.
        marked = 0 if self._fits and items[0].kind in ("key", "argument") else -1
        self._popup.show(items, marked, *self._room(start - 1))
        return True

    def go_to_stop(self) -> bool:
        """Go to the next place of the snippet that is being filled in; False when there is none."""
        area = self._area
        while area is not None and self._stops and self._stop_row == area.cursor_location[0]:
            row, column = area.cursor_location
            stop = len(area.lines[row]) - self._stops.pop(0)
            if stop > column:
                self.close()
                area.move_cursor((row, stop))
                self.look(explicit=False)
                return True
        return False

    def moved(self) -> None:
        """Close the popup if the cursor is no longer where it was opened."""
        if self._popup.display and (self._area is None or self._area.cursor_location != self._place):
            self.close()

    def take(self, at: int) -> None:
        """Replace the word at the cursor by item `at` of the popup."""
        area, found = self._area, self._found
        if area is None or found is None or not 0 <= at < len(self._popup.items):
            return
        item = self._popup.items[at]
        line, start, end = found.replace_span
        self.close()
        area.history.checkpoint()
        result = area.replace(item.insert, (line - 1, start - 1), (line - 1, end - 1), maintain_selection_offset=False)
        row, column = result.end_location
        area.move_cursor((row, column - item.back))
        if item.stops:
            behind = len(area.lines[row]) - column
            self._stops, self._stop_row = [stop + behind for stop in item.stops], row
        area.history.checkpoint()
        if _GOES_ON.search(area.lines[row][: column - item.back]):
            self.look(explicit=False)

    def explain(self, told: Help) -> None:
        """Show the help `told` in a card at the cursor."""
        self.close()
        if self._area is not None:
            self._card.show_at(told, *self._room(self._area.cursor_location[1]))

    def close(self) -> None:
        self._popup.close()
        self._card.display = False
        self._found = None

    def _move(self, step: int) -> None:
        count = len(self._popup.items)
        at = self._popup.at + step
        if abs(step) == 1:
            at = max(at, -1) % count
        self._popup.show(
            self._popup.items, min(max(at, 0), count - 1), *self._room((self._found or _NONE).replace_span[1] - 1)
        )

    def _room(self, column: int) -> tuple[Offset, tuple[int, int]]:
        """Where a column of the cursor's line is, in the pane that the popup lies in, and that pane's size."""
        area = self._area
        assert area is not None
        row, at = area.cursor_location
        pane = self._popup.parent
        assert isinstance(pane, Widget)
        left = area.get_column_width(row, at) - area.get_column_width(row, column)
        place = area.cursor_screen_offset - pane.content_region.offset - Offset(left + 1, 0)
        return place, (pane.content_region.width, pane.content_region.height)


class _Nothing:
    replace_span = (1, 1, 1)


_NONE = _Nothing()
