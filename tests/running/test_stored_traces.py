"""What of a composition's trace is kept: no secret, nothing too large, nothing too deep, and every word of the record's own."""

from __future__ import annotations

import json
from typing import Any

from mcptest_engine.core.enums import TestKind, Verdict
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.core.results import TestResult
from mcptest_engine.reporting.record_schema import record_schema
from mcptest_engine.running.stored_results import ResultStorage

SECRET = "Zq8v-secret-value-0123456"


def node(node_id: str, **more: Any) -> dict[str, Any]:
    ran = {"status": "ok", "output": 1, "duration_ms": 1.0, "started_ms": 0.0}
    return {"id": node_id, **ran, "server": "s", "tool": "t", "needs": [], **more}


def composed(*nodes: dict[str, Any], output: Any = None) -> TestResult:
    head = {"ran": True, "order": [], "cost_total": 0.0, "tokens_total": 0, "critical_path": []}
    trace = {"composition": head, "nodes": {row["id"]: row for row in nodes}, "output": output}
    return TestResult(
        id="m.yml::composition::c [a]",
        name="c [a]",
        kind=TestKind.COMPOSITION,
        server="s",
        verdict=Verdict.PASS,
        duration_ms=1.0,
        started_offset_ms=0.0,
        file="m.yml",
        line=1,
        output={"output": output},
        trace={**trace, "cost": {"total": 0.0}, "tokens": {"total": 0}, "duration_ms": 1.0},
    )


def kept(result: TestResult, *secrets: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The trace as kept, and what was put aside by its name: whatever has more than 50,000 characters."""
    aside: dict[str, Any] = {}

    def externalise(value: Any, name: str) -> Any:
        size = len(json.dumps(value))
        if size <= 50_000:
            return value
        aside[name] = value
        return {"$file": f"runs/x/{len(aside)}.json", "bytes": size}

    told = ResultStorage(Redactor(secrets), externalise).prepare(result, size=0).to_json()
    return told["trace"], aside


def is_sound(trace: dict[str, Any]) -> bool:
    from jsonschema import Draft202012Validator

    schema = record_schema()
    return Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/trace"}).is_valid(trace)


def test_no_part_of_a_trace_shows_a_secret() -> None:
    """Redacted before anything is written; every place that a text of the suite or a server can get to."""
    call = {
        "item": 0,
        "status": "err",
        "started_ms": 0,
        "duration_ms": 1,
        "args": SECRET,
        "result": SECRET,
        "output": [SECRET],
    }
    rows = (
        node("a", output={"deep": [SECRET]}, args={"x": f"Bearer {SECRET}"}, result=SECRET),
        node("b", status="err", message=f"no {SECRET}", hint=SECRET, model=SECRET, tool=SECRET),
        node("c", calls=[{**call, "message": SECRET}]),
    )
    trace, _ = kept(composed(*rows, output=SECRET), SECRET)
    assert SECRET not in json.dumps(trace)
    assert is_sound(trace)


def test_a_node_that_is_called_like_a_secret_is_still_there() -> None:
    """The record's own keys are exempt; a node `token` is no token, what stands under such a name in it is."""
    trace, _ = kept(composed(node("token", args={"password": "hunter2"}, tokens=7, cost_usd=0.5)))
    assert trace["nodes"]["token"]["status"] == "ok"
    assert trace["nodes"]["token"]["tokens"] == 7
    assert trace["nodes"]["token"]["args"] == {"password": "[REDACTED]"}
    assert trace["tokens"] == {"total": 0}


def test_a_large_trace_is_put_aside_whole_and_its_outline_stays() -> None:
    """Large outputs go to a side file; what reporters tell stays in the record."""
    text = "x" * 9_000
    calls: list[dict[str, Any]] = [
        {"item": n, "status": "err" if n == 90 else "ok", "started_ms": 0, "duration_ms": 1, "args": {}, "output": text}
        for n in range(100)
    ]
    trace, aside = kept(composed(node("a", output=text), node("b", calls=calls), output=text))
    assert len(aside["c [a] trace"]["nodes"]["b"]["calls"]) == 100
    assert trace["whole"]["bytes"] > 900_000
    shown = trace["nodes"]["b"]
    assert shown["calls_total"] == 100
    assert [call["item"] for call in shown["calls"]] == [*range(20), 90]
    assert len(json.dumps(trace)) < 200_000
    assert is_sound(trace)


def test_a_trace_of_thousands_of_nodes_stays_readable() -> None:
    """Values give way before nodes do."""
    rows = [node(f"n{number}", output="x" * 500, args={"text": "y" * 500}) for number in range(2_000)]
    trace, aside = kept(composed(*rows))
    assert aside
    assert len(trace["nodes"]) == 2_000
    assert len(json.dumps(trace)) < 1_000_000


def test_what_is_nested_too_deeply_is_kept_as_text() -> None:
    """Every reader of a record can follow 200 levels."""
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    trace, _ = kept(composed(node("a", output=deep, args={"deep": deep}), output=deep))
    assert "nested more than 200 levels" in trace["nodes"]["a"]["output"]
    assert is_sound(trace)


def test_a_list_of_what_calls_gave_is_redacted_like_its_elements():
    """The output of a fan-out holds the very answers that its calls hold; each is looked through once."""
    answers: list[Any] = [{"token": SECRET, "n": 1}, {"n": 2}, {"n": 3}]
    calls = [
        {"item": at, "status": "ok", "duration_ms": 1.0, "started_ms": 0.0, "args": {}, "output": one}
        for at, one in enumerate(answers)
    ]
    masked = [{"token": "[REDACTED]", "n": 1}, *answers[1:]]
    trace, _ = kept(composed(node("a", output=answers, calls=calls), output=answers), SECRET)
    assert trace["nodes"]["a"]["output"] == trace["output"] == masked
    assert [call["output"] for call in trace["nodes"]["a"]["calls"]] == masked
    assert answers[0]["token"] == SECRET
    clean, _ = kept(composed(node("a", output=answers[1:], calls=calls[1:]), output=answers[1:]))
    assert clean["output"] == answers[1:]
