"""The end of the workbench: a question if something would be lost, and no process left running, also after a signal."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import threading
import time
from contextlib import suppress
from queue import Empty, Queue
from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_tui.base_app import BaseApp

CLOSE_SECONDS = 1.2
HANGUP_SECONDS = 20.0
"""For putting unsaved text aside and ending the engine, once the terminal is gone."""
SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Leaving:
    """Ends the workbench in order, also on signals and when the terminal is closed."""

    def __init__(self, app: BaseApp, restore_title: Callable[[], None]) -> None:
        self._app, self._restore_title = app, restore_title
        self._left = self._gone = False

    def listen(self) -> None:
        """Handle SIGTERM and the closing of the terminal by an orderly end."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            with suppress(NotImplementedError, RuntimeError, ValueError):  # not the main thread: a test's app
                loop.add_signal_handler(number, self._on_signal, number)
        if not self._app.is_headless:
            when_hung_up(lambda: loop.call_soon_threadsafe(self._on_signal, signal.SIGHUP), self._swallow)

    def confirm(self) -> None:
        """Quit, after a question when text is unsaved or a run is on."""
        unsaved = [name for editor in self._app.editors() for name in editor.unsaved_names()]
        lines = [f"Unsaved: {', '.join(unsaved)} (saved as a draft)"] if unsaved else []
        if self._app.store.progress.busy:
            lines.append("A run is active; its servers will be ended.")
        undecided = self._app.reviews.unwritten()
        lines += [undecided] if undecided else []
        if not lines:
            self._leave(0)
            return
        from mcptest_tui.widgets.modals import Question

        title = "Quit mcptest?" if not unsaved else f"Quit without saving {counted(len(unsaved), 'file')}?"
        save = (("s", "save and quit"),) if unsaved else ()
        self._app.push_screen(Question(title, lines, (*save, ("y", "quit"), ("n", "stay"))), self._answered)

    def _answered(self, answer: str | None) -> None:
        if answer == "y":
            self._leave(0)
        elif answer == "s":
            self._app.run_worker(self._save_and_leave(), group="leaving.save", exclusive=True, exit_on_error=False)

    async def _save_and_leave(self) -> None:
        """Save what is unsaved, then leave; the workbench stays open if something could not be written."""
        for editor in self._app.editors():
            if not await editor.save_all():
                return
        self._leave(0)

    async def end(self) -> None:
        """Put unsaved text aside, then close the engine and its servers; a step that fails keeps none of the others from it.

        Bounded, because the child ends the servers by itself once its input ends.
        """
        kept = self._app.problems.recovering
        for editor in self._app.editors():
            with kept("unsaved text"):
                editor.flush_drafts()
        with kept("the session"):
            self._app.session.save()
        self._app.is_ending = True
        with kept("the last events"):
            self._app.bridge.close()
        with suppress(Exception):
            await asyncio.wait_for(self._app.engine.close(), CLOSE_SECONDS)

    def _on_signal(self, number: signal.Signals) -> None:
        if number is signal.SIGHUP and self._app._driver is not None and not os.isatty(0):
            # Textual's thread that wrote to it has ended with it: whoever goes on writing waits for ever.
            self._app._driver.write = _nowhere  # type: ignore[method-assign]
            self._gone = True
        self._leave(128 + number)

    def _swallow(self) -> None:
        """In a thread: discard output that nobody can read any more, and exit at the latest after `HANGUP_SECONDS`."""
        end = time.monotonic() + HANGUP_SECONDS
        while time.monotonic() < end:
            driver = self._app._driver
            if driver is not None:
                driver.write = _nowhere  # type: ignore[method-assign]
            # Textual may have made another one since, as it does when it is told to go on.
            output = getattr(getattr(driver, "_writer_thread", None), "_queue", None) or Queue[str]()
            with suppress(Empty):
                output.get(timeout=0.05)
        os._exit(128 + signal.SIGHUP)

    def _leave(self, code: int) -> None:
        if self._left:
            return
        self._left = True
        self._app.run_worker(self._out(code), group="leaving", exit_on_error=False)

    async def _out(self, code: int) -> None:
        try:
            await self.end()
        finally:
            if self._gone:
                os._exit(code)  # there is nothing to be put back in order
            self._app.exit(code)
            self._restore_title()


def _nowhere(data: str) -> None:
    """Drop the output, because there is no terminal any more."""


def when_hung_up(*gone: Callable[[], object], fd: int = 0) -> None:
    """Call each of `gone`, from a thread, when the terminal at `fd` is closed; never where that cannot be known.

    No signal says so to who isn't its session's leader, and the thread that reads keys would spin for ever on such a terminal.
    This one waits without cost, for the end alone.
    """
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
