"""The engine child as a user interface has it: lines in, lines out, in a folder and a home of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.environment import shipped
from mcptest_tui.engine_client import engine_argv
from tests.engine_process.processes import processes_in
from tests.forked import ENGINE, Forked, Nursery, can_fork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SERVERS = Path(__file__).resolve().parents[1] / "servers"
LIMIT_SECONDS = 60
PATIENT = [
    sys.executable,
    "-c",
    "import mcptest_engine.engine_process.__main__ as worker; worker.LAST_SECONDS = worker._STUCK_SECONDS = 60; worker.main()",
]
"""The child, with as much time to keep what a run has found as a busy machine may take."""


def echoes(count: int) -> list[dict[str, Any]]:
    """Tests of the echo server that pass."""
    row = {"target": "result.content[0].text", "matcher": {"contains": "a"}}
    return [
        {"name": f"t{number}", "tool": "echo", "args": {"text": "a" * (number % 50 + 1)}, "expect": [row]}
        for number in range(count)
    ]


def run(child: Child, key: str = "r", **arguments: Any) -> dict[str, Any]:
    """Run `mcptest.yml` to the end; the run's last event."""
    before = child.count
    child.ask("run", run=key, path="mcptest.yml", **arguments)
    return child.until(
        lambda told: told.get("event") in ("run.finished", "run.failed") and told["run"] == key, after=before
    )


def wait_for_spare(child: Child) -> None:
    """Wait until the spare server is ready again, which may be before the end of the run is reported."""
    times = count(1)
    child.until(lambda told: told.get("event") == "server.state" and told["state"] == "ready" and next(times) == 2)


