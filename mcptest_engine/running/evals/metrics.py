"""What a model judges of another test: one row for each metric of an agent test or a composition.

The test comes first, and its trace is what is judged, as the record keeps it. One that was not run leaves nothing to judge; one
that failed is judged all the same, where anything came to pass.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.costs import composition_name
from mcptest_engine.core.results import Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.judging.scorers.judge import judged
from mcptest_engine.judging.scorers.metrics import graded_of, is_judgeable, rubric_of
from mcptest_engine.running.evals.judging import judged_outcome
from mcptest_engine.running.ids import grading_of
from mcptest_engine.running.verdicts import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.judging.providers.values import Models
    from mcptest_engine.running.cases import Case

DEFERRED = "deferred: "


async def run_metric_row(
    case: Case,
    subject: TestResult | None,
    models: Models | None,
    *,
    task: str = "",
    clock: Callable[[], float] = time.monotonic,
    cut: Callable[[Sequence[Mapping[str, Any]]], object] | None = None,
) -> Outcome:
    """Judge one metric of `subject`, None where that is not part of the run. `task` is what a composition is for, and `cut` is
    given what was paid when this is cancelled.
    """
    row = case.metric_row
    assert row is not None
    trace = None if subject is None else _trace(subject)
    if subject is None or trace is None or not is_judgeable(trace) or subject.verdict is Verdict.SKIP:
        return _without_subject(case.name, row.metric, subject)
    if models is None:
        return Outcome(Verdict.INCONCLUSIVE, 0.0, message=f"{DEFERRED}no model provider")
    began = clock()
    if not task and "nodes" in trace:
        task = composition_name(subject)  # which is all that tells what it is for
    graded = graded_of(row.metric, trace, task)
    rubric = rubric_of(row.metric, row.written, row.threshold)
    variant = grading_of(case.id, row.run)
    asking = judged(models, graded, rubric, row.judge, case.model_timeout_seconds, variant=variant, cut=cut)
    outcome = await judged_outcome(asking)
    return outcome._replace(duration_ms=(clock() - began) * 1000)


def _without_subject(name: str, metric: str, subject: TestResult | None) -> Outcome:
    """A test that is deferred defers what is judged of it; one that was not run is not judged."""
    if subject is not None and subject.verdict is Verdict.INCONCLUSIVE:
        told = subject.message or ""
        if told.startswith(DEFERRED):
            return Outcome(Verdict.INCONCLUSIVE, 0.0, message=told)
    called = one_line(name.removesuffix(f": {metric}") if subject is None else subject.name, 120)
    was = "left nothing to judge" if subject is not None and subject.verdict is Verdict.FAIL else "was not run"
    return Outcome(Verdict.SKIP, 0.0, message=f"not judged: `{called}` {was}")


def _trace(subject: TestResult) -> Mapping[str, Any] | None:
    """The trace of a test; of one with trials that of the last run that has one."""
    if subject.trace is not None or not subject.trials:
        return subject.trace
    return next((trial["trace"] for trial in reversed(subject.trials) if "trace" in trial), None)
