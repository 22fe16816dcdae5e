"""Live processes in a window: what mcptest has started, since when, memory, and what it waits for; to end or restart them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from mcptest_tui.engine_client import EngineError
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.base import in_background
from mcptest_tui.state.about import size_shown
from mcptest_tui.state.processes import ABOUT, OURS, RESTARTED, Process, processes_of, uptime_shown
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.widgets.modals import Modal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from mcptest_tui.base_app import BaseApp
    from mcptest_tui.widgets.lines import Piece

LOOK_SECONDS = 1.0
MOST_LINES = 3
"""Lines at the bottom for what a process waits for."""
WIDE = 70
"""Cells from which pid and memory have room."""
_TITLE_WIDTH = 34
_FIGURES_WIDTH = 19
"""Of pid and memory, with the gaps between the columns."""
_UPTIME_WIDTH = 7
_WAITS_WIDTH = len("initialize 59 min")


class ProcessList(Lines):
    """A row for each process; the cursor stays on its process while others start and end."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"processes--{name}" for name in ("dim", "waits", "ours")}
    DEFAULT_CSS = """
    ProcessList {
        height: 1fr; background: $surface;
        & > .processes--dim { color: $foreground 65%; }
        & > .processes--waits { color: $verdict-inconclusive; }
        & > .processes--ours { color: $foreground 65%; }
    }
    """
    HELP = """Everything that mcptest has started and that still runs: servers of runs, spare ones for the next run,
    those that you connected, hooks, scorers, and mcptest itself. Memory is that of the whole process group."""

    def __init__(self) -> None:
        super().__init__(id="process-list")
        self.processes: tuple[Process, ...] = ()
        self.is_measured = False
        """What each waits for is known as it is now, and not as it was when the last process came or went."""
        self.ended: dict[tuple[str, int], float] = {}
        """The keys of the processes that were ended here, and when; some may still be in the list."""
        self.present: set[tuple[str, int]] | None = None
        """The keys of what was there when one was ended; the cursor goes to no newer one, which a second `x` would end."""
        self.restarting: Process | None = None
        """What is started again: the cursor goes to the new process, unless it is moved before."""

    def count(self) -> int:
        """Return the number of rows, one for each process."""
        return len(self.processes)

    @property
    def process(self) -> Process | None:
        """The process under the cursor, if there is one."""
        return self.processes[self.cursor] if self.cursor < len(self.processes) else None

    def show(self, processes: tuple[Process, ...]) -> None:
        """Show these processes; at first the cursor is on the one that waits longest."""
        before, left = self.process, {one.key for one in self.processes[self.cursor :]}
        self.processes = processes
        waits = [(min(at for _, at in one.waits), place) for place, one in enumerate(processes) if one.waits]
        same = [place for place, one in enumerate(processes) if before is not None and one.key == before.key]
        if again := [place for place, one in enumerate(processes) if one.replaces(self.restarting)]:
            same, self.restarting = again, None
        if before is not None and before.key in self.ended and not same and all(one.role in OURS for one in processes):
            self.processes = (before, *processes)  # the cursor stays on what has ended, and does not go to ourselves
            self.changed(cursor=0)
        elif waits and (before is None or not self.is_measured):
            self.changed(cursor=min(waits)[1])
        elif before is None:
            self.changed(cursor=0)
        else:
            can_end = [
                place
                for place, one in enumerate(processes)
                if one.role not in OURS and (self.present is None or one.key in self.present)
            ]
            can_end = [place for place in can_end if processes[place].role != "jq"] or can_end
            following = [place for place in can_end if processes[place].key in left]
            ours = next((place for place, one in enumerate(processes) if one.role in OURS), self.cursor)
            near = can_end[min(self.cursor, len(can_end) - 1)] if can_end else ours
            self.changed(cursor=(same or following or [near])[0])

    def cursor_moved(self) -> None:
        """Stop steering the cursor to a restarted process, once a person moves it."""
        self.restarting = self.present = None
        super().cursor_moved()

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        """Return one row: title, pid, memory, uptime, and what it waits for."""
        one, now = self.processes[at], time.time()
        longest = max(cell_len(other.title) for other in self.processes) + 1
        title = min(longest, _TITLE_WIDTH, max(width // 2, 12))
        uptimes = [uptime_shown(self.ended.get(other.key, now) - other.since) for other in self.processes]
        uptime = max(_UPTIME_WIDTH, *map(cell_len, uptimes))
        if width >= WIDE and any(other.waits for other in self.processes):
            title = min(title, width - _FIGURES_WIDTH - uptime - _WAITS_WIDTH)
        told: list[Piece] = [(_fit(f" {one.title}", title) + " ", "processes--ours" if one.role in OURS else "")]
        if width >= WIDE:
            memory = "" if one.pid is None else "? MB" if one.memory is None else size_shown(one.memory)
            told += [(f"{'HTTP' if one.pid is None else one.pid:>7} ", "processes--dim"), (f"{memory:>7} ", "")]
        told.append((f"{uptimes[at]:>{uptime}}  ", "processes--dim"))
        room = width - sum(cell_len(text) for text, _ in told)
        ink = "processes--waits" if one.waits and one.key not in self.ended else "processes--dim"
        does = "ended" if one.key in self.ended else one.waits_for(now, room)
        return [*told, (one_line(does, room), ink)] if room > 3 else told


def _fit(text: str, width: int) -> str:
    told = one_line(text, width)
    return told + " " * (width - cell_len(told))


class ProcessesWindow(Modal[None]):
    """The window with the processes; requests them from the engine once a second."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.process")

    def __init__(self, workbench: BaseApp) -> None:
        super().__init__(classes="picker")
        self._workbench = workbench
        self._note = ""

    def compose(self) -> ComposeResult:
        """Yield the list, and the command of the process under the cursor."""
        with Vertical(classes="dialog -large") as dialog:
            dialog.border_title = Content("Live processes")
            yield ProcessList()
            yield Static("", id="process-command")

    def on_mount(self) -> None:
        """Show the processes known so far, then request measured ones every second."""
        self.show(self._workbench.processes)
        self.list.focus()
        self.look()
        self.set_interval(LOOK_SECONDS, self.look)

    @property
    def list(self) -> ProcessList:
        """The list of processes in this window."""
        return self.query_one(ProcessList)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what can be done with the process under the cursor."""
        one = self.list.process if self.is_mounted else None
        if action == "end":
            return one is not None and one.role not in OURS and one.key not in self.list.ended
        if action == "restart":
            return one is not None and one.role in RESTARTED and one.key not in self.list.ended
        return one is not None if action == "copy" else super().check_action(action, parameters)

    def look(self) -> None:
        """Request the processes from the engine, unless a request is still open."""
        if not any(worker.group == "processes" and worker.is_running for worker in self.workers):
            in_background(self, self._look, "processes")

    async def _look(self) -> None:
        try:
            rows = await self._workbench.engine.request("processes")
        except EngineError as wrong:
            self._say(wrong.message)
        else:
            if self.is_mounted:
                self.show(processes_of(rows, self._workbench.store.documents))
                self.list.is_measured = True

    def show(self, processes: tuple[Process, ...]) -> None:
        """Show these processes, with their number and memory in the title."""
        memory = sum(one.memory or 0 for one in processes)
        self.list.show(processes)
        title = f"Live processes  {len(processes)}" + (f"  {size_shown(memory)}" if memory else "")
        self.query_one(".dialog").border_title = shown(title)
        self._show_command()
        self.refresh_bindings()

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """Show the command of the process under the cursor, and update the footer."""
        event.stop()
        self._say("")
        self.refresh_bindings()

    def _say(self, note: str) -> None:
        self._note = note
        self._show_command()

    def _show_command(self) -> None:
        one = self.list.process
        line = self.query_one("#process-command", Static)
        width = max(line.size.width, 20)
        if self._note or one is None:
            line.update(shown(one_line(self._note, width), style="$text-warning"))
            return
        waits = one.all_waits(time.time())
        told = [shown(one_line(waits, width * MOST_LINES), style="$verdict-inconclusive")] if waits else []
        told += [shown(one_line(ABOUT[one.role], width * MOST_LINES))] if one.role in ABOUT else []
        told += [shown(one_line(one.shown, width), style="$text-muted")] if one.role not in OURS else []
        line.update(Content("\n").join(told))

    def action_end(self) -> None:
        """End the process under the cursor."""
        one = self.list.process
        assert one is not None  # else the key is not in force
        self.list.ended[one.key] = time.time()
        self.list.present = {other.key for other in self.list.processes}
        self.list.refresh()
        self.refresh_bindings()
        if one.role == "hand":
            self._workbench.engine.send("disconnect", session=one.session)
        else:
            self._request("end_process", one)

    def action_restart(self) -> None:
        """Restart the process under the cursor."""
        one = self.list.process
        assert one is not None
        if one.role == "engine":
            self._workbench.engine.restart()
        else:
            self.list.restarting = one
            if one.role == "hand":
                self._request("restart", one, session=one.session)
            else:
                self._request("restart_process", one)

    def action_copy(self) -> None:
        """Copy the pid of the process, or the URL of an HTTP session."""
        one = self.list.process
        assert one is not None
        self._workbench.copy(
            one.shown if one.pid is None else str(one.pid), "the URL" if one.pid is None else "the pid"
        )

    def _request(self, do: str, one: Process, **arguments: Any) -> None:
        async def request() -> None:
            try:
                await self._workbench.engine.request(do, **(arguments or {"number": one.number}))
            except EngineError as wrong:
                self.list.ended.pop(one.key, None)
                self._say(f"{wrong.message}; {wrong.hint}" if wrong.hint else wrong.message)
            self.look()

        in_background(self, request, "processes.do")
