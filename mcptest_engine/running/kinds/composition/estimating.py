"""What a run's compositions may cost, before anything is called: from caps on calls, and from what the same nodes cost last.

Pure: the cases of a plan and earlier records come in as values. What nobody knows is said to be unknown, never taken for zero.
A node that was called and told of no cost counts as free, as it does in a run.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.costs import composition_base, sum_costs
from mcptest_engine.running.kinds.composition.plan import Row
from mcptest_engine.running.kinds.composition.spending import usage_of
from mcptest_engine.suite.references import Unresolved, holds_templates, part_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.kinds.composition.plan import NodePlan, Program
    from mcptest_engine.suite.references import Reference


class Seen(NamedTuple):
    """What a node cost when it was last run: over `calls` calls. `cost_usd` is None when a price was unknown."""

    run_id: str
    calls: int
    cost_usd: float | None
    tokens: int


class Expected(NamedTuple):
    """What something is expected to come to, and what it can come to at most; None where nobody knows."""

    expected: float | None
    most: float | None

    def to_json(self) -> dict[str, Any]:
        """As the JSON report has it; what is a whole number is written as one."""
        return {"expected": _whole(self.expected), "at_most": _whole(self.most)}


class NodeEstimate(NamedTuple):
    """One node over all cases and repeats. `basis` says what is known of it: "recorded", "mock", "golden" or "nothing"."""

    id: str
    tool: str
    calls: Expected
    cost_usd: Expected
    tokens: Expected
    basis: str
    run_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As the JSON report has it."""
        told = {"calls": self.calls.to_json(), "cost_usd": self.cost_usd.to_json(), "tokens": self.tokens.to_json()}
        run = {} if self.run_id is None else {"run_id": self.run_id}
        return {"id": self.id, "tool": self.tool, **told, "basis": self.basis, **run}


