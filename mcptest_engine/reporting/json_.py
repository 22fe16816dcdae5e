"""`json`: the run record itself, as in `.mcptest/runs/`.

One key a line at the top, one server and one test a line below: readable, searchable line by line, and written by the
fast encoder, which cannot indent. Whatever a terminal might obey is written as a JSON escape, so the value stays the
same.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.results import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

# DEL, C1, the invisible and bidirectional controls, line separators, and lone surrogates, which UTF-8 cannot carry.
_UNSAFE = re.compile(
    "[\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff\ud800-\udfff]"
)
_ONE_A_LINE = frozenset({"servers", "tests"})


def render(record: RunRecord, options: RenderOptions) -> str:  # noqa: ARG001 - every format takes both
    """The record, its keys in the published order."""
    return document(record.to_json())


def document(data: Mapping[str, Any]) -> str:
    """A run record's JSON values as text: one top-level key a line, servers and tests one a line."""
    members = []
    for key, value in data.items():
        text = _listed(value) if key in _ONE_A_LINE and value else compact(value)
        members.append(f"  {compact(key)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def compact(value: Any) -> str:
    """A value as JSON on one line: floats shortest round-trip, NaN as a text, nothing in it that a terminal obeys."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False)
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _listed(items: list[Any]) -> str:
    return "[\n" + ",\n".join(f"    {compact(item)}" for item in items) + "\n  ]"


def _finite(value: Any) -> Any:
    """NaN and the infinities, which JSON has no word for and Python's reader lets in, as their names."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and (value != value or value in {float("inf"), float("-inf")}):
        return json.dumps(value)
    return value
