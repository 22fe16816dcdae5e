"""From the pipe to the screen: events are collected in a list and applied 20 times a second, never one message each.

`take` is called for every event, synchronously and on the UI's loop, so it only appends; the timer runs only while
something waits, so that an idle workbench does nothing at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.timer import Timer

FLUSH_SECONDS = 1 / 20
Event = dict[str, Any]


class Bridge:
    """Collects events; `flush` hands everything that waits to each listener that wants it."""

    def __init__(self, apply: Callable[[list[Event]], None]) -> None:
        self._apply = apply
        self._waiting: list[Event] = []
        self._timer: Timer | None = None
        self.seen = 0

    def use(self, timer: Timer) -> None:
        """The timer that calls `flush`; it is paused until an event comes."""
        self._timer = timer
        timer.pause()

    def take(self, event: Event) -> None:
        """One event from the engine."""
        self._waiting.append(event)
        if len(self._waiting) == 1 and self._timer is not None:
            self._timer.resume()

    def close(self) -> None:
        """Apply nothing more: the screens are about to go."""
        self._apply = lambda _: None

    def flush(self) -> None:
        """Apply what has come since the last time; without anything, go to sleep."""
        if not self._waiting:
            if self._timer is not None:
                self._timer.pause()
            return
        events, self._waiting = self._waiting, []
        self.seen += len(events)
        self._apply(events)
