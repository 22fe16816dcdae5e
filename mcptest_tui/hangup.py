"""Noticing that the terminal is gone although no signal says so: whoever is not its session's leader gets none.

The thread that reads keys would spin for ever on such a terminal. This one waits without cost, for the end alone.
"""

from __future__ import annotations

import select
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def when_hung_up(*gone: Callable[[], object], fd: int = 0) -> None:
    """Call each of `gone`, from a thread, when the terminal at `fd` is closed; never where that cannot be known."""
    if not hasattr(select, "poll"):
        return
    poller = select.poll()
    poller.register(fd, 0)  # the end is told whatever one asks for

    def wait() -> None:
        if any(told & select.POLLHUP for _, told in poller.poll()):
            for call in gone:
                with suppress(RuntimeError):  # the app has ended meanwhile
                    call()

    threading.Thread(target=wait, name="hangup", daemon=True).start()
