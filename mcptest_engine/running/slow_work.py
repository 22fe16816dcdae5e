"""The one thread for what takes its time beside the loop: jq programs. Who waits for it waits in the loop, and knows it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

_T = TypeVar("_T")


class SlowWork:
    """Runs one function after another in a thread, which is made when it is first needed."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._thread: ThreadPoolExecutor | None = None

    async def run(self, function: Callable[[], _T], begin: Callable[[], None] | None = None) -> _T:
        """What the function gives, once its turn has come, which `begin` is told."""
        async with self._turn:
            if begin is not None:
                begin()
            if self._thread is None:
                from concurrent.futures import ThreadPoolExecutor

                self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="judge")
            return await asyncio.get_running_loop().run_in_executor(self._thread, function)
