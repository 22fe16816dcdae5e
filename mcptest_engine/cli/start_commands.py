"""How a server in this folder may be started, according to its project files; nothing is run.

A file that cannot be parsed suggests nothing.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tomllib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LARGEST = 1024 * 1024
_PYTHON_FILES = ("server.py", "main.py", "app.py", "src/server.py", "src/main.py")
_NODE_FILES = (
    "dist/index.js",
    "build/index.js",
    "dist/server.js",
    "build/server.js",
    "server.js",
    "index.js",
    "src/index.js",
)
_PLAIN = re.compile(r"[\w./@:=+-]+( [\w./@:=+-]+)*")
"""A script of package.json that needs no shell."""


class StartCommand(NamedTuple):
    """A command and the file that suggests it."""

    argv: tuple[str, ...]
    source: str

    @property
    def shown(self) -> str:
        """The command as it is typed in a shell."""
        return shlex.join(self.argv)


def start_commands(folder: Path) -> tuple[StartCommand, ...]:
    """The likely commands, the likeliest first, without repetition. Never raises."""
    found = (*_of_pyproject(folder), *_of_package_json(folder), *_of_files(folder))
    once: dict[tuple[str, ...], StartCommand] = {}
    for command in found:
        once.setdefault(command.argv, command)
    return tuple(once.values())


def _of_pyproject(folder: Path) -> Iterator[StartCommand]:
    try:
        project = tomllib.loads(_file_text(folder / "pyproject.toml"))
    except (OSError, ValueError, RecursionError):
        return
    scripts = _mapping_member(_mapping_member(project, "project"), "scripts")
    scripts |= _mapping_member(_mapping_member(_mapping_member(project, "tool"), "poetry"), "scripts")
    for name in scripts:
        if shutil.which(name) is not None:
            yield StartCommand((name,), "pyproject.toml")
        elif shutil.which("uv") is not None:
            yield StartCommand(("uv", "run", name), "pyproject.toml")


def _of_package_json(folder: Path) -> Iterator[StartCommand]:
    try:
        package = json.loads(_file_text(folder / "package.json"))
    except (OSError, ValueError, RecursionError):
        return
    if not isinstance(package, dict):
        return
    programs = package.get("bin")
    files = [programs] if isinstance(programs, str) else [*_mapping_member(package, "bin").values()]
    for file in (*files, package.get("main")):
        if isinstance(file, str) and (folder / file).is_file():
            yield StartCommand(("node", file.removeprefix("./")), "package.json")
    start = _mapping_member(package, "scripts").get("start")
    if isinstance(start, str) and start:
        plain = _PLAIN.fullmatch(start) is not None and shutil.which(start.split(" ", 1)[0]) is not None
        words = start.split() if plain else ["npm", "run", "--silent", "start"]
        yield StartCommand(tuple(words), "package.json")


def _of_files(folder: Path) -> Iterator[StartCommand]:
    python = next((name for name in ("python", "python3") if shutil.which(name) is not None), sys.executable)
    for interpreter, files in ((python, _PYTHON_FILES), ("node", _NODE_FILES)):
        for file in files:
            if (folder / file).is_file():
                yield StartCommand((interpreter, file), file)
    for marker, argv in (("go.mod", ("go", "run", ".")), ("Cargo.toml", ("cargo", "run", "--quiet"))):
        if (folder / marker).is_file():
            yield StartCommand(argv, marker)


def _file_text(path: Path) -> str:
    """Raises: OSError, ValueError for a file that is too large or no text."""
    if path.stat().st_size > _LARGEST:
        raise ValueError("too large")
    return path.read_bytes().decode("utf-8-sig")


def _mapping_member(value: object, name: str) -> dict[str, object]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
