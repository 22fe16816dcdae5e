"""Answers that every client accepts: entries in pages, long values cut, and nothing that a JSON parser would refuse.

Clients refuse tool results of over some 25,000 tokens. Sizes here are bytes of a whole answer, not characters: a token is about
three bytes of English as of Chinese, and never less than two. An answer contains each value twice: as structured content, and
as text for clients that do not know it.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LARGEST_PAGE = 48_000
"""Bytes of the entries of a page, without the text around them."""
LARGEST_HEAD = 16_000
LARGEST_ANSWER = 74_000
"""With the message around it at most 75,000 bytes."""
DEEPEST = 60
HALF_CHARACTERS = re.compile("[\ud800-\udfff]")
_SHORTEST_TEXT = 200
_LONGEST_CURSOR = 12


def start_of(cursor: object) -> int:
    """The offset of a cursor, which may be a number or its text. Raises: UsageError."""
    if cursor is None:
        return 0
    if isinstance(cursor, int) and not isinstance(cursor, bool) and 0 <= cursor < 10**_LONGEST_CURSOR:
        return cursor
    if isinstance(cursor, str) and len(cursor) <= _LONGEST_CURSOR and cursor.isascii() and cursor.isdigit():
        return int(cursor)
    raise UsageError(
        f"`cursor` is {json.dumps(cursor)[:80]}", hint="pass `next_cursor` of the answer before, or leave it out"
    )


def presentable(value: object, deepest: int = DEEPEST) -> Any:
    """Convert a value to plain JSON that every client can read.

    Half a surrogate pair becomes U+FFFD, NaN and the infinities null, and what is nested deeper than `deepest` a remark.
    """
    match value:
        case str():
            return value if value.isascii() else HALF_CHARACTERS.sub("\ufffd", value)
        case dict() | list() | tuple() if deepest <= 0:
            return "… nested too deeply for an answer"
        case dict():
            return {presentable(str(key)): presentable(part, deepest - 1) for key, part in value.items()}
        case list() | tuple():
            return [presentable(part, deepest - 1) for part in value]
        case float() if not math.isfinite(value):
            return None
    return value


def json_of(value: object) -> str:
    """The shortest JSON of a value that is presentable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def weight(value: object) -> int:
    """The bytes of a presentable value in an answer: as structured content, and as text, where its JSON is quoted once more."""
    plain = json_of(value)
    return len(plain.encode()) + len(json_of(plain).encode())


def page(
    entries: Sequence[object], start: int, *, room: int = LARGEST_PAGE, show: Callable[[Any], Any] = presentable
) -> tuple[list[Any], int | None]:
    """Return the entries from `start` on that fit, at least one, and the start of the next page, None at the end. `show` makes
    an entry presentable. One that does not fit even alone is replaced by its name and size.
    Raises: UsageError for a start behind the last entry.
    """
    if start and start >= len(entries):
        raise UsageError(
            f"`cursor` is {start}, which is past the last of {len(entries):,} entries",
            hint="begin again without `cursor`",
        )
    taken: list[Any] = []
    size = 0
    for index in range(start, len(entries)):
        entry = show(entries[index])
        length = weight(entry)
        if length > room:
            entry = too_large(entry, length)
            length = weight(entry)
        if taken and size + length > room:
            return taken, index
        taken.append(entry)
        size += length
    return taken, None


def too_large(entry: object, length: int) -> dict[str, object]:
    """The replacement for an entry that no client would accept."""
    named = entry if isinstance(entry, dict) else {}
    names = {key: str(named[key])[:120] for key in ("name", "id", "uri", "run_id", "verdict") if key in named}
    return {**names, "omitted": f"{length:,} bytes of JSON are too many for an answer"}


def shortened(value: object, room: int = LARGEST_PAGE) -> Any:
    """Shorten a value until its JSON has at most `room` bytes: first long texts, then long lists and objects."""
    value = presentable(value)
    text_room = room
    while (length := weight(value)) > room:
        if text_room <= _SHORTEST_TEXT:
            return too_large(value, length)
        text_room = max(text_room // 4, _SHORTEST_TEXT)
        value = _cut(value, text_room, max(text_room // 100, 3))
    return value


def _cut(value: object, most_text: int, most_items: int) -> object:
    if isinstance(value, str) and len(value) > most_text:
        return f"{value[:most_text]}… ({len(value):,} characters)"
    if isinstance(value, dict):
        kept = {
            key[:most_text]: _cut(part, most_text, most_items) for key, part in list(value.items())[: most_items * 10]
        }
        more = len(value) - len(kept)
        return {**kept, "…": f"{more:,} more"} if more > 0 else kept
    if isinstance(value, list):
        kept_items = [_cut(part, most_text, most_items) for part in value[:most_items]]
        more = len(value) - len(kept_items)
        return [*kept_items, f"… {more:,} more"] if more > 0 else kept_items
    return value
