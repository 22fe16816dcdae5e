"""A suite's text in one manner of writing: two spaces a level, one space around what separates, double quotes, one empty line.

Made of edits of spans between what means something, so that comments, order and whatever is not understood stay as they are.
The surprising thing: nothing here is trusted. The result counts only if it reads as the very same value, else less is done.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise

import yaml

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.suite.edit import BOM, reads_as
from mcptest_engine.suite.text_edits import EditRefused, TextEdit, apply
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.suite.yaml_nodes import Kind, Node, compose

_STEP = 2
_COLON = re.compile(r"[ \t]*:[ \t]+")
_IN_FLOW = re.compile(r"[ \t]*:[ \t]*")
_COMMA = re.compile(r"[ \t]*,[ \t]*")
_EDGE = re.compile(r"[ \t]*")
_LAST = re.compile(r"[ \t]*,?[ \t]*")
_SIMPLE = re.compile(r"'[^'\\\"\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff]*'")
_MOST_ROUNDS = 3


def tidy(text: str) -> str:
    """The text in that manner; itself where nothing is to be done. Raises: EditRefused for a text that cannot be read."""
    body = text.removeprefix(BOM)
    try:
        value = read_tree(body, file="").value
    except (SuiteError, RecursionError):
        raise EditRefused("the text cannot be read", hint="correct its problems first") from None
    if "\t" in re.sub(r"(?m)(?<=\S)\s+.*$", "", body) or re.search(r"\r(?!\n)", body):
        raise EditRefused("tabs and lone carriage returns cannot be formatted")
    for with_indentation in (True, False):
        after = _tidied_until_stable(body, with_indentation=with_indentation)
        if after is not None and reads_as(after, value):
            return text[: len(text) - len(body)] + after
    raise EditRefused("this text cannot be formatted without changing its meaning")


def _tidied_until_stable(body: str, *, with_indentation: bool) -> str | None:
    """The text once another round changes nothing."""
    for _ in range(_MOST_ROUNDS):
        try:
            root = compose(body)
            after = body if root is None else apply(body, _Tidying(body, root).edits(with_indentation))
        except (yaml.YAMLError, ValueError, RecursionError):
            return None
        if after == body:
            return body
        body = after
    return body


class _Tidying:
    """The edits of one text."""

    def __init__(self, text: str, root: Node) -> None:
        self._text, self._root = text, root
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._columns: dict[int, int] = {}
        """By row: the column that its first character moves to."""
        self._moved: dict[int, int] = {}
        """By row: how far it goes along with the row that what stands on it begins on."""
        self._inside: set[int] = set()
        """Rows that go on with a text: nothing but their indentation may be touched."""
        self._edits: list[TextEdit] = []

    def edits(self, with_indentation: bool) -> list[TextEdit]:
        self._look_at(self._root)
        if with_indentation:
            self._place(self._root, 0)
            self._indent()
        self._strip()
        return [edit for edit in self._edits if self._text[edit.start : edit.end] != edit.text]

    def _row(self, index: int) -> int:
        return bisect_right(self._starts, index) - 1

    def _column(self, index: int) -> int:
        return index - self._starts[self._row(index)]

    def _is_first(self, index: int) -> bool:
        return not self._text[self._starts[self._row(index)] : index].strip(" ")

    # What stands between

    def _look_at(self, node: Node) -> None:
        if node.kind is Kind.SCALAR:
            first, last = self._row(node.start), self._row(max(node.end - 1, node.start))
            self._inside |= set(range(first + 1, last + 1))
            if last > first and node.style not in ("|", ">"):
                self._inside.add(first)
            if first == last and node.style == "'" and (quoted := _SIMPLE.fullmatch(self._text, node.start, node.end)):
                self._edits.append(TextEdit(quoted.start(), quoted.end(), f'"{quoted[0][1:-1]}"'))
        for key, value in node.pairs:
            self._look_at(key)
            self._look_at(value)
            if not value.is_empty:
                self._between(_IN_FLOW if node.flow else _COLON, key.end, value.start, ": ")
        for item in node.items:
            self._look_at(item)
        if (
            node.flow
            and node.kind in (Kind.MAPPING, Kind.SEQUENCE)
            and self._text[node.body : node.body + 1] in ("{", "[")
        ):
            self._look_at_flow(node)

    def _look_at_flow(self, node: Node) -> None:
        members = [(key.start, value.end if not value.is_empty else key.end) for key, value in node.pairs]
        members += [(item.start, item.end) for item in node.items]
        space = " " if node.pairs else ""
        if not members:
            self._between(_EDGE, node.body + 1, node.end - 1, "")
            return
        self._between(_EDGE, node.body + 1, members[0][0], space)
        for (_, end), (start, _) in pairwise(members):
            self._between(_COMMA, end, start, ", ")
        self._between(_LAST, members[-1][1], node.end - 1, space)

    def _between(self, pattern: re.Pattern[str], start: int, end: int, text: str) -> None:
        if start <= end and pattern.fullmatch(self._text, start, end):
            self._edits.append(TextEdit(start, end, text))

    # Where it stands

    def _place(self, node: Node, column: int) -> None:
        """Begin what belongs to a block collection at `column`."""
        if node.flow or node.kind not in (Kind.MAPPING, Kind.SEQUENCE):
            return
        for key, value in node.pairs:
            if self._is_first(key.start):
                self._columns[self._row(key.start)] = column
            self._place_value(value, self._row(key.start), column - self._column(key.start), column + _STEP)
        for item in node.items:
            dash = self._text.rfind("-", 0, item.start) if not item.is_empty else item.start - 1
            gap = self._text[dash + 1 : item.start]
            if dash < 0 or gap.strip(" "):
                raise ValueError("a dash that stands alone")
            if self._is_first(dash):
                self._columns[self._row(dash)] = column
            if gap:
                self._edits.append(TextEdit(dash + 1, item.start, " "))
            self._place_value(item, self._row(dash), column - self._column(dash), column + _STEP)

    def _place_value(self, value: Node, row: int, moved: int, column: int) -> None:
        if not value.flow and value.kind in (Kind.MAPPING, Kind.SEQUENCE):
            self._place(value, column)
            return
        for inner in range(row + 1, self._row(max(value.end - 1, value.start)) + 1):
            self._moved[inner] = moved

    def _indent(self) -> None:
        rows = [self._line(row) for row in range(len(self._starts))]
        below: tuple[int, int] | None = None
        above: dict[int, int] = {}
        targets = dict(self._columns)
        for row, line in enumerate(rows):
            old = len(line) - len(line.lstrip(" "))
            if row in self._columns:
                above[old] = self._columns[row]
        for row in range(len(rows) - 1, -1, -1):
            line = rows[row]
            old = len(line) - len(line.lstrip(" "))
            if row in self._columns:
                below = old, self._columns[row]
            elif row in self._moved and line.strip():
                targets[row] = max(old + self._moved[row], 0)
            elif line.lstrip(" ").startswith("#") and row not in self._inside:
                targets[row] = below[1] if below is not None and below[0] == old else above.get(old, old)
        for row, column in targets.items():
            old = len(rows[row]) - len(rows[row].lstrip(" "))
            self._edits.append(TextEdit(self._starts[row], self._starts[row] + old, " " * column))

    def _line(self, row: int) -> str:
        end = self._starts[row + 1] if row + 1 < len(self._starts) else len(self._text)
        return self._text[self._starts[row] : end].rstrip("\r\n")

    # What stands nowhere

    def _strip(self) -> None:
        """No space at the end of a line, no two empty lines, one line's end at the end."""
        blank = True
        last = max(
            (row for row in range(len(self._starts)) if self._line(row).strip() or row in self._inside), default=-1
        )
        for row, start in enumerate(self._starts):
            line = self._line(row)
            if row in self._inside or row + 1 in self._inside:
                blank = False
                continue
            kept = line.rstrip(" \t")
            if kept:
                self._edits.append(TextEdit(start + len(kept), start + len(line), ""))
            elif blank or row > last:
                end = self._starts[row + 1] if row + 1 < len(self._starts) else len(self._text)
                self._edits.append(TextEdit(start, end, ""))
            elif line:
                self._edits.append(TextEdit(start, start + len(line), ""))
            blank = not kept
