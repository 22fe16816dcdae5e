"""What files and folders hold, as short texts that differ when the content does.

For whoever keeps something only as long as files stay as they are. The surprising thing: a large file goes by its size and the
time of its last change, because reading it would cost more than what is saved by it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

LARGEST_READ = 16 * 1024 * 1024
MOST_FILES = 5_000
_SETTLED_SECONDS = 2.0
"""A file that was changed later may change again within the resolution of the clock, and is read each time."""
_read: dict[str, tuple[tuple[int, ...], str]] = {}
"""The fingerprints of files as they were: each of many suites asks for those of the same server."""
_ENVIRONMENT = "pyvenv.cfg"


class TooMuchError(Exception):
    """A folder holds more than `MOST_FILES`; the message names it."""


def of_file(path: Path | str) -> str | None:
    """The fingerprint of a file's content; None where there is no file that can be read."""
    try:
        found = os.stat(path)  # noqa: PTH116 - called for thousands of files
        if not stat.S_ISREG(found.st_mode):
            return None
        if found.st_size > LARGEST_READ:
            return f"{found.st_size}@{found.st_mtime_ns}"
        state = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        known = _read.get(os.fspath(path))
        if known is not None and known[0] == state:
            return known[1]
        with open(path, "rb") as file:  # noqa: PTH123
            digest = hashlib.sha256(file.read()).hexdigest()
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None
    if time.time() - found.st_ctime > _SETTLED_SECONDS:
        if len(_read) >= MOST_FILES:
            _read.clear()
        _read[os.fspath(path)] = state, digest
    return digest


def of_folder(folder: Path, *, skipped: Collection[str], suffixes: Collection[str] | None = None) -> str:
    """The fingerprint of every file below a folder, its name included; of those with one of `suffixes` where they are given.

    Hidden ones, folders whose name is among `skipped`, and Python's virtual environments are passed by; a link to a folder is
    followed once.
    Raises: TooMuchError.
    """
    total = hashlib.sha256()
    for path in sorted(_below(folder, skipped)):
        if suffixes is None or os.path.splitext(path)[1] in suffixes:  # noqa: PTH122
            told = f"{os.path.relpath(path, folder)}\0{of_file(path)}\0"
            total.update(told.encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _below(folder: Path, skipped: Collection[str]) -> Iterator[str]:
    waiting, seen, entered = [str(folder)], 0, {os.path.realpath(folder)}
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        if any(entry.name == _ENVIRONMENT for entry in entries):
            continue
        seen += len(entries)
        if seen > MOST_FILES:
            raise TooMuchError(f"{folder} contains more than {MOST_FILES} files")
        for entry in entries:
            if entry.name.startswith(".") or entry.name in skipped:
                continue
            if not entry.is_dir():
                yield entry.path
            elif not entry.is_symlink():
                waiting.append(entry.path)
            elif (real := os.path.realpath(entry.path)) not in entered:  # a link may lead round in a circle
                entered.add(real)
                waiting.append(entry.path)
