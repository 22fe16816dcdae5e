"""Something that is done once no more keys come for a moment."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.message_pump import MessagePump


class Debounce:
    """Call `then` on `node` when this was not called for `seconds`. A handle of the loop costs a key less than a timer does."""

    def __init__(self, node: MessagePump, seconds: float, then: Callable[[], object]) -> None:
        self._node, self.seconds, self._then = node, seconds, then
        self._handle: asyncio.TimerHandle | None = None

    def __call__(self) -> None:
        """Start the waiting time again, from now on."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = asyncio.get_running_loop().call_later(self.seconds, self._node.call_later, self._then)
