"""Find and replace: a row (or two) below the text, with the count of what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import shown
from mcptest_tui.widgets.line import Line

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType


class FindBar(Horizontal):
    """Enter goes to the next hit; in the second field it replaces."""

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

    class Changed(Message):
        """Another word to find."""

    class Stepped(Message):
        """To the next hit, or the one before."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Replaced(Message):
        """Replace the hit at the cursor, or all of them."""

        def __init__(self, *, everything: bool) -> None:
            super().__init__()
            self.everything = everything

    class Left(Message):
        """Back to the text."""

    def __init__(self) -> None:
        super().__init__(id="find-bar")
        self.as_pattern = False

    def compose(self) -> ComposeResult:
        """Two fields and the count."""
        yield Static(Content(" find "))
        yield Line(enter="next", id="find-what", select_on_focus=True)
        yield Static(Content(" by "), classes="find-by")
        yield Line(enter="replace", id="find-with", select_on_focus=True, classes="find-by")
        yield Static("", id="find-said")

    @property
    def wanted(self) -> str:
        """What is looked for."""
        return self.query_one("#find-what", Input).value

    @property
    def by(self) -> str:
        """What takes its place."""
        return self.query_one("#find-with", Input).value

    def open(self, *, replacing: bool, word: str = "") -> None:
        """Show it, with what was selected in the text."""
        self.display = True
        self.set_class(replacing, "-replacing")
        field = self.query_one("#find-what", Input)
        if word and "\n" not in word:
            field.value = word
        field.focus()
        field.action_select_all()
        self.post_message(self.Changed())

    def say(self, text: str) -> None:
        """`3 of 12`."""
        pattern = "  .*" if self.as_pattern else ""
        self.query_one("#find-said", Static).update(shown(text + pattern))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Another letter."""
        event.stop()
        if event.input.id == "find-what":
            self.post_message(self.Changed())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        event.stop()
        self.post_message(self.Stepped(1) if event.input.id == "find-what" else self.Replaced(everything=False))

    def action_step(self, step: int) -> None:
        """Up and down."""
        self.post_message(self.Stepped(step))

    def action_replace_all(self) -> None:
        """The second field first, if it is not there yet."""
        if self.has_class("-replacing"):
            self.post_message(self.Replaced(everything=True))
        else:
            self.add_class("-replacing")
            self.query_one("#find-with", Input).focus()

    def action_pattern(self) -> None:
        """A regular expression, or plain text."""
        self.as_pattern = not self.as_pattern
        self.post_message(self.Changed())

    def action_leave(self) -> None:
        """Close."""
        self.display = False
        self.post_message(self.Left())
