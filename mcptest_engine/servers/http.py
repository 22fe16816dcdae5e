"""The Streamable HTTP transport: one POST for each message, answered by JSON or by an event stream.

This module is what the session uses: it runs the tasks, and begins and ends the session. `http_exchange.py` carries one
message, `http_stream.py` the server's own stream, `legacy_sse.py` the older HTTP of 2024-11-05. The test sees the server's
answer with status and headers; only 429 and 503 with `Retry-After` are repeated.

Source: MCP 2025-11-25, basic/transports#streamable-http; MCP 2026-07-28, basic/transports.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import AuthFailed, ServerDied, ServerError
from mcptest_engine.core.live import Live, start_listing, stop_listing
from mcptest_engine.servers.failures import BY_HAND, CallFailed, Ending
from mcptest_engine.servers.http_client import HttpClient
from mcptest_engine.servers.http_exchange import HttpExchange
from mcptest_engine.servers.http_failures import network_failure
from mcptest_engine.servers.http_headers import RequestHeaders
from mcptest_engine.servers.http_stream import HttpContext, OwnStream
from mcptest_engine.servers.transport import MAX_WAITING_REPLIES, MAX_WAITING_REPLY_BYTES, UNREAD_REPLIES

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from mcptest_engine.servers.calls import Call
    from mcptest_engine.servers.http_headers import RawHeaders
    from mcptest_engine.servers.legacy_sse import LegacyStream
    from mcptest_engine.servers.program import Program, Programs
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.transport import Receiver

_NO_SUCH_POST = frozenset({400, 404, 405})
_SHORTEST_GRACE_SECONDS = 0.1
_MAX_REPLYING = 16  # each has a connection of its own


class HttpTransport:
    """One server over HTTP. `kind` becomes "sse" for a server that only knows the HTTP of 2024-11-05."""

    def __init__(self, spec: ServerSpec) -> None:
        self.kind = "http"
        self.cancels_by_closing = False
        self.auth = spec.auth
        self._spec = spec
        self._http: HttpContext | None = None
        self._posts: dict[asyncio.Task[None], Call | None] = {}
        self._own_stream: OwnStream | None = None
        self._listener: asyncio.Task[None] | None = None
        self._legacy: LegacyStream | None = None
        self._notification_failure: AuthFailed | None = None
        self._replying = 0  # notifications and replies on their way
        self._waiting: deque[bytes] = deque()  # notifications and replies that wait for their turn
        self._waiting_bytes = 0  # the size of both
        self._told_of_auth = 0
        self._listed: Live | None = None
        self._receiver: Receiver | None = None
        self._programs: Programs | None = spec.programs
        self._program: Program | None = None

    def open(self, receiver: Receiver) -> None:
        """Make the client; nothing is sent yet. Raises: ServerDidNotStart, AuthFailed for a token that may not go there."""
        self._receiver = receiver
        if self._spec.command is None:
            self._make_client(receiver)
            self._listed = start_listing(
                "server",
                self._spec.name,
                pid=None,
                shown=self._spec.url or "",
                end=lambda: receiver.lost(Ending(clause=BY_HAND)),
                waiting=receiver.waiting,
            )

    async def ready(self) -> None:
        """Start the program of the server, or share it with other sessions, and make the client for its address."""
        from mcptest_engine.servers.program import Programs

        assert self._receiver is not None
        if self._programs is None:
            self._programs = Programs()
        self._program = self._programs.join(self._spec, self._receiver)
        await self._program.ready()
        self._spec = replace(self._spec, url=self._program.url)
        self._make_client(self._receiver)

    def _make_client(self, receiver: Receiver) -> None:
        client = HttpClient(self._spec)
        self._http = HttpContext(self._spec, client, RequestHeaders(self._spec.headers), receiver, self._posts)
        if client.auth is not None:
            self.auth = "oauth"

    def send(self, line: bytes, call: Call | None, *, urgent: bool) -> None:  # noqa: ARG002  # each message is a POST
        """Start the POST of one message; the headers are those of this moment."""
        if self._http is None:
            return  # closed
        if call is None and self._replying >= _MAX_REPLYING:
            self._reply_later(self._http, line)
            return
        headers = self._http.headers.of_post(line, call)
        task = asyncio.get_running_loop().create_task(self._exchange_message(self._http, line, call, headers))
        self._posts[task] = call
        task.add_done_callback(self._posts.pop)
        if call is None:
            self._replying += 1
            self._waiting_bytes += len(line)
            task.add_done_callback(lambda _task: self._delivered(len(line)))

    def _reply_later(self, http: HttpContext, line: bytes) -> None:
        """Queue a notification or reply: a server may send requests without end and read no reply."""
        if self._waiting_bytes + len(line) > MAX_WAITING_REPLY_BYTES:
            http.receiver.lost(Ending(clause=UNREAD_REPLIES))
        elif len(self._waiting) < MAX_WAITING_REPLIES:
            self._waiting.append(line)
            self._waiting_bytes += len(line)

    def _delivered(self, size: int) -> None:
        """Remove a finished notification or reply, and start the next."""
        self._replying -= 1
        self._waiting_bytes -= size
        if self._waiting:
            line = self._waiting.popleft()
            self._waiting_bytes -= len(line)
            self.send(line, None, urgent=False)

    def withdraw(self, call: Call) -> bool:
        """Stop the exchange. Its request was sent, so a cancellation must follow where the revision has one."""
        for task, its_call in self._posts.items():
            if its_call is call:
                task.cancel()
        return False

    def offering(self, protocol_version: str, *, stateless: bool) -> None:
        """Set the lifecycle of the next requests. In the stateless one, closing an exchange is all there is of cancelling.
        Source: MCP 2026-07-28, basic/utilities/cancellation.
        """
        self.cancels_by_closing = stateless
        if self._http is not None:
            self._http.headers.offer(protocol_version, stateless=stateless)

    def handshake_done(self, protocol_version: str | None) -> None:
        """Send the agreed revision with every further request, and open the server's own stream.
        Source: basic/transports#protocol-version-header, #listening-for-messages-from-the-server.
        """
        http = self._http
        if http is not None:
            self._pass_auth_remarks(http)
        if http is None or http.headers.stateless:
            return
        http.headers.agree(protocol_version)
        if self._legacy is None:
            self._own_stream = OwnStream(http)
            self._listener = asyncio.get_running_loop().create_task(self._own_stream.run(self._without_call))

    async def listening(self, timeout_seconds: float) -> None:
        """Wait until the server's own stream is open, or is known not to exist."""
        if self._own_stream is not None:
            await self._own_stream.listening(timeout_seconds)

    def unfinished(self) -> bytes:
        """Return b"": a body that ended early is reported by its own exchange."""
        return b""

    async def delivered(self) -> None:
        """Wait for the POSTs of notifications. Raises: AuthFailed when one was refused."""
        await self._deliver(self._spec.connect_timeout_seconds)
        if self._notification_failure is not None:
            raise self._notification_failure

    def stderr_since(self, at: float) -> str:
        """What the server's program wrote; "" where mcptest did not start one."""
        return "" if self._program is None else self._program.output_since(at)

    async def close(self) -> Ending:
        """Stop everything, end the session with DELETE, and close the connections, all within the grace."""
        http, self._http = self._http, None
        stop_listing(self._listed)
        if http is not None:
            self._pass_auth_remarks(http)
            deadline = monotonic() + max(self._spec.grace_seconds, _SHORTEST_GRACE_SECONDS)
            try:
                await self._deliver((deadline - monotonic()) / 2)
                await self._stop()
                await _end_session(http, deadline - monotonic())
            finally:
                try:
                    await self._stop()  # when this was cancelled
                finally:
                    await http.client.close()
        await self._leave_program()
        return Ending(clause="was closed by mcptest")

    async def _leave_program(self) -> None:
        """End the program, unless other sessions use it."""
        if self._program is not None and self._receiver in self._program.users:
            self._program.users.remove(self._receiver)
        if self._programs is not None and self._programs is not self._spec.programs:
            await self._programs.close()

    def _pass_auth_remarks(self, http: HttpContext) -> None:
        """Add the remarks on how the token was obtained; sessions share it, and each remark is added once."""
        remarks = () if http.client.auth is None else http.client.auth.remarks
        for clause in remarks[self._told_of_auth :]:
            http.receiver.remarks.add(clause)
        self._told_of_auth = len(remarks)

    def _without_call(self) -> list[asyncio.Task[None]]:
        return [task for task, call in self._posts.items() if call is None]

    async def _deliver(self, timeout_seconds: float) -> None:
        """Wait a while for the POSTs of notifications and replies to arrive."""
        pending = self._without_call()
        if pending:
            await asyncio.wait(pending, timeout=timeout_seconds)

    async def _stop(self) -> None:
        """Cancel every task, and wait until each has closed its connection, for as long as closing may take."""
        self._waiting.clear()
        tasks: list[asyncio.Task[None]] = [*self._posts]
        if self._listener is not None:
            tasks.append(self._listener)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=max(self._spec.grace_seconds, _SHORTEST_GRACE_SECONDS))
        if self._legacy is not None:
            await self._legacy.close()

    # --- one message

    async def _exchange_message(self, http: HttpContext, line: bytes, call: Call | None, headers: RawHeaders) -> None:
        """Send one message. Failures go to the receiver: only cancelling raises."""
        try:
            try:
                await self._exchange(http, line, call, headers)
            except CallFailed as failure:
                if call is None or not await self._is_legacy_sse(http, call):
                    raise failure from None
                await self._exchange(http, line, call, http.headers.of_post(line, call))
        except (CallFailed, ServerError) as failure:
            if self._program is not None and isinstance(failure, CallFailed) and failure.error is ServerDied:
                await self._program.delivered()
            self._fail(http, call, failure)
        except Exception as wrong:  # noqa: BLE001  # of a task nobody awaits: its call would wait for its timeout
            self._fail(http, call, network_failure(wrong, self._spec))

    def _exchange(
        self, http: HttpContext, line: bytes, call: Call | None, headers: RawHeaders
    ) -> Coroutine[object, object, None]:
        legacy = self._legacy
        if legacy is None:
            return HttpExchange(http, line, call, headers).run()
        if call is not None:
            legacy.expect(call)
        return HttpExchange(http, line, call, headers, endpoint=legacy.endpoint).run()

    async def _is_legacy_sse(self, http: HttpContext, call: Call) -> bool:
        """Whether a server that refused `initialize` uses the HTTP of 2024-11-05.

        Raises: CallFailed when it does, and names an endpoint to which nothing may be sent. Source: MCP 2025-11-25,
        basic/transports#backwards-compatibility.
        """
        status = (call.http or {}).get("status")
        if call.method != "initialize" or status not in _NO_SUCH_POST or self._legacy is not None:
            return False
        from mcptest_engine.servers.legacy_sse import LegacyStream  # rarely needed: few servers are that old

        stream = LegacyStream(http)
        seconds = self._spec.http.connect_timeout_seconds or self._spec.connect_timeout_seconds
        if not await stream.open(seconds):
            return False
        self._legacy, self.kind = stream, "sse"
        return True

    def _fail(self, http: HttpContext, call: Call | None, failure: CallFailed | ServerError) -> None:
        if call is not None:
            http.receiver.failed(call, failure)
        elif isinstance(failure, AuthFailed):
            self._notification_failure = failure
        elif isinstance(failure, CallFailed):
            http.receiver.remarks.add(f"did not accept a notification: it {failure.clause}")


async def _end_session(http: HttpContext, seconds: float) -> None:
    """Send the DELETE; the server may not support it, or be gone."""
    if http.headers.session_id is None:
        return
    with suppress(Exception):  # any failure: the session is over, and nobody waits for this
        async with asyncio.timeout(max(seconds, _SHORTEST_GRACE_SECONDS)):
            response = await http.client.send("DELETE", http.headers.of_delete())
            await response.aclose()
