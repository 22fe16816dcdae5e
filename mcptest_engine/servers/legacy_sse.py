"""The HTTP transport of 2024-11-05: one event stream for all that the server sends, and POSTs to an endpoint that it names.

Used only for a server that refuses the POST of `initialize` and then opens such a stream. The stream is the connection: when it
ends, the session and all its calls end. Source: MCP 2024-11-05, basic/transports#http-with-sse; MCP 2025-11-25,
basic/transports#backwards-compatibility.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import ProtocolBroken, ServerDied
from mcptest_engine.servers import http_failures
from mcptest_engine.servers.failures import CallFailed, Ending, answer_lost
from mcptest_engine.servers.http_bodies import cut
from mcptest_engine.servers.http_exchange import is_answer_to
from mcptest_engine.servers.http_stream import STREAM_TYPE, EventStream, content_type, is_message
from mcptest_engine.servers.urls import same_origin, shown_url

if TYPE_CHECKING:
    import httpx2

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.servers.calls import Call
    from mcptest_engine.servers.http_stream import HttpContext
    from mcptest_engine.servers.sse import ServerSentEvent

_LONGEST_ENDPOINT = 8192


class LegacyStream:
    """The stream; `endpoint` receives the POSTs, once `open` has returned true."""

    def __init__(self, http: HttpContext) -> None:
        self.endpoint = ""
        self.http: JsonDict = {}
        self._http = http
        self._reader: asyncio.Task[None] | None = None
        self._named: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._cuts: dict[int, Call] = {}
        self._ending: Ending | None = None

    async def open(self, timeout_seconds: float) -> bool:
        """Whether the server opens, in time, a stream whose first event names an endpoint.

        Raises: CallFailed when that is at another origin, or the stream has ended already.
        """
        self._reader = asyncio.get_running_loop().create_task(self._read())
        try:
            async with asyncio.timeout(timeout_seconds):
                named = await asyncio.shield(self._named)
            if named is not None:
                self.endpoint = self._check_endpoint(named)
        except TimeoutError:
            pass
        finally:
            if not self.endpoint:
                await self.close()
        return bool(self.endpoint)

    def expect(self, call: Call) -> None:
        """Expect the answer to `call` on this stream."""
        call.http = dict(self.http)
        if call.fault is not None and call.fault.kind == "disconnect":
            self._cuts[call.id] = call

    async def close(self) -> None:
        """Close the stream without reporting its end."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait((self._reader,))

    async def _read(self) -> None:
        """Read the stream from its GET to its end."""
        http = self._http
        try:
            response = await http.client.send("GET", http.headers.of_stream(None))
        except Exception:  # noqa: BLE001  # then it is not such a server, and its refusal of the POST is what is told
            self._name(None)
            return
        try:
            if response.status_code == 200 and content_type(response) == STREAM_TYPE:
                self.http = {"status": response.status_code, "headers": dict(response.headers)}
                await self._read_events(response)
        finally:
            self._name(None)
            await cut(response)

    async def _read_events(self, response: httpx2.Response) -> None:
        """Hand over every message; report the end of a stream that was in use."""
        clause = "ended its event stream, and with it the session"
        try:
            await EventStream(self._http.spec.max_message_bytes).read(response, self._take)
        except CallFailed as failure:
            clause = failure.clause
        except Exception as wrong:  # noqa: BLE001  # the connection: the calls that wait on it end with it
            clause = http_failures.network_failure(wrong, self._http.spec, answering=True).clause
        self._end(clause)

    def _end(self, clause: str) -> None:
        if self._ending is None:
            self._ending = Ending(clause=clause)
            if self.endpoint:
                self._http.receiver.lost(self._ending)

    def _take(self, event: ServerSentEvent, at: float) -> None:
        if not self._named.done():
            if not event.data:
                return  # only a retry time or an id
            self._name(event.data.decode("utf-8", "replace") if event.event == "endpoint" else None)
        elif is_message(event):
            if self._cuts:
                self._cut_if_wished(event.data)
            self._http.receiver.received(event.data, at)

    def _cut_if_wished(self, line: bytes) -> None:
        """Apply `fault: disconnect`: the call's answer has arrived, so the connection, which is the session, is closed."""
        for call in self._cuts.values():
            if not call.future.done() and is_answer_to(line, call):
                self._http.receiver.failed(call, answer_lost(call.method, "disconnect"))
                self._end("was cut off by `fault: disconnect`")
                raise answer_lost(call.method, "disconnect")

    def _name(self, endpoint: str | None) -> None:
        if not self._named.done():
            self._named.set_result(endpoint)

    def _check_endpoint(self, endpoint: str) -> str:
        """Check the URL of the endpoint. Raises: CallFailed."""
        import httpx2

        if self._ending is not None:
            raise CallFailed(ServerDied, self._ending.clause, ending=self._ending)
        here = httpx2.URL(self._http.client.url)
        try:
            there = here.join(endpoint[:_LONGEST_ENDPOINT])
        except (httpx2.InvalidURL, ValueError):
            raise CallFailed(ProtocolBroken, "named an endpoint for messages that is not a URL") from None
        if not same_origin(here, there):
            shown = shown_url(str(there))
            clause = f'named an endpoint for messages at another origin, "{shown}", to which nothing is sent'
            raise CallFailed(ProtocolBroken, clause)
        return str(there)
