"""One attempt at a test: `Caller` sends a request and judges its answer; `BodyRunner` runs tests that are no single request.

Judging happens between two answers on the same loop: it is short, and what is not (jq) is done in one thread beside it.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from mcptest_engine.core.effects import DecidedBy
from mcptest_engine.core.enums import ERROR_FAILURES, ExpectedOutcome
from mcptest_engine.core.errors import CallMismatch, InvalidResult, McptestError, PolicyDenied, ServerError, ServerHung
from mcptest_engine.core.events import CaseAnswered
from mcptest_engine.core.results import Failure, FailureKind, NotRun, Verdict
from mcptest_engine.core.targets import parse_target
from mcptest_engine.judging.answer_text import call_error_text
from mcptest_engine.judging.snapshots import AnswerSnapshots
from mcptest_engine.judging.validity import Validity, find_invalidity, find_task_handle
from mcptest_engine.running.cases import Case, Check, Request
from mcptest_engine.running.catalogs import LISTS, RunCatalogs, find_call_fault
from mcptest_engine.running.declared_tests import grading_of
from mcptest_engine.running.effects import EffectLedger
from mcptest_engine.running.plan import WATCHED
from mcptest_engine.running.slow_work import SlowWork
from mcptest_engine.running.stored_results import CERTAINLY_SMALL
from mcptest_engine.running.verdicts import SUCCESS, Outcome, answer_kind, failed_outcome, judge, refused_outcome
from mcptest_engine.suite.items import uses_matcher

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping

    from mcptest_engine.core.events import Emit
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.judging.opinions import Opinions
    from mcptest_engine.judging.snapshots import SnapshotStore
    from mcptest_engine.running.cases import AnswerObserver, JudgedRequest
    from mcptest_engine.running.catalogs import Entry, Listing
    from mcptest_engine.running.judged import Judged
    from mcptest_engine.running.kinds.agent.plan import AgentProgram
    from mcptest_engine.running.kinds.agent.run import AgentServices
    from mcptest_engine.running.kinds.compliance import OpenedSession
    from mcptest_engine.running.kinds.composition.freezing import Freezer
    from mcptest_engine.running.kinds.composition.plan import Row
    from mcptest_engine.running.kinds.eval.plan import EvalRow, MetricRow
    from mcptest_engine.running.kinds.eval.run import Graders
    from mcptest_engine.running.sessions import Sessions
    from mcptest_engine.safety.tool_classes import ToolClass
    from mcptest_engine.servers.calls import Exchange, Fault
    from mcptest_engine.servers.session import Session

LISTENING_SECONDS = 1.0
"""How long a call whose notifications are looked at waits for the server's own stream (over HTTP) to be open."""
REFUSALS = frozenset({401, 403})
JUDGED = "llm-judge"
_CALL = "tools/call"
_MAY_LACK_STATE = ERROR_FAILURES | {FailureKind.ASSERTION, FailureKind.SCORE}
"""The failures that lost state of a server may bring about; it makes no answer invalid or late."""
SETTLING_SECONDS = 0.25
"""How long, in all, notifications that an assertion misses are waited for: over HTTP they come on another stream."""


class CachedAnswer(NamedTuple):
    """An answer from the result cache with what came beside it, and how long it took. A check has the last two as well."""

    answer: Mapping[str, Any]
    duration_ms: float
    size: int
    request: Mapping[str, Any] | None = None
    opened: OpenedSession | None = None


