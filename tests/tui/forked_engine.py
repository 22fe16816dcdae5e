"""The workbench's engine forked from a process that has imported it: the same code, without the start of an interpreter."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_tui.engine_client import worker_argv
from tests.forked import ENGINE, NURSERY, Forked, can_fork

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

_start = asyncio.BaseEventLoop.subprocess_exec


def fork_engines(patch: pytest.MonkeyPatch) -> None:
    """From now on whoever starts the engine's argv on a loop gets a fork."""
    patch.setattr(asyncio.BaseEventLoop, "subprocess_exec", _subprocess_exec)


async def _subprocess_exec(
    loop: asyncio.BaseEventLoop, make: Callable[[], asyncio.SubprocessProtocol], *argv: str, **settings: Any
) -> tuple[asyncio.SubprocessTransport, asyncio.SubprocessProtocol]:
    if argv != worker_argv() or not _can_start(settings["cwd"]):
        return await _start(loop, make, *argv, **settings)
    process = NURSERY.start(
        [ENGINE], cwd=Path(settings["cwd"]), env=os.environ, stdin=True, start_new_session=settings["start_new_session"]
    )
    protocol = make()
    transport = _Transport(process, protocol)
    await transport.connect(loop)
    return transport, protocol


def _can_start(folder: str) -> bool:
    """Whether the fork would begin as the engine itself does: in a folder that is there, with what an interpreter reads."""
    return Path(folder).is_dir() and can_fork(os.environ)


class _Pipe(asyncio.Protocol):
    """One pipe of the process: what comes on it, and its end, are the protocol's."""

    def __init__(self, owner: _Transport, number: int) -> None:
        self._owner, self._number = owner, number

    def data_received(self, data: bytes) -> None:
        self._owner.protocol.pipe_data_received(self._number, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.protocol.pipe_connection_lost(self._number, exc)


class _Transport(asyncio.SubprocessTransport):
    """A forked process as a loop's own subprocesses are."""

    def __init__(self, process: Forked, protocol: asyncio.SubprocessProtocol) -> None:
        super().__init__()
        self.protocol = protocol
        self._process = process
        self._pipes: dict[int, asyncio.BaseTransport] = {}

    async def connect(self, loop: asyncio.BaseEventLoop) -> None:
        """Watch the pipes and the end of the process on `loop`."""
        self._loop = loop
        process = self._process
        self._pipes[0] = (await loop.connect_write_pipe(lambda: _Pipe(self, 0), process.stdin))[0]
        self._pipes[1] = (await loop.connect_read_pipe(lambda: _Pipe(self, 1), process.stdout))[0]
        self._pipes[2] = (await loop.connect_read_pipe(lambda: _Pipe(self, 2), process.stderr))[0]
        self._status = process.fileno()
        loop.add_reader(self._status, self._exited)
        self.protocol.connection_made(self)

    def get_pid(self) -> int:
        return self._process.pid

    def get_returncode(self) -> int | None:
        return self._process.returncode

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport | None:
        return self._pipes.get(fd)

    def kill(self) -> None:
        self._process.kill()

    def terminate(self) -> None:
        self._process.terminate()

    def send_signal(self, signal: int) -> None:
        self._process.send_signal(signal)

    def is_closing(self) -> bool:
        return all(pipe.is_closing() for pipe in self._pipes.values())

    def close(self) -> None:
        for pipe in self._pipes.values():
            pipe.close()

    def _exited(self) -> None:
        self._loop.remove_reader(self._status)
        self._process.poll()
        self.protocol.process_exited()
