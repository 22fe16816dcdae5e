"""The matrix in a window: tests by models, updated while they run; Enter answers with the test of the cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shortened_name, shown
from mcptest_tui.state.matrix_rows import matrix_of
from mcptest_tui.widgets.matrix_view import MatrixView
from mcptest_tui.widgets.modals import Modal
from mcptest_tui.words import mark

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from mcptest_tui.state.store import Store
    from mcptest_tui.widgets.lines import Lines

LOOK_SECONDS = 0.25


class MatrixHead(Widget):
    """The row of model names above the grid, which stays when the grid scrolls."""

    DEFAULT_CSS = "MatrixHead { height: 1; } MatrixHead.-foot { color: $foreground 75%; }"

    def __init__(self, view: MatrixView) -> None:
        super().__init__()
        self._view = view

    def render(self) -> Content:
        """Return the row of model names, aligned with the grid's columns."""
        inks = {"dim": "$foreground 65%"}
        pieces = self._view.head(self._view.text_width)
        return Content("").join([Content.styled(text, inks.get(ink, ink)) for text, ink in pieces if text])


class CellLine(Widget):
    """A line about the cell under the cursor: status, test name and failure message."""

    DEFAULT_CSS = "CellLine { height: 1; color: $foreground 75%; }"

    def __init__(self, view: MatrixView) -> None:
        super().__init__()
        self._view = view

    def render(self) -> Content:
        """Return the status, name and message of the cell's test."""
        cell = self._view.cell
        if cell is None:
            return Content("")
        test = cell.first
        message = (test.result or {}).get("message") or ""
        width = max(self.size.width - 4, 1)
        name = shortened_name(test.name, max(width * 2 // 3, width - cell_len(message) - 3) if message else width)
        return shown(f" {mark(cell.status)} {one_line(f'{name}   {message}'.rstrip(), width)}")


class MatrixWindow(Modal[str]):
    """The window with the matrix; answers the id of the chosen test."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.matrix")

    def __init__(self, store: Store, path: str) -> None:
        super().__init__(classes="picker")
        self._store, self._path = store, path
        self._seen: object = None

    def compose(self) -> ComposeResult:
        """Yield the model names, the grid, and the line about the cell."""
        view = MatrixView(id="matrix")
        with Vertical(classes="dialog -large") as dialog:
            dialog.border_title = shown(f"Tests by models   {self._path.rpartition('/')[2]}", limit=70)
            yield MatrixHead(view)
            yield view
            yield CellLine(view)

    def on_mount(self) -> None:
        """Fill and focus the grid, and refresh it regularly while the window is open."""
        self.view.styles.height = "1fr"
        self._look()
        self.view.focus()
        self.set_interval(LOOK_SECONDS, self._look)

    @property
    def view(self) -> MatrixView:
        """The grid of tests by models."""
        return self.query_one(MatrixView)

    def on_resize(self) -> None:
        """Redraw the rows around the grid for its new width."""
        self.call_after_refresh(self._around)

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """Redraw the rows around the grid for the cell under the cursor."""
        event.stop()
        self._around()

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Close the window and answer the id of the cell's test."""
        event.stop()
        test = self.view.test
        if test is not None:
            self.dismiss(test.id)

    def _look(self) -> None:
        matrix = matrix_of(self._store, self._path)
        seen = (matrix.models, [row.name for row in matrix.rows], matrix.seen())
        if seen != self._seen:
            self._seen = seen
            self.view.show(matrix)
            self._around()

    def _around(self) -> None:
        self.query_one(MatrixHead).refresh()
        self.query_one(CellLine).refresh()
