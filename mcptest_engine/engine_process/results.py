"""Results of tests in detail: from memory for the newest runs, else from the saved records.

Test ids begin with the path of the suite, so that only records of that suite are searched. Answers of calls made by hand are
stored here too, by ids of their own, so that parts of a large answer can be requested in the same way.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mcptest_engine.engine_process.pages import MOST_ENTRIES, paths_of, pruned, text_of, up_to, value_at
from mcptest_engine.engine_process.protocol import Refused, encode
from mcptest_engine.workspace.files import read_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.engine_process.surroundings import Surroundings
    from mcptest_engine.workspace.history import History

KEPT_RUN_BYTES = 8 * 1024 * 1024
MOST_RUNS = 8
MOST_RECORDS = 2
MOST_OUTPUTS = 2
MOST_ANSWERS = 20
MOST_ANSWER_BYTES = 64 * 1024 * 1024
LARGEST_OUTPUT = 512 * 1024 * 1024
LARGE_BYTES = 1024 * 1024
IDLE_SECONDS = 3.0
"""How long large values stay parsed without a request: as objects they need five times the memory of their text."""
CALL = "call:"


class Results:
    """Results by test id and run id; without a run id, of the newest run that has a result of the test."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._fresh: OrderedDict[str, dict[str, TestResult]] = OrderedDict()  # by run id, oldest first
        self._records: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._outputs: OrderedDict[str, object] = OrderedDict()
        # (answer, size) by id; a large answer is stored as JSON bytes after a while
        self._answers: OrderedDict[str, tuple[object, int]] = OrderedDict()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._answered = 0
        self._history: History | None = None
        self._reading = asyncio.Lock()

    def began(self, run_id: str) -> None:
        """Prepare for the results of a run that has started."""
        self._fresh[run_id] = {}
        while len(self._fresh) > MOST_RUNS:
            self._fresh.popitem(last=False)

    def add(self, run_id: str, result: TestResult) -> None:
        """Store the result of a test in an active run, in place of an earlier one."""
        if run_id in self._fresh:
            self._fresh[run_id][result.id] = result

    def saved(self, record: RunRecord, path: Path | None) -> None:
        """Store the results of a finished run in memory, unless it was saved to `path` and is large."""
        size = 0
        self._free_memory_soon()
        if path is not None:
            try:
                size = path.stat().st_size
            except OSError:  # removed already: only memory has them
                size = 0
            if not self._reading.locked():  # otherwise a request is reading records now, and finds this one too
                self.history.note(record)
        if size > KEPT_RUN_BYTES:
            self._fresh.pop(record.run_id, None)
        else:
            self._fresh[record.run_id] = {test.id: test for test in record.tests}

    def keep_answer(self, answer: object, size: int) -> str:
        """Store the redacted answer of a call; return the id by which its parts are requested.

        `size` is the length of its text. The oldest answers are dropped when there are too many, or too much text; the newest
        is always stored.
        """
        self._answered += 1
        name = f"{CALL}{self._answered}"
        self._answers[name] = (answer, size)
        self._free_memory_soon()
        total = sum(kept for _, kept in self._answers.values())
        while len(self._answers) > MOST_ANSWERS or (total > MOST_ANSWER_BYTES and len(self._answers) > 1):
            _, (_, gone) = self._answers.popitem(last=False)
            total -= gone
        return name

    @property
    def history(self) -> History:
        from mcptest_engine.workspace.history import History

        workspace = self._surroundings.workspace
        if self._history is None or self._history.workspace.root != workspace.root:
            self._history = History(workspace)
        return self._history

    async def detail(self, test_id: str, run_id: str | None) -> dict[str, Any]:
        """The test's result as JSON, with each member pruned. Raises: Refused when there is none."""
        found = dict(await self._test(test_id, run_id))
        return {name: pruned(member) for name, member in found.items()}

    async def expand(
        self, test_id: str, run_id: str | None, path: Sequence[object], start: int = 0, key: object = None
    ) -> object:
        """The part of a result at `path`, pruned, with its entries from `start` on; with `key`, at least up to that entry."""
        part = await self._part(test_id, run_id, path)
        return pruned(part, start=start, entries=MOST_ENTRIES if key is None else up_to(part, key, start))

    async def find(self, test_id: str, run_id: str | None, path: Sequence[object], text: str) -> list[list[str | int]]:
        """The paths, relative to `path`, of keys and values that contain a text, also in parts that were not sent."""
        return await asyncio.to_thread(paths_of, await self._part(test_id, run_id, path), text)

    async def value(self, test_id: str, run_id: str | None, path: Sequence[object]) -> str:
        """The part of a result at `path` as text."""
        return text_of(await self._part(test_id, run_id, path))

    async def past(self, test_id: str, limit: int) -> list[dict[str, object]]:
        """The test's results in the newest runs that have one, newest first."""
        async with self._reading:
            found = await asyncio.to_thread(self.history.of, test_id, limit)
        return [past.to_json() for past in found]

    async def _part(self, test_id: str, run_id: str | None, path: Sequence[object]) -> object:
        if test_id.startswith(CALL):
            if test_id not in self._answers:
                raise Refused("this answer is no longer saved", kind="gone")
            answer, size = self._answers[test_id]
            if isinstance(answer, bytes):
                answer = json.loads(answer)
                self._answers[test_id] = answer, size
            self._free_memory_soon()
            return value_at(answer, path)
        return value_at(await self._test(test_id, run_id), path)

    async def _test(self, test_id: str, run_id: str | None) -> dict[str, Any]:
        for fresh in reversed(self._fresh) if run_id is None else (run_id,):
            result = self._fresh.get(fresh, {}).get(test_id)
            if result is not None:
                return await self._whole(result.to_json())
        if run_id is None:
            async with self._reading:
                newest = await asyncio.to_thread(self.history.of, test_id, 1)
            if not newest:
                raise Refused("this test has no result yet", kind="gone")
            run_id = newest[0].run_id
        tests = await self._record(run_id)
        if test_id not in tests:
            raise Refused(f"the run {run_id} has no such test", kind="gone")
        return await self._whole(dict(tests[test_id]))

    def _free_memory_soon(self) -> None:
        """Free memory after `IDLE_SECONDS` without requests."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_timer = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._store_compactly)

    def _store_compactly(self) -> None:
        """Store large answers as JSON bytes, and drop outputs that were read from side files."""
        self._idle_timer = None
        self._outputs.clear()
        for name, (answer, size) in self._answers.items():
            if size > LARGE_BYTES and not isinstance(answer, bytes):
                self._answers[name] = encode(answer), size
        answer = None  # otherwise this variable would hold the last one
        _free_memory()

    async def _record(self, run_id: str) -> dict[str, Any]:
        if run_id not in self._records:
            loaded = await asyncio.to_thread(self._surroundings.workspace.load_run, run_id)
            tests = [test for test in loaded.get("tests") or () if isinstance(test, dict)]
            _put(self._records, run_id, {str(test.get("id")): test for test in tests}, MOST_RECORDS)
        return self._records[run_id]

    async def _whole(self, result: dict[str, Any]) -> dict[str, Any]:
        """Replace references to side files in a result by the values in these files."""
        result["output"] = await self._output(result.get("output"))
        if result.get("verify"):
            steps = [dict(step) for step in result["verify"]]
            for step in steps:
                step["output"] = await self._output(step.get("output"))
            result["verify"] = steps
        aside = result["trace"].get("whole") if isinstance(result.get("trace"), dict) else None
        if isinstance(aside, dict) and isinstance(whole := await self._output(aside), dict) and whole is not aside:
            result["trace"] = whole
        return result

    async def _output(self, output: Any) -> Any:
        place = output.get("$file") if isinstance(output, dict) else None
        if not isinstance(place, str) or output.get("bytes", 0) > LARGEST_OUTPUT:
            return output
        self._free_memory_soon()
        if place not in self._outputs:
            if place.startswith("/") or ".." in place.split("/"):
                return output
            path = self._surroundings.workspace.data_dir / place
            try:
                _put(self._outputs, place, await asyncio.to_thread(_read, path), MOST_OUTPUTS)
            except (OSError, ValueError, RecursionError):
                return output  # the file was deleted with its record: return the reference
        return self._outputs[place]


def _put(held: OrderedDict[str, Any], name: str, value: Any, most: int) -> None:
    held[name] = value
    while len(held) > most:
        held.popitem(last=False)


def _read(path: Path) -> Any:
    return json.loads(read_file(path, largest=LARGEST_OUTPUT))


def _free_memory() -> None:
    """Return unused memory to the system."""
    import gc

    gc.collect()
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError, OSError):  # a C library without `malloc_trim`
            ctypes.CDLL(None).malloc_trim(0)
