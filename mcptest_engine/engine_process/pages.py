"""Cut values of any size: send the beginning first, and other parts on request.

Members that begin with `$` mark a cut. A long text becomes {"$cut": its length, "text": its beginning}. A long container ends
with the number of entries left out: an object with the member `$more`, an array with the item {"$more": n}. Values are copied
level by level, so that inner levels are cut before outer ones.
"""

from __future__ import annotations

import json
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcptest_engine.engine_process.protocol import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LONGEST_TEXT = 2_000
MOST_ENTRIES = 200
MOST_NODES = 10_000
MOST_CHARACTERS = 400_000
DEEPEST = 100
LARGEST_VALUE = 1 << 20
MOST_FOUND, MOST_REACHED, PAST_A_HIT = 5_000, 200_000, 50
_SHORT = 100


def pruned(value: object, *, start: int = 0, longest: int = LONGEST_TEXT, entries: int = MOST_ENTRIES) -> Any:
    """Copy a value, cut to what a screen needs. `start` is the first entry to copy of the outermost container.

    `longest` is the most characters of a text, `entries` the most entries of a container.
    """
    top: list[Any] = [None]
    nodes, characters = max(MOST_NODES, entries), MOST_CHARACTERS
    waiting: deque[tuple[Any, Any, Any, int]] = deque([(top, 0, value, 0)])
    while waiting:
        holder, place, item, depth = waiting.popleft()
        if isinstance(item, str):
            short = cut(item, longest if characters > 0 else min(longest, _SHORT))
            characters -= min(len(item), longest)
            holder[place] = short
            continue
        if not isinstance(item, (dict, list, tuple)):
            holder[place] = item
            continue
        first = start if depth == 0 else 0
        room = 0 if depth >= DEEPEST else max(min(entries, nodes), 0)
        nodes -= min(room, len(item))
        holder[place] = _shell(item, first, room, depth, waiting)
    return top[0]


def _shell(item: Any, first: int, room: int, depth: int, waiting: deque[tuple[Any, Any, Any, int]]) -> Any:
    """Make a copy of a container with placeholders for `room` entries, and add these to `waiting`."""
    more = len(item) - first - room
    if isinstance(item, dict):
        copy: dict[str, Any] = {}
        for key, member in islice(item.items(), first, first + room):
            copy[key] = None
            waiting.append((copy, key, member, depth + 1))
        if more > 0:
            copy["$more"] = more
        return copy
    items: list[Any] = [None] * min(room, max(len(item) - first, 0))
    for at, member in enumerate(islice(item, first, first + room)):
        waiting.append((items, at, member, depth + 1))
    if more > 0:
        items.append({"$more": more})
    return items


def cut(text: str, longest: int = LONGEST_TEXT) -> Any:
    """`text`, or {"$cut", "text"} where it is longer than `longest`."""
    return text if len(text) <= longest else {"$cut": len(text), "text": text[:longest]}


def clipped(text: str, longest: int = LONGEST_TEXT) -> str:
    """`text`, cut and ending in "…" where it is longer than `longest`; for texts of which no more is requested."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def value_at(value: Any, path: Iterable[Any]) -> Any:
    """The value at a path of keys and indexes. Raises: Refused when there is none."""
    walked = []
    for key in path:
        walked.append(key)
        try:
            if not isinstance(value, (dict, list)):
                raise LookupError
            value = value[key if isinstance(value, dict) else int(key)]
        except (LookupError, ValueError, TypeError):
            raise Refused(f"there is nothing at {'.'.join(map(str, walked))}", kind="gone") from None
    return value


def paths_of(value: object, text: str, most: int = MOST_FOUND) -> list[list[str | int]]:
    """The paths of keys and values that contain `text`, ignoring case, in the order of the document."""
    wanted = text.casefold()
    found: list[list[str | int]] = []
    stack: list[Iterator[tuple[str | int, Any]]] = [iter([("", value)])]
    path: list[str | int] = []
    while stack and len(found) < most:
        key, item = next(stack[-1], (None, None))
        if key is None:
            stack.pop()
            if path:
                path.pop()
            continue
        members = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else None
        spelled = "" if members is not None else item if isinstance(item, str) else json.dumps(item)
        if wanted in spelled.casefold() or (isinstance(key, str) and key and wanted in key.casefold()):
            found.append([*path, key][1:])
        if members is not None:
            path.append(key)
            stack.append(iter(members))
    return found


def up_to(value: object, key: Any, start: int) -> int:
    """How many entries of a container, counted from `start`, include `key` and some after it; at most `MOST_REACHED`."""
    keys = list(value) if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0)
    at = keys.index(key) if key in keys else start
    return min(max(at + PAST_A_HIT - start, MOST_ENTRIES), MOST_REACHED)


def text_of(value: object, limit: int = LARGEST_VALUE) -> str:
    """A value as text: a text as it is, anything else as indented JSON; cut at about `limit` characters."""
    if isinstance(value, str):
        return value if len(value) <= limit else f"{value[:limit]}… ({len(value):,} characters)"
    pieces: list[str] = []
    try:
        for piece in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(value):
            pieces.append(piece)
            limit -= len(piece)
            if limit <= 0:
                pieces.append("… (cut off)")
                break
    except RecursionError:
        from mcptest_engine.core.clipping import compact

        return compact(value, LARGEST_VALUE)
    return "".join(pieces)


def brief(items: Sequence[object], most: int) -> list[Any]:
    """The first `most` items, pruned with wide limits, so that a schema in an item stays complete."""
    return [pruned(item, longest=20_000, entries=2_000) for item in items[:most]]
