"""The one way by which mcptest calls a tool on its own account: the policy decides, the budget is asked, HTTP is spared.

Whoever wants a call has this class; there is no way round it to `tools/call`. It counts what it has called, so that a tool
that changes something is called once in the life of a `GuardedCalls`, whatever its caller believes.
Source: execution-safety.md.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import PolicyDenied, UsageError, did_you_mean
from mcptest_engine.safety.execution import DEFAULT_POLICY, CallBudget, Decision, ExecutionPolicy, Purpose
from mcptest_engine.safety.policy import ToolClass, classify

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from mcptest_engine.servers.session import Exchange, Session

    Sleep = Callable[[float], Coroutine[Any, Any, None]]

_TOLD = {
    ToolClass.READ_ONLY: "declared read-only",
    ToolClass.READ_ONLY_PRESUMED: "presumed read-only by its name",
    ToolClass.MUTATING: "classified as mutating",
    ToolClass.DESTRUCTIVE: "classified as destructive",
}


class GuardedCalls:
    """Calls of one session's tools under one policy. `tools` are the descriptors as `tools/list` sent them.

    `budget` may be shared by several; `sleep` and `clock` (seconds, monotonic) are for tests.
    """

    def __init__(
        self,
        session: Session,
        tools: Iterable[Mapping[str, Any]],
        policy: ExecutionPolicy = DEFAULT_POLICY,
        *,
        budget: CallBudget | None = None,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.policy = policy
        self.budget = CallBudget(policy.max_calls) if budget is None else budget
        self._session = session
        self._tools: dict[str, list[Mapping[str, Any]]] = {}
        for tool in tools:
            if isinstance(name := tool.get("name"), str):
                self._tools.setdefault(name, []).append(tool)
        self._called: dict[str, int] = {}
        self._free = asyncio.Semaphore(policy.concurrency)
        self._sleep = sleep
        self._clock = asyncio.get_running_loop().time if clock is None else clock
        self._next_at = 0.0
        self._polite = asyncio.Lock()

    @property
    def redact(self) -> Callable[[str], str]:
        """Takes the secrets that the server's spec knows out of a text."""
        return self._session.spec.redact

    def descriptors(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """The tool as `tools/list` has it: one descriptor, or several where the server lists the name again."""
        return tuple(self._tools.get(name, ()))

    def tool_class(self, name: str) -> ToolClass:
        """The class of a tool, the most dangerous one where it is listed several times.

        Raises: UsageError for one that the server does not list: nothing is known of it.
        """
        tools = self._tools.get(name)
        if tools is None:
            told = "1 tool" if len(self._tools) == 1 else f"{len(self._tools)} tools"
            hint = did_you_mean(name, self._tools) or f"it lists {told}; `mcptest tools` shows them"
            raise UsageError(
                f'the server lists no tool "{name}", so nothing says whether it is safe to call', hint=hint
            )
        return max(map(classify, tools), key=lambda tool_class: tool_class.severity)

    def decide(self, name: str) -> Decision:
        """What may be done with a tool that a live answer is wanted of. Raises: UsageError as `tool_class` does."""
        return self.policy.decide(self.tool_class(name), Purpose.CALL)

    async def call(self, name: str, arguments: Mapping[str, Any], *, timeout_seconds: float) -> Exchange:
        """Call a tool. Raises: PolicyDenied when it may not be called (again), BudgetExhausted, and what a call raises."""
        self._allow(name)
        async with self._free:
            await self._wait_politely()
            params = {"name": name, "arguments": dict(arguments)}
            try:
                return await self._session.request("tools/call", params, timeout_seconds=timeout_seconds)
            finally:
                self._next_at = max(self._next_at, self._clock() + self.policy.call_delay_seconds)

    def _allow(self, name: str) -> None:
        """Take the call out of what is allowed, before anything is waited for: two at once must not both be the first."""
        decision, told = self.decide(name), _TOLD[self.tool_class(name)]
        if decision in (Decision.REFUSE, Decision.GENERATE_ONLY):
            hint = "give --execute-destructive to allow exactly one call, against a target that may be destroyed"
            raise PolicyDenied(f'the tool "{name}" is {told} and is not called', hint=hint)
        if decision is Decision.EXECUTE_ONCE and self._called.get(name, 0):
            raise PolicyDenied(
                f'the tool "{name}" is {told} and was called once already', hint="it is never called twice"
            )
        self.budget.acquire()
        self._called[name] = self._called.get(name, 0) + 1

    async def _wait_politely(self) -> None:
        """Between two calls over HTTP lies `call_delay_seconds`; a process on this machine needs none."""
        if self._session.transport == "stdio" or self.policy.call_delay_seconds <= 0:
            return
        async with self._polite:
            while (ahead := self._next_at - self._clock()) > 0:
                await self._sleep(ahead)
            self._next_at = self._clock() + self.policy.call_delay_seconds
