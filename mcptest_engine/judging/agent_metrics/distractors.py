"""`distractors`: how often the model fell for tools that were offered beside the real ones.

A call counts as right when it is of a tool under `of`, or of any real one where that is left out. Other calls of real tools
count for neither side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.judging.agent_metrics.values import Measured, listed, rounded
from mcptest_engine.judging.intervals import wilson_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.judging.agent_metrics.values import Seen

CONFIDENCE_PCT = 95.0


def measure(written: Mapping[str, Any], seen: Seen) -> Measured:
    """{"offered", "correct", "distracted", "accuracy", "certified_lower", "fell_for"}.

    `accuracy` is correct·100/(correct + distracted), 0 where nothing was called. `certified_lower` is the lower end of its 95 %
    Wilson interval. Fails below `min_accuracy` (100).
    """
    wanted = written.get("of")
    fell_for = [call.name for call in seen.calls if call.distractor]
    correct = sum(not call.distractor and (wanted is None or call.name in wanted) for call in seen.calls)
    made = correct + len(fell_for)
    accuracy = rounded(100 * correct / made) if made else 0.0
    members: dict[str, Any] = {
        "offered": written["count"],
        "correct": correct,
        "distracted": len(fell_for),
        "accuracy": accuracy,
        "certified_lower": rounded(100 * wilson_interval(correct, made, CONFIDENCE_PCT).low),
        "fell_for": list(dict.fromkeys(fell_for)),
    }
    floor, failure = written.get("min_accuracy", 100), None
    if accuracy < floor:
        why = f"{listed(members['fell_for'])} was called" if fell_for else "no right tool was called"
        failure = f"accuracy {accuracy:g} % is below {floor:g} %: {why}"
    return Measured(members, ("accuracy", accuracy), failure)
