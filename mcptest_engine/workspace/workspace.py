"""The workspace: the directory that holds `.mcptest/`, and the runs stored there.

    .mcptest/
    ├── .gitignore              written once; keeps all but snapshots, cassettes and `security.yml` out of the repository
    ├── runs/<run_id>.json      one record a run, the newest 1,000
    ├── runs/<run_id>/          its outputs of over 1 MiB
    ├── snapshots/<suite>.yml
    ├── cassettes/<name>.json
    ├── suite.schema.json       of this version, for editors
    └── cache/                  stored results and answers; the workbench's drafts and other state

Any number of processes may work here at once without a lock: each writes files of its own, atomically, and deletes only runs
beyond the newest 1,000 and what killed processes left.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
import time
from collections import defaultdict
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import McptestError, RecordError
from mcptest_engine.core.safe_json import load_json
from mcptest_engine.workspace.active_runs import list_active_runs
from mcptest_engine.workspace.atomic import TEMPORARY_SUFFIX, flush_file, write_atomic, write_atomic_pieces
from mcptest_engine.workspace.files import (
    DATA_DIR,
    file_state,
    list_files,
    list_names,
    make_directory,
    open_directory,
    open_file,
    read_named_file,
)
from mcptest_engine.workspace.json_text import member_pieces
from mcptest_engine.workspace.ulid import is_ulid, newest_first, ulid_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcptest_engine.core.json_types import JsonDict

SUITE_FILES = ("mcptest.yaml", "mcptest.yml")
KEEP_RUNS = 1_000
_RUNS_REMEMBERED = 20

_GITIGNORE = b"""\
# Written once by mcptest; change it as you like.
# Runs stay on this machine. Accepted snapshots, findings and cassettes belong in the repository.
/*
!/.gitignore
!/snapshots/
!/cassettes/
!/security.yml
/snapshots/*.pending.yml
"""
_ABANDONED_SECONDS = 24 * 3600
_UNHELD_SECONDS = 60  # a younger folder may not be locked yet, or its record not saved yet
_HEAD_BYTES = 64 * 1024
_SUITE_BYTES = 2 * 1024
_PATH = re.compile(rb'"path"\s*:\s*("(?:[^"\\]|\\.)*")')
_DISK_HINTS = {
    errno.ENOSPC: "free some space on the disk",
    errno.EDQUOT: "free some of your quota",
    errno.EROFS: "the file system is read-only; start mcptest in a directory that can be written",
    errno.EACCES: "start mcptest in a directory that can be written",
    errno.EPERM: "start mcptest in a directory that can be written",
}


def find_workspace(start: Path) -> Workspace:
    """The nearest directory at or above `start` that holds `.mcptest`, `mcptest.yaml`, `mcptest.yml` or `.git`.

    `start` itself when there is none. `~/.mcptest`, the token cache, does not count.
    """
    start = start.absolute()
    for directory in (start, *start.parents):
        marks = (mark for mark in (*SUITE_FILES, ".git", DATA_DIR) if os.path.exists(f"{directory}/{mark}"))  # noqa: PTH110
        if any(mark != DATA_DIR or not _is_home(directory) for mark in marks):
            return Workspace(directory)
    return Workspace(start)


class Workspace:
    """The files under `root`/.mcptest. Nothing is created before something is saved."""

    def __init__(self, root: Path, *, keep_runs: int = KEEP_RUNS) -> None:
        self.root = root
        self.keep_runs = keep_runs
        self.data_dir = root / DATA_DIR
        self.runs_dir = self.data_dir / "runs"
        self.snapshots_dir = self.data_dir / "snapshots"
        self._held: dict[str, int] = {}
        self._remembered: _RunIndex | None = None

    def relative(self, path: Path) -> str:
        """`path` relative to the root, with `/`; one outside of it begins with `../`."""
        whole, below = os.fspath(path), f"{self.root}{os.sep}"
        if whole.startswith(below) and ".." not in whole and os.path.isabs(below):  # noqa: PTH117
            return whole[len(below) :].replace(os.sep, "/")  # the usual case, fast because a run calls this ten times
        seen = os.path.relpath(path, self.root)
        if seen.startswith(".."):
            resolved = os.path.relpath(os.path.realpath(path), os.path.realpath(self.root))
            seen = seen if resolved.startswith("..") else resolved
        return seen.replace(os.sep, "/")

    def is_stray_for(self, start: Path) -> bool:
        """Whether only a `.mcptest` in a folder above `start`, perhaps a leftover, makes this the workspace."""
        marks = (*SUITE_FILES, ".git")
        return self.root != start and not any(os.path.exists(self.root / mark) for mark in marks)  # noqa: PTH110

    def save_run(self, record_json: JsonDict, *, is_last: bool = True) -> Path:
        """Write `runs/<run_id>.json`, delete all runs but the newest `keep_runs`, and return the path.

        An iterator may stand in place of an array of the record, so that its items need not be in memory at once. A record that
        is not the last of a command is not flushed, and nothing is deleted: `flush_run` and `prune_runs` do that later.

        Raises: McptestError when the disk refuses it or the record cannot be written as JSON.
        """
        try:
            path = self._save_run(record_json, flush=is_last)
            if is_last:
                self.prune_runs()
            return path
        finally:
            held = self._held.pop(str(record_json["run_id"]), None)
            if held is not None:
                os.close(held)

    def hold_side_files(self, run_id: str) -> None:
        """Create and lock the folder of a run's large outputs, so that no other process deletes it. Raises: OSError.

        `save_run` releases the lock, as does the end of this process, however it ends.
        """
        if run_id in self._held:
            return
        self.make_runs_dir()
        with open_directory(self.runs_dir / run_id, make=True) as found:
            held = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=found)
        with contextlib.suppress(OSError):  # some file systems have no locks: there `prune_runs` goes by the age
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
        self._held[run_id] = held

    def _save_run(self, record_json: dict[str, object], *, flush: bool) -> Path:
        path = self.runs_dir / f"{record_json['run_id']}.json"
        try:
            self.make_runs_dir()
            write_atomic_pieces(path, member_pieces(record_json), flush=flush)
        except RecursionError as wrong:
            raise McptestError(f"cannot save the run as {path}: a result is nested too deeply") from wrong
        except OSError as wrong:
            raise _disk_error(path, wrong) from wrong
        return path

    def flush_run(self, path: Path) -> None:
        """Flush the record of a run to the disk; thread-safe. Raises: McptestError."""
        try:
            flush_file(path)
        except FileNotFoundError:
            return  # another command has deleted the oldest runs
        except OSError as wrong:
            raise _disk_error(path, wrong) from wrong

    def make_runs_dir(self) -> None:
        """Create `.mcptest/runs` if it is missing, and then the `.gitignore` of `.mcptest`. Raises: OSError."""
        try:
            with open_directory(self.runs_dir):
                return
        except FileNotFoundError:
            make_directory(self.runs_dir)
        self.ignore_data()

    def ignore_data(self) -> None:
        """Write the `.gitignore` of `.mcptest` if there is none. Raises: OSError."""
        ignore = self.data_dir / ".gitignore"
        try:
            file_state(ignore)
        except FileNotFoundError:
            write_atomic(ignore, _GITIGNORE)

    def runs(self) -> list[Path]:
        """The stored records, newest first, those dated in the future last. Links and pipes are left out."""
        return [self.runs_dir / f"{run_id}.json" for run_id in self._run_ids()]

    def _run_ids(self) -> list[str]:
        return newest_first(name[:-5] for name in list_files(self.runs_dir, ".json") if is_ulid(name[:-5]))

    def latest_run(self) -> tuple[Path | None, list[str]]:
        """The newest record, and a line for each file with a later name that is left out."""
        path = next(iter(self.runs()), None)
        notes = []
        for name in sorted(list_names(self.runs_dir)):
            if name.endswith(".json") and is_ulid(name[:-5]) and (path is None or name > path.name):
                try:
                    with open_file(self.runs_dir / name):
                        year = time.gmtime(ulid_seconds(name[:-5])).tm_year
                        notes.append(f"{name} has a date in the future ({year}), so it is not the latest run")
                except OSError as wrong:
                    notes.append(f"{name} is not a run record: {wrong.strerror}")
        return path, notes

    def load_run(self, id_or_path: str | Path) -> JsonDict:
        """A record as JSON values, by the run's id (in any case) or by the path of its file.

        Raises: RecordError when it is missing, cannot be read, or is not a JSON object.
        """
        text = str(id_or_path)
        path = self.runs_dir / f"{text.upper()}.json" if is_ulid(text.upper()) else Path(text)
        try:
            record = load_json(read_named_file(path))
        except FileNotFoundError:
            hint = "run ids are the file names in .mcptest/runs, without `.json`"
            raise RecordError(f'there is no run "{text}" here', hint=hint) from None
        except OSError as wrong:
            reason = wrong.strerror or str(wrong)
            raise RecordError(f"cannot read {path}: {reason}", reason=reason) from wrong
        except ValueError as wrong:
            reason = f"is not a run record: {wrong}"
            raise RecordError(f"{path} {reason}", reason=reason) from wrong
        if not isinstance(record, dict):
            reason = "is not a run record: it is not a JSON object"
            raise RecordError(f"{path} {reason}", reason=reason)
        return record

    def last_verdicts(self, suite_path: str) -> dict[str, str]:
        """The last verdict of each test of the suite by its id, from the newest 20 runs of the suite.

        A test that was not in the last run keeps the verdict of an earlier one. Skips are ignored.
        """
        verdicts: dict[str, str] = {}
        for record in islice(self._runs_of(suite_path), _RUNS_REMEMBERED):
            for test in record.get("tests", ()):
                if test.get("verdict") != "skip":
                    verdicts.setdefault(str(test.get("id")), str(test.get("verdict")))
        return verdicts

    def recent_runs(self, suite_path: str, *, most_bytes: int | None = None) -> Iterator[dict[str, object]]:
        """The newest 20 records of the suite with this path (as `relative` gives it), the newest first.

        They have at most `most_bytes` together; a record that is larger by itself is skipped.
        """
        return islice(self._runs_of(suite_path, most_bytes), _RUNS_REMEMBERED)

    def last_run(self, suite_path: str) -> dict[str, object] | None:
        """The newest record of the suite with this path (as `relative` gives it), or None. Damaged records are skipped."""
        return next(self._runs_of(suite_path), None)

    def run_files_of(self, suite_path: str) -> Iterator[Path]:
        """The records whose heads name the suite at this path, newest first: its runs, and few others."""
        return (self._remembered or _RunIndex(self.runs_dir, self._run_ids())).files_of(suite_path)

    @contextlib.contextmanager
    def remembered_runs(self) -> Iterator[None]:
        """List the stored runs once for all suites of a command; meanwhile `run_files_of` finds no later ones."""
        self._remembered = _RunIndex(self.runs_dir, self._run_ids())
        try:
            yield
        finally:
            self._remembered = None

    def _runs_of(self, suite_path: str, most_bytes: int | None = None) -> Iterator[JsonDict]:
        """The records of the suite, newest first, of at most `most_bytes` together. Damaged records are skipped."""
        left = most_bytes
        for path in self.run_files_of(suite_path):
            with contextlib.suppress(RecordError, OSError):
                if most_bytes is not None and left is not None:
                    size = file_state(path).st_size
                    if size > most_bytes:
                        continue
                    left -= size
                    if left < 0:
                        return
                record = self.load_run(path)
                suite, tests = record.get("suite"), record.get("tests", [])
                if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests):
                    continue
                if isinstance(suite, dict) and suite.get("path") == suite_path:
                    yield record

    def prune_runs(self) -> None:
        """Delete the oldest runs, and what killed processes left: temporary files, and large outputs without a record.

        No link is followed, here or in what is deleted: a repository can hold links to anywhere. Recent leftovers stay, because
        another process may not have written its record yet. Errors are ignored: another process may delete the same files.
        """
        with contextlib.suppress(OSError), open_directory(self.runs_dir) as runs:
            self._prune_in(runs, list_names(self.runs_dir))

    def _prune_in(self, runs: int, names: list[str]) -> None:
        records = newest_first(name[:-5] for name in names if name.endswith(".json") and is_ulid(name[:-5]))
        for run_id in records[max(self.keep_runs, 1) :]:
            _delete(f"{run_id}.json", runs)
            _delete(run_id, runs)
        known = set(records)
        now = time.time()
        for name in names:
            if name.endswith(TEMPORARY_SUFFIX) or (is_ulid(name) and name not in known):
                with contextlib.suppress(OSError):
                    age = now - os.stat(name, dir_fd=runs, follow_symlinks=False).st_mtime
                    if age >= _ABANDONED_SECONDS or (age >= _UNHELD_SECONDS and self._is_dead(name, runs, now)):
                        _delete(name, runs)

    def _is_dead(self, run_id: str, runs: int, now: float) -> bool:
        """Whether a run has ended without a record: its folder is not locked on this machine, and it is not listed as active.

        False for a name that is no run id. Raises: OSError when the folder is locked.
        """
        if not is_ulid(run_id):
            return False
        directory = os.open(run_id, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=runs)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(directory)
        return all(one.run_id != run_id for one in list_active_runs(self.data_dir, now))


def _disk_error(path: Path, wrong: OSError) -> McptestError:
    reason = wrong.strerror or str(wrong)
    return McptestError(f"cannot save the run as {path}: {reason}", hint=_DISK_HINTS.get(wrong.errno or 0))


def _is_home(directory: Path) -> bool:
    home = os.path.expanduser("~")  # noqa: PTH111 - does not raise where there is none
    return os.path.realpath(home) == os.path.realpath(directory)


class _RunIndex:
    """Which records name a suite, newest first. Each is read once for all suites, and only when a suite needs it."""

    def __init__(self, runs_dir: Path, run_ids: Iterable[str]) -> None:
        self._unread = (runs_dir / f"{run_id}.json" for run_id in run_ids)
        self._files: defaultdict[str, list[Path]] = defaultdict(list)

    def files_of(self, suite_path: str) -> Iterator[Path]:
        files, given = self._files[suite_path], 0
        while True:
            while given < len(files):
                yield files[given]
                given += 1
            path = next(self._unread, None)
            if path is None:
                return
            with contextlib.suppress(OSError):
                state = os.lstat(path)
                for named in _suite_paths(path, state.st_ino, state.st_mtime_ns, state.st_size):
                    self._files[named].append(path)


@lru_cache(maxsize=KEEP_RUNS)
def _suite_paths(path: Path, *_state: int) -> frozenset[str]:
    """The paths that the head of a record names, one of which is that of its suite. Cached while `_state` is the same."""
    with open_file(path) as file:
        head = file.read(_HEAD_BYTES)
    at = head.find(b'"suite"')
    suite = head[at : at + _SUITE_BYTES] if at >= 0 else b""
    paths = set()
    for text in _PATH.findall(suite) or _PATH.findall(head):
        with contextlib.suppress(ValueError):
            paths.add(json.loads(text))
    return frozenset(paths)


def _delete(name: str, parent: int) -> None:
    """Delete a file, a link (never what it leads to) or a directory of side files, which holds no directories."""
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=parent)
            return
        directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            for file in os.listdir(directory):  # noqa: PTH208 - a descriptor
                os.unlink(file, dir_fd=directory)
        finally:
            os.close(directory)
        os.rmdir(name, dir_fd=parent)
