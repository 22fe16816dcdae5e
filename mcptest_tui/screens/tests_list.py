"""Which tests the list shows, in which order, and where its cursor goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.content import Content

from mcptest_engine.core.text import counted
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.base import Controller, in_background
from mcptest_tui.state.filters import Known, toggled
from mcptest_tui.state.result_rows import busy_text, reason_of
from mcptest_tui.state.tree_rows import ORDER_WORDS, ORDERS, TO_SEE
from mcptest_tui.widgets.filter_bar import FilterBar
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_tui.screens.base import WorkScreen
    from mcptest_tui.screens.detail import DetailFeed
    from mcptest_tui.state.test_row import TestRow
    from mcptest_tui.state.tree_rows import TreeRows
    from mcptest_tui.widgets.row_list import RowList

FAILURES = "is:failed,inconclusive,stopped"
"""What `TO_SEE` names, as a filter."""


class Listing(Controller):
    """The rows of the list, its filter and its title. `settle` is called where the cursor is on another test."""

    def __init__(
        self, screen: WorkScreen, rows: TreeRows, test_list: RowList, feed: DetailFeed, settle: Callable[[], None]
    ) -> None:
        super().__init__(screen)
        self._rows, self._list, self._feed, self._settle = rows, test_list, feed, settle
        self.filter_bar = FilterBar()
        self.follows_failures = False
        self._known = Known()
        self._wanted: str | None = None
        """The test to go to as soon as it is there."""
        self._is_restored = False
        """The filter is that of the last session, and no test was seen with it yet."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """There is no failure to go to before a test has failed."""
        return self.workbench.store.has_any(*TO_SEE) if action == "failure" else True

    # The rows

    def apply(self, delta: Any) -> None:
        """Show results; go to the first new failure if that is wanted."""
        rows, store = self._rows, self.workbench.store
        due = rows.update(delta.moved, delta.finished, store)
        due = due or delta.structure_changed or (delta.ended and rows.order != "file")
        if due or not rows.grow(delta.added):
            self.rebuild()
        elif delta.added:
            self._list.grown([moved.row for moved in delta.moved])
            self.show_title()
        elif delta.rows_changed:
            self._list.repainted([moved.row for moved in delta.moved])
            if self.screen.has_class("-narrow"):
                self.show_title()
        if self.follows_failures:
            finished = (store.rows.get(test) for test in delta.finished)
            failed = next((row for row in finished if row is not None and row.verdict == "fail"), None)
            if failed is not None:
                self.show_test(failed)

    def read_documents(self) -> None:
        """Show the tests of the store, and go to the one that is wanted once it is there."""
        store = self.workbench.store
        self._known = Known.of(store.rows.values())
        self._list.dimmed = set(store.stale)
        self._list.marked &= store.rows.keys()
        self.rebuild()
        if self._is_restored and self._rows.total:
            self._is_restored = False
            if not self._rows.entries:
                self.put_filter("")  # of the last session, and nothing is left of it
        if self._wanted is not None and self._list.select(self._wanted):
            self._wanted = None

    def rebuild(self) -> None:
        """Make all rows anew, with everything in its place."""
        self._rows.build(self.workbench.store)
        self._list.nothing = [] if self._rows.entries else self._empty_text()
        self._list.rebuilt()
        self.show_title()

    def _empty_text(self) -> list[str]:
        if not self._rows.filter:
            return [] if self.workbench.store.rows else [f"{self.workbench.suites.nothing}."]
        return [f"No test matches {self._rows.filter.text}", "", f"{key_of('app.back')} clears the filter"]

    def go_to(self, name: str) -> bool:
        """Go to a test by its id, now or as soon as it is there; False when it is not."""
        row = self.workbench.store.rows.get(name)
        if row is None:
            self._wanted = name
            return False
        if self._rows.filter and not self._rows.filter.matches(row):
            self.put_filter("")
        self.show_test(row)
        self._list.focus()
        return True

    def show_test(self, row: TestRow) -> None:
        """Put the cursor on a test, whatever it is folded into."""
        if self._rows.reveal(row):
            self.rebuild()
        self._list.select(row.id)
        self._settle()

    def show_title(self) -> None:
        """Show on the list's frame what is listed, and where there is no detail why the test under the cursor failed."""
        rows, one_pane = self._rows, self.screen.has_class("-narrow")
        title = "Tests" if not rows.filter else f"Tests {rows.shown} of {rows.total}"
        if rows.order != "file":
            title += f"  {ORDER_WORDS[rows.order]}"
        pane, test = self.screen.query_one("#list-pane"), self._list.test()
        if one_pane and test is not None and test.status in ("fail", "inconclusive", "skip"):
            title += f"   {reason_of(test, self._feed.stored(test))}"
        elif one_pane and test is not None and test.busy and test.answered:
            title += f"   {busy_text(test)}"
        filter_text = rows.filter.text if rows.filter and not self.filter_bar.display else ""
        heading = any(row.strength for row in self.workbench.store.rows.values()) and "strength time"
        if heading and one_pane and title == "Tests":
            title += "   at the right: strength, time"
        show_titles(
            pane,
            shown(one_line(title, max(self.screen.size.width - 4, 10))),
            shown(filter_text, limit=40) if filter_text else Content.styled(heading or "", "$foreground 60%"),
        )

    def on_row_list_folded(self, event: RowList.Folded) -> None:
        """Fold or unfold a group, or all of them without an id."""
        if event.id is None:
            self._rows.fold_all(bool(event.closed))
            self.rebuild()
        elif self._rows.fold(event.id, event.closed):
            self.rebuild()

    def on_row_list_marked(self) -> None:
        """Update the status bar, which counts the marked tests."""
        self.workbench.refresh_status()

    def back(self) -> bool:
        """Marks away, filter away, focus on the list; False when there was nothing."""
        if self._list.unmark():
            return True
        if self._rows.filter.text or self.filter_bar.has_focus_within:
            self.put_filter("")
            self._list.focus()
            return True
        if not self._list.has_focus and not self.screen.panes.zoomed:
            self._list.focus()
            return True
        return False

    def restore(self, memory: dict[str, Any]) -> None:
        """Use folding, filter and cursor of the last session, once its tests are read."""
        self._rows.restore(memory)
        if isinstance(memory.get("filter"), str) and memory["filter"]:
            self._rows.use_filter(memory["filter"])
            self.filter_bar.put(memory["filter"])
            self._is_restored = True
        if isinstance(memory.get("current"), str):
            self._wanted = memory["current"]

    # The filter

    def on_filter_bar_changed(self) -> None:
        """Filter by the text that stands there by now, which is not written back over what is typed meanwhile."""
        text = self.filter_bar.text
        if text != self._rows.filter.text:
            self._use_filter(text)

    def on_filter_bar_applied(self) -> None:
        """Go back to the list; nothing runs."""
        self._list.focus()

    def put_filter(self, text: str) -> None:
        """Show what matches, and the filter above it."""
        self.filter_bar.put(text)
        self._use_filter(text)

    def _use_filter(self, text: str) -> None:
        rows = self._rows
        rows.use_filter(text)
        self.rebuild()
        if not rows.entries:
            self._settle()  # the cursor is on nothing, so it reports no move
        problem = rows.filter.problems[0] if rows.filter.problems else ""
        self.filter_bar.say(problem or ("" if rows.entries else rows.filter.why_empty(self._known)))

    def action_filter(self) -> None:
        """Open the filter bar above the list to type in."""
        if self.screen.has_class("-narrow"):
            self.screen.remove_class("-detail")
        self.filter_bar.open(self._known)

    def action_failures_only(self) -> None:
        """Show only what `action_failure` goes to, or all again."""
        self.put_filter(toggled(self._rows.filter.text, FAILURES))

    # Other keys

    def action_order(self) -> None:
        """Use the next order, from its first row, as far as the test under the cursor stays in view."""
        rows = self._rows
        rows.order = ORDERS[(ORDERS.index(rows.order) + 1) % len(ORDERS)]
        self.rebuild()
        self._list.changed(top=0)
        self._list.show_row(self._list.cursor)
        self.workbench.messages.show(ORDER_WORDS[rows.order])

    def action_follow(self) -> None:
        """Let the cursor go to each new failure, or stay."""
        self.follows_failures = not self.follows_failures
        self.workbench.messages.show(
            "the cursor follows failures" if self.follows_failures else "the cursor stays where it is"
        )

    def action_failure(self, step: int) -> None:
        """Go to the next test that failed, is inconclusive or was stopped."""
        row = self._rows.next_failure(self._list.current, step, self.workbench.store)
        if row is None:
            self.workbench.messages.show("no test that is shown has failed, is inconclusive or was stopped")
        else:
            self.show_test(row)

    def action_look_again(self) -> None:
        """Search for suites that were created since the last search."""
        known = len(self.workbench.store.documents)

        async def look() -> None:
            await self.workbench.suites.search_again()
            more = len(self.workbench.store.documents) - known
            self.workbench.messages.show(
                f"found {counted(more, 'suite')} more" if more > 0 else "there is no other suite here"
            )

        in_background(self.screen, look, "look")
