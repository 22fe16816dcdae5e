"""One attempt at a composition: its walk over the run's servers, and what comes of it by the suite's own judgement.

A walk's clock and servers are those of the run; its nodes are told of as they begin and end.

See docs/how-to/compositions.md.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.costs import GOLDEN
from mcptest_engine.core.events import NodeChanged
from mcptest_engine.core.results import Failure, FailureKind, NotRun, Part, Verdict
from mcptest_engine.core.targets import parse_target
from mcptest_engine.core.text import counted
from mcptest_engine.running.kinds.composition.spending import USAGE
from mcptest_engine.running.kinds.composition.trace import OK
from mcptest_engine.running.kinds.composition.walk import ComputeError, NotFrozen, Walk
from mcptest_engine.running.verdicts import Outcome, failure_of, judge
from mcptest_engine.suite.items import assertions_of, uses_matcher

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from mcptest_engine.core.errors import ServerError
    from mcptest_engine.core.events import Emit
    from mcptest_engine.judging.snapshots import SnapshotStore
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.kinds.composition.freezing import Freezer
    from mcptest_engine.running.kinds.composition.plan import Row
    from mcptest_engine.running.kinds.composition.trace import Call, NodeTrace, Trace
    from mcptest_engine.running.slow_work import SlowWork
    from mcptest_engine.servers.calls import Exchange


_SHOWN = 3
"""Of nodes that failed, how many are named after the first."""
_UNANSWERED = frozenset(
    {FailureKind.SERVER, FailureKind.TIMEOUT, FailureKind.AUTH, FailureKind.INVALID, FailureKind.SUITE}
)
_TELLS_OF_FAILURE = frozenset(("status", "message", "hint", "result", "calls"))
"""What of a node says whether its call failed."""
_EMPTY: Mapping[str, Any] = {"error": None, "notifications": (), "server_requests": (), "http": None}


class RunServices:
    """What a walk needs of a run. `call_tool` is the run's own, for this case's sessions."""

    def __init__(
        self,
        case: Case,
        row: Row,
        *,
        slow: SlowWork,
        redact: Callable[[Any], Any],
        clock: Callable[[], float],
        emit: Emit | None,
        call_tool: Callable[..., Awaitable[tuple[Exchange, str | None]]],
        freezer: Freezer | None = None,
        cut_short: Callable[[Mapping[str, Any]], None] | None = None,
        judge_by_models: Callable[..., Awaitable[Outcome]] | None = None,
    ) -> None:
        self._case, self._row = case, row
        self._slow = slow
        self._emit = emit
        self._call_tool = call_tool
        self._freezer = freezer
        self._cut_short = cut_short
        self._judge_by_models = judge_by_models
        self.redact = redact
        self._now = clock
        self._at_work = 0
        self._queued = 0
        self._still_since: float | None = None
        self._stood_still = 0.0

    def clock(self) -> float:
        """Seconds, without those in which the walk did nothing but wait for its turn at jq."""
        return (self._now() if self._still_since is None else self._still_since) - self._stood_still

    def _count(self, *, at_work: int = 0, queued: int = 0) -> None:
        """Take note that calls and programs begin or end, or begin or end to wait for their turn."""
        self._at_work += at_work
        self._queued += queued
        is_still = self._queued > 0 and self._at_work == 0
        if is_still and self._still_since is None:
            self._still_since = self._now()
        elif not is_still and self._still_since is not None:
            self._stood_still += self._now() - self._still_since
            self._still_since = None

    async def call(
        self, server: str, tool: str, args: Mapping[str, object], timeout_seconds: float
    ) -> tuple[Mapping[str, Any], str | None]:
        """The answer of one call, and what its server's list has against it. Raises: ServerError."""
        self._count(at_work=1)
        try:
            exchange, odd = await self._call_tool(server, tool, args, timeout_seconds=timeout_seconds)
        finally:
            self._count(at_work=-1)
        return exchange.answer, odd

    async def compute(self, program: str, value: object) -> list[Any]:
        """The outputs of a jq program, which runs beside the loop. Raises: ComputeError."""
        from mcptest_engine.core.clipping import show_text
        from mcptest_engine.core.jq import JqProgramError, JqRunError, run_program

        try:
            return await self._run_program(partial(run_program, program, value))
        except (JqProgramError, JqRunError) as wrong:
            told, is_late = wrong.message, isinstance(wrong, JqRunError) and wrong.timed_out
        shown = value if is_late else self.redact(value)
        if shown is not value:  # jq cuts off what it quotes, and half a secret is not known as one
            try:
                await self._run_program(partial(run_program, program, shown))
                told = "it fails on a value that contains a secret"
            except (JqProgramError, JqRunError) as wrong:
                told = wrong.message
        raise ComputeError(show_text(self.redact(told)))

    async def _run_program(self, run: Callable[[], list[Any]]) -> list[Any]:
        """Run it when its turn has come; until then it may be that the clock stands still."""
        waits = True
        self._count(queued=1)

        def begin() -> None:
            nonlocal waits
            waits = False
            self._count(queued=-1, at_work=1)

        try:
            return await self._slow.run(run, begin)
        finally:
            self._count(queued=-1) if waits else self._count(at_work=-1)

    def frozen(self, node: NodeTrace, call: Call) -> Mapping[str, Any]:
        """The answer that was kept of a call. Raises: NotFrozen."""
        if self._freezer is None:
            raise NotFrozen("`freeze: golden`: no saved results are available here", "run it with mcptest run")
        return self._freezer.get(self._case.snapshot_name, self._row, node, call)

    def freeze(self, node: NodeTrace) -> None:
        """Keep what came of a node's calls."""
        if self._freezer is not None:
            self._freezer.keep(self._case.snapshot_name, self._row, node)

    def cut_short(self, trace: Trace) -> None:
        """The run was interrupted in the middle of this."""
        if self._cut_short is not None:
            self._cut_short(trace.envelope())

    async def judged(self, judging: Callable[..., Outcome], envelope: Mapping[str, object]) -> Outcome:
        """What the judgement says, beside the loop where it takes its time; models have their say where it needs one."""
        if self._judge_by_models is not None and uses_matcher(self._case.expect, "llm-judge"):
            return await self._judge_by_models(judging, self._case, envelope)
        if not self._case.slow_to_judge:
            return judging()
        return await self._slow.run(judging)

    def kind_of(self, error: ServerError) -> FailureKind:
        """Whose failure an error is."""
        return failure_of(error).kind

    def emit_node(self, node: NodeTrace, *, begun: bool) -> None:
        """A node was begun, or has ended."""
        if self._emit is None:
            return
        status = "running" if begun else node.status
        message = None if node.reason is None else str(self.redact(node.reason))
        duration_ms = None if node.duration_ms is None else round(node.duration_ms, 3)
        self._emit(
            NodeChanged(test=self._case.id, node=node.plan.id, status=status, duration_ms=duration_ms, message=message)
        )


