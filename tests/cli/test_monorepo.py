"""A repository of many servers: nine suites in folders over six servers, run by one command that gives one report.

Three of the servers are of the MCP SDK 1.x, and share their environment with mcptest; one is reached by HTTP alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from mcptest_engine.cli import run
from mcptest_engine.core.run_record import RunRecord
from tests.programs import needs_mcp1
from tests.running.test_over_http import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVERS = Path(__file__).parents[1] / "servers"
OLD = """\
from mcp.server.fastmcp import FastMCP  # mcp 2.x has none

server = FastMCP("NAME")

@server.tool()
def who() -> str:
    return "I am NAME"

if __name__ == "__main__":
    server.run()
"""
OLD_NAMES = ("mail", "maps", "time")
SUITE = """\
servers: {{ {server}: {start} }}
tools:
  - {{ name: {server} answers, tool: {tool}, args: {args}, expect: {{ text: {{ contains: {says} }} }} }}
  - {{ name: {server} is silent, tool: {tool}, args: {args}, expect: {{ text: {{ contains: {says_too} }} }} }}
"""
IN_PYTHON = """\
import mcp.server.lowlevel
import mcp.types
import pytest
from mail import server

low_level = mcp.server.lowlevel.Server("low-level")

@low_level.list_tools()
async def tools():
    return [mcp.types.Tool(name="who", inputSchema={"type": "object"})]

@low_level.call_tool()
async def call(name, arguments):
    return [mcp.types.TextContent(type="text", text="I am mail, on the low level")]

@pytest.fixture(params=[server, low_level], ids=["FastMCP", "Server"])
def mcp_app(request):
    return request.param

async def test_who(mcp_server):
    (await mcp_server.call("who")).expect("text", contains="I am mail")
"""
FAILING = {"services/maps/mcptest.yml", "web/later/mcptest.yml"}


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths of the nine suites, below the current directory; one test fails in each of `FAILING`."""
    old_python = needs_mcp1()
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
            start = {"command": [old_python, f"services/{name}/{name}.py"]}
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


def execute(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, encoding="utf-8", timeout=280, check=False)


def test_one_command_beside_an_old_sdk_runs_the_suites_of_every_folder_and_gives_one_report(paths: list[str]) -> None:
    """mcptest is in the environment of the three servers that need `mcp<2`."""
    options = (".", "--reporter", "json", "--workers", "2", "--reporter", "github=notes.txt")
    ran = execute(needs_mcp1("mcptest"), "run", *options)
    everything = RunRecord.from_json(json.loads(ran.stdout))
    assert sorted(suite.path for suite in everything.suites) == paths
    assert everything.exit_code == ran.returncode == 1
    assert (everything.totals.passed, everything.totals.failed) == (16, 2)
    assert {suite.path for suite in everything.suites if suite.exit_code == 1} == FAILING
    servers = {server.name.partition(" (")[0]: server for server in everything.servers}
    assert len(servers) == 6
    infos = [servers[name].server_info for name in OLD_NAMES]
    assert [info and (info["name"], info["version"][:2]) for info in infos] == [(name, "1.") for name in OLD_NAMES]

    notes = Path("notes.txt").read_text(encoding="utf-8").splitlines()
    placed = {line.partition(",title=")[0] for line in notes if line.startswith("::error ")}
    assert placed == {f"::error file={path},line=4" for path in FAILING}

    again = record_of("--last-failed")
    assert {test.id for test in again.tests} == {t.id for t in everything.tests if t.verdict.value == "fail"}
    assert {suite.path for suite in again.suites} == FAILING
    assert {server.name for server in again.servers} == {"maps", "web"}


def test_shards_share_the_tests_of_all_suites(paths: list[str]) -> None:
    """Of all but those whose servers are of the old SDK, which take long to start."""
    shutil.rmtree("services")
    shards = [[(test.file, test.name) for test in record_of("--shard", f"{number}/2").tests] for number in (1, 2)]
    assert all(shards)
    found = [test for shard in shards for test in shard]
    left = [path for path in paths if Path(path).exists()]
    assert {file for file, _ in found} == {*left}
    assert len(found) == len(set(found)) == 2 * len(left) == 12


def test_pytest_beside_an_old_sdk_runs_all_suites_on_two_workers(paths: list[str]) -> None:
    """Each file goes to one worker, which starts its servers; a FastMCP object of the old SDK needs no process."""
    Path("pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    Path("services/mail/test_mail.py").write_text(IN_PYTHON, encoding="utf-8")
    ran = execute(needs_mcp1(), "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "--junitxml", "junit.xml")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    failed = {line.split()[1] for line in ran.stdout.splitlines() if line.startswith("FAILED ")}
    assert failed == {"services/maps/mcptest.yml::maps", "web/later/mcptest.yml::web"}
    assert "2 failed, 18 passed" in ran.stdout
