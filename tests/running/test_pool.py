"""Sessions of a run that are not the shared ones: for one test alone, or in place of one that was ended on purpose."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import AnswerLost, NotReady, ServerDied
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.running.pool import MOST_DEATHS, Pool
from mcptest_engine.servers.calls import Fault
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import Readiness, ServerSpec

if TYPE_CHECKING:
    from mcptest_engine.servers.session import Session

SERVER = Path(__file__).resolve().parents[1] / "servers" / "asking.py"


def pool_of(**settings: Any) -> Pool:
    command = (sys.executable, "-S", str(SERVER))
    spec = ServerSpec(name="asking", command=command, env={"PATH": os.environ["PATH"]}, **settings)
    return Pool({"asking": spec}, connect, lambda: Redactor(frozenset()))


async def called(session: Session, tool: str, fault: Fault | None = None) -> Any:
    exchange = await session.request("tools/call", {"name": tool}, timeout_seconds=30, fault=fault)
    return json.loads(exchange.answer["result"]["content"][0]["text"])


def test_a_session_of_ones_own_has_its_own_client_and_ends_with_its_block() -> None:
    async def work() -> None:
        pool = pool_of(client={"roots": []})
        try:
            shared = await pool.session("asking")
            async with pool.own_session("asking", {"sampling": "x"}) as own:
                assert own is not shared
                assert await called(own, "declared") == {"sampling": {}}
            assert not own.alive
            assert await called(shared, "declared") == {"roots": {}}
        finally:
            await pool.close()
        (record,) = pool.records()
        assert (record.restarts, record.server_info) == (0, {"name": "asking", "version": "1.0"})

    asyncio.run(work())


def test_a_server_that_had_only_sessions_of_tests_own_is_in_the_record() -> None:
    async def work() -> None:
        pool = pool_of()
        async with pool.own_session("asking", {}):
            pass
        await pool.close()
        (record,) = pool.records()
        assert record.server_info == {"name": "asking", "version": "1.0"}

    asyncio.run(work())


def test_a_session_that_was_cut_off_is_renewed_without_counting_a_restart() -> None:
    async def work() -> None:
        pool = pool_of()
        try:
            for _ in range(3):
                session = await pool.session("asking")
                assert await called(session, "count") == 1
                with pytest.raises(AnswerLost):
                    await called(session, "count", Fault("disconnect"))
                await pool.renew("asking", session)
            assert await called(await pool.session("asking"), "count") == 1
        finally:
            await pool.close()
        assert pool.records()[0].restarts == 0

    asyncio.run(work())


@pytest.mark.parametrize(("settings", "starts"), [({}, MOST_DEATHS), ({"restart": False}, 1)], ids=["restarts", "none"])
def test_a_server_that_dies_in_every_call_is_given_up(settings: dict[str, Any], starts: int) -> None:
    async def work() -> None:
        command = (sys.executable, "-S", str(SERVER.with_name("counted.py")), os.devnull)
        pool = Pool(
            {"s": ServerSpec(name="s", command=command, env={})}, connect, lambda: Redactor(frozenset()), **settings
        )
        try:
            for _ in range(starts):
                session = await pool.session("s")
                with pytest.raises(ServerDied) as died:
                    await called(session, "die")
                pool.lost("s", session, died.value)
            with pytest.raises(ServerDied, match="exited with code 3"):
                await pool.session("s")
        finally:
            await pool.close()
        assert pool.records()[0].restarts == starts - 1

    asyncio.run(work())


def test_a_server_that_never_gets_ready_is_remembered() -> None:
    """Exit code 3."""

    async def work() -> None:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{closed.getsockname()[1]}/mcp"
            spec = ServerSpec(name="api", url=url, wait_for_ready=Readiness(0.1))
            pool = Pool({"api": spec}, connect, lambda: Redactor(frozenset()))
            with pytest.raises(NotReady):
                await pool.session("api")
            await pool.close()
        assert pool.not_ready

    asyncio.run(work())
