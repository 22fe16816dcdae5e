"""Time over HTTP: `http.timeout`, `http.connect_timeout`, 429 and 503, proxies, and the end of a session."""

from __future__ import annotations

import asyncio
import email.utils
import json
import socket
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from mcptest_engine.core.errors import (
    AnswerLost,
    CallTimeout,
    ProtocolBroken,
    ServerDidNotStart,
    ServerDied,
    ServerError,
)
from mcptest_engine.servers.calls import Fault
from mcptest_engine.servers.failures import duration
from mcptest_engine.servers.http_failures import network_failure
from mcptest_engine.servers.http_proxies import proxy_for
from mcptest_engine.servers.http_retries import retry_after_seconds
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import HttpOptions
from tests.processes import longer
from tests.servers_client.http_scripts import (
    CLOSE,
    HANG,
    RESET,
    HostileServer,
    Step,
    call,
    call_fails,
    event,
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

BUSY = "429 Too Many Requests"
UNAVAILABLE = "503 Service Unavailable"


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServer]:
    yield from scripted()


# --- times


def with_little_time(with_session: Callable, url_of: Callable[[], str], use: Callable) -> None:
    """`http.timeout` is as short as it can be: all that is answered, the handshake too, has to come within it."""
    for seconds in longer(0.2):
        with suppress(ServerError):
            with_session(web(url_of(), http=HttpOptions(timeout_seconds=seconds)), partial(use, seconds))
            return
    pytest.fail("what is answered did not come in any time")


@pytest.mark.parametrize(
    "steps",
    [
        [HANG],
        [{"send": head(Content_Length=1000) + "{"}, HANG],
        [{"send": head(kind="text/event-stream")}, {"again": ": still here\n\n"}],
    ],
    ids=["before the headers", "within the body", "within a stream"],
)
def test_an_exchange_that_takes_too_long_is_ended(
    steps: list[Step], hostile: HostileServer, with_session: Callable
) -> None:
    """`http.timeout`: from the first byte out to the last byte in."""

    async def use(seconds: float, session: Session) -> None:
        failed = await call_fails(session, CallTimeout)
        told = f'did not answer "tools/call" within {duration(seconds)} (`http.timeout`)'
        assert failed.message == f'server "web" {told}'
        assert (await call(session)).answer["result"]

    with_little_time(with_session, lambda: hostile.calling(*steps), use)


def test_the_time_of_an_exchange_is_not_that_of_the_servers_own_stream(
    hostile: HostileServer, with_session: Callable
) -> None:
    """It is meant to last; here it outlives a call that is ended."""
    urls: list[str] = []

    def url_of() -> str:
        urls.append(hostile.url({"GET": [stream(end=HANG)], "tools/call": [[HANG]]}))
        return urls[-1]

    async def use(_seconds: float, session: Session) -> None:
        await session.listening(30)
        await call_fails(session, CallTimeout)
        assert await asyncio.to_thread(hostile.open_connections) >= 1
        assert (await call(session)).answer["result"]
        assert len(await asyncio.to_thread(hostile.seen, urls[-1], "GET")) == 1

    with_little_time(with_session, url_of, use)


def test_a_connection_that_is_not_taken_is_given_up(run: Callable) -> None:
    """`http.connect_timeout`: a listener whose queue is full answers no SYN."""
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        failed = start_fails(run, web(url, http=HttpOptions(connect_timeout_seconds=0.2)))
    assert isinstance(failed, ServerDidNotStart)
    told = f"no connection within 200 ms at {url}"
    assert failed.message == f'cannot connect to server "web": {told}'


def test_a_host_that_is_not_found_is_told() -> None:
    """The reason is at the bottom of a chain of exceptions; no look-up is done here."""
    wrong = httpx2.ConnectError("All connection attempts failed")
    wrong.__cause__ = ExceptionGroup("multiple", [OSError(), socket.gaierror(-2, "Name or service not known")])
    failed = network_failure(wrong, web("http://nowhere.invalid/mcp?key=secret"))
    assert failed.clause == "could not be reached: its host name was not found at http://nowhere.invalid/mcp"


# --- 429 and 503


