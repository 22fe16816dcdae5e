"""Event streams over HTTP: reading one, resuming it, and the server's own stream.

A stream may end at any time and be resumed, as long as its events have ids: so a server lets a client poll for a long answer.
The server's own stream carries its notifications and requests. It is opened after the handshake, and nothing waits for it. A
server without one is not reported, and one that ends it repeatedly is left alone.

Source: MCP 2025-11-25, basic/transports#listening-for-messages-from-the-server and #resumability-and-redelivery.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.servers.failures import too_large
from mcptest_engine.servers.http_bodies import chunks, cut
from mcptest_engine.servers.http_failures import http_status_text
from mcptest_engine.servers.sse import EventSplitter, ServerSentEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import httpx2

    from mcptest_engine.servers.calls import Call
    from mcptest_engine.servers.http_client import HttpClient
    from mcptest_engine.servers.http_headers import RequestHeaders
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.transport import Receiver

    Take = Callable[[ServerSentEvent, float], None]

STREAM_TYPE = "text/event-stream"
MAX_FRUITLESS = 5
"""After so many connections without anything new, a stream is given up."""

_DEFAULT_RETRY_MS = 1000
_LASTING_SECONDS = 5.0  # a server may close an idle stream; one that it held this long is opened again
_SHORTEST_PAUSE_SECONDS = 0.05  # between two connections for the server's own stream: nobody waits for it


class HttpContext(NamedTuple):
    """What all requests of one session share. `posts` are the messages on their way, each with its call."""

    spec: ServerSpec
    client: HttpClient
    headers: RequestHeaders
    receiver: Receiver
    posts: Mapping[asyncio.Task[None], Call | None]


class EventStream:
    """The state of one event stream, over all its connections.

    `last_event_id` is where to resume, None while no event had an id; `retry_seconds` is the server's wish. `fruitless` counts
    the connections since the last that brought anything new; `unfinished` is the event in which the last connection ended.
    """

    def __init__(self, max_message_bytes: int) -> None:
        self.last_event_id: str | None = None
        self.retry_seconds = _DEFAULT_RETRY_MS / 1000
        self.fruitless = 0
        self.unfinished = b""
        self._max_message_bytes = max_message_bytes

    async def read(self, response: httpx2.Response, take: Take) -> None:
        """Hand every event of one connection to `take`, with the monotonic time at which it was complete, until its end.

        Raises: httpx2.HTTPError when the connection breaks off; CallFailed; whatever `take` raises.
        """
        events, size = EventSplitter(), 0
        self.unfinished = b""
        self.fruitless += 1
        try:
            async with aclosing(chunks(response)) as body:
                async for chunk in body:
                    at, size = monotonic(), size + len(chunk)
                    for event in events.feed(chunk):
                        size = 0
                        self._note(event)
                        take(event, at)
                    if size > self._max_message_bytes:
                        raise too_large(self._max_message_bytes)
        finally:
            self.unfinished = events.rest()

    def _note(self, event: ServerSentEvent) -> None:
        if event.data or (event.id and event.id != self.last_event_id):
            self.fruitless = 0
        if event.id is not None:
            self.last_event_id = event.id or None
        if event.retry_ms is not None:
            self.retry_seconds = event.retry_ms / 1000


class OwnStream:
    """The stream on which the server sends notifications and requests."""

    def __init__(self, http: HttpContext) -> None:
        self._http = http
        self._events = EventStream(http.spec.max_message_bytes)
        self._known = asyncio.Event()

    async def listening(self, timeout_seconds: float) -> None:
        """Wait until it is open, or is known not to exist."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._known.wait()
        except TimeoutError:
            pass

    async def run(self, before: Callable[[], Iterable[asyncio.Task[None]]]) -> None:
        """Keep it open as long as the server does; `before` returns the requests that the server must have received first.
        Never raises.
        """
        try:
            waiting = tuple(before())
            if waiting:
                await asyncio.wait(waiting, timeout=self._http.spec.connect_timeout_seconds)
            while await self._opened() and self._events.fruitless < MAX_FRUITLESS:  # noqa: ASYNC110  # no event tells
                await asyncio.sleep(max(self._events.retry_seconds, _SHORTEST_PAUSE_SECONDS))
        finally:
            self._known.set()

    async def _opened(self) -> bool:
        """Read one connection to its end; false when the server has no such stream."""
        http = self._http
        try:
            response = await http.client.send("GET", http.headers.of_stream(self._events.last_event_id))
        except Exception:  # noqa: BLE001  # nobody asked for it: the next call says what is wrong
            self._events.fruitless += 1
            return True
        opened_at = monotonic()
        try:
            if not self._there(response):
                return False
            self._known.set()
            await self._events.read(response, self._take)
        except Exception:  # noqa: BLE001, S110  # the same; a connection that breaks off is opened again
            pass
        finally:
            await cut(response)
        if monotonic() - opened_at > _LASTING_SECONDS:
            self._events.fruitless = 0
        return True

    def _there(self, response: httpx2.Response) -> bool:
        """Whether the response is the stream. A server without one answers 405; an answer that is none of both causes one
        remark.
        """
        status, kind = response.status_code, content_type(response)
        if status == 200 and kind == STREAM_TYPE:
            return True
        if not self._known.is_set() and not 400 <= status < 500:
            answer = f'HTTP 200 and the content type "{kind}"' if status == 200 else http_status_text(response)
            self._http.receiver.remarks.add(
                f"answered the GET for its own event stream with {answer}, not with HTTP 405"
            )
        return False

    def _take(self, event: ServerSentEvent, at: float) -> None:
        if is_message(event):
            self._http.receiver.received(event.data, at)


def is_message(event: ServerSentEvent) -> bool:
    """Whether the event carries a JSON-RPC message; others have only an id, a retry time, or their own type."""
    return bool(event.data) and event.event == "message"


def content_type(response: httpx2.Response) -> str:
    """The content type without parameters, such as "application/json"; "" without one."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()
