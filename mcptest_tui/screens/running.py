"""What the keys of the tests' screen do with tests: run them, and open what is under the cursor elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted
from mcptest_tui.screens.base import Controller, WorkScreen
from mcptest_tui.screens.detail import place_of
from mcptest_tui.state.matrix_rows import Several
from mcptest_tui.state.result_rows import failures_by_cause
from mcptest_tui.state.test_row import TestRow
from mcptest_tui.state.tree_rows import Group, Note, TreeRows
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent
    from mcptest_tui.widgets.detail import Detail
    from mcptest_tui.widgets.row_list import RowList


class Running(Controller):
    """Starts and stops runs of what the list shows, and knows which was asked for last."""

    def __init__(self, screen: WorkScreen, rows: TreeRows, tests: RowList, detail: Detail) -> None:
        super().__init__(screen)
        self._rows, self._tests, self._detail = rows, tests, detail
        self.last_asked: tuple[str | None, list[str] | None] | None = None
        self.stayed_at: tuple[str, str] | None = None
        """The test under the cursor, and the tab of its detail, when all were started; its end shows the summary instead."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable stopping only during a run, and repeating failures only after one."""
        if action in ("stop", "stop_all"):
            return self.workbench.store.progress.busy
        return self.workbench.store.has_any("fail") if action == "failed" else super().check_action(action, parameters)

    def action_this(self) -> None:
        """Run the marked tests, or else the test, group or suite under the cursor."""
        store = self.workbench.store
        if self._tests.marked:
            self._run(None, [test for test in store.order if test in self._tests.marked])
            return
        entry = self._tests.entry()
        if isinstance(entry, Note):
            edit = f"{key_of('open.edit')} opens the editor at this one"
            self.workbench.messages.show(f"{Path(entry.path).name} has problems; {edit}", "warning")
        elif isinstance(entry, Group) and not entry.depth and not self._rows.filter:
            self._run(entry.path, None)
        elif entry is not None:
            self._run(None, [row.id for row in self._rows.tests_of(entry.id, store)])

    def action_all(self) -> None:
        """Run all tests, or those that match the filter."""
        ids = [row.id for row in self._rows.shown_tests(self.workbench.store)] if self._rows.filter else None
        self._run(None, ids, "that the filter shows" if ids else "")
        test = self._tests.test()
        self.stayed_at = None if test is None else (test.id, self._detail.tab)

    def action_failed(self) -> None:
        """Run the tests in the list that have failed."""
        ids = [row.id for row in self._rows.shown_tests(self.workbench.store) if row.standing == "fail"]
        if ids:
            self._run(None, ids)
        else:
            self.workbench.messages.show("no test in the list has failed")

    def action_alike(self) -> None:
        """Run the tests that failed for the same cause as the one under the cursor."""
        failed = [row for row in self.workbench.store.rows.values() if row.verdict == "fail"]
        test = self._tests.test()
        group = next((group for group in failures_by_cause(failed) if test in group), [])
        if group:
            self._run(None, [row.id for row in group], "that failed for this cause")
        else:
            self.workbench.messages.show("the test under the cursor has not failed")

    def action_again(self) -> None:
        """Start the run again that was requested last."""
        asked = self.last_asked
        if asked is None:
            told = f"no run yet; {key_of('run.this')} runs what is under the cursor"
            self.workbench.messages.show(told, is_over=lambda: self.workbench.store.progress.busy)
        else:
            self._run(*asked)

    def action_stop(self) -> None:
        """Stop the run that is in progress."""
        self.workbench.runs.cancel_one()

    def action_stop_all(self) -> None:
        """Stop the run in progress, and cancel the runs that wait."""
        self.workbench.runs.cancel()

    def action_bail(self) -> None:
        """Switch whether a run stops at its first failure."""
        bench = self.workbench
        bench.runs.bail = not bench.runs.bail
        bench.messages.show("a run stops at its first failure" if bench.runs.bail else "a run goes on after a failure")

    def bail_out(self, events: list[WorkbenchEvent]) -> None:
        """Stop the run at its first failure, if `action_bail` has switched that on."""
        progress = self.workbench.store.progress
        if not self.workbench.runs.bail or progress.stopping or not progress.busy:
            return
        if any(event["event"] == "case.finished" and event["result"]["verdict"] == "fail" for event in events):
            self.workbench.runs.cancel()
            self.workbench.messages.show(f"stopped at the first failure; {key_of('run.bail')} lets runs go on")

    def _run(self, path: str | None, ids: list[str] | None, which: str = "") -> None:
        self.last_asked, self.stayed_at = (path, ids), None
        if which:
            progress, tests = self.workbench.store.progress, counted(len(ids or ()), "test")
            ended = progress.ended
            self.workbench.messages.show(
                f"running the {tests} {which}", is_over=lambda: not progress.busy and progress.ended != ended
            )
        self.workbench.runs.start(path, ids)
        self._tests.refresh()
        self.screen.refresh_bindings()


