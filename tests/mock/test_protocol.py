"""The protocol as a client on plain pipes sees it."""

from __future__ import annotations

import asyncio
import json
import signal
import sys

import pytest

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]

ONE_TOOL = """
mock_server:
  tools:
    - name: echo
      description: say it again
      response: { content: [{ type: text, text: "${args.text}" }] }
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_known_revision_is_echoed(start, version):
    """MCP 2025-11-25, basic/lifecycle#version-negotiation: the same version when the server supports it."""
    answer = start("--preset", "demo").request("initialize", {"protocolVersion": version, "capabilities": {}})
    assert answer["result"]["protocolVersion"] == version


@pytest.mark.parametrize("offered", ["2099-01-01", "1.0", None, 7])
def test_an_unknown_revision_is_answered_with_the_newest(start, offered):
    """MCP 2025-11-25, basic/lifecycle#version-negotiation."""
    answer = start("--preset", "demo").request("initialize", {"protocolVersion": offered})
    assert answer["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    ("block", "capability"),
    [
        ("tools: []", "tools"),
        ("resources: []", "resources"),
        ("resource_templates: []", "resources"),
        ("prompts: []", "prompts"),
    ],
)
def test_only_what_is_declared_is_advertised_and_served(serve, block, capability):
    """MCP 2025-11-25, basic/lifecycle#capability-negotiation; an empty list is a declaration."""
    mock = serve(f"mock_server:\n  {block}\n")
    assert mock.request("initialize", {})["result"]["capabilities"] == {capability: {}}
    for method in ("tools/list", "resources/list", "prompts/list"):
        answer = mock.request(method)
        if method.startswith(capability):
            assert answer["result"] == {capability: []}
        else:
            assert answer["error"] == {"code": -32601, "message": f"Method not found: {method}"}


def test_the_server_introduces_itself_with_the_names_of_the_manifest(serve):
    """The manifest: name, version, instructions."""
    mock = serve('mock_server: { name: records, version: "2.1", instructions: "be kind" }\n')
    result = mock.request("initialize", {})["result"]
    assert result["serverInfo"] == {"name": "records", "version": "2.1"}
    assert result["instructions"] == "be kind"


def test_a_server_without_names_has_default_ones_and_no_instructions(serve):
    """The manifest: every block is optional."""
    result = serve("mock_server: {}\n").request("initialize", {})["result"]
    assert result["serverInfo"] == {"name": "mcptest-mock", "version": "1.0.0"}
    assert result["capabilities"] == {}
    assert "instructions" not in result


def test_ping_is_answered_with_an_empty_object(start):
    """MCP 2025-11-25, basic/utilities/ping."""
    assert start("--preset", "demo").request("ping")["result"] == {}


def test_an_unknown_method_is_method_not_found(start):
    """JSON-RPC 2.0, 5.1."""
    answer = start("--preset", "demo").request("server/discover")
    assert answer["error"] == {"code": -32601, "message": "Method not found: server/discover"}


def test_an_unknown_tool_is_a_protocol_error(serve):
    """MCP 2025-11-25, server/tools#error-handling."""
    assert serve(ONE_TOOL).call("ecko")["error"] == {"code": -32602, "message": "Unknown tool: ecko"}


