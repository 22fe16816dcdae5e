"""Suites through the front door."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import jsonschema
import pytest

from mcptest_engine.core.errors import UsageError
from mcptest_engine.front_door.door import Door as InProcess
from mcptest_engine.front_door.door import Request
from mcptest_engine.front_door.suites import trigger_run
from mcptest_engine.workspace.workspace import Workspace
from tests.conftest import SERVERS
from tests.front_door.conftest import SUITE, read
from tests.permissions import unreadable
from tests.tui.agents.working import agent

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.front_door.conftest import Door


def test_validation_gives_the_document_of_the_command_line(
    open_door: Callable[..., Door], mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    door = open_door()
    for text in ("serverz: {}\n", SUITE, SUITE.replace("expect:", "asert:"), "a: [\n", ""):
        (tmp_path / "suite.yml").write_text(text)
        assert door.call("validate_suite", suite=text) == json.loads(
            mcptest("validate", "suite.yml", "--format", "json").stdout
        )


def test_a_run_answers_with_one_verdict_a_test_and_what_failed(writer: Door) -> None:
    answer = writer.call("run_tool_test", suite=SUITE)
    assert {key: answer[key] for key in ("verdict", "total", "passed", "failed", "inconclusive")} == {
        "verdict": "fail",
        "total": 2,
        "passed": 1,
        "failed": 1,
        "inconclusive": 0,
    }
    assert [(row["name"], row["verdict"]) for row in answer["results"]] == [
        ("status check", "fail"),
        ("it answers", "pass"),
    ]
    (failure,) = answer["failures"]
    assert failure["test"] == "status check"
    assert "substring `degraded` not found in `status: operational`" in failure["assert"]
    assert failure["actual"] == "status: operational"
    assert "full" not in failure
    assert failure["repro"] == f'mcptest run .mcptest/inline/{answer["run_id"]}.yml --filter "status check"'


def test_a_run_answers_with_the_cause_of_a_failure_beside_other_calls(writer: Door, mixing_suite: str) -> None:
    answer = writer.call("run_tool_test", suite=mixing_suite)
    (failure,) = answer["failures"]
    other = {"ann": "bob", "bob": "ann"}[failure["test"]]
    assert f'passes alone; fails beside "{other}": the server mixes up concurrent calls' in failure["assert"]
    (test,) = writer.call("get_run", run_id=answer["run_id"], only="failed")["tests"]
    cause = test["failure"]["cause"]
    assert (cause["kind"], cause["with"]) == ("interference", other)
    assert cause["reruns"] >= 4


def test_the_repro_line_runs_verbatim_from_the_workspace(
    open_door: Callable[..., Door], mcptest: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (failure,) = open_door("--enable-writes").call("run_tool_test", suite=SUITE)["failures"]
    again = mcptest(*shlex.split(failure["repro"])[1:], "--reporter", "agent")
    assert again.returncode == 1
    assert again.stdout.startswith("VERDICT fail 0/1 passed")


def test_the_inline_suite_is_kept_verbatim_for_its_owner_alone(open_door: Callable[..., Door], tmp_path: Path) -> None:
    text = SUITE.replace("\n", "\r\n") + "# the end, without a newline"
    run_id = open_door("--enable-writes").call("run_tool_test", suite=text)["run_id"]
    kept = tmp_path / ".mcptest" / "inline" / f"{run_id}.yml"
    assert kept.read_bytes() == text.encode()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_clipped_value_can_be_read_in_full(open_door: Callable[..., Door], tmp_path: Path) -> None:
    long = "x" * 5_000
    manifest = (
        f'mock_server: {{ tools: [{{ name: long, response: {{ content: [{{ type: text, text: "{long}" }}] }} }}] }}\n'
    )
    (tmp_path / "m.yml").write_text(manifest)
    suite = SUITE.replace("--preset, demo", "--tools-from, m.yml").replace("tool: status", "tool: long")
    door = open_door("--enable-writes")
    answer = door.call("run_tool_test", suite=suite)
    (failure,) = answer["failures"]
    assert len(failure["actual"]) < 400
    assert failure["full"] == f"mcptest://runs/{answer['run_id']}/tests/status-check/output"
    (read,) = door.ask("resources/read", {"uri": failure["full"]})["contents"]
    assert json.loads(read["text"])["result"]["content"][0]["text"] == long


def test_an_output_that_lies_beside_its_record_is_read_too(open_door: Callable[..., Door], tmp_path: Path) -> None:
    long = "y" * 1_500_000
    (tmp_path / "m.json").write_text(
        json.dumps(
            {"mock_server": {"tools": [{"name": "long", "response": {"content": [{"type": "text", "text": long}]}}]}}
        )
    )
    (tmp_path / "m.yml").write_bytes((tmp_path / "m.json").read_bytes())
    suite = SUITE.replace("--preset, demo", "--tools-from, m.yml").replace("tool: status", "tool: long")
    door = open_door("--enable-writes")
    answer = door.call("run_tool_test", suite=suite)
    uri = f"mcptest://runs/{answer['run_id']}/tests/it-answers/output"
    (read,) = door.ask("resources/read", {"uri": uri})["contents"]
    assert json.loads(read["text"])["result"]["content"][0]["text"] == long


@pytest.mark.parametrize(
    "uri",
    [
        "mcptest://runs/../../tests/x/output",
        "mcptest://runs/01ARZ3NDEKTSV4RRFFQ69G5FAV/tests/..%2F..%2Fetc%2Fpasswd/output",
        "mcptest://runs/01ARZ3NDEKTSV4RRFFQ69G5FAV/tests/x/output",
        "mcptest://inline/01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "file:///etc/passwd",
    ],
)
def test_a_uri_leads_nowhere_else(reader: Door, uri: str) -> None:
    message = reader.answer_to(reader.begin("resources/read", {"uri": uri}))
    assert "result" not in message
    assert "root:" not in json.dumps(message)


@pytest.mark.parametrize("run_id", ["../../../etc/passwd", "", "x" * 26, "mcptest.yml", "01ARZ3NDEKTSV4RRFFQ69G5FAV"])
def test_a_run_id_is_never_a_path(reader: Door, run_id: str) -> None:
    assert "list_runs" in reader.refused("get_run", run_id=run_id)


@pytest.mark.parametrize("config", ["../outside.yml", "/etc/passwd", "link.yml", "missing.yml"])
def test_a_suite_outside_of_the_workspace_is_not_run(
    open_door: Callable[..., Door], tmp_path: Path, config: str
) -> None:
    root = tmp_path / "inner"
    (root / ".mcptest").mkdir(parents=True)
    (tmp_path / "outside.yml").write_text(SUITE)
    (root / "link.yml").symlink_to(tmp_path / "outside.yml")
    assert "this workspace" in open_door("--enable-writes", cwd=root).refused("trigger_run", config=config)


def test_a_run_of_the_workspaces_suite_answers_alike(open_door: Callable[..., Door], tmp_path: Path) -> None:
    (tmp_path / "mcptest.yml").write_text(SUITE)
    door = open_door("--enable-writes")
    assert door.call("trigger_run", filter="it answers")["verdict"] == "pass"
    answer = door.call("trigger_run")
    assert answer["failures"][0]["repro"] == 'mcptest run --filter "status check"'
    runs = door.call("list_runs")["runs"]
    assert [run["verdict"] for run in runs] == ["fail", "pass"]
    assert door.call("get_run", run_id=answer["run_id"], only="failed")["tests"][0]["name"] == "status check"


def test_a_suite_that_does_not_load_is_an_error_that_says_where(writer: Door) -> None:
    words = writer.refused("run_tool_test", suite=SUITE.replace("expect:", "asert:"))
    assert words.startswith("the suite does not load: suite:5:5: ")
    assert "asert" in words
    assert "expect" in words


def test_progress_is_told_to_who_asks_for_it(open_door: Callable[..., Door]) -> None:
    door = open_door("--enable-writes")
    meta = {"progressToken": "mine"}
    door.ask("tools/call", {"name": "run_tool_test", "arguments": {"suite": SUITE}, "_meta": meta})
    told = [note["params"] for note in door.notifications if note["method"] == "notifications/progress"]
    assert told
    assert all(note["progressToken"] == "mine" and note["total"] == 2 for note in told)
    assert told[-1]["progress"] == 2


def test_cancelling_ends_the_run_and_its_servers(open_door: Callable[..., Door], tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    os.mkfifo(pid_file)
    server = f"import os, sys; open({str(pid_file)!r}, 'w').write(str(os.getpid())); sys.stdin.read()"
    suite = f"servers: {{ s: {{ command: {json.dumps([sys.executable, '-c', server])} }} }}\ntools: [{{ name: t, tool: t }}]\n"
    door = open_door("--enable-writes")
    number = door.begin("tools/call", {"name": "run_tool_test", "arguments": {"suite": suite}})
    pid = int(pid_file.read_text())  # waits until the server is there
    cancelled = {"requestId": number, "reason": "enough"}
    door.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
    door.ask("ping")
    door.call("list_runs")
    assert door.end() == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_when_the_client_goes_away_no_server_stays(open_door: Callable[..., Door], tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    slow = SERVERS / "diary.py"
    suite = (
        f"servers: {{ s: {{ command: {json.dumps([sys.executable, str(slow), str(diary)])}, shutdown_grace_ms: 30000 }} }}\n"
        "tools: [{ name: t, tool: write, args: { text: called } }]\n"
    )
    door = open_door("--enable-writes")
    door.call("run_tool_test", suite=suite)
    assert door.end() == 0
    assert diary.read_text().splitlines() == ["server starts", "called", "server ends"]


@pytest.mark.parametrize("flags", [(), ("--enable-writes",)])
def test_every_schema_is_one_and_every_annotation_is_there(
    open_door: Callable[..., Door], flags: tuple[str, ...]
) -> None:
    for tool in open_door(*flags).ask("tools/list")["tools"]:
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
        hints = tool["annotations"]
        assert hints["readOnlyHint"] or flags
        assert hints["readOnlyHint"] or "destructiveHint" in hints
        # With writes enabled a verb that talks to a server runs any command that its caller names.
        assert not (flags and hints["readOnlyHint"] and hints["openWorldHint"])


def test_answers_fit_the_schemas_that_are_declared(open_door: Callable[..., Door], tmp_path: Path) -> None:
    """Every verb's: a client that checks them gives up on the whole session when one does not."""
    (tmp_path / "mcptest.yml").write_text(SUITE)
    door = open_door("--enable-writes")
    listed = {tool["name"]: tool["outputSchema"] for tool in door.ask("tools/list")["tools"]}
    schemas = {name: json.loads(read(door, f"mcptest://schemas/{name}")) for name in listed}
    demo: dict[str, object] = {"command": ["mcptest", "mock", "--preset", "demo"]}
    calls: dict[str, dict[str, object]] = {
        "validate_suite": {"suite": SUITE},
        "run_tool_test": {"suite": SUITE},
        "trigger_run": {},
        "record_cassette": {"name": "tape"},
        "mutate_suite": {"budget": 50},
        "propose_assertions": {**demo, "tool": "status"},
        "call_tool": {**demo, "tool": "status"},
        "edit_suite": {"suite": SUITE, "edits": [{"old": "it answers", "new": "ok"}], "lines": [1, 2]},
        "render_report": {"format": "md"},
        "list_runs": {},
        "list_cassettes": {},
        "get_cassette": {"name": "tape"},
        "get_coverage": {},
        "get_doctor_report": {},
        **{verb: demo for verb in schemas if verb.startswith(("list_", "scaffold_"))},
        "get_capabilities": demo,
    }
    calls |= {verb: {} for verb in ("list_runs", "list_cassettes")}
    answers = {verb: door.call(verb, **arguments) for verb, arguments in calls.items()}
    answers["get_run"] = door.call("get_run", run_id=answers["trigger_run"]["run_id"])
    assert answers.keys() == schemas.keys()
    for verb, answer in answers.items():
        jsonschema.validate(answer, schemas[verb])
        jsonschema.validate(answer, listed[verb])


