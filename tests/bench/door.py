"""The figures of the front door: how soon it answers, and what a verb costs over the command that does the same."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tests.bench.processes import ENVIRON, Finished, in_turns
from tests.bench.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.bench.run import Bench

SDK_SERVER = Path(__file__).parents[1] / "servers" / "sdk_server.py"
MCPTEST = str(Path(sys.executable).with_name("mcptest"))
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Client:
    """A client of an MCP server over pipes, one request at a time. `opening_ms` runs from the start to the first answer."""

    def __init__(self, argv: Sequence[str], cwd: Path) -> None:
        started = perf_counter()
        self._process = subprocess.Popen(
            argv, cwd=cwd, env=ENVIRON, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._numbers = count(1)
        self.ask("initialize", CLIENT)
        self.opening_ms = (perf_counter() - started) * 1000
        self._send({"method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == number:
                return answer
        raise RuntimeError(f"the server ended before it answered {method}")

    def call(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a verb. Raises: RuntimeError when it is an error."""
        result = self.ask("tools/call", {"name": verb, "arguments": arguments})["result"]
        if result.get("isError"):
            raise RuntimeError(str(result["content"][0]["text"]))
        answer: dict[str, Any] = result["structuredContent"]
        return answer

    def timed(self, verb: str, **arguments: Any) -> Finished:
        started = perf_counter()
        self.call(verb, **arguments)
        return Finished((perf_counter() - started) * 1000, 0.0)

    def end(self) -> None:
        self._process.communicate()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


@contextmanager
def client(argv: Sequence[str], cwd: Path) -> Iterator[Client]:
    opened = Client(argv, cwd)
    try:
        yield opened
    finally:
        opened.end()


def door_opening(bench: Bench) -> Iterator[Row]:
    def opening(*argv: str) -> Callable[[], Finished]:
        def measure() -> Finished:
            with client(argv, bench.directory) as opened:
                return Finished(opened.opening_ms, 0.0)

        return measure

    door, bare = in_turns(9, opening(MCPTEST, "mcp-server"), opening(sys.executable, str(SDK_SERVER)))
    yield Row(
        what="front door: first answer",
        measured=_fastest(door),
        floor=_fastest(bare),
        most=1.2,
        note="floor: bare SDK server",
    )


def door_verbs(bench: Bench) -> Iterator[Row]:
    """Measured in one session, after a first call of each verb that imports what it needs."""
    hundred = Path(bench.suite("door-hundred", 100, "echo")).read_text(encoding="utf-8")
    path = bench.suite("door-one", 1, "echo")
    one = Path(path).read_text(encoding="utf-8")
    with client([MCPTEST, "mcp-server", "--enable-writes"], bench.directory) as door:
        if not door.call("validate_suite", suite=hundred)["valid"]:
            raise RuntimeError("the suite of the bench is not valid")
        if door.call("run_tool_test", suite=one)["verdict"] != "pass":
            raise RuntimeError("the test of the bench does not pass")
        (checked,) = in_turns(9, lambda: door.timed("validate_suite", suite=hundred))
        ran, command = in_turns(9, lambda: door.timed("run_tool_test", suite=one), lambda: bench.mcptest("run", path))
    yield Row(what="  validate_suite, 100 tests", measured=_median(checked), limit=50, note="warm")
    yield Row(
        what="  run_tool_test, 1 test",
        measured=_median(ran),
        floor=_median(command),
        most=1.3,
        note="floor: mcptest run",
    )


def _fastest(results: Sequence[Finished]) -> float:
    return min(result.wall_ms for result in results)


def _median(results: Sequence[Finished]) -> float:
    return statistics.median(result.wall_ms for result in results)


SECTIONS = (door_opening, door_verbs)
