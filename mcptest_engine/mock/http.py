"""The mock over Streamable HTTP: one endpoint, `/mcp`, for both lifecycles of the protocol.

Written on asyncio and h11 rather than on the Starlette and uvicorn of the MCP SDK. With those, the imports of a mock take 305
ms of CPU time instead of 187 (on one machine, the least of 9 starts), and a mock starts once for every server of every run. It
also needs control of the status, the headers and connections that stay open without an answer.

A request is answered with plain JSON, or with an event stream if other messages precede the answer: progress, log messages, a
request to the client. Messages that belong to no request use the stream that the client opened with GET or, in the stateless
lifecycle, with `subscriptions/listen`. Until a session has such a stream, they use that of the call that caused them. A
cancelled request is answered with an empty event stream: the specification has no other way to end an exchange without a
message.

Source: MCP 2025-11-25, basic/transports#streamable-http; MCP 2026-07-28, basic/transports.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import h11

from mcptest_engine.core.errors import UsageError
from mcptest_engine.core.values import dataclass
from mcptest_engine.mock.faults import CRASH_EXIT_CODE
from mcptest_engine.mock.http_wire import (
    CHUNK,
    Events,
    Request,
    Response,
    next_request,
    plain,
    send,
    send_events,
)
from mcptest_engine.mock.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    Answer,
    BadMessage,
    Cancel,
    ClientRequest,
    Crash,
    Hang,
    Listen,
    Silence,
    Wedge,
    read_message,
)
from mcptest_engine.mock.server import PROTOCOL_VERSIONS, is_stateless

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from typing import TypeVar

    from mcptest_engine.mock.log import Log
    from mcptest_engine.mock.messages import Change, Effect, Listener, RequestKey, Served

    Result = TypeVar("Result")

PATH = "/mcp"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_JSON = ("content-type", "application/json")
_ANY_JSON = frozenset({"application/json", "application/*", "*/*"})
_ANY_EVENTS = frozenset({"text/event-stream", "text/*", "*/*"})
_STATELESS_STATUS = {
    **dict.fromkeys((PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS), 400),
    **dict.fromkeys((HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION), 400),
    METHOD_NOT_FOUND: 404,
}
"""The HTTP status of an error in the stateless lifecycle; 200 for others."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 lets the system choose."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK

    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{PATH}"


def parse_address(text: str) -> Address:
    """Parse `PORT`, `HOST:PORT` or `[IPV6]:PORT`; without a host, loopback. Raises: UsageError."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit()) or int(port) > 65535 or (colon and not host):
        raise UsageError(f'"{text}" is not an address', hint="write PORT or HOST:PORT, such as 127.0.0.1:8080")
    return Address(host or "127.0.0.1", int(port))


def serve_http(
    make_session: Callable[[], Served],
    log: Log,
    *,
    address: Address,
    token: str | None,
    announce: Callable[[str], None],
) -> int:
    """Serve until SIGINT or SIGTERM, and return the exit code; `announce` receives the URL once clients can connect.
    Raises: UsageError when the address cannot be used.
    """
    return asyncio.run(_Endpoint(make_session, log, address, token).serve(announce))


@dataclass(slots=True)
class _Client:
    """A session: its requests without an answer, the server's requests to the client, and the session's own stream."""

    session: Served
    waiting: dict[RequestKey, asyncio.Event] = field(default_factory=dict)
    asked: dict[RequestKey, asyncio.Future[Answer | None]] = field(default_factory=dict)
    stream: asyncio.Queue[bytes | None] | None = None

    def close_stream(self) -> None:
        """End the stream: the client has left it, or its session is over."""
        self.stream = None

    async def waited(self, key: RequestKey | None, seconds: float | None) -> bool:
        """Wait that long (None: for ever); false as soon as the request is cancelled."""
        cancelled = asyncio.Event()
        if key is not None:
            self.waiting[key] = cancelled
        try:
            await asyncio.wait_for(cancelled.wait(), seconds)
        except TimeoutError:
            return True
        finally:
            if key is not None and self.waiting.get(key) is cancelled:
                del self.waiting[key]
        return False

    def answered(self, effect: Effect) -> None:
        """Handle the client's answer to a question, so that the call which asked goes on."""
        if isinstance(effect, Answer) and effect.key in self.asked:
            self.asked.pop(effect.key).set_result(effect)

    def forget(self, key: RequestKey) -> None:
        """Cancel the request: what it waits for will not come."""
        if (cancelled := self.waiting.get(key)) is not None:
            cancelled.set()
        if (answer := self.asked.pop(key, None)) is not None:
            answer.set_result(None)


