"""Records a server's answers while it is tested: a `connect` that listens to every exchange.

Calls without an answer (a timeout, a death) are not recorded; refusals over HTTP are. The caller redacts at the end, since
secrets that are obtained during the run are known only then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import AuthFailed, ServerError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.servers.calls import Exchange
    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec

    Connect = Callable[[ServerSpec], Awaitable[Session]]


class Recorder:
    """Records the sessions that `connect` opens."""

    def __init__(self) -> None:
        self._servers: dict[str, JsonDict] = {}
        self._unasked: list[_Unasked] = []

    def connecting(self, connect: Connect) -> Connect:
        """Wrap `connect` so that every session is recorded."""

        async def connected(spec: ServerSpec) -> Session:
            try:
                session = await connect(spec)
            except AuthFailed as refusal:
                from mcptest_engine.servers.calls import Exchange

                recorded = self._servers.setdefault(spec.name, {"transport": "http", "exchanges": []})
                method = "server/discover" if spec.protocol == "2026-07-28" else "initialize"
                opening = Exchange(method=method, params=None, answer={}, duration_ms=0.0, http=refusal.http)
                recorded["exchanges"].append(_exchange_record(replace(opening, refusal=refusal)))
                raise
            recorded = self._servers.setdefault(spec.name, {"transport": session.transport, "exchanges": []})
            unasked = _Unasked(session)
            self._unasked.append(unasked)
            if session.handshake is not None:
                unasked.into(_exchange_record(session.handshake), recorded["exchanges"])

            def hear(exchange: Exchange | None) -> None:
                if exchange is None:
                    unasked.take()
                else:
                    unasked.into(_exchange_record(exchange), recorded["exchanges"])

            session.heard = hear
            return session

        return connected

    def servers(self) -> JsonDict:
        """The recorded exchanges by server, not redacted."""
        for unasked in self._unasked:
            unasked.take()
        return self._servers


class _Unasked:
    """Adds the server's notifications and requests to the exchange during or after which they arrived."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._taken = {"notifications": 0, "server_requests": 0}
        self._last: JsonDict | None = None

    def into(self, record: JsonDict, exchanges: list[JsonDict]) -> None:
        """Add a finished exchange, with what arrived meanwhile."""
        exchanges.append(record)
        if self._last is None or not self._session.is_listing:
            self._last = record
        self.take()

    def take(self) -> None:
        """Add what has arrived since to the last exchange."""
        if self._last is None:
            return
        received = {"notifications": self._session.server_messages.notifications}
        if not self._session.stateless:  # there the server's questions are in its answers, which a replay answers anew
            received["server_requests"] = self._session.server_messages.requests
        for name, messages in received.items():
            fresh = messages[self._taken[name] :]
            self._taken[name] = len(messages)
            if fresh:
                self._last.setdefault(name, []).extend(fresh)


def _exchange_record(exchange: Exchange) -> JsonDict:
    """An exchange as the cassette stores it and `replay.py` reads it; `auth` says that a refusal is about credentials."""
    refusal = exchange.refusal
    record: JsonDict = {"method": exchange.method, "params": exchange.params}
    if refusal is None:
        record["answer"] = {key: exchange.answer[key] for key in ("result", "error") if key in exchange.answer}
    else:
        is_auth = isinstance(refusal, ServerError)
        message = refusal.message if isinstance(refusal, ServerError) else refusal.clause
        record["refusal"] = {"auth": is_auth, "message": message, "hint": refusal.hint}
    record["duration_ms"] = round(exchange.duration_ms, 3)
    if exchange.http is not None:
        record["http"] = exchange.http
    return record
