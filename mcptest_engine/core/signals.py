"""Signals that mean nothing to mcptest, and that end a process all the same unless it handles them.

A server under test can send any to whoever started it. Each gets a handler and is not ignored, because a process that is
started inherits what is ignored, and a server is to find its signals as they always are.
"""

from __future__ import annotations

import contextlib
import signal

_MEANINGLESS = ("SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGPWR", "SIGSTKFLT", "SIGTRAP")


def survive_stray_signals() -> None:
    """Let signals that mean nothing here pass, unless somebody else handles or ignores them. From the main thread only."""
    for name in _MEANINGLESS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, _pass)


def _pass(number: int, frame: object) -> None:
    """Do nothing."""
