"""Scores as the detail of a test shows them: a bar with its threshold, what each weight did, sets folded open, metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.sanitise import one_line
from mcptest_tui.words import is_ascii, mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Piece = tuple[str, str]

WIDTH = 20
FULL, EMPTY, NEEDED = ("#", ".", "|") if is_ascii() else ("█", "░", "▏")
_NAME = 200


def number(value: object) -> str:
    """Return a score with at most three decimals."""
    if not isinstance(value, int | float):
        return ""
    return f"{value:.3f}".rstrip("0").rstrip(".") or "0"


def bar(value: object, threshold: object) -> list[Piece]:
    """A score from 0 to 1 as a bar, the threshold as a stroke in it, and both as numbers."""
    score = min(max(float(value), 0.0), 1.0) if isinstance(value, int | float) else 0.0
    needed = float(threshold) if isinstance(threshold, int | float) else None
    ink = "pass" if needed is None or score >= needed else "fail"
    filled = round(score * WIDTH)
    cells = [(FULL, ink) if cell < filled else (EMPTY, "dim") for cell in range(WIDTH)]
    if needed is not None and 0 < needed < 1:
        cells.insert(round(needed * WIDTH), (NEEDED, "bold"))
    pieces: list[Piece] = []
    for text, color in cells:
        if pieces and pieces[-1][1] == color:
            pieces[-1] = (pieces[-1][0] + text, color)
        else:
            pieces.append((text, color))
    pieces.append((f"  {number(value)}", ink))
    if needed is not None:
        pieces.append((f"  needs {number(threshold)}", "dim"))
    return pieces


def shares(result: Mapping[str, Any]) -> list[str]:
    """What each assertion of a scored test did to its score, in their order; [] for a test without a score."""
    rows = [row for row in result.get("assertions") or () if isinstance(row, dict)]
    weights = [float(row.get("weight", 1.0)) for row in rows]
    total = sum(weights)
    if result.get("score") is None or not total:
        return []
    return [
        ""
        if "implicit" in row
        else f"+{number(weight / total)}"
        if row.get("passed") is not False
        else f"0 of {number(weight / total)}"
        for row, weight in zip(rows, weights, strict=True)
    ]


def metrics(result: Mapping[str, Any]) -> Iterator[Sequence[Piece]]:
    """The metrics of a test, a line each: the value, what it needs, and names that lead nowhere."""
    found = [metric for metric in result.get("derived_metrics") or () if isinstance(metric, dict)]
    width = max((len(_name(metric)) for metric in found), default=0)
    for metric in found:
        passed = metric.get("passed")
        verdict = "" if passed is None else "pass" if passed else "fail"
        needs = f"  needs {number(metric['threshold'])}" if "threshold" in metric else ""
        missing = ", ".join(one_line(str(name), _NAME) for name in metric.get("missing") or ())
        yield (
            (f"{mark(verdict)} " if verdict else "  ", verdict),
            (f"{_name(metric):<{width}}  ", ""),
            (number(metric.get("value")), verdict or "bold"),
            (needs, "dim"),
            (f"  no assertion, set or metric is named {missing}, so its score is 0" if missing else "", "inconclusive"),
        )


def _name(metric: Mapping[str, object]) -> str:
    return one_line(str(metric.get("name", "")), _NAME)
