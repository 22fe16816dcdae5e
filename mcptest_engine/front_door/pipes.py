"""Reads lines from stdin and writes lines to stdout in two threads, so that a slow client does not hold up a run.

Meanwhile, file descriptor 0 is at its end and 1 leads to stderr: child processes cannot take the client's lines, and output of
the rest of the process is no message.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from typing import Self

_CHUNK = 1024 * 1024
_PATIENCE_SECONDS = 2.0


class Pipes:
    """A context manager; entered and used in an event loop."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._bodies: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_all, name="stdout", daemon=True)

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._stdin, self._stdout = os.dup(0), os.dup(1)  # neither is inherited
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        threading.Thread(target=self._read_all, name="stdin", daemon=True).start()
        self._writer.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._bodies.put(None)
        self._writer.join(_PATIENCE_SECONDS)  # a client may keep the pipe open and stop reading
        os.dup2(self._stdout, 1)
        os.close(self._stdout)

    async def read(self) -> bytes | None:
        """The next line without its end; None when stdin has ended, or nobody reads stdout."""
        return await self._lines.get()

    def write(self, body: bytes) -> None:
        self._bodies.put(body)

    def _read_all(self) -> None:
        begun: list[bytes] = []
        while True:
            try:
                data = os.read(self._stdin, _CHUNK)
            except OSError:
                data = b""
            *whole, rest = data.split(b"\n")
            for line in whole:
                self._take(b"".join([*begun, line]))
                begun = []
            begun.append(rest)
            if not data:
                self._take(b"".join(begun))  # a last line without a newline
                self._take(None)
                return

    def _write_all(self) -> None:
        while (body := self._bodies.get()) is not None:
            left = memoryview(body + b"\n")
            try:
                while left:
                    left = left[os.write(self._stdout, left) :]
            except OSError:  # the client reads no more, which ends the session like the end of stdin
                self._take(None)
                return

    def _take(self, line: bytes | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