@pytest.mark.parametrize(
    ("line", "code", "key"),
    [
        (b"hello", -32700, None),
        (b'{"jsonrpc": "2.0", "id": 1', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', -32700, None),
        (b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}', -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b'"ping"', -32600, None),
        (b'{"id":4,"method":"ping"}', -32600, 4),
        (b'{"jsonrpc":"1.0","id":"a","method":"ping"}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":5,"method":7}', -32600, 5),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":6}', -32600, 6),
        (b'{"jsonrpc":"2.0","id":8,"method":"ping","params":[1]}', -32602, 8),
        (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":5}}', -32602, 9),
        (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","arguments":[]}}', -32602, 9),
    ],
)
def test_a_message_that_cannot_be_served_gets_its_error_and_serving_goes_on(serve, line, code, key):
    """JSON-RPC 2.0, 5.1: -32700 for what is no JSON, -32600 for what is no request, -32602 for bad parameters."""
    mock = serve(ONE_TOOL)
    mock.send_bytes(line + b"\n")
    answer = mock.receive()
    assert (answer["error"]["code"], answer["id"]) == (code, key)
    assert mock.request("ping")["result"] == {}


def test_notifications_answers_and_blank_lines_get_no_answer(start):
    """JSON-RPC 2.0, 4.1."""
    mock = start("--preset", "demo")
    mock.notify("notifications/initialized")
    mock.notify("notifications/vendor/unknown", {"a": 1})
    mock.send({"jsonrpc": "2.0", "id": 77, "result": {}})
    mock.send_bytes(b"\n  \r\n")
    assert mock.request("ping")["result"] == {}


def test_an_id_comes_back_as_it_was_sent(start):
    """JSON-RPC 2.0, 5: the same value and type."""
    mock = start("--preset", "demo")
    for key in ("7", 7, "ключ", -1, 0):
        mock.send({"jsonrpc": "2.0", "id": key, "method": "ping"})
        found = mock.receive()["id"]
        assert (type(found), found) == (type(key), key)


def test_a_message_may_come_in_pieces_and_several_in_one(start):
    """MCP 2025-11-25, basic/transports#stdio: messages end at newlines, not where a write ends."""
    mock = start("--preset", "demo")
    mock.send_bytes(b'{"jsonrpc":"2.0",')
    mock.send_bytes(b'"id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n{"jsonrpc"')
    assert [mock.receive()["id"], mock.receive()["id"]] == [1, 2]
    mock.send_bytes(b':"2.0","id":3,"method":"ping"}\r\n')
    assert mock.receive()["id"] == 3


def test_a_last_line_without_an_end_is_still_answered(start):
    """So that `printf … | mcptest mock` does what it looks like; half a message would be a parse error."""
    mock = start("--preset", "demo")
    mock.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    mock.close_stdin()
    assert mock.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert mock.wait() == 0


def test_what_was_asked_before_stdin_closed_is_answered_and_the_exit_code_is_0(start):
    """The mock ends when stdin closes."""
    mock = start("--preset", "demo")
    slow = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "slow_report", "arguments": {}}}
    mock.send_together({"jsonrpc": "2.0", "id": 1, "method": "ping"}, slow)
    mock.close_stdin()  # the mock has not even begun to read
    assert mock.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert mock.line() == b""
    assert mock.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_mock_cleanly(start, number):
    """No traceback, exit code 0."""
    mock = start("--preset", "demo")
    mock.request("ping")
    mock.process.send_signal(number)
    assert mock.wait() == 0
    assert mock.process.stderr.read() == b""


def test_a_client_that_stops_reading_ends_the_mock_quietly(start):
    """A closed stdout is the client's leave, not an error."""
    mock = start("--preset", "demo")
    mock.request("ping")
    mock.process.stdout.close()
    mock.post("ping")
    assert mock.wait() == 0
    assert mock.process.stderr.read() == b""


def test_a_client_that_writes_a_great_deal_before_it_reads_blocks_nobody(serve):
    """Both pipes hold far less than what is sent here."""
    mock = serve(ONE_TOOL)
    text = "x" * 4000
    for _ in range(300):
        mock.post_call("echo", text=text)
    assert [mock.receive()["id"] for _ in range(300)] == list(range(1, 301))


def test_a_large_argument_comes_back_whole(serve):
    """5 MB on one line."""
    text = "é" * 2_500_000
    assert serve(ONE_TOOL).text("echo", text=text) == text


def test_half_a_surrogate_pair_comes_back_escaped(serve):
    """JSON can carry what UTF-8 cannot."""
    mock = serve(ONE_TOOL)
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\\ud800"}}}'
    mock.send_bytes(call + b"\n")
    assert b"\\ud800" in mock.line()


def test_answers_come_when_they_fall_due_and_none_waits_for_another(serve):
    """Calls are served concurrently, `delay_ms` included."""
    mock = serve(
        """
mock_server:
  tools:
    - { name: slow, delay_ms: 600000, response: { content: [] } }
    - { name: quick, delay_ms: 1, response: { content: [] } }
    - { name: now, response: { content: [] } }
"""
    )
    mock.post_call("slow")
    quick = mock.post_call("quick")
    assert mock.receive()["id"] == quick
    now = mock.post_call("now")
    assert mock.receive()["id"] == now


def test_a_cancelled_request_is_never_answered(serve):
    """MCP 2025-11-25, basic/utilities/cancellation; a later and slower call is answered, the cancelled one is not."""
    mock = serve("mock_server: { tools: [{ name: slow, delay_ms: 300, response: { content: [] } }] }\n")
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "slow", "arguments": {}}}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "no need"}}
    mock.send_together({**call, "id": 1}, {**call, "id": 2}, cancel, {**call, "id": 3})
    assert [mock.receive()["id"], mock.receive()["id"]] == [2, 3]


