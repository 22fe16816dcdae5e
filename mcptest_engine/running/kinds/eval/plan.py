"""How an eval is planned: a row for each answer and grader, and for each metric that a model judges of other tests. Pure."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.costs import REPEAT_MARK
from mcptest_engine.core.enums import TestKind
from mcptest_engine.judging.scorers.juries import seats_of, why_no_verdict
from mcptest_engine.judging.scorers.values import DEFAULT_TIMEOUT_MS as DEFAULT_SCORER_TIMEOUT_MS
from mcptest_engine.judging.scorers.values import Scorer
from mcptest_engine.running.declared_tests import Shared, declared_tests, jurors_of, needs_model
from mcptest_engine.running.kinds.agent.plan import AgentProgram, agent_program, program_of
from mcptest_engine.safety.tool_classes import classify_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest_engine.judging.scorers.juries import Providers
    from mcptest_engine.running.declared_tests import DeclaredTest, ModelRun
    from mcptest_engine.suite.load import LoadedSuite, TestEntry


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

    def call_text(self, _case: object) -> str:
        return f"graded by {'a judge' if self.scorer is None else self.scorer.name}"

    @property
    def graded_by(self) -> str:
        """The name of the scorer; "judge" for a model."""
        return "judge" if self.scorer is None else self.scorer.name

    def list_members(self, case: object) -> dict[str, Any]:
        agent = self.candidate.agent
        return {**({} if agent is None else agent.list_members(case)), "scorer": self.graded_by}

    def request_key(self, case: object) -> tuple[object, ...]:
        agent = self.candidate.agent
        return ("call", self.candidate.call) if agent is None else agent.request_key(case)

    def may_change_state(self, _case: object) -> bool:
        call = self.candidate.call
        return self.candidate.agent is not None or (call is not None and not classify_name(call["tool"]).only_reads)

    def for_repeat(self, number: int) -> EvalRow:
        agent = self.candidate.agent
        candidate = self.candidate._replace(
            key=f"{self.candidate.key}{REPEAT_MARK}{number}", agent=None if agent is None else agent.for_repeat(number)
        )
        return self._replace(candidate=candidate)

    def deferral_reason(self, providers: Providers) -> str | None:
        agent = self.candidate.agent
        reason = None if agent is None else agent.deferral_reason(providers)
        if reason is None and self.scorer is None:
            return why_no_verdict(seats_of(self.judge, providers))
        return reason


class MetricRow(NamedTuple):
    """What a model judges of another case: `metric` is "rubric", "mcp_task_completion", "mcp_use", …; `written` is its value.

    `run` is the number of that case among `runs:`.
    """

    metric: str
    written: Any
    threshold: float = DEFAULT_THRESHOLD
    judge: Judge = Judge()
    run: str = ""

    def call_text(self, _case: object) -> str:
        return "graded by a judge"

    def list_members(self, _case: object) -> dict[str, Any]:
        return {"scorer": "judge", "metric": self.metric}

    def request_key(self, _case: object) -> tuple[object, ...]:
        return "", None

    def may_change_state(self, _case: object) -> bool:
        return False

    def for_repeat(self, _number: int) -> MetricRow:
        return self

    def deferral_reason(self, _providers: Providers) -> None:
        return None


NO_JUDGE = Judge()


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


class JudgedTests:
    """Plans what models and graders do for the agent tests and evals of one suite."""

    def __init__(self, suite: LoadedSuite) -> None:
        self._suite = suite
        self._inconclusive = suite.run_options.get("inconclusive") or {}
        self._scorers = {written["name"]: _scorer(written) for written in suite.scorers}

    def body(self, entry: TestEntry, test: DeclaredTest) -> AgentProgram | EvalRow:
        """What is done for one test of an entry.

        Rows with one answer have one key of their candidate. It is a name: who plans makes it one that no other eval has.
        """
        data, run = entry.data, test.model_run
        if test.kind is TestKind.AGENT:
            return agent_program(data, entry.server, run, self._suite.budget, self._inconclusive)
        rubric = data.get("rubric", "")
        of_rubric = rubric.get("threshold") if isinstance(rubric, dict) else None
        return EvalRow(
            eval=data["name"],
            candidate=_candidate(data, f"{data['name']}{run.suffix}", entry.server, run, self._suite.budget),
            rubric=rubric,
            threshold=data.get("threshold", DEFAULT_THRESHOLD if of_rubric is None else of_rubric),
            scorer=None if test.grader is None else self._scorers[test.grader],
            judge=judge_of(data.get("judge"), self._suite.judge),
            metadata=data.get("metadata", {}),
            run=str(run.run or ""),
        )

    def bodies(self, entry: TestEntry, models: Iterable[str] = ()) -> list[AgentProgram | EvalRow]:
        """What is done for all tests of an entry; `models` are asked in place of those that it names."""
        shared = Shared.of(self._suite, models)
        tests = declared_tests(entry.kind, entry.data, entry.data["name"], shared)
        return [self.body(entry, test) for test in tests]


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


def metric_row(test: DeclaredTest, written: Mapping[str, object], judge: Mapping[str, object]) -> MetricRow:
    """What a model judges of a test: `test` is the metric, `written` the `eval` of its entry, `judge` that of the suite."""
    assert test.metric is not None
    value = written[test.metric]
    options = value if isinstance(value, dict) else {}
    threshold, run = options.get("threshold", DEFAULT_THRESHOLD), str(test.model_run.run or "")
    return MetricRow(test.metric, value, threshold, judge_of(options.get("judge"), judge), run)
