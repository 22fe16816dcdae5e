"""From the pipe to the screen: events are collected in a list and applied 20 times a second, never one message each.

`take` is called for every event, synchronously and on the UI's loop, so it only appends; the timer runs only while
something waits, so that an idle workbench does nothing at all. When many events come, they are applied 10 times a second, and
what a key has changed is drawn first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.timer import Timer

    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent

FLUSH_SECONDS = 1 / 20
MANY = 40
"""After more than so many events at once, one turn of the timer is skipped."""
MOST_SKIPPED = 2
"""At most so many turns of the timer in a row are skipped for keys."""


class Bridge:
    """Collects events of the engine and applies them in batches."""

    def __init__(self, apply: Callable[[list[WorkbenchEvent]], None], is_key_due: Callable[[], bool]) -> None:
        """`is_key_due()` is true while a change by a key is not drawn yet."""
        self._apply, self._is_key_due = apply, is_key_due
        self._skips_left = MOST_SKIPPED
        self._waiting: list[WorkbenchEvent] = []
        self._timer: Timer | None = None
        self.seen = 0

    def use(self, timer: Timer) -> None:
        """Set the timer that calls `flush_in_turn`; it is paused until an event comes."""
        self._timer = timer
        timer.pause()

    def take(self, event: WorkbenchEvent) -> None:
        """Collect one event from the engine, and resume the timer."""
        self._waiting.append(event)
        if len(self._waiting) == 1 and self._timer is not None:
            self._timer.resume()

    def close(self) -> None:
        """Apply no more events, because the screens are about to be removed."""
        self._apply = lambda _: None

    def flush_in_turn(self) -> None:
        """Apply what waits, or skip this turn: for a key, or after many events. When nothing waits, pause the timer."""
        if not self._waiting:
            if self._timer is not None:
                self._timer.pause()
        elif self._skips_left > MOST_SKIPPED or (self._skips_left and self._is_key_due()):
            self._skips_left -= 1
        else:
            self.flush()

    def flush(self) -> None:
        """Apply the events that were collected since the last call."""
        events, self._waiting = self._waiting, []
        self.seen += len(events)
        self._skips_left = MOST_SKIPPED + (len(events) > MANY)
        if events:
            self._apply(events)
