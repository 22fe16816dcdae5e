"""Which cases are deferred since nobody set up the model that answers or judges: known before anything is started for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.judging.scorers.juries import DEFERRED as NO_PROVIDER
from mcptest_engine.judging.scorers.juries import seats_of
from mcptest_engine.judging.scorers.juries import why_deferred as why_unjudged

if TYPE_CHECKING:
    from mcptest_engine.judging.providers.values import Models
    from mcptest_engine.running.cases import Case, Plan
    from mcptest_engine.running.kinds.agent.plan import AgentProgram


__all__ = ["NO_PROVIDER", "why_deferred", "with_deferred"]


def with_deferred(plan: Plan, models: Models) -> Plan:
    """The plan with each case deferred that begins with a model which cannot be asked, and what is judged of such a case.

    An eval whose judge cannot be asked is deferred as well: its answer would be got for nobody, whatever that changes or costs.
    """
    reasons: dict[str, str] = {}
    for case in plan.cases:
        program = _program(case)
        reason = None if program is None else why_deferred(program, models)
        if reason is None and case.eval_row is not None and case.eval_row.scorer is None:
            reason = why_unjudged(seats_of(case.eval_row.judge, models))
        if reason is None and case.metric_row is not None:
            reason = reasons.get(case.metric_row.subject)
        if reason is not None:
            reasons[case.id] = reason
    if not reasons:
        return plan
    deferred = (case._replace(deferred=reasons[case.id]) if case.id in reasons else case for case in plan.cases)
    return plan._replace(cases=tuple(deferred))


def why_deferred(program: AgentProgram, models: Models) -> str | None:
    """Why the model of a conversation cannot be asked, or None. Asks nobody."""
    missing = models.missing(program.model)
    if missing is None and models.chosen(program.model, judging=False) is None:
        return NO_PROVIDER
    return missing


def _program(case: Case) -> AgentProgram | None:
    """The conversation that a case, or what it grades, begins with."""
    return case.agent if case.eval_row is None else case.eval_row.candidate.agent
