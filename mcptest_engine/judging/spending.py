"""The money of a run: what models, judges and scorers cost, and the cap that holds all of them.

Under a cap, money is reserved before a call is made, and a call starts only if its reservation fits. Where the most that a call
can cost is known (a model's price, input and output limit; a scorer's `max_cost_usd`), that is reserved, and such calls run at
the same time. Where it is not known, the largest cost seen so far is reserved, and one such call runs at a time. The first call
of each payer counts as not known too, since it shows whether the payer keeps to what it says. So a run spends at most the cap
and one call whose cost could not be known. A payer that costs more than it declared goes alone from then on; those of its
calls that were under way by then may cost more than they declared as well, each of them.

A call that fails without a cost counts as its reservation. A payer none of whose calls told a cost gets one call under a cap.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from contextvars import ContextVar
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.errors import McptestError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

MAX_COST = "--max-cost"
_ZERO = Decimal(0)


class Capped(McptestError):
    """Nothing more may be spent on a call. `message` says which cap refuses it: "--max-cost 0.1 USD is spent"."""


class Payer(NamedTuple):
    """Whom a call pays, and the most that it can cost in USD, None where that is not known.

    `name` is how messages refer to it ("scorer `factuality`", "`gpt-5.4`"); calls of one name are expected to cost alike.
    """

    name: str
    most_usd: float | None = None


class Reservation:
    """Money that is set aside for one call, or for the calls of one row. `amount` is in USD.

    `row` is the reservation of the row that makes the call. `settled`: what it cost is counted.
    """

    def __init__(
        self, budget: CostBudget, payers: Sequence[Payer], amount: Decimal, row: Reservation | None = None
    ) -> None:
        self._budget = budget
        self.payers = payers
        self.amount = amount
        self.row = row
        self.settled = False

    def charge(self, cost_usd: float | None) -> None:
        """Count what the call cost; None where a model's price is not known, which is never taken for 0."""
        self._budget.charge(self, cost_usd)

    def cancel(self) -> None:
        """Count nothing: the call was not made, or was refused before it could cost anything."""
        self.settled = True

    def renew(self) -> bool:
        """Count an attempt as failed with an unknown cost, and reserve for another; False where the cap leaves no room."""
        return self._budget.renew(self)


_HELD: ContextVar[Reservation | None] = ContextVar("held", default=None)
"""The reservation of the row that is run in this context, from which its calls are paid first."""


