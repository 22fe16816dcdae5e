"""Redacts the judgement of an eval or of an LLM judge, and truncates its long texts.

It is taken apart by its members, since the words of a record are never masked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import RECORD_CHARACTERS, RECORD_DEPTH, truncate, truncate_depth
from mcptest_engine.core.schemas import nested_deeper_than

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.redaction import Redactor


TEXT_LIMIT = 1 << 16
MODEL_LIMIT = 200
MOST_ROWS = 200
_ROWS = ("criteria", "path", "jury", "models")
_TEXTS = ("name", "ask", "reasoning", "model")


def redact_judgement(judgement: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Redact a judgement as `core.results.TestResult` describes it."""
    kept = dict(judgement)
    for key in ("reasoning", "input", "output"):
        if isinstance(kept.get(key), str):
            kept[key] = truncate(redactor.redact_text(kept[key]), TEXT_LIMIT)
    if isinstance(kept.get("model"), str):
        kept["model"] = truncate(redactor.redact_text(kept["model"]), MODEL_LIMIT)
    for key in _ROWS:
        if key in kept:
            kept[key] = [_redact_row(row, redactor) for row in kept[key][:MOST_ROWS]]
    if "extra" in kept:
        extra = redactor.redact(kept["extra"])
        kept["extra"] = {"clipped": truncate_depth(extra)} if nested_deeper_than(extra, RECORD_DEPTH) else extra
    return kept


def _redact_row(row: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    kept = dict(row)
    for key in _TEXTS:
        if isinstance(kept.get(key), str):
            kept[key] = truncate(redactor.redact_text(kept[key]), RECORD_CHARACTERS)
    return kept
