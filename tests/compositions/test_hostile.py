"""What servers answer to the calls of a composition, when they mean no good, and what a retried or repeated one adds up to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.results import FailureKind, Verdict
from mcptest_engine.running.kinds.composition.walk import AT_A_TIME, Walk
from tests.compositions.conftest import nodes_of
from tests.compositions.worlds import TurningWorld, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.running.kinds.composition.trace import Trace

    Run = Callable[..., RunRecord]

SECRET = "correct-horse-battery-staple-and-more"


def spend(**usage: Any) -> dict[str, Any]:
    return {"id": "a", "tool": "spend", "args": usage}


def made(program: str, value: Any) -> dict[str, Any]:
    """A composition of one node, whose transform is the program over what a server sent."""
    return {"nodes": [{"id": "a", "tool": "give", "args": {"value": value}, "transform": {"jq": program}}]}


@pytest.mark.parametrize(
    "amount", [10**400, 1e300, -1, True, "12", None], ids=["400 digits", "1e300", "negative", "flag", "text", "null"]
)
def test_an_amount_that_nobody_has_is_not_believed(run: Run, amount: Any) -> None:
    """Its price is unknown then, and its tokens are none."""
    record = run({"nodes": [spend(tokens=amount, cost_usd=amount)]})
    assert record.tests[0].verdict is Verdict.PASS, record.tests[0].message
    assert (record.tests[0].cost_usd, record.tests[0].tokens) == (None, 0)


@pytest.mark.parametrize(
    ("usage", "budget", "told"),
    [
        ({"cost_usd": "12"}, {"max_cost_usd": 0.01}, "no price, so the total may exceed 0.01"),
        ({"tokens": 1_000_000, "model": "gpt-x"}, {"max_cost_usd": 0.0001}, "no price, so the total may exceed 0.0001"),
        ({"cost_usd": 3}, {"max_tokens": 5}, "no tokens, so the total may exceed 5"),
        ({"cost_usd": 3, "tokens": 1.5}, {"max_tokens": 5}, "no tokens, so the total may exceed 5"),
    ],
)
def test_what_a_call_does_not_say_of_its_costs_may_be_over_any_cap(
    run: Run, usage: dict[str, Any], budget: dict[str, Any], told: str
) -> None:
    test = run({"nodes": [spend(**usage)], "budget": budget}).tests[0]
    assert test.failure is not None
    assert (test.verdict, test.failure.kind) == (Verdict.FAIL, FailureKind.BUDGET)
    assert test.message == f"budget {next(iter(budget))}: a call reported its usage, but {told}"


def test_what_a_call_does_not_say_of_its_tokens_may_be_over_the_cap_of_a_node(run: Run) -> None:
    test = run({"nodes": [{**spend(cost_usd=3), "max_tokens_per_call": 5}]}).tests[0]
    assert test.message is not None
    assert "the number of tokens of the call is unknown, and may exceed `max_tokens_per_call: 5`" in test.message


def test_what_a_program_says_of_an_answer_is_short(run: Run) -> None:
    record = run(made(".result.structuredContent.value | error", "y" * 100_000))
    message = record.tests[0].message
    assert message is not None
    assert message.startswith("node `a` failed: `transform`: yyy")
    assert len(message) < 300


def test_half_a_secret_in_what_a_program_says_is_not_told(run: Run) -> None:
    """jq quotes the beginning of a value, in which the secret is not whole any more."""
    record = run(made(".result.structuredContent.value + 1", "${env.SHOP_TOKEN}"), environ={"SHOP_TOKEN": SECRET})
    assert record.tests[0].message == (
        'node `a` failed: `transform`: string ("[REDACTED]") and number (1) cannot be added'
    )


def test_half_a_secret_among_the_keys_that_a_reference_misses_is_not_told(run: Run) -> None:
    secret = SECRET * 4
    nodes = [
        {"id": "a", "tool": "give", "args": {"value": {secret: 1}, "token": "${env.SHOP_TOKEN}"}},
        {"id": "b", "tool": "give", "needs": ["a"], "args": {"value": "${a.structuredContent.n}"}},
    ]
    told = str(nodes_of(run({"nodes": nodes}, environ={"SHOP_TOKEN": secret}))["b"]["message"])
    assert told.endswith("`a.structuredContent` has `[REDACTED]`")


def test_what_all_attempts_cost_counts_and_not_the_last_alone(run: Run) -> None:
    nodes = [spend(cost_usd=1.0, tokens=5, model="m"), flaky(fails=2)]
    record = run({"nodes": nodes, "retries": 2})
    test = record.tests[0]
    assert test.verdict is Verdict.PASS, test.message
    assert (test.cost_usd, test.tokens) == (3.0, 15)
    assert test.trace is not None
    assert test.trace["cost"] == {"total": 1.0}
    assert record.spending is not None
    assert record.spending.models == ({"model": "m", "calls": 3, "tokens": 15, "cost_usd": 3.0},)


def test_a_composition_whose_budget_is_used_up_is_not_tried_again(run: Run) -> None:
    """There would be nothing to see of what used it up."""
    record = run({"nodes": [spend(tokens=5), flaky(fails=9)], "retries": 4, "budget": {"max_tokens": 9}})
    assert len(nodes_of(record)) == 2
    assert nodes_of(record)["a"]["tokens"] == 5
    assert record.tests[0].tokens == 10


def flaky(fails: int) -> dict[str, Any]:
    return {"id": "b", "tool": "flaky", "needs": ["a"], "args": {"key": "k", "fails": fails}}


def test_a_long_fan_out_that_asks_nobody_lets_others_have_their_turn() -> None:
    """It can be ended, then, by whoever wants the run to end."""

    def answer(_tool: str, _args: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        raise AssertionError("nobody is asked")

    items = list(range(10 * AT_A_TIME))
    nodes = [
        {"id": "m", "tool": "t", "mock": {"result": items}},
        {"id": "f", "tool": "t", "needs": ["m"], "for_each": "${m}", "mock": {"result": "${item}"}},
    ]
    world = TurningWorld(answer)
    (row,) = rows_of({"nodes": nodes})

    async def ended() -> None:
        walking = asyncio.ensure_future(Walk(row, world).run())
        for _ in range(6):
            await asyncio.sleep(0)
        walking.cancel()
        await asyncio.wait([walking])
        assert walking.cancelled()

    asyncio.run(ended())
    assert ("f", "running") in world.tellings
    assert ("f", "ok") not in world.tellings


def test_a_cap_that_one_case_crosses_ends_the_calls_of_the_others() -> None:
    """They are capped together; a call that hangs would else keep the run until it times out."""

    def answer(tool: str, args: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        if tool == "hang":
            return 100_000, {"result": {}}
        usage = {"cost_usd": args["cost"]}
        return (20 if args["cost"] else 1), {"result": {"_meta": {"mcptest/usage": usage}}}

    nodes = [
        {"id": "s", "tool": "spend", "args": {"cost": "${var.cost}"}},
        {"id": "h", "tool": "hang", "needs": ["s"]},
    ]
    cases = [{"name": "dear", "vars": {"cost": 3}}, {"name": "waits", "vars": {"cost": 0}}]
    world = TurningWorld(answer)
    rows = rows_of({"nodes": nodes, "cases": cases, "budget": {"max_cost_usd": 2}})

    async def both() -> list[Trace]:
        return await asyncio.gather(*(Walk(row, world).run() for row in rows))

    dear, waits = asyncio.run(both())
    assert [node.status for node in dear.nodes] == ["ok", "skipped"]
    assert world.begun.count("hang") == 1
    assert waits.nodes[1].reason == "ended: the budget was used up (max_cost_usd)"
