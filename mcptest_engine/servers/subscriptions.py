"""Subscribes to what a suite's `client:` asks for: log messages, changed resources, changed lists.

The handshake revisions have a request for each; the stateless one has one standing request, `subscriptions/listen`, whose
answer comes when it ends. A server that refuses fails nothing here: the tests that wait for its notifications will.
Source: MCP 2025-11-25, server/utilities/logging, server/resources#subscriptions; MCP 2026-07-28, subscriptions/listen.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import describe_error
from mcptest_engine.servers.failures import CallFailed

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.servers.calls import OpenSession

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_FOR_EVER = 10 * 365 * 24 * 3600.0


async def subscribe_to_notifications(session: OpenSession) -> None:
    """Subscribe to what `session.spec.client` asks for; refusals become remarks. Raises: ServerDied, AuthFailed."""
    client = session.spec.client
    if session.stateless:
        await _listen(session)
        return
    if client.get("log_level") is not None:
        if "logging" in session.capabilities:
            await _send_request(session, "logging/setLevel", {"level": client["log_level"]})
        else:
            session.remarks.add("declares no `logging` capability, so `client.log_level` has no effect")
    for uri in client.get("subscriptions", ()):
        await _send_request(session, "resources/subscribe", {"uri": uri})


async def _send_request(session: OpenSession, method: str, params: dict[str, object]) -> None:
    try:
        exchange = await session.send_request(method, params, session.spec.connect_timeout_seconds)
    except CallFailed as failure:
        session.remarks.add(f"{failure.clause} (asked for by `client:`)")
        return
    if "error" in exchange.answer:
        session.remarks.add(f"refused `{method}`: {describe_error(exchange.answer['error'], session.spec.redact)}")


async def _listen(session: OpenSession) -> None:
    """Open the standing request and wait until it is acknowledged or refused."""
    wanted = _filter(session)
    if not wanted:
        return
    params = {"notifications": wanted, "_meta": session.request_meta}
    listening = asyncio.ensure_future(session.send_request("subscriptions/listen", params, _FOR_EVER))
    listening.add_done_callback(lambda task: _remark_end(session, task))
    deadline = monotonic() + session.spec.connect_timeout_seconds
    seen = 0
    while not listening.done() and monotonic() < deadline:
        arrived = session.server_messages.notifications[seen:]
        seen += len(arrived)
        if any(message.get("method") == ACKNOWLEDGED for message in arrived):
            return
        waiting = asyncio.ensure_future(session.next_message(deadline - monotonic()))
        await asyncio.wait((listening, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
    if not listening.done():
        session.remarks.add("did not acknowledge `subscriptions/listen`")


def _filter(session: OpenSession) -> JsonDict:
    client = session.spec.client
    wanted: JsonDict = {}
    if client.get("list_changed"):
        for kind in ("tools", "prompts", "resources"):
            if kind in session.capabilities:
                wanted[f"{kind}ListChanged"] = True
    if client.get("subscriptions"):
        wanted["resourceSubscriptions"] = list(client["subscriptions"])
    return wanted


def _remark_end(session: OpenSession, task: asyncio.Task[Any]) -> None:
    if task.cancelled() or (failure := task.exception()) is not None:
        if not task.cancelled() and isinstance(failure, CallFailed) and session.alive:
            session.remarks.add(f"{failure.clause} (asked for by `client:`)")
        return
    answer = task.result().answer
    if "error" in answer:
        reason = describe_error(answer["error"], session.spec.redact)
        session.remarks.add(f"refused `subscriptions/listen`: {reason}")
