"""Recording what servers answer, while they are tested as ever: `connect` with an ear for every exchange.

What is not answered (a timeout, a death) is not recorded; what HTTP refuses is. Redaction is the caller's, at the end: secrets
that are got on the way are known only then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import AuthFailed, ServerError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from mcptest_engine.servers.calls import Exchange
    from mcptest_engine.servers.failures import CallFailed
    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec

    Connect = Callable[[ServerSpec], Awaitable[Session]]


class Recorder:
    """Hears the sessions that `connect` opens."""

    def __init__(self) -> None:
        self._servers: dict[str, dict[str, Any]] = {}
        self._unasked: list[_Unasked] = []

    def connecting(self, connect: Connect) -> Connect:
        """`connect`, and what is said is kept."""

        async def connected(spec: ServerSpec) -> Session:
            try:
                session = await connect(spec)
            except AuthFailed as refusal:
                kept = self._servers.setdefault(spec.name, {"transport": "http", "exchanges": []})
                kept["exchanges"].append(_exchange_record(_refused_opening(spec, refusal)))
                raise
            kept = self._servers.setdefault(spec.name, {"transport": session.transport, "exchanges": []})
            unasked = _Unasked(session)
            self._unasked.append(unasked)
            if session.handshake is not None:
                unasked.into(_exchange_record(session.handshake), kept["exchanges"])

            def hear(exchange: Exchange | None) -> None:
                if exchange is None:
                    unasked.take()
                else:
                    unasked.into(_exchange_record(exchange), kept["exchanges"])

            session.heard = hear
            return session

        return connected

    def servers(self) -> dict[str, Any]:
        """What was kept, by server, not redacted."""
        for unasked in self._unasked:
            unasked.take()
        return self._servers


class _Unasked:
    """What a server sends and asks of its own accord, put to the exchange that it came with, or after."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._taken = {"notifications": 0, "server_requests": 0}
        self._last: dict[str, Any] | None = None

    def into(self, told: dict[str, Any], exchanges: list[dict[str, Any]]) -> None:
        """Add an exchange that has ended, with what came meanwhile."""
        exchanges.append(told)
        if self._last is None or not self._session.is_listing:
            self._last = told
        self.take()

    def take(self) -> None:
        """Put what has come since to the last exchange."""
        if self._last is None:
            return
        for name, came in self._came():
            fresh = came[self._taken[name] :]
            self._taken[name] = len(came)
            if fresh:
                self._last.setdefault(name, []).extend(fresh)

    def _came(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        yield "notifications", self._session.server_messages.notifications
        if not self._session.stateless:  # there the server asks in its answers, which a replay answers anew
            yield "server_requests", self._session.server_messages.requests


def _refused_opening(spec: ServerSpec, refusal: AuthFailed) -> Exchange:
    from mcptest_engine.servers.calls import Exchange

    method = "server/discover" if spec.protocol == "2026-07-28" else "initialize"
    return Exchange(method=method, params=None, answer={}, duration_ms=0.0, http=refusal.http, refusal=refusal)


def _exchange_record(exchange: Exchange) -> dict[str, Any]:
    answer = {key: exchange.answer[key] for key in ("result", "error") if key in exchange.answer}
    refusal = exchange.refusal
    told: dict[str, Any] = {
        "method": exchange.method,
        "params": exchange.params,
        **({"answer": answer} if refusal is None else {"refusal": _refusal_record(refusal)}),
        "duration_ms": round(exchange.duration_ms, 3),
    }
    if exchange.http is not None:
        told["http"] = exchange.http
    return told


def _refusal_record(refusal: CallFailed | ServerError) -> dict[str, Any]:
    """The failure as `replay.refusal_of` reads it: what it says, and whether it is about who asks."""
    if isinstance(refusal, ServerError):
        return {"auth": True, "message": refusal.message, "hint": refusal.hint}
    return {"auth": False, "message": refusal.clause, "hint": refusal.hint}
