"""Values as they stand in messages and records: compact JSON on one line, safe to show; truncated where they are long or deep.

Only what is going to be shown is ever written out, so a value of 50 MB costs no more than one of 50 bytes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.schemas import nested_deeper_than
from mcptest_engine.core.targets import Absent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

LIMIT = 200
RECORD_CHARACTERS = 4_096
"""From so many characters on, a value that a record holds a second time is truncated."""
RECORD_DEPTH = 200
"""Levels of arrays and objects in each other that every reader of a record can follow."""
_DEEPEST = 64
_READ_FOR_SECRETS = 16 * 1024
_UNSURE = 4 * 1024


def show(value: object, limit: int = LIMIT) -> str:
    """`value` as compact JSON, at most `limit` characters of it; a text keeps its quotes."""
    return one_line(compact(value, limit), limit)


def show_text(value: object, limit: int = LIMIT) -> str:
    """A text as itself, without quotes; anything else as `show` has it."""
    return one_line(value, limit) if isinstance(value, str) else show(value, limit)


def describe_error(error: object, redact: Callable[[str], str] | None = None) -> str:
    """A JSON-RPC error in words: `error -32602 "Unknown tool: x"`; `redact` takes secrets out before it is clipped."""
    if isinstance(error, dict):
        return f"error {_redacted_text(error.get('code'), 40, redact)} {_redacted_text(error.get('message'), LIMIT, redact)}"
    return f"error {_redacted_text(error, LIMIT, redact)}"


def compact(value: object, limit: int) -> str:
    """The JSON of `value` without needless blanks, cut off a little past `limit` characters, and not sanitised."""
    if type(value) is int or value is None or type(value) is bool:
        return _scalar(value)
    parts: list[str] = []
    room = limit + 1
    for part in _json_parts(value, room, 0):
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


def truncate(value: object, limit: int = RECORD_CHARACTERS) -> Any:
    """Return `value`, or its beginning as text when it is larger than a record should hold twice, or too deep."""
    if isinstance(value, str):
        return value if len(value) <= limit else f"{value[:limit]}… ({len(value)} characters)"
    if not isinstance(value, (dict, list)):
        return value
    weight = _weight(value, limit)
    if weight > limit:
        return f"{compact(value, limit)[:limit]}… (clipped)"
    if weight > RECORD_DEPTH and nested_deeper_than(value, RECORD_DEPTH):  # each level weighs something
        return _text_of_deep(value)
    return value


def truncate_deep_members(output: object) -> Any:
    """Return an answer's output in which each member that is nested too deeply for a record is its beginning as text."""
    if not isinstance(output, dict) or not nested_deeper_than(output, RECORD_DEPTH):
        return output
    return {
        key: _truncate_member(member) if nested_deeper_than(member, RECORD_DEPTH - 1) else member
        for key, member in output.items()
    }


def truncate_depth(value: object) -> object:
    """Return `value`, or its beginning as text when it is nested too deeply for a record."""
    return _text_of_deep(value) if nested_deeper_than(value, RECORD_DEPTH) else value


def _text_of_deep(value: object) -> str:
    return f"{compact(value, RECORD_CHARACTERS)[:RECORD_CHARACTERS]}… (clipped: nested more than {RECORD_DEPTH} levels deep)"


def _truncate_member(member: Any) -> Any:
    """A member of the output, still of its own kind: `result` stays an object, `notifications` an array."""
    if isinstance(member, dict):
        return {
            key: _text_of_deep(item) if nested_deeper_than(item, RECORD_DEPTH - 2) else item
            for key, item in member.items()
        }
    return [_text_of_deep(item) if nested_deeper_than(item, RECORD_DEPTH - 2) else item for item in member]


def _weight(value: Mapping[str, object] | list[object], limit: int) -> int:
    """About how many characters `value` takes as JSON; counting stops past `limit`."""
    total, waiting = 0, [value]
    while waiting and total <= limit:
        item: Any = waiting.pop()
        if isinstance(item, str):
            total += len(item) + 2
        elif isinstance(item, dict):
            for key, member in item.items():
                total += len(key) + 4
                waiting.append(member)
        elif isinstance(item, list):
            total += len(item) + 1
            waiting.extend(item)
        else:
            total += 5
    return total


def _redacted_text(value: object, limit: int, redact: Callable[[str], str] | None) -> str:
    if redact is None:
        return show(value, limit)
    text = compact(value, _READ_FOR_SECRETS)
    told = redact(text)
    if len(text) > _READ_FOR_SECRETS:  # cut off: its end may be the first half of a secret
        told = f"{told[:-_UNSURE]}…"
    return one_line(told, limit)


def _json_parts(value: object, room: int, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield json.dumps(value[:room], ensure_ascii=False)[: None if len(value) <= room else -1]
    elif isinstance(value, (dict, list)) and depth >= _DEEPEST:
        yield "…"
    elif isinstance(value, dict):
        yield "{"
        for index, (key, member) in enumerate(value.items()):
            yield f"{',' if index else ''}{json.dumps(str(key)[:room], ensure_ascii=False)}:"
            yield from _json_parts(member, room, depth + 1)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for index, member in enumerate(value):
            if index:
                yield ","
            yield from _json_parts(member, room, depth + 1)
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
