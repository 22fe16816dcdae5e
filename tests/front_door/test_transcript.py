"""The example transcript can never go stale, and clients that we did not write can drive the front door."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio

from tests.front_door.transcript import FILE, SUITE, compared, played, requests

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path


def test_the_transcript_is_what_really_happens(
    mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str]
) -> None:
    shown = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    sent = [line["message"] for line in shown if line["from"] == "client"]
    assert sent == requests()
    talk = played(mcptest_command, sent, tmp_path, clean_environ)
    assert [compared(line) for line in talk] == [compared(line) for line in shown]


def test_the_sdks_client_drives_it(mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str]) -> None:
    from mcp import ClientSession, StdioServerParameters  # takes a second, which every worker would spend
    from mcp.client.stdio import stdio_client

    (tmp_path / ".mcptest").mkdir()
    server = StdioServerParameters(
        command=mcptest_command, args=["mcp-server", "--enable-writes"], env=clean_environ, cwd=tmp_path
    )
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def drive() -> None:
        with anyio.fail_after(60):
            async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                assert "run_tool_test" in {tool.name for tool in (await session.list_tools()).tools}
                suite = SUITE.replace("degraded", "operational")
                ran = await session.call_tool("run_tool_test", {"suite": suite}, progress_callback=hear)
                assert not ran.is_error
                assert ran.structured_content is not None
                assert ran.structured_content["verdict"] == "pass"
                (template, _) = (await session.list_resource_templates()).resource_templates
                assert template.uri_template == "mcptest://runs/{run_id}/tests/{name}/output"
                (first, *_) = (await session.list_resources()).resources
                read_back = await session.read_resource(first.uri)
                assert "content" in json.loads(read_back.contents[0].text)["result"]  # type: ignore[union-attr]

    anyio.run(drive)
    assert heard[-1] == 2


def test_the_skill_is_put_where_agents_look_and_never_over_a_changed_one(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    assert mcptest("skill", "--install").returncode == 0
    file = tmp_path / ".claude" / "skills" / "mcptest" / "SKILL.md"
    assert file.read_text() == mcptest("skill").stdout
    file.write_text("mine")
    assert mcptest("skill", "--install").returncode == 2
    assert file.read_text() == "mine"
    assert mcptest("skill", "--install", "--force").returncode == 0
    assert file.read_text() != "mine"
