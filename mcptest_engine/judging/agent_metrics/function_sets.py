"""`equal_function_sets`: did the model choose the right tools, where several would do for one thing.

Each set is a thing to be done and the tools that do it equally well. A set is used up by the first call that is in it; a call
that is in no set left counts against precision, and a set that no call was in against recall.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.judging.agent_metrics.values import Measured, f1_of, listed, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_engine.judging.agent_metrics.values import Seen


def measure(written: Any, seen: Seen) -> Measured:
    """Precision, recall and F1 of the calls. `written` is the sets, or a mapping of them and of what is needed (F1 of 1)."""
    needs = written if isinstance(written, dict) else {"sets": written}
    members = selection(needs["sets"], seen.names)
    floors = (
        ("f1", needs.get("min_f1", 1.0)),
        ("precision", needs.get("min_precision")),
        ("recall", needs.get("min_recall")),
    )
    short = [
        f"{name} {members[name]:g} is below {floor:g}" for name, floor in floors if floor and members[name] < floor
    ]
    failure = None
    if short:
        missed = [" or ".join(names) for names in members["missed"]]
        told = [f"no call of {listed(missed)}"] if missed else []
        told += [f"{listed(members['needless'])} was not needed"] if members["needless"] else []
        failure = f"{', '.join(short)}: {'; '.join(told)}"
    return Measured(members, ("f1", members["f1"]), failure)


def selection(sets: Sequence[Sequence[str]], names: Sequence[str]) -> dict[str, Any]:
    """{"precision", "recall", "f1", "true_positives", "false_positives", "false_negatives", "missed", "needless"}."""
    left = [tuple(one) for one in sets]
    needless = []
    for name in names:
        found = next((one for one in left if name in one), None)
        if found is None:
            needless.append(name)
        else:
            left.remove(found)
    hits = len(sets) - len(left)
    precision = share(hits, hits + len(needless), empty=0.0 if left else 1.0)
    recall = share(hits, hits + len(left), empty=0.0 if needless else 1.0)
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1_of(precision, recall),
        "true_positives": hits,
        "false_positives": len(needless),
        "false_negatives": len(left),
        "missed": [list(one) for one in left],
        "needless": needless,
    }
