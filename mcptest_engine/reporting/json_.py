"""`json`: the run record itself, as in `.mcptest/runs/`.

One key a line at the top, one server and one test a line below: readable, searchable line by line, and written by the
fast encoder, which cannot indent. Whatever a terminal might obey is written as a JSON escape, so the value stays the
same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.safe_json import safe_json
from mcptest_engine.reporting import facts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

_ONE_A_LINE = frozenset({"servers", "tests"})


def render(record: RunRecord, options: RenderOptions) -> str:  # noqa: ARG001 - every format takes both
    """The record, its keys in the published order."""
    return document(with_unchecked(record, record.to_json(streamed=True)))


def with_unchecked(record: RunRecord, data: JsonDict) -> JsonDict:
    """The record's JSON values, with why nothing was checked where that is so."""
    unchecked = facts.unchecked_text(record)
    return {**data, "unchecked": unchecked} if unchecked else data


def document(data: JsonMapping) -> str:
    """A run record's JSON values as text: one top-level key a line, servers and tests one a line."""
    members = []
    for key, value in data.items():
        text = _json_list(value) if key in _ONE_A_LINE and value else safe_json(value)
        members.append(f"  {safe_json(key)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def _json_list(items: Iterable[object]) -> str:
    return "[\n" + ",\n".join(f"    {safe_json(item)}" for item in items) + "\n  ]"
