"""No verb of the MCP server gives out a value of the environment, whatever a server does with what it was given."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.front_door.conftest import open_door  # noqa: F401 - a fixture
from tests.leaks.canaries import ALL, DECLARED, UNDECLARED, files_with, found_in
from tests.leaks.conftest import REFLECTING
from tests.leaks.test_commands import write_suite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.front_door.conftest import Door

LISTING = ("list_tools", "list_resources", "list_prompts", "get_capabilities")
SCAFFOLDING = ("scaffold_suite", "scaffold_conformance", "scaffold_redteam", "scaffold_eval")


def assert_nothing_leaks(answers: list[object], folder: Path, log: Path) -> None:
    assert answers
    for answer in answers:
        text = json.dumps(answer, ensure_ascii=False)
        assert found_in(text) == [], text
        assert "this is a bug in mcptest" not in text
    assert files_with(folder) == []
    assert found_in(log.read_text(), UNDECLARED) == []


@pytest.mark.parametrize("transport", ["url", "command", "declared"])
def test_a_verb_that_looks_at_a_server_gives_out_no_secret(
    open_door: Callable[..., Door],  # noqa: F811
    listener: tuple[str, Path],
    tmp_path: Path,
    transport: str,
) -> None:
    url, log = listener
    write_suite(tmp_path, url)
    command = [sys.executable, str(REFLECTING)]
    given = {"API_TOKEN": DECLARED["API_TOKEN"], "X_SECRET": DECLARED["PLAINWORD"]}
    target: dict[str, object] = {"url": url, "bearer_token_env": "MCP_TK"}
    if transport != "url":
        target = {"command": command, **({"env": given} if transport == "command" else {})}
    door = open_door(*(["--enable-writes"] if transport != "declared" else []), **ALL)
    verbs = [(verb, target) for verb in (*LISTING, *SCAFFOLDING)]
    if transport != "declared":
        verbs.append(("propose_assertions", {**target, "tool": "echo", "args": {"q": "x"}}))
        verbs.append(("propose_assertions", {**target, "tool": "fail"}))
    asked = [door.ask("tools/call", {"name": verb, "arguments": arguments}) for verb, arguments in verbs]
    assert sum(not answer.get("isError") for answer in asked) >= len(LISTING) + len(SCAFFOLDING)
    refused = [
        door.ask("tools/call", {"name": "list_tools", "arguments": {"url": url, "bearer_token_env": name}})
        for name in UNDECLARED
    ]
    assert all(answer.get("isError") for answer in refused)
    assert_nothing_leaks([*asked, *refused], tmp_path, log)


def test_what_runs_and_reads_gives_out_no_value_of_the_environment(
    open_door: Callable[..., Door],  # noqa: F811
    listener: tuple[str, Path],
    tmp_path: Path,
) -> None:
    url, log = listener
    write_suite(tmp_path, url)
    door = open_door("--enable-writes", **ALL)
    text = (tmp_path / "mcptest.yml").read_text()
    answers: list[object] = []

    def call(verb: str, **arguments: object) -> dict[str, object]:
        found = door.ask("tools/call", {"name": verb, "arguments": arguments})
        answers.append(found)
        return found

    ran = call("run_tool_test", suite=text)["structuredContent"]
    assert isinstance(ran, dict)
    for verb, arguments in (
        ("trigger_run", {}),
        ("record_cassette", {"name": "tape"}),
        ("get_cassette", {"name": "tape"}),
        ("list_cassettes", {}),
        ("list_runs", {}),
        ("get_run", {"run_id": ran["run_id"]}),
        ("get_coverage", {}),
        ("get_doctor_report", {}),
        ("validate_suite", {"suite": text}),
        *(("validate_suite", {"suite": text.replace("server: local", f'server: "${{env.{name}}}"')}) for name in ALL),
        ("validate_suite", {"suite": text.replace("tool: fail", 'tool: fail\n    timeout_ms: "${database}"')}),
        ("run_tool_test", {"suite": text.replace("server: local", 'server: "${database}"')}),
        ("run_tool_test", {"suite": text.replace("server: local", 'server: "${env.MYSTERY}"')}),
    ):
        call(verb, **arguments)
    for resource in door.ask("resources/list")["resources"]:
        answers.append(resource)
        answers.append(door.ask("resources/read", {"uri": resource["uri"]}))
    answers += door.notifications
    assert_nothing_leaks(answers, tmp_path, log)
