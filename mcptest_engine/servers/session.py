"""One live session with one server: the handshake, calls in flight together, and everything that was said.

`connect` is the way in. The session never sends what the suite did not ask for: beyond its calls there are only the
handshake, `notifications/cancelled` for a call that nobody waits for any longer, and the answers that the protocol owes the
server (`ping`; anything else is refused, as no capability was declared). What the server sent is kept as it was sent.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import mcptest_engine
from mcptest_engine.core.errors import ProtocolBroken, ServerDidNotStart, ServerDied, ServerError
from mcptest_engine.servers import wire
from mcptest_engine.servers.calls import Call, Calls
from mcptest_engine.servers.failures import (
    CallFailed,
    Ending,
    broken_answer,
    timed_out,
    withheld_variable_hint,
)
from mcptest_engine.servers.traffic import Traffic
from mcptest_engine.servers.wire import Kind, clip

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.transport import Transport

_KEPT_NOTIFICATION_BYTES = 64 * 1024 * 1024
_KEPT_NOISE = 100
_HANDSHAKE = "initialize"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One call and its answer.

    `answer` is the JSON-RPC response object as the server sent it, `result` or `error` inside. `duration_ms` runs from
    handing the request over to the arrival of the answer's last byte; reading it is not counted. `http` is
    {"status", "headers"} over HTTP, header names in lower case, else None. `size` is how many bytes the answer came in.
    """

    method: str
    params: Mapping[str, Any] | None
    answer: dict[str, Any]
    duration_ms: float
    http: dict[str, Any] | None = None
    size: int = 0


async def connect(spec: ServerSpec) -> Session:
    """Start or reach the server and shake hands.

    The process runs and `initialize` is written before the loop gets its first turn, so a caller that starts this as a task
    may import what it needs meanwhile. What was odd stands in `Session.remarks`.
    Raises: ServerDidNotStart, AuthFailed; nothing is left running then, nor when the caller is cancelled.
    """
    session = Session(spec, _transport(spec))
    try:
        await session._shake_hands()
    except BaseException:
        await session.close()
        raise
    return session