class Caller:
    """Sends the requests of a run and judges their answers.

    `redact` takes secrets out of what messages quote. `answered` tells for each server which tools answered without an error,
    `cut_short` for each composition or agent test that was interrupted what its trace was by then. `spent` and `paid` tell what
    the attempts at a test have cost so far, by its id: rows of models, and what a scorer was paid. `effects` counts the calls.
    `errors` are the texts of errors that calls met with which were to succeed, by server, method and name. `unlisted` are the
    ids of tests that were not held against the server's list, because it could not be read; `answered_late` are the outcomes of
    those whose run was ended while they waited for it.
    """

    def __init__(
        self,
        *,
        snapshots: SnapshotStore | None,
        redact: Callable[[Any], Any],
        clock: Callable[[], float],
        emit: Emit | None = None,
        freezer: Freezer | None = None,
        judged: Judged | None = None,
        observer: AnswerObserver | None = None,
    ) -> None:
        self.emit = emit
        self._observer = observer
        self._judged = judged
        self._snapshots = snapshots
        self._redact = redact
        self._clock = clock
        self._slow = SlowWork()
        self.effects = EffectLedger(redact)
        self.catalogs = RunCatalogs(redact=redact, listed=self.effects.learn_classes)
        self.answered: dict[str, set[str]] = {}
        self.errors: dict[tuple[str, str, str], set[str]] = {}
        self.unlisted: set[str] = set()
        self.answered_late: dict[str, Outcome] = {}
        self.cut_short: dict[str, Mapping[str, Any]] = {}
        self.spent: dict[str, list[Mapping[str, Any]]] = {}
        self.paid: dict[str, float] = {}
        self.bodies = BodyRunner(
            self,
            judge=self._judge,
            snapshots=self._answer_snapshots,
            slow=self._slow,
            redact=redact,
            clock=clock,
            freezer=freezer,
            judged=judged,
        )

    async def attempt(
        self, asked: JudgedRequest, sessions: Sessions, *, number: int = 1, fault: Fault | None = None
    ) -> Outcome:
        """The `number`-th attempt at one request. Whatever goes wrong in it is this test's failure and nobody else's."""
        try:
            if not isinstance(asked, Case) or isinstance(asked.body, (Request, Check)):
                return await self._attempt_request(asked, sessions, number, fault)
            outcome = await self.bodies.run(asked, asked.body, sessions, number)
            return _with_history(outcome, *sessions.shared.values())
        except PolicyDenied as denied:
            return Outcome(Verdict.SKIP, 0.0, message=f"not run: {denied.message}", not_run=NotRun.DENIED)
        except McptestError as error:
            failure = Failure(kind=FailureKind.SUITE, message=error.message, hint=error.hint)
        except Exception as wrong:  # noqa: BLE001 - one answer that trips us must not cost the whole run
            failure = _bug(wrong)
        return Outcome(verdict=Verdict.FAIL, duration_ms=0.0, message=failure.message, failure=failure)

    def cost_recorder(self, case_id: str) -> Callable[[Iterable[Mapping[str, Any]]], object]:
        """Takes rows of what models were paid for a case beside what its outcome tells."""
        return self.spent.setdefault(case_id, []).extend

    async def _attempt_request(
        self, asked: JudgedRequest, sessions: Sessions, number: int, fault: Fault | None
    ) -> Outcome:
        began = self._clock()
        server = asked.server
        case = asked if isinstance(asked, Case) else None
        check = case.body if case is not None and isinstance(case.body, Check) else None
        session: Session | None = None
        try:
            session = await sessions.get(server)
            name = str((asked.params or {}).get("name"))
            if check is None:
                self.catalogs.begin(session, asked.method)
            if asked.watches:
                await self.catalogs.find(session, asked.method, name, timeout_seconds=asked.timeout_seconds)
                await session.listening(LISTENING_SECONDS)
            unasked = Unasked(session, alone=asked.serial or sessions.is_own(server))
            exchange = None if check is None else _find_exchange_at_hand(check, asked.method, session)
            exchange = exchange or await self._requested(asked, session, fault)
        except ServerError as error:
            if isinstance(error, ServerHung) and case is not None and number == 1:
                return Outcome(Verdict.SKIP, 0.0, message=f"not run: {error.message}", not_run=NotRun.HUNG)
            duration_ms = (self._clock() - began) * 1000
            return await self._without_answer(asked, sessions, session, error, number, duration_ms)
        answer = exchange.answer
        if asked.tool is not None and "result" in answer and answer["result"].get("isError") is not True:
            self.answered.setdefault(server, set()).add(asked.tool)
        if asked.method == "tools/list" and "result" in answer:
            self.effects.learn_classes(server, answer["result"].get("tools"))
        envelope = make_envelope(asked, answer, number=number, duration_ms=exchange.duration_ms, http=exchange.http)
        unasked.into(envelope)
        validity, found = None, None
        if case is not None and check is not None:
            # what opened a session is known now
            envelope["request"] = {"method": exchange.method, "params": exchange.params}
            asked = _add_protocol_rules(case, check, envelope, session)
        else:
            found = await self._find_entry(asked, session, envelope, partial(sessions.reach, server))
            validity = _validity_of(session, None if found is None else found[1])
        opinions = None if self._judged is None else self._opinions()
        snapshots = self._answer_snapshots()
        judging = partial(self._judge, asked, envelope, opinions, validity, snapshots)
        outcome = await judging()
        if asked.watches:
            outcome = await self._judge_until_complete(envelope, session, unasked, outcome, judging)
        if check is not None:
            outcome = outcome._replace(request=envelope["request"])
        if found is not None:
            outcome = _held_to_catalog(asked, envelope, outcome, *found, session=session, redact=self._redact)
        elif check is None and session.spec.reads_catalog and LISTS.get(asked.method) in session.capabilities:
            self.unlisted.add(_id_of(asked))
        if snapshots is not None:
            snapshots.close(outcome.failure)
        outcome = _with_history(outcome, session, is_unlisted=found is not None and found[1] is None)
        size = exchange.size if exchange.size >= CERTAINLY_SMALL else 0
        return outcome._replace(size=size, behind=exchange.behind) if size or exchange.behind else outcome

    async def _find_entry(
        self, asked: JudgedRequest, session: Session, envelope: dict[str, Any], renew: Callable[[], Awaitable[Session]]
    ) -> tuple[Listing, Entry | None] | None:
        """The server's list and the entry that `asked` calls. A run that is ended meanwhile judges the answer without it."""
        name, seconds = str((asked.params or {}).get("name")), asked.timeout_seconds
        if self.emit is not None and isinstance(asked, Case) and self.catalogs.is_awaited(session, asked.method):
            self.emit(CaseAnswered(id=asked.id))
        try:
            return await self.catalogs.find(session, asked.method, name, timeout_seconds=seconds, renew=renew)
        except asyncio.CancelledError:
            takes_more = asked.watches or asked.slow_to_judge or uses_matcher(asked.expect, JUDGED)
            if isinstance(asked, Case) and not (
                takes_more or asked.retries or asked.request.verify or asked.request.fault
            ):
                validity, snapshots = _validity_of(session, None), self._answer_snapshots() or self._snapshots
                self.answered_late[asked.id] = judge(
                    asked, envelope, snapshots=snapshots, redact=self._redact, validity=validity
                )
            raise

    async def call_tool(
        self,
        sessions: Sessions,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_seconds: float,
        by: DecidedBy = DecidedBy.SUITE,
        tool_class: ToolClass | None = None,
        check: Callable[[Session], object] | None = None,
    ) -> tuple[Exchange, str | None]:
        """Call a tool for a composition, an eval or a model; the result is a valid one.

        `by` decided on the call, by `tool_class` where that is known. `check` is given the session just before the call is
        sent, and may raise ServerError to keep it back; without it the call is held to the server's list, and what that has
        against it comes beside the answer. Raises: ServerError, InvalidResult and CallMismatch among them.
        """
        session = None
        try:
            session = await sessions.get(server)
            self.catalogs.begin(session, _CALL)
            if check is not None:
                check(session)
            params = {"name": tool, "arguments": arguments}
            with self.effects.note_call(session, server, tool, arguments, by=by, tool_class=tool_class) as noted:
                exchange = await session.request(_CALL, params, timeout_seconds=timeout_seconds, on_sending=noted)
        except ServerError as error:
            if session is not None:
                sessions.failed(server, session, error)
            await asyncio.sleep(0)  # a server that is gone fails every call at once, and others want their turn
            raise
        found = await self.catalogs.find(
            session, _CALL, tool, timeout_seconds=timeout_seconds, renew=partial(sessions.reach, server)
        )
        refusal = call_error_text(exchange.answer, self._redact)
        if refusal is None:
            self.answered.setdefault(server, set()).add(tool)
        odd = None
        if found is not None and check is None:
            odd = find_call_fault(session, tool, arguments, *found, succeeded=refusal is None)
            if odd is not None and odd.fails and (found[1] is None or refusal is None):
                message = self._redact(odd.message)
                raise CallMismatch(f"{message}; {refusal}" if refusal else message, server=server, hint=odd.hint)
        told = None if odd is None else self._redact(odd.summary)
        validity = _validity_of(session, None if found is None else found[1])
        if self._observer is not None:
            self._observer.note_call(server, tool, arguments, exchange.answer, validity)
        fault = find_call_invalidity(exchange.answer, validity, server=server, redact=self._redact)
        if fault is not None:
            self.catalogs.warnings[f"{tool}: {fault}"] = None
        return exchange, told

    async def _requested(self, asked: JudgedRequest, session: Session, fault: Fault | None) -> Exchange:
        """Send it. A tool call stands among the effects."""
        method, params, seconds = asked.method, asked.params, asked.timeout_seconds
        if method != _CALL:
            return await session.request(method, params, timeout_seconds=seconds, fault=fault)
        sent = params or {}
        with self.effects.note_call(session, asked.server, str(sent.get("name")), sent.get("arguments")) as noted:
            return await session.request(method, params, timeout_seconds=seconds, fault=fault, on_sending=noted)

    async def judge_again(self, case: Case, kept: CachedAnswer, validity: Validity | None) -> Outcome | None:
        """Judge an answer that was kept; None when it cannot be judged, since then the server is to be asked."""
        answer, check = kept.answer, case.body if isinstance(case.body, Check) else None
        envelope = make_envelope(case, answer, number=1, duration_ms=kept.duration_ms, http=answer.get("http"))
        envelope["notifications"] = answer.get("notifications", [])
        try:
            if check is not None:
                assert kept.opened is not None
                envelope["request"] = kept.request
                case, validity = _add_protocol_rules(case, check, envelope, kept.opened), None
            snapshots = self._answer_snapshots()
            outcome = await self._judge(case, envelope, validity=validity, snapshots=snapshots)
        except Exception:  # noqa: BLE001 - whatever is in a file must cost no test
            return None
        if snapshots is not None:
            snapshots.close(outcome.failure)
        if case.tool is not None and "result" in answer and answer["result"].get("isError") is not True:
            self.answered.setdefault(case.server, set()).add(case.tool)
        return outcome._replace(size=kept.size, request=None if check is None else kept.request)

    async def _without_answer(
        self,
        asked: JudgedRequest,
        sessions: Sessions,
        session: Session | None,
        error: ServerError,
        number: int,
        duration_ms: float,
    ) -> Outcome:
        """What comes of a call that was not answered, or of a session that was not opened."""
        if session is not None:
            sessions.failed(asked.server, session, error)
        await asyncio.sleep(0)  # a server that is gone fails every call at once, and others want their turn
        outcome = failed_outcome(error, duration_ms=duration_ms)
        if outcome.lost:
            if session is not None and not session.alive:
                await sessions.renew(asked.server, session)
            return outcome
        outcome = outcome._replace(gone=session is None or not session.alive)
        if error.http is None or not asked.uses_http:
            return outcome
        if session is None and error.http.get("status") not in REFUSALS:
            return outcome  # nothing was asked yet: only a refusal of whoever asks is an answer to it
        envelope = make_envelope(asked, {}, number=number, duration_ms=duration_ms, http=error.http)
        snapshots = self._answer_snapshots()
        outcome = refused_outcome(asked, outcome, await self._judge(asked, envelope, snapshots=snapshots))
        if snapshots is not None:
            snapshots.close(outcome.failure)
        return outcome

    def _answer_snapshots(self) -> AnswerSnapshots | None:
        return None if self._snapshots is None else AnswerSnapshots(self._snapshots)

    async def _judge_until_complete(
        self,
        envelope: dict[str, Any],
        session: Session,
        unasked: Unasked,
        outcome: Outcome,
        judging: Callable[[], Coroutine[Any, Any, Outcome]],
    ) -> Outcome:
        """Judge again at whatever comes, until no notification is missing or the time is over.

        Over HTTP what comes unasked comes on another stream, so that a test which misses nothing waits as well: what must not
        come may be on its way, and what comes late is not the next test's.
        """
        deadline = self._clock() + SETTLING_SECONDS
        while (_misses_something(outcome) or session.transport != "stdio") and self._clock() < deadline:
            if not unasked.grown(envelope):  # else it came while it was judged
                came = await session.next_message(max(deadline - self._clock(), 0.0))
                if not came and not unasked.grown(envelope):
                    break
            unasked.into(envelope)
            outcome = await judging()
        return outcome

    async def _judge(
        self,
        asked: JudgedRequest,
        envelope: dict[str, Any],
        opinions: Opinions | None = None,
        validity: Validity | None = None,
        snapshots: SnapshotStore | None = None,
    ) -> Outcome:
        """Judge an answer. What it proposes for snapshots goes to `snapshots`, or is stored at once without."""
        if self._observer is not None:
            self._observer.note_judged(asked, envelope, validity, opinions)
        if asked.outcome is ExpectedOutcome.SUCCESS and (told := call_error_text(envelope, self._redact)) is not None:
            self.errors.setdefault(call_of(asked), set()).add(told)
        snapshots = snapshots or self._snapshots
        judging = partial(judge, asked, envelope, snapshots=snapshots, redact=self._redact, validity=validity)
        if self._judged is not None and uses_matcher(asked.expect, JUDGED):
            return await self.judged_by_models(judging, asked, envelope, opinions)
        return await self._done(judging, slow=asked.slow_to_judge)

    async def _done(self, judging: Callable[[], Outcome], *, slow: bool) -> Outcome:
        if not slow:
            return judging()
        # a jq program may take its second while other answers are timed
        return await self._slow.run(judging)

    async def judged_by_models(
        self,
        judging: Callable[..., Outcome],
        asked: JudgedRequest,
        envelope: Mapping[str, Any],
        opinions: Opinions | None = None,
    ) -> Outcome:
        """Judge with models where they are to have a say. `judging` takes their opinions as `opinions`."""
        from mcptest_engine.running.judged_rows import judge_with_models, run_of, task_of  # few suites have need of it

        return await judge_with_models(
            lambda known: self._done(partial(judging, opinions=known), slow=asked.slow_to_judge),
            self._opinions() if opinions is None else opinions,
            judges=None if self._judged is None else self._judged.row_judges,
            task=self._redact(task_of(asked, envelope)),
            variant=grading_of(_id_of(asked), run_of(asked)),
            cut=self.cost_recorder(_id_of(asked)),
        )

    def _opinions(self) -> Opinions:
        from mcptest_engine.judging.opinions import Opinions

        return Opinions(self._redact)


