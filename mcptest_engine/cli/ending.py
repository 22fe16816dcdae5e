"""How signals end a command that runs servers."""

from __future__ import annotations

import os
import sys
from typing import Any

from mcptest_engine.cli.streams import discard_output
from mcptest_engine.core.errors import ExitCode


class ending_on_signals:  # noqa: N801 - reads as what it does, in a `with` statement
    """Ctrl-C (or SIGTERM) once cancels the task, which ends with its report; twice kills every server and leaves at once.

    SIGHUP cancels too, and never kills: when a terminal is closed, the kernel and the shell may both send it, and what was
    found is to be saved. `task` is whatever has a `cancel`; `quietly` leaves it to the caller to say that the end has begun.
    """

    def __init__(self, task: Any, *, quietly: bool = False) -> None:
        self._task = task
        self._quietly = quietly
        self._ending = self._asked = False

    def __enter__(self) -> None:
        import asyncio

        self._loop = asyncio.get_running_loop()
        self._numbers = _ending_signals()
        for number in self._numbers:
            self._loop.add_signal_handler(number, self._end, number)

    def __exit__(self, *_: object) -> None:
        import signal

        for number in self._numbers:
            self._loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)  # what is left is the report, and that takes no time

    def _end(self, number: int) -> None:
        import signal

        if number == getattr(signal, "SIGHUP", None):
            _leave_terminal()
        elif self._asked:
            self._kill()
        else:
            self._asked = True
        if not self._ending:
            self._ending = True
            self._task.cancel()
            if not self._quietly:
                _write_stderr("\ninterrupted: ending the run (Ctrl-C again kills everything)\n")

    @staticmethod
    def _kill() -> None:
        from mcptest_engine.servers.guardian import kill_all

        kill_all()
        _write_stderr("killed\n")
        os._exit(ExitCode.INTERRUPTED)


def _ending_signals() -> tuple[int, ...]:
    """SIGINT and SIGTERM, and SIGHUP where there is one, unless `nohup` has it ignored."""
    import signal

    hangup = getattr(signal, "SIGHUP", None)
    heard = hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *((hangup,) if heard and hangup is not None else ()))


def _leave_terminal() -> None:
    """The terminal is closed, or about to be: what goes to it goes nowhere from now on, and fails nothing.

    Pipes and files are kept. (A terminal is known as a character device, since a closed one is no terminal any more.)
    """
    import stat

    for descriptor in (1, 2):
        try:
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                discard_output(descriptor)
        except OSError:  # closed by whoever started us
            continue


def _write_stderr(text: str) -> None:
    """On stderr, where somebody reads it."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        return
