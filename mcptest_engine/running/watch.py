"""Which files a suite depends on, and waiting for one of them to change.

Directories are watched, not files: a watched file is lost after the first save that replaces it. What counts is a change of
content, so an editor's temporary files and a save that changes nothing wake nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.running.server_sources import NOT_SOURCES
from mcptest_engine.workspace.files import read_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.suite.load import LoadedSuite

STEP_MS = 20
DEBOUNCE_MS = 200
LOOK_MS = 300
MOST_FILES = 5_000
POLL_SECONDS = 0.3
SETTLE_SECONDS = 0.05
_READ_BYTES = 64 * 1024
LINUX = sys.platform == "linux"
SETTLE_TIMES = 10
HALF_SAVED = frozenset({None, hashlib.sha256(b"").digest()})
RUNS_IN_A_ROW = 3
WRITTEN_WITHIN_SECONDS = 2.0
"""A change is told so long after it was made, at most: one so soon after a run may be its doing."""
SOURCES = frozenset(
    {".yml", ".yaml", ".env", ".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".rb", ".php", ".go"}
    | {".lua", ".pl", ".rs", ".java", ".kt", ".cs", ".sh", ".toml"}
)


def watched_files(suite: LoadedSuite) -> frozenset[Path]:
    """The suite, its imports, the `.env` beside it, and every local file that the command of a server, scorer or hook names."""
    files = {path.absolute() for path in suite.files}
    files.add(suite.path.absolute().parent / ".env")
    return frozenset(files | server_files(suite) | _named_by(suite.scorers) | hook_files(suite))


def hook_files(suite: LoadedSuite) -> frozenset[Path]:
    """Every local file that a hook's command names."""
    if not suite.hooks:
        return frozenset()
    import shlex

    from mcptest_engine.suite.hook_checks import PHASES, steps_of

    steps = [step for phase in PHASES if suite.hooks.get(phase) for step in steps_of(suite.hooks[phase])]
    words = [word for step in steps for word in shlex.split(step if isinstance(step, str) else step["command"])]
    return frozenset(Path(word).absolute() for word in words if ("/" in word or "." in word) and Path(word).is_file())


def server_files(suite: LoadedSuite) -> frozenset[Path]:
    """Every local file that a server's command names."""
    return _named_by(suite.servers.values())


def _named_by(declared: Iterable[Mapping[str, Any]]) -> frozenset[Path]:
    """Every local file that the commands of servers or scorers name; a scorer of another build may have any `command`."""
    files = set()
    for settings in declared:
        command = settings.get("command")
        if settings.get("type", "exec") != "exec" or not command:
            continue
        base = Path(settings.get("cwd") or Path.cwd())
        for word in command:
            path = base / word
            if ("/" in word or "." in word) and path.is_file():
                files.add(path.absolute())
    return frozenset(files)


def state_around(files: Iterable[Path]) -> frozenset[tuple[str, int, int]] | None:
    """What lies beside and below these files: (path, mtime in ns, size) of each, to see whether a server's modules changed.

    None when that is too much to look through. Hidden folders and those of installed packages are left out.
    """
    found: set[tuple[str, int, int]] = set()
    waiting = [str(folder) for folder in {path.parent for path in files}]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.name in NOT_SOURCES:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            else:
                with contextlib.suppress(OSError):
                    state = entry.stat()
                    found.add((entry.path, state.st_mtime_ns, state.st_size))
        if len(found) + len(waiting) > MOST_FILES:
            return None
    return frozenset(found)


