"""The money of a run: what is added up, and what a cap lets begin."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.judging.scorers.scorer_runs import Scorers, payer_of
from mcptest_engine.judging.scorers.values import Scorer, ScorerError
from mcptest_engine.judging.spending import Capped, CostBudget, Payer
from mcptest_engine.workspace.result_cache import SCHEMAS, ResultCache
from tests.scorers.conftest import ENVIRON

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from tests.scorers.conftest import Wrappers


class Call(NamedTuple):
    """What a call will cost, who is paid, what that one declares, and after how many turns of the loop it ends.

    `acts`: it is a row that acts before it is paid, for as many turns. `fails`: it costs that much and does not say so.
    """

    cost: float
    payer: str = "s"
    most: float | None = None
    turns: int = 1
    acts: bool = False
    fails: bool = False


class Spent:
    """What calls did: those that were paid, the rows that acted, and those that were refused."""

    def __init__(self, budget: CostBudget) -> None:
        self.budget = budget
        self.paid: list[Call] = []
        self.acted: list[Call] = []
        self.refused: list[Call] = []
        self.messages: list[str] = []
        self.most_at_once = 0
        self._now = 0

    async def run(self, call: Call) -> None:
        payer = Payer(call.payer, call.most)
        try:
            if not call.acts:
                return await self._pay(call, payer)
            async with self.budget.hold((payer,)):
                self.acted.append(call)
                await turns(call.turns)
                await self._pay(call, payer)
        except Capped as wrong:
            self.refused.append(call)
            self.messages.append(wrong.message)

    async def _pay(self, call: Call, payer: Payer) -> None:
        with suppress(RuntimeError):
            async with self.budget.reserve(payer) as reservation:
                self.paid.append(call)
                self._now += 1
                self.most_at_once = max(self.most_at_once, self._now)
                await turns(call.turns)
                self._now -= 1
                if call.fails:
                    raise RuntimeError
                reservation.charge(call.cost)

    @property
    def total(self) -> float:
        """What was really spent, also by calls that did not say so."""
        return sum(call.cost for call in self.paid)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def spend(budget: CostBudget, calls: Sequence[Call], at_once: int = 64) -> Spent:
    """Make the calls, so many at once. A budget that keeps somebody waiting for ever fails the test."""
    spent = Spent(budget)

    async def all_of_them() -> None:
        room = asyncio.Semaphore(at_once)

        async def one(call: Call) -> None:
            async with room:
                await spent.run(call)

        async with asyncio.timeout(180):
            await asyncio.gather(*map(one, calls))

    asyncio.run(all_of_them())
    return spent


# --- what is counted


def test_costs_are_added_as_the_decimals_that_they_are() -> None:
    budget = CostBudget()
    spend(budget, [Call(0.1)] * 3)
    assert (budget.spent, budget.calls, budget.reached) == (0.3, 3, False)


def test_without_a_cap_nothing_is_refused_and_all_run_at_once() -> None:
    spent = spend(CostBudget(), [Call(5.0, turns=3)] * 20)
    assert (len(spent.paid), spent.refused, spent.most_at_once) == (20, [], 20)


def test_an_unknown_price_is_counted_and_never_taken_for_nothing() -> None:
    """Nobody can say what further calls of the model would cost, so a cap allows one."""
    budget = CostBudget(1.0)

    async def ask() -> None:
        async with budget.reserve(Payer("`local`")) as call:
            call.charge(None)

    asyncio.run(ask())
    assert (budget.spent, budget.unpriced, budget.calls, budget.overrun) == (0.0, 1, 1, None)
    with pytest.raises(Capped, match="--max-cost 1 USD cannot limit `local`, whose first call reported no cost"):
        asyncio.run(ask())


# --- the guarantee

_COSTS = st.one_of(st.just(0.0), st.floats(0.0001, 2.0).map(lambda cost: round(cost, 4)))


@st.composite
def calls_at_random(draw: st.DrawFn) -> Call:
    """Costs differ from call to call, also of one payer; what is declared is never less than what a call costs."""
    cost = draw(_COSTS)
    payer = draw(st.sampled_from("abcd"))
    most = round(cost + draw(_COSTS), 4) if payer in "cd" else None
    return Call(cost, payer, most, turns=draw(st.integers(0, 4)), acts=draw(st.booleans()), fails=draw(st.booleans()))


def assert_held(spent: Spent) -> None:
    """No more than the cap and one call whose cost could not be known. Calls that declare their most never overrun."""
    cap = spent.budget.cap_usd
    assert cap is not None
    unknown = max((call.cost for call in spent.paid if call.most is None), default=0.0)
    told = sum(call.cost for call in spent.paid if not call.fails)
    assert told == pytest.approx(spent.budget.spent)
    assert told <= cap + unknown + 1e-9
    declared = sum(call.cost for call in spent.paid if call.most is not None)
    assert declared <= cap + 1e-9, "also where a call failed without a cost"
    assert spent.budget.reached is bool(spent.refused)
    assert not {id(call) for call in spent.acted} & {id(call) for call in spent.refused}, "a refused row acted"


@settings(max_examples=400, deadline=None)
@given(st.lists(calls_at_random(), max_size=80), st.integers(1, 64), st.floats(0.0001, 20))
def test_no_more_is_spent_than_the_cap_and_one_call_whose_cost_was_unknown(
    calls: list[Call], at_once: int, cap: float
) -> None:
    spent = spend(CostBudget(round(cap, 4)), [call._replace() for call in calls], at_once)
    assert len(spent.paid) + len(spent.refused) == len(calls), "each call is made or refused"
    assert_held(spent)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(_COSTS, st.sampled_from("ab"), st.integers(0, 4)), max_size=60), st.integers(1, 64))
def test_a_cap_that_is_enough_refuses_nothing(calls: list[tuple[float, str, int]], at_once: int) -> None:
    """Enough is what all calls cost, and the dearest once more for the reservation of the last."""
    costs = [cost for cost, _, _ in calls]
    cap = round(sum(costs) + max(costs, default=0.0) + 0.0001, 4)
    spent = spend(CostBudget(cap), [Call(cost, payer, turns=count) for cost, payer, count in calls], at_once)
    assert spent.refused == []
    assert spent.budget.overrun is None


def test_a_cheap_call_followed_by_dear_ones_does_not_cross_the_cap_with_all_of_them() -> None:
    spent = spend(CostBudget(1.0), [Call(0.001), *[Call(1.0, turns=5)] * 40], at_once=40)
    assert spent.total == pytest.approx(1.001)
    assert spent.budget.overrun == "--max-cost 1 USD is exceeded by 0.001 USD: 1.001 USD was spent"
    assert len(spent.refused) == 39


def test_a_call_that_would_cost_more_than_is_left_is_refused_before_it_is_made() -> None:
    spent = spend(CostBudget(1.0), [Call(0.4)] * 6)
    assert (len(spent.paid), spent.budget.overrun) == (2, None)
    assert set(spent.messages) == {"--max-cost 1 USD has 0.2 USD left, and a call of s may cost 0.4 USD"}


def test_a_cap_that_is_reached_is_told_by_its_name() -> None:
    spent = spend(CostBudget(0.1, cap_name="budget.per_suite_usd_cents"), [Call(0.1)] * 2)
    assert spent.messages == ["budget.per_suite_usd_cents 0.1 USD is spent"]


def test_calls_with_a_declared_cost_run_at_the_same_time_once_one_has_kept_to_it() -> None:
    spent = spend(CostBudget(1.0), [Call(0.01, most=0.1, turns=9)] * 30)
    assert len(spent.paid) == 30
    assert spent.most_at_once == 9, "as many as the cap holds at their most, after the first"


def test_calls_that_declare_that_they_cost_nothing_are_never_refused() -> None:
    free = [Call(0.0, "free", most=0.0, turns=3)] * 20
    spent = spend(CostBudget(0.01), [Call(0.5, "dear"), *free])
    assert (len(spent.refused), len(spent.paid)) == (20, 1), "the cap is overrun, so nothing is known of them"
    spent = spend(CostBudget(0.5), [*free, Call(0.5, "dear")])
    assert (len(spent.refused), len(spent.paid), spent.most_at_once > 10) == (0, 21, True)


def test_a_payer_that_costs_more_than_it_declares_is_believed_no_more() -> None:
    budget = CostBudget(10.0)
    spent = spend(budget, [Call(1.0, most=0.1, turns=5)] * 40, at_once=40)
    assert (spent.total, spent.most_at_once) == (10.0, 1)
    assert budget.exceeded == {"s": (1.0, 0.1)}


@pytest.mark.parametrize("acts", [False, True])
def test_of_a_payer_that_breaks_its_word_only_the_calls_that_are_under_way_cost_more(acts: bool) -> None:
    """The first call keeps to what it declares; of the others as many have begun as run at once, whatever is reserved."""
    dear = [Call(10.0, most=0.01, turns=5, acts=acts)] * 40
    spent = spend(CostBudget(1.0), [Call(0.01, most=0.01), *dear], at_once=4)
    assert [call.cost for call in spent.paid] == [0.01, *[10.0] * 4]
    assert len(spent.refused) == 36


def test_calls_that_fail_count_as_their_reservation() -> None:
    """A scorer that fails after it has paid somebody says no cost, forty times over."""
    spent = spend(CostBudget(1.0), [Call(0.1, most=0.1, fails=True)] * 40)
    assert spent.total == pytest.approx(1.0)
    assert set(spent.messages) == {"--max-cost 1 USD is spent, 1 USD of it on calls that failed"}
    spent = spend(CostBudget(1.0), [Call(0.1, fails=True)] * 40)
    assert (len(spent.paid), len(spent.refused)) == (1, 39)
    spent = spend(CostBudget(1.0), [Call(0.25), *[Call(0.25, fails=True)] * 40])
    assert (len(spent.paid), spent.total) == (4, 1.0)


def test_another_attempt_is_reserved_for_like_the_first() -> None:
    budget = CostBudget(1.0)

    async def ask() -> int:
        async with budget.reserve(Payer("m", 0.3)) as call:
            attempts = 1
            while call.renew():
                attempts += 1
        return attempts

    assert asyncio.run(ask()) == 3
    assert asyncio.run(suppressed(ask())) is None


async def suppressed(made: Awaitable[object]) -> object:
    with suppress(Capped):
        return await made
    return None


def test_a_row_holds_the_money_for_several_calls_before_it_acts() -> None:
    budget = CostBudget(1.0)
    acted: list[int] = []

    async def row(number: int) -> None:
        with suppress(Capped):
            async with budget.hold([Payer("judge", 0.3)] * 2):
                acted.append(number)
                await turns(3)
                for _ in range(2):
                    async with budget.reserve(Payer("judge", 0.3)) as call:
                        await turns(2)
                        call.charge(0.3)

    async def rows() -> None:
        async with asyncio.timeout(180):
            await asyncio.gather(*(row(number) for number in range(9)))

    asyncio.run(rows())
    assert (len(acted), budget.calls, budget.spent, budget.overrun) == (1, 2, 0.6, None)


def test_rows_that_need_more_than_they_hold_do_not_wait_for_each_other() -> None:
    """Each gives back what it holds before it waits."""
    budget = CostBudget(1.0)

    async def row() -> bool:
        try:
            async with budget.hold((Payer("judge", 0.2),)):
                await turns(3)
                async with budget.reserve(Payer("judge", 0.9)) as call:
                    await turns(3)
                    call.charge(0.05)
        except Capped:
            return False
        return True

    async def rows() -> list[bool]:
        async with asyncio.timeout(180):
            return await asyncio.gather(*(row() for _ in range(5)))

    assert asyncio.run(rows()).count(True) == 3
    assert budget.spent == 0.15


def in_rows(budget: CostBudget, rows: int, jurors: Sequence[Call], *others: Call) -> tuple[int, Spent]:
    """Rows that hold the money of all their jurors, act, and ask them at once; with other calls that want the money too."""
    spent, graded = Spent(budget), 0

    async def row() -> None:
        nonlocal graded
        with suppress(Capped):
            async with budget.hold([Payer(one.payer, one.most) for one in jurors]):
                await turns(3)
                before = len(spent.paid)
                await asyncio.gather(*(spent.run(one) for one in jurors))
                graded += len(spent.paid) - before == len(jurors)

    async def all_of_them() -> None:
        async with asyncio.timeout(180):
            await asyncio.gather(*(row() for _ in range(rows)), *map(spent.run, others))

    asyncio.run(all_of_them())
    return graded, spent


def test_the_calls_of_a_row_at_the_same_time_are_paid_from_what_it_holds() -> None:
    """The first call of a payer runs alone; the row keeps its money for the others meanwhile, whoever else waits for it."""
    budget = CostBudget(1.0)
    spend(budget, [Call(0.0, "waits", 0.4)])
    jurors = [Call(0.3, payer, 0.3, turns=5) for payer in ("judge", "judge", "other")]
    graded, spent = in_rows(budget, 9, jurors, *[Call(0.4, "waits", 0.4)] * 3)
    assert (graded, len(spent.paid), budget.spent, budget.overrun) == (1, 3, 0.9, None)
    assert len(spent.refused) == 3, "the others, and no juror"


def test_the_calls_of_a_row_that_cost_more_than_they_may_do_not_overrun_the_cap_together() -> None:
    graded, spent = in_rows(CostBudget(1.0), 1, [Call(0.9, "judge", 0.3, turns=5)] * 2)
    assert (graded, spent.total, len(spent.refused)) == (0, 0.9, 1)


def test_equal_requests_of_a_row_that_holds_money_and_one_that_does_not_are_both_graded(wrappers: Wrappers) -> None:
    """The second waits for the program of the first, which waits for the money that the second held."""
    scorer = wrappers.scorer("""printf '{"verdict": "pass", "cost_usd": 0.1}'""")
    budget = CostBudget(1.0)
    cache = ResultCache(wrappers.path / "verdicts", SCHEMAS["verdicts"])
    scorers = Scorers(environ=ENVIRON, redactor=Redactor(()), budget=budget, cache=cache)

    async def grade() -> bool:
        return (await scorers.grade(scorer, prompt="q", output="a", criteria="c", metadata={})).kept

    async def both() -> list[bool]:
        async with asyncio.timeout(180), budget.hold((payer_of(scorer),)):
            other = asyncio.create_task(grade(), context=Context())
            await turns(5)
            return [await grade(), await other]

    assert asyncio.run(both()) == [True, False]
    assert budget.calls == 1


def test_who_is_cancelled_while_it_waits_keeps_nobody_waiting() -> None:
    budget = CostBudget(1.0)

    async def both() -> None:
        async with asyncio.timeout(180):
            async with budget.reserve(Payer("s")) as first:
                waiting = [asyncio.ensure_future(take()) for _ in range(3)]
                await turns(3)
                waiting[0].cancel()
                await turns(3)
                first.charge(0.1)
            done = await asyncio.gather(*waiting, return_exceptions=True)
        assert [isinstance(one, asyncio.CancelledError) for one in done] == [True, False, False]

    async def take() -> None:
        async with budget.reserve(Payer("s")) as call:
            await turns(1)
            call.charge(0.1)

    asyncio.run(both())
    assert budget.spent == 0.3


# --- with real programs

PAYS = """read -r line
cost=${line#*\\"output\\": \\"}; cost=${cost%%\\"*}
echo "$cost" >> "$0.spent"
case $cost in *9) exit 3;; esac
printf '{"verdict": "pass", "cost_usd": %s}' "$cost"
"""


@pytest.mark.parametrize("seed", range(8))
def test_real_scorers_spend_no_more_than_the_cap_and_one_of_them(wrappers: Wrappers, seed: int) -> None:
    """What was spent is read from what the programs wrote, also from those that failed without a word of it."""
    chance = random.Random(seed)
    declares = seed % 2 == 1
    scorer = wrappers.scorer(PAYS, max_cost_usd=1.0 if declares else None, concurrency=chance.choice([None, 3]))
    cap = round(chance.uniform(0.5, 8), 2)
    budget = CostBudget(cap)
    scorers = Scorers(environ=ENVIRON, redactor=Redactor(()), budget=budget)
    costs = [f"{chance.uniform(0.01, 0.9):.3f}" for _ in range(chance.randrange(20, 50))]

    async def grade_all() -> None:
        room = asyncio.Semaphore(chance.randint(1, 64))

        async def one(cost: str) -> None:
            async with room:
                with suppress(Capped, ScorerError):
                    await scorers.grade(scorer, prompt="q", output=cost, criteria="c", metadata={})

        async with asyncio.timeout(180):
            await asyncio.gather(*map(one, costs))

    asyncio.run(grade_all())
    spent = [float(line) for line in (wrappers.path / "wrapper.spent").read_text().split()]
    assert spent
    told = [cost for cost in spent if not f"{cost:.3f}".endswith("9")]
    assert budget.spent == pytest.approx(sum(told))
    if declares:
        assert sum(spent) <= cap + (max(spent) if cap < 1 else 0)
    else:
        assert sum(told) <= cap + max(spent)


def test_a_scorer_that_cannot_be_started_costs_nothing() -> None:
    budget = CostBudget(1.0)
    scorers = Scorers(environ=ENVIRON, redactor=Redactor(()), budget=budget)
    asked = {"prompt": "q", "output": "a", "criteria": "c", "metadata": json.loads("{}")}
    for _ in range(3):
        with pytest.raises(ScorerError):
            asyncio.run(scorers.grade(Scorer("s", "exec", ("/not/there",)), **asked))
    assert (budget.reached, budget.calls) == (False, 0)
