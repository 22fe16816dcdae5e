"""Drives a real mock over its pipes: what is written here is what a client would write."""

from __future__ import annotations

import itertools
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.forked import NURSERY, Nursery, can_fork

ROOT = Path(__file__).parent.parent.parent
DEADLINE_SECONDS = 60.0


class Mock:
    """One `mcptest mock` and the pipes to it; their ends here are unbuffered and of bytes."""

    def __init__(self, argv: list[str], env: dict[str, str], cwd: Path) -> None:
        environ = {**os.environ, **env}
        if can_fork(environ):
            self.process: Any = NURSERY.start(["mcptest", "mock", *argv], cwd=cwd, env=environ, stdin=True)
            for name in ("stdin", "stdout", "stderr"):
                setattr(self.process, name, getattr(self.process, name).detach().detach())
        else:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mcptest_engine.mock", *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**environ, "PYTHONPATH": str(ROOT)},
                cwd=cwd,
                bufsize=0,
            )
        self._ids = itertools.count(1)
        self._buffers = {"stdout": b"", "stderr": b""}

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send(self, message: object) -> None:
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def line(self) -> bytes:
        """The next line of stdout without its end; empty when stdout was closed."""
        return self._line_of("stdout")

    def stderr_line(self) -> str:
        return self._line_of("stderr").decode()

    def send_together(self, *messages: object) -> None:
        """In one write, so that nothing can happen between them."""
        self.send_bytes(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def receive(self) -> Any:
        return json.loads(self.line())

    def post(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request without waiting; gives its id."""
        key = next(self._ids)
        self.send({"jsonrpc": "2.0", "id": key, "method": method, **({} if params is None else {"params": params})})
        return key

    def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        key = self.post(method, params)
        answer = self.receive()
        assert answer["id"] == key
        return answer

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def post_call(self, tool: str, **arguments: Any) -> int:
        return self.post("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def text(self, tool: str, **arguments: Any) -> str:
        return str(self.call(tool, **arguments)["result"]["content"][0]["text"])

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self) -> int:
        return self.process.wait(timeout=DEADLINE_SECONDS)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=DEADLINE_SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _line_of(self, name: str) -> bytes:
        stream = getattr(self.process, name)
        while b"\n" not in self._buffers[name]:
            ready, _, _ = select.select([stream], [], [], DEADLINE_SECONDS)
            assert ready, f"no line within {DEADLINE_SECONDS} s"
            chunk = os.read(stream.fileno(), 1 << 20)
            if not chunk:
                rest, self._buffers[name] = self._buffers[name], b""
                return rest
            self._buffers[name] += chunk
        line, _, self._buffers[name] = self._buffers[name].partition(b"\n")
        return line


StartMock = Callable[..., Mock]


@pytest.fixture
def start(tmp_path: Path, nursery: Nursery) -> Iterator[StartMock]:
    """Starts mocks by command line, and leaves none behind."""
    running: list[Mock] = []

    def begin(*argv: str, env: dict[str, str] | None = None) -> Mock:
        running.append(Mock(list(argv), env or {}, tmp_path))
        return running[-1]

    yield begin
    for mock in running:
        mock.stop()


@pytest.fixture
def serve(start: StartMock, tmp_path: Path) -> StartMock:
    """Starts a mock of the manifest given as YAML text."""

    def begin(manifest: str, *argv: str, env: dict[str, str] | None = None) -> Mock:
        path = tmp_path / "manifest.yml"
        path.write_text(manifest, encoding="utf-8")
        return start("--tools-from", str(path), *argv, env=env)

    return begin
