"""One attempt at an agent test: its conversation over the run's servers, its measures, and what comes of both.

A model that nobody set up defers the test, and never passes it. A model that gives no answer fails it in the provider's name:
`auth`, `timeout`, `suite` where a cassette holds no such answer, `server` for anything else. What a cap keeps back is skipped.
"""

from __future__ import annotations

import asyncio
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import show_text
from mcptest_engine.core.costs import added_up, model_rows_of, sum_costs
from mcptest_engine.core.errors import ServerError
from mcptest_engine.core.events import AgentTurn
from mcptest_engine.core.results import Failure, FailureKind, NotRun, Part, Verdict
from mcptest_engine.core.targets import parse_target
from mcptest_engine.core.tasks import run_together
from mcptest_engine.core.text import counted
from mcptest_engine.core.values import dataclass
from mcptest_engine.judging.providers.values import ModelError, ModelFault
from mcptest_engine.running.kinds.agent import conversation as stops
from mcptest_engine.running.kinds.agent.conversation import Conversation
from mcptest_engine.running.kinds.agent.loop import converse, turn_request
from mcptest_engine.running.kinds.agent.plan import runs_id
from mcptest_engine.running.verdicts import Outcome, deferred_outcome, failed_outcome, failure_of
from mcptest_engine.servers.gate import ToolLists
from mcptest_engine.suite.items import assertions_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcptest_engine.core.events import Emit
    from mcptest_engine.judging.agent_metrics import Gates
    from mcptest_engine.judging.providers.values import ModelReply, ModelRequest, Models
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.effects import EffectLedger
    from mcptest_engine.running.kinds.agent.conversation import ToolCall
    from mcptest_engine.running.kinds.agent.plan import AgentProgram, Trials
    from mcptest_engine.running.sessions import Sessions
    from mcptest_engine.servers.calls import Exchange
    from mcptest_engine.servers.session import Session


EXCERPT = 200
TRIALS_AT_ONCE = 4
_KINDS = {
    ModelFault.AUTH: FailureKind.AUTH,
    ModelFault.TIMEOUT: FailureKind.TIMEOUT,
    ModelFault.NOT_RECORDED: FailureKind.SUITE,
}
_SAYS_LAST = frozenset({"final_response", "conversation"})
_WHY = {
    stops.MAX_TURNS: "`max_turns` ({turns}) was reached",
    stops.LENGTH: "the model's last answer was cut off",
    stops.REFUSAL: "the model refused to answer",
}


@dataclass(frozen=True, kw_only=True)
class AgentServices:
    """What agent tests need of a run. `call_tool` is the run's own.

    `judge` says what the assertions and budgets of a case come to for a trace. `cut_short` is given what a trace was when the
    run was interrupted. `selected` are the runs measured so far of each test, by its id.
    """

    models: Models
    effects: EffectLedger
    redact: Callable[[Any], Any]
    clock: Callable[[], float]
    emit: Emit | None
    call_tool: Callable[..., Awaitable[tuple[Exchange, str | None]]]
    judge: Callable[[Case, dict[str, Any]], Awaitable[Outcome]]
    cut_short: Callable[[str, Mapping[str, Any]], object]
    selected: dict[str, dict[str, bool]] = field(default_factory=dict)


