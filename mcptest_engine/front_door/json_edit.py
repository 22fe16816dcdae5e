"""Adds or replaces one member in the text of a JSON file; comments, commas and spacing stay.

The edited text is parsed again and must hold exactly the wanted value, or nothing is returned.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.lenient_json import Reader, loads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.core.json_types import JsonDict

_INDENT = re.compile(r"[ \t]*")
_REMARK = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*)?(?=\r?\n)")


class NotEditable(ValueError):
    """The text cannot be edited at this place; the message says why."""


class _Object(NamedTuple):
    """The place of an object, from `{` to after `}`; its members by name, each (key's start, value's start, value's end)."""

    start: int
    end: int
    members: Mapping[str, tuple[int, int, int]]


class _Marking(Reader):
    """A parser that records the place of each object and its members, by their path."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.objects: dict[tuple[str, ...], _Object] = {}
        self._path: tuple[str, ...] = ()

    def members(self, depth: int) -> JsonDict:
        opened, found, places = self.at, {}, {}
        path = self._path
        self.at += 1
        while (first := self.peek()) != "}":
            if not first:
                raise self.wrong("this `{` is never closed", opened)
            key_at = self.at
            key = self.key(first)
            if self.peek() != ":":
                raise self.wrong(f"expected `:` after `{key[:40]}`")
            self.at += 1
            self.peek()
            start = self.at
            self._path = (*path, key)
            found[key] = self.value(depth + 1)
            self._path = path
            places[key] = (key_at, start, self.at)
            self.separator("}", opened)
        self.at += 1
        self.objects[path] = _Object(opened, self.at, places)
        return found


def with_member(text: str, path: Sequence[str], value: object) -> str:
    """Set the member at `path` to `value`, and create missing objects on the way.

    Raises: NotEditable for what is no JSON object, or where another value than an object is in the way; LenientError.
    """
    before = loads(text) if text.strip() else {}
    if not isinstance(before, dict):
        raise NotEditable("its content is not an object")
    wanted = _put(before, tuple(path), value)
    if not text.strip():
        return json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"
    marking = _Marking(text)
    marking.whole()
    after = _insert_member(text, marking.objects, tuple(path), value)
    if loads(after) != wanted:
        raise NotEditable("it cannot be edited without changing something else")
    return after


def _put(tree: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    if not isinstance(tree, dict):
        raise NotEditable("the value there is not an object")
    return {**tree, path[0]: _put(tree.get(path[0], {}), path[1:], value)}


def _insert_member(text: str, objects: Mapping[tuple[str, ...], _Object], path: tuple[str, ...], value: object) -> str:
    depth = max(length for length in range(len(path)) if path[:length] in objects)
    holder, name = objects[path[:depth]], path[depth]
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    unit, spread = _style(text, objects[()])
    if name in holder.members:
        key_at, start, end = holder.members[name]
        return text[:start] + _json_text(value, _indent_of(text, key_at), unit, spread=spread) + text[end:]
    if holder.members:
        key_at, _, end = max(holder.members.values(), key=lambda place: place[2])
        return _append_member(text, holder, key_at, end, name, value, unit)
    inner = _indent_of(text, holder.start) + unit
    member = f"{json.dumps(name, ensure_ascii=False)}: {_json_text(value, inner, unit, spread=spread)}"
    existing = text[holder.start + 1 : holder.end - 1].rstrip()  # possibly a comment
    newline = _newline(text) if spread or "\n" in existing else ""
    body = f"{existing}{newline}{inner}{member}{newline}{_indent_of(text, holder.start)}" if newline else member
    return f"{text[: holder.start + 1]}{body}{text[holder.end - 1 :]}"


def _append_member(text: str, holder: _Object, key_at: int, end: int, name: str, value: object, unit: str) -> str:
    """Insert a member after the last one, on its own line where that has one."""
    own_line = "\n" in text[holder.start : key_at]
    indent = _indent_of(text, key_at)
    member = f"{json.dumps(name, ensure_ascii=False)}: {_json_text(value, indent, unit, spread=own_line)}"
    reading = Reader(text)
    reading.at = end
    trailing = reading.peek() == ","
    at = reading.at + 1 if trailing else end
    comment = _REMARK.match(text, at) if own_line else None  # on the same line: it belongs to its member
    put_at = at if comment is None else comment.end()
    lead = "" if trailing else ","
    between = f"{_newline(text)}{indent}" if own_line else " "
    after = "," if trailing else ""
    return f"{text[:at]}{lead}{text[at:put_at]}{between}{member}{after}{text[put_at:]}"


def _json_text(value: object, indent: str, unit: str, *, spread: bool) -> str:
    if not spread:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, indent=unit or "  ", ensure_ascii=False).split("\n")
    return f"\n{indent}".join(lines)


def _style(text: str, root: _Object) -> tuple[str, bool]:
    """The indentation of one level, and whether objects have several lines."""
    spread = "\n" in text[root.start : root.end] or not root.members
    first = min((place[0] for place in root.members.values()), default=None)
    return (_indent_of(text, first) or "  " if first is not None and spread else "  ", spread)


def _indent_of(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    found = _INDENT.match(text, start)
    assert found is not None
    return found[0] if found.end() <= at else text[start:at]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
