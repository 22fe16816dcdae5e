"""Runs in the child: what is told of them, in which order, and what becomes of them and their servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.engine_process.conftest import SERVERS, Refusal, echoes, run, wait_for_spare
from tests.engine_process.processes import Watched, processes_in
from tests.processes import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.engine_process.conftest import Child, Clinging

    SuiteOn = Callable[..., Path]


def test_a_run_of_the_demo_suite_is_told_from_queue_to_record(child: Child, demo: Path, place: Path) -> None:
    record = run(child)["record"]
    assert record["totals"]["passed"] > 10
    assert record["totals"]["failed"] == 0
    assert "tests" not in record
    names = [told["event"] for told in child.told() if told.get("run") == "r"]
    assert names[0] == "run.queued"
    assert names.index("run.started") < names.index("case.started") < names.index("case.finished")
    assert names[-1] == "run.finished"
    started = child.event("run.started")
    assert {test["file"] for test in started["tests"]} == {str(demo)}
    finished = child.events("case.finished", run="r")
    assert {told["id"] for told in finished} == {test["id"] for test in started["tests"]}
    assert all("request" not in told["result"] and "output" not in told["result"] for told in finished)
    saved = json.loads((place / ".mcptest" / "runs" / f"{record['run_id']}.json").read_text(encoding="utf-8"))
    assert len(saved["tests"]) == record["totals"]["total"]


def test_a_failure_beside_other_calls_is_told_once_and_its_cause_when_it_is_known(
    child: Child, place: Path, mixing_suite: str
) -> None:
    (place / "mcptest.yml").write_text(mixing_suite, encoding="utf-8")
    record = run(child)["record"]
    assert record["totals"]["failed"] == 1
    finished = child.events("case.finished", run="r")
    assert len(finished) == 2
    (failed,) = (told for told in finished if told["result"]["verdict"] == "fail")
    assert "cause" not in failed["result"]["failure"]
    (explained,) = child.events("case.explained", run="r")
    assert explained["id"] == failed["id"]
    assert explained["result"]["failure"]["cause"]["kind"] == "interference"
    assert explained["result"]["failure"]["hint"].startswith("passes alone; fails beside")


def test_a_missed_floor_is_told_in_a_line(child: Child, suite_on: SuiteOn) -> None:
    path = suite_on("echo", tests=echoes(1))
    path.write_text(path.read_text(encoding="utf-8").rstrip("}\n") + ', "coverage": {"tools": 100, "prompts": 0}}')
    record = run(child)["record"]
    assert record["exit_code"] == 6
    (gate,) = record["gates"]
    assert (gate["about"], gate["message"].startswith("coverage: tools ")) == ("coverage", True)
    assert "coverage" not in record


def test_an_exceeded_limit_of_effects_is_told_in_a_line_and_the_calls_are_shown(
    child: Child, suite_on: SuiteOn
) -> None:
    path = suite_on("echo", tests=[{"name": "t", "tool": "send_mail"}])
    path.write_text(path.read_text(encoding="utf-8").rstrip("}\n") + ', "effects": {"mutating": 0}}')
    record = run(child)["record"]
    told = "effects: 1 call of mutating tools, 0 are allowed: `send_mail` (1)"
    assert record["gates"] == [{"about": "effects", "message": told}]
    (row,) = record["effects"]["calls"]
    assert (row["tool"], row["class"], row["limited_as"], row["count"]) == ("send_mail", "unlisted", "mutating", 1)


def test_only_the_named_tests_run_focused_or_not(child: Child, suite_on: SuiteOn) -> None:
    """Whoever names a test means it, whatever else says `only: true`."""
    tests = echoes(3)
    tests[0]["only"] = True
    suite_on("echo", tests=tests)
    assert run(child, ids=["mcptest.yml::tool::t2"])["record"]["totals"] == {
        **dict.fromkeys(("failed", "inconclusive", "skipped", "cached"), 0),
        "total": 1,
        "passed": 1,
    }
    assert [told["id"] for told in child.events("case.finished")] == ["mcptest.yml::tool::t2"]


def test_a_suite_that_does_not_load_is_told_with_its_problems(child: Child, place: Path) -> None:
    (place / "mcptest.yml").write_text("serverz: {}\ntools: []\n", encoding="utf-8")
    failed = run(child)
    assert failed["event"] == "run.failed"
    assert failed["problems"][0]["fix"] == {"line": 1, "column": 1, "end_column": 8, "text": "servers"}
    assert not child.events("run.started")


def test_a_suite_that_is_missing_is_told(child: Child) -> None:
    assert "no such file" in run(child)["message"]


def test_variables_reach_the_suite(child: Child, suite_on: SuiteOn) -> None:
    tests = [{"name": "t", "tool": "echo", "args": {"text": "${var.word}"}}]
    path = suite_on("echo", tests=tests)
    whole = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**whole, "variables": {"word": "no"}}), encoding="utf-8")
    run(child, variables={"word": "yes"})
    assert child.ask("value", id="mcptest.yml::tool::t", path=["output", "result", "content", 0, "text"]) == "yes"


def test_runs_go_one_after_the_other(child: Child, suite_on: SuiteOn) -> None:
    suite_on("echo", tests=echoes(20))
    for key in ("one", "two"):
        child.ask("run", run=key, path="mcptest.yml")
    child.event("run.finished", run="two")
    names = [(told.get("event"), told.get("run")) for told in child.told()]
    assert names.index(("run.queued", "two")) < names.index(("run.finished", "one"))
    assert names.index(("run.finished", "one")) < names.index(("run.started", "two"))


def test_a_key_in_use_is_refused(child: Child, clinging: Clinging) -> None:
    child.ask("run", run="r", path="mcptest.yml")
    with pytest.raises(Refusal, match="queued already"):
        child.ask("run", run="r", path="mcptest.yml")


def test_a_cancelled_run_ends_its_servers_for_certain_and_keeps_its_record(
    child: Child, clinging: Clinging, place: Path
) -> None:
    child.ask("run", run="r", path="mcptest.yml")
    child.ask("run", run="later", path="mcptest.yml")
    clinging.wait_for("called")
    servers = Watched([pid for pid in processes_in(place) if pid != child.process.pid])
    assert child.ask("cancel") == {"cancelled": ["later", "r"]}
    assert child.event("run.failed", run="later")["message"] == "cancelled before it began"
    record = child.event("run.finished", run="r")["record"]
    servers.wait_until_gone()
    assert record["interrupted"]
    assert child.event("case.finished")["result"]["verdict"] == "skip"
    assert (place / ".mcptest" / "runs" / f"{record['run_id']}.json").exists()


def test_one_run_is_cancelled_and_the_next_comes(child: Child, clinging: Clinging, suite_on: SuiteOn) -> None:
    suite_on("echo", tests=echoes(1), name="other.yml")
    child.ask("run", run="hanging", path="mcptest.yml")
    child.ask("run", run="next", path="other.yml")
    clinging.wait_for("called")
    child.ask("cancel", run="hanging")
    assert child.event("run.finished", run="hanging")["record"]["interrupted"]
    assert child.event("run.finished", run="next")["record"]["totals"]["passed"] == 1


def test_the_next_run_finds_its_servers_started(child: Child, suite_on: SuiteOn, tmp_path: Path) -> None:
    """No process is started between the second run's request and its answers, though the suite was edited meanwhile."""
    log = tmp_path / ".messages"
    path = suite_on("echo", "--log-messages", str(log), tests=[{"name": "t", "tool": "seen"}])
    run(child, "one")
    wait_for_spare(child)
    assert _initialized(log) == 2
    path.write_text(path.read_text(encoding="utf-8").replace('"t"', '"u"'), encoding="utf-8")
    run(child, "two")
    assert [told["state"] for told in child.events("server.state", run="one")][:2] == ["starting", "ready"]
    assert child.events("server.state", run="two") == []
    assert child.ask("detail", id="mcptest.yml::tool::u")["verdict"] == "pass"


