"""Run ids: ULIDs, 26 characters that sort by time. Source: the ULID specification, "Monotonicity".

Written here because importing a package for it would take more than a tenth of the time that `run` may take to start.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LETTERS = frozenset(_ALPHABET)
_RANDOM_BITS = 80
_AHEAD_MS = 10 * 60 * 1000  # clocks of machines that share a folder differ by less
_last = 0


def new_ulid() -> str:
    """A fresh ULID, greater than every one that this process made before, also when the clock was set back."""
    global _last  # noqa: PLW0603 - monotonic within the process, so the process holds it
    fresh = (time.time_ns() // 1_000_000 << _RANDOM_BITS) | int.from_bytes(os.urandom(_RANDOM_BITS // 8), "big")
    same_or_earlier = fresh >> _RANDOM_BITS <= _last >> _RANDOM_BITS
    _last = _last + 1 if same_or_earlier else fresh
    return _text(_last)


def newest_first(ulids: Iterable[str]) -> list[str]:
    """Sort ULIDs, newest first; those over ten minutes in the future, from a clock that was wrong, come last."""
    latest = _text((time.time_ns() // 1_000_000 + _AHEAD_MS) << _RANDOM_BITS)
    ordered = sorted(ulids, reverse=True)
    ahead = [ulid for ulid in ordered if ulid > latest]
    return ordered[len(ahead) :] + ahead


def is_ulid(text: str) -> bool:
    """Whether `text` is a ULID in its canonical spelling, capitals."""
    return len(text) == 26 and text[0] in "01234567" and _LETTERS.issuperset(text)


def ulid_seconds(ulid: str) -> float:
    """When a ULID was made, in seconds since 1970."""
    made = 0
    for character in ulid[:10]:
        made = made << 5 | _ALPHABET.index(character)
    return made / 1000


def _text(number: int) -> str:
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
