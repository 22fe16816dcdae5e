"""One of a few values on one row: `○ celsius  ● fahrenheit`; where they do not fit, the chosen one and how many there are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.binding import BindingType

NOTHING = "left out"


class Choice(Widget, can_focus=True):
    """`options` are JSON texts; `value` is one of them, "" for none, or what was pasted though it is none of them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("choice")
    DEFAULT_CSS = """
    Choice { height: 1; width: 1fr; }
    Choice:focus { background: $primary 28%; }
    Choice:focus:ansi { background: ansi_default; text-style: reverse; }
    """

    @dataclass
    class Changed(Message):
        """Posted when another value was chosen."""

        choice: Choice
        value: str

        @property
        def control(self) -> Choice:
            return self.choice

    @dataclass
    class ListRequested(Message):
        """Posted when the options do not fit and are to be shown in a list."""

        choice: Choice

    def __init__(self, options: Sequence[str], value: str, *, required: bool, empty: str = "") -> None:
        super().__init__()
        self.options = tuple(options)
        self.value = value
        self._required = required
        self._empty = empty or NOTHING

    def put(self, value: str) -> None:
        """Choose an option by its value, and post `Changed`."""
        if value != self.value:
            self.value = value
            self.refresh()
            self.post_message(self.Changed(self, value))

    @property
    def _all(self) -> list[str]:
        """The values to step through, with "" where none of them may be chosen."""
        odd = [self.value] if self.value and self.value not in self.options else []
        return [*([] if self._required and self.value else [""]), *self.options, *odd]

    def render(self) -> Content:
        placed = self._placed()
        if placed:
            return Content("  ").join(
                Content.styled(text, "bold" if value == self.value else "$foreground 65%") for value, _, text in placed
            )
        shown = plain(self.value) if self.value else self._empty
        told = f"{len(self.options)} values, {key_of('choice.turn')} lists them"
        width = self.size.width
        shown = one_line(shown, max(width - len(told) - 3, 8))
        return Content.assemble(
            (shown, "bold" if self.value else "$foreground 65%"), ("   " + one_line(told, width), "$foreground 65%")
        )

    def action_step(self, step: int) -> None:
        """Choose the next value, or request a list when there are many."""
        if not self._placed() and step > 0 and len(self.options) > 4:
            self.post_message(self.ListRequested(self))
            return
        values = self._all
        at = values.index(self.value) if self.value in values else 0
        self.put(values[(at + step) % len(values)])

    def action_clear(self) -> None:
        """Clear the choice, so that none of the options is selected."""
        self.put("")

    def on_key(self, event: events.Key) -> None:
        """Choose the next value that begins with the typed letter."""
        letter = (event.character or "").casefold()
        if not letter.isalnum() or event.key in ("l", "h"):
            return
        values = [value for value in self.options if plain(value).casefold().startswith(letter)]
        if values:
            at = values.index(self.value) + 1 if self.value in values else 0
            self.put(values[at % len(values)])
            event.stop()
            event.prevent_default()

    def on_click(self, event: events.Click) -> None:
        """Choose the value under the pointer."""
        placed = self._placed()
        if not placed:
            self.post_message(self.ListRequested(self))
        for value, x, text in placed:
            if x <= event.x < x + cell_len(text):
                self.put(value)

    def _placed(self) -> list[tuple[str, int, str]]:
        """Return (value, column, text) of every value, [] where they do not fit."""
        placed, x = [], 0
        for value in self._all:
            on = value == self.value
            text = f"{MARKS['on' if on else 'off']} {one_line(plain(value) if value else self._empty, 40)}"
            placed.append((value, x, text))
            x += cell_len(text) + 2
        return placed if x - 2 <= self.size.width else []


def plain(option: str) -> str:
    """An option as one reads it: a text without its quotes, unless it needs them."""
    try:
        value = json.loads(option)
    except ValueError:
        return option
    return value if isinstance(value, str) and value.strip() == value != "" else option
