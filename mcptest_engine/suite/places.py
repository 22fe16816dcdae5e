"""Problems reported at the place where their text is written.

The surprising thing: a place is looked up in the file as it was read, while what is judged has its templates replaced and
may have another shape; where the two differ the nearest place that was written is given, and no column inside a value.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import Problem, Severity
from mcptest_engine.core.sanitise import first_control, replace_unsafe
from mcptest_engine.core.text import pointer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcptest_engine.suite.sources import Source
    from mcptest_engine.suite.yaml import Pointer, Tree


MOST_PROBLEMS = 500
"""How many problems of one file are reported. Nobody reads more, and the hints to 50,000 take minutes."""

FOCUSED = ("focused tests (`only`) are refused under CI", "remove it, and select with `--filter` instead")
"""The message and the hint."""


class TooManyProblems(Exception):
    """A file has more than `MOST_PROBLEMS` errors: looking for more helps nobody. Never leaves the load."""


class Places:
    """Makes problems for the files of one load and keeps them in `problems`.

    Raises: TooManyProblems from `report`, with one more than `MOST_PROBLEMS` errors of a file in `problems`. Warnings never
    raise, since errors may follow; beyond that number they are left out.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self.problems: list[Problem] = []
        self._templated: dict[int, bool] = {}
        self._counts: Counter[tuple[int, Severity]] = Counter()

    def emptied(self) -> Places:
        """The same files without a problem."""
        return Places(self._sources)

    def report(
        self,
        file: int,
        path: Pointer,
        message: str,
        hint: str | None = None,
        *,
        severity: Severity = Severity.ERROR,
        key: bool = False,
        inside: tuple[str, int] | None = None,
    ) -> None:
        """Note a problem at `path` of the file with that number.

        `key` places it at the key instead of the value; `inside` is the text judged and the index in it of the fault, which
        moves the place there when the text stands in the file exactly as judged, plain or in quotes.
        """
        count = self._counts[file, severity] = self._counts[file, severity] + 1
        if count > MOST_PROBLEMS + 1:
            return
        source, below = self._origin_of(file, path)
        tree, span = source.tree, None
        if tree is not None:
            index = tree.index(below, key=key, nearest=True) or 0
            span = tree.span_of(index if inside is None else _moved(tree.text, index, *inside))
        message, hint = _on_one_line(message), hint and _on_one_line(hint)
        self.problems.append(
            Problem(message=message, pointer=pointer(path), file=source.file, span=span, hint=hint, severity=severity)
        )
        if count > MOST_PROBLEMS and severity is Severity.ERROR:
            raise TooManyProblems

    def warn(self, file: int, path: Pointer, message: str, hint: str | None = None, *, key: bool = False) -> None:
        self.report(file, path, message, hint, severity=Severity.WARNING, key=key)

    def line(self, file: int, path: Pointer) -> int:
        """The line of the value at `path`, from 1."""
        source, below = self._origin_of(file, path)
        index = None if source.tree is None else source.tree.index(below, nearest=True)
        return 1 if index is None or source.tree is None else source.tree.line_of(index)

    def _origin_of(self, file: int, path: Pointer) -> tuple[Source, Pointer]:
        """The file in which the value at `path` is written, and the path there: rows of data may have a file of their own."""
        source = self._sources[file]
        number = source.rows.get(path[:3]) if source.rows and len(path) > 3 else None
        return (source, path) if number is None else (self._sources[number], path[3:])

    def data_file(self, file: int, path: Pointer) -> Path | None:
        """The file that holds the rows of the test at `path`; None where the suite holds them, or there are none."""
        number = self._sources[file].rows.get((*path, "cases"))
        return None if number is None else self._sources[number].path

    def has_templates(self, file: int) -> bool:
        """Whether that file holds a `${` anywhere."""
        if file not in self._templated:
            tree = self._sources[file].tree
            self._templated[file] = tree is not None and "${" in tree.text
        return self._templated[file]

    def file_name(self, file: int, path: Pointer = ()) -> str:
        """What messages call that file, or the one in which the value at `path` is written."""
        return self._origin_of(file, path)[0].file

    def raw(self, file: int, path: Pointer) -> Any:
        """The value at `path` as written, templates and all; None where nothing is."""
        tree = self._sources[file].tree
        value = None if tree is None else tree.value
        for part in path:
            try:
                value = value[part]  # type: ignore[index]
            except (LookupError, TypeError):
                return None
        return value


class SourceLines:
    """The lines of values in the files of a load, after it. A file is parsed again: its tree takes far more memory
    than its text, and only a failure asks for a line.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._texts = [(source.data, source.file) for source in sources]
        self._trees: dict[int, Tree] = {}

    def line_at(self, file: int, test: Pointer, path: Pointer) -> int | None:
        """The line of the value at `path` in the test at `test` of that file, None where none is written."""
        from mcptest_engine.suite.short_assertions import with_long_assertions
        from mcptest_engine.suite.yaml import read_bytes

        if file not in self._trees:
            data, name = self._texts[file]
            self._trees[file] = with_long_assertions(read_bytes(data, file=name, keep_going=True))
        span = self._trees[file].span((*test, *path))
        return None if span is None else span.line


def _on_one_line(text: str) -> str:
    if text.isprintable():
        return text
    from mcptest_engine.core.sanitise import one_line

    return one_line(text)


def _moved(text: str, index: int, value: str, offset: int) -> int:
    """The index in the file of a character of a value, where the value stands in the file letter for letter."""
    if text.startswith(value, index):
        return index + offset
    if text[index : index + 1] in {"'", '"'} and text.startswith(value, index + 1):
        return index + 1 + offset
    return index


def check_name(name: object, whose: str, file: int, path: tuple[str | int, ...], places: Places) -> None:
    """Refuse a name with control or invisible characters; `whose` says whose it is, such as "a suite's name"."""
    if type(name) is not str or name.isprintable():
        return
    at = first_control(name)
    if at is not None:
        message = f"{whose} must not contain control characters: U+{ord(name[at]):04X} is character {at + 1}"
        places.report(file, path, message, "reports are read line by line; remove it")
        return
    at = replace_unsafe(name, lambda _: "\0").find("\0")
    if at >= 0:
        message = f"{whose} must not contain invisible characters: U+{ord(name[at]):04X} is character {at + 1}"
        places.report(file, path, message, "the name could not be typed to select the test: remove it")