class SessionServices:
    """What a conversation needs, over the sessions of a run. `run` is the number of a trial, else 0."""

    def __init__(self, case: Case, sessions: Sessions, services: AgentServices, *, run: int = 0) -> None:
        self._case, self._sessions, self._services, self._run = case, sessions, services, run
        self.clock = services.clock
        self.redact = services.redact
        self._lists = ToolLists()
        self._listed: dict[str, Session] = {}

    async def list_tools(self, server: str) -> Sequence[Mapping[str, Any]]:
        """Every tool that the server lists now, its name as it is, else without the run's secrets; none where it declares none.

        Raises: ServerError.
        """
        session = await self._sessions.get(server)
        self._listed[server] = session
        try:
            listing = await self._lists.read(session)
        except ServerError as error:
            if type(error) is ServerError and "tools" not in session.capabilities:
                del self._listed[server]
                return ()  # it said beforehand that it has none
            self._sessions.failed(server, session, error)
            raise
        self._services.effects.learn_classes(server, listing.descriptors)
        hide = self._sessions.redact_registered
        return [{**hide(one), **({"name": one["name"]} if "name" in one else {})} for one in listing.descriptors]

    def is_list_current(self, server: str) -> bool:
        """Whether the server has announced no change of its tools since they were listed last. Asks nobody."""
        session = self._listed.get(server)
        return session is None or self._lists.is_current(session)

    def note_refusal(self, call: ToolCall) -> None:
        """Count a call that is not executed."""
        assert call.server is not None
        assert call.decision is not None
        assert call.decided_by is not None
        self._services.effects.note(
            call.server, call.name, call.args, decision=call.decision, by=call.decided_by, tool_class=call.tool_class
        )

    async def call_tool(self, call: ToolCall) -> Mapping[str, Any]:
        """The answer of one call, without the run's secrets, since it goes to the model's provider.

        Raises: ServerError, UsageError.
        """
        server = call.server
        assert server is not None
        assert call.args is not None
        assert call.decided_by is not None
        exchange, _ = await self._services.call_tool(
            self._sessions,
            server,
            call.name,
            call.args,
            timeout_seconds=self._case.timeout_seconds,
            by=call.decided_by,
            tool_class=call.tool_class,
            check=lambda session: self._check_list(server, session, call.name),
        )
        answer: Mapping[str, Any] = self._sessions.redact_registered(exchange.answer)
        return answer

    def _check_list(self, server: str, session: Session, tool: str) -> None:
        """Raise ServerError where the tools of the server may be others than those by which a call was decided."""
        if session is not self._listed.get(server) or not self._lists.is_current(session):
            raise ServerError(
                f'server "{server}" may have changed its tools since the call of `{tool}` was decided, so that it was not made',
                server=server,
            )

    async def send(self, request: ModelRequest) -> ModelReply:
        """Send one request to the model. Raises: ModelError."""
        return await self._services.models.send(request._replace(timeout_seconds=self._case.model_timeout_seconds))

    def on_turn(self, so_far: Conversation) -> None:
        """The model has answered once more."""
        if self._services.emit is None:
            return
        reply = so_far.replies[-1]
        self._services.emit(
            AgentTurn(
                test=self._case.id,
                turn=len(so_far.replies),
                text=show_text(self._services.redact(reply.text), EXCERPT),
                tools=tuple(
                    self._services.redact([call.name for call in so_far.calls if call.turn == len(so_far.replies)])
                ),
                tokens=so_far.tokens,
                cost_usd=so_far.cost_usd,
                run=self._run,
            )
        )


async def run_agent(
    case: Case, program: AgentProgram, sessions: Sessions, services: AgentServices, *, number: int = 1
) -> Outcome:
    """The `number`-th attempt at an agent test, or at the answer that an eval grades."""
    case = case._replace(body=program)
    model = services.models.chosen(program.model, judging=False)
    assert model is not None  # else the plan defers it
    await services.models.prepare(model)
    if program.trials is None:
        return await _one_run(case, program, sessions, services, model, number=number, run=0)
    return await _run_trials(case, program, sessions, services, model, number=number)


async def _one_run(
    case: Case, program: AgentProgram, sessions: Sessions, services: AgentServices, model: str, *, number: int, run: int
) -> Outcome:
    so_far = Conversation(model=model, prompt=program.prompt, system_prompt=program.system_prompt)
    variant = "~".join(part for part in (program.variant, str(run or ""), str(number) if number > 1 else "") if part)
    began = services.clock()
    try:
        services.models.check_budget(turn_request(program, so_far, (), ""))  # before any server is asked
        await converse(program, SessionServices(case, sessions, services, run=run), so_far, variant=variant)
        outcome = await _outcome(case, program, services, so_far, number=number, run=run)
    except ServerError as error:
        await asyncio.sleep(0)
        return failed_outcome(error, duration_ms=(services.clock() - began) * 1000)._replace(model=model)
    except ModelError as capped:
        return _broken_off(capped, so_far)._replace(model=model)
    except asyncio.CancelledError:
        services.cut_short(case.id, so_far.envelope())
        raise
    warnings = (*outcome.warnings, *so_far.remarks, *_hidden(so_far), *_unpriced(program, so_far))
    return outcome._replace(model=model, warnings=warnings)


