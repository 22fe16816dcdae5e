"""The coordinating side of a cluster run: it chooses shards and workers, and merges the records.

A shard is a part of the suite, as with `--shard`, so that coverage, gates and totals are calculated as for CI's shards. But all
shards have the same size, since a run takes as long as its longest shard, and the merged tests are in declared order. What only
one process can do is refused: hooks, serial tests, cassettes, the result cache. The suite is not sent: workers read it from its
path, and its text must be the same there.
"""

from __future__ import annotations

import contextlib
import queue
import sys
import time
import warnings
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine import __version__
from mcptest_engine.cli.cluster.batch_progress import BatchProgress
from mcptest_engine.core.errors import ExitCode, McptestError, UsageError
from mcptest_engine.core.results import Verdict
from mcptest_engine.core.run_record import RunRecord, SuiteInfo
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted, utc_text
from mcptest_engine.running.listening import Listeners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.reporting.progress import Progress
    from mcptest_engine.running.cases import Plan
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

LEAST_TESTS = 50
"""The least tests of a batch, unless there are fewer: starting a batch takes a good part of a second."""
ENOUGH_FOR_TWO = 400
"""With this many tests for each thread, there are two batches for each, so that a fast thread takes over from a slow one."""
CONNECT_SECONDS = 5.0
WORKERS_SECONDS = 10.0
STOP_SECONDS = 15.0
LOOK_SECONDS = 1.0
"""How often the coordinator checks whether the batches still exist, while none has ended."""
INSTALL = "pip install distributed"


class ClusterError(McptestError):
    """The cluster could not be used. The command line is right, so the exit code is 1."""

    stderr_tail = ""


