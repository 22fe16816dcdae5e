"""Parses server-sent events from chunks of bytes.

Supports what Streamable HTTP uses: `data`, `event`, `id` and `retry`. The size of an event is not limited here. Source: WHATWG
HTML, 9.2.6, "Interpreting an event stream".
"""

from __future__ import annotations

from mcptest_engine.core.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSentEvent:
    """One event. `data` is its lines, joined by newlines; `id` and `retry_ms` are None when it had none."""

    data: bytes
    event: str = "message"
    id: str | None = None
    retry_ms: int | None = None


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MOST_RETRY_DIGITS = 9  # twelve days: a longer time makes no sense, and Python refuses to convert thousands of digits


class EventSplitter:
    """Takes chunks and returns the events that they complete."""

    __slots__ = ("_after_cr", "_begun", "_data", "_event", "_held", "_id", "_retry_ms")

    def __init__(self) -> None:
        self._begun = False
        self._held = bytearray()  # not a list: millions of short pieces would take many times their bytes
        self._after_cr = False
        self._data: bytearray | None = None
        self._event = ""
        self._id: str | None = None
        self._retry_ms: int | None = None

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that end within `chunk`. One without data is returned when it has an id or a retry time."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *rest = chunk.split(b"\n")
        self._held += first
        if not rest:
            return []
        lines = [bytes(self._held), *rest[:-1]]
        self._held = bytearray(rest[-1])
        return [event for line in lines if (event := self._line(line)) is not None]

    def rest(self) -> bytes:
        """The start of an unfinished event, as its data or its line; b"" between events and in a comment."""
        line = bytes(self._held)
        if self._data is not None:
            return bytes(self._data)
        return b"" if line.startswith(b":") else line

    def _line(self, line: bytes) -> ServerSentEvent | None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            if self._data is None:
                self._data = bytearray(value)
            else:
                self._data += b"\n"
                self._data += value
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) <= _MOST_RETRY_DIGITS:
            self._retry_ms = int(value)
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        event = None
        if self._data is not None or self._id is not None or self._retry_ms is not None:
            data = b"" if self._data is None else bytes(self._data)
            event = ServerSentEvent(data=data, event=self._event or "message", id=self._id, retry_ms=self._retry_ms)
        self._data = self._id = self._retry_ms = None
        self._event = ""
        return event