async def run_composition(
    case: Case, row: Row, services: RunServices, *, number: int, snapshots: SnapshotStore | None
) -> Outcome:
    """The `number`-th attempt at a composition."""
    spending = row.program.spending
    if spending.tripped is not None:
        message = f"not run: the budget of all cases was used up before ({spending.tripped})"
        return Outcome(Verdict.SKIP, 0.0, message=message, not_run=NotRun.COST)
    walk = Walk(row, services)
    try:
        trace = await walk.run()
        envelope = {**_EMPTY, **trace.envelope(), "attempt": number}
        outcome = await services.judged(
            partial(judge, case, envelope, snapshots=snapshots, redact=services.redact), envelope
        )
    except asyncio.CancelledError:
        services.cut_short(walk.so_far())
        raise
    told = {key: value for key, value in envelope.items() if key not in _EMPTY and key != "attempt"}
    outcome = outcome._replace(output={"output": trace.output}, trace=told)
    odd = (f"node `{node.plan.id}`: {node.odd}" for node in trace.nodes if node.odd is not None)
    unsaid = _unsaid(trace)
    outcome = outcome._replace(warnings=(*outcome.warnings, *odd, *(() if unsaid is None else (unsaid,))))
    return _decided(case, row, trace, outcome)


def _unsaid(trace: Trace) -> str | None:
    """Caps on what no call tells of hold nothing, which whoever set them has to know."""
    spending = trace.program.spending
    caps = [
        name
        for name, cap in (("max_cost_usd", spending.max_cost_usd), ("max_tokens", spending.max_tokens))
        if cap is not None
    ]
    calls = [call for node in trace.nodes for call in node.calls]
    if trace.tripped is not None or not caps or not calls or any(call.usage.said for call in calls):
        return None
    have = "has" if len(caps) == 1 else "have"
    return f'no call reported its cost (`_meta["{USAGE}"]`), so `{"` and `".join(caps)}` {have} no effect'


