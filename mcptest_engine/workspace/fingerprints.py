"""Fingerprints of files and folders: short texts that differ when the content does, by which caches notice changes.

A file over 16 MiB is identified by its size and modification time, because reading it would cost more than a cache saves.
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
"""A file changed more recently may change again within the clock's resolution, so its digest is not remembered."""
_digests: dict[str, tuple[tuple[int, ...], str]] = {}
"""State and digest of files by path: many suites ask for the files of the same server."""
_VENV_FILE = "pyvenv.cfg"


class TooMuchError(Exception):
    """A folder holds more than `MOST_FILES`; the message names it."""


def of_file(path: Path | str) -> str | None:
    """The fingerprint of a file's content; None when there is no regular file that can be read."""
    try:
        found = os.stat(path)  # noqa: PTH116 - called for thousands of files
        if not stat.S_ISREG(found.st_mode):
            return None
        if found.st_size > LARGEST_READ:
            return f"{found.st_size}@{found.st_mtime_ns}"
        state = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        known = _digests.get(os.fspath(path))
        if known is not None and known[0] == state:
            return known[1]
        with open(path, "rb") as file:  # noqa: PTH123
            digest = hashlib.sha256(file.read()).hexdigest()
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None
    if time.time() - found.st_ctime > _SETTLED_SECONDS:
        if len(_digests) >= MOST_FILES:
            _digests.clear()
        _digests[os.fspath(path)] = state, digest
    return digest


def of_folder(folder: Path, *, skipped: Collection[str], suffixes: Collection[str] | None = None) -> str:
    """The fingerprint of the names and contents of all files below a folder; with `suffixes`, only of files that have one.

    Hidden entries, entries whose name is in `skipped`, and Python's virtual environments are left out. A link to a folder is
    followed once. Raises: TooMuchError.
    """
    total = hashlib.sha256()
    for path in sorted(_files_below(folder, skipped)):
        if suffixes is None or os.path.splitext(path)[1] in suffixes:  # noqa: PTH122
            named = f"{os.path.relpath(path, folder)}\0{of_file(path)}\0"
            total.update(named.encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _files_below(folder: Path, skipped: Collection[str]) -> Iterator[str]:
    waiting, seen, entered = [str(folder)], 0, {os.path.realpath(folder)}
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        if any(entry.name == _VENV_FILE for entry in entries):
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
            elif (real := os.path.realpath(entry.path)) not in entered:  # links may form a cycle
                entered.add(real)
                waiting.append(entry.path)
