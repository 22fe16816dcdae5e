"""What models and scorers cost in a run, and the cap that ends it.

What a call costs is known only afterwards. So where there is a cap, the first call of each payer goes alone, without another
payer's beside it either. Further ones go while what is under way, at the highest price that its payer has asked so far, leaves
something of the cap.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcptest_engine.core.costs import sum_costs
from mcptest_engine.core.errors import McptestError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MAX_COST = "--max-cost"


class Capped(McptestError):
    """Nothing more may be spent. `message` says which cap is reached: "--max-cost 0.1 USD is spent"."""


class Ledger:
    """The money of one run, counted by one event loop.

    `spent` is in USD, without the `unpriced` calls, whose price nobody knows. `cap_name` is what the cap is told as. `reached`
    tells that something was kept back because of it.
    """

    def __init__(self, cap_usd: float | None = None, *, cap_name: str = MAX_COST) -> None:
        self.cap_usd = cap_usd
        self.unpriced = 0
        self.calls = 0
        self.reached = False
        self.cap_name = cap_name
        self._costs: list[float] = []
        self._spent = 0.0
        self._highest: dict[str, float] = {}
        self._under_way: dict[str, int] = {}
        self._changed: asyncio.Future[None] | None = None

    @property
    def spent(self) -> float:
        """What the calls with a price have cost so far."""
        if self._costs:
            self._spent = sum_costs((self._spent, *self._costs)) or 0.0
            self._costs.clear()
        return self._spent

    @property
    def capped(self) -> str | None:
        """Why nothing more may be spent, or None."""
        if self.cap_usd is None or self.spent < self.cap_usd:
            return None
        return f"{self.cap_name} {self.cap_usd:g} USD is spent"

    @property
    def overrun(self) -> str | None:
        """By how much more than the cap was spent, as a sentence for the record; None where the cap held."""
        if self.cap_usd is None or self.spent <= self.cap_usd:
            return None
        over = sum_costs((self.spent, -self.cap_usd))
        return f"{self.cap_name} {self.cap_usd:g} USD is overrun by {over:g} USD: {self.spent:g} USD was spent"

    def charge(self, cost_usd: float | None, payer: str = "") -> None:
        """A call has cost this; None where its price is not known, which is counted and never taken for nothing."""
        self.calls += 1
        if cost_usd is None:
            self.unpriced += 1
            self._highest.setdefault(payer, 0.0)
            return
        self._costs.append(cost_usd)
        self._highest[payer] = max(cost_usd, self._highest.get(payer, 0.0))

    @asynccontextmanager
    async def room(self, payer: str) -> AsyncIterator[None]:
        """Around one call that is to be paid and `charge`d within. No two may stand in each other.

        Raises: Capped, when nothing more may be spent by the time that it is this call's turn.
        """
        if self.cap_usd is None:
            yield
            return
        while True:
            if (reason := self.capped) is not None:
                self.reached = True
                raise Capped(reason)
            if self._has_room(payer):
                break
            if self._changed is None:
                self._changed = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._changed)
        self._under_way[payer] = self._under_way.get(payer, 0) + 1
        try:
            yield
        finally:
            self._under_way[payer] -= 1
            self._highest.setdefault(payer, 0.0)
            if self._changed is not None:
                self._changed.set_result(None)
                self._changed = None

    def _has_room(self, payer: str) -> bool:
        under_way = sum(self._under_way.values())
        if not under_way:
            return True
        if not self._highest.keys() >= {payer, *(who for who, count in self._under_way.items() if count)}:
            return False  # what one of them asks is not known yet
        expected = sum(count * self._highest.get(who, 0.0) for who, count in self._under_way.items())
        assert self.cap_usd is not None
        return self.spent + expected < self.cap_usd
