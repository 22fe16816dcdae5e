"""The results of one test in earlier runs, from the stored records.

Records never change, so a `History` reads each once and remembers only what `Past` holds. The number of runs and bytes read for
one query is bounded, also for a test that was never run.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.errors import RecordError
from mcptest_engine.workspace.files import file_state, open_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.workspace.workspace import Workspace

    _Row = tuple[str, str, float, str | None, Mapping[str, object] | None, str | None]

MOST_RUNS = 200
"""How many of a suite's newest runs are searched for one test."""
MOST_BYTES = 64 * 1024 * 1024
"""How many bytes of records one query reads; what it read is remembered, so the next query gets further."""
MOST_REMEMBERED = 200_000
_LARGEST_RECORD = 64 * 1024 * 1024
_HEAD_BYTES = 16 * 1024
_MESSAGE = 300
_SUITE = '"suite":'


class Past(NamedTuple):
    """One earlier result of a test. `started_at` is the run's, RFC 3339; `behind` and `deferred` as in `TestResult`."""

    run_id: str
    started_at: str
    verdict: str
    duration_ms: float
    message: str | None = None
    behind: JsonMapping | None = None
    deferred: str | None = None

    def to_json(self) -> JsonDict:
        return {name: member for name, member in self._asdict().items() if member is not None}


class History:
    """The stored results of a workspace, by test. Not thread-safe."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._suites: dict[str, str | None] = {}  # run id -> the suite's path, None when the file is not a record
        self._runs: OrderedDict[str, dict[str, Past]] = OrderedDict()
        self._remembered = 0
        self._ids: dict[str, str] = {}
        self._left = MOST_BYTES

    def of(self, test_id: str, limit: int = 20) -> list[Past]:
        """The newest `limit` results of the test with this id, newest first; runs without the test are skipped."""
        found: list[Past] = []
        self._left = MOST_BYTES
        for looked, run in enumerate(self._runs_of(test_id.split("::", 1)[0])):
            if len(found) >= limit or looked >= MOST_RUNS:
                break
            past = run.get(test_id)
            if past is not None:
                found.append(past)
        return found[:limit]

    def note(self, record: RunRecord) -> None:
        """Remember a run that was just saved, so that its record need not be read."""
        if record.run_id not in self._runs:
            self._suites[record.run_id] = record.suite.path
            tests = (
                (test.id, test.verdict.value, test.duration_ms, test.message, test.behind, test.deferred)
                for test in record.tests
            )
            self._remember(record.run_id, record.started_at, tests)

    def _runs_of(self, suite_path: str) -> Iterator[dict[str, Past]]:
        for path in self.workspace.runs():
            run_id = path.stem
            if run_id not in self._suites:
                self._suites[run_id] = self._suite_of(run_id)
            if self._suites[run_id] != suite_path:
                continue
            run = self._runs.get(run_id)
            if run is None:
                if self._left <= 0:
                    return
                run = self._read(run_id)
            yield run

    def _suite_of(self, run_id: str) -> str | None:
        """The suite's path of a run, from the head of its record; None when it cannot be read."""
        path = self.workspace.runs_dir / f"{run_id}.json"
        try:
            with open_file(path) as file:
                head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
            at = head.find(_SUITE)
            suite = json.JSONDecoder().raw_decode(head, at + len(_SUITE))[0] if at >= 0 else None
        except (OSError, ValueError, RecursionError):
            return None
        found = suite.get("path") if isinstance(suite, dict) else None
        return found if isinstance(found, str) else None

    def _read(self, run_id: str) -> dict[str, Past]:
        try:
            size = file_state(self.workspace.runs_dir / f"{run_id}.json").st_size
            self._left -= size
            record = self.workspace.load_run(run_id) if size <= _LARGEST_RECORD else {}
        except (RecordError, OSError):
            record = {}
        return self._remember(run_id, str(record.get("started_at", "")), _rows(record))

    def _remember(self, run_id: str, started_at: str, tests: Iterator[_Row]) -> dict[str, Past]:
        intern = self._ids
        run = {
            intern.setdefault(test_id, test_id): Past(
                run_id, started_at, verdict, duration_ms, message and message[:_MESSAGE], behind, why and why[:_MESSAGE]
            )
            for test_id, verdict, duration_ms, message, behind, why in tests
        }
        self._runs[run_id] = run
        self._remembered += len(run)
        while self._remembered > MOST_REMEMBERED and len(self._runs) > 1:
            self._remembered -= len(self._runs.popitem(last=False)[1])
        return run


def _rows(record: Mapping[str, object]) -> Iterator[_Row]:
    tests = record.get("tests")
    for test in tests if isinstance(tests, list) else ():
        if isinstance(test, dict):
            message, duration_ms, behind = test.get("message"), test.get("duration_ms"), test.get("behind")
            deferred = test.get("deferred")
            yield (
                str(test.get("id")),
                str(test.get("verdict")),
                duration_ms if isinstance(duration_ms, (int, float)) else 0.0,
                message if isinstance(message, str) else None,
                behind if isinstance(behind, dict) else None,
                deferred if isinstance(deferred, str) else None,
            )
