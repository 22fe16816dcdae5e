"""Scaffolds and proposals through the front door."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import SERVERS
from tests.front_door.conftest import DEMO

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.front_door.conftest import Door

EVIL = ["mcptest", "mock", "--preset", "evil"]


def test_a_scaffold_validates_as_returned_and_runs(writer: Door) -> None:
    made = writer.call("scaffold_suite", command=DEMO, tools=["status", "delete_record"])
    assert made["suite"].startswith("# yaml-language-server: $schema=.mcptest/suite.schema.json\n")
    assert [tool["name"] for tool in made["tools"]] == ["delete_record", "status"]
    assert "next_cursor" not in made
    assert writer.call("validate_suite", suite=made["suite"]) == {"valid": True, "errors": []}
    ran = writer.call("run_tool_test", suite=made["suite"])
    verdicts = {row["name"]: row["verdict"] for row in ran["results"]}
    assert verdicts["status: valid arguments"] == "pass"
    assert {verdict for name, verdict in verdicts.items() if name.startswith("delete_record")} == {"skip"}


def test_the_suite_is_the_one_of_the_command_line(
    open_door: Callable[..., Door], mcptest: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    door = open_door("--enable-writes")
    for kind in ("suite", "conformance", "redteam", "eval"):
        printed = mcptest("generate", kind, "--command", " ".join(DEMO)).stdout
        assert door.call(f"scaffold_{kind}", command=DEMO)["suite"] == printed


@pytest.mark.parametrize("cursor", [1, "1"])
def test_a_scaffold_goes_on_from_a_cursor(open_door: Callable[..., Door], tmp_path: Path, cursor: object) -> None:
    tools = [{"name": f"tool_{n:02}", "response": {"content": []}} for n in range(27)]
    (tmp_path / "many.yml").write_text(json.dumps({"mock_server": {"tools": tools}}))
    door = open_door("--enable-writes")
    command = ["mcptest", "mock", "--tools-from", "many.yml"]
    first = door.call("scaffold_suite", command=command)
    assert len(first["tools"]) == 25
    assert first["next_cursor"] == 25
    second = door.call("scaffold_suite", command=command, cursor=cursor)
    assert second["tools"][0]["name"] == "tool_01"
    assert len(door.call("scaffold_suite", command=command, all=True)["tools"]) == 27


def test_all_tests_are_in_the_suite_of_the_handle_although_an_answer_has_no_room_for_them(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    tools = [{"name": f"tool_{n:03}", "description": "d" * 250, "response": {"content": []}} for n in range(150)]
    (tmp_path / "many.yml").write_text(json.dumps({"mock_server": {"tools": tools}}))
    door = open_door("--enable-writes")
    made = door.call("scaffold_suite", command=["mcptest", "mock", "--tools-from", "many.yml"], all=True)
    assert len(made["tools"]) < 150
    assert "the handle has the whole suite" in made["notes"][0]
    assert door.call("validate_suite", suite=made["suite"])["valid"]
    door.call("run_tool_test", suite=made["handle"], filter="tool_149: valid arguments")
    whole = door.call("list_runs", limit=1)["runs"][0]["totals"]
    assert whole["total"] == 1


def test_scaffolds_of_other_layers_answer_with_their_members_and_no_others(writer: Door) -> None:
    assert writer.call("scaffold_conformance", command=DEMO).keys() == {"suite", "checks_scaffolded", "notes"}
    for verb in ("scaffold_redteam", "scaffold_eval"):
        made = writer.call(verb, command=EVIL)
        assert made.keys() == {"suite", "tools_covered", "notes"}
        handle = made["notes"][-1].partition("`")[2].strip("`")
        assert made["suite"].startswith(writer.call("edit_suite", suite=handle, lines=[1, 99])["text"])


def test_a_proposal_is_made_of_two_calls_and_runs(writer: Door) -> None:
    made = writer.call("propose_assertions", command=DEMO, tool="status")
    assert made["calls_made"] == 2
    assert made["test"].startswith('  - name: "status: proposed assertions"\n    server: "target"\n')
    generous = re.sub(r"max_duration_ms: \d+", "max_duration_ms: 90000", made["test"])
    suite = f"servers: {{ target: {{ command: {json.dumps(DEMO)} }} }}\ntools:\n{generous}"
    assert writer.call("run_tool_test", suite=suite)["verdict"] == "pass"


def test_a_destructive_tool_is_called_only_when_it_is_said_so(open_door: Callable[..., Door], tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    server = [sys.executable, str(SERVERS / "recorder.py"), str(diary)]
    door = open_door("--enable-writes")
    tools = [tool["name"] for tool in door.call("list_tools", command=server)["tools"]]
    destructive = next(name for name in tools if name.startswith(("delete", "drop", "wipe", "remove", "purge")))
    words = door.refused("propose_assertions", command=server, tool=destructive)
    assert "set `execute_destructive` to true" in words
    assert "--execute" not in words
    assert destructive not in diary.read_text()


def test_warnings_are_there_for_poisoned_tools_and_absent_for_clean_ones(writer: Door) -> None:
    assert "warnings" not in writer.call("list_tools", command=DEMO)
    assert "warnings" not in writer.call("scaffold_suite", command=DEMO)
    for verb in ("list_tools", "scaffold_suite"):
        warnings = writer.call(verb, command=EVIL)["warnings"]
        assert {"SEC-001", "SEC-005"} <= {warning["rule"] for warning in warnings}
        assert all(warning.keys() == {"tool", "rule", "summary"} for warning in warnings)
        assert all(len(warning["summary"]) <= 160 and warning["summary"].isprintable() for warning in warnings)


def test_a_refused_login_is_told_with_what_to_set(open_door: Callable[..., Door], mock_url: str) -> None:
    door = open_door("--enable-writes")
    for verb, more in (("list_tools", {}), ("scaffold_suite", {}), ("propose_assertions", {"tool": "status"})):
        words = door.refused(verb, url=mock_url, bearer_token_env="MCP_TOKEN", **more)
        assert words.startswith(f"auth failed: HTTP 401 from {mock_url}, server advertises Bearer (realm=")
        assert "env var `MCP_TOKEN` (named by `bearer_token_env`) is not set or is empty in this process;" in words
        assert f"Diagnose with: mcptest doctor --url {mock_url} --bearer-token-env MCP_TOKEN" in words


def test_the_doctors_report_is_the_command_lines(
    open_door: Callable[..., Door], mcptest: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    report = open_door().call("get_doctor_report")
    printed = json.loads(mcptest("doctor", "--format", "json").stdout)
    assert report.keys() == printed.keys()
    assert [check["name"] for check in report["checks"]] == [check["name"] for check in printed["checks"]]


def test_a_secret_among_the_words_of_a_command_is_not_written_into_a_suite(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    secret = "hunter2-is-a-secret"
    server = [sys.executable, str(SERVERS / "recorder.py"), str(tmp_path / "diary"), "--api-key", secret]
    made = open_door("--enable-writes").call("scaffold_suite", command=server)
    assert secret not in json.dumps(made)
