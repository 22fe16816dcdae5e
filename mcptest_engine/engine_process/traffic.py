"""The messages between mcptest and the servers, for the Traffic screen.

The newest rows of all sessions together are stored (10,000 and 64 MiB at most), large messages cut. They are redacted and sent
only while the screen is open, up to 300 rows ten times a second. If the workbench is slow to read, no rows are sent, so that
test results do not wait behind them; rows that are dropped from the store before they were sent are counted.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.clipping import compact
from mcptest_engine.core.live import OWNER, TEST
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.engine_process.pages import LARGEST_VALUE, MOST_NODES, pruned, text_of
from mcptest_engine.engine_process.protocol import Refused
from mcptest_engine.servers.traffic import LISTENER, Listener
from mcptest_engine.servers.wire import Kind, kind_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcptest_engine.core.live import Owner
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.engine_process.protocol import Output
    from mcptest_engine.engine_process.workbench_events import TrafficRow, TrafficSent
    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec

MOST_ROWS = 10_000
MOST_BYTES = 64 * 1024 * 1024
ROWS_A_TURN = 300
TURN_SECONDS = 0.1
STDERR_SECONDS = 0.02
"""The time between two reads of one server's stderr: redacting it takes up to a millisecond each time."""
READER_BEHIND_BYTES = 1 << 20
TEXT_LIMIT = 400
_MOST_OPEN = 10_000
_UNSURE = 8 * 1024
"""Characters before a cut that may be the beginning of a secret; they are given to the redactor, and not shown."""
_KINDS = {Kind.NOTIFICATION: "notification", Kind.REQUEST: "request", Kind.ANSWER: "response"}


class _Row(NamedTuple):
    number: int
    at: float
    sent: bool
    size: int
    line: bytes
    message: Any
    stream: Stream
    stderr: bool = False
    http: Mapping[str, Any] | None = None
    test: str = ""
    is_spare: bool = False
    is_end: bool = False

    @property
    def weight(self) -> int:
        return len(self.line) or min(self.size, 2 * LARGEST_VALUE)


class Stream(Listener):
    """The listener of one session. `redactor` removes the secrets of its suite.

    `open` has the requests without an answer: (time, method) by (sent, id).
    """

    def __init__(
        self, log: TrafficLog, number: int, server: str, redactor: Callable[[], Redactor], owner: Owner
    ) -> None:
        self.number = number
        self.server = server
        self.redactor = redactor
        self.owner = owner
        self.pid: int | None = None
        self.open: dict[tuple[bool, object], tuple[float, str]] = {}
        self._log = log
        self._stderr_since: Callable[[float], str] = _nothing
        self._is_ended = False
        self._read_at = 0.0
        self._wrote_at: float | None = None

    def __call__(
        self, at: float, sent: bool, size: int, line: bytes, message: object, http: Mapping[str, object] | None
    ) -> None:
        self._log.add(self, at, sent, size, line, message, http=http)

    def started(self, pid: int) -> None:
        self.pid = pid

    def wrote(self, at: float, stderr_since: Callable[[float], str], *, ended: bool) -> None:
        """Schedule a read of stderr: at once, or `STDERR_SECONDS` after the last one."""
        self._stderr_since, self._is_ended = stderr_since, ended
        if self._wrote_at is None:
            self._wrote_at = at
            asyncio.get_running_loop().call_later(max(self._read_at + STDERR_SECONDS - at, 0), self._read_stderr)

    def ended(self, at: float) -> None:
        self._log.add(self, at, False, 0, b"", None, is_end=True)

    def _read_stderr(self) -> None:
        """Add the new lines, all with the time of the first; an incomplete line waits for its end, unless stderr has ended."""
        at, self._wrote_at, now = self._wrote_at, None, time.monotonic()
        text = self._stderr_since(self._read_at)
        whole, newline, rest = text.rpartition("\n")
        self._read_at = now
        for line in (whole + newline + (rest if self._is_ended else "")).splitlines():
            if line.strip():
                data = line.encode("utf-8", "replace")
                self._log.add(self, at or now, False, len(data), data, None, stderr=True)
        if self._is_ended:
            self._stderr_since = _nothing  # the callback holds the whole session


