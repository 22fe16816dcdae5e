"""`trajectory`: the calls that were expected, held against those that were made, under one of five ways to match.

`strict`: these calls and no others, in this order. `unordered`: these and no others, in any order. `subsequence`: these in this
order, with others between. `superset`: these in any order, and others. `subset`: no others than these, not all of them needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.judging.agent_metrics.values import Measured, listed, share
from mcptest_engine.judging.differences import first_difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.judging.agent_metrics.values import Called, Seen

MODES = ("strict", "subsequence", "unordered", "subset", "superset")
DEFAULT_MODE = "strict"


def measure(written: Mapping[str, Any], seen: Seen) -> Measured:
    """Whether the calls match, the share of the expected ones that were made, and what is missing or too many."""
    expected = [as_call(one) for one in written["calls"]]
    mode = written.get("mode", DEFAULT_MODE)
    in_order = mode in ("strict", "subsequence")
    pairs = in_sequence(expected, seen.calls) if in_order else in_any_order(expected, seen.calls)
    hit, used = {at for at, _ in pairs}, {at for _, at in pairs}
    missing = [expected[at]["name"] for at in range(len(expected)) if at not in hit]
    extra = [seen.calls[at].name for at in range(len(seen.calls)) if at not in used]
    matched = (mode == "subset" or not missing) and (mode in ("subsequence", "superset") or not extra)
    members: dict[str, Any] = {
        "matched": matched,
        "mode": mode,
        "score": share(len(pairs), len(expected)),
        "missing": missing,
        "extra": extra,
    }
    told = []
    if missing and mode != "subset":
        told.append(f"{listed(missing)} is missing" + (" in its place" if in_order else ""))
    if extra and mode not in ("subsequence", "superset"):
        told.append(f"{listed(extra)} was not expected")
    failure = None if matched else f"the calls do not match ({mode}): {'; '.join(told)}"
    return Measured(members, ("score", members["score"]), failure)


def as_call(written: Any) -> dict[str, Any]:
    """An expected call: a name, or {"tool" | "name", "args"?, "server"?}."""
    if isinstance(written, str):
        return {"name": written}
    return {**written, "name": written.get("tool", written.get("name"))}


def fits(expected: Mapping[str, object], call: Called) -> bool:
    """Whether a call is the expected one: of that tool, and with at least those arguments."""
    if expected["name"] != call.name:
        return False
    if expected.get("server") not in (None, call.server):
        return False
    args = expected.get("args")
    return args is None or (call.args is not None and first_difference(args, dict(call.args), subset=True) is None)


def in_sequence(expected: Sequence[Mapping[str, object]], calls: Sequence[Called]) -> list[tuple[int, int]]:
    """The longest common subsequence, as pairs of places: (in `expected`, in `calls`)."""
    rows = [[0] * (len(calls) + 1) for _ in range(len(expected) + 1)]
    for at in reversed(range(len(expected))):
        for place in reversed(range(len(calls))):
            rows[at][place] = (
                rows[at + 1][place + 1] + 1
                if fits(expected[at], calls[place])
                else max(rows[at + 1][place], rows[at][place + 1])
            )
    pairs, at, place = [], 0, 0
    while at < len(expected) and place < len(calls):
        if fits(expected[at], calls[place]) and rows[at][place] == rows[at + 1][place + 1] + 1:
            pairs.append((at, place))
            at, place = at + 1, place + 1
        elif rows[at + 1][place] >= rows[at][place + 1]:
            at += 1
        else:
            place += 1
    return pairs


def in_any_order(expected: Sequence[Mapping[str, object]], calls: Sequence[Called]) -> list[tuple[int, int]]:
    """As many pairs as can be made, each call for one expected one: an augmenting path a call (Kuhn)."""
    taken: dict[int, int] = {}

    def placed(at: int, tried: set[int]) -> bool:
        for place, call in enumerate(calls):
            if place in tried or not fits(expected[at], call):
                continue
            tried.add(place)
            if place not in taken or placed(taken[place], tried):
                taken[place] = at
                return True
        return False

    for at in range(len(expected)):
        placed(at, set())
    return sorted((at, place) for place, at in taken.items())