async def _outcome(
    case: Case, program: AgentProgram, services: AgentServices, so_far: Conversation, *, number: int, run: int
) -> Outcome:
    """What a conversation comes to; one that a model broke off is not judged, since what is missing may matter."""
    fault = so_far.fault
    trace = so_far.envelope()
    if fault is not None and fault.defers:
        return deferred_outcome(fault.reason)._replace(model=program.model, trace=trace if so_far.replies else None)
    if fault is not None:
        return _broken_off(fault, so_far)._replace(trace=trace)
    gates = _measured(case, program, services, so_far, run)
    trace |= {} if gates is None else gates.members
    envelope = {
        **trace,
        "error": None,
        "notifications": (),
        "server_requests": (),
        "http": None,
        "attempt": number,
        "duration_ms": round(so_far.duration_ms, 3),
    }
    judged = case if not run else case._replace(body=program._replace(variant=f"{run}{program.variant}"))
    outcome = await services.judge(judged, envelope)  # a model judges each run anew
    failure = _failure(case, program, so_far, gates, outcome.failure)
    if failure is not outcome.failure:
        assert failure is not None
        outcome = outcome._replace(verdict=Verdict.FAIL, message=failure.message, failure=failure)
    if outcome.verdict is Verdict.PASS and "max_cost_usd" in case.expect and so_far.cost_usd is None:
        told = f"`max_cost_usd` cannot be checked: the price of `{_without_price(so_far)}` is not known (see `prices:`)"
        outcome = outcome._replace(verdict=Verdict.INCONCLUSIVE, message=told)
    if gates is not None:
        outcome = outcome._replace(metrics=(*outcome.metrics, *gates.metrics))
    return outcome._replace(output={"output": so_far.final_response}, trace=trace)


def _broken_off(fault: ModelError, so_far: Conversation) -> Outcome:
    """A conversation to which a model gave no answer. What the cap of a run kept back is nobody's failure."""
    at = f" (after {counted(len(so_far.replies), 'turn')})" if so_far.replies else ""
    message = f"{fault.message}{at}"
    if fault.fault is ModelFault.CAPPED:
        told = message if at else f"not run: {fault.reason}"
        return Outcome(Verdict.SKIP, so_far.duration_ms, message=told, not_run=NotRun.COST)
    failure = Failure(kind=_KINDS.get(fault.fault, FailureKind.SERVER), message=message, hint=fault.hint)
    return Outcome(Verdict.FAIL, so_far.duration_ms, message=message, failure=failure)


def _failure(
    case: Case, program: AgentProgram, so_far: Conversation, gates: Gates | None, found: Failure | None
) -> Failure | None:
    """Why the test fails: an assertion first, then what made it end, then its measures, then its budget, all of them told.

    A call that got no answer is for the assertions and measures to judge, where there are any; an answer that breaks the
    protocol fails the test all the same.
    """
    further: list[Failure] = []
    if (ended := _unended(case, program, so_far)) is not None:
        further.append(Failure(kind=FailureKind.ASSERTION, message=ended))
    lost_calls = [failure_of(call.lost) for call in so_far.unanswered if call.lost is not None]
    if case.expect["assertions"] or gates is not None:
        lost_calls = [failure for failure in lost_calls if failure.kind is FailureKind.INVALID]
    further += lost_calls[:1]
    if gates is not None and gates.failure is not None:
        further.append(Failure(kind=FailureKind.METRIC, message=gates.failure))
    if so_far.stop == stops.BUDGET:
        cost = f"the model cost {so_far.cost_usd or 0:.4f} USD, {program.budget_usd:g} are allowed"
        message = f"budget exceeded: {cost} (per_test_usd_cents)"
        further.append(Failure(kind=FailureKind.BUDGET, message=message))
    elif (dear := _too_dear(case, so_far)) is not None:
        further.append(Failure(kind=FailureKind.BUDGET, message=dear))
    for failure in further:
        found = failure if found is None else found.with_part(Part.ALSO, failure.message)
    if found is not None and found.hint is None and found.stderr_tail is None:
        lost = next((call.lost for call in so_far.unanswered if call.lost is not None), None)
        if lost is not None and lost.message not in found.message:
            found = replace(found, hint=lost.message, stderr_tail=lost.stderr_tail or None)
    return found


