"""JSON as a `Tree`: data with the place of every value, read strictly.

The surprising thing: this is not the reader of YAML, although JSON is YAML. YAML takes `0o10` for 8, `NaN` for a text, and a
comment for nothing, and no JSON reader does.
"""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from json import decoder
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import Problem, SuiteError
from mcptest_engine.suite.yaml import MAX_DEPTH, Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_scan_text: Callable[[str, int, bool], tuple[str, int]] = decoder.scanstring  # type: ignore[attr-defined] # not in the stubs
_BLANK = re.compile(r"[ \t\n\r]*")
_BLANK_IN_LINE = re.compile(r"[ \t\r]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![\w.+-])")
_WORD = re.compile(r"[\w.+$-]+")
_CONSTANTS = {"true": True, "false": False, "null": None}
_SPELLINGS = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false", "None": "null", "undefined": "null"}
_NO_NUMBERS = frozenset(("NaN", "Infinity", "-Infinity", "+Infinity", "nan", "inf", "-inf"))
_LONGEST_NUMBER = 40
"""A hint repeats no longer number."""
_COMMENT_SIGNS = ("#", "/")
_NO_COMMENTS = "JSON has no comments"
_LONGEST_KEY = 40
"""A message repeats no more of a key."""
_HALF = re.compile(r"[\ud800-\udfff]")