class BodyRunner:
    """Runs tests that are more than one request: compositions, agents, evals and metrics; `caller` makes their calls.

    Few suites have any of them: their modules are imported by the first.
    """

    def __init__(
        self,
        caller: Caller,
        *,
        judge: Callable[..., Coroutine[Any, Any, Outcome]],
        snapshots: Callable[[], AnswerSnapshots | None],
        slow: SlowWork,
        redact: Callable[[Any], Any],
        clock: Callable[[], float],
        freezer: Freezer | None,
        judged: Judged | None,
    ) -> None:
        self._caller, self._judge, self._snapshots = caller, judge, snapshots
        self._slow, self._redact, self._clock = slow, redact, clock
        self._freezer, self._judged = freezer, judged

    async def run(
        self, case: Case, body: Row | AgentProgram | EvalRow | MetricRow, sessions: Sessions, number: int
    ) -> Outcome:
        """The `number`-th attempt at what is more than one request."""
        from mcptest_engine.running.kinds.agent.plan import AgentProgram  # few suites have any of them
        from mcptest_engine.running.kinds.composition.plan import Row
        from mcptest_engine.running.kinds.eval.plan import EvalRow, MetricRow

        match body:
            case Row():
                return await self._compose(case, body, sessions, number)
            case AgentProgram():
                return await self._converse(case, body, sessions, number)
            case EvalRow():
                return await self._grade(case, body, sessions, number)
            case MetricRow():
                raise AssertionError("it is judged by the result of its subject (`judge_metric`)")
            case _:
                assert_never(body)

    async def judge_metric(self, case: Case, subject: TestResult | None, task: str) -> Outcome:
        """What a model says of another case; `task` is what that was for, where nothing else tells."""
        from mcptest_engine.running.kinds.eval.plan import MetricRow  # few suites have one
        from mcptest_engine.running.kinds.eval.run import run_metric_row

        assert isinstance(case.body, MetricRow)
        models = None if self._judged is None else self._judged.models
        try:
            cut = self._caller.cost_recorder(case.id)
            return await run_metric_row(
                case, case.body, subject, models, task=self._redact(task), clock=self._clock, cut=cut
            )
        except Exception as wrong:  # noqa: BLE001 - one answer that trips us must not cost the whole run
            failure = _bug(wrong)
        return Outcome(verdict=Verdict.FAIL, duration_ms=0.0, message=failure.message, failure=failure)

    def _left(self, case_id: str, trace: Mapping[str, Any]) -> None:
        """The run was interrupted in the middle of a case."""
        self._caller.cut_short[case_id] = trace

    async def _compose(self, case: Case, row: Row, sessions: Sessions, number: int) -> Outcome:
        from mcptest_engine.running.kinds.composition.run import RunServices, run_composition  # few suites have one

        services = RunServices(
            case,
            row,
            slow=self._slow,
            redact=self._redact,
            clock=self._clock,
            emit=self._caller.emit,
            call_tool=partial(self._caller.call_tool, sessions),
            freezer=self._freezer,
            cut_short=lambda trace: self._left(case.id, trace),
            judge_by_models=self._caller.judged_by_models if self._judged is not None else None,
        )
        snapshots = self._snapshots()
        outcome = await run_composition(case, row, services, number=number, snapshots=snapshots)
        if snapshots is not None:
            snapshots.close(outcome.failure)
        return outcome

    async def _grade(self, case: Case, row: EvalRow, sessions: Sessions, number: int) -> Outcome:
        from mcptest_engine.running.kinds.eval.run import run_eval_row  # few suites have one

        return await run_eval_row(case, row, sessions, self._graders, number=number)

    @cached_property
    def _graders(self) -> Graders:
        from mcptest_engine.running.kinds.eval.run import Candidates, Graders

        assert self._judged is not None
        caller = self._caller
        candidates = Candidates(
            redact=self._redact,
            call_tool=caller.call_tool,
            ask_agent=lambda case, program, sessions: self._converse(case, program, sessions, 1),
        )
        return Graders(
            self._judged, candidates, self._redact, caller.paid, self._left, caller.cost_recorder, self._clock
        )

    async def _converse(self, case: Case, program: AgentProgram, sessions: Sessions, number: int) -> Outcome:
        from mcptest_engine.running.kinds.agent.run import run_agent  # few suites have one

        return await run_agent(case, program, sessions, self._agent_services, number=number)

    @cached_property
    def _agent_services(self) -> AgentServices:
        from mcptest_engine.running.kinds.agent.run import AgentServices

        assert self._judged is not None
        return AgentServices(
            models=self._judged.models,
            effects=self._caller.effects,
            redact=self._redact,
            clock=self._clock,
            emit=self._caller.emit,
            call_tool=self._caller.call_tool,
            judge=self._judge,
            cut_short=self._left,
        )


