"""Atomic writes: data goes to a temporary file in the same directory, is flushed to the disk, and is renamed into place.

The directory is flushed as well: without that a power cut can undo the rename. Under `.mcptest` no link is followed
(`files.py`), and a link at the path itself is replaced.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from mcptest_engine.workspace.files import open_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

TEMPORARY_SUFFIX = ".tmp"
_BLOCK = 256 * 1024


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644, flush: bool = True) -> None:
    """Replace the file at `path` by `data`; `mode` is narrowed by the umask. The directory must exist.

    Without `flush` other processes still never see a partial file, but a power cut may leave one.
    Raises: OSError, with ELOOP for a link; then `path` is unchanged and no temporary file remains.
    """
    write_atomic_pieces(path, (data,), mode=mode, flush=flush)


def write_atomic_pieces(path: Path, pieces: Iterable[bytes], *, mode: int = 0o644, flush: bool = True) -> int:
    """Like `write_atomic`, for data that is made in pieces and never held in memory as a whole. Returns the number of bytes.

    Raises: OSError, and whatever `pieces` raises.
    """
    directory, name = os.path.split(path)
    # The name is cut, so that the temporary one does not exceed the file system's limit.
    temporary = f".{name[:40]}.{os.getpid()}.{os.urandom(6).hex()}{TEMPORARY_SUFFIX}"
    with open_directory(directory) as parent:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=parent)
        try:
            with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor, not a path
                size = sum(_write_all(file.fileno(), block) for block in _blocks(pieces))
                if flush:
                    os.fsync(descriptor)
            os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
            raise
        if flush:
            _flush_directory(parent)
    return size


def flush_file(path: Path) -> None:
    """Flush a file that was written without `flush`, and its directory. Raises: OSError."""
    with open_directory(path.parent) as parent:
        descriptor = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _flush_directory(parent)


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join `pieces` into blocks of at least 256 KiB, to save system calls; a single piece of that size is not copied."""
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


def _flush_directory(directory: int) -> None:
    """Flush a directory where the file system allows it; the file's own data is already on the disk."""
    with contextlib.suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
