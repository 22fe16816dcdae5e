"""The gate before `tools/call`."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from mcptest_engine.core.errors import BudgetExhausted, PolicyDenied, ServerError, UsageError
from mcptest_engine.safety.execution_policy import CallBudget, ExecutionPolicy
from mcptest_engine.servers.calls import Exchange
from mcptest_engine.servers.gate import Gate
from mcptest_engine.servers.remarks import Remarks
from mcptest_engine.servers.server_messages import ServerMessages
from mcptest_engine.servers.spec import ServerSpec
from tests.authoring.scripts import Scripted, tool

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.servers.session import Session

TOOLS = [tool("get_x"), tool("create_x"), tool("delete_x")]


class Clock:
    """A clock that goes on only when somebody sleeps, and writes down how long."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now += seconds


class Wire:
    """Stands for a session of which only the transport and the moments of the calls matter."""

    gate = None
    stateless = False
    capabilities: ClassVar[dict[str, Any]] = {"tools": {}}
    spec = ServerSpec(name="wire", command=("none",))

    def __init__(self, transport: str, clock: Clock, takes: float = 0.0) -> None:
        self.transport, self._clock, self._takes = transport, clock, takes
        self.server_messages = ServerMessages(Remarks(self.spec))
        self.started: list[float] = []
        self.running = self.most = 0

    async def request(self, method: str, *_: Any, **__: Any) -> Any:
        if method == "tools/list":
            return Exchange(method=method, params=None, answer={"result": {"tools": TOOLS}}, duration_ms=0)
        self.started.append(round(self._clock(), 3))
        self.running += 1
        self.most = max(self.most, self.running)
        for _turn in range(5):
            await asyncio.sleep(0)
        self._clock.now += self._takes
        self.running -= 1
        return "answer"


def calls_at(wire: Wire, clock: Clock, names: list[str], **policy: Any) -> None:
    async def work() -> None:
        gate = Gate(ExecutionPolicy(**policy), sleep=clock.sleep, clock=clock)
        for name in names:
            await gate.call(wire, name, {}, timeout_seconds=1)  # type: ignore[arg-type]

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


def test_a_call_of_a_process_makes_no_call_over_http_wait() -> None:
    clock = Clock()
    process, remote = Wire("stdio", clock), Wire("http", clock)

    async def work() -> None:
        gate = Gate(ExecutionPolicy(call_delay_seconds=0.25), clock=clock, sleep=clock.sleep)
        for wire in (process, remote):
            await gate.call(wire, "get_x", {}, timeout_seconds=1)  # type: ignore[arg-type]

    asyncio.run(work())
    assert (remote.started, clock.slept) == ([0], [])


def test_a_server_that_does_not_list_its_tools_holds_up_no_call_of_another() -> None:
    clock = Clock()

    class Silent(Wire):
        async def request(self, *_: Any, **__: Any) -> Any:
            return await asyncio.Event().wait()

    silent, other = Silent("stdio", clock), Wire("stdio", clock)

    async def work() -> None:
        gate = Gate(clock=clock, sleep=clock.sleep)
        waiting = asyncio.ensure_future(gate.call(silent, "get_x", {}, timeout_seconds=1))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        async with asyncio.timeout(180):
            await gate.call(other, "get_x", {}, timeout_seconds=1)  # type: ignore[arg-type]
        waiting.cancel()

    asyncio.run(work())
    assert len(other.started) == 1


@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_more_calls_are_under_way_than_the_policy_says(most: int) -> None:
    clock = Clock()
    wire = Wire("stdio", clock)

    async def work() -> None:
        gate = Gate(ExecutionPolicy(concurrency=most), clock=clock)
        calls = (gate.call(wire, "get_x", {}, timeout_seconds=1) for _ in range(20))  # type: ignore[arg-type]
        await asyncio.gather(*calls)

    asyncio.run(work())
    assert (wire.most, len(wire.started)) == (most, 20)


def test_a_mutating_tool_is_called_once_in_the_life_of_the_gate_even_by_two_at_once(tmp_path: Path) -> None:
    server = Scripted(tmp_path, TOOLS, {})

    async def work(session: Session) -> list[Any]:
        gate = Gate()
        both = (gate.call(session, "create_x", {"n": n}, timeout_seconds=30) for n in range(2))
        return await asyncio.gather(*both, return_exceptions=True)

    outcomes = server.use(work)
    assert [isinstance(one, PolicyDenied) for one in outcomes] == [False, True]
    assert outcomes[1].message == 'the tool "create_x" is classified as mutating and was called once already'
    assert server.called == ["create_x"]


def test_a_destructive_tool_is_never_called_without_the_override_and_never_twice_with_it(tmp_path: Path) -> None:
    server = Scripted(tmp_path, TOOLS, {})

    async def work(session: Session) -> None:
        with pytest.raises(PolicyDenied, match="is not called"):
            await Gate().call(session, "delete_x", {}, timeout_seconds=30)
        assert server.called == []
        allowed = Gate(ExecutionPolicy(execute_destructive=True))
        await allowed.call(session, "delete_x", {}, timeout_seconds=30)
        with pytest.raises(PolicyDenied, match="called once already"):
            await allowed.call(session, "delete_x", {}, timeout_seconds=30)

    server.use(work)
    assert server.called == ["delete_x"]


