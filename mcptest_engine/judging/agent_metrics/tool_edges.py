"""`tool_edges`: which tool may follow which. A restricted step fails the test, whatever became of the call."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mcptest_engine.judging.agent_metrics.values import Measured, listed, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest_engine.judging.agent_metrics.values import Seen

Edge = tuple[str, str]


def measure(written: Mapping[str, Any], seen: Seen) -> Measured:
    """{"steps", "allowed_pct", "outside", "restricted_attempts", "restricted", "delegation_pct", "not_delegated",
    "gate_passed"}.

    A step is a call and the one right after it. `allowed_pct` is how many of 100 steps are among the allowed: all of them where
    none are named. `delegation_pct` is how many of 100 hand-offs that are expected were made: all of them where none are.
    Fails for a restricted step, and below `min_allowed_pct` or `min_delegation_pct`.
    """
    steps = list(pairwise(seen.names))
    allowed = _edges(written["allowed"]) if "allowed" in written else None
    restricted = _edges(written.get("restricted", ()))
    tried = [step for step in steps if step in restricted]
    outside = [step for step in steps if allowed is not None and step not in allowed]
    allowed_pct = round(100 * share(len(steps) - len(outside), len(steps)), 4)
    expected = dict.fromkeys((one["from"], one["to"]) for one in written.get("delegation", ()))
    not_made = [edge for edge in expected if edge not in steps]
    delegation_pct = round(100 * share(len(expected) - len(not_made), len(expected)), 4)
    floor = written.get("min_allowed_pct")
    told = [f"{_listed(tried)} must not be tried"] if tried else []
    if floor is not None and allowed_pct < floor:
        told.append(f"{allowed_pct:g} % of the steps are allowed, but {floor:g} % must be: {_listed(outside)}")
    floor = written.get("min_delegation_pct")
    if floor is not None and delegation_pct < floor:
        told.append(
            f"{delegation_pct:g} % of the hand-offs were made, but {floor:g} % must be: {_listed(not_made)} is missing"
        )
    members: dict[str, Any] = {
        "steps": len(steps),
        "allowed_pct": allowed_pct,
        "outside": [list(step) for step in dict.fromkeys(outside)],
        "restricted_attempts": len(tried),
        "restricted": [list(step) for step in dict.fromkeys(tried)],
        "delegation_pct": delegation_pct,
        "not_delegated": [list(edge) for edge in not_made],
        "gate_passed": not told,
    }
    return Measured(members, ("allowed_pct", allowed_pct), "; ".join(told) or None)


def _edges(written: Iterable[Iterable[str]]) -> frozenset[Edge]:
    return frozenset((before, after) for before, after in written)


def _listed(steps: list[Edge]) -> str:
    return listed([f"{before} → {after}" for before, after in dict.fromkeys(steps)])
