"""The current text of a suite: its tests by name, and the piece of text of a change.

A piece is what a person sees and edits: an assertion, an `expect:`, or a whole test, without its indentation. It is changed
separately, with `suite/edit.py`, and put back in its place, so that a hundred changes need two parses of the file. Nothing here
has to be right about YAML: the caller parses the result and compares it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import McptestError, SuiteError
from mcptest_engine.suite.edit import BOM, set_value
from mcptest_engine.suite.splice import newline_of
from mcptest_engine.suite.text_edits import TextEdit, apply, line_start
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.suite.yaml_nodes import Node, compose

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcptest_engine.suite.yaml import Pointer, Tree

_LARGEST = 32 * 1024 * 1024
_IN_JSON = re.compile(r"\s*\{\s*\"")


class Unreadable(McptestError):
    """A suite that cannot be read or parsed; the message says why."""


class Piece(NamedTuple):
    """One node, or one `key: value`, of a text: where it stands, in which column, and its lines without indentation.

    `inner` leads from the piece, read by itself, to the place asked for. `is_item` says that it is an item of a list, shown
    with its dash. `in_json`: what is written into it is JSON, as the whole text is.
    """

    start: int
    end: int
    column: int
    text: str
    inner: Pointer
    is_item: bool
    in_json: bool

    @property
    def shown(self) -> str:
        """The piece as a person reads it."""
        return self.show(self.text)

    def show(self, text: str) -> str:
        return dashed(text) if self.is_item else text

    def with_value(self, value: object) -> str:
        """The piece's text with another value at the requested place; comments and spelling stay. Raises: EditRefused."""
        if not self.in_json:
            return apply(self.text, set_value(self.text, self.inner, value))
        first, last, path = ("[", "]", (0, *self.inner)) if self.is_item else ("{", "}", self.inner)
        whole = first + self.text + last  # so the edit sees that it is in JSON
        return apply(whole, set_value(whole, path, value)).removeprefix(first).removesuffix(last)


