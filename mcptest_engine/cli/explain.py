"""`mcptest eval --explain`: who would grade what, with what, and how often a model would be called; starts nothing."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from mcptest_engine.cli.common import json_text
from mcptest_engine.core.errors import ExitCode
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest_engine.running.kinds.eval.explaining import PlannedGrading, Sums
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

_SHOWN = 200
_RUBRIC_LINES = 20


def show_plan(suite: LoadedSuite, settings: RunSettings, workspace: Workspace, *, as_json: bool) -> int:
    """Print the gradings of the plan; the exit code is 7 when nothing is selected."""
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.judging.providers.prices import PriceList
    from mcptest_engine.running.judged import Judged
    from mcptest_engine.running.kinds.eval.explaining import planned_gradings, sums_of
    from mcptest_engine.running.kinds.eval.plan import judge_of
    from mcptest_engine.running.plan import make_plan

    plan = make_plan(suite, settings, relative=workspace.relative)
    redactor = Redactor(suite.secrets)
    judged = Judged(suite, settings, workspace, redactor)
    models = judged.models
    cases = [case for case in judged.before(plan).cases if case.skip is None]
    found = list(planned_gradings(cases, models, PriceList(suite.prices), judge_of(None, suite.judge)))
    sums = sums_of(found, cases)
    if as_json:
        document = redactor.redact(
            {"suite": suite.name, "gradings": [one.to_json() for one in found], **sums.to_json()}
        )
        sys.stdout.write(json_text(document))
    else:
        text = "".join(f"{line}\n" for line in _plan_lines(suite.name, found, sums))
        sys.stdout.write(redactor.redact_text(text))
    if plan.missed is not None:
        sys.stderr.write(f"{redactor.redact_text(one_line(plan.missed))}\n")
    return ExitCode.PASSED if plan.cases or settings.selection.shard is not None else ExitCode.NO_TESTS


def _plan_lines(suite: str, found: Sequence[PlannedGrading], sums: Sums) -> Iterator[str]:
    yield f"{one_line(suite)}: {counted(sums.rows, 'grading')}, nothing was started"
    for one in found:
        yield ""
        yield one_line(one.test)
        yield f"  answer  {one_line(one.answer, _SHOWN)}"
        for number, line in enumerate(one.rubric[:_RUBRIC_LINES]):
            yield f"  {'rubric' if not number else '      '}  {one_line(line, _SHOWN)}"
        yield from _grader(one)
    yield ""
    yield from _sums(sums)


def _grader(one: PlannedGrading) -> Iterator[str]:
    if one.scorer is not None:
        scorer = one.scorer
        command = one_line(shlex.join(scorer.command), _SHOWN) if scorer.command else "not available in this build"
        yield f"  scorer  {one_line(scorer.name)} ({one_line(scorer.type)}): {command}"
        if one.deferred is not None:
            yield f"          {one_line(f'deferred: {one.deferred}', _SHOWN)}"
        return
    judge = one.judge
    assert judge is not None
    parts = [one_line(one.model) if one.model else "no model"]
    count = len(judge.models) or judge.jury
    parts += [f"a jury of {count}"] if count > 1 else []
    parts += ["asked in both orders"] if judge.guarded else []
    yield f"  judge   {', '.join(parts)}; passes at {one.threshold:g}"
    if one.deferred is not None:
        yield f"          {one_line(f'deferred: {one.deferred}', _SHOWN)}"
        return
    yield f"  calls   {_range(one.calls)}, about {one.tokens:,} tokens, {_cost_text(one.cost_usd)}"


def _sums(sums: Sums) -> Iterator[str]:
    from mcptest_engine.running.kinds.eval.explaining import UNKNOWN_ANSWER_TOKENS

    parts = [counted(sums.scorer_calls, "call") + " of scorers", f"{_range(sums.judge_calls)} of judges"]
    turns = f"in at most {counted(sums.turns, 'turn')}"
    parts += [f"{counted(sums.answers, 'conversation')} with models {turns}"] if sums.answers else []
    yield f"total: {', '.join(parts)}"
    if sums.judge_calls[1]:
        yield f"judges: about {sums.tokens:,} tokens, {_cost_text(sums.cost_usd)}"
        yield f"an answer that does not exist yet counts as {UNKNOWN_ANSWER_TOKENS} tokens"
    yield "the cost of scorers, and of models that answer, is known only afterwards; --max-cost limits both"


def _range(calls: tuple[int, int]) -> str:
    return counted(calls[1], "call") if calls[0] == calls[1] else f"{calls[0]} to {counted(calls[1], 'call')}"


def _cost_text(cost: float | None) -> str:
    return "price unknown" if cost is None else f"${cost:.4f}"
