"""Processes that a test has started: which are left, waiting until something holds, saving a file that one of them watches."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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


def is_running(pid: int) -> bool:
    """Whether the process runs; a zombie that waits for its parent does not."""
    try:
        os.kill(pid, 0)
        if not Path("/proc/self/stat").exists():
            return True
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (ProcessLookupError, FileNotFoundError):  # gone, perhaps between the two questions
        return False


def until(true: Callable[[], object], *, seconds: float = 60) -> None:
    """Look until something holds; fails loudly when it does not come to pass."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.005)


def longer(first_seconds: float) -> Iterator[float]:
    """Limits in seconds, each three times the one before.

    For what only shows where something comes before a limit that is then run into: the first is enough on a machine that has
    nothing else to do, and the last on any.
    """
    seconds = first_seconds
    while seconds < 30:
        yield seconds
        seconds *= 3


def free_port() -> int:
    """A free port below the ephemeral range, so that the system does not give it to another program."""
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def save(path: Path, text: str, *, mode: int | None = None) -> None:
    """Write a file in one step, as most editors do: whoever watches or reads it sees the old text or the new one."""
    aside = path.with_name(f".{path.name}.new")
    aside.write_text(text, encoding="utf-8")
    if mode is not None:
        aside.chmod(mode)
    aside.replace(path)
