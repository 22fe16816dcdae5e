"""Which files a server's answers go by: those that its command and environment name, its code, and those that a test names.

The surprising thing: a command seldom names the code that it starts (`npm start`, `uv run server`, `-m package`, a link, a
script that starts another), so that without a `server_version` all sources of its project count.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mcptest_engine.servers.spec import ALWAYS_PASSED, own_command
from mcptest_engine.workspace import fingerprints
from mcptest_engine.workspace.fingerprints import TooMuchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest_engine.servers.spec import ServerSpec

_PYTHON = frozenset({".py"})
_SHELL = frozenset({".sh", ".bash"})
_SCRIPTS = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"})
_IMPORTED_TOO = frozenset({".json"})
_SOURCES = (
    _PYTHON,
    _SHELL,
    _SCRIPTS,
    frozenset({".rb"}),
    frozenset({".php"}),
    frozenset({".go"}),
    frozenset({".rs"}),
    frozenset({".java", ".kt", ".kts"}),
    frozenset({".cs", ".fs"}),
    frozenset({".ex", ".exs"}),
    frozenset({".swift"}),
    frozenset({".lua"}),
    frozenset({".pl", ".pm"}),
)
_ANY_SOURCE = frozenset().union(*_SOURCES)
_MARKS = (
    "pyproject.toml",
    "setup.py",
    "package.json",
    "deno.json",
    "go.mod",
    "Cargo.toml",
    "Gemfile",
    "composer.json",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "mix.exs",
    "Package.swift",
)
_PARTS_OF_A_BUILD = (
    *_MARKS,
    "requirements.txt",
    "uv.lock",
    "poetry.lock",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "deno.lock",
    "go.sum",
    "Cargo.lock",
    "Gemfile.lock",
    "composer.lock",
)
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "target"})
_LOG = ".log"
_LONGEST_NAME = 1024


class CacheFiles:
    """Their fingerprints, of one moment: each file and each folder is looked at once.

    Where nothing is, there is None, so that a file that comes to be counts. Raises: TooMuchError, from each method.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, frozenset[str] | None], str | TooMuchError | None] = {}

    def of_server(self, spec: ServerSpec, *, pinned: bool) -> list[str | None]:
        """What its command and its environment name, and its code; `pinned`: only so much of that as they name."""
        if spec.command is None:
            return []
        folder = directory_of(spec)
        program = _program(spec.command[0], folder, spec.env.get("PATH"))
        found = [None if program is None else self._file(program)]
        code = {} if program is None else _code_of(program)
        for before, word in pairwise(spec.command):
            if before == "-m":
                code |= _module(folder, word)
            for path in _paths(folder, _parts_of_word(word)):
                found.append(self._path(path))
                code |= _code_of(path)
        found += [self._folder(place, family) for place, family in code.items()]
        if not pinned and not _is_ours(spec.command):
            found += self._projects(code, folder, program if "/" in spec.command[0] else None)
        named = (text for name, text in spec.env.items() if not _is_passed_on(name))
        found += [self._path(path) for text in named for path in _paths(folder, text.split(os.pathsep))]
        return found

    def of_arguments(self, spec: ServerSpec, params: object) -> list[str | None]:
        """What a test's arguments name and a server that runs here may read."""
        if spec.command is None:
            return []
        names = (unquote(text[7:]) if text.startswith("file://") else text for text in _texts_in(params))
        return [self._path(path, whole=True) for path in _paths(directory_of(spec), names)]

    def _projects(self, code: dict[Path, frozenset[str]], folder: Path, program: Path | None) -> Iterator[str | None]:
        """The sources of the projects that the code belongs to; where none is known, of every language around."""
        roots = {(_project(place) or place, family - _IMPORTED_TOO) for place, family in code.items()}
        if not code:
            roots = {(_project(folder) or folder, _ANY_SOURCE)}
            if program is not None and (own := _project(program.parent)) is not None:
                roots.add((own, _ANY_SOURCE))
        for root, family in sorted(roots, key=str):
            yield self._folder(root, family)
            yield from (self._file(root / name) for name in _PARTS_OF_A_BUILD)

    def _path(self, path: Path, *, whole: bool = False) -> str | None:
        """The fingerprint of what is there. Of a folder around us only sources count, unless it is wanted `whole`."""
        if not os.path.isdir(path):  # noqa: PTH112
            return self._file(path)
        whole = whole or os.path.commonpath([os.path.realpath(path), os.getcwd()]) != os.path.realpath(path)  # noqa: PTH109
        return self._folder(path, None if whole else _ANY_SOURCE)

    def _file(self, path: Path) -> str | None:
        place = (str(path), None)
        if place not in self._seen:
            self._seen[place] = fingerprints.of_file(path)
        return self._digest_line(place)

    def _folder(self, path: Path, suffixes: frozenset[str] | None) -> str | None:
        place = (f"{path}/", suffixes)
        if place not in self._seen:
            try:
                self._seen[place] = fingerprints.of_folder(path, skipped=_SKIPPED, suffixes=suffixes)
            except TooMuchError as wrong:
                self._seen[place] = wrong  # each of a thousand tests would find it out anew
        return self._digest_line(place)

    def _digest_line(self, place: tuple[str, frozenset[str] | None]) -> str | None:
        seen = self._seen[place]
        if isinstance(seen, TooMuchError):
            raise seen
        return seen


