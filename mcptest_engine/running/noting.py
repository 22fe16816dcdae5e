"""Tells the workspace of a run while it goes on, from its events; one that is over within a second leaves no trace."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from mcptest_engine.core.events import CaseFinished, RunFinished, RunStarted
from mcptest_engine.core.kinds import Verdict

if TYPE_CHECKING:
    from mcptest_engine.core.events import Emit, Event
    from mcptest_engine.workspace.active_runs import ActiveRun, ActiveRunFile
    from mcptest_engine.workspace.workspace import Workspace

EVERY_SECONDS = 1.0


class Noting:
    """Passes events on to `emit`, and notes once a second what has become of the run. `close` whatever happens."""

    def __init__(self, workspace: Workspace, emit: Emit) -> None:
        self._workspace = workspace
        self._emit = emit
        self._timer: asyncio.TimerHandle | None = None
        self._started: RunStarted | None = None
        self._came_to: dict[Verdict, int] = dict.fromkeys(Verdict, 0)
        self._note: ActiveRunFile | None = None
        self._noted: ActiveRun | None = None

    def __call__(self, event: Event) -> None:
        self._emit(event)
        if isinstance(event, CaseFinished):
            self._came_to[event.result.verdict] += 1
        elif isinstance(event, RunStarted):
            self._started = event
            self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._tell)
        elif isinstance(event, RunFinished):
            self.close()

    def close(self) -> None:
        """The run is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._note is not None:
            self._note.remove(time.time())
            self._note = None

    def _tell(self) -> None:
        from mcptest_engine.workspace.active_runs import ActiveRun, ActiveRunFile  # few runs last a second

        started = self._started
        assert started is not None
        now = ActiveRun(
            run_id=started.run_id,
            suite=started.suite.name,
            total=len(started.tests),
            finished=sum(self._came_to.values()),
            failed=self._came_to[Verdict.FAIL],
            inconclusive=self._came_to[Verdict.INCONCLUSIVE],
        )
        if self._note is None:
            with contextlib.suppress(OSError):
                self._workspace.make_runs_dir()
            self._note = ActiveRunFile(self._workspace.data_dir, started.run_id)
        if now == self._noted:
            self._note.touch()
        else:
            self._note.write(now)
            self._noted = now
        self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._tell)
