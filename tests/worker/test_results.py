"""What tests came to, in pages, from memory and from the records; and no secret in any of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.worker.conftest import Refusal, echoes, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.worker.conftest import Child

    SuiteOn = Callable[..., Path]


def test_a_result_of_20_megabytes_comes_in_pages(child: Child, suite_on: SuiteOn) -> None:
    suite_on("echo", tests=[{"name": "big", "tool": "big", "args": {"bytes": 20_000_000}}])
    child.ask("traffic_on", on=True)
    run(child)
    detail = child.ask("detail", id="mcptest.yml::tool::big")
    text = detail["output"]["result"]["content"][0]["text"]
    assert text == {"$cut": 20_000_000, "text": "x" * 2_000}
    path = ["output", "result", "content", 0, "text"]
    assert child.ask("expand", id=detail["id"], path=path) == text
    assert len(child.ask("value", id=detail["id"], path=path)) < 1_100_000
    rows = [row for told in child.events("traffic") for row in told["rows"]]
    large = max(rows, key=lambda row: row["size"])
    assert large["size"] > 20_000_000
    assert len(child.ask("traffic_body", n=large["n"])) < 1_100_000
    assert max(map(len, child.raw)) < 1_200_000


def test_a_wide_result_is_cut_and_paged(child: Child, suite_on: SuiteOn) -> None:
    suite_on("echo", tests=[{"name": "wide", "tool": "echo", "args": {"text": "a", "many": list(range(1_000))}}])
    run(child)
    detail = child.ask("detail", id="mcptest.yml::tool::wide")
    many = ["output", "result", "structuredContent", "arguments", "many"]
    assert detail["output"]["result"]["structuredContent"]["arguments"]["many"] == [*range(200), {"$more": 800}]
    assert child.ask("expand", id=detail["id"], path=many, start=900) == list(range(900, 1_000))
    with pytest.raises(Refusal, match="nothing at output"):
        child.ask("expand", id=detail["id"], path=["output", "nowhere", 3])


def test_history_and_detail_come_from_the_records_of_earlier_processes(
    start: Callable[..., Child], suite_on: SuiteOn
) -> None:
    suite_on("echo", tests=echoes(1))
    first = start()
    records = [run(first, key)["record"]["run_id"] for key in ("a", "b")]
    first.end()
    second = start()
    past = second.ask("history", id="mcptest.yml::tool::t0", limit=5)
    assert [row["run_id"] for row in past] == records[::-1]
    assert {row["verdict"] for row in past} == {"pass"}
    detail = second.ask("detail", id="mcptest.yml::tool::t0")
    assert detail["output"]["result"]["content"][0]["text"] == "a"
    older = second.ask("detail", id="mcptest.yml::tool::t0", run_id=records[0])
    assert older["started_offset_ms"] != detail["started_offset_ms"]


def test_a_test_that_never_ran_has_no_detail(child: Child) -> None:
    with pytest.raises(Refusal, match="no result yet"):
        child.ask("detail", id="mcptest.yml::tool::x")
    assert child.ask("history", id="mcptest.yml::tool::x", limit=5) == []


def test_no_secret_is_in_any_line(start: Callable[..., Child], place: Path, suite_on: SuiteOn) -> None:
    """Not of a run, its traffic, its stderr, its detail or its repro, nor of a call by hand."""
    secret = "hunter2-hunter2-hunter2"
    path = suite_on(
        "echo",
        tests=[
            {"name": "said", "tool": "echo", "args": {"text": "${env.MY_TOKEN} and more", "long": "y" * 70_000}},
            {"name": "env", "tool": "environment", "expect": [{"target": "result", "matcher": {"exists": False}}]},
            {"name": "err", "tool": "stderr", "args": {"text": "it is ${env.MY_TOKEN}"}},
        ],
        server={"env": {"API_KEY": "${MY_TOKEN}"}},
    )
    child = start(MY_TOKEN=secret)
    child.ask("traffic_on", on=True)
    run(child)
    for name in ("said", "env", "err"):
        child.ask("detail", id=f"mcptest.yml::tool::{name}")
        child.ask("value", id=f"mcptest.yml::tool::{name}", path=["output"])
    child.ask("connect", session="b", target={"suite": str(path), "server": "s"})
    child.ask("catalog", session="b")
    child.ask("call", session="b", method="tools/call", params={"name": "environment"})
    child.ask("call", session="b", method="tools/call", params={"name": "echo", "arguments": {"text": secret}})
    child.ask("servers", path="mcptest.yml")
    child.ask("load", path="mcptest.yml")
    child.until(lambda told: told.get("event") == "traffic" and any(row["kind"] == "stderr" for row in told["rows"]))
    last = child.ask("traffic_on", on=True)["n"]
    child.until(lambda told: told.get("event") == "traffic" and told["rows"][-1]["n"] >= last)
    for number in range(1, last + 1):
        child.ask("traffic_body", n=number)
    assert any(b"[REDACTED]" in line for line in child.raw)
    assert not [line for line in child.raw if secret.encode() in line]
