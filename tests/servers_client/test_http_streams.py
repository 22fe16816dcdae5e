"""Event streams over HTTP: the server's own, those of calls, and how both go on after they ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import CallTimeout, ProtocolBroken, ServerDied
from tests.servers_client.http_scripts import (
    CLOSE,
    HANG,
    HostileServer,
    Step,
    call,
    call_fails,
    event,
    head,
    rpc_method,
    scripted,
    stream,
    web,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.servers.session import Session

BROKE = 'server "web" broke the protocol in its answer to "tools/call": '
TO_THE_GET = 'server "web" answered with {} to a GET for the rest of its event stream (`Last-Event-ID: a`)'
CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
PRIMING = "id: a\nretry: 1\ndata: \n\n"


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServer]:
    yield from scripted()


def result(exchange: Any) -> Any:
    return exchange.answer["result"]


# --- the server's own stream


def test_what_the_server_sends_unasked_comes_on_its_own_stream(
    hostile: HostileServer, with_session: Callable, until: Callable
) -> None:
    """basic/transports#listening-for-messages-from-the-server: a GET, after the handshake."""
    ping = event('{"jsonrpc":"2.0","id":"q","method":"ping"}')
    url = hostile.url(
        {
            "initialize": [whole("200 OK", INITIALIZED, "application/json", Mcp_Session_Id="s-1")],
            "GET": [stream(event(CHANGED), ping, end=HANG)],
        }
    )

    async def use(session: Session) -> None:
        await session.listening(30)
        await until(lambda: session.server_messages.notifications)
        assert session.server_messages.notifications[0]["method"] == "notifications/tools/list_changed"
        reply = {"jsonrpc": "2.0", "id": "q", "result": {}}
        await until(lambda: any(entry.sent and entry.message == reply for entry in session.traffic.entries()))
        assert result(await call(session))
        assert session.remarks.texts == []

    with_session(web(url), use)
    seen = hostile.seen(url)
    get = next(request for request in seen if request["method"] == "GET")
    assert get["headers"]["accept"] == "text/event-stream"
    assert get["headers"]["mcp-protocol-version"] == "2025-11-25"
    assert get["headers"]["mcp-session-id"] == "s-1"
    assert [rpc_method(request) for request in seen[: seen.index(get)]] == ["initialize", "notifications/initialized"]


INITIALIZED = (
    '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x"}}}'
)


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "405 Method Not Allowed", "401 Unauthorized"])
def test_a_server_without_a_stream_of_its_own_is_told_of_by_nothing(
    status: str, hostile: HostileServer, with_session: Callable
) -> None:
    """It need not have one; it is asked once."""
    url = hostile.url({"GET": [whole(status, "no")]})

    async def use(session: Session) -> None:
        await session.listening(30)
        assert result(await call(session))
        assert session.remarks.texts == []

    with_session(web(url), use)
    assert len(hostile.seen(url, "GET")) == 1


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (whole("500 Oops", "no"), "HTTP 500 Oops"),
        (whole("200 OK", "{}", "application/json"), 'HTTP 200 and the content type "application/json"'),
        (whole("307 Moved", "", Location="http://localhost:1/x"), "HTTP 307 Moved"),
    ],
)
def test_a_get_that_is_neither_answered_nor_refused_is_remarked_upon(
    answer: list[Step], told: str, hostile: HostileServer, with_session: Callable
) -> None:
    """The server must answer with a stream or with 405; it fails nothing."""

    async def use(session: Session) -> None:
        await session.listening(30)
        assert session.remarks.texts == [
            f'server "web" answered the GET for its own event stream with {told}, not with HTTP 405'
        ]
        assert result(await call(session))

    with_session(web(hostile.url({"GET": [answer]})), use)


def test_a_stream_that_ended_is_opened_again_after_its_last_event(
    hostile: HostileServer, with_session: Callable, until: Callable
) -> None:
    """basic/transports#resumability-and-redelivery: `Last-Event-ID`, after the server's `retry`."""
    url = hostile.url(
        {"GET": [stream(event(CHANGED, id="7", retry=60))], "GET 7": [stream(event(CHANGED), end=HANG)]},
    )

    async def use(session: Session) -> None:
        await until(lambda: len(session.server_messages.notifications) == 2)

    with_session(web(url), use)
    assert [request["headers"].get("last-event-id") for request in hostile.seen(url, "GET")] == [None, "7"]


