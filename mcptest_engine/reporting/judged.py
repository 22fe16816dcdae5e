"""What every reporter says of what a model judged: its criteria, the way through a tree, its jurors, its findings.

All text given here is one line and sanitised: what a judge says may quote whatever was graded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.results import Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest_engine.core.results import TestResult

ROWS_SHOWN = 12
TEXT_LIMIT = 240
REASON_LIMIT = 160
_UNKNOWN = "?"


def reason_text(test: TestResult) -> str:
    """Why a test passed that a model graded, with its criteria: for a line below its own. "" of any other test."""
    judgement = test.judgement
    if judgement is None or judgement.get("by") != "judge" or test.verdict is not Verdict.PASS:
        return ""
    criteria = ", ".join(
        f"{_short_text(row.get('name'), 40)} {_number_text(row.get('score'))}"
        for row in _judgement_rows(judgement, "criteria")
    )
    return criteria or _short_text(judgement.get("reasoning"), REASON_LIMIT)


def judgement_lines(test: TestResult) -> list[str]:
    """The particulars of what was judged, of a test that did not pass; what its reason says is not repeated."""
    if test.verdict not in (Verdict.FAIL, Verdict.INCONCLUSIVE):
        return []
    lines = [] if test.judgement is None else list(_particulars(test.judgement))
    assertions = [*test.assertions, *(item for step in test.verify for item in step.assertions)]
    for row in (row for item in assertions for row in item.leaves()):
        if row.judgement is not None and row.passed is not True:
            lines += _particulars(row.judgement)
    if len(lines) > ROWS_SHOWN:
        return [*lines[:ROWS_SHOWN], f"… {len(lines) - ROWS_SHOWN} more"]
    return lines


def _particulars(judgement: Mapping[str, object]) -> Iterator[str]:
    for row in _judgement_rows(judgement, "criteria"):
        yield _judgement_line(f"criterion {_short_text(row.get('name'), 60)}", _number_text(row.get("score")), row)
    for row in _judgement_rows(judgement, "path"):
        yield _judgement_line(
            _short_text(row.get("ask"), 120),
            f"{_short_text(row.get('answer'), 8)} ({_number_text(row.get('score'))})",
            row,
        )
    jurors = tuple(_judgement_rows(judgement, "jury"))
    told = len({str(row.get("model")) for row in jurors}) > 1
    for number, row in enumerate(jurors, start=1):
        passed = row.get("passed")
        verdict = "pass" if passed is True else "fail" if passed is False else "no verdict"
        score = "" if row.get("score") is None else f" {_number_text(row.get('score'))}"
        name = f" ({_short_text(row.get('model'), 60)})" if told else ""
        yield _judgement_line(f"juror {number}{name}", f"{verdict}{score}", row)
    extra = judgement.get("extra")
    findings = extra.get("findings") if isinstance(extra, dict) and judgement.get("by") == "judge" else None
    for row in findings if isinstance(findings, list) else ():
        if isinstance(row, dict) and row.get("ok") is False:
            yield _judgement_line(
                f"call {_short_text(row.get('call'), 8)} ({_short_text(row.get('tool'), 60)})", "", row
            )


def _judgement_line(what: str, came_to: str, row: Mapping[str, object]) -> str:
    reasoning = _short_text(row.get("reasoning"), TEXT_LIMIT)
    head = f"{what}: {came_to}" if came_to else what
    return f"{head}, {reasoning}" if reasoning and came_to else f"{head}: {reasoning}" if reasoning else head


def _judgement_rows(judgement: Mapping[str, object], name: str) -> Iterable[Mapping[str, object]]:
    rows = judgement.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else ()


def _number_text(value: object) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return number_text(float(value)) if is_number else _UNKNOWN  # type: ignore[arg-type]


def _short_text(value: object, limit: int) -> str:
    return "" if value is None else one_line(str(value), limit)
