"""Streamable HTTP: what is sent, both kinds of answers, and every way in which HTTP fails."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import (
    AuthFailed,
    CallTimeout,
    ProtocolBroken,
    ServerDidNotStart,
    ServerDied,
    ServerError,
)
from mcptest_engine.servers import auth
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import HttpOptions, ServerSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.servers.session import Session

SERVER = Path(__file__).resolve().parents[1] / "servers" / "http_echo.py"


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """A server on a free port of the loopback."""
    command = [sys.executable, str(SERVER)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        assert process.stdin is not None
        process.stdin.close()


def spec(url: str, **settings: Any) -> ServerSpec:
    return ServerSpec(name="web", url=url, **settings)


def requests_to(origin: str, path: str) -> list[dict[str, Any]]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{origin}/seen", timeout=30) as response:
        return [request for request in json.load(response) if request["path"] == path]


def start_failure(run: Callable, wanted: ServerSpec) -> ServerError:
    with pytest.raises(ServerError) as failed:
        run(connect(wanted))
    return failed.value


@pytest.mark.parametrize("path", ["/json", "/sse", "/moved", "/session"])
def test_an_answer_comes_with_its_status_and_headers(path: str, origin: str, with_session: Callable) -> None:
    """MCP 2025-11-25, basic/transports#streamable-http; libraries 11.9. A redirect inside the origin is followed."""

    async def use(session: Session) -> None:
        exchange = await session.request("tools/call", {"name": "x"}, timeout_seconds=30)
        assert json.loads(exchange.answer["result"]["content"][0]["text"]) == {"name": "x"}
        assert exchange.http is not None
        assert exchange.http["status"] == 200
        kind = "text/event-stream" if path == "/sse" else "application/json"
        assert exchange.http["headers"]["content-type"] == kind
        assert session.transport == "http"

    with_session(spec(origin + path), use)


def test_the_headers_of_the_transport_are_sent_and_the_session_is_ended(origin: str, with_session: Callable) -> None:
    """basic/transports: Accept, Mcp-Session-Id, MCP-Protocol-Version from the handshake on; DELETE at the end."""

    async def use(session: Session) -> None:
        await session.request("tools/call", {}, timeout_seconds=30)

    before = len(requests_to(origin, "/session"))
    with_session(spec(origin + "/session", headers={"X-Team": "qa"}), use)
    everything = requests_to(origin, "/session")[before:]
    seen = [request for request in everything if request["method"] != "GET"]  # that is the server's own stream
    assert [request["method"] for request in seen] == ["POST", "POST", "POST", "DELETE"]
    bodies = [json.loads(request["body"])["method"] for request in seen[:3]]
    assert bodies == ["initialize", "notifications/initialized", "tools/call"]
    assert all(request["headers"]["x-team"] == "qa" for request in seen)
    assert seen[0]["headers"]["accept"] == "application/json, text/event-stream"
    assert "mcp-session-id" not in seen[0]["headers"]
    assert "mcp-protocol-version" not in seen[0]["headers"]
    for request in seen[1:]:
        assert request["headers"]["mcp-session-id"] == "s-1"
        assert request["headers"]["mcp-protocol-version"] == "2025-11-25"


def test_what_else_the_event_stream_carries_is_kept_and_answered(origin: str, with_session: Callable) -> None:
    """Notifications and requests of the server come in the stream of a call; an event falls into chunks anywhere."""

    async def use(session: Session) -> None:
        await session.request("tools/call", {}, timeout_seconds=30)
        assert session.server_messages.notifications[0] == {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"n": 1},
        }
        sent = [entry.message for entry in session.traffic.entries() if entry.sent]
        assert {"jsonrpc": "2.0", "id": "q", "result": {}} in sent

    with_session(spec(origin + "/sse"), use)


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("/status/500", ProtocolBroken, "answered with HTTP 500 Internal Server Error: something is broken"),
        ("/status/429", ProtocolBroken, "answered with HTTP 429 Too Many Requests: something is broken"),
        (
            "/html",
            ProtocolBroken,
            'broke the protocol in its answer to "tools/call": HTTP 200 with the content type "text/html": hello',
        ),
        ("/empty", ProtocolBroken, 'broke the protocol in its answer to "tools/call": HTTP 200 with an empty body'),
        ("/accepted", ProtocolBroken, 'broke the protocol in its answer to "tools/call": HTTP 202 with an empty body'),
        (
            "/array",
            ProtocolBroken,
            'broke the protocol in its answer to "tools/call": its `result` is an array, not an object: {"jsonrpc":"2.0"',
        ),
        (
            "/cut",
            ProtocolBroken,
            'broke the protocol in its answer to "tools/call": its event stream ended before the answer',
        ),
    ],
)
def test_an_http_failure_fails_its_call_and_says_its_status(
    path: str, error: type[ServerError], message: str, origin: str, with_session: Callable
) -> None:
    """HTTP failures say `HTTP <status>`; at once, and the session stays usable."""

    async def use(session: Session) -> None:
        with pytest.raises(error) as failed:
            await session.request("tools/call", {}, timeout_seconds=30)
        assert failed.value.message.startswith(f'server "web" {message}')
        assert session.alive

    with_session(spec(origin + path), use)