class Watcher:
    """Waits for a change of content in any of a set of files; the set may change between two waits.

    The files are looked at every `look_ms` as well: a save may fall between two waits, and some file systems tell of none.
    A change is told when none has followed for `step_ms`. With `WATCHFILES_FORCE_POLLING` set nothing but looking is
    done.
    """

    def __init__(self, files: Iterable[Path], *, step_ms: int = STEP_MS, look_ms: int = LOOK_MS) -> None:
        self._step_ms, self._look_ms = step_ms, look_ms
        self._seen: dict[Path, bytes | None] = {}
        self._states: dict[Path, tuple[int, int, int] | None] = {}
        self.watch(files)

    def watch(self, files: Iterable[Path]) -> frozenset[Path]:
        """Watch exactly these files from now on; those that are new, which are watched as they are now."""
        before = self._seen
        self._seen = {path: before[path] if path in before else _digest(path) for path in files}
        return frozenset(self._seen.keys() - before.keys())

    async def changed(self, stop: asyncio.Event) -> frozenset[Path]:
        """The files whose content changed since they were last looked at; empty when `stop` was set."""
        found = await self._changed(stop)
        for _ in range(SETTLE_TIMES):
            if stop.is_set() or not any(self._seen.get(path, b"") in HALF_SAVED for path in found):
                break
            # an editor empties or removes the file before it writes: what counts is what it comes to
            await asyncio.sleep(SETTLE_SECONDS)
            found |= self._look(sure=True)
        return found

    async def _changed(self, stop: asyncio.Event) -> frozenset[Path]:
        found = self._look()
        if found:
            return found
        if os.environ.get("WATCHFILES_FORCE_POLLING"):
            return await self._poll(stop)
        folders = {path.parent for path in self._seen if path.parent.is_dir()}
        if LINUX:
            # the system has no watches left, or the folder has none to give
            with contextlib.suppress(OSError, AttributeError):
                return await self._wait(open_folders(folders), stop)
            return await self._poll(stop)
        from watchfiles import awatch

        changes = awatch(
            *folders,
            step=self._step_ms,
            debounce=DEBOUNCE_MS,
            recursive=False,
            stop_event=stop,
            rust_timeout=self._look_ms,
            yield_on_timeout=True,
            watch_filter=None,
        )
        try:
            async for told in changes:
                found = self._look(sure=bool(told))
                if found:
                    return found
        except (OSError, RuntimeError):  # the system has no watches left, or the folder has none to give
            return await self._poll(stop)
        return frozenset()

    async def _wait(self, descriptor: int, stop: asyncio.Event) -> frozenset[Path]:
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        stopping = asyncio.ensure_future(stop.wait())
        stopping.add_done_callback(lambda _: told.set())

        def ready() -> None:
            with contextlib.suppress(BlockingIOError):
                os.read(descriptor, _READ_BYTES)
            told.set()

        loop.add_reader(descriptor, ready)
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._look_ms / 1000):
                        await told.wait()
                sure = told.is_set()
                for _ in range(DEBOUNCE_MS // self._step_ms):
                    if stop.is_set() or not told.is_set():
                        break
                    told.clear()  # more changes follow mostly
                    await asyncio.sleep(self._step_ms / 1000)
                if stop.is_set():
                    return frozenset()
                told.clear()
                found = self._look(sure=sure)
                if found:
                    return found
        finally:
            stopping.cancel()
            loop.remove_reader(descriptor)
            os.close(descriptor)

    async def _poll(self, stop: asyncio.Event) -> frozenset[Path]:
        while not stop.is_set():
            found = self._look()
            if found:
                return found
            try:
                async with asyncio.timeout(POLL_SECONDS):
                    await stop.wait()
            except TimeoutError:
                continue
        return frozenset()

    def _look(self, *, sure: bool = False) -> frozenset[Path]:
        """The files with another content than when last looked at; unless `sure`, only those with another state are read."""
        changed = set()
        for path, seen in self._seen.items():
            state = state_of(path)
            if not sure and state == self._states.get(path, ()):
                continue
            self._states[path] = state
            digest = _digest(path)
            if digest != seen:
                self._seen[path] = digest
                changed.add(path)
        return frozenset(changed)


def state_of(path: Path) -> tuple[int, int, int] | None:
    """What tells cheaply that a file may have another content: mtime in ns, size and inode; None when it is not there."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # a NUL in its name
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _digest(path: Path) -> bytes | None:
    try:
        if path.is_dir():
            return _digest_of_folder(path)
        return hashlib.sha256(
            read_file(path)
        ).digest()  # no pipe, which would be waited for, and no device, which has no end
    except (OSError, ValueError):
        return None


def _digest_of_folder(path: Path) -> bytes | None:
    """A folder's content are the names in it."""
    try:
        names = sorted(entry.name for entry in path.iterdir())
        return hashlib.sha256(b"\0" + "\0".join(names).encode("utf-8", "surrogateescape")).digest()
    except OSError:
        return None


def what_changed(before: Mapping[str, str], record: RunRecord) -> tuple[list[str], list[str]]:
    """Names of the tests that newly fail, and of those that are fixed. `before` is verdict by test id."""
    newly, fixed = [], []
    for test in record.tests:
        earlier = before.get(test.id)
        if test.verdict == "fail" and earlier != "fail":
            newly.append(test.name)
        elif test.verdict == "pass" and earlier == "fail":
            fixed.append(test.name)
    return newly, fixed


class FilesChangedByRuns:
    """Finds files that servers write themselves: a run that starts because such a file has changed changes it again, for ever.

    A person may well save a source while a run is on, and again. So sources and suites are never taken for such files, and
    others only when they have changed with several runs, one after the other.
    """

    def __init__(self) -> None:
        self.given_up: set[str] = set()
        self._runs: dict[str, set[object]] = {}

    def changed(self, path: str, *, run: object) -> bool:
        """A file has changed, `run` being what tells the run apart that was on, None for none.

        True when that has to be the runs' own doing. It stays so until the file changes outside of a run.
        """
        if run is None:
            self._runs.pop(path, None)
            self.given_up.discard(path)
            return False
        if os.path.splitext(path)[1] in SOURCES or os.path.basename(path) == ".env":  # noqa: PTH119, PTH122
            return False
        if path in self.given_up:
            return True
        runs = self._runs.setdefault(path, set())
        runs.add(run)
        if len(runs) < RUNS_IN_A_ROW:
            return False
        self.given_up.add(path)
        return True


_CHANGES = 0xFCE
"""Written, closed after it, made, moved, removed, other attributes: all of inotify(7) but that something was opened or read."""


def open_folders(folders: Iterable[Path]) -> int:
    """Open a descriptor that can be read whenever something in these folders has changed. Raises: OSError, AttributeError."""
    library = ctypes.CDLL(None, use_errno=True)
    descriptor: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "inotify_init1")
    for folder in folders:
        if library.inotify_add_watch(descriptor, os.fsencode(folder), _CHANGES) < 0:
            error = ctypes.get_errno()
            os.close(descriptor)
            raise OSError(error, "inotify_add_watch")
    return descriptor
