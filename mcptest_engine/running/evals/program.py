"""A row of an eval ready to be graded. Plain data: a case holds one and travels with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.judging.scorers.values import DEFAULT_TIMEOUT_MS as DEFAULT_SCORER_TIMEOUT_MS
from mcptest_engine.judging.scorers.values import Scorer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.running.agents.program import AgentProgram

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
    "args"}. Source: decisions 6.
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


class MetricRow(NamedTuple):
    """What a model judges of another case: `metric` is "rubric", "mcp_task_completion", "mcp_use", …; `written` is its value.

    `subject` is the id of that case, which stands before this one in the plan, and `run` its number among `runs:`.
    """

    metric: str
    written: Any
    subject: str
    threshold: float = DEFAULT_THRESHOLD
    judge: Judge = Judge()
    run: str = ""
