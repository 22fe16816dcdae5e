"""Tests by models as a grid: names at the left, a cell for each model, the cursor on one of them; scrolls both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shortened_name
from mcptest_tui.state.matrix_rows import Matrix, total_cost
from mcptest_tui.state.spending import usd
from mcptest_tui.state.test_row import STATUSES
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.words import MARKS, mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.binding import BindingType

    from mcptest_tui.state.matrix_rows import Cell
    from mcptest_tui.state.test_row import TestRow
    from mcptest_tui.widgets.lines import Piece

NAME_SHARE = 0.36
LEAST_NAME, MOST_NAME = 16, 60
LEAST_CELL, MOST_CELL = 16, 24


class MatrixView(Lines):
    """Shows a `Matrix`; the first row names the models, the last has their totals."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("matrix")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"matrix-view--{name}" for name in STATUSES),
        *(f"matrix-view--{name}" for name in ("head", "dim", "cell-marked")),
    }
    DEFAULT_CSS = """
    MatrixView {
        background: $surface;
        & > .matrix-view--pass { color: $verdict-pass; text-style: bold; }
        & > .matrix-view--fail { color: $verdict-fail; text-style: bold; }
        & > .matrix-view--inconclusive { color: $verdict-inconclusive; text-style: bold; }
        & > .matrix-view--skip { color: $verdict-skip; }
        & > .matrix-view--new, & > .matrix-view--stopped { color: $foreground 60%; }
        & > .matrix-view--queued { color: $foreground 60%; }
        & > .matrix-view--running { color: $primary; text-style: bold; }
        & > .matrix-view--head { text-style: bold; }
        & > .matrix-view--dim { color: $foreground 65%; }
        & > .matrix-view--cell-marked { text-style: bold reverse; }
    }
    """
    HELP = """Each row is a test, each column a model. A cell shows the verdict with the model, the score or the number
of runs that passed, and the cost. {matrix.choose} goes to the test."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.matrix = Matrix()
        self.column = 0
        self._left = 0

    def show(self, matrix: Matrix) -> None:
        """Show another matrix; the cursor stays on its test and its model."""
        row, self.column = matrix.place_of(self.matrix, self.cursor, self.column)
        self.matrix = matrix
        self.changed(cursor=row)

    @property
    def cell(self) -> Cell | None:
        """The cell under the cursor; None where the test does not run with the model, and on the sums."""
        if not 0 <= self.cursor < len(self.matrix.rows) or not self.matrix.models:
            return None
        return self.matrix.rows[self.cursor].cells.get(self.matrix.models[self.column])

    @property
    def test(self) -> TestRow | None:
        """The test that Enter shows: the first of the cell under the cursor."""
        return self.cell.first if self.cell is not None else None

    def count(self) -> int:
        """Return the number of rows: one for each test, and one for the sums."""
        return len(self.matrix.rows) + 1 if self.matrix.rows else 0

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        names, cells = self.columns(width)
        shown = self._shown(width)
        if at == len(self.matrix.rows):
            sums = (self._sum(self.matrix.models[number]) for number in shown)
            head: Piece = (f"{'all':<{names}}", "matrix-view--head")
            return [head, *((_fitted(told, cells), "matrix-view--dim") for told in sums)]
        told = self.matrix.rows[at]
        row: list[Piece] = [(_fitted(shortened_name(told.name, names - 1), names), "")]
        for number in shown:
            cell = told.cells.get(self.matrix.models[number])
            row += self._cell(cell, cells, is_here=at == self.cursor and number == self.column)
        return row

    def head(self, width: int) -> list[Piece]:
        """Return the row of model names, with arrows where there are more."""
        names, cells = self.columns(width)
        shown = self._shown(width)
        more = len(self.matrix.models) - len(shown)
        title = f"{len(self.matrix.models)} models" if more else ""
        row: list[Piece] = [(f" {_fitted(title, names)}", "dim")]
        for number in shown:
            name = self.matrix.models[number]
            before = "< " if number == shown[0] and shown[0] > 0 else ""
            after = " >" if number == shown[-1] and shown[-1] < len(self.matrix.models) - 1 else ""
            text = one_line(name, cells - 2 - len(before) - len(after))
            ink = "bold underline" if number == self.column else "bold"
            pad = " " * max(cells - cell_len(text) - len(before) - len(after), 0)
            row += [(before, "dim"), (text, ink), (f"{after}{pad}", "dim")]
        return row

    def columns(self, width: int) -> tuple[int, int]:
        """Return the width of the column of names and that of a cell."""
        longest = max((cell_len(one_line(row.name, MOST_NAME)) for row in self.matrix.rows), default=0) + 2
        names = min(max(min(longest, int(width * NAME_SHARE)), LEAST_NAME), MOST_NAME)
        room = max(width - names, LEAST_CELL)
        seen = max(min(room // LEAST_CELL, len(self.matrix.models)), 1)
        return names, min(room // seen, MOST_CELL)

    def _shown(self, width: int) -> range:
        """The models that there is room for, with the one under the cursor among them."""
        names, cells = self.columns(width)
        room = max((width - names) // cells, 1)
        left = min(max(self._left, self.column - room + 1), self.column)
        left = max(min(left, len(self.matrix.models) - room), 0)
        self._left = left
        return range(left, min(left + room, len(self.matrix.models)))

    def _cell(self, cell: Cell | None, width: int, *, is_here: bool) -> list[Piece]:
        bar = MARKS["bar"] if is_here else " "
        if cell is None:
            text = _fitted(f"{bar}-", width - 1)
            return [(text, "matrix-view--cell-marked" if is_here else "matrix-view--dim"), (" ", "")]
        status = cell.status
        sign = f"{bar}{mark(status)} "
        words = _fitted(cell.remark, width - 1 - cell_len(sign))
        if is_here:
            return [(f"{sign}{words}", "matrix-view--cell-marked"), (" ", "")]
        return [(sign, f"matrix-view--{'inconclusive' if status == 'deferred' else status}"), (f"{words} ", "")]

    def _sum(self, model: str) -> str:
        tests = self.matrix.tests_of(model)
        passed = sum(test.standing == "pass" for test in tests)
        cost, is_told = total_cost(tests)
        return f"   {passed}/{len(tests)}" + (f" {usd(cost)}" if is_told else "")

    def action_column(self, step: int) -> None:
        """Move the cursor by `step` models, to the left if negative."""
        before = self.column
        self.column = min(max(self.column + step, 0), max(len(self.matrix.models) - 1, 0))
        if before != self.column:
            self.refresh()
            self.cursor_moved()

    def clicked(self, at: int, x: int, *, twice: bool) -> None:
        """Move the cursor to the model under the pointer."""
        width = self.text_width
        names, cells = self.columns(width)
        shown = self._shown(width)
        place = (x - 1 - names) // cells
        if 0 <= place < len(shown):
            self.action_column(shown[place] - self.column)
        super().clicked(at, x, twice=twice)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        """Move the cursor one model to the right."""
        event.stop()
        self.action_column(1)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        """Move the cursor one model to the left."""
        event.stop()
        self.action_column(-1)


def _fitted(text: str, width: int) -> str:
    """Return a text cut or padded to the given number of cells."""
    shown = one_line(text, max(width - 1, 1))
    return f"{shown}{' ' * max(width - cell_len(shown), 0)}"
