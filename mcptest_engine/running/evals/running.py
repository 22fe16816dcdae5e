"""One row of an eval: its answer got, graded by a scorer or by a judge, and told as an outcome.

The verdict of a scorer is the row's, whatever its score is. A scorer or judge that gave none fails the row, as does an answer
that could not be got; what nobody was set up to grade is inconclusive, and what a cap kept back is skipped.
Source: decisions 6 and 14, Evals.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.costs import sum_costs
from mcptest_engine.core.results import Failure, FailureKind, Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.judging.scorers.values import ScorerError
from mcptest_engine.judging.spending import Capped
from mcptest_engine.running.evals.reserving import not_run, reserved
from mcptest_engine.running.ids import grading_of
from mcptest_engine.running.verdicts import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcptest_engine.judging.scorers.values import Scorer
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.evals.candidates import Answer, Candidates
    from mcptest_engine.running.evals.program import EvalRow
    from mcptest_engine.running.judged import Judged
    from mcptest_engine.running.sessions import Sessions

_TOLD = 300


class Graders(NamedTuple):
    """Whoever grades in a run, and the answers that they grade. `redact` takes secrets out of what messages quote.

    `paid` is what scorers have cost in the earlier attempts at a row, by its id. `cut_short` is given the conversation that a
    row was to grade when the run was interrupted, `spent` what its judge was paid by then.
    """

    judged: Judged
    candidates: Candidates
    redact: Callable[[Any], Any]
    paid: dict[str, float]
    cut_short: Callable[[str, Mapping[str, Any]], object]
    spent: Callable[[str], Callable[[Sequence[Mapping[str, Any]]], object]]
    clock: Callable[[], float] = time.monotonic


async def run_eval_row(case: Case, sessions: Sessions, graders: Graders, *, number: int = 1) -> Outcome:
    """The `number`-th attempt at a row."""
    row = case.eval_row
    assert row is not None
    began = graders.clock()
    try:
        if number == 1 and not graders.candidates.has(row.candidate.key):
            async with reserved(row, graders.judged):
                return await _run(case, row, sessions, graders, number, began)
        return await _run(case, row, sessions, graders, number, began)
    except Capped as capped:
        return not_run(capped.message)


async def _run(case: Case, row: EvalRow, sessions: Sessions, graders: Graders, number: int, began: float) -> Outcome:
    answer = await graders.candidates.get(case, sessions, anew=number > 1)
    try:
        outcome = answer.failed or await _graded(case, row, answer, graders, acted=answer.acted or number > 1)
    except asyncio.CancelledError:
        if answer.trace is not None and answer.spends:
            graders.cut_short(case.id, answer.trace)
        raise
    return outcome._replace(
        duration_ms=(graders.clock() - began) * 1000,
        request=answer.request,
        output=answer.output,
        size=answer.size,
        trace=_trace(answer),
        model=answer.model or outcome.model,
        warnings=outcome.warnings if answer.odd is None else (*outcome.warnings, answer.odd),
    )


async def _graded(case: Case, row: EvalRow, answer: Answer, graders: Graders, *, acted: bool) -> Outcome:
    """`acted`: something was called for this row already."""
    if row.scorer is not None:
        return await _scored(case, row, row.scorer, answer, graders, acted=acted)
    return await _judged(case, row, answer, graders, acted=acted)


async def _scored(
    case: Case, row: EvalRow, scorer: Scorer, answer: Answer, graders: Graders, *, acted: bool
) -> Outcome:
    prompt = row.candidate.prompt
    metadata = {**({} if answer.model is None else {"model": answer.model}), "eval": row.eval, **row.metadata}
    try:
        said, kept = await graders.judged.scorers.grade(
            scorer, prompt=prompt, output=answer.text, criteria=_criteria(row.rubric), metadata=metadata
        )
    except ScorerError as wrong:
        declared = f"the scorer is declared at {graders.judged.scorer_place(scorer.name)}"
        failure = Failure(
            kind=FailureKind.SCORER,
            message=wrong.message,
            hint=declared if wrong.hint is None else f"{wrong.hint}; {declared}",
            stderr_tail=wrong.stderr_tail or None,
            scorer_error=wrong.to_json(),
        )
        outcome = Outcome(verdict=Verdict.FAIL, duration_ms=0.0, message=failure.message, failure=failure)
        return _with_paid(outcome, graders.paid.get(case.id))
    except Capped as capped:
        return _with_paid(not_run(capped.message, acted=acted), graders.paid.get(case.id))
    cost = said.cost_usd
    before = graders.paid.get(case.id)
    if before is not None:
        cost = before if kept else sum_costs((before, cost)) or 0.0
    if case.retries and not kept:
        graders.paid[case.id] = cost
    judgement: dict[str, Any] = {
        "by": "exec",
        "verdict": said.verdict.value,
        "score": said.score,
        "reasoning": said.reasoning,
        "input": prompt,
        "output": answer.text,
        "cost_usd": cost,
        **({"extra": dict(said.extra)} if said.extra else {}),
    }
    outcome = Outcome(verdict=said.verdict, duration_ms=0.0, judgement=judgement, cached=kept and before is None)
    reason = one_line(said.reasoning, _TOLD)
    if said.verdict is Verdict.PASS:
        return outcome
    if said.verdict is Verdict.INCONCLUSIVE:
        return outcome._replace(message=reason or f"scorer `{scorer.name}` came to no verdict")
    told = f"scorer `{scorer.name}` said fail" + (f": {reason}" if reason else "")
    return outcome._replace(message=told, failure=Failure(kind=FailureKind.SCORE, message=told))


async def _judged(case: Case, row: EvalRow, answer: Answer, graders: Graders, *, acted: bool) -> Outcome:
    from mcptest_engine.judging.scorers.judge import grade  # a suite with scorers has no need of it
    from mcptest_engine.running.evals.judging import judged_outcome

    asking = grade(
        graders.judged.models,
        input=graders.redact(row.candidate.prompt),
        output=graders.redact(answer.text),
        rubric=graders.redact(row.rubric),
        threshold=row.threshold,
        judge=row.judge,
        timeout_seconds=case.model_timeout_seconds,
        variant=grading_of(case.id, row.run),
        cut=graders.spent(case.id),
    )
    return await judged_outcome(asking, graders.redact, acted=acted)


def _with_paid(outcome: Outcome, paid: float | None) -> Outcome:
    """An outcome without a verdict, with what the verdicts of the attempts before have cost."""
    return outcome if paid is None else outcome._replace(judgement={"by": "exec", "cost_usd": paid})


def _criteria(rubric: object) -> str:
    if isinstance(rubric, str):
        return rubric
    from mcptest_engine.judging.rubrics import criteria_text  # most rubrics are texts

    return criteria_text(rubric)


def _trace(answer: Answer) -> Mapping[str, Any] | None:
    """A model's conversation, as it stands in each row that grades it; what it cost stands in the first one only."""
    if answer.trace is None or answer.spends:
        return answer.trace
    return {key: value for key, value in answer.trace.items() if key != "models"}