def test_cancelling_is_exact_about_the_type_of_an_id(serve):
    """JSON-RPC 2.0: "1" and 1 are two requests."""
    mock = serve("mock_server: { tools: [{ name: slow, delay_ms: 50, response: { content: [] } }] }\n")
    key = mock.post_call("slow")
    for other in (str(key), True, None, 99):
        mock.notify("notifications/cancelled", {"requestId": other})
    mock.notify("notifications/cancelled")
    assert mock.receive()["id"] == key


def test_logs_stand_on_stderr_sanitised_and_never_on_stdout(start):
    """stdout belongs to the protocol; what a client sends may not reach a terminal as it is."""
    mock = start("--preset", "demo", "--log-level", "debug")
    mock.post("ping\x1b[2J")
    assert mock.receive()["error"]["code"] == -32601
    line = mock.stderr_line()
    assert line.startswith("mcptest mock: debug: <- ")
    assert "ping" in line
    assert "\x1b" not in line


def test_the_sdk_client_agrees_with_the_mock(tmp_path):
    """A cross-check by another implementation of the protocol: the `mcp` package."""

    async def look() -> None:
        from mcp import ClientSession, StdioServerParameters, types
        from mcp.client.stdio import stdio_client

        argv = ["-m", "mcptest_engine.mock", "--preset", "demo"]
        server = StdioServerParameters(command=sys.executable, args=argv, cwd=None)
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            hello = await session.initialize()
            assert hello.server_info.name == "mcptest-demo"
            first = await session.list_tools()
            assert [tool.name for tool in first.tools][:2] == ["status", "echo"]
            assert first.next_cursor is not None
            answer = await session.call_tool("get_weather", {"city": "Oslo"})
            assert answer.structured_content["temperature"] == 19
            refused = await session.call_tool("get_weather", {"city": ""})
            assert refused.is_error
            (record,) = (await session.read_resource("demo://records/7")).contents
            assert isinstance(record, types.TextResourceContents)
            assert record.text == "record 7"
            prompt = await session.get_prompt("summarise", {"text": "a story", "tone": "dry"})
            content = prompt.messages[0].content
            assert isinstance(content, types.TextContent)
            assert "tone: dry" in content.text

    async def bounded() -> None:
        async with asyncio.timeout(180):
            await look()

    asyncio.run(bounded())


def test_the_evil_preset_is_valid_json_rpc_throughout(start):
    """Hostile texts, but every message is one the protocol allows."""
    mock = start("--preset", "evil")
    mock.request("initialize", {})
    tools = mock.request("tools/list")["result"]["tools"]
    for tool in tools:
        answer = mock.call(tool["name"])
        assert answer.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    assert len(tools) > 15
    assert len(mock.text("huge")) > 1_900_000
    assert "\x1b[2J" in mock.text("ansi")
    assert "\u202e" in mock.text("bidi")
    assert (
        json.dumps(mock.call("big_numbers")["result"]["structuredContent"]["big"]) == "123456789012345678901234567890"
    )
