"""What a row comes to that a model judges. Source: decisions 6 and 14, Evals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.results import Failure, FailureKind, Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.judging.providers.values import ModelError, ModelFault
from mcptest_engine.judging.scorers.judge import JudgeError, paid_for
from mcptest_engine.running.evals.reserving import not_run
from mcptest_engine.running.verdicts import Outcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcptest_engine.judging.scorers.judge import Judgement

TOLD = 300


async def judged_outcome(
    asking: Awaitable[Judgement], redact: Callable[[Any], Any] = lambda text: text, *, acted: bool = False
) -> Outcome:
    """The outcome of a judgement that is waited for. A judge without a grade fails the row; without a model it is deferred.

    `acted`: a tool or a model was called for what is judged.
    """
    try:
        judgement = await asking
    except JudgeError as wrong:
        failure = Failure(
            kind=FailureKind.SCORER, message=wrong.message, hint=wrong.hint, scorer_error=wrong.scorer_error
        )
        return Outcome(Verdict.FAIL, 0.0, message=wrong.message, failure=failure, judgement=paid_for(wrong))
    except ModelError as wrong:
        if wrong.fault is ModelFault.CAPPED:
            paid = paid_for(wrong)
            return not_run(wrong.message, acted=acted or paid is not None)._replace(judgement=paid)
        return Outcome(Verdict.INCONCLUSIVE, 0.0, message=wrong.message)  # the judge turns all others into its own
    outcome = Outcome(
        verdict=judgement.verdict,
        duration_ms=0.0,
        judgement=judgement.to_json(),
        cached=judgement.kept,
        # of a jury its jurors decide: beside the threshold their mean would tell another story
        score=None if judgement.jury else judgement.score,
        threshold=None if judgement.jury else judgement.threshold,
    )
    if judgement.verdict is Verdict.PASS:
        return outcome
    message = one_line(redact(judgement.told), TOLD)
    if judgement.verdict is not Verdict.FAIL:
        return outcome._replace(message=message)
    return outcome._replace(message=message, failure=Failure(kind=FailureKind.SCORE, message=message))
