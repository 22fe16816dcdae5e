"""Another implementation, the official SDK's client, speaks with the mock in both eras, over both transports."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.mock.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Use = Callable[[Any], Awaitable[Any]]

# The SDK warns of everything that the newest revision has given up.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

LIMIT_SECONDS = 60
STATELESS = "2026-07-28"
MODES = ["legacy", STATELESS]
TALKER = """
mock_server:
  name: talker
  version: "3.0"
  page_size: 4
  tools:
    - name: work
      progress: 3
      log: [{ level: debug, data: { step: "${args.step}" } }, { level: warning, data: half, logger: worker }]
      response: { content: [{ type: text, text: done }] }
    - name: summarise
      ask: { sampling: "Summarise: ${args.text}" }
      response: { content: [{ type: text, text: "in short: ${asked.content.text}" }] }
    - name: confirm
      ask:
        elicitation:
          message: "Delete ${args.what}?"
          requestedSchema: { type: object, properties: { sure: { type: boolean } } }
      when:
        - { args: { what: nothing }, response: { content: [{ type: text, text: "no need: ${asked.action}" }] } }
      response: { structuredContent: { sure: "${asked.content.sure}" }, content: [{ type: text, text: "${asked.action}" }] }
    - name: where
      ask: { roots: }
      response: { content: [{ type: text, text: "${asked.roots[0].uri}" }] }
    - name: edit
      touches: "memo://${args.name}"
      list_changed: [tools, resources]
      response: { content: [{ type: text, text: edited }] }
  resources: [{ uri: "memo://one", text: first }, { uri: "memo://two", text: second }]
  resource_templates: [{ uri_template: "note://{id}", text: "note ${args.id}" }]
  prompts: [{ name: greet, arguments: [{ name: who }], text: "Hello ${args.who}" }]
"""


@pytest.fixture
def talk(tmp_path: Path, serve: Callable[..., Any], request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`talk(mode, transport, use, **callbacks)`: what `await use(client)` gives with the SDK's client on the talker."""

    def run(mode: str, transport: str, use: Use, **callbacks: Any) -> Any:
        from mcp import Client, StdioServerParameters

        target: Any
        if transport == "http":
            target = serve(TALKER, "--http", "0").stderr_line().removeprefix("listening on ")
        else:
            (tmp_path / "manifest.yml").write_text(TALKER, encoding="utf-8")
            argv = ["-m", "mcptest_engine.mock", "--tools-from", str(tmp_path / "manifest.yml")]
            environ = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
            target = StdioServerParameters(command=sys.executable, args=argv, env=environ)

        async def bounded() -> Any:
            async with asyncio.timeout(LIMIT_SECONDS), Client(target, mode=mode, **callbacks) as client:
                return await use(client)

        return asyncio.run(bounded())

    return run


both = pytest.mark.parametrize("mode", MODES)
everywhere = pytest.mark.parametrize("transport", ["stdio", "http"])


def text_of(result: Any) -> str:
    return str(result.content[0].text)


@both
@everywhere
def test_lists_reads_and_calls_work_in_both_eras(mode: str, transport: str, talk: Callable[..., Any]) -> None:
    """Every method that both have, pages included."""

    async def use(client: Any) -> None:
        first = await client.list_tools()
        assert [tool.name for tool in first.tools] == ["work", "summarise", "confirm", "where"]
        assert [tool.name for tool in (await client.list_tools(cursor=first.next_cursor)).tools] == ["edit"]
        assert (await client.list_resources()).resources[0].uri == "memo://one"
        assert (await client.list_resource_templates()).resource_templates[0].uri_template == "note://{id}"
        assert (await client.read_resource("note://7")).contents[0].text == "note 7"
        assert (await client.list_prompts()).prompts[0].name == "greet"
        assert (await client.get_prompt("greet", {"who": "Ada"})).messages[0].content.text == "Hello Ada"
        assert text_of(await client.call_tool("work", {"step": 1})) == "done"

    talk(mode, transport, use)


@everywhere
def test_a_client_that_probes_finds_the_stateless_era(transport: str, talk: Callable[..., Any]) -> None:
    """MCP 2026-07-28, server/discover: the revisions, the capabilities, and who answers."""

    async def use(client: Any) -> None:
        assert client.protocol_version == STATELESS
        assert (client.server_info.name, client.server_info.version) == ("talker", "3.0")
        capabilities = client.server_capabilities
        assert (capabilities.tools.list_changed, capabilities.resources.subscribe) == (True, True)
        assert capabilities.logging is not None

    talk("auto", transport, use)


