"""One attempt at a row of an eval: reserve money, get the answer, have a scorer or an LLM judge grade it.

Rows that grade the same answer share it. A metric of an agent test or a composition is judged here too, by the trace in that
test's record. The verdict of a scorer is the row's, whatever its score is. A scorer or judge that gave none fails the row, as
does an answer that could not be got; what nobody was set up to grade is inconclusive, and what a cap kept back is skipped.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.clipping import describe_error
from mcptest_engine.core.costs import composition_name, sum_costs
from mcptest_engine.core.errors import ServerError
from mcptest_engine.core.results import Failure, FailureKind, NotRun, Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.judging.answer_text import content_text
from mcptest_engine.judging.providers.values import NO_PROVIDER, ModelError, ModelFault
from mcptest_engine.judging.scorers.scorer_runs import payer_of
from mcptest_engine.judging.scorers.values import ScorerError
from mcptest_engine.judging.spending import Capped
from mcptest_engine.running.declared_tests import grading_of
from mcptest_engine.running.verdicts import Outcome, deferred_outcome, failed_outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.judging.providers.values import Models
    from mcptest_engine.judging.scorers.judge import Judgement
    from mcptest_engine.judging.scorers.values import Scorer
    from mcptest_engine.judging.spending import Payer
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.judged import Judged
    from mcptest_engine.running.kinds.agent.plan import AgentProgram
    from mcptest_engine.running.kinds.eval.plan import Candidate, EvalRow, MetricRow
    from mcptest_engine.running.sessions import Sessions
    from mcptest_engine.servers.calls import Exchange


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


async def run_eval_row(case: Case, row: EvalRow, sessions: Sessions, graders: Graders, *, number: int = 1) -> Outcome:
    """The `number`-th attempt at a row."""
    began = graders.clock()
    try:
        if number == 1 and not graders.candidates.has(row.candidate.key):
            async with reserved(row, graders.judged):
                return await _run(case, row, sessions, graders, number, began)
        return await _run(case, row, sessions, graders, number, began)
    except Capped as capped:
        return not_run(capped.message)


async def _run(case: Case, row: EvalRow, sessions: Sessions, graders: Graders, number: int, began: float) -> Outcome:
    answer = await graders.candidates.get(case, row.candidate, sessions, anew=number > 1)
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
        return outcome._replace(message=reason or f"scorer `{scorer.name}` gave no verdict")
    told = f"scorer `{scorer.name}` said fail" + (f": {reason}" if reason else "")
    return outcome._replace(message=told, failure=Failure(kind=FailureKind.SCORE, message=told))


async def _judged(case: Case, row: EvalRow, answer: Answer, graders: Graders, *, acted: bool) -> Outcome:
    from mcptest_engine.judging.scorers.judge import grade  # a suite with scorers has no need of it

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


class Answer(NamedTuple):
    """An answer to grade, or in `failed` why there is none.

    `request` and `output` are the tool call's, as in a test's result; `trace` is the conversation of a model. `spends`: what
    it cost counts in this row, as in no other one. `size` is the number of bytes that the tool's answer came in, `odd` what its
    server's list has against the arguments.
    """

    text: str = ""
    failed: Outcome | None = None
    request: Mapping[str, Any] | None = None
    output: Mapping[str, Any] | None = None
    trace: Mapping[str, Any] | None = None
    model: str | None = None
    size: int = 0
    odd: str | None = None
    spends: bool = True

    @property
    def acted(self) -> bool:
        """Whether a tool or a model was called for it."""
        return self.request is not None or self.trace is not None


class Candidates:
    """The answers of a run. `ask_agent` has a model answer: it is given the case and the agent's program.

    `call_tool` is the run's own.
    """

    def __init__(
        self,
        *,
        redact: Callable[[Any], Any],
        call_tool: Callable[..., Awaitable[tuple[Exchange, str | None]]],
        ask_agent: Callable[[Case, AgentProgram, Sessions], Awaitable[Outcome]],
    ) -> None:
        self._redact = redact
        self._call_tool = call_tool
        self._ask_agent = ask_agent
        self._found: dict[str, asyncio.Future[Answer]] = {}

    def has(self, key: str) -> bool:
        """Whether the answer with this key is there, or is being got."""
        return key in self._found

    async def get(self, case: Case, candidate: Candidate, sessions: Sessions, *, anew: bool) -> Answer:
        """The answer that `case` grades. `anew`: one that could not be got is tried for once more."""
        key = candidate.key
        found = self._found.get(key)
        if found is not None and not (anew and found.done() and found.result().failed is not None):
            return (await asyncio.shield(found))._replace(spends=False)
        found = self._found[key] = asyncio.get_running_loop().create_future()
        try:
            answer = await self._got(case, candidate, sessions)
        except BaseException as wrong:
            del self._found[key]
            if isinstance(wrong, asyncio.CancelledError):
                found.cancel()
            else:
                found.set_exception(wrong)
                found.exception()  # seen, although nobody else may wait for it
            raise
        found.set_result(answer)
        return answer

    async def _got(self, case: Case, candidate: Candidate, sessions: Sessions) -> Answer:
        if candidate.output is not None:
            return Answer(candidate.output)
        if candidate.call is not None:
            return await self._called(case, candidate.call, sessions)
        assert candidate.agent is not None
        outcome = await self._ask_agent(case, candidate.agent, sessions)
        trace = outcome.trace or {}
        if outcome.verdict is not Verdict.PASS:
            return Answer(failed=outcome, trace=outcome.trace, model=outcome.model)
        return Answer(str(trace.get("final_response", "")), trace=outcome.trace, model=outcome.model)

    async def _called(self, case: Case, call: Mapping[str, Any], sessions: Sessions) -> Answer:
        server, tool = call["server"], call["tool"]
        params = {"name": tool, "arguments": call.get("args", {})}
        request = {"method": "tools/call", "params": params}
        try:
            exchange, odd = await self._call_tool(
                sessions, server, tool, params["arguments"], timeout_seconds=case.timeout_seconds
            )
        except ServerError as error:
            outcome = failed_outcome(error, duration_ms=0.0)
            return Answer(failed=outcome, request=request, output=outcome.output)
        answer = exchange.answer
        output = {key: answer[key] for key in ("result", "error") if answer.get(key) is not None}
        told = self._fault(tool, answer)
        if told is None:
            text = text_of(answer["result"])
            if text is not None:
                return Answer(text, request=request, output=output, size=exchange.size, odd=odd)
            told = f"`{tool}` answered without a text"
        told = f"there is no answer to grade: {told}"
        failure = Failure(kind=FailureKind.ASSERTION, message=told, hint=odd)
        outcome = Outcome(verdict=Verdict.FAIL, duration_ms=0.0, message=told, failure=failure)
        return Answer(failed=outcome, request=request, output=output, size=exchange.size)

    def _fault(self, tool: str, answer: Mapping[str, object]) -> str | None:
        """Why what came is no answer, in the server's words."""
        if answer.get("error") is not None:
            return f"the server answered {describe_error(answer['error'], self._redact)}"
        result = answer.get("result")
        if isinstance(result, dict) and result.get("isError") is True:
            told = content_text(result, _TOLD, self._redact) or "(no text)"
            return f"`{tool}` reported an error: {told}"
        if isinstance(result, dict) and result.get("resultType") == "input_required":
            return f"`{tool}` requires input, which an eval cannot give"
        return None


