"""Lists a run among the active runs of the workspace, from its events; one that is over within a second leaves no trace."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.events import CaseFinished, RunFinished, RunStarted

if TYPE_CHECKING:
    from mcptest_engine.core.events import Emit, Event
    from mcptest_engine.workspace.active_runs import ActiveRun, ActiveRunFile
    from mcptest_engine.workspace.workspace import Workspace

EVERY_SECONDS = 1.0


class ActiveRunListener:
    """Passes events on to `emit`, and writes once a second how far the run has come. `close` whatever happens."""

    def __init__(self, workspace: Workspace, emit: Emit) -> None:
        self._workspace = workspace
        self._emit = emit
        self._timer: asyncio.TimerHandle | None = None
        self._run = ("", "", 0)
        self._verdicts: dict[Verdict, int] = dict.fromkeys(Verdict, 0)
        self._file: ActiveRunFile | None = None
        self._written: ActiveRun | None = None

    def __call__(self, event: Event) -> None:
        self._emit(event)
        if isinstance(event, CaseFinished):
            self._verdicts[event.result.verdict] += 1
        elif isinstance(event, RunStarted):
            self._run = (event.run_id, event.suite.name, len(event.tests))
            self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._write)
        elif isinstance(event, RunFinished):
            self.close()

    def close(self) -> None:
        """Take the run, which has ended, off the list of active runs."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._file is not None:
            self._file.remove(time.time())
            self._file = None

    def _write(self) -> None:
        from mcptest_engine.workspace.active_runs import ActiveRun, ActiveRunFile  # few runs last a second

        run_id, suite, total = self._run
        now = ActiveRun(
            run_id=run_id,
            suite=suite,
            total=total,
            finished=sum(self._verdicts.values()),
            failed=self._verdicts[Verdict.FAIL],
            inconclusive=self._verdicts[Verdict.INCONCLUSIVE],
        )
        if self._file is None:
            with contextlib.suppress(OSError):
                self._workspace.make_runs_dir()
            self._file = ActiveRunFile(self._workspace.data_dir, run_id)
        if now == self._written:
            self._file.touch()
        else:
            self._file.write(now)
            self._written = now
        self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._write)
