"""Which process listens on which TCP port of this machine.

Linux shows it under `/proc`, for processes of the same user; on other systems nothing is known.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_LISTENS = "0A"


class Process(NamedTuple):
    """A process: its id, its program's name, its session, and its start time in ticks since boot."""

    pid: int
    name: str
    session: int
    started: int


def process_on_port(port: int) -> Process | None:
    """The oldest process that listens on the port; None where that cannot be read."""
    wanted = {inode for inode, one in _listening().items() if one == port}
    found = [process for process in _processes() if not wanted.isdisjoint(_sockets_of(process.pid))] if wanted else []
    return min(found, key=lambda process: process.started, default=None)


def ports_of_session(session: int) -> tuple[int, ...]:
    """The ports on which the processes of a session listen, in ascending order."""
    ports = _listening()
    inodes = {inode for one in _processes() if one.session == session for inode in _sockets_of(one.pid)}
    return tuple(sorted({ports[inode] for inode in inodes & ports.keys()}))


def process_of(pid: int) -> Process | None:
    """The process with this id; None when there is none."""
    try:
        before, _, after = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
        fields = after.split()
        return Process(pid, before.partition("(")[2], int(fields[3]), int(fields[19]))
    except (OSError, ValueError, IndexError):
        return None


def _listening() -> dict[int, int]:
    """The listening ports, by the inode of the socket. Source: proc_net_tcp of the Linux kernel."""
    found: dict[int, int] = {}
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (_PROC / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS:
                    found[int(fields[9])] = int(fields[1].rpartition(":")[2], 16)
    return found


def _processes() -> list[Process]:
    try:
        pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    except OSError:
        return []
    return [process for pid in pids if (process := process_of(pid)) is not None]


def _sockets_of(pid: int) -> set[int]:
    """The inodes of a process's open sockets."""
    found: set[int] = set()
    try:
        links = list((_PROC / str(pid) / "fd").iterdir())
    except OSError:  # it has ended, or is another user's
        return found
    for link in links:
        with suppress(OSError, ValueError):
            kind, _, inode = str(link.readlink()).partition(":")
            if kind == "socket":
                found.add(int(inode[1:-1]))
    return found