def test_a_stream_that_brings_nothing_again_and_again_is_left_alone(
    hostile: HostileServer, with_session: Callable, until: Callable
) -> None:
    """Without noise: nobody asked for it."""
    url = hostile.url({"GET": [stream("retry: 1\n\n")] * 100})

    async def use(session: Session) -> None:
        await until(session._transport._listener.done)  # type: ignore[attr-defined]
        assert session.remarks.texts == []
        assert result(await call(session))

    with_session(web(url), use)
    assert len(hostile.seen(url, "GET")) == 5


def test_a_get_that_is_never_answered_is_in_nobodys_way(hostile: HostileServer, with_session: Callable) -> None:
    """`listening` ends with its time, and calls are answered meanwhile."""

    async def use(session: Session) -> None:
        await session.listening(0.05)
        assert result(await call(session))

    with_session(web(hostile.url({"GET": [[HANG]]})), use)


# --- the streams of calls


def test_a_stream_that_ends_before_the_answer_is_taken_up_again(hostile: HostileServer, with_session: Callable) -> None:
    """#resumability-and-redelivery: a server may close and let the client poll; what comes meanwhile is kept."""
    url = hostile.url(
        {
            "tools/call": [stream("id: a\nretry: 300\ndata: \n\n")],
            "GET a": [stream(event(CHANGED, id="b", retry=1))],
            "GET b": [stream(event())],
        }
    )

    async def use(session: Session) -> None:
        exchange = await call(session)
        assert result(exchange)
        assert exchange.http is not None
        assert exchange.http["status"] == 200
        assert [message["method"] for message in session.server_messages.notifications] == [
            "notifications/tools/list_changed"
        ]

    with_session(web(url), use)
    (asked,) = hostile.seen(url, "tools/call")
    resumed = [request for request in hostile.seen(url, "GET") if "last-event-id" in request["headers"]]
    assert [request["headers"]["last-event-id"] for request in resumed] == ["a", "b"]
    assert resumed[0]["at"] - asked["at"] >= 0.3  # the server's `retry` is a promise, not a hint


@pytest.mark.parametrize(
    "broken",
    [
        [
            {
                "send": head(kind="text/event-stream", Transfer_Encoding="chunked")
                + f"{len(PRIMING):x}\r\n{PRIMING}\r\n"
            },
            CLOSE,
        ],
        [{"send": head(kind="text/event-stream") + PRIMING + 'data: {"jsonrpc":"2.0"'}, CLOSE],
    ],
    ids=["in the middle of the body", "in the middle of an event"],
)
def test_a_stream_that_breaks_off_is_taken_up_again(
    broken: list[Step], hostile: HostileServer, with_session: Callable
) -> None:
    """An event that is not complete is no message."""

    async def use(session: Session) -> None:
        assert result(await call(session))
        assert session.remarks.noise_count == 0

    with_session(web(hostile.url({"tools/call": [broken], "GET a": [stream(event())]})), use)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            whole("410 Gone", "no such event"),
            f"{TO_THE_GET.format('HTTP 410 Gone')}: no such event",
        ),
        (
            whole("200 OK", "{}", "application/json"),
            f"{TO_THE_GET.format('HTTP 200 OK')}: {{}}",
        ),
    ],
)
def test_a_server_that_will_not_go_on_fails_the_call(
    answer: list[Step], message: str, hostile: HostileServer, with_session: Callable
) -> None:
    """At once."""

    async def use(session: Session) -> None:
        assert (await call_fails(session, ProtocolBroken)).message == message
        assert result(await call(session))

    with_session(web(hostile.url({"tools/call": [stream(PRIMING)], "GET a": [answer]})), use)


