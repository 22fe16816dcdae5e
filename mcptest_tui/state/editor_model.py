"""A file in the editor: what it was read from, what the disk holds now, and saving it without losing anything.

A save keeps the byte order mark and the line ends. The surprising thing: what the disk holds after it is known from what was
written, not looked up, so that somebody who writes right behind it (a formatter) is noticed.
"""

from __future__ import annotations

import errno
import stat
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from mcptest_engine.workspace.files import read_file
from mcptest_engine.workspace.suite_file import write_suite

BOM = "\ufeff"
MOST_BYTES = 8 * 1024 * 1024
MOST_LINES = 5_000


class Disk(NamedTuple):
    """What stood on the disk: the digest of its bytes, "" for no file."""

    digest: str = ""

    @property
    def exists(self) -> bool:
        """Whether the file existed when it was read."""
        return bool(self.digest)


NOT_THERE = Disk()


class CannotSave(Exception):
    """The text was not written; the message has the path and the cause, and nothing on the disk has changed."""


@dataclass(slots=True)
class EditorFile:
    """One file. `saved` is the text that the disk had when it was last read or written; `disk` what that was made of.

    `read_only` says why it cannot be edited here, "" when it can; `gone` that somebody deleted it meanwhile.
    """

    path: str
    saved: str = ""
    bom: bool = False
    disk: Disk = NOT_THERE
    read_only: str = ""
    gone: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def is_new(self) -> bool:
        """Whether the file is not on the disk: not yet saved, or deleted."""
        return not self.disk.exists

    def is_dirty(self, text: str) -> bool:
        """Whether `text` would be lost without a save."""
        return self.gone or text != self.saved

    def take(self, other: EditorFile) -> None:
        """Replace the saved text and its state by those just read from the disk."""
        self.saved, self.bom, self.disk, self.read_only = other.saved, other.bom, other.disk, other.read_only
        self.gone = False

    def save(self, text: str) -> None:
        """Write `text` to the file and remember it as saved. Raises: CannotSave."""
        data = ((BOM if self.bom else "") + text).encode("utf-8", "surrogatepass")
        try:
            write_suite(self.path, data)
        except OSError as wrong:
            raise CannotSave(f"{self.path}: {reason(wrong)}") from wrong
        self.saved, self.disk, self.gone = text, Disk(digest_of(data)), False


def open_file(path: str) -> EditorFile:
    """Read a file; one that is not there is new and empty. Raises: OSError for one that cannot be read."""
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is not a file" if not stat.S_ISDIR(status.st_mode) else "is a folder", path)
        if status.st_size > MOST_BYTES:
            size = status.st_size // 1024 // 1024
            return EditorFile(path, "", False, Disk("large"), f"it has {size} MB, too much for the editor")
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return EditorFile(path)
    return _file_of(path, data)


def _file_of(path: str, data: bytes) -> EditorFile:
    disk = Disk(digest_of(data))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return EditorFile(path, data.decode("utf-8", "replace"), False, disk, "the file is not UTF-8")
    bom = text.startswith(BOM)
    text = text.removeprefix(BOM)
    lines = text.count("\n") + 1
    why = f"its {lines:,} lines would make each key slow" if lines > MOST_LINES else ""
    return EditorFile(path, text, bom, disk, why)


def look(path: str) -> Disk:
    """Return what the disk holds now; an unreadable file counts as missing."""
    try:
        return Disk(digest_of(read_file(path)))
    except OSError:
        return Disk()


def reason(wrong: OSError) -> str:
    """Return the cause of an error in plain words: "no space left on device"."""
    said = wrong.strerror or str(wrong)
    return said[:1].lower() + said[1:]


def digest_of(data: bytes) -> str:
    """Return a short hash of a file's content."""
    return blake2b(data, digest_size=12).hexdigest()


def newline_of(text: str) -> str:
    """The line end that splits the text so that joining gives it back, byte for byte.

    CRLF only where every line ends so; in a mixed file the CRs stay, visible, at the ends of their lines.
    """
    if "\r" not in text:
        return "\n"
    if "\n" not in text:
        return "\r"
    return "\r\n" if text.count("\r\n") == text.count("\n") else "\n"
