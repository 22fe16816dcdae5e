"""Builds the result of a test, as the run's record has it, from what was decided about its case."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.costs import model_rows_of, sum_costs
from mcptest_engine.core.results import FailureKind, TestResult, Verdict
from mcptest_engine.core.values import dataclass
from mcptest_engine.running.cases import Check, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.results import Failure
    from mcptest_engine.running.attempts import Decision
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.stored_results import ResultStorage
    from mcptest_engine.running.verdicts import Outcome


@dataclass(slots=True, kw_only=True)
class ResultBuilder:
    """Builds the results of one run, which began at `started`, redacted and truncated by `storage`."""

    storage: ResultStorage
    started: float
    is_replayed: bool
    with_models: bool
    mutation_scores: Mapping[str, float]

    def build(self, case: Case, decision: Decision, began: float) -> TestResult:
        """The test's result as the record has it."""
        outcome, attempts = decision.outcome, decision.attempts
        result = TestResult(
            id=case.id,
            name=case.name,
            kind=case.kind,
            server=case.server,
            tool=case.tool,
            verdict=outcome.verdict,
            duration_ms=round(outcome.duration_ms, 3),
            started_offset_ms=round((began - self.started) * 1000, 3),
            cached=decision.cached or (outcome.cached and not self.is_replayed),
            flaky=decision.flaky,
            attempts=attempts if len(attempts) > 1 or case.request.fault is not None else (),
            file=case.file,
            line=case.line,
            tags=case.tags,
            score=outcome.score,
            threshold=outcome.threshold,
            derived_metrics=outcome.metrics,
            message=outcome.message,
            failure=with_line(outcome.failure, case),
            assertions=outcome.assertions,
            case=case.row_name,
            row=None if case.row is None else {"file": case.row[0], "line": case.row[1]},
            request=_request(case, outcome) if attempts or decision.cached else None,
            output=outcome.output,
            verify=outcome.verify,
            trace=outcome.trace,
            model=outcome.model or case.model,
            scorer=case.scorer,
            judgement=outcome.judgement,
            trials=outcome.trials,
            behind=outcome.behind,
            definition=definition_of(case, outcome),
            strength=case.strength,
            not_run=outcome.not_run,
            deferred=outcome.deferred if outcome.verdict is Verdict.INCONCLUSIVE else None,  # else something failed it
            mutation_score=self.mutation_scores.get(case.id),
            **_costs_of(outcome, with_models=self.with_models),
        )
        return self.storage.prepare(result, size=outcome.size)


def with_line(failure: Failure | None, case: Case) -> Failure | None:
    """The failure, at the line of its case where nothing else in the file is at fault."""
    return failure if failure is None or failure.line is not None else replace(failure, line=case.row_line)


def _request(case: Case, outcome: Outcome) -> Mapping[str, Any] | None:
    """What was asked; compositions ask in nodes, models in turns, and what is graded may have been asked of nobody."""
    if outcome.request is None and isinstance(case.body, (Request, Check)):
        return {"method": case.method, "params": case.params}
    return outcome.request


def definition_of(case: Case, outcome: Outcome) -> dict[str, Any] | None:
    """What the suite says of a test and its assertions do not show; None where they show all."""
    if case.skip is not None:
        return {"skip": case.skip}
    failure = outcome.failure
    if failure is None and not case.retries and len(case.expect) == 1:
        return None  # most tests
    out = {key: value for key, value in case.expect.items() if key != "assertions"}
    if case.retries:
        out["retries"] = case.retries
    if failure is not None and failure.kind is FailureKind.TIMEOUT:
        out["timeout_ms"] = round(case.timeout_seconds * 1000)
    if failure is not None and not outcome.assertions:
        out |= {"assertions": list(case.expect["assertions"]), "outcome": case.outcome.value}
    return out or None


def _costs_of(outcome: Outcome, *, with_models: bool) -> dict[str, Any]:
    """What the calls of a composition and the models of a test cost in all attempts, where one of them says."""
    rows = None
    if with_models or outcome.trace is not None:
        rows = model_rows_of(outcome)
    if rows is None:
        return {}
    return {"cost_usd": sum_costs(row["cost_usd"] for row in rows), "tokens": sum(row["tokens"] for row in rows)}
