"""A composition's graph as rows: rails that are right for any graph, states, bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_tui.state.graph_rows import (
    NODE,
    GraphNode,
    bar,
    first_to_see,
    in_order,
    looked_into,
    node_remark,
    nodes_of_trace,
    rails,
    running_nodes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.engine_process.workbench_events import NodeChanged


def drawn(*nodes: tuple[str, str]) -> list[str]:
    """Rails and names of nodes, each with the names of its parents."""
    ordered = in_order([GraphNode(name, tuple(needs.split())) for name, needs in nodes])
    rows = rails(ordered)
    assert rows is not None
    return [f"{row.replace(NODE, '●')} {node.id}" for row, node in zip(rows, ordered, strict=True)]


def test_a_chain_is_one_rail() -> None:
    assert drawn(("a", ""), ("b", "a"), ("c", "b")) == ["● a", "● b", "● c"]


def test_a_diamond_opens_and_closes() -> None:
    assert drawn(("a", ""), ("b", "a"), ("c", "a"), ("d", "b c")) == ["● a", "├─● b", "● │ c", "●─┘ d"]


def test_several_parents_and_a_node_of_its_own() -> None:
    assert drawn(("a", ""), ("b", ""), ("c", "a b"), ("d", "a"), ("e", "c d b"), ("lone", "")) == [
        "● a",
        "│ ● b",
        "├─┼─● c",
        "● │ │ d",
        "●─┴─┘ e",
        "  ● lone",
    ]


def test_too_many_rails_are_none() -> None:
    wide = [
        GraphNode("a"),
        *(GraphNode(f"b{n}", ("a",)) for n in range(30)),
        GraphNode("z", tuple(f"b{n}" for n in range(30))),
    ]
    assert rails(wide) is None


@st.composite
def graphs(draw: st.DrawFn) -> list[GraphNode]:
    """Nodes in topological order."""
    count = draw(st.integers(1, 14))
    return [
        GraphNode(
            f"n{number}",
            tuple(f"n{at}" for at in draw(st.sets(st.integers(0, number - 1), max_size=4))) if number else (),
        )
        for number in range(count)
    ]


@given(graphs())
def test_each_row_leads_to_exactly_the_parents_of_its_node(nodes: list[GraphNode]) -> None:
    """Followed from the drawing alone: along the row to each rail that joins it, and up that rail to its node."""
    rows = rails(nodes)
    if rows is None:
        return
    width = max(map(len, rows))
    grid = [row.ljust(width) for row in rows]
    for at, node in enumerate(nodes):
        own = grid[at].index(NODE)
        reached = {*_joined(grid[at], own, -1), *_joined(grid[at], own, 1)}
        above = _climb(grid, at - 1, own)
        if above is not None:
            reached.add(own)
        found = {nodes[number].id for column in reached if (number := _climb(grid, at - 1, column)) is not None}
        assert found == set(node.needs), "\n".join(rows)


def _joined(row: str, own: int, step: int) -> Iterator[int]:
    """The columns at which a rail joins the line that goes out from the node."""
    column = own + step
    while 0 <= column < len(row) and row[column] in "─│├┤┼└┘┴":
        if row[column] in "├┤┼└┘┴":
            yield column
        if row[column] in ("├└" if step < 0 else "┤┘"):
            return
        column += step


def _climb(grid: list[str], at: int, column: int) -> int | None:
    """The row of the node that a rail comes from; None where no rail comes from above."""
    while at >= 0:
        if grid[at][column] == NODE:
            return at if _has_rail_below(grid, at, column) else None
        if grid[at][column] not in "│├┤┼":
            return None
        at -= 1
    return None


def _has_rail_below(grid: list[str], at: int, column: int) -> bool:
    """A node without children ends its rail; the next row then has nothing of it there, or begins another one."""
    return at + 1 < len(grid) and grid[at + 1][column] in "│├┤┼└┘┴" + NODE


def test_the_nodes_of_a_record_are_told_with_what_came_of_them() -> None:
    trace = {
        "composition": {"critical_path": ["a"]},
        "nodes": {
            "b": {
                "status": "err",
                "needs": ["a"],
                "tool": "t",
                "server": "s",
                "message": "no",
                "duration_ms": 5.0,
                "started_ms": 10.0,
            },
            "a": {
                "status": "ok",
                "needs": [],
                "tool": "u",
                "server": "s",
                "duration_ms": 10.0,
                "started_ms": 0.0,
                "calls": [{}, {}],
            },
        },
    }
    nodes = nodes_of_trace(trace)
    assert [node.id for node in in_order(nodes)] == ["a", "b"]
    first, second = in_order(nodes)
    assert (first.is_critical, node_remark(first), bar(first, 15.0, 30)) == (True, "2 calls", (0, 20))
    assert (second.is_critical, node_remark(second), bar(second, 15.0, 30)) == (False, "no", (20, 10))
    assert first_to_see(nodes).id == "b"


@pytest.mark.parametrize("trace", [{}, {"nodes": 1}, {"nodes": {"a": 1}}, {"nodes": {}, "composition": []}])
def test_a_record_of_any_shape_gives_what_it_has(trace: dict[str, object]) -> None:
    assert nodes_of_trace(trace) == []


def node_event(node: str, status: str, duration_ms: float | None) -> NodeChanged:
    return {"event": "node.changed", "run": "r", "id": "a", "node": node, "status": status, "duration_ms": duration_ms,
            "message": ""}  # fmt: skip


def test_a_run_is_told_by_its_events() -> None:
    nodes = [GraphNode("a"), GraphNode("b", ("a",)), GraphNode("c", ("b",))]
    events = {"a": node_event("a", "ok", 3.0), "b": node_event("b", "running", None)}
    told = running_nodes(nodes, events)
    assert [(node.status, node.duration_ms) for node in told] == [("ok", 3.0), ("running", None), ("waiting", None)]


def test_a_single_call_of_a_fan_out_is_one_call() -> None:
    assert node_remark(GraphNode("a", trace={"calls": [{}]})) == "1 call"
    assert node_remark(GraphNode("a", trace={"calls": [{}, {}]})) == "2 calls"
    assert node_remark(GraphNode("a", trace={"calls": []})) == "0 calls", "an empty list was gone over"


def test_what_did_not_run_has_no_bar() -> None:
    assert bar(GraphNode("a"), 10.0, 20) == (0, 0)
    assert bar(GraphNode("a", started_ms=9.99, duration_ms=0.0), 10.0, 20) == (19, 1)


def test_a_record_whose_nodes_go_in_a_circle_is_shown_all_the_same() -> None:
    """Whoever can write there may have written anything."""
    nodes = nodes_of_trace({"nodes": {"a": {"needs": ["a"], "status": "ok"}}})
    assert first_to_see(nodes).id == "a"
    assert in_order(nodes) == []


def test_a_node_is_looked_into_from_what_was_sent_to_what_came() -> None:
    trace = {"id": "a", "status": "ok", "output": 1, "duration_ms": 2, "tool": "t", "args": {}, "result": 3}
    told = looked_into(GraphNode("a", trace=trace))
    assert list(told) == ["id", "status", "args", "result", "output", "duration_ms", "tool"]
    assert told == trace
