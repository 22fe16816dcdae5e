"""The suites that are open: found under the paths, read off the UI's loop, read again when a file changes.

What is named, and `mcptest.yml` here, is read at once; the search of whole folders is the child's, which is still starting
at that time.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine import __version__
from mcptest_engine.core.environment import PACKAGE
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.running.documents import Document, watched_by
from mcptest_engine.running.watch import state_of
from mcptest_engine.workspace.files import make_directory, read_file
from mcptest_engine.workspace.workspace import SUITE_FILES
from mcptest_tui.places import cache_dir

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_tui.host import Host

MOST_LOOKED = 200
"""So many folders and entries of one are looked at before the first screen is shown."""
MOST_CACHE_BYTES = 4 * 1024 * 1024
SHOWN = 60
AWAY_SECONDS = 0.3
_NOT_THERE = (FileNotFoundError, NotADirectoryError, ValueError)


class DocumentCache:
    """The suites of a workspace as they were read last, in one file: names and places of tests, no texts of servers.

    Reading a suite takes as long as starting the workbench, so the first paint comes from here, and a moment later from the
    suite itself. A cache that is broken, or of another version, is as good as none.
    """

    def __init__(self, root: Path) -> None:
        self.path = cache_dir(root) / "documents.json"
        self._written = ""

    def load(self) -> dict[str, Document]:
        """Return the cached documents by path, {} when the cache is unusable."""
        try:
            text = read_file(self.path, largest=MOST_CACHE_BYTES).decode()
            value = json.loads(text)
            if value["version"] != __version__:
                return {}
            found = {item["path"]: Document.from_json(item) for item in value["documents"]}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}
        self._written = text
        return found

    def save(self, documents: Iterable[Document]) -> None:
        """Write the documents if they differ from the cached ones. Raises: OSError."""
        text = json.dumps({"version": __version__, "documents": [document.to_json() for document in documents]})
        if text != self._written and len(text) <= MOST_CACHE_BYTES:
            from mcptest_engine.workspace.atomic import write_atomic

            make_directory(self.path.parent)
            write_atomic(self.path, text.encode())
            self._written = text


class Suites:
    """Reads the host's suites, again whenever their files change."""

    def __init__(self, host: Host, paths: list[str], by_hand: list[str]) -> None:
        self._host = host
        self.paths = paths or ["."]
        self.by_hand = by_hand
        """Suites that a person opened, wherever they lie."""
        self.searched = False
        self._read: set[str] = set()
        self._gone: set[str] = set()
        self._unread: set[str] = set()
        self._states: dict[str, tuple[int, int, int] | None] = {}
        self._missed: dict[str, tuple[int, int, int] | None] = {}
        self._reading = asyncio.Lock()
        self.cache = DocumentCache(host.workspace.root)

    @property
    def nothing(self) -> str:
        """The title of a screen that is empty because there are no suites."""
        return "No suite is open" if self.searched else "Looking for suites"

    def near(self) -> list[str]:
        """Return the paths of suites that are known without a search."""
        found = []
        for path in self.paths:
            if os.path.isfile(path):  # noqa: PTH113 - before the first paint every import counts, and so does every call
                found.append(path)
            else:
                found += [f"{path}/{name}" for name in SUITE_FILES if os.path.isfile(f"{path}/{name}")]  # noqa: PTH113
        found += [path for path in self.by_hand if os.path.isfile(path)]  # noqa: PTH113
        return list(dict.fromkeys(os.path.abspath(path) for path in found))  # noqa: PTH100

    def put_remembered(self) -> None:
        """What lay under the paths last time and still does, for the first paint; all of it is read again after."""
        folders = tuple(os.path.join(os.path.abspath(path), "") for path in self.paths)  # noqa: PTH100, PTH118
        near = set(self.near())
        for path, document in self.cache.load().items():
            if path in near or (path.startswith(folders) and os.path.isfile(path)):  # noqa: PTH113
                self._host.store.put_document(document)

    async def open_near(self) -> None:
        await self.read(self.near())

    async def open(self, path: str) -> None:
        """Read a suite that the person opened, and list it as open."""
        if path not in self.by_hand and not path.startswith(str(PACKAGE.parent)):  # not the example of ours
            self.by_hand.append(path)
        await self.read([path])

    def has_none(self) -> bool:
        """Whether a short look shows that nothing below the paths can be a suite; False where a search is needed."""
        folders = self._folders()
        if len(folders) < len(self.paths):
            return False
        for looked, folder in enumerate(folders):  # which grows
            try:
                entries = list(os.scandir(folder))
            except OSError:
                return False
            if looked + len(entries) > MOST_LOOKED or any(one.name.endswith((".yml", ".yaml")) for one in entries):
                return False
            folders += [
                one.path for one in entries if not one.name.startswith(".") and one.is_dir(follow_symlinks=False)
            ]
        return True

    async def search(self) -> None:
        """Read all others under the paths, and watch every file that was read."""
        self._complain()
        await self.read([path for path in await self._found() if path not in self._read])
        left = [path for path in self._host.store.documents if path not in self._read]
        for path in left:  # remembered, and not a suite any more
            self._host.store.drop_document(path)
        if not self._host.store.documents:  # the first one may be written elsewhere at any time
            self._gone.update(f"{folder}/{name}" for folder in self._folders() for name in SUITE_FILES)
        self.searched = True
        self._host.documents_read()
        self.watch()

    async def search_again(self) -> None:
        """Read suites that were made since, unless nothing was searched yet."""
        from mcptest_tui.engine_client import EngineError

        if not self.searched or not self._host.engine_ready.is_set():
            return
        try:
            found = await self._found()
        except EngineError:
            return  # it is told elsewhere that the engine is gone
        fresh = [path for path in found if path not in self._host.store.documents]
        if fresh:
            await self.read(fresh)
            self.watch()

    async def _found(self) -> list[str]:
        folders = self._folders()
        found = [item["path"] for item in await self._host.engine.request("find", paths=folders)] if folders else []
        return self.without_unread(found)

    def without_unread(self, found: list[str]) -> list[str]:
        """The suites without the folders that cannot be read, for each of which there is a message once."""
        unread = {path for path in found if os.path.isdir(path)}  # noqa: PTH112 - never raises
        if new := sorted(unread - self._unread):
            first = one_line(self._host.workspace.relative(Path(new[0])), SHOWN)
            more = f" and {len(new) - 1} more" if len(new) > 1 else ""
            self._host.messages.notify(
                f"cannot read the folder {first}{more}: suites in it are left out", severity="warning"
            )
        self._unread |= unread
        return [path for path in found if path not in unread]

    async def read(self, paths: list[str]) -> list[Document]:
        """Read suites and put them into the store; one that is gone is dropped, and taken again when it comes back."""
        read = []
        async with self._reading:  # what was read first must not be put in last
            for path in paths:
                before = state_of(Path(path))
                document = await asyncio.to_thread(self._read_document, path)
                if document is None and path in self._host.store.documents:
                    await asyncio.sleep(AWAY_SECONDS)  # some editors move the old text away before they write the new
                    document = await asyncio.to_thread(self._read_document, path)
                self._read.add(path)
                if document is None:
                    if path in self._host.store.documents:
                        self._gone.add(path)
                        gone = self._host.workspace.relative(Path(path))
                        self._host.messages.notify(f"{gone} is gone", severity="warning")
                    self._host.store.drop_document(path)
                else:
                    self._gone.discard(path)
                    self._host.store.put_document(document)
                    self._states.update((file, state_of(Path(file))) for file in watched_by(document))
                    self._states[path] = before
                    read.append(document)
        if paths:
            self._host.documents_read()
        return read

    async def read_remembered(self, path: str) -> None:
        """Read a suite that is shown as it was in the last session: its tests may be others by now."""
        if path not in self._read:
            await self.read([path])

    async def read_changed(self, paths: list[str]) -> list[Document]:
        """Read again every suite that is made of one of these files."""
        read = await self.read(self._made_of(paths))
        self.watch()
        return read

    def missed(self, watched: list[str]) -> list[str]:
        """Those of `watched` that were saved after they were read here, and before anybody looked out for a save."""
        found = [path for path in watched if path in self._states and state_of(Path(path)) != self._states[path]]
        self._missed.update((path, state_of(Path(path))) for path in found)
        return found

    def changed(self, paths: list[str]) -> list[str]:
        """Those of `paths` that are another file than when they were read, or when `missed` gave them: a save at the start is
        told in both ways, and so is one from here.
        """
        return [path for path in paths if not self._is_known(path)]

    def _is_known(self, path: str) -> bool:
        state = state_of(Path(path))
        if path in self._missed and self._missed.pop(path) == state:
            return True
        return path in self._host.store.documents and state is not None and self._states.get(path) == state

    def title(self) -> str:
        """Return the open suites for the mode bar: `weather.yml`, `weather.yml +2`."""
        names = [path.rpartition("/")[2] for path in self._host.store.documents]
        if not names:
            return ""
        return names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}"

    def watch(self) -> None:
        """Send the engine the list of files to watch."""
        files: dict[str, None] = {}
        for document in self._host.store.documents.values():
            files.update(dict.fromkeys(watched_by(document)))
        files.update(dict.fromkeys(sorted(self._gone)))
        self._host.engine.send("watch", paths=[*files, *self._host.watched_files()])

    def _complain(self) -> None:
        for path in self.paths:
            try:
                Path(path).stat()
            except _NOT_THERE:
                self._host.messages.notify(f"there is no {one_line(path, SHOWN)}", severity="error")
            except OSError as wrong:
                self._host.messages.notify(
                    f"cannot read {one_line(path, SHOWN)}: {wrong.strerror or wrong}", severity="error"
                )

    def _folders(self) -> list[str]:
        return [str(Path(path).absolute()) for path in self.paths if os.path.isdir(path)]  # noqa: PTH112 - never raises

    def _made_of(self, paths: list[str]) -> list[str]:
        changed = {os.path.realpath(path) for path in paths}
        back = [path for path in sorted(self._gone) if os.path.realpath(path) in changed]
        return back + [
            path
            for path, document in self._host.store.documents.items()
            if changed & {os.path.realpath(file) for file in watched_by(document)}
        ]

    def _read_document(self, path: str) -> Document | None:
        from mcptest_engine.running.documents import document_of

        try:
            Path(path).stat()
        except _NOT_THERE:
            return None
        except OSError:
            pass  # it may be there: what is wrong with it is its document's to say
        return document_of(Path(path), start_dir=self._host.folder, environ=dict(os.environ))
