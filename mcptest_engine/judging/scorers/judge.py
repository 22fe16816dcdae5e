"""Grading by a model: its answers to a rubric's questions become a score, a jury's scores a verdict.

Nothing here passes by accident. An answer that is no grade is asked for once more and is an error then; a jury passes what more
than half of all its jurors pass, those without a grade counted; and a verdict that hangs on the order in which the judge read
is none.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from mcptest_engine.core.clipping import show_text
from mcptest_engine.core.costs import added_up, sum_costs
from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.text import counted
from mcptest_engine.judging import rubrics
from mcptest_engine.judging.providers.values import (
    DEFAULT_TIMEOUT_SECONDS,
    ModelError,
    ModelFault,
    ModelRequest,
    Role,
    Turn,
)
from mcptest_engine.judging.rubrics import Leaf, Rubric, read_rubric
from mcptest_engine.judging.scorers import judge_prompts as prompts
from mcptest_engine.judging.scorers.fences import Material
from mcptest_engine.judging.scorers.judge_answers import Grade, NoGrade, read_grades, read_score
from mcptest_engine.judging.scorers.juries import seats_of, why_no_verdict
from mcptest_engine.judging.scoring import exact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.judging.providers.values import ModelReply, Models
    from mcptest_engine.judging.scorers.juries import Jury, Seat

    Cut = Callable[[Sequence[Mapping[str, object]]], object]

T = TypeVar("T")

NAME = "judge"
INVALID = "invalid_verdict"
QUOTED = 200


class JudgeError(ModelError):
    """A judge gave no grade. `kind` is "invalid_verdict", or why its model could not be asked; `spent` what it cost."""

    def __init__(
        self, message: str, *, kind: str, spent: Sequence[Mapping[str, object]], hint: str | None = None
    ) -> None:
        super().__init__(ModelFault.BAD_ANSWER, message, hint=hint)
        self.kind = kind
        self.spent = tuple(spent)

    @property
    def scorer_error(self) -> dict[str, object]:
        """The error as run records hold it."""
        return {"scorer": NAME, "kind": self.kind, "message": self.message, "stderr_tail": ""}


class JudgingCapped(ModelError):
    """A cap on costs kept a judge from being asked, or some of its jurors; `spent` is what the others cost."""

    def __init__(self, capped: ModelError, *, spent: Sequence[Mapping[str, object]]) -> None:
        super().__init__(ModelFault.CAPPED, capped.message, hint=capped.hint, reason=capped.reason)
        self.spent = tuple(spent)


def paid_for(wrong: ModelError) -> dict[str, object] | None:
    """What is kept of a judgement that came to nothing: what it cost, where it cost anything."""
    spent = wrong.spent if isinstance(wrong, JudgeError | JudgingCapped) else ()
    return {"by": NAME, "models": list(spent)} if spent else None


class Judgement(NamedTuple):
    """What a judge made of something. The lists are as in the `judgement` of `core.results.TestResult`.

    `score` is the mean of a jury's. `kept`: every answer came out of a cache or a cassette.
    """

    verdict: Verdict
    score: float
    threshold: float
    reasoning: str
    model: str
    input: str
    output: str
    criteria: tuple[JsonMapping, ...] = ()
    path: tuple[JsonMapping, ...] = ()
    jury: tuple[JsonMapping, ...] = ()
    findings: tuple[JsonMapping, ...] = ()
    models: tuple[JsonMapping, ...] = ()
    kept: bool = False

    @property
    def summary(self) -> str:
        """Why the verdict is what it is, in one line: the score and the reason, or how many jurors passed it."""
        if self.jury or self.verdict is Verdict.INCONCLUSIVE:
            return self.reasoning
        scored = f"score {rubrics.score_text(self.score, self.threshold)}"
        return f"{scored}: {self.reasoning}" if self.reasoning else scored

    def to_json(self) -> JsonDict:
        out: JsonDict = {"by": NAME, "verdict": self.verdict.value, "score": self.score}
        out["threshold"] = self.threshold
        out["reasoning"] = self.reasoning
        out["input"], out["output"] = self.input, self.output
        for name in ("criteria", "path", "jury"):
            if rows := getattr(self, name):
                out[name] = [dict(row) for row in rows]
        out["model"] = self.model
        out["cost_usd"] = sum_costs(row["cost_usd"] for row in self.models)
        if self.findings:
            out["extra"] = {"findings": [dict(row) for row in self.findings]}
        out["models"] = [dict(row) for row in self.models]
        return out


class Graded(NamedTuple):
    """What is graded. `calls` are the tools of numbered calls in the material, each of which is to be found right or wrong."""

    materials: tuple[Material, ...]
    calls: tuple[str, ...] = ()
    input: str = ""
    output: str = ""


async def grade(
    models: Models,
    *,
    input: str,  # noqa: A002 - as external scorers are told it too
    output: str,
    rubric: object,
    threshold: float | None = None,
    judge: Jury,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    variant: str = "",
    cut: Cut | None = None,
) -> Judgement:
    """Grade `output`, the answer to `input`, by a rubric as a suite writes it; `threshold` None leaves it to the rubric.
    `variant` tells apart gradings of the same that are each to be made, such as those of a test that is repeated. `cut` is
    given what was paid when this is cancelled.

    Raises: ModelError with `defers` when there is no model, or when a cap on costs is reached; JudgeError for want of a grade.
    """
    materials = (Material("task", input), Material("answer", output)) if input else (Material("answer", output),)
    graded = Graded(materials, input=input, output=output)
    return await judged(models, graded, read_rubric(rubric, threshold=threshold), judge, timeout_seconds, variant, cut)


async def judged(
    models: Models,
    graded: Graded,
    rubric: Rubric,
    judge: Jury,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    variant: str = "",
    cut: Cut | None = None,
) -> Judgement:
    """Have as many jurors grade as `judge` wants, all at once. Raises: as `grade` does."""
    seats = seats_of(judge, models)
    missing = why_no_verdict(seats)
    if missing is not None:
        raise ModelError.without_provider(missing)
    grading = _Grading(models, seats, graded, rubric, timeout_seconds)
    orders = (False, True) if judge.guarded else (False,)
    asked = (
        _opinion(grading.of(seat), _variant(variant, number, len(seats)), orders)
        for number, seat in enumerate(seats, start=1)
    )
    try:
        opinions = await asyncio.gather(*asked, return_exceptions=True)
    except asyncio.CancelledError:
        if cut is not None:
            cut(grading.spent)
        raise
    jurors: list[_Opinion | ModelError] = []
    for opinion in opinions:
        if isinstance(opinion, BaseException) and not isinstance(opinion, ModelError):
            raise opinion
        jurors.append(opinion)
    return _verdict(grading, jurors)


class _Opinion(NamedTuple):
    """What one juror makes of it; `verdict` is INCONCLUSIVE where it hangs on the order."""

    verdict: Verdict
    score: float
    reasoning: str
    criteria: tuple[Grade, ...] = ()
    path: tuple[JsonMapping, ...] = ()
    findings: tuple[JsonMapping, ...] = ()


class _Grading:
    """One grading: what is graded by what, who does, and what was answered so far. `of` makes it that of one juror."""

    def __init__(
        self, models: Models, seats: Sequence[Seat], graded: Graded, rubric: Rubric, timeout_seconds: float
    ) -> None:
        self._models = models
        self._timeout_seconds = timeout_seconds
        self.seats = seats
        self.graded = graded
        self.rubric = rubric
        self.replies: list[tuple[str, ModelReply]] = []

    @property
    def model(self) -> str:
        """The models that were asked."""
        return ", ".join(dict.fromkeys(seat.model for seat in self.seats if seat.missing is None))

    def of(self, seat: Seat) -> _Grading:
        one = _Grading(self._models, (seat,), self.graded, self.rubric, self._timeout_seconds)
        one.replies = self.replies
        return one

    @property
    def spent(self) -> list[dict[str, object]]:
        """Rows of {"model", "calls", "tokens", "cost_usd"} of what was asked now; what was kept cost nothing."""
        return added_up(
            {"model": model, "calls": 1, "tokens": reply.tokens, "cost_usd": reply.cost_usd}
            for model, reply in self.replies
            if not reply.kept
        )

    async def answer(
        self,
        question: str,
        form: str,
        schema: Mapping[str, object],
        read: Callable[[str], T],
        *,
        exchanged: bool,
        variant: str,
    ) -> T:
        """One question and its answer, with a second try where the first is no grade. Raises: ModelError."""
        told = prompts.whole_prompt(question, form, self.graded.materials, exchanged=exchanged)
        turns: tuple[Turn, ...] = (Turn(Role.USER, told),)
        reply = await self._send(turns, schema, variant)
        try:
            return _read_reply(reply, read)
        except NoGrade as wrong:
            turns += (
                reply.as_turn() if reply.text.strip() else Turn(Role.ASSISTANT, "(no answer)"),
                Turn(Role.USER, prompts.repair_prompt(str(wrong), form)),
            )
        reply = await self._send(turns, schema, variant)
        try:
            return _read_reply(reply, read)
        except NoGrade as wrong:
            said = f", which is `{show_text(reply.text.strip(), QUOTED)}`" if reply.text.strip() else ""
            message = f"the judge's answer{said} is not a grade: {wrong}"
            raise JudgeError(message, kind=INVALID, spent=()) from None

    async def _send(self, turns: tuple[Turn, ...], schema: Mapping[str, object], variant: str) -> ModelReply:
        request = ModelRequest(
            model=self.model,
            turns=turns,
            system=prompts.SYSTEM,
            schema=schema,
            timeout_seconds=self._timeout_seconds,
            variant=variant,
        )
        reply = await self._models.send(request)
        self.replies.append((self.model, reply))
        if reply.stop == "refusal":
            raise JudgeError(f"the judge `{self.model}` refuses to grade this", kind=INVALID, spent=())
        return reply


def _read_reply(reply: ModelReply, read: Callable[[str], T]) -> T:
    if reply.stop == "length":
        raise NoGrade("it was cut off before its end")
    return read(reply.text)


async def _opinion(grading: _Grading, variant: str, orders: Sequence[bool]) -> _Opinion:
    """What one juror says, who is asked in each of the orders. Raises: ModelError."""
    (seat,) = grading.seats
    if seat.missing is not None:
        raise ModelError.without_provider(seat.missing)
    told = await asyncio.gather(
        *(_opinion_in_one_order(grading, variant, exchanged) for exchanged in orders), return_exceptions=True
    )
    opinions = []
    for one in told:
        if isinstance(one, BaseException):
            raise one
        opinions.append(one)
    first, second = opinions[0], opinions[-1]
    if len(opinions) == 1:
        return first
    mean = float((exact(first.score) + exact(second.score)) / 2)
    if first.verdict is not second.verdict:
        words = f"the verdict depends on the order: {first.score:g} in one order, {second.score:g} in the other"
        return first._replace(verdict=Verdict.INCONCLUSIVE, score=mean, reasoning=words)
    criteria = tuple(
        one._replace(score=float((exact(one.score) + exact(other.score)) / 2))
        for one, other in zip(first.criteria, second.criteria, strict=True)
    )
    return first._replace(score=mean, criteria=criteria)


async def _opinion_in_one_order(grading: _Grading, variant: str, exchanged: bool) -> _Opinion:
    """One juror's answers in one order."""
    rubric = grading.rubric
    if rubric.tree is not None:
        return await _walked(grading, variant, exchanged=exchanged)
    if rubric.criteria:
        return await _graded(grading, variant, exchanged=exchanged)
    assert rubric.text is not None
    finding = bool(grading.graded.calls)
    found = await grading.answer(
        prompts.of_text(rubric.text),
        prompts.FINDINGS_FORM if finding else prompts.SCORE_FORM,
        prompts.FINDINGS_SCHEMA if finding else prompts.SCORE_SCHEMA,
        read_score,
        exchanged=exchanged,
        variant=variant,
    )
    verdict = _passes(rubrics.reaches(found.score, rubric.threshold))
    calls = grading.graded.calls
    findings = tuple(
        {"call": one["call"], "tool": calls[one["call"] - 1], "ok": one["ok"], "reasoning": one["reasoning"]}
        for one in found.findings
        if 1 <= one["call"] <= len(calls)
    )
    return _Opinion(verdict, found.score, found.reasoning, findings=findings)


