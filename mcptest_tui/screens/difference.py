"""A window with the line-by-line difference between two texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from mcptest_tui.keymap import bindings_for
from mcptest_tui.state.review_rows import CONTEXT, MOST_ROWS, file_diff_lines
from mcptest_tui.widgets.modals import Modal
from mcptest_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType


class Difference(Modal[None]):
    """The window with the difference; Escape or Enter closes it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.difference")

    def __init__(
        self, name: str, before: str, after: str, before_name: str, after_name: str, *, whole: bool = False
    ) -> None:
        """`whole` shows every line of the file, unless there are too many."""
        super().__init__()
        self._file, self._before_name, self._after_name = name, before_name, after_name
        whole = whole and before.count("\n") + after.count("\n") <= MOST_ROWS
        self._lines = file_diff_lines(before, after, MOST_ROWS if whole else CONTEXT)

    def compose(self) -> ComposeResult:
        """Yield the line that names both texts, and the rows of the difference."""
        with Vertical(classes="dialog -large") as dialog:
            dialog.border_title = Content(self._file)
            yield Static(
                Content.assemble(
                    ("- ", "bold $value-expected"),
                    self._before_name,
                    "   ",
                    ("+ ", "bold $value-actual"),
                    self._after_name,
                )
            )
            yield TextView(id="difference")

    def on_mount(self) -> None:
        """Focus the rows, and scroll to just above the first change."""
        view = self.query_one(TextView)
        view.show(self._lines)
        view.focus()
        self.call_after_refresh(self._go_to_change, view)

    @staticmethod
    def _go_to_change(view: TextView) -> None:
        first = next((at for at in range(view.count()) if view.pieces(at, 0)[0][0] in ("- ", "+ ")), 0)
        view.scroll_to(y=max(first - 3, 0), animate=False)