@pytest.mark.parametrize(
    ("verb", "arguments", "told"),
    [
        ("validate_suite", {}, "needs `suite`"),
        ("validate_suite", {"suite": 3}, "suite"),
        ("validate_suite", {"suit": "x"}, "did you mean `suite`?"),
        ("list_runs", {"limit": 0}, "limit"),
        ("list_runs", {"cursor": "abc"}, "cursor"),
        ("list_runs", {"cursor": -1}, "cursor"),
        ("get_cassette", {"name": "../../mcptest"}, "no cassette"),
        ("get_run", {"run_id": "x", "only": "passed"}, "only"),
    ],
)
def test_a_wrong_argument_is_told_in_words(reader: Door, verb: str, arguments: dict[str, object], told: str) -> None:
    assert told in reader.refused(verb, **arguments)


def test_an_unknown_verb_is_a_protocol_error_with_the_nearest_name(reader: Door) -> None:
    message = reader.answer_to(reader.begin("tools/call", {"name": "list_runz", "arguments": {}}))
    assert message["error"]["code"] == -32602
    assert "did you mean `list_runs`?" in message["error"]["message"]


def test_a_run_of_a_thousand_tests_is_answered_within_what_a_client_takes(writer: Door) -> None:
    tests = "".join(
        f"  - {{ name: a rather long name for the test with number {n}, tool: status, "
        f"expect: [{{ target: result, matcher: {{ exact: {n} }} }}] }}\n"
        for n in range(1_000)
    )
    head = SUITE.split("tools:", maxsplit=1)[0]
    answer = writer.call("run_tool_test", suite=f"{head}tools:\n{tests}")
    assert answer["failed"] == 1_000
    assert len(json.dumps(answer)) < 75_000
    seen: set[str] = set()
    more: dict[str, str] = {}
    while True:
        page = writer.call("get_run", run_id=answer["run_id"], **more)
        assert len(json.dumps(page)) < 75_000
        seen.update(test["name"] for test in page["tests"])
        if page.get("next_cursor") is None:
            break
        more = {"cursor": page["next_cursor"]}
    assert len(seen) == 1_000


