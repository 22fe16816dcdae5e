"""Handles the messages of a session's server: answers go to their calls, others are saved or answered."""

from __future__ import annotations

import asyncio
import json
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from mcptest_engine.core.enums import ExpectedOutcome
from mcptest_engine.core.errors import ProtocolBroken
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.waits import Waits
from mcptest_engine.servers import wire
from mcptest_engine.servers.failures import CallFailed, answer_lost, broken_answer, sent_back
from mcptest_engine.servers.memory import value_bytes
from mcptest_engine.servers.wire import Kind, clip

if TYPE_CHECKING:
    from mcptest_engine.core.errors import ServerError
    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.servers.calls import Call, Calls
    from mcptest_engine.servers.client_side import ClientSide
    from mcptest_engine.servers.remarks import Remarks
    from mcptest_engine.servers.server_messages import ServerMessages
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.traffic import Traffic

_ID_AS_TEXT = lazy_pattern(r"[0-9]{1,15}")  # not `isdecimal`: Python refuses to convert thousands of digits


class ReceivingSession(Protocol):
    """The parts of `Session` that this module uses. They are described there."""

    spec: ServerSpec
    stateless: bool
    protocol_version: str | None
    is_listing: bool
    lists: dict[str, list[JsonDict]]
    traffic: Traffic
    remarks: Remarks
    server_messages: ServerMessages

    @property
    def transport(self) -> str: ...
    @property
    def client_side(self) -> ClientSide: ...

    def failed(self, call: Call, failure: CallFailed | ServerError) -> None: ...
    def overflowed(self, failure: CallFailed) -> None: ...
    def cut_off(self) -> None: ...
    def send(self, line: bytes) -> None: ...


