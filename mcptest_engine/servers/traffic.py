"""Every message of a session with its time, for screens and reports; the newest are stored, in at most 64 MiB.

Storing must cost next to nothing: an entry is a tuple around existing bytes. A large message is stored as its parsed value,
which the caller holds as well, so that it is not in memory twice; of one that exceeds the whole limit, only the beginning is
stored.
"""

from __future__ import annotations

import json
from collections import deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from mcptest_engine.core.values import dataclass
from mcptest_engine.servers.memory import value_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Listener(Protocol):
    """Receives the messages of one session as they arrive. None of its methods may take long, or raise."""

    def __call__(
        self, at: float, sent: bool, size: int, line: bytes, message: object, http: Mapping[str, object] | None
    ) -> None:
        """Receive one row, as `Traffic.add` stores it."""

    def started(self, pid: int) -> None:
        """The server's process has started."""

    def wrote(self, at: float, stderr_since: Callable[[float], str], *, ended: bool) -> None:
        """The server wrote on stderr; `stderr_since` returns the text from a time on, without secrets. `ended`: there will be
        no more.
        """

    def ended(self, at: float) -> None:
        """The session is over: open calls get no answer. May be called twice."""


LISTENER: ContextVar[Listener | None] = ContextVar("traffic_listener", default=None)
"""The listener of the next session that is made. Set it before `connect` to receive the handshake too.

`http` is {"id", "status", "headers", …} of the HTTP response in which an answer arrived, or which arrived in its place. It must
be quick and not raise.
"""

KEPT_BYTES = 1024 * 1024
LARGE_BYTES = 64 * 1024

_ROW_BYTES = 200  # the memory of a row besides its line
_Row = tuple[float, bool, int, bytes, object, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficEntry:
    """One message. `at` is monotonic seconds, `sent`: by mcptest to the server, `size` its bytes; `message` None for noise."""

    at: float
    sent: bool
    size: int
    message: Any
    text: str


class Traffic:
    """The log of one session. `dropped` counts the entries that were removed to stay within `kept_bytes`."""

    __slots__ = ("_kept_bytes", "_listener", "_rows", "_size", "dropped")

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._rows: deque[_Row] = deque()
        self._size = 0
        self._kept_bytes = kept_bytes
        self._listener = LISTENER.get()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._rows)

    def add(
        self, at: float, sent: bool, line: bytes, message: object = None, *, http: Mapping[str, object] | None = None
    ) -> None:
        """Store one message; `message` is its parsed value, stored in place of a large line."""
        size = len(line)
        weight = _ROW_BYTES + size
        if size <= LARGE_BYTES:
            message = None
        elif message is None:
            weight, line = _ROW_BYTES + LARGE_BYTES, line[:LARGE_BYTES]
        else:
            weight, line = _ROW_BYTES + value_bytes(line), b""
        if message is not None and weight > self._kept_bytes:  # it would stay in memory until the next message
            self._rows.append((at, sent, size, _beginning(message), None, _ROW_BYTES + LARGE_BYTES))
            weight = self._rows[-1][5]
        else:
            self._rows.append((at, sent, size, line, message, weight))
        self._size += weight
        while self._size > self._kept_bytes and len(self._rows) > 1:
            self._size -= self._rows.popleft()[5]
            self.dropped += 1
        if self._listener is not None:
            self._listener(at, sent, size, line, message, http)

    def started(self, pid: int) -> None:
        """Inform the listener that the server's process has started."""
        if self._listener is not None:
            self._listener.started(pid)

    def wrote(self, at: float, stderr_since: Callable[[float], str], *, ended: bool) -> None:
        """Inform the listener about output on stderr, or its end."""
        if self._listener is not None:
            self._listener.wrote(at, stderr_since, ended=ended)

    def ended(self, at: float) -> None:
        """Inform the listener that the session is over."""
        if self._listener is not None:
            self._listener.ended(at)

    def refused(self, at: float, http: Mapping[str, object]) -> None:
        """Inform the listener about an HTTP response that is no answer; it is no message, and not stored as one."""
        if self._listener is not None:
            body = str(http.get("body") or "").encode("utf-8", "replace")
            self._listener(at, False, len(body), body, None, http)

    def entries(self) -> tuple[TrafficEntry, ...]:
        """The stored messages, oldest first, parsed on reading."""
        return tuple(_traffic_entry(row) for row in self._rows)

    def last_received(self, *, since: float) -> bytes | None:
        """The server's last line, of a large one the beginning; None when it sent nothing after `since`."""
        for at, sent, _size, line, message, _weight in reversed(self._rows):
            if not sent:
                return (line or _beginning(message)) if at > since else None
        return None


def _beginning(message: object) -> bytes:
    from mcptest_engine.core.clipping import compact

    return compact(message, LARGE_BYTES).encode("utf-8", "backslashreplace")


def _traffic_entry(row: _Row) -> TrafficEntry:
    at, sent, size, line, message, _weight = row
    if message is not None:
        return TrafficEntry(at=at, sent=sent, size=size, message=message, text=json.dumps(message, ensure_ascii=False))
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        message = None
    return TrafficEntry(at=at, sent=sent, size=size, message=message, text=text)