class TrafficLog:
    """Stores the newest rows of all sessions, and sends them as events."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._rows: deque[_Row] = deque()
        self._bytes = 0
        self._count = 0
        self._opened = 0
        self._last_sent = 0
        self._timer: asyncio.TimerHandle | None = None
        self._on = False
        self._started = time.time() - time.monotonic()

    def add(
        self,
        stream: Stream,
        at: float,
        sent: bool,
        size: int,
        line: bytes,
        message: object,
        *,
        stderr: bool = False,
        http: Mapping[str, object] | None = None,
        is_end: bool = False,
    ) -> None:
        """Store one row, or the end of a session. A large message is cut, so that not all of it stays in memory."""
        if message is not None:
            message = pruned(message, longest=LARGEST_VALUE + _UNSURE, entries=MOST_NODES)
        self._count += 1
        test, is_spare = TEST.get() if sent else "", stream.owner.role == "spare"
        row = _Row(self._count, at, sent, size, line, message, stream, stderr, http, test, is_spare, is_end)
        self._rows.append(row)
        self._bytes += row.weight
        while len(self._rows) > MOST_ROWS or self._bytes > MOST_BYTES:
            self._bytes -= self._rows.popleft().weight
        if self._on:
            self._wake(TURN_SECONDS)

    def connecting(
        self,
        server: str,
        redactor: Callable[[], Redactor],
        connect: Callable[[ServerSpec], Awaitable[Session]],
        owner: Owner,
    ) -> Callable[[ServerSpec], Awaitable[Session]]:
        """Wrap `connect` so that all messages of its session are stored here. `server` "" means the name in the spec."""

        async def connect_recorded(spec: ServerSpec) -> Session:
            self._opened += 1
            stream = Stream(self, self._opened, server or spec.name, redactor, owner)
            token, belongs, asked_by = LISTENER.set(stream), OWNER.set(owner), TEST.set("")
            try:
                return await connect(spec)
            finally:
                LISTENER.reset(token)
                OWNER.reset(belongs)
                TEST.reset(asked_by)

        return connect_recorded

    def turn(self, *, on: bool, since: int | None = None) -> int:
        """Start or stop sending rows; return the number of the newest row.

        Sending continues after the last row sent, or after row `since`, so that rows which came meanwhile are sent first.
        """
        self._on = on
        self._last_sent = self._last_sent if since is None else since
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if on:
            self._wake(0.0)
        return self._count

    def body(self, number: int) -> str:
        """The whole redacted message of a row as text. Raises: Refused when the row is no longer stored."""
        row = self._row(number)
        if row is None:
            raise Refused("this message is no longer saved", kind="gone")
        message, redactor = _parsed(row), row.stream.redactor()
        if message is None:
            return text_of(redactor.redact_text(row.line.decode("utf-8", "replace").rstrip("\r\n")))
        whole = pruned(redactor.redact(message), longest=LARGEST_VALUE, entries=MOST_NODES)
        return text_of(json.dumps(whole, ensure_ascii=False))

    def http(self, number: int) -> dict[str, Any] | None:
        """{"status", "headers", …} of the HTTP response that a row came in; None where there is none."""
        row = self._row(number)
        if row is None or row.http is None:
            return None
        response: dict[str, Any] = pruned(row.stream.redactor().redact(dict(row.http)))
        return {name: value for name, value in response.items() if name not in ("id", "body")}

    def _row(self, number: int) -> _Row | None:
        if not self._rows or not isinstance(number, int):
            return None
        place = number - self._rows[0].number
        return self._rows[place] if 0 <= place < len(self._rows) else None

    def _wake(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = loop.call_at(due, self._turn)

    def _turn(self) -> None:
        self._timer = None
        if self._last_sent < self._count and self._output.waiting < READER_BEHIND_BYTES:
            self._send_rows()
        if self._last_sent < self._count:
            self._wake(TURN_SECONDS)

    def _send_rows(self) -> None:
        first = self._rows[0].number
        dropped = max(first - self._last_sent - 1, 0)
        begin = max(self._last_sent + 1 - first, 0)
        rows = list(islice(self._rows, begin, begin + ROWS_A_TURN))
        self._last_sent = rows[-1].number
        event: TrafficSent = {"event": "traffic", "rows": [self._shown(row) for row in rows]}
        if dropped:
            event["dropped"] = dropped
        self._output.send(event)

    def _shown(self, row: _Row) -> TrafficRow:
        message, stream = _parsed(row), row.stream
        kind = "end" if row.is_end else "stderr" if row.stderr else _KINDS.get(kind_of(message), "noise")
        shown: TrafficRow = {
            "n": row.number,
            "at": round(self._started + row.at, 4),
            "server": stream.server,
            "stream": stream.number,
            "sent": row.sent,
            "kind": kind,
            "size": row.size,
            "pid": stream.pid,
        }
        if row.is_end:
            stream.open.clear()
            return shown
        if row.test:
            shown["test"] = row.test
        if row.is_spare:
            shown["spare"] = True
        if isinstance(message, dict) and kind not in ("noise", "stderr"):
            _add_message_facts(shown, message, row, stream.open)
            if "method" in shown:
                shown["method"] = one_line(stream.redactor().redact_text(shown["method"]), 100)
            if kind == "request" and (about := _about(message)):
                shown["about"] = one_line(stream.redactor().redact_text(about), 100)
                message = message["params"].get("arguments") or {}
        shown["text"] = _text(row, message)
        if row.http is not None:
            shown["status"] = status = row.http["status"]
            if kind == "noise":
                shown["kind"], shown["id"], shown["error"] = "response", row.http["id"], True
                _add_answer_facts(shown, shown["id"], row, stream.open)
                shown["text"] = one_line(f"HTTP {status} {shown['text']}", TEXT_LIMIT)
        return shown


def _nothing(_at: float) -> str:
    return ""


def _about(message: dict[str, Any]) -> str:
    """The name or URI in a request's params: its tool, prompt or resource; "" where there is none."""
    params = message.get("params")
    about = (params.get("name") or params.get("uri")) if isinstance(params, dict) else None
    return about if isinstance(about, str) else ""