@both
@everywhere
def test_progress_and_log_messages_come_before_the_answer(mode: str, transport: str, talk: Callable[..., Any]) -> None:
    """`progress` and `log`: the first only where a token was given, the second as far as the client asked for it."""
    logged: list[tuple[str, Any]] = []
    steps: list[tuple[float, float | None]] = []

    async def log(params: Any) -> None:
        logged.append((params.level, params.data))

    async def progress(done: float, total: float | None, _message: str | None) -> None:
        steps.append((done, total))

    async def use(client: Any) -> None:
        if mode == "legacy":
            await client.set_logging_level("info")
        await client.call_tool("work", {"step": 1}, progress_callback=progress)
        while len(steps) < 3 or not logged:  # noqa: ASYNC110  # the SDK hands them out by tasks of their own
            await asyncio.sleep(0)

    talk(mode, transport, use, logging_callback=log, log_level="info")
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert logged == [("warning", "half")]


@everywhere
def test_in_the_stateless_era_nothing_is_logged_unasked(transport: str, talk: Callable[..., Any]) -> None:
    """MCP 2026-07-28: without a level in `_meta` no log message may be sent."""
    logged: list[Any] = []

    async def log(params: Any) -> None:
        logged.append(params)

    async def use(client: Any) -> None:
        await client.call_tool("work", {"step": 1})
        await client.call_tool("work", {"step": 2})

    talk(STATELESS, transport, use, logging_callback=log)
    assert logged == []


@both
@everywhere
def test_what_the_client_answers_stands_in_the_result(mode: str, transport: str, talk: Callable[..., Any]) -> None:
    """`ask`: a request of the server until 2025-11-25, an `input_required` result from 2026-07-28 on."""
    from mcp import types
    from pydantic import FileUrl

    async def sample(_context: Any, params: Any) -> Any:
        asked = params.messages[0].content
        content = types.TextContent(type="text", text=asked.text.upper())
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async def elicit(_context: Any, params: Any) -> Any:
        assert params.message.startswith("Delete ")
        return types.ElicitResult(action="accept", content={"sure": True})

    async def roots(_context: Any) -> Any:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///data"))])

    async def use(client: Any) -> None:
        assert text_of(await client.call_tool("summarise", {"text": "tea"})) == "in short: SUMMARISE: TEA"
        confirmed = await client.call_tool("confirm", {"what": "all"})
        assert (text_of(confirmed), confirmed.structured_content) == ("accept", {"sure": True})
        assert text_of(await client.call_tool("confirm", {"what": "nothing"})) == "no need: accept"
        assert text_of(await client.call_tool("where")) == "file:///data"

    talk(mode, transport, use, sampling_callback=sample, elicitation_callback=elicit, list_roots_callback=roots)


@everywhere
def test_a_client_that_declared_nothing_is_not_asked(transport: str, talk: Callable[..., Any]) -> None:
    """MCP 2025-11-25, client/sampling: only what was declared; here that is a tool error."""

    async def use(client: Any) -> None:
        refused = await client.call_tool("summarise", {"text": "tea"})
        assert refused.is_error
        told = "tool summarise asks for sampling/createMessage, which this client did not declare"
        assert text_of(refused) == told

    talk("legacy", transport, use)


@everywhere
def test_in_the_stateless_era_a_missing_capability_is_an_error(transport: str, talk: Callable[..., Any]) -> None:
    """MCP 2026-07-28: -32021, with what is required."""
    from mcp import MCPError

    async def use(client: Any) -> None:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("summarise", {"text": "tea"})
        assert refused.value.error.code == -32021
        assert refused.value.error.data == {"requiredCapabilities": {"sampling": {}}}

    talk(STATELESS, transport, use)


@everywhere
def test_a_resource_that_a_call_touches_is_told_to_its_subscribers(transport: str, talk: Callable[..., Any]) -> None:
    """MCP 2025-11-25, server/resources#subscriptions, and list-changed notifications, which are sent unasked."""
    heard: list[tuple[str, str | None]] = []

    async def hear(message: Any) -> None:
        params = getattr(message, "params", None)
        heard.append((message.method, getattr(params, "uri", None)))

    async def use(client: Any) -> None:
        await client.subscribe_resource("memo://one")
        await client.subscribe_resource("memo://two")
        await client.unsubscribe_resource("memo://two")
        await client.call_tool("edit", {"name": "two"})
        await client.call_tool("edit", {"name": "one"})
        while len(heard) < 5:  # noqa: ASYNC110
            await asyncio.sleep(0)

    talk("legacy", transport, use, message_handler=hear)
    lists = [("notifications/tools/list_changed", None), ("notifications/resources/list_changed", None)]
    assert heard == [*lists, *lists, ("notifications/resources/updated", "memo://one")]


