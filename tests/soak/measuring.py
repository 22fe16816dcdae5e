"""What this process holds on to: memory, descriptors, threads, tasks, children, and processes that were left behind.

Resident memory says little by itself: the C library keeps what was freed, in pieces, for minutes, and the more the more
random the sizes are: a soak with 9.5 MB in use held 5 MB of free memory at first and 16 MB later. So objects and blocks are
counted too, and memory is read again after the C library was told to give back what it does not use.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Holdings:
    """All counted between two rounds, when no run is under way. `children` are process ids, also of those that stay.

    `objects` are those that the garbage collector knows, `blocks` all that Python has allocated.
    """

    rss_mb: float
    objects: int
    blocks: int
    descriptors: int
    threads: int
    tasks: int
    children: frozenset[int]
    files: int


def holdings(data_dir: Path) -> Holdings:
    """What is held now. `data_dir` is the workspace's `.mcptest`, whose files are counted."""
    gc.collect()
    return Holdings(
        rss_mb=rss_mb(),
        objects=len(gc.get_objects()),
        blocks=sys.getallocatedblocks(),
        descriptors=len(list(Path("/dev/fd").iterdir())),
        threads=threading.active_count(),
        tasks=len(asyncio.all_tasks()),
        children=children(),
        files=sum(len(names) for _, _, names in os.walk(data_dir)),
    )


def rss_mb() -> float:
    """Resident memory of this process."""
    if PROC.exists():
        pages = int((PROC / "self" / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return int(_ps("-o", "rss=", "-p", str(os.getpid()))) * 1024 / 1e6


def rss_mb_in_use() -> float | None:
    """Resident memory once what is free was given back to the system; None where the C library is another than glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return None
    gc.collect()
    trim(0)
    return rss_mb()


def children() -> frozenset[int]:
    """The processes that this one has started and that have not been reaped."""
    return frozenset(pid for pid, parent in _parents() if parent == os.getpid())


def left_behind(token: str) -> list[int]:
    """Processes anywhere on this machine that still carry `token` in their environment, whoever their parent is now.

    Only where /proc tells (Linux); empty elsewhere.
    """
    needle = f"SOAK_TOKEN={token}".encode()
    found = []
    for entry in PROC.glob("[0-9]*"):
        try:
            environ = (entry / "environ").read_bytes()
        except OSError:  # it has ended, or it is not ours
            continue
        if needle in environ:  # a zombie has none any longer
            found.append(int(entry.name))
    return found


def _parents() -> Iterator[tuple[int, int]]:
    """Every process with its parent."""
    if not PROC.exists():
        for line in _ps("-A", "-o", "pid=,ppid=,comm=").splitlines():
            pid, parent, comm = line.split(maxsplit=2)
            if comm != "ps":
                yield int(pid), int(parent)
        return
    for entry in PROC.glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        yield int(entry.name), int(stat.rpartition(")")[2].split()[1])


def _ps(*arguments: str) -> str:
    return subprocess.run(["ps", *arguments], capture_output=True, text=True, check=True).stdout
