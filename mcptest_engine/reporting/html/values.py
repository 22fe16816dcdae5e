"""What came from outside, made ready to be shown: every text sanitised, and JSON values as the text that they were.

A value is handed to the page as JSON text and not as a value, because a browser would round large numbers and write 1.0 as 1.
Each stands once, on a line of its own, and the details of the tests name it by its number: nothing is encoded twice, what
many tests share is there once, and long values can be cut when all of them are known.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.safe_json import finite
from mcptest_engine.core.sanitise import sanitise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_engine.core.json_types import Json

_ESCAPES = re.compile(r"\\[bfru]")
# What is encoded came out of JSON or is made here, so that nothing can hold itself.
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
_STRICT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, allow_nan=False)
_SHORTEST = 200


class Shown(int):
    """The number of a value of the page, counted from 1, so that a script takes none for false."""

    __slots__ = ()


class Value(NamedTuple):
    """A value as it is shown. `text` is JSON unless it `is_plain`; `length` is how long it was, if it was cut."""

    text: str
    is_plain: bool
    length: int | None = None

    @property
    def line(self) -> str:
        """The value as a line of the page's data: `~`, its length and `~` where it was cut, and a text quoted after a `T`."""
        cut = "" if self.length is None else f"~{self.length}~"
        return cut + (f"T{data_line(self.text)}" if self.is_plain else _marked(self.text))

    def cut(self, limit: int) -> Value:
        """Its beginning, so that the line is no longer than `limit` bytes."""
        count = limit
        while True:
            found = Value(self.text[:count], self.is_plain, len(self.text))
            over = bytes_of(found.line) - limit
            if over <= 0 or not count:
                return found
            count = count * limit // (limit + over)  # escapes and other alphabets make bytes hard to foresee


class Values:
    """The values of a page, each once."""

    def __init__(self) -> None:
        self.size = 0
        """The bytes of all lines."""
        self._values: list[Value] = []
        self._lines: list[str] = []
        self._sizes: list[int] = []
        self._json: dict[str, Shown] = {}
        self._plain: dict[str, Shown] = {}

    def json(self, value: object) -> Shown:
        """A value as compact JSON; NaN and the infinities keep their names."""
        text = _COMPACT.encode(value)
        known = self._json.get(text)
        if known is None:
            clean = _COMPACT.encode(cleaned(value)) if needs_cleaning(text) else text
            known = self._json.get(clean)
            if known is None:
                self._json[clean] = known = self._added(Value(clean, is_plain=False))
            self._json[text] = known
        return known

    def text(self, text: str) -> Shown:
        """A text as it is."""
        known = self._plain.get(text)
        if known is None:
            self._plain[text] = known = self._added(Value(sanitise(text), is_plain=True))
        return known

    def __getitem__(self, number: Shown) -> Value:
        return self._values[number - 1]

    def lines(self) -> str:
        """All values, a line each."""
        return "\n".join(self._lines)

    def cut(self, room: int) -> None:
        """Cut the longest until all of them have room in so many bytes, but none so short that it tells nothing."""
        limit = _limit(self._sizes, room)
        for at, size in enumerate(self._sizes):
            if size > limit:
                self._values[at] = value = self._values[at].cut(limit - 1)
                self._lines[at] = value.line
        self.size = sum(map(bytes_of, self._lines)) + len(self._lines)

    def _added(self, value: Value) -> Shown:
        line = value.line
        size = bytes_of(line) + 1
        self._values.append(value)
        self._lines.append(line)
        self._sizes.append(size)
        self.size += size
        return Shown(len(self._lines))


def bytes_of(text: str) -> int:
    """How long a text is in the file."""
    return len(text) if text.isascii() else len(text.encode())


def cleaned(value: object) -> Json:
    """`value` with every text in it sanitised."""
    if isinstance(value, str):
        return sanitise(value)
    if isinstance(value, dict):
        return {sanitise(key): cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(item) for item in value]
    return value


def needs_cleaning(line: str) -> bool:
    """Whether there may be anything to sanitise in a value whose JSON this is; nearly always there is not."""
    return _ESCAPES.search(line) is not None or sanitise(line) is not line


def data_line(value: object) -> str:
    """A value as one line of JSON for a `<script>` that is only data: nothing in it could end an element or begin one."""
    try:
        text = _STRICT.encode(value)
    except ValueError:
        text = _STRICT.encode(finite(value))
    return _marked(text)


def _marked(text: str) -> str:
    """JSON without the signs that markup is made of; they stand in texts alone, and there their escapes mean the same."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _limit(lengths: Sequence[int], room: int) -> int:
    """The length at which all values, cut to it, come to no more than `room`."""
    left, count = room, len(lengths)
    for length in sorted(lengths):
        if length * count > left:
            return max(left // count, _SHORTEST)
        left, count = left - length, count - 1
    return max(lengths, default=_SHORTEST)
