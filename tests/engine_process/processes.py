"""Processes of a test: those that work in its folder, and waiting until some are gone."""

from __future__ import annotations

import os
import select
from pathlib import Path

LIMIT_SECONDS = 60


def processes_in(folder: Path) -> list[int]:
    """Every process but this one whose working directory is `folder`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != os.getpid() and (entry / "cwd").resolve(strict=True) == folder.resolve():
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


class Watched:
    """Processes by descriptor, so that a number used again is nobody else's."""

    def __init__(self, pids: list[int]) -> None:
        self._descriptors = []
        for pid in pids:
            try:
                self._descriptors.append(os.pidfd_open(pid))
            except ProcessLookupError:
                continue

    def wait_until_gone(self) -> None:
        for descriptor in self._descriptors:
            assert select.select([descriptor], [], [], LIMIT_SECONDS)[0], "a process was left behind"
            os.close(descriptor)
