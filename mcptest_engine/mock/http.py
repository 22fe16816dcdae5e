"""The mock over Streamable HTTP: one endpoint, `/mcp`, that takes POST and DELETE and answers with plain JSON.

Written on asyncio and h11 rather than on the Starlette and uvicorn that the MCP SDK brings: those take 70 ms longer
to import, and a mock wants the status, the headers and a connection that is left hanging in its own hand. h11
(uvicorn's own parser) does what is easily done wrong by hand: framing, chunks, limits, keep-alive.

A request that was cancelled is answered with an empty event stream, the one way the specification leaves to end an
exchange without a message.

Source: MCP 2025-11-25, basic/transports#streamable-http.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import h11

from mcptest_engine.core.errors import UsageError
from mcptest_engine.mock.faults import CRASH_EXIT_CODE
from mcptest_engine.mock.server import (
    PROTOCOL_VERSIONS,
    Answer,
    BadMessage,
    Cancel,
    Crash,
    Hang,
    Session,
    Silence,
    Wedge,
    read_message,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.mock.faults import FaultCounter
    from mcptest_engine.mock.log import Log
    from mcptest_engine.mock.manifest import Manifest
    from mcptest_engine.mock.server import RequestKey

PATH = "/mcp"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
MAX_BODY_BYTES = 64 * 1024 * 1024
_CHUNK = 65536
_JSON = ("content-type", "application/json")
_ANY_JSON = frozenset({"application/json", "application/*", "*/*"})


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
    """`PORT`, `HOST:PORT` or `[IPV6]:PORT`; without a host, loopback. Raises: UsageError."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit()) or int(port) > 65535 or (colon and not host):
        raise UsageError(f'"{text}" is no address to listen on', hint="write PORT or HOST:PORT, such as 127.0.0.1:8080")
    return Address(host or "127.0.0.1", int(port))


def serve_http(
    manifest: Manifest,
    faults: FaultCounter,
    log: Log,
    *,
    address: Address,
    token: str | None,
    announce: Callable[[str], None],
) -> int:
    """Serve until SIGINT or SIGTERM; `announce` is told the URL once clients can connect. Returns the exit code.

    Raises: UsageError when the address cannot be had.
    """
    return asyncio.run(_Endpoint(manifest, faults, log, address, token).serve(announce))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Response:
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(slots=True)
class _Client:
    """A session and its requests that still wait for their answer."""

    session: Session
    waiting: dict[RequestKey, asyncio.Event] = field(default_factory=dict)


