"""Lines to type in: `Line`, `Prompt` of a dialog, which recalls earlier entries, and `FilterLine` over a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.widgets import Input

from mcptest_tui.keymap import bindings_for

if TYPE_CHECKING:
    from textual.binding import BindingType


class Line(Input, inherit_bindings=False):
    """`enter` and `escape` say in the footer what these keys do. The arrows scroll nothing: they are free for others."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("line"),
        *(one for one in Input.BINDINGS if isinstance(one, Binding) and one.key != "enter"),
    ]
    virtual_size: Reactive[Size] = Reactive(Size(0, 0))
    """The base class lays the whole screen out anew for each letter, since the text is wider. The line is not."""

    def __init__(self, value: str = "", *, enter: str = "", escape: str = "", **options: Any) -> None:
        super().__init__(value, **{"compact": True, "select_on_focus": False, **options})
        self.cursor_blink = False  # it costs, and it makes pictures differ
        told = {"line.take": enter, "app.back": escape, "dialog.close": escape}
        self.hints = {name: title for name, title in told.items() if title}
        """Titles for the footer, by the ids of actions."""

    def on_resize(self) -> None:
        """Keep the cursor in view: the base class scrolls to it when it moves, and not when the line becomes narrower."""
        self.scroll_to_region(Region(self._cursor_offset, 0, 1, 1), force=True, animate=False)


class Prompt(Line):
    """A line of a dialog. `entered` is what was entered before, the newest first."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("prompt")

    def __init__(self, value: str = "", *, entered: list[str], **options: Any) -> None:
        super().__init__(value, **options)
        self._entered, self._at, self._typed = [one for one in entered if one != value], -1, value

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable recalling where nothing was entered before."""
        return bool(self._entered) if action == "recall" else super().check_action(action, parameters)

    def action_recall(self, step: int) -> None:
        """An older entry, or a newer one; the newest of all is what was typed here."""
        self._typed = self.value if self._at < 0 else self._typed
        self._at = min(max(self._at + step, -1), len(self._entered) - 1)
        self.value = self._typed if self._at < 0 else self._entered[self._at]
        self.cursor_position = len(self.value)


class FilterLine(Line):
    """One line to type a filter in, which applies at once; it is hidden until it is opened, and while it is empty."""

    DEFAULT_CSS = """
    FilterLine {
        height: 1; border: none; padding: 0 1; background: $panel; display: none;
        &.-on { display: block; }
        &:focus { background-tint: $foreground 0%; border: none; }
    }
    """

    @dataclass
    class Filtered(Message):
        """Posted when the text has changed; `done` when Enter was pressed."""

        line: FilterLine
        text: str
        done: bool = False

        @property
        def control(self) -> FilterLine:
            return self.line

    def __init__(self, placeholder: str, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(placeholder=placeholder, enter="to the list", escape="clear", id=id)

    def open(self) -> None:
        """Show the line, and move the focus to it."""
        self.add_class("-on")
        self.focus()
        self.cursor_position = len(self.value)

    def put(self, text: str) -> None:
        """Set the text; show the line only if there is any."""
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
