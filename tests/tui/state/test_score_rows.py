"""Scores in the detail of a test: the bar, what each weight did, sets folded open, metrics."""

from __future__ import annotations

from mcptest_tui.state.result_rows import result_lines
from mcptest_tui.state.score_rows import EMPTY, FULL, NEEDED, WIDTH, bar
from tests.tui.state.making import finished, id_of, item, started, store_of


def told(**result):
    store = store_of(item("a"))
    store.apply_many([started("u1", id_of("a")), finished("u1", id_of("a"), **result)])
    row = store.rows[id_of("a")]
    assert row.result is not None
    lines = result_lines(row, row.result, None, "mcptest run")
    return [" " * line.at + "".join(piece for piece, _ in line.pieces) for line in lines]


def assertion(passed, **more):
    fields = {"index": 0, "target": "result.a", "matcher": {"exact": 1}, "weight": 1.0, "passed": passed, "actual": 2}
    return {**fields, **more}


SET = {
    "index": 1,
    "name": "cover",
    "weight": 3.0,
    "passed": True,
    "set": {
        "name": "cover",
        "threshold": 0.6,
        "score": 2 / 3,
        "passed": True,
        "assertions": [assertion(True), assertion(False)],
    },
}
RESULT = {
    "verdict": "fail",
    "duration_ms": 12.0,
    "score": 0.75,
    "threshold": 0.7,
    "derived_metrics": [
        {"name": "quality\x1b[2J", "value": 2 / 3, "threshold": 0.7, "passed": False, "missing": ["cites"]},
        {"name": "other", "value": 2.5},
    ],
    "failure": {"kind": "metric", "message": "metric `quality` is 0.667, below its threshold 0.7"},
    "assertions": [assertion(False), SET],
}


def test_a_bar_is_as_long_as_its_score_and_has_a_stroke_at_the_threshold():
    """workbench: the score as a bar with its threshold."""
    pieces = bar(0.75, 0.5)
    text = "".join(piece for piece, _ in pieces)
    drawn = text.partition("  ")[0]
    assert drawn.count(FULL) == WIDTH * 0.75
    assert drawn.count(EMPTY) == WIDTH * 0.25
    assert drawn.index(NEEDED) == WIDTH // 2
    assert text.endswith("  0.75  needs 0.5")
    assert {ink for piece, ink in pieces if FULL in piece} == {"pass"}
    assert {ink for piece, ink in bar(0.4, 0.5) if FULL in piece} == {"fail"}


def test_a_bar_of_odd_numbers_is_still_a_bar():
    """A record may be from elsewhere."""
    for value, threshold in ((None, None), (-1, 2), (5, 0), ("x", "y"), (0, 1)):
        drawn = "".join(piece for piece, _ in bar(value, threshold)).partition("  ")[0]
        assert drawn.count(FULL) + drawn.count(EMPTY) == WIDTH


def test_the_detail_tells_score_shares_sets_and_metrics():
    """Sets folded open to their assertions, what each weight did, metrics."""
    lines = told(**RESULT)
    text = "\n".join(lines)
    assert "score  " in lines[1]
    assert "0.75  needs 0.7" in lines[1]
    assert next(line for line in lines if line.startswith("✗ result.a")).endswith("0 of 0.25")
    head = next(number for number, line in enumerate(lines) if "cover" in line)
    assert "0.667  needs 0.6" in lines[head]
    assert lines[head].endswith("+0.75")
    assert lines[head + 1].startswith("    ✓ result.a")
    assert any(line.startswith("    ✗ result.a") for line in lines[head:])
    assert "quality␛[2J" in text
    assert "no assertion, set or metric is named cites, so its score is 0" in text
    assert "2.5" in text


def test_a_test_without_a_score_has_no_bar_and_no_shares():
    """Weights are inert without a threshold."""
    lines = told(assertions=[assertion(True, weight=3)])
    assert not any(FULL in line or "+1" in line or "score" in line for line in lines)