def test_a_stream_that_goes_on_with_nothing_is_given_up(hostile: HostileServer, with_session: Callable) -> None:
    """Five connections in a row without anything new."""
    url = hostile.url({"tools/call": [stream(PRIMING)], "GET a": [stream(": nothing\n\n")] * 100})

    async def use(session: Session) -> None:
        failed = await call_fails(session, ProtocolBroken)
        told = "its event stream ended before the answer, and 5 connections in a row delivered nothing more"
        assert failed.message == BROKE + told

    with_session(web(url), use)
    assert len(hostile.seen(url, "GET")) == 6  # the first was for the server's own


def test_a_server_that_is_gone_when_its_stream_is_taken_up_is_told_of(
    hostile: HostileServer, with_session: Callable
) -> None:
    """The network's reason, not the stream's."""
    url = hostile.url({"tools/call": [stream(PRIMING)], "GET a": [[CLOSE]] * 100})

    async def use(session: Session) -> None:
        assert "closed the connection without an answer" in (await call_fails(session, ServerDied)).message

    with_session(web(url), use)


def test_a_stream_is_not_taken_up_after_the_time_of_its_call(hostile: HostileServer, with_session: Callable) -> None:
    """The server asks for more patience than the call has."""
    url = hostile.url({"tools/call": [stream("id: a\nretry: 60000\ndata:\n\n")]})

    async def use(session: Session) -> None:
        await call_fails(session, CallTimeout, seconds=0.3)
        assert result(await call(session))

    with_session(web(url), use)
    assert len(hostile.seen(url, "GET")) == 1


def test_an_empty_id_means_that_a_stream_cannot_be_taken_up(hostile: HostileServer, with_session: Callable) -> None:
    """WHATWG HTML, 9.2.6: it resets the last event id."""

    async def use(session: Session) -> None:
        failed = await call_fails(session, ProtocolBroken)
        assert failed.message == f"{BROKE}its event stream ended before the answer"

    with_session(web(hostile.calling(*stream(PRIMING, "id:\ndata:\n\n"))), use)


def test_an_event_of_another_type_is_no_message(hostile: HostileServer, with_session: Callable) -> None:
    """Clients listen for `message` events: an answer in another is one that they never get."""

    async def use(session: Session) -> None:
        failed = await call_fails(session, ProtocolBroken)
        assert failed.message.startswith(f"{BROKE}its event stream ended before the answer")

    with_session(web(hostile.calling(*stream(event(event="response")))), use)


def test_a_stream_may_begin_with_a_byte_order_mark(hostile: HostileServer, with_session: Callable) -> None:
    """WHATWG HTML, 9.2.6."""

    async def use(session: Session) -> None:
        assert result(await call(session))

    with_session(web(hostile.calling(*stream("\xef\xbb\xbf" + event(retry="9" * 5000)))), use)


def test_a_stream_that_stays_open_after_the_answer_is_closed(
    hostile: HostileServer, with_session: Callable, until: Callable
) -> None:
    """Else each call of such a server would cost a connection."""
    url = hostile.url({"tools/call": [stream(event(), end=HANG)] * 5})

    async def use(session: Session) -> None:
        for _ in range(5):
            assert result(await call(session))
        await until(lambda: not session._transport._posts)  # type: ignore[attr-defined]
        assert await asyncio.to_thread(hostile.open_connections) <= 2

    with_session(web(url), use)


def test_a_broken_answer_in_a_stream_is_kept(hostile: HostileServer, with_session: Callable) -> None:
    """As `http.body`, like that of a JSON answer."""

    async def use(session: Session) -> None:
        failed = await call_fails(session, ProtocolBroken)
        assert failed.http is not None
        assert failed.http["body"] == '{"jsonrpc":"2.0","id":2,"result":[]}'

    with_session(web(hostile.calling(*stream(event('{"jsonrpc":"2.0","id":<id>,"result":[]}')))), use)


def test_what_is_no_message_is_not_said_to_be_on_stdout(hostile: HostileServer, with_session: Callable) -> None:
    """A server behind a URL has no stdout that anybody here reads."""
    ended: list[Session] = []

    async def use(session: Session) -> None:
        assert result(await call(session))
        ended.append(session)

    with_session(web(hostile.url({"tools/call": [stream(event("hello"), event())]})), use)
    (session,) = ended
    assert session.remarks.findings == {
        "stdout_noise": f'server "{session.spec.name}" sent a line that is not a message, such as: hello'
    }
