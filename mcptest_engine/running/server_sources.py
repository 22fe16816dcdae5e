"""The local files that a server's command stands for: those that it names, and the sources that lie with them.

A program is rarely one file, and whoever saves a module of it expects its tests to run. What a program imports is not followed:
its neighbours of the same language are taken, a few levels deep, and where there are too many to be one program, none. This
is asked at every key that is typed, so a folder is listed again only when it has changed.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MOST_FILES = 200
MOST_FOLDERS = 100
DEEPEST = 3
_SCRIPTS = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"})
_LANGUAGES = {
    **dict.fromkeys(_SCRIPTS, _SCRIPTS),
    **{suffix: frozenset({suffix}) for suffix in (".py", ".rb", ".php", ".go", ".lua", ".pl")},
}
NOT_SOURCES = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "target", "dist", "build"})
_NOT_THE_PROGRAM = NOT_SOURCES | {"tests", "test", "docs"}

_Listing = tuple[tuple[str, ...], tuple[str, ...]]
_listings: dict[str, tuple[int, _Listing]] = {}


def server_sources(words: Sequence[str], base: Path) -> tuple[str, ...]:
    """The files of a server that is started with the argv `words` in `base`; absolute, those that are named first."""
    named = [path for word in words if (path := _file(word, base)) is not None]
    named += [path for path in _modules(words, base) if path not in named]
    found = dict.fromkeys(named)
    for path in named:
        family = _LANGUAGES.get(os.path.splitext(path)[1])  # noqa: PTH122
        if family is not None:
            found.update(dict.fromkeys(_neighbours(os.path.dirname(path), family)))  # noqa: PTH120
    return tuple(found)


def _file(word: str, base: Path) -> str | None:
    if "\0" in word or not ("/" in word or "." in word):
        return None
    path = os.path.abspath(base / word)  # noqa: PTH100
    return path if os.path.isfile(path) else None  # noqa: PTH113


def _modules(words: Sequence[str], base: Path) -> Iterator[str]:
    """What `-m NAME` means where the program lies here, and not among what is installed."""
    for flag, name in pairwise(words):
        if flag != "-m" or not all(part.isidentifier() for part in name.split(".")):
            continue
        for root in (base, base / "src"):
            place = root / name.replace(".", "/")
            for path in (f"{place}.py", place / "__main__.py", place / "__init__.py"):
                if os.path.isfile(path):  # noqa: PTH113
                    yield os.path.abspath(path)  # noqa: PTH100


def _neighbours(folder: str, family: frozenset[str]) -> list[str]:
    """The files of that language in the folder and below; none where there are too many."""
    found: list[str] = []
    looked, level = 0, [folder]
    for _ in range(DEEPEST):
        deeper: list[str] = []
        for place in level:
            looked += 1
            files, folders = _known_listing(place)
            found += [file for file in files if os.path.splitext(file)[1] in family]  # noqa: PTH122
            deeper += folders
            if looked > MOST_FOLDERS or len(found) > MOST_FILES:
                return []
        level = deeper
    return found


def _known_listing(folder: str) -> _Listing:
    try:
        changed = os.stat(folder).st_mtime_ns  # noqa: PTH116
        known = _listings.get(folder)
        if known is None or known[0] != changed:
            if len(_listings) > 2_000:
                _listings.clear()
            known = _listings[folder] = (changed, _read_listing(folder))
    except OSError:
        return (), ()
    return known[1]


def _read_listing(folder: str) -> _Listing:
    files, folders = [], []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name == "pyvenv.cfg":
                return (), ()
            if entry.name.startswith(".") or entry.name in _NOT_THE_PROGRAM:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif os.path.splitext(entry.name)[1] in _LANGUAGES:  # noqa: PTH122
                files.append(entry.path)
    return tuple(files), tuple(folders)
