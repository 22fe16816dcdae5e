"""One live session with one server: it is opened, sends requests, and is closed.

`connect` is the way in. `receiving.py` handles what the server sends. Beyond the calls of its users, a session sends the
opening (`opening.py`), what the suite's `client:` asks for (`subscriptions.py`), `notifications/cancelled` for a call that
nobody waits for any longer, answers to the server's requests, one `ping` or `server/discover` where a call timed out
(`is_responsive`), and lists of tools before a call is sent again (`danger_of_repeating`).
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import CallTimeout, ServerDied, ServerError
from mcptest_engine.core.safe_json import json_fault
from mcptest_engine.servers import wire
from mcptest_engine.servers.calls import Call, Calls, Exchange
from mcptest_engine.servers.failures import (
    BY_HAND,
    CallFailed,
    Ending,
    broken_answer,
    is_refusal,
    start_hint,
    timed_out,
)
from mcptest_engine.servers.receiving import MessageReceiver
from mcptest_engine.servers.remarks import Remarks
from mcptest_engine.servers.server_messages import ServerMessages
from mcptest_engine.servers.traffic import Traffic
from mcptest_engine.servers.wire import clip

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.safety.tool_classes import ToolClass
    from mcptest_engine.servers.calls import Fault
    from mcptest_engine.servers.client_side import ClientSide
    from mcptest_engine.servers.gate import Gate
    from mcptest_engine.servers.param_headers import ParamHeaders
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.transport import Transport

_PROBE_SECONDS = 1.0
_MAX_QUOTED_NOISE = 3
_OPENING = frozenset({"initialize", "server/discover"})


async def connect(spec: ServerSpec, *, made: Callable[[Session], None] | None = None) -> Session:
    """Start or reach the server and open a session, as `spec.protocol` has it.

    `made` is called with the session before it is opened, so that its traffic can be read also when opening fails. The process
    runs and its first request is written before the loop gets its first turn, so a caller that starts this as a task may import
    what it needs meanwhile. Oddities are in `Session.remarks`.
    Raises: ServerDidNotStart (NotReady, when `wait_for_ready` ran out), AuthFailed; nothing is left running then, nor when the
    caller is cancelled.
    """
    if spec.wait_for_ready is not None:
        from mcptest_engine.servers.readiness import wait_until_ready

        await wait_until_ready(spec)
    try:
        return await open_over(_transport(spec), spec, made)
    except _ended_by_probe():
        spec = replace(spec, protocol=None)
        session = await open_over(_transport(spec), spec, made)
        session.remarks.add("ended when it got `server/discover`, and was restarted without that")
        session.remarks.end_opening()
        return session


async def open_over(transport: Transport, spec: ServerSpec, made: Callable[[Session], None] | None = None) -> Session:
    """Open a session over a transport, which is closed where that fails.

    `made` and the exceptions are those of `connect`.
    """
    session = Session(spec, transport)
    if made is not None:
        made(session)
    try:
        await session.open()
    except BaseException:
        await session.close()
        raise
    session.remarks.end_opening()
    return session


def _ended_by_probe() -> type[Exception]:
    from mcptest_engine.servers.opening import ProbeFatal  # imported by then

    return ProbeFatal


_CUT_OFF = "was cut off by `fault: disconnect`"


class Session:
    """A session with one server, made by `connect` and used from one event loop.

    `server_info`, `capabilities` and `instructions` are as sent (None, {} and None when they were not, or were of the wrong
    type). `handshake` is the whole opening exchange; `stateless` whether the revision has no session, so that every request
    names its client; `is_expired` whether the server has forgotten it (HTTP 404). `remarks` are oddities that fail nothing;
    `server_messages` are the server's notifications and requests. `replaces` is a clause about how the session before this one
    ended, where the server had to be restarted, else None. `used_by` is the suite that used this session before, or None.
    `is_intact`: every call was answered. `is_listing`: mcptest is reading a list for itself. `call_timed_out` is set when a
    call times out, until the caller clears it. `ending` is set once the connection is lost. `heard`, where set, is called with
    every exchange when it ends, and with None before a request that is sent while no other waits. It must be quick and not
    raise. `gate`, where set, allows or refuses every `tools/call`. `lists` are the lists that a run has read ("tools",
    "prompts"), for the next run over this session.
    """

    def __init__(self, spec: ServerSpec, transport: Transport) -> None:
        self.spec = spec
        self.stateless = False
        self.is_expired = False
        self.handshake: Exchange | None = None
        self.server_info: JsonDict | None = None
        self.protocol_version: str | None = None
        self.capabilities: JsonDict = {}
        self.instructions: str | None = None
        self.remarks = Remarks(spec)
        self.server_messages = ServerMessages(self.remarks)
        self.replaces: str | None = None
        self.used_by: str | None = None
        self.is_intact = True
        self._began_at = 0.0
        self._last_call: tuple[str, JsonMapping] | None = None
        self._ended_idle = False
        self.is_listing = False
        self.call_timed_out = asyncio.Event()
        self.traffic = Traffic()
        self.ending: Ending | None = None
        self._transport = transport
        self._calls = Calls(self._timed_out)
        self._receiver = MessageReceiver(self, self._calls)
        self._opening_method = "initialize"
        self.request_meta: JsonDict = {}
        self.param_headers: ParamHeaders | None = None
        self._client: ClientSide | None = None
        self._ready_at = 0.0
        self._closing: asyncio.Task[None] | None = None
        self.heard: Callable[[Exchange | None], None] | None = None
        self.gate: Gate | None = None
        self.lists: dict[str, list[JsonDict]] = {}
        self._silent_since = 0.0

    @property
    def transport(self) -> str:
        """The kind of transport, as in `Transport.kind`."""
        return self._transport.kind

    @property
    def auth(self) -> str:
        """The kind of credentials: "none", "bearer", "oauth" or "headers"."""
        return self._transport.auth

    @property
    def alive(self) -> bool:
        """Whether a new call can be answered."""
        return self.ending is None and self._closing is None

    @property
    def is_busy(self) -> bool:
        """Whether calls are waiting for their answers."""
        return bool(self._calls)

    @property
    def has_answered(self) -> bool:
        """Whether a request of a test was answered, or any other except the opening and lists."""
        return self._receiver.served_at > self._ready_at

    @property
    def is_silent(self) -> bool:
        """Whether a call timed out, and nothing has been answered since it was sent."""
        return self._receiver.answered_at < self._silent_since

    async def is_responsive(self) -> bool:
        """Whether the server still answers `ping`, or `server/discover` in the stateless lifecycle, within a second."""
        try:
            await self.request("server/discover" if self.stateless else "ping", None, timeout_seconds=_PROBE_SECONDS)
        except ServerError:
            return self.alive and not self.is_silent
        return True

    @property
    def stderr_tail(self) -> str:
        """The last 64 KiB that the server wrote on stderr in this run; decoded and redacted, not sanitised."""
        return self._transport.stderr_since(self._began_at)

    def stderr_since(self, at: float) -> str:
        """The part of `stderr_tail` that was written after the monotonic time `at`."""
        return self._transport.stderr_since(at)

    async def request(
        self,
        method: str,
        params: JsonMapping | None,
        *,
        timeout_seconds: float,
        fault: Fault | None = None,
        on_sending: Callable[[ToolClass | None], object] | None = None,
    ) -> Exchange:
        """Send one request and wait for its answer; any number may wait at the same time.

        `on_sending` is called just before it is sent, with the class of a tool that a `gate` allows. In the stateless
        lifecycle, a result that asks for input is answered from `client:`, and the final result is returned.
        Raises: CallTimeout (the session stays usable), ServerDied, ProtocolBroken (an answer that is not JSON-RPC), AuthFailed,
        AnswerLost when `fault` discarded the answer; PolicyDenied where `gate` refuses. An answer with an `error` is an answer.
        """
        if method == "tools/call" and self.gate is not None:
            async with self.gate.admit(self, str((params or {}).get("name"))) as tool_class:
                if on_sending is not None:
                    on_sending(tool_class)
                return await self._requested(method, params, timeout_seconds, fault)
        if on_sending is not None:
            on_sending(None)
        return await self._requested(method, params, timeout_seconds, fault)

    async def _requested(
        self, method: str, params: Mapping[str, object] | None, timeout_seconds: float, fault: Fault | None
    ) -> Exchange:
        began = monotonic()
        try:
            if not self.stateless:
                return await self.send_request(method, params, timeout_seconds, fault)
            from mcptest_engine.servers.stateless_calls import send_stateless

            return await send_stateless(self, method, params, timeout_seconds, fault)
        except CallFailed as failure:
            # Its messages in the handshake have nothing to do with a later death.
            last = self.traffic.last_received(since=self._ready_at) if failure.error is ServerDied else None
            shown = None if last is None else self._shown(last, 160)
            what, seconds = method, None
            if failure.clause == BY_HAND:
                name = str((params or {}).get("name") or (params or {}).get("uri") or "")
                what, seconds = f"{method} {self._shown(name.encode(), 80)}".rstrip(), monotonic() - began
            raise failure.during(
                what, server=self.spec.name, stderr_tail=self.stderr_tail, last=shown, seconds=seconds
            ) from None

    async def listening(self, timeout_seconds: float) -> None:
        """Wait until the server's notifications can arrive: over HTTP its own stream is open, or it has none."""
        await self._transport.listening(timeout_seconds)

    async def next_message(self, timeout_seconds: float) -> bool:
        """Wait for the server's next notification or request; false when the time runs out or the session ends."""
        return self.alive and await self.server_messages.wait_for_next(timeout_seconds)

    async def close(self) -> None:
        """End the session; may be called again, also while it runs.

        Waiting calls end with ServerDied. Never raises for what the server does. A caller that is cancelled meanwhile leaves
        nothing running.
        """
        if self._closing is None:
            self._end_calls(Ending(clause="was closed by mcptest"))
            self.server_messages.wake(ended=True)
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._calls.stop()
        self.remarks.report_noise(self.transport)
        before = self.ending
        closed = await self._transport.close()
        if before is None and closed.how_far in ("SIGTERM", "SIGKILL") and self.spec.grace_seconds > 0:
            seconds = f"{self.spec.grace_seconds:g} s"
            self.remarks.add_finding(
                "outlives_stdin", f"still ran {seconds} after its stdin was closed, and was ended by {closed.how_far}"
            )
        if (before is None or self._ended_idle) and closed.how_far == "eof" and (closed.signal or closed.exit_code):
            when = "when its stdin was closed" if before is None else "between calls"
            self.remarks.add_finding("crashed", f"{closed.clause} {when}{self._after_last_call()}")
        # How it was lost matters more than how it was closed; but only closing may have obtained an exit code.
        self.ending = closed if before is None else replace(closed, clause=before.clause)

    def start_over(self, spec: ServerSpec, *, used_by: str | None) -> None:
        """Forget everything after the opening: another run begins over this session, with `spec`. No call may be waiting."""
        self.spec, self.used_by = spec, used_by
        self.remarks.start_over(spec)
        self.server_messages.start_over()
        self._receiver.start_over()
        self.traffic = Traffic()
        self.heard = self._client = self._last_call = None
        self._began_at = self._ready_at = monotonic()

    @property
    def was_cut_off(self) -> bool:
        """Whether a test's `fault: disconnect` ended the session."""
        return self.ending is not None and self.ending.clause == _CUT_OFF

    def _after_last_call(self) -> str:
        if self._last_call is None:
            return ""
        method, params = self._last_call
        name = params.get("name") or params.get("uri")
        return f", after {method}" + (f" {json.dumps(str(name)[:80], ensure_ascii=False)}" if name else "")

    # --- for the opening and the modules beside it

    async def send_request(
        self,
        method: str,
        params: Mapping[str, object] | None,
        timeout_seconds: float,
        fault: Fault | None = None,
        *,
        sent: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        """Send one request and wait for its answer. `sent` are the params on the wire where they are more than `params`.
        Raises: CallFailed, AuthFailed, and ServerDied for a lost session.
        """
        if not self.alive:
            raise self._ended_error()
        calls = self._calls
        urgent = not calls
        if urgent and self.heard is not None:
            self.heard(None)
        call = calls.start(method, timeout_seconds)
        call.params, call.fault, call.headers = params if sent is None else sent, fault, headers
        if not self.is_listing or not method.endswith("/list"):
            self._last_call = method, call.params or {}  # not the call itself, which would keep its answer in memory
        try:
            line = wire.encode_request(call.id, method, call.params)
            self.traffic.add(call.sent_at, True, line)
            self._transport.send(line, call, urgent=urgent)
            answer = await call.future
        except asyncio.CancelledError:
            self.is_intact = False
            if call.future.cancelled():
                self._calls.given_up[call.id] = call.tool_or_method
                self._cancel_at_server(call, "the caller was cancelled")
            else:
                call.future.exception()  # it failed in the same turn: read here, so that asyncio does not log it
            raise
        except (CallFailed, ServerError) as failure:
            if failure.http is None:
                failure.http = call.http
            if self.heard is not None and is_refusal(failure.http):
                duration_ms = (monotonic() - call.sent_at) * 1000
                exchange = Exchange(method=method, params=params, answer={}, duration_ms=duration_ms, http=failure.http)
                self.heard(replace(exchange, refusal=failure))
            raise
        finally:
            calls.drop(call)
        duration_ms = (call.done_at - call.sent_at) * 1000
        exchange = Exchange(
            method=method,
            params=params,
            answer=answer,
            duration_ms=duration_ms,
            http=call.http,
            size=call.size,
            behind=call.behind,
        )
        if self.heard is not None:
            self.heard(exchange)
        return exchange

    def offering(self, revision: str, *, stateless: bool) -> None:
        """Use this revision from the next request on."""
        self._opening_method = "server/discover" if stateless else "initialize"
        self._transport.offering(revision, stateless=stateless)

    @property
    def client_side(self) -> ClientSide:
        """The canned answers to the server's own requests."""
        if self._client is None:
            from mcptest_engine.servers.client_side import ClientSide

            self._client = ClientSide(self.spec.client)
        return self._client

    # --- the opening

    async def open(self) -> None:
        """Open the session, as `spec.protocol` asks for. `connect` calls it.

        Raises: ServerDidNotStart, AuthFailed; the session must then be closed.
        """
        spec = self.spec
        self._transport.open(self)
        if spec.command is not None and spec.url is not None:
            await self._transport.ready()
        try:
            from mcptest_engine.servers.opening import open_session, request_meta  # the process is starting by now

            opened = await open_session(self)
            self.handshake, self._ready_at = opened.exchange, monotonic()
            self.server_info, self.protocol_version = opened.server_info, opened.protocol_version
            self.capabilities, self.instructions = opened.capabilities, opened.instructions
            self.stateless = opened.stateless
            self._transport.handshake_done(self.protocol_version)
            if self.stateless:
                self.request_meta = request_meta(spec.client, self.protocol_version or "")
            else:
                self._notify("notifications/initialized")
            await self._transport.delivered()
        except CallFailed as failure:
            tail = self.stderr_tail
            hint = start_hint(spec, tail)
            if spec.url is not None and failure.http is not None:
                from mcptest_engine.servers.http_failures import endpoint_hint

                hint = endpoint_hint(spec.url, failure.http)
            raise failure.at_start(self._opening_method, server=spec.name, stderr_tail=tail, hint=hint) from None
        if spec.client:
            from mcptest_engine.servers.subscriptions import subscribe_to_notifications

            await subscribe_to_notifications(self)

    def _shown(self, line: bytes, limit: int = 300) -> str:
        return clip(line, limit, self.spec.redact)

    # --- called by the transport

    def received(self, line: bytes, at: float, *, cut_off: bool = False) -> None:
        """Handle one line from the server. If anything is wrong with it, only that message fails: nothing is raised."""
        try:
            self._receiver.receive(line, at, cut_off=cut_off)
        except Exception as wrong:  # noqa: BLE001  # the boundary of every transport: what a server sends must not end a run
            call = self._calls.get(wire.id_within(line))
            if call is None:
                self.remarks.add_noise(line, at)
            else:
                self.failed(call, broken_answer(call.method, str(json_fault(wrong)), self._shown(line)))

    def waiting(self) -> list[tuple[str, float]]:
        """The requests that wait for their answers, such as `tools/call echo`, and since when."""
        waiting = []
        for call in self._calls:
            params = call.params or {}
            name = params.get("name") or params.get("uri")
            waiting.append((f"{call.method} {name}" if isinstance(name, str) else call.method, call.sent_at))
        return waiting

    def started(self, pid: int) -> None:
        """Inform the traffic's listener that the server's process has started."""
        self.traffic.started(pid)

    def wrote(self, at: float, *, ended: bool = False) -> None:
        """Inform the traffic's listener about output on stderr, or its end."""
        self.traffic.wrote(at, self.stderr_since, ended=ended)

    def overflowed(self, failure: CallFailed) -> None:
        """Fail all waiting calls: a line was dropped, and its id with it, so that any of them may have lost its answer."""
        for call in self._calls:
            self.failed(call, failure)

    def failed(self, call: Call, failure: CallFailed | ServerError) -> None:
        """End `call` with a failure."""
        self.is_intact = False
        if isinstance(failure, CallFailed) and failure.error is CallTimeout and self._calls.get(call.id) is call:
            self._cancel_at_server(call, "no answer within `http.timeout`")
        self._calls.drop(call)
        if isinstance(failure, CallFailed) and failure.error is CallTimeout:
            self.call_timed_out.set()
            if self._receiver.answered_at < call.sent_at:
                self._silent_since = call.sent_at
        if not call.future.done():
            if call.http is not None and not call.size:
                self.traffic.refused(monotonic(), {**call.http, "id": call.id})
            call.future.set_exception(failure)

    def expired(self, ending: Ending) -> None:
        """Mark the session as expired. Waiting calls go on."""
        self.is_expired = True
        if self.ending is None:
            self.ending = ending

    def lost(self, ending: Ending) -> None:
        """End the session: its connection is lost."""
        if self.ending is None:
            self.ending = ending
            self._ended_idle = all(self.is_listing and call.method.endswith("/list") for call in self._calls)
        self._end_calls(ending)
        self.server_messages.wake(ended=True)

    def cut_off(self) -> None:
        """End the connection, as the test's `fault: disconnect` asks."""
        self.lost(Ending(clause=_CUT_OFF))
        self._ended_idle = False

    async def danger_of_repeating(self, call: Call) -> str:
        """Why a call may not be repeated: its tool changes something, or nothing says that it does not."""
        if call.method != "tools/call":
            return ""
        from mcptest_engine.core.sanitise import one_line
        from mcptest_engine.safety.tool_classes import class_of, descriptors_by_name
        from mcptest_engine.servers.catalog import list_all

        name = str((call.params or {}).get("name"))
        shown = one_line(name, 80)
        try:
            tools = descriptors_by_name(await list_all(self, "tools") if self.spec.reads_catalog else ())
        except ServerError:
            return f'the server does not list its tools, so it is unknown what "{shown}" changes'
        if name not in tools:
            return f'no list contains the tool, so it is unknown what "{shown}" changes'
        tool_class = class_of(tools[name])
        return "" if tool_class.only_reads else f'the tool "{shown}" is {tool_class.described}'

    # --- ends

    def _timed_out(self, call: Call) -> None:
        self._cancel_at_server(call, f"no answer within {call.timeout_seconds:g} s")
        self._calls.given_up[call.id] = call.tool_or_method
        noise = " ⏎ ".join([text for at, text in self.remarks.noise if at >= call.sent_at][:_MAX_QUOTED_NOISE]) or None
        line = self._transport.unfinished()
        unfinished = self._shown(line, 160) if line.strip(b" \t\r\n\0") else None
        refused_at, refused = self._receiver.refused or (0.0, None)
        refused = refused if refused_at >= call.sent_at else None
        failure = timed_out(call.method, call.timeout_seconds, noise=noise, unfinished=unfinished, refused=refused)
        self.failed(call, failure)

    def _cancel_at_server(self, call: Call, reason: str) -> None:
        """Cancel the call at the server, if it was sent.

        `initialize` must not be cancelled (MCP 2025-11-25, basic/utilities/cancellation). Over HTTP the stateless revision has
        no message for it: closing the exchange cancels.
        """
        if self._transport.withdraw(call) or call.method in _OPENING or not self.alive:
            return
        if self._transport.cancels_by_closing:
            return
        self._notify("notifications/cancelled", {"requestId": call.id, "reason": reason})

    def _notify(self, method: str, params: Mapping[str, object] | None = None) -> None:
        self.send(wire.encode_notification(method, params))

    def send(self, line: bytes) -> None:
        """Send a notification or a reply."""
        self.traffic.add(monotonic(), True, line)
        self._transport.send(line, None, urgent=not self._calls)

    def _end_calls(self, ending: Ending) -> None:
        for call in self._calls:
            self.failed(call, CallFailed(ServerDied, ending.clause, ending=ending))
        self.traffic.ended(monotonic())

    def _ended_error(self) -> ServerError:
        ending = self.ending or Ending(clause="was closed by mcptest")
        failure = CallFailed(ServerDied, f"is gone: it {ending.clause}", ending=ending)
        return failure.plain(server=self.spec.name, stderr_tail=self.stderr_tail)


def _transport(spec: ServerSpec) -> Transport:
    if spec.url is None:
        from mcptest_engine.servers.stdio import StdioTransport

        return StdioTransport(spec)
    from mcptest_engine.servers.http import HttpTransport

    return HttpTransport(spec)
