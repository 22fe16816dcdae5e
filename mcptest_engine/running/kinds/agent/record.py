"""Redacts the conversation of an agent test, and spills a large one to a side file, its outline left in the record.

The trace is taken apart by its members, since the words of a record are never masked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import RECORD_CHARACTERS, truncate, truncate_depth
from mcptest_engine.judging.agent_metrics import ALIASES, GATES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcptest_engine.core.redaction import Redactor


MOST_TURNS = 20
"""Of a trace that is put aside, the first and the last turns and calls that stay in the record."""
ROOM = 1 << 19
SHORTEST = 64
_FOREIGN = ("args", "result", "tool_calls")
_TEXTS = ("content", "name", "raw", "error", "model")


def redact_conversation(
    trace: Mapping[str, Any], *, redactor: Redactor, spill: Callable[[Any, str], Any], name: str
) -> Mapping[str, Any]:
    """Redact the trace; where it is too large for a record, return its outline, and `whole` says where all of it is.

    `spill(value, name)` returns the value, or a reference to its side file.
    """
    kept = dict(trace)
    told = trace["conversation"]
    kept["tool_calls"] = [_redact_row(call, redactor) for call in trace["tool_calls"]]
    kept["tool_names"] = [redactor.redact_text(one) for one in trace["tool_names"]]
    kept["final_response"] = redactor.redact_text(trace["final_response"])
    kept["conversation"] = {**told, "turns": [_redact_row(turn, redactor) for turn in told["turns"]]}
    if "system_prompt" in told:
        kept["conversation"]["system_prompt"] = redactor.redact_text(told["system_prompt"])
    for gate in (*GATES, *ALIASES):
        if gate in kept:
            kept[gate] = redactor.redact(kept[gate])
    aside = spill(kept, f"{name} trace")
    return kept if aside is kept else {**_outline(kept), "whole": aside}


def redact_trials(
    trials: Sequence[Mapping[str, Any]], *, redactor: Redactor, spill: Callable[[Any, str], Any], name: str
) -> tuple[Mapping[str, Any], ...]:
    """Redact the runs of a test."""
    kept = []
    for number, trial in enumerate(trials, 1):
        one = dict(trial)
        for key in ("message", "deferred"):
            if key in one:
                one[key] = redactor.redact_text(one[key])
        if "trace" in one:
            own = f"{name} run {number}"
            one["trace"] = redact_conversation(one["trace"], redactor=redactor, spill=spill, name=own)
        kept.append(one)
    return tuple(kept)


def _redact_row(row: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Redact a call or a turn."""
    out = dict(row)
    for key in _FOREIGN:
        if key in out:
            out[key] = truncate_depth(redactor.redact(out[key]))
    for key in _TEXTS:
        if out.get(key) is not None:
            out[key] = redactor.redact_text(out[key])
    return out


def _outline(trace: Mapping[str, Any]) -> dict[str, Any]:
    """A trace with less in it: its first and last turns and calls, and the beginnings of values."""
    told = trace["conversation"]
    calls, turns = _ends(trace["tool_calls"]), _ends(told["turns"])
    limit = max(SHORTEST, min(RECORD_CHARACTERS, ROOM // (2 * len(calls) + 2 * len(turns) + 2)))
    out = dict(trace)
    out["tool_calls"] = [_truncate_row(call, limit) for call in calls]
    out["tool_names"] = truncate(list(trace["tool_names"]), RECORD_CHARACTERS)
    out["final_response"] = truncate(trace["final_response"], limit)
    out["conversation"] = {**told, "turns": [_truncate_row(turn, limit) for turn in turns]}
    if "system_prompt" in told:
        out["conversation"]["system_prompt"] = truncate(told["system_prompt"], limit)
    for gate in (*GATES, *ALIASES):
        if gate in out:
            out[gate] = {key: truncate(value, limit) for key, value in out[gate].items()}
    for key, shown, whole in (("calls_total", calls, trace["tool_calls"]), ("turns_total", turns, told["turns"])):
        if len(shown) < len(whole):
            out[key] = len(whole)
    return out


def _ends(rows: Sequence[Mapping[str, object]]) -> list[Mapping[str, Any]]:
    return list(rows) if len(rows) <= 2 * MOST_TURNS else [*rows[:MOST_TURNS], *rows[-MOST_TURNS:]]


def _truncate_row(row: Mapping[str, object], limit: int) -> dict[str, Any]:
    return {key: truncate(value, limit) if key in (*_FOREIGN, *_TEXTS) else value for key, value in row.items()}