class MessageReceiver:
    """Parses the lines of one session and handles each message.

    `answered_at` is when the last answer arrived, `served_at` the last one that a test asked for; monotonic seconds. `refused`
    is the server's last request that no `client:` answers, as (monotonic seconds, method).
    """

    def __init__(self, session: ReceivingSession, calls: Calls) -> None:
        self.answered_at = self.served_at = 0.0
        self.refused: tuple[float, str] | None = None
        self._session = session
        self._calls = calls
        self._waits = Waits()
        self._answered_twice = False
        self._without_id: tuple[str, bytes, float, list[Call]] | None = None
        self._repeated_names: list[str] = []
        self._decode = wire.decoder_of_repeats(self._repeated_names)

    def start_over(self) -> None:
        """Prepare for another run over this session: its second answers cause remarks, too."""
        self._answered_twice = False

    def receive(self, line: bytes, at: float, *, cut_off: bool) -> None:
        """Handle one line. `cut_off`: the connection ended before the line did. A hostile message may raise anything."""
        session = self._session
        self._repeated_names.clear()  # repeated names of an unreadable line are not those of the next message
        try:
            message = wire.parse(line, self._decode)
        except wire.Unreadable as wrong:
            session.traffic.add(at, False, line)
            # Half an answer is no wrong answer: the end of the connection will fail the call.
            call = None if wrong.call_id is None or cut_off else self._calls.get(wrong.call_id)
            if call is not None:
                session.failed(call, broken_answer(call.method, wrong.reason, self._clipped(line)))
            elif wrong.is_too_much:
                session.overflowed(CallFailed(ProtocolBroken, f"sent a message that cannot be read: {wrong.reason}"))
            else:
                session.remarks.add_noise(line, at)
            return
        call = None
        if (self._repeated_names or session.transport == "http") and wire.kind_of(message) is Kind.ANSWER:
            call = self._calls.get(message.get("id"))
        http = None if call is None or call.http is None else {**call.http, "id": call.id}
        session.traffic.add(at, False, line, message, http=http)
        if self._repeated_names:
            session.remarks.add_repeated_names(self._repeated_names, line, "" if call is None else _in_answer_to(call))
            self._repeated_names.clear()
        self._handle(message, line, at)

    def _handle(self, message: Any, line: bytes, at: float, *, size: int | None = None) -> None:
        """Handle one message of `line`. `size` is its memory in bytes, where it is not the whole line."""
        kind = wire.kind_of(message)
        if kind is Kind.ANSWER:
            self._handle_answer(message, line, at)
        elif kind is Kind.NOTIFICATION:
            if message["method"] == "notifications/tools/list_changed":
                self._session.lists.pop("tools", None)
            elif message["method"] == "notifications/prompts/list_changed":
                self._session.lists.pop("prompts", None)
            self._session.server_messages.add_notification(message, size=value_bytes(line) if size is None else size)
        elif kind is Kind.REQUEST:
            self._handle_request(message, size=value_bytes(line) if size is None else size)
        elif kind is Kind.BATCH and size is None:
            self._handle_batch(message, line, at)
        else:
            self._session.remarks.add_noise(line, at)

    def _handle_answer(self, message: dict[str, object], line: bytes, at: float) -> None:
        call = self._calls.get(message.get("id"))
        self.answered_at = at
        if call is None or not (self._session.is_listing and call.method.endswith("/list")):
            self.served_at = at
        if call is None:
            self._handle_unmatched(message, line, at)
        else:
            self._handle_matched(call, message, line, at)
        if self._without_id is not None and len(waiting := list(self._calls)) < 2:
            fault, line, at, candidates = self._without_id
            self._without_id = None
            for left in (one for one in waiting if one in candidates):
                left.done_at = at
                self._session.failed(left, broken_answer(left.method, fault, self._clipped(line)))

    def _handle_matched(self, call: Call, message: dict[str, object], line: bytes, at: float) -> None:
        call.done_at = at
        call.size = len(line)
        call.behind = self._waits.note_answered(call.id, call.sent_at, call.tool_or_method, at)
        fault = wire.answer_fault(message, self._session.spec.redact)
        if fault is not None:
            self._session.failed(call, broken_answer(call.method, fault, self._clipped(line)))
        elif call.fault is not None and not (self._session.stateless and wire.is_step(message)):
            self._apply_fault(call, message)
        else:
            self._calls.drop(call)
            if not call.future.done():
                call.future.set_result(message)

    def _apply_fault(self, call: Call, message: dict[str, object]) -> None:
        """Apply the test's `fault:` to the answer."""
        fault, call.fault = call.fault, None
        assert fault is not None
        if fault.kind == "delay":
            asyncio.get_running_loop().call_later(fault.delay_seconds, self._deliver_late, call, message)
            return
        result = message.get("result")
        is_error = "error" in message or (isinstance(result, dict) and result.get("isError") is True)
        if fault.wanted is (ExpectedOutcome.SUCCESS if is_error else ExpectedOutcome.ERROR):
            self._deliver_late(call, message)  # the test fails because of this answer, and not because it is lost
            return
        self._session.failed(call, answer_lost(call.method, fault.kind))
        if fault.kind == "disconnect" and self._session.transport == "stdio":
            self._session.cut_off()

    def _deliver_late(self, call: Call, message: dict[str, object]) -> None:
        self._calls.drop(call)
        if not call.future.done():
            call.done_at = monotonic()
            call.future.set_result(message)

    def _handle_unmatched(self, message: dict[str, object], line: bytes, at: float) -> None:
        """Handle an answer that no call waits for: a late one, or one with a wrong id."""
        call_id = message.get("id")
        if isinstance(call_id, int) and self._calls.was_issued(call_id):
            # Late: its call timed out, and the traffic has it. Or it is a second answer, and the first one counts.
            late = self._calls.given_up.get(call_id)
            if late is not None:
                self._waits.note_answered(call_id, at, late, at)
            elif not self._answered_twice:
                self._answered_twice = True
                self._session.remarks.add("answered a request twice; the first answer counts")
            return
        call, fault = None, ""
        if isinstance(call_id, str) and _ID_AS_TEXT.fullmatch(call_id):
            call, fault = self._calls.get(int(call_id)), "its `id` is a string, where the request's was a number"
        elif call_id is None:
            fault = "its `id` is null" if "id" in message else "it has no `id`"
            waiting = list(self._calls)
            if len(waiting) == 1:
                (call,) = waiting
            elif len(waiting) == 2 and self._session.is_listing:
                # The list's, or the test's: it belongs to the one that gets no other answer.
                self._without_id = (fault, line, at, waiting)
                return
        if call is None:
            self._session.remarks.add_noise(line, at)
        else:
            call.done_at = at
            self._session.failed(call, broken_answer(call.method, fault, self._clipped(line)))

    def _handle_batch(self, batch: list[Any], line: bytes, at: float) -> None:
        if self._session.protocol_version == wire.BATCH_REVISION:
            share = value_bytes(line) // max(len(batch), 1)
            for message in batch:
                try:
                    self._handle(message, line, at, size=share)
                except Exception:  # noqa: BLE001 - the boundary of `Session.received`: the other messages are read as ever
                    self._session.remarks.add_noise(line, at)
            return
        waiting = [self._calls.get(item.get("id")) for item in batch if wire.kind_of(item) is Kind.ANSWER]
        if not any(waiting):
            self._session.remarks.add_noise(line, at)
        for call in filter(None, waiting):
            fault = "it is in an array of messages"
            self._session.failed(call, broken_answer(call.method, fault, self._clipped(line)))

    def _handle_request(self, message: JsonDict, *, size: int) -> None:
        session, method, params = self._session, message["method"], message.get("params")
        call = self._calls.get(message["id"])
        # A `ping` may be the server's own request with the same id.
        sent = None if call is None or call.params is None else dict(call.params)
        if call is not None and call.method == method != "ping" and params == sent:
            session.failed(call, sent_back(method))
            return
        answer = session.client_side.answer(method, params)
        session.send(wire.encode_reply(message["id"], result=answer.get("result"), error=answer.get("error")))
        if method == "ping":
            return
        if not session.client_side.declares(method):
            self.refused = (monotonic(), method)
        session.server_messages.add_request({"method": method, "params": params, **answer}, size=size)

    def _clipped(self, line: bytes) -> str:
        return clip(line, 300, self._session.spec.redact)


def _in_answer_to(call: Call) -> str:
    where = f' in its answer to "{call.method}"'
    if call.method == "tools/call" and call.params is not None:
        where += f" of {json.dumps(str(call.params.get('name'))[:80], ensure_ascii=False)}"
    return where
