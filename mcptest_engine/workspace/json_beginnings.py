"""Read the first members of a JSON file without the rest: enough of each record to list a thousand runs.

The file may be truncated, of another shape, or of any size: it is read only as far as needed, and at most 4 MiB of it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mcptest_engine.workspace.files import open_file

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.core.json_types import JsonDict

FIRST_BYTES = 16 * 1024
MOST_BYTES = 4 * 1024 * 1024
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def head_of(path: Path, until: str) -> JsonDict | None:
    """The members of a file's JSON object that stand before the member `until`, or all members if it has none.

    None when the file cannot be read or holds no such object within the first 4 MiB.
    """
    try:
        with open_file(path) as file:
            data = file.read(FIRST_BYTES)
            found = _members(data, until)
            if found is None and len(data) == FIRST_BYTES:
                found = _members(data + file.read(MOST_BYTES - FIRST_BYTES), until)
            return found
    except OSError:
        return None


def _members(data: bytes, until: str) -> JsonDict | None:
    """The members before `until`; None when the text ends or is invalid before it."""
    text = data.decode("utf-8", "replace")
    return _parse_at_once(text, until) or _parse_one_by_one(text, until)


def _parse_at_once(text: str, until: str) -> dict[str, object] | None:
    """Parse all members before `until` in one call, which is five times as fast as one by one; None when that fails.

    The text is cut at the first `"until":[` and closed by one brace. That text cannot stand inside a string, where its quotes
    would be escaped, and after an inner object's member one brace would not close the text. In records the member is an array,
    and inner members of the same name are numbers.
    """
    before = text[: max(text.find(f'"{until}":['), 0)].rstrip()
    if not before.endswith(","):
        return None
    try:
        found = json.loads(before[:-1] + "}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _parse_one_by_one(text: str, until: str) -> dict[str, object] | None:
    """Parse the members before `until` one after the other, for files that `_parse_at_once` cannot parse."""
    found: JsonDict = {}
    try:
        at = _skip_sign(text, _skip_space(text, 0), "{")
        if text[at] == "}":
            return found
        while True:
            name, at = _DECODER.raw_decode(text, at)
            if name == until or not isinstance(name, str):
                return found if name == until else None
            at = _skip_sign(text, _skip_space(text, at), ":")
            found[name], at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, at)
            if text[at] == "}":
                return found
            at = _skip_sign(text, at, ",")
    except (ValueError, IndexError, RecursionError):
        return None


def _skip_sign(text: str, at: int, sign: str) -> int:
    """The position of the token behind `sign`, which must stand at `at`. Raises: ValueError, IndexError."""
    if text[at] != sign:
        raise ValueError(sign)
    return _skip_space(text, at + 1)


def _skip_space(text: str, at: int) -> int:
    """The position of the first character at or behind `at` that is not white space."""
    matched = _SPACE.match(text, at)
    assert matched is not None
    return matched.end()