class _Endpoint:
    def __init__(self, manifest: Manifest, faults: FaultCounter, log: Log, address: Address, token: str | None) -> None:
        self._manifest = manifest
        self._faults = faults
        self._log = log
        self._address = address
        self._token = token
        self._clients: dict[str, _Client] = {}
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
        server.close()  # and no wait for open connections: leaving asyncio.run cancels them
        return 0

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client's connection, request after request, until either side closes it."""
        parser = h11.Connection(h11.SERVER)
        try:
            while (request := await _next_request(parser, reader, writer)) is not None:
                response = await self._unless_gone(request, parser, reader)
                if response is None:
                    return
                self._log.debug(f"{request.method} {request.path}: HTTP {response.status}")
                await _send(response, parser, writer, with_body=request.method != "HEAD")
                if parser.our_state is not h11.DONE or parser.their_state is not h11.DONE:
                    return
                parser.start_next_cycle()
        except h11.RemoteProtocolError as wrong:
            self._log.warning(f"not HTTP: {wrong}")
            if parser.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                with suppress(OSError, h11.LocalProtocolError):
                    await _send(_plain(wrong.error_status_hint, str(wrong)), parser, writer)
        except OSError as gone:
            self._log.info(f"a client left: {gone}")
        finally:
            writer.close()

    async def _unless_gone(
        self, request: _Request, parser: h11.Connection, reader: asyncio.StreamReader
    ) -> _Response | None:
        """The response, or None when the client hung up while it was waiting."""
        answering = asyncio.ensure_future(self._respond(request))
        try:
            while not answering.done():
                reading = asyncio.ensure_future(reader.read(_CHUNK))
                await asyncio.wait({answering, reading}, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    reading.cancel()  # while it only waits for data, so nothing that came in is lost
                    await asyncio.wait({reading})
                    break
                chunk = reading.result()
                parser.receive_data(chunk)
                if not chunk:
                    break
            return await answering if answering.done() else None
        finally:
            answering.cancel()

    async def _respond(self, request: _Request) -> _Response:
        if self._wedged:
            await asyncio.Event().wait()
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        if request.method == "DELETE":
            return self._end_session(request)
        try:
            message = read_message(request.body)
        except BadMessage as bad:
            self._log.warning(str(bad))
            return _Response(status=400, headers=(_JSON,), body=bad.answer.body)
        self._log.debug_bytes("<-", request.body)
        if message.get("method") == "initialize" and "id" in message:
            return await self._start_session(message)
        client = self._client_of(request)
        return client if isinstance(client, _Response) else await self._carry_out(client, message)

    def _refusal(self, request: _Request) -> _Response | None:
        """What is wrong with the request as HTTP, before anybody looks at its message."""
        if not self._trusts(request):
            return _plain(403, "Forbidden: this host or origin is not allowed (protection against DNS rebinding)")
        if self._token is not None and not _bears(request.headers.get("authorization", ""), self._token):
            challenge = ("www-authenticate", 'Bearer realm="mcptest-mock"')
            return _Response(status=401, headers=(challenge, *_TEXT), body=b"Unauthorized\n")
        if request.path.partition("?")[0] != PATH:
            return _plain(404, f"Not found: the endpoint is {PATH}")
        if request.method not in ("POST", "DELETE"):
            return _Response(status=405, headers=(("allow", "POST, DELETE"), *_TEXT), body=b"Method not allowed\n")
        if (version := request.headers.get("mcp-protocol-version")) not in (None, *PROTOCOL_VERSIONS):
            return _plain(400, f"Bad request: unsupported MCP-Protocol-Version {version}")
        if request.method == "DELETE":
            return None
        if _media_types(request.headers.get("content-type", "")) != {"application/json"}:
            return _plain(415, "Unsupported media type: Content-Type must be application/json")
        if not _media_types(request.headers.get("accept", "*/*")) & _ANY_JSON:
            return _plain(406, "Not acceptable: Accept must allow application/json")
        return None

    def _trusts(self, request: _Request) -> bool:
        """A browser may be led to us by any page; Host and Origin then name where that page thinks it is."""
        host = _host_name(request.headers.get("host", ""))
        if self._address.is_loopback and host not in LOOPBACK:
            return False
        origin = request.headers.get("origin")
        return origin is None or (urlsplit(origin).hostname or "") in {*LOOPBACK, host}

    async def _start_session(self, message: dict[str, Any]) -> _Response:
        client = _Client(Session(self._manifest, self._faults))
        response = await self._carry_out(client, message)
        name = os.urandom(16).hex()
        self._clients[name] = client
        self._log.info(f"session {name} began")
        return _Response(
            status=response.status, headers=(*response.headers, ("mcp-session-id", name)), body=response.body
        )

    def _end_session(self, request: _Request) -> _Response:
        client = self._client_of(request)
        if isinstance(client, _Response):
            return client
        del self._clients[request.headers["mcp-session-id"]]
        for cancelled in client.waiting.values():
            cancelled.set()
        return _Response(status=204)

    def _client_of(self, request: _Request) -> _Client | _Response:
        name = request.headers.get("mcp-session-id")
        if name is None:
            return _plain(400, "Bad request: Mcp-Session-Id is missing; send initialize first")
        return self._clients.get(name) or _plain(404, "Session not found")

    async def _carry_out(self, client: _Client, message: dict[str, Any]) -> _Response:
        match client.session.receive(message):
            case Answer(body=body, key=key, delay_ms=delay_ms):
                if delay_ms > 0 and key is not None and not await _waited(client, key, delay_ms / 1000):
                    return _NOTHING_FOLLOWS
                self._log.debug_bytes("->", body)
                return _Response(status=200, headers=(_JSON,), body=body)
            case Hang(key):
                await _waited(client, key, None)
                return _NOTHING_FOLLOWS
            case Cancel(key):
                if (cancelled := client.waiting.get(key)) is not None:
                    cancelled.set()
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


_TEXT = (("content-type", "text/plain; charset=utf-8"),)
_ACCEPTED = _Response(status=202)
_NOTHING_FOLLOWS = _Response(status=200, headers=(("content-type", "text/event-stream"),))


def _plain(status: int, text: str) -> _Response:
    return _Response(status=status, headers=_TEXT, body=f"{text}\n".encode())


async def _waited(client: _Client, key: RequestKey, seconds: float | None) -> bool:
    """Wait that long (None: for ever); False as soon as the request is cancelled."""
    cancelled = client.waiting[key] = asyncio.Event()
    try:
        await asyncio.wait_for(cancelled.wait(), seconds)
    except TimeoutError:
        return True
    finally:
        if client.waiting.get(key) is cancelled:
            del client.waiting[key]
    return False


async def _next_request(
    parser: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> _Request | None:
    """The next whole request, or None when the client closed the connection instead."""
    head: h11.Request | None = None
    body: list[bytes] = []
    size = 0
    while True:
        event = parser.next_event()
        if event is h11.NEED_DATA:
            if parser.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                writer.write(parser.send(go_on) or b"")
            parser.receive_data(await reader.read(_CHUNK))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body.append(bytes(event.data))
            size += len(event.data)
            if size > MAX_BODY_BYTES:
                raise h11.RemoteProtocolError("the body is too large", error_status_hint=413)
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
            method, path = head.method.decode("latin-1"), head.target.decode("latin-1")
            return _Request(method=method, path=path, headers=headers, body=b"".join(body))
        else:
            return None


async def _send(
    response: _Response, parser: h11.Connection, writer: asyncio.StreamWriter, *, with_body: bool = True
) -> None:
    length = () if response.status == 204 else (("content-length", str(len(response.body))),)
    head = h11.Response(status_code=response.status, headers=[*response.headers, *length])
    body = h11.Data(data=response.body if with_body else b"")
    parts: list[h11.Event] = [head, body, h11.EndOfMessage()]
    writer.write(b"".join(parser.send(part) or b"" for part in parts))
    await writer.drain()


def _bears(authorization: str, token: str) -> bool:
    import hmac

    scheme, _, given = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode("latin-1"), token.encode())


def _media_types(header: str) -> set[str]:
    return {part.partition(";")[0].strip().lower() for part in header.split(",")}


def _host_name(header: str) -> str:
    return (urlsplit(f"//{header}").hostname or "") if header else ""
