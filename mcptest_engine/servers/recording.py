"""Recording what servers answer, while they are tested as ever: `connect` with an ear for every exchange.

What is not answered (a timeout, a death) is not recorded, and counted. Redaction is the caller's, at the end: secrets that are
got on the way are known only then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcptest_engine.servers.session import Exchange, Session
    from mcptest_engine.servers.spec import ServerSpec

    Connect = Callable[[ServerSpec], Awaitable[Session]]


class Recorder:
    """Hears the sessions that `connect` opens."""

    def __init__(self) -> None:
        self._servers: dict[str, dict[str, Any]] = {}

    def connecting(self, connect: Connect) -> Connect:
        """`connect`, and what is said is kept."""

        async def connected(spec: ServerSpec) -> Session:
            session = await connect(spec)
            kept = self._servers.setdefault(spec.name, {"transport": session.transport, "exchanges": []})
            heard = len(session.notifications)
            if session.handshake is not None:
                kept["exchanges"].append(_told(session.handshake, session.notifications[:heard]))

            def hear(exchange: Exchange) -> None:
                nonlocal heard
                fresh, heard = session.notifications[heard:], len(session.notifications)
                kept["exchanges"].append(_told(exchange, fresh))

            session.heard = hear
            return session

        return connected

    def servers(self) -> dict[str, Any]:
        """What was kept, by server, not redacted."""
        return self._servers


def _told(exchange: Exchange, notifications: list[dict[str, Any]]) -> dict[str, Any]:
    answer = {key: exchange.answer[key] for key in ("result", "error") if key in exchange.answer}
    told: dict[str, Any] = {
        "method": exchange.method,
        "params": exchange.params,
        "answer": answer,
        "duration_ms": round(exchange.duration_ms, 3),
    }
    if notifications:
        told["notifications"] = notifications
    if exchange.http is not None:
        told["http"] = exchange.http
    return told
