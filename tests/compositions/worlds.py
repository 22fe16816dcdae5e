"""A world for walks without servers: calls are answered by a function, after as many turns of the loop as it says."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.jq import JqProgramError, JqRunError, run_program
from mcptest_engine.running.kinds.composition.plan import composed
from mcptest_engine.running.kinds.composition.walk import ComputeError, NotFrozen, Walk
from mcptest_engine.suite.items import with_defaults

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.errors import ServerError
    from mcptest_engine.core.results import FailureKind
    from mcptest_engine.running.kinds.composition.plan import Row
    from mcptest_engine.running.kinds.composition.trace import Call, NodeTrace, Trace

Answer = tuple[int, dict[str, Any]]


class TurningWorld:
    """Time is the number of calls begun and ended; nothing sleeps. `in_hand` is how many calls are under way."""

    def __init__(self, answer: Callable[[str, Mapping[str, Any]], Answer]) -> None:
        self._answer = answer
        self._time = 0.0
        self.begun: list[str] = []
        self.in_hand = self.most_in_hand = 0
        self.tellings: list[tuple[str, str]] = []

    async def call(
        self, server: str, tool: str, args: Mapping[str, Any], timeout_seconds: float
    ) -> tuple[Mapping[str, Any], str | None]:
        assert server
        assert timeout_seconds > 0
        turns, answer = self._answer(tool, args)
        self.begun.append(tool)
        self.in_hand += 1
        self.most_in_hand = max(self.most_in_hand, self.in_hand)
        try:
            for _ in range(turns):
                await asyncio.sleep(0)
        finally:
            self.in_hand -= 1
            self._time += 1
        return answer, None

    async def compute(self, program: str, value: Any) -> list[Any]:
        await asyncio.sleep(0)
        try:
            return run_program(program, value)
        except (JqProgramError, JqRunError) as wrong:
            raise ComputeError(wrong.message) from None

    def frozen(self, node: NodeTrace, call: Call) -> Mapping[str, Any]:
        raise NotFrozen(f"nothing of {node.plan.id} {call.args}", "")

    def freeze(self, node: NodeTrace) -> None:
        raise AssertionError(node.plan.id)

    def kind_of(self, error: ServerError) -> FailureKind:
        raise AssertionError(error)

    def emit_node(self, node: NodeTrace, *, begun: bool) -> None:
        self.tellings.append((node.plan.id, "running" if begun else node.status))

    def redact(self, value: Any) -> Any:
        return value

    def clock(self) -> float:
        return self._time


def rows_of(composition: Mapping[str, Any]) -> list[Row]:
    """The rows of a composition as the suite's loader would give it."""
    data = with_defaults({"name": "c", **composition}, {})
    return [row for _, row in composed(data, only_server="s", timeouts={}, timeout_ms=30_000)]


def walked(composition: Mapping[str, Any], answer: Callable[[str, Mapping[str, Any]], Answer]) -> tuple[Trace, Any]:
    """The trace of the only row of a composition, and the world that it was walked in."""
    world = TurningWorld(answer)
    (row,) = rows_of(composition)

    async def walk() -> Trace:
        async with asyncio.timeout(180):
            trace = await Walk(row, world).run()
        assert asyncio.all_tasks() == {asyncio.current_task()}, "something was left running"
        return trace

    return asyncio.run(walk()), world
