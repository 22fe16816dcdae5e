"""Files that are there whole or not at all: written beside their place, flushed to the disk, renamed into it.

The surprising thing is the second flush, of the directory: without it a power cut can undo the rename.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

TEMPORARY_SUFFIX = ".tmp"
DATA_DIR = ".mcptest"
_BLOCK = 256 * 1024


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644, flush: bool = True) -> None:
    """Replace the file at `path` by `data`; `mode` is narrowed by the umask. The directory must exist.

    Without `flush`, other processes still see it whole or not at all, but a power cut may tear it.
    Raises: OSError; then nothing is left behind and what stood at `path` still does.
    """
    write_atomic_pieces(path, (data,), mode=mode, flush=flush)


def write_atomic_pieces(path: Path, pieces: Iterable[bytes], *, mode: int = 0o644, flush: bool = True) -> int:
    """The same for data made bit by bit, so that it is never in memory as a whole. Returns how many bytes were written.

    Raises: OSError, and whatever `pieces` raises.
    """
    directory, name = os.path.split(path)
    refuse_links(directory)
    # A long name must not become too long by what is added here.
    temporary = os.path.join(directory, f".{name[:40]}.{os.getpid()}.{os.urandom(6).hex()}{TEMPORARY_SUFFIX}")  # noqa: PTH118
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor, not a path
            size = sum(_write_all(file.fileno(), block) for block in _blocks(pieces))
            if flush:
                os.fsync(descriptor)
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise
    if flush:
        _flush_directory(directory)
    return size


def refuse_links(directory: str | os.PathLike[str]) -> None:
    """Refuse a directory of a workspace that a link leads to: git stores links, so a cloned one may lead anywhere.

    `.mcptest` itself and what lies below it are looked at. `~/.mcptest`, the token cache, is its owner's own.
    Raises: OSError with ELOOP for a link.
    """
    place = os.path.abspath(directory)  # noqa: PTH100 - resolves no links
    if DATA_DIR not in place:
        return
    below = []
    while True:
        parent, name = os.path.split(place)
        below.append(place)
        if name == DATA_DIR:
            break
        if parent == place:
            return
        place = parent
    for directory in reversed(below):
        try:
            linked = stat.S_ISLNK(os.lstat(directory).st_mode)
        except FileNotFoundError:
            return
        if linked and os.path.realpath(parent) != os.path.realpath(os.path.expanduser("~")):  # noqa: PTH111
            shown = os.path.relpath(directory, parent)
            raise OSError(
                errno.ELOOP, f"{shown} is a link, and links are not followed there; replace it by a directory"
            )


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks worth a call of the system; a piece that is a block by itself is not copied."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _BLOCK:
            yield held[0] if len(held) == 1 else b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _write_all(descriptor: int, data: bytes) -> int:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    return len(data)


def _flush_directory(directory: str) -> None:
    """Best effort: some file systems refuse to flush a directory, and the file itself is already safe."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory or os.curdir, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
