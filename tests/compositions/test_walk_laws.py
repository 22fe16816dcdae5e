"""Laws of the walk, over random graphs: what comes of each node is what an independent oracle says, whatever runs when."""

from __future__ import annotations

import asyncio
import random
from itertools import product
from typing import TYPE_CHECKING, Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcptest_engine.running.kinds.composition.walk import Walk
from tests.compositions.graphs import Oracle, answered, compositions
from tests.compositions.worlds import TurningWorld, rows_of, walked

if TYPE_CHECKING:
    from mcptest_engine.running.kinds.composition.trace import Trace

SEEDS = st.integers(0, 1_000)


def answering(seed: int) -> Any:
    """Answers after a few turns, other ones with each seed."""
    turns = random.Random(seed)
    return lambda tool, args: (turns.randrange(4), answered(tool, args))


def _predictable(composition: dict[str, Any]) -> bool:
    """The oracle knows `add` over numbers only: no `when` looks at a fan-out."""
    fans = {node["id"] for node in composition["nodes"] if "for_each" in node}
    ids = [[need if isinstance(need, str) else need["id"] for need in node["needs"]] for node in composition["nodes"]]
    looks = [node.get("when", "").startswith("[") for node in composition["nodes"]]
    return not any(look and fans.intersection(needs) for look, needs in zip(looks, ids, strict=True))


@settings(max_examples=60, deadline=None)
@given(compositions(), SEEDS)
def test_what_comes_of_each_node_is_what_the_oracle_says(composition: dict[str, Any], seed: int) -> None:
    assume(_predictable(composition))
    oracle = Oracle(composition)
    trace, world = walked(composition, answering(seed))
    assert {node.plan.id: (node.status, node.output) for node in trace.nodes} == oracle.come
    assert sorted(trace.order()) == sorted(oracle.order(composition))
    begun = [name for name, state in world.tellings if state == "running"]
    assert [name for name in begun if name in trace.order()] == trace.order()
    assert trace.ran == all(status != "err" for status, _ in oracle.come.values())
    last = trace.program.nodes[trace.program.order[-1]].id
    assert trace.output == oracle.come[last][1]


@settings(max_examples=60, deadline=None)
@given(compositions(), SEEDS, st.integers(1, 4))
def test_no_more_calls_are_under_way_than_concurrency_allows(composition: dict[str, Any], seed: int, most: int) -> None:
    free, _ = walked(composition, answering(seed))
    capped, world = walked({**composition, "concurrency": most}, answering(seed + 1))
    assert world.most_in_hand <= most
    assert capped.envelope()["nodes"].keys() == free.envelope()["nodes"].keys()
    assert [(node.status, node.output) for node in capped.nodes] == [(node.status, node.output) for node in free.nodes]
    assert sorted(capped.order()) == sorted(free.order())


@settings(max_examples=40, deadline=None)
@given(compositions(), SEEDS)
def test_with_a_concurrency_of_one_calls_come_in_topological_order(composition: dict[str, Any], seed: int) -> None:
    trace, world = walked({**composition, "concurrency": 1}, answering(seed))
    assert list(dict.fromkeys(world.begun)) == [name for name in trace.order() if name in world.begun]


@settings(max_examples=60, deadline=None)
@given(compositions(), SEEDS, st.integers(0, 40), st.sampled_from((None, 1, 3)))
def test_a_walk_that_is_cancelled_anywhere_leaves_nothing_running(
    composition: dict[str, Any], seed: int, turns: int, concurrency: int | None
) -> None:
    async def cancelled() -> None:
        world = TurningWorld(answering(seed))
        (row,) = rows_of({**composition, **({} if concurrency is None else {"concurrency": concurrency})})
        walk = asyncio.ensure_future(Walk(row, world).run())
        for _ in range(turns):
            await asyncio.sleep(0)
        walk.cancel()
        await asyncio.wait((walk,))
        assert world.in_hand == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(cancelled())