def _validity_of(session: Session, entry: Entry | None) -> Validity | None:
    """What a result over this session is held to; None where its server is not held to anything."""
    if session.spec.validity == "off":
        return None
    return Validity(
        session.protocol_version or "",
        fails=session.spec.validity == "fail",
        output_schema=None if entry is None else entry.output_schema,
    )


def find_call_invalidity(
    answer: Mapping[str, Any], validity: Validity | None, *, server: str, redact: Callable[[Any], Any]
) -> str | None:
    """What is invalid about the answer of a tool call, where that is only a warning. Raises: InvalidResult where it is more."""
    fault = find_task_handle(answer.get("result"))
    if fault is None and validity is not None:
        invalidity = find_invalidity(_CALL, answer, validity, redact)
        fault = None if invalidity is None else invalidity[0]
    if fault is not None and (validity is None or validity.fails):
        raise InvalidResult(fault, server=server)
    return fault


def _held_to_catalog(
    asked: JudgedRequest,
    envelope: Mapping[str, Any],
    outcome: Outcome,
    listing: Listing,
    entry: Entry | None,
    *,
    session: Session,
    redact: Callable[[Any], Any],
) -> Outcome:
    """The outcome, with what the server's list says of the call: an unknown name fails, odd arguments are a warning.

    Neither counts where the test expects an error; where it expects neither, only of a call that succeeded.
    """
    params, came = asked.params or {}, answer_kind(envelope)
    if (
        asked.outcome is ExpectedOutcome.ERROR
        or came is None
        or (asked.outcome is ExpectedOutcome.ANY and came != SUCCESS)
    ):
        return outcome
    if outcome.verdict is Verdict.INCONCLUSIVE and came != SUCCESS:
        return outcome  # made-up arguments were refused
    name, arguments = str(params.get("name")), params.get("arguments") or {}
    fault = find_call_fault(session, name, arguments, listing, entry, succeeded=came == SUCCESS)
    if fault is None:
        return outcome
    message, hint, failure = redact(fault.message), fault.hint, outcome.failure
    if failure is not None and failure.kind in ERROR_FAILURES:
        if entry is not None:
            return outcome._replace(failure=replace(failure, hint=redact(fault.summary)))
        failure = replace(failure.with_lead(f"{message}; "), hint=hint)
        return outcome._replace(message=failure.message, failure=failure)
    if entry is not None:
        outcome = outcome._replace(warnings=(*outcome.warnings, redact(fault.summary)))
    if failure is not None or not fault.fails:
        return outcome
    failure = Failure(kind=FailureKind.SUITE, message=message, hint=hint)
    return outcome._replace(verdict=Verdict.FAIL, message=message, failure=failure)