class CompositionEstimate(NamedTuple):
    """One composition: `rows` are its cases times the repeats of the run. `unknown` are nodes whose costs nobody knows.

    The expected sums leave those out. `capped` are the caps of its budget that are lower than what its calls could come to.
    """

    name: str
    cases: int
    rows: int
    nodes: tuple[NodeEstimate, ...]
    cost_usd: Expected
    tokens: Expected
    unknown: tuple[str, ...]
    capped: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As the JSON report has it."""
        sums = {"cost_usd": self.cost_usd.to_json(), "tokens": self.tokens.to_json()}
        more = {"unknown": list(self.unknown), "capped_by": list(self.capped)}
        nodes = [node.to_json() for node in self.nodes]
        return {"name": self.name, "cases": self.cases, "runs": self.rows, **sums, **more, "nodes": nodes}


class _Known(NamedTuple):
    """What one call of a node costs, and how many there are in one case."""

    calls: Expected
    cost_usd: Expected
    tokens: Expected
    basis: str
    run_id: str | None


def estimate(cases: Iterable[Case], records: Iterable[Mapping[str, object]]) -> list[CompositionEstimate]:
    """The estimate of each composition among the cases. `records` are earlier ones of the suite as JSON, the newest first."""
    seen = _Seen(records)
    groups: dict[int, list[Row]] = {}
    for case in cases:
        if isinstance(case.body, Row) and case.skip is None:
            groups.setdefault(id(case.body.program), []).append(case.body)
    return [_composition(rows, seen) for rows in groups.values()]


def in_all(estimates: Sequence[CompositionEstimate]) -> tuple[Expected, Expected]:
    """(cost, tokens) of all compositions together."""
    costs = Expected(
        sum_costs(one.cost_usd.expected for one in estimates), sum_costs(one.cost_usd.most for one in estimates)
    )
    tokens = Expected(
        sum_costs(one.tokens.expected for one in estimates), sum_costs(one.tokens.most for one in estimates)
    )
    return costs, tokens


def _composition(rows: Sequence[Row], seen: _Seen) -> CompositionEstimate:
    program = rows[0].program
    nodes = tuple(_node(program, node, rows, seen) for node in (program.nodes[number] for number in program.order))
    budget = program.spending
    cost, costs_capped = _capped([node.cost_usd for node in nodes], budget.max_cost_usd)
    tokens, tokens_capped = _capped([node.tokens for node in nodes], budget.max_tokens)
    caps = (("max_cost_usd", costs_capped), ("max_tokens", tokens_capped))
    return CompositionEstimate(
        name=program.name,
        cases=len({row.case for row in rows}),
        rows=len(rows),
        nodes=nodes,
        cost_usd=cost,
        tokens=tokens,
        unknown=tuple(node.id for node in nodes if node.cost_usd.expected is None),
        capped=tuple(name for name, capped in caps if capped),
    )


def _capped(parts: Sequence[Expected], cap: float | None) -> tuple[Expected, bool]:
    """The sum of what is known, at most what the budget allows; and whether the budget is what holds."""
    expected = sum_costs(part.expected for part in parts if part.expected is not None)
    most = sum_costs(part.most for part in parts)
    if cap is None or (most is not None and most <= cap):
        return Expected(expected, most), False
    return Expected(expected, cap), True


def _node(program: Program, node: NodePlan, rows: Sequence[Row], seen: _Seen) -> NodeEstimate:
    known = [_known(program, node, row, seen) for row in rows]
    last = next((one for one in known if one.run_id is not None), known[0])
    return NodeEstimate(
        id=node.id,
        tool=node.tool,
        calls=_added(one.calls for one in known),
        cost_usd=_added(one.cost_usd for one in known),
        tokens=_added(one.tokens for one in known),
        basis=last.basis,
        run_id=last.run_id,
    )


def _known(program: Program, node: NodePlan, row: Row, seen: _Seen) -> _Known:
    """What one case of a node comes to."""
    found = seen.node(program.name, row.case, node.id)
    items = 1 if node.for_each is None else _static_items(program, node)
    if node.mock:
        usage = usage_of(node.mock[0])
        count = items if items is not None else None if found is None else found.calls
        calls = Expected(count, items)
        cost = Expected(_times(usage.cost_usd, count), _times(usage.cost_usd, items))
        return _Known(calls, cost, Expected(_times(usage.tokens, count), _times(usage.tokens, items)), "mock", None)
    rounds = (node.loop.most if node.loop is not None else 1) * (node.retries + 1)
    most = _times(items, rounds)
    likely = items if node.loop is None else None
    if found is not None:
        likely = found.calls if likely is None else likely
        each_cost, each_tokens = _each(found.cost_usd, found.calls), _each(found.tokens, found.calls)
    else:
        each_cost = each_tokens = None
    basis = "nothing" if found is None else "golden" if node.freeze == "golden" else "recorded"
    return _Known(
        calls=Expected(likely, most),
        cost_usd=Expected(_times(each_cost, likely), _times(node.cap.cost_usd, most)),
        tokens=Expected(_times(each_tokens, likely), _times(node.cap.tokens, most)),
        basis=basis,
        run_id=None if found is None else found.run_id,
    )


def _static_items(program: Program, node: NodePlan) -> int | None:
    """How many elements a fan-out has, where the suite itself says it: in the mocks of the parents that it goes over."""
    counts = [_static_length(program, source) for source in node.sources.values()]
    known = [count for count in counts if count is not None]
    return prod(known) if len(known) == len(counts) else None


def _static_length(program: Program, reference: Reference) -> int | None:
    source = next((one for one in program.nodes if one.id == reference.name), None)
    if source is None or not source.mock or source.transform is not None or source.for_each is not None:
        return None
    if holds_templates(source.mock[0]):
        return None
    try:
        elements = part_of(reference, source.mock[0])
    except Unresolved:
        return None
    return len(elements) if isinstance(elements, list) else None


class _Seen:
    """What nodes cost in earlier runs: of the same case, else of the newest one of the composition."""

    def __init__(self, records: Iterable[Mapping[str, object]]) -> None:
        self._by_case: dict[tuple[str, str | None, str], Seen] = {}
        self._by_name: dict[tuple[str, str], Seen] = {}
        for record in records:
            for name, case, node, seen in _seen_in(record):
                self._by_case.setdefault((name, case, node), seen)
                self._by_name.setdefault((name, node), seen)

    def node(self, name: str, case: str | None, node: str) -> Seen | None:
        """What a node of a composition came to last."""
        return self._by_case.get((name, case, node)) or self._by_name.get((name, node))


def _seen_in(record: Mapping[str, Any]) -> Iterator[tuple[str, str | None, str, Seen]]:
    """(composition, case, node, what it cost) of each node that was called in a run."""
    for test in record.get("tests") or ():
        trace = test.get("trace") if isinstance(test, dict) else None
        nodes = trace.get("nodes") if isinstance(trace, dict) else None
        if not isinstance(nodes, dict):
            continue
        case = test.get("case")
        name = composition_base(str(test.get("name")), str(test.get("id")), case)
        for node in nodes.values():
            calls = _calls(node)
            if calls:
                seen = Seen(str(record.get("run_id")), calls, node.get("cost_usd", 0.0), node.get("tokens") or 0)
                yield name, case, str(node.get("id")), seen


def _calls(node: Mapping[str, Any]) -> int:
    if node.get("status") == "skipped":
        return 0
    return int(node.get("calls_total") or len(node.get("calls") or ()) or ("args" in node))


def _whole(amount: float | None) -> float | None:
    return int(amount) if amount is not None and float(amount).is_integer() else amount


def _each(amount: float | None, calls: int) -> float | None:
    return None if amount is None else amount / calls


def _times(one: float | None, count: float | None) -> float | None:
    """The product; of what is unknown unknown, but no times it is nothing."""
    if count == 0:
        return 0
    return None if one is None or count is None else round(one * count, 9)


def _added(parts: Iterable[Expected]) -> Expected:
    every = list(parts)
    return Expected(sum_costs(part.expected for part in every), sum_costs(part.most for part in every))
