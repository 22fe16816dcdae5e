"""What runs because of us, for the window that shows it: every process and every session over HTTP, with what each waits for.

A change is told without being asked, as the event `processes`; memory is measured only for whoever asks. The workbench and
the engine stand on the list too, so that nothing of ours runs that is not shown.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.live import Live, group_memory, live, on_change, own_memory
from mcptest_engine.running.worker.pages import clipped
from mcptest_engine.running.worker.protocol import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.running.worker.runs import Runs

TELL_SECONDS = 0.05


class Processes:
    """Tells of changes from the first process on."""

    def __init__(self, send: Callable[[dict[str, Any]], None], runs: Callable[[], Runs | None]) -> None:
        self._send, self._runs = send, runs
        self._started = time.time()
        self._loop = asyncio.get_running_loop()
        self._is_due = False
        on_change(self._changed)

    async def measured(self) -> list[dict[str, Any]]:
        """All rows, with the resident memory of each process group in bytes; None where it is not known."""
        rows = self.rows()
        groups = [row["pid"] for row in rows if row["role"] not in ("workbench", "engine") and row["pid"]]
        sizes = await asyncio.to_thread(group_memory, groups)
        for row in rows:
            own = row["role"] in ("workbench", "engine")
            row["memory"] = own_memory(row["pid"]) if own else sizes.get(row["pid"])
        return rows

    def rows(self) -> list[dict[str, Any]]:
        """A row for each, oldest first: ourselves, then what we started."""
        ours = [
            {"number": 0, "role": "workbench", "pid": os.getppid(), "name": "mcptest", "shown": "mcptest"},
            {"number": 0, "role": "engine", "pid": os.getpid(), "name": "engine", "shown": "engine of the workbench"},
        ]
        now = time.monotonic()
        rows = [{"suite": "", "session": "", "since": self._started, "waits": [], **row} for row in ours]
        return rows + [_row(one, now) for one in live()]

    def end(self, number: int) -> None:
        """End one; a spare server goes with the others of its suite, which would not be used without it.

        Raises: Refused when it is gone already.
        """
        self._end(self._find(number), again=False)

    def restart(self, number: int) -> None:
        """End one and have it started again. Raises: Refused for what nothing would start again."""
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
        with suppress(RuntimeError):  # the loop is closed: nobody is told any more
            self._loop.call_soon_threadsafe(self._tell_soon)

    def _tell_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._loop.call_later(TELL_SECONDS, self._tell)

    def _tell(self) -> None:
        self._is_due = False
        self._send({"event": "processes", "rows": self.rows()})


def _role(one: Live) -> str:
    if one.kind == "server":
        return one.owner.role if one.owner is not None else "run"
    return one.kind


def _row(one: Live, now: float) -> dict[str, Any]:
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
        "waits": [[clipped(redact(what), 200), clock + at] for what, at in waits],
    }


def _plain(text: str) -> str:
    from mcptest_engine.core.redaction import Redactor

    return Redactor().redact_text(text)
