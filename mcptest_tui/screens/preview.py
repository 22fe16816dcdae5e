"""A text that is about to be written, shown first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import shown
from mcptest_tui.widgets.modals import Modal

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType


class Preview(Modal[str]):
    """Answers "write", or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.preview")

    def __init__(self, title: str, text: str, *, lead: str = "") -> None:
        super().__init__(classes="picker")
        self._title, self._text, self._lead = title, text, lead

    def compose(self) -> ComposeResult:
        """What it is, the text, what the keys do."""
        with Vertical(classes="dialog -tall") as dialog:
            dialog.border_title = shown(self._title)
            yield Static(shown(self._lead, style="$muted"), classes="picker-about")
            with VerticalScroll(can_focus=True):
                yield Static(shown(self._text))

    def action_write(self) -> None:
        """Yes."""
        self.dismiss("write")
