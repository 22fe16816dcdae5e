"""What a scorer or a judge made of a test or of one value, and the runs of a test that are one row, as `details` shows them.

Read leniently, as traces are: a member that is not there, or is something else, is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.reporting.html.values import Values

_FACTS: Mapping[str, type | tuple[type, ...]] = {
    "by": str,
    "verdict": str,
    "score": (int, float),
    "threshold": (int, float),
    "model": str,
}
_TEXTS = ("reasoning", "input", "output")
_ROWS = {
    "criteria": ("name", "weight", "score", "passed", "reasoning"),
    "path": ("ask", "answer", "score", "reasoning"),
    "jury": ("model", "score", "passed", "reasoning"),
    "findings": ("call", "tool", "ok", "reasoning"),
}
_TRIAL = ("verdict", "duration_ms", "message", "tokens", "cost_usd")
_PLAIN = (str, int, float, bool, type(None))


def judgement_of(written: Any, values: Values) -> dict[str, Any] | None:
    """A judgement; None for what is none, such as what only says what the judge cost that gave no verdict."""
    if not isinstance(written, dict) or not isinstance(written.get("verdict"), str):
        return None
    out: dict[str, Any] = {name: written[name] for name, kind in _FACTS.items() if isinstance(written.get(name), kind)}
    out |= {name: values.text(text) for name in _TEXTS if isinstance(text := written.get(name), str) and text}
    extra = written.get("extra")
    by_judge = written.get("by") == "judge" and isinstance(extra, dict)
    found = {**written, "findings": extra.get("findings") if by_judge and isinstance(extra, dict) else None}
    for name, members in _ROWS.items():
        rows = found[name] if isinstance(found.get(name), list) else []
        if told := [_plain(row, members) for row in rows if isinstance(row, dict)]:
            out[name] = told
    if isinstance(extra, dict) and not by_judge:
        out["extra"] = values.json(extra)
    return out


def trial_of(trial: Mapping[str, Any]) -> dict[str, Any]:
    """One of the runs, without its conversation."""
    return _plain(trial, _TRIAL)


def _plain(row: Mapping[str, Any], members: tuple[str, ...]) -> dict[str, Any]:
    return {name: row[name] for name in members if name in row and isinstance(row[name], _PLAIN)}