async def _graded(grading: _Grading, variant: str, *, exchanged: bool) -> _Opinion:
    """Every criterion in one question; the other way round they come in reverse, with the numbers that they have."""
    rubric = grading.rubric
    numbered = list(enumerate(rubric.criteria, start=1))
    found = await grading.answer(
        prompts.of_criteria(reversed(numbered) if exchanged else numbered),
        prompts.GRADES_FORM,
        prompts.GRADES_SCHEMA,
        lambda text: read_grades(text, len(numbered)),
        exchanged=exchanged,
        variant=variant,
    )
    scores = [one.score for one in found]
    score = float(rubrics.combined(rubric, scores))
    reasons = _reasons(zip((one.name for _, one in numbered), found, strict=True), rubric.threshold)
    if rubric.strict and not rubrics.is_met(rubric, scores) and rubrics.reaches(score, rubric.threshold):
        reasons = f"not every criterion is met: {reasons}"
    return _Opinion(_passes(rubrics.is_met(rubric, scores)), score, reasons, criteria=tuple(found))


async def _walked(grading: _Grading, variant: str, *, exchanged: bool) -> _Opinion:
    """The way through a tree, a question at a time."""
    place = grading.rubric.tree
    assert place is not None
    path: list[JsonMapping] = []
    while not isinstance(place, Leaf):
        found = await grading.answer(
            prompts.of_question(place.ask),
            prompts.SCORE_FORM,
            prompts.SCORE_SCHEMA,
            read_score,
            exchanged=exchanged,
            variant=variant,
        )
        said = "yes" if rubrics.is_yes(found.score) else "no"
        path.append({"ask": place.ask, "answer": said, "score": found.score, "reasoning": found.reasoning})
        place = rubrics.following(place, found.score)
    reasoning = "; ".join(f"{step['ask']} {step['answer']}: {step['reasoning']}" for step in path)
    passed = rubrics.reaches(place.score, grading.rubric.threshold)
    return _Opinion(_passes(passed), place.score, reasoning, path=tuple(path))


