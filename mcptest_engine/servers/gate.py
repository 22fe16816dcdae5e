"""The gate before every `tools/call` that neither a suite nor a person wrote: class, policy, budget, number, pace.

`Gate.call` is for a session that others use too; `session.gate = gate` sends every call of a session through the gate. A tool's
class comes from the current list: it is read before the first call over a session, and again after the server announces a
change. Where such an announcement may be late (HTTP) or impossible (no session), the list is read before each call. See
docs/explanation/safety.md.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mcptest_engine.core.errors import BudgetExhausted, PolicyDenied, ServerError, UsageError, did_you_mean
from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.execution_policy import DEFAULT_POLICY, CallBudget, Decision, ExecutionPolicy, Purpose
from mcptest_engine.safety.tool_classes import ToolClass, class_of, descriptors_by_name
from mcptest_engine.servers.catalog import list_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.servers.calls import Exchange, OpenSession

    Sleep = Callable[[float], Coroutine[object, object, None]]

MAX_LISTINGS = 5
"""How often the list is read for one call when it changes each time."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of one list, in order and by name, and how many changes the server had announced before."""

    descriptors: Sequence[Mapping[str, object]]
    tools: Mapping[str, tuple[JsonMapping, ...]]
    changes: int


class ToolLists:
    """The tool lists of servers, over any number of sessions, read again where they may have changed.

    `timeout_seconds` holds for each page of a list; None means the spec's time.
    """

    def __init__(self, timeout_seconds: float | None = None) -> None:
        self._timeout_seconds = timeout_seconds
        self._listings: WeakKeyDictionary[OpenSession, Listing] = WeakKeyDictionary()
        self._locks: WeakKeyDictionary[OpenSession, asyncio.Lock] = WeakKeyDictionary()

    def last(self, session: OpenSession) -> Listing | None:
        """The list that was read last, None before the first. Sends nothing."""
        return self._listings.get(session)

    def is_current(self, session: OpenSession) -> bool:
        """Whether the list was read and no change was announced since. Sends nothing."""
        known = self._listings.get(session)
        return known is not None and known.changes == session.server_messages.tool_list_changes

    async def read(self, session: OpenSession) -> Listing:
        """Return the current list. Raises: ServerError, also when the list changes each time it is read."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            known = self._listings.get(session)
            if known is not None and self.is_current(session) and not may_miss_list_change(session):
                return known
            for _ in range(MAX_LISTINGS):
                changes = session.server_messages.tool_list_changes
                tools = await list_all(session, "tools", timeout_seconds=self._timeout_seconds)
                if changes == session.server_messages.tool_list_changes:
                    self._listings[session] = listing = Listing(tools, descriptors_by_name(tools), changes)
                    return listing
        raise restless_list(session.spec.name)


def restless_list(server: str) -> ServerError:
    """The error for a server whose list changes each time it is read."""
    return ServerError(
        f'server "{server}" announced a change of its tools each of the {MAX_LISTINGS} times that they were '
        "listed, so it is unknown whether they are safe to call",
        server=server,
    )


class Gate:
    """Calls tools under one policy, over any number of sessions, and counts the calls by server and tool.

    Several gates may share a `budget`; `unaffordable` are the tools that were not called because it was used up.
    `list_timeout_seconds` is that of `ToolLists`. `sleep` and `clock` (seconds, monotonic) are for tests.
    """

    def __init__(
        self,
        policy: ExecutionPolicy = DEFAULT_POLICY,
        *,
        budget: CallBudget | None = None,
        list_timeout_seconds: float | None = None,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.policy = policy
        self.budget = CallBudget(policy.max_calls) if budget is None else budget
        self._lists = ToolLists(list_timeout_seconds)
        self._called: dict[tuple[str, str], int] = {}
        self.unaffordable: set[str] = set()
        self._free = asyncio.Semaphore(policy.concurrency)
        self._sleep = sleep
        self._clock = clock
        self._next_at = 0.0
        self._pace = asyncio.Lock()

    async def descriptors(self, session: OpenSession, name: str) -> tuple[Mapping[str, object], ...]:
        """The tool's descriptors in the current list; several where its name is repeated.

        Raises: UsageError for a tool that is not listed; and what listing raises.
        """
        return _descriptors_of(await self._lists.read(session), name)

    async def tool_class(self, session: OpenSession, name: str) -> ToolClass:
        """The class of a tool in the current list, the most dangerous where it is listed twice. Raises as `descriptors`."""
        return class_of(_descriptors_of(await self._lists.read(session), name))

    def last_class(self, session: OpenSession, name: str) -> ToolClass | None:
        """The class of a tool in the list that was read last; None when it is not in it. Sends nothing."""
        listing = self._lists.last(session)
        return None if listing is None or name not in listing.tools else class_of(listing.tools[name])

    async def call(
        self, session: OpenSession, name: str, arguments: Mapping[str, object], *, timeout_seconds: float
    ) -> Exchange:
        """Call a tool. Raises: PolicyDenied when the policy forbids it, BudgetExhausted, and what a call raises."""
        params = {"name": name, "arguments": dict(arguments)}
        if session.gate is self:
            return await session.request("tools/call", params, timeout_seconds=timeout_seconds)
        async with self.admit(session, name):
            return await session.request("tools/call", params, timeout_seconds=timeout_seconds)

    @asynccontextmanager
    async def admit(self, session: OpenSession, name: str) -> AsyncIterator[ToolClass]:
        """Wait for a call's turn, and decide by the current class that this yields; send the call inside the block.
        Raises: as `call`.
        """
        async with self._free:
            await self._wait_for_pace(session)
            tool_class = class_of(_descriptors_of(await self._lists.read(session), name))
            self._count(session, name, tool_class)  # the caller sends without waiting again
            try:
                yield tool_class
            finally:
                if session.transport != "stdio":
                    self._next_at = max(self._next_at, self._clock() + self.policy.call_delay_seconds)

    def _count(self, session: OpenSession, name: str, tool_class: ToolClass) -> None:
        """Count the call. Raises: PolicyDenied, BudgetExhausted."""
        decision, described = self.policy.decide_tool(name, tool_class, Purpose.CALL), tool_class.described
        if decision in (Decision.REFUSE, Decision.GENERATE_ONLY):
            raise PolicyDenied(
                f'the tool "{name}" is {described} and is not called', hint=self.policy.how_to_allow(name, tool_class)
            )
        key = (session.spec.name, name)
        if decision is Decision.EXECUTE_ONCE and self._called.get(key, 0):
            raise PolicyDenied(
                f'the tool "{name}" is {described} and was called once already', hint="it is never called twice"
            )
        try:
            self.budget.acquire()
        except BudgetExhausted:
            self.unaffordable.add(name)
            raise
        self._called[key] = self._called.get(key, 0) + 1

    async def _wait_for_pace(self, session: OpenSession) -> None:
        """Wait `call_delay_seconds` between two calls over HTTP; a process on this machine needs no pause."""
        if session.transport == "stdio" or self.policy.call_delay_seconds <= 0:
            return
        async with self._pace:
            while (ahead := self._next_at - self._clock()) > 0:
                await self._sleep(ahead)
            self._next_at = self._clock() + self.policy.call_delay_seconds


def may_miss_list_change(session: OpenSession) -> bool:
    """Whether an announced change of the list may be unknown when a call is sent."""
    return session.stateless or session.transport != "stdio"


def _descriptors_of(listing: Listing, name: str) -> tuple[Mapping[str, object], ...]:
    tools = listing.tools.get(name)
    if tools is None:
        count = "1 tool" if len(listing.tools) == 1 else f"{len(listing.tools)} tools"
        hint = did_you_mean(name, listing.tools) or f"it lists {count}; `mcptest tools` shows them"
        raise UsageError(f'the server lists no tool "{name}", so it is unknown whether it is safe to call', hint=hint)
    return tools