def _add_message_facts(
    shown: TrafficRow, message: dict[str, Any], row: _Row, waiting: dict[tuple[bool, Any], tuple[float, str]]
) -> None:
    """Add the method, id and error flag of a message, and to a response what `_add_answer_facts` adds.

    `waiting` has the requests without an answer, as `Stream.open`; a request is added to it.
    """
    method, call_id = message.get("method"), message.get("id")
    known_id = isinstance(call_id, (int, str))
    if isinstance(call_id, (int, str)):
        shown["id"] = call_id[:100] if isinstance(call_id, str) else call_id
    if isinstance(method, str):
        shown["method"] = method
        if shown["kind"] == "request" and known_id:
            if len(waiting) > _MOST_OPEN:
                waiting.clear()
            waiting[row.sent, call_id] = row.at, method
    elif known_id:
        _add_answer_facts(shown, call_id, row, waiting)
    result = message.get("result")
    if "error" in message or (isinstance(result, dict) and result.get("isError") is True):
        shown["error"] = True


def _add_answer_facts(
    shown: TrafficRow, call_id: object, row: _Row, waiting: dict[tuple[bool, Any], tuple[float, str]]
) -> None:
    """Add to a response its duration and the method of its request, which is removed from `waiting`."""
    asked = waiting.pop((not row.sent, call_id), None)
    if asked is not None:
        shown["ms"], shown["method"] = round((row.at - asked[0]) * 1000, 2), asked[1]


def _parsed(row: _Row) -> object:
    """The parsed message, cut if it is large; None for noise and stderr."""
    if row.message is not None or row.stderr:
        return row.message
    try:
        return json.loads(row.line)
    except (ValueError, RecursionError):
        return None


def _text(row: _Row, message: object) -> str:
    if row.stderr:
        return one_line(row.line.decode("utf-8", "replace"), TEXT_LIMIT)
    redactor = row.stream.redactor()
    if message is None:
        text = row.line[:LARGEST_VALUE].decode("utf-8", "replace").strip()
        return one_line(redactor.redact_text(text), TEXT_LIMIT)
    if row.size > _UNSURE:
        message = pruned(message, longest=TEXT_LIMIT + _UNSURE, entries=TEXT_LIMIT)
    return one_line(compact(redactor.redact(message), TEXT_LIMIT), TEXT_LIMIT)
