"""Mode 6: what coding agents did in this workspace through `mcptest mcp-server`, as it happens.

The list is the app's (`agents.py`), because the mode bar counts it. Nothing here writes or runs anything.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Horizontal, Vertical
from textual.content import Content

from mcptest_engine.core.text import counted
from mcptest_tui.debounce import Debounce
from mcptest_tui.engine_client import EngineError
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.base import Controller, WorkScreen, in_background
from mcptest_tui.state.agent_rows import detail_lines, repro_of, whole_repro
from mcptest_tui.state.agents import INLINE, PROPOSAL, RUN
from mcptest_tui.widgets.agent_list import HELP, AgentDetail, AgentList
from mcptest_tui.widgets.frame import Empty, show_titles
from mcptest_tui.widgets.splitter import Splitter
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.binding import BindingType
    from textual.events import DescendantFocus
    from textual.widget import Widget

    from mcptest_tui.state.agents import AgentRow, AgentsView
    from mcptest_tui.widgets.lines import Lines

FOLLOW_SECONDS = 0.06
MOST_RECORDS = 30
EMPTY_TITLE = "No coding agent has used mcptest here yet"
EMPTY_LINE = (
    "This list shows what coding agents do here with `mcptest mcp-server`: their runs and results, the suites "
    "that they wrote, and proposals for you to review."
)
EMPTY_HINTS = (
    ("mcptest mcp-server --install", "gives it tools that read"),
    ("mcptest mcp-server --install --enable-writes", "lets it run tests too"),
    ("mcptest skill --install", "installs instructions for it"),
)


class AgentsScreen(WorkScreen):
    """The list of what agents did, and beside it the details of the row under the cursor."""

    MODE = "agents"
    CSS_PATH = "agents.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("agents")
    HELP = HELP

    def __init__(self) -> None:
        super().__init__()
        self.view = self.workbench.agents.view
        self.listed = AgentList(self.view, id="agents-list")
        self.detail = RowDetail(self, self.view)
        self.row = RowActions(self, self.view, self.listed, self.detail)

    def compose_body(self) -> Iterable[Widget]:
        """Yield the list and its detail pane, and the page shown while the list is empty."""
        yield Empty(EMPTY_TITLE, (EMPTY_LINE,), EMPTY_HINTS, id="agents-empty")
        with Horizontal(id="agents"):
            with Vertical(id="agents-list-pane", classes="pane"):
                yield self.listed
            yield Splitter(id="agents-detail", percent=50)
            with Vertical(id="agents-detail-pane", classes="pane"):
                yield self.detail.pane

    def on_mount(self) -> None:
        """Show the list or the empty page, and read the list again."""
        self.set_class(not self.view.rows, "-empty")
        self.workbench.agents.read()

    def on_screen_resume(self) -> None:
        """Mark all rows as seen whenever this screen is shown."""
        self.workbench.agents.seen()

    # What comes from the app

    def caught_up(self) -> None:
        """Redraw after the list was read, or when this screen is shown again."""
        self.show_all()

    def engine_changed(self, state: str, message: str) -> None:  # noqa: ARG002
        """When a new engine is ready, forget read errors and read the list again."""
        if state == "ready":
            self.detail.forget_errors()
            self.workbench.agents.read()

    def back(self) -> bool:
        """Leave the detail, else end "failures only", else focus the list; False when none applies."""
        if self.has_class("-narrow") and self.has_class("-detail"):
            self.remove_class("-detail")
            self.listed.focus()
            return True
        if self.view.failures_only:
            self.action_failures()
            return True
        if not self.listed.has_focus and not self.panes.zoomed and not self.has_class("-empty"):
            self.listed.focus()
            return True
        return False

    def status_text(self) -> Content:
        """Return the number of runs for the status bar."""
        runs = sum(row.kind == RUN for row in self.view.rows)
        return Content(counted(runs, "run")) if runs else Content("")

    # Showing

    def show_all(self) -> None:
        """Redraw the list and the detail, or the empty page when there are no rows."""
        if not self.is_mounted:
            return
        agents, view = self.workbench.agents, self.view
        empty = not view.rows
        moved = self.has_class("-empty") != empty
        self.set_class(empty, "-empty")
        lines = (EMPTY_LINE, *((f"It could not be read: {agents.problem}",) if agents.problem else ()))
        title = EMPTY_TITLE if agents.is_read or agents.problem else "Looking for runs of agents …"
        self.query_one("#agents-empty", Empty).show(title, lines, EMPTY_HINTS)
        pane = self.query_one("#agents-list-pane")
        show_titles(pane, Content("Agents  failures only" if view.failures_only else "Agents"))
        self.listed.rebuilt()
        self.detail.show()
        if moved or self.focused is None or not self.focused.display:
            self.query_one("#agents-empty").focus() if empty else self.listed.focus()

    def action_failures(self) -> None:
        """Switch between all rows and only those that failed."""
        self.view.turn()
        self.show_all()

    def action_older(self) -> None:
        """Read older rows; show a message when there are none."""
        if self.view.more:
            self.workbench.agents.read_older()
        else:
            self.workbench.messages.show("there are no older ones")

    def action_look_again(self) -> None:
        """Read again what agents did in this workspace."""
        self.workbench.agents.read()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the action "failures" only when there are rows."""
        return bool(self.view.rows) if action == "failures" else super().check_action(action, parameters)


