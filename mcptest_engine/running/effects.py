"""Counts the calls of tools in a run, by server, tool, decision and who decided; see `core/effects.py`.

A run may make many thousands of calls, so that they are counted and not listed: only the first hundred different arguments of
a row have their hash. The class of a tool is told by whichever `tools/list` the run has seen; lists are asked for here only for
a suite with `effects` limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.effects import CHANGING, UNLISTED, CallDecision, DecidedBy, Effect, Effects, joined_rows
from mcptest_engine.core.errors import PolicyDenied, ServerError, UsageError
from mcptest_engine.safety.tool_classes import ToolClass, cautious_class, class_of, descriptors_by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcptest_engine.running.pool import Pool
    from mcptest_engine.servers.session import Session

MOST_ARGUMENTS = 100
HASH_DIGITS = 16
_encoded = json.JSONEncoder(default=str).encode
LISTING_SECONDS = 60.0


class EffectLedger:
    """The calls of one run. `redact` takes the run's secrets out of names, and out of arguments before they are hashed."""

    def __init__(self, redact: Callable[[Any], Any]) -> None:
        self._redact = redact
        self._calls: dict[tuple[str, str, CallDecision, DecidedBy, ToolClass | None], _Calls] = {}
        self._classes: dict[str, dict[str, ToolClass]] = {}

    def note(
        self,
        server: str,
        tool: str,
        arguments: object,
        *,
        decision: CallDecision = CallDecision.EXECUTED,
        by: DecidedBy = DecidedBy.SUITE,
        tool_class: ToolClass | None = None,
    ) -> None:
        """Count a call, just before it is made. `tool_class` is that of the list it was decided by, where one was.

        Else it is the class that is known by now, which no later list changes.
        """
        key = (server, tool, decision, by, tool_class or self._classes.get(server, {}).get(tool))
        calls = self._calls.get(key)
        if calls is None:
            calls = self._calls[key] = _Calls()
        calls.count += 1
        if len(calls.seen) < MOST_ARGUMENTS:
            with contextlib.suppress(RecursionError):  # too deep to be sent: the call itself fails of it
                same = hash(_encoded(arguments))  # cheaper than to redact and sort what was seen before
                if same not in calls.seen:
                    calls.seen.add(same)
                    calls.arguments[hash_arguments(self._redact(arguments))] = None

    def note_call(
        self,
        session: Session,
        server: str,
        tool: str,
        arguments: object,
        *,
        by: DecidedBy = DecidedBy.SUITE,
        tool_class: ToolClass | None = None,
    ) -> RecordedCall:
        """Count the call that is sent within, however it ends. What this gives is the request's `on_sending`."""
        return RecordedCall(self, session, server, tool, arguments, by, tool_class)

    def learn_classes(self, server: str, tools: object) -> None:
        """Take the classes of tools as a `tools/list` gave them, a page or all of them; the most dangerous of a tool stays."""
        known = self._classes.setdefault(server, {})
        for name, listed in descriptors_by_name(tools if isinstance(tools, (list, tuple)) else ()).items():
            own = class_of(listed)
            known[name] = max(own, known.get(name, own), key=lambda tool_class: tool_class.severity)

    def class_of(self, server: str, tool: str) -> ToolClass | None:
        """The class of a tool as it was listed; None where no list was seen."""
        return self._classes.get(server, {}).get(tool)

    async def list_servers(self, pool: Pool) -> list[str]:
        """List the tools of the servers whose tools were called and are not known. Gives why one could not be listed."""
        servers = {
            server
            for server, tool, _, _, tool_class in self._calls
            if tool_class is None and tool not in self._classes.get(server, ())
        }
        found = await asyncio.gather(*(self._list_server(pool, server) for server in sorted(servers)))
        return [problem for problem in found if problem is not None]

    async def _list_server(self, pool: Pool, server: str) -> str | None:
        from mcptest_engine.servers.catalog import list_all

        try:
            async with asyncio.timeout(LISTING_SECONDS):
                self.learn_classes(server, await list_all(await pool.session(server), "tools"))
        except (ServerError, TimeoutError) as error:
            told = getattr(error, "message", f"no list came within {LISTING_SECONDS:g} s")
            return f'the tools of server "{server}" could not be listed, so they are classified by their names: {told}'
        return None

    def effects(self, *, replayed: bool, limits: Mapping[str, int] | None) -> Effects | None:
        """What the record says; None where no tool was called and nothing is limited. `replayed`: no server was asked."""
        rows = joined_rows(self._rows(replayed=replayed))
        return Effects(calls=rows, limits=limits) if rows or limits is not None else None

    def _rows(self, *, replayed: bool) -> Iterator[Effect]:
        for (server, tool, decision, by, known), calls in self._calls.items():
            tool_class = known or self._classes.get(server, {}).get(tool)
            changes_nothing = tool_class in (ToolClass.READ_ONLY, ToolClass.READ_ONLY_PRESUMED)
            by_name = cautious_class(tool).value if tool_class is None else None
            yield Effect(
                server=self._redact(server),
                tool=self._redact(tool),
                tool_class=UNLISTED if tool_class is None else tool_class.value,
                decision=CallDecision.REPLAYED if replayed and decision is CallDecision.EXECUTED else decision,
                decided_by=by,
                count=calls.count,
                arguments=() if changes_nothing else tuple(calls.arguments),
                limited_as=by_name if by_name in CHANGING else None,
            )


