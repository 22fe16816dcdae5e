"""The calls of compositions count as calls: what a server offers is covered by the nodes that asked for it."""

from __future__ import annotations

from typing import Any

from mcptest_engine.running.coverage import ServerLists, calls_of, coverage_of


def node(tool: str, **more: Any) -> dict[str, Any]:
    return {"id": tool, "status": "ok", "server": "s", "tool": tool, **more}


def test_nodes_that_were_answered_count_and_stand_ins_do_not() -> None:
    """A fan-out counts each call; what was mocked, frozen or skipped asked nobody; a refusal is an answer."""
    refused = {"status": "err", "refused": True, "args": {"a": 9}}
    nodes = [
        node("one", args={"a": 1}),
        node(
            "many",
            calls=[{"status": "ok", "args": {"a": 2}}, refused, {"status": "err", "message": "no answer", "args": {}}],
        ),
        node("mocked", args={}, mocked=True),
        node("frozen", args={}, frozen=True),
        node("skipped", status="skipped"),
    ]
    trace = {"nodes": {row["id"]: row for row in nodes}}
    tests = [{"server": "s", "verdict": "pass", "request": None, "output": None, "trace": trace}]
    assert calls_of(tests) == {("s", "one"): 1, ("s", "many"): 2}
    offered = ServerLists(tools=[{"name": row["tool"]} for row in nodes])
    rows = {row.name: row for row in coverage_of({"s": offered}, tests)}
    assert (rows["tools"].covered, rows["tools"].total) == (2, 5)
    assert rows["error_paths"].missing == ("one",)


def test_calls_of_a_model_count_once_and_those_without_a_result_do_not() -> None:
    """Also those of each trial. Several rows that grade one conversation hold it all; the first says what it cost."""
    calls = [
        {"name": "one", "server": "s", "args": {"a": 1}, "result": {}, "is_error": False},
        {"name": "one", "server": "s", "args": {"a": 2}, "result": {"isError": True}, "is_error": True},
        {"name": "lost", "server": "s", "args": {}, "error": "the server died", "is_error": True},
        {"name": "bare", "server": "s", "args": None, "result": {}, "is_error": False},
    ]
    trace = {"tool_calls": calls}
    tests: list[dict[str, Any]] = [
        {"kind": "agent", "server": "s", "trace": trace, "trials": [{"trace": {**trace, "models": []}}, {}]},
        {"kind": "eval", "server": "s", "trace": {**trace, "models": []}},
        {"kind": "eval", "server": "s", "trace": trace},
    ]
    assert calls_of(tests) == {("s", "one"): 6, ("s", "bare"): 3}
