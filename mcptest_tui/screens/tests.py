"""Mode 1: the list of tests, and the result of each. The screen composes the list, the detail and their controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Horizontal, Vertical
from textual.content import Content

from mcptest_engine.core.text import counted
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.screens.copying import Copying
from mcptest_tui.screens.detail import DetailFeed
from mcptest_tui.screens.detail_pane import DetailPane
from mcptest_tui.screens.running import Opening, Running
from mcptest_tui.screens.tests_list import Listing
from mcptest_tui.state.tree_rows import Group, Note, TreeRows, group_id
from mcptest_tui.widgets.detail import Detail
from mcptest_tui.widgets.row_list import RowList
from mcptest_tui.widgets.splitter import Splitter
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.binding import BindingType
    from textual.widget import Widget

    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent
    from mcptest_tui.state.store import Delta
    from mcptest_tui.widgets.lines import Lines

CURRENT_WIDTH = 30


class TestsScreen(WorkScreen):
    """The list, the filter above it, the detail beside it; on narrow terminals one of both."""

    MODE = "tests"
    AUTO_FOCUS = "RowList"  # and not the filter above it, which would take a key that comes early
    CSS_PATH = "tests.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("tests")
    HELP = RowList.HELP

    def __init__(self) -> None:
        super().__init__()
        self.rows = TreeRows()
        self.test_list = RowList(self.rows, id="list")
        self.detail = Detail(id="detail")
        self.feed = DetailFeed(self, self.detail, self.rows, self._show_title)
        self.detail_pane = DetailPane(self, self.detail, self.feed, self.test_list, self._settle)
        self.listing = Listing(self, self.rows, self.test_list, self.feed, self._settle)
        self.running = Running(self, self.rows, self.test_list, self.detail)
        self.opening = Opening(self, self.rows, self.test_list)
        self.copying = Copying(self, self.test_list, self.feed)
        self._missed = False

    def compose_body(self) -> Iterable[Widget]:
        """Lay out the filter bar, the list of tests and the detail."""
        with Horizontal(id="tests"):
            with Vertical(id="list-pane", classes="pane"):
                yield self.listing.filter_bar
                yield self.test_list
            yield Splitter(id="list-detail", percent=45)
            yield self.detail

    def on_mount(self) -> None:
        """Show the suites that are already read, and focus the list."""
        self.documents_read()
        self.test_list.focus()

    # What comes from the app

    def engine_events(self, events: list[WorkbenchEvent]) -> None:
        """Warn when a run checked nothing, and stop it at its first failure if wanted."""
        summary = self.workbench.store.run_view.summary
        if summary is not None and summary.unchecked and any(event["event"] == "run.finished" for event in events):
            self.workbench.messages.show(summary.unchecked, "warning")
        self._missed = True
        self.running.bail_out(events)

    def events_applied(self, delta: Delta) -> None:
        """Show the new results in the list and the detail."""
        self._missed = False
        self.listing.apply(delta)
        busy = self.workbench.store.progress.busy
        if delta.began or delta.ended or (delta.finished and not busy):
            self.refresh_bindings()
        self.detail_pane.apply(delta)
        if delta.ended and not self.listing.follows_failures and not busy:
            self._show_summary()

    def _show_summary(self) -> None:
        """After a run of all, go from the test to the page of its suite, unless a person has moved meanwhile."""
        test, stayed_at, self.running.stayed_at = self.test_list.test(), self.running.stayed_at, None
        if test is not None and self.detail_pane.is_shown and stayed_at == (test.id, self.detail.tab):
            self.test_list.select(group_id(test.path))

    def caught_up(self) -> None:
        """Read the tests again, if results have come meanwhile."""
        if self._missed:
            self._missed = False
            self.feed.answers.finished((), ended=True)
            self.documents_read()

    def documents_read(self) -> None:
        """Update the list and the detail after suites were read again."""
        self.feed.answers.read_again()
        self.listing.read_documents()
        self.refresh_bindings()
        self._settle()

    def tests_wait(self) -> None:
        """Draw the list again, with the tests that wait marked."""
        self.test_list.refresh()

    def engine_changed(self, state: str, message: str) -> None:  # noqa: ARG002
        """Forget stored answers; a new engine may have those that could not be read."""
        self.feed.answers.forget()
        self.listing.rebuild()
        if state == "ready":
            self._settle()

    def arrive(self, **where: object) -> None:
        """Show a test, with `result` also where that has to be opened."""
        name = where.get("id")
        if isinstance(name, str) and self.listing.go_to(name) and where.get("result"):
            self._open()

    # The entry under the cursor

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Open the row of the list."""
        event.stop()
        if event.lines is self.test_list:
            self._open()

    def _open(self) -> None:
        """Show the detail of a test, a suite or a block; what is folded is opened first. A problem is shown in the editor."""
        entry = self.test_list.entry()
        if isinstance(entry, Note):
            self.opening.action_edit()
        elif isinstance(entry, Group) and self.rows.fold(entry.id, closed=False):
            self.listing.rebuild()
        elif entry is not None:
            self.detail_pane.open(entry)

    def _show_title(self) -> None:
        self.listing.show_title()

    def _settle(self) -> None:
        """Show what depends on the entry under the cursor: the detail, the list's title, the footer."""
        if self.is_mounted:
            self.listing.show_title()
            self.refresh_bindings()
            self.detail_pane.show_entry()

    def fit(self) -> None:
        """Fill a detail that is shown, or was, when the terminal is resized."""
        before = self.has_class("-narrow")
        super().fit()
        if before != self.has_class("-narrow"):
            self._settle()

    # The session, and the bars

    def hints_first(self) -> dict[str, str]:
        """Stop what runs; turn to another tab in the detail; review what is proposed for the failed test."""
        first = {"run.stop": ""} if self.workbench.store.progress.busy else {}
        test = self.test_list.test()
        if (
            test is not None
            and test.verdict == "fail"
            and self.workbench.reviews.state.find(test.path, test.name) is not None
        ):
            first["review.open"] = ""
        if self.detail.has_focus_within and self.detail.has_class("-tabs"):
            first["tabs"] = ""
        if self.detail_pane.is_over_list:
            first["app.back"] = ""
        return first

    def back(self) -> bool:
        """Close the search, else the detail, else remove the marks, else the filter."""
        return self.detail_pane.back() or self.listing.back()

    def status_text(self) -> Content:
        """Return the running test, the marks and the unusual settings for the status bar."""
        parts = []
        running = self.workbench.store.running
        silent = self.workbench.store.progress.silent
        if silent is not None:
            parts.append(f"no result for {silent:.0f} s, {key_of('app.processes')} shows why")
        elif running:
            more = f" +{len(running) - 1}" if len(running) > 1 else ""
            parts.append(f"{one_line(next(iter(running.values())).name, CURRENT_WIDTH)}{more}")
        if self.test_list.marked:
            parts.append(f"{counted(len(self.test_list.marked), 'test')} marked")
        if self.workbench.runs.bail:
            parts.append("stops at the first failure")
        if self.listing.follows_failures:
            parts.append("follows failures")
        return Content.styled("  ".join(parts), "$accent") if parts else Content("")

    def remember(self) -> dict[str, Any]:
        """Return what the session stores: selection, filter, folding and tab."""
        return {
            **self.rows.remember(),
            "current": self.test_list.current,
            "filter": self.rows.filter.text,
            "tab": self.detail.tab,
            "sides": any(view.sides for view in self.detail.query("DiffView")),  # type: ignore[attr-defined]
        }

    def restore(self, memory: dict[str, Any]) -> None:
        """Use tab, filter, folding and cursor of the last session."""
        if memory.get("sides") is True:
            self.detail.diff.sides = True
        if isinstance(memory.get("tab"), str):
            self.detail.use_tab(memory["tab"])
        self.listing.restore(memory)
        self.documents_read()