class Refusal(Exception):
    """An ask that was answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error


class Child:
    """One running child. `raw` are all its lines so far, as they came; reading can be held up."""

    def __init__(self, process: subprocess.Popen[bytes] | Forked) -> None:
        self.process = process
        self.raw: list[bytes] = []
        self._told: list[dict[str, Any]] = []
        self._news = threading.Condition()
        self._reading = threading.Event()
        self._reading.set()
        self._asked = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def ask(self, do: str, **arguments: Any) -> Any:
        """The answer to a command. Raises: Refusal."""
        return self.answer(self.begin(do, **arguments))

    def begin(self, do: str, **arguments: Any) -> int:
        """Ask without waiting; returns the number of the ask."""
        self._asked += 1
        self.send({"ask": self._asked, "do": do, **arguments})
        return self._asked

    def answer(self, number: int) -> Any:
        reply = self.until(lambda told: told.get("reply") == number)
        if "error" in reply:
            raise Refusal(reply["error"])
        return reply["ok"]

    def send(self, command: Any) -> None:
        self.write(json.dumps(command).encode() + b"\n")

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def until(self, wanted: Callable[[dict[str, Any]], bool], *, after: int = 0) -> dict[str, Any]:
        """The first line, of those after the first `after`, that is wanted; bounded at a minute."""
        looked = after
        with self._news:
            while True:
                while looked < len(self._told):
                    if wanted(self._told[looked]):
                        return self._told[looked]
                    looked += 1
                assert self._news.wait(LIMIT_SECONDS), f"it never came; the last lines: {self.raw[-3:]}"

    def event(self, name: str, *, after: int = 0, **members: Any) -> dict[str, Any]:
        """The first event of that name with these members."""
        return self.until(
            lambda told: told.get("event") == name and all(told.get(key) == members[key] for key in members),
            after=after,
        )

    def events(self, name: str, **members: Any) -> list[dict[str, Any]]:
        """All of them so far."""
        return [
            told
            for told in tuple(self._told)
            if told.get("event") == name and all(told.get(key) == members[key] for key in members)
        ]

    def told(self) -> list[dict[str, Any]]:
        """Every line so far."""
        return list(self._told)

    @property
    def count(self) -> int:
        return len(self._told)

    def hold(self) -> None:
        """Stop reading, as a busy reader does."""
        self._reading.clear()

    def go_on(self) -> None:
        self._reading.set()

    def end(self) -> int:
        """Close its stdin and wait for its end, with all its lines read."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self._reading.set()
        code = self.process.wait(LIMIT_SECONDS)
        self._thread.join(LIMIT_SECONDS)
        self.process.stdout.close()
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        while True:
            self._reading.wait()
            line = self.process.stdout.readline()
            if not line.endswith(b"\n"):  # the end, or what a child that was killed had written of its last line
                return
            with self._news:
                self.raw.append(line)
                self._told.append(json.loads(line))
                self._news.notify_all()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace of its own."""
    folder = tmp_path / "work"
    (folder / ".mcptest").mkdir(parents=True)
    return folder


@pytest.fixture
def environ(clean_environ: dict[str, str], tmp_path: Path) -> dict[str, str]:
    homes = {name: str(tmp_path / name.lower()) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    return {**clean_environ, **homes}


@pytest.fixture
def start(place: Path, environ: dict[str, str], nursery: Nursery) -> Iterator[Callable[..., Child]]:
    """`start(**variables)`: a child that works in `place`; a patient one ends, when it has to, in its own time.

    A fresh one has an interpreter of its own from its start, for what depends on its memory.
    """
    started: list[Child] = []

    def begin(*, patient: bool = False, fresh: bool = False, **variables: str) -> Child:
        env = {**environ, **variables}
        process: subprocess.Popen[bytes] | Forked
        if can_fork(env) and not patient and not fresh:
            process = nursery.start(
                [ENGINE], cwd=place, env=env, stdin=True, stderr=sys.__stderr__, start_new_session=True, text=False
            )
        else:
            argv = PATIENT if patient else engine_argv()
            process = subprocess.Popen(
                argv,
                executable=argv[0],
                cwd=place,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        started.append(Child(process))
        return started[-1]

    yield begin
    for child in started:
        child.end()
    for pid in processes_in(place):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def child(start: Callable[..., Child]) -> Child:
    """One that has said hello."""
    child = start()
    child.ask("hello")
    return child


@pytest.fixture
def demo(place: Path) -> Path:
    """The demo suite as `mcptest.yml`."""
    path = place / "mcptest.yml"
    path.write_text((shipped("examples") / "demo" / "mcptest.yml").read_text(encoding="utf-8"), encoding="utf-8")
    return path


@pytest.fixture
def suite_on(place: Path) -> Callable[..., Path]:
    """`suite_on(script, *arguments, tests=[…], server={…})`: a suite on one of the server scripts."""

    def write(script: str, *arguments: str, tests: list[Any], server: Any = None, name: str = "mcptest.yml") -> Path:
        command = [sys.executable, "-S", str(SERVERS / f"{script}.py"), *arguments]
        whole = {"servers": {"s": {"command": command, **(server or {})}}, "tools": tests}
        path = place / name
        path.write_text(json.dumps(whole), encoding="utf-8")
        return path

    return write


class Clinging:
    """A server that does not exit, and reports its progress."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._fifo = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._told = b""

    def wait_for(self, word: str) -> None:
        import select

        while word.encode() + b"\n" not in self._told:
            assert select.select([self._fifo], [], [], LIMIT_SECONDS)[0], f"it never told {word!r}"
            self._told += os.read(self._fifo, 4096)

    def close(self) -> None:
        os.close(self._fifo)


@pytest.fixture
def clinging(tmp_path: Path, suite_on: Callable[..., Path]) -> Iterator[Clinging]:
    """The suite of `place` is on a server that never answers, ignores every signal that it can, and has such a child."""
    server = Clinging(tmp_path / "fifo")
    suite_on("clinging", str(server.path), tests=[{"name": "look", "tool": "look"}], server={"shutdown_grace_ms": 50})
    yield server
    server.close()