def test_a_shared_budget_is_used_up_by_all_and_a_refused_call_costs_none(tmp_path: Path) -> None:
    server = Scripted(tmp_path, TOOLS, {})

    async def work(session: Session) -> int:
        budget = CallBudget(2)
        one, other = (Gate(budget=budget) for _ in range(2))
        with pytest.raises(PolicyDenied):
            await one.call(session, "delete_x", {}, timeout_seconds=30)
        await one.call(session, "get_x", {}, timeout_seconds=30)
        await other.call(session, "get_x", {}, timeout_seconds=30)
        with pytest.raises(BudgetExhausted):
            await one.call(session, "create_x", {}, timeout_seconds=30)
        return budget.made

    assert server.use(work) == 2
    assert server.called == ["get_x", "get_x"]


READ_ONLY = {"annotations": {"readOnlyHint": True}}
DESTRUCTIVE = {"annotations": {"destructiveHint": True}}
OK: dict[str, Any] = {"result": {"content": []}}


def test_a_session_with_a_gate_sends_no_call_without_it(tmp_path: Path) -> None:
    server = Scripted(tmp_path, [tool("get_x", **READ_ONLY), tool("look_x"), tool("create_x")], {})

    async def work(session: Session) -> None:
        session.gate = Gate(ExecutionPolicy(declared_only=True))
        for name in ("look_x", "create_x"):
            with pytest.raises(PolicyDenied, match="is not called"):
                await session.request("tools/call", {"name": name, "arguments": {}}, timeout_seconds=30)
        with pytest.raises(UsageError, match="lists no tool"):
            await session.request("tools/call", {"name": "other"}, timeout_seconds=30)
        await session.request("tools/call", {"name": "get_x"}, timeout_seconds=30)
        await session.gate.call(session, "get_x", {}, timeout_seconds=30)
        assert session.gate.budget.made == 2

    server.use(work)
    assert server.called == ["get_x", "get_x"]


@pytest.mark.parametrize(
    ("policy", "called"),
    [
        ({}, ["declared"]),
        ({"presumed": True}, ["declared", "presumed"]),
        ({"allowed": frozenset({"presumed", "create_x", "delete_x"})}, ["declared", "presumed", "create_x"]),
        ({"allowed": frozenset({"delete_x"}), "execute_destructive": True}, ["declared", "delete_x"]),
        ({"execute_destructive": True}, ["declared"]),
    ],
)
def test_a_command_that_takes_many_tools_calls_those_that_declare_or_are_allowed(
    tmp_path: Path, policy: dict[str, Any], called: list[str]
) -> None:
    names = ("declared", "presumed", "create_x", "delete_x")
    tools = [tool(name, **(READ_ONLY if name == "declared" else {})) for name in names]
    server = Scripted(tmp_path, tools, {})

    async def work(session: Session) -> None:
        gate = Gate(ExecutionPolicy(declared_only=True, **policy))
        for name in names:
            with contextlib.suppress(PolicyDenied):
                await gate.call(session, name, {}, timeout_seconds=30)

    server.use(work)
    assert server.called == called


def test_a_tool_that_the_server_lists_anew_as_destructive_is_not_called_again(tmp_path: Path) -> None:
    server = Scripted(
        tmp_path, [tool("get_x", **READ_ONLY)], {"get_x": [{**OK, "list": [tool("get_x", **DESTRUCTIVE)]}]}
    )

    async def work(session: Session) -> None:
        gate = Gate()
        await gate.call(session, "get_x", {}, timeout_seconds=30)
        with pytest.raises(PolicyDenied, match="classified as destructive"):
            await gate.call(session, "get_x", {}, timeout_seconds=30)

    server.use(work)
    assert server.called == ["get_x"]


def test_another_session_is_listed_anew(tmp_path: Path) -> None:
    """After a reconnect: what was read of the server before says nothing about it now."""
    gate = Gate()

    async def work(session: Session) -> None:
        await gate.call(session, "get_x", {}, timeout_seconds=30)

    server = Scripted(tmp_path, [tool("get_x", **READ_ONLY)], {})
    server.use(work)
    server = Scripted(tmp_path, [tool("get_x", **DESTRUCTIVE)], {})
    with pytest.raises(PolicyDenied, match="classified as destructive"):
        server.use(work)
    assert server.called == ["get_x"]


def test_a_list_that_changes_whenever_it_is_read_allows_no_call() -> None:
    clock = Clock()

    class Restless(Wire):
        async def request(self, method: str, *rest: Any, **more: Any) -> Any:
            self.server_messages.tool_list_changes += 1
            return await super().request(method, *rest, **more)

    wire = Restless("stdio", clock)
    with pytest.raises(ServerError, match="announced a change of its tools each"):
        calls_at(wire, clock, ["get_x"])
    assert wire.started == []
