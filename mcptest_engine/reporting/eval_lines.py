"""What `mcptest eval` prints: one line a grading, the last words of who failed before a verdict, and what grading cost.

A row is called what `--filter` takes. `ERROR` names in its brackets what failed: the scorer or the judge, or the server.

`PASS [exec] summary-quality: cost=$0.0003 the reason` and `Scorer cost: $0.0003` are a contract with whoever reads logs.
See docs/how-to/scorers.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.costs import scorer_cost
from mcptest_engine.core.results import JUDGED_FAILURES, FailureKind, TestKind, Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.layout import Ink, word_of
from mcptest_engine.reporting.registry import Rendered
from mcptest_engine.reporting.repro import repro_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

_JUDGE, _EXEC = "judge", "exec"
_STDERR_LINES = 4
_UNKNOWN = "unknown"


def render(record: RunRecord, options: RenderOptions) -> Rendered:
    """The lines on stdout; sums and warnings are talk."""
    ink = Ink(on=options.color)
    told: set[str] = set()
    lines = [line for test in record.tests for line in _grading_lines(record, test, options, ink, told)]
    lines += _costs(record)
    talk = [f"{facts.counts_text(record)} in {facts.duration_text(record.duration_ms)}"]
    reason = facts.run_reason(record)
    talk += [] if reason is None else [reason]
    talk += (f"warning: {warning}" for warning in facts.warning_texts(record))
    return Rendered("".join(f"{line}\n" for line in lines), "".join(f"{line}\n" for line in talk))


def _grading_lines(
    record: RunRecord, test: TestResult, options: RenderOptions, ink: Ink, seen: set[str]
) -> Iterator[str]:
    """The lines of a test. `seen` are the last words that were shown before: rows that share an answer share its failure."""
    parts = [_cost_text(test), _score(test), _why(test)]
    told = " ".join(part for part in parts if part)
    yield f"{_word(test, ink)} [{_by(test)}] {one_line(test.name)}{f': {told}' if told else ''}"
    if test.failure is None or not _is_error(test):
        return
    tail = [f"  stderr: {line}" for line in facts.stderr_lines(test, _STDERR_LINES) if line]
    if test.failure.rerun_text:
        tail.append(f"  {test.failure.rerun_text}")
    if test.failure.hint:
        tail.append(f"  hint: {one_line(test.failure.hint, facts.MESSAGE_LIMIT)}")
    of_scorer = test.failure.scorer_error is not None
    text = "\n".join(tail)
    if of_scorer or text not in seen:
        yield from tail
        seen.add(text)
    if not of_scorer:
        yield f"  repro: {repro_line(record, test, options)}"


def _is_error(test: TestResult) -> bool:
    """Whether something failed before there was a verdict."""
    return test.failure is not None and test.failure.kind not in JUDGED_FAILURES


def _word(test: TestResult, ink: Ink) -> str:
    return ink.strong_red("ERROR") if _is_error(test) else word_of(test.verdict, ink)


def _by(test: TestResult) -> str:
    """Who grades: "exec", "judge", what kind of test is graded elsewhere, or what failed before anybody could."""
    if test.kind is not TestKind.EVAL:
        return test.kind.value
    if test.failure is not None and _is_error(test) and test.failure.kind is not FailureKind.SCORER:
        return test.failure.kind.value
    told = (test.judgement or {}).get("by")  # a scorer may be called "judge" too
    return told if told in (_EXEC, _JUDGE) else _JUDGE if test.scorer in (None, _JUDGE) else _EXEC


def _score(test: TestResult) -> str:
    """`(score 0.9, needs 0.95)` of a row that a threshold decides; a program decides by its verdict."""
    told = "" if _is_error(test) else facts.score_text(test)
    return f"({told})" if told else ""


def _cost_text(test: TestResult) -> str:
    """`cost=$0.0003`, of what was spent on this row now."""
    cost = scorer_cost(test)
    if cost is None and test.tokens is None:
        return ""
    told = usd(cost if cost is not None else test.cost_usd)
    return f"cost={told}{' (cached)' if test.cached else ''}"


def _why(test: TestResult) -> str:
    """The reason of who graded, on one line."""
    said = (test.judgement or {}).get("reasoning")
    own = test.failure is None or test.failure.kind in JUDGED_FAILURES
    if own and isinstance(said, str) and said:
        return one_line(said, facts.MESSAGE_LIMIT)
    if test.verdict is Verdict.FAIL:
        return facts.reasons(test)[0].text
    return one_line(test.message or "", facts.MESSAGE_LIMIT)


def _costs(record: RunRecord) -> Iterator[str]:
    spending = record.spending
    yield f"Scorer cost: {usd(spending.scorers_usd if spending is not None else 0.0)}"
    if spending is not None and (spending.models or spending.tokens):
        yield f"Model cost: {usd(spending.models_usd)} ({spending.tokens:,} tokens)"


def usd(cost: float | None) -> str:
    """`$0.0003`; "unknown" where a price is not known, and "<$0.0001" for what four digits cannot show."""
    if cost is None:
        return _UNKNOWN
    return "<$0.0001" if 0 < cost < 0.00005 else f"${cost:,.4f}"
