"""How signals end a command that runs servers."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from mcptest_engine.cli.streams import discard_output
from mcptest_engine.core.errors import ExitCode

if TYPE_CHECKING:
    from typing import Protocol

    class Cancellable(Protocol):
        """A task, or what ends as one does."""

        def cancel(self) -> object: ...


class ending_on_signals:  # noqa: N801 - reads as what it does, in a `with` statement
    """Cancel the task on the first Ctrl-C (or SIGTERM), so that it ends with its report; on the second, kill every server and
    exit.

    SIGHUP cancels too, and never kills: when a terminal is closed, the kernel and the shell may both send it, and the results
    must be saved. With `quietly`, the caller prints that the run is ending.
    """

    def __init__(self, task: Cancellable, *, quietly: bool = False) -> None:
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
            signal.signal(number, signal.SIG_IGN)  # only the report is left, which takes no time

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
    """SIGINT and SIGTERM, and SIGHUP where it exists, unless `nohup` ignores it."""
    import signal

    hangup = getattr(signal, "SIGHUP", None)
    heard = hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *((hangup,) if heard and hangup is not None else ()))


def _leave_terminal() -> None:
    """Discard what is written to the terminal from now on: it is closed, or about to be.

    Pipes and files are still written. (A terminal is recognised as a character device, since a closed one is no terminal any
    more.)
    """
    import stat

    for descriptor in (1, 2):
        try:
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                discard_output(descriptor)
        except OSError:  # closed by the parent process
            continue


def _write_stderr(text: str) -> None:
    """Write to stderr, if it is open."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        return
