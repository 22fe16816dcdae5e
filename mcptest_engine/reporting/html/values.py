"""What came from outside, made ready to be shown: every text sanitised, and JSON values as the text that they were.

A value is handed to the page as JSON text and not as a value, because a browser would round large numbers and write 1.0 as 1.
It stands in a list of its own, `[text]`, or `[beginning, length]` when it was cut, so that it can be cut after all are known.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.safe_json import finite
from mcptest_engine.core.sanitise import sanitise

if TYPE_CHECKING:
    from collections.abc import Sequence

_ESCAPES = re.compile(r"\\[bfru]")
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_STRICT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_SHORTEST = 200


class Values:
    """Makes texts of values; `made` are all of them."""

    def __init__(self) -> None:
        self.made: list[list[Any]] = []

    def json(self, value: Any) -> list[Any]:
        """A value as compact JSON; NaN and the infinities keep their names."""
        return self.text(_COMPACT.encode(value))

    def text(self, text: str) -> list[Any]:
        """A text as it is."""
        made = [text]
        self.made.append(made)
        return made


def cut_longest(made: Sequence[list[Any]], share: float) -> None:
    """Cut the longest values until all of them have that share of their length, but none so short that it tells nothing."""
    lengths = [len(value[0]) for value in made]
    limit = _limit(lengths, int(sum(lengths) * share))
    for value, length in zip(made, lengths, strict=True):
        if length > limit:
            value[:] = [value[0][:limit], *(value[1:] or [length])]


def cleaned(value: Any) -> Any:
    """`value` with every text in it sanitised."""
    if isinstance(value, str):
        return sanitise(value)
    if isinstance(value, dict):
        return {sanitise(key): cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(item) for item in value]
    return value


def needs_cleaning(line: str) -> bool:
    """Whether there may be anything to sanitise in a value whose `data_line` this is; nearly always there is not."""
    return _ESCAPES.search(line) is not None or sanitise(line) is not line


def data_line(value: Any) -> str:
    """A value as one line of JSON for a `<script>` that is only data: nothing in it could end an element or begin one."""
    try:
        text = _STRICT.encode(value)
    except ValueError:
        text = _STRICT.encode(finite(value))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _limit(lengths: Sequence[int], room: int) -> int:
    """The length at which all values, cut to it, come to no more than `room`."""
    left, count = room, len(lengths)
    for length in sorted(lengths):
        if length * count > left:
            return max(left // count, _SHORTEST)
        left, count = left - length, count - 1
    return max(lengths, default=_SHORTEST)