def run_on_cluster(
    suite: LoadedSuite,
    settings: RunSettings,
    workspace: Workspace,
    *,
    scheduler: str,
    variables: Mapping[str, str],
    progress: Progress | None = None,
) -> RunRecord:
    """Run the suite on the cluster of `scheduler`; `progress` receives each finished test, as far as it fits in a line.

    Raises: UsageError for a suite that a cluster cannot run, ClusterError.
    """
    from mcptest_engine.running.plan import make_plan

    plan = make_plan(suite, settings, relative=workspace.relative)
    _check(suite, settings, plan)
    distributed = _library()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about different versions: what must be equal is checked below
        with _connected(distributed, scheduler) as client:
            directory, path = str(Path.cwd()), str(suite.path)
            threads = _check_workers(client, directory, path)
            tests = len(plan.cases)
            for_each_thread = 2 if tests >= threads * ENOUGH_FOR_TWO else 1
            count = max(1, min(tests // LEAST_TESTS, threads * for_each_thread))
            say = sys.stderr.write if progress is None else progress.say
            telling = BatchProgress(plan.cases, Listeners([] if progress is None else [progress.on_event]))
            run = _Run(suite, settings, plan, count, directory, dict(variables))
            batches = "1 batch" if count == 1 else f"{count} batches"
            workers = f"{counted(threads, 'worker thread')} at {one_line(scheduler, 200)}"
            say(f"{counted(tests, 'test')} in {batches} on {workers}\n")
            about = SuiteInfo(name=suite.name, path=workspace.relative(suite.path), sha256=suite.sha256)
            telling.begin(run.run_id, about, plan.workers)
            record = run.on(distributed, client, telling, say)
            telling.end(record)
            return record


def _library() -> object:
    from importlib import import_module

    try:
        return import_module("distributed")
    except ImportError:
        raise UsageError("the dask executor is not installed", hint=INSTALL) from None


def _check(suite: LoadedSuite, settings: RunSettings, plan: Plan) -> None:
    """Raises: UsageError for what only one process can do."""
    hint = "run it without --executor"
    if suite.hooks:
        raise UsageError("the suite has hooks, which belong to a whole run, but a cluster runs it in parts", hint=hint)
    serial = [case.name for case in plan.cases if case.serial]
    if serial:
        more = f" and {len(serial) - 1} more" if len(serial) > 1 else ""
        reason = f'"{one_line(serial[0], 100)}"{more} must run alone on a server, and each batch starts its own'
        raise UsageError(
            reason,
            hint="write `serial: false` (for a budget, `scope: case`) if that is safe, leave them out "
            "(--skip-tag), or run without --executor",
        )
    budgets = (suite.document.get("budget"), *(entry.data.get("budget") for entry in suite.tests))
    if any("per_suite_usd_cents" in budget for budget in budgets if budget):
        raise UsageError("the suite has a budget for all its models, which batches cannot share", hint=hint)
    for name, given in (
        ("record", settings.record), ("replay", settings.replay), ("cache", settings.cache), ("bail", plan.bail),
        ("update-snapshots", settings.update_snapshots), ("shard", settings.selection.shard),
        ("cost-baseline", settings.cost_gate), ("max-cost", settings.max_cost_usd),
    ):  # fmt: skip
        if given:
            raise UsageError(f"--{name} and --executor dask do not go together", hint=hint)


@contextlib.contextmanager
def _connected(distributed: Any, scheduler: str) -> Iterator[Any]:
    import logging

    for name in ("distributed", "distributed.client", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as wrong:
        why = one_line(str(wrong).split("\n")[0], 200) or type(wrong).__name__
        hint = "start one with `dask scheduler`, and give its address, such as tcp://127.0.0.1:8786"
        raise ClusterError(f"no scheduler answers at `{one_line(scheduler, 200)}`: {why}", hint=hint) from None
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=2)


def _check_workers(client: Any, directory: str, suite: str) -> int:
    """Count the workers' threads. Raises: ClusterError without a worker, and for one that cannot run the suite."""
    from mcptest_engine.cli.cluster.task import probe

    try:
        client.wait_for_workers(1, timeout=WORKERS_SECONDS)
    except TimeoutError:
        raise ClusterError("the scheduler has no workers", hint="start some with: dask worker ADDRESS") from None
    try:
        answers = client.run(probe, directory, suite)
    except Exception as wrong:  # noqa: BLE001 - whatever a worker says, it cannot be used
        raise ClusterError(
            f"a worker cannot run mcptest: {type(wrong).__name__}: {one_line(str(wrong), 200)}",
            hint=f"install mcptest {__version__} for the workers as well",
        ) from None
    for found in answers.values():
        if found["mcptest"] != __version__:
            hint = "install the same version for the workers"
            raise ClusterError(
                f"a worker on {found['host']} has mcptest {found['mcptest']}, and this is {__version__}", hint=hint
            )
        if not found["suite"]:
            hint = "workers read the suite in its directory: share the directory with them"
            raise ClusterError(f"a worker on {found['host']} does not see `{one_line(suite, 200)}`", hint=hint)
    return max(1, sum(map(int, client.nthreads().values())))


class _Run:
    """The shards of one run: sends them to workers and merges their records."""

    def __init__(
        self,
        suite: LoadedSuite,
        settings: RunSettings,
        plan: Plan,
        count: int,
        directory: str,
        variables: dict[str, str],
    ) -> None:
        from mcptest_engine.workspace.ulid import new_ulid

        self.suite, self.settings, self.plan, self.count = suite, settings, plan, count
        self.directory, self.variables = directory, variables
        self.run_id = settings.run_id or new_ulid()

    def on(self, distributed: Any, client: Any, telling: BatchProgress, say: Callable[[str], object]) -> RunRecord:
        """Run all batches and return the merged record, after Ctrl-C that of the finished tests.
        Raises: ClusterError when no batch has a record.
        """
        from mcptest_engine.cli.cluster.task import run_batch

        started, clock = datetime.now().astimezone(), time.perf_counter()
        stop = f"mcptest-{self.run_id}"
        event = distributed.Event(stop, client=client)
        messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        client.subscribe_topic(stop, lambda stamped: messages.put(stamped[1]))
        futures = [
            client.submit(run_batch, self._batch_request(index), stop, key=f"mcptest-{self.run_id}-{index}", pure=False)
            for index in range(1, self.count + 1)
        ]
        interrupted = False
        try:
            with _interruptible():
                _listen(futures, messages, telling)
        except KeyboardInterrupt:
            interrupted = True
            say("interrupted: ending the batches\n")
            event.set()
            with contextlib.suppress(KeyboardInterrupt, Exception):
                distributed.wait(futures, timeout=STOP_SECONDS)
        records, troubles = self._records(futures)
        if not records:
            raise ClusterError(troubles[0] if troubles else "no batch finished")
        lasted = (time.perf_counter() - clock) * 1000
        return self._whole(records, troubles, started, lasted, interrupted=interrupted)

    def _batch_request(self, index: int) -> dict[str, Any]:
        selection, settings = self.settings.selection, self.settings
        return {
            "version": __version__,
            "directory": self.directory,
            "suite": str(self.suite.path),
            "sha256": self.suite.sha256,
            "variables": self.variables,
            "settings": {
                "selection": {
                    "filter": selection.filter,
                    "tags": sorted(selection.tags),
                    "skip_tags": sorted(selection.skip_tags),
                    "servers": sorted(selection.servers),
                    "rows": sorted(selection.rows),
                    "ids": None if selection.ids is None else sorted(selection.ids),
                    "shard": (index, self.count),
                    "dealt": True,
                },
                "workers": settings.workers,
                "strict": settings.strict,
                "retries": settings.retries,
                "repeat": settings.repeat,
                "models": settings.models,
                "server_command": settings.server_command,
                "protocol": settings.protocol,
                "wait_for_ready_seconds": settings.wait_for_ready_seconds,
                "flags": settings.flags,
                "fail_on": [verdict.value for verdict in settings.fail_on],
                "run_id": self.run_id,
            },
        }

    def _records(self, futures: Sequence[Any]) -> tuple[list[RunRecord], list[str]]:
        """The records of the batches, and the reasons why some have none, each reason once."""
        records: list[RunRecord] = []
        troubles: dict[str, None] = {}
        for future in futures:
            if future.status == "finished":
                answer = future.result()
                if "record" in answer:
                    records.append(RunRecord.from_json(answer["record"]))
                else:
                    troubles[one_line(answer["error"], 300)] = None
            elif future.status == "error":
                wrong = future.exception()
                dead = type(wrong).__name__ == "KilledWorker"
                why = "every worker that ran it died" if dead else f"{type(wrong).__name__}: {wrong}"
                troubles[f"a batch was lost: {one_line(why, 300)}"] = None
        return records, list(troubles)

    def _whole(
        self, records: list[RunRecord], troubles: Iterable[str], started: datetime, lasted: float, *, interrupted: bool
    ) -> RunRecord:
        from mcptest_engine.reporting.merge import merge_records

        merged = merge_records([_since(record, started) for record in records])
        order = {case.id: place for place, case in enumerate(self.plan.cases)}
        tests = tuple(sorted(merged.tests, key=lambda test: order.get(test.id, len(order))))
        code = ExitCode.INTERRUPTED if interrupted or merged.interrupted else merged.exit_code
        if code == ExitCode.PASSED and len(records) < self.count:
            code = ExitCode.FAILED
        return replace(
            merged.with_tests(tests),
            run_id=self.run_id,
            started_at=utc_text(started),
            duration_ms=round(lasted, 3),
            interrupted=interrupted or merged.interrupted,
            exit_code=int(code),
            verdict=Verdict.PASS if code == ExitCode.PASSED else Verdict.FAIL,
            warnings=(*troubles, *merged.warnings),
        )


def _listen(futures: Sequence[Any], messages: queue.SimpleQueue[Any], telling: BatchProgress) -> None:
    """Pass on the batches' progress until all of them have ended or failed."""
    for future in futures:
        future.add_done_callback(lambda _: messages.put(()))
    while not all(future.done() for future in futures):
        with contextlib.suppress(queue.Empty):
            telling.cases(messages.get(timeout=LOOK_SECONDS))


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into an exception; by default they end a command at once."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _since(record: RunRecord, started: datetime) -> RunRecord:
    """Shift the times of a batch's record to the start of the whole run."""
    try:
        shift = (datetime.fromisoformat(record.started_at) - started).total_seconds() * 1000
    except (ValueError, TypeError):
        return record
    tests = tuple(
        replace(test, started_offset_ms=round(max(0.0, test.started_offset_ms + shift), 3)) for test in record.tests
    )
    return replace(record, tests=tests)
