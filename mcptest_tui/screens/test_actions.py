"""What the keys of the tests' screen do with tests: run them, find them, open them elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.words import counted
from mcptest_tui.screens.tests_base import TestsBase
from mcptest_tui.state.filters import toggled
from mcptest_tui.state.result_rows import failures_by_cause
from mcptest_tui.state.store import BUSY, TestRow
from mcptest_tui.state.tree_rows import ORDER_WORDS, ORDERS, TO_SEE, Group, Note
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from mcptest_tui.screens.detail import DetailFeed

FAILURES = "is:failed,inconclusive,stopped"
"""What `TO_SEE` names, as a filter."""


class TestActions(TestsBase):
    """A mixin of `TestsScreen`."""

    feed: DetailFeed
    stayed_at: tuple[str, str] | None = None
    """The test under the cursor, and the tab of its detail, when all tests were started; its end shows the summary instead."""

    # Running

    def action_run(self) -> None:
        """What is marked, else what is under the cursor."""
        store = self.workbench.store
        if self.test_list.marked:
            self._run(None, [test for test in store.order if test in self.test_list.marked])
            return
        entry = self.test_list.entry()
        if isinstance(entry, Note):
            self._refuse(entry.path)
        elif isinstance(entry, Group) and not entry.depth and not self.rows.filter:
            self._run(entry.path, None)
        elif entry is not None:
            self._run(None, [row.id for row in self.rows.tests_of(entry.id, store)])

    def action_run_all(self) -> None:
        """Everything that is shown."""
        ids = None
        if self.rows.filter:
            ids = [row.id for row in self.rows.shown_tests(self.workbench.store)]
            self.workbench.say(f"running the {counted(len(ids), 'test')} that the filter shows")
        self._run(None, ids)
        test = self.test()
        self.stayed_at = None if test is None else (test.id, self.detail.tab)

    def action_run_failed(self) -> None:
        """The failed ones that are shown, and only those."""
        ids = [row.id for row in self.rows.shown_tests(self.workbench.store) if row.standing == "fail"]
        if ids:
            self._run(None, ids)
        else:
            self.workbench.say("no test in the list has failed")

    def action_run_alike(self) -> None:
        """Those that failed of the same cause as the test under the cursor."""
        failed = [row for row in self.workbench.store.rows.values() if row.verdict == "fail"]
        test = self.test()
        group = next((group for group in failures_by_cause(failed) if test in group), [])
        if group:
            self.workbench.say(f"running the {counted(len(group), 'test')} that failed of this cause")
            self._run(None, [row.id for row in group])
        else:
            self.workbench.say("the test under the cursor has not failed")

    def action_run_again(self) -> None:
        """What was asked for last."""
        asked = self.last_asked
        if asked is None:
            self.workbench.say(f"no run yet; {key_of('run.this')} runs what is under the cursor")
        else:
            self._run(*asked)

    def action_stop(self) -> None:
        """The run that is on."""
        self.workbench.runs.cancel_one()

    def action_stop_all(self) -> None:
        """The run that is on, and those that wait."""
        self.workbench.cancel_runs()

    def action_bail(self) -> None:
        """Whether the first failure ends a run."""
        bench = self.workbench
        bench.runs.bail = not bench.runs.bail
        bench.say("a run stops at its first failure" if bench.runs.bail else "a run goes on after a failure")

    def bail_out(self, events: list[dict[str, Any]]) -> None:
        """End the run when a test has failed and that is what was asked for."""
        runs = self.workbench.runs
        if not runs.bail or runs.progress.stopping or not runs.progress.busy:
            return
        failed = (event for event in events if event.get("event") == "case.finished")
        if any(event["result"].get("verdict") == "fail" for event in failed):
            self.workbench.cancel_runs()
            self.workbench.say("stopped at the first failure; b lets runs go on")

    def _run(self, path: str | None, ids: list[str] | None) -> None:
        self.last_asked, self.stayed_at = (path, ids), None
        self.workbench.run_tests(path, ids)
        self.test_list.refresh()
        self.refresh_bindings()

    def _refuse(self, path: str) -> None:
        self.workbench.say(
            f"{Path(path).name} has problems; {key_of('open.edit')} opens the editor at this one", "warning"
        )

    # Finding

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
        """Another order."""
        rows = self.rows
        rows.order = ORDERS[(ORDERS.index(rows.order) + 1) % len(ORDERS)]
        self.rebuild()
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
            self.action_edit()
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
        if action in ("stop", "stop_all"):
            return self.workbench.runs.progress.busy
        if action in ("run_failed", "failure"):
            store, wanted = self.workbench.store, ("fail",) if action == "run_failed" else TO_SEE
            return any(store.counts[status] for status in wanted) or (
                any(store.counts[status] for status in BUSY)
                and any(row.busy and row.verdict in wanted for row in store.rows.values())
            )
        if action == "matrix":
            return bool(self.several.paths(self.workbench.store))
        if action == "sides":
            return self.is_mounted and self.detail_open and self.detail.view is self.detail.diff
        return super().check_action(action, parameters)

    def action_matrix(self) -> None:
        """Tests by models, of the suite under the cursor or the first that has several."""
        from mcptest_tui.screens.matrix import MatrixWindow

        store = self.workbench.store
        several = self.several.paths(store)
        if not several:
            self.workbench.say("no suite that is open has several models")
            return
        entry = self.test_list.entry()
        here = entry.path if entry is not None else ""
        path = here if here in several else next(path for path in (*store.documents, *several) if path in several)

        def chosen(test: str | None) -> None:
            if test is not None:
                self.arrive(id=test)
                self.action_open_detail()

        self.app.push_screen(MatrixWindow(store, path), chosen)

    def action_edit(self) -> None:
        """The editor, at the test or the problem."""
        place, test = self._place(), self.test()
        if place is not None:
            self.workbench.go("edit", path=place[0], line=place[1])
        if test is not None and test.own_place[0] != test.file:
            self.workbench.say(
                f"its row of data is {self.place(test)}; in Tests {key_of('open.external')} opens it in $EDITOR"
            )

    def action_edit_outside(self) -> None:
        """The same in $EDITOR."""
        from mcptest_tui.outside import edit_outside

        test = self.test()
        place = self._place() if test is None else test.own_place
        if place is None:
            return
        if edit_outside(self.app, Path(place[0]), place[1]):
            self.workbench.documents_changed([place[0]])
        else:
            self.workbench.tell(
                "set EDITOR to open the test there", severity="warning", hint=f"{key_of('open.edit')} opens it here"
            )

    def action_review(self) -> None:
        """The proposals for the test; on anything else, all of them."""
        row = self.test()
        if row is None:
            self.workbench.go("review")
        else:
            self.workbench.go("review", suite=row.path, test=row.name)

    def action_server(self) -> None:
        """The server that the test calls."""
        row = self.test()
        if row is None:
            self.workbench.say("there is no test under the cursor")
        else:
            self.workbench.go("servers", suite=row.path, server=row.server)

    def _place(self) -> tuple[str, int] | None:
        entry = self.test_list.entry()
        if isinstance(entry, TestRow):
            return entry.file, entry.line_at_fault
        if isinstance(entry, Note):
            return entry.file, entry.line
        if isinstance(entry, Group):
            rows = self.rows.tests_of(entry.id, self.workbench.store) if entry.depth else []
            return (rows[0].file, rows[0].line) if rows else (entry.path, 1)
        self.workbench.say(f"no test is open {MARKS['dot']} /, filters")
        return None
