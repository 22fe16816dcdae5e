"""The mock over Streamable HTTP, driven with an ordinary HTTP client and once with a bare socket."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ACCEPT = {"accept": "application/json, text/event-stream"}
A_MOMENT = httpx2.Timeout(60.0, read=0.2)  # for an answer; to get through to the mock takes as long as it takes
SLOW = """
mock_server:
  tools:
    - { name: slow, delay_ms: 600000, response: { content: [{ type: text, text: slow }] } }
    - { name: quick, response: { content: [{ type: text, text: quick }] } }
    - name: turn
      responses: [{ content: [{ type: text, text: one }] }, { content: [{ type: text, text: two }] }]
"""


class Client:
    """A session over HTTP."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx2.Client(timeout=60.0, headers=ACCEPT)

    def post(self, message: Any, **headers: str) -> httpx2.Response:
        return self.http.post(self.url, json=message, headers={key.replace("_", "-"): headers[key] for key in headers})

    def initialize(self) -> httpx2.Response:
        answer = self.post(request("initialize", {"protocolVersion": "2025-11-25"}))
        if "mcp-session-id" in answer.headers:
            self.http.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        return answer


def request(method: str, params: dict[str, Any] | None = None, key: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": key, "method": method, **({} if params is None else {"params": params})}


def call(tool: str, key: int = 1) -> dict[str, Any]:
    return request("tools/call", {"name": tool, "arguments": {}}, key)


def url_of(mock) -> str:
    line = mock.stderr_line()
    assert line.startswith("listening on http://")
    return line.removeprefix("listening on ")


@pytest.fixture
def connect() -> Iterator[Callable[[str], Client]]:
    """Clients by URL, closed at the end."""
    clients: list[Client] = []

    def open_one(url: str) -> Client:
        clients.append(Client(url))
        return clients[-1]

    yield open_one
    for client in clients:
        client.http.close()


@pytest.fixture
def client(serve, connect) -> Client:
    mock = serve(SLOW, "--http", "0")
    client = connect(url_of(mock))
    client.mock = mock
    client.initialize()
    return client


def test_a_free_port_is_announced_on_stderr(start):
    """`--http 0`: loopback, and the URL once clients can connect."""
    parts = urlsplit(url_of(start("--preset", "demo", "--http", "0")))
    assert (parts.hostname, parts.path) == ("127.0.0.1", "/mcp")
    assert parts.port


def test_initialize_begins_a_session_with_a_json_answer(start, connect):
    """MCP 2025-11-25, basic/transports#session-management."""
    answer = connect(url_of(start("--preset", "demo", "--http", "127.0.0.1:0"))).initialize()
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["serverInfo"]["name"] == "mcptest-demo"
    assert len(answer.headers["mcp-session-id"]) == 32


def test_a_request_of_the_session_is_answered_and_a_notification_accepted(client, connect):
    """MCP 2025-11-25, basic/transports#sending-messages-to-the-server: 202 without a body for notifications."""
    accepted = client.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (accepted.status_code, accepted.content) == (202, b"")
    answer = client.post(request("ping"), mcp_protocol_version="2025-11-25")
    assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_request_without_a_session_is_400_and_with_an_unknown_one_404(client, connect):
    """MCP 2025-11-25, basic/transports#session-management."""
    assert client.post(request("ping"), mcp_session_id="0" * 32).status_code == 404
    del client.http.headers["mcp-session-id"]
    assert client.post(request("ping")).status_code == 400


def test_a_session_ends_by_delete(client, connect):
    """MCP 2025-11-25, basic/transports#session-management: 404 afterwards."""
    assert client.http.delete(client.url).status_code == 204
    assert client.http.delete(client.url).status_code == 404
    assert client.post(request("ping")).status_code == 404


def test_each_session_has_its_own_sequence_of_responses(client, connect):
    """A second client of the same process starts from the beginning."""

    def turn(of: Client) -> str:
        return str(of.post(call("turn")).json()["result"]["content"][0]["text"])

    other = connect(client.url)
    other.initialize()
    assert [turn(client), turn(client), turn(other), turn(client)] == ["one", "two", "one", "two"]


@pytest.mark.parametrize("method", ["PUT", "HEAD"])
def test_other_methods_are_405(client, method, connect):
    """RFC 9110, 15.5.6."""
    answer = client.http.request(method, client.url)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST, DELETE")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example:80"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "http://127.0.0.1"}, 200),
        ({"host": "localhost:1"}, 200),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/json; charset=utf-8"}, 200),
        ({"accept": "text/html"}, 406),
        ({"accept": "*/*"}, 200),
        ({"mcp_protocol_version": "1999-01-01"}, 400),
        ({"mcp_protocol_version": "2025-06-18"}, 200),
    ],
)
def test_headers_decide_before_the_message_does(client, headers, status, connect):
    """MCP 2025-11-25, basic/transports#security-warning (Origin, against DNS rebinding) and #protocol-version-header."""
    assert client.post(request("ping"), **headers).status_code == status


