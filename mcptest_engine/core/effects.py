"""The calls of tools that were asked for in a run: what became of each, who decided it, and how many a suite allows.

Old records have none of it. Names are a server's words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from mcptest_engine.core.json_object import JsonObject
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

UNLISTED = "unlisted"
"""The class of a tool that is in none of the run's lists of tools."""
CLASSES = ("read_only", "read_only_presumed", "mutating", "destructive", UNLISTED)
CHANGING = ("destructive", "mutating")
"""The classes whose calls a suite can limit, under `effects`."""
TOLD_AS = "effects: "
"""How every line of a run's warnings about effects begins."""
_NAMES_TOLD = 5
_NAME_LIMIT = 60


class CallDecision(StrEnum):
    """`DRY`: answered by a stub; `DENIED`: refused; `REPLAYED`: answered from a cassette. No server heard of these."""

    EXECUTED = "executed"
    DRY = "dry"
    DENIED = "denied"
    REPLAYED = "replayed"


class DecidedBy(StrEnum):
    """Who decided on a call.

    `SUITE`: its author wrote the call, or a list under `tools:` that names the tool. `MODEL`: a model asked for it, and nothing
    was against it. `POLICY`: the class of the tool. `PERSON`: somebody who allowed a tool of a suite that nobody
    had read yet, on the command line or in a question.
    """

    SUITE = "suite"
    PERSON = "person"
    MODEL = "model"
    POLICY = "policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect(JsonObject):
    """Calls of one tool that have all but their arguments in common.

    `tool_class` is one of `CLASSES`. `limited_as` is the class under which an `effects` limit counts them, where it is another:
    that which the name of an unlisted tool suggests. `arguments` are hashes of the first different arguments, in order; there
    are none for a tool that declares or is presumed to change nothing.
    """

    JSON_MEMBERS = "server tool class=tool_class decision decided_by count arguments? limited_as?"

    server: str
    tool: str
    tool_class: str
    decision: CallDecision
    decided_by: DecidedBy
    count: int
    arguments: tuple[str, ...] = ()
    limited_as: str | None = None

    @property
    def is_notable(self) -> bool:
        """Whether something was or could have been changed, or the call was not executed as it was asked for."""
        changing = self.tool_class in CHANGING or self.limited_as is not None
        return changing or self.decision in (CallDecision.DRY, CallDecision.DENIED)

    @property
    def class_text(self) -> str:
        """The class in words, such as "read only"; "destructive by its name" for an unlisted tool whose name says so."""
        return self.tool_class.replace("_", " ") if self.limited_as is None else f"{self.limited_as} by its name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects(JsonObject):
    """All calls of a run, and its suite's limits by class: how many executed calls are allowed."""

    JSON_MEMBERS = "calls limits?"

    calls: tuple[Effect, ...] = ()
    limits: Mapping[str, int] | None = None

    def exceeded(self) -> list[str]:
        """A line for each limit that was exceeded, such as "effects: 2 destructive calls, 0 are allowed: `drop_all` (2)"."""
        lines = []
        for tool_class, limit in (self.limits or {}).items():
            tools: Counter[str] = Counter()
            for row in self.calls:
                if row.decision is CallDecision.EXECUTED and (row.limited_as or row.tool_class) == tool_class:
                    tools[row.tool] += row.count
            if (made := tools.total()) > limit:
                names = ", ".join(
                    f"`{one_line(name, _NAME_LIMIT)}` ({count})" for name, count in tools.most_common(_NAMES_TOLD)
                )
                more = f" and {len(tools) - _NAMES_TOLD} more tools" if len(tools) > _NAMES_TOLD else ""
                calls = "1 call" if made == 1 else f"{made} calls"
                lines.append(
                    f"{TOLD_AS}{calls} of {tool_class} tools, {limit} {'is' if limit == 1 else 'are'} allowed: {names}{more}"
                )
        return lines

    def summary(self) -> str:
        """How many calls of what kind, such as "3 mutating executed, 1 destructive denied"; "" where none is notable."""
        counts: Counter[tuple[int, str, str]] = Counter()
        order = (*CHANGING, *CLASSES[::-1])
        for row in self.calls:
            if row.is_notable:
                counts[order.index(row.limited_as or row.tool_class), row.class_text, row.decision.value] += row.count
        return ", ".join(f"{count} {name} {decision}" for (_, name, decision), count in sorted(counts.items()))


def merged_effects(found: Iterable[Effects | None]) -> Effects | None:
    """What shards of one run did together; None where none of them called a tool."""
    parts = [part for part in found if part is not None]
    if not parts:
        return None
    limits = next((part.limits for part in parts if part.limits is not None), None)
    return Effects(calls=joined_rows(row for part in parts for row in part.calls), limits=limits)


def joined_rows(rows: Iterable[Effect]) -> tuple[Effect, ...]:
    """The rows with those of the same calls as one: counts added up, the hashes of both."""
    found: dict[tuple[object, ...], Effect] = {}
    for row in rows:
        key = (row.server, row.tool, row.tool_class, row.decision, row.decided_by, row.limited_as)
        if (known := found.get(key)) is not None:
            arguments = tuple(dict.fromkeys((*known.arguments, *row.arguments)))
            row = replace(known, count=known.count + row.count, arguments=arguments)
        found[key] = row
    return tuple(found.values())
