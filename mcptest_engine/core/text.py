"""How values are written in texts: counts, times, numbers, durations, JSON Pointers; and about how many tokens a text is.

JSON Pointers name a place inside a JSON value. Source: RFC 6901.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

from mcptest_engine.core.lazy_patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from datetime import datetime

LONG_WAIT_MS = 100.0
"""From so long on the time that a test waited for another call is said beside its duration."""


def counted(number: int, word: str) -> str:
    """`1 test`, `2 tests`, `0 tests`; `word` is the singular of a noun that takes an s."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


NAMES_SHOWN = 8


def listed(texts: Collection[str], most: int, show: Callable[[str], str] = "`{}`".format) -> str:
    """The first of the texts and how many more there are, such as "`a`, `b` and 3 more"."""
    shown = ", ".join(map(show, islice(texts, most)))
    return f"{shown} and {len(texts) - most} more" if len(texts) > most else shown


def time_shown(seconds: float) -> str:
    """A time of today as `03:16`, one of another day with its date before; `seconds` are those since 1970."""
    at = time.localtime(seconds)
    return time.strftime("%H:%M" if at[:3] == time.localtime()[:3] else "%Y-%m-%d %H:%M", at)


def utc_text(moment: datetime, precision: str = "milliseconds") -> str:
    """A time as records have it: `2026-03-01T12:30:45.678Z`."""
    from datetime import UTC

    return moment.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def number_text(value: float, digits: int = 3) -> str:
    """A number with at most so many digits behind the point; one of 1e15 or more as `1.5e+308`."""
    if abs(value) >= 1e15:
        return f"{value:g}"
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") or "0"


def quoted(text: str) -> str:
    """A user's word in a message: in double quotes, on one line, clipped."""
    from mcptest_engine.core.sanitise import one_line

    return f'"{one_line(text, 80)}"'


DURATION_PATTERN = r"^[0-9]{1,9}(\.[0-9]{1,3})?(ms|s|m|h)$"

_DURATION = lazy_pattern(DURATION_PATTERN)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float:
    """The seconds that `text` stands for. Raises: ValueError for anything without a unit or with another one."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f'"{text}" is not a duration: write a number and its unit, such as `30s`, `250ms` or `2m`')
    unit = found.group(2)
    return float(text.removesuffix(unit)) * _SECONDS[unit]


CHARACTERS_PER_TOKEN = 4


def estimate_tokens(texts: Iterable[str]) -> int:
    """A quarter of the characters of the texts together, rounded up."""
    return -(-sum(map(len, texts)) // CHARACTERS_PER_TOKEN)


def pointer(path: Iterable[str | int]) -> str:
    """The JSON Pointer of a path of keys and indexes; "" is the whole value."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)