def _unended(case: Case, program: AgentProgram, so_far: Conversation) -> str | None:
    """Why a test of what the model said last cannot be judged, when it did not come to say it; None where it can.

    With neither assertions nor measures the conversation has to end by itself. A test that looks at `stop` knows what it does.
    """
    if so_far.stop in (stops.END, stops.BUDGET):
        return None
    looked_at = _looked_at(case)
    if "stop" in looked_at:
        return None
    asserts_something = bool(looked_at) or bool(program.gates)
    if asserts_something and (so_far.stop == stops.REFUSAL or _SAYS_LAST.isdisjoint(looked_at)):
        return None
    why = _WHY.get(so_far.stop, "the provider stopped with `{stop}`").format(turns=program.max_turns, stop=so_far.stop)
    return f"the conversation did not end by itself: {why}"


def _looked_at(case: Case) -> frozenset[object]:
    """The members of the trace that the assertions look at."""
    return frozenset(parse_target(row["target"]).segments[0] for row in assertions_of(case.expect["assertions"]))


def _too_dear(case: Case, so_far: Conversation) -> str | None:
    cap = case.expect.get("max_cost_usd")
    cost = sum_costs(reply.cost_usd or 0.0 for reply in so_far.replies) or 0.0  # at least
    return None if cap is None or cost <= cap else f"cost budget exceeded: {cost:.4f} > {cap:g} USD"


def _hidden(so_far: Conversation) -> list[str]:
    """What servers failed to answer, which the model may have talked its way around."""
    lost = [call for call in so_far.unanswered if call.lost is not None]
    if not lost:
        return []
    first = lost[0]
    more = f", and {counted(len(lost) - 1, 'more call')} got no answer" if len(lost) > 1 else ""
    return [f"the call of `{first.name}` got no answer: {first.error}{more}"]


def _without_price(so_far: Conversation) -> str | None:
    """The model whose price nobody knows, if there is one."""
    return next((reply.model for reply in so_far.replies if reply.cost_usd is None), None)


def _unpriced(program: AgentProgram, so_far: Conversation) -> list[str]:
    """A budget of what nobody knows the price of holds nothing, which whoever set it has to know."""
    unknown = _without_price(so_far)
    if unknown is None or program.budget_usd is None:
        return []
    return [f"the price of `{unknown}` is not known, so `per_test_usd_cents` has no effect (see `prices:`)"]


def _measured(
    case: Case, program: AgentProgram, services: AgentServices, so_far: Conversation, run: int
) -> Gates | None:
    if not program.gates:
        return None
    from mcptest_engine.judging.agent_metrics import Called, Seen, measure_gates

    own = str(run) if run else program.run
    runs = services.selected.setdefault(runs_id(case.id, own), {})
    runs.pop(own, None)
    seen = Seen(
        calls=tuple(Called(call.name, call.args, call.server, call.distractor) for call in so_far.calls),
        tokens=so_far.tokens,
        cost_usd=so_far.cost_usd,
        surface_tokens=so_far.surface_tokens,
        runs=program.runs,
        before=tuple(runs.values()),
    )
    gates = measure_gates(program.gates, seen, looked_at=_looked_at(case))
    if "tool_selection" in gates.members:
        runs[own] = gates.members["tool_selection"]["selected"]
    return gates


