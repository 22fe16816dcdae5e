"""Processes of mcptest that are forked from one which has imported what they need.

Each is a process of its own with its own descriptors, directory, environment and exit code, and does what the installed command
does; only the second that it would import for is spent once. How the command itself starts is checked where that is the point.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from mcptest_engine.core.lazy_patterns import LazyPattern

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parent.parent
IMPORTED = (
    "jsonschema_rs",
    "mcptest_engine.cli.main",
    "mcptest_engine.cli.list",
    "mcptest_engine.cli.mock",
    "mcptest_engine.cli.run",
    "mcptest_engine.cli.sinks",
    "mcptest_engine.cli.validate",
    "mcptest_engine.core.redaction",
    "mcptest_engine.judging.matchers.containment",
    "mcptest_engine.judging.matchers.equality",
    "mcptest_engine.mock.http",
    "mcptest_engine.mock.server",
    "mcptest_engine.mock.stdio",
    "mcptest_engine.reporting.json_",
    "mcptest_engine.reporting.pretty_failures",
    "mcptest_engine.reporting.pretty",
    "mcptest_engine.running.execution",
    "mcptest_engine.running.launch",
    "mcptest_engine.running.listening",
    "mcptest_engine.running.pool",
    "mcptest_engine.servers.eras",
    "mcptest_engine.servers.stdio",
    "mcptest_engine.suite.load",
    "mcptest_engine.suite.model.suite",
    "mcptest_engine.suite.problem_words",
    "mcptest_engine.front_door.server",
    "mcptest_tui.__main__",
)
"""With all that these import in turn; the rest is imported by each process for itself."""
_WAYS = ("search", "match", "fullmatch", "finditer", "findall", "sub")
_MOST_DESCRIPTORS = 256
_READ_BY_THE_INTERPRETER = ("PYTHON", "LC_", "LANG")


def can_fork(environ: Mapping[str, str]) -> bool:
    """Whether nothing is set that an interpreter looks at when it starts, and otherwise than here."""
    names = {name for name in {*environ, *os.environ} if name.startswith(_READ_BY_THE_INTERPRETER)}
    names -= {"PYTHONDONTWRITEBYTECODE"}
    return hasattr(os, "fork") and all(environ.get(name) == os.environ.get(name) for name in names)


class Forked:
    """A process, as `subprocess.Popen` has one with pipes of text."""

    def __init__(
        self, pid: int, status: int, stdin: TextIO | None, stdout: TextIO | None, stderr: TextIO | None
    ) -> None:
        self.pid, self._status = pid, status
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended. Raises: TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"the forked process {self.pid}", timeout or 0)
            self.told(os.read(self._status, 100) or b" -9")
        assert self.returncode is not None
        return self.returncode

    def told(self, words: bytes) -> None:
        """By the one who looks after it: behind its id, the exit code."""
        if code := words.partition(b" ")[2]:
            self.returncode = int(code)
            os.close(self._status)

    def send_signal(self, number: int) -> None:
        """To the process alone, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class Nursery:
    """The process that the others are forked from; it ends with this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def close(self) -> None:
        """No more of them: the process ends."""
        if self._socket is not None:
            self._socket.close()

    def _up(self) -> socket.socket:
        if self._socket is None:
            ours, theirs = socket.socketpair()
            with theirs:
                subprocess.Popen(
                    [sys.executable, "-m", "tests.forked", str(theirs.fileno())],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                ).returncode = 0  # nobody waits for it: it ends when the socket is closed
            self._socket = ours
        return self._socket

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: bool = False,
        stderr: TextIO | None = None,
    ) -> Forked:
        """`argv` begins with the command's name. Without `stderr` that is a pipe; without `stdin` there is nothing to read."""
        request = json.dumps({"argv": [*argv], "cwd": str(cwd), "env": dict(env)}).encode()
        ends: list[tuple[int, int]] = [os.pipe() for _ in range(3 if stderr is None else 2)]
        (status, told), (out, out_theirs) = ends[:2]
        err, err_theirs = ends[2] if stderr is None else (-1, stderr.fileno())
        in_theirs, into = os.pipe() if stdin else (os.open(os.devnull, os.O_RDONLY), -1)
        with self._lock:
            up = self._up()
            socket.send_fds(up, [struct.pack("!Q", len(request))], [in_theirs, out_theirs, err_theirs, told])
            up.sendall(request)
        for end in {in_theirs, out_theirs, told, *([err_theirs] if stderr is None else [])}:
            os.close(end)
        words = os.read(status, 100)
        process = Forked(
            int(words.partition(b" ")[0]),
            status,
            open(into, "w", encoding="utf-8") if stdin else None,  # noqa: SIM115 - a descriptor, given away
            open(out, encoding="utf-8"),  # noqa: SIM115
            open(err, encoding="utf-8") if stderr is None else None,  # noqa: SIM115
        )
        process.told(words)
        return process

    def run(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` with nothing to read and the output captured. Raises: TimeoutExpired."""
        process = self.start(argv, cwd=cwd, env=env)
        said: dict[str, str] = {}

        def read(name: str) -> None:
            with getattr(process, name) as stream:
                said[name] = stream.read()

        readers = [threading.Thread(target=read, args=(name,), daemon=True) for name in ("stdout", "stderr")]
        for reader in readers:
            reader.start()
        end = time.monotonic() + timeout
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        for reader in readers:
            reader.join(max(end - time.monotonic(), 0))
        if len(said) < len(readers):
            raise subprocess.TimeoutExpired(list(argv), timeout)
        return subprocess.CompletedProcess([*argv], code, said["stdout"], said["stderr"])


NURSERY = Nursery()
"""Of this process; nothing is started before it is asked for, and the fixture `nursery` closes it."""


def _serve(asked: socket.socket) -> None:
    """Fork for each request, until nobody can ask any more."""
    for name in IMPORTED:
        __import__(name)
    _make_ready()
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        head, descriptors, _, _ = socket.recv_fds(asked, 8, 4)
        if not head:
            return
        (size,) = struct.unpack("!Q", head)
        request = json.loads(_exactly(asked, size))
        if os.fork() == 0:
            asked.close()
            _look_after(request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _make_ready() -> None:
    """Do here what else would wait for its first use in each process: patterns and the making of values."""
    modules = [module for name, module in sys.modules.items() if name.startswith("mcptest_engine")]
    for one in [one for module in modules for one in vars(module).values()]:
        if isinstance(one, type) and is_dataclass(one):
            with contextlib.suppress(TypeError):
                one(*[None] * 99)  # more than any takes: it is refused, by an `__init__` that is there from now on
        elif type(one) is LazyPattern:
            for way in _WAYS:
                getattr(one, way)


def _exactly(asked: socket.socket, size: int) -> bytes:
    read = io.BytesIO()
    while read.tell() < size:
        read.write(asked.recv(size - read.tell()))
    return read.getvalue()


def _look_after(request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """The parent of one process: it tells its id, and what it ended with."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        _become(request, descriptors)
    *theirs, told = descriptors
    for descriptor in theirs:
        os.close(descriptor)
    os.write(told, f"{pid}".encode())
    os.write(told, f" {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}".encode())
    os._exit(0)


def _become(request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """The command, as its console script has it."""
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number)
    os.closerange(3, _MOST_DESCRIPTORS)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.dont_write_bytecode = True
    sys.argv = request["argv"]
    code: Any = 1
    try:
        from mcptest_tui.__main__ import main

        main()
    except SystemExit as left:
        code = left.code
    except BaseException:  # noqa: BLE001 - as an interpreter tells of it
        traceback.print_exc()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