def test_an_error_of_the_protocol_under_a_failing_status_is_an_answer(origin: str, with_session: Callable) -> None:
    """Servers send HTTP 400 with a JSON-RPC error: a test may assert on both."""

    async def use(session: Session) -> None:
        exchange = await session.request("tools/call", {}, timeout_seconds=30)
        assert exchange.answer["error"] == {"code": -32602, "message": "bad params"}
        assert exchange.http is not None
        assert exchange.http["status"] == 400

    with_session(spec(origin + "/rpc-error"), use)


def test_a_connection_that_is_dropped_ends_its_call(origin: str, with_session: Callable) -> None:
    """Not by timeout."""

    async def use(session: Session) -> None:
        with pytest.raises(ServerDied, match="closed the connection without an answer"):
            await session.request("tools/call", {}, timeout_seconds=30)

    with_session(spec(origin + "/drop"), use)


def test_a_call_that_times_out_is_cancelled_by_a_message(origin: str, with_session: Callable) -> None:
    """basic/transports: to disconnect is not to cancel."""

    async def use(session: Session) -> None:
        with pytest.raises(CallTimeout):
            await session.request("tools/call", {}, timeout_seconds=0.3)

    with_session(spec(origin + "/slow"), use)
    methods = [json.loads(request["body"]).get("method") for request in requests_to(origin, "/slow") if request["body"]]
    assert sorted(methods[-2:]) == ["notifications/cancelled", "tools/call"]  # two connections, no order between them


