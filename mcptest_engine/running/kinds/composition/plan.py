"""How a composition is planned: its nodes by number, their order, and a row for each of its cases with what that case expects.

Pure. The program is made once for all its cases. The entry has been checked. See docs/how-to/compositions.md.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.costs import GOLDEN
from mcptest_engine.core.text import counted
from mcptest_engine.running.kinds.composition.spending import Spending
from mcptest_engine.safety.tool_classes import classify_name
from mcptest_engine.suite.case_rows import fill_in, rows_of
from mcptest_engine.suite.graph import parents_of, topological_order
from mcptest_engine.suite.references import Reference, holds_templates, parse_reference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.judging.scorers.juries import Providers
    from mcptest_engine.suite.yaml import Pointer


class Cap(NamedTuple):
    """What one call, or all of a loop, may come to; None where there is no cap."""

    cost_usd: float | None = None
    tokens: int | None = None


class Loop(NamedTuple):
    """`until` is a jq predicate; at most `most` calls, `delay_seconds` between two. `cap` holds for all of them together."""

    until: str
    most: int
    delay_seconds: float = 0.0
    cap: Cap = Cap()


class NodePlan(NamedTuple):
    """One node. `parents` and `children` are numbers of nodes; `defaults` is what stands for an optional parent without output.

    `args` holds templates if `templated`. `mock` is a one-tuple with the result that stands for the server's, else empty.
    `for_each` is the array that is gone over, or by names several whose elements are combined.
    `line` is where it is written, where that is known.
    `freeze` is "record" where results are kept, "golden" where those that were kept stand for the server's, else None.
    """

    id: str
    server: str
    tool: str
    args: Mapping[str, Any]
    templated: bool
    parents: tuple[int, ...]
    children: tuple[int, ...]
    timeout_seconds: float
    defaults: Mapping[int, Any]
    transform: str | None = None
    when: str | None = None
    for_each: Reference | Mapping[str, Reference] | None = None
    max_concurrency: int = 1
    loop: Loop | None = None
    mock: tuple[Any, ...] = ()
    freeze: str | None = None
    retries: int = 0
    cap: Cap = Cap()
    line: int | None = None

    @property
    def stood_in(self) -> bool:
        """Whether no server is asked."""
        return bool(self.mock) or self.freeze == "golden"

    @property
    def sources(self) -> Mapping[str, Reference]:
        """What a fan-out goes over, by the key that says so."""
        if isinstance(self.for_each, Reference):
            return {"for_each": self.for_each}
        return {f"for_each.{name}": source for name, source in (self.for_each or {}).items()}

    @property
    def repeats(self) -> bool:
        """Whether it is made to be called several times, however often that comes to."""
        return self.for_each is not None or (self.loop is not None and not self.mock)


class Program(NamedTuple):
    """A composition. `order` is the topological order of the nodes' numbers.

    `output` is the number of the node whose output is the composition's, or the jq program that makes one of all. `spending` is
    shared by its cases, unless each has a budget of its own.
    """

    name: str
    nodes: tuple[NodePlan, ...]
    order: tuple[int, ...]
    output: int | str
    concurrency: int | None
    spending: Spending

    def servers(self) -> Iterator[str]:
        """The servers that calls go to, in order, again and again."""
        return (self.nodes[number].server for number in self.order if not self.nodes[number].stood_in)


class Row(NamedTuple):
    """A composition with one case's variables; `case` is None and `variables` is empty where it has no cases.

    `has_own_budget` says that what other cases and repeats cost does not count. `line` and `golden_line` are where the case and
    its `golden` are written.
    """

    program: Program
    case: str | None
    variables: Mapping[str, Any]
    has_own_budget: bool = False
    line: int | None = None
    golden_line: int | None = None

    @property
    def shares_budget(self) -> bool:
        """Whether what other cases and repeats cost counts."""
        return self.program.spending.has_caps and not self.has_own_budget

    def call_text(self, _case: object) -> str:
        return counted(len(self.program.nodes), "node")

    def list_members(self, _case: object) -> dict[str, Any]:
        return {}

    def request_key(self, _case: object) -> tuple[object, ...]:
        nodes = [[node.server, node.tool, node.args] for node in self.program.nodes if not node.mock]
        return self.case, self.variables, nodes

    def may_change_state(self, _case: object) -> bool:
        return any(not node.mock and not classify_name(node.tool).only_reads for node in self.program.nodes)

    def deferral_reason(self, _providers: Providers) -> None:
        return None

    def for_repeat(self, _number: int) -> Row:
        """With a budget that nothing was spent of, where it has its own."""
        if not self.has_own_budget:
            return self
        return self._replace(program=self.program._replace(spending=self.program.spending.anew()))


def make_program(
    data: Mapping[str, Any],
    spending: Spending,
    *,
    only_server: str,
    timeouts: Mapping[str, float],
    timeout_seconds: float,
    lines: Mapping[Pointer, int],
) -> Program:
    """The program of a sound composition.

    `timeouts` is how long a call of each server may take, in seconds, `timeout_seconds` that of any other.
    """
    nodes = data["nodes"]
    numbers = {node["id"]: number for number, node in enumerate(nodes)}
    needs = [{numbers[parent.id]: parent for _, parent in parents_of(node)} for node in nodes]
    children: list[list[int]] = [[] for _ in nodes]
    for number, of_one in enumerate(needs):
        for parent in of_one:
            children[parent].append(number)
    order = tuple(topological_order([list(of_one) for of_one in needs]))
    plans = []
    for number, node in enumerate(nodes):
        server = node.get("server", only_server)
        written = node.get("timeout_ms", data.get("timeout_ms"))
        plans.append(
            _node(
                node,
                server=server,
                parents=tuple(needs[number]),
                children=tuple(children[number]),
                line=lines.get(("nodes", number)),
                defaults={at: parent.default for at, parent in needs[number].items() if parent.optional},
                timeout_seconds=timeouts.get(server, timeout_seconds) if written is None else written / 1000,
            )
        )
    return Program(
        name=data["name"],
        nodes=tuple(plans),
        order=order,
        output=_output(data.get("output"), numbers, order),
        concurrency=data.get("concurrency"),
        spending=spending,
    )


def _node(node: Mapping[str, Any], **known: Any) -> NodePlan:
    args = node.get("args") or {}
    loop = node.get("loop")
    transform = node.get("transform")
    return NodePlan(
        id=node["id"],
        tool=node["tool"],
        args=args,
        templated=holds_templates(args),
        transform=None if transform is None else transform["jq"],
        when=node.get("when"),
        for_each=_sources(node.get("for_each")),
        max_concurrency=node.get("max_concurrency", 1),
        loop=None if loop is None else _loop(loop),
        mock=(node["mock"]["result"],) if "mock" in node else (),
        freeze=node.get("freeze"),
        retries=node.get("retries", 0),
        cap=Cap(node.get("max_cost_per_call_usd"), node.get("max_tokens_per_call")),
        **known,
    )


def _sources(written: str | Mapping[str, str] | None) -> Reference | Mapping[str, Reference] | None:
    if isinstance(written, str):
        return parse_reference(written.strip()[2:-1])
    if written is None:
        return None
    return {name: parse_reference(source.strip()[2:-1]) for name, source in written.items()}


def _loop(loop: Mapping[str, Any]) -> Loop:
    cap = Cap(loop.get("max_cost_usd"), loop.get("max_tokens"))
    return Loop(loop["until"], loop["max"], loop.get("delay_ms", 0) / 1000, cap)


def _output(output: Any, numbers: Mapping[str, int], order: Sequence[int]) -> int | str:
    if output is None:
        return order[-1]
    if isinstance(output, str):
        return numbers[output]
    program: str = output["assemble"]
    return program


def composed(
    data: Mapping[str, Any],
    *,
    only_server: str,
    timeouts: Mapping[str, float],
    timeout_ms: float,
    lines: Mapping[Pointer, int] = MappingProxyType({}),
) -> Iterator[tuple[Mapping[str, Any], Row]]:
    """The entries that a composition comes to, each with its row; times are in milliseconds, `lines` as in `TestEntry`."""
    budget, cases = data.get("budget") or {}, data.get("cases")
    of_each = budget.get("scope") == "case"
    program = make_program(
        data,
        Spending(budget, of_all=bool(budget) and not of_each and cases is not None and len(cases) > 1),
        only_server=only_server,
        timeouts={server: value / 1000 for server, value in timeouts.items()},
        timeout_seconds=timeout_ms / 1000,
        lines=lines,
    )
    if cases is None:
        yield {**data, "expect": fill_in(data["expect"], {})}, Row(program, None, {}, of_each)
        return
    for number, (case, entry) in enumerate(rows_of(data)):
        variables, expect = case.get("vars", {}), entry["expect"]
        if "golden" in case:
            row = {"name": GOLDEN, "target": "output", "matcher": {"exact": case["golden"]}}
            expect = {**expect, "assertions": [*expect["assertions"], row]}
        entry["expect"] = fill_in(expect, variables)
        own_program = program._replace(spending=Spending(budget)) if of_each else program
        line = lines.get(("cases", number))
        golden_line = lines.get(("cases", number, "golden"), line)
        yield entry, Row(own_program, case["name"], variables, of_each, line, golden_line)
