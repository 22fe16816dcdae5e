"""Every measure that an agent test declares, and what they come to together.

A measure gates by itself, unless an assertion of the test looks at it: that decides in its place then.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.results import DerivedMetric

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mcptest_engine.judging.agent_metrics.values import Measured, Seen

GATES = {
    "equal_function_sets": "function_sets",
    "tool_selection": "tool_selection",
    "trajectory": "trajectory",
    "golden_path": "golden_path",
    "tool_edges": "tool_edges",
    "token_efficiency": "token_efficiency",
    "distractors": "distractors",
}
ALIASES = {"edges": "tool_edges"}


class Gates(NamedTuple):
    """What the measures say: `members` by name for targets, a metric each for reports, and why the test fails, or None."""

    members: Mapping[str, Any]
    metrics: tuple[DerivedMetric, ...]
    failure: str | None


def measure_gates(written: Mapping[str, object], seen: Seen, *, looked_at: Collection[object] = ()) -> Gates:
    """Measure each block that is `written`; `looked_at` are the first names of the targets of the test's assertions."""
    asserted = {ALIASES.get(str(name), str(name)) for name in looked_at}
    members: dict[str, Any] = {}
    metrics: list[DerivedMetric] = []
    failures: list[str] = []
    for name, module in GATES.items():
        if name not in written:
            continue
        found: Measured = import_module(f"mcptest_engine.judging.agent_metrics.{module}").measure(written[name], seen)
        members[name] = {**found.members, "passed": found.failure is None}
        label, value = found.score
        passed = None if name in asserted else found.failure is None
        metrics.append(DerivedMetric(name=f"{name}.{label}", value=value, passed=passed))
        if found.failure is not None and name not in asserted:
            failures.append(f"{name}: {found.failure}")
    for alias, name in ALIASES.items():
        if name in members:
            members[alias] = members[name]
    return Gates(members, tuple(metrics), "; ".join(failures) or None)
