"""Unsaved text that survives a crash: `.mcptest/cache/drafts/`, one file for each text that is not on the disk.

Where that folder cannot be written, a person's own state folder is taken, then the system's for temporary files. A text that a
person chose not to keep (theirs or mine, when both had changed) is put beside them as it is.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import list_files, list_states, make_directory, read_file, remove_file
from mcptest_tui.places import cache_dir, state_file

SUFFIX = ".draft.json"
_MOST_KEPT = 40
_MOST_BYTES = 16 * 1024 * 1024


class Draft(NamedTuple):
    """The unsaved text of a file. `base` is the digest of what the disk held when it was begun, `at` a time stamp."""

    path: str
    text: str
    base: str
    at: float
    line: int = 0
    column: int = 0


class Drafts:
    """Writes, finds and deletes the drafts of a workspace: unsaved texts of its files."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._written: dict[str, tuple[str, Path]] = {}

    def put(self, draft: Draft) -> Path | None:
        """Write a draft; None when no folder is writable. The same text again is not written again."""
        known = self._written.get(draft.path)
        if known is not None and known[0] == draft.text:
            return known[1]
        data = json.dumps(draft._asdict(), ensure_ascii=True).encode()
        path = self._put(_name_of(draft.path) + SUFFIX, data)
        if path is not None:
            if known is not None and known[1] != path:
                _delete(known[1])
            self._written[draft.path] = (draft.text, path)
        return path

    def find(self, path: str) -> Draft | None:
        """Return the newest draft of a file, None without one."""
        found = [
            draft
            for folder in self._folders()
            if (draft := _read_draft(folder / (_name_of(path) + SUFFIX))) is not None
        ]
        found = [draft for draft in found if draft.path == path]
        return max(found, key=lambda draft: draft.at, default=None)

    def drop(self, path: str) -> None:
        """Delete the draft of a file whose text was saved or discarded."""
        self._written.pop(path, None)
        for folder in self._folders():
            _delete(folder / (_name_of(path) + SUFFIX))

    def left_behind(self, under: Path) -> list[Draft]:
        """Every draft of a file under a folder whose text is not what the disk holds, the newest first."""
        found: dict[str, Draft] = {}
        files = [folder / name for folder in self._folders() for name in sorted(list_files(folder, SUFFIX))]
        for file in files:
            draft = _read_draft(file)
            if draft is None or not Path(draft.path).is_relative_to(under):
                continue
            if draft.path not in found or found[draft.path].at < draft.at:
                found[draft.path] = draft
        left = [draft for draft in found.values() if not _is_on_disk(draft)]
        return sorted(left, key=lambda draft: -draft.at)

    def keep(self, path: str, content: str | bytes, what: str) -> Path | None:
        """Put a whole text aside as a file that can be opened; returns where. `what` is a word such as "theirs"."""
        data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        kept = self._put(self._free_name(path, what), data)
        if kept is not None:
            self._prune(kept.parent)
        return kept

    def _free_name(self, path: str, what: str) -> str:
        """A name that nothing put aside has: files of one name lie in many folders, and much happens within a second."""
        stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
        stamp = time.strftime("%Y%m%d-%H%M%S")
        begin = f"{(stem or suffix)[:40]}.{what}.{stamp}-{_digest_of(path)}"
        end = f"{dot}{suffix if stem else 'txt'}"
        name, number = begin + end, 2
        while any(os.path.lexists(folder / name) for folder in self._folders()):
            name, number = f"{begin}-{number}{end}", number + 1
        return name

    def _put(self, name: str, data: bytes) -> Path | None:
        for folder in self._folders():
            try:
                if folder == self._folders()[0]:
                    from mcptest_engine.workspace.workspace import Workspace

                    Workspace(
                        self._root
                    ).make_runs_dir()  # with the `.gitignore` that keeps drafts out of the repository
                make_directory(folder, mode=0o700)
                if folder == _temporary_folder() and not _is_private(folder):
                    continue
                write_atomic(folder / name, data, mode=0o600)
            except OSError:
                continue
            return folder / name
        return None

    def _folders(self) -> tuple[Path, ...]:
        """Where drafts may be, the first choice first; a temporary folder that others can write in is none."""
        usual = cache_dir(self._root) / "drafts", state_file().parent / "drafts"
        temporary = _temporary_folder()
        return (*usual, temporary) if _is_private(temporary) else usual

    def _prune(self, folder: Path) -> None:
        """Delete all but the newest of the stored texts."""
        kept = [
            (state.st_mtime, name)
            for name, state in list_states(folder)
            if not name.endswith(SUFFIX) and not name.startswith(".")
        ]
        for _, name in sorted(kept)[:-_MOST_KEPT]:
            _delete(folder / name)


def _temporary_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"mcptest-drafts-{os.getuid()}"


def _is_private(folder: Path) -> bool:
    """Whether a folder is this user's alone, or is not there yet. Its name can be guessed, so another user may have made it."""
    try:
        state = folder.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o077


def _name_of(path: str) -> str:
    return f"{path.rpartition('/')[2][:40]}-{_digest_of(path)}"


def _digest_of(path: str) -> str:
    return blake2b(path.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _read_draft(file: Path) -> Draft | None:
    try:
        told = json.loads(read_file(file, largest=_MOST_BYTES))
        kinds = (("path", str), ("text", str), ("base", str), ("at", (int, float)), ("line", int), ("column", int))
        sound = all(isinstance(told.get(name), kind) for name, kind in kinds)
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return Draft(**{name: told[name] for name in Draft._fields}) if sound else None


def _is_on_disk(draft: Draft) -> bool:
    try:
        return read_file(draft.path, largest=_MOST_BYTES).decode("utf-8-sig", "replace") == draft.text
    except (OSError, ValueError):
        return not draft.text


def _delete(path: Path) -> None:
    with suppress(OSError):
        remove_file(path)