@settings(max_examples=60, deadline=None)
@given(compositions(), SEEDS, st.integers(0, 12), st.sampled_from((None, 1, 2)))
def test_once_the_budget_is_crossed_nothing_more_is_called(
    composition: dict[str, Any], seed: int, cap: int, concurrency: int | None
) -> None:
    spent: list[int] = []
    turns = random.Random(seed)

    def answer(tool: str, args: Any) -> Any:
        assert sum(spent) <= cap, "called after the budget was crossed"
        return turns.randrange(3), {"result": {**answered(tool, args)["result"], "_meta": usage}}

    usage = {"mcptest/usage": {"tokens": 2, "cost_usd": 0.1}}
    composition = {**composition, "budget": {"max_tokens": cap}}
    if concurrency is not None:
        composition["concurrency"] = concurrency
    world = TurningWorld(answer)
    (row,) = rows_of(composition)
    row.program.spending.add = _counted(row.program.spending.add, spent)  # type: ignore[method-assign]
    trace = asyncio.run(_bounded(Walk(row, world)))
    assert (trace.tripped == "max_tokens") == (sum(spent) > cap)
    assert trace.envelope()["tokens"]["total"] == sum(spent)
    assert world.in_hand == 0
    assert not any("bug" in (node.reason or "") for node in trace.nodes)
    if trace.tripped:
        assert not trace.ran
        assert trace.envelope()["composition"]["budget_tripped"] == "max_tokens"


async def _bounded(walk: Walk) -> Trace:
    async with asyncio.timeout(180):
        return await walk.run()


def _counted(add: Any, spent: list[int]) -> Any:
    def counting(usage: Any) -> Any:
        spent.append(usage.tokens)
        return add(usage)

    return counting


@settings(max_examples=60, deadline=None)
@given(compositions(), SEEDS)
def test_what_is_told_of_a_node_is_its_beginning_and_its_end(composition: dict[str, Any], seed: int) -> None:
    trace, world = walked(composition, answering(seed))
    of_one: dict[str, list[str]] = {}
    for name, status in world.tellings:
        of_one.setdefault(name, []).append(status)
    for node in trace.nodes:
        told = of_one.get(node.plan.id, [])
        assert told in ([], ["running", node.status])
        assert told or node.status == "skipped"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9) | st.none(), max_size=4), min_size=1, max_size=3), st.integers(1, 5), SEEDS)
def test_a_fan_out_over_several_arrays_has_all_their_combinations_in_order(
    arrays: list[list[int | None]], at_once: int, seed: int
) -> None:
    """Compositions, Fan-out: what the document puts off. The last array's elements change first."""
    names = "xyz"[: len(arrays)]
    sources = [
        {"id": f"of_{name}", "tool": "t", "mock": {"result": array}} for name, array in zip(names, arrays, strict=True)
    ]
    args = {"refuse": False, "item": "${item}", "each": [f"${{item.{name}}}" for name in names]}
    fan = {
        "id": "all",
        "tool": "t",
        "needs": [source["id"] for source in sources],
        "for_each": {name: f"${{of_{name}}}" for name in names},
        "max_concurrency": at_once,
        "args": args,
    }
    trace, _ = walked({"nodes": [*sources, fan]}, answering(seed))
    wanted = [list(values) for values in product(*arrays)]
    assert [output["each"] for output in trace.output] == wanted
    assert [output["item"] for output in trace.output] == [dict(zip(names, values, strict=True)) for values in wanted]


def test_a_fan_out_of_far_too_many_combinations_fails_before_it_begins() -> None:
    thousand = {"id": "a", "tool": "t", "mock": {"result": list(range(1001))}}
    fan = {"id": "b", "tool": "t", "needs": ["a"], "for_each": {"x": "${a}", "y": "${a}"}, "mock": {"result": 1}}
    trace, _ = walked({"nodes": [thousand, fan]}, answering(0))
    assert trace.nodes[1].reason == "`for_each` has 1001 x 1001 = 1002001 combinations, over 1000000"
