"""What coding agents did in this workspace: the list of their actions, and one of their runs."""

from __future__ import annotations

import asyncio
import hashlib
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import RecordError
from mcptest_engine.core.results import Verdict
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.engine_process.event_lines import record_shown, result_shown
from mcptest_engine.engine_process.protocol import Refused
from mcptest_engine.workspace.activity import NEWEST, Activity
from mcptest_engine.workspace.files import file_state
from mcptest_engine.workspace.ulid import is_ulid

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.engine_process.surroundings import Surroundings
    from mcptest_engine.workspace.workspace import Workspace

MOST_NEWEST = 100_000
MOST_TESTS = 30
"""The most failed and inconclusive tests in an answer."""
MOST_NAMES = 200
"""The most names of passed tests in an answer."""
MOST_VERDICTS = 5_000
LARGEST_RECORD = 64 * 1024 * 1024
_BAD = (Verdict.FAIL, Verdict.INCONCLUSIVE)


class Agents:
    """The activity of one workspace. Lists are read one at a time, so that each reads only what is new since the last."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._activity: Activity | None = None
        self._turn = asyncio.Lock()

    async def listed(self, newest: int | None) -> dict[str, Any]:
        """`{rows, more}`, as `Activity.rows` returns them."""
        async with self._turn:
            workspace = self._surroundings.workspace
            if self._activity is None or self._activity.workspace.root != workspace.root:
                self._activity = Activity(workspace)
            wanted = max(1, min(newest or NEWEST, MOST_NEWEST))
            rows, more = await asyncio.to_thread(self._activity.rows, wanted)
        return {"rows": rows, "more": more}

    async def run(self, run_id: str) -> dict[str, Any]:
        """`{record, tests, left_out, others}` of one run.

        `record` is without tests. `tests` are the failed and inconclusive ones, as in events; `left_out` is how many more there
        are. `others` has (verdict, name, duration in ms) of others, 200 at most. Raises: Refused for a record that cannot be
        read.
        """
        if not is_ulid(run_id):
            raise Refused("this row is not a run's id", kind="protocol")
        workspace = self._surroundings.workspace
        return await asyncio.to_thread(_run, workspace, workspace.runs_dir / f"{run_id}.json")

    async def verdicts(self, run_id: str) -> dict[str, object]:
        """`{run_id, results}`: the results as in events; none when the suite has changed since the run.

        Raises: Refused for a record that cannot be read.
        """
        if not is_ulid(run_id):
            raise Refused("this row is not a run's id", kind="protocol")
        workspace = self._surroundings.workspace
        results = await asyncio.to_thread(_verdicts, workspace, workspace.runs_dir / f"{run_id}.json")
        return {"run_id": run_id, "results": results}


def _verdicts(workspace: Workspace, path: Path) -> list[dict[str, object]]:
    record = _record(workspace, path)
    suite = workspace.root / record.suite.path
    try:
        is_same = hashlib.sha256(suite.read_bytes()).hexdigest() == record.suite.sha256
    except OSError:  # removed since
        is_same = False
    return [result_shown(test) for test in record.tests[:MOST_VERDICTS]] if is_same else []


def _run(workspace: Workspace, path: Path) -> dict[str, object]:
    record = _record(workspace, path)
    bad = [test for test in record.tests if test.verdict in _BAD]
    others = (test for test in record.tests if test.verdict not in _BAD)
    return {
        "record": record_shown(record),
        "tests": [result_shown(test) for test in bad[:MOST_TESTS]],
        "left_out": max(len(bad) - MOST_TESTS, 0),
        "others": [(test.verdict.value, test.name, test.duration_ms) for test in islice(others, MOST_NAMES)],
    }


def _record(workspace: Workspace, path: Path) -> RunRecord:
    try:
        size = file_state(path).st_size
        if size > LARGEST_RECORD:
            raise Refused(f"the record is too large to be shown here ({size // 1_000_000:,} MB)", kind="gone")
        return RunRecord.from_json(workspace.load_run(path))
    except RecordError as wrong:
        raise Refused(wrong.message, hint=wrong.hint, kind="gone") from None
    except OSError as wrong:
        raise Refused(f"the record cannot be read: {wrong.strerror or wrong}", kind="gone") from None
    except (TypeError, ValueError, AttributeError, KeyError) as wrong:  # any program may have written the file
        raise Refused(f"the record is damaged: {wrong}", kind="gone") from None