COMPOSED = """\
servers: { mock: { command: [mcptest, mock, --preset, demo] } }
compositions:
  - name: reads all
    nodes:
      - id: list
        tool: status
        mock: { result: { items: %s, _meta: { mcptest/usage: { cost_usd: 0.5, tokens: 7, model: x } } } }
      - { id: each, needs: [list], for_each: "${list.items}", tool: status, mock: { result: "%s${item}" } }
    cases: [{ name: one }]
    expect: [{ target: nodes.each.output, matcher: { length: 3 } }]
"""


def test_a_suite_with_compositions_is_validated_and_run(writer: Door) -> None:
    """A broken reference is named with its path; a run tells each case, and what it cost."""
    text = COMPOSED % ("[1, 2, 3]", "a")
    (error,) = writer.call(
        "validate_suite", suite=text.replace("needs: [list]", "needs: [lst]").replace("${list.items}", "${lst}")
    )["errors"]
    assert error["path"] == "/compositions/0/nodes/1/needs/0"
    assert error["hint"] == "did you mean `list`?"
    answer = writer.call("run_tool_test", suite=text)
    assert [(row["name"], row["verdict"]) for row in answer["results"]] == [("reads all [one]", "pass")]
    assert answer["spending"] == {"cost_usd": 0.5, "tokens": 7}
    (test,) = writer.call("get_run", run_id=answer["run_id"])["tests"]
    assert test["trace"]["nodes"]["each"]["output"] == ["a1", "a2", "a3"]


