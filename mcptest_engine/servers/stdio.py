"""The stdio transport: lines to and from a child's pipes, and the end of its stderr.

Pipes are read and written directly in the loop's callbacks: no buffer is copied twice, and a read allocates no more than the
pipe holds. Requests of one turn of the loop are sent in one write. A child that stops reading holds up only its own callers:
what does not fit in the pipe waits in a queue with at most one line for each waiting call, and a call that times out takes its
line back.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING

from mcptest_engine.servers.child import Child
from mcptest_engine.servers.failures import Ending, out_of_memory, too_large
from mcptest_engine.servers.transport import MAX_WAITING_REPLIES, MAX_WAITING_REPLY_BYTES, UNREAD_REPLIES
from mcptest_engine.servers.wire import LineSplitter

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.servers.calls import Call
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.transport import Receiver

STDERR_KEPT_BYTES = 64 * 1024

_UNSURE_BYTES = 4 * 1024  # stored beyond the limit: a cut may leave the second half of a secret there
_READ_BYTES = 64 * 1024
_READS_A_TURN = 16
# An exit and the end of stdout are two events in any order. The first one waits this long for the other, so that a failure
# can name the exit code and quote all of stderr.
_END_WAIT_SECONDS = 0.5  # a process that has closed its pipes may run on for a while on a busy machine
_DEAF_WAIT_SECONDS = 1.0  # for the answers of a server that has closed its stdin


class StdioTransport:
    """A child process, connected by its stdin and stdout."""

    kind = "stdio"
    auth = "none"
    cancels_by_closing = False

    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec
        self._lines = LineSplitter(spec.max_message_bytes)
        self._stderr = OutputTail(STDERR_KEPT_BYTES, spec.redact)
        self._queue: deque[tuple[bytes, Call | None]] = deque()
        self._queued_bytes = 0  # lines that are no request
        self._unwritten = memoryview(b"")
        self._flush_due = False
        self._writing_over = False
        self._end_clause = ""
        self._end_timer: asyncio.TimerHandle | None = None
        self._deaf_timer: asyncio.TimerHandle | None = None
        self._end_told = False
        self._child: Child | None = None
        self._stdin = self._stdout = self._stderr_fd = -1

    def open(self, receiver: Receiver) -> None:
        """Start the child; its pipes are read from the loop's next turn on. Raises: ServerDidNotStart."""
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        child = self._child = Child(self._spec, lambda: self._end_soon("exited"), receiver.waiting)
        receiver.started(child.pid)
        self._stdin, self._stdout, self._stderr_fd = child.stdin, child.stdout, child.stderr
        self._loop.add_reader(self._stdin, self._stdin_closed)  # a pipe's writing end is "readable" once nobody reads
        self._loop.add_reader(self._stdout, self._read_stdout)
        self._loop.add_reader(self._stderr_fd, self._read_stderr)

    async def ready(self) -> None:
        """Do nothing: the handshake waits for its answer, and so for the child."""

    def send(self, line: bytes, call: Call | None, *, urgent: bool) -> None:
        """Send now when `urgent` and the pipe has room, else with the other lines of this turn of the loop."""
        if self._writing_over:
            return
        if urgent and not self._queue and not self._unwritten:
            self._write(line)
            return
        if call is None:  # a server that sends requests without end and reads no reply must not fill the memory
            if len(self._queue) >= MAX_WAITING_REPLIES:
                return
            self._queued_bytes += len(line)
            if self._queued_bytes + len(self._unwritten) > MAX_WAITING_REPLY_BYTES:
                self._stop_writing()
                self._receiver.lost(Ending(clause=UNREAD_REPLIES))
                return
        self._queue.append((line, call))
        if not self._flush_due and not self._unwritten:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def withdraw(self, call: Call) -> bool:
        """Take back a request that still waits in the queue."""
        for entry in self._queue:
            if entry[1] is call:
                self._queue.remove(entry)
                return True
        return False

    def unfinished(self) -> bytes:
        """The start of an unfinished line on stdout."""
        return self._lines.beginning()

    def handshake_done(self, protocol_version: str | None) -> None:
        """Do nothing: a pipe needs no change."""

    def offering(self, protocol_version: str, *, stateless: bool) -> None:
        """Do nothing: a pipe needs no change."""

    async def listening(self, timeout_seconds: float) -> None:
        """Return at once: a pipe is always open."""

    async def delivered(self) -> None:
        """Return at once: pipes keep their order."""

    def stderr_since(self, at: float) -> str:
        """The stored part of what was written on stderr after `at`."""
        return self._stderr.text(since=at)

    async def close(self) -> Ending:
        """Close stdin, then send SIGTERM to the group, then SIGKILL, each after the grace; kill what is left of the group."""
        if self._child is None:
            return Ending(clause="never started")
        self._stop_writing()
        try:
            how_far = await self._child.stop(self._spec.grace_seconds)
            self._drain()
        finally:
            self._release()
        return self._child.ending(how_far) or Ending(clause="could not be killed", how_far=how_far)

    def _write(self, data: bytes) -> None:
        try:
            written = os.write(self._stdin, data)
        except BlockingIOError:
            written = 0
        except OSError:
            self._stop_writing()
            self._end_soon("closed its stdin")
            return
        if written < len(data):
            self._unwritten = memoryview(data)[written:]
            self._loop.add_writer(self._stdin, self._write_more)

    def _write_more(self) -> None:
        try:
            written = os.write(self._stdin, self._unwritten[: 1024 * 1024])
        except BlockingIOError:
            return
        except OSError:
            self._stop_writing()
            self._end_soon("closed its stdin")
            return
        self._unwritten = self._unwritten[written:]
        if not self._unwritten:
            self._loop.remove_writer(self._stdin)
            self._unwritten = memoryview(b"")
            self._flush()

    def _flush(self) -> None:
        self._flush_due = False
        if self._unwritten or self._writing_over or not self._queue:
            return
        data = b"".join([line for line, _call in self._queue]) if len(self._queue) > 1 else self._queue[0][0]
        self._queue.clear()
        self._queued_bytes = 0
        self._write(data)

    def _stop_writing(self) -> None:
        if self._writing_over:
            return
        self._writing_over = True
        self._queue.clear()
        self._unwritten = memoryview(b"")
        self._loop.remove_reader(self._stdin)
        self._loop.remove_writer(self._stdin)
        _close(self._stdin)

    def _stdin_closed(self) -> None:
        """Handle a child that reads no more. Sent requests may still be answered; queued ones cannot."""
        self._stop_writing()
        self._deaf_timer = self._loop.call_later(_DEAF_WAIT_SECONDS, self._end_soon, "closed its stdin")

    def _read_stdout(self) -> None:
        for _ in range(_READS_A_TURN):
            data = read_available(self._stdout)
            if data is None:
                return
            if not data:
                self._stdout_ended()
                return
            at = monotonic()
            overflows, starved = self._lines.overflowed, self._lines.out_of_memory
            for line in self._lines.feed(data):
                self._receiver.received(line, at)
            if self._lines.overflowed > overflows:
                is_starved = self._lines.out_of_memory > starved
                self._receiver.overflowed(out_of_memory() if is_starved else too_large(self._spec.max_message_bytes))
            if len(data) < _READ_BYTES or self._stdout < 0:
                return

    def _read_stderr(self) -> None:
        for _ in range(_READS_A_TURN):
            data = read_available(self._stderr_fd)
            if data is None:
                return
            if not data:
                self._stderr_fd = self._close_reader(self._stderr_fd)
                self._receiver.wrote(monotonic(), ended=True)
                self._end_soon("")
                return
            at = monotonic()
            self._stderr.add(at, data)
            self._receiver.wrote(at)

    def _stdout_ended(self) -> None:
        self._stdout = self._close_reader(self._stdout)
        rest = self._lines.rest()
        if rest.strip():
            self._receiver.received(rest, monotonic(), cut_off=True)
        self._end_soon("closed its stdout")

    def _end_soon(self, clause: str) -> None:
        """Report the end when all of it is known, or after a short wait; "" alone is no end."""
        self._end_clause = self._end_clause or clause
        if self._end_told or not self._end_clause:
            return
        if self._ending() is not None and self._stdout < 0 and self._stderr_fd < 0:
            self._report_end()
        elif self._end_timer is None:
            self._end_timer = self._loop.call_later(_END_WAIT_SECONDS, self._report_end)

    def _report_end(self) -> None:
        if self._end_timer is not None:
            self._end_timer.cancel()
        if not self._end_told:
            self._end_told = True
            self._receiver.lost(self._ending() or Ending(clause=self._end_clause))

    def _ending(self) -> Ending | None:
        return None if self._child is None else self._child.ending()

    def _drain(self) -> None:
        """Read what the dead child left in its pipes."""
        if self._stdout >= 0:
            self._read_stdout()
        if self._stderr_fd >= 0:
            self._read_stderr()

    def _release(self) -> None:
        self._end_told = True
        for timer in (self._end_timer, self._deaf_timer):
            if timer is not None:
                timer.cancel()
        self._stdout = self._close_reader(self._stdout)
        if self._stderr_fd >= 0:
            self._stderr_fd = self._close_reader(self._stderr_fd)
            self._receiver.wrote(monotonic(), ended=True)

    def _close_reader(self, descriptor: int) -> int:
        if descriptor >= 0:
            self._loop.remove_reader(descriptor)
            _close(descriptor)
        return -1


