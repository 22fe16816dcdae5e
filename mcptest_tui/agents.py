"""What agents did: read by the app, so that the mode bar can count it before its screen was ever shown.

Read again when a folder of runs or proposals has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_tui.engine_client import EngineError
from mcptest_tui.state.agents import AgentsView, news, row_of
from mcptest_tui.words import MARKS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.engine_process.workbench_events import Send
    from mcptest_tui.host import Host
    from mcptest_tui.reviews import Reviews
    from mcptest_tui.state.agents import AgentRow

MODE = "agents"
NEWEST = 300


class Agents:
    """Reads the sessions from the engine; the screen shows `view`."""

    def __init__(self, host: Host, reviews: Reviews, emit: Send) -> None:
        """`emit` takes an event as if the engine had sent it."""
        self._host, self._reviews, self._emit = host, reviews, emit
        self.view = AgentsView()
        self.is_read = False
        self.problem = ""
        self._newest = self._looked = NEWEST

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders to watch besides that of the proposals."""
        return tuple(str(self._host.workspace.data_dir / name) for name in ("runs", "inline"))

    @property
    def badge(self) -> dict[str, str]:
        """`•2` for the mode bar: runs that have ended while a person was elsewhere."""
        return {MODE: f"{MARKS['dot']}{self.view.unseen}"} if self.view.unseen else {}

    def read(self) -> None:
        """Read the sessions in the background; a later read replaces an earlier one."""
        self._host.run_worker(self._read, group="agents.read", exclusive=True, exit_on_error=False)

    def read_older(self) -> None:
        """Read four times as many sessions of agents, back to older ones."""
        self._newest *= 4
        self.read()

    def saved(self, paths: Iterable[str]) -> list[str]:
        """Files have changed, or are watched from now on; returns those that are of interest to others."""
        folders = self.folders
        paths = list(paths)
        if any(path in folders or path == self._reviews.folder for path in paths):
            self.read()
        return [path for path in paths if path not in folders]

    def seen(self) -> None:
        """Note that the person has seen the list, so that nothing counts as unseen."""
        self.view.unseen = 0

    async def _read(self) -> None:
        await self._host.engine_ready.wait()
        wanted = self._newest
        try:
            answer = await self._host.engine.request("agents", newest=wanted)
        except EngineError as wrong:
            self.problem = wrong.message if wrong.kind != "gone" else ""
        else:
            self.problem, self.is_read = "", True
            self._take(answer, further=wanted != self._looked)
            self._looked = wanted
        for screen in self._host.work_screens():
            if screen.MODE == MODE:
                screen.caught_up()
        self._host.refresh_status()

    def _take(self, answer: dict[str, Any], *, further: bool) -> None:
        fresh = self.view.put((row_of(told) for told in answer["rows"]), more=bool(answer["more"]), further=further)
        if not fresh:
            return
        self._reviews.read()  # what failed may have something to propose
        for row in reversed(fresh):  # the newest has the last word
            if not row.inline and str(self._host.workspace.root / row.suite) in self._host.store.documents:
                self._host.run_worker(self._adopt(row), group="agents.adopt", exit_on_error=False)
        if self._host.current_mode != MODE:
            self.view.unseen += len(fresh)
            failed = any(row.status == "fail" for row in fresh)
            self._host.messages.show(
                f"{news(fresh)}; 6 shows it",
                "warning" if failed else "information",
                is_over=lambda: not self.view.unseen,
            )

    async def _adopt(self, row: AgentRow) -> None:
        """Show the results of an agent's run at the tests of an open suite."""
        try:
            answer = await self._host.engine.request("agents_verdicts", run_id=row.id)
        except EngineError:
            return  # the record is told of where it is listed
        path = str(self._host.workspace.root / row.suite)
        run_id, results = answer["run_id"], answer["results"]
        self._emit({"event": "run.adopted", "path": path, "run_id": run_id, "results": results})
