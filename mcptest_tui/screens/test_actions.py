"""What the keys of the tests' screen do with tests: run them, find them, open them elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual.screen import Screen

from mcptest_engine.core.words import counted
from mcptest_tui.state.filters import toggled
from mcptest_tui.state.result_rows import failures_by_cause
from mcptest_tui.state.store import BUSY, TestRow
from mcptest_tui.state.tree_rows import ORDER_WORDS, ORDERS, TO_SEE, Group, Note
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from mcptest_tui.screens.tests import TestsScreen

FAILURES = "is:failed"


class TestActions(Screen[None]):
    """A mixin of `TestsScreen`."""

    @property
    def _tests(self) -> TestsScreen:
        return cast("TestsScreen", self)

    # Running

    def action_run(self) -> None:
        """What is marked, else what is under the cursor."""
        screen = self._tests
        store = screen.workbench.store
        if screen.test_list.marked:
            self._run(None, [test for test in store.order if test in screen.test_list.marked])
            return
        entry = screen.test_list.entry()
        if isinstance(entry, Note):
            self._refuse(entry.path)
        elif isinstance(entry, Group) and not entry.depth and not screen.rows.filter:
            self._run(entry.path, None)
        elif entry is not None:
            self._run(None, [row.id for row in screen.rows.tests_of(entry.id, store)])

    def action_run_all(self) -> None:
        """Everything that is shown."""
        screen = self._tests
        if not screen.rows.filter:
            self._run(None, None)
            return
        ids = [row.id for row in screen.rows.shown_tests(screen.workbench.store)]
        screen.workbench.say(f"running the {counted(len(ids), 'test')} that the filter shows")
        self._run(None, ids)

    def action_run_failed(self) -> None:
        """The failed ones that are shown, and only those."""
        screen = self._tests
        ids = [row.id for row in screen.rows.shown_tests(screen.workbench.store) if row.standing == "fail"]
        if ids:
            self._run(None, ids)
        else:
            screen.workbench.say("nothing that is shown has failed")

    def action_run_alike(self) -> None:
        """Those that failed of the same cause as the test under the cursor."""
        screen = self._tests
        failed = [row for row in screen.workbench.store.rows.values() if row.verdict == "fail"]
        test = screen.test()
        group = next((group for group in failures_by_cause(failed) if test in group), [])
        if group:
            screen.workbench.say(f"running the {counted(len(group), 'test')} that failed of this cause")
            self._run(None, [row.id for row in group])
        else:
            screen.workbench.say("the test under the cursor has not failed")

    def action_run_again(self) -> None:
        """What was asked for last."""
        asked = self._tests.last_asked
        if asked is None:
            self._tests.workbench.say(f"nothing was run yet; {key_of('run.this')} runs what is under the cursor")
        else:
            self._run(*asked)

    def action_stop(self) -> None:
        """The run that is on."""
        self._tests.workbench.runs.cancel_one()

    def action_stop_all(self) -> None:
        """The run that is on, and those that wait."""
        self._tests.workbench.cancel_runs()

    def action_bail(self) -> None:
        """Whether the first failure ends a run."""
        bench = self._tests.workbench
        bench.runs.bail = not bench.runs.bail
        bench.say("a run stops at its first failure" if bench.runs.bail else "a run goes on after a failure")

    def bail_out(self, events: list[dict[str, Any]]) -> None:
        """End the run when a test has failed and that is what was asked for."""
        runs = self._tests.workbench.runs
        if not runs.bail or runs.progress.stopping or not runs.progress.busy:
            return
        failed = (event for event in events if event.get("event") == "case.finished")
        if any(event["result"].get("verdict") == "fail" for event in failed):
            self._tests.workbench.cancel_runs()
            self._tests.workbench.say("stopped at the first failure; b lets runs go on")

    def _run(self, path: str | None, ids: list[str] | None) -> None:
        self._tests.last_asked = (path, ids)
        self._tests.workbench.run_tests(path, ids)
        self._tests.test_list.refresh()
        self._tests.refresh_bindings()

    def _refuse(self, path: str) -> None:
        self._tests.workbench.say(
            f"{Path(path).name} has problems; {key_of('open.edit')} opens the editor at this one", "warning"
        )

    # Finding

    def action_look_again(self) -> None:
        """Suites that were made since they were looked for last."""
        screen = self._tests
        known = len(screen.workbench.store.documents)

        async def look() -> None:
            await screen.workbench.suites.search_again()
            more = len(screen.workbench.store.documents) - known
            screen.workbench.say(f"found {counted(more, 'suite')} more" if more > 0 else "no other suite lies here")

        screen.run_worker(look, group="look", exclusive=True, exit_on_error=False)  # type: ignore[arg-type]

    def action_filter(self) -> None:
        """Type one."""
        screen = self._tests
        if screen.one_pane:
            screen.remove_class("-detail")
        screen.filter_bar.open(screen._known)

    def action_failures_only(self) -> None:
        """The filter `is:failed`, on or off."""
        screen = self._tests
        screen.apply_filter(toggled(screen.rows.filter.text, FAILURES))

    def action_order(self) -> None:
        """Another order."""
        screen = self._tests
        rows = screen.rows
        rows.order = ORDERS[(ORDERS.index(rows.order) + 1) % len(ORDERS)]
        screen.rebuild()
        screen.workbench.say(ORDER_WORDS[rows.order])

    def action_follow(self) -> None:
        """Whether the cursor goes to each new failure."""
        screen = self._tests
        screen.following = not screen.following
        screen.workbench.say("the cursor follows failures" if screen.following else "the cursor stays where it is")

    def action_failure(self, step: int) -> None:
        """The next test that failed, is inconclusive or was stopped."""
        screen = self._tests
        row = screen.rows.next_failure(screen.test_list.current, step, screen.workbench.store)
        if row is None:
            screen.workbench.say("no test that is shown has failed, is inconclusive or was stopped")
        else:
            screen.show_test(row)

    # Opening

    def action_open_detail(self) -> None:
        """The detail of a test, a suite or a block; what is folded is opened first. A problem is shown in the editor."""
        screen = self._tests
        entry = screen.test_list.entry()
        if isinstance(entry, Note):
            self.action_edit()
        elif isinstance(entry, Group) and screen.rows.fold(entry.id, closed=False):
            screen.rebuild()
        elif entry is not None:
            screen.add_class("-detail")
            screen.feed.show(entry)
            screen.call_after_refresh(screen.detail.view.focus)

    def action_tab(self, step: int) -> None:
        """Another tab of the detail."""
        self._tests.detail.step_tab(step)

    def action_sides(self) -> None:
        """The difference in another way."""
        self._tests.detail.diff.action_sides()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What there is nothing to do for is left out of the footer."""
        screen = self._tests
        if action in ("stop", "stop_all"):
            return screen.workbench.runs.progress.busy
        if action in ("run_failed", "failure"):
            store, wanted = screen.workbench.store, ("fail",) if action == "run_failed" else TO_SEE
            return any(store.counts[status] for status in wanted) or (
                any(store.counts[status] for status in BUSY)
                and any(row.busy and row.verdict in wanted for row in store.rows.values())
            )
        if action == "matrix":
            return bool(screen.several.paths(screen.workbench.store))
        if action == "sides":
            return screen.is_mounted and screen.detail_open and screen.detail.view is screen.detail.diff
        return super().check_action(action, parameters)

    def action_matrix(self) -> None:
        """Tests by models, of the suite under the cursor or the first that has several."""
        from mcptest_tui.screens.matrix import MatrixWindow

        screen = self._tests
        store = screen.workbench.store
        several = screen.several.paths(store)
        if not several:
            screen.workbench.say("no suite that is open has several models")
            return
        entry = screen.test_list.entry()
        here = entry.path if entry is not None else ""
        path = here if here in several else next(path for path in (*store.documents, *several) if path in several)

        def chosen(test: str | None) -> None:
            if test is not None:
                screen.arrive(id=test)
                self.action_open_detail()

        screen.app.push_screen(MatrixWindow(store, path), chosen)

    def action_edit(self) -> None:
        """The editor, at the test or the problem."""
        screen = self._tests
        place = self._place()
        if place is not None:
            screen.workbench.go("edit", path=place[0], line=place[1])

    def action_edit_outside(self) -> None:
        """The same in $EDITOR."""
        from mcptest_tui.outside import edit_outside

        screen = self._tests
        place = self._place()
        if place is None:
            return
        if edit_outside(screen.app, Path(place[0]), place[1]):
            screen.workbench.documents_changed([place[0]])
        else:
            screen.workbench.tell(
                "set EDITOR to open the test there", severity="warning", hint=f"{key_of('open.edit')} opens it here"
            )

    def action_review(self) -> None:
        """The proposals for the test; on anything else, all of them."""
        screen = self._tests
        row = screen.test()
        if row is None:
            screen.workbench.go("review")
        else:
            screen.workbench.go("review", suite=row.path, test=row.name)

    def action_server(self) -> None:
        """The server that the test calls."""
        screen = self._tests
        row = screen.test()
        if row is None:
            screen.workbench.say("the cursor is on no test")
        else:
            screen.workbench.go("servers", suite=row.path, server=row.server)

    def _place(self) -> tuple[str, int] | None:
        screen = self._tests
        entry = screen.test_list.entry()
        if isinstance(entry, TestRow):
            return entry.file, entry.line_at_fault
        if isinstance(entry, Note):
            return entry.file, entry.line
        if isinstance(entry, Group):
            rows = screen.rows.tests_of(entry.id, screen.workbench.store) if entry.depth else []
            return (rows[0].file, rows[0].line) if rows else (entry.path, 1)
        screen.workbench.say(f"no test is open {MARKS['dot']} /, filters")
        return None
