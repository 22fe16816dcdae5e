"""`tool_selection`: how many of a test's `runs` choose the tools that they should, and at what price in tokens.

Runs are told as tests of their own, in whatever order they end. So that the same runs always come to the same verdict, a run
fails that makes the rate unreachable, or comes after that and misses again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.text import counted
from mcptest_engine.judging.agent_metrics.values import Measured, listed, share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.judging.agent_metrics.values import Seen

_HAIR = 1e-9


def measure(written: Mapping[str, Any], seen: Seen) -> Measured:
    """Whether this run chose every tool within its tokens, the rate so far, and how many misses the rate leaves room for."""
    missing = [name for name in required_tools(written) if name not in seen.names]
    cap = written.get("max_tokens")
    within = cap is None or seen.tokens <= cap
    selected = not missing and within
    all_so_far = (*seen.before, selected)
    misses, allowed = all_so_far.count(False), allowed_misses(written.get("min_rate", 1.0), seen.runs)
    members: dict[str, Any] = {
        "selected": selected,
        "missing": missing,
        "rate": share(all_so_far.count(True), len(all_so_far)),
        "runs": len(all_so_far),
        "misses": misses,
        "allowed_misses": allowed,
        "tokens": seen.tokens,
        "within_tokens": within,
    }
    failure = None
    if not selected and misses > allowed:
        told = [f"{listed(missing)} was not called"] if missing else []
        told += [] if within else [f"it took {seen.tokens} tokens; at most {cap} are allowed for each run"]
        told += [f"{misses} of {counted(seen.runs, 'run')} missed; at most {allowed} may miss"] if seen.runs > 1 else []
        failure = "; ".join(told)
    return Measured(members, ("selected", float(selected)), failure)


def required_tools(written: Mapping[str, Any]) -> list[str]:
    """The tools that every run has to call."""
    tools = written.get("tools")
    return list(tools) if tools is not None else [written["tool"]]


def allowed_misses(min_rate: float, runs: int) -> int:
    """How many of `runs` may miss while the rate of the others is still `min_rate`."""
    return runs - math.ceil(min_rate * runs - _HAIR)
