"""What came of a composition: each node's status, output and time, the combined output, and what it cost.

See docs/how-to/compositions.md. Times are in milliseconds, from the start of the composition.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.values import dataclass
from mcptest_engine.running.kinds.composition.spending import Usage, by_model, total_said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_engine.core.results import FailureKind
    from mcptest_engine.running.kinds.composition.plan import NodePlan, Program


OK, ERR, SKIPPED = "ok", "err", "skipped"
BY_WHEN, BY_PARENT, BY_BUDGET, BY_INTERRUPTION = "when", "parent", "budget", "interrupted"
"""What a node was skipped by."""


@dataclass(slots=True)
class Call:
    """One call of a node, or one that was stood in for. `problem` is why it failed, None when it did not.

    `result` is what came back, `output` what the transform made of it. `kind` says whose a failure is, `stderr_tail` what its
    server said last. `item` numbers the element of a fan-out, from 0, and `iteration` the round of a loop, from 1; None where
    there is none. `refused`: the server answered with an error, of which `error_code` is the JSON-RPC code, None where the
    tool reported it.
    """

    args: Any = None
    result: Any = None
    output: Any = None
    problem: str | None = None
    hint: str | None = None
    kind: FailureKind | None = None
    stderr_tail: str | None = None
    started_ms: float = 0.0
    duration_ms: float = 0.0
    usage: Usage = field(default_factory=Usage)
    attempt: int = 1
    item: int | None = None
    iteration: int | None = None
    refused: bool = False
    error_code: int | None = None

    def refusal(self) -> dict[str, Any]:
        """{"refused", "error_code"?} of a call that the server answered with an error, {} of any other."""
        if not self.refused:
            return {}
        return {"refused": True} if self.error_code is None else {"refused": True, "error_code": self.error_code}

    def to_json(self, *, transformed: bool, tried: bool) -> dict[str, Any]:
        """One of several calls of a node; `tried`: where one fails it may be made again."""
        out: dict[str, Any] = {}
        if self.item is not None:
            out["item"] = self.item
        if self.iteration is not None:
            out["iteration"] = self.iteration
        if tried:
            out["attempt"] = self.attempt
        out["status"] = OK if self.problem is None else ERR
        out["started_ms"] = round(self.started_ms, 3)
        out["duration_ms"] = round(self.duration_ms, 3)
        out["args"] = self.args
        if transformed and self.result is not None:
            out["result"] = self.result
        out["output"] = self.output
        if self.problem is not None:
            out["message"] = self.problem
        return out | self.refusal()


@dataclass(slots=True)
class NodeTrace:
    """What came of one node. `reason` is why it failed or was skipped, `place` how many nodes were begun before it.

    `skipped_by` is the cause of a skip as data, for those who read the trace, `ended_by` that of an end under way, and `item`
    the number of the element of a fan-out that failed. `odd` is what its server's list has against the
    arguments of a call that succeeded.

    As JSON: {"id", "status", "output", "duration_ms", "started_ms"?, "skipped_by"?, "ended_by"?, "item"?,
    "message"?, "hint"?, "server", "tool", "needs", "mocked"?, "frozen"?, "cost_usd"?, "tokens"?, "model"?}; without `for_each`
    and `loop` "args" and the "result" before a transform, of several attempts the last one's; with them, and of several
    attempts, "calls", which is empty where there were none.
    """

    plan: NodePlan
    status: str = SKIPPED
    output: Any = None
    started_ms: float | None = None
    place: int = 0
    duration_ms: float | None = None
    skipped_by: str | None = None
    ended_by: str | None = None
    item: int | None = None
    reason: str | None = None
    hint: str | None = None
    kind: FailureKind | None = None
    stderr_tail: str | None = None
    odd: str | None = None
    calls: list[Call] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        """The tokens and the USD of all its calls."""
        return total_said(call.usage for call in self.calls)

    def to_json(self, parents: Sequence[str]) -> dict[str, Any]:
        """The node; `parents` holds the ids of all nodes by their numbers."""
        plan = self.plan
        out: dict[str, Any] = {"id": plan.id, "status": self.status, "output": self.output}
        out["duration_ms"] = None if self.duration_ms is None else round(self.duration_ms, 3)
        if self.started_ms is not None:
            out["started_ms"] = round(self.started_ms, 3)
        if self.skipped_by is not None:
            out["skipped_by"] = self.skipped_by
        if self.ended_by is not None:
            out["ended_by"] = self.ended_by
        if self.item is not None:
            out["item"] = self.item
        if self.reason is not None:
            out["message"] = self.reason
        if self.hint is not None:
            out["hint"] = self.hint
        out["server"], out["tool"] = plan.server, plan.tool
        out["needs"] = [parents[parent] for parent in plan.parents]
        if plan.mock:
            out["mocked"] = True
        elif plan.freeze == "golden":
            out["frozen"] = True
        usage = self.usage
        if usage.said:
            out["cost_usd"], out["tokens"] = usage.cost_usd, usage.tokens
            if usage.model is not None:
                out["model"] = usage.model
        if self.calls and not plan.repeats:
            last = self.calls[-1]
            out["args"] = last.args
            if plan.transform is not None or self.status != OK:
                out["result"] = last.result
            out |= last.refusal()
        if len(self.calls) > 1 or (plan.repeats and self.status != SKIPPED):
            transformed, tried = plan.transform is not None, plan.retries > 0
            out["calls"] = [call.to_json(transformed=transformed, tried=tried) for call in self.calls]
        return out


@dataclass(slots=True)
class Trace:
    """What came of a composition. `tripped` is the cap that was crossed, `budget_words` by how much."""

    program: Program
    nodes: list[NodeTrace]
    output: Any = None
    output_problem: str | None = None
    duration_ms: float = 0.0
    tripped: str | None = None
    budget_words: str | None = None

    @property
    def ran(self) -> bool:
        """Whether every node was done, or skipped for a reason that the composition gives."""
        failed = any(node.status == ERR for node in self.nodes)
        return not failed and self.tripped is None and self.output_problem is None

    @property
    def failed(self) -> list[NodeTrace]:
        """The nodes that failed, in order."""
        return [self.nodes[number] for number in self.program.order if self.nodes[number].status == ERR]

    def skipped_by_failures(self) -> int:
        """How many nodes were skipped because one before them failed, and not by a `when`."""
        lost = {number for number, node in enumerate(self.nodes) if node.status == ERR}
        failed = len(lost)
        for number in self.program.order:
            plan, is_skipped = self.nodes[number].plan, self.nodes[number].status == SKIPPED
            if is_skipped and any(parent in lost and parent not in plan.defaults for parent in plan.parents):
                lost.add(number)
        return len(lost) - failed

    def order(self) -> list[str]:
        """The nodes that were begun, in the order in which they were."""
        begun = [node for node in self.nodes if node.status != SKIPPED]
        return [node.plan.id for node in sorted(begun, key=lambda node: node.place)]

    def critical_path(self) -> list[str]:
        """The chain of nodes that the end waited for: the last to end, and before each the last of its parents."""
        ends = {
            number: (node.started_ms or 0.0) + node.duration_ms
            for number, node in enumerate(self.nodes)
            if node.duration_ms is not None
        }
        way: list[str] = []
        at = max(ends, key=lambda number: ends[number], default=None)
        while at is not None:
            way.append(self.nodes[at].plan.id)
            before = [parent for parent in self.nodes[at].plan.parents if parent in ends]
            at = max(before, key=lambda number: ends[number], default=None)
        return way[::-1]

    def envelope(self) -> dict[str, Any]:
        """What a target looks into, `duration_ms` included; the record keeps the same."""
        usage = total_said(node.usage for node in self.nodes)
        composition: dict[str, Any] = {"ran": self.ran, "order": self.order()}
        composition["cost_total"], composition["tokens_total"] = usage.cost_usd, usage.tokens
        if self.tripped is not None:
            composition["budget_tripped"] = self.tripped
            composition["budget_scope"] = "all" if self.program.spending.of_all else "case"
        composition["critical_path"] = self.critical_path()
        ids = [node.plan.id for node in self.nodes]
        out: dict[str, Any] = {
            "composition": composition,
            "nodes": {node.plan.id: node.to_json(ids) for node in self.nodes},
            "output": self.output,
            "cost": {"total": usage.cost_usd},
            "tokens": {"total": usage.tokens},
            "duration_ms": round(self.duration_ms, 3),
        }
        models = by_model(call.usage for node in self.nodes for call in node.calls)
        if models:
            out["models"] = models
        return out