async def _run_trials(
    case: Case, program: AgentProgram, sessions: Sessions, services: AgentServices, model: str, *, number: int
) -> Outcome:
    """The runs of a test that their share of passes decides, a few at once."""
    trials = program.trials
    assert trials is not None
    room = asyncio.Semaphore(TRIALS_AT_ONCE)
    began = services.clock()
    ended: list[Outcome] = []
    cut: list[Mapping[str, Any]] = []
    of_trial = replace(services, cut_short=lambda _, trace: cut.append(trace))

    async def run_trial(run: int) -> Outcome:
        async with room:
            ended.append(await _one_run(case, program, sessions, of_trial, model, number=number, run=run))
            return ended[-1]

    try:
        outcomes = await run_together(run_trial(run) for run in range(1, trials.runs + 1))
    except asyncio.CancelledError:
        # Interrupted among trials: the last of their traces is stored, with what all of them cost.
        traces = [*(outcome.trace for outcome in ended if outcome.trace is not None), *cut]
        if traces:
            rows = [row for outcome in ended for row in model_rows_of(outcome) or ()]
            rows += [row for trace in cut for row in trace.get("models", ())]
            services.cut_short(case.id, {**traces[-1], "models": added_up(rows)})
        raise
    return _decide_trials(outcomes, trials)._replace(duration_ms=(services.clock() - began) * 1000)


def _decide_trials(outcomes: Sequence[Outcome], trials: Trials) -> Outcome:
    """The outcome of all runs of a test: that of the run which shows the verdict best, with the costs of all."""
    from mcptest_engine.judging.intervals import decide_runs

    judged = [outcome for outcome in outcomes if outcome.verdict in (Verdict.PASS, Verdict.FAIL)]
    decided = decide_runs(
        sum(outcome.verdict is Verdict.PASS for outcome in judged),
        len(judged),
        min_trials=trials.min_trials,
        confidence_pct=trials.confidence_pct,
        open_=len(outcomes) - len(judged),
    )
    wanted = (decided.verdict,) if decided.verdict is not Verdict.INCONCLUSIVE else tuple(Verdict)[1:]
    shown = next((outcome for outcome in outcomes if outcome.verdict in wanted), outcomes[0])
    trace = next((outcome.trace for outcome in (shown, *outcomes) if outcome.trace is not None), None)
    # The assertions of the run that is shown contain their own costs.
    costs = (model_rows_of(one._replace(assertions=()) if one is shown else one) for one in outcomes)
    models = [row for rows in costs for row in rows or ()]
    if trace is not None and ("models" in trace or models):
        trace = {**trace, "models": added_up(models)}
    message, failure = decided.message, None
    if not judged and shown.message:
        begun = (one for one in outcomes if one.trace is not None and one.trace["turns"])
        message = next(begun, shown).message or shown.message
    if decided.verdict is Verdict.FAIL:
        assert shown.failure is not None
        failure = shown.failure.with_lead(f"{decided.message}; the first that failed: ")
        message = failure.message
    return shown._replace(
        verdict=decided.verdict,
        message=message,
        failure=failure,
        not_run=None,
        deferred=None if judged else shown.deferred,
        warnings=tuple(dict.fromkeys(text for outcome in outcomes for text in outcome.warnings)),
        trials=tuple(_trial(outcome) for outcome in outcomes),
        trace=trace,
    )


def _trial(outcome: Outcome) -> dict[str, Any]:
    """One run, as the record stores it."""
    row: dict[str, Any] = {"verdict": outcome.verdict.value, "duration_ms": round(outcome.duration_ms, 3)}
    if outcome.message is not None:
        row["message"] = outcome.message
    if outcome.deferred is not None and outcome.verdict is Verdict.INCONCLUSIVE:
        row["deferred"] = outcome.deferred
    if outcome.trace is not None:
        row["cost_usd"] = outcome.trace["cost"]["total"]
        row["tokens"] = outcome.trace["conversation"]["tokens"]["total"]
        row["trace"] = outcome.trace
    return row
