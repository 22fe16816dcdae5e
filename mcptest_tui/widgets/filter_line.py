"""One line to type a filter in: what is typed applies at once, Enter goes back to the list, and nothing is run."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message
from textual.widgets import Input

from mcptest_tui.widgets.line import Line


class FilterLine(Line):
    """Not there until it is opened; it stays for as long as it holds something."""

    DEFAULT_CSS = """
    FilterLine {
        height: 1; border: none; padding: 0 1; background: $panel; display: none;
        &.-on { display: block; }
        &:focus { background-tint: $foreground 0%; border: none; }
    }
    """

    @dataclass
    class Filtered(Message):
        """Another text; `done` says that Enter was pressed."""

        line: FilterLine
        text: str
        done: bool = False

        @property
        def control(self) -> FilterLine:
            return self.line

    def __init__(self, placeholder: str, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(placeholder=placeholder, enter="to the list", escape="clear", id=id)

    def open(self) -> None:
        """Show it and type in it."""
        self.add_class("-on")
        self.focus()
        self.cursor_position = len(self.value)

    def put(self, text: str) -> None:
        """Hold a text, and be there only if there is one."""
        self.set_class(bool(text), "-on")
        with self.prevent(Input.Changed):
            self.value = text

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Filtered(self, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not event.value:
            self.remove_class("-on")
        self.post_message(self.Filtered(self, event.value, done=True))
