"""A test's slug: its name in small letters, runs of anything but letters and digits as `-`; a repeated one gets `-2`, `-3`.

Letters and digits of every script count, so that a name in Greek is not an empty slug. It is part of file names and URIs,
and therefore never empty, and of at most 100 bytes before its number.
"""

from __future__ import annotations

import re

_OTHER = re.compile(r"[\W_]+")
_LONGEST = 100
_NAMELESS = "test"


def slug(name: str) -> str:
    """The slug of one name, such as `adds-two-numbers-case-1` for "Adds two numbers [case 1]"; `test` when nothing is left."""
    short = _OTHER.sub("-", name.lower()).strip("-")
    while len(short.encode()) > _LONGEST:  # file systems count bytes
        short = short[: _LONGEST if len(short) > _LONGEST else -1]
    return short.rstrip("-") or _NAMELESS


class Slugs:
    """Unique slugs for the tests of one run."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def take(self, name: str) -> str:
        """The slug of `name`, with the first free number if it is taken already."""
        short = slug(name)
        free = short
        while free in self._taken:
            number = self._next[short] = self._next.get(short, 1) + 1
            free = f"{short}-{number}"
        self._taken.add(free)
        return free
