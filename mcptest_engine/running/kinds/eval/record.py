"""What of a judgement is kept: secrets taken out of it, and long texts clipped.

It is taken apart by its members, since the words of a record are never masked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.schemas import nested_deeper_than
from mcptest_engine.running.keeping import DEEPEST, clip, too_deep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.redaction import Redactor


TEXT_LIMIT = 1 << 16
ROW_LIMIT = 4_096
MODEL_LIMIT = 200
MOST_ROWS = 200
_ROWS = ("criteria", "path", "jury", "models")
_TEXTS = ("name", "ask", "reasoning", "model")


def keep_judgement(judgement: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """A judgement as `core.results.TestResult` describes it, fit for the record."""
    kept = dict(judgement)
    for key in ("reasoning", "input", "output"):
        if isinstance(kept.get(key), str):
            kept[key] = clip(redactor.redact_text(kept[key]), TEXT_LIMIT)
    if isinstance(kept.get("model"), str):
        kept["model"] = clip(redactor.redact_text(kept["model"]), MODEL_LIMIT)
    for key in _ROWS:
        if key in kept:
            kept[key] = [_kept_row(row, redactor) for row in kept[key][:MOST_ROWS]]
    if "extra" in kept:
        extra = redactor.redact(kept["extra"])
        kept["extra"] = {"clipped": too_deep(extra)} if nested_deeper_than(extra, DEEPEST) else extra
    return kept


def _kept_row(row: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    kept = dict(row)
    for key in _TEXTS:
        if isinstance(kept.get(key), str):
            kept[key] = clip(redactor.redact_text(kept[key]), ROW_LIMIT)
    return kept
