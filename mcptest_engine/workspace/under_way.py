"""What a run that goes on says of itself: `.mcptest/under-way/<run id>.<process>.json`, for whoever looks at the workspace.

    { run_id, suite, total, finished, failed, inconclusive }

It is written anew while the run lives and taken away at its end. One that was not touched for a while belongs to a run that was
killed and tells of nothing; so no process has to be asked, which may be on another machine.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import list_states, make_directory, read_file, remove_file, touch_file
from mcptest_engine.workspace.ulid import is_ulid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcptest_engine.workspace.workspace import Workspace

ALIVE_SECONDS = 10.0
ABANDONED_SECONDS = 3600.0
LONGEST = 300
_LARGEST = 4_096
_COUNTS = ("total", "finished", "failed", "inconclusive")


class Going(NamedTuple):
    """A run that goes on: how many of its tests there are, have ended, and came to what."""

    run_id: str
    suite: str
    total: int = 0
    finished: int = 0
    failed: int = 0
    inconclusive: int = 0


class Note:
    """What one process says of one run. A disk that refuses it costs nothing but the note."""

    def __init__(self, workspace: Workspace, run_id: str) -> None:
        self._workspace = workspace
        self._path = under_way_dir(workspace) / f"{run_id}.{os.getpid()}.json"

    def write(self, going: Going) -> None:
        """Say how far the run is."""
        told = {**going._asdict(), "suite": going.suite[:LONGEST]}
        with contextlib.suppress(OSError):
            self._workspace.make_runs_dir()
            make_directory(self._path.parent)
            write_atomic(self._path, json.dumps(told).encode(), mode=0o600, flush=False)

    def touch(self) -> None:
        """Say that it still goes on."""
        with contextlib.suppress(OSError):
            touch_file(self._path)

    def remove(self, now: float) -> None:
        """The run is over; what runs left behind that were killed long ago goes as well."""
        with contextlib.suppress(OSError):
            remove_file(self._path)
            for path, touched in _files(self._workspace):
                if now - touched > ABANDONED_SECONDS:
                    remove_file(path)


def under_way_dir(workspace: Workspace) -> Path:
    """Where runs that go on leave their notes."""
    return workspace.data_dir / "under-way"


def going(workspace: Workspace, now: float) -> tuple[Going, ...]:
    """The runs that go on, newest first; the parts of one that several processes run are added up."""
    found: dict[str, Going] = {}
    for path, touched in _files(workspace):
        told = _read(path) if abs(now - touched) < ALIVE_SECONDS else None
        if told is None:
            continue
        before = found.get(told.run_id)
        sums = {name: getattr(told, name) + getattr(before, name, 0) for name in _COUNTS}
        found[told.run_id] = told._replace(**sums)
    return tuple(sorted(found.values(), reverse=True))


def _files(workspace: Workspace) -> Iterator[tuple[Path, float]]:
    """The notes and when each was touched, in seconds since 1970."""
    folder = under_way_dir(workspace)
    for name, state in list_states(folder):
        if name.endswith(".json") and is_ulid(name.partition(".")[0]):
            yield folder / name, state.st_mtime


def _read(path: Path) -> Going | None:
    """What a note says; None for a file that is none, or is no longer there."""
    try:
        told = json.loads(read_file(path, largest=_LARGEST))
        counts = {name: min(max(int(told[name]), 0), 10**9) for name in _COUNTS}
        return Going(run_id=path.name.partition(".")[0], suite=str(told["suite"])[:LONGEST], **counts)
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
