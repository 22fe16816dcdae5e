"""Processes that a test has started: which are left, and waiting until something holds."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def of_this_test(folder: Path) -> list[int]:
    """The processes, other than this one, that work in `folder`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != os.getpid() and (entry / "cwd").resolve() == folder.resolve():
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def until(true: Callable[[], bool], *, seconds: float = 30) -> None:
    """Look until something holds; fails loudly when it does not come to pass."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come to pass"
        os.sched_yield()
