"""Waiting for something that will be true, without a clock of one's own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_SECONDS = 20.0
STEP_SECONDS = 0.01


async def until(pilot: Any, condition: Callable[[], Any], *, seconds: float = PATIENCE_SECONDS, what: str = "") -> Any:
    """Let the app work until `condition()` is true, and return what it gave. Fails with the screen's text after `seconds`."""
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    while True:
        await pilot.pause()
        value = condition()
        if value:
            return value
        if clock() > end:
            from tests.tui.pictures import text_of

            raise AssertionError(f"waited {seconds} s for {what or condition}; on the screen:\n{text_of(pilot.app)}")
        await asyncio.sleep(STEP_SECONDS)
