"""The detail pane beside the list of tests: shows and searches it, and fills it shortly after the cursor moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_tui.debounce import Debounce
from mcptest_tui.screens.base import Controller
from mcptest_tui.screens.tree_values import TreeValues
from mcptest_tui.state.test_row import TestRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_tui.screens.base import WorkScreen
    from mcptest_tui.screens.detail import DetailFeed
    from mcptest_tui.state.tree_rows import Entry
    from mcptest_tui.widgets.detail import Detail
    from mcptest_tui.widgets.json_tree import JsonTree
    from mcptest_tui.widgets.lines import Lines
    from mcptest_tui.widgets.row_list import RowList

FOLLOW_SECONDS = 0.06
PAGE_SECONDS = 0.25


class DetailPane(Controller):
    """Shows the detail pane and handles its keys. `settle` is called once the cursor of the list rests."""

    def __init__(
        self, screen: WorkScreen, detail: Detail, feed: DetailFeed, test_list: RowList, settle: Callable[[], None]
    ) -> None:
        super().__init__(screen)
        self._detail, self._feed, self._list, self._settle = detail, feed, test_list, settle
        self._values = TreeValues(screen)
        self._settle_soon = Debounce(screen, FOLLOW_SECONDS, settle)
        self._is_page_due = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Offer the other view of a difference only while a difference is shown."""
        return self.is_shown and self._detail.shown == "diff" if action == "sides" else True

    @property
    def is_over_list(self) -> bool:
        """Whether the detail covers the list, where only one of them has room."""
        return self.screen.has_class("-narrow") and self.screen.has_class("-detail")

    @property
    def is_shown(self) -> bool:
        """Whether the detail is on the screen."""
        return not self.screen.has_class("-narrow") or self.screen.has_class("-detail")

    def open(self, entry: Entry) -> None:
        """Show the detail of an entry, and focus it."""
        self.screen.add_class("-detail")
        self._feed.show(entry)
        self.screen.call_after_refresh(self._detail.view.focus)

    def show_entry(self) -> None:
        """Fill the detail for the entry under the cursor; where it is not shown, read what the list's title needs."""
        if self.is_shown:
            self._feed.show(self._list.entry())
        elif (test := self._list.test()) is not None:
            self._feed.read_stored(test)

    def apply(self, delta: Any) -> None:
        """Update the detail with the results that have arrived."""
        self._feed.answers.finished(delta.finished, ended=delta.ended)
        if delta.nodes:
            self._feed.moved(delta.nodes)
        entry = self._feed.entry
        if entry is None or not self.is_shown:
            return
        if isinstance(entry, TestRow):
            of_the_entry = any(moved.row is entry for moved in delta.moved) or entry.id in delta.finished
            if of_the_entry or (delta.ended and self._detail.tab == "history"):
                self._feed.fill()
        elif delta.ended:
            self._settle()
        elif delta.rows_changed and not self._is_page_due:
            self._is_page_due = True
            self.screen.set_timer(PAGE_SECONDS, self._refresh_page)

    def _refresh_page(self) -> None:
        """Update the page of a running group, less often than results arrive."""
        self._is_page_due = False
        if self._feed.entry is not None and not isinstance(self._feed.entry, TestRow):
            self._settle()

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """Fill the detail shortly after the list's cursor moves; show the path in a tree at once."""
        event.stop()
        if event.lines is self._list:
            self._settle_soon()
        elif event.lines is self._detail.json_tree:
            self._feed.show_path(self._detail.json_tree)

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Open the chosen node of a graph, or part of a conversation."""
        event.stop()
        detail = self._detail
        if event.lines is self._list:
            return
        if detail.shown == "graph" and detail.graph.selected is not None:
            self._feed.node = detail.graph.selected.id
            detail.use_tab("request")
        elif detail.shown == "conversation" and detail.conversation.selected is not None:
            self._feed.look_into(detail.conversation.selected, self._values.show)

    def on_json_tree_node_action(self, event: JsonTree.NodeAction) -> None:
        """Search a tree, add an assertion about a value, or show more of it."""
        event.stop()
        row = self._feed.entry
        if event.what == "search":
            self._detail.open_search()
        elif event.what == "assert" and isinstance(row, TestRow):
            from mcptest_tui.screens.add_assertion import add_to_suite

            add_to_suite(self.workbench, row, event.tree)
        elif isinstance(row, TestRow):
            self._values.take(event, self._feed.part_of(event.tree))

    def on_detail_searched(self, event: Detail.Searched) -> None:
        """Search the shown tree for the text typed so far."""
        tree, row = self._detail.json_tree, self._feed.entry
        request = self._feed.part_of(tree) if tree is not None else None
        if tree is not None and request is not None:

            def found() -> None:
                if row is self._feed.entry:
                    self._feed.show_path(tree)

            self._values.find(tree, event.text, request, found)
            self._feed.show_path(tree)

    def on_detail_tab_shown(self) -> None:
        """Fill the tab that was opened, and update the footer."""
        self._feed.fill()
        self.screen.refresh_bindings()

    def back(self) -> bool:
        """Close the search, else the detail over the list; return False when neither is open."""
        if self._detail.close_search():
            tree = self._detail.json_tree
            if tree is not None:
                tree.search("")
                self._feed.show_path(tree)
            return True
        if self.is_over_list:
            self.screen.remove_class("-detail")
            self._list.focus()
            return True
        return False

    def action_tab(self, step: int) -> None:
        """Show the next or the previous tab of the detail."""
        self._detail.step_tab(step)

    def action_sides(self) -> None:
        """Switch the difference between side by side and one below the other."""
        self._detail.diff.action_sides()
