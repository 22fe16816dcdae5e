"""`golden_path`: how straight the way to the goal was: steps left out, calls wasted, steps gone back, calls repeated.

A call beside the path is wasted, and repeated as well where the same one was made before.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.text import counted
from mcptest_engine.judging.agent_metrics.trajectory import as_call, fits, in_sequence
from mcptest_engine.judging.agent_metrics.values import Measured, listed, share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.judging.agent_metrics.values import Called, Seen


def measure(written: Mapping[str, Any], seen: Seen) -> Measured:
    """{"efficiency", "missing", "wasted", "backtracks", "repeats"}. Fails for a step left out, and beyond the caps."""
    golden = [as_call(one) for one in written["calls"]]
    pairs = in_sequence(golden, seen.calls)
    hit = {at for at, _ in pairs}
    missing = [golden[at]["name"] for at in range(len(golden)) if at not in hit]
    beside = set(range(len(seen.calls))) - {place for _, place in pairs}
    members: dict[str, Any] = {
        "efficiency": share(len(pairs), max(len(seen.calls), len(golden))),
        "missing": missing,
        "wasted": len(beside),
        "backtracks": backtracks(golden, seen.calls),
        "repeats": len(beside & repeated(seen.calls)),
    }
    told = [f"{listed(missing)} is missing in its place"] if missing else []
    for count, cap, what in (
        (members["wasted"], written.get("max_wasted", 0), "beside it"),
        (members["repeats"], written.get("max_repeats"), "made again"),
        (members["backtracks"], written.get("max_backtracks"), "an earlier step was repeated"),
    ):
        if cap is not None and count > cap:
            told.append(f"{counted(count, 'call')} {what}, at most {cap} allowed")
    failure = f"the calls differ from the golden path: {'; '.join(told)}" if told else None
    return Measured(members, ("efficiency", members["efficiency"]), failure)


def repeated(calls: Sequence[Called]) -> set[int]:
    """The places of calls that were made before with the same arguments."""
    seen: set[tuple[str | None, str, str]] = set()
    found = set()
    for place, call in enumerate(calls):
        key = (call.server, call.name, json.dumps(call.args, sort_keys=True))
        if key in seen:
            found.add(place)
        seen.add(key)
    return found


def backtracks(golden: Sequence[Mapping[str, object]], calls: Sequence[Called]) -> int:
    """How often a call went back to a step that lies before the furthest one reached."""
    furthest, back = -1, 0
    for call in calls:
        steps = [at for at, step in enumerate(golden) if fits(step, call)]
        ahead = next((at for at in steps if at > furthest), None)
        if ahead is not None:
            furthest = ahead
        elif steps and steps[-1] < furthest:
            back += 1
    return back
