"""Two texts, and what is different between them, line by line."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line
from mcptest_tui.screens.modals import Modal
from mcptest_tui.widgets.lines import Lines

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

MOST = 5_000
_INKS = {"+": "add", "-": "remove", "@": "place"}


class DifferenceLines(Lines):
    """The rows of a unified difference."""

    HAS_CURSOR = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"difference--{ink}" for ink in ("add", "remove", "place", "same")}
    DEFAULT_CSS = """
    DifferenceLines {
        background: $surface;
        & > .difference--add { color: $value-actual; }
        & > .difference--remove { color: $value-expected; }
        & > .difference--place { color: $foreground 60%; text-style: italic; }
        & > .difference--same { color: $foreground 80%; }
    }
    """

    def __init__(self, rows: list[str]) -> None:
        super().__init__(id="difference")
        self._rows = rows

    def count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def pieces(self, at: int, width: int) -> list[tuple[str, str]]:
        """One row."""
        row = self._rows[at]
        return [(one_line(row, width), f"difference--{_INKS.get(row[:1], 'same')}")]


class Difference(Modal[None]):
    """A window with the difference; Escape or Enter goes back to the question."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.difference")

    def __init__(
        self, name: str, before: str, after: str, before_name: str, after_name: str, *, whole: bool = False
    ) -> None:
        """`whole` shows every line of the file, unless there are too many."""
        super().__init__()
        self._file, self._before_name, self._after_name = name, before_name, after_name
        old, new = before.splitlines(), after.splitlines()
        whole = whole and len(old) + len(new) <= MOST
        around = len(old) + len(new) if whole else 3
        rows = difflib.unified_diff(old, new, before_name, after_name, lineterm="", n=around)
        self._rows = [row for row, _ in zip(rows, range(MOST), strict=False)][2 + whole :]

    def compose(self) -> ComposeResult:
        """Which is which, and the rows."""
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
            yield DifferenceLines(self._rows or ["no line is different; only how the lines end"])

    def on_mount(self) -> None:
        """The rows have the keys."""
        super().on_mount()
        lines = self.query_one(DifferenceLines)
        lines.focus()
        first = next((at for at, row in enumerate(self._rows) if row[:1] in ("+", "-")), 0)
        self.call_after_refresh(lines.scroll_to, y=max(first - 3, 0), animate=False)
