"""Runs the steps of a test's `verify`: further calls after the deciding one, which look at the state that it left behind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcptest_engine.core.results import Failure, Part, Verdict, VerifyResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.running.calling import Caller
    from mcptest_engine.running.cases import Case, VerifyStep
    from mcptest_engine.running.sessions import Sessions
    from mcptest_engine.running.verdicts import Outcome

GONE = "not run: the server has ended"


async def run_verify_steps(case: Case, outcome: Outcome, sessions: Sessions, caller: Caller) -> Outcome:
    """Return `outcome` of the test's own call, with every step of its `verify` called in order and judged.

    A step that fails ends nothing, so that the record tells the whole state; only a server that is gone is asked no more.
    """
    gone = {case.server} if outcome.gone and outcome.verdict is Verdict.FAIL else set()
    rows: list[VerifyResult] = []
    warnings = list(outcome.warnings)
    for step in case.request.verify:
        if step.server in gone:
            rows.append(_verify_result(step, verdict=Verdict.SKIP, message=GONE))
            continue
        found = await caller.attempt(step, sessions)
        if found.gone and found.verdict is Verdict.FAIL:
            gone.add(step.server)
        rows.append(_judged_step(step, found))
        warnings += (f"{rows[-1].label}: {warning}" for warning in found.warnings)
    return _decided(case, outcome._replace(verify=tuple(rows), warnings=tuple(warnings)))


def _decided(case: Case, outcome: Outcome) -> Outcome:
    """The outcome of call and steps together; where both failed, the call's failure comes first and both are told."""
    wrong = next((row for row in outcome.verify if row.failure is not None), None)
    if wrong is not None and wrong.failure is not None:
        failure = _joined_failure(outcome.failure, wrong.failure, wrong.summary)
        return outcome._replace(verdict=Verdict.FAIL, message=failure.message, failure=failure)
    if outcome.lost and not _expects(case.expect):
        outcome = outcome._replace(verdict=Verdict.PASS, message=None)
    unsure = next((row for row in outcome.verify if row.verdict is Verdict.INCONCLUSIVE), None)
    if unsure is not None and outcome.verdict is Verdict.PASS:
        message = f"{unsure.label}: there was nothing to check" if unsure.message is None else unsure.summary
        return outcome._replace(verdict=Verdict.INCONCLUSIVE, message=message)
    return outcome


def _joined_failure(own: Failure | None, of_step: Failure, words: str) -> Failure:
    if own is None:
        return replace(of_step, message=words, parts=((Part.STEP, words),))
    return own.with_part(Part.STEP, words.replace("\n", "; "))


def _expects(expect: Mapping[str, object]) -> bool:
    return bool(expect.get("assertions")) or len(expect) > ("assertions" in expect)


def _judged_step(step: VerifyStep, found: Outcome) -> VerifyResult:
    return replace(
        _verify_result(step, verdict=found.verdict, message=found.message),
        duration_ms=round(found.duration_ms, 3),
        failure=found.failure,
        assertions=found.assertions,
        request={"method": step.method, "params": step.params},
        output=found.output,
    )


def _verify_result(step: VerifyStep, *, verdict: Verdict, message: str | None) -> VerifyResult:
    return VerifyResult(
        index=step.number,
        name=step.name,
        server=step.server,
        tool=step.tool,
        verdict=verdict,
        duration_ms=0.0,
        message=message,
    )