def test_a_run_says_how_many_of_its_calls_changed_something(writer: Door) -> None:
    """In a few words; nothing where all that was called declares or is presumed to read only."""
    text = (
        "servers: { demo: { command: [mcptest, mock, --preset, demo] } }\n"
        "tools: [{ name: t, tool: %s, expect: [{ target: result.isError, matcher: { not: { exact: true } } }] }]"
    )
    assert "effects" not in writer.call("run_tool_test", suite=text % "status")
    assert writer.call("run_tool_test", suite=text % "create_record")["effects"] == "1 mutating executed"


def test_a_run_of_a_huge_composition_has_room_in_an_answer(writer: Door) -> None:
    """Agent-interface: every answer has a budget; the nodes and their statuses are what stays."""
    answer = writer.call("run_tool_test", suite=COMPOSED % (json.dumps(list(range(500))), "x" * 2_000))
    (failure,) = answer["failures"]
    assert len(json.dumps(answer)) < 3_000
    assert failure["repro"].endswith('--filter "reads all [one]"')
    run = writer.call("get_run", run_id=answer["run_id"])
    assert len(json.dumps(run)) < 60_000
    nodes = run["tests"][0]["trace"]["nodes"]
    assert [(name, node["status"]) for name, node in nodes.items()] == [("list", "ok"), ("each", "ok")]


