"""The one door to `tools/call` of mcptest's own account. Source: execution-safety.md."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.authoring.guarded import GuardedCalls
from mcptest_engine.core.errors import BudgetExhausted, PolicyDenied
from mcptest_engine.safety.execution import CallBudget, ExecutionPolicy
from mcptest_engine.servers.catalog import read_catalog
from tests.authoring.scripts import Scripted, tool

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.servers.session import Session

TOOLS = [tool("get_x"), tool("create_x"), tool("delete_x")]


class Clock:
    """A clock that goes on only when somebody sleeps, and writes down how long."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now += seconds


class Wire:
    """Stands for a session of which only the transport and the moments of the calls matter."""

    def __init__(self, transport: str, clock: Clock, takes: float = 0.0) -> None:
        self.transport, self._clock, self._takes = transport, clock, takes
        self.started: list[float] = []
        self.running = self.most = 0

    async def request(self, *_: Any, **__: Any) -> str:
        self.started.append(round(self._clock(), 3))
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(5):
            await asyncio.sleep(0)
        self._clock.now += self._takes
        self.running -= 1
        return "answer"


def calls_at(wire: Wire, clock: Clock, names: list[str], **policy: Any) -> None:
    async def work() -> None:
        calls = GuardedCalls(wire, TOOLS, ExecutionPolicy(**policy), sleep=clock.sleep, clock=clock)  # type: ignore[arg-type]
        for name in names:
            await calls.call(name, {}, timeout_seconds=1)

    asyncio.run(work())


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_between_calls_over_http_lies_the_delay(transport: str) -> None:
    clock = Clock()
    wire = Wire(transport, clock)
    calls_at(wire, clock, ["get_x"] * 3, call_delay_seconds=0.25)
    assert (wire.started, clock.slept) == ([0, 0.25, 0.5], [0.25, 0.25])


def test_the_delay_is_a_pause_behind_a_slow_call_too() -> None:
    clock = Clock()
    wire = Wire("http", clock, takes=2.0)
    calls_at(wire, clock, ["get_x"] * 2, call_delay_seconds=0.1)
    assert wire.started == [0, 2.1]


@pytest.mark.parametrize(("transport", "delay"), [("stdio", 0.25), ("http", 0.0)])
def test_a_process_on_this_machine_waits_for_nothing(transport: str, delay: float) -> None:
    clock = Clock()
    wire = Wire(transport, clock)
    calls_at(wire, clock, ["get_x"] * 3, call_delay_seconds=delay)
    assert (wire.started, clock.slept) == ([0, 0, 0], [])


@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_more_calls_are_under_way_than_the_policy_says(most: int) -> None:
    clock = Clock()
    wire = Wire("stdio", clock)

    async def work() -> None:
        calls = GuardedCalls(wire, TOOLS, ExecutionPolicy(concurrency=most), clock=clock)  # type: ignore[arg-type]
        await asyncio.gather(*(calls.call("get_x", {}, timeout_seconds=1) for _ in range(20)))

    asyncio.run(work())
    assert (wire.most, len(wire.started)) == (most, 20)


def test_a_mutating_tool_is_called_once_in_the_life_of_the_door_even_by_two_at_once(tmp_path: Path) -> None:
    server = Scripted(tmp_path, TOOLS, {})

    async def work(session: Session) -> list[Any]:
        calls = GuardedCalls(session, (await read_catalog(session)).tools)
        both = (calls.call("create_x", {"n": n}, timeout_seconds=30) for n in range(2))
        return await asyncio.gather(*both, return_exceptions=True)

    outcomes = server.use(work)
    assert [isinstance(one, PolicyDenied) for one in outcomes] == [False, True]
    assert outcomes[1].message == 'the tool "create_x" is classified as mutating and was called once already'
    assert server.called == ["create_x"]


def test_a_destructive_tool_is_never_called_without_the_override_and_never_twice_with_it(tmp_path: Path) -> None:
    server = Scripted(tmp_path, TOOLS, {})

    async def work(session: Session) -> None:
        tools = (await read_catalog(session)).tools
        with pytest.raises(PolicyDenied, match="is not called"):
            await GuardedCalls(session, tools).call("delete_x", {}, timeout_seconds=30)
        assert server.called == []
        allowed = GuardedCalls(session, tools, ExecutionPolicy(execute_destructive=True))
        await allowed.call("delete_x", {}, timeout_seconds=30)
        with pytest.raises(PolicyDenied, match="called once already"):
            await allowed.call("delete_x", {}, timeout_seconds=30)

    server.use(work)
    assert server.called == ["delete_x"]


def test_a_shared_budget_is_used_up_by_all_and_a_refused_call_costs_none(tmp_path: Path) -> None:
    server = Scripted(tmp_path, TOOLS, {})

    async def work(session: Session) -> int:
        tools, budget = (await read_catalog(session)).tools, CallBudget(2)
        one, other = (GuardedCalls(session, tools, budget=budget) for _ in range(2))
        with pytest.raises(PolicyDenied):
            await one.call("delete_x", {}, timeout_seconds=30)
        await one.call("get_x", {}, timeout_seconds=30)
        await other.call("get_x", {}, timeout_seconds=30)
        with pytest.raises(BudgetExhausted):
            await one.call("create_x", {}, timeout_seconds=30)
        return budget.made

    assert server.use(work) == 2
    assert server.called == ["get_x", "get_x"]
