"""`mcptest run --watch`: run, wait for a save, check, run again; print what changed since the run before.

The servers of the next run are started as soon as a run has ended, so that each run has new ones and does not wait for them.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.cli.common import check, colours, parse_variables, save_record, show_error, show_problems
from mcptest_engine.cli.ending import ending_on_signals
from mcptest_engine.cli.selection import with_last_failed
from mcptest_engine.cli.sinks import live_progress, write_reports
from mcptest_engine.cli.streams import has_reader
from mcptest_engine.core.errors import ExitCode, McptestError
from mcptest_engine.running.launch import launch, needed_servers, open_pool
from mcptest_engine.running.listening import Listeners
from mcptest_engine.running.watch import (
    WRITTEN_WITHIN_SECONDS,
    FilesChangedByRuns,
    Watcher,
    server_files,
    state_around,
    watched_files,
    what_changed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mcptest_engine.cli.sinks import Sink
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace


def watch(
    path: Path,
    settings: RunSettings,
    workspace: Workspace,
    sinks: Sequence[Sink],
    flags: Mapping[str, object],
) -> int:
    """Watch until Ctrl-C, or until nobody reads the output. Return 130 when a run was interrupted, else the last run's exit
    code.
    """
    return asyncio.run(_Loop(path, settings, workspace, sinks, flags).run())


class _Warm(NamedTuple):
    """Servers started in advance: the suite, and the state of the files around it then."""

    suite: LoadedSuite
    pool: Pool
    state: frozenset[tuple[str, int, int]] | None


class _Loop:
    """The state between two runs: the servers started in advance, the verdicts to compare with, and whether to stop."""

    def __init__(
        self,
        path: Path,
        settings: RunSettings,
        workspace: Workspace,
        sinks: Sequence[Sink],
        flags: Mapping[str, Any],
    ) -> None:
        self._path = path
        self._settings = settings
        self._workspace = workspace
        self._variables = parse_variables(flags["variables"])
        self._flags = flags
        self._sinks = sinks
        self._before: dict[str, str] = {}
        self._warm: _Warm | None = None
        self._code = int(ExitCode.PASSED)
        self._task: asyncio.Task[RunRecord] | None = None
        self._watcher = Watcher({path.absolute()})
        self._stop = asyncio.Event()
        self._written = FilesChangedByRuns()
        self._runs, self._ended = 0, 0.0

    async def run(self) -> int:
        with ending_on_signals(self, quietly=True):
            try:
                changed: frozenset[Path] = frozenset()
                while not self._stop.is_set():
                    await self._once(changed)
                    self._runs, self._ended = self._runs + 1, time.monotonic()
                    if self._stop.is_set() or not (has_reader(sys.stdout) and has_reader(sys.stderr)):
                        break
                    sys.stderr.write("\nwatching; save to run again, Ctrl-C to stop\n")
                    sys.stderr.flush()
                    changed = await self._saved()
            finally:
                await self._cool()
        return self._code

    async def _saved(self) -> frozenset[Path]:
        """The saved files, without those that servers write themselves. Empty when the watch must stop."""
        while changed := await self._watcher.changed(self._stop):
            run = self._runs if time.monotonic() - self._ended < WRITTEN_WITHIN_SECONDS else None
            saved = frozenset(path for path in changed if not self._is_output(path, run))
            if saved:
                return saved
        return frozenset()

    def _is_output(self, path: Path, run: int | None) -> bool:
        """Whether servers write the file, such as a database that their command names: it changes with every run."""
        from mcptest_engine.core.sanitise import one_line

        known = str(path) in self._written.given_up
        if not self._written.changed(str(path), run=run):
            return False
        if not known:
            sys.stderr.write(f"note: {one_line(path.name)} changes with every run; it no longer starts a run\n")
            sys.stderr.flush()
        return True

    def cancel(self) -> None:
        """Interrupt the current run, and stop."""
        self._stop.set()
        if self._task is not None:
            self._task.cancel()

    async def _once(self, changed: frozenset[Path]) -> None:
        """Check the current suite, and run it if it is valid."""
        checked = check(self._path, self._workspace, self._variables)
        if checked.problems:
            show_problems(checked.problems)
        if checked.suite is None or (self._flags["strict"] and checked.problems):
            self._watcher.watch({self._path.absolute(), *(path.absolute() for path in checked.files)})
            self._code = ExitCode.INVALID
            return
        suite = checked.suite
        self._watcher.watch(watched_files(suite))
        try:
            settings = with_last_failed(self._settings, suite, self._workspace, wanted=self._flags["last_failed"])
            record = await self._launch(suite, settings, changed)
        except McptestError as error:
            show_error(error)
            self._code = ExitCode.INVALID
            return
        save_record(self._workspace, record)
        write_reports(record, self._sinks, workspace=self._workspace)
        self._compare(record)
        self._code = record.exit_code
        if not self._stop.is_set() and not settings.cache:  # servers started in advance may be reused
            pool = open_pool(suite, settings)
            pool.warm(needed_servers(suite, settings, pool))
            self._warm = _Warm(suite, pool, state_around(server_files(suite)))

    async def _launch(self, suite: LoadedSuite, settings: RunSettings, changed: frozenset[Path]) -> RunRecord:
        pool = await self._pool_for(suite, changed)
        progress = live_progress(self._sinks)
        listeners = Listeners([] if progress is None else [progress.on_event])
        run = launch(suite, settings, workspace=self._workspace, emit=listeners, pool=pool)
        self._task = asyncio.ensure_future(run)
        try:
            return await self._task
        finally:
            self._task = None
            if progress is not None:
                progress.close()

    async def _pool_for(self, suite: LoadedSuite, changed: frozenset[Path]) -> Pool | None:
        """The servers started in advance, unless a save since then changed how they start or what they are."""
        warm = self._warm
        if warm is None:
            return None
        own = {path.absolute() for path in suite.files}
        same = warm.suite.servers == suite.servers and warm.suite.env == suite.env and changed <= own
        same = same and not suite.hooks.get("beforeAll")  # which comes before any server
        if not same or not warm.pool.well or warm.state is None or warm.state != state_around(server_files(suite)):
            await self._cool()
            return None
        self._warm = None
        return warm.pool

    async def _cool(self) -> None:
        if self._warm is not None:
            await self._warm.pool.close()
            self._warm = None

    def _compare(self, record: RunRecord) -> None:
        from mcptest_engine.core.sanitise import one_line

        paint = colours(sys.stderr)
        if self._before:
            newly, fixed = what_changed(self._before, record)
            _print_changes(paint("31", "newly failing"), [one_line(name) for name in newly])
            _print_changes(paint("32", "fixed"), [one_line(name) for name in fixed])
            if not newly and not fixed:
                sys.stderr.write("no verdict changed since the last run\n")
        self._before.update({test.id: test.verdict.value for test in record.tests if test.verdict.value != "skip"})


def _print_changes(what: str, names: Sequence[str]) -> None:
    for name in names:
        sys.stderr.write(f"{what}: {name}\n")