def _variant(given: str, juror: int, count: int) -> str:
    return " ".join(part for part in (given, f"juror {juror}" if count > 1 else "") if part)


def _passes(passed: bool) -> Verdict:
    return Verdict.PASS if passed else Verdict.FAIL


def _reasons(graded: Iterable[tuple[str, Grade]], threshold: float) -> str:
    """The reasons of the criteria that are not met; of all of them where all are."""
    rows = list(graded)
    lacking = [(name, one) for name, one in rows if not rubrics.reaches(one.score, threshold)] or rows
    return "; ".join(f"{name} {one.score:g}: {one.reasoning}" for name, one in lacking)


def _verdict(grading: _Grading, jurors: Sequence[_Opinion | ModelError]) -> Judgement:
    """What a jury comes to: what more than half of all its jurors say. Raises: ModelError when too few gave a grade."""
    opinions = [juror for juror in jurors if isinstance(juror, _Opinion)]
    deciding = next(
        (
            verdict
            for verdict in (Verdict.PASS, Verdict.FAIL)
            if 2 * sum(one.verdict is verdict for one in opinions) > len(jurors)
        ),
        None,
    )
    errors = [juror for juror in jurors if isinstance(juror, ModelError) and not juror.defers]
    if deciding is None and errors:
        raise _as_error(errors, grading)
    if not opinions:
        raise next(juror for juror in jurors if isinstance(juror, ModelError))
    verdict = deciding or Verdict.INCONCLUSIVE
    speaker = next((one for one in opinions if one.verdict is verdict), opinions[0])
    alone = len(jurors) == 1
    mean = float(sum((exact(one.score) for one in opinions), start=exact(0)) / len(opinions))
    return Judgement(
        verdict=verdict,
        score=mean,
        threshold=float(grading.rubric.threshold),
        reasoning=speaker.reasoning if alone else _jury_text(verdict, speaker, jurors),
        model=grading.model,
        input=grading.graded.input,
        output=grading.graded.output,
        criteria=tuple(_criteria_rows(grading.rubric, speaker)),
        path=speaker.path,
        jury=() if alone else tuple(map(_juror_row, grading.seats, jurors)),
        findings=speaker.findings,
        models=tuple(grading.spent),
        kept=bool(grading.replies) and all(reply.kept for _, reply in grading.replies),
    )


