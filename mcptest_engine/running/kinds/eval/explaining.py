"""What a run would grade, told before anybody is asked: each row's answer and grader, and how often a model is asked.

A judge's tokens are estimated by its prompt, four characters a token. An answer that is not there yet is taken for
`UNKNOWN_ANSWER_TOKENS`; what scorers cost, and models that answer, is known only afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.costs import sum_costs
from mcptest_engine.core.text import CHARACTERS_PER_TOKEN, counted
from mcptest_engine.judging.rubrics import calls_needed, outline, read_rubric
from mcptest_engine.judging.scorers.judge_prompts import SYSTEM
from mcptest_engine.judging.scorers.juries import seats_of, why_no_verdict
from mcptest_engine.running.declared_tests import jurors_of
from mcptest_engine.running.kinds.agent.plan import AgentProgram
from mcptest_engine.running.kinds.eval.plan import DEFAULT_THRESHOLD, EvalRow, Judge, MetricRow
from mcptest_engine.suite.items import NESTING_MATCHERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.judging.providers.prices import PriceList
    from mcptest_engine.judging.providers.values import Models
    from mcptest_engine.judging.rubrics import Rubric
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.kinds.eval.plan import Candidate, Scorer


UNKNOWN_ANSWER_TOKENS = 500
REPLY_TOKENS = 150
_FORM_TOKENS = 60


class PlannedGrading(NamedTuple):
    """One row: `test` is its name, `answer` says where what is graded comes from, `rubric` is in lines.

    Exactly one of `scorer` and `judge` is there. `calls` are the least and the most that a judge's `model` is asked, `tokens`
    and `cost_usd` are estimated for the most of them. `deferred` says why nobody grades it.
    """

    test: str
    answer: str
    rubric: tuple[str, ...]
    threshold: float | None = None
    scorer: Scorer | None = None
    judge: Judge | None = None
    model: str | None = None
    calls: tuple[int, int] = (0, 0)
    tokens: int = 0
    cost_usd: float | None = 0.0
    deferred: str | None = None

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"test": self.test, "answer": self.answer, "rubric": list(self.rubric)}
        if self.scorer is not None:
            scorer = self.scorer
            out["scorer"] = {"name": scorer.name, "type": scorer.type, "command": list(scorer.command)}
        if self.judge is not None:
            out["threshold"] = self.threshold
            out["judge"] = {"model": self.model, "jury": self.judge.jury, "guarded": self.judge.guarded}
            if self.judge.models:
                out["judge"] = {"models": list(self.judge.models), "guarded": self.judge.guarded}
            out["calls"] = {"least": self.calls[0], "most": self.calls[1]}
            out["estimated"] = {"tokens": self.tokens, "cost_usd": self.cost_usd}
        if self.deferred is not None:
            out["deferred"] = f"deferred: {self.deferred}"
        return out


class Sums(NamedTuple):
    """All rows together. `answers` of models are asked for besides, each a conversation, in at most so many `turns` in all.

    `cost_usd` is None where a price is not known.
    """

    rows: int
    scorer_calls: int
    judge_calls: tuple[int, int]
    answers: int
    turns: int
    tokens: int
    cost_usd: float | None

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "scorer_calls": self.scorer_calls,
            "judge_calls": {"least": self.judge_calls[0], "most": self.judge_calls[1]},
            "model_answers": self.answers,
            "model_turns": {"most": self.turns},
            "estimated": {"tokens": self.tokens, "cost_usd": self.cost_usd},
        }


def planned_gradings(
    cases: Sequence[Case], models: Models, prices: PriceList, judge: Judge
) -> Iterator[PlannedGrading]:
    """Every grading of a plan that knows what is deferred, in declared order. `judge` is the suite's, which matchers go by."""
    names = {case.id: case.name for case in cases}
    for case in cases:
        row = case.body
        if isinstance(row, EvalRow) and row.scorer is not None:
            planned = PlannedGrading(
                case.name, _answer_source(row.candidate), tuple(_rubric_outline(row.rubric)), scorer=row.scorer
            )
            yield planned._replace(deferred=case.deferred)
        elif isinstance(row, EvalRow):
            known = None if row.candidate.output is None else len(row.candidate.output) // CHARACTERS_PER_TOKEN
            planned = PlannedGrading(
                case.name, _answer_source(row.candidate), tuple(_rubric_outline(row.rubric)), row.threshold
            )
            yield _plan_judging(planned._replace(deferred=case.deferred), row.rubric, row.judge, models, prices, known)
        elif isinstance(row, MetricRow):
            written = row.written.get("rubric", row.metric) if isinstance(row.written, dict) else row.written
            rubric = written if isinstance(written, str | dict) and row.metric == "rubric" else row.metric
            if isinstance(row.written, dict) and ("criteria" in row.written or "tree" in row.written):
                rubric = row.written
            subject = case.subject or ""
            answer = f"the result of `{names.get(subject, subject)}`"
            planned = PlannedGrading(
                case.name, answer, tuple(_rubric_outline(rubric)), row.threshold, deferred=case.deferred
            )
            yield _plan_judging(planned, rubric, row.judge, models, prices, None)
        for target, asked in _judge_matchers(case):
            jurors = jurors_of(asked, {"models": judge.models})
            own = Judge(asked.get("model", judge.model), asked.get("jury", judge.jury), judge.guarded, jurors)
            rubric = asked["rubric"]
            planned = PlannedGrading(
                case.name, f"`{target}`", tuple(_rubric_outline(rubric)), asked.get("threshold", DEFAULT_THRESHOLD)
            )
            yield _plan_judging(planned, rubric, own, models, prices, None)


