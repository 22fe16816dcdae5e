"""Find suites below folders, and watch files for changes of their content."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from mcptest_engine.core.enums import TestKind
from mcptest_engine.core.errors import SuiteError
from mcptest_engine.running.server_sources import NOT_SOURCES
from mcptest_engine.running.watch import Watcher
from mcptest_engine.suite.yaml import MAX_BYTES, read_bytes
from mcptest_engine.workspace.workspace import SUITE_FILES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from mcptest_engine.engine_process.workbench_events import Send

MOST_SUITES = 1_000
MOST_FOLDERS = 20_000
DEEPEST = 12
MOST_ALTERNATIVES = 1_000
STEP_MS = 50
LOOK_MS = 2_000  # each check wakes a process that may idle all day
_HEAD_BYTES = 256 * 1024
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP})
_SERVERS = ("servers", "scorers", "judge", "imports")
_TESTS = tuple(kind.block for kind in TestKind)
_START = r"^(?:\xef\xbb\xbf)?"
_SCHEMA_LINE = rf"{_START}# yaml-language-server: \$schema=.*suite\.schema\.json"


def _pattern(text: str) -> re.Pattern[bytes]:
    return re.compile(text.encode("ascii"), re.MULTILINE)


def _keys(names: tuple[str, ...]) -> str:
    return rf"""["']?(?:{"|".join(names)})["']?[ \t]*:"""


_HAS_SCHEMA_LINE = _pattern(_SCHEMA_LINE)
_IN_LINES = (_pattern(f"{_START}{_keys(_SERVERS)}|{_SCHEMA_LINE}"), _pattern(f"{_START}{_keys(_TESTS)}"))
_IN_BRACES = (_pattern(f"{_keys(_SERVERS)}|{_SCHEMA_LINE}"), _pattern(_keys(_TESTS)))
_KEY_OF_LINE = _pattern(rf"""{_START}["']?([a-zA-Z_][\w-]*)["']?[ \t]*:(?:\s|\Z)""")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_OPENING_BRACE = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|#.*\n|---\s)*\{(?![{%])")  # `{{` begins a template


def find_suites(paths: Iterable[str], start_dir: Path, *, all_of_them: bool = False) -> list[dict[str, str]]:
    """Find the suites at and below the paths, the nearest first: {"path": absolute, "shown": relative to `start_dir`}.

    A path that is a file counts as a suite whatever its content. A folder that cannot be read is returned as if it were a
    suite: loading it then reports the reason. Hidden folders, installed packages and virtual environments are left out, and
    links to folders are not followed. `all_of_them` lifts the limits on suites, folders and depth.
    """
    found: dict[str, None] = {}
    for path in paths:
        root = os.path.abspath(start_dir / path)  # noqa: PTH100
        below = [root] if os.path.isfile(root) else _below(root, all_of_them)  # noqa: PTH113
        for file in below:
            found[file] = None
            if len(found) >= MOST_SUITES and not all_of_them:
                break
    return [{"path": file, "shown": _shown(file, start_dir)} for file in found]


def match_suites(pattern: str, start_dir: Path) -> list[str]:
    """Find the suites that a pattern such as `servers/**/*.yml` matches, and those below matching folders: absolute paths.

    `**` leaves out the folders that `find_suites` leaves out; unreadable folders are returned as there.
    """
    parts = [part for part in pattern.split("/") if part]
    found = _match("/" if pattern.startswith("/") else str(start_dir), parts)
    matched = sorted({os.path.abspath(one) for one in found})  # noqa: PTH100
    files = [one for one in matched if os.path.isfile(one) and is_suite(one)]  # noqa: PTH113
    below = find_suites(filter(os.path.isdir, matched), start_dir, all_of_them=True)
    return list(dict.fromkeys([*files, *(one["path"] for one in below)]))


def alternatives(pattern: str) -> list[str]:
    """Expand `{a,b}` in a pattern, as in a shell; a pattern with too many alternatives is returned unchanged."""
    found, left = [], [pattern]
    while left:
        one = left.pop()
        braces = _BRACES.search(one)
        if braces is None:
            found.append(one)
        else:
            words = reversed(braces[1].split(","))
            left += (f"{one[: braces.start()]}{word}{one[braces.end() :]}" for word in words)
        if len(found) + len(left) > MOST_ALTERNATIVES:
            return [pattern]
    return list(dict.fromkeys(filter(None, found)))  # expanding inner braces first may give duplicates


def _match(folder: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield the paths in a folder that the parts of a pattern match, and folders that cannot be read."""
    if not parts or list(parts) == ["**"]:  # folders below it are searched anyway
        yield folder
        return
    part, *rest = parts
    try:
        if part == "**":
            files, below = _entries(folder)
            yield from (file for file in files if file == folder)  # an unreadable folder
            yield from _match(folder, rest)
            for inner in below:
                yield from _match(inner, parts)
        elif any(sign in part for sign in "*?["):
            hidden = part.startswith(".")
            with os.scandir(f"{folder}/.") as entries:
                named = [one.path for one in entries if fnmatch(one.name, part) and hidden >= one.name.startswith(".")]
            for one in named:
                yield from _match(one, rest)
        else:
            path = os.path.join(folder, part)  # noqa: PTH118
            os.stat(path)  # noqa: PTH116
            yield from _match(path, rest)
    except OSError as wrong:
        if wrong.errno not in _NOT_THERE:
            yield folder


def _below(root: str, endless: bool) -> Iterator[str]:
    looked, depth, level = 0, 0, [root]
    while level and (endless or depth < DEEPEST):
        depth += 1
        deeper: list[str] = []
        for folder in level:
            looked += 1
            if looked > MOST_FOLDERS and not endless:
                return
            files, folders = _entries(folder)
            yield from (file for file in files if is_suite(file))
            deeper += folders
        level = deeper


def _entries(folder: str) -> tuple[list[str], list[str]]:
    """The YAML files of a folder and the folders to search, sorted by name, with the usual names of suites first.

    A broken link counts as a file only if it has the usual name of a suite. A folder that cannot be read is its own only file.
    """
    try:
        os.stat(f"{folder}/.")  # noqa: PTH116 - fails for a folder that can be listed but not entered
        entries = sorted(os.scandir(folder), key=lambda entry: (entry.name not in SUITE_FILES, entry.name))
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except OSError:
        return [folder], []
    if any(entry.name == "pyvenv.cfg" for entry in entries):
        return [], []
    files, folders = [], []
    for entry in entries:
        if entry.name.startswith(".") or entry.name in NOT_SOURCES:
            continue
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.path)
        elif entry.name.endswith((".yml", ".yaml")) and (
            _is_file(entry) or (entry.name in SUITE_FILES and not os.path.exists(entry.path))  # noqa: PTH110
        ):
            files.append(entry.path)
    return files, folders


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a regular file: not a pipe, which would block, nor a broken or circular link."""
    try:
        return entry.is_file()
    except OSError:
        return False


def is_suite(file: str | Path) -> bool:
    """Whether a file has the name or the content of a suite; True for a file that cannot be read."""
    if os.path.basename(file) in SUITE_FILES:  # noqa: PTH119
        return True
    try:
        with open(file, "rb") as stream:  # noqa: PTH123
            text = stream.read(_HEAD_BYTES)
            in_braces = _OPENING_BRACE.match(text) is not None
            marks = _IN_BRACES if in_braces else _IN_LINES
            if len(text) == _HEAD_BYTES and (in_braces or not all(mark.search(text) for mark in marks)):
                text += stream.read(MAX_BYTES)
    except OSError:
        return True
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):  # so that loading it can report that UTF-8 is required
        text = text.decode("utf-16", "replace").encode("utf-8", "replace")
    if not in_braces and _HAS_SCHEMA_LINE.search(text) and _has_misspelt_block(text):
        return True
    return all(mark.search(text) for mark in marks) and (not in_braces or _is_suite_in_braces(text))


def _has_misspelt_block(text: bytes) -> bool:
    """Whether a file without a block of tests has an unknown key, such as the misspelt `tool:`."""
    keys = {key.decode() for key in _KEY_OF_LINE.findall(text)}
    if not keys.isdisjoint(_TESTS):
        return False
    from mcptest_engine.suite.model.suite import Suite  # imported here: files without a block of tests are rare

    return not keys <= {field.alias or name for name, field in Suite.model_fields.items()}


def _is_suite_in_braces(text: bytes) -> bool:
    """Whether a mapping in braces has the keys of a suite; True for a text with YAML errors, which may be one."""
    try:
        keys = json.loads(text)  # most files in braces are JSON
    except (ValueError, RecursionError):
        try:
            keys = read_bytes(text, file="", keep_going=True).value
        except (SuiteError, RecursionError):
            return True
    if not isinstance(keys, dict) or keys.keys().isdisjoint(_TESTS):
        return False
    return not keys.keys().isdisjoint(_SERVERS) or _HAS_SCHEMA_LINE.search(text) is not None


def _shown(file: str, start_dir: Path) -> str:
    seen = os.path.relpath(file, start_dir)
    return file if seen.startswith(f"..{os.sep}..") else seen


class Watching:
    """Sends `files.changed` for a set of files that can be replaced at any time, without missing a save meanwhile.

    A save before a file was watched is not reported: `files.watched` names the new files, so that they can be read again.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._watcher = Watcher((), step_ms=STEP_MS, look_ms=LOOK_MS)
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def watch(self, paths: Iterable[Path]) -> None:
        """Watch exactly these files from now on."""
        wanted = frozenset(paths)
        new = self._watcher.watch(wanted)
        if new:
            self._send({"event": "files.watched", "paths": sorted(map(str, new))})
        self._stop.set()  # the current wait still watches the old set
        self._stop = asyncio.Event()
        if wanted:
            self._task = asyncio.ensure_future(self._report_changes(self._stop, self._task))

    async def _report_changes(self, stop: asyncio.Event, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait((before,))
        while not stop.is_set():
            changed = await self._watcher.changed(stop)
            if changed:
                self._send({"event": "files.changed", "paths": sorted(map(str, changed))})
