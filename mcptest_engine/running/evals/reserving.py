"""The money for grading, set aside before the answer is got: a row that is not run has called no tool and asked no model."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcptest_engine.core.results import Verdict
from mcptest_engine.judging.providers.values import NOT_ASKED
from mcptest_engine.judging.scorers.asking import payer_of
from mcptest_engine.running.verdicts import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcptest_engine.judging.spending import Payer
    from mcptest_engine.running.evals.program import EvalRow
    from mcptest_engine.running.judged import Judged

ANSWER_CHARACTERS = 4_000
"""How long an answer is expected to be that is not there yet. For a longer one the judge may find too little money left."""


@asynccontextmanager
async def reserved(row: EvalRow, judged: Judged) -> AsyncIterator[None]:
    """Hold the money for grading the answer of a call that is made within; of a model's answer, look whether there is any.

    A conversation takes money itself, a turn at a time, and a row that held some meanwhile could wait for its own.
    Raises: Capped, before anything is called.
    """
    if judged.budget.cap_usd is None or not (payers := _payers(row, judged)):
        yield
    elif row.candidate.call is not None:
        async with judged.budget.hold(payers):
            yield
    else:
        judged.budget.check(payers)
        yield


def not_run(reason: str, *, acted: bool = False) -> Outcome:
    """A row for which a cap on costs left no money. `acted`: its answer was got all the same, and only not graded."""
    told = "not graded" if acted else "not run"
    return Outcome(Verdict.SKIP, 0.0, message=f"{told}: {reason.removeprefix(NOT_ASKED)}")


def _payers(row: EvalRow, judged: Judged) -> tuple[Payer, ...]:
    """Whom the grading pays, once for each call."""
    if row.candidate.output is not None:
        return ()  # nothing acts before it is graded
    if row.scorer is not None:
        return (payer_of(row.scorer),)
    if not judged.models.is_paid:
        return ()
    from mcptest_engine.judging.providers.documents import most_tokens_in
    from mcptest_engine.judging.providers.values import ModelRequest, Role, Turn
    from mcptest_engine.judging.rubrics import calls_needed, outline, read_rubric
    from mcptest_engine.judging.scorers import judge_prompts as prompts
    from mcptest_engine.judging.scorers.fences import Material
    from mcptest_engine.judging.scorers.juries import seats_of

    rubric = read_rubric(row.rubric, threshold=row.threshold)
    materials = (
        Material("task", row.candidate.prompt),
        Material("answer", "x" * ANSWER_CHARACTERS),
    )
    question = prompts.whole_prompt("\n".join(outline(rubric)), prompts.FINDINGS_FORM, materials, exchanged=False)
    request = ModelRequest("", (Turn(Role.USER, question),), system=prompts.SYSTEM, schema=prompts.GRADES_SCHEMA)
    _, times = calls_needed(rubric, guarded=row.judge.guarded)
    models = [seat.model for seat in seats_of(row.judge, judged.models) if seat.missing is None]
    return tuple(judged.models.payer(model, most_tokens_in(request)) for model in models for _ in range(times))
