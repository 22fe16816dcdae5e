"""Our own bugs: shown in a panel with a report to copy; the app goes on.

Textual ends the app when a handler raises. `Sturdy` catches before that, on the app and on every screen, and hands the
exception to `Problems`. When problems come faster than a person could make them (a pane that cannot be drawn raises at
every frame), it gives up and lets Textual end the app with the traceback.
"""

from __future__ import annotations

import platform
import sys
import time
import traceback
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from textual.message_pump import MessagePump

from mcptest_engine import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.message import Message
    from textual.worker import Worker

ACTIONS_KEPT = 50
MOST = 5
WITHIN_SECONDS = 5.0


class Sturdy(MessagePump):
    """A widget or screen whose handlers may raise without ending the app."""

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show a worker's failure, which reaches only the node that started the worker."""
        error = event.worker.error
        if isinstance(error, Exception):
            self.app.problem(error)  # type: ignore[attr-defined]

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:  # a bug in one handler must not cost the person their session
            if not self.app.problem(error):  # type: ignore[attr-defined]
                raise


class Problems:
    """Records errors of the workbench and the actions before them, for a report."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque(maxlen=MOST)
        self.actions: deque[str] = deque(maxlen=ACTIONS_KEPT)
        self.count = 0
        self.too_many = False
        self.last: BaseException | None = None

    def did(self, action: str) -> None:
        """Note an action by its id or name; never what it was done to."""
        self.actions.append(action)

    def note(self, error: BaseException) -> bool:
        """Count an error; return False when there are too many to continue."""
        now = self._clock()
        self.too_many = len(self._times) == MOST and now - self._times[0] < WITHIN_SECONDS
        self._times.append(now)
        self.count += 1
        self.last = error
        return not self.too_many

    @contextmanager
    def recovering(self, what: str) -> Iterator[None]:
        """Go on when `what`, which may be of any shape, cannot be taken."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - state from an older version, edited by hand, or torn
            self.note(error)
            self.did(f"could not use {what}: {type(error).__name__}")

    def report(self, error: BaseException | None = None) -> str:
        """The text of "copy report": versions, traceback, the last actions; no texts, no names of tests."""
        error = error or self.last
        lines = [f"mcptest {__version__}, {versions()}", ""]
        if error is not None:
            lines += [line.rstrip("\n") for line in traceback.format_exception(error)]
        return "\n".join([*lines, "", "last actions: " + (", ".join(self.actions) or "none")])


def versions() -> str:
    """Return the versions of Python and Textual, the system and the terminal on one line."""
    import os
    from importlib.metadata import version

    terminal = os.environ.get("TERM_PROGRAM") or os.environ.get("TERM", "unknown")
    return f"Python {platform.python_version()}, Textual {version('textual')}, {sys.platform}, terminal {terminal}"


def title_of(error: object) -> str:
    """Return the error's type and the first line of its message."""
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
