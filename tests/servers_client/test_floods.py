"""A server that keeps us busy without end: its call ends in its time, and so does closing."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.errors import CallTimeout
from mcptest_engine.servers.calls import Calls
from tests.servers_client.http_scripts import HostileServer, call, call_fails, event, head, scripted, web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.servers.calls import Call
    from mcptest_engine.servers.session import Session

PING = '{"jsonrpc":"2.0","id":"p","method":"ping"}'


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServer]:
    yield from scripted()


def test_a_loop_that_is_always_busy_ends_a_call_all_the_same(run: Callable) -> None:
    """What we were busy with is not the server's time, but for a second at most: it may be the server's doing."""

    async def busy() -> int:
        ended: list[Call] = []
        calls, turns = Calls(ended.append), 0
        calls.start("tools/call", 0.1)
        while not ended and turns < 20:
            turns += 1
            time.sleep(0.25)  # noqa: ASYNC251  # a turn of the loop that takes long
            await asyncio.sleep(0)
        calls.stop()
        return turns

    assert run(busy()) <= 6


def test_pings_without_end_over_a_stream_neither_prolong_a_call_nor_pile_up(
    hostile: HostileServer, with_session: Callable
) -> None:
    """Few answers are under way at once, and few wait; the session is closed as ever."""
    url = hostile.calling({"send": head(kind="text/event-stream")}, {"flood": event(PING)})

    async def use(session: Session) -> None:
        await call_fails(session, CallTimeout, seconds=0.5)
        transport = session._transport
        assert len(transport._posts) <= 18  # type: ignore[attr-defined]
        assert len(transport._waiting) <= 256  # type: ignore[attr-defined]

    with_session(web(url), use)


def test_pings_without_end_over_stdio_do_not_prolong_a_call(script: Callable, with_session: Callable) -> None:
    """The same over a pipe, by a server that reads no answer."""

    async def use(session: Session) -> None:
        with pytest.raises(CallTimeout):
            await session.request("tools/call", None, timeout_seconds=0.5)

    with_session(script("bad_calls", "asking", 10**9, grace_seconds=0.1), use)


def test_more_requests_at_once_than_are_answered_at_once_are_all_answered(
    hostile: HostileServer, with_session: Callable, until: Callable
) -> None:
    """MCP 2025-11-25, basic/utilities/ping: each gets its answer, some after others."""
    pings = [event(PING.replace('"p"', str(number))) for number in range(100)]
    url = hostile.calling({"send": head(kind="text/event-stream") + "".join(pings) + event()}, {"close": True})

    async def use(session: Session) -> None:
        await call(session)
        await until(lambda: len(hostile.seen(url, "POST")) >= 103)
        assert len(hostile.seen(url, "POST")) == 103

    with_session(web(url), use)
