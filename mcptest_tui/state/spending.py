"""The cost of a run so far, from its events.

A test that has ended says what it cost; of one that runs its last turn does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.costs import is_amount, sum_costs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest_engine.engine_process.workbench_events import AgentTurn

UNKNOWN = "price unknown"


@dataclass(slots=True)
class RunCost:
    """The cost of a run; `unpriced` says that some price is unknown."""

    ended: list[float] = field(default_factory=list)
    going: dict[tuple[str, int], float | None] = field(default_factory=dict)
    unpriced: bool = False
    _told: tuple[int, str] = (-1, "")

    def turn(self, event: AgentTurn) -> None:
        """Add the cost of a model's turn in a running test."""
        self.going[event["id"], event.get("trial", 0)] = cost_of(event["cost_usd"])
        self._told = (-1, "")

    def finish(self, test: str, result: Mapping[str, object]) -> None:
        """Replace the costs of a test's turns by those of its result."""
        for key in [key for key in self.going if key[0] == test]:
            del self.going[key]
        self._told = (-1, "")
        if "tokens" in result:
            cost = cost_of(result.get("cost_usd"))
            if cost is None:
                self.unpriced = True
                rows = model_rows(result)
                self.ended += [known for row in rows if (known := cost_of(row.get("cost_usd"))) is not None]
            else:
                self.ended.append(cost)
        judgement = result.get("judgement")
        if isinstance(judgement, dict) and judgement.get("by") == "exec" and not result.get("cached"):
            cost = cost_of(judgement.get("cost_usd"))
            if cost:
                self.ended.append(cost)

    @property
    def text(self) -> str:
        """`$0.0042`; and that a price is unknown where it is known; "" where nothing has cost anything."""
        if self._told[0] >= 0:
            return self._told[1]
        known = [*self.ended, *(cost for cost in self.going.values() if cost is not None)]
        unpriced = self.unpriced or any(cost is None for cost in self.going.values())
        text = sum_text([*known, *([None] if unpriced else [])])
        self._told = (len(known), text)
        return text


def sum_text(costs: Sequence[float | None]) -> str:
    """The sum of what is known, and that a price is unknown where it is; "" of nothing."""
    known = [cost for cost in costs if cost is not None]
    told = usd(sum_costs(known)) if known else ""
    if len(known) == len(costs):
        return told
    return f"{told} + {UNKNOWN}" if known else UNKNOWN


def usd(cost: float | None) -> str:
    """Return a cost as `$0.0042`, `<$0.0001` for less, or `price unknown`."""
    if cost is None:
        return UNKNOWN
    return "<$0.0001" if 0 < cost < 0.00005 else f"${cost:,.4f}"


def cost_of(value: object) -> float | None:
    """The cost in a record; None for an unknown price, and for what cannot be one."""
    return float(value) if is_amount(value) else None


def model_rows(result: Mapping[str, object]) -> list[dict[str, Any]]:
    """What each model of a test took: {"model", "calls", "tokens", "cost_usd"}, from whatever tells of models in it."""
    judged = [leaf.get("judgement") for item in _mappings(result.get("assertions")) for leaf in _leaves(item)]
    found: list[dict[str, Any]] = []
    for part in (result.get("trace"), result.get("judgement"), *judged):
        if isinstance(part, dict):
            found += _mappings(part.get("models"))
    rows: dict[str, dict[str, Any]] = {}
    for row in found:
        name = str(row.get("model", ""))
        held = rows.setdefault(name, {"model": name, "calls": 0, "tokens": 0, "cost_usd": 0.0})
        cost = cost_of(row.get("cost_usd"))
        held["calls"] += row["calls"] if is_amount(row.get("calls")) else 0
        held["tokens"] += row["tokens"] if is_amount(row.get("tokens")) else 0
        held["cost_usd"] = None if cost is None or held["cost_usd"] is None else sum_costs((held["cost_usd"], cost))
    return list(rows.values())


def _leaves(item: Mapping[str, object]) -> Iterable[Mapping[str, Any]]:
    inside = item.get("set")
    return _mappings(inside.get("assertions")) if isinstance(inside, dict) else (item,)


def _mappings(found: object) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list | tuple) else []
