"""Our client against servers that others wrote: the `mcp` SDK, over both transports, and `mcp-server-time`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import ServerDidNotStart
from mcptest_engine.servers.catalog import list_all
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import ServerSpec
from mcptest_engine.servers.wire import HANDSHAKE_REVISIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.servers.session import Session

pytestmark = pytest.mark.usefixtures("public_python_servers")
SDK_SERVER = Path(__file__).resolve().parents[1] / "servers" / "sdk_server.py"
ENV = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}


async def check_sdk_fixture(session: Session) -> None:
    assert session.server_info is not None
    assert (session.server_info["name"], session.server_info["version"]) == ("sdk-fixture", "1.2.3")
    assert [tool["name"] for tool in await list_all(session, "tools")] == ["add"]
    assert [prompt["name"] for prompt in await list_all(session, "prompts")] == ["greet"]
    added = await session.request("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}}, timeout_seconds=30)
    assert added.answer["result"]["structuredContent"] == {"result": 5}
    read = await session.request("resources/read", {"uri": "memo://today"}, timeout_seconds=30)
    assert read.answer["result"]["contents"][0]["text"] == "nothing"
    wrong = await session.request("prompts/get", {"name": "no-such"}, timeout_seconds=30)
    assert isinstance(wrong.answer["error"]["code"], int)


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_the_sdk_understands_us_over_stdio_in_every_revision(revision: str, with_session: Callable) -> None:
    """Interop: somebody else's reading of the specification."""

    async def use(session: Session) -> None:
        assert session.protocol_version == revision
        await check_sdk_fixture(session)

    command = (sys.executable, str(SDK_SERVER))
    with_session(ServerSpec(name="sdk", command=command, env=ENV, protocol=revision, connect_timeout_seconds=60), use)


def test_the_sdk_understands_us_over_http(run: Callable) -> None:
    """Its default answers are event streams."""

    async def work(process: subprocess.Popen[bytes]) -> None:
        session = await connect(ServerSpec(name="sdk", url=await _url_once_up(process), connect_timeout_seconds=60))
        try:
            await check_sdk_fixture(session)
        finally:
            await session.close()

    command = [sys.executable, str(SDK_SERVER), "http", "0"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        run(work(process))
    finally:
        process.kill()
        process.communicate()


async def _url_once_up(process: subprocess.Popen[bytes]) -> str:
    """Wait for the line with which the server says where it listens."""
    stderr: Any = process.stderr
    while (found := re.search(rb"running on (\S+)", line := await asyncio.to_thread(stderr.readline))) is None:
        assert line, "the server ended"
    return f"{found[1].decode()}/mcp"


def test_a_published_server_answers_us(with_session: Callable) -> None:
    """`mcp-server-time` from PyPI, as a user has it."""
    program = Path(sys.executable).parent / "mcp-server-time"

    async def use(session: Session) -> None:
        names = [tool["name"] for tool in await list_all(session, "tools")]
        assert sorted(names) == ["convert_time", "get_current_time"]
        arguments = {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "UTC"}
        params = {"name": "convert_time", "arguments": arguments}
        exchange = await session.request("tools/call", params, timeout_seconds=30)
        converted = json.loads(exchange.answer["result"]["content"][0]["text"])
        assert "T03:00:00" in converted["target"]["datetime"]

    with_session(ServerSpec(name="time", command=(str(program),), env=ENV, connect_timeout_seconds=60), use)


def test_connecting_imports_nothing_heavy() -> None:
    """Design 4: start-up of `run`; the whole stdio client costs less than one such import."""
    heavy = [
        "mcp",
        "pydantic",
        "httpx2",
        "httpx",
        "anyio",
        "rich",
        "textual",
        "jsonschema",
        "inspect",
        "importlib.metadata",
    ]
    code = (
        "import sys, asyncio\n"
        "known = set(sys.modules)\n"
        "import mcptest_engine.servers.session, mcptest_engine.servers.stdio, mcptest_engine.servers.spec\n"
        "import mcptest_engine.servers.catalog\n"
        f"print([name for name in {heavy!r} if name in set(sys.modules) - known])\n"
    )
    env = os.environ | {"PYTHONPATH": str(SDK_SERVER.parents[2])}
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_start_failure_of_an_sdk_server_shows_its_traceback(run: Callable) -> None:
    """The commonest failure of all: an import that fails."""
    command = (sys.executable, "-c", "import no_such_module")
    with pytest.raises(ServerDidNotStart) as failed:
        run(connect(ServerSpec(name="py", command=command, env=ENV)))
    assert "exited with code 1" in failed.value.message
    assert "ModuleNotFoundError: No module named 'no_such_module'" in failed.value.stderr_tail
