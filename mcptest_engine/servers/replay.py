"""A transport that answers from a cassette instead of a server.

An answer takes as long as when it was recorded. A request without a recorded answer fails at once, with an error that is not
the server's.
"""

from __future__ import annotations

import asyncio
import json
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import AuthFailed, ProtocolBroken, ServerError
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.servers.failures import CallFailed, Ending
from mcptest_engine.servers.recorded_exchanges import OPENINGS, RecordedExchanges
from mcptest_engine.servers.transport import ConnectionlessTransport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.servers.calls import Call
    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.transport import Receiver

    Connect = Callable[[ServerSpec], Awaitable[Session]]

METHOD_NOT_FOUND = -32601
_LONGEST_MS = 1e9


class NotRecorded(ServerError):
    """The cassette has no answer to a request; no server was asked."""


def replaying(cassette: JsonMapping, *, name: str, redact: Callable[[Any], Any]) -> Connect:
    """Make a `connect` to the servers of a cassette. `redact` is that of the recording: params are compared without secrets."""
    recorded = {server: RecordedExchanges(recording["exchanges"]) for server, recording in cassette["servers"].items()}
    kinds = {server: str(recording.get("transport", "stdio")) for server, recording in cassette["servers"].items()}

    async def connect(spec: ServerSpec) -> Session:
        from mcptest_engine.servers.session import open_over

        if spec.name not in recorded:
            raise NotRecorded(
                f'the cassette `{name}` has nothing of server "{spec.name}"',
                server=spec.name,
                hint=f"record it again: mcptest run --record {name}",
            )
        exchanges, kind = recorded[spec.name], kinds[spec.name]
        return await open_over(_Transport(spec, exchanges, kind, name=name, redact=redact), spec)

    return connect


class _Transport(ConnectionlessTransport):
    """A transport without a server."""

    def __init__(
        self,
        spec: ServerSpec,
        exchanges: RecordedExchanges,
        kind: str,
        *,
        name: str,
        redact: Callable[[object], object],
    ) -> None:
        self.kind = kind
        self.auth = spec.auth
        self._spec, self._exchanges, self._name, self._redact = spec, exchanges, name, redact
        self._receiver: Receiver | None = None

    def open(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, line: bytes, call: Call | None, *, urgent: bool) -> None:  # noqa: ARG002
        if call is not None:
            asyncio.get_running_loop().call_soon(self._answer, call)

    def _answer(self, call: Call) -> None:
        """Answer one call. A cassette is a file, so any exception here fails this call alone, at once."""
        receiver = self._receiver
        if receiver is None or call.future.done():
            return
        try:
            self._answer_recorded(receiver, call)
        except Exception as wrong:  # noqa: BLE001 - see above
            why = one_line(f"{type(wrong).__name__}: {wrong}", 200)
            message = f"is replayed from `{self._name}`, whose exchange for this {call.method} cannot be read: {why}"
            receiver.failed(
                call, CallFailed(NotRecorded, message, hint=f"record it again: mcptest run --record {self._name}")
            )

    def _answer_recorded(self, receiver: Receiver, call: Call) -> None:
        params = self._redact(call.params)
        exchange = self._exchanges.take(call.method, params)
        if exchange is not None:
            self._give(receiver, call, exchange)
        elif call.method in OPENINGS and self._exchanges.methods & OPENINGS:
            self._say(
                receiver, call, {"error": {"code": METHOD_NOT_FOUND, "message": f"no {call.method} was recorded"}}
            )
        else:
            message = f"is replayed from `{self._name}`, and {self._exchanges.near(call.method, params)}"
            hint = f"record it again: mcptest run --record {self._name}"
            receiver.failed(call, CallFailed(NotRecorded, message, hint=hint))

    def _give(self, receiver: Receiver, call: Call, exchange: JsonMapping) -> None:
        now = monotonic()
        for notification in exchange.get("notifications") or ():
            receiver.received(_message_line(notification), now)
        for request in exchange.get("server_requests") or ():
            receiver.server_messages.add_request(request, size=len(_message_line(request)))
        if exchange.get("http") is not None:
            call.http = dict(exchange["http"])
        if "refusal" in exchange:
            refusal = exchange["refusal"]
            message, hint = str(refusal["message"]), refusal.get("hint")
            failure: CallFailed | ServerError = CallFailed(ProtocolBroken, message, hint=hint)
            if refusal.get("auth"):
                failure = AuthFailed(message, server=self._spec.name, hint=hint)
            receiver.failed(call, failure)
            return
        took = exchange.get("duration_ms")
        seconds = took / 1000 if isinstance(took, (int, float)) and 0 <= took < _LONGEST_MS else 0.0
        self._say(receiver, call, exchange["answer"], at=call.sent_at + seconds)

    def _say(self, receiver: Receiver, call: Call, answer: Mapping[str, object], *, at: float | None = None) -> None:
        line = _message_line({"jsonrpc": "2.0", **answer, "id": call.id})
        receiver.received(line, monotonic() if at is None else at)

    def withdraw(self, call: Call) -> bool:  # noqa: ARG002
        return True

    async def close(self) -> Ending:
        return Ending(clause="has no more recorded answers")

    def stderr_since(self, at: float) -> str:  # noqa: ARG002
        return ""


def _message_line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "backslashreplace")