class _Fault(Exception):
    """The text is no JSON; never leaves this module."""

    def __init__(self, index: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.index, self.message, self.hint = index, message, hint


def read_json(text: str, *, file: str) -> Tree:
    """The one value of a JSON text. Raises: SuiteError with the first fault, or with every duplicate key."""
    tree = Tree(None, 0, file, text)
    reader = _Reader(tree, _BLANK)
    try:
        value, marks = reader.value(0, 0)
        reader.end()
    except _Fault as wrong:
        raise SuiteError([*reader.problems, reader.problem(wrong)]) from None
    if reader.problems:
        raise SuiteError(reader.problems)
    return reader.tree_of(value, marks)


def read_json_lines(text: str, *, file: str) -> tuple[Tree, list[Problem]]:
    """The values of the lines of a text that are not blank, as a list, and the problems of the lines that cannot be read."""
    reader = _Reader(Tree([], 0, file, text), _BLANK_IN_LINE)
    rows: list[Any] = []
    marks: list[Any] = [0]
    for start in _line_starts(text):
        reader.at = start
        if reader.peek() in ("", "\n"):
            continue
        try:
            row = reader.value(reader.at, 0)
            reader.end()
        except _Fault as wrong:
            reader.problems.append(reader.problem(wrong))
            continue
        rows.append(row[0])
        marks.append(row[1])
    return reader.tree_of(rows, marks), reader.problems


def _line_starts(text: str) -> Iterator[int]:
    """Where lines begin, after the byte order mark that stands there when files were joined."""
    start = 0
    while start < len(text):
        yield start + text.startswith("\ufeff", start)
        start = text.find("\n", start) + 1 or len(text)


class _Reader:
    """Reads one value after another; `at` is the next character. The recursion is bounded by MAX_DEPTH."""

    def __init__(self, tree: Tree, blank: re.Pattern[str]) -> None:
        self.tree, self.text, self.at = tree, tree.text, 0
        self.problems: list[Problem] = []
        self._blank, self._is_line = blank, blank is _BLANK_IN_LINE
        self._has_whole_floats = False

    def tree_of(self, value: Any, marks: Any) -> Tree:
        return Tree(value, marks, self.tree.file, self.text, has_whole_floats=self._has_whole_floats)

    def problem(self, wrong: _Fault) -> Problem:
        span = self.tree.span_of(wrong.index)
        return Problem(message=wrong.message, file=self.tree.file, span=span, hint=wrong.hint, is_yaml=True)

    def peek(self) -> str:
        """The next character that is not blank; "" at the end."""
        first = self.text[self.at : self.at + 1]
        if first > " ":  # nearly always
            return first
        found = self._blank.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return self.text[self.at : self.at + 1]

    def end(self) -> None:
        """Nothing more may stand in the text, or in the line."""
        first = self.peek()
        if not first or (self._is_line and first == "\n"):
            return
        hint = _NO_COMMENTS if first in _COMMENT_SIGNS else None
        if self._is_line:
            hint = hint or "write each row on a line of its own"
            raise _Fault(self.at, "more text follows the object of this line", hint)
        if first == "{":
            hint = "write one list: `[{…}, {…}]`, or one object on each line of a `.jsonl` file"
        raise _Fault(self.at, "more text follows the value of the file", hint)

    def value(self, start: int, depth: int) -> tuple[Any, Any]:
        """The value that begins at `start` or after blanks, and its marks."""
        self.at = start
        first = self.peek()
        at = self.at
        if first == '"':
            return self._string(), at
        if first in ("{", "["):
            if depth >= MAX_DEPTH:
                raise _Fault(at, f"nested more than {MAX_DEPTH} levels deep")
            self.at += 1
            return self._members(at, depth + 1) if first == "{" else self._items(at, depth + 1)
        found = _NUMBER.match(self.text, at)
        if found is not None:
            self.at = found.end()
            return self._number(found), at
        word = _WORD.match(self.text, at)
        if word is not None and word[0] in _CONSTANTS:
            self.at = word.end()
            return _CONSTANTS[word[0]], at
        raise self._no_value(first, word[0] if word is not None else "")

    def _no_value(self, first: str, word: str) -> _Fault:
        shown = f"`{word[:40]}`"
        if word in _SPELLINGS:
            return _Fault(self.at, f"{shown} is not a JSON value", f"did you mean `{_SPELLINGS[word]}`?")
        if word in _NO_NUMBERS:
            return _Fault(
                self.at, f"{shown} is not a JSON value", "JSON has only finite numbers: write `null` or a text"
            )
        if word and (word[0].isdigit() or word[0] in "+-."):
            meant = _number_meant(word)
            hint = "quote it to make it text" if meant is None else f"write `{meant}`, or quote it to make it text"
            return _Fault(self.at, f"{shown} is not a JSON number", hint)
        if word:
            return _Fault(self.at, f"{shown} is not a JSON value", 'a text has double quotes: `"…"`')
        if first in ("'", "\u201c", "\u2018", "`"):
            return _Fault(self.at, f"a text begins with {first}", 'a text in JSON has double quotes: `"…"`')
        if first in _COMMENT_SIGNS:
            return _Fault(self.at, "this is not a JSON value", _NO_COMMENTS)
        if not first or (self._is_line and first == "\n"):
            return _Fault(self.at, "expected a value, found the end of the text")
        return _Fault(self.at, f"expected a value, found `{_visible(first)}`")

    def _number(self, found: re.Match[str]) -> int | float:
        if found[2] is None and found[3] is None:
            try:
                return int(found[1])
            except ValueError:
                raise _Fault(found.start(), "the number has too many digits", "quote it to make it text") from None
        number = float(found[0])
        if not math.isfinite(number):
            raise _Fault(found.start(), f"the number `{found[0][:40]}` is too large", "quote it to make it text")
        self._has_whole_floats = self._has_whole_floats or number.is_integer()
        return number

    def _string(self) -> str:
        start = self.at
        try:
            text, self.at = _scan_text(self.text, start + 1, True)
        except json.JSONDecodeError as wrong:
            raise self._no_string(start, wrong) from None
        if "\\u" in self.text[start : self.at] and _HALF.search(text) is not None:
            raise _Fault(
                start, "the text contains half of a character (a lone surrogate)", "write both halves, or none"
            )
        return text

    def _no_string(self, start: int, wrong: json.JSONDecodeError) -> _Fault:
        if wrong.msg.startswith("Unterminated") or self.text[wrong.pos : wrong.pos + 1] in ("\n", "\r"):
            return _Fault(start, 'a text has no closing `"`', "write `\\n` for the end of a line in a text")
        if wrong.msg.startswith("Invalid control"):
            return _Fault(wrong.pos, "a text contains a control character", "write it as an escape, such as `\\t`")
        shown = self.text[wrong.pos : wrong.pos + 2]
        return _Fault(wrong.pos, f"`{shown}` is not a JSON escape", "write `\\\\` for a backslash")

    def _items(self, opened: int, depth: int) -> tuple[list[Any], list[Any]]:
        items: list[Any] = []
        marks: list[Any] = [opened]
        if self.peek() == "]":
            self.at += 1
            return items, marks
        while True:
            value, places = self.value(self.at, depth)
            items.append(value)
            marks.append(places)
            if self._is_closed("]", opened):
                return items, marks

    def _members(self, opened: int, depth: int) -> tuple[dict[str, Any], list[Any]]:
        members: dict[str, Any] = {}
        marks: list[Any] = [opened]
        if self.peek() == "}":
            self.at += 1
            return members, marks
        while True:
            if self.peek() != '"':
                found = _WORD.match(self.text, self.at)
                hint = None if found is None else f'write `"{found[0][:40]}"`'
                raise _Fault(self.at, "a key of an object is a text in double quotes", hint)
            start = self.at
            key = self._string()
            if self.peek() != ":":
                raise _Fault(self.at, f"expected `:` after the key `{key[:_LONGEST_KEY]}`")
            value, places = self.value(self.at + 1, depth)
            if key in members:
                told = _Fault(start, f"duplicate key `{key[:_LONGEST_KEY]}`", "remove one of the two, or merge them")
                self.problems.append(self.problem(told))
            else:
                members[key] = value
                marks += (start, places)
            if self._is_closed("}", opened):
                return members, marks

    def _is_closed(self, closing: str, opened: int) -> bool:
        """Whether the list or object ends here; else a comma is passed, and the next item follows."""
        first = self.peek()
        comma, self.at = self.at, self.at + 1
        if first == closing:
            return True
        if not first or (self._is_line and first == "\n"):
            raise _Fault(opened, f"this `{self.text[opened]}` is never closed")
        if first != ",":
            hint = _NO_COMMENTS if first in _COMMENT_SIGNS else None
            raise _Fault(comma, f"expected `,` or `{closing}`, found `{_visible(first)}`", hint)
        if self.peek() == closing:
            raise _Fault(comma, f"a comma before `{closing}`", "remove it")
        return False


def _visible(sign: str) -> str:
    """The character, or its escape where it cannot be seen, such as `\\xa0` for a no-break space."""
    return sign if sign.isprintable() else ascii(sign)[1:-1]


def _number_meant(word: str) -> int | float | None:
    """What YAML or Python reads where JSON reads no number, such as 8 for `0o10`."""
    for read in (lambda text: int(text, 0), int, float) if len(word) <= _LONGEST_NUMBER else ():
        with suppress(ValueError):
            number: int | float = read(word)
            return number if math.isfinite(number) else None
    return None
