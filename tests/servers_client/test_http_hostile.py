"""HTTP that is broken on purpose, byte by byte: each gives one clear failure of its call, and the session goes on."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.errors import CallTimeout, ProtocolBroken, ServerDied, ServerError
from tests.servers_client.http_scripts import (
    ANSWER,
    CLOSE,
    HANG,
    RESET,
    HostileServer,
    Step,
    call,
    call_fails,
    event,
    head,
    scripted,
    start_fails,
    stream,
    web,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.servers.session import Session

TIMEOUT = 'did not answer "tools/call" within 200 ms'
BROKE = 'broke the protocol in its answer to "tools/call": '
PAGE = "<!DOCTYPE html>\n<html><head><title>Oops</title><style>h1 {color: red}</style></head>\n<body><h1>Internal&nbsp;error</h1><!-- trace --><script>if (a < b) {}</script><hr><p>Try  later</p></body></html>"  # noqa: E501


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServer]:
    yield from scripted()


CASES: dict[str, tuple[list[Step], type[ServerError], str]] = {
    "closes before an answer": ([CLOSE], ServerDied, "closed the connection without an answer at "),
    "resets before an answer": ([RESET], ServerDied, "closed the connection without an answer at "),
    "closes within the headers": (
        [{"send": "HTTP/1.1 200 OK\r\nContent-Ty"}, CLOSE],
        ServerDied,
        "closed the connection without an answer at ",
    ),
    "closes within the body": (
        [{"send": head(Content_Length=100) + '{"jsonrpc":"2.0",'}, CLOSE],
        ServerDied,
        "closed the connection in the middle of its answer at ",
    ),
    "resets within the body": (
        [{"send": head(Content_Length=100) + '{"jsonrpc":"2.0",'}, RESET],
        ServerDied,
        "closed the connection in the middle of its answer at ",
    ),
    "closes within a chunk": (
        [{"send": head(Transfer_Encoding="chunked") + 'ff\r\n{"jsonrpc"'}, CLOSE],
        ServerDied,
        "closed the connection in the middle of its answer at ",
    ),
    "a length that is too short": (
        [{"send": head(Content_Length=20) + '{"jsonrpc":"2.0","id":<id>,"result":{}}'}],
        ProtocolBroken,
        f'{BROKE}HTTP 200 with a body that does not answer it: {{"jsonrpc":"2.0","i',
    ),
    "no status line": (
        [{"send": "hello there\r\n\r\n"}, CLOSE],
        ProtocolBroken,
        "answered with something other than HTTP: ",
    ),
    "a page without headers": (
        [{"send": "<h1>hi</h1>\r\n\r\n<p>bye</p>"}, CLOSE],
        ProtocolBroken,
        "answered with something other than HTTP: illegal status line: b'<h1>hi</h1>'",
    ),
    "a line break in a header": (
        [{"send": "HTTP/1.1 200 OK\r\nX-A: b\rSet-Cookie: c=d\r\n\r\n"}, CLOSE],
        ProtocolBroken,
        "answered with something other than HTTP: ",
    ),
    "a NUL in a header": (
        [{"send": head(X_A="b\0c")}, CLOSE],
        ProtocolBroken,
        "answered with something other than HTTP: ",
    ),
    "two lengths": (
        [{"send": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n12345"}, CLOSE],
        ProtocolBroken,
        "answered with something other than HTTP: ",
    ),
    "huge headers": (
        [{"send": "HTTP/1.1 200 OK\r\nX-A: "}, {"fill": 200_000}, {"send": "\r\n\r\n"}],
        ProtocolBroken,
        "answered with HTTP headers of more than 100 KiB, which is too large",
    ),
    "headers without end": (
        [{"send": "HTTP/1.1 200 OK\r\n"}, {"again": "X-A: " + "b" * 10_000 + "\r\n"}],
        ProtocolBroken,
        "answered with HTTP headers of more than 100 KiB, which is too large",
    ),
    "a page for an error": (
        whole("500 Internal Server Error", PAGE, "text/html"),
        ProtocolBroken,
        "answered with HTTP 500 Internal Server Error: Internal error Try later",
    ),
    "an error without end": (
        [{"send": head("500 Oops", "text/plain") + "it "}, {"again": "never ends "}],
        ProtocolBroken,
        "answered with HTTP 500 Oops: it never ends ",
    ),
    "gzip that is none": (
        whole("200 OK", "hello", "application/json", Content_Encoding="gzip"),
        ProtocolBroken,
        "sent a compressed body that cannot be unpacked: ",
    ),
    "a coding not asked for": (
        whole("200 OK", "hello", "application/json", Content_Encoding="br"),
        ProtocolBroken,
        'answered with the content encoding "br", which was not asked for',
    ),
    "a coding within a coding": (
        whole("200 OK", "hello", "application/json", Content_Encoding="gzip, gzip"),
        ProtocolBroken,
        'answered with the content encoding "gzip, gzip", which was not asked for',
    ),
    "no content type": (
        [{"send": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"}],
        ProtocolBroken,
        f"{BROKE}HTTP 200 with no content type: hi",
    ),
    "an answer to another request": (
        whole("200 OK", '{"jsonrpc":"2.0","id":99,"result":{}}', "application/json"),
        ProtocolBroken,
        f"{BROKE}HTTP 200 with a body that does not answer it: {{",
    ),
    "an event cut short": (
        stream('data: {"jsonrpc":"2.0","id":<id>,'),
        ProtocolBroken,
        f'{BROKE}its event stream ended in the middle of an event, before the answer: data: {{"jsonrpc"',
    ),
    "an event without its blank line": (
        stream("data: <json>\n"),
        ProtocolBroken,
        f'{BROKE}its event stream ended in the middle of an event, before the answer: {{"jsonrpc"',
    ),
    "a redirect to nowhere": (
        whole("307 Temporary Redirect", "", Location="http://[::1"),
        ProtocolBroken,
        "answered with a redirect (HTTP 307) to something that is not a URL",
    ),
    "a switch of protocols": (
        [{"send": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"}],
        ProtocolBroken,
        "answered with something other than HTTP: ",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_broken_http_fails_its_call_at_once_and_no_other(
    case: str, hostile: HostileServer, with_session: Callable
) -> None:
    """The failure says what came; the next call is answered."""
    steps, error, message = CASES[case]

    async def use(session: Session) -> None:
        failed = await call_fails(session, error)
        assert failed.message.startswith(f'server "web" {message}')
        assert len(failed.message) < 700
        assert (await call(session)).answer["result"]

    with_session(web(hostile.calling(*steps)), use)


ENDLESS: dict[str, list[Step]] = {
    "nothing at all": [HANG],
    "a body that trickles": [{"send": head(Content_Length=10_000_000)}, {"again": " "}],
    "a stream of comments": [{"send": head(kind="text/event-stream")}, {"again": ": still here\n\n"}],
    "a stream of one line": [{"send": head(kind="text/event-stream") + "data: "}, {"again": "x" * 1000}],
    "informational answers": [{"again": "HTTP/1.1 100 Continue\r\n\r\n"}],
}


@pytest.mark.parametrize("case", ENDLESS)
def test_what_never_ends_is_ended_by_the_timeout_of_its_call(
    case: str, hostile: HostileServer, with_session: Callable
) -> None:
    """The connection is closed with it, and the session goes on."""

    async def use(session: Session) -> None:
        failed = await call_fails(session, CallTimeout, seconds=0.2)
        assert failed.message.startswith(f'server "web" {TIMEOUT}')
        assert (await call(session)).answer["result"]

    with_session(web(hostile.calling(*ENDLESS[case])), use)


def test_redirects_are_followed_a_few_times_only(hostile: HostileServer, with_session: Callable) -> None:
    """Also inside the origin."""
    once = whole("307 Temporary Redirect", "", Location="")

    async def use(session: Session) -> None:
        with pytest.raises(ProtocolBroken) as failed:
            await session.request("tools/list", {}, timeout_seconds=30)
        assert 'answered with endless redirects, the last to "http://127.0.0.1' in failed.value.message
        assert (await session.request("tools/list", {}, timeout_seconds=30)).answer["result"]

    with_session(web(hostile.url({"tools/list": [once] * 6})), use)


def test_what_came_in_place_of_an_answer_is_kept(hostile: HostileServer, with_session: Callable) -> None:
    """Status, headers and body, the body clipped at 4 KiB and without secrets; the message holds no markup."""
    body = PAGE + "the secret is hunter2 " + "x" * 9000

    async def use(session: Session) -> None:
        failed = await call_fails(session)
        assert failed.http is not None
        assert failed.http["status"] == 500
        assert failed.http["headers"]["x-trace"] == "t-1"
        assert failed.http["body"].startswith("<!DOCTYPE html>\n<html>")
        assert "the secret is *** x" in failed.http["body"]
        assert 4000 < len(failed.http["body"]) < 4200
        assert "hunter2" not in failed.message

    url = hostile.calling(*whole("500 Internal Server Error", body, "text/html", X_Trace="t-1"))
    with_session(web(url, redact=lambda text: text.replace("hunter2", "***")), use)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("its_id", ["3", '"3"'])
def test_an_answer_to_another_call_fails_the_call_that_it_came_with(
    its_id: str, kind: str, hostile: HostileServer, with_session: Callable
) -> None:
    """An answer belongs to its POST: the other call waits on for its own."""
    wrong = f'{{"jsonrpc":"2.0","id":{its_id},"result":{{"of":"another"}}}}'
    body = wrong if kind == "application/json" else event(wrong)
    url = hostile.url({"tools/call": [[{"send": head(kind=kind) + body}, CLOSE]], "prompts/list": [[HANG]]})

    async def use(session: Session) -> None:
        asked = session.request("tools/call", {"name": "x"}, timeout_seconds=30)
        mine, other = asyncio.ensure_future(asked), asyncio.ensure_future(waiting(session))
        with pytest.raises(ProtocolBroken) as failed:
            await mine
        assert f"{BROKE}its `id` is {its_id}, where the request's was 2: {{" in failed.value.message
        assert failed.value.http is not None
        assert failed.value.http["body"] == wrong
        assert not other.done()
        await session.close()
        with pytest.raises(ServerDied):
            await other

    async def waiting(session: Session) -> None:
        await session.request("prompts/list", {}, timeout_seconds=30)

    with_session(web(url), use)


def test_a_session_id_and_cookies_are_secrets(hostile: HostileServer, with_session: Callable) -> None:
    """Whoever has one may speak in its name, so neither is shown where the server repeats it; short ones are words."""
    secrets: list[str] = []
    first = head(Mcp_Session_Id="session-0001", Connection="close", Set_Cookie='a="cookie-0002"; Path=/')
    opening = [{"send": first.replace("\r\n\r\n", "\r\nSet-Cookie: b=short\r\n\r\n") + ANSWER}, CLOSE]
    failing = whole("500 Internal Server Error", "session-0001 has cookie-0002, short", Set_Cookie="a=cookie-0003")

    def redact(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "***")
        return text

    async def use(session: Session) -> None:
        failed = await call_fails(session)
        assert failed.message.endswith("500 Internal Server Error: *** has ***, short")
        assert failed.http is not None
        assert failed.http["body"] == "*** has ***, short"

    url = hostile.url({"initialize": [opening], "tools/call": [failing]})
    with_session(web(url, redact=redact, keep_secret=secrets.append), use)
    assert secrets == ["session-0001", "cookie-0002", "cookie-0003"]


def test_what_came_of_a_body_that_was_cut_off_is_kept(hostile: HostileServer, with_session: Callable) -> None:
    """It is all there is to see of what the server meant to say."""

    async def use(session: Session) -> None:
        failed = await call_fails(session)
        assert failed.http is not None
        assert failed.http["body"] == '{"jsonrpc":"2.0",'

    with_session(web(hostile.calling(*CASES["closes within the body"][0])), use)


@pytest.mark.parametrize(
    "body",
    ['{"jsonrpc":"2.0","id":<id>,"result":[]}', '{"jsonrpc":"2.0","id":<id>,"result":{}', '{"jsonrpc":"2.0","id":7}'],
)
def test_a_json_body_that_is_no_answer_is_kept(body: str, hostile: HostileServer, with_session: Callable) -> None:
    """Whoever judged it, the transport or the session."""

    async def use(session: Session) -> None:
        failed = await call_fails(session, ProtocolBroken)
        assert failed.http is not None
        assert failed.http["body"].startswith('{"jsonrpc":"2.0"')

    with_session(web(hostile.calling({"send": head(Connection="close") + body}, CLOSE)), use)


def test_more_bytes_than_announced_are_told_at_the_next_call(hostile: HostileServer, with_session: Callable) -> None:
    """They lie in the connection, and with the call that finds them there the connection is given up."""
    answer = '{"jsonrpc":"2.0","id":2,"result":{}}'

    async def use(session: Session) -> None:
        assert (await call(session)).answer["result"] == {}
        assert "answered with something other than HTTP" in (await call_fails(session, ProtocolBroken)).message
        assert (await call(session)).answer["result"]

    with_session(web(hostile.calling({"send": head(Content_Length=len(answer)) + answer + "more\r\n\r\n"})), use)


def test_a_bomb_is_seen_before_it_fills_the_memory(hostile: HostileServer, with_session: Callable) -> None:
    """10 GiB of zeros in 10 MB: given up after 16 MiB, for JSON, an event stream and the body of an error."""
    packed = {"Content_Encoding": "gzip", "Transfer_Encoding": "chunked"}
    size = 10 * 1024**3
    scripts: list[list[Step]] = [
        [{"send": head(kind=kind, **packed)}, {"bomb": size}, CLOSE]
        for kind in ("application/json", "text/event-stream")
    ]
    error: list[Step] = [{"send": head("500 Oops", **packed)}, {"bomb": size}, CLOSE]

    async def use(session: Session) -> None:
        before = peak_mib()
        for _ in scripts:
            failed = await call_fails(session, ProtocolBroken)
            assert failed.message.endswith("unpacks to over 16 MiB, more than 100 times its size")
        failed = await call_fails(session, ProtocolBroken)
        assert failed.message.startswith('server "web" answered with HTTP 500 Oops')
        assert peak_mib() - before < 64
        assert (await call(session)).answer["result"]

    with_session(web(hostile.url({"tools/call": [*scripts, error]})), use)


def test_a_packed_answer_is_unpacked(hostile: HostileServer, with_session: Callable) -> None:
    """Only what was asked for in `Accept-Encoding`, however well it packs."""
    body = '{"jsonrpc":"2.0","id":2,"result":{"text":"' + "a" * 1_000_000 + '"}}'
    packed = gzip.compress(body.encode()).decode("latin-1")
    url = hostile.calling(*whole("200 OK", packed, "application/json", Content_Encoding="gzip"))

    async def use(session: Session) -> None:
        assert len((await call(session)).answer["result"]["text"]) == 1_000_000

    with_session(web(url), use)
    assert {request["headers"]["accept-encoding"] for request in hostile.seen(url)} == {"gzip, deflate"}


PACKED = '{"jsonrpc":"2.0","id":2,"result":{"text":"packed, in many letters that are not all the same"}}'


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("after", ["", "\0\0\0\0", "no member"])
def test_a_packed_body_of_many_members_is_unpacked(
    after: str, kind: str, hostile: HostileServer, with_session: Callable
) -> None:
    """RFC 1952, 2.2: a gzip body is a series of members; zeros after the last are padding, and anything else is a fault."""
    body = PACKED if kind == "application/json" else event(PACKED)
    parts = [body[:20], "", body[20:21], body[21:]]
    packed = b"".join(gzip.compress(part.encode()) for part in parts).decode("latin-1") + after

    async def use(session: Session) -> None:
        if after == "no member" and kind == "application/json":
            assert "cannot be unpacked: " in (await call_fails(session, ProtocolBroken)).message
        else:
            assert (await call(session)).answer["result"]["text"].startswith("packed, ")

    with_session(web(hostile.calling(*whole("200 OK", packed, kind, Content_Encoding="gzip"))), use)


@pytest.mark.parametrize(
    "packed",
    [
        *[gzip.compress(PACKED.encode())[:-cut] for cut in (1, 8, 9, 40)],
        gzip.compress(PACKED.encode()) + gzip.compress(b"  ")[:-9],
        zlib.compress(PACKED.encode())[:-3],
    ],
    ids=["1 byte", "the trailer", "9 bytes", "the middle", "the second member", "deflate"],
)
def test_a_packed_body_that_is_cut_short_is_no_answer(
    packed: bytes, hostile: HostileServer, with_session: Callable
) -> None:
    """All of its text may be there: without its end nobody knows that it is what was sent."""
    coding = "deflate" if packed.startswith(b"\x78") else "gzip"

    async def use(session: Session) -> None:
        failed = await call_fails(session, ProtocolBroken)
        assert failed.message == 'server "web" sent a compressed body that is cut short: its end is missing'
        assert (await call(session)).answer["result"]

    body = packed.decode("latin-1")
    with_session(web(hostile.calling(*whole("200 OK", body, "application/json", Content_Encoding=coding))), use)


@pytest.mark.parametrize("wbits", [zlib.MAX_WBITS, -zlib.MAX_WBITS])
def test_a_deflated_body_is_unpacked_with_its_header_and_without(
    wbits: int, hostile: HostileServer, with_session: Callable
) -> None:
    """RFC 9110, 8.4.1.2: some servers leave the zlib header out."""
    packer = zlib.compressobj(wbits=wbits)
    body = (packer.compress(PACKED.encode()) + packer.flush()).decode("latin-1")

    async def use(session: Session) -> None:
        assert (await call(session)).answer["result"]["text"].startswith("packed, ")

    with_session(web(hostile.calling(*whole("200 OK", body, "application/json", Content_Encoding="deflate"))), use)


def test_a_message_over_the_limit_is_not_read_to_its_end(hostile: HostileServer, with_session: Callable) -> None:
    """As over stdio."""

    async def use(session: Session) -> None:
        failed = await call_fails(session, ProtocolBroken)
        assert "sent a message of more than 1 MiB, which is too large" in failed.message

    url = hostile.calling({"send": head()}, {"fill": 2_000_000}, HANG)
    with_session(web(url, max_message_bytes=1024 * 1024), use)


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({"X-Name": "caf\u0101"}, "the value of the header `X-Name` contains a character that is not ASCII"),
        ({"Authorization": "Bearer s3cret\n"}, "the value of the header `Authorization` contains a line break"),
        ({"X-Name": "a\r\nX-Evil: b"}, "the value of the header `X-Name` contains a line break"),
        ({"X-Name": "a\0"}, "the value of the header `X-Name` contains a control character"),
        ({"X-Name": " a"}, "the value of the header `X-Name` contains a blank at its start or end"),
        ({"X Name": "a"}, "`X Name` is not the name of an HTTP header"),
    ],
)
def test_a_header_that_http_cannot_carry_is_refused_without_its_value(
    headers: dict[str, str], told: str, hostile: HostileServer, run: Callable
) -> None:
    """A token read from a file has a newline at its end: the message must not repeat the token."""
    failed = start_fails(run, web(hostile.url(), headers=headers))
    assert failed.message == f'server "web" did not start: its HTTP headers cannot be sent: {told}'


def test_a_session_id_that_is_no_header_is_refused(hostile: HostileServer, run: Callable) -> None:
    """basic/transports#session-management: visible ASCII only."""
    script = [{"send": head(Mcp_Session_Id="caf\xe9", Connection="close") + "<json>"}, CLOSE]
    failed = start_fails(run, web(hostile.url({"initialize": [script]})))
    assert failed.message.endswith("it gave a session id that is not visible ASCII")


def peak_mib() -> float:
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


@pytest.mark.parametrize(
    "answer",
    [
        whole("404 Not Found", "nothing here"),
        whole("405 Method Not Allowed", ""),
        whole("200 OK", "<html>Welcome</html>", "text/html"),
        whole("200 OK", '{"hello":"world"}', "application/json"),
    ],
    ids=["404", "405", "page", "json"],
)
def test_an_address_where_no_mcp_is_names_the_usual_path(
    answer: list[Step], hostile: HostileServer, run: Callable
) -> None:
    """As a hint, with the URL to try; nobody asks there unasked."""
    url = hostile.url({"initialize": [answer], "GET": [whole("405 No", "")]})
    host = url.rpartition("/")[0]
    assert f"try {host}/mcp" in (start_fails(run, web(url)).hint or "")
    assert not hostile.seen(f"{host}/mcp")