def _as_error(errors: Sequence[ModelError], grading: _Grading) -> ModelError:
    """The first error; a cap, which keeps the row from being graded at all, comes before those of a judge that failed."""
    for error in errors:
        if error.fault is ModelFault.CAPPED:
            return JudgingCapped(error, spent=grading.spent)
    first = errors[0]
    kind = first.kind if isinstance(first, JudgeError) else first.fault.value
    return JudgeError(first.message, kind=kind, spent=grading.spent, hint=first.hint)


def _jury_text(verdict: Verdict, speaker: _Opinion, jurors: Sequence[_Opinion | ModelError]) -> str:
    passed = sum(isinstance(one, _Opinion) and one.verdict is Verdict.PASS for one in jurors)
    told = f"{passed} of {counted(len(jurors), 'juror')} pass"
    absent = sum(isinstance(one, ModelError) and one.defers for one in jurors)
    if absent:
        told += f", {absent} could not be asked"
    if verdict is Verdict.INCONCLUSIVE:
        return f"the jury is split: {told}"
    return f"{told}; {speaker.reasoning}" if speaker.reasoning else told


def _criteria_rows(rubric: Rubric, speaker: _Opinion) -> Iterable[Mapping[str, object]]:
    for criterion, found in zip(rubric.criteria, speaker.criteria, strict=False):
        yield {
            "name": criterion.name,
            "weight": criterion.weight,
            "score": found.score,
            "passed": rubrics.reaches(found.score, rubric.threshold),
            "reasoning": found.reasoning,
        }


def _juror_row(seat: Seat, juror: _Opinion | ModelError) -> Mapping[str, object]:
    model = seat.model
    if isinstance(juror, ModelError):
        return {"model": model, "score": None, "passed": None, "reasoning": juror.message}
    passed = None if juror.verdict is Verdict.INCONCLUSIVE else juror.verdict is Verdict.PASS
    return {"model": model, "score": juror.score, "passed": passed, "reasoning": juror.reasoning}
