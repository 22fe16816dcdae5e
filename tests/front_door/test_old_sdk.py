"""Where the MCP SDK is 1.x, mcptest is an MCP server too, and the client of that SDK drives it."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from tests.front_door.transcript import SUITE
from tests.programs import needs_mcp1

if TYPE_CHECKING:
    from pathlib import Path

CLIENT = """\
import asyncio, json, sys
from importlib.metadata import version
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def drive():
    server = StdioServerParameters(command=sys.argv[1], args=["mcp-server", "--enable-writes"])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        ran = await session.call_tool("run_tool_test", {"suite": sys.argv[2]})
        print(json.dumps([version("mcp"), tools, ran.isError, ran.structuredContent]))

asyncio.run(drive())
"""


def test_the_client_of_the_old_sdk_runs_a_suite_over_the_mcp_server_beside_it(
    tmp_path: Path, clean_environ: dict[str, str]
) -> None:
    (tmp_path / ".mcptest").mkdir()
    argv = [needs_mcp1(), "-c", CLIENT, needs_mcp1("mcptest"), SUITE.replace("degraded", "operational")]
    ran = subprocess.run(
        argv, cwd=tmp_path, env=clean_environ, capture_output=True, encoding="utf-8", timeout=280, check=False
    )
    assert ran.returncode == 0, ran.stderr
    version, tools, is_error, answer = json.loads(ran.stdout)
    assert version.startswith("1.")
    assert "run_tool_test" in tools
    assert not is_error
    assert answer["verdict"] == "pass"
