"""Bringing one test to its verdict: its attempts, what is done to the first answer on purpose, and what is verified after.

An attempt is a call and, where the test has them, its `verify` steps. The steps follow the attempt that decides: one whose
call failed while a retry is left decides nothing, and neither does one whose answer the test itself took away.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.costs import added_up, model_rows_of
from mcptest_engine.core.live import TEST
from mcptest_engine.core.results import Attempt, Failure, FailureKind, NotRun, Verdict
from mcptest_engine.running.sessions import Sessions
from mcptest_engine.running.verdicts import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcptest_engine.running.calling import Caller
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.hooks import Hooks, Stop
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.running.sessions import Broken
    from mcptest_engine.servers.calls import Fault

_SHOWN = 4
_WRITTEN = {"delay": "delay_ms"}


class Decision(NamedTuple):
    """What a test came to: the outcome of its last attempt, and every attempt in order; none where it was `cached`.

    `broken` are the shared sessions over which calls of the last attempt got no answer.
    """

    outcome: Outcome
    attempts: tuple[Attempt, ...]
    failed_before: bool = False
    cached: bool = False
    broken: tuple[Broken, ...] = ()

    @property
    def flaky(self) -> bool:
        """Whether it passed after an attempt that failed; what the test itself did to an answer makes none."""
        return self.outcome.verdict is Verdict.PASS and self.failed_before


def stopped_by(stop: Stop, attempts: Sequence[Attempt] = ()) -> Decision:
    """What a test comes to that a hook let not begin, or not try again."""
    failure = Failure(kind=FailureKind.HOOK, message=stop.reason) if stop.failed else None
    verdict = Verdict.SKIP if failure is None else Verdict.FAIL
    return Decision(Outcome(verdict=verdict, duration_ms=0.0, message=stop.reason, failure=failure), tuple(attempts))


def interrupted_at(case: Case, caller: Caller, began: float | None, clock: Callable[[], float]) -> Decision:
    """A case that was not brought to its end: what was done is kept, and what all of its attempts have cost.

    `began` is the time of its begin, None where it was not begun. A case that had its answer, and waited only for its
    server's list, is judged by that answer.
    """
    if case.id in caller.answered_late:
        return Decision(caller.answered_late[case.id], ())
    trace, before, paid = caller.cut_short.get(case.id), caller.spent.get(case.id), caller.paid.get(case.id)
    judgement: dict[str, Any] | None = None if paid is None else {"by": "exec", "cost_usd": paid}
    if before and trace is not None:
        trace = with_models(trace, before)
    elif before:
        judgement = with_models(judgement or {"by": "judge"}, before)
    outcome = _left_at(trace, seconds=None if began is None else clock() - began)
    return Decision(outcome._replace(judgement=judgement), ())


def _left_at(trace: Mapping[str, Any] | None, *, seconds: float | None) -> Outcome:
    """A case that was not brought to its end, `seconds` after its begin; of a composition or an agent: how far it came."""
    if trace is None:
        if seconds is None:
            return Outcome(Verdict.SKIP, 0.0, message="not run: interrupted", not_run=NotRun.INTERRUPTED)
        after = f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
        told = f"interrupted after {after}"
        return Outcome(Verdict.SKIP, seconds * 1000, message=told, not_run=NotRun.INTERRUPTED)
    nodes = trace.get("nodes", {}).values()
    at = [f"`{node['id']}`" for node in nodes if "ended_by" in node]
    told = f"interrupted at {', '.join(at[:_SHOWN])}{', …' if len(at) > _SHOWN else ''}" if at else "interrupted"
    return Outcome(Verdict.SKIP, trace["duration_ms"], message=told, trace=trace, not_run=NotRun.INTERRUPTED)


async def decide(
    case: Case, *, pool: Pool, caller: Caller, stopped: Callable[[], bool], hooks: Hooks | None = None
) -> Decision:
    """Make as many attempts at a case as it takes and as it may have; `hooks` go around each of them.

    Once the run is `stopped` (bail), a failed attempt is not repeated. A test that has begun is brought to its end all the
    same: the attempt after a lost answer is made, and what is to be verified is verified.
    """
    TEST.set(case.id)
    request = case.request
    sessions = Sessions(pool, case)
    attempts: list[Attempt] = []
    spent: list[Mapping[str, Any]] = []
    caller.spent[case.id] = spent
    failed_before = cleanup_is_due = False
    try:
        while True:
            if hooks is not None:
                cleanup_is_due = True
                stop = await hooks.before_each(case)
                if stop is not None:
                    decision, cleanup_is_due = stopped_by(stop, attempts), False
                    await hooks.after_each(case, decision.outcome.verdict, decision.outcome.message)
                    return decision
            fault = request.fault if not attempts else None
            sessions.broken.clear()
            outcome = _require_lost_answer(
                await caller.attempt(case, sessions, number=len(attempts) + 1, fault=fault), fault
            )
            attempt = _attempt_of(outcome, fault)
            left = len(attempts) < case.retries
            # Where an answer was to be lost and none came, asking again would prove nothing.
            repeatable = (fault is None or fault.kind == "delay") and not _is_used_up(outcome)
            again = left and (outcome.lost or (outcome.verdict is Verdict.FAIL and repeatable and not stopped()))
            if request.verify and not again and not _is_undecided(outcome):
                from mcptest_engine.running.verify_steps import run_verify_steps  # few tests have steps

                called = outcome
                outcome = await run_verify_steps(case, called, sessions, caller)
                attempt = attempt if called.lost else _attempt_of(outcome, fault)
                again = left and request.fault is None and called.failure is None and outcome.failure is not None
                again = again and not stopped()
            attempts.append(attempt)
            if hooks is not None:
                cleanup_is_due = False
                await hooks.after_each(case, outcome.verdict, outcome.message)
            if case.retries:
                outcome = _with_model_costs(outcome, spent)
            if outcome.lost and not again and not request.verify:
                outcome = _fail_unjudged(outcome)
            if not again:
                return Decision(outcome, tuple(attempts), failed_before, broken=tuple(sessions.broken))
            failed_before = failed_before or _failed_by_itself(outcome, fault)
            if not outcome.lost:
                await sessions.close()
    except asyncio.CancelledError:
        if hooks is not None and cleanup_is_due:
            hooks.shorten_time_limits()
            await hooks.after_each(case, Verdict.SKIP, "interrupted")
        raise
    finally:
        await sessions.close()


def _require_lost_answer(outcome: Outcome, fault: Fault | None) -> Outcome:
    """An attempt whose answer was to be taken away passes only by that having happened: green means checked."""
    if fault is None or fault.kind == "delay" or outcome.lost or outcome.verdict in (Verdict.FAIL, Verdict.SKIP):
        return outcome
    message = f"`fault: {fault.kind}` was not applied, because no answer came"
    failure = Failure(kind=FailureKind.SERVER, message=message)
    return outcome._replace(verdict=Verdict.FAIL, message=message, failure=failure)


def _is_undecided(outcome: Outcome) -> bool:
    """Whether made-up arguments met with an error: what the call was to leave behind is not there to be looked at."""
    return any(row.implicit is not None and row.passed is None for row in outcome.assertions)


def _fail_unjudged(outcome: Outcome) -> Outcome:
    """The answer was taken away, and neither a retry nor a step is left to judge by (`--retries 0`)."""
    message = f"{outcome.message}; no retry is left"
    return outcome._replace(
        verdict=Verdict.FAIL, message=message, failure=Failure(kind=FailureKind.SUITE, message=message)
    )


def _is_used_up(outcome: Outcome) -> bool:
    """Whether the budget of a composition leaves nothing for another attempt."""
    return outcome.trace is not None and "budget_tripped" in outcome.trace.get("composition", ())


def _with_model_costs(outcome: Outcome, spent: list[Mapping[str, Any]]) -> Outcome:
    """The outcome with what each model cost in this attempt and in those before, which are in `spent` afterwards."""
    before = tuple(spent)
    spent += model_rows_of(outcome) or ()
    if not before:
        return outcome
    if outcome.trace is not None:
        return outcome._replace(trace=with_models(outcome.trace, before))
    return outcome._replace(judgement=with_models(outcome.judgement or {"by": "judge"}, before))


def with_models(trace: Mapping[str, Any], before: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A trace or a judgement with what models have cost before it."""
    return {**trace, "models": added_up([*before, *trace.get("models", ())])}


def _failed_by_itself(outcome: Outcome, fault: Fault | None) -> bool:
    """Whether an attempt failed by itself; a timeout under a delay was asked for."""
    failure = outcome.failure
    delayed = fault is not None and failure is not None and failure.kind is FailureKind.TIMEOUT
    return outcome.verdict is Verdict.FAIL and not delayed


def _attempt_of(outcome: Outcome, fault: Fault | None) -> Attempt:
    return Attempt(
        verdict=outcome.verdict,
        duration_ms=round(outcome.duration_ms, 3),
        message=outcome.message,
        fault=None if fault is None else _WRITTEN.get(fault.kind, fault.kind),
    )
