"""The files of a suite: the one asked for, and what it imports, read once each.

The surprising thing: an import that cannot be read is a problem at the `imports` entry that names it, but what is wrong
inside an imported file is told in that file.
"""

from __future__ import annotations

import os
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import Problem, SuiteError
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import pointer
from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.case_rows import WITH_CASES
from mcptest_engine.suite.short_assertions import with_long_assertions, with_long_cases
from mcptest_engine.suite.yaml import file_bytes, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcptest_engine.suite.templates import Fault
    from mcptest_engine.suite.yaml import Pointer, Tree

MAX_IMPORT_DEPTH = 32
MAX_FILES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file that was read. `file` is what messages call it, `path` absolute; `tree` is None when it has no data.

    `rows` has the numbers of the files that `cases` of this one name, by where they do; what they hold stands there in `tree`.
    """

    file: str
    path: Path
    config_dir: str
    data: bytes = b""
    tree: Tree | None = None
    rows: Mapping[Pointer, int] = field(default_factory=dict)
    is_data: bool = False


class Reader:
    """Reads a suite and its imports.

    `expand(text, config_dir, path)` replaces what templates an import's path holds. `root` is the directory that imports
    must not leave, or None when they may. After `read`, `sources` holds every file, the one asked for first, and `order`
    their numbers with imported ones before the file that imports them; `complete` says that none is missing or unreadable.
    """

    def __init__(self, *, expand: Callable[[str, str, Pointer], tuple[str, Fault | None]], root: Path | None) -> None:
        self.expand, self.root = expand, root
        self.sources: list[Source] = []
        self.order: list[int] = []
        self.problems: list[Problem] = []
        self.complete = True
        self._seen: set[str] = set()
        self._chain: list[tuple[str, str]] = []

    def read(self, path: Path, *, file: str) -> None:
        """Read the suite at `path` and all that it imports."""
        self._read(Path(os.path.abspath(path)), file)  # noqa: PTH100  (resolve() would follow links)

    def read_text(self, data: bytes, *, file: str, path: Path) -> None:
        """The same for a suite that is not a file; its imports are relative to the directory of `path`."""
        self._take(path, file, data)

    def _read(self, path: Path, file: str) -> None:
        try:
            data = file_bytes(path, file=file)
        except SuiteError as unreadable:
            self.problems += unreadable.problems
            self.complete = False
            self._add(Source(file=file, path=path, config_dir=str(path.parent)))
            self.order.append(len(self.sources) - 1)
            return
        self._take(path, file, data)

    def _take(self, path: Path, file: str, data: bytes) -> None:
        source = Source(file=file, path=path, config_dir=str(path.parent), data=data)
        number = self._add(source)
        try:
            tree = with_long_assertions(read_bytes(data, file=file, keep_going=True))
        except SuiteError as broken:
            self.problems += broken.problems
            self.complete = False
            self.order.append(number)
            return
        self.problems += tree.problems
        self.sources[number] = source = replace(source, tree=tree)
        identity = _identity(path)
        self._seen.add(identity)
        self._chain.append((identity, file))
        for at, name in _imports(tree.value):
            self._import(source, tree, ("imports", at), name)
        self._chain.pop()
        self._read_rows(number, source, tree)
        self.order.append(number)

    def _add(self, source: Source) -> int:
        self.sources.append(source)
        return len(self.sources) - 1

    def _read_rows(self, number: int, source: Source, tree: Tree) -> None:
        """Put what the files hold that `cases` name in the place of their names."""
        named = list(_named_rows(tree.value))
        if not named:
            return
        from mcptest_engine.suite.case_files import read_cases  # few suites have any

        value = tree.value
        rows: dict[Pointer, int] = {}
        known: dict[tuple[str, str], int] = {}
        for place, name in named:
            refuse = partial(self._refuse, source, tree, place)
            located = self._locate(source, place, name, refuse)
            if located is None:
                continue
            path, identity, expanded = located
            shown = one_line(expanded, 200)
            if (told := _no_file(path, shown, "data file")) is not None:
                refuse(told, "the path is relative to the file that names it")
            elif self.root is not None and not _inside(identity, self.root):
                hint = "move it into the workspace, or name the suite by its absolute path to allow this"
                refuse(f'the data file "{shown}" is outside of the workspace', hint)
            else:
                key = (identity, str(place[0]))
                if key not in known:
                    file = _shown_beside(source.file, expanded)
                    data = Source(file=file, path=path, config_dir=source.config_dir, is_data=True)
                    known[key] = self._add(data)
                    try:
                        read = with_long_cases(read_cases(file_bytes(path, file=file), file=file), key[1])
                        self.sources[-1] = replace(data, tree=read)
                        self.problems += read.problems
                    except SuiteError as wrong:
                        self.problems += wrong.problems
                found = self.sources[known[key]].tree
                if found is not None:
                    rows[place] = known[key]
                    value = _with_rows(value, place, found.value)
        if rows:
            self.sources[number] = replace(source, tree=replace(tree, value=value), rows=rows)

    def _refuse(self, source: Source, tree: Tree, place: Pointer, message: str, hint: str | None = None) -> None:
        span = tree.span(place, nearest=True)
        self.problems.append(Problem(message=message, pointer=pointer(place), file=source.file, span=span, hint=hint))

    def _locate(
        self, source: Source, place: Pointer, name: str, refuse: Callable[..., None]
    ) -> tuple[Path, str, str] | None:
        """The path of a file that is named at `place`, what makes it one file, and its name as the author reads it."""
        expanded, fault = self.expand(name, source.config_dir, place)
        if fault is not None:
            refuse(fault.message or "the path cannot be expanded", _early(fault))
            return None
        if "\0" in expanded:
            refuse("a path cannot contain a NUL character")
            return None
        path = Path(os.path.normpath(os.path.join(source.config_dir, expanded)))  # noqa: PTH118  (as the author reads it)
        return path, _identity(path), expanded

    def _import(self, source: Source, tree: Tree, place: Pointer, name: str) -> None:
        def refuse(message: str, hint: str | None = None) -> None:
            self.complete = False
            self._refuse(source, tree, place, message, hint)

        located = self._locate(source, place, name, refuse)
        if located is None:
            return
        path, identity, expanded = located
        shown = one_line(expanded, 200)
        opened = [known for known, _ in self._chain]
        if identity in opened:
            circle = [file for _, file in self._chain[opened.index(identity) :]]
            chain = " → ".join([*circle, circle[0]])
            refuse(f"circular import: {chain}", "move the common parts to a third file")
        elif self.root is not None and not _inside(identity, self.root):
            hint = "move it into the workspace, or name the suite by its absolute path to allow this"
            refuse(f'the import "{shown}" is outside of the workspace', hint)
        elif not os.path.lexists(path):
            refuse(f'the imported file "{shown}" does not exist', "an import is relative to the file that names it")
        elif path.is_dir():
            refuse(f'the import "{shown}" is a directory', "name the file inside it")
        elif not path.is_file():
            refuse(f'the import "{shown}" is not a regular file', "only the suite itself may be a pipe")
        elif len(self._chain) >= MAX_IMPORT_DEPTH:
            refuse(f"the imports are nested more than {MAX_IMPORT_DEPTH} levels deep here")
        elif identity not in self._seen and len(self.sources) >= MAX_FILES:
            refuse(f"a suite may consist of at most {MAX_FILES:,} files")
        elif identity not in self._seen:
            self._seen.add(identity)
            self._read(path, _shown_beside(source.file, expanded))


def _imports(document: object) -> list[tuple[int, str]]:
    """The entries of `imports` that are paths; others are for the structural check."""
    entries = document.get("imports") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        return []
    return [(index, entry) for index, entry in enumerate(entries) if isinstance(entry, str) and entry]


def _named_rows(document: Any) -> Iterator[tuple[Pointer, str]]:
    """The files that tests name in their `cases`, each with its place."""
    for block in WITH_CASES if isinstance(document, dict) else ():
        entries = document.get(block)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            name = entry.get("cases") if isinstance(entry, dict) else None
            if isinstance(name, str) and name:
                yield (block, index, "cases"), name


def _with_rows(document: dict[str, Any], place: Pointer, rows: list[Any]) -> dict[str, Any]:
    block, index = str(place[0]), place[1]
    entries = [{**one, "cases": rows} if at == index else one for at, one in enumerate(document[block])]
    return {**document, block: entries}


def _no_file(path: Path, shown: str, noun: str) -> str | None:
    """Why there is no file to be read at a path; None where there is one."""
    if not os.path.lexists(path):
        return f'the {noun} "{shown}" does not exist'
    if path.is_dir():
        return f'the {noun} "{shown}" is a directory'
    return None if path.is_file() else f'the {noun} "{shown}" is not a regular file'


def _early(fault: Fault) -> str | None:
    if fault.is_unknown:
        return "imports are read before variables: only `${env.X}` and `${CONFIG_DIR}` are possible here"
    return fault.hint


def _identity(path: Path) -> str:
    """What makes two paths one file: links followed, as far as they lead."""
    return os.path.realpath(path)


def _inside(identity: str, root: Path) -> bool:
    base = os.path.realpath(root)
    return identity == base or identity.startswith(base.rstrip(os.sep) + os.sep)


def _shown_beside(importer: str, name: str) -> str:
    """How messages call an imported file: relative to where the importing one is, as that one was given."""
    return os.path.normpath(os.path.join(os.path.dirname(importer), name))  # noqa: PTH118, PTH120
