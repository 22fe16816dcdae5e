"""One difference between two catalogs, and what it means for a client of the old one."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonDict


class Effect(StrEnum):
    """What a change does to the values that a schema allows. `BOTH`: some are no longer allowed, others are new."""

    NARROWED = "narrowed"
    WIDENED = "widened"
    BOTH = "both"
    UNKNOWN = "unknown"
    NEUTRAL = "neutral"


class Impact(StrEnum):
    """What a change means for a client. `UNKNOWN`: it cannot be determined, so it may break the client."""

    BREAKING = "breaking"
    UNKNOWN = "unknown"
    COMPATIBLE = "compatible"


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A keyword of a schema that changed. `path` is the value's, such as `filters[].kind`; "" is the whole value.

    `old` and `new` are the keyword's values, None for an absent one.
    """

    path: str
    keyword: str
    effect: Effect
    message: str
    old: Any = None
    new: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A difference between two catalogs. `kind` is "tool", "prompt", "resource", "resource template" or "server".

    `where` is the member that differs: `inputSchema`, `annotations`, … or ""; `path` the place inside a schema.
    """

    kind: str
    name: str
    impact: Impact
    message: str
    where: str = ""
    path: str = ""
    server: str | None = None

    def to_json(self) -> JsonDict:
        out = {} if self.server is None else {"server": self.server}
        out |= {"kind": self.kind, "name": self.name, "impact": self.impact.value, "message": self.message}
        if self.where:
            out["where"] = self.where
        if self.path:
            out["path"] = self.path
        return out
