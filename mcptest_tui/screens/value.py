"""A whole value in a window of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import safe_text, shown
from mcptest_tui.state.text_lines import line
from mcptest_tui.widgets.modals import Modal
from mcptest_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType


class ValueWindow(Modal[str]):
    """The window that shows a long value; its answer "copy" means to copy it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.value")

    def __init__(self, title: str, text: str) -> None:
        super().__init__(classes="picker")
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """Lay out the value in a pane that scrolls."""
        with Vertical(classes="dialog -tall") as dialog:
            dialog.border_title = shown(self._title, limit=70)
            yield TextView(id="value-text")

    def on_mount(self) -> None:
        """Sanitize the value and show it; a long one would slow `__init__` down."""
        view = self.query_one(TextView)
        view.styles.height = "1fr"
        view.show([line(part) for part in safe_text(self._text).split("\n")])
        view.focus()

    def action_copy(self) -> None:
        """Close the window with the answer "copy"; its caller copies the value."""
        self.dismiss("copy")
