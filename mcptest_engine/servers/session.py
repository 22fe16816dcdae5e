"""One live session with one server: its opening, calls in flight together, and everything that was said.

`connect` is the way in. The session never sends what the suite did not ask for: beyond its calls there are only the opening
(`opening.py`), what the suite's `client:` asks for (`subscriptions.py`), `notifications/cancelled` for a call that nobody
waits for any longer, and the answers that the protocol owes the server. What the server sent is kept as it was sent.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.enums import ExpectedOutcome
from mcptest_engine.core.errors import CallTimeout, ProtocolBroken, ServerDied, ServerError
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.safe_json import json_fault
from mcptest_engine.core.waits import Waits
from mcptest_engine.servers import wire
from mcptest_engine.servers.calls import Call, Calls, Exchange
from mcptest_engine.servers.failures import (
    BY_HAND,
    CallFailed,
    Ending,
    answer_lost,
    broken_answer,
    is_refusal,
    sent_back,
    start_hint,
    timed_out,
)
from mcptest_engine.servers.memory import value_bytes
from mcptest_engine.servers.traffic import Traffic
from mcptest_engine.servers.wire import Kind, clip

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.safety.tool_classes import ToolClass
    from mcptest_engine.servers.calls import Fault
    from mcptest_engine.servers.client_side import ClientSide
    from mcptest_engine.servers.gate import Gate
    from mcptest_engine.servers.param_headers import ParamHeaders
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.transport import Transport

_KEPT_NOTIFICATION_BYTES = 64 * 1024 * 1024
_KEPT_NOISE = 100
_QUOTED_NOISE = 3
_PROBE_SECONDS = 1.0
_MOST_TOLD_REPEATED = 20
_MOST_REMARKS = 50
_OPENING = frozenset({"initialize", "server/discover"})
_ID_AS_TEXT = lazy_pattern(r"[0-9]{1,15}")  # not `isdecimal`: Python refuses to read thousands of digits


async def connect(spec: ServerSpec, *, made: Callable[[Session], None] | None = None) -> Session:
    """Start or reach the server and open a session, as `spec.protocol` has it.

    `made` is told of the session before it is opened, so that what it has seen can be looked at also when that fails.
    The process runs and its first request is written before the loop gets its first turn, so a caller that starts this as a
    task may import what it needs meanwhile. What was odd stands in `Session.remarks`.
    Raises: ServerDidNotStart (NotReady, when `wait_for_ready` ran out), AuthFailed; nothing is left running then, nor when the
    caller is cancelled.
    """
    if spec.wait_for_ready is not None:
        from mcptest_engine.servers.readiness import wait_until_ready

        await wait_until_ready(spec)
    try:
        return await _opened(spec, made)
    except _ended_by_probe():
        session = await _opened(replace(spec, protocol=None), made)
        session.remarked("ended when it got `server/discover`, and was restarted without that")
        session.end_opening()
        return session


async def _opened(spec: ServerSpec, made: Callable[[Session], None] | None) -> Session:
    session = Session(spec, _transport(spec))
    if made is not None:
        made(session)
    try:
        await session.open()
    except BaseException:
        await session.close()
        raise
    session.end_opening()
    return session


def _ended_by_probe() -> type[Exception]:
    from mcptest_engine.servers.opening import ProbeFatal  # by then it has been imported

    return ProbeFatal


_CUT_OFF = "was cut off by `fault: disconnect`"


class Session:
    """A connected server. Made by `connect`; used from one event loop.

    `server_info`, `capabilities` and `instructions` are as sent (None, {} and None when they were not, or were of the wrong
    type). `handshake` is the whole opening exchange; `stateless` whether the revision has no session, so that every request
    says who asks; `is_expired` whether the server has forgotten it (HTTP 404). `notifications` grows by what the server sends
    unasked, as sent, and `server_requests` by what it asks of this client, as {"method", "params", "result" or "error"} with
    what it was answered; past 64 MiB of memory no more are kept. `remarks` are oddities that fail nothing, without secrets.
    `findings` are faults beside the answers, by kind: "stdout_noise", "outlives_stdin", "crashed"; each is a remark as well.
    `replaces` is how the session before this one ended, where the server had to be started again: a clause, or None.
    `used_by` is the suite that talked over this session before, or None. `is_intact`: no call has gone without its answer.
    `is_listing`: a list is being read that no test asked for. `call_timed_out` is set when a call times out, until somebody
    clears it.
    `noise_count` is how many lines were no message. `ending` is set once the connection is gone. `heard`, where set, is told
    every exchange as it ends, and None before a request that is sent while none waits; it must be quick and not raise. `gate`,
    where set, decides about every `tools/call`; `tool_list_changes` and `prompt_list_changes` are how often the server has said
    that these changed.
    `lists` are the lists that a run has read, "tools" or "prompts", for the next run over this session.
    """

    def __init__(self, spec: ServerSpec, transport: Transport) -> None:
        self.spec = spec
        self.stateless = False
        self.is_expired = False
        self.handshake: Exchange | None = None
        self.server_info: dict[str, Any] | None = None
        self.protocol_version: str | None = None
        self.capabilities: dict[str, Any] = {}
        self.instructions: str | None = None
        self.notifications: list[dict[str, Any]] = []
        self.server_requests: list[dict[str, Any]] = []
        self.remarks: list[str] = []
        self.findings: dict[str, str] = {}
        self.replaces: str | None = None
        self.used_by: str | None = None
        self.is_intact = True
        self._began_at = self._opened_at = 0.0
        self._opening_remarks = self._opening_noise = 0
        self._last_call: tuple[str, Mapping[str, Any]] | None = None
        self._ended_idle = False
        self.is_listing = False
        self.call_timed_out = asyncio.Event()
        self._noise_lines: deque[tuple[float, bytes]] = deque(maxlen=_KEPT_NOISE)
        self.noise_count = 0
        self.traffic = Traffic()
        self.ending: Ending | None = None
        self._transport = transport
        self._calls = Calls(self._timed_out)
        self._notification_bytes = 0
        self._unasked: list[asyncio.Future[bool]] = []
        self._refused: tuple[float, str] | None = None
        self._given_up: dict[int, dict[str, Any]] = {}
        self._waits = Waits()
        self._answered_twice = False
        self._nameless: tuple[str, bytes, float, list[Call]] | None = None
        self._repeated: list[str] = []
        self._decode = wire.decoder_of_repeats(self._repeated)
        self._told_repeated: set[tuple[str, str]] = set()
        self._opening_method = "initialize"
        self.request_meta: dict[str, Any] = {}
        self.param_headers: ParamHeaders | None = None
        self._client: ClientSide | None = None
        self._ready_at = 0.0
        self._closing: asyncio.Task[None] | None = None
        self.heard: Callable[[Exchange | None], None] | None = None
        self.gate: Gate | None = None
        self.tool_list_changes = self.prompt_list_changes = 0
        self.lists: dict[str, list[dict[str, Any]]] = {}
        self._answered_at = self._served_at = 0.0
        self._silent_since = 0.0

    @property
    def transport(self) -> str:
        """How the server is reached: "stdio", "http", or "sse" (HTTP as of 2024-11-05)."""
        return self._transport.kind

    @property
    def auth(self) -> str:
        """How mcptest shows who it is: "none", "bearer", "oauth" or "headers"."""
        return self._transport.auth

    @property
    def alive(self) -> bool:
        """Whether a call made now can be answered."""
        return self.ending is None and self._closing is None

    @property
    def is_busy(self) -> bool:
        """Whether calls wait for their answers."""
        return bool(self._calls)

    @property
    def has_answered(self) -> bool:
        """Whether anything that was asked after the opening has been answered, but for lists that no test asked for."""
        return self._served_at > self._ready_at

    @property
    def is_silent(self) -> bool:
        """Whether a call timed out, and nothing has been answered since it was sent."""
        return self._answered_at < self._silent_since

    async def is_responsive(self) -> bool:
        """Ask whether the server still answers: `ping`, or `server/discover` in the stateless lifecycle. At most a second."""
        try:
            await self.request("server/discover" if self.stateless else "ping", None, timeout_seconds=_PROBE_SECONDS)
        except ServerError:
            return self.alive and not self.is_silent
        return True

    @property
    def stderr_tail(self) -> str:
        """The last 64 KiB that the server wrote on stderr in this run, decoded and redacted, not sanitised."""
        return self._transport.stderr_since(self._began_at)

    def stderr_since(self, at: float) -> str:
        """What of `stderr_tail` was written after the monotonic time `at`."""
        return self._transport.stderr_since(at)

    @property
    def noise(self) -> tuple[tuple[float, str], ...]:
        """The newest lines that were no message, as (monotonic seconds, the start as text), without secrets."""
        return tuple((at, self._shown(line)) for at, line in self._noise_lines)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        timeout_seconds: float,
        fault: Fault | None = None,
        on_sending: Callable[[ToolClass | None], object] | None = None,
    ) -> Exchange:
        """Send one request and wait for its answer; any number may be under way.

        `on_sending` is called just before it is sent, with the class by which a `gate` lets a tool be called. In the stateless
        era a result that asks for input is answered as `client:` has it, and the final one is what counts.
        Raises: CallTimeout (the session stays usable), ServerDied, ProtocolBroken (an answer that is not JSON-RPC), AuthFailed,
        AnswerLost when `fault` took the answer away; PolicyDenied where `gate` refuses. An answer with an `error` is an answer.
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
        self, method: str, params: Mapping[str, Any] | None, timeout_seconds: float, fault: Fault | None
    ) -> Exchange:
        began = monotonic()
        try:
            if not self.stateless:
                return await self.ask(method, params, timeout_seconds, fault)
            from mcptest_engine.servers.stateless_calls import send_stateless

            return await send_stateless(self, method, params, timeout_seconds, fault)
        except CallFailed as failure:
            # What it said in the handshake has nothing to do with a later death.
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
        """Wait until what the server sends unasked would arrive: over HTTP its own stream is open, or it has none."""
        await self._transport.listening(timeout_seconds)

    async def next_notification(self, timeout_seconds: float) -> bool:
        """Wait for the server to send or ask anything unasked; false when the time is over or the session at its end."""
        if not self.alive:
            return False
        waiter = asyncio.get_running_loop().create_future()
        self._unasked.append(waiter)
        try:
            done, _ = await asyncio.wait((waiter,), timeout=timeout_seconds)
        finally:
            if waiter in self._unasked:
                self._unasked.remove(waiter)
        return bool(done) and waiter.result()

    async def close(self) -> None:
        """End the session; may be called again, also while it runs. Waiting calls end with ServerDied.

        Never raises for what the server does. A caller that is cancelled meanwhile leaves nothing running.
        """
        if self._closing is None:
            self._end_calls(Ending(clause="was closed by mcptest"))
            self._wake(ended=True)
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    def note_noise(self) -> None:
        """Tell of the lines that were no message, once, when the run over this session ends."""
        if self._noise_lines:
            first = self._shown(self._noise_lines[0][1], 160)
            lines = (
                "a line that is not a message"
                if self.noise_count == 1
                else f"{self.noise_count} lines that are not messages"
            )
            told = f"wrote {lines} to stdout" if self.transport == "stdio" else f"sent {lines}"
            self._find("stdout_noise", f"{told}, such as: {first}")

    async def _close(self) -> None:
        self._calls.stop()
        self.note_noise()
        before = self.ending
        closed = await self._transport.close()
        if before is None and closed.how_far in ("SIGTERM", "SIGKILL") and self.spec.grace_seconds > 0:
            seconds = f"{self.spec.grace_seconds:g} s"
            self._find(
                "outlives_stdin", f"still ran {seconds} after its stdin was closed, and was ended by {closed.how_far}"
            )
        if (before is None or self._ended_idle) and closed.how_far == "eof" and (closed.signal or closed.exit_code):
            when = "when its stdin was closed" if before is None else "between calls"
            self._find("crashed", f"{closed.clause} {when}{self._after_last_call()}")
        # How it was lost says more than how it was closed after that; but only closing may have got an exit out of it.
        self.ending = closed if before is None else replace(closed, clause=before.clause)

    def end_opening(self) -> None:
        """What was noted so far belongs to the opening."""
        self._opened_at, self._opening_remarks = monotonic(), len(self.remarks)
        self._opening_noise = self.noise_count

    def start_over(self, spec: ServerSpec, *, used_by: str | None) -> None:
        """Forget what came after the opening: another run begins over this session, with `spec`. No call may be under way."""
        self.spec, self.used_by = spec, used_by
        self.notifications, self.server_requests, self._notification_bytes = [], [], 0
        self.remarks = self.remarks[: self._opening_remarks]
        self.findings = {kind: text for kind, text in self.findings.items() if text in self.remarks}
        opening_noise = [row for row in self._noise_lines if row[0] <= self._opened_at]
        self._noise_lines, self.noise_count = deque(opening_noise, maxlen=_KEPT_NOISE), self._opening_noise
        self.traffic = Traffic()
        self.heard = self._client = self._last_call = None
        self._told_repeated.clear()
        self.tool_list_changes = self.prompt_list_changes = 0
        self._began_at = self._ready_at = monotonic()

    @property
    def was_cut_off(self) -> bool:
        """Whether it ended because a test had asked for that with `fault: disconnect`."""
        return self.ending is not None and self.ending.clause == _CUT_OFF

    def _after_last_call(self) -> str:
        if self._last_call is None:
            return ""
        method, params = self._last_call
        name = params.get("name") or params.get("uri")
        return f", after {method}" + (f" {json.dumps(str(name)[:80], ensure_ascii=False)}" if name else "")

    # --- what the opening and the modules beside it use

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        timeout_seconds: float,
        fault: Fault | None = None,
        *,
        sent: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        """One request on the wire. `sent` is what goes as its params where that is more than `params`.

        Raises: CallFailed, AuthFailed, and ServerDied for a session that is gone.
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
            self._last_call = method, call.params or {}  # not the call, which would hold its answer
        try:
            line = wire.encode_request(call.id, method, call.params)
            self.traffic.add(call.sent_at, True, line)
            self._transport.send(line, call, urgent=urgent)
            answer = await call.future
        except asyncio.CancelledError:
            self.is_intact = False
            if call.future.cancelled():
                self._given_up[call.id] = _called(call)
                self._abandon(call, "the caller was cancelled")
            else:
                call.future.exception()  # it failed in the same turn: looked at, so that nothing is logged
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
        """From the next request on this revision is spoken."""
        self._opening_method = "server/discover" if stateless else "initialize"
        self._transport.offering(revision, stateless=stateless)

    @property
    def client_side(self) -> ClientSide:
        """What answers the server's own requests."""
        if self._client is None:
            from mcptest_engine.servers.client_side import ClientSide

            self._client = ClientSide(self.spec.client)
        return self._client

    # --- the opening

    async def open(self) -> None:
        """Open it, as `spec.protocol` has it. For those who make a session; `connect` does it for everybody else.

        Raises: ServerDidNotStart, AuthFailed; the session is then to be closed.
        """
        spec = self.spec
        self._transport.open(self)
        if spec.command is not None and spec.url is not None:
            await self._transport.ready()
        try:
            from mcptest_engine.servers.opening import open_session, request_meta  # the process is on its way by now

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

    def _find(self, kind: str, text: str) -> None:
        """Take note of a fault beside the answers, once of each kind; a remark as well, where such faults are told."""
        if self.spec.hygiene != "off" and kind not in self.findings:
            self._remark(text)
            self.findings[kind] = self.remarks[-1]

    def _remark(self, text: str) -> None:
        """Keep a remark. Servers cause some of them with texts of their own, so there is a bound; the last one says so."""
        if len(self.remarks) < _MOST_REMARKS:
            self.remarks.append(self.spec.redact(f'server "{self.spec.name}" {text}'))
        elif len(self.remarks) == _MOST_REMARKS:
            self.remarks.append(
                f'server "{self.spec.name}" caused more than {_MOST_REMARKS} remarks; the others are not saved'
            )

    def _shown(self, line: bytes, limit: int = 300) -> str:
        return clip(line, limit, self.spec.redact)

    # --- what the transport tells

    def remarked(self, clause: str) -> None:
        """Something odd that fails nothing."""
        self._remark(clause)

    def received(self, line: bytes, at: float, *, cut_off: bool = False) -> None:
        """One line from the server. Whatever goes wrong with it, only that message fails: nothing is raised."""
        try:
            self._receive(line, at, cut_off=cut_off)
        except Exception as wrong:  # noqa: BLE001  # the boundary of every transport: what a server sends must not end a run
            call = self._calls.get(wire.id_within(line))
            if call is None:
                self._noise(line, at)
            else:
                self.failed(call, broken_answer(call.method, str(json_fault(wrong)), self._shown(line)))

    def _receive(self, line: bytes, at: float, *, cut_off: bool) -> None:
        self._repeated.clear()  # those of a line that turned out unreadable are no other message's
        try:
            message = wire.parse(line, self._decode)
        except wire.Unreadable as wrong:
            self.traffic.add(at, False, line)
            # Half an answer is no wrong answer: what ended the connection will end the call.
            call = None if wrong.call_id is None or cut_off else self._calls.get(wrong.call_id)
            if call is None and wrong.is_too_much:
                self.overflowed(CallFailed(ProtocolBroken, f"sent a message that cannot be read: {wrong.reason}"))
            elif call is None:
                self._noise(line, at)
            else:
                self.failed(call, broken_answer(call.method, wrong.reason, self._shown(line)))
            return
        self.traffic.add(at, False, line, message, http=self._came_in(message))
        if self._repeated:
            self._remark_repeated(message, line)
        self._take(message, line, at)

    def _remark_repeated(self, message: Any, line: bytes) -> None:
        """Remark, once for each name and tool, on members that an object of this message holds twice."""
        call = self._calls.get(message.get("id")) if wire.kind_of(message) is Kind.ANSWER else None
        where = "" if call is None else f' in its answer to "{call.method}"'
        if call is not None and call.method == "tools/call" and call.params is not None:
            where += f" of {json.dumps(str(call.params.get('name'))[:80], ensure_ascii=False)}"
        names = [name for name in self._repeated if (where, name) not in self._told_repeated]
        self._repeated.clear()
        if not names or len(self._told_repeated) >= _MOST_TOLD_REPEATED:
            return
        self._told_repeated.update((where, name) for name in names)
        twice = ", ".join([json.dumps(name[:40]) for name in names])
        told = f"sent an object with {twice} twice{where}; mcptest uses the last one, another client may use the first"
        self._remark(f"{told}: {self._shown(line, 160)}")

    def _came_in(self, message: Any) -> dict[str, Any] | None:
        """The HTTP response that brought an answer, for who listens to the traffic."""
        if self.transport != "http" or wire.kind_of(message) is not Kind.ANSWER:
            return None
        call = self._calls.get(message.get("id"))
        return None if call is None or call.http is None else {**call.http, "id": call.id}

    def waiting(self) -> list[tuple[str, float]]:
        """The requests that wait for their answers, such as `tools/call echo`, and since when."""
        return [(_describe(call), call.sent_at) for call in self._calls]

    def started(self, pid: int) -> None:
        """The server's process runs."""
        self.traffic.started(pid)

    def wrote(self, at: float, *, ended: bool = False) -> None:
        """Something came on its stderr, or no more will."""
        self.traffic.wrote(at, self.stderr_since, ended=ended)

    def overflowed(self, failure: CallFailed) -> None:
        """A line was dropped, and with it its id: no waiting call can be sure of its answer any more."""
        for call in self._calls:
            self.failed(call, failure)

    def failed(self, call: Call, failure: CallFailed | ServerError) -> None:
        """No answer will come for `call`."""
        self.is_intact = False
        if isinstance(failure, CallFailed) and failure.error is CallTimeout and self._calls.get(call.id) is call:
            self._abandon(call, "no answer within `http.timeout`")
        self._calls.drop(call)
        if isinstance(failure, CallFailed) and failure.error is CallTimeout:
            self.call_timed_out.set()
            if self._answered_at < call.sent_at:
                self._silent_since = call.sent_at
        if not call.future.done():
            if call.http is not None and not call.size:
                self.traffic.refused(monotonic(), {**call.http, "id": call.id})
            call.future.set_exception(failure)

    def expired(self, ending: Ending) -> None:
        """The session is over, and only that: what is under way goes on."""
        self.is_expired = True
        if self.ending is None:
            self.ending = ending

    def lost(self, ending: Ending) -> None:
        """The connection is gone."""
        if self.ending is None:
            self.ending = ending
            self._ended_idle = all(self.is_listing and call.method.endswith("/list") for call in self._calls)
        self._end_calls(ending)
        self._wake(ended=True)

    async def danger_of_repeating(self, call: Call) -> str:
        """Why a call may not be made again: its tool changes something, or nothing says that it does not."""
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

    def _take(self, message: Any, line: bytes, at: float, *, size: int | None = None) -> None:
        """Handle one message of `line`. `size` is how many bytes of memory it takes, where it is not the whole line."""
        kind = wire.kind_of(message)
        if kind is Kind.ANSWER:
            self._answer(message, line, at)
        elif kind is Kind.NOTIFICATION:
            self._notification(message, size=value_bytes(line) if size is None else size)
        elif kind is Kind.REQUEST:
            self._reply(message, size=value_bytes(line) if size is None else size)
        elif kind is Kind.BATCH and size is None:
            self._batch(message, line, at)
        else:
            self._noise(line, at)

    def _answer(self, message: dict[str, Any], line: bytes, at: float) -> None:
        call_id = message.get("id")
        call = self._calls.get(call_id)
        self._answered_at = at
        if call is None or not (self.is_listing and call.method.endswith("/list")):
            self._served_at = at
        if call is None:
            self._unmatched(message, line, at)
        else:
            self._matched(call, message, line, at)
        if self._nameless is not None and len(waiting := list(self._calls)) < 2:
            fault, line, at, either = self._nameless
            self._nameless = None
            for left in (one for one in waiting if one in either):
                left.done_at = at
                self.failed(left, broken_answer(left.method, fault, self._shown(line)))

    def _matched(self, call: Call, message: dict[str, Any], line: bytes, at: float) -> None:
        call.done_at = at
        call.size = len(line)
        call.behind = self._waits.note_answered(call.id, call.sent_at, _called(call), at)
        fault = wire.answer_fault(message, self.spec.redact)
        if fault is not None:
            self.failed(call, broken_answer(call.method, fault, self._shown(line)))
            return
        if call.fault is not None and not (self.stateless and wire.is_step(message)):
            self._faulted(call, message)
            return
        self._calls.drop(call)
        if not call.future.done():
            call.future.set_result(message)

    def _faulted(self, call: Call, message: dict[str, Any]) -> None:
        """The answer is here, and the test wants something to happen to it."""
        fault, call.fault = call.fault, None
        assert fault is not None
        if fault.kind == "delay":
            asyncio.get_running_loop().call_later(fault.delay_seconds, self._answer_late, call, message)
            return
        result = message.get("result")
        is_error = "error" in message or (isinstance(result, dict) and result.get("isError") is True)
        if fault.wanted is (ExpectedOutcome.SUCCESS if is_error else ExpectedOutcome.ERROR):
            self._answer_late(call, message)  # the test fails by this answer, and not by its being lost
            return
        self.failed(call, answer_lost(call.method, fault.kind))
        if fault.kind == "disconnect" and self._transport.kind == "stdio":
            self.lost(Ending(clause=_CUT_OFF))
            self._ended_idle = False

    def _answer_late(self, call: Call, message: dict[str, Any]) -> None:
        self._calls.drop(call)
        if not call.future.done():
            call.done_at = monotonic()
            call.future.set_result(message)

    def _unmatched(self, message: dict[str, Any], line: bytes, at: float) -> None:
        """An answer whose id is no waiting call's: one that comes late, or one whose id is spoilt."""
        call_id = message.get("id")
        if isinstance(call_id, int) and self._calls.was_issued(call_id):
            # Late: its caller was told, and the traffic has it. Or it is the second answer, and the first one counts.
            late = self._given_up.get(call_id)
            if late is not None:
                self._waits.note_answered(call_id, at, late, at)
            elif not self._answered_twice:
                self._answered_twice = True
                self._remark("answered a request twice; the first answer counts")
            return
        call, fault = None, ""
        if isinstance(call_id, str) and _ID_AS_TEXT.fullmatch(call_id):
            call, fault = self._calls.get(int(call_id)), "its `id` is a string, where the request's was a number"
        elif call_id is None:
            fault = "its `id` is null" if "id" in message else "it has no `id`"
            waiting = list(self._calls)
            if len(waiting) == 1:
                (call,) = waiting
            elif len(waiting) == 2 and self.is_listing:
                self._nameless = (
                    fault,
                    line,
                    at,
                    waiting,
                )  # the list's, or the test's: that of the one which gets no other
                return
        if call is None:
            self._noise(line, at)
        else:
            call.done_at = at
            self.failed(call, broken_answer(call.method, fault, self._shown(line)))

    def _batch(self, batch: list[Any], line: bytes, at: float) -> None:
        if self.protocol_version == wire.BATCH_REVISION:
            share = value_bytes(line) // max(len(batch), 1)
            for message in batch:
                try:
                    self._take(message, line, at, size=share)
                except Exception:  # noqa: BLE001 - the boundary of `received`: the other messages are read as ever
                    self._noise(line, at)
            return
        waiting = [self._calls.get(item.get("id")) for item in batch if wire.kind_of(item) is Kind.ANSWER]
        if not any(waiting):
            self._noise(line, at)
        for call in filter(None, waiting):
            self.failed(call, broken_answer(call.method, "it came in an array of messages", self._shown(line)))

    def _noise(self, line: bytes, at: float) -> None:
        self.noise_count += 1
        self._noise_lines.append((at, line[: wire.CLIPPED_FROM + 1]))  # with one more it is known to be cut off

    def _notification(self, message: dict[str, Any], *, size: int) -> None:
        if message["method"] == "notifications/tools/list_changed":
            self.tool_list_changes += 1
            self.lists.pop("tools", None)
        elif message["method"] == "notifications/prompts/list_changed":
            self.prompt_list_changes += 1
            self.lists.pop("prompts", None)
        if self._has_room_for(size):
            self.notifications.append(message)
        self._wake()

    def _has_room_for(self, size: int) -> bool:
        """Count what was sent unasked and takes `size` bytes of memory; false, with one remark, once no more is kept."""
        was_full = self._notification_bytes > _KEPT_NOTIFICATION_BYTES
        self._notification_bytes += size
        is_full = self._notification_bytes > _KEPT_NOTIFICATION_BYTES
        if is_full and not was_full:
            self._remark("sent more than 64 MiB of notifications and requests; the rest is not saved")
        return not is_full

    def _reply(self, message: dict[str, Any], *, size: int) -> None:
        method = message["method"]
        call = self._calls.get(message["id"])
        if call is not None and _is_own(call, message):
            self.failed(call, sent_back(method))
            return
        answer = self.client_side.answer(method, message.get("params"))
        self._send(wire.encode_reply(message["id"], result=answer.get("result"), error=answer.get("error")))
        if method == "ping":
            return
        if not self.client_side.declares(method):
            self._refused = (monotonic(), method)
        self.keep_request({"method": method, "params": message.get("params"), **answer}, size=size)

    def keep_request(self, request: dict[str, Any], *, size: int) -> None:
        """Keep what the server asked of this client, with what it was answered; `size` is how many bytes of memory it takes."""
        if self._has_room_for(size):
            self.server_requests.append(request)
        self._wake()

    def _wake(self, *, ended: bool = False) -> None:
        for waiter in self._unasked:
            if not waiter.done():
                waiter.set_result(not ended)
        self._unasked.clear()

    # --- ends

    def _timed_out(self, call: Call) -> None:
        self._abandon(call, f"no answer within {call.timeout_seconds:g} s")
        self._given_up[call.id] = _called(call)
        noise = " ⏎ ".join([text for at, text in self.noise if at >= call.sent_at][:_QUOTED_NOISE]) or None
        held = self._transport.unfinished()
        unfinished = self._shown(held, 160) if held.strip(b" \t\r\n\0") else None
        refused = self._refused[1] if self._refused is not None and self._refused[0] >= call.sent_at else None
        told = timed_out(call.method, call.timeout_seconds, noise=noise, unfinished=unfinished, refused=refused)
        self.failed(call, told)

    def _abandon(self, call: Call, reason: str) -> None:
        """Tell the server that nobody waits, unless it never heard of the call.

        `initialize` must not be cancelled (MCP 2025-11-25, basic/utilities/cancellation), and over HTTP the stateless revision
        knows no message for it: closing the exchange says it.
        """
        if self._transport.withdraw(call) or call.method in _OPENING or not self.alive:
            return
        if self._transport.cancels_by_closing:
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
        self.traffic.ended(monotonic())

    def _ended_error(self) -> ServerError:
        ending = self.ending or Ending(clause="was closed by mcptest")
        failure = CallFailed(ServerDied, f"is gone: it {ending.clause}", ending=ending)
        return failure.plain(server=self.spec.name, stderr_tail=self.stderr_tail)


def _called(call: Call) -> dict[str, Any]:
    """The tool that is called, or the method of what calls none."""
    if call.method == "tools/call" and call.params is not None:
        return {"tool": str(call.params.get("name"))}
    return {"method": call.method}


def _describe(call: Call) -> str:
    params = call.params or {}
    about = params.get("name") or params.get("uri")
    return f"{call.method} {about}" if isinstance(about, str) else call.method


def _is_own(call: Call, message: Mapping[str, Any]) -> bool:
    """Whether a request is the one that was sent for `call`; a `ping` may well be the server's own under the same id."""
    if call.method != message["method"] or call.method == "ping":
        return False
    return bool(message.get("params") == (None if call.params is None else dict(call.params)))


def _transport(spec: ServerSpec) -> Transport:
    if spec.url is None:
        from mcptest_engine.servers.stdio import StdioTransport

        return StdioTransport(spec)
    from mcptest_engine.servers.http import HttpTransport

    return HttpTransport(spec)
