"""One call in the stateless lifecycle, which may take several requests.

Every request names its client in `_meta`. A result may ask for input (`input_required`): it is answered from the suite's
`client:`, and the call is repeated with the answers, up to ten times. Where the suite declares no answer, the question is the
result, for the test to judge. A server may require arguments in headers, by its tools' schemas. They are read only after it has
refused a call because of missing headers.
Source: MCP 2026-07-28, basic (per-request fields), SEP-2322 (multi-round requests), SEP-2243 (parameter headers).
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import CallTimeout
from mcptest_engine.servers import wire
from mcptest_engine.servers.failures import CallFailed, timed_out
from mcptest_engine.servers.memory import parsed_bytes
from mcptest_engine.servers.param_headers import ParamHeaders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.servers.calls import Exchange, Fault, OpenSession

MAX_ANSWERS = 10
_STATE_ONLY_WAIT_SECONDS = 0.05
_MAX_PAGES = 100


async def send_stateless(
    session: OpenSession, method: str, params: Mapping[str, object] | None, timeout_seconds: float, fault: Fault | None
) -> Exchange:
    """Make the call and return its last exchange, with the duration of all requests; `timeout_seconds` holds for all of them.

    Raises: as `Session.send_request`.
    """
    deadline = monotonic() + timeout_seconds
    further: JsonDict = {}
    taken_ms, behind = 0.0, None
    for count in range(MAX_ANSWERS + 1):
        exchange = await _send_one(session, method, params, further, deadline, timeout_seconds, fault)
        taken_ms += exchange.duration_ms
        if exchange.behind is not None:
            behind = {**exchange.behind, "ms": exchange.behind["ms"] + (behind["ms"] if behind else 0.0)}
        answered = None if count == MAX_ANSWERS else await _input_responses(session, exchange)
        if answered is None:
            break
        further = answered
    return replace(exchange, duration_ms=taken_ms, behind=behind)


async def _send_one(
    session: OpenSession,
    method: str,
    params: JsonMapping | None,
    further: JsonMapping,
    deadline: float,
    timeout_seconds: float,
    fault: Fault | None,
) -> Exchange:
    given = dict(params or {})
    given["_meta"] = {**session.request_meta, **(given.get("_meta") or {})}
    sent = {**given, **further}
    headers = _headers(session).of_call(method, params)

    def left() -> float:
        seconds = deadline - monotonic()
        if seconds <= 0:
            raise timed_out(method, timeout_seconds, noise=None, unfinished=None)
        return seconds

    try:
        exchange = await session.send_request(method, params, left(), fault, sent=sent, headers=headers)
        error = exchange.answer.get("error")
        lacks_headers = isinstance(error, dict) and error.get("code") == wire.HEADER_MISMATCH
        if method == "tools/call" and lacks_headers and session.transport != "stdio":
            taken_ms = exchange.duration_ms + await _look_up_headers(session, left)
            headers = _headers(session).of_call(method, params)
            exchange = await session.send_request(method, params, left(), fault, sent=sent, headers=headers)
            exchange = replace(exchange, duration_ms=exchange.duration_ms + taken_ms)
    except CallFailed as failure:
        if failure.error is CallTimeout and not failure.own_limit:
            failure.clause = timed_out(method, timeout_seconds, noise=None, unfinished=None).clause
        raise
    if method == "tools/list":
        _headers(session).learn(exchange.answer.get("result"))
    return exchange


async def _input_responses(session: OpenSession, exchange: Exchange) -> dict[str, object] | None:
    """The members to repeat the call with; None when `exchange` is its last."""
    result = exchange.answer.get("result")
    if not isinstance(result, dict) or result.get("resultType") != "input_required":
        return None
    requests, state = result.get("inputRequests"), result.get("requestState")
    further: JsonDict = {} if state is None else {"requestState": state}
    if isinstance(requests, dict) and requests:
        answers = session.client_side.answers_to(requests)
        if answers is None:
            return None
        for key, request in requests.items():
            answered = {"method": request.get("method"), "params": request.get("params"), "result": answers[key]}
            session.server_messages.add_request(answered, size=parsed_bytes(request))
        return {**further, "inputResponses": answers}
    if state is None:
        return None  # it asks for nothing and has no state: this is its answer
    await asyncio.sleep(_STATE_ONLY_WAIT_SECONDS)
    return further


def _headers(session: OpenSession) -> ParamHeaders:
    if session.param_headers is None:
        session.param_headers = ParamHeaders()
    return session.param_headers


async def _look_up_headers(session: OpenSession, left: Callable[[], float]) -> float:
    """Read the tools' schemas, all pages, to learn which headers the server requires; return how many milliseconds that took.

    `left` returns the seconds that the call still has, and raises when there are none.
    """
    params: JsonDict = {}
    taken_ms = 0.0
    for _ in range(_MAX_PAGES):
        exchange = await session.send_request(
            "tools/list", params, left(), sent={**params, "_meta": session.request_meta}
        )
        taken_ms += exchange.duration_ms
        result = exchange.answer.get("result")
        _headers(session).learn(result)
        cursor = result.get("nextCursor") if isinstance(result, dict) else None
        if not isinstance(cursor, str) or not cursor or cursor == params.get("cursor"):
            break
        params = {"cursor": cursor}
    session.remarks.add(
        "refused a call because of missing headers; its tools were listed to find out which headers it requires"
    )
    return taken_ms
