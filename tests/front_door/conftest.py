"""The front door as a client meets it: the installed command over pipes, one JSON-RPC message a line."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.forked import Forked, Nursery

DEMO = ["mcptest", "mock", "--preset", "demo"]
SUITE = """\
servers: { mock: { command: [mcptest, mock, --preset, demo] } }
tools:
  - name: status check
    tool: status
    expect: [{ target: "result.content[0].text", matcher: { contains: degraded } }]
  - { name: it answers, tool: status }
"""


class Door:
    """A running front door, its session open. `notifications` grows by what it sends unasked."""

    def __init__(self, process: subprocess.Popen[str] | Forked, *, name: str = "test", version: str = "1") -> None:
        self.process = process
        self.notifications: list[dict[str, Any]] = []
        self._next = 0
        client = {"name": name, "version": version}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        self.opening = self.ask("initialize", params)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def begin(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request and return its id."""
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params or {}})
        return self._next

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the front door has ended"
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    def answer_to(self, number: int) -> dict[str, Any]:
        """The response to the request with this id, notifications before it put aside."""
        while True:
            message = self.read()
            if message.get("id") == number:
                return message
            self.notifications.append(message)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of a request, which must have one."""
        message = self.answer_to(self.begin(method, params))
        assert "result" in message, message
        found = message["result"]
        assert isinstance(found, dict)
        return found

    def call(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a verb, which must be no error; the text says the same."""
        result = self.ask("tools/call", {"name": verb, "arguments": arguments})
        assert not result.get("isError"), result["content"][0]["text"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        found = result["structuredContent"]
        assert isinstance(found, dict)
        return found

    def refused(self, verb: str, **arguments: Any) -> str:
        """The error text of a tool call that fails."""
        result = self.ask("tools/call", {"name": verb, "arguments": arguments})
        assert result.get("isError") is True, result
        return str(result["content"][0]["text"])

    def end(self) -> int:
        """Close its stdin; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)


def read(door: Door, uri: str) -> str:
    """The text of a resource."""
    (found,) = door.ask("resources/read", {"uri": uri})["contents"]
    return str(found["text"])


@pytest.fixture(scope="module")
def reader(mcptest_command: str, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A read-only front door that the tests of a module share, in a workspace of its own that none of them changes."""
    yield from shared_door(nursery, mcptest_command, tmp_path_factory.mktemp("reader"))


@pytest.fixture(scope="module")
def writer(mcptest_command: str, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """The same with `--enable-writes`."""
    yield from shared_door(nursery, mcptest_command, tmp_path_factory.mktemp("writer"), "--enable-writes")


def shared_door(nursery: Nursery, command: str, folder: Path, *flags: str) -> Iterator[Door]:
    """A front door in `folder`, for a fixture to yield."""
    (folder / ".mcptest").mkdir(exist_ok=True)
    environ = {key: value for key, value in os.environ.items() if key not in {"CI", "FORCE_COLOR", "NO_COLOR"}}
    with (folder / "stderr").open("w", encoding="utf-8") as stderr:
        process = nursery.start(
            [command, "mcp-server", *flags],
            cwd=folder,
            env={**environ, "HOME": str(folder)},
            stdin=True,
            stderr=stderr,
        )
        try:
            yield Door(process)
        finally:
            put_away(process)


@pytest.fixture
def open_door(
    mcptest_command: str, nursery: Nursery, tmp_path: Path, clean_environ: dict[str, str]
) -> Iterator[Callable[..., Door]]:
    """Start a front door in `tmp_path`, a workspace of its own: open_door(*flags, **environ)."""
    with ExitStack() as stack:

        def start(*flags: str, cwd: Path = tmp_path, **environ: str) -> Door:
            (tmp_path / ".mcptest").mkdir(exist_ok=True)
            stderr = stack.enter_context((tmp_path / "door.stderr").open("a", encoding="utf-8"))
            process = nursery.start(
                [mcptest_command, "mcp-server", *flags],
                cwd=cwd,
                env={**clean_environ, **environ},
                stdin=True,
                stderr=stderr,
            )
            stack.callback(put_away, process)
            return Door(process)

        yield start


def put_away(process: Forked) -> None:
    """End it, and close what is left of its pipes."""
    if process.poll() is None:
        process.terminate()
        process.wait(60)
    for stream in (process.stdin, process.stdout):
        if stream is not None and not stream.closed:
            try:
                stream.close()
            except BrokenPipeError:
                continue


@pytest.fixture
def mock_url(mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str]) -> Iterator[str]:
    """The mock over HTTP, which requires an unknown token."""
    process = subprocess.Popen(
        [mcptest_command, "mock", "--preset", "demo", "--http", "0", "--require-bearer-env", "WANTED"],
        cwd=tmp_path,
        env={**clean_environ, "WANTED": "a-token-that-nobody-has"},
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    with process:
        assert process.stderr is not None
        line = process.stderr.readline()
        yield line.split()[-1]
        process.terminate()
