"""What the parts of the tests' screen know of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_tui.places import path_here
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.state.filters import Known
from mcptest_tui.state.matrix_rows import Several
from mcptest_tui.state.run_view import RunView
from mcptest_tui.state.store import TestRow
from mcptest_tui.state.tree_rows import TreeRows
from mcptest_tui.widgets.detail import Detail
from mcptest_tui.widgets.filter_bar import FilterBar
from mcptest_tui.widgets.row_list import RowList
from mcptest_tui.words import key_of


class TestsBase(WorkScreen):
    """The state, the widgets, and the steps that one part asks of another."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = TreeRows()
        self.run_view = RunView()
        self.following = False
        self.last_asked: tuple[str | None, list[str] | None] | None = None
        self.known = Known()
        self.several = Several()

    if TYPE_CHECKING:
        # tests.py
        def rebuild(self) -> None: ...
        def entitle(self) -> None: ...
        def apply_filter(self, text: str) -> None: ...
        def show_test(self, row: TestRow) -> None: ...

    @property
    def test_list(self) -> RowList:
        """The list."""
        return self.query_one(RowList)

    @property
    def detail(self) -> Detail:
        """The pane beside it."""
        return self.query_one(Detail)

    @property
    def filter_bar(self) -> FilterBar:
        """The line above it."""
        return self.query_one(FilterBar)

    @property
    def one_pane(self) -> bool:
        """Whether list and detail are shown one at a time."""
        return self.has_class("-narrow")

    @property
    def detail_open(self) -> bool:
        """Whether the detail is on the screen."""
        return not self.one_pane or self.has_class("-detail")

    def test(self) -> TestRow | None:
        """The test under the cursor."""
        entry = self.test_list.entry()
        return entry if isinstance(entry, TestRow) else None

    def relative(self, path: str) -> str:
        """A path as it is typed here."""
        return path_here(path)

    def place(self, row: TestRow) -> str:
        """`weather.yml:12`."""
        file, line = row.own_place
        return f"{self.relative(file)}:{line}"

    def nothing_keys(self) -> list[tuple[str, str]]:
        """What the detail says when nothing is under the cursor."""
        return (
            [(key_of("app.back"), "clears the filter")]
            if self.rows.filter
            else [(key_of("app.settings"), "settings"), (key_of("app.palette"), "everything else")]
        )
