"""Tasks that stand and fall together."""

from __future__ import annotations

import asyncio

import pytest

from mcptest_engine.core.tasks import run_together


def test_what_all_of_them_return_comes_in_their_order() -> None:
    async def give(number: int, before: asyncio.Event | None, after: asyncio.Event | None) -> int:
        if before is not None:
            await before.wait()
        if after is not None:
            after.set()
        return number

    async def main() -> list[int]:
        first = asyncio.Event()
        return await run_together([give(1, first, None), give(2, None, first)])

    assert asyncio.run(main()) == [1, 2]


def test_where_one_fails_the_others_have_ended_before_it_is_raised() -> None:
    ended = []

    async def wait(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(name)

    async def fail() -> None:
        raise RuntimeError("broken")

    async def main() -> None:
        with pytest.raises(RuntimeError, match="broken"):
            await run_together([wait("a"), fail(), wait("b")])
        assert ended == ["a", "b"]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_an_interruption_reaches_all_of_them_and_waits_for_their_end() -> None:
    ended = []

    async def wait(name: str, pauses: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(pauses):
                await asyncio.sleep(0)
            ended.append(name)

    async def main() -> None:
        together = asyncio.ensure_future(run_together([wait("a", 0), wait("b", 5)]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        together.cancel()
        with pytest.raises(asyncio.CancelledError):
            await together
        assert ended == ["a", "b"]

    asyncio.run(main())
