"""Bringing one test to its verdict: its attempts, what is done to the first answer on purpose, and what is verified after.

An attempt is a call and, where the test has them, its `verify` steps. The steps follow the attempt that decides: one whose
call failed while a retry is left decides nothing, and neither does one whose answer the test itself took away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.results import Attempt, Verdict
from mcptest_engine.running.sessions import Sessions
from mcptest_engine.running.verifying import verified

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.running.calling import Caller
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.running.verdicts import Outcome
    from mcptest_engine.servers.calls import Fault

_WRITTEN = {"delay": "delay_ms"}


class Decision(NamedTuple):
    """What a test came to: the outcome of its last attempt, and every attempt in order."""

    outcome: Outcome
    attempts: tuple[Attempt, ...]

    @property
    def flaky(self) -> bool:
        """Whether it passed after an attempt that failed; what the test itself did to an answer makes none."""
        failed = any(one.verdict is Verdict.FAIL and one.fault is None for one in self.attempts)
        return self.outcome.verdict is Verdict.PASS and failed


async def decide(case: Case, *, pool: Pool, caller: Caller, stopped: Callable[[], bool]) -> Decision:
    """Make as many attempts at a case as it takes and as it may have.

    Once the run is `stopped` (bail), a failed attempt is not repeated. A test that has begun is brought to its end all the
    same: the attempt after a lost answer is made, and what is to be verified is verified.
    """
    sessions = Sessions(pool, case)
    attempts: list[Attempt] = []
    try:
        while True:
            fault = case.fault if not attempts else None
            outcome = await caller.ask(case, sessions, number=len(attempts) + 1, fault=fault)
            attempt = _told(outcome, fault)
            left = len(attempts) < case.retries
            again = left and (outcome.lost or (outcome.verdict is Verdict.FAIL and not stopped()))
            if case.verify and not again:
                called = outcome
                outcome = await verified(case, called, sessions, caller)
                attempt = attempt if called.lost else _told(outcome, fault)
                again = left and case.fault is None and called.failure is None and outcome.failure is not None
                again = again and not stopped()
            attempts.append(attempt)
            if not again:
                return Decision(outcome, tuple(attempts))
            if not outcome.lost:
                await sessions.close()
    finally:
        await sessions.close()


def _told(outcome: Outcome, fault: Fault | None) -> Attempt:
    return Attempt(
        verdict=outcome.verdict,
        duration_ms=round(outcome.duration_ms, 3),
        message=outcome.message,
        fault=None if fault is None else _WRITTEN.get(fault.kind, fault.kind),
    )
