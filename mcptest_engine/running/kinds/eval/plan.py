"""How an eval is planned: a row for each answer and grader, and for each metric that a model judges of other tests. Pure."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.judging.scorers.juries import seat_of, seats_of, why_no_verdict
from mcptest_engine.judging.scorers.values import DEFAULT_TIMEOUT_MS as DEFAULT_SCORER_TIMEOUT_MS
from mcptest_engine.judging.scorers.values import Scorer
from mcptest_engine.running.ids import graders_of, jurors_of, model_runs_of_eval, name_of_grading, needs_model
from mcptest_engine.running.kinds.agent.plan import AgentProgram, program_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.judging.scorers.juries import Providers
    from mcptest_engine.running.ids import ModelRun, Shared
    from mcptest_engine.suite.load import LoadedSuite


__all__ = ["DEFAULT_SCORER_TIMEOUT_MS", "DEFAULT_THRESHOLD", "Candidate", "EvalRow", "Judge", "MetricRow", "Scorer"]

DEFAULT_THRESHOLD = 0.7


class Judge(NamedTuple):
    """How a model grades: `model` None for whichever there is, `jury` how often it is asked; or `models`, each of them once.

    `guarded`: asked a second time with what it reads in another order, so that a verdict which hangs on the order is none.
    """

    model: str | None = None
    jury: int = 1
    guarded: bool = False
    models: tuple[str, ...] = ()


class Candidate(NamedTuple):
    """Where an answer that is to be graded comes from; exactly one of `output`, `call` and `agent` is there.

    Rows with the same `key` grade the same answer, which is got once. `prompt` is what it answers. `call` is {"server", "tool",
    "args"}.
    """

    key: str
    prompt: str
    output: str | None = None
    call: Mapping[str, Any] | None = None
    agent: AgentProgram | None = None

    @property
    def servers(self) -> Iterator[str]:
        if self.call is not None:
            yield self.call["server"]
        elif self.agent is not None:
            yield from self.agent.servers


class EvalRow(NamedTuple):
    """An eval's candidate and who grades it: a `scorer`, or where that is None the `judge`.

    `rubric` is as written: a text, or the mapping of a structured one. `threshold` decides where a judge grades. `run` is its
    number among `runs:`, "" for the only one; each is graded anew.
    """

    eval: str
    candidate: Candidate
    rubric: Any
    threshold: float = DEFAULT_THRESHOLD
    scorer: Scorer | None = None
    judge: Judge = Judge()
    metadata: Mapping[str, Any] = {}
    run: str = ""

    @property
    def servers(self) -> tuple[str, ...]:
        """The servers that are asked for the answer."""
        return tuple(self.candidate.servers)


class MetricRow(NamedTuple):
    """What a model judges of another case: `metric` is "rubric", "mcp_task_completion", "mcp_use", …; `written` is its value.

    `run` is the number of that case among `runs:`.
    """

    metric: str
    written: Any
    threshold: float = DEFAULT_THRESHOLD
    judge: Judge = Judge()
    run: str = ""


NO_JUDGE = Judge()


def scorers_of(suite: LoadedSuite) -> dict[str, Scorer]:
    """The scorers of a suite by their names."""
    return {written["name"]: _scorer(written) for written in suite.scorers}


def _scorer(written: Mapping[str, Any]) -> Scorer:
    if written["type"] != "exec":
        return Scorer(written["name"], written["type"])  # what else it says is another build's
    cwd = written.get("cwd")
    return Scorer(
        name=written["name"],
        type="exec",
        command=tuple(written["command"]),
        env=written.get("env", {}),
        cwd=None if cwd is None else os.path.abspath(cwd),  # noqa: PTH100  (resolve() would follow links)
        timeout_ms=written.get("timeout_ms", DEFAULT_SCORER_TIMEOUT_MS),
        concurrency=written.get("concurrency"),
        max_cost_usd=written.get("max_cost_usd"),
    )


def judge_of(written: Mapping[str, Any] | None, otherwise: Mapping[str, Any]) -> Judge:
    """The judge that is written, with what it leaves out as in `otherwise`."""
    known = {**otherwise, **(written or {})}
    return Judge(
        known.get("model"),
        known.get("jury", NO_JUDGE.jury),
        known.get("guarded", NO_JUDGE.guarded),
        jurors_of(written or {}, otherwise),
    )


def rows_of(
    data: Mapping[str, Any],
    server: str,
    shared: Shared,
    *,
    scorers: Mapping[str, Scorer],
    judge: Mapping[str, Any],
    budget: Mapping[str, object],
) -> Iterator[tuple[str, EvalRow]]:
    """The rows of an eval with their full names; rows of one answer share its candidate. `judge` and `budget` are the suite's.

    The key of a candidate is its full name: who plans makes it one that no other eval has.
    """
    graders = graders_of(data, shared.scorers)
    rubric = data.get("rubric", "")
    told = rubric.get("threshold") if isinstance(rubric, dict) else None
    threshold = data.get("threshold", DEFAULT_THRESHOLD if told is None else told)
    for model_run in model_runs_of_eval(data, shared):
        name = f"{data['name']}{model_run.suffix}"
        candidate = _candidate(data, name, server, model_run, budget)
        for grader in graders or (None,):
            yield (
                name_of_grading(name, grader, graders),
                EvalRow(
                    eval=data["name"],
                    candidate=candidate,
                    rubric=rubric,
                    threshold=threshold,
                    scorer=None if grader is None else scorers[grader],
                    judge=judge_of(data.get("judge"), judge),
                    metadata=data.get("metadata", {}),
                    run=str(model_run.run or ""),
                ),
            )


def _candidate(
    data: Mapping[str, Any], key: str, server: str, model_run: ModelRun, budget: Mapping[str, Any]
) -> Candidate:
    """Where the answer comes from: the literal, the call, or the model."""
    prompt = data.get("prompt", "")
    if needs_model(data):
        return Candidate(key, prompt, agent=program_of(data, server, model_run, budget))
    if "output" in data:
        output = data["output"]
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return Candidate(key, prompt, output=text)
    call = data["call"]
    return Candidate(
        key, prompt, call={"server": call.get("server", server), "tool": call["tool"], "args": call.get("args", {})}
    )


def why_deferred(body: AgentProgram | EvalRow, providers: Providers) -> str | None:
    """Why it is not run, since a model that answers or judges cannot be asked; None where each can. Asks nobody."""
    program = body if isinstance(body, AgentProgram) else body.candidate.agent
    reason = None if program is None else seat_of(program.model, providers, judging=False).missing
    if reason is None and isinstance(body, EvalRow) and body.scorer is None:
        return why_no_verdict(seats_of(body.judge, providers))
    return reason


def metric_row(metric: str, written: object, judge: Mapping[str, object], *, run: str = "") -> MetricRow:
    """What a model judges of the `run`-th run of a case; `judge` is the suite's."""
    told = written if isinstance(written, dict) else {}
    return MetricRow(metric, written, told.get("threshold", DEFAULT_THRESHOLD), judge_of(told.get("judge"), judge), run)
