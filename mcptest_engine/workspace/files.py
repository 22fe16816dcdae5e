"""Open files under `.mcptest` without following links: only regular files, and what is read whole has a size limit.

Git stores links, so a cloned repository may hold a `.mcptest` whose files and folders lead anywhere. From `.mcptest` on, each
folder is therefore opened from within the one above it, and a link, pipe, device or socket is refused. Links are followed in
paths without `.mcptest`, which a person named, and for folders of `~/.mcptest`, the token cache, which is the user's own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    StrPath = str | os.PathLike[str]

DATA_DIR = ".mcptest"
LARGEST = 1 << 30
"""The default limit for a file that is read as a whole, in bytes."""
_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # opening a pipe without a writer must not block
_PIECE = 1 << 20
_LINK = "is a link, and links are not followed there; replace it with"
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}


def is_data_path(path: StrPath) -> bool:
    """Whether a path is `.mcptest` or lies below it."""
    return bool(_split(path)[1])


def leads_inside(path: StrPath, root: StrPath) -> bool:
    """Whether `path`, which need not exist, lies in `root` when every link is followed."""
    inner, outer = os.path.realpath(path), os.path.realpath(root)
    return os.path.commonpath((inner, outer)) == outer


@contextlib.contextmanager
def open_directory(directory: StrPath, *, make: bool = False, mode: int = 0o777) -> Iterator[int]:
    """Open a directory; the descriptor is usable only as `dir_fd`. With `make`, missing directories are created.

    Raises: OSError, with ELOOP for a link.
    """
    top, names = _split(directory)
    if make:
        os.makedirs(top, 0o777 if names else mode, exist_ok=True)  # noqa: PTH103
    descriptor = os.open(top, _DIRECTORY)
    try:
        for at, name in enumerate(names):
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, mode if at == len(names) - 1 else 0o777, dir_fd=descriptor)
            inner = _open_inner(name, descriptor, top, "/".join(names[: at + 1]))
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def make_directory(directory: StrPath, *, mode: int = 0o777) -> None:
    """Create a directory and its missing parents. Raises: OSError, with ELOOP for a link."""
    with open_directory(directory, make=True, mode=mode):
        pass


def open_file(path: StrPath, *, largest: int | None = None) -> BinaryIO:
    """Open a regular file for reading. Raises: OSError, with ELOOP for a link and EFBIG for more than `largest` bytes."""
    folder, name = os.path.split(os.path.abspath(path))  # noqa: PTH100
    follow = not _split(folder)[1]
    with open_directory(folder) as parent:
        try:
            descriptor = os.open(name, _READ | (0 if follow else os.O_NOFOLLOW), dir_fd=parent)
        except OSError as wrong:
            if wrong.errno == errno.ELOOP and not follow:
                raise OSError(errno.ELOOP, f"{name} {_LINK} the file") from None
            if wrong.errno == errno.ENXIO:  # a socket
                raise OSError(errno.EINVAL, f"{name} is a socket or device, not a file") from None
            raise
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, f"{name} is {_KINDS.get(stat.S_IFMT(found.st_mode), 'a directory')}, no file")
        _check_size(name, found.st_size, largest)
        return open(descriptor, "rb")  # noqa: PTH123 - a descriptor, not a path
    except BaseException:
        os.close(descriptor)
        raise


def read_file(path: StrPath, *, largest: int = LARGEST) -> bytes:
    """Read a regular file as a whole. Raises: OSError, with ELOOP for a link and EFBIG for more than `largest` bytes."""
    with open_file(path, largest=largest) as file:
        data = file.read(largest + 1)  # it may grow meanwhile
    _check_size(os.path.basename(path), len(data), largest)  # noqa: PTH119
    return data


def read_named_file(path: StrPath, *, largest: int = LARGEST) -> bytes:
    """Read a file that a person named. Unless it lies under `.mcptest`, links are followed, and devices and pipes are read.

    Raises: OSError, with EFBIG for more than `largest` bytes: a device may have no end.
    """
    if is_data_path(path):
        return read_file(path, largest=largest)
    with open(path, "rb") as file:  # noqa: PTH123 - follows links, and waits for pipes
        data = bytearray()
        while len(data) <= largest and (piece := file.read(_PIECE)):
            data += piece
    _check_size(os.path.basename(path), len(data), largest)  # noqa: PTH119
    return bytes(data)


def list_files(directory: StrPath, suffix: str = "") -> list[str]:
    """The names of the regular files in a directory that end in `suffix`; none when it cannot be read."""
    return [entry.name for entry in _entries(directory) if entry.name.endswith(suffix) and _is_file(entry)]


def list_names(directory: StrPath) -> list[str]:
    """The names of everything in a directory; none when it cannot be read."""
    return [entry.name for entry in _entries(directory)]


def list_states(directory: StrPath) -> list[tuple[str, os.stat_result]]:
    """The names and states of the regular files in a directory; none when it cannot be read."""
    found = []
    for entry in _entries(directory):
        with contextlib.suppress(OSError):  # deleted meanwhile
            if _is_file(entry):
                found.append((entry.name, entry.stat(follow_symlinks=False)))
    return found


def file_state(path: StrPath) -> os.stat_result:
    """The state of a file or directory; in a folder under `.mcptest`, of a link itself. Raises: OSError."""
    folder, name = os.path.split(os.path.abspath(path))  # noqa: PTH100
    with open_directory(folder) as parent:
        return os.stat(name, dir_fd=parent, follow_symlinks=not _split(folder)[1])


def touch_file(path: StrPath) -> None:
    """Set the times of a file to now. Raises: OSError."""
    folder, name = os.path.split(os.path.abspath(path))  # noqa: PTH100
    with open_directory(folder) as parent:
        os.utime(name, dir_fd=parent, follow_symlinks=False)


def remove_file(path: StrPath) -> bool:
    """Delete a file, or a link but not its target; return False when there was none. Raises: OSError."""
    folder, name = os.path.split(os.path.abspath(path))  # noqa: PTH100
    try:
        with open_directory(folder) as parent:
            os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return False
    return True


def _split(directory: StrPath) -> tuple[str, list[str]]:
    """Split a directory into the part in which links are followed, and the names below it that must not be links."""
    place = os.path.abspath(directory)  # noqa: PTH100 - resolves no links
    top, found, below = f"{place}/".rpartition(f"/{DATA_DIR}/")
    return (top or "/", [DATA_DIR, *below.split("/")[:-1]]) if found else (place, [])


def _open_inner(name: str, parent: int, top: str, shown: str) -> int:
    try:
        return os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as wrong:
        # For a link in place of a directory, some systems report ENOTDIR and some ELOOP.
        if wrong.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        if not stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise
    if os.path.realpath(top) == os.path.realpath(os.path.expanduser("~")):  # noqa: PTH111
        return os.open(name, _DIRECTORY, dir_fd=parent)
    raise OSError(errno.ELOOP, f"{shown} {_LINK} a directory")


def _entries(directory: StrPath) -> Iterator[os.DirEntry[str]]:
    """The entries of a directory, which stays open meanwhile; none when it cannot be read."""
    try:
        with open_directory(directory) as found:
            descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=found)
    except OSError:
        return
    try:
        with os.scandir(descriptor) as entries:
            yield from entries
    except OSError:
        return
    finally:
        os.close(descriptor)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _check_size(name: str, size: int, largest: int | None) -> None:
    if largest is not None and size > largest:
        raise OSError(errno.EFBIG, f"{name} is too large: {size:,} bytes, at most {largest:,} are read")