def _with_history(outcome: Outcome, *sessions: Session, is_unlisted: bool = False) -> Outcome:
    """The first failure over a session whose server was restarted, or used by another suite, with that in its hint."""
    failure = outcome.failure
    if failure is None or not (failure.kind in _MAY_LACK_STATE or is_unlisted):
        return outcome
    told = [] if failure.hint is None else [failure.hint]
    for session in sessions:
        server = f'server "{session.spec.name}" was '
        if session.replaces is not None:
            told.append(f"{server}restarted before this call, because it {session.replaces}: its state is lost")
        elif session.used_by is not None:
            how = "if a test depends on its state, write `fresh: suite` on the server"
            told.append(f"{server}used by {session.used_by} before; {how}")
        session.replaces = session.used_by = None
    return outcome._replace(failure=replace(failure, hint="; ".join(told) or None))


def call_of(asked: JudgedRequest) -> tuple[str, str, str]:
    """What is called: the server, the method and the name of the tool or prompt, "" where there is none."""
    return asked.server, asked.method, str((asked.params or {}).get("name", ""))


def _bug(wrong: Exception) -> Failure:
    told = f"this is a bug in mcptest, not in your server: {type(wrong).__name__}: {wrong}"
    return Failure(kind=FailureKind.SUITE, message=told)