class RowDetail(Controller):
    """The detail of the row under the cursor. The record of a run is read from the engine once."""

    def __init__(self, screen: WorkScreen, view: AgentsView) -> None:
        super().__init__(screen)
        self._view = view
        self.pane = AgentDetail(id="agents-item")
        self.records: OrderedDict[str, dict[str, Any] | str] = OrderedDict()
        """What was read of runs, by their ids; of those that could not be read, why."""
        self._shown: str | None = None
        self._show_soon = Debounce(screen, FOLLOW_SECONDS, self.show)

    @property
    def is_shown(self) -> bool:
        """Whether the pane is on the screen."""
        return not self.screen.has_class("-narrow") or self.screen.has_class("-detail")

    def open(self) -> None:
        """Show the detail pane, and focus it."""
        self.screen.add_class("-detail")
        self.show()
        self.screen.call_after_refresh(self.pane.focus)

    def show(self) -> None:
        """Show the row under the cursor; read the record of its run if it is not known."""
        row = self._view.current
        frame = self.screen.query_one("#agents-detail-pane")
        if row is None:
            self.pane.show([])
            show_titles(frame, Content(""))
            self._shown = None
        else:
            record = self.records.get(row.id)
            show_titles(frame, shown(one_line(row.what, 60)))
            self.pane.show(detail_lines(row, record), keep=row.id == self._shown)
            self._shown = row.id
            if record is None and row.kind == RUN and self.is_shown:
                in_background(self.screen, partial(self._fetch, row.id), "agents.run")
        self.screen.refresh_bindings()

    async def _fetch(self, run_id: str) -> None:
        await self.workbench.engine_ready.wait()
        try:
            self.records[run_id] = await self.workbench.engine.request("agents_run", run_id=run_id)
        except EngineError as wrong:
            self.records[run_id] = wrong.message
        while len(self.records) > MOST_RECORDS:
            self.records.popitem(last=False)
        if self._view.current is not None and self._view.current.id == run_id:
            self.show()

    def forget_errors(self) -> None:
        """Forget the records that could not be read, so that they are requested again."""
        known = ((key, record) for key, record in self.records.items() if not isinstance(record, str))
        self.records = OrderedDict(known)

    def failed_tests(self, row: AgentRow) -> list[dict[str, Any]]:
        """Return the tests of a run that did not pass, as far as its record was read."""
        record = self.records.get(row.id)
        tests = record.get("tests") if isinstance(record, dict) else None
        return [test for test in tests or () if isinstance(test, dict)]

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Keep the cursor on its row while the detail pane has the focus."""
        self._view.is_read_on = event.widget is self.pane

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """Show the row under the cursor after a short delay, so that fast scrolling stays cheap."""
        event.stop()
        if isinstance(event.lines, AgentList):
            self._show_soon()


class RowActions(Controller):
    """Opens what the row under the cursor is about, and copies the command that repeats it."""

    def __init__(self, screen: WorkScreen, view: AgentsView, listed: AgentList, detail: RowDetail) -> None:
        super().__init__(screen)
        self._view, self._listed, self._detail = view, listed, detail

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Return False for actions that do not apply to the row under the cursor."""
        row = self._row()
        if action == "in_tests":
            return row is not None and row.kind == RUN and not row.inline
        if action == "edit":
            return self._suite(row) is not None
        if action == "copy_repro":
            return row is not None and bool(whole_repro(row))
        return action == "review" or bool(self._view.rows)

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Open the row that was chosen by Enter or a double click."""
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        """Show the result of a run, go to a proposal in Review, or open a suite."""
        row = self._row()
        if row is None:
            if self._view.more:
                self.workbench.agents.read_older()
        elif row.kind == PROPOSAL:
            self.action_review()
        elif row.kind == INLINE:
            self.action_edit()
        else:
            self._detail.open()

    def action_edit(self) -> None:
        """Open the suite in the editor."""
        row = self._row()
        suite = self._suite(row)
        if suite is None:
            return
        if os.path.isfile(suite):  # noqa: PTH113 - never raises
            self.workbench.go("edit", path=str(suite))
        else:
            self.workbench.messages.show(f"{self.workbench.workspace.relative(suite)} no longer exists", "warning")

    def action_copy_repro(self) -> None:
        """Copy the command that repeats the run; where tests failed, ask which command."""
        row = self._row()
        if row is None or not whole_repro(row):
            self.workbench.messages.show("there is nothing here to run again")
            return
        failed = [str(test.get("name")) for test in self._detail.failed_tests(row)]
        commands = [whole_repro(row), *(repro_of(row, name) for name in failed)]
        if len(commands) == 1:
            self.workbench.copy(commands[0], "the command that runs it again")
            return
        from mcptest_tui.screens.picker import Choice, Picker

        names = ["all of it", *(one_line(name, 60) for name in failed)]
        choices = [Choice(str(at), name, "", commands[at]) for at, name in enumerate(names)]

        def answered(chosen: str | None) -> None:
            if chosen is not None:
                self.workbench.copy(commands[int(chosen)], "the command")

        picker = Picker("Copy the command that runs", lambda typed: (choices, typed), start="1", verb="copy")
        self.workbench.push_screen(picker, answered)

    def action_in_tests(self) -> None:
        """Go to the first test that failed, or the first of the suite, where that is open."""
        row, rows = self._row(), self.workbench.store.rows
        if row is None or row.kind != RUN:
            self.workbench.messages.show("this row is not a run")
            return
        suite = str(self._suite(row))
        failed = (str(test.get("id")) for test in self._detail.failed_tests(row))
        found = next((name for name in failed if name in rows), None)
        found = found or next((test.id for test in rows.values() if test.path == suite), None)
        if found is None:
            self.workbench.messages.show(
                f"this suite is not open in Tests: {key_of('agents.edit')} opens it in the editor"
            )
        else:
            self.workbench.go("tests", id=found)

    def action_review(self) -> None:
        """Go to Review: to this row's proposal, to one for its first failed test, or to all."""
        row = self._row()
        suite = self._suite(row)
        if row is None or suite is None:
            self.workbench.go("review")
            return
        failed = (str(test.get("name")) for test in self._detail.failed_tests(row))
        test = row.name if row.kind == PROPOSAL else next(failed, "")
        self.workbench.go("review", **({"suite": str(suite), "test": test} if test else {}))

    def _row(self) -> AgentRow | None:
        return self._view.current if self._listed.cursor < len(self._view.shown) else None

    def _suite(self, row: AgentRow | None) -> Path | None:
        """Return the row's suite file; None if it has none, or one outside of the workspace."""
        if row is None:
            return None
        if row.kind == INLINE:
            return Path(row.file)
        root = self.workbench.workspace.root
        path = Path(root, row.suite) if row.suite else None
        return path if path is not None and ".." not in Path(row.suite).parts and path.is_relative_to(root) else None
