"""HTTP in the stateless era: what every POST says in its headers, and what is no longer there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import CallTimeout, ProtocolBroken, ServerError
from tests.servers_client.http_scripts import (
    CLOSE,
    HANG,
    HostileServer,
    call,
    call_fails,
    head,
    rpc_method,
    scripted,
    start_fails,
    stream,
    web,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.servers.session import Session

STATELESS = "2026-07-28"


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServer]:
    yield from scripted()


def test_every_post_names_its_revision_its_method_and_what_it_is_about(
    hostile: HostileServer, with_session: Callable
) -> None:
    """MCP 2026-07-28, basic/transports: so that a gateway can route without reading the body. No session, no stream."""
    url = hostile.url(
        {
            "server/discover": [
                whole(
                    "200 OK",
                    '{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}',
                    "application/json",
                    Mcp_Session_Id="s-1",
                )
            ]
        }
    )

    async def use(session: Session) -> None:
        await session.listening(30)
        for method, params in REQUESTS:
            await session.request(method, params, timeout_seconds=30)

    with_session(web(url, protocol=STATELESS), use)
    seen = hostile.seen(url)
    assert {request["method"] for request in seen} == {"POST"}
    assert {request["headers"]["mcp-protocol-version"] for request in seen} == {STATELESS}
    assert not any("mcp-session-id" in request["headers"] for request in seen)
    about = [(request["headers"]["mcp-method"], request["headers"].get("mcp-name")) for request in seen]
    assert about == [
        ("server/discover", None),
        ("tools/call", "add"),
        ("tools/call", "=?base64?csO8aHJlbg==?="),
        ("tools/call", "=?base64?IGE=?="),
        ("tools/call", None),
        ("prompts/get", "greet"),
        ("resources/read", "file:///a%20b"),
        ("tools/list", None),
    ]


REQUESTS: list[tuple[str, dict[str, Any] | None]] = [
    ("tools/call", {"name": "add"}),
    ("tools/call", {"name": "r\u00fchren"}),
    ("tools/call", {"name": " a"}),
    ("tools/call", {"name": 7}),
    ("prompts/get", {"name": "greet"}),
    ("resources/read", {"uri": "file:///a%20b"}),
    ("tools/list", None),
]


@pytest.mark.parametrize("request_id", ["<id>", "null"])
def test_an_error_of_the_protocol_under_a_failing_status_is_an_answer(
    request_id: str, hostile: HostileServer, with_session: Callable
) -> None:
    """Also with a null id: the server could not read the request, and the body is that of this very exchange."""
    error = f'{{"jsonrpc":"2.0","id":{request_id},"error":{{"code":-32602,"message":"bad params"}}}}'
    url = hostile.calling({"send": head("400 Bad Request", Connection="close") + error}, CLOSE)

    async def use(session: Session) -> None:
        exchange = await call(session)
        assert exchange.answer["error"] == {"code": -32602, "message": "bad params"}
        assert exchange.http is not None
        assert exchange.http["status"] == 400

    with_session(web(url, protocol=STATELESS), use)


def test_in_the_handshake_era_an_error_with_a_null_id_is_no_answer(
    hostile: HostileServer, with_session: Callable
) -> None:
    """There the status is what is told, with the error behind it."""
    error = '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}'
    url = hostile.calling(*whole("400 Bad Request", error, "application/json"))

    async def use(session: Session) -> None:
        failed = await call_fails(session, ProtocolBroken)
        assert failed.message == f'server "web" answered with HTTP 400 Bad Request: {error}'

    with_session(web(url), use)


def test_a_call_that_times_out_is_cancelled_by_closing_its_exchange(
    hostile: HostileServer, with_session: Callable
) -> None:
    """MCP 2026-07-28, cancellation over HTTP: no message is sent."""
    url = hostile.calling(HANG)

    async def use(session: Session) -> None:
        await call_fails(session, CallTimeout, seconds=0.3)
        assert (await call(session)).answer["result"]

    with_session(web(url, protocol=STATELESS), use)
    assert [rpc_method(request) for request in hostile.seen(url)] == ["server/discover", "tools/call", "tools/call"]


def test_a_stream_that_ends_before_the_answer_is_not_taken_up(hostile: HostileServer, with_session: Callable) -> None:
    """There is no GET in this revision."""

    async def use(session: Session) -> None:
        failed = await call_fails(session, ProtocolBroken)
        assert failed.message.endswith("its event stream ended before the answer")

    with_session(web(hostile.calling(*stream("id: a\nretry: 1\ndata:\n\n")), protocol=STATELESS), use)


def test_after_a_fruitless_probe_the_handshake_carries_nothing_of_it(
    hostile: HostileServer, with_session: Callable
) -> None:
    """`protocol: auto`: `initialize` names no revision in its headers, and then there is a session as ever."""
    refusal = '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"what?"}}'
    url = hostile.url({"server/discover": [whole("200 OK", refusal, "application/json")]})

    async def use(session: Session) -> None:
        await session.listening(30)
        assert not session.stateless
        assert (await call(session)).answer["result"]

    with_session(web(url, protocol="auto"), use)
    headers = {rpc_method(request) or request["method"]: request["headers"] for request in hostile.seen(url)}
    assert headers["server/discover"]["mcp-protocol-version"] == STATELESS
    assert "mcp-protocol-version" not in headers["initialize"]
    assert not any(
        "mcp-method" in headers[method] for method in ("initialize", "notifications/initialized", "tools/call")
    )
    assert headers["tools/call"]["mcp-protocol-version"] == "2025-11-25"
    assert "GET" in headers


@pytest.mark.parametrize(
    ("revision", "sent"),
    [
        ("2024-11-05", None),
        ("2025-03-26", None),
        ("2025-06-18", "2025-06-18"),
        ("2099-01-01", "2099-01-01"),
        ("not a\nrevision", None),
    ],
)
def test_the_revision_is_named_since_the_one_that_demands_it(
    revision: str, sent: str | None, hostile: HostileServer, with_session: Callable
) -> None:
    """MCP 2025-06-18, basic/transports#protocol-version-header; what no header can carry is left out."""
    result = {"protocolVersion": revision, "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result})
    url = hostile.url({"initialize": [whole("200 OK", answer, "application/json")]})

    async def use(session: Session) -> None:
        assert (await call(session)).answer["result"]

    with_session(web(url), use)
    (asked,) = hostile.seen(url, "tools/call")
    assert asked["headers"].get("mcp-protocol-version") == sent


def test_a_header_of_the_suite_stands_over_ours(hostile: HostileServer, with_session: Callable) -> None:
    """A test may send anything on purpose; a header is never sent twice."""
    url = hostile.url()

    async def use(session: Session) -> None:
        assert (await call(session)).answer["result"]

    with_session(web(url, protocol=STATELESS, headers={"mcp-name": "other", "ACCEPT": "text/plain"}), use)
    (asked,) = hostile.seen(url, "tools/call")
    assert (asked["headers"]["mcp-name"], asked["headers"]["accept"]) == ("other", "text/plain")


def test_a_server_that_knows_nothing_of_the_revision_is_told_of(hostile: HostileServer, run: Callable) -> None:
    """Its refusal of the POST, at once."""
    url = hostile.url({"server/discover": [whole("404 Not Found", "nothing here")]})
    failed = start_fails(run, web(url, protocol=STATELESS))
    assert isinstance(failed, ServerError)
    assert failed.message == 'server "web" did not start: it answered with HTTP 404 Not Found: nothing here'
