"""HTTP/1.1 for the mock: reads whole requests, writes responses and event streams.

h11 (uvicorn's own parser) does the parts that are easily done wrong: framing, chunks, limits, keep-alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11

from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Mapping

CHUNK = 65536
MAX_BODY_BYTES = 64 * 1024 * 1024
TEXT = (("content-type", "text/plain; charset=utf-8"),)
EVENTS = (("content-type", "text/event-stream"), ("cache-control", "no-cache"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A complete request; header names are in lower case, and `repeated` are those that occur more than once."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    repeated: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response with a complete body."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Events:
    """A response of server-sent events, one message each, that ends with its `messages`; `ended` is called in every case."""

    messages: AsyncIterator[bytes]
    ended: Callable[[], object] = bool
    status: int = 200


def plain(status: int, text: str, *headers: tuple[str, str]) -> Response:
    """A response of plain text, for people."""
    return Response(status=status, headers=(*headers, *TEXT), body=f"{text}\n".encode())


async def next_request(
    parser: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Request | None:
    """The next complete request, or None when the client closed the connection."""
    head: h11.Request | None = None
    body: list[bytes] = []
    size = 0
    while True:
        event = parser.next_event()
        if event is h11.NEED_DATA:
            if parser.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                writer.write(parser.send(go_on) or b"")
            parser.receive_data(await reader.read(CHUNK))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body.append(bytes(event.data))
            size += len(event.data)
            if size > MAX_BODY_BYTES:
                raise h11.RemoteProtocolError("the body is too large", error_status_hint=413)
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return _whole(head, b"".join(body))
        else:
            return None


async def send(
    response: Response, parser: h11.Connection, writer: asyncio.StreamWriter, *, with_body: bool = True
) -> None:
    length = () if response.status == 204 else (("content-length", str(len(response.body))),)
    head = h11.Response(status_code=response.status, headers=[*response.headers, *length])
    body = h11.Data(data=response.body if with_body else b"")
    parts: list[h11.Event] = [head, body, h11.EndOfMessage()]
    writer.write(b"".join(parser.send(part) or b"" for part in parts))
    await writer.drain()


async def send_events(events: Events, parser: h11.Connection, writer: asyncio.StreamWriter) -> None:
    """Send the head at once, then each message when it is ready."""
    writer.write(parser.send(h11.Response(status_code=events.status, headers=list(EVENTS))) or b"")
    await writer.drain()
    async for message in events.messages:
        event = b"event: message\ndata: " + message + b"\n\n"
        writer.write(parser.send(h11.Data(data=event)) or b"")
        await writer.drain()
    writer.write(parser.send(h11.EndOfMessage()) or b"")
    await writer.drain()


def _whole(head: h11.Request, body: bytes) -> Request:
    names = [name.decode("latin-1") for name, _ in head.headers]
    return Request(
        method=head.method.decode("latin-1"),
        path=head.target.decode("latin-1"),
        headers={name: value.decode("latin-1") for name, (_, value) in zip(names, head.headers, strict=True)},
        body=body,
        repeated=frozenset(name for name in names if names.count(name) > 1),
    )