class _Endpoint:
    def __init__(self, make_session: Callable[[], Served], log: Log, address: Address, token: str | None) -> None:
        self._make_session = make_session
        self._log = log
        self._address = address
        self._token = token
        self._clients: dict[str, _Client] = {}
        self._stateless = make_session()  # shared by all clients, where there are no sessions
        self._listeners: dict[asyncio.Queue[bytes | None], Listener] = {}
        self._wedged = False

    async def serve(self, announce: Callable[[str], None]) -> int:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, stopped.set)
        try:
            server = await asyncio.start_server(self._connection, self._address.host, self._address.port)
        except OSError as wrong:
            message = f"cannot listen on {self._address.host}:{self._address.port}: {wrong.strerror or wrong}"
            raise UsageError(message, hint="port 0 lets the system choose a free one") from wrong
        announce(Address(self._address.host, server.sockets[0].getsockname()[1]).url())
        await stopped.wait()
        server.close()  # without waiting for open connections: asyncio.run cancels them at its end
        return 0

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve the requests of one connection until either side closes it."""
        parser = h11.Connection(h11.SERVER)
        try:
            while (request := await next_request(parser, reader, writer)) is not None:
                response = await self._unless_closed(self._respond(request), parser, reader)
                if response is None:
                    return
                self._log.debug(f"{request.method} {request.path}: HTTP {response.status}")
                if isinstance(response, Events):
                    try:
                        await self._unless_closed(send_events(response, parser, writer), parser, reader)
                    finally:
                        response.ended()
                else:
                    await send(response, parser, writer, with_body=request.method != "HEAD")
                if parser.our_state is not h11.DONE or parser.their_state is not h11.DONE:
                    return
                parser.start_next_cycle()
        except h11.RemoteProtocolError as wrong:
            self._log.warning(f"not HTTP: {wrong}")
            if parser.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                with suppress(OSError, h11.LocalProtocolError):
                    await send(plain(wrong.error_status_hint, str(wrong)), parser, writer)
        except OSError as gone:
            self._log.info(f"a client disconnected: {gone}")
        except asyncio.CancelledError:  # the server ends, which asyncio would report as a traceback
            self._log.info("a connection was closed because the server ended")
        finally:
            writer.close()

    async def _unless_closed(
        self, work: Coroutine[object, object, Result], parser: h11.Connection, reader: asyncio.StreamReader
    ) -> Result | None:
        """Return the result of `work`, or None when the client closed the connection meanwhile, which cancels it."""
        working = asyncio.ensure_future(work)
        try:
            while not working.done():
                reading = asyncio.ensure_future(reader.read(CHUNK))
                await asyncio.wait({working, reading}, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    reading.cancel()  # only while it waits for data, so nothing received is lost
                    await asyncio.wait({reading})
                    break
                chunk = reading.result()
                parser.receive_data(chunk)
                if not chunk:
                    break
            return await working if working.done() else None
        finally:
            working.cancel()

    async def _respond(self, request: Request) -> Response | Events:
        if self._wedged:
            await asyncio.Event().wait()
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        if request.method == "DELETE":
            return self._end_session(request)
        if request.method == "GET":
            return self._open_stream(request)
        try:
            message = read_message(request.body)
        except BadMessage as bad:
            self._log.warning(str(bad))
            return Response(status=400, headers=(_JSON,), body=bad.answer.body)
        self._log.debug_bytes("<-", request.body)
        if _names_other_era(request) or ("id" in message and is_stateless(message)):
            return await self._respond_stateless(request, message)
        if message.get("method") == "initialize" and "id" in message:
            return await self._start_session(message)
        client = self._client_of(request)
        if isinstance(client, Response):
            return client
        effect = client.session.receive(message)
        # no method: the client's answer to a question, whose effects belong to the call that asked
        if "method" not in message:
            client.answered(effect)
            return _ACCEPTED
        return await self._carry_out(client, effect, streams=_takes_events(request))

    async def _respond_stateless(self, request: Request, message: dict[str, object]) -> Response | Events:
        """Handle one exchange of the stateless lifecycle. A notification is dropped: there is no session for it."""
        if "method" not in message:
            return plain(400, "Bad request: an answer belongs to no request here")
        if "id" not in message:
            return _ACCEPTED
        effect = self._stateless.receive_stateless(message, request.headers, request.repeated)
        if isinstance(effect, Listen) and not _takes_events(request):
            return plain(406, "Not acceptable: Accept must allow text/event-stream")
        # Each exchange has its own keys: it is cancelled by closing the connection, never by the id of another.
        response = await self._carry_out(_Client(self._stateless), effect, streams=_takes_events(request))
        if isinstance(response, Response) and isinstance(effect, Answer) and effect.error_code is not None:
            return replace(response, status=_STATELESS_STATUS.get(effect.error_code, 200))
        return response

    def _refusal(self, request: Request) -> Response | None:
        """What is wrong with the HTTP request, before its message is parsed."""
        if not self._trusts(request):
            return plain(403, "Forbidden: this host or origin is not allowed (protection against DNS rebinding)")
        if self._token is not None and not _has_token(request.headers.get("authorization", ""), self._token):
            return plain(401, "Unauthorized", ("www-authenticate", 'Bearer realm="mcptest-mock"'))
        if request.path.partition("?")[0] != PATH:
            return plain(404, f"Not found: the endpoint is {PATH}")
        allowed = ("POST",) if _names_other_era(request) else ("GET", "POST", "DELETE")
        if request.method not in allowed:
            return plain(405, "Method not allowed", ("allow", ", ".join(allowed)))
        if request.method == "GET":
            wanted = _takes_events(request)
            return None if wanted else plain(406, "Not acceptable: Accept must allow text/event-stream")
        if request.method == "DELETE":
            return None
        if _media_types(request.headers.get("content-type", "")) != {"application/json"}:
            return plain(415, "Unsupported media type: Content-Type must be application/json")
        if not _media_types(request.headers.get("accept", "*/*")) & _ANY_JSON:
            return plain(406, "Not acceptable: Accept must allow application/json")
        return None

    def _trusts(self, request: Request) -> bool:
        """Whether Host and Origin are trusted: any web page may make a browser send requests here."""
        host = _host_name(request.headers.get("host", ""))
        if self._address.is_loopback and host not in LOOPBACK:
            return False
        origin = request.headers.get("origin")
        return origin is None or (urlsplit(origin).hostname or "") in {*LOOPBACK, host}

    async def _start_session(self, message: dict[str, object]) -> Response | Events:
        client = _Client(self._make_session())
        response = await self._carry_out(client, client.session.receive(message), streams=False)
        assert isinstance(response, Response)
        name = os.urandom(16).hex()
        self._clients[name] = client
        self._log.info(f"session {name} began")
        return replace(response, headers=(*response.headers, ("mcp-session-id", name)))

    def _end_session(self, request: Request) -> Response:
        client = self._client_of(request)
        if isinstance(client, Response):
            return client
        del self._clients[request.headers["mcp-session-id"]]
        for key in (*client.waiting, *client.asked):
            client.forget(key)
        if client.stream is not None:
            client.stream.put_nowait(None)
        return Response(status=204)

    def _client_of(self, request: Request) -> _Client | Response:
        name = request.headers.get("mcp-session-id")
        if name is None:
            return plain(400, "Bad request: Mcp-Session-Id is missing; send initialize first")
        return self._clients.get(name) or plain(404, "Session not found")

    def _open_stream(self, request: Request) -> Response | Events:
        """Open the stream for messages that belong to no request; a session has one at a time."""
        client = self._client_of(request)
        if isinstance(client, Response):
            return client
        if client.stream is not None:
            return plain(409, "Conflict: this session already has a stream")
        client.stream = asyncio.Queue()
        return Events(self._queued(client.stream), ended=client.close_stream)

    async def _carry_out(self, client: _Client, effect: Effect, *, streams: bool) -> Response | Events:
        """The response to a message. `streams`: it may be an event stream."""
        match effect:
            # the waiting call; the message was the client's answer to it
            case Answer(key=key) if key in client.asked:
                client.asked.pop(key).set_result(effect)
                return _ACCEPTED
            case Answer(body=body, key=key, delay_ms=delay_ms):
                before = (*effect.before, *self._publish(client, effect.changes))
                if before and streams:
                    return Events(self._events_of(client, effect, before))
                if delay_ms > 0 and not await client.waited(key, delay_ms / 1000):
                    return _NOTHING_FOLLOWS
                self._log.debug_bytes("->", body)
                return Response(status=200, headers=(_JSON,), body=body)
            case ClientRequest():
                if not streams:
                    return plain(
                        406, "Not acceptable: Accept must allow text/event-stream, for a question to the client"
                    )
                answer = client.asked[effect.key] = asyncio.get_running_loop().create_future()
                return Events(
                    self._question_stream(client, effect, answer), ended=partial(client.asked.pop, effect.key, None)
                )
            case Listen(body=body, listener=listener):
                queue: asyncio.Queue[bytes | None] = asyncio.Queue()
                queue.put_nowait(body)
                self._listeners[queue] = listener
                return Events(self._queued(queue), ended=partial(self._listeners.pop, queue))
            case Hang(key):
                await client.waited(key, None)
                return _NOTHING_FOLLOWS
            case Cancel(key):
                client.forget(key)
                return _ACCEPTED
            case Silence():
                return _ACCEPTED
            case Wedge():
                self._wedged = True
                await asyncio.Event().wait()
                return _ACCEPTED
            case Crash():
                self._log.info("crashed on purpose")
                os._exit(CRASH_EXIT_CODE)

    def _publish(self, caller: _Client, changes: tuple[Change, ...]) -> tuple[bytes, ...]:
        """Send messages to all listening streams; return the others, for the stream of the call."""
        left = []
        for change in changes:
            for queue, listener in self._listeners.items():
                if (body := listener.notification_of(change)) is not None:
                    queue.put_nowait(body)
            for client in self._clients.values():
                if (body := client.session.notification_of(change)) is None:
                    continue
                if client.stream is not None:
                    client.stream.put_nowait(body)
                elif client is caller:
                    left.append(body)
        return tuple(left)

    async def _events_of(self, client: _Client, answer: Answer, before: tuple[bytes, ...]) -> AsyncIterator[bytes]:
        for body in before:
            yield self._logged(body)
        if answer.delay_ms <= 0 or await client.waited(answer.key, answer.delay_ms / 1000):
            yield self._logged(answer.body)

    async def _question_stream(
        self, client: _Client, ask: ClientRequest, answered: asyncio.Future[Answer | None]
    ) -> AsyncIterator[bytes]:
        """Stream the question and, once the client has answered it with its own POST, the answer to the call."""
        for body in (*ask.before, ask.body):
            yield self._logged(body)
        answer = await answered
        if answer is not None:
            before = (*answer.before, *self._publish(client, answer.changes))
            async for body in self._events_of(client, answer, before):
                yield body

    async def _queued(self, queue: asyncio.Queue[bytes | None]) -> AsyncIterator[bytes]:
        while (body := await queue.get()) is not None:
            yield self._logged(body)

    def _logged(self, body: bytes) -> bytes:
        self._log.debug_bytes("->", body)
        return body


_ACCEPTED = Response(status=202)
_NOTHING_FOLLOWS = Response(status=200, headers=(("content-type", "text/event-stream"),))


def _names_other_era(request: Request) -> bool:
    """Whether the header names no handshake revision: the stateless one, or an unknown one."""
    return request.headers.get("mcp-protocol-version") not in (None, *PROTOCOL_VERSIONS)


def _takes_events(request: Request) -> bool:
    return bool(_media_types(request.headers.get("accept", "*/*")) & _ANY_EVENTS)


def _has_token(authorization: str, token: str) -> bool:
    import hmac

    scheme, _, given = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode("latin-1"), token.encode())


def _media_types(header: str) -> set[str]:
    return {part.partition(";")[0].strip().lower() for part in header.split(",")}


def _host_name(header: str) -> str:
    return (urlsplit(f"//{header}").hostname or "") if header else ""
