"""Every test of the open suites and its result, and the runs: documents make the rows, the engine's events update them.

`apply_many` is the one place that applies the events of runs. A thousand results a second cost a few attribute writes each.
The surprising thing: while a suite does not load, the rows of its last good load stay, and `stale` says from when they are.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_tui.state.calls import Calls
from mcptest_tui.state.judged_rows import DEFERRED
from mcptest_tui.state.progress import CANCELLED, Progress
from mcptest_tui.state.run_view import RunView
from mcptest_tui.state.test_row import BUSY, STATUSES, VERDICTS, TestRow, row_of, update_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcptest_engine.engine_process.workbench_events import (
        RunAdopted,
        RunStarted,
        TestOfRun,
        WorkbenchEvent,
    )
    from mcptest_engine.running.documents import Document

REMEMBERED = 2_000
"""Verdicts kept for the next session; of more tests none are."""
STOPPED = "not run: the run was stopped"
"""How the message of a result begins whose test a run did not begin, or was ended in."""


class Moved(NamedTuple):
    """The change of one row from one status to another."""

    row: TestRow
    before: str
    after: str


class Delta(NamedTuple):
    """What a batch of events changed: `finished` are ids, `run` the key of a run that began or ended.

    `added` are rows that came to the end of the list; others that came are told by `structure_changed`. `nodes` are the ids
    of the compositions of which a node was begun or has ended, and of the agent tests whose model has answered.
    """

    rows_changed: bool = False
    structure_changed: bool = False
    finished: tuple[str, ...] = ()
    run: str | None = None
    moved: tuple[Moved, ...] = ()
    added: tuple[TestRow, ...] = ()
    began: bool = False
    ended: bool = False
    nodes: frozenset[str] = frozenset()


class Store:
    """The tests by id, in file order, with their counts by status; `progress` and `run_view` are of the runs."""

    def __init__(self, now: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic) -> None:
        self.progress, self.run_view = Progress(clock), RunView()
        self.documents: dict[str, Document] = {}
        self.previous: dict[str, Document] = {}
        """The last sound document of a path before the one that is there now."""
        self.stale: dict[str, float] = {}
        """When the tests that are shown for a path were read, for suites that do not load any more."""
        self.rows: dict[str, TestRow] = {}
        self.order: list[str] = []
        self.counts: dict[str, int] = dict.fromkeys(STATUSES, 0)
        self.running: dict[str, TestRow] = {}
        """What is being tested at this moment, the longest first."""
        self.models: dict[str, dict[str, None]] = {}
        """The models that agent tests of a suite ran with, by the suite's path."""
        self.version = 0
        self._now = now
        self._good: dict[str, tuple[Document, float]] = {}
        self._calls = Calls(now)
        self._remembered: dict[str, Any] = {}
        """The verdicts of an earlier session, for tests that are yet to be read."""
        self._runs: dict[str, dict[str, str]] = {}
        """The tests of a run that was asked for, with their digests as it has them."""
        self._paths: dict[str, str] = {}
        self._run_ids: dict[str, str] = {}
        self._moved: list[Moved] = []
        self._added: list[TestRow] = []

    # Documents

    def put_document(self, document: Document) -> None:
        """Add a suite, or replace it by its current text."""
        path = document.path
        good = self._good.get(path)
        self.documents[path] = document
        self.version += 1
        if good is not None and (good[0].digest != document.digest or path not in self.previous):
            self.previous[path] = good[0]  # the same text twice is not yet another version
        if not document.sound and good is not None:
            self.stale.setdefault(path, good[1])
            self._move_lines(document)
            return
        self.stale.pop(path, None)
        if document.sound:
            self._good[path] = (document, self._now())
        self._take(document, known=good is not None)

    def drop_document(self, path: str) -> None:
        """Remove a suite whose file was deleted, and its tests."""
        for held in (self.documents, self.previous, self.stale, self._good):
            held.pop(path, None)
        self._drop([row.id for row in self.rows.values() if row.path == path])
        self._sort()

    def has_any(self, *verdicts: str) -> bool:
        """Whether a test has one of these verdicts, or had it before the run that it is in."""
        return any(self.counts[verdict] for verdict in verdicts) or (
            any(self.counts[status] for status in BUSY)
            and any(row.busy and row.verdict in verdicts for row in self.rows.values())
        )

    def _take(self, document: Document, *, known: bool) -> None:
        gone = {row.id for row in self.rows.values() if row.path == document.path}
        for item in document.tests:
            gone.discard(item.id)
            row = self.rows.get(item.id)
            if row is None:
                row = row_of(item, document.path, added=known)
                self._add(row)
            else:
                update_row(row, item)
            self._recall(row)
        self._drop(gone)
        self._sort()

    def _move_lines(self, document: Document) -> None:
        for item in document.tests:
            row = self.rows.get(item.id)
            if row is not None:
                row.line, row.end_line, row.place = item.line, item.end_line, item.row

    def _add(self, row: TestRow) -> None:
        row.folded = f"{row.name}\n{row.tool}".casefold()
        self.rows[row.id] = row
        self.counts[row.status] += 1

    def _drop(self, ids: Iterable[str]) -> None:
        for test in ids:
            row = self.rows.pop(test)
            self._end_call(row, row.run)
            self.counts[row.status] -= 1
            self.running.pop(test, None)

    def _sort(self) -> None:
        """File order: suites as they were opened, blocks as a suite has them, tests as declared."""
        self.version += 1
        groups: dict[str, dict[str, list[str]]] = {path: {} for path in self.documents}
        for path, document in self.documents.items():
            for item in document.tests:
                if item.id in self.rows:
                    groups[path].setdefault(item.block, []).append(item.id)
        placed = {test for blocks in groups.values() for ids in blocks.values() for test in ids}
        for row in self.rows.values():
            if row.id not in placed:
                groups.setdefault(row.path, {}).setdefault(row.block, []).append(row.id)
        self.order = [test for blocks in groups.values() for ids in blocks.values() for test in ids]

    # Runs

    def queue(self, run: str, ids: Sequence[str]) -> None:
        """Mark these tests as queued."""
        wanted = self._runs.setdefault(run, {})
        for test in ids:
            row = self.rows.get(test)
            if row is not None:
                wanted[test] = row.digest
                row.run, row.asked_digest, row.waits = run, row.digest, ""
                self._set(row, "queued")

    def update_digests(self, run: str) -> None:
        """The engine is about to be asked for a run, whose tests may have been read again since a person asked for it."""
        for test in (wanted := self._runs.get(run, {})):
            row = self.rows.get(test)
            if row is not None:
                wanted[test] = row.digest
                if row.run == run:
                    row.asked_digest = row.digest

    def interrupt(self) -> None:
        """End all runs after the engine has ended; decided tests keep their verdicts."""
        self.progress.forget()
        for run in list(self._runs):
            self._end(run, "not run: the engine stopped")
            self.run_view.fail(run)

    def remember(self, verdicts: dict[str, Any]) -> None:
        """Take what `verdicts` gave in an earlier session, for tests that are there and for those that are read later."""
        self._remembered = verdicts
        for row in self.rows.values():
            self._recall(row)

    def verdicts(self) -> dict[str, Any]:
        """The verdicts for the next session, by id: [verdict, milliseconds, digest, behind]; {} for very many tests."""
        few = self.rows.values() if len(self.rows) <= REMEMBERED else ()
        return {
            row.id: [DEFERRED if row.deferred else row.verdict, row.duration_ms, row.ran_digest, row.behind]
            for row in few
            if row.ran_digest and row.verdict != "new"
        }

    def _recall(self, row: TestRow) -> None:
        """Give a test without a result its verdict of an earlier session, if that is of the same text."""
        told = self._remembered.get(row.id)
        if row.status != "new" or not isinstance(told, list) or len(told) < 3:
            return
        verdict, duration_ms, digest = told[:3]
        if not digest or digest != row.digest or verdict not in (*VERDICTS, DEFERRED):
            return
        behind = told[3] if len(told) > 3 else None
        row.deferred = verdict == DEFERRED
        row.verdict, row.remembered, row.ran_digest = "inconclusive" if row.deferred else verdict, True, digest
        row.duration_ms = float(duration_ms) if isinstance(duration_ms, (int, float)) else None
        row.behind = behind if isinstance(behind, dict) else None
        self.counts[row.status] -= 1
        self.counts[row.verdict] += 1
        row.status = row.verdict

    def apply_many(self, events: Sequence[WorkbenchEvent]) -> Delta:  # noqa: C901 - one branch an event, each of a few lines
        """Take events in their order; those that are not about tests, runs or servers change nothing."""
        finished: list[str] = []
        run: str | None = None
        nodes: list[str] = []
        began = ended = structure = False
        rows, progress, run_view = self.rows, self.progress, self.run_view
        has_run_event = False
        for event in events:
            has_run_event = has_run_event or "run" in event
            match event["event"]:
                case "case.finished":
                    test = event["id"]
                    row = rows.get(test)
                    progress.finish_test(test, event["result"])
                    run_view.finish_test(event["run"], test)
                    if row is None and test in self._runs.get(event["run"], ()):
                        continue  # it was taken out of its suite meanwhile
                    if row is None:
                        row, structure = self._unknown(event["run"], event["result"]), True
                    self._finish(row, event["run"], event["result"])
                    finished.append(test)
                case "case.started":
                    row = rows.get(event["id"])
                    if row is not None:
                        row.started, row.nodes, row.talk = self._now(), None, None
                        self._set(row, "running" if self._calls.begin(row, event["run"]) else "queued")
                case "case.answered":
                    row = rows.get(event["id"])
                    if row is not None:
                        self._answer(row, event["run"], event["waits_for"])
                case "case.explained":
                    row = rows.get(event["id"])
                    if row is not None and row.run_id == self._run_ids.get(event["run"]):
                        row.result = event["result"]
                        finished.append(row.id)
                case "node.changed":
                    row = rows.get(event["id"])
                    if row is not None:
                        row.nodes = {**(row.nodes or {}), event["node"]: event}
                        nodes.append(row.id)
                case "agent.turn":
                    progress.spent.turn(event)
                    row = rows.get(event["id"])
                    if row is not None:
                        row.talk = row.talk or []
                        row.talk.append(event)
                        nodes.append(row.id)
                case "hook.finished":
                    run_view.finish_hook(event["hook"])
                case "server.state":
                    run_view.put_server(event)
                case "run.queued":
                    progress.queue(event["run"])
                case "run.started":
                    progress.start(event["run"], event["path"], len(event["tests"]))
                    run_view.start(event["tests"])
                    structure = self._start(event) or structure
                    run, began = event["run"], True
                case "run.adopted":
                    finished += self._adopt(event)
                case "run.finished":
                    self._end(event["run"], STOPPED)
                    progress.finish(event["run"], event["record"])
                    run_view.finish(event, rows)
                    run, ended = event["run"], True
                case "run.failed":
                    self._end(event["run"], STOPPED if event["kind"] == CANCELLED else "")
                    progress.fail(event["run"], event["kind"])
                    run_view.fail(event["run"])
                    run, ended = event["run"], True
        if has_run_event:
            progress.heard = progress.clock()
        if structure:
            structure = not self._append()
        added, self._added = tuple(self._added), []
        moved, self._moved = tuple(self._moved), []
        return Delta(
            bool(moved or finished),
            structure,
            tuple(finished),
            run,
            moved,
            () if structure else added,
            began,
            ended,
            frozenset(nodes),
        )

    def _end_call(self, row: TestRow, run: str, *, is_answered: bool = False) -> None:
        for other in self._calls.end(row, run, is_answered=is_answered):
            self._set(other, "running")

    def _answer(self, row: TestRow, run: str, waits_for: str) -> None:
        """Record that a test's call was answered and waits for its verdict."""
        self._end_call(row, run, is_answered=waits_for == "list")
        if row.busy:
            self._set(row, "queued")
            row.answered = waits_for
            self._moved.append(Moved(row, row.status, row.status))  # what is said of it is new in any case

    def _adopt(self, event: RunAdopted) -> list[str]:
        """Take what a run that was not asked for here came to, but for tests that are busy or have a newer result."""
        run_id = event["run_id"]
        self._run_ids[run_id] = run_id
        adopted = []
        for result in event["results"]:
            row = self.rows.get(result["id"])
            if row is not None and row.path == event["path"] and not row.busy and row.run_id < run_id:
                self._finish(row, run_id, result)
                adopted.append(row.id)
        del self._run_ids[run_id]
        return adopted

    def _append(self) -> bool:
        """Put the new rows at the end of the order, if that is where they belong; false when all had to be sorted."""
        last = self.rows[self.order[-1]] if self.order else None
        if last is None or any((row.path, row.block) != (last.path, last.block) for row in self._added):
            self._sort()
            return False
        self.order += [row.id for row in self._added]
        self.version += 1
        return True

    def _finish(self, row: TestRow, run: str, result: dict[str, Any]) -> None:
        verdict = result["verdict"]
        self._end_call(row, run, is_answered=verdict == "pass" and not result.get("cached"))
        if row.run == run:
            row.asked_digest = ""
        if "not_run" in result:
            row.message = str(result["message"])
            self._set(row, "stopped")
            return
        row.before, row.verdict = row.verdict, verdict if verdict in VERDICTS else "inconclusive"
        row.result = result
        row.deferred = "deferred" in result
        row.talk = None
        model = result.get("model")
        if row.kind == "agent" and isinstance(model, str):
            self.models.setdefault(row.path, {})[model] = None
        row.duration_ms, row.behind = result.get("duration_ms"), result.get("behind")
        row.flaky = result.get("flaky", False)
        row.cached = result.get("cached", False)
        if "strength" in result:
            row.strength, row.mutation_score = result["strength"], result.get("mutation_score")
        row.ran_digest = self._runs.get(run, {}).get(row.id, row.digest)
        row.run_id = self._run_ids.get(run, "")
        row.added = row.remembered = False
        self._set(row, row.verdict)

    def _start(self, event: RunStarted) -> bool:
        """The run is on: its tests wait, and those that it does not have after all are as before."""
        run = event["run"]
        self._run_ids[run] = event["run_id"]
        self._paths[run] = event["path"]
        structure = False
        wanted = self._runs.get(run, {})
        ids: dict[str, str] = {}
        for test in event["tests"]:
            row = self.rows.get(test["id"])
            if row is None and test["id"] in wanted:
                ids[test["id"]] = wanted[test["id"]]  # taken out of its suite since it was asked for
                continue
            if row is None:
                row, structure = self._unknown(run, test), True
            ids[row.id] = wanted.get(row.id, row.digest)
            if row.run not in self._runs or row.run == run:
                row.run, row.asked_digest = run, ids[row.id]  # else a newer one waits for its turn
            self._set(row, "queued")
        self._runs[run] = ids
        for left_out in wanted.keys() - ids:
            self._settle(left_out, run)
        return structure

    def _end(self, run: str, message: str) -> None:
        self._calls.end_run(run)
        for test in self._runs.pop(run, ()):
            self._settle(test, run, message)
        self._run_ids.pop(run, None)

    def _settle(self, test: str, run: str, message: str = "") -> None:
        """Whatever has no verdict yet does not get one from this run: it is stopped where `message` says so, else as before."""
        row = self.rows.get(test)
        if row is None:
            return
        if row.run == run:
            row.asked_digest = ""
            if row.busy:
                row.message = message
                self._set(row, "stopped" if message else row.verdict)
        elif row.status == "running" and run in self._run_ids:
            self._set(row, "queued")  # a newer run is to come

    def _unknown(self, run: str, test: TestOfRun | dict[str, Any]) -> TestRow:
        """Add a test of a run, or one that a result is of, that is in no document."""
        path, line = self._paths.get(run, ""), test["line"]
        row = TestRow(
            test["id"],
            test["name"],
            f"{test['kind']}s",
            test["kind"],
            test["server"],
            "",
            path,
            test["file"],
            line,
            line,
            (),
        )
        row.run, row.added = run, True
        self._add(row)
        self._added.append(row)
        return row

    def _set(self, row: TestRow, status: str) -> None:
        before = row.status
        if before != status:
            counts = self.counts
            counts[before] -= 1
            counts[status] += 1
            row.status, row.answered = status, ""
            if status == "running":
                self.running[row.id] = row
            elif before == "running":
                self.running.pop(row.id, None)
            self._moved.append(Moved(row, before, status))
