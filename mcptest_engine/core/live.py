"""Everything that this process has started and that still runs, with what it is for; sessions over HTTP are listed too.

Whoever starts a process lists it before anything else can happen to it, and takes it off when it is reaped. What belongs to a
run, to a spare server or to a person's own session is known only to who had it started, so that is an `Owner` in a context
variable. The list costs a few dictionary entries; memory is measured only when somebody asks.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from contextvars import ContextVar
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_PS_SECONDS = 2.0
_OWNED = frozenset({"server", "hook", "scorer"})  # the others serve whoever comes
_numbers = count(1)


class Owner:
    """Whom a process belongs to. `role` is "run", "spare" or "hand"; `suite` a path, `session` the key of a person's session.

    `redact` takes the secrets of its suite out of a text.
    """

    __slots__ = ("_role", "redact", "session", "suite")

    def __init__(
        self, role: str, suite: str = "", session: str = "", redact: Callable[[str], str] | None = None
    ) -> None:
        self._role, self.suite, self.session, self.redact = role, suite, session, redact

    @property
    def role(self) -> str:
        return self._role

    @role.setter
    def role(self, role: str) -> None:
        if role != self._role:
            self._role = role
            _tell_change()


TEST: ContextVar[str] = ContextVar("test", default="")
"""The id of the test for which something is asked of a server; "" for what no test asks."""
OWNER: ContextVar[Owner | None] = ContextVar("live_owner", default=None)
"""Whom what is started from here on belongs to."""


class Live:
    """One process, or one session over HTTP (`pid` None). `kind` is "server", "hook", "scorer", "jq" or "guardian".

    `waiting` gives (what is waited for, since when in monotonic seconds) of each open request; `end` ends it, and may be called
    more than once.
    """

    __slots__ = ("end", "kind", "name", "number", "owner", "pid", "shown", "started", "waiting")

    def __init__(
        self,
        kind: str,
        name: str,
        pid: int | None,
        shown: str,
        end: Callable[[], None],
        waiting: Callable[[], Iterable[tuple[str, float]]] | None,
    ) -> None:
        self.number, self.started = next(_numbers), time.monotonic()
        self.owner = OWNER.get() if kind in _OWNED else None
        self.kind, self.name, self.pid, self.shown, self.end, self.waiting = kind, name, pid, shown, end, waiting


_live: dict[int, Live] = {}
_listener: Callable[[], None] | None = None


def start_listing(
    kind: str,
    name: str,
    *,
    pid: int | None,
    shown: str | Sequence[str],
    end: Callable[[], None],
    waiting: Callable[[], Iterable[tuple[str, float]]] | None = None,
) -> Live:
    """List what was just started; `shown` is its command or its URL."""
    one = Live(kind, name, pid, shown if isinstance(shown, str) else " ".join(shown), end, waiting)
    _live[one.number] = one
    _tell_change()
    return one


def stop_listing(one: Live | None) -> None:
    """It is gone; nothing happens when it is off the list already."""
    if one is not None and _live.pop(one.number, None) is not None:
        _tell_change()


def live() -> tuple[Live, ...]:
    """All that runs, oldest first."""
    return tuple(_live.values())


def on_change(listener: Callable[[], None] | None) -> None:
    """Have `listener` called, from any thread, when something starts, ends or changes hands."""
    global _listener  # noqa: PLW0603 - one process has one list
    _listener = listener


def _tell_change() -> None:
    if _listener is not None:
        _listener()


def group_memory(groups: Iterable[int]) -> dict[int, int]:
    """Resident bytes of each process group, shared pages counted in each process; what cannot be read is left out."""
    wanted = set(groups)
    found: dict[int, int] = {}
    with contextlib.suppress(OSError, ValueError):
        for group, size in _read_proc() if Path("/proc/self/stat").exists() else _read_ps():
            if group in wanted:
                found[group] = found.get(group, 0) + size
    return found


def free_memory() -> None:
    """Give the system back what this process no longer uses; it is asked for where a large value was let go."""
    import gc

    gc.collect()
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(AttributeError, OSError):  # a C library without it
            ctypes.CDLL(None).malloc_trim(0)


def own_memory(pid: int) -> int | None:
    """Resident bytes of one process; None where they cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):
        return int(_run_ps("-o", "rss=", "-p", str(pid))) * 1024
    return None


def _read_proc() -> Iterator[tuple[int, int]]:
    """(group, resident bytes) of every process. Source: proc_pid_stat(5), fields 5 and 24."""
    page = os.sysconf("SC_PAGE_SIZE")
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = Path(entry.path, "stat").read_text(errors="replace").rpartition(")")[2].split()
                yield int(fields[2]), int(fields[21]) * page


def _read_ps() -> Iterator[tuple[int, int]]:
    for line in _run_ps("-axo", "pgid=,rss=").splitlines():
        group, size = line.split()
        yield int(group), int(size) * 1024


def _run_ps(*options: str) -> str:
    """What `ps` prints; "" where it fails or takes too long. Raises: OSError where there is none."""
    import subprocess

    command = ("/bin/ps" if sys.platform == "darwin" else "ps", *options)
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=_PS_SECONDS).stdout
    except subprocess.SubprocessError:
        return ""
