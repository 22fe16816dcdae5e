"""Values as they stand in messages: compact JSON on one line, safe to show, and short.

Only what is going to be shown is ever written out, so a value of 50 MB costs no more than one of 50 bytes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.targets import Absent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT = 200
_DEEPEST = 64
_READ_FOR_SECRETS = 16 * 1024
_UNSURE = 4 * 1024


def show(value: object, limit: int = LIMIT) -> str:
    """`value` as compact JSON, at most `limit` characters of it; a text keeps its quotes."""
    return one_line(compact(value, limit), limit)


def show_text(value: object, limit: int = LIMIT) -> str:
    """A text as itself, without quotes; anything else as `show` has it."""
    return one_line(value, limit) if isinstance(value, str) else show(value, limit)


def told_error(error: object, redact: Callable[[str], str] | None = None) -> str:
    """A JSON-RPC error in words: `error -32602 "Unknown tool: x"`; `redact` takes secrets out before it is clipped."""
    if isinstance(error, dict):
        return f"error {_told(error.get('code'), 40, redact)} {_told(error.get('message'), LIMIT, redact)}"
    return f"error {_told(error, LIMIT, redact)}"


def compact(value: object, limit: int) -> str:
    """The JSON of `value` without needless blanks, cut off a little past `limit` characters, and not sanitised."""
    if type(value) is int or value is None or type(value) is bool:
        return _scalar(value)
    parts: list[str] = []
    room = limit + 1
    for part in _written(value, room, 0):
        parts.append(part)
        room -= len(part)
        if room <= 0:
            break
    return "".join(parts)


def kind_of(value: object) -> str:
    """What a value is, in JSON's words with an article: "a string", "null"."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, dict):
        return "an object"
    return "an array" if isinstance(value, list) else "nothing"


def _told(value: object, limit: int, redact: Callable[[str], str] | None) -> str:
    if redact is None:
        return show(value, limit)
    text = compact(value, _READ_FOR_SECRETS)
    told = redact(text)
    if len(text) > _READ_FOR_SECRETS:  # cut off: its end may be the first half of a secret
        told = f"{told[:-_UNSURE]}…"
    return one_line(told, limit)


def _written(value: Any, room: int, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield json.dumps(value[:room], ensure_ascii=False)[: None if len(value) <= room else -1]
    elif isinstance(value, (dict, list)) and depth >= _DEEPEST:
        yield "…"
    elif isinstance(value, dict):
        yield "{"
        for index, (key, member) in enumerate(value.items()):
            yield f"{',' if index else ''}{json.dumps(str(key)[:room], ensure_ascii=False)}:"
            yield from _written(member, room, depth + 1)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for index, member in enumerate(value):
            if index:
                yield ","
            yield from _written(member, room, depth + 1)
        yield "]"
    else:
        yield _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, Absent):
        return "(absent)"
    try:
        return json.dumps(value)
    except ValueError:
        return "(a number of thousands of digits)"
    except TypeError:
        return repr(value)
