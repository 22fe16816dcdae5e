"""Tells browsers when runs begin and end, as server-sent events. Source: HTML Standard, section 9.2.

The folders are looked at while anybody listens: two calls of the system, which work on every file system and tell of every run,
since a record is put there whole by a rename.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

LOOK_SECONDS = 0.3
ALIVE_SECONDS = 15.0


class Live:
    """One for a viewer; `close` ends every stream, and those that come later."""

    def __init__(self, state: Callable[[], object]) -> None:
        self._state = state
        self._closed = asyncio.Event()

    def close(self) -> None:
        """End the streams of events."""
        self._closed.set()

    async def events(self) -> AsyncIterator[bytes]:
        """A first event at once, then one for each change, and a comment now and then that finds out who has gone."""
        before = self._state()
        yield b"retry: 1000\nevent: ready\ndata: {}\n\n"
        quiet = 0.0
        while not self._closed.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), LOOK_SECONDS)
            now = self._state()
            quiet += LOOK_SECONDS
            if now != before:
                before, quiet = now, 0.0
                yield b"event: changed\ndata: {}\n\n"
            elif quiet >= ALIVE_SECONDS:
                quiet = 0.0
                yield b": still here\n\n"
