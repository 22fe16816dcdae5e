"""`mcptest run --dry-run --estimate-cost`: estimate the cost of a run's compositions, before anything is called."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mcptest_engine.cli.common import json_text
from mcptest_engine.core.errors import ExitCode
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest_engine.running.kinds.composition.estimating import CompositionEstimate, Expected, NodeEstimate
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

UNKNOWN = "unknown"
_HEAD = ("node", "calls", "expected", "tokens", "at most", "known from")


def show_estimate(suite: LoadedSuite, settings: RunSettings, workspace: Workspace, *, as_json: bool) -> int:
    """Print the possible cost of each composition of the plan, for each node; the exit code is 7 when nothing is selected."""
    from mcptest_engine.running.kinds.composition.estimating import estimate, in_all
    from mcptest_engine.running.plan import make_plan

    plan = make_plan(suite, settings, relative=workspace.relative)
    found = estimate(plan.cases, workspace.recent_runs(workspace.relative(suite.path)))
    cost, tokens = in_all(found)
    if as_json:
        sums = {"cost_usd": cost.to_json(), "tokens": tokens.to_json()}
        unknown = any(one.unknown for one in found)
        document = {
            "suite": suite.name,
            **sums,
            "complete": not unknown,
            "compositions": [one.to_json() for one in found],
        }
        sys.stdout.write(json_text(document))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in _estimate_lines(suite.name, found, cost, tokens)))
    return ExitCode.PASSED if plan.cases or settings.selection.shard is not None else ExitCode.NO_TESTS


def _estimate_lines(
    suite: str, found: Sequence[CompositionEstimate], cost: Expected, tokens: Expected
) -> Iterator[str]:
    yield f"{one_line(suite)}: {counted(len(found), 'composition')}, nothing was called"
    for one in found:
        yield ""
        repeats = one.rows // one.cases
        yield f"{one_line(one.name)}: {counted(one.cases, 'case')} x {counted(repeats, 'run')}"
        yield from _table([_HEAD, *(_estimate_row(node) for node in one.nodes)])
        yield f"  {_sums(one.cost_usd, one.tokens, whole=not one.unknown)}"
        for cap in one.capped:
            part = one.cost_usd if cap == "max_cost_usd" else one.tokens
            is_over = part.expected is not None and part.most is not None and part.expected > part.most
            yield (
                f"  over the budget, which ends the composition: {cap}"
                if is_over
                else f"  limited by the budget: {cap}"
            )
        if one.unknown:
            names = ", ".join(f"`{one_line(node)}`" for node in one.unknown)
            yield f"  unknown, and not part of the estimate: {names}"
    if len(found) > 1:
        yield ""
        yield f"total: {_sums(cost, tokens, whole=not any(one.unknown for one in found))}"


def _sums(cost: Expected, tokens: Expected, *, whole: bool) -> str:
    """`expected $0.03 and 550 tokens, at most $0.50 and 20,000 tokens`; without `whole`, some nodes are not included."""
    expected = f"expected {_money(cost.expected)} and {_count(tokens.expected)} tokens"
    expected += "" if whole else " and what is unknown"
    most = [f"{_money(cost.most)}"] if cost.most is not None else []
    most += [f"{_count(tokens.most)} tokens"] if tokens.most is not None else []
    return f"{expected}, at most {' and '.join(most)}" if most else f"{expected}, no upper limit is known"


def _estimate_row(node: NodeEstimate) -> tuple[str, ...]:
    basis = {"recorded": f"run {node.run_id}", "golden": f"run {node.run_id}", "mock": "its mock"}.get(node.basis)
    calls = _count(node.calls.expected)
    if node.calls.most is not None and node.calls.most != node.calls.expected:
        calls += f" (at most {_count(node.calls.most)})"
    cost, tokens = _money(node.cost_usd.expected), _count(node.tokens.expected)
    return (one_line(node.id), calls, cost, tokens, _money(node.cost_usd.most), basis or "no run here yet")


def _money(cost: float | None) -> str:
    from mcptest_engine.reporting.facts import cost_text

    return cost_text(cost)


def _count(count: float | None) -> str:
    return UNKNOWN if count is None else f"{count:,.0f}"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
