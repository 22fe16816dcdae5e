"""The lines of the protocol: split bytes into lines, and write lines to a reader that may be slow or gone.

    {"ask": n, "do": NAME, …}  →  {"reply": n, "ok": VALUE}  or  {"reply": n, "error": {"message", "hint"?, "kind"?}}
    any time                   →  {"event": NAME, …}, as listed in `workbench_events.py`

A command without an `ask` gets no reply; if it is refused, the event `command.failed` is sent. Only the standard library is
imported, because both processes import this module when they start.
"""

from __future__ import annotations

import json
import os
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any

    from mcptest_engine.engine_process.workbench_events import ErrorMembers

_AT_ONCE = 1 << 20


class Refused(Exception):
    """A command cannot be carried out. The attributes are the members of `ErrorMembers`."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        kind: str = "usage",
        problems: list[dict[str, Any]] | None = None,
        stderr: str | None = None,
        short: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.hint, self.kind = message, hint, kind
        self.problems, self.stderr, self.short = problems, stderr, short

    def to_json(self) -> ErrorMembers:
        error: ErrorMembers = {"message": self.message, "kind": self.kind}
        if self.hint is not None:
            error["hint"] = self.hint
        if self.problems is not None:
            error["problems"] = self.problems
        if self.stderr is not None:
            error["stderr"] = self.stderr
        if self.short is not None:
            error["short"] = self.short
        return error


def encode(value: object) -> bytes:
    """Encode `value` as one line of JSON. What JSON or UTF-8 cannot represent becomes a text or an escape."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False)
        return text.encode() + b"\n"
    except (ValueError, UnicodeEncodeError):
        from mcptest_engine.workspace.json_text import to_json_bytes

        return to_json_bytes(value) + b"\n"


class Lines:
    """Splits chunks of bytes into lines of any length."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes, without their newlines."""
        if b"\n" not in data:
            self._held.append(data)
            return []
        lines = data.split(b"\n")
        if self._held:
            lines[0] = b"".join([*self._held, lines[0]])
            self._held.clear()
        last = lines.pop()
        if last:
            self._held.append(last)
        return lines

    def rest(self) -> bytes:
        """Return the bytes after the last newline, and forget them."""
        rest = b"".join(self._held)
        self._held.clear()
        return rest


class Output:
    """Writes lines to a descriptor without blocking the event loop; unread lines wait in memory.

    The lines of one iteration of the loop are written together. `closed` is called once, when the reader is gone. Nothing is
    dropped before that: a caller with much optional output first checks `waiting`, the number of bytes not yet written.
    """

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop, closed: Callable[[], None]) -> None:
        self._descriptor, self._loop, self._closed = descriptor, loop, closed
        self._lines: deque[bytes] = deque()
        self._unwritten = memoryview(b"")
        self._due = self._watching = self._over = False
        self.waiting = 0
        os.set_blocking(descriptor, False)

    def send(self, value: object) -> None:
        if self._over:
            return
        line = encode(value)
        self._lines.append(line)
        self.waiting += len(line)
        if not self._due and not self._watching:
            self._due = True
            self._loop.call_soon(self._flush)

    def finish(self) -> None:
        """Write what the reader accepts now; the rest is lost."""
        if not self._over:
            self._flush()

    def _flush(self) -> None:
        self._due = False
        while not self._over:
            if not self._unwritten:
                self._unwritten = memoryview(self._next())
            if not self._unwritten:
                break
            try:
                written = os.write(self._descriptor, self._unwritten)
            except BlockingIOError:
                self._watch()
                return
            except OSError:
                self._end()
                return
            self.waiting -= written
            self._unwritten = self._unwritten[written:]
        self._rest()

    def _next(self) -> bytes:
        taken, size = [], 0
        while self._lines and size < _AT_ONCE:
            taken.append(self._lines.popleft())
            size += len(taken[-1])
        return b"".join(taken)

    def _watch(self) -> None:
        if not self._watching:
            self._watching = True
            self._loop.add_writer(self._descriptor, self._flush)

    def _rest(self) -> None:
        if self._watching:
            self._watching = False
            self._loop.remove_writer(self._descriptor)

    def _end(self) -> None:
        self._over = True
        self._rest()
        self._lines.clear()
        self._unwritten, self.waiting = memoryview(b""), 0
        self._closed()