def sums_of(planned: Sequence[PlannedGrading], cases: Sequence[Case]) -> Sums:
    """The sums over a plan."""
    judged = [one for one in planned if one.judge is not None and one.deferred is None]
    answered = [case for case in cases if case.deferred is None]
    graded = [case.body.candidate for case in answered if isinstance(case.body, EvalRow)]
    candidates = {candidate.key: candidate.agent for candidate in graded}
    asked = [agent for agent in candidates.values() if agent is not None]
    asked += [case.body for case in answered if isinstance(case.body, AgentProgram)]
    runs = [1 if agent.trials is None else agent.trials.runs for agent in asked]
    return Sums(
        rows=len(planned),
        scorer_calls=sum(one.scorer is not None and one.deferred is None for one in planned),
        judge_calls=(sum(one.calls[0] for one in judged), sum(one.calls[1] for one in judged)),
        answers=sum(runs),
        turns=sum(count * agent.max_turns for count, agent in zip(runs, asked, strict=True)),
        tokens=sum(one.tokens for one in judged),
        cost_usd=sum_costs(one.cost_usd for one in judged),
    )


def _plan_judging(
    planned: PlannedGrading, written: object, judge: Judge, models: Models, prices: PriceList, known: int | None
) -> PlannedGrading:
    seats = seats_of(judge, models)
    deferred = planned.deferred or why_no_verdict(seats)
    able = [seat.model for seat in seats if seat.missing is None]
    rubric = _rubric_of(written)
    calls = (1, 1) if rubric is None else calls_needed(rubric, jury=len(able) or 1, guarded=judge.guarded)
    asked = (len(SYSTEM) + sum(map(len, planned.rubric))) // CHARACTERS_PER_TOKEN + _FORM_TOKENS
    asked += UNKNOWN_ANSWER_TOKENS if known is None else known
    each = calls[1] // (len(able) or 1)
    cost = sum_costs(prices.cost(model, asked * each, REPLY_TOKENS * each) for model in able) if able else None
    return planned._replace(
        judge=judge,
        model=", ".join(dict.fromkeys(seat.model for seat in seats if seat.model)) or None,
        calls=calls,
        tokens=(asked + REPLY_TOKENS) * calls[1],
        cost_usd=cost,
        deferred=deferred,
    )


def _answer_source(candidate: Candidate) -> str:
    if candidate.output is not None:
        return f"the literal output ({counted(len(candidate.output), 'character')})"
    if candidate.call is not None:
        return f"the answer of `{candidate.call['tool']}` of server `{candidate.call['server']}`"
    agent = candidate.agent
    assert agent is not None
    over = f" with the tools of {', '.join(f'`{name}`' for name in agent.servers)}" if agent.servers else ""
    return f"the answer of {'a model' if agent.model is None else f'`{agent.model}`'}{over}, in at most {agent.max_turns} turns"


def _rubric_of(written: object) -> Rubric | None:
    try:
        return read_rubric(written)
    except (ValueError, KeyError, TypeError):
        return None


def _rubric_outline(written: object) -> list[str]:
    rubric = _rubric_of(written)
    return [] if rubric is None or written == "" else outline(rubric)


def _judge_matchers(case: Case) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The `llm-judge` matchers of a case, each with its target."""
    from mcptest_engine.suite.items import assertions_of

    for expect in case.expectations():
        for row in assertions_of(expect["assertions"]):
            for asked in _matchers(row["matcher"]):
                yield row.get("target", ""), asked


def _matchers(matcher: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(matcher, list):
        for inner in matcher:
            yield from _matchers(inner)
    elif isinstance(matcher, dict):
        for name, operand in matcher.items():
            if name == "llm-judge":
                yield operand if isinstance(operand, dict) else {"rubric": operand}
            elif name in NESTING_MATCHERS:
                yield from _matchers(operand)
