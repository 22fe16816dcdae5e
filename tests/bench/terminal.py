"""A program on a pseudo-terminal of 120x40, driven from outside: keys written, and the time until what they bring is drawn."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_ESCAPES = re.compile(rb"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78]")
_OURS = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")
_TAIL = 1 << 16
LEFT_OUT = ("NO_COLOR", "CI", "PYTHONDONTWRITEBYTECODE", "MCPTEST_THEME", "MCPTEST_ASCII")


class Terminal:
    """One program; `started` is when."""

    def __init__(self, argv: Sequence[str], cwd: Path) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environ = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
        homes = {name: str(cwd / "home") for name in _OURS}
        self.started = perf_counter()
        self.process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**environ, **homes, "TERM": "xterm-256color", "COLORTERM": "truecolor", "SSH_TTY": "/dev/null"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def read(self, seconds: float) -> bytes:
        ready, _, _ = select.select([self._ours], [], [], seconds)
        try:
            return os.read(self._ours, 1 << 16) if ready else b""
        except OSError:  # nobody is at the other end any more
            return b""

    def until(self, shown: Callable[[str], object], seconds: float = 60.0, since: float | None = None) -> float:
        """Milliseconds, from now or `since`, until what is drawn from now on makes `shown` true."""
        began = perf_counter()
        drawn = b""
        while True:
            drawn = (drawn + self.read(0.2))[-_TAIL:]
            if shown(_ESCAPES.sub(b"", drawn).decode("utf-8", "replace")):
                return (perf_counter() - (since or began)) * 1000
            if perf_counter() - began > seconds:
                text = _ESCAPES.sub(b"", drawn).decode("utf-8", "replace")[-600:]
                raise TimeoutError(f"not drawn in {seconds} s: {text!r}")

    def drain(self, seconds: float) -> int:
        """Let it draw; how many bytes it wrote."""
        end, count = perf_counter() + seconds, 0
        while (left := end - perf_counter()) > 0:
            count += len(self.read(left))
        return count

    def ended(self, seconds: float = 30.0) -> None:
        """Wait until the process has ended, reading what it still draws."""
        end = perf_counter() + seconds
        while self.process.poll() is None:
            self.read(0.002)
            if perf_counter() > end:
                raise TimeoutError(f"still there after {seconds} s")

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._ours)


def family(pid: int) -> Iterator[tuple[int, float, float]]:
    """Process id, resident megabytes and seconds of processor of a process and all below it."""
    listed = subprocess.run(["ps", "-Ao", "pid=,ppid=,rss=,time="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    wanted = {pid}
    for own, parent, *_ in sorted(rows, key=lambda row: int(row[0])):
        if int(parent) in wanted:
            wanted.add(int(own))
    for own, _, rss, _ in rows:
        if int(own) in wanted:
            yield int(own), int(rss) / 1024, processor_seconds(int(own))


def command_of(pid: int) -> str:
    """The command line of a process; empty where there is none any more."""
    return subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout


def processor_seconds(pid: int) -> float:
    """What a process has used of the processor; 0 where the system does not tell it finely."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
