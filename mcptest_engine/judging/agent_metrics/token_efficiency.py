"""`token_efficiency`: what the right choice of tools cost in tokens, with a letter for the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.judging.agent_metrics.function_sets import selection
from mcptest_engine.judging.agent_metrics.values import Measured, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.judging.agent_metrics.values import Seen

GRADES = (("A", 90.0), ("B", 80.0), ("C", 70.0), ("D", 60.0))
LAST_GRADE = "F"


def measure(written: Mapping[str, Any], seen: Seen) -> Measured:
    """{"f1", "grade", "tool_surface_tokens", "correct_selections", "tokens", "cost", "tokens_per_correct", "cost_per_correct"}.

    The last two are None where nothing was chosen rightly, or the price is not known. Fails beyond `max_tokens_per_correct`,
    and then for no right choice at all.
    """
    chosen = selection([[name] for name in written["correct"]], seen.names)
    correct = chosen["true_positives"]
    per_correct = rounded(seen.tokens / correct) if correct else None
    members: dict[str, Any] = {
        "f1": chosen["f1"],
        "grade": grade(100 * chosen["f1"]),
        "tool_surface_tokens": seen.surface_tokens,
        "correct_selections": correct,
        "tokens": seen.tokens,
        "cost": seen.cost_usd,
        "tokens_per_correct": per_correct,
        "cost_per_correct": rounded(seen.cost_usd / correct) if correct and seen.cost_usd is not None else None,
    }
    cap, failure = written.get("max_tokens_per_correct"), None
    if cap is not None and per_correct is None:
        failure = "no right tool was called"
    elif cap is not None and per_correct is not None and per_correct > cap:
        failure = f"{per_correct:g} tokens for each call of a right tool; at most {cap:g} are allowed"
    return Measured(members, ("f1", members["f1"]), failure)


def grade(points: float) -> str:
    """A from 90 points of 100 on, B from 80, C from 70, D from 60, else F."""
    return next((letter for letter, least in GRADES if points >= least), LAST_GRADE)
