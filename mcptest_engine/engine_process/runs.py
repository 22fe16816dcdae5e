"""Runs: queue them, execute them one after the other, cancel them, and save them as `mcptest run` does."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.live import OWNER, Owner
from mcptest_engine.engine_process.protocol import Refused
from mcptest_engine.engine_process.warm import Warm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.engine_process.results import Results
    from mcptest_engine.engine_process.surroundings import Surroundings
    from mcptest_engine.engine_process.traffic import TrafficLog
    from mcptest_engine.engine_process.workbench_events import ErrorMembers, Send
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite

CANCELLED = "cancelled before it began"


class _Job(NamedTuple):
    run: str
    path: Path
    ids: frozenset[str] | None
    variables: Mapping[str, str]


class Runs:
    """The queue of runs, the active run, and the spare servers for the next ones."""

    def __init__(
        self,
        surroundings: Surroundings,
        send: Send,
        results: Results,
        traffic: Callable[[], TrafficLog],
    ) -> None:
        self._surroundings, self._send, self._results, self._traffic = surroundings, send, results, traffic
        self._queue: deque[_Job] = deque()
        self._warm = Warm()
        self._queue_task: asyncio.Task[None] | None = None
        self._job: _Job | None = None
        self._task: asyncio.Task[RunRecord] | None = None
        self._is_cancelled = False

    def use_spares(self, seconds: float) -> None:
        """Set how long spare servers wait for the next run; 0 ends them and starts no more."""
        self._warm.seconds = seconds
        if not seconds:
            self._warm.end()

    def end_spares(self, owner: Owner, *, again: bool) -> None:
        """End the spare servers of `owner`; with `again`, start new ones in their place."""
        for kept in self._warm.end(owner):
            if again:
                settings = self._settings(_Job("", kept.suite.path, None, {}))
                self._start_spares(kept.suite, settings._replace(environ=kept.environ), kept.names)

    def queue(self, run: str, path: Path, ids: frozenset[str] | None, variables: Mapping[str, str]) -> None:
        """Add a run to the end of the queue. Raises: Refused for a key that is in use."""
        if any(job.run == run for job in (*self._queue, self._job) if job is not None):
            raise Refused(f"the run {run} is queued already")
        self._queue.append(_Job(run, path, ids, variables))
        self._send({"event": "run.queued", "run": run, "path": str(path)})
        if self._queue_task is None:
            self._queue_task = asyncio.ensure_future(self._execute_queue())

    def cancel(self, run: str | None) -> list[str]:
        """Cancel one run, queued or active, or all for None; return their keys. An active run ends with its last event."""
        ended = [job for job in self._queue if run in (None, job.run)]
        for job in ended:
            self._queue.remove(job)
            self._failed(job, {"message": CANCELLED, "kind": "cancelled"})
        if self._job is not None and run in (None, self._job.run):
            ended.append(self._job)
            self._is_cancelled = True
            if self._task is not None:
                self._task.cancel()
        return [job.run for job in ended]

    async def close(self) -> None:
        """Cancel all runs, and end all their servers and the spare ones."""
        self.cancel(None)
        if self._queue_task is not None:
            await asyncio.wait((self._queue_task,))
        await self._warm.close()

    async def _execute_queue(self) -> None:
        try:
            while self._queue:
                self._job, self._is_cancelled = self._queue.popleft(), False
                try:
                    await self._execute_job(self._job)
                except Exception as bug:  # noqa: BLE001 - report the bug, and go on with the next run
                    message = f"this is a bug in mcptest: {type(bug).__name__}: {bug}"
                    self._failed(self._job, {"message": message, "kind": "bug"})
                await asyncio.sleep(0)
        finally:
            self._job = self._queue_task = None

    async def _execute_job(self, job: _Job) -> None:
        from mcptest_engine.core.errors import McptestError
        from mcptest_engine.engine_process.event_lines import RunEventLines, record_shown
        from mcptest_engine.running.listening import Listeners

        workspace = self._surroundings.workspace
        try:
            suite = self._surroundings.load(job.path, job.variables)
        except Refused as refused:
            self._failed(job, refused.to_json())
            return
        settings = self._settings(job)
        lines = RunEventLines(self._send, self._results, run=job.run, path=job.path, root=workspace.root)
        try:
            record, pool = await self._execute(suite, settings, job, Listeners([lines]))
        except McptestError as error:
            self._failed(job, Refused(error.message, hint=error.hint).to_json())
            return
        except asyncio.CancelledError:
            if not self._is_cancelled:
                raise
            self._failed(job, {"message": CANCELLED, "kind": "cancelled"})
            return
        self._save(job, record)
        spares = self._start_spares_after(suite, settings, record)
        for server in record.servers:
            if server.name not in spares:
                self._send(
                    {
                        "event": "server.state",
                        "run": job.run,
                        "path": str(job.path),
                        "server": server.name,
                        "state": "closed",
                    }
                )
        try:
            await self._remember_catalogs(suite, pool)
        except Exception as wrong:  # noqa: BLE001  # the editor's completion lacks a catalog: no reason to fail the run
            self._send({"event": "warned", "run": job.run, "message": f"cannot store what the servers list: {wrong}"})
        self._send({"event": "run.finished", "run": job.run, "path": str(job.path), "record": record_shown(record)})

    async def _execute(self, suite: LoadedSuite, settings: RunSettings, job: _Job, emit: Any) -> tuple[RunRecord, Pool]:
        from mcptest_engine.running.launch import launch

        pool = self._warm.take(suite, settings.environ) or self._open(suite, settings, "run")
        assert pool.owner is not None
        pool.owner.role = "run"
        wanted = suite if job.ids is None else _without_only(suite)
        run = launch(wanted, settings, workspace=self._surroundings.workspace, emit=emit, pool=pool)
        token = OWNER.set(pool.owner)  # hooks and scorers belong to the run too
        self._task = asyncio.ensure_future(run)
        OWNER.reset(token)
        if self._is_cancelled:
            self._task.cancel()
        try:
            record = await self._task
        except BaseException:
            await pool.close()
            raise
        finally:
            self._task = None
        return record, pool

    async def _remember_catalogs(self, suite: LoadedSuite, pool: Pool) -> None:
        """Store the catalogs of a run's servers, for completion in the editor."""
        from mcptest_engine.engine_process.browsing import MOST_LISTED
        from mcptest_engine.engine_process.pages import brief
        from mcptest_engine.running.documents import server_item

        start_dir = self._surroundings.start_dir
        for server, lists in pool.listed.items():
            shown = server_item(server, suite.servers[server], start_dir=start_dir, secrets=suite.secrets).target
            catalog: dict[str, Any] = {
                what: brief(pool.redactor.redact(found), MOST_LISTED) for what, found in lists.items()
            }
            catalog["capabilities"] = {what: {} for what in lists}
            catalog["errors"] = {what: "cut" for what, found in lists.items() if len(found) > MOST_LISTED}
            await self._surroundings.remember_catalog(suite.path, server, shown, catalog, self._send)

    def _settings(self, job: _Job) -> RunSettings:
        from mcptest_engine.running.settings import RunSettings, Selection

        settings = RunSettings(
            selection=Selection(ids=job.ids),
            environ=self._surroundings.environ,
            flags=tuple(word for name, text in job.variables.items() for word in ("--var", f"{name}={text}")),
        )
        return settings._replace(interactive=not settings.ci)  # a person follows the run in the workbench

    def _open(self, suite: LoadedSuite, settings: RunSettings, role: str) -> Pool:
        """A pool whose sessions are recorded by the traffic log."""
        from mcptest_engine.running.launch import open_pool

        def redact(text: str) -> str:
            return pool.redactor.redact_text(text)

        owner = Owner(role, str(suite.path), redact=redact)
        pool = open_pool(
            suite, settings, heard=lambda redactor, connect: self._traffic().connecting("", redactor, connect, owner)
        )
        pool.owner = owner
        return pool

    def _start_spares_after(self, suite: LoadedSuite, settings: RunSettings, record: RunRecord) -> frozenset[str]:
        """Start spare servers for the next run of the suite; return their names."""
        if record.interrupted or self._is_cancelled or suite.hooks.get("beforeAll"):  # it runs before servers start
            return frozenset()
        reached = tuple(server.name for server in record.servers if server.protocol_version is not None)
        return self._start_spares(suite, settings, reached)

    def _start_spares(self, suite: LoadedSuite, settings: RunSettings, names: tuple[str, ...]) -> frozenset[str]:
        from mcptest_engine.engine_process.event_lines import server_event_lines
        from mcptest_engine.running.fresh import fresh_groups, has_fixed_port
        from mcptest_engine.running.launch import shared_sessions

        if not self._warm.seconds:
            return frozenset()
        pool = self._open(suite, settings, "spare")
        groups = fresh_groups(suite)
        shared = {name for entry in suite.tests for name in shared_sessions(suite, entry, pool, groups)}
        used = tuple(name for name in names if name in shared and not has_fixed_port(suite.servers[name]))
        pool.emit = server_event_lines(self._send, path=suite.path)
        return frozenset(used) if used and self._warm.keep(suite, pool, used, settings.environ) else frozenset()

    def _save(self, job: _Job, record: RunRecord) -> None:
        from mcptest_engine.core.errors import McptestError

        path = None
        try:
            path = self._surroundings.workspace.save_run(record.to_json(streamed=True))
        except (OSError, McptestError) as wrong:
            message = f"{wrong}; {wrong.hint}" if isinstance(wrong, McptestError) and wrong.hint else str(wrong)
            self._send({"event": "warned", "run": job.run, "message": message})
        self._results.saved(record, path)

    def _failed(self, job: _Job, error: ErrorMembers) -> None:
        self._send({"event": "run.failed", "run": job.run, "path": str(job.path), **error})


def _without_only(suite: LoadedSuite) -> LoadedSuite:
    """The suite without `only: true`, which must not restrict tests that were selected by id."""
    if not any("only" in entry.data for entry in suite.tests):
        return suite
    tests = tuple(
        replace(entry, data={key: value for key, value in entry.data.items() if key != "only"}) for entry in suite.tests
    )
    return replace(suite, tests=tests)
