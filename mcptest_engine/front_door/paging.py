"""Answers within what a client takes: entries in pages, each with a cursor to the next.

Clients refuse tool results of over some 25,000 tokens; JSON makes a token of about three characters.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST_PAGE = 48_000
"""Characters of JSON; what stands around the entries comes on top."""


def start_of(cursor: object) -> int:
    """The offset that a cursor stands for; it may come as a number or as its text. Raises: UsageError."""
    if cursor is None:
        return 0
    if isinstance(cursor, int) and not isinstance(cursor, bool) and cursor >= 0:
        return cursor
    if isinstance(cursor, str) and cursor.isascii() and cursor.isdigit():
        return int(cursor)
    raise UsageError(
        f"`cursor` is {json.dumps(cursor)}", hint="pass `next_cursor` of the answer before, or leave it out"
    )


def page(entries: Sequence[Any], start: int, *, room: int = LARGEST_PAGE) -> tuple[list[Any], int | None]:
    """As many entries from `start` on as have room, at least one; and where the next page begins, None at the end.

    An entry that has no room even alone is told by its name and size instead.
    """
    taken: list[Any] = []
    size = 0
    for index in range(start, len(entries)):
        entry = entries[index]
        length = len(json.dumps(entry, ensure_ascii=False))
        if length > room:
            entry, length = too_large(entry, length), 300
        if taken and size + length > room:
            return taken, index
        taken.append(entry)
        size += length
    return taken, None


def too_large(entry: Any, length: int) -> dict[str, Any]:
    """What stands in place of an entry that no client would take."""
    named = entry if isinstance(entry, dict) else {}
    names = {key: str(named[key])[:120] for key in ("name", "id", "uri", "run_id", "verdict") if key in named}
    return {**names, "omitted": f"{length:,} characters of JSON are more than an answer holds"}
