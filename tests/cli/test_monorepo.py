"""A repository of many servers: nine suites in folders over six servers, run by one command that gives one report."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from mcptest_engine.cli import run
from mcptest_engine.core.run_record import RunRecord
from tests.running.test_over_http import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVERS = Path(__file__).parents[1] / "servers"
OLD = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    result = {}
    if asked["method"] == "initialize":
        server = {"name": "NAME", "version": "1"}
        result = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": server}
    if asked["method"] == "tools/list":
        result = {"tools": [{"name": "who", "inputSchema": {"type": "object"}}]}
    if asked["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": "I am NAME"}]}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
OLD_NAMES = ("mail", "maps", "time")
SUITE = """\
servers: {{ {server}: {start} }}
tools:
  - {{ name: {server} answers, tool: {tool}, args: {args}, expect: {{ text: {{ contains: {says} }} }} }}
  - {{ name: {server} is silent, tool: {tool}, args: {args}, expect: {{ text: {{ contains: {says_too} }} }} }}
"""
FAILING = {"services/maps/mcptest.yml", "web/later/mcptest.yml"}


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths of the nine suites, below the current directory; one test fails in each of `FAILING`."""
    monkeypatch.chdir(tmp_path)
    with contextmanager(serving)("http_echo") as address:
        web = {"url": f"{address}/json"}
        shop = {"command": [sys.executable, "-S", str(SERVERS / "shop.py")]}
        echo = {"command": [sys.executable, "-S", str(SERVERS / "echo.py")]}
        suites: dict[str, tuple[str, dict[str, Any], str, dict[str, str], str]] = {
            "packages/shop/mcptest.yml": ("shop", shop, "stock", {"item": "tea"}, "tea"),
            "packages/shop/more/mcptest.yml": ("shop", shop, "stock", {"item": "milk"}, "milk"),
            "packages/echo/mcptest.yml": ("echo", echo, "echo", {"text": "hello"}, "hello"),
            "packages/echo/more/mcptest.yml": ("echo", echo, "echo", {"text": "again"}, "again"),
            "web/now/mcptest.yml": ("web", web, "echo", {"text": "hello"}, "hello"),
            "web/later/mcptest.yml": ("web", web, "echo", {"text": "later"}, "later"),
        }
        for name in OLD_NAMES:
            start = {"command": [sys.executable, "-S", f"services/{name}/{name}.py"]}
            suites[f"services/{name}/mcptest.yml"] = (name, start, "who", {}, name)
        for path, (server, start, tool, args, says) in suites.items():
            folder = tmp_path / Path(path).parent
            folder.mkdir(parents=True, exist_ok=True)
            if server in OLD_NAMES:
                (folder / f"{server}.py").write_text(OLD.replace("NAME", server), encoding="utf-8")
            text = SUITE.format(
                server=server,
                start=json.dumps(start),
                tool=tool,
                args=json.dumps(args),
                says=says,
                says_too="nothing" if path in FAILING else says,
            )
            (tmp_path / path).write_text(text, encoding="utf-8")
        yield sorted(suites)


def record_of(*options: str) -> RunRecord:
    """The report over everything below here."""
    ran = CliRunner().invoke(run.command, [".", "--reporter", "json", *options], help_option_names=["-h", "--help"])
    return RunRecord.from_json(json.loads(ran.stdout))


def test_one_command_runs_the_suites_of_every_folder_and_gives_one_report(paths: list[str]) -> None:
    everything = record_of("--workers", "2", "--reporter", "github=notes.txt")
    assert sorted(suite.path for suite in everything.suites) == paths
    assert everything.exit_code == 1
    assert (everything.totals.passed, everything.totals.failed) == (16, 2)
    assert {suite.path for suite in everything.suites if suite.exit_code == 1} == FAILING
    revisions = {server.name.partition(" (")[0]: server.protocol_version for server in everything.servers}
    assert len(revisions) == 6
    assert [revisions[name] for name in OLD_NAMES] == ["2024-11-05"] * 3

    notes = Path("notes.txt").read_text(encoding="utf-8").splitlines()
    placed = {line.partition(",title=")[0] for line in notes if line.startswith("::error ")}
    assert placed == {f"::error file={path},line=4" for path in FAILING}

    ids = {test.id for test in everything.tests}
    shards = [{test.id for test in record_of("--shard", f"{number}/3").tests} for number in (1, 2, 3)]
    assert sorted(test for shard in shards for test in shard) == sorted(ids)


@pytest.mark.usefixtures("paths")
def test_last_failed_starts_only_the_servers_of_suites_in_which_a_test_failed() -> None:
    failed = {test.id for test in record_of().tests if test.verdict.value == "fail"}
    again = record_of("--last-failed")
    assert {test.id for test in again.tests} == failed
    assert {suite.path for suite in again.suites} == FAILING
    assert {server.name for server in again.servers} == {"maps", "web"}