class OutputTail:
    """The last `limit` bytes of output, in pieces with their times; `redact` removes secrets before the text is cut."""

    __slots__ = ("_cut", "_limit", "_pieces", "_redact", "_size", "_whole")

    def __init__(self, limit: int, redact: Callable[[str], str]) -> None:
        self._limit = limit
        self._redact = redact
        self._pieces: deque[tuple[float, bytes]] = deque()
        self._size = 0
        self._cut = False
        self._whole: str | None = None  # every failing call quotes all of it

    def add(self, at: float, data: bytes) -> None:
        self._whole = None
        self._pieces.append((at, data))
        self._size += len(data)
        while self._size - len(self._pieces[0][1]) >= self._limit + _UNSURE_BYTES:
            self._size -= len(self._pieces.popleft()[1])
            self._cut = True

    def text(self, *, since: float) -> str:
        """The text that was written after `at`, from the beginning of the line that was incomplete then."""
        if self._whole is None:
            self._whole = self._redacted(b"".join(piece for _, piece in self._pieces))
        # A secret may begin before: the whole text is redacted, and the cut is found in it afterwards.
        before = b"".join(piece for at, piece in self._pieces if at < since)
        old = self._redacted(before[: before.rfind(b"\n") + 1]) if before else ""
        start = len(old) if self._whole.startswith(old) else 0
        return self._whole[max(start, _UNSURE_BYTES if self._cut else 0) :][-self._limit :]

    def _redacted(self, data: bytes) -> str:
        return self._redact(data.decode("utf-8", "replace"))


def read_available(descriptor: int) -> bytes | None:
    """Read what is available: b"" at the end, None when there is nothing yet."""
    try:
        return os.read(descriptor, _READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _close(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.close(descriptor)
