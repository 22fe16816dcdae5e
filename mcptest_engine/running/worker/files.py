"""Suites found below folders, and files watched for a change of content."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, Any

from mcptest_engine.running.server_sources import NOT_SOURCES
from mcptest_engine.running.watch import Watcher
from mcptest_engine.suite.yaml import MAX_BYTES
from mcptest_engine.workspace.workspace import SUITE_FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

MOST_SUITES = 1_000
MOST_FOLDERS = 20_000
DEEPEST = 12
STEP_MS = 50
LOOK_MS = 2_000  # each look wakes a process that may idle all day
_HEAD_BYTES = 256 * 1024
_SERVERS = re.compile(
    rb"""^(?:\xef\xbb\xbf)?(?:["']?(?:servers|scorers|judge|imports)["']?[ \t]*:|"""
    rb"# yaml-language-server: \$schema=.*suite\.schema\.json)",
    re.MULTILINE,
)
_BLOCK = re.compile(
    rb"""^["']?(?:tools|resources|prompts|compliance|compositions|agents|evals)["']?[ \t]*:""", re.MULTILINE
)


def find_suites(
    paths: Iterable[str],
    start_dir: Path,
    *,
    all_of_them: bool = False,
    unread: Callable[[str, OSError], object] | None = None,
) -> list[dict[str, str]]:
    """The suites at and below the paths, the nearest first: {"path": absolute, "shown": as seen from `start_dir`}.

    A file that is named is taken as a suite whatever is in it. Hidden folders, those of installed packages and virtual
    environments are left out, and links to folders are not followed. Without `all_of_them` there is an end to how much is
    looked through. `unread` is told of each folder that cannot be read, and why.
    """
    found: dict[str, None] = {}
    for path in paths:
        root = os.path.abspath(start_dir / path)  # noqa: PTH100
        below = [root] if os.path.isfile(root) else _below(root, all_of_them, unread)  # noqa: PTH113
        for file in below:
            found[file] = None
            if len(found) >= MOST_SUITES and not all_of_them:
                break
    return [{"path": file, "shown": _shown(file, start_dir)} for file in found]


def _below(root: str, endless: bool, unread: Callable[[str, OSError], object] | None) -> Iterator[str]:
    looked, depth, level = 0, 0, [root]
    while level and (endless or depth < DEEPEST):
        depth += 1
        deeper: list[str] = []
        for folder in level:
            looked += 1
            if looked > MOST_FOLDERS and not endless:
                return
            files, folders = _entries(folder, unread)
            yield from (file for file in files if is_suite(file))
            deeper += folders
        level = deeper


def _entries(folder: str, unread: Callable[[str, OSError], object] | None) -> tuple[list[str], list[str]]:
    """The YAML files and the folders worth a look, by name; what is named as suites are comes first.

    A link that leads nowhere counts only if it is called as suites are.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: (entry.name not in SUITE_FILES, entry.name))
    except OSError as wrong:
        if unread is not None:
            unread(folder, wrong)
        return [], []
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
    """No pipe, which would be waited for, and no link that leads nowhere or in circles."""
    try:
        return entry.is_file()
    except OSError:
        return False


def is_suite(file: str) -> bool:
    """Whether a file is called as suites are, or has what a suite has; one that cannot be read may be one."""
    if os.path.basename(file) in SUITE_FILES:  # noqa: PTH119
        return True
    try:
        with open(file, "rb") as stream:  # noqa: PTH123
            text = stream.read(_HEAD_BYTES)
            block = _BLOCK.search(text)
            if len(text) == _HEAD_BYTES and (block is None or _SERVERS.search(text) is None):
                text += stream.read(MAX_BYTES)
    except OSError:
        return True
    return _SERVERS.search(text) is not None and _BLOCK.search(text) is not None


def _shown(file: str, start_dir: Path) -> str:
    seen = os.path.relpath(file, start_dir)
    return file if seen.startswith(f"..{os.sep}..") else seen


class Watching:
    """Tells `files.changed` for a set of files that can be replaced at any time; a save in between is not missed.

    What was saved before a file was watched cannot be told: `files.watched` names the new ones, for whoever read them earlier.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
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
        self._stop.set()  # the wait that is on looks at the folders of the old set
        self._stop = asyncio.Event()
        if wanted:
            self._task = asyncio.ensure_future(self._go_on(self._stop, self._task))

    async def _go_on(self, stop: asyncio.Event, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait((before,))
        while not stop.is_set():
            changed = await self._watcher.changed(stop)
            if changed:
                self._send({"event": "files.changed", "paths": sorted(map(str, changed))})