def listing(*tools: dict[str, Any]) -> list[Step]:
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "result": {"tools": tools}}).replace('"id": 0', '"id": <id>')
    return [{"send": head() + body}, CLOSE]


@pytest.mark.parametrize("status", [BUSY, UNAVAILABLE])
def test_a_busy_server_is_asked_again_when_it_says(status: str, hostile: HostileServer, with_session: Callable) -> None:
    """`Retry-After`; every repetition is recorded."""
    busy = whole(status, "slow down", Retry_After="0", X_Left="0")
    url = hostile.url({"tools/call": [busy, busy], "tools/list": [listing({"name": "x"})] * 2})

    async def use(session: Session) -> None:
        exchange = await call(session)
        assert exchange.answer["result"]
        assert exchange.http is not None
        assert exchange.http["status"] == 200
        repeated = exchange.http["retries"]
        assert [(entry["status"], entry["body"], entry["waited_ms"]) for entry in repeated] == [
            (int(status[:3]), "slow down", 0)
        ] * 2
        assert repeated[0]["headers"]["x-left"] == "0"

    with_session(web(url), use)
    assert len(hostile.seen(url, "tools/call")) == 3


@pytest.mark.parametrize(
    ("tools", "why"),
    [
        ([{"name": "x", "annotations": {"readOnlyHint": True}}], None),
        ([{"name": "x", "annotations": {"idempotentHint": False}}], 'the tool "x" is classified as mutating'),
        ([{"name": "x", "annotations": {"destructiveHint": True}}], 'the tool "x" is classified as destructive'),
        (
            [{"name": "x"}, {"name": "x", "annotations": {"readOnlyHint": False}}],
            'the tool "x" is classified as mutating',
        ),
        ([{"name": "y"}], 'no list contains the tool, so it is unknown what "x" changes'),
        (None, 'the server does not list its tools, so it is unknown what "x" changes'),
    ],
)
def test_after_a_503_only_a_tool_that_reads_is_called_again(
    tools: list[dict[str, Any]] | None, why: str | None, hostile: HostileServer, with_session: Callable
) -> None:
    """A gateway may say so whose server is at work already. RFC 9110, 9.2.2."""
    listed = whole("500 Oops", "no list") if tools is None else listing(*tools)
    url = hostile.url({"tools/call": [whole(UNAVAILABLE, "later", Retry_After="0")], "tools/list": [listed]})

    async def use(session: Session) -> None:
        if why is None:
            assert (await call(session)).answer["result"]
            return
        failed = await call_fails(session, ProtocolBroken)
        told = f"answered with HTTP {UNAVAILABLE}: later; it asks to call again in 0 ms, which is not done: {why}"
        assert failed.message == f'server "web" {told}'
        assert failed.http is not None
        assert "retries" not in failed.http

    with_session(web(url), use)
    assert len(hostile.seen(url, "tools/call")) == (2 if why is None else 1)


def test_a_suite_whose_lists_are_not_to_be_read_has_no_tool_called_again(
    hostile: HostileServer, with_session: Callable
) -> None:
    """`catalog: off`."""
    url = hostile.calling(*whole(UNAVAILABLE, "later", Retry_After="0"))
    failed = with_session(web(url, reads_catalog=False), call_fails)
    assert failed.message.endswith('which is not done: no list contains the tool, so it is unknown what "x" changes')
    assert not hostile.seen(url, "tools/list")


@pytest.mark.parametrize("step", [CLOSE, RESET])
def test_a_call_whose_connection_is_lost_is_made_once(
    step: Step, hostile: HostileServer, with_session: Callable
) -> None:
    """Also over a connection that was used before."""
    url = hostile.url(
        {"tools/call": [whole("200 OK", '{"jsonrpc": "2.0", "id": 2, "result": {}}', "application/json"), [step]]}
    )

    async def use(session: Session) -> None:
        await call(session)
        await call_fails(session, ServerDied)

    with_session(web(url), use)
    assert len(hostile.seen(url, "tools/call")) == 2


