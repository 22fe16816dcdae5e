"""Whether a tool of a class may be called, and how many calls are left: for whatever chooses by itself which tools to call.

Calls that a suite makes, or `mcptest call`, are not checked here. Pure but for the budget's lock.
See docs/explanation/safety.md.
"""

from __future__ import annotations

import json
import threading
from enum import StrEnum

from mcptest_engine.core.errors import BudgetExhausted
from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.tool_classes import ToolClass


class Decision(StrEnum):
    """What may be done with a tool. `EXECUTE_ONCE`: one call in the whole run, so no second one to compare it with."""

    EXECUTE = "execute"
    EXECUTE_ONCE = "execute_once"
    GENERATE_ONLY = "generate_only"
    REFUSE = "refuse"


class Purpose(StrEnum):
    """Why a tool is needed: `GENERATE` can write a test without a call, `CALL` needs a live answer."""

    GENERATE = "generate"
    CALL = "call"


REVIEW_FIRST = "review before first run"
"""The beginning of the comment and of the `skip:` of a generated test of a destructive tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPolicy:
    """The settings. `max_calls` None is without limit; the delay between calls applies to HTTP only.

    `declared_only` is for commands that take many tools at once: of the tools that nobody named, only those that declare
    `readOnlyHint: true` are called, with `presumed` also those that are presumed read-only. `allowed` are the named ones.
    `as_arguments` makes `how_to_allow` name arguments of an MCP tool in place of flags of the command line.
    """

    execute_destructive: bool = False
    max_calls: int | None = None
    concurrency: int = 2
    call_delay_seconds: float = 0.1
    declared_only: bool = False
    presumed: bool = False
    allowed: frozenset[str] = frozenset()
    as_arguments: bool = False

    def decide(self, tool_class: ToolClass, purpose: Purpose) -> Decision:
        """The decision on a tool of this class that was named, by a person or by an agent over MCP."""
        match tool_class:
            case ToolClass.READ_ONLY | ToolClass.READ_ONLY_PRESUMED:
                return Decision.EXECUTE
            case ToolClass.MUTATING:
                return Decision.EXECUTE_ONCE
            case ToolClass.DESTRUCTIVE:
                if self.execute_destructive:
                    return Decision.EXECUTE_ONCE
                return Decision.GENERATE_ONLY if purpose is Purpose.GENERATE else Decision.REFUSE

    def decide_tool(self, name: str, tool_class: ToolClass, purpose: Purpose) -> Decision:
        """The decision on the tool `name`, whether or not a person named it."""
        if self.declared_only and tool_class is not ToolClass.READ_ONLY and not self.is_allowed(name, tool_class):
            return Decision.GENERATE_ONLY if purpose is Purpose.GENERATE else Decision.REFUSE
        return self.decide(tool_class, purpose)

    def is_allowed(self, name: str, tool_class: ToolClass | None) -> bool:
        """Whether a person allowed the tool: by its name, or with all tools that are presumed read-only."""
        return name in self.allowed or (self.presumed and tool_class is ToolClass.READ_ONLY_PRESUMED)

    def how_to_allow(self, name: str, tool_class: ToolClass) -> str:
        """The hint that says how to allow a tool that is not called."""
        verb, allow, presumed, destructive = "use", f"--allow {name}", "--presumed", "--execute-destructive"
        if self.as_arguments:
            verb, allow = "set", f"`allow` to [{json.dumps(name, ensure_ascii=False)}]"
            presumed, destructive = "`presumed` to true", "`execute_destructive` to true"
        named = allow if self.declared_only and name not in self.allowed else ""
        if tool_class is ToolClass.DESTRUCTIVE:
            flags = " and ".join(filter(None, (named, "" if self.execute_destructive else destructive)))
            return f"{verb} {flags} to allow exactly one call, with a server whose data may be destroyed"
        if tool_class is ToolClass.MUTATING:
            return f"{verb} {named} to allow exactly one call"
        return f"{verb} {named}, or {presumed} for all tools that are presumed read-only"


DEFAULT_POLICY = ExecutionPolicy()
MANY_TOOLS = ExecutionPolicy(declared_only=True)
"""The policy of a command that takes many tools at once, unless a person allows more."""


class CallBudget:
    """How many calls may still be made. Thread-safe: never more than `limit` acquisitions succeed."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._made = 0
        self._lock = threading.Lock()

    @property
    def made(self) -> int:
        """How many calls were acquired."""
        return self._made

    def acquire(self) -> None:
        """Count one call. Raises: BudgetExhausted when none is left."""
        with self._lock:
            if self.limit is not None and self._made >= self.limit:
                raise BudgetExhausted(self.limit)
            self._made += 1
