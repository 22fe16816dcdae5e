"""Redacts the trace of a composition, and spills a large one to a side file, its outline left in the record.

The trace is taken apart by its members, since a node may be called `token`, and the words of a record are never masked. What
reporters tell of (statuses, messages, times, costs) stays in the record however large the values are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import RECORD_CHARACTERS, truncate, truncate_depth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.redaction import Redactor


FOREIGN = ("args", "result", "output")
TEXTS = ("message", "hint", "model", "tool", "server")
MOST_CALLS = 20
"""Of a trace that is put aside, the calls of one node that stay in the record, and as many that failed."""
ROOM = 1 << 19
SHORTEST = 64
MODEL_LIMIT = 200


def redact_trace(
    trace: Mapping[str, Any], *, redactor: Redactor, spill: Callable[[Any, str], Any], name: str
) -> Mapping[str, Any]:
    """Redact the trace; where it is too large for a record, return its outline, and `whole` says where all of it is.

    `spill(value, name)` returns the value, or a reference to its side file.
    """
    kept, foreign = dict(trace), _Foreign(redactor)
    kept["nodes"] = {node_id: _redact_row(node, redactor, foreign) for node_id, node in trace["nodes"].items()}
    kept["output"] = foreign.redact(trace["output"])
    if "models" in trace:
        kept["models"] = [_redact_row(row, redactor, foreign) for row in trace["models"]]
    aside = spill(kept, f"{name} trace")
    return kept if aside is kept else {**_outline(kept), "whole": aside}


class _Foreign:
    """Values of one trace, redacted; each looked through once, although most stand in it two or three times."""

    def __init__(self, redactor: Redactor) -> None:
        self._redact_value = redactor.redact
        self._known: dict[int, tuple[Any, Any]] = {}

    def redact(self, value: object) -> Any:
        """Redact a value; returns the same object when there was nothing to do."""
        if not isinstance(value, (dict, list)):
            return self._redact_value(value)
        known = self._known.get(id(value))
        if known is None:
            self._known[id(value)] = known = (value, truncate_depth(self._redact_parts(value)))
        return known[1]

    def _redact_parts(self, value: Any) -> Any:
        parts = [part for item in value if (part := self._known.get(id(item)))] if isinstance(value, list) else []
        if not parts or len(parts) < len(value):
            return self._redact_value(value)
        whole = [kept for _, kept in parts]  # as of a fan-out: a list of what its calls gave
        return value if all(new is old for old, new in parts) else whole


def _redact_row(row: Mapping[str, Any], redactor: Redactor, foreign: _Foreign) -> dict[str, Any]:
    """Redact a node, one of its calls, or a model's row."""
    out = dict(row)
    if "calls" in out and isinstance(out["calls"], list):
        out["calls"] = [_redact_row(call, redactor, foreign) for call in out["calls"]]
    for key in FOREIGN:
        if key in out:
            out[key] = foreign.redact(out[key])
    for key in TEXTS:
        if out.get(key) is not None:
            out[key] = redactor.redact_text(out[key])
    if len(out.get("model") or "") > MODEL_LIMIT:
        out["model"] = f"{out['model'][:MODEL_LIMIT]}…"
    return out


def _outline(trace: Mapping[str, Any]) -> dict[str, Any]:
    """A trace with less in it: every node, the first of its calls, and the beginnings of values."""
    nodes = {node_id: _fewer_calls(node) for node_id, node in trace["nodes"].items()}
    values = sum(1 + len(node.get("calls", ())) for node in nodes.values()) * len(FOREIGN)
    limit = max(SHORTEST, min(RECORD_CHARACTERS, ROOM // values))
    out = dict(trace)
    out["nodes"] = {node_id: _truncate_row(node, limit) for node_id, node in nodes.items()}
    out["output"] = truncate(trace["output"], limit)
    return out


def _fewer_calls(node: Mapping[str, Any]) -> dict[str, Any]:
    calls = node.get("calls", ())
    if len(calls) <= 2 * MOST_CALLS:
        return dict(node)
    failed = [call for call in calls[MOST_CALLS:] if call["status"] != "ok"][:MOST_CALLS]
    return {**node, "calls": [*calls[:MOST_CALLS], *failed], "calls_total": len(calls)}


def _truncate_row(row: Mapping[str, Any], limit: int) -> dict[str, Any]:
    out = {key: truncate(value, limit) if key in FOREIGN else value for key, value in row.items()}
    if "calls" in out:
        out["calls"] = [_truncate_row(call, limit) for call in out["calls"]]
    return out