class Opening(Controller):
    """Opens what is under the cursor in the editor, in Review, in Servers, in a window."""

    def __init__(self, screen: WorkScreen, rows: TreeRows, tests: RowList) -> None:
        super().__init__(screen)
        self._rows, self._tests = rows, tests
        self._several = Several()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the matrix only when a suite has several models."""
        if action == "matrix":
            return bool(self._several.paths(self.workbench.store))
        return super().check_action(action, parameters)

    def action_matrix(self) -> None:
        """Tests by models, of the suite under the cursor or the first that has several."""
        from mcptest_tui.screens.matrix import MatrixWindow

        store = self.workbench.store
        several = self._several.paths(store)
        if not several:
            self.workbench.messages.show("no suite that is open has several models")
            return
        entry = self._tests.entry()
        here = entry.path if entry is not None else ""
        path = here if here in several else next(path for path in (*store.documents, *several) if path in several)

        def chosen(test: str | None) -> None:
            if test is not None:
                self.screen.arrive(id=test, result=True)

        self.workbench.push_screen(MatrixWindow(store, path), chosen)

    def action_edit(self) -> None:
        """Open the editor at the test or the problem under the cursor."""
        place, test = self._place(), self._tests.test()
        if place is not None:
            self.workbench.go("edit", path=place[0], line=place[1])
        if test is not None and test.own_place[0] != test.file:
            self.workbench.messages.show(
                f"its row of data is {place_of(test)}; in Tests {key_of('open.external')} opens it in $EDITOR"
            )

    def action_external(self) -> None:
        """Open the test or the problem under the cursor in $EDITOR."""
        from mcptest_tui.outside import edit_outside

        test = self._tests.test()
        place = self._place() if test is None else test.own_place
        if place is None:
            return
        if edit_outside(self.workbench, Path(place[0]), place[1]):
            self.workbench.documents_changed([place[0]])
        else:
            self.workbench.messages.notify(
                "set EDITOR to open the test there", severity="warning", hint=f"{key_of('open.edit')} opens it here"
            )

    def action_review(self) -> None:
        """The proposals for the test; on anything else, all of them."""
        row = self._tests.test()
        if row is None:
            self.workbench.go("review")
        else:
            self.workbench.go("review", suite=row.path, test=row.name)

    def action_server(self) -> None:
        """Show the server that the test under the cursor calls."""
        row = self._tests.test()
        if row is None:
            self.workbench.messages.show("there is no test under the cursor")
        else:
            self.workbench.go("servers", suite=row.path, server=row.server)

    def _place(self) -> tuple[str, int] | None:
        entry = self._tests.entry()
        if isinstance(entry, TestRow):
            return entry.file, entry.line_at_fault
        if isinstance(entry, Note):
            return entry.file, entry.line
        if isinstance(entry, Group):
            rows = self._rows.tests_of(entry.id, self.workbench.store) if entry.depth else []
            return (rows[0].file, rows[0].line) if rows else (entry.path, 1)
        self.workbench.messages.show(f"no test is open {MARKS['dot']} /, filters")
        return None