class RecordedCall:
    """A call that is counted once it has ended (`EffectLedger.note_call`). A class, because a generator costs more each time.

    A call that the gate of the session refuses is counted as denied, one that was never sent not at all. Under a gate
    nobody has read the test yet: its policy decides, or a person who allowed the tool, and by the class that it knows.
    """

    __slots__ = ("_arguments", "_by", "_class", "_decision", "_gate", "_ledger", "_server", "_session", "_tool")

    def __init__(
        self,
        ledger: EffectLedger,
        session: Session,
        server: str,
        tool: str,
        arguments: object,
        by: DecidedBy,
        tool_class: ToolClass | None,
    ) -> None:
        self._ledger, self._session, self._server, self._tool = ledger, session, server, tool
        self._arguments, self._by, self._class, self._gate = arguments, by, tool_class, session.gate
        self._decision: CallDecision | None = None

    def __enter__(self) -> Callable[[ToolClass | None], None]:
        return self._note_sending

    def _note_sending(self, class_of_gate: ToolClass | None) -> None:
        self._decision = CallDecision.EXECUTED
        self._class = class_of_gate or self._class or self._ledger.class_of(self._server, self._tool)

    def __exit__(self, kind: type[BaseException] | None, wrong: BaseException | None, _: object) -> None:
        gate, by = self._gate, self._by
        if isinstance(wrong, PolicyDenied):
            self._decision = CallDecision.DENIED
            self._class = None if gate is None else gate.last_class(self._session, self._tool)
        elif isinstance(wrong, UsageError):  # the gate knows no such tool, or the arguments cannot be sent
            self._decision = CallDecision.DENIED if self._decision is None else None
        if gate is not None:
            is_executed = self._decision is CallDecision.EXECUTED
            allowed = is_executed and gate.policy.is_allowed(self._tool, self._class)
            by = DecidedBy.PERSON if allowed else DecidedBy.POLICY
        if self._decision is not None:
            self._ledger.note(
                self._server, self._tool, self._arguments, decision=self._decision, by=by, tool_class=self._class
            )


class _Calls:
    """How many calls there were, and the hashes of their arguments, in order. `seen` is for a quick look."""

    __slots__ = ("arguments", "count", "seen")

    def __init__(self) -> None:
        self.count = 0
        self.seen: set[int] = set()
        self.arguments: dict[str, None] = {}


def hash_arguments(arguments: object) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of the arguments as canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]
