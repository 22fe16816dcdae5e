"""Mode 1: the list of tests, and what each came to. The screen owns the state; list and detail only show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Horizontal, Vertical
from textual.content import Content

from mcptest_engine.core.text import counted
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.screens.copying import Copying
from mcptest_tui.screens.detail import DetailFeed
from mcptest_tui.screens.running import Opening, Running
from mcptest_tui.screens.tree_values import TreeValues
from mcptest_tui.state.filters import Known, toggled
from mcptest_tui.state.result_rows import busy_text, reason_of
from mcptest_tui.state.run_view import RunView
from mcptest_tui.state.store import TestRow
from mcptest_tui.state.tree_rows import ORDER_WORDS, ORDERS, TO_SEE, Group, Note, TreeRows, group_id
from mcptest_tui.widgets.detail import Detail
from mcptest_tui.widgets.filter_bar import FilterBar
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.row_list import RowList
from mcptest_tui.widgets.splitter import Splitter
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.binding import BindingType
    from textual.timer import Timer
    from textual.widget import Widget

    from mcptest_tui.widgets.json_tree import JsonTree
    from mcptest_tui.widgets.lines import Lines

FAILURES = "is:failed,inconclusive,stopped"
"""What `TO_SEE` names, as a filter."""
FOLLOW_SECONDS = 0.06
PAGE_SECONDS = 0.25
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
        self.run_view = RunView()
        self.known = Known()
        self.following = False
        self.test_list = RowList(self.rows, id="list")
        self.filter_bar = FilterBar()
        self.detail = Detail(id="detail")
        self.feed = DetailFeed(self, self.detail, self.rows, self.run_view, self.entitle)
        self.values = TreeValues(self)
        self.running = Running(self, self.rows, self.test_list, self.detail)
        self.opening = Opening(self, self.rows, self.test_list)
        self.copying = Copying(self, self.test_list, self.feed)
        self._settling: Timer | None = None
        self._wanted: str | None = None
        self._missed = False
        self._page_due = False
        self._is_restored = False
        """The filter is that of the last session, and no test was seen with it yet."""

    def compose_body(self) -> Iterable[Widget]:
        """Two panes."""
        with Horizontal(id="tests"):
            with Vertical(id="list-pane", classes="pane"):
                yield self.filter_bar
                yield self.test_list
            yield Splitter(id="list-detail", percent=45)
            yield self.detail

    @property
    def one_pane(self) -> bool:
        """Whether list and detail are shown one at a time."""
        return self.has_class("-narrow")

    @property
    def detail_open(self) -> bool:
        """Whether the detail is on the screen."""
        return not self.one_pane or self.has_class("-detail")

    def on_mount(self) -> None:
        """What there is already."""
        super().on_mount()
        self._settling = self.set_interval(FOLLOW_SECONDS, self._settle, pause=True)
        self.documents_read()
        self.test_list.focus()

    # What comes from the app

    def engine_events(self, events: list[dict[str, Any]]) -> None:
        """Runs and servers, and the first failure when that ends a run."""
        self.run_view.apply(events, self.workbench.store)
        summary = self.run_view.summary
        if summary is not None and summary.unchecked and any(event.get("event") == "run.finished" for event in events):
            self.workbench.say(summary.unchecked, "warning")
        self._missed = True
        self.running.bail_out(events)

    def events_applied(self, delta: Any) -> None:
        """Results: count, keep the place, follow."""
        self._missed = False
        due = self.rows.update(delta.moved, delta.finished, self.workbench.store)
        due = due or delta.structure_changed or (delta.ended and self.rows.order != "file")
        if due or not self.rows.grow(delta.added):
            self.rebuild()
        elif delta.added:
            self.test_list.grown([moved.row for moved in delta.moved])
            self.entitle()
        elif delta.rows_changed:
            self.test_list.repainted([moved.row for moved in delta.moved])
        if delta.began or delta.ended or (delta.finished and not self.workbench.runs.progress.busy):
            self.refresh_bindings()
        self.feed.answers.finished(delta.finished, ended=delta.ended)
        if delta.nodes:
            self.feed.moved(delta.nodes)
        if self.following:
            self._follow(delta.finished)
        self._refresh_detail(delta)
        if delta.ended and not self.following and not self.workbench.runs.progress.busy:
            self._show_summary()

    def _show_summary(self) -> None:
        """Of a run of all: from the test under the cursor to the page of its suite, unless a person has moved meanwhile."""
        test, stayed_at, self.running.stayed_at = self.test_list.test(), self.running.stayed_at, None
        if test is not None and self.detail_open and stayed_at == (test.id, self.detail.tab):
            self.test_list.select(group_id(test.path))

    def caught_up(self) -> None:
        """Shown again."""
        if self._missed:
            self._missed = False
            self.feed.answers.finished((), ended=True)
            self.documents_read()

    def documents_read(self) -> None:
        """Other tests, or the same in other places."""
        store = self.workbench.store
        self.known = Known.of(store.rows.values())
        self.feed.answers.read_again()
        self.test_list.dimmed = set(store.stale)
        self.test_list.marked &= store.rows.keys()
        self.rebuild()
        if self._is_restored and self.rows.total:
            self._is_restored = False
            if not self.rows.entries:
                self.apply_filter("")  # of the last session, and nothing is left of it
        self.refresh_bindings()
        if self._wanted is not None and self.test_list.select(self._wanted):
            self._wanted = None
        self._settle()

    def tests_wait(self) -> None:
        """Their rows say so."""
        self.test_list.refresh()

    def engine_changed(self, state: str, message: str) -> None:  # noqa: ARG002
        """Another engine: what could not be read can be asked for again."""
        self.feed.answers.forget()
        self.rebuild()
        if state == "ready":
            self._settle()

    def rebuild(self) -> None:
        """All rows anew, everything in its place."""
        store = self.workbench.store
        self.rows.build(store)
        self.test_list.nothing = [] if self.rows.entries else self._why_nothing()
        self.test_list.rebuilt()
        self.entitle()

    def arrive(self, **where: Any) -> None:
        """Show a test, with `result` also where that has to be opened."""
        name = where.get("id")
        if not isinstance(name, str):
            return
        row = self.workbench.store.rows.get(name)
        if row is None:
            self._wanted = name
            return
        if self.rows.filter and not self.rows.filter.matches(row):
            self.apply_filter("")
        self.show_test(row)
        self.test_list.focus()
        if where.get("result"):
            self.action_open_detail()

    def show_test(self, row: TestRow) -> None:
        """The cursor on a test, whatever it is folded into."""
        if self.rows.reveal(row):
            self.rebuild()
        self.test_list.select(row.id)
        if self.detail_open:
            self._settle()

    # The cursor, and what follows it

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """A little later, so that running over many costs nothing."""
        event.stop()
        if event.lines is self.test_list:
            if self._settling is not None:
                self._settling.reset()
                self._settling.resume()
        elif event.lines is self.detail.json_tree:
            self.feed.show_path(self.detail.json_tree)

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Enter on a row of the list, on a node of a graph, or in a conversation."""
        event.stop()
        if event.lines is self.test_list:
            self.action_open_detail()
        elif self.detail.shown == "graph" and self.detail.graph.selected is not None:
            self.feed.node = self.detail.graph.selected.id
            self.detail.use_tab("request")
        elif self.detail.shown == "conversation" and self.detail.conversation.selected is not None:
            self.feed.look_into(self.detail.conversation.selected, self.values.show)

    def on_json_tree_node_action(self, event: JsonTree.NodeAction) -> None:
        """Search it, assert what it shows, or more of its value."""
        event.stop()
        row = self.feed.entry
        if event.what == "search":
            self.detail.open_search()
        elif event.what == "assert" and isinstance(row, TestRow):
            from mcptest_tui.screens.add_assertion import add_to_suite

            add_to_suite(self.workbench, row, event.tree)
        elif isinstance(row, TestRow):
            self.values.take(event, self.feed.part_of(event.tree))

    def on_detail_searched(self, event: Detail.Searched) -> None:
        """As it is typed."""
        tree, row = self.detail.json_tree, self.feed.entry
        ask = self.feed.part_of(tree) if tree is not None else None
        if tree is not None and ask is not None:
            self.values.find(
                tree, event.text, ask, lambda: self.feed.show_path(tree) if row is self.feed.entry else None
            )
            self.feed.show_path(tree)

    def on_row_list_folded(self, event: RowList.Folded) -> None:
        """A group, or all of them."""
        if event.id is None:
            self.rows.fold_all(bool(event.closed))
            self.rebuild()
        elif self.rows.fold(event.id, event.closed):
            self.rebuild()

    def on_row_list_marked(self) -> None:
        """The status bar counts them."""
        self.workbench.refresh_status()

    def on_detail_tab_shown(self) -> None:
        """Fill it."""
        self.feed.fill()
        self.refresh_bindings()

    def fit(self) -> None:
        """A detail that comes to be shown, or goes, when the terminal is resized."""
        before = self.one_pane
        super().fit()
        if before != self.one_pane:
            self._settle()

    def _settle(self) -> None:
        if self._settling is not None:
            self._settling.pause()
        if self.is_mounted:
            self.entitle()
            self.refresh_bindings()
        if self.detail_open and self.is_mounted:
            self.feed.show(self.test_list.entry())
        elif self.is_mounted and (test := self.test_list.test()) is not None:
            self.feed.read_stored(test)

    def _refresh_detail(self, delta: Any) -> None:
        entry = self.feed.entry
        if self.one_pane and delta.rows_changed:
            self.entitle()
        if entry is None or not self.detail_open:
            return
        if isinstance(entry, TestRow):
            of_the_entry = any(moved.row is entry for moved in delta.moved) or entry.id in delta.finished
            if of_the_entry or (delta.ended and self.detail.tab == "history"):
                self.feed.fill()
        elif delta.ended:
            self._settle()
        elif delta.rows_changed and not self._page_due:
            self._page_due = True
            self.set_timer(PAGE_SECONDS, self._refresh_page)

    def _refresh_page(self) -> None:
        """A group's page counts along while it runs, but not with every result."""
        self._page_due = False
        if self.feed.entry is not None and not isinstance(self.feed.entry, TestRow):
            self._settle()

    def _follow(self, finished: tuple[str, ...]) -> None:
        store = self.workbench.store
        failed = next((row for test in finished if (row := store.rows.get(test)) and row.verdict == "fail"), None)
        if failed is not None:
            self.show_test(failed)

    # Filter

    def on_filter_bar_changed(self) -> None:
        """A letter, or several: what stands there by now counts, and is not written back over what is typed meanwhile."""
        text = self.filter_bar.text
        if text != self.rows.filter.text:
            self._use_filter(text)

    def on_filter_bar_applied(self) -> None:
        """Back to the list; nothing runs."""
        self.test_list.focus()

    def apply_filter(self, text: str) -> None:
        """Show what matches."""
        self.filter_bar.put(text)
        self._use_filter(text)

    def _use_filter(self, text: str) -> None:
        self.rows.use_filter(text)
        self.rebuild()
        if not self.rows.entries:
            self._settle()  # the cursor is on nothing, so it tells of no move
        self.filter_bar.say(self.rows.filter.problems[0] if self.rows.filter.problems else self._nearest())

    def _nearest(self) -> str:
        return "" if self.rows.entries else self.rows.filter.why_empty(self.known)

    def _why_nothing(self) -> list[str]:
        if not self.rows.filter:
            return [] if self.workbench.store.rows else [f"{self.workbench.suites.nothing}."]
        return [f"No test matches {self.rows.filter.text}", "", f"{key_of('app.back')} clears the filter"]

    def action_look_again(self) -> None:
        """Suites that were made since they were looked for last."""
        known = len(self.workbench.store.documents)

        async def look() -> None:
            await self.workbench.suites.search_again()
            more = len(self.workbench.store.documents) - known
            self.workbench.say(f"found {counted(more, 'suite')} more" if more > 0 else "there is no other suite here")

        self.run_worker(look, group="look", exclusive=True, exit_on_error=False)  # type: ignore[arg-type]

    def action_filter(self) -> None:
        """Type one."""
        if self.one_pane:
            self.remove_class("-detail")
        self.filter_bar.open(self.known)

    def action_failures_only(self) -> None:
        """Only what failed, is inconclusive or was stopped, which is where `action_failure` goes; and back."""
        self.apply_filter(toggled(self.rows.filter.text, FAILURES))

    def action_order(self) -> None:
        """Another order, from its first row, as far as the test under the cursor stays in view."""
        rows = self.rows
        rows.order = ORDERS[(ORDERS.index(rows.order) + 1) % len(ORDERS)]
        self.rebuild()
        self.test_list.changed(top=0)
        self.test_list.show_row(self.test_list.cursor)
        self.workbench.say(ORDER_WORDS[rows.order])

    def action_follow(self) -> None:
        """Whether the cursor goes to each new failure."""
        self.following = not self.following
        self.workbench.say("the cursor follows failures" if self.following else "the cursor stays where it is")

    def action_failure(self, step: int) -> None:
        """The next test that failed, is inconclusive or was stopped."""
        row = self.rows.next_failure(self.test_list.current, step, self.workbench.store)
        if row is None:
            self.workbench.say("no test that is shown has failed, is inconclusive or was stopped")
        else:
            self.show_test(row)

    # Opening

    def action_open_detail(self) -> None:
        """The detail of a test, a suite or a block; what is folded is opened first. A problem is shown in the editor."""
        entry = self.test_list.entry()
        if isinstance(entry, Note):
            self.opening.action_edit()
        elif isinstance(entry, Group) and self.rows.fold(entry.id, closed=False):
            self.rebuild()
        elif entry is not None:
            self.add_class("-detail")
            self.feed.show(entry)
            self.call_after_refresh(self.detail.view.focus)

    def action_tab(self, step: int) -> None:
        """Another tab of the detail."""
        self.detail.step_tab(step)

    def action_sides(self) -> None:
        """The difference in another way."""
        self.detail.diff.action_sides()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What there is nothing to do for is left out of the footer."""
        if action == "failure":
            return self.running.has_any(*TO_SEE)
        if action == "sides":
            return self.detail_open and self.detail.shown == "diff"
        return super().check_action(action, parameters)

    def entitle(self) -> None:
        """Show on the list's frame what is listed, and where there is no detail why the test under the cursor failed."""
        rows = self.rows
        title = "Tests" if not rows.filter else f"Tests {rows.shown} of {rows.total}"
        if rows.order != "file":
            title += f"  {ORDER_WORDS[rows.order]}"
        pane, test = self.query_one("#list-pane"), self.test_list.test()
        if self.one_pane and test is not None and test.status in ("fail", "inconclusive", "skip"):
            title += f"   {reason_of(test, self.feed.stored(test))}"
        elif self.one_pane and test is not None and test.busy and test.answered:
            title += f"   {busy_text(test)}"
        filter_text = rows.filter.text if rows.filter and not self.filter_bar.display else ""
        heading = any(row.strength for row in self.workbench.store.rows.values()) and "strength time"
        if heading and self.one_pane and title == "Tests":
            title += "   at the right: strength, time"
        show_titles(
            pane,
            shown(one_line(title, max(self.size.width - 4, 10))),
            shown(filter_text, limit=40) if filter_text else Content.styled(heading or "", "$foreground 60%"),
        )

    def hints_first(self) -> dict[str, str]:
        """Stop what runs; turn to another tab in the detail; review what is proposed for the failed test."""
        first = {"run.stop": ""} if self.workbench.runs.progress.busy else {}
        test = self.test_list.test()
        if (
            test is not None
            and test.verdict == "fail"
            and self.workbench.reviews.state.find(test.path, test.name) is not None
        ):
            first["review.open"] = ""
        if self.detail.has_focus_within and self.detail.has_class("-tabs"):
            first["tabs"] = ""
        if self.one_pane and self.has_class("-detail"):
            first["app.back"] = ""
        return first

    # The session, and the bars

    def back(self) -> bool:
        """Out of the search, out of the detail, marks away, filter away."""
        if self.detail.close_search():
            tree = self.detail.json_tree
            if tree is not None:
                tree.search("")
                self.feed.show_path(tree)
            return True
        if self.one_pane and self.has_class("-detail"):
            self.remove_class("-detail")
            self.test_list.focus()
            return True
        if self.test_list.unmark():
            return True
        if self.rows.filter.text or self.filter_bar.has_focus_within:
            self.apply_filter("")
            self.test_list.focus()
            return True
        if not self.test_list.has_focus and not self.panes.zoomed:
            self.test_list.focus()
            return True
        return False

    def status_text(self) -> Content:
        """What is set otherwise than usual."""
        parts = []
        running = self.workbench.store.running
        silent = self.workbench.runs.progress.silent
        if silent is not None:
            parts.append(f"no result for {silent:.0f} s, {key_of('app.processes')} shows why")
        elif running:
            more = f" +{len(running) - 1}" if len(running) > 1 else ""
            parts.append(f"{one_line(next(iter(running.values())).name, CURRENT_WIDTH)}{more}")
        if self.test_list.marked:
            parts.append(f"{counted(len(self.test_list.marked), 'test')} marked")
        if self.workbench.runs.bail:
            parts.append("stops at the first failure")
        if self.following:
            parts.append("follows failures")
        return Content.styled("  ".join(parts), "$accent") if parts else Content("")

    def remember(self) -> dict[str, Any]:
        """Selection, filter, folding, and tab."""
        return {
            **self.rows.remember(),
            "current": self.test_list.current,
            "filter": self.rows.filter.text,
            "tab": self.detail.tab,
            "sides": any(view.sides for view in self.detail.query("DiffView")),  # type: ignore[attr-defined]
        }

    def restore(self, memory: dict[str, Any]) -> None:
        """From the last session."""
        self.rows.restore(memory)
        if memory.get("sides") is True:
            self.detail.diff.sides = True
        if isinstance(memory.get("tab"), str):
            self.detail.use_tab(memory["tab"])
        if isinstance(memory.get("filter"), str) and memory["filter"]:
            self.rows.use_filter(memory["filter"])
            self.filter_bar.put(memory["filter"])
            self._is_restored = True
        if isinstance(memory.get("current"), str):
            self._wanted = memory["current"]
        self.documents_read()
