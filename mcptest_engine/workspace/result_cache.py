"""Results kept to be judged again: one file each, `<key>.json`, in `.mcptest/cache/results` or a folder of the user's.

    { schema_version: "mcptest.result/v1", key, mcptest_version, test, answer: {result | error, http?, notifications?},
      duration_ms, request?, session? }

What scorers said is kept in the same way in `.mcptest/cache/verdicts`:

    { schema_version: "mcptest.verdict/v1", key, mcptest_version, scorer,
      verdict: {verdict, score, reasoning, cost_usd, extra} }

and what models answered in `.mcptest/cache/models`:

    { schema_version: "mcptest.model/v2", key, mcptest_version, model, duration_ms,
      answer: {text, stop, tokens_in, tokens_out, cost_usd, uses?, thinking?} }

Any number of processes may read and write here at once without a lock: a file is there whole or not at all, and whatever
cannot be read counts as not there. Nothing but files of that name is ever deleted, so that the folder may hold others.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.workspace.atomic import TEMPORARY_SUFFIX, write_atomic
from mcptest_engine.workspace.files import list_states, make_directory, open_directory, read_file, touch_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcptest_engine.workspace.workspace import Workspace

SCHEMA_VERSION = "mcptest.result/v1"
VERDICT_SCHEMA = "mcptest.verdict/v1"
MODEL_SCHEMA = "mcptest.model/v2"
LARGEST = 1024 * 1024
"""Bytes of one result that is kept."""
MOST_RESULTS = 5_000
MOST_BYTES = 64 * 1024 * 1024
_KEPT_SHARE = 0.9
_ABANDONED_SECONDS = 3600
_NAME = lazy_pattern(r"[0-9a-f]{64}\.json")
_UNFINISHED = lazy_pattern(r"\.[0-9a-f]{40}\.[0-9]+\.[0-9a-f]{12}" + re.escape(TEMPORARY_SUFFIX))


class _File(NamedTuple):
    used_at: float
    size: int
    name: str


class CacheSize(NamedTuple):
    """How many results there are, and how many bytes they take."""

    results: int
    size: int


def results_dir(workspace: Workspace) -> Path:
    """Where results are kept unless told otherwise; beside what the workbench keeps, which is none of it."""
    return workspace.data_dir / "cache" / "results"


def verdicts_dir(workspace: Workspace) -> Path:
    """Where what scorers said is kept."""
    return workspace.data_dir / "cache" / "verdicts"


def models_dir(workspace: Workspace) -> Path:
    """Where what models answered is kept."""
    return workspace.data_dir / "cache" / "models"


class ResultCache:
    """The results in one folder, which is made when there is something to keep. `damaged` counts those that were none.

    `schema` is the `schema_version` of what is kept in it.
    """

    def __init__(self, folder: Path, schema: str = SCHEMA_VERSION) -> None:
        self.folder = folder
        self.damaged = 0
        self._schema = schema

    def get(self, key: str) -> dict[str, Any] | None:
        """What is kept under `key`, None when nothing is, or nothing that can be read."""
        path = self.folder / f"{key}.json"
        try:
            entry = json.loads(read_file(path, largest=LARGEST))
        except (FileNotFoundError, NotADirectoryError):  # of the latter, whoever stores something tells
            return None
        except (OSError, ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict) or entry.get("schema_version") != self._schema or entry.get("key") != key:
            self.damaged += 1
            return None
        with contextlib.suppress(OSError):
            touch_file(path)  # what was used last is deleted last
        return entry

    def make_folder(self) -> None:
        """Make the folder where it is missing. Raises: OSError."""
        make_directory(self.folder)

    def put(self, entries: Mapping[str, bytes]) -> None:
        """Keep these, by key, and delete what is beyond the bounds. Raises: OSError when the disk refuses one."""
        self.make_folder()
        for key, data in entries.items():
            self.put_one(key, data)
        self.trim()

    def put_one(self, key: str, data: bytes) -> None:
        """Keep one in the folder, which must be there; `trim` is to follow some time. Raises: OSError."""
        # Not flushed to the disk: what a power cut tears is read as nothing.
        write_atomic(self.folder / f"{key}.json", data, mode=0o600, flush=False)

    def size(self) -> CacheSize:
        """What is kept now."""
        files = self._files()
        return CacheSize(len(files), sum(file.size for file in files))

    def clear(self) -> CacheSize:
        """Delete every result; gives what was deleted, without what others delete at once. Raises: OSError."""
        count = size = 0
        with contextlib.suppress(FileNotFoundError), open_directory(self.folder) as folder:
            for file in self._files():
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(file.name, dir_fd=folder)
                    count, size = count + 1, size + file.size
            self._sweep(folder)
            with contextlib.suppress(OSError), open_directory(self.folder.parent) as parent:  # other files may be there
                os.rmdir(self.folder.name, dir_fd=parent)
        return CacheSize(count, size)

    def trim(self) -> None:
        """Delete what is beyond the bounds, what was used longest ago first."""
        files = self._files()
        size = sum(file.size for file in files)
        if len(files) <= MOST_RESULTS and size <= MOST_BYTES:
            return
        left = len(files)
        with contextlib.suppress(OSError), open_directory(self.folder) as folder:
            for file in sorted(files):
                if left <= MOST_RESULTS * _KEPT_SHARE and size <= MOST_BYTES * _KEPT_SHARE:
                    break
                with contextlib.suppress(OSError):
                    os.unlink(file.name, dir_fd=folder)
                left, size = left - 1, size - file.size
            self._sweep(folder)

    def _sweep(self, folder: int) -> None:
        """Delete what killed processes left half written; what is new may be being written."""
        for name, state in list_states(self.folder):
            if _UNFINISHED.fullmatch(name) and time.time() - state.st_mtime >= _ABANDONED_SECONDS:
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=folder)

    def _files(self) -> list[_File]:
        return [
            _File(state.st_mtime, state.st_size, name)
            for name, state in list_states(self.folder)
            if _NAME.fullmatch(name)
        ]
