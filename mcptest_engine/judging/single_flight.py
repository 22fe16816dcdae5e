"""One request for callers that ask the same at the same time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")
_SETTLING_SECONDS = 2.0


class _Flight(Generic[T]):
    """A request in flight, and how many callers wait for it."""

    def __init__(self, task: asyncio.Task[T]) -> None:
        self.task = task
        self.waiting = 0


class SingleFlight(Generic[T]):
    """Requests in flight by key. To be used in one event loop."""

    def __init__(self) -> None:
        self._flights: dict[object, _Flight[T]] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._flights

    async def join(self, key: object, make: Callable[[], Coroutine[object, object, T]]) -> tuple[T, bool]:
        """Return the result for `key`, and whether this caller is the one whose `make` was run.

        A request that nobody waits for any more is cancelled. Raises: what `make` raises, in each caller.
        """
        flight = self._flights.get(key)
        first = flight is None or flight.task.done() or flight.task.cancelling() > 0
        if flight is None or first:
            flight = self._flights[key] = _Flight(asyncio.ensure_future(make()))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task), first
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                if self._flights.get(key) is flight:
                    del self._flights[key]
                if not flight.task.done():
                    flight.task.cancel()
                    await asyncio.wait((flight.task,), timeout=_SETTLING_SECONDS)

    def cancel(self) -> None:
        """Cancel every request in flight."""
        for flight in tuple(self._flights.values()):
            flight.task.cancel()
