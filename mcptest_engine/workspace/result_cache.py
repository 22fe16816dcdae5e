"""The store of `--cache`: one file an entry, `<key>.json`, in a folder of `.mcptest/cache` for each kind.

    { schema_version, key, mcptest_version, … }

`results`, whose folder the user may choose, holds answers of servers, which are judged again: { test, answer: {result | error,
http?, notifications?}, duration_ms, request?, session? }. `verdicts` holds verdicts of scorers: { scorer, verdict:
{verdict, score, reasoning, cost_usd, extra} }. `models` holds answers of models: { model, duration_ms, answer: {text, stop,
tokens_in, tokens_out, cost_usd, uses?, thinking?} }. A key is a SHA-256 of everything that the entry depends on.

Any number of processes may read and write at once without a lock: files are replaced atomically, and a file that cannot be read
counts as missing. Only entries and their temporary files are ever deleted, so the folder may hold other files.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine import __version__
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.workspace.atomic import TEMPORARY_SUFFIX, write_atomic
from mcptest_engine.workspace.files import list_states, make_directory, open_directory, read_file, touch_file
from mcptest_engine.workspace.json_text import to_json_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.workspace.workspace import Workspace

SCHEMAS = {"results": "mcptest.result/v1", "verdicts": "mcptest.verdict/v1", "models": "mcptest.model/v2"}
"""The `schema_version` of each kind of entry."""
LARGEST = 1024 * 1024
"""The largest entry that is stored, in bytes."""
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
    """The number of entries (`results`) and of their bytes."""

    results: int
    size: int


def open_cache(workspace: Workspace, kind: str) -> ResultCache:
    """The cache of one kind of `SCHEMAS` in a workspace. The workbench's files in `.mcptest/cache` are not part of it."""
    folder = workspace.data_dir / "cache" / kind
    return ResultCache(folder, SCHEMAS[kind], make_parent=workspace.make_runs_dir)


class ResultCache:
    """The entries in one folder, which is created with the first entry. `damaged` counts the unreadable ones that `get` met.

    `schema` is the `schema_version` of its entries. `make_parent` creates the parent of the folder.
    """

    def __init__(
        self,
        folder: Path,
        schema: str = SCHEMAS["results"],
        *,
        make_parent: Callable[[], object] | None = None,
    ) -> None:
        self.folder = folder
        self.damaged = 0
        self._schema = schema
        self._make_parent = make_parent
        self._has_folder = False

    def get(self, key: str) -> JsonDict | None:
        """The entry stored under `key`; None when there is none that can be read."""
        path = self.folder / f"{key}.json"
        try:
            entry = json.loads(read_file(path, largest=LARGEST))
        except (FileNotFoundError, NotADirectoryError):  # `put` reports the latter
            return None
        except (OSError, ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict) or entry.get("schema_version") != self._schema or entry.get("key") != key:
            self.damaged += 1
            return None
        with contextlib.suppress(OSError):
            touch_file(path)  # `close` deletes the least recently used first
        return entry

    def encode(self, key: str, members: Mapping[str, object]) -> bytes | None:
        """An entry as the bytes of its file; None when it is too large, or would not be read back as equal."""
        entry = {"schema_version": self._schema, "key": key, "mcptest_version": __version__, **members}
        try:
            data = to_json_bytes(entry)
            return data if len(data) <= LARGEST and json.loads(data) == entry else None
        except (RecursionError, ValueError):
            return None

    def put(self, key: str, data: bytes) -> None:
        """Store an entry; `close` has to be called later. Raises: OSError when the disk refuses it."""
        if not self._has_folder:
            if self._make_parent is not None:
                self._make_parent()
            make_directory(self.folder)
            self._has_folder = True
        # Not flushed to the disk: a file that a power cut truncates counts as missing.
        write_atomic(self.folder / f"{key}.json", data, mode=0o600, flush=False)

    def size(self) -> CacheSize:
        """How many entries the cache holds, and their bytes."""
        files = self._files()
        return CacheSize(len(files), sum(file.size for file in files))

    def clear(self) -> CacheSize:
        """Delete every entry; return what this call deleted, not what other processes delete meanwhile. Raises: OSError."""
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

    def close(self) -> None:
        """Delete the least recently used entries when the cache exceeds its limits, if anything was stored."""
        if not self._has_folder:
            return
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
        """Delete temporary files of killed processes; recent ones may still be in use."""
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