class CostBudget:
    """The money of one run, counted by one event loop.

    `calls` and `spent` (USD) are those of all payers; `unpriced` counts the calls that are not in `spent`, since nobody knows
    their price. `cap_name` is how messages refer to the cap. `reached`: a call was refused because of it.
    """

    def __init__(self, cap_usd: float | None = None, *, cap_name: str = MAX_COST) -> None:
        self.cap_usd = cap_usd
        self.cap_name = cap_name
        self.calls = 0
        self.unpriced = 0
        self.reached = False
        self.exceeded: dict[str, tuple[float, float]] = {}
        """By name, what a call of a payer cost at most and what it was to cost at most, where the first is more."""
        self._spent = self._lost = self._reserved = _ZERO
        self._largest: dict[str, Decimal] = {}
        self._untold: set[str] = set()
        self._open_ended: Reservation | None = None
        """The one reservation outstanding whose call may cost more than its amount."""
        self._changed: asyncio.Future[None] | None = None

    @property
    def spent(self) -> float:
        """What the calls with a known cost have cost so far, in USD."""
        return float(self._spent)

    @property
    def overrun(self) -> str | None:
        """By how much more than the cap was spent, as a sentence for the record; None where the cap held."""
        if self.cap_usd is None or self._spent <= _exact(self.cap_usd):
            return None
        over = float(self._spent - _exact(self.cap_usd))
        return f"{self.cap_name} {self.cap_usd:g} USD is exceeded by {over:g} USD: {self.spent:g} USD was spent"

    @asynccontextmanager
    async def reserve(self, payer: Payer) -> AsyncIterator[Reservation]:
        """Reserve money around one call, which is to be `charge`d or `cancel`led within.

        Waits while calls in flight may still leave enough. Raises: Capped, when there will not be enough.
        """
        call = await self._reserved_for((payer,))
        try:
            yield call
        finally:
            if not call.settled:
                self._lose(call)
            self._release(call)

    @asynccontextmanager
    async def hold(self, payers: Sequence[Payer]) -> AsyncIterator[None]:
        """Reserve money for the calls of a row before the row acts; within, they are paid from it first.

        Waits and raises as `reserve` does.
        """
        held = await self._reserved_for(payers)
        before = _HELD.set(held)
        try:
            yield
        finally:
            _HELD.reset(before)
            self._release(held)

    def check(self, payers: Sequence[Payer]) -> None:
        """Reserve nothing. Raises: Capped, when these calls can no longer be made whatever those in flight will cost."""
        if (reason := self._refusal(payers)) is not None:
            self.reached = True
            raise Capped(reason)

    async def _reserved_for(self, payers: Sequence[Payer]) -> Reservation:
        if self.cap_usd is None:
            return Reservation(self, payers, _ZERO)
        row = _HELD.get()
        while (call := self._placed(payers, row)) is None:
            self.check(payers)
            slot = self._open_ended
            if row is not None and (row.amount or slot is row) and (slot is None or slot.row is not row):
                # Nobody waits for money that a waiting row holds, unless a call of that row is in flight.
                self._release(row)
                continue
            if self._changed is None:
                self._changed = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._changed)
        return call

    def give_back(self) -> None:
        """Release what the row of this context holds, before it waits for another row's call."""
        if (row := _HELD.get()) is not None:
            self._release(row)

    def _placed(self, payers: Sequence[Payer], row: Reservation | None = None) -> Reservation | None:
        """A reservation, if it fits beside those that are outstanding; what `row` holds is used for it first."""
        amount, open_ended = self._needed(payers)
        slot, drawn = self._open_ended, _ZERO if row is None else min(amount, row.amount)
        left = self._left - self._reserved + drawn
        held = row is not None and drawn == amount and (slot is row or not open_ended)
        fits = amount <= left and (not open_ended or (left > 0 and slot in (None, row)))
        if not (held or fits) or self._untold_of(payers):
            return None
        call = Reservation(self, payers, amount, row)
        self._reserved += amount - drawn
        if row is not None:
            row.amount -= drawn
        if open_ended:
            self._open_ended = call
        return call

    @property
    def _left(self) -> Decimal:
        """What neither a known cost nor a failed call has taken from the cap."""
        assert self.cap_usd is not None
        return _exact(self.cap_usd) - self._spent - self._lost

    def _needed(self, payers: Sequence[Payer]) -> tuple[Decimal, bool]:
        """What to reserve for a call of each, and whether they may cost more than that."""
        amount, open_ended = _ZERO, False
        for name, most in payers:
            largest = self._largest.get(name)
            bounded = most is not None and largest is not None and name not in self.exceeded
            amount += _exact(most or 0.0) if bounded else max(_exact(most or 0.0), largest or _ZERO)
            open_ended = open_ended or not bounded
        return amount, open_ended

    def _untold_of(self, payers: Sequence[Payer]) -> str | None:
        return next((payer.name for payer in payers if payer.name in self._untold), None)

    def _refusal(self, payers: Sequence[Payer]) -> str | None:
        """Why calls of `payers` cannot be made whatever those in flight will cost, or None."""
        if self.cap_usd is None:
            return None
        cap = f"{self.cap_name} {self.cap_usd:g} USD"
        if (name := self._untold_of(payers)) is not None:
            return f"{cap} cannot limit {name}, whose first call reported no cost"
        amount, open_ended = self._needed(payers)
        left = self._left
        if left <= 0 and (open_ended or amount > left):
            return f"{cap} is spent" + (f", {float(self._lost):g} USD of it on calls that failed" if self._lost else "")
        if amount > left:
            calls = "a call" if len(payers) == 1 else f"{len(payers)} calls"
            names = ", ".join(dict.fromkeys(payer.name for payer in payers))
            return f"{cap} has {float(left):g} USD left, and {calls} of {names} may cost {float(amount):g} USD"
        return None

    def charge(self, call: Reservation, cost_usd: float | None) -> None:
        """Count what a call cost."""
        self.calls += 1
        if cost_usd is None:
            self.unpriced += 1
            self._lose(call)
            return
        call.settled = True
        ((name, most),) = call.payers
        cost = _exact(cost_usd)
        self._spent += cost
        self._largest[name] = max(cost, self._largest.get(name, _ZERO))
        if most is not None and cost > _exact(most):
            largest, declared = self.exceeded.get(name, (cost_usd, most))
            self.exceeded[name] = (max(cost_usd, largest), max(most, declared))

    def renew(self, call: Reservation) -> bool:
        """Count an attempt at a call as failed with an unknown cost, and reserve for another; False where there is no room."""
        if self.cap_usd is None:
            return True
        self._lose(call)
        self._release(call)
        again = self._placed(call.payers)
        if again is None:
            return False
        call.amount, call.settled = again.amount, False
        if self._open_ended is again:
            self._open_ended = call
        return True

    def _lose(self, call: Reservation) -> None:
        """Count a call whose cost is not known as what was reserved for it."""
        call.settled = True
        self._lost += call.amount
        self._untold.update(name for name, most in call.payers if most is None and name not in self._largest)

    def _release(self, call: Reservation) -> None:
        self._reserved -= call.amount
        call.amount = _ZERO
        if self._open_ended is call:
            self._open_ended = None
        if self._changed is not None:
            self._changed.set_result(None)
            self._changed = None


def _exact(amount: float) -> Decimal:
    """The amount as the decimal that it was written as, so that three times 0.1 is 0.3."""
    return Decimal(repr(amount))