def make_envelope(
    asked: JudgedRequest, answer: Mapping[str, Any], *, number: int, duration_ms: float, http: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What a target looks into."""
    envelope: dict[str, Any] = {"result": answer["result"]} if "result" in answer else {}
    envelope["error"] = answer.get("error")
    envelope["duration_ms"] = round(duration_ms, 3)
    envelope["attempt"] = number
    envelope["request"] = {"method": asked.method, "params": asked.params}
    envelope["notifications"] = []
    envelope["server_requests"] = []
    envelope["http"] = http
    return envelope


def _find_exchange_at_hand(check: Check, method: str, session: Session) -> Exchange | None:
    from mcptest_engine.running.kinds.compliance import find_exchange_at_hand  # few suites have a check

    return find_exchange_at_hand(check, method, session)


def _add_protocol_rules(case: Case, check: Check, envelope: dict[str, Any], opened: Session | OpenedSession) -> Case:
    from mcptest_engine.running.kinds.compliance import add_protocol_rules

    return add_protocol_rules(case, check, envelope, opened)


def _id_of(asked: JudgedRequest) -> str:
    """The id of a test; "" for a step of its `verify`."""
    return asked.id if isinstance(asked, Case) else ""


class Unasked:
    """What a session's server sends unasked from now on; nothing where other tests talk over the session as well."""

    def __init__(self, session: Session, *, alone: bool) -> None:
        self._messages, self._alone = session.server_messages, alone
        self._notifications, self._requests = len(self._messages.notifications), len(self._messages.requests)

    def into(self, envelope: dict[str, Any]) -> None:
        """Put what has come so far into the envelope."""
        envelope["notifications"] = self._messages.notifications[self._notifications :] if self._alone else []
        envelope["server_requests"] = self._messages.requests[self._requests :] if self._alone else []

    def grown(self, envelope: dict[str, Any]) -> bool:
        """Whether more has come than the envelope holds."""
        held = len(envelope["notifications"]) + len(envelope["server_requests"])
        came = len(self._messages.notifications) + len(self._messages.requests)
        return self._alone and came - self._notifications - self._requests > held


def _misses_something(outcome: Outcome) -> bool:
    """Whether an assertion on what comes unasked does not hold (yet)."""
    rows = (row for item in outcome.assertions for row in item.leaves())
    return any(row.passed is False and parse_target(row.target).segments[0] in WATCHED for row in rows)
