"""The progress of running batches: verdict, time and first failure reason of each test. The records follow later.

A batch's process writes a line for each test, and its worker passes the lines on. Each test is reported once, even if its
worker died and the batch is run again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.events import CaseFinished, PlannedTest, RunFinished, RunStarted
from mcptest_engine.core.results import TestResult

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.events import Emit, Event
    from mcptest_engine.core.run_record import RunRecord, SuiteInfo
    from mcptest_engine.running.cases import Case


def case_row(event: Event) -> list[object] | None:
    """[id, verdict, milliseconds, reason or None] of a finished test; None for any other event."""
    if not isinstance(event, CaseFinished):
        return None
    from mcptest_engine.reporting.facts import reasons

    result = event.result
    reason = reasons(result)[0].text if result.verdict is Verdict.FAIL else None
    return [result.id, result.verdict.value, result.duration_ms, reason]


class BatchProgress:
    """Turns the progress of batches into events."""

    def __init__(self, cases: Iterable[Case], emit: Emit) -> None:
        self._cases = tuple(cases)
        self._waiting = {case.id: index for index, case in enumerate(self._cases)}
        self._emit = emit

    def begin(self, run_id: str, suite: SuiteInfo, workers: int) -> None:
        """Emit the start of the run."""
        tests = tuple(
            PlannedTest(id=one.id, name=one.name, kind=one.kind, server=one.server, file=one.file, line=one.line)
            for one in self._cases
        )
        self._emit(RunStarted(run_id=run_id, suite=suite, tests=tests, workers=workers))

    def cases(self, rows: Iterable[Any]) -> None:
        """Emit some finished tests; their results contain only what fits in a line."""
        for case_id, verdict, duration_ms, reason in rows:
            index = self._waiting.pop(case_id, None)
            if index is not None:
                self._emit(
                    CaseFinished(index=index, result=_test_result(self._cases[index], verdict, duration_ms, reason))
                )

    def end(self, record: RunRecord) -> None:
        """Emit the record of the whole run."""
        self._emit(RunFinished(record=record))


def _test_result(case: Case, verdict: str, duration_ms: float, reason: str | None) -> TestResult:
    return TestResult(
        id=case.id,
        name=case.name,
        kind=case.kind,
        server=case.server,
        verdict=Verdict(verdict),
        duration_ms=duration_ms,
        started_offset_ms=0.0,
        file=case.file,
        line=case.line,
        message=reason,
        strength=case.strength,
    )
