"""Several suites in one command talk to the same servers, each started once, and each suite has its own record."""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mcptest_engine.cli import run
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.workspace.workspace import Workspace
from tests.running.test_over_http import serving

SCRIPT = str(Path(__file__).parents[1] / "servers" / "counted.py")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_suite(name: str, *tools: str | dict[str, Any], server: dict[str, Any] | None = None, **more: Any) -> None:
    """A suite at NAME.yml; a tool by its name alone is called without arguments and has to succeed."""
    started = {"command": [sys.executable, "-S", SCRIPT, "starts.txt"], **(server or {})}
    if "url" in started:
        del started["command"]
    tests = [
        {"name": f"{name} {at}", "tool": tool, "outcome": "success"} if isinstance(tool, str) else tool
        for at, tool in enumerate(tools)
    ]
    suite = {"servers": {"counted": started}, "tools": tests, **more}
    Path(f"{name}.yml").write_text(json.dumps(suite), encoding="utf-8")


def run_suites(*names: str, options: tuple[str, ...] = ()) -> tuple[RunRecord, dict[str, RunRecord]]:
    """The joined record, and that of each suite as it was saved."""
    arguments = [*(f"{name}.yml" for name in names), "--reporter", "json", *options]
    ran = CliRunner().invoke(run.command, arguments, help_option_names=["-h", "--help"])
    assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.exception
    joined = RunRecord.from_json(json.loads(ran.stdout))
    workspace = Workspace(Path.cwd())
    saved = [RunRecord.from_json(workspace.load_run(suite.run_id)) for suite in joined.suites]
    return joined, {Path(record.suite.path).stem: record for record in saved}


def starts() -> list[str]:
    return Path("starts.txt").read_text(encoding="utf-8").splitlines()


def text_of(record: RunRecord, at: int = 0) -> str:
    output = record.tests[at].output
    assert output is not None
    return str(output["result"]["content"][0]["text"])


def test_suites_with_the_same_server_start_it_once_and_each_record_is_of_its_own_run() -> None:
    write_suite("a", "count", "babble")
    write_suite("b", "count", "count")
    joined, records = run_suites("a", "b", options=("--workers", "1"))
    assert joined.exit_code == 0
    assert starts() == ["start counted", "end counted"]
    assert text_of(records["b"]) == "2 calls"  # the process has answered one call of the other suite
    for record in records.values():
        (server,) = record.servers
        assert server.server_info == {"name": "counted", "version": "1.0"}
        assert server.tools is not None
        assert "count" in server.tools
        assert server.restarts == 0
    first, second = (records[name].servers[0] for name in ("a", "b"))
    assert [finding["kind"] for finding in first.findings] == ["stdout_noise"]
    assert "babbled" in first.stderr_tail
    assert (second.findings, second.stderr_tail, records["b"].warnings) == ((), "", ())
    assert records["b"].effects is not None
    assert records["a"].effects is not None
    assert records["b"].effects.to_json() != records["a"].effects.to_json()


def test_a_server_with_another_setting_or_hooks_beside_it_is_started_for_its_suite() -> None:
    others = {
        "env": {"MODE": "other"},
        "fresh": "suite",
        "client": {"sampling": "Paris"},
        "protocol": "2025-06-18",
        "hygiene": "fail",
    }
    write_suite("a", "count")
    for key, value in others.items():
        write_suite(key, "count", server={key: value})
    write_suite("hooks", "count", hooks={"beforeAll": "true"})
    _, records = run_suites("a", *others, "hooks")
    assert [text_of(record) for record in records.values()] == ["1 calls"] * 7
    assert starts() == ["start counted", "end counted"] * 7  # one after the other: it may have a file or a port


@pytest.mark.parametrize("disturbing", ["die", "hang"])
def test_a_server_that_died_or_hung_in_one_suite_is_started_anew_for_the_next(disturbing: str) -> None:
    write_suite("a", "count", {"name": "breaks", "tool": disturbing, "timeout_ms": 300})
    write_suite("b", "count")
    joined, records = run_suites("a", "b", options=("--workers", "1"))
    assert [suite.exit_code for suite in joined.suites] == [1, 0]
    assert text_of(records["b"]) == "1 calls"
    assert records["b"].servers[0].restarts == 0