def test_coverage_is_that_of_the_latest_run_with_its_floors(writer: Door) -> None:
    writer.call("run_tool_test", suite=SUITE)
    unlisted = writer.call("get_coverage")
    assert unlisted["tools_called"] == [{"server": "mock", "tool": "status", "calls": 2}]
    assert (unlisted["coverage"]["tools"]["covered"], unlisted["coverage"]["tools"]["total"]) == (1, 12)
    assert "notes" not in unlisted
    writer.call("run_tool_test", suite=SUITE + "run_options: { catalog: off }\n")
    assert "a suite with `coverage: {}` has its whole runs do that" in writer.call("get_coverage")["notes"][0]
    ran = writer.call("run_tool_test", suite=SUITE.replace("degraded", "operational") + "coverage: { tools: 100 }\n")
    assert (ran["verdict"], ran["failed"]) == ("fail", 0)
    told = writer.call("get_coverage")
    assert told["run_id"] == ran["run_id"]
    assert (told["coverage"]["tools"]["percent"], told["coverage"]["tools"]["met"]) == (8.3, False)
    assert told["notes"][0].startswith("coverage: tools 8.3 % (1 of 12), below the floor of 100 %; not covered: `echo`")
    assert told["notes"] == [text for text in ran["notes"] if text.startswith("coverage: ")]


