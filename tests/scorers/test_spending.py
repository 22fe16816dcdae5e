"""The money of a run: what is added up, and what a cap lets begin. Source: decisions 4 and 7; external-scorers."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.judging.spending import Capped, Ledger


def test_costs_are_added_as_the_decimals_that_they_are() -> None:
    ledger = Ledger()
    for _ in range(3):
        ledger.charge(0.1)
    assert ledger.spent == 0.3
    assert ledger.capped is None


def test_an_unknown_price_is_counted_and_never_taken_for_nothing() -> None:
    ledger = Ledger(1.0)
    ledger.charge(None, "m")
    assert (ledger.spent, ledger.unpriced, ledger.capped) == (0.0, 1, None)


def test_a_cap_that_is_reached_is_told_by_its_name() -> None:
    ledger = Ledger(0.1)
    ledger.charge(0.1)
    assert ledger.capped == "--max-cost 0.1 USD is spent"
    assert not ledger.reached, "nothing was kept back yet"


def spend(ledger: Ledger, costs: list[float], payer: str = "s") -> tuple[int, int]:
    """All at once; how many calls were made, and how many kept back."""

    async def call(cost: float) -> bool:
        try:
            async with ledger.room(payer):
                await asyncio.sleep(0)
                ledger.charge(cost, payer)
        except Capped:
            return False
        return True

    async def all_at_once() -> list[bool]:
        async with asyncio.timeout(60):
            return await asyncio.gather(*(call(cost) for cost in costs))

    made = asyncio.run(all_at_once())
    return made.count(True), made.count(False)


@given(st.floats(0.001, 1), st.integers(1, 40), st.floats(0.001, 10))
def test_calls_at_one_price_cross_a_cap_by_one_call_at_most(price: float, count: int, cap: float) -> None:
    ledger = Ledger(cap)
    made, kept_back = spend(ledger, [price] * count)
    assert made + kept_back == count
    assert ledger.spent < cap + price
    assert ledger.reached is (kept_back > 0)
    assert kept_back == 0 or ledger.spent >= cap


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.001, 1)), min_size=1, max_size=30), st.floats(0.001, 5))
def test_payers_whose_prices_nobody_knows_do_not_cross_a_cap_together(
    calls: list[tuple[str, float]], cap: float
) -> None:
    """The first call of each payer goes alone, so that with fixed prices the cap is crossed by one call at most."""
    prices = dict(reversed(calls))
    ledger = Ledger(cap)

    async def call(payer: str) -> None:
        with suppress(Capped):
            async with ledger.room(payer):
                await asyncio.sleep(0)
                ledger.charge(prices[payer], payer)

    async def all_at_once() -> None:
        async with asyncio.timeout(60):
            await asyncio.gather(*(call(payer) for payer, _ in calls))

    asyncio.run(all_at_once())
    assert ledger.spent < cap + max(prices.values()) + 1e-9


def test_without_a_cap_nothing_is_kept_back() -> None:
    assert spend(Ledger(), [5.0] * 20) == (20, 0)


def test_calls_that_cost_nothing_go_all_at_once_under_a_cap() -> None:
    """The first one goes alone, since nobody knows yet."""
    ledger = Ledger(0.01)
    under_way: list[int] = []

    async def call() -> None:
        async with ledger.room("free"):
            under_way.append(1)
            for _ in range(20):  # turns in which the others may begin
                await asyncio.sleep(0)
            most.append(len(under_way))
            under_way.pop()
            ledger.charge(0.0, "free")

    most: list[int] = []

    async def all_at_once() -> None:
        await asyncio.gather(*(call() for _ in range(9)))

    asyncio.run(all_at_once())
    assert (len(most), most[0], max(most)) == (9, 1, 8)


def test_a_call_that_fails_keeps_nobody_waiting() -> None:
    ledger = Ledger(1.0)

    async def failing() -> None:
        with pytest.raises(RuntimeError):
            async with ledger.room("s"):
                await asyncio.sleep(0)
                raise RuntimeError

    async def both() -> None:
        async with asyncio.timeout(60):
            await asyncio.gather(failing(), failing(), failing())

    asyncio.run(both())