def test_another_path_is_404(client, connect):
    """There is one endpoint."""
    assert client.http.post(client.url.replace("/mcp", "/sse"), json=request("ping")).status_code == 404


def test_what_is_no_message_is_400_with_the_json_rpc_error(client, connect):
    """MCP 2025-11-25, basic/transports: a JSON-RPC error without an id may be the body."""
    answer = client.http.post(client.url, content=b"{oops", headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (400, -32700, None)


def test_a_missing_or_wrong_token_is_401_with_a_challenge(start, connect):
    """RFC 6750, 3: the scheme and the realm; everything is refused, not only calls."""
    mock = start("--preset", "demo", "--http", "0", "--require-bearer-env", "MOCK_TOKEN", env={"MOCK_TOKEN": "s3cret"})
    client = connect(url_of(mock))
    for authorization in (None, "Bearer wrong", "Bearer", "Basic s3cret"):
        for method in ("POST", "GET", "DELETE"):
            headers = {} if authorization is None else {"authorization": authorization}
            answer = client.http.request(method, client.url, json=request("ping"), headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == 'Bearer realm="mcptest-mock"'
            assert "s3cret" not in answer.text
    client.http.headers["authorization"] = "bearer s3cret"
    assert client.initialize().status_code == 200


def test_calls_are_served_concurrently(serve, connect):
    """The quick answer overtakes the slow one, on another connection of the same session."""
    mock = serve(SLOW, "--http", "0", "--log-level", "debug")
    client = connect(url_of(mock))
    client.initialize()

    async def race() -> str:
        headers = {**ACCEPT, "mcp-session-id": client.http.headers["mcp-session-id"]}
        async with httpx2.AsyncClient(timeout=60.0, headers=headers) as http, asyncio.timeout(180):
            slow = asyncio.ensure_future(http.post(client.url, json=call("slow", 1)))
            while "tools/call" not in await asyncio.to_thread(mock.stderr_line):  # it has got it
                continue
            quick = await http.post(client.url, json=call("quick", 2))
            assert not slow.done()
            slow.cancel()
            return str(quick.json()["result"]["content"][0]["text"])

    assert asyncio.run(race()) == "quick"


def test_a_cancelled_request_ends_without_a_message(serve, connect):
    """MCP 2025-11-25, basic/utilities/cancellation: no response; the exchange ends as an empty event stream."""
    url = url_of(serve(SLOW, "--http", "0", "--fault", "hang"))

    async def cancel() -> httpx2.Response:
        async with httpx2.AsyncClient(timeout=60.0, headers=ACCEPT) as http, asyncio.timeout(180):
            hello = await http.post(url, json=request("initialize", {}))
            http.headers["mcp-session-id"] = hello.headers["mcp-session-id"]
            hung = asyncio.create_task(http.post(url, json=call("slow", 7)))
            while not hung.done():
                note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
                assert (await http.post(url, json=note)).status_code == 202
            return await hung

    ended = asyncio.run(cancel())
    assert (ended.status_code, ended.headers["content-type"], ended.content) == (200, "text/event-stream", b"")


def test_a_crash_closes_the_connection_and_ends_the_process_with_1(serve, connect):
    """`crash-after:<n>` over HTTP: no answer, exit code 1."""
    mock = serve(SLOW, "--http", "0", "--fault", "crash-after:1")
    client = connect(url_of(mock))
    client.initialize()
    assert client.post(call("quick")).status_code == 200
    with pytest.raises(httpx2.TransportError):
        client.post(call("quick"))
    assert mock.wait() == 1


def test_garbage_is_no_json_under_a_json_content_type(serve, connect):
    """`garbage` over HTTP: the body lies."""
    client = connect(url_of(serve(SLOW, "--http", "0", "--fault", "garbage")))
    client.initialize()
    answer = client.post(call("quick"))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    with pytest.raises(ValueError, match=r"codec|Expecting"):
        json.loads(answer.content)


def test_a_wedged_server_answers_nobody_and_still_ends_by_a_signal(serve, connect):
    """`wedged` over HTTP: no request on any connection is answered after the call."""
    mock = serve(SLOW, "--http", "0", "--fault", "wedged", "--log-level", "debug")
    client = connect(url_of(mock))
    client.initialize()
    with ThreadPoolExecutor() as threads, httpx2.Client(timeout=60.0, headers=client.http.headers) as other:
        called = threads.submit(other.post, client.url, json=call("quick"))
        while "tools/call" not in mock.stderr_line():  # it has got it
            continue
        with pytest.raises(httpx2.ReadTimeout):
            client.http.post(client.url, json=request("ping"), timeout=A_MOMENT)
        assert not called.done()
        mock.process.send_signal(signal.SIGTERM)
        assert mock.wait() == 0
        assert called.exception(60) is not None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_endpoint_cleanly_with_requests_waiting(serve, number, connect):
    """No traceback and exit code 0, also while a call hangs on an open connection."""
    mock = serve(SLOW, "--http", "0", "--fault", "hang")
    client = connect(url_of(mock))
    client.initialize()
    with pytest.raises(httpx2.ReadTimeout):
        client.http.post(client.url, json=call("quick"), timeout=A_MOMENT)
    mock.process.send_signal(number)
    assert mock.wait() == 0
    assert mock.process.stderr.read() == b""


def test_a_signal_ends_the_endpoint_cleanly_with_streams_open(client):
    """No traceback and exit code 0, also while a session listens."""
    with client.http.stream("GET", client.url) as stream:
        assert stream.status_code == 200
        client.mock.process.send_signal(signal.SIGTERM)
        assert client.mock.wait() == 0
    assert client.mock.process.stderr.read() == b""


def test_a_taken_port_is_one_clear_error(start, connect):
    """Exit code 2 and the way out."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        mock = start("--preset", "demo", "--http", str(port))
        assert mock.wait() == 2
        words = mock.process.stderr.read().decode()
    assert words.startswith(f"cannot listen on 127.0.0.1:{port}: ")
    assert words.endswith("\n  port 0 lets the system choose a free one\n")


def test_listening_beyond_loopback_is_said(start, connect):
    """Nothing listens but on loopback unless asked, and then it says so."""
    mock = start("--preset", "demo", "--http", "0.0.0.0:0")
    assert "other machines may connect" in mock.stderr_line()
    port = urlsplit(url_of(mock)).port
    client = connect(f"http://127.0.0.1:{port}/mcp")
    assert client.post(request("initialize", {}), host="mock.internal:80").status_code == 200
    assert client.post(request("initialize", {}), host="mock.internal", origin="http://evil.example").status_code == 403


def test_a_bare_socket_may_send_chunks_and_wait_for_100_continue(client):
    """RFC 9112, 7.1 and RFC 9110, 10.1.1; two requests on one connection."""
    parts = urlsplit(client.url)
    session = client.http.headers["mcp-session-id"]
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nMcp-Session-Id: {session}\r\n"
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as raw, raw.makefile("rb") as answers:
        raw.sendall(f"{head}Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        assert answers.readline() == b"HTTP/1.1 100 \r\n"
        assert answers.readline() == b"\r\n"
        for piece in (b'{"jsonrpc":"2.0",', b'"id":1,"method":"ping"}', b""):
            raw.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        first = [answers.readline() for _ in range(4)]
        assert first[0] == b"HTTP/1.1 200 \r\n"
        assert answers.read(36) == b'{"jsonrpc":"2.0","id":1,"result":{}}'
        body = b'{"jsonrpc":"2.0","id":2,"method":"ping"}'
        raw.sendall(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        assert b'"id":2' in answers.read()


@pytest.mark.parametrize("nonsense", [b"\x16\x03\x01 hello\r\n\r\n", b"POST /mcp HTTP/9\r\n\r\n", b"GET\r\n\r\n"])
def test_what_is_not_http_is_refused_and_serving_goes_on(client, nonsense):
    """RFC 9112: 400 and a closed connection."""
    parts = urlsplit(client.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as raw, raw.makefile("rb") as answers:
        raw.sendall(nonsense)
        assert answers.read().startswith(b"HTTP/1.1 400")
    assert client.post(request("ping")).status_code == 200