def test_a_run_says_that_an_agent_asked_for_it_and_what_that_called_itself(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    (tmp_path / "mcptest.yml").write_text(SUITE)
    door = open_door("--enable-writes")
    taped = door.call("record_cassette", name="tape")["run_id"]
    record = json.loads((tmp_path / ".mcptest" / "runs" / f"{taped}.json").read_bytes())
    session = record["requested_by"].pop("session")
    assert record["requested_by"] == {
        "via": "mcp-server", "client": {"name": "test", "version": "1"}, "lineage": "mcptest.yml"
    }  # fmt: skip
    assert (record["mode"], record["cassette"]) == ("recorded", "tape")
    sent = door.call("run_tool_test", suite=SUITE)["run_id"]
    record = json.loads((tmp_path / ".mcptest" / "runs" / f"{sent}.json").read_bytes())
    assert record["suite"]["name"] == "suite of mock"  # its file is called after the run, which tells nobody anything
    with agent(tmp_path, "--enable-writes", name="\x1b[2J" + "n" * 5_000, version="v\n2") as long:
        run_id = long.call("trigger_run")["run_id"]
    record = json.loads((tmp_path / ".mcptest" / "runs" / f"{run_id}.json").read_bytes())
    assert len(record["requested_by"]["client"]["name"]) == 100
    assert "\x1b" not in json.dumps(record["requested_by"], ensure_ascii=False)
    assert record["requested_by"]["client"]["version"] == r"v\n2"
    assert record["requested_by"]["session"] != session
    assert "cassette" not in record


def test_an_agent_test_without_a_model_is_inconclusive_and_no_pass(writer: Door) -> None:
    """A missing key is never a pass."""
    suite = """\
servers: { mock: { command: [mcptest, mock, --preset, demo] } }
agents:
  - name: asks
    model: claude-sonnet-5-5
    prompt: How is the service?
    expect: [{ target: final_response, matcher: { not: { contains: BANANA } } }]
    eval: { mcp_use: true }
"""
    answer = writer.call("run_tool_test", suite=suite)
    assert (answer["passed"], answer["failed"], answer["inconclusive"], answer["failures"]) == (0, 0, 2, [])
    assert [row["verdict"] for row in answer["results"]] == ["inconclusive"] * 2


def test_a_folder_or_a_pattern_runs_all_of_its_suites_with_one_answer(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    writer = open_door("--enable-writes")
    for name, text in (("a", SUITE), ("b", SUITE.replace("contains: degraded", "contains: operational"))):
        (tmp_path / "all" / name).mkdir(parents=True)
        (tmp_path / "all" / name / "mcptest.yml").write_text(text, encoding="utf-8")
    answer = writer.call("trigger_run", config="all")
    assert [(one["config"], one["verdict"], one["passed"], one["failed"]) for one in answer["suites"]] == [
        ("all/a/mcptest.yml", "fail", 1, 1),
        ("all/b/mcptest.yml", "pass", 2, 0),
    ]
    assert (answer["verdict"], answer["total"], "run_id" in answer) == ("fail", 4, False)
    assert [one["config"] for one in answer["results"]] == ["all/a/mcptest.yml"] * 2 + ["all/b/mcptest.yml"] * 2
    (failure,) = answer["failures"]
    assert "--config all/a/mcptest.yml" in failure["repro"]
    again = failure["repro_call"]
    assert writer.call(again["name"], **again["arguments"])["total"] == 1
    assert writer.call("get_run", run_id=answer["suites"][1]["run_id"])["verdict"] == "pass"
    chosen = writer.call("trigger_run", config="all/**/*.yml", filter="it answers")
    assert (chosen["verdict"], chosen["total"], len(chosen["suites"])) == ("pass", 2, 2)
    starts, together = tmp_path / "starts.txt", tmp_path / "together"
    counted = json.dumps([sys.executable, "-S", str(SERVERS / "counted.py"), str(starts)])
    together.mkdir()
    for name in ("a", "b"):
        text = f"servers: {{ counted: {{ command: {counted} }} }}\ntools: [{{ name: {name}, tool: count, outcome: success }}]\n"
        (together / f"{name}.yml").write_text(text, encoding="utf-8")
    assert writer.call("trigger_run", config="together/*.yml")["passed"] == 2
    assert starts.read_text(encoding="utf-8").splitlines() == ["start counted", "end counted"]
    for outside in ("..", "../*.yml", "/tmp", "/*"):
        assert "is outside of this workspace" in writer.refused("trigger_run", config=outside)


def test_a_folder_that_cannot_be_read_fails_the_run_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "mcptest.yml").write_text(SUITE, encoding="utf-8")
    door = InProcess(workspace=Workspace(tmp_path), environ=dict(os.environ), writes_enabled=True)
    request = Request(door=door, arguments={"config": ".", "filter": "it answers"})
    with unreadable(tmp_path / "locked"):
        answer = asyncio.run(trigger_run(request))
        with pytest.raises(UsageError, match="locked: the folder cannot be read"):
            asyncio.run(trigger_run(replace(request, arguments={"config": "locked"})))
        (tmp_path / "closed.yml").touch(0)
        with pytest.raises(UsageError, match=r"closed.yml: the file cannot be read"):
            asyncio.run(trigger_run(request))
    assert (answer["verdict"], answer["passed"], answer["failed"]) == ("fail", 1, 0)
    ran, unread = answer["suites"]
    assert (ran["config"], ran["verdict"]) == ("mcptest.yml", "pass")
    reason = "the folder cannot be read: permission denied"
    assert unread == {"config": "locked", "verdict": "fail", "reason": reason}
    assert f"locked: suites in it were not run: {reason}" in answer["notes"]