def test_a_call_is_not_sent_where_it_has_been_though_a_redirect_says_so(
    hostile: HostileServer, with_session: Callable
) -> None:
    """What opens a session may have to come again with a cookie; a tool may have acted."""
    once = whole("307 Temporary Redirect", "", Location="")
    url = hostile.url({"initialize": [once], "tools/call": [once]})
    failed = with_session(web(url), call_fails)
    assert "answered with endless redirects" in failed.message
    assert len(hostile.seen(url, "initialize")) == 2
    assert len(hostile.seen(url, "tools/call")) == 1


def test_a_server_that_stays_busy_is_asked_a_few_times_only(hostile: HostileServer, with_session: Callable) -> None:
    """Then its refusal is the failure."""
    url = hostile.url({"tools/call": [whole(BUSY, "slow down", Retry_After="0")] * 4})

    async def use(session: Session) -> None:
        failed = await call_fails(session, ProtocolBroken)
        told = "answered with HTTP 429 Too Many Requests: slow down"
        assert failed.message == f'server "web" {told}; mcptest asked 4 times, each time after the requested pause'
        assert failed.http is not None
        assert len(failed.http["retries"]) == 3
        assert (await call(session)).answer["result"]

    with_session(web(url), use)


def test_a_wait_that_is_longer_than_the_call_has_fails_at_once(hostile: HostileServer, with_session: Callable) -> None:
    """Both times are told."""
    url = hostile.calling(*whole(BUSY, "slow down", Retry_After="120"))

    async def use(session: Session) -> None:
        failed = await call_fails(session, ProtocolBroken)
        told = "answered with HTTP 429 Too Many Requests: slow down; it asks to wait 120 s, and the call has 30 s"
        assert failed.message == f'server "web" {told}'

    with_session(web(url), use)


@pytest.mark.parametrize(
    ("status", "headers"),
    [(BUSY, {}), (BUSY, {"Retry_After": "soon"}), (BUSY, {"Retry_After": "-1"}), ("500 Oops", {"Retry_After": "0"})],
)
def test_nothing_else_is_repeated(
    status: str, headers: dict[str, str], hostile: HostileServer, with_session: Callable
) -> None:
    """What the server did is what the test sees."""
    url = hostile.calling(*whole(status, "no", **headers))

    async def use(session: Session) -> None:
        failed = await call_fails(session, ProtocolBroken)
        assert failed.message == f'server "web" answered with HTTP {status}: no'
        assert failed.http is not None
        assert "retries" not in failed.http

    with_session(web(url), use)
    assert len(hostile.seen(url, "tools/call")) == 1


