"""Tasks that stand and fall together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

T = TypeVar("T")


def retrieve_exception(task: asyncio.Task[T]) -> None:
    """A callback of a task that may fail when nobody waits for it any longer, so that asyncio logs nothing."""
    if not task.cancelled():
        task.exception()


async def run_together(coroutines: Iterable[Coroutine[object, object, T]]) -> list[T]:
    """Run all of them at once. Gives what they return, in their order.

    Raises: the first exception of one, when the others are cancelled and have ended. `asyncio.gather` leaves them running, so
    that models would be asked and tools called that no record holds; `asyncio.TaskGroup` raises a group.
    """
    tasks = [asyncio.create_task(one) for one in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            if not task.cancelling():  # a second time would break off how a task ends
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