def directory_of(spec: ServerSpec) -> Path:
    """Where a server is started."""
    return Path(spec.cwd or ".").absolute()


def _is_ours(command: tuple[str, ...]) -> bool:
    """Whether it is this mcptest, as a mock server: known by its version."""
    own = own_command(("mcptest",))
    return command[: len(own)] == own


def _program(word: str, folder: Path, search: str | None) -> Path | None:
    if "/" in word:
        return folder / word
    import shutil  # not for a program that is named by its path

    path = shutil.which(word, path=search)
    return None if path is None else Path(path)


def _code_of(path: Path) -> dict[Path, frozenset[str]]:
    """The folders from which a script takes its like, where it is one: its own, and that of the file it is a link to.

    A script of a shell may start anything, and JavaScript imports JSON as well.
    """
    family = next((kind for kind in _SOURCES if path.suffix in kind), None)
    if family is None or not os.path.isfile(path):  # noqa: PTH113
        return {}
    places = (path.parent, Path(os.path.realpath(path)).parent)
    if family is _SHELL:
        family = _ANY_SOURCE
    return dict.fromkeys(places, family | _IMPORTED_TOO if family is _SCRIPTS else family)


def _module(folder: Path, name: str) -> dict[Path, frozenset[str]]:
    """A Python module of the server's own folder."""
    if not (first := name.partition(".")[0]):
        return {}
    top = folder / first
    return {top: _PYTHON} if os.path.isdir(top) else _code_of(folder / f"{first}.py")  # noqa: PTH112


def _project(folder: Path) -> Path | None:
    """The nearest folder around that is marked as a project; never somebody's home or the root."""
    home = os.path.expanduser("~")  # noqa: PTH111
    for place in (folder, *folder.parents):
        if str(place) in (home, place.anchor):
            return None
        if any(os.path.lexists(place / mark) for mark in _MARKS):
            return place
    return None


def _parts_of_word(word: str) -> Sequence[str]:
    """What a word of a command may name: itself, an option's value, the words of a command in it."""
    names = [word]
    if "=" in word:
        names.append(word.partition("=")[2])
    if " " in word:
        names += word.replace("'", " ").replace('"', " ").replace(";", " ").split()
    return names


def _paths(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    for name in names:
        if name and len(name) <= _LONGEST_NAME and "\0" not in name and not name.endswith(_LOG):
            yield folder / (os.path.expanduser(name) if name.startswith("~") else name)  # noqa: PTH111


def _is_passed_on(variable: str) -> bool:
    return variable in ALWAYS_PASSED or variable.startswith("LC_")


def _texts_in(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
