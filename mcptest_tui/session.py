"""What the workbench remembers of a workspace: `.mcptest/cache/session.json`, and which tips were shown anywhere.

Open files, mode, selection, filters, sizes, verdicts; never a text that a server said. A broken or newer file is ignored
and said; it is overwritten only by something whole.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.workspace.files import make_directory, read_file
from mcptest_tui.places import cache_dir, state_file

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_tui.host import Host
    from mcptest_tui.suites import Suites

VERSION = 1
SIXTEEN = "terminal"
"""The theme that has the terminal's own colours."""
MOST_BYTES = 1024 * 1024


class Saved(NamedTuple):
    """A session as read: every part of a shape that can be relied on."""

    mode: str = ""
    watch: str = ""
    files: list[str] = []  # noqa: RUF012 - always given by `of`
    screens: dict[str, Any] = {}  # noqa: RUF012
    verdicts: dict[str, Any] = {}  # noqa: RUF012

    @classmethod
    def of(cls, value: dict[str, Any]) -> Saved:
        """What can be taken of a session; edited by hand, it may be anything."""
        mode, watch, files, screens, verdicts = (value.get(key) for key in cls._fields)
        return cls(
            mode if isinstance(mode, str) else "",
            watch if isinstance(watch, str) and watch in ("off", "affected", "all") else "",
            [file for file in files if isinstance(file, str)] if isinstance(files, list) else [],
            screens if isinstance(screens, dict) else {},
            verdicts if isinstance(verdicts, dict) else {},
        )


class SessionFile:
    """The file of the session; it is written only when something has changed."""

    def __init__(self, root: Path) -> None:
        self.path = cache_dir(root) / "session.json"
        self._root = root
        self._written = ""
        self.complaint = ""

    def load(self) -> dict[str, Any]:
        """The session of last time; {} without one. `complaint` is what was wrong with it."""
        try:
            text = read_file(self.path, largest=MOST_BYTES).decode()
            value = json.loads(text)
            if not isinstance(value, dict) or value.get("version") != VERSION:
                raise ValueError("of another version")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as wrong:
            self.complaint = f"the last session cannot be read ({_reason(wrong)}); starting without it"
            return {}
        self._written = text
        return value

    def text_of(self, session: dict[str, Any]) -> str | None:
        """What `save` has to write, or None when nothing has changed."""
        text = json.dumps({"version": VERSION, **session}, sort_keys=True)
        return None if text == self._written else text

    def save(self, text: str) -> None:
        """Write the file atomically. Raises: OSError."""
        from mcptest_engine.workspace.atomic import write_atomic
        from mcptest_engine.workspace.workspace import Workspace

        Workspace(self._root).make_runs_dir()  # with the `.gitignore` that keeps this file out of the repository
        make_directory(self.path.parent)
        write_atomic(self.path, text.encode())
        self._written = text


class Session:
    """What each screen remembers, by mode in `screens`; saved with the state of the app for the next start."""

    def __init__(self, host: Host, suites: Suites, file: SessionFile, screens: dict[str, Any]) -> None:
        self._host, self._suites = host, suites
        self.file, self.screens = file, screens
        self.is_touched = True
        """Something has happened since it was saved last."""
        self._cached_version = host.store.version
        """That of the documents in the cache."""

    def save(self) -> None:
        """Write what is different from the disk. Folders without a suite are left alone."""
        self.is_touched = False
        store = self._host.store
        if not store.documents:
            return
        self.screens.update({screen.MODE: screen.remember_all() for screen in self._host.work_screens()})
        text = self.file.text_of(
            {
                "mode": self._host.current_mode,
                "watch": self._host.watch_mode,
                "files": self._suites.by_hand,
                "screens": self.screens,
                "verdicts": store.verdicts(),
            }
        )
        with suppress(OSError):  # a disk that is full: there is nothing a person could do about a session
            if text is not None:
                self.file.save(text)
        if self._cached_version != store.version:
            with suppress(OSError):
                self._suites.cache.save(store.documents.values())
                self._cached_version = store.version

    def texts(self, mode: str, name: str) -> list[str]:
        """A list of texts that a screen remembers; what it remembers may be of any shape."""
        memory = self.screens.get(mode)
        found = memory.get(name) if isinstance(memory, dict) else None
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def theme_at_start(configured: str, *, colours: str | None = "truecolor") -> str:
    """MCPTEST_THEME; where there are 16 colours, the theme of those; else what the settings say, which may be nothing.

    `colours` is what Rich calls the terminal's: "standard" are 16.
    """
    few = SIXTEEN if colours == "standard" else ""
    return os.environ.get("MCPTEST_THEME") or few or configured


def read_state() -> dict[str, Any]:
    """What is remembered for all workspaces: `tips`; {} when there is nothing that can be read."""
    try:
        value = json.loads(read_file(state_file(), largest=MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def remember(**changes: object) -> None:
    """Store these for all workspaces, beside what is there. Raises: OSError."""
    from mcptest_engine.workspace.atomic import write_atomic

    path = state_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps({**read_state(), **changes}).encode())


def _reason(wrong: Exception) -> str:
    return wrong.strerror or str(wrong) if isinstance(wrong, OSError) else str(wrong).splitlines()[0]