class Session:
    """A connected server. Made by `connect`; used from one event loop.

    `server_info`, `capabilities` and `instructions` are as sent (None, {} and None when they were not, or were of the wrong
    type). `handshake` is the whole exchange. `notifications` grows by what the server sends unasked, as sent; past 64 MiB no
    more are kept. `remarks` are oddities that fail nothing, without secrets. `noise_count` is how many lines were no message.
    `ending` is set once the connection is gone.
    """

    def __init__(self, spec: ServerSpec, transport: Transport) -> None:
        self.spec = spec
        self.transport = transport.kind
        self.handshake: Exchange | None = None
        self.server_info: dict[str, Any] | None = None
        self.protocol_version: str | None = None
        self.capabilities: dict[str, Any] = {}
        self.instructions: str | None = None
        self.notifications: list[dict[str, Any]] = []
        self.remarks: list[str] = []
        self._noise_lines: deque[tuple[float, bytes]] = deque(maxlen=_KEPT_NOISE)
        self.noise_count = 0
        self.traffic = Traffic()
        self.ending: Ending | None = None
        self._transport = transport
        self._calls = Calls(self._timed_out)
        self._notification_bytes = 0
        self._ready_at = 0.0
        self._closing: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether a call made now can be answered."""
        return self.ending is None and self._closing is None

    @property
    def stderr_tail(self) -> str:
        """The last 64 KiB that the server wrote on stderr, decoded and redacted, not sanitised."""
        return self._transport.stderr_since(0.0)

    def stderr_since(self, at: float) -> str:
        """What of `stderr_tail` was written after the monotonic time `at`."""
        return self._transport.stderr_since(at)

    @property
    def noise(self) -> tuple[tuple[float, str], ...]:
        """The newest lines that were no message, as (monotonic seconds, the start as text), without secrets."""
        return tuple((at, self._shown(line)) for at, line in self._noise_lines)

    async def request(self, method: str, params: Mapping[str, Any] | None, *, timeout_seconds: float) -> Exchange:
        """Send one request and wait for its answer; any number may be under way.

        Raises: CallTimeout (the session stays usable), ServerDied, ProtocolBroken (an answer that is not JSON-RPC),
        AuthFailed. An answer that holds an `error` is an answer.
        """
        try:
            return await self._exchange(method, params, timeout_seconds)
        except CallFailed as failure:
            # What it said in the handshake has nothing to do with a later death.
            last = self.traffic.last_received(since=self._ready_at) if failure.error is ServerDied else None
            shown = None if last is None else self._shown(last, 160)
            raise failure.during(method, server=self.spec.name, stderr_tail=self.stderr_tail, last=shown) from None

    async def close(self) -> None:
        """End the session; may be called again, also while it runs. Waiting calls end with ServerDied.

        Never raises for what the server does. A caller that is cancelled meanwhile leaves nothing running.
        """
        if self._closing is None:
            self._end_calls(Ending(clause="was closed by mcptest"))
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._calls.stop()
        before = self.ending
        closed = await self._transport.close()
        # How it was lost says more than how it was closed after that; but only closing may have got an exit out of it.
        self.ending = closed if before is None else replace(closed, clause=before.clause)

    async def _exchange(self, method: str, params: Mapping[str, Any] | None, timeout_seconds: float) -> Exchange:
        if not self.alive:
            raise self._gone()
        calls = self._calls
        urgent = not calls
        call = calls.start(method, timeout_seconds)
        try:
            line = wire.encode_request(call.id, method, params)
            self.traffic.add(call.sent_at, True, line)
            self._transport.send(line, call, urgent=urgent)
            answer = await call.future
        except asyncio.CancelledError:
            if call.future.cancelled():
                self._abandon(call, "the caller was cancelled")
            else:
                call.future.exception()  # it failed in the same turn: looked at, so that nothing is logged
            raise
        finally:
            calls.drop(call)
        duration_ms = (call.done_at - call.sent_at) * 1000
        return Exchange(
            method=method, params=params, answer=answer, duration_ms=duration_ms, http=call.http, size=call.size
        )

    # --- the handshake

    async def _shake_hands(self) -> None:
        spec = self.spec
        self._transport.open(self)
        offer = wire.DEFAULT_REVISION if spec.protocol in (None, "auto") else spec.protocol
        client = {"name": "mcptest", "version": mcptest_engine.__version__}
        params = {"protocolVersion": offer, "capabilities": {}, "clientInfo": client}
        try:
            exchange = await self._exchange(_HANDSHAKE, params, spec.connect_timeout_seconds)
            self._take_handshake(exchange)
            self._notify("notifications/initialized")
            await self._transport.settled()
        except CallFailed as failure:
            tail = self.stderr_tail
            hint = withheld_variable_hint(tail, spec.withheld)
            raise failure.at_start(_HANDSHAKE, server=spec.name, stderr_tail=tail, hint=hint) from None

    def _take_handshake(self, exchange: Exchange) -> None:
        self.handshake, self._ready_at = exchange, monotonic()
        if "error" in exchange.answer:
            raise _refusal(exchange.answer["error"], self.spec.redact)
        result = exchange.answer["result"]
        info, capabilities = result.get("serverInfo"), result.get("capabilities")
        version, instructions = result.get("protocolVersion"), result.get("instructions")
        self.server_info = info if isinstance(info, dict) else None
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}
        self.instructions = instructions if isinstance(instructions, str) else None
        self.protocol_version = version if isinstance(version, str) else None
        # A revision unknown to us is told and not refused: what its answers are worth is the suite's to judge.
        if self.protocol_version is None:
            self._remark("answered `initialize` without a `protocolVersion`")
        elif version not in wire.HANDSHAKE_REVISIONS:
            self._remark(f'answered `initialize` with the protocol version "{version}", which mcptest does not know')
        self._transport.handshake_done(self.protocol_version)

    def _remark(self, text: str) -> None:
        self.remarks.append(self.spec.redact(f'server "{self.spec.name}" {text}'))

    def _shown(self, line: bytes, limit: int = 300) -> str:
        return clip(line, limit, self.spec.redact)

    # --- what the transport tells

    def remarked(self, clause: str) -> None:
        """Something odd that fails nothing."""
        self._remark(clause)

    def received(self, line: bytes, at: float, *, cut_off: bool = False) -> None:
        """One line from the server."""
        try:
            message = wire.parse(line)
        except wire.Unreadable as wrong:
            self.traffic.add(at, False, line)
            # Half an answer is no wrong answer: what ended the connection will end the call.
            call = None if wrong.call_id is None or cut_off else self._calls.get(wrong.call_id)
            if call is None:
                self._noise(line, at)
            else:
                self.failed(call, broken_answer(call.method, wrong.reason, self._shown(line)))
            return
        self.traffic.add(at, False, line, message)
        self._take(message, line, at)

    def overflowed(self, limit_bytes: int) -> None:
        """A line was dropped, and with it its id: no waiting call can be sure of its answer any more."""
        clause = f"sent a message of over {limit_bytes // (1024 * 1024)} MiB, which is more than is read"
        for call in self._calls:
            self.failed(call, CallFailed(ProtocolBroken, clause))

    def failed(self, call: Call, failure: CallFailed | ServerError) -> None:
        """No answer will come for `call`."""
        self._calls.drop(call)
        if not call.future.done():
            call.future.set_exception(failure)

    def lost(self, ending: Ending) -> None:
        """The connection is gone."""
        if self.ending is None:
            self.ending = ending
        self._end_calls(ending)

    def _take(self, message: Any, line: bytes, at: float) -> None:
        kind = wire.kind_of(message)
        if kind is Kind.ANSWER:
            self._answer(message, line, at)
        elif kind is Kind.NOTIFICATION:
            self._notification(message, line)
        elif kind is Kind.REQUEST:
            self._reply(message)
        elif kind is Kind.BATCH:
            self._batch(message, line, at)
        else:
            self._noise(line, at)

    def _answer(self, message: dict[str, Any], line: bytes, at: float) -> None:
        call_id = message.get("id")
        call = self._calls.get(call_id)
        if call is None:
            self._unmatched(message, line, at)
            return
        call.done_at = at
        call.size = len(line)
        fault = wire.answer_fault(message, self.spec.redact)
        if fault is not None:
            self.failed(call, broken_answer(call.method, fault, self._shown(line)))
            return
        self._calls.drop(call)
        if not call.future.done():
            call.future.set_result(message)

    def _unmatched(self, message: dict[str, Any], line: bytes, at: float) -> None:
        """An answer whose id is no waiting call's: one that comes late, or one whose id is spoilt."""
        call_id = message.get("id")
        if self._calls.was_issued(call_id):
            return  # late: its caller was told, and the traffic has it
        call, fault = None, ""
        if isinstance(call_id, str) and call_id.isdecimal():
            call, fault = self._calls.get(int(call_id)), "its `id` is a string, where the request's was a number"
        elif call_id is None and len(self._calls) == 1:
            (call,) = self._calls
            fault = "its `id` is null" if "id" in message else "it has no `id`"
        if call is None:
            self._noise(line, at)
        else:
            call.done_at = at
            self.failed(call, broken_answer(call.method, fault, self._shown(line)))

    def _batch(self, batch: list[Any], line: bytes, at: float) -> None:
        if self.protocol_version == wire.BATCH_REVISION:
            for message in batch:
                self._take(message, line, at)
            return
        waiting = [self._calls.get(item.get("id")) for item in batch if wire.kind_of(item) is Kind.ANSWER]
        if not any(waiting):
            self._noise(line, at)
        for call in filter(None, waiting):
            self.failed(call, broken_answer(call.method, "it came in an array of messages", self._shown(line)))

    def _noise(self, line: bytes, at: float) -> None:
        self.noise_count += 1
        self._noise_lines.append((at, line[: wire.CLIPPED_FROM + 1]))  # with one more it is known to be cut off

    def _notification(self, message: dict[str, Any], line: bytes) -> None:
        self._notification_bytes += len(line)
        if self._notification_bytes <= _KEPT_NOTIFICATION_BYTES:
            self.notifications.append(message)

    def _reply(self, message: dict[str, Any]) -> None:
        if message["method"] == "ping":
            line = wire.encode_reply(message["id"], result={})
        else:
            told = f"mcptest declared no capability for {message['method']!r}"
            line = wire.encode_reply(message["id"], error={"code": wire.METHOD_NOT_FOUND, "message": told})
        self._send(line)

    # --- ends

    def _timed_out(self, call: Call) -> None:
        self._abandon(call, f"no answer within {call.timeout_seconds:g} s")
        noise = next((text for at, text in reversed(self.noise) if at >= call.sent_at), None)
        held = self._transport.unfinished()
        unfinished = self._shown(held, 160) if held.strip() else None
        self.failed(call, timed_out(call.method, call.timeout_seconds, noise=noise, unfinished=unfinished))

    def _abandon(self, call: Call, reason: str) -> None:
        """Tell the server that nobody waits, unless it never heard of the call.

        `initialize` must not be cancelled (MCP 2025-11-25, basic/utilities/cancellation).
        """
        if self._transport.withdraw(call) or call.method == _HANDSHAKE or not self.alive:
            return
        self._notify("notifications/cancelled", {"requestId": call.id, "reason": reason})

    def _notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        self._send(wire.encode_notification(method, params))

    def _send(self, line: bytes) -> None:
        self.traffic.add(monotonic(), True, line)
        self._transport.send(line, None, urgent=not self._calls)

    def _end_calls(self, ending: Ending) -> None:
        for call in self._calls:
            self.failed(call, CallFailed(ServerDied, ending.clause, ending=ending))

    def _gone(self) -> ServerError:
        ending = self.ending or Ending(clause="was closed by mcptest")
        failure = CallFailed(ServerDied, f"is gone: it {ending.clause}", ending=ending)
        return failure.plain(server=self.spec.name, stderr_tail=self.stderr_tail)


def _refusal(error: Mapping[str, Any], redact: Callable[[str], str]) -> CallFailed:
    from mcptest_engine.core.clipping import told_error

    told = f"refused `initialize`: {told_error(error, redact)}"
    data = error.get("data")
    supported = data.get("supported") if isinstance(data, dict) else None
    hint = None
    if isinstance(supported, list) and supported:
        hint = "it speaks " + ", ".join(f"`{version}`" for version in supported[:10]) + ": offer one with `protocol:`"
    return CallFailed(ServerDidNotStart, told, hint=hint)


def _transport(spec: ServerSpec) -> Transport:
    if spec.command is not None:
        from mcptest_engine.servers.stdio import StdioTransport

        return StdioTransport(spec)
    from mcptest_engine.servers.http import HttpTransport

    return HttpTransport(spec)
