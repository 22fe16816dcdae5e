"""HTTP as of 2024-11-05: found out by a refused `initialize`, spoken until its stream ends."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import AnswerLost, CallTimeout, ProtocolBroken, ServerDidNotStart, ServerDied
from mcptest_engine.servers.calls import Fault
from mcptest_engine.servers.spec import HttpOptions
from tests.servers_client.http_scripts import rpc_method, start_fails, web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.servers.calls import Exchange
    from mcptest_engine.servers.session import Session

SERVER = Path(__file__).resolve().parents[1] / "servers" / "http_sse.py"


@pytest.fixture
def origin() -> Iterator[str]:
    """A server of its own for each test: its streams are counted."""
    with subprocess.Popen([sys.executable, "-S", str(SERVER)], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.communicate()


def asked(url: str) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=30) as response:
        return json.load(response)


async def called(session: Session, tool: str, **settings: Any) -> Exchange:
    return await session.request("tools/call", {"name": tool}, timeout_seconds=30, **settings)


@pytest.mark.parametrize("path", ["/sse", "/status/400", "/status/404"])
def test_a_server_that_refuses_the_post_may_be_an_old_one(path: str, origin: str, with_session: Callable) -> None:
    """MCP 2025-11-25, basic/transports#backwards-compatibility: 400, 404 or 405, then a stream that names an endpoint."""

    async def use(session: Session) -> None:
        assert (session.transport, session.protocol_version) == ("sse", "2024-11-05")
        exchange = await called(session, "x")
        assert json.loads(exchange.answer["result"]["content"][0]["text"]) == {"name": "x"}
        assert exchange.http is not None
        assert exchange.http["status"] == 200
        assert exchange.http["headers"]["content-type"] == "text/event-stream"
        await session.listening(30)
        assert session.remarks.texts == []

    with_session(web(origin + path, headers={"X-Team": "qa"}), use)
    seen = asked(f"{origin}/seen")
    assert [(request["method"], request["path"]) for request in seen] == [
        ("POST", path),
        ("GET", path),
        *[("POST", "/messages?session=1")] * 3,
    ]
    assert [rpc_method(request) for request in seen[2:]] == ["initialize", "notifications/initialized", "tools/call"]
    assert all(request["headers"]["x-team"] == "qa" for request in seen)
    assert not any("mcp-protocol-version" in request["headers"] for request in seen)


def test_what_says_nothing_may_come_before_the_endpoint(origin: str, with_session: Callable) -> None:
    """A retry time, a comment, an id: none is the first event with data."""

    async def use(session: Session) -> None:
        assert session.transport == "sse"

    with_session(web(f"{origin}/chatty"), use)


def test_calls_run_together_over_one_stream(origin: str, with_session: Callable) -> None:
    """Answers find their calls by id."""

    async def use(session: Session) -> None:
        exchanges = await asyncio.gather(*(called(session, f"t{number}") for number in range(20)))
        texts = [exchange.answer["result"]["content"][0]["text"] for exchange in exchanges]
        assert [json.loads(text)["name"] for text in texts] == [f"t{number}" for number in range(20)]

    with_session(web(f"{origin}/sse"), use)


def test_an_answer_may_come_before_its_post_is_acknowledged(origin: str, with_session: Callable) -> None:
    """Two connections, no order between them."""

    async def use(session: Session) -> None:
        assert (await called(session, "late")).answer["result"]

    with_session(web(f"{origin}/sse"), use)


def test_a_refused_post_fails_its_call(origin: str, with_session: Callable) -> None:
    """With what the POST was answered; the stream goes on."""

    async def use(session: Session) -> None:
        with pytest.raises(ProtocolBroken) as failed:
            await called(session, "refuse")
        assert failed.value.message == 'server "web" answered with HTTP 500 Internal Server Error: not today'
        assert failed.value.http is not None
        assert failed.value.http["status"] == 500
        assert (await called(session, "x")).answer["result"]

    with_session(web(f"{origin}/sse"), use)


def test_the_end_of_the_stream_is_the_end_of_the_session(origin: str, with_session: Callable) -> None:
    """Its answers can come no other way."""

    async def use(session: Session) -> None:
        with pytest.raises(ServerDied) as failed:
            await called(session, "end")
        assert "ended its event stream, and with it the session" in failed.value.message
        assert not session.alive

    with_session(web(f"{origin}/sse"), use)


def test_a_cut_connection_loses_the_answer_and_the_session(origin: str, with_session: Callable) -> None:
    """`fault: disconnect`: the stream is the connection."""

    async def use(session: Session) -> None:
        with pytest.raises(AnswerLost, match="`fault: disconnect`"):
            await called(session, "x", fault=Fault("disconnect"))
        assert not session.alive

    with_session(web(f"{origin}/sse"), use)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (
            "/elsewhere",
            'named an endpoint for messages at another origin, "http://localhost:{port}/messages", to which nothing is sent',
        ),
        ("/nowhere", "named an endpoint for messages that is not a URL"),
        ("/message", "answered with HTTP 405 Method Not Allowed: only GET here"),
        ("/ended", 'ended its event stream, and with it the session before it answered "initialize"'),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_told(path: str, told: str, origin: str, run: Callable) -> None:
    """Another origin could take a token along; without an endpoint the refusal of the POST stands."""
    failed = start_fails(run, web(origin + path))
    assert isinstance(failed, ServerDidNotStart)
    port = origin.rpartition(":")[2]
    assert failed.message == f'server "web" did not start: it {told.format(port=port)}'
    assert failed.http is not None


def test_a_stream_that_names_no_endpoint_is_waited_for_a_moment_only(origin: str, run: Callable) -> None:
    """`http.connect_timeout`; then the refusal of the POST is told."""
    failed = start_fails(run, web(f"{origin}/silent", http=HttpOptions(connect_timeout_seconds=0.2)))
    assert "answered with HTTP 405 Method Not Allowed" in failed.message


def test_a_call_that_times_out_is_cancelled_by_a_message(origin: str, with_session: Callable) -> None:
    """As in every handshake revision."""

    async def use(session: Session) -> None:
        with pytest.raises(CallTimeout):
            await session.request("tools/call", {"name": "never"}, timeout_seconds=0.3)
        assert (await called(session, "x")).answer["result"]

    with_session(web(f"{origin}/sse"), use)
    methods = [rpc_method(request) for request in asked(f"{origin}/seen")]
    assert sorted(filter(None, methods[-3:])) == ["notifications/cancelled", "tools/call", "tools/call"]


def test_the_stream_is_closed_with_the_session(origin: str, with_session: Callable) -> None:
    """Nothing is left behind at the server."""

    async def use(session: Session) -> None:
        await called(session, "x")

    with_session(web(f"{origin}/sse"), use)
    while asked(f"{origin}/open"):
        pass