def test_nobody_listening_says_connection_refused(run: Callable) -> None:
    """`doctor` and every failure name the layer."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
        failed = start_failure(run, spec(url))
    assert isinstance(failed, ServerDidNotStart)
    assert failed.message == f'cannot connect to server "web": connection refused at {url}'


@pytest.mark.parametrize("url", ["ws://127.0.0.1/mcp", "127.0.0.1:80/mcp", "http://", "http://[::1/mcp"])
def test_what_is_no_url_is_refused(url: str, run: Callable) -> None:
    """Before anything is sent."""
    assert start_failure(run, spec(url)).message == f'server "web" did not start: "{url}" is not an http or https URL'


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("ws://me:hunter2@127.0.0.1/mcp?key=hunter2", "ws://127.0.0.1/mcp"),
        ("me:hunter2@127.0.0.1:80/mcp", "127.0.0.1:80/mcp"),
        ("http://me:hunter2@[::1/mcp?key=hunter2", "http://[::1/mcp"),
        ("https://me:hunter2@127.0.0.1:70000/mcp#hunter2", "https://127.0.0.1:70000/mcp"),
    ],
)
def test_what_is_no_url_is_told_without_its_password(url: str, shown: str, run: Callable) -> None:
    """Nor its query."""
    assert start_failure(run, spec(url)).message == f'server "web" did not start: "{shown}" is not an http or https URL'


def test_a_redirect_to_another_origin_is_not_followed(origin: str, run: Callable) -> None:
    """Not followed, and the failure says "redirect"; so no token can travel along."""
    failed = start_failure(run, spec(origin + "/redirect/http%3A%2F%2Flocalhost%3A1%2Fmcp%3Fkey%3Dsecret"))
    expected = 'it answered with a redirect (HTTP 307) to "http://localhost:1/mcp", which is not followed'
    assert failed.message == f'server "web" did not start: {expected}'


def test_a_token_that_is_accepted_is_sent_with_every_request(origin: str, with_session: Callable) -> None:
    """Server `auth: {bearer_token_env: …}`."""

    async def use(session: Session) -> None:
        await session.request("tools/call", {}, timeout_seconds=30)

    wanted = spec(
        f"{origin}/bearer/right", headers={"Authorization": "Bearer right"}, secret_headers=frozenset({"authorization"})
    )
    with_session(wanted, use)


NOT_SET = (
    "env var `TOK` (named by `bearer_token_env`) is not set or is empty in this process;\nexport a valid token into it"
)
REFUSED = "the token in env var `TOK` (named by `bearer_token_env`) was not accepted;\nexport a valid token into it"
NO_INPUT = "no token was sent;\nname the env var that holds one with `bearer_token_env`"


@pytest.mark.parametrize(
    ("path", "status", "advertised", "settings", "remedy"),
    [
        ("/bearer/x", 401, 'Bearer (realm="mcp")', {"auth": "bearer", "bearer_token_env": "TOK"}, NOT_SET),
        (
            "/bearer/x",
            401,
            'Bearer (realm="mcp")',
            {
                "auth": "bearer",
                "bearer_token_env": "TOK",
                "headers": {"Authorization": "Bearer wrong"},
                "secret_headers": frozenset({"authorization"}),
            },
            REFUSED,
        ),
        ("/plain401", 401, "no scheme", {}, NO_INPUT),
        ("/forbidden", 403, "no scheme", {}, NO_INPUT),
    ],
)
def test_a_refused_token_is_told_in_three_lines(
    path: str, status: int, advertised: str, settings: dict[str, Any], remedy: str, origin: str, run: Callable
) -> None:
    """Agent interface, "Auth failures"."""
    failed = start_failure(run, spec(origin + path, **settings))
    assert isinstance(failed, AuthFailed)
    option = " --bearer-token-env TOK" if "bearer_token_env" in settings else ""
    assert failed.message == (
        f"auth failed: HTTP {status} from {origin}{path}, server advertises {advertised}.\n"
        f"{remedy}. Diagnose with: mcptest doctor --url {origin}{path}{option}"
    )


def test_a_token_goes_only_to_https_or_to_this_machine(run: Callable) -> None:
    """Refused before anything is sent."""
    wanted = spec("http://example.invalid/mcp", auth="bearer", secret_headers=frozenset({"authorization"}))
    failed = start_failure(run, wanted)
    assert isinstance(failed, AuthFailed)
    expected = "the bearer token is not sent to http://example.invalid/mcp: tokens go only to https or to this machine"
    assert failed.message == f"auth failed: {expected}"
    auth.check_secrets_may_go(replace(wanted, url="https://example.invalid/mcp"))
    for host in ("localhost", "127.8.8.8", "[::1]", "a.localhost"):
        auth.check_secrets_may_go(replace(wanted, url=f"http://{host}:1/mcp"))


PROXY_TOLD = (
    "the bearer token is not sent to http://localhost:1/mcp through the proxy http://proxy.invalid:3128, "
    "which could read it: tokens go only to https or to this machine"
)


def test_a_token_goes_to_no_proxy_in_the_clear(run: Callable) -> None:
    """A plain URL of this machine, asked through somebody else's."""
    proxied = HttpOptions(proxy="http://me:hunter2@proxy.invalid:3128")
    wanted = spec("http://localhost:1/mcp", auth="bearer", secret_headers=frozenset({"authorization"}), http=proxied)
    failed = start_failure(run, wanted)
    assert isinstance(failed, AuthFailed)
    assert failed.message == f"auth failed: {PROXY_TOLD}"
    auth.check_secrets_may_go(replace(wanted, url="https://example.invalid/mcp"))
    auth.check_secrets_may_go(replace(wanted, http=HttpOptions(proxy="http://127.0.0.1:3128")))
    auth.check_secrets_may_go(replace(wanted, secret_headers=frozenset()))
    with pytest.raises(AuthFailed, match=r"the OAuth token is not sent to .* through the proxy"):
        auth.check_secrets_may_go(replace(wanted, secret_headers=frozenset()), with_token=True)


def test_a_session_that_the_server_forgot_is_over(origin: str, with_session: Callable) -> None:
    """basic/transports#session-management: 404 means that the session is gone; a new one is the runner's to open."""

    async def use(session: Session) -> None:
        session._transport._http.headers.take_session_id("s-0")  # type: ignore[attr-defined]  # as after a restart of the server
        with pytest.raises(ServerDied, match=r"ended the session \(HTTP 404 Not Found\)"):
            await session.request("tools/call", {}, timeout_seconds=30)
        assert not session.alive

    with_session(spec(origin + "/session"), use)
