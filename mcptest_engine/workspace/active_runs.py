"""Runs that have not finished: `.mcptest/under-way/<run id>.<process>.json`, for whoever looks at the workspace.

    { run_id, suite, total, finished, failed, inconclusive }

The file is written anew while the run lives and removed at its end. One that was not touched for `ALIVE_SECONDS` belongs to a
run that was killed and is ignored; so no process has to be asked, which may be on another machine.
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

ALIVE_SECONDS = 10.0
ABANDONED_SECONDS = 3600.0
LONGEST = 300
_LARGEST = 4_096
_COUNTS = ("total", "finished", "failed", "inconclusive")


class ActiveRun(NamedTuple):
    """A run that has not finished: how many tests it has, and how many of them finished, failed or were inconclusive."""

    run_id: str
    suite: str
    total: int = 0
    finished: int = 0
    failed: int = 0
    inconclusive: int = 0


class ActiveRunFile:
    """The file of one process of one run. `data_dir` has to be there; a disk that refuses the file costs nothing but it."""

    def __init__(self, data_dir: Path, run_id: str) -> None:
        self._data_dir = data_dir
        self._path = active_runs_dir(data_dir) / f"{run_id}.{os.getpid()}.json"

    def write(self, run: ActiveRun) -> None:
        """Write how far the run is."""
        values = {**run._asdict(), "suite": run.suite[:LONGEST]}
        with contextlib.suppress(OSError):
            make_directory(self._path.parent)
            write_atomic(self._path, json.dumps(values).encode(), mode=0o600, flush=False)

    def touch(self) -> None:
        """Show that the run still lives."""
        with contextlib.suppress(OSError):
            touch_file(self._path)

    def remove(self, now: float) -> None:
        """Remove the file, and those of runs that were killed over `ABANDONED_SECONDS` before `now` (seconds since 1970)."""
        with contextlib.suppress(OSError):
            remove_file(self._path)
            for path, touched in _list_files(self._data_dir):
                if now - touched > ABANDONED_SECONDS:
                    remove_file(path)


def active_runs_dir(data_dir: Path) -> Path:
    """The folder of these files in a workspace's `.mcptest`."""
    return data_dir / "under-way"


def list_active_runs(data_dir: Path, now: float) -> tuple[ActiveRun, ...]:
    """The runs that have not finished, newest first; the counts of one that several processes run are added up."""
    found: dict[str, ActiveRun] = {}
    for path, touched in _list_files(data_dir):
        run = _read_active_run(path) if abs(now - touched) < ALIVE_SECONDS else None
        if run is None:
            continue
        before = found.get(run.run_id)
        found[run.run_id] = run._replace(**{name: getattr(run, name) + getattr(before, name, 0) for name in _COUNTS})
    return tuple(sorted(found.values(), reverse=True))


def _list_files(data_dir: Path) -> Iterator[tuple[Path, float]]:
    """The files and when each was touched, in seconds since 1970."""
    folder = active_runs_dir(data_dir)
    for name, state in list_states(folder):
        if name.endswith(".json") and is_ulid(name.partition(".")[0]):
            yield folder / name, state.st_mtime


def _read_active_run(path: Path) -> ActiveRun | None:
    """None for a file that holds no such object, or is no longer there."""
    try:
        values = json.loads(read_file(path, largest=_LARGEST))
        counts = {name: min(max(int(values[name]), 0), 10**9) for name in _COUNTS}
        return ActiveRun(run_id=path.name.partition(".")[0], suite=str(values["suite"])[:LONGEST], **counts)
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