@everywhere
def test_a_subscription_of_the_stateless_era_hears_what_it_asked_for(transport: str, talk: Callable[..., Any]) -> None:
    """MCP 2026-07-28, `subscriptions/listen`: nothing that was not asked for."""

    async def use(client: Any) -> list[str]:
        async with client.listen(tools_list_changed=True, resource_subscriptions=["memo://one"]) as heard:
            assert heard.honored.tools_list_changed is True
            assert heard.honored.resource_subscriptions == ["memo://one"]
            await client.call_tool("edit", {"name": "two"})
            first = await anext(heard)
            await client.call_tool("edit", {"name": "one"})
            return [type(event).__name__ for event in (first, await anext(heard), await anext(heard))]

    assert talk(STATELESS, transport, use) == ["ToolsListChanged", "ToolsListChanged", "ResourceUpdated"]


# --- on the wire


META = "io.modelcontextprotocol/"
ENVELOPE = {f"{META}protocolVersion": STATELESS, f"{META}clientCapabilities": {}}


def stateless(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": ENVELOPE, **params}}


def test_results_of_the_stateless_era_carry_what_it_requires(serve: Callable[..., Any]) -> None:
    """MCP 2026-07-28: `resultType` and who answers on every result, `ttlMs` and `cacheScope` on lists and reads."""
    mock = serve(TALKER)
    who = {f"{META}serverInfo": {"name": "talker", "version": "3.0"}}
    mock.send(stateless("prompts/list"))
    listed = mock.receive()["result"]
    assert (listed["resultType"], listed["ttlMs"], listed["cacheScope"], listed["_meta"]) == (
        "complete",
        0,
        "private",
        who,
    )
    mock.send(stateless("tools/call", name="edit", arguments={"name": "one"}))
    called = mock.receive()["result"]
    assert called == {"resultType": "complete", "content": [{"type": "text", "text": "edited"}], "_meta": who}


def test_the_eras_share_a_pipe(serve: Callable[..., Any]) -> None:
    """A request says itself in which revision it is; one of a handshake revision gets none of the stateless members."""
    mock = serve(TALKER)
    mock.request("initialize", {"protocolVersion": "2025-11-25"})
    mock.send(stateless("tools/list"))
    assert "resultType" in mock.receive()["result"]
    assert mock.request("tools/list")["result"].keys() == {"tools", "nextCursor"}


@pytest.mark.parametrize(
    ("message", "code", "told"),
    [
        (stateless("ping"), -32601, "Method not found: ping"),
        (stateless("initialize"), -32601, "Method not found: initialize"),
        (stateless("logging/setLevel", level="info"), -32601, "Method not found: logging/setLevel"),
        (stateless("resources/subscribe", uri="memo://one"), -32601, "Method not found: resources/subscribe"),
        (stateless("resources/read", uri="memo://9"), -32602, "Resource not found"),
        (stateless("tools/call", name="nothing"), -32602, "Unknown tool: nothing"),
        (stateless("subscriptions/listen"), -32602, "Invalid params: `notifications` must be an object"),
        (
            stateless("tools/list", _meta={f"{META}protocolVersion": STATELESS}),
            -32602,
            f"Invalid params: `_meta` lacks `{META}clientCapabilities`",
        ),
        (
            stateless("tools/list", _meta={**ENVELOPE, f"{META}protocolVersion": 20260728}),
            -32602,
            f"Invalid params: `{META}protocolVersion` must be a string",
        ),
        (
            stateless("tools/list", _meta={**ENVELOPE, f"{META}clientCapabilities": []}),
            -32602,
            f"Invalid params: `{META}clientCapabilities` must be an object",
        ),
        (
            stateless("tools/list", _meta={**ENVELOPE, f"{META}protocolVersion": "2031-01-01"}),
            -32022,
            "Unsupported protocol version: 2031-01-01",
        ),
    ],
)
def test_a_request_of_the_stateless_era_that_cannot_be_served_says_why(
    message: dict[str, Any], code: int, told: str, serve: Callable[..., Any]
) -> None:
    """MCP 2026-07-28, basic#error-codes."""
    mock = serve(TALKER)
    mock.send(message)
    error = mock.receive()["error"]
    assert (error["code"], error["message"]) == (code, told)
    if code == -32022:
        assert error["data"] == {"supported": [STATELESS], "requested": "2031-01-01"}


def test_an_answer_without_the_state_that_was_sent_is_refused(serve: Callable[..., Any]) -> None:
    """MCP 2026-07-28, SEP-2322: `requestState` comes back as it was."""
    mock = serve(TALKER)
    able = {**ENVELOPE, f"{META}clientCapabilities": {"roots": {}}}
    mock.send(stateless("tools/call", name="where", _meta=able))
    asked = mock.receive()["result"]
    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"] == {"asked": {"method": "roots/list"}}
    given = {"inputResponses": {"asked": {"roots": [{"uri": "file:///a"}]}}}
    mock.send(stateless("tools/call", name="where", _meta=able, **given))
    assert mock.receive()["error"]["message"] == "Invalid params: `requestState` is not as it was sent"
    mock.send(stateless("tools/call", name="where", _meta=able, requestState=asked["requestState"], **given))
    assert mock.receive()["result"]["content"][0]["text"] == "file:///a"


@pytest.fixture
def post(serve: Callable[..., Any]) -> Any:
    """`post(message, **headers)` to a talker over HTTP, underscores for dashes; a header None is left out."""
    mock = serve(TALKER, "--http", "0")
    url = mock.stderr_line().removeprefix("listening on ")
    with httpx2.Client(timeout=60.0) as http:

        def send(message: dict[str, Any], **headers: str | None) -> httpx2.Response:
            usual = {"mcp_protocol_version": STATELESS, "mcp_method": message["method"], "accept": "application/json"}
            named = {key.replace("_", "-"): value for key, value in {**usual, **headers}.items() if value is not None}
            return http.post(url, json=message, headers=named)

        yield send


@pytest.mark.parametrize(
    ("message", "headers", "status", "code"),
    [
        (stateless("tools/list"), {}, 200, None),
        (stateless("tools/list"), {"mcp_method": None}, 400, -32020),
        (stateless("tools/list"), {"mcp_method": "tools/call"}, 400, -32020),
        (stateless("tools/list"), {"mcp_protocol_version": None}, 400, -32020),
        (stateless("tools/list"), {"mcp_protocol_version": "2025-11-25"}, 400, -32020),
        (stateless("tools/call", name="edit", arguments={"name": "one"}), {"mcp_name": "edit"}, 200, None),
        (
            stateless("tools/call", name="edit", arguments={"name": "one"}),
            {"mcp_name": "=?base64?ZWRpdA==?="},
            200,
            None,
        ),
        (stateless("tools/call", name="edit", arguments={"name": "one"}), {"mcp_name": "=?base64?Z?="}, 400, -32020),
        (stateless("tools/call", name="edit", arguments={"name": "one"}), {"mcp_name": "work"}, 400, -32020),
        (stateless("resources/read", uri="memo://one"), {}, 400, -32020),
        (stateless("resources/read", uri="memo://one"), {"mcp_name": "memo://one"}, 200, None),
        (stateless("server/nothing"), {}, 404, -32601),
        (stateless("resources/read", uri="memo://9"), {"mcp_name": "memo://9"}, 400, -32602),
        (
            stateless("tools/list", _meta={**ENVELOPE, f"{META}protocolVersion": "2031-01-01"}),
            {"mcp_protocol_version": "2031-01-01"},
            400,
            -32022,
        ),
    ],
)
def test_headers_agree_with_the_message_or_it_is_refused(
    message: dict[str, Any], headers: dict[str, Any], status: int, code: int | None, post: Any
) -> None:
    """MCP 2026-07-28, basic/transports: header validation, and the status of each error."""
    answer = post(message, **headers)
    assert (answer.status_code, answer.json().get("error", {}).get("code")) == (status, code)
    assert "mcp-session-id" not in answer.headers


def test_the_stateless_era_has_no_stream_and_no_session_to_end(serve: Callable[..., Any]) -> None:
    """MCP 2026-07-28, basic/transports: POST alone."""
    url = serve(TALKER, "--http", "0").stderr_line().removeprefix("listening on ")
    for method in ("GET", "DELETE"):
        answer = httpx2.request(method, url, headers={"mcp-protocol-version": STATELESS, "accept": "text/event-stream"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_arguments_that_a_schema_wants_in_headers_are_checked_there(serve: Callable[..., Any]) -> None:
    """MCP 2026-07-28, basic/transports#custom-headers."""
    region = '{ type: object, properties: { region: { type: string, "x-mcp-header": Region } } }'
    manifest = f"mock_server: {{ tools: [{{ name: t, input_schema: {region} }}] }}\n"
    url = serve(manifest, "--http", "0").stderr_line().removeprefix("listening on ")
    message = stateless("tools/call", name="t", arguments={"region": "eu"})
    usual = {"mcp-protocol-version": STATELESS, "mcp-method": "tools/call", "mcp-name": "t"}
    statuses = [
        httpx2.post(url, json=message, headers=usual | more).status_code
        for more in ({}, {"mcp-param-region": "us"}, {"mcp-param-region": "eu"})
    ]
    assert statuses == [400, 400, 200]