def _decided(case: Case, row: Row, trace: Trace, outcome: Outcome) -> Outcome:
    """With assertions they and the budget decide; without, every node has to have run.

    What failed in the graph comes before the assertions that failed: they may follow from it. A node that an assertion expected
    to fail is no such cause. A failed node that no assertion looks at fails the test when it got no answer, or when no node
    succeeded at all; else it is a warning. Where no node ran and nothing is asserted, nothing was checked.
    """
    failure = outcome.failure
    asserts = bool(case.expect["assertions"])
    targets = [row["target"] for row in assertions_of(case.expect["assertions"])]
    unseen = [node for node in trace.failed if not _looked_at(node.plan.id, targets)] if asserts else []
    all_failed = not any(node.status == OK for node in trace.nodes)
    unanswered = next((node for node in unseen if all_failed or node.kind in _UNANSWERED), None)
    if failure is None and unanswered is None and trace.tripped is None:
        told = (f"node `{node.plan.id}` failed, and no assertion checks it: {node.reason}" for node in unseen)
        outcome = outcome._replace(warnings=(*outcome.warnings, *told))
    if trace.tripped is not None:
        words = f"budget {trace.budget_words}"
        own, failure = failure, Failure(kind=FailureKind.BUDGET, message=words)
        failure = failure if own is None else own.with_part(Part.BUDGET, words)
    elif unanswered is not None or (failure is None and not asserts and not trace.ran):
        failure = _graph_failure(trace, unanswered)
    elif failure is not None and not trace.ran:
        failure = _after_its_cause(failure, trace, outcome)
    if failure is None and not asserts and all_failed:
        return outcome._replace(verdict=Verdict.INCONCLUSIVE, message="nothing was checked: every node was skipped")
    if failure is None:
        return outcome
    failure = replace(failure, line=_line_of(trace, outcome, row, unanswered))
    return outcome._replace(verdict=Verdict.FAIL, message=failure.message, failure=failure)


def _looked_at(node_id: str, targets: Iterable[str]) -> bool:
    """Whether one of the targets tells of the node whether it failed: it is in `nodes.ID`, or `nodes` or `composition.ran`."""
    paths = (parse_target(target).segments[:3] for target in targets)
    return any(
        path in (("nodes",), ("nodes", node_id), ("composition", "ran"))
        or (path[:2] == ("nodes", node_id) and path[2] in _TELLS_OF_FAILURE)
        for path in paths
    )


def _after_its_cause(failure: Failure, trace: Trace, outcome: Outcome) -> Failure:
    """The failure of assertions behind what failed in the graph, where no assertion expected that."""
    node = _unexpected(trace, outcome)
    if node is None and trace.failed:
        return failure
    return replace(
        failure.with_part(Part.CAUSE, _graph_failure_text(trace, node)),
        hint=failure.hint or (node.hint if node is not None else None),
        stderr_tail=failure.stderr_tail or (node.stderr_tail if node is not None else None),
    )


def _unexpected(trace: Trace, outcome: Outcome) -> NodeTrace | None:
    """The first failed node whose failure no assertion that holds looks at."""
    holding = [leaf.target for row in outcome.assertions for leaf in row.leaves() if leaf.passed]
    return next((node for node in trace.failed if not _looked_at(node.plan.id, holding)), None)


def _line_of(trace: Trace, outcome: Outcome, row: Row, node: NodeTrace | None) -> int | None:
    """The line of the node that is the cause, else of the case, or its `golden`; None for that of the composition itself."""
    first = next((one for one in outcome.assertions if one.passed is False), None)
    if trace.tripped is None and (node := node or _unexpected(trace, outcome)) is not None:
        return node.plan.line
    return row.golden_line if first is not None and first.name == GOLDEN else row.line


def _graph_failure(trace: Trace, node: NodeTrace | None = None) -> Failure:
    """What failed in the graph: `node`, or else what did first."""
    first = node or next(iter(trace.failed), None)
    if first is None:
        return Failure(kind=FailureKind.ASSERTION, message=_graph_failure_text(trace))
    kind = first.kind or FailureKind.ASSERTION
    return Failure(kind=kind, message=_graph_failure_text(trace, node), hint=first.hint, stderr_tail=first.stderr_tail)


def _graph_failure_text(trace: Trace, node: NodeTrace | None = None) -> str:
    failed = trace.failed if node is None else [node, *(other for other in trace.failed if other is not node)]
    if not failed:
        return trace.output_problem or "the composition did not finish"
    first = failed[0]
    skipped = trace.skipped_by_failures()
    after = f" ({counted(skipped, 'node')} skipped)" if skipped else ""
    others = [f"`{node.plan.id}`" for node in failed[1:]]
    rest = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    more = f"; so did {', '.join(others[:_SHOWN])}{rest}" if others else ""
    return f"node `{first.plan.id}` failed: {first.reason}{more}{after}"