def test_the_handshake_is_repeated_too(hostile: HostileServer, with_session: Callable) -> None:
    """Its notification as well: it takes nothing more than `initialize` had."""
    busy = whole(BUSY, "slow down", Retry_After="0")
    url = hostile.url({"initialize": [busy], "notifications/initialized": [busy]})

    async def use(session: Session) -> None:
        assert session.remarks.texts == []
        assert (await call(session)).answer["result"]

    with_session(web(url), use)
    assert len(hostile.seen(url, "notifications/initialized")) == 2


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        ("9" * 5000, 1e9),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
        ("", None),
        ("1.5", None),
        ("-1", None),
        ("\u0661", None),
        ("tomorrow", None),
        ("Thu, 99 Jan 1970 00:00:10 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(retry_after: str, seconds: float | None) -> None:
    """RFC 9110, 10.2.3; anything else is as if it were not there."""
    assert retry_after_seconds(retry_after, now=60.0) == seconds


def test_a_date_is_waited_for(hostile: HostileServer, with_session: Callable) -> None:
    """A past one is now."""
    date = email.utils.formatdate(time.time() - 5, usegmt=True)
    url = hostile.calling(*whole(BUSY, "slow down", Retry_After=date))

    async def use(session: Session) -> None:
        exchange = await call(session)
        assert exchange.http is not None
        assert exchange.http["retries"][0]["waited_ms"] == 0

    with_session(web(url), use)


@pytest.mark.parametrize(("step", "error"), [(CLOSE, ServerDied), (HANG, CallTimeout)])
def test_a_busy_server_that_then_gives_no_answer_has_no_status(
    step: Step, error: type[ServerError], hostile: HostileServer, with_session: Callable
) -> None:
    """The 429 stands among the repeated ones and is not what the call was answered."""
    for seconds in longer(0.3):
        url = hostile.url({"tools/call": [whole(BUSY, "", Retry_After=0), [step]]})
        failed: ServerError = with_session(web(url), partial(call_fails, error=error, seconds=seconds))
        if failed.http:  # else there was no time for the first answer
            break
    assert failed.http is not None
    assert list(failed.http) == ["retries"]
    assert [kept["status"] for kept in failed.http["retries"]] == [429]


# --- what has no call


def test_a_notification_that_is_not_taken_holds_no_connection_for_ever(
    hostile: HostileServer, with_session: Callable, until: Callable
) -> None:
    """A server that has stopped would cost a connection for each call that timed out."""
    url = hostile.url({"tools/call": [[HANG]], "notifications/cancelled": [[HANG]]})

    async def use(session: Session) -> None:
        transport: Any = session._transport  # opened with all its time, and with little from now on
        transport._http = transport._http._replace(spec=replace(transport._spec, connect_timeout_seconds=0.2))
        await call_fails(session, CallTimeout, seconds=0.3)
        await until(lambda: session.remarks.texts)
        assert session.remarks.texts == ['server "web" did not accept a notification: it did not answer within 200 ms']
        await asyncio.to_thread(hostile.wait_for_connections, 0)

    with_session(web(url), use)


# --- proxies


def test_a_proxy_that_is_named_is_used_also_for_this_machine(
    hostile: HostileServer, with_session: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`http.proxy`; one of the environment cannot reach our loopback and is not used."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    direct = hostile.url()

    async def use(session: Session) -> None:
        assert (await call(session)).answer["result"]

    with_session(web(direct), use)
    with HostileServer() as proxy:
        with_session(web("http://127.0.0.1:9/mcp", http=HttpOptions(proxy=f"http://127.0.0.1:{proxy.port}")), use)
        seen = {request["path"] for request in proxy._asked("/seen")}
    assert seen == {"http://127.0.0.1:9/mcp"}


@pytest.mark.parametrize(
    ("proxy", "told"),
    [
        ("socks5://127.0.0.1:1", '`http.proxy` is "socks5://127.0.0.1:1", which is not an http or https URL'),
        ("somewhere", '`http.proxy` is "somewhere", which is not an http or https URL'),
        ("http://me:pass@", '`http.proxy` is "http://", which is not an http or https URL'),
    ],
)
def test_a_proxy_that_cannot_be_used_is_told(proxy: str, told: str, run: Callable) -> None:
    """Before anything is sent, and without its password."""
    failed = start_fails(run, web("http://127.0.0.1:9/mcp", http=HttpOptions(proxy=proxy)))
    assert failed.message == f'server "web" did not start: {told}'


@pytest.mark.parametrize(
    ("url", "no_proxy", "proxy"),
    [
        ("http://host.example/mcp", "", "http://plain.example:1"),
        ("https://host.example/mcp", "", "http://tls.example:2"),
        ("http://localhost/mcp", "", None),
        ("http://host.example/mcp", "other, .example", None),
        ("http://host.example/mcp", "*.host.example,t.example", "http://plain.example:1"),
        ("http://host.example:81/mcp", "host.example:80", "http://plain.example:1"),
        ("http://host.example/mcp", "host.example:80", None),
        ("http://10.1.2.3/mcp", "10.0.0.0/8", None),
        ("http://[fd00::1]/mcp", "fd00::1", None),
        ("http://host.example/mcp", "*", None),
    ],
)
def test_a_proxy_of_the_environment_is_used_but_where_it_says_not(
    url: str, no_proxy: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP_PROXY, HTTPS_PROXY and NO_PROXY; never for this machine."""
    for name, value in {"http": "plain.example:1", "https": "http://tls.example:2", "no": no_proxy}.items():
        monkeypatch.setenv(f"{name}_proxy", value)
        monkeypatch.setenv(f"{name}_proxy".upper(), value)
    assert proxy_for(web(url), url) == proxy


def test_a_proxy_of_the_environment_is_asked(with_session: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is elsewhere."""

    async def use(session: Session) -> None:
        assert (await call(session)).answer["result"]

    with HostileServer() as proxy:
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        with_session(web("http://mcp.example.invalid/mcp"), use)
        assert {request["path"] for request in proxy._asked("/seen")} == {"http://mcp.example.invalid/mcp"}


def test_a_proxy_that_is_not_there_is_told(run: Callable) -> None:
    """It is the proxy that refused, not the server."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{bound.getsockname()[1]}"
        failed = start_fails(run, web("http://127.0.0.1:9/mcp", http=HttpOptions(proxy=proxy)))
    told = f"connection refused by the proxy {proxy} for the server at http://127.0.0.1:9/mcp"
    assert failed.message == f'cannot connect to server "web": {told}'


# --- `fault: disconnect`


@pytest.mark.parametrize(
    "steps",
    [
        whole("200 OK", '{"jsonrpc":"2.0","id":2,"result":{}}', "application/json"),
        stream(event(), end=HANG),
        whole("400 Bad Request", '{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}', "application/json"),
    ],
    ids=["a body", "a stream", "an error"],
)
def test_a_cut_connection_loses_the_answer_and_nothing_else(
    steps: list[Step], hostile: HostileServer, with_session: Callable
) -> None:
    """`fault: disconnect`: at the end of a JSON answer, at the event of one in a stream; the session goes on."""

    async def use(session: Session) -> None:
        failed = await call_fails(session, AnswerLost, fault=Fault("disconnect"))
        assert "`fault: disconnect`" in failed.message
        assert (await call(session)).answer["result"]

    with_session(web(hostile.calling(*steps)), use)


def test_a_cut_connection_loses_only_the_answer_of_a_stream(hostile: HostileServer, with_session: Callable) -> None:
    """What came before it is there."""
    progress = event('{"jsonrpc":"2.0","method":"notifications/progress"}')

    async def use(session: Session) -> None:
        await call_fails(session, AnswerLost, fault=Fault("disconnect"))
        assert [message["method"] for message in session.server_messages.notifications] == ["notifications/progress"]

    with_session(web(hostile.calling(*stream(progress, event()))), use)


def test_an_answer_whose_headers_alone_have_come_is_not_there_yet(
    hostile: HostileServer, with_session: Callable
) -> None:
    """A server may send them before it has done anything: what is cut then is no answer."""

    async def use(session: Session) -> None:
        failed = await call_fails(session, ServerDied, fault=Fault("disconnect"))
        assert "in the middle of its answer" in failed.message

    with_session(web(hostile.calling({"send": head(Content_Length=10_000) + "{"}, CLOSE)), use)


@pytest.mark.parametrize("as_stream", [False, True])
def test_the_server_sees_that_it_was_cut(as_stream: bool, hostile: HostileServer, with_session: Callable) -> None:
    """Its connection ends, though it could have been used again."""
    answer = '{"jsonrpc":"2.0","id":3,"result":{}}'
    steps = stream(event(answer), end=HANG) if as_stream else whole("200 OK", answer, "application/json")

    async def use(session: Session) -> None:
        await session.listening(30)
        await session.request("ping", {}, timeout_seconds=30)
        before = hostile.open_connections()  # the one of the ping is among them, and is used again
        await call_fails(session, AnswerLost, fault=Fault("disconnect"))
        await asyncio.to_thread(hostile.wait_for_connections, before - 1)

    url = hostile.calling(*steps)
    with_session(web(url), use)
    (request,) = hostile.seen(url, "tools/call")
    assert request["headers"]["accept-encoding"] == "identity"  # a packed body is unpacked too late for it


STEP = '{"jsonrpc":"2.0","id":<id>,"result":{"resultType":"input_required","requestState":"x"}}'
MISMATCH = '{"jsonrpc":"2.0","id":<id>,"error":{"code":-32020,"message":"header mismatch"}}'


@pytest.mark.parametrize(
    "steps",
    [
        [{"send": head(Connection="close") + STEP}, CLOSE],
        stream(event(STEP)),
        [{"send": head("400 Bad Request", Connection="close") + MISMATCH}, CLOSE],
    ],
    ids=["a body", "a stream", "an error"],
)
def test_a_cut_connection_waits_for_the_final_answer(
    steps: list[Step], hostile: HostileServer, with_session: Callable
) -> None:
    """A result that asks for more, and an error that asks for headers, are steps on the way there."""
    url = hostile.url({"tools/call": [steps]})

    async def use(session: Session) -> None:
        await call_fails(session, AnswerLost, fault=Fault("disconnect"))

    with_session(web(url, protocol="2026-07-28"), use)
    assert len(hostile.seen(url, "tools/call")) == 2


def test_looking_up_headers_takes_no_more_than_the_call_has(hostile: HostileServer, with_session: Callable) -> None:
    """Each of 50 pages once had the whole rest of the call's time, and the repeated call as well."""
    pages: list[list[Step]] = [
        [
            {"send": head(Connection="close") + '{"jsonrpc":"2.0","id":<id>,"result":{"tools":[],"x":"'},
            {"fill": 500_000},
            {"send": f'","nextCursor":"{number}"}}}}'},
            CLOSE,
        ]
        for number in range(50)
    ]
    refusal = [{"send": head("400 Bad Request", Connection="close") + MISMATCH}, CLOSE]
    url = hostile.url({"tools/call": [refusal, refusal], "tools/list": pages})

    async def use(session: Session) -> None:
        await call_fails(session, CallTimeout, seconds=0.1)

    with_session(web(url, protocol="2026-07-28"), use)
    assert len(hostile.seen(url, "tools/call")) == 1


# --- the end


def test_nothing_is_left_open_when_a_session_is_closed(hostile: HostileServer, run: Callable, until: Callable) -> None:
    """Streams, calls under way, idle connections; also when the DELETE is never answered."""
    url = hostile.url(
        {
            "initialize": [
                whole(
                    "200 OK",
                    '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}',
                    "application/json",
                    Mcp_Session_Id="s",
                )
            ],
            "GET": [stream(end=HANG)],
            "tools/call": [[HANG]],
            "DELETE": [[HANG]],
        }
    )

    async def use() -> None:
        before = asyncio.all_tasks()
        session = await connect(web(url, grace_seconds=0.1))
        await session.listening(30)
        waiting = asyncio.ensure_future(call(session))
        await until(lambda: len(session._transport._posts) == 1)  # type: ignore[attr-defined]
        await session.close()
        with pytest.raises(ServerDied, match="was closed by mcptest"):
            await waiting
        assert asyncio.all_tasks() == before
        await asyncio.to_thread(hostile.wait_for_connections, 0)

    run(use())
    assert [rpc_method(request) or request["method"] for request in hostile.seen(url)][-1] == "DELETE"


def test_a_session_whose_closing_is_cancelled_leaves_nothing_open(hostile: HostileServer, run: Callable) -> None:
    """As at Ctrl-C."""
    url = hostile.url({"GET": [stream(end=HANG)], "notifications/cancelled": [[HANG]]})

    async def use() -> None:
        session = await connect(web(url, grace_seconds=0.1))
        await session.listening(30)
        transport = session._transport
        closing = asyncio.ensure_future(transport.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await asyncio.to_thread(hostile.wait_for_connections, 0)
        await session.close()

    run(use())


def test_the_session_is_over_when_its_stream_is_refused_with_404(
    hostile: HostileServer, with_session: Callable
) -> None:
    """basic/transports#session-management, also for a stream that is taken up."""
    url = hostile.url(
        {
            "initialize": [
                whole(
                    "200 OK",
                    '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}',
                    "application/json",
                    Mcp_Session_Id="s",
                )
            ],
            "tools/call": [stream("id: a\nretry: 1\ndata:\n\n")],
            "GET a": [whole("404 Not Found", "")],
        }
    )

    async def use(session: Session) -> None:
        failed = await call_fails(session, ServerDied)
        assert "ended the session (HTTP 404 Not Found)" in failed.message
        assert not session.alive

    with_session(web(url), use)


def test_a_server_that_closes_every_connection_is_no_trouble(hostile: HostileServer, with_session: Callable) -> None:
    """`Connection: close`, and no length."""
    url = hostile.url({"tools/call": [[{"send": head(Connection="close") + "<json>"}, CLOSE]] * 5})

    async def use(session: Session) -> None:
        for _ in range(5):
            assert (await call(session)).answer["result"]

    with_session(web(url), use)
