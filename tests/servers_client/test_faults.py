"""Answers that are lost or late on purpose: the suite's `fault:`, on an unmodified server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import AnswerLost, CallTimeout
from mcptest_engine.servers.calls import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.servers.calls import Exchange
    from mcptest_engine.servers.session import Session


async def counted(session: Session, fault: Fault | None = None, timeout_seconds: float = 30) -> Exchange:
    return await session.request(
        "tools/call", {"name": "count", "arguments": {}}, timeout_seconds=timeout_seconds, fault=fault
    )


def count(exchange: Exchange) -> Any:
    return json.loads(exchange.answer["result"]["content"][0]["text"])


def test_a_dropped_answer_is_lost_and_its_effect_is_not(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        with pytest.raises(AnswerLost) as lost:
            await counted(session, Fault("drop_response"))
        assert lost.value.message == 'server "asking" had its answer to "tools/call" dropped by `fault: drop_response`'
        assert count(await counted(session)) == 2

    with_session(script("asking"), use)


def test_a_cut_connection_ends_the_session_of_a_pipe(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        with pytest.raises(AnswerLost, match=r"cut off by `fault: disconnect`"):
            await counted(session, Fault("disconnect"))
        assert not session.alive

    with_session(script("asking"), use)


def test_a_delayed_answer_counts_from_when_it_is_let_through(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        exchange = await counted(session, Fault("delay", 0.2))
        assert exchange.duration_ms >= 200

    with_session(script("asking"), use)


def test_a_delay_beyond_the_timeout_is_a_timeout(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        with pytest.raises(CallTimeout):
            await counted(session, Fault("delay", 60), timeout_seconds=0.2)
        assert count(await counted(session)) == 2

    with_session(script("asking"), use)


def test_a_delayed_answer_does_not_outlive_its_session(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        import asyncio

        call = asyncio.ensure_future(counted(session, Fault("delay", 60)))
        await asyncio.sleep(0.05)
        await session.close()
        with pytest.raises(Exception, match="was closed by mcptest"):
            await call

    with_session(script("asking"), use)
