"""A session that is answered from a cassette, for any client, over stdio or HTTP.

A request is matched by method and params, an opening by its method alone. The first unused answer is sent without delay. A
request without a recorded answer gets a JSON-RPC error, so that no client waits.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcptest_engine.mock.messages import INVALID_PARAMS, METHOD_NOT_FOUND, Answer, Cancel, Silence
from mcptest_engine.servers.recorded_exchanges import OPENINGS, RecordedExchanges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.mock.messages import Change, Effect

_NO_ANSWER = -32004


class ReplaySession:
    """One client's session with a recorded server; each session starts the cassette from the beginning."""

    def __init__(self, exchanges: list[Mapping[str, object]], *, redact: Callable[[object], object]) -> None:
        self._tape = RecordedExchanges(exchanges)
        self._redact = redact

    def receive(self, message: Mapping[str, object]) -> Effect:
        """The effect of a message that `read_message` has parsed."""
        if "method" not in message:
            return Silence()
        if "id" not in message:
            return self._receive_notification(message)
        return self._answer(message)

    def receive_stateless(
        self,
        message: Mapping[str, object],
        headers: Mapping[str, str] | None,  # noqa: ARG002 - what HTTP says beside it was not recorded
        repeated: frozenset[str] = frozenset(),  # noqa: ARG002
    ) -> Effect:
        """The effect of a request of the stateless lifecycle."""
        return self._answer(message)

    def notification_of(self, change: Change) -> bytes | None:  # noqa: ARG002
        """Return None: a cassette does not change."""
        return None

    def _receive_notification(self, message: Mapping[str, object]) -> Effect:
        params = message.get("params")
        key = params.get("requestId") if isinstance(params, dict) else None
        if message["method"] == "notifications/cancelled" and isinstance(key, str | int | float):
            return Cancel((type(key), key))
        return Silence()

    def _answer(self, message: JsonMapping) -> Answer:
        key, method = message["id"], message["method"]
        params = self._redact(message.get("params"))
        exchange = self._tape.take(method, params)
        if exchange is None and method == "ping":
            return _said(key, {"result": {}})
        if exchange is None:
            code = METHOD_NOT_FOUND if method in OPENINGS else _NO_ANSWER
            code = INVALID_PARAMS if method in self._tape.methods and method not in OPENINGS else code
            return _said(key, {"error": {"code": code, "message": self._tape.near(method, params)}}, code=code)
        if "refusal" in exchange:
            status = (exchange.get("http") or {}).get("status")
            refused = {"error": {"code": _NO_ANSWER, "message": f"HTTP {status} was recorded in place of an answer"}}
            return _said(key, refused, code=_NO_ANSWER)
        before = tuple(_json_line(notification) for notification in exchange.get("notifications") or ())
        return _said(key, exchange["answer"])._replace(before=before)


def _said(key: str | float, answer: Mapping[str, object], *, code: int | None = None) -> Answer:
    return Answer(body=_json_line({"jsonrpc": "2.0", "id": key, **answer}), key=(type(key), key), error_code=code)


def _json_line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "backslashreplace")
