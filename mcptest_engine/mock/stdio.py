"""The mock over stdin and stdout: one message a line, answers in the order in which they are due.

One thread and one `select` loop carry out the effects of the session; no event loop is imported. Answers are written in pieces
that fit in a pipe, and only when it has room, so a client that writes much before it reads blocks nothing.
"""

from __future__ import annotations

import heapq
import os
import select
import signal
import time
from typing import TYPE_CHECKING, NoReturn

from mcptest_engine.mock.faults import CRASH_EXIT_CODE
from mcptest_engine.mock.messages import (
    Answer,
    BadMessage,
    Cancel,
    ClientRequest,
    Crash,
    Hang,
    Listen,
    Silence,
    Wedge,
    read_message,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.mock.log import Log
    from mcptest_engine.mock.messages import Change, Effect, Listener, RequestKey, Served

_STDIN, _STDOUT = 0, 1
_CHUNK = 65536
_FITS_A_PIPE = 4096  # POSIX: a pipe that select calls writable takes PIPE_BUF bytes without blocking
_LAST_WORDS_SECONDS = 1.0


def serve_stdio(session: Served, log: Log) -> int:
    """Serve one client until stdin closes or SIGINT or SIGTERM arrives; return the exit code."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, _raise_stopped)
    loop = _Loop(session, log)
    try:
        loop.run()
    except _Stopped:
        log.info("stopped by a signal")
    except BrokenPipeError:
        log.info("stdout was closed by its reader")
    return 0


class _Stopped(BaseException):
    """A signal ended the mock. No Exception, so that nothing on the way catches it."""


def _raise_stopped(_number: int, _frame: object) -> NoReturn:
    raise _Stopped


class _Loop:
    """The state of the loop: unfinished input, answers that are not due yet, and output that waits for room on stdout."""

    def __init__(self, session: Served, log: Log) -> None:
        self._session = session
        self._log = log
        self._incoming: list[bytes] = []
        self._outgoing = bytearray()
        self._waiting: list[tuple[float, int, Answer]] = []
        self._numbers: dict[RequestKey, int] = {}
        self._cancelled: set[int] = set()
        self._listeners: dict[RequestKey, Listener] = {}
        self._count = 0
        self._wedged = False

    def run(self) -> None:
        reading = True
        while reading:
            wait = self._waiting[0][0] - time.monotonic() if self._waiting else None
            wants_room = [_STDOUT] if self._outgoing else []
            timeout = None if wait is None else max(0.0, wait)
            readable, writable, _ = select.select([_STDIN], wants_room, [], timeout)
            if readable:
                reading = self._read()
            if not self._wedged:
                self._send_what_is_due()
            if writable:
                self._write()
        self._flush()

    def _read(self) -> bool:
        """Read the input. A wedged server discards it, because only reading shows that stdin was closed."""
        chunk = os.read(_STDIN, _CHUNK)
        if self._wedged:
            return bool(chunk)
        *lines, rest = chunk.split(b"\n") if chunk else (b"", b"")
        for line in lines:
            whole = b"".join((*self._incoming, line))
            self._incoming.clear()
            self._take(whole)
            if self._is_wedged():
                return True
        if rest:
            self._incoming.append(rest)
        return bool(chunk)

    def _is_wedged(self) -> bool:
        return self._wedged

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        self._log.debug_bytes("<-", line)
        try:
            effect: Effect = self._session.receive(read_message(line))
        except BadMessage as bad:
            self._log.warning(str(bad))
            effect = bad.answer
        match effect:
            case Answer(delay_ms=delay_ms, before=before, changes=changes):
                self._send(*before, *self._change_messages(changes))
                self._put_off(effect, delay_ms)
            case ClientRequest(body=body, before=before):
                self._send(*before, body)
            case Listen(body=body, key=key, listener=listener):
                self._send(body)
                self._listeners[key] = listener
            case Cancel(key):
                self._log.info(f"request {key[1]} was cancelled")
                self._listeners.pop(key, None)
                self._cancelled.add(self._numbers.pop(key, 0))
            case Wedge():
                self._log.info("wedged on purpose")
                self._wedged = True
            case Crash():
                self._flush()
                self._log.info("crashed on purpose")
                os._exit(CRASH_EXIT_CODE)
            case Hang() | Silence():
                pass

    def _put_off(self, answer: Answer, delay_ms: float) -> None:
        if delay_ms <= 0:
            self._send(answer.body)
            return
        self._count += 1
        if answer.key is not None:
            self._numbers[answer.key] = self._count
        heapq.heappush(self._waiting, (time.monotonic() + delay_ms / 1000, self._count, answer))

    def _send_what_is_due(self) -> None:
        while self._waiting and self._waiting[0][0] <= time.monotonic():
            _, number, answer = heapq.heappop(self._waiting)
            if answer.key is not None and self._numbers.get(answer.key) == number:
                del self._numbers[answer.key]
            if number not in self._cancelled:
                self._send(answer.body)
            self._cancelled.discard(number)

    def _change_messages(self, changes: tuple[Change, ...]) -> Iterator[bytes]:
        """The notifications of changes for the client: in the session, and in each of its subscriptions."""
        hearers: tuple[Served | Listener, ...] = (self._session, *self._listeners.values())
        for change in changes:
            for hearer in hearers:
                if (body := hearer.notification_of(change)) is not None:
                    yield body

    def _send(self, *bodies: bytes) -> None:
        for body in bodies:
            self._log.debug_bytes("->", body)
            self._outgoing += body
            self._outgoing += b"\n"

    def _write(self) -> None:
        sent = os.write(_STDOUT, memoryview(self._outgoing)[:_FITS_A_PIPE])
        del self._outgoing[:sent]

    def _flush(self) -> None:
        """Write the remaining output, as long as the client reads."""
        while self._outgoing and select.select([], [_STDOUT], [], _LAST_WORDS_SECONDS)[1]:
            self._write()