class SuiteText:
    """One file, read once. `text` is without the byte order mark that `bom` holds."""

    def __init__(self, path: Path, data: bytes) -> None:
        """Decode and parse a suite file. Raises: Unreadable."""
        try:
            whole = data.decode("utf-8")
        except UnicodeDecodeError:
            raise Unreadable(f"{path.name} is not valid UTF-8") from None
        self.path, self.data = path, data
        self.text = whole.removeprefix(BOM)
        self.bom = whole[: len(whole) - len(self.text)]
        self.newline = newline_of(self.text)
        try:
            self.tree: Tree = read_tree(self.text, file=path.name)
        except SuiteError as broken:
            raise Unreadable(f"{path.name} cannot be read: {broken.problems[0].message}") from None

    @classmethod
    def read(cls, path: Path) -> SuiteText:
        """Read the file from the disk. Raises: Unreadable."""
        return cls(path, file_bytes(path))

    @property
    def whole(self) -> str:
        """The text as the file has it, byte order mark included."""
        return self.bom + self.text

    def tests(self, block: str) -> list[Any]:
        """The tests of a block; [] when it is missing or no list."""
        found = self.value((block,))
        return found if isinstance(found, list) else []

    def value(self, path: Pointer) -> Any:
        """The value at a path, None where there is none."""
        return value_at(self.tree.value, path)

    def line(self, block: str, index: int) -> int | None:
        """The line of a test, from 1."""
        place = self.tree.span((block, index))
        return None if place is None else place.line

    def find(self, block: str, name: str, *, line: int | None = None, number: int = 1) -> int | None:
        """The index of the test called `name`; of several, the one on `line`, else the one that is the `number`th.

        A test whose name holds a template is found by its line alone.
        """
        tests = self.tests(block)
        named = [index for index, test in enumerate(tests) if isinstance(test, dict) and test.get("name") == name]
        if not named and line is not None:
            named = [
                index
                for index, test in enumerate(tests)
                if isinstance(test, dict) and "${" in str(test.get("name")) and self.line(block, index) == line
            ]
        if len(named) <= 1:
            return named[0] if named else None
        on_line = [index for index in named if line is not None and self.line(block, index) == line]
        if on_line:
            return on_line[0]
        return named[number - 1] if number <= len(named) else None

    def piece(self, block: str, index: int, path: Pointer) -> Piece | None:
        """The piece at `path` below a test: an item of a list, or a key with its value; else what is around it.

        None when it cannot be cut out.
        """
        root, offset = self._test_node(block, index)
        if root is None:
            return None
        unit = path
        while (node := root.at(unit)) is None:
            unit = unit[:-1]
        start, inner, is_item = node.start, path[len(unit) :], True
        if unit and isinstance(unit[-1], str):
            holder = root.at(unit[:-1])
            assert holder is not None
            start = next(key.start for key, value in holder.pairs if value is node)
            inner, is_item = (unit[-1], *inner), False
        return self._cut(start + offset, node.end + offset, inner, is_item=is_item)

    def put(self, piece: Piece, text: str) -> TextEdit:
        """The edit that gives a piece another text."""
        first, *rest = text.rstrip("\n").split("\n")
        indent = " " * piece.column
        lines = [first, *(f"{indent}{line}" if line.strip() else line for line in rest)]
        return TextEdit(piece.start, piece.end, self.newline.join(lines))

    def _cut(self, start: int, end: int, inner: Pointer, *, is_item: bool) -> Piece | None:
        column = start - line_start(self.text, start)
        written = self.text[start:end]
        first, *rest = written.replace("\r\n", "\n").split("\n")
        if any(line[:column].strip() for line in rest):
            return None
        text = "\n".join((first, *(line[column:] for line in rest)))
        piece = Piece(start, end, column, text, inner, is_item, in_json=_IN_JSON.match(self.text) is not None)
        return piece if self.put(piece, text).text == written else None

    def _test_node(self, block: str, index: int) -> tuple[Node | None, int]:
        """The node of a test and what is to be added to its marks; the test's own lines are enough where it is a block."""
        start = self.tree.index((block, index))
        if start is None:
            return None, 0
        begin = line_start(self.text, start)
        column = start - begin
        if self.text[begin:start].strip() == "-" and self.text[start : start + 1] not in ("{", "&", "*", "!"):
            end = self._end_of(block, index)
            try:
                root = compose(" " * column + self.text[start:end])
            except Exception:  # noqa: BLE001 - cut wrongly, whatever the parser says to it: the whole file settles it
                root = None
            if root is not None and root.at(("name",)) is not None:
                return root, start - column
        whole = compose(self.text)
        return (None if whole is None else whole.at((block, index))), 0

    def _end_of(self, block: str, index: int) -> int:
        """The start of the next test or block, at the beginning of its line."""
        here = self.tree.index((block, index)) or 0
        following = self.tree.index((block, index + 1))
        if following is None:
            keys = (self.tree.index((key,), key=True) for key in self.tree.value)
            following = min((at for at in keys if at is not None and at > here), default=len(self.text))
        if following == len(self.text):
            return following
        return line_start(self.text, following)


def file_bytes(path: Path) -> bytes:
    """The content of a file. Raises: Unreadable."""
    try:
        if not path.is_file():
            raise Unreadable(f"{path.name} no longer exists" if not path.exists() else f"{path.name} is not a file")
        if path.stat().st_size > _LARGEST:
            raise Unreadable(f"{path.name} is too large to be edited here")
        return path.read_bytes()
    except (OSError, ValueError) as wrong:
        reason = getattr(wrong, "strerror", None) or str(wrong)
        raise Unreadable(f"{path.name} cannot be read: {reason.lower()}") from None


def dashed(text: str) -> str:
    """The lines of a value as an item of a list."""
    first, *rest = text.split("\n")
    return "\n".join((f"- {first}", *(f"  {line}" if line.strip() else line for line in rest)))


def undashed(text: str) -> str:
    """The lines of an item of a list as a value by itself; a text that is no such item comes back as it is."""
    lines = text.strip("\n").split("\n")
    at = next((number for number, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)
    if at is None or not lines[at].startswith("- "):
        return text
    rest = [line.removeprefix("  ") for line in lines[at + 1 :]]
    if any(line.strip() and not line.startswith("  ") for line in lines[at + 1 :]):
        return text
    return "\n".join((*lines[:at], lines[at][2:], *rest))


def value_at(tree: Any, path: Sequence[str | int]) -> Any:
    """The value at a path of plain data, None where there is none."""
    for part in path:
        try:
            tree = tree[part]
        except (LookupError, TypeError):
            return None
    return tree
