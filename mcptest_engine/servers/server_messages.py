"""A server's own messages: its notifications, and its requests to the client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.servers.remarks import Remarks

_MAX_BYTES = 64 * 1024 * 1024


class ServerMessages:
    """The notifications and requests of one session; beyond 64 MiB of memory no more are saved.

    `notifications` are as sent. `requests` are {"method", "params", "result" or "error"} with the answer to each.
    `tool_list_changes` and `prompt_list_changes` count how often the server announced a change.
    """

    def __init__(self, remarks: Remarks) -> None:
        self.notifications: list[JsonDict] = []
        self.requests: list[dict[str, object]] = []
        self.tool_list_changes = self.prompt_list_changes = 0
        self._remarks = remarks
        self._bytes = 0
        self._waiters: list[asyncio.Future[bool]] = []

    def add_notification(self, message: dict[str, object], *, size: int) -> None:
        """Save a notification that takes `size` bytes of memory, and wake those who wait for one."""
        if message["method"] == "notifications/tools/list_changed":
            self.tool_list_changes += 1
        elif message["method"] == "notifications/prompts/list_changed":
            self.prompt_list_changes += 1
        if self._has_room_for(size):
            self.notifications.append(message)
        self.wake()

    def add_request(self, request: dict[str, object], *, size: int) -> None:
        """Save a request of the server, with its answer, that takes `size` bytes of memory, and wake those who wait."""
        if self._has_room_for(size):
            self.requests.append(request)
        self.wake()

    async def wait_for_next(self, timeout_seconds: float) -> bool:
        """Wait for the next message; false when the time runs out or the session has ended."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            done, _ = await asyncio.wait((waiter,), timeout=timeout_seconds)
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        return bool(done) and waiter.result()

    def wake(self, *, ended: bool = False) -> None:
        """Wake those who wait for a message. `ended`: none will come."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(not ended)
        self._waiters.clear()

    def start_over(self) -> None:
        """Forget all messages before another run over this session."""
        self.notifications, self.requests, self._bytes = [], [], 0
        self.tool_list_changes = self.prompt_list_changes = 0

    def _has_room_for(self, size: int) -> bool:
        """Count `size` bytes; false, with one remark, when there is no more room."""
        was_full = self._bytes > _MAX_BYTES
        self._bytes += size
        is_full = self._bytes > _MAX_BYTES
        if is_full and not was_full:
            self._remarks.add("sent more than 64 MiB of notifications and requests; the rest is not saved")
        return not is_full
