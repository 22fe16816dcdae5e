"""Words and numbers that several parts say alike."""

from __future__ import annotations

import time

LONG_WAIT_MS = 100.0
"""From so long on the time that a test waited for another call is said beside its duration."""


def counted(number: int, word: str) -> str:
    """`1 test`, `2 tests`, `0 tests`; `word` is the singular of a noun that takes an s."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def time_shown(seconds: float) -> str:
    """A time of today as `03:16`, one of another day with its date before; `seconds` are those since 1970."""
    at = time.localtime(seconds)
    return time.strftime("%H:%M" if at[:3] == time.localtime()[:3] else "%Y-%m-%d %H:%M", at)


def number_text(value: float, digits: int = 3) -> str:
    """A number with at most so many digits behind the point; one of 1e15 or more as `1.5e+308`."""
    if abs(value) >= 1e15:
        return f"{value:g}"
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") or "0"


def quoted(text: str) -> str:
    """A user's word in a message: in double quotes, on one line, clipped."""
    from mcptest_engine.core.sanitise import one_line

    return f'"{one_line(text, 80)}"'
