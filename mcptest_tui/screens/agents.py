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
from mcptest_tui.engine_client import EngineError
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.screens.working import in_background
from mcptest_tui.state.agent_rows import detail_lines, repro_of, whole_repro
from mcptest_tui.state.agents import INLINE, PROPOSAL, RUN
from mcptest_tui.widgets.agent_list import HELP, AgentDetail, AgentList
from mcptest_tui.widgets.empty import Empty
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.splitter import Splitter
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.binding import BindingType
    from textual.events import DescendantFocus
    from textual.timer import Timer
    from textual.widget import Widget

    from mcptest_tui.state.agents import AgentRow, AgentsView
    from mcptest_tui.widgets.lines import Lines

FOLLOW_SECONDS = 0.06
KEPT = 30
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
    """The list, and beside it what is under the cursor."""

    MODE = "agents"
    CSS_PATH = "agents.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("agents")
    HELP = HELP

    def __init__(self) -> None:
        super().__init__()
        self._told: OrderedDict[str, dict[str, Any] | str] = OrderedDict()
        self._settling: Timer | None = None
        self._shown: str | None = None

    def compose_body(self) -> Iterable[Widget]:
        """Two panes, and what stands there when nothing was done yet."""
        yield Empty(EMPTY_TITLE, (EMPTY_LINE,), EMPTY_HINTS, id="agents-empty")
        with Horizontal(id="agents"):
            with Vertical(id="agents-list-pane", classes="pane"):
                yield AgentList(self.view, id="agents-list")
            yield Splitter(id="agents-detail", percent=50)
            with Vertical(id="agents-detail-pane", classes="pane"):
                yield AgentDetail(id="agents-item")

    def on_mount(self) -> None:
        """What is known; and ask again."""
        super().on_mount()
        self._settling = self.set_interval(FOLLOW_SECONDS, self._settle, pause=True)
        self.set_class(not self.view.rows, "-empty")
        self.workbench.agents.read()

    def on_screen_resume(self) -> None:
        """Shown: it is seen."""
        self.workbench.agents.seen()
        super().on_screen_resume()
        self.show_all()

    # The parts

    @property
    def view(self) -> AgentsView:
        """The rows."""
        return self.workbench.agents.view

    @property
    def listed(self) -> AgentList:
        """The list."""
        return self.query_one(AgentList)

    @property
    def detail(self) -> AgentDetail:
        """The pane beside it."""
        return self.query_one(AgentDetail)

    @property
    def is_detail_open(self) -> bool:
        """Whether it is on the screen."""
        return not self.has_class("-narrow") or self.has_class("-detail")

    # What comes from the app

    def caught_up(self) -> None:
        """The list was read, or this is shown again."""
        self.show_all()

    def engine_changed(self, state: str, message: str) -> None:  # noqa: ARG002
        """Another engine: what could not be read can be asked for again."""
        if state == "ready":
            self._told = OrderedDict((key, told) for key, told in self._told.items() if not isinstance(told, str))
            self.workbench.agents.read()

    def back(self) -> bool:
        """From the detail to the list; all rows again."""
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
        """How much there is."""
        runs = sum(row.kind == RUN for row in self.view.rows)
        return Content(counted(runs, "run")) if runs else Content("")

    # Showing

    def show_all(self) -> None:
        """The list and the detail; and which of them there are."""
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
        self._settle()
        if moved or self.focused is None or not self.focused.display:
            self.query_one("#agents-empty").focus() if empty else self.listed.focus()

    def _settle(self) -> None:
        """The detail of the row under the cursor, and ask for what is not known of it."""
        if self._settling is not None:
            self._settling.pause()
        row = self.view.current
        pane = self.query_one("#agents-detail-pane")
        if row is None:
            self.detail.show([])
            show_titles(pane, Content(""))
            self._shown = None
        else:
            told = self._told.get(row.id)
            show_titles(pane, shown(one_line(row.what, 60)))
            self.detail.show(detail_lines(row, told), keep=row.id == self._shown)
            self._shown = row.id
            if told is None and row.kind == RUN and self.is_detail_open:
                in_background(self, partial(self._fetch, row.id), "agents.run")
        self.refresh_bindings()

    async def _fetch(self, run_id: str) -> None:
        await self.workbench.engine_ready.wait()
        try:
            self._told[run_id] = await self.workbench.engine.ask("agents_run", run_id=run_id)
        except EngineError as wrong:
            self._told[run_id] = wrong.message
        while len(self._told) > KEPT:
            self._told.popitem(last=False)
        if self.view.current is not None and self.view.current.id == run_id:
            self._settle()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Reading the detail, or back in the list."""
        self.view.is_read_on = event.widget is self.detail

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """A little later, so that running over many costs nothing."""
        event.stop()
        if event.lines is self.listed and self.view.go(event.at) and self._settling is not None:
            self._settling.reset()
            self._settling.resume()

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Two clicks."""
        event.stop()
        self.action_open()

    # Doing

    def action_open(self) -> None:
        """What it came to, where it is decided, or the suite."""
        row = self._row()
        if row is None:
            if self.view.more:
                self.action_older()
        elif row.kind == PROPOSAL:
            self.action_review()
        elif row.kind == INLINE:
            self.action_edit()
        else:
            self.add_class("-detail")
            self._settle()
            self.call_after_refresh(self.detail.focus)

    def action_edit(self) -> None:
        """The suite in the editor."""
        row = self._row()
        suite = self._suite(row)
        if suite is None:
            return
        if os.path.isfile(suite):  # noqa: PTH113 - never raises
            self.workbench.go("edit", path=str(suite))
        else:
            self.workbench.say(f"{self.workbench.workspace.relative(suite)} no longer exists", "warning")

    def action_copy_repro(self) -> None:
        """The command; of several, which."""
        row = self._row()
        if row is None or not whole_repro(row):
            self.workbench.say("there is nothing here to run again")
            return
        commands = [whole_repro(row), *(repro_of(row, str(test.get("name"))) for test in self._bad(row))]
        if len(commands) == 1:
            self.workbench.copy(commands[0], "the command that runs it again")
            return
        from mcptest_tui.screens.picker import Choice, Picker

        names = ["all of it", *(one_line(str(test.get("name")), 60) for test in self._bad(row))]
        choices = [Choice(str(at), name, "", commands[at]) for at, name in enumerate(names)]

        def answered(chosen: str | None) -> None:
            if chosen is not None:
                self.workbench.copy(commands[int(chosen)], "the command")

        picker = Picker("Copy the command that runs", lambda typed: (choices, typed), start="1", verb="copy")
        self.app.push_screen(picker, answered)

    def action_in_tests(self) -> None:
        """The first test that failed, or the first of the suite, where that is open."""
        row, rows = self._row(), self.workbench.store.rows
        if row is None or row.kind != RUN:
            self.workbench.say("this row is not a run")
            return
        suite = str(self._suite(row))
        failed = (str(test.get("id")) for test in self._bad(row))
        found = next((name for name in failed if name in rows), None)
        found = found or next((test.id for test in rows.values() if test.path == suite), None)
        if found is None:
            self.workbench.say(f"this suite is not open in Tests: {key_of('agents.edit')} opens it in the editor")
        else:
            self.workbench.go("tests", id=found)

    def action_review(self) -> None:
        """The proposal, what is proposed for the test that failed, or everything."""
        row = self._row()
        suite = self._suite(row)
        if row is None or suite is None:
            self.workbench.go("review")
            return
        test = row.name if row.kind == PROPOSAL else next((str(test.get("name")) for test in self._bad(row)), "")
        self.workbench.go("review", **({"suite": str(suite), "test": test} if test else {}))

    def action_failures(self) -> None:
        """Only what failed, and back."""
        self.view.turn()
        self.show_all()

    def action_older(self) -> None:
        """Further back."""
        if self.view.more:
            self.workbench.agents.read_older()
        else:
            self.workbench.say("there are no older ones")

    def action_look_again(self) -> None:
        """Ask."""
        self.workbench.agents.read()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What there is nothing to do for is left out of the footer."""
        if action in ("open", "copy_repro", "edit", "in_tests", "failures") and not self.view.rows:
            return False
        row = self._row()
        if action == "in_tests":
            return row is not None and row.kind == RUN and not row.inline
        if action == "edit":
            return self._suite(row) is not None
        if action == "copy_repro":
            return row is not None and bool(whole_repro(row))
        return super().check_action(action, parameters)

    # The row under the cursor

    def _row(self) -> AgentRow | None:
        return self.view.current if self.listed.cursor < len(self.view.shown) else None

    def _suite(self, row: AgentRow | None) -> Path | None:
        """Its file; None where it has none, or one outside of the workspace."""
        if row is None:
            return None
        if row.kind == INLINE:
            return Path(row.file)
        root = self.workbench.workspace.root
        path = Path(root, row.suite) if row.suite else None
        return path if path is not None and ".." not in Path(row.suite).parts and path.is_relative_to(root) else None

    def _bad(self, row: AgentRow) -> list[dict[str, Any]]:
        """The tests of a run that did not pass, as far as they are known."""
        told = self._told.get(row.id)
        tests = told.get("tests") if isinstance(told, dict) else None
        return [test for test in tests or () if isinstance(test, dict)]
