"""What may be done with a tool of a class, and how many calls are left: asked by whatever calls a tool on its own account.

A call that a suite or a person named is nobody's own account and asks nothing here. Pure but for the budget's lock.
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
    """What may be done with a tool. `EXECUTE_ONCE`: one call in the whole run, never a second one to compare with."""

    EXECUTE = "execute"
    EXECUTE_ONCE = "execute_once"
    GENERATE_ONLY = "generate_only"
    REFUSE = "refuse"


class Purpose(StrEnum):
    """Why a tool is wanted: `GENERATE` can write a test down and leave it at that, `CALL` needs a live answer."""

    GENERATE = "generate"
    CALL = "call"


REVIEW_FIRST = "review before first run"
"""How the comment and the `skip:` of a generated test of a destructive tool begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPolicy:
    """The knobs. `max_calls` None is without limit; the delay is kept between calls over HTTP only.

    `declared_only` is for commands that take many tools at once: of the tools that nobody named, only those that declare
    `readOnlyHint: true` are called, with `presumed` also those that are presumed read-only. `allowed` are named ones.
    `as_arguments`: whoever calls has the arguments of a tool of the MCP server, not the flags of the command line.
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
        """What may be done with a tool of this class that a person named."""
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
        """What may be done with the tool `name`."""
        if self.declared_only and tool_class is not ToolClass.READ_ONLY and not self.is_allowed(name, tool_class):
            return Decision.GENERATE_ONLY if purpose is Purpose.GENERATE else Decision.REFUSE
        return self.decide(tool_class, purpose)

    def is_allowed(self, name: str, tool_class: ToolClass | None) -> bool:
        """Whether a person said that the tool may be called: by its name, or with all that are presumed read-only."""
        return name in self.allowed or (self.presumed and tool_class is ToolClass.READ_ONLY_PRESUMED)

    def how_to_allow(self, name: str, tool_class: ToolClass) -> str:
        """How a person allows a tool that is not called."""
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
"""For a command that takes many tools at once, where nobody has allowed more."""


class CallBudget:
    """How many calls may still be made. Safe to share between threads: of `limit` acquisitions exactly `limit` succeed."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._made = 0
        self._lock = threading.Lock()

    @property
    def made(self) -> int:
        """How many calls were acquired."""
        return self._made

    def acquire(self) -> None:
        """Take one call. Raises: BudgetExhausted when none is left."""
        with self._lock:
            if self.limit is not None and self._made >= self.limit:
                raise BudgetExhausted(self.limit)
            self._made += 1
