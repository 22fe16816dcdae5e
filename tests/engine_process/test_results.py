"""What tests came to, in pages, from memory and from the records; and no secret in any of it."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.events import CaseFinished, Warned
from mcptest_engine.engine_process.event_lines import RunEventLines
from mcptest_engine.engine_process.protocol import Refused
from mcptest_engine.engine_process.results import MOST_ANSWER_BYTES, MOST_ANSWERS, Results
from mcptest_engine.engine_process.surroundings import Surroundings
from tests.engine_process.conftest import SERVERS, Refusal, echoes, run
from tests.processes import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.engine_process.conftest import Child

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


ROWS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import minimcp
rows = [{"id": n, "name": f"row number {n}", "tags": ["a", "b"], "note": f"something to read {n}"} for n in range(200_000)]
minimcp.serve(lambda *_: {"content": [], "structuredContent": {"rows": rows}})
"""
"""A server whose answer takes 20 MB as text, and five times that as objects."""


def test_the_memory_of_a_20_megabyte_answer_is_given_back(start: Callable[..., Child], place: Path) -> None:
    """After the call, after a look at a part of it, and after a look at a test's; all of it can still be read."""
    child = start(fresh=True)
    child.ask("hello")

    def is_small() -> bool:
        (engine,) = (row for row in child.ask("processes") if row["role"] == "engine")
        return engine["memory"] < 120_000_000

    server = {"command": [sys.executable, str(place / "rows.py"), str(SERVERS)]}
    (place / "rows.py").write_text(ROWS, encoding="utf-8")
    suite = {"servers": {"s": server}, "tools": [{"name": "rows", "tool": "rows"}]}
    (place / "mcptest.yml").write_text(json.dumps(suite), encoding="utf-8")
    run(child)
    until(is_small)
    path = ["result", "structuredContent", "rows", 199_999, "id"]
    assert child.ask("value", id="mcptest.yml::tool::rows", path=["output", *path]) == "199999"
    until(is_small)
    child.ask("connect", session="s", target={"suite": str(place / "mcptest.yml"), "server": "s"})
    called = child.ask("call", session="s", method="tools/call", params={"name": "rows"})
    assert called["size"] > 18_000_000
    until(is_small)
    assert child.ask("value", id=called["id"], path=path) == "199999"
    until(is_small)


def test_sets_scores_and_metrics_are_told(child: Child, suite_on: SuiteOn) -> None:
    """A set has neither target nor matcher; what comes after it in the run is told as well."""
    long = "y" * 5_000
    one = {"target": "result.content[0].text", "matcher": {"exact": long}, "name": "one"}
    expect = [{"assert-set": {"name": "both", "threshold": 0.5, "assertions": [one, {**one, "name": "two"}]}}]
    metric = {"name": "quality", "value": {"weighted_average": [{"ref": "one"}]}}
    scored = {"name": "a", "tool": "echo", "threshold": 0.5, "expect": expect, "derivedMetrics": [metric]}
    suite_on("echo", tests=[scored, *echoes(1)])
    record = run(child)["record"]
    ended = {told["result"]["name"]: told["result"] for told in child.events("case.finished")}
    first, (second,) = ended.pop("a"), ended.values()
    row, outcome, validity = first["assertions"]
    assert (outcome["implicit"], validity["implicit"]) == ("outcome", "valid")
    assert (first["score"], first["threshold"], row["set"]["score"]) == (0.0, 0.5, 0.0)
    assert len(row["set"]["assertions"][1]["message"]) < 3_000
    assert first["derived_metrics"] == [{"name": "quality", "value": 0.0}]
    assert second["verdict"] == "pass"
    assert record["metric_rollups"] == [{"name": "quality", "mean": 0.0, "count": 1}]


def test_an_event_that_trips_us_costs_none_of_the_others(tmp_path: Path) -> None:
    """It is told as the bug that it is: a list of tests that stays empty would say nothing."""
    sent: list[Any] = []
    telling = RunEventLines(sent.append, Results(Surroundings()), run="r", path=tmp_path / "mcptest.yml", root=tmp_path)
    telling(CaseFinished(index=0, result=None))  # type: ignore[arg-type]
    telling(Warned(message="and on"))
    assert [told["event"] for told in sent] == ["warned", "warned"]
    assert sent[0]["message"].startswith("this is a bug in mcptest, not in your suite: CaseFinished: AttributeError")
    assert sent[1]["message"] == "and on"


def test_a_wide_result_is_cut_and_paged(child: Child, suite_on: SuiteOn) -> None:
    suite_on("echo", tests=[{"name": "wide", "tool": "echo", "args": {"text": "a", "many": list(range(1_000))}}])
    run(child)
    detail = child.ask("detail", id="mcptest.yml::tool::wide")
    many = ["output", "result", "structuredContent", "arguments", "many"]
    assert detail["output"]["result"]["structuredContent"]["arguments"]["many"] == [*range(200), {"$more": 800}]
    assert child.ask("expand", id=detail["id"], path=many, start=900) == list(range(900, 1_000))
    assert child.ask("search", id=detail["id"], path=many[:-1], text="997") == [["many", 997]]
    assert child.ask("expand", id=detail["id"], path=many, start=200, key=997) == list(range(200, 1_000))
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


def _kept(sizes: list[int]) -> list[int]:
    """Which of the answers of these sizes can still be asked for, by number from 0."""
    results = Results(Surroundings())

    async def value(name: str) -> str | None:
        try:
            return await results.value(name, None, ["n"])
        except Refused:
            return None

    async def values() -> list[str | None]:
        names = [results.keep_answer({"n": number}, size) for number, size in enumerate(sizes)]
        return [await value(name) for name in names]

    return [int(told) for told in asyncio.run(values()) if told is not None]


def test_answers_of_calls_are_kept_while_they_are_small_enough_together() -> None:
    half = MOST_ANSWER_BYTES // 2
    assert _kept([half, half]) == [0, 1]
    assert _kept([half, half, 1]) == [1, 2]
    assert _kept([1, 2, 3 * MOST_ANSWER_BYTES]) == [2]  # the newest always
    assert _kept([3 * MOST_ANSWER_BYTES, 1]) == [1]
    assert _kept([1] * (MOST_ANSWERS + 2)) == [*range(2, MOST_ANSWERS + 2)]


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
