"""A composition's graph as rows of text: rails that lead from parents to children, a mark for each node, and when it ran.

Nodes come in topological order, one a row. A rail begins at a node with children and ends at the last of them, so that a row
shows by its crossings which parents it has. Where that would take too many rails, parents are named in words instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest_engine.engine_process.workbench_events import NodeChanged

MOST_RAILS = 24
NODE = "\0"
"""Stands in rails for the mark of the node."""
# A rail from above, and whether it goes on below, to the left and to the right.
_CORNERS = {
    (True, True, False, True): "├",
    (True, True, True, False): "┤",
    (True, True, True, True): "┼",
    (True, False, False, True): "└",
    (True, False, True, False): "┘",
    (True, False, True, True): "┴",
}
_LOOKED_AT = ("id", "status", "message", "hint", "args", "result", "output", "calls")
PLAIN = str.maketrans("├┤┼└┘┴│─", "++++++|-")
"""For terminals without line drawing."""


class GraphNode(NamedTuple):
    """One node. `status` is "waiting", "running", "ok", "err" or "skipped"; times are in ms from the composition's start.

    `trace` is what the record has of it, empty before.
    """

    id: str
    needs: tuple[str, ...] = ()
    tool: str = ""
    server: str = ""
    status: str = "waiting"
    started_ms: float | None = None
    duration_ms: float | None = None
    message: str = ""
    is_critical: bool = False
    trace: Mapping[str, Any] = {}


def in_order(nodes: Sequence[GraphNode]) -> list[GraphNode]:
    """The nodes so that each comes after its parents, the one declared first coming first; unknown parents are left out."""
    from mcptest_engine.suite.graph import topological_order

    numbers = {node.id: number for number, node in enumerate(nodes)}
    parents = [[numbers[need] for need in dict.fromkeys(node.needs) if need in numbers] for node in nodes]
    return [nodes[number] for number in topological_order(parents)]


def rails(nodes: Sequence[GraphNode]) -> list[str] | None:
    """The rails of nodes in topological order, a row each, `NODE` where a node's mark stands; None where they are too many."""
    place = {node.id: number for number, node in enumerate(nodes)}
    needs = [[need for need in dict.fromkeys(node.needs) if need in place] for node in nodes]
    left = dict.fromkeys(place, 0)
    for of_one in needs:
        for need in of_one:
            left[need] += 1
    columns: list[str | None] = []
    rows = []
    ended = -1
    for node, parents in zip(nodes, needs, strict=True):
        has_children = left[node.id] > 0
        for parent in parents:
            left[parent] -= 1
        at = sorted(columns.index(parent) for parent in parents)
        ending = {column for column in at if left[columns[column] or ""] == 0}
        own = _place_of(columns, at, ending, ended)
        if own >= MOST_RAILS:
            return None
        rows.append(_row(columns, at, ending, own))
        for column in ending:
            columns[column] = None
        columns += [None] * (own + 1 - len(columns))
        columns[own] = node.id if has_children else None
        ended = -1 if has_children else own
        while columns and columns[-1] is None:
            columns.pop()
    return rows


def _place_of(columns: Sequence[str | None], at: Sequence[int], ending: Iterable[int], ended: int) -> int:
    """The node's column: below its leftmost parent where that rail ends, else the first that is free to the right.

    Never `ended`, the column of a node without children in the row before: its child would be seen in the node.
    """
    if at and at[0] in set(ending):
        return at[0]
    column = at[-1] + 1 if at else 0
    while column == ended or (column < len(columns) and columns[column] is not None):
        column += 1
    return column


def _row(columns: Sequence[str | None], at: Sequence[int], ending: Iterable[int], own: int) -> str:
    parents, ends = set(at), set(ending)
    low, high = min([*at, own]), max([*at, own])
    cells = []
    for number in range(max(len(columns), own + 1)):
        is_open = number < len(columns) and columns[number] is not None
        if number == own:
            cell = NODE
        elif number in parents:
            cell = _CORNERS[(True, number not in ends, number > low, number < high)]
        elif low < number < high:
            cell = "│" if is_open else "─"  # a rail that is only crossed
        else:
            cell = "│" if is_open else " "
        cells.append(cell + ("─" if low <= number < high else " "))
    return "".join(cells).rstrip()


def with_trace(nodes: Iterable[GraphNode], trace: Mapping[str, object]) -> list[GraphNode]:
    """Return the nodes with their results from a run record."""
    told, head = trace.get("nodes"), trace.get("composition")
    critical = set(head.get("critical_path") or ()) if isinstance(head, dict) else set()
    found = []
    for node in nodes:
        one = told.get(node.id) if isinstance(told, dict) else None
        found.append(_with_facts(node, one, node.id in critical) if isinstance(one, dict) else node)
    return found


def first_to_see(nodes: Sequence[GraphNode]) -> GraphNode:
    """The node that a person looks for first: one that failed, else the first in order."""
    ordered = in_order(nodes) or nodes  # a record that somebody wrote may have a circle
    return next((node for node in ordered if node.status == "err"), ordered[0])


def nodes_of_trace(trace: Mapping[str, object]) -> list[GraphNode]:
    """The graph of a record alone, whose suite may be another one by now."""
    told = trace.get("nodes")
    if not isinstance(told, dict):
        return []
    bare = [
        GraphNode(
            str(name),
            tuple(need for need in one.get("needs") or () if isinstance(need, str)),
            str(one.get("tool", "")),
            str(one.get("server", "")),
        )
        for name, one in told.items()
        if isinstance(one, dict)
    ]
    return with_trace(bare, trace)


def running_nodes(nodes: Iterable[GraphNode], events: Mapping[str, NodeChanged]) -> list[GraphNode]:
    """Return the nodes with their states so far; `events` has the newest by node id."""
    found = []
    for node in nodes:
        event = events.get(node.id)
        if event is not None:
            node = node._replace(status=event["status"], duration_ms=event["duration_ms"], message=event["message"])
        found.append(node)
    return found


def _with_facts(node: GraphNode, one: Mapping[str, object], is_critical: bool) -> GraphNode:
    return node._replace(
        status=str(one.get("status", "waiting")),
        started_ms=_number(one.get("started_ms")),
        duration_ms=_number(one.get("duration_ms")),
        message=str(one.get("message") or ""),
        is_critical=is_critical,
        trace=one,
    )


def bar(node: GraphNode, whole_ms: float, width: int) -> tuple[int, int]:
    """Where in `width` cells the node's time begins, and how many it takes; (0, 0) for one that did not run."""
    if node.started_ms is None or node.duration_ms is None or whole_ms <= 0 or width <= 0:
        return 0, 0
    begin = min(int(node.started_ms / whole_ms * width), width - 1)
    return begin, max(min(round(node.duration_ms / whole_ms * width), width - begin), 1)


def looked_into(node: GraphNode) -> dict[str, Any]:
    """A node in the record, in the order of interest: its status, why, the request, the response."""
    first = [key for key in _LOOKED_AT if key in node.trace]
    return {key: node.trace[key] for key in (*first, *(key for key in node.trace if key not in first))}


def node_remark(node: GraphNode) -> str:
    """The remark beside a node's name: why it did not run or failed, its calls."""
    calls = node.trace.get("calls")
    if node.message:
        return node.message
    if isinstance(calls, list):
        return counted(len(calls), "call")
    return "mocked" if node.trace.get("mocked") else ""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
