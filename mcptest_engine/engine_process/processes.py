"""The processes of mcptest, for the list in the workbench: each process and HTTP session, and the requests it works on.

Changes are sent as the event `processes`; memory is measured only on request. The list includes the workbench and the engine
process themselves.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.live import Live, live, on_change
from mcptest_engine.engine_process.pages import clipped
from mcptest_engine.engine_process.protocol import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcptest_engine.engine_process.runs import Runs
    from mcptest_engine.engine_process.workbench_events import RunningProcess, Send

TELL_SECONDS = 0.05
PS_SECONDS = 2.0


class Processes:
    """Lists the processes, ends and restarts them, and sends an event when the list changes."""

    def __init__(self, send: Send, runs: Callable[[], Runs | None]) -> None:
        self._send, self._runs = send, runs
        self._started = time.time()
        self._loop = asyncio.get_running_loop()
        self._is_due = False
        on_change(self._changed)

    async def measured(self) -> list[RunningProcess]:
        """All rows with `memory`: resident bytes of the process group (of the workbench and engine: the process), or None."""
        rows = self.rows()
        groups = [row["pid"] for row in rows if row["role"] not in ("workbench", "engine") and row["pid"]]
        sizes = await asyncio.to_thread(_group_memory, groups)
        for row in rows:
            pid, own = row["pid"], row["role"] in ("workbench", "engine")
            row["memory"] = None if pid is None else _own_memory(pid) if own else sizes.get(pid)
        return rows

    def rows(self) -> list[RunningProcess]:
        """A row for each process and HTTP session: the workbench, the engine, then what they started, oldest first."""
        ours = (
            ("workbench", os.getppid(), "mcptest", "mcptest"),
            ("engine", os.getpid(), "engine", "engine of the workbench"),
        )
        now = time.monotonic()
        rows: list[RunningProcess] = [
            {
                "number": 0,
                "role": role,
                "pid": pid,
                "name": name,
                "shown": shown,
                "suite": "",
                "session": "",
                "since": self._started,
                "waits": [],
            }
            for role, pid, name, shown in ours
        ]
        return rows + [_row(one, now) for one in live()]

    def end(self, number: int) -> None:
        """End a process. A spare server ends together with those of its suite, which would not be used without it.

        Raises: Refused when it has ended already.
        """
        self._end(self._find(number), again=False)

    def restart(self, number: int) -> None:
        """End a process that will be started again. Raises: Refused for one that nothing would start again."""
        one = self._find(number)
        if _role(one) not in ("run", "spare", "guardian"):
            raise Refused(f"nothing starts this {one.kind} again", hint="end it instead")
        self._end(one, again=True)

    def _end(self, one: Live, *, again: bool) -> None:
        one.end()
        runs = self._runs()
        if runs is not None and one.owner is not None and one.owner.role == "spare":
            runs.end_spares(one.owner, again=again)

    def _find(self, number: int) -> Live:
        found = next((one for one in live() if one.number == number), None)
        if found is None:
            raise Refused("this process has ended already", kind="gone")
        return found

    def _changed(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody receives events any more
            self._loop.call_soon_threadsafe(self._send_soon)

    def _send_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._loop.call_later(TELL_SECONDS, self._send_processes)

    def _send_processes(self) -> None:
        self._is_due = False
        self._send({"event": "processes", "rows": self.rows()})


def _role(one: Live) -> str:
    if one.kind == "server":
        return one.owner.role if one.owner is not None else "run"
    return one.kind


def _row(one: Live, now: float) -> RunningProcess:
    owner, clock = one.owner, time.time() - now
    waits = () if one.waiting is None else one.waiting()
    redact = _plain if owner is None or owner.redact is None else owner.redact
    return {
        "number": one.number,
        "role": _role(one),
        "pid": one.pid,
        "name": one.name,
        "shown": clipped(redact(one.shown)),
        "suite": "" if owner is None else owner.suite,
        "session": "" if owner is None else owner.session,
        "since": clock + one.started,
        "waits": [(clipped(redact(what), 200), clock + at) for what, at in waits],
    }


def _plain(text: str) -> str:
    from mcptest_engine.core.redaction import Redactor

    return Redactor().redact_text(text)


def _group_memory(groups: Iterable[int]) -> dict[int, int]:
    """Resident bytes of each process group, with shared pages counted in each process; unreadable processes are left out."""
    wanted = set(groups)
    found: dict[int, int] = {}
    with suppress(OSError, ValueError):
        for group, size in _read_proc() if Path("/proc/self/stat").exists() else _read_ps():
            if group in wanted:
                found[group] = found.get(group, 0) + size
    return found


def _own_memory(pid: int) -> int | None:
    """Resident bytes of one process; None where they cannot be read."""
    with suppress(OSError, ValueError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):
        return int(_run_ps("-o", "rss=", "-p", str(pid))) * 1024
    return None


def _read_proc() -> Iterator[tuple[int, int]]:
    """(group, resident bytes) of every process. Source: proc_pid_stat(5), fields 5 and 24."""
    page = os.sysconf("SC_PAGE_SIZE")
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                fields = Path(entry.path, "stat").read_text(errors="replace").rpartition(")")[2].split()
                yield int(fields[2]), int(fields[21]) * page


def _read_ps() -> Iterator[tuple[int, int]]:
    for line in _run_ps("-axo", "pgid=,rss=").splitlines():
        group, size = line.split()
        yield int(group), int(size) * 1024


def _run_ps(*options: str) -> str:
    """The output of `ps`; "" when it fails or takes too long. Raises: OSError when it does not exist."""
    import subprocess

    command = ("/bin/ps" if sys.platform == "darwin" else "ps", *options)
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PS_SECONDS).stdout
    except subprocess.SubprocessError:
        return ""