def test_the_first_failure_over_a_used_server_says_who_used_it_and_how_a_suite_gets_its_own() -> None:
    failing = {"name": "first", "tool": "count", "expect": {"text": "1 calls"}}
    write_suite("a", failing)
    write_suite("b", failing, {**failing, "name": "second"})
    joined, records = run_suites("a", "b", options=("--workers", "1"))
    assert [suite.exit_code for suite in joined.suites] == [0, 1]
    hints = [test.failure.hint for test in records["b"].tests if test.failure is not None]
    told = (
        'server "counted" was used by a.yml before; if a test depends on its state, write `fresh: suite` on the server'
    )
    assert hints == [told, None]
    node = {"id": "one", "tool": "count"}
    graph = {"name": "graph", "nodes": [node], "expect": {"nodes.one.output": {"contains": "1 calls"}}}
    write_suite("c", compositions=[graph, {**graph, "name": "again"}])
    _, records = run_suites("a", "c", options=("--workers", "1"))
    hints = [test.failure.hint for test in records["c"].tests if test.failure is not None]
    assert hints == [told, None]
    scorer = {
        "name": "low",
        "type": "exec",
        "command": [sys.executable, "-c", 'print(\'{"verdict": "fail", "score": 0}\')'],
    }
    graded = {"name": "graded", "call": {"tool": "count"}, "scorers": ["low"], "threshold": 1}
    write_suite("d", evals=[graded], scorers=[scorer])
    _, records = run_suites("a", "d", options=("--workers", "1"))
    assert [test.failure.hint for test in records["d"].tests if test.failure is not None] == [told]
    write_suite("a", "drop")
    _, records = run_suites("a", "b", options=("--workers", "1"))
    failure = records["b"].tests[0].failure
    assert failure is not None
    assert 'lists no tool "count"' in failure.message
    assert str(failure.hint).endswith(told)


def test_servers_of_the_next_suites_start_while_a_suite_runs_but_not_with_one_worker() -> None:
    write_suite("a", {"name": "waits", "tool": "meet", "args": {"name": "later"}})
    write_suite("b", "count", server={"command": [sys.executable, "-S", SCRIPT, "starts.txt", "later"]})
    joined, _ = run_suites("a", "b")
    assert joined.exit_code == 0
    Path("starts.txt").unlink()
    write_suite("a", "count")
    run_suites("a", "b", options=("--workers", "1"))
    assert starts() == ["start counted", "end counted", "start later", "end later"]


def test_when_bail_ends_the_command_no_server_is_left_and_the_reports_name_the_suites_that_were_not_run() -> None:
    write_suite("a", {"name": "fails", "tool": "count", "expect": {"text": "never"}})
    for name in ("b", "c"):
        write_suite(name, "count", server={"env": {"MODE": name}} if name == "c" else None)
    joined, records = run_suites("a", "b", "c", options=("--bail", "--reporter", "agent=told.txt"))
    assert list(records) == ["a"]
    assert joined.exit_code == 1
    assert starts() == ["start counted", "end counted"]
    assert [(one.path, one.reason) for one in joined.not_run] == [("b.yml", "ended"), ("c.yml", "ended")]
    told = "2 suites not run, because the command ended before: b.yml, c.yml"
    assert joined.warnings == (told,)
    assert f"NOTE {told}\n" in Path("told.txt").read_text(encoding="utf-8")
    assert RunRecord.from_json(joined.to_json()) == joined


def test_suites_share_the_session_of_a_url_and_each_record_has_its_own_calls() -> None:
    for url in serving("http_echo"):
        for name in ("a", "b"):
            calls = [{"name": f"{name} {at}", "tool": "echo", "args": {"text": f"{name} {at}"}} for at in range(2)]
            write_suite(name, *calls, server={"url": f"{url}/session"})
        joined, records = run_suites("a", "b", options=("--workers", "1"))
        with urllib.request.urlopen(f"{url}/seen") as answer:
            seen = json.load(answer)
    assert joined.exit_code == 0
    assert sum('"initialize"' in one["body"] for one in seen if one["body"]) == 1
    assert [one["method"] for one in seen].count("DELETE") == 1
    for name, record in records.items():
        assert [json.loads(text_of(record, at))["arguments"]["text"] for at in range(2)] == [f"{name} 0", f"{name} 1"]
        assert [test.output["http"]["status"] for test in record.tests if test.output is not None] == [200, 200]
        assert record.effects is not None
        (effect,) = record.effects.to_json()["calls"]
        assert (effect["tool"], effect["count"], len(effect["arguments"])) == ("echo", 2, 2)
        (server,) = record.servers
        assert (server.transport, server.reached, server.server_info) == (
            "http",
            (f"{url}/session",),
            {"name": "http", "version": "1"},
        )
    assert records["a"].effects != records["b"].effects
