"""Files of unfinished runs: `.mcptest/under-way/<run id>.<process>.json`, by which other processes list these runs.

    { run_id, suite, total, finished, failed, inconclusive }

The file is rewritten while the run goes on and removed at its end. A file that was not touched for `ALIVE_SECONDS` belongs to a
killed run and is ignored. Its age decides, not the process id, because the process may be on another machine.
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
    """The file of one process of one run. `data_dir` must exist. Disk errors are ignored: the run goes on without the file."""

    def __init__(self, data_dir: Path, run_id: str) -> None:
        self._data_dir = data_dir
        self._path = active_runs_dir(data_dir) / f"{run_id}.{os.getpid()}.json"

    def write(self, run: ActiveRun) -> None:
        """Write the progress of the run."""
        values = {**run._asdict(), "suite": run.suite[:LONGEST]}
        with contextlib.suppress(OSError):
            make_directory(self._path.parent)
            write_atomic(self._path, json.dumps(values).encode(), mode=0o600, flush=False)

    def touch(self) -> None:
        """Update the file's time, which shows that the run is alive."""
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
    """The folder with the files of unfinished runs in a workspace's `.mcptest`."""
    return data_dir / "under-way"


def list_active_runs(data_dir: Path, now: float) -> tuple[ActiveRun, ...]:
    """The unfinished runs, newest first; the counts of a run that several processes share are added up."""
    found: dict[str, ActiveRun] = {}
    for path, touched in _list_files(data_dir):
        run = _read_active_run(path) if abs(now - touched) < ALIVE_SECONDS else None
        if run is None:
            continue
        before = found.get(run.run_id)
        found[run.run_id] = run._replace(**{name: getattr(run, name) + getattr(before, name, 0) for name in _COUNTS})
    return tuple(sorted(found.values(), reverse=True))


def _list_files(data_dir: Path) -> Iterator[tuple[Path, float]]:
    """The files of unfinished runs, each with the time when it was last touched, in seconds since 1970."""
    folder = active_runs_dir(data_dir)
    for name, state in list_states(folder):
        if name.endswith(".json") and is_ulid(name.partition(".")[0]):
            yield folder / name, state.st_mtime


def _read_active_run(path: Path) -> ActiveRun | None:
    """The run in a file; None for a file that is gone or holds no such object."""
    try:
        values = json.loads(read_file(path, largest=_LARGEST))
        counts = {name: min(max(int(values[name]), 0), 10**9) for name in _COUNTS}
        return ActiveRun(run_id=path.name.partition(".")[0], suite=str(values["suite"])[:LONGEST], **counts)
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
