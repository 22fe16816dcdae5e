"""What mcptest finds around it: whether it runs under CI, the files that come with it, and signals that mean nothing to it."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = Path(__file__).parent.parent
_MEANINGLESS = ("SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGPWR", "SIGSTKFLT", "SIGTRAP")


def is_ci(environ: Mapping[str, str]) -> bool:
    """Whether `CI` is set, as the services set it, and neither "false" nor "0"."""
    return environ.get("CI", "").strip().lower() not in {"", "0", "false"}


def shipped(name: str) -> Path:
    """The folder `name` ("examples" or "themes"), in a wheel or a checkout. Raises: FileNotFoundError when there is none."""
    for place in (PACKAGE / "shipped" / name, PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"this installation of mcptest has no `{name}` folder; reinstall it")


def survive_stray_signals() -> None:
    """Let signals that mean nothing here pass, unless somebody else handles or ignores them. From the main thread only.

    They would end the process, and a server under test can send any to whoever started it. Each gets a handler and is not
    ignored, because a process that is started inherits what is ignored, and a server is to find its signals as they always are.
    """
    for name in _MEANINGLESS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, lambda _number, _frame: None)
