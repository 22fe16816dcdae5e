"""The calls of tests that have no answer yet: which one a server works on, and which wait for their turn.

Most servers answer in turn. One that answers a later call first works on several at once: from then on none waits.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcptest_tui.state.test_row import TestRow

OF_MANY_CALLS = ("agent", "composition", "eval")
"""The kinds of tests that do more than to wait for one answer."""


@dataclass(slots=True)
class _Queue:
    """The tests that wait for one server in a run, in the order of their calls; empty once that answers out of turn."""

    rows: OrderedDict[str, TestRow] = field(default_factory=OrderedDict)
    is_parallel: bool = False


class Calls:
    """The calls by run, suite and server."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._queues: dict[tuple[str, str, str], _Queue] = {}

    def begin(self, row: TestRow, run: str) -> bool:
        """Whether the server works on this test at once, and not on an earlier one."""
        place = (run, row.path, row.server)
        queue = self._queues.get(place)
        if queue is None:
            queue = self._queues[place] = _Queue()
        if row.kind in OF_MANY_CALLS or queue.is_parallel:
            return True
        queue.rows[row.id] = row
        return len(queue.rows) == 1

    def end(self, row: TestRow, run: str, *, is_answered: bool = False) -> Iterable[TestRow]:
        """A test waits for no answer any more; returns those that the server works on now."""
        queue = self._queues.get((run, row.path, row.server))
        if queue is None or row.id not in queue.rows:
            return ()
        was_first = next(iter(queue.rows)) == row.id
        del queue.rows[row.id]
        if is_answered and not was_first:
            queue.is_parallel = True
            running = tuple(queue.rows.values())
            queue.rows.clear()
            return running
        if was_first and queue.rows:
            following = next(iter(queue.rows.values()))
            following.started = self._now()
            return (following,)
        return ()

    def end_run(self, run: str) -> None:
        """Forget the calls of a run."""
        self._queues = {place: queue for place, queue in self._queues.items() if place[0] != run}
