"""Assertions that a model decides: a test is judged, what is open is asked, and the test is judged again with the answers.

Without a model what is open stays so, and the test is inconclusive unless something else fails it. A model that gave no verdict
fails it: nothing that was to be checked and was not is a pass.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.results import Failure, FailureKind, Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.tasks import run_together
from mcptest_engine.judging.opinions import Answer, Opinions
from mcptest_engine.judging.providers.values import NO_PROVIDER, ModelError
from mcptest_engine.judging.scorers.judge import JudgeError, grade, paid_for
from mcptest_engine.running.cases import DEFAULT_MODEL_TIMEOUT_MS, Case
from mcptest_engine.running.kinds.agent.plan import AgentProgram
from mcptest_engine.running.kinds.eval.plan import judge_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcptest_engine.judging.opinions import Question
    from mcptest_engine.judging.providers.values import Models
    from mcptest_engine.running.cases import JudgedRequest
    from mcptest_engine.running.verdicts import Outcome

    Judging = Callable[[Opinions], Awaitable[Outcome]]
    Cut = Callable[[Sequence[Mapping[str, Any]]], object]

MOST_ROUNDS = 8
_TOLD = 300


class RowJudges(NamedTuple):
    """Who is asked: the run's models, and what the suite says of its judge."""

    models: Models
    judge: Mapping[str, Any]
    timeout_seconds: float = DEFAULT_MODEL_TIMEOUT_MS / 1000


async def judge_with_models(
    judging: Judging,
    opinions: Opinions,
    *,
    judges: RowJudges | None,
    task: str,
    variant: str = "",
    cut: Cut | None = None,
) -> Outcome:
    """The outcome of `judging`, with what models say of what it leaves open. `task` is what the answer was given to.

    `variant` tells apart tests of the same that are each to be judged. `cut` is given what was paid when this is cancelled.
    """
    stopped: ModelError | None = None
    fault: JudgeError | None = None
    for _ in range(MOST_ROUNDS):
        outcome = await judging(opinions)
        waiting = tuple(opinions.waiting.values())
        if not waiting:
            break
        asked = (_answer_question(question, opinions, judges, task, variant, cut) for question in waiting)
        try:
            came = await run_together(asked)
        except asyncio.CancelledError:
            if cut is not None:
                cut(opinions.paid())
            raise
        for wrong in came:
            if isinstance(wrong, JudgeError):
                fault = fault or wrong
            elif wrong is not None:
                stopped = stopped or wrong
    if outcome.verdict is Verdict.FAIL or not any(row.passed is None for row in outcome.assertions):
        return outcome
    if fault is not None:
        return _failed_by_judge(outcome, fault)
    if stopped is not None:
        told = stopped.message if stopped.defers else f"not judged: {stopped.reason}"
        return outcome._replace(message=told, deferred=stopped.reason if stopped.defers else None)
    return outcome


def run_of(asked: JudgedRequest) -> str:
    """The number of the run of an agent test, "" for whatever else."""
    return asked.body.run if isinstance(asked, Case) and isinstance(asked.body, AgentProgram) else ""


def task_of(asked: JudgedRequest, envelope: Mapping[str, Any]) -> str:
    """What an answer was given to, in words for a judge: a prompt, what a composition is for, `tools/call {"name": …}`."""
    if isinstance(asked, Case) and isinstance(asked.body, AgentProgram):
        return asked.body.prompt
    request = envelope.get("request")
    if request is None:
        return (asked.description if isinstance(asked, Case) else None) or asked.name or ""
    params = request.get("params")
    return f"{request['method']} {json.dumps(params, ensure_ascii=False)}" if params else str(request["method"])


async def _answer_question(
    question: Question, opinions: Opinions, judges: RowJudges | None, task: str, variant: str, cut: Cut | None
) -> ModelError | None:
    """Have a question answered. Gives what kept it from being answered."""
    argument = question.argument
    if judges is None:
        opinions.answer(question, Answer(None, f"deferred: {NO_PROVIDER}", deferred=NO_PROVIDER))
        return None
    try:
        judgement = await grade(
            judges.models,
            input=task,
            output=question.text,
            rubric=argument["rubric"],
            threshold=argument.get("threshold"),
            judge=judge_of(argument, judges.judge),
            timeout_seconds=judges.timeout_seconds,
            variant=variant,
            cut=cut,
        )
    except JudgeError as wrong:
        opinions.answer(question, Answer(None, f"without a verdict: {wrong.message}", paid_for(wrong)))
        return wrong
    except ModelError as wrong:
        words = wrong.message if wrong.defers else f"not judged: {wrong.reason}"
        opinions.answer(question, Answer(None, words, paid_for(wrong), wrong.reason if wrong.defers else None))
        return wrong
    decided = judgement.verdict is not Verdict.INCONCLUSIVE
    lead = "undecided: " if not decided else "" if judgement.jury else "the judge gives "
    passed = judgement.verdict is Verdict.PASS if decided else None
    opinions.answer(question, Answer(passed, lead + one_line(judgement.summary, _TOLD), judgement.to_json()))
    return None


def _failed_by_judge(outcome: Outcome, fault: JudgeError) -> Outcome:
    """A judge that was asked and gave no verdict fails the test, like any other scorer."""
    row = next(row for row in outcome.assertions if row.passed is None)
    message = row.message or fault.message
    failure = Failure(kind=FailureKind.SCORER, message=message, hint=fault.hint, scorer_error=fault.scorer_error)
    return outcome._replace(verdict=Verdict.FAIL, message=message, failure=failure)
