"""JSON as people write it: comments, trailing commas, single quotes, names without quotes, Python's `True` and `None`.

For the settings files of editors and for what is pasted into a form. The surprising thing: nothing here guesses. What is
neither JSON nor one of these spellings is refused, with its line and column.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from mcptest_engine.core.safe_json import decode_json

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import Json, JsonDict

DEEPEST = 200
_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|#[^\n]*|\ufeff)+", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None, "undefined": None}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u2018": "\u2019"}


class LenientError(ValueError):
    """A text that is not JSON in any spelling; `line` and `column` count from 1."""

    def __init__(self, message: str, text: str, at: int) -> None:
        self.message = message
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)
        super().__init__(f"{self.line}:{self.column}: {message}")


def loads(text: str) -> Json:
    """The value of `text`. A member that comes twice counts as it came last. Raises: LenientError."""
    try:
        return decode_json(text)
    except (ValueError, RecursionError):
        return Reader(text).whole()


class Reader:
    """Reads one value from the front; `at` is the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def whole(self) -> Json:
        value = self.value(0)
        if self.peek():
            raise self.wrong("expected the end of the text")
        return value

    def peek(self) -> str:
        found = _BLANK.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return self.text[self.at : self.at + 1]

    def wrong(self, message: str, at: int | None = None) -> LenientError:
        return LenientError(message, self.text, self.at if at is None else at)

    def value(self, depth: int) -> Json:
        first = self.peek()
        if depth > DEEPEST:
            raise self.wrong("nested too deeply")
        if first == "{":
            return self.members(depth)
        if first == "[":
            return self.items(depth)
        if first in _QUOTES and first:
            return self.string()
        if number := _NUMBER.match(self.text, self.at):
            found = _number(number[0])
            if not math.isfinite(found):
                raise self.wrong(f"the number {number[0][:20]}… is too large to be read")
            self.at = number.end()
            return found
        word = _WORD.match(self.text, self.at)
        if word is not None and word[0] in _WORDS:
            self.at = word.end()
            return _WORDS[word[0]]
        if word is not None:
            raise self.wrong(f"`{word[0][:40]}` is not a value; a text needs quotes")
        raise self.wrong("expected a value" if first else "expected a value, found the end of the text")

    def members(self, depth: int) -> JsonDict:
        opened, found = self.at, {}
        self.at += 1
        while (first := self.peek()) != "}":
            if not first:
                raise self.wrong("this `{` is never closed", opened)
            key = self.key(first)
            if self.peek() != ":":
                raise self.wrong(f"expected `:` after `{key[:40]}`")
            self.at += 1
            found[key] = self.value(depth + 1)
            self.separator("}", opened)
        self.at += 1
        return found

    def key(self, first: str) -> str:
        if first in _QUOTES:
            return self.string()
        word = _WORD.match(self.text, self.at)
        if word is None:
            raise self.wrong("expected a name")
        self.at = word.end()
        return word[0]

    def items(self, depth: int) -> list[Json]:
        opened, found = self.at, []
        self.at += 1
        while (first := self.peek()) != "]":
            if not first:
                raise self.wrong("this `[` is never closed", opened)
            found.append(self.value(depth + 1))
            self.separator("]", opened)
        self.at += 1
        return found

    def separator(self, closing: str, opened: int) -> None:
        found = self.peek()
        if found == ",":
            self.at += 1
        elif not found:
            raise self.wrong(f"this `{self.text[opened]}` is never closed", opened)
        elif found != closing:
            raise self.wrong(f"expected `,` or `{closing}`")

    def string(self) -> str:
        opened = self.at
        closing = _QUOTES[self.text[opened]]
        self.at += 1
        out: list[str] = []
        while True:
            char = self.text[self.at : self.at + 1]
            self.at += 1
            if not char:
                raise self.wrong("this text is never closed", opened)
            if char == closing:
                return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            out.append(self.escape() if char == "\\" else char)

    def escape(self) -> str:
        char = self.text[self.at : self.at + 1]
        self.at += 1
        if char == "\n":
            return ""
        if char not in ("u", "x"):
            return _ESCAPES.get(char, char)
        length = 4 if char == "u" else 2
        digits = self.text[self.at : self.at + length]
        if not re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", digits):
            raise self.wrong(f"`\\{char}` needs {length} hexadecimal digits")
        self.at += length
        return chr(int(digits, 16))


def _number(text: str) -> int | float:
    if re.fullmatch(r"[+-]?\d{1,4000}", text):
        return int(text)
    return float(text)