def test_a_server_whose_file_was_touched_is_started_anew(child: Child, suite_on: SuiteOn, place: Path) -> None:
    """A server that waited since before a change would give verdicts about the past."""
    source = place / "server.py"
    source.write_text((SERVERS / "echo.py").read_text(encoding="utf-8"), encoding="utf-8")
    (place / "minimcp.py").write_text((SERVERS / "minimcp.py").read_text(encoding="utf-8"), encoding="utf-8")
    path = suite_on("echo", tests=[{"name": "t", "tool": "echo", "args": {"text": "a"}}])
    path.write_text(path.read_text(encoding="utf-8").replace(str(SERVERS / "echo.py"), "server.py"), encoding="utf-8")
    run(child, "one")
    wait_for_spare(child)
    source.write_text(
        source.read_text(encoding="utf-8").replace('arguments.get("text", "")', '"new"'), encoding="utf-8"
    )
    run(child, "two")
    text = ["output", "result", "content", 0, "text"]
    assert child.ask("value", id="mcptest.yml::tool::t", path=text) == "new"


def _initialized(log: Path) -> int:
    return sum(json.loads(line)["method"] == "initialize" for line in log.read_text(encoding="utf-8").splitlines())


def test_a_slow_reader_loses_no_result(child: Child, suite_on: SuiteOn, place: Path) -> None:
    suite_on("echo", tests=echoes(2_000))
    child.ask("traffic_on", on=True)
    child.hold()
    child.send({"do": "run", "run": "r", "path": "mcptest.yml"})
    runs = place / ".mcptest" / "runs"
    wait_for_record(runs)
    child.go_on()
    child.event("run.finished")
    assert len(child.events("case.finished")) == 2_000


def wait_for_record(folder: Path) -> None:
    until(lambda: any(folder.glob("*.json")))