def text_of(result: Mapping[str, object]) -> str | None:
    """The text of a tool's answer: its text blocks, one a line; else its structured content as JSON; None without either."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    if texts:
        return "\n".join(texts)
    structured = result.get("structuredContent")
    return None if structured is None else json.dumps(structured, ensure_ascii=False)


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
    return Outcome(Verdict.SKIP, 0.0, message=f"{told}: {reason}", not_run=NotRun.COST)


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


async def judged_outcome(
    asking: Awaitable[Judgement], redact: Callable[[Any], Any] = lambda text: text, *, acted: bool = False
) -> Outcome:
    """The outcome of a judgement that is waited for. A judge without a grade fails the row; without a model it is deferred.

    `acted`: a tool or a model was called for what is judged.
    """
    from mcptest_engine.judging.scorers.judge import JudgeError, paid_for  # a suite with scorers has no need of it

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
            return not_run(wrong.reason, acted=acted or paid is not None)._replace(judgement=paid)
        # the judge turns all others into its own
        return deferred_outcome(wrong.reason)
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
    message = one_line(redact(judgement.summary), _TOLD)
    if judgement.verdict is not Verdict.FAIL:
        return outcome._replace(message=message)
    return outcome._replace(message=message, failure=Failure(kind=FailureKind.SCORE, message=message))


async def run_metric_row(
    case: Case,
    row: MetricRow,
    subject: TestResult | None,
    models: Models | None,
    *,
    task: str = "",
    clock: Callable[[], float] = time.monotonic,
    cut: Callable[[Sequence[Mapping[str, Any]]], object] | None = None,
) -> Outcome:
    """Judge one metric of `subject`, None where that is not part of the run. `task` is what a composition is for, and `cut` is
    given what was paid when this is cancelled.
    """
    from mcptest_engine.judging.scorers.judge import judged
    from mcptest_engine.judging.scorers.metrics import graded_of, is_judgeable, rubric_of

    trace = None if subject is None else _last_trace(subject)
    if subject is None or trace is None or not is_judgeable(trace) or subject.verdict is Verdict.SKIP:
        return _without_subject(case.name, row.metric, subject)
    if models is None:
        return deferred_outcome(NO_PROVIDER)
    began = clock()
    if not task and "nodes" in trace:
        task = composition_name(subject)  # which is all that tells what it is for
    graded = graded_of(row.metric, trace, task)
    rubric = rubric_of(row.metric, row.written, row.threshold)
    variant = grading_of(case.id, row.run)
    asking = judged(models, graded, rubric, row.judge, case.model_timeout_seconds, variant=variant, cut=cut)
    outcome = await judged_outcome(asking)
    return outcome._replace(duration_ms=(clock() - began) * 1000)


def _without_subject(name: str, metric: str, subject: TestResult | None) -> Outcome:
    """A test that is deferred defers what is judged of it; one that was not run is not judged."""
    if subject is not None and subject.deferred is not None:
        return deferred_outcome(subject.deferred)
    called = one_line(name.removesuffix(f": {metric}") if subject is None else subject.name, 120)
    was = "has nothing to grade" if subject is not None and subject.verdict is Verdict.FAIL else "was not run"
    return Outcome(Verdict.SKIP, 0.0, message=f"not judged: `{called}` {was}")


def _last_trace(subject: TestResult) -> Mapping[str, Any] | None:
    """The trace of a test; of one with trials that of the last run that has one."""
    if subject.trace is not None or not subject.trials:
        return subject.trace
    return next((trial["trace"] for trial in reversed(subject.trials) if "trace" in trial), None)
