"""What is measured of the calls that a model made, without asking another model. Pure functions of the trace.

Each block of an agent test has a function `measure_…(written, seen)` and a row of `GATES`. A measure gates by itself, unless an
assertion of the test looks at it: then the assertion decides.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.results import DerivedMetric
from mcptest_engine.core.text import counted, listed
from mcptest_engine.judging.differences import first_difference
from mcptest_engine.judging.intervals import wilson_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from mcptest_engine.core.json_types import Json, JsonDict, JsonMapping

_DIGITS = 6
_NAMES_SHOWN = 6


class Called(NamedTuple):
    """A call that a model asked for, of the tool's own name; `args` is None where they were no JSON object.

    `distractor`: the tool was offered to see whether the model falls for it.
    """

    name: str
    args: Mapping[str, object] | None = None
    server: str | None = None
    distractor: bool = False


class Seen(NamedTuple):
    """One conversation: its calls in order, the tokens and cost of the model, and the size of the offered tools.

    `before` says of each earlier run of the same test whether it selected the right tools.
    """

    calls: tuple[Called, ...]
    tokens: int = 0
    cost_usd: float | None = None
    surface_tokens: int = 0
    runs: int = 1
    before: tuple[bool, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(call.name for call in self.calls)


class Measured(NamedTuple):
    """The result of one block: its members for assertion paths, the name and value of its score, and why it failed, or None."""

    members: JsonMapping
    score: tuple[str, float]
    failure: str | None = None


def rounded(value: float) -> float:
    """A number as it is stored in records."""
    return round(value, _DIGITS)


def share(part: float, whole: float, *, empty: float = 1.0) -> float:
    """`part` of `whole`; `empty` where there is nothing to have a share of."""
    return rounded(part / whole) if whole else empty


def f1_of(precision: float, recall: float) -> float:
    """The harmonic mean of the two."""
    return rounded(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def measure_function_sets(written: Json, seen: Seen) -> Measured:
    """`equal_function_sets`: did the model choose the right tools, where several are equally good?

    Each set is a task and the tools that do it equally well. `written` is the sets, or a mapping with `sets` and the least F1
    (default: 1), precision and recall.
    """
    needs = written if isinstance(written, dict) else {"sets": written}
    members = score_function_sets(needs["sets"], seen.names)
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
        told = [f"no call of {listed(missed, _NAMES_SHOWN)}"] if missed else []
        told += [f"{listed(members['needless'], _NAMES_SHOWN)} was not needed"] if members["needless"] else []
        failure = f"{', '.join(short)}: {'; '.join(told)}"
    return Measured(members, ("f1", members["f1"]), failure)


def score_function_sets(sets: Sequence[Sequence[str]], names: Sequence[str]) -> JsonDict:
    """{"precision", "recall", "f1", "true_positives", "false_positives", "false_negatives", "missed", "needless"}.

    The first call of a tool in a set uses the set up. A call of a tool in no unused set lowers the precision, and a set without
    a call lowers the recall.
    """
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


_HAIR = 1e-9


def measure_tool_selection(written: JsonMapping, seen: Seen) -> Measured:
    """`tool_selection`: how many of a test's `runs` call the required tools within their tokens.

    Each run is a test of its own, and they end in any order. So that the verdict does not depend on the order, a run fails that
    makes the rate unreachable, or that misses after such a run.
    """
    missing = [name for name in required_tools(written) if name not in seen.names]
    cap = written.get("max_tokens")
    within = cap is None or seen.tokens <= cap
    selected = not missing and within
    all_so_far = (*seen.before, selected)
    misses, allowed = all_so_far.count(False), allowed_misses(written.get("min_rate", 1.0), seen.runs)
    members: JsonDict = {
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
        told = [f"{listed(missing, _NAMES_SHOWN)} was not called"] if missing else []
        told += [] if within else [f"it took {seen.tokens} tokens; at most {cap} are allowed for each run"]
        told += [f"{misses} of {counted(seen.runs, 'run')} missed; at most {allowed} may miss"] if seen.runs > 1 else []
        failure = "; ".join(told)
    return Measured(members, ("selected", float(selected)), failure)


def required_tools(written: JsonMapping) -> list[str]:
    """The tools that every run has to call."""
    tools = written.get("tools")
    return list(tools) if tools is not None else [written["tool"]]


def allowed_misses(min_rate: float, runs: int) -> int:
    """How many of `runs` may miss while the rate of the others is still `min_rate`."""
    return runs - math.ceil(min_rate * runs - _HAIR)


MODES = ("strict", "subsequence", "unordered", "subset", "superset")
DEFAULT_MODE = "strict"


def measure_trajectory(written: JsonMapping, seen: Seen) -> Measured:
    """`trajectory`: compare the calls with the expected ones, in one of five modes.

    `strict`: these calls and no others, in this order. `unordered`: these and no others, in any order. `subsequence`: these in
    this order, with others between. `superset`: these in any order, and others. `subset`: no others than these.
    """
    expected = [as_call(one) for one in written["calls"]]
    mode = written.get("mode", DEFAULT_MODE)
    in_order = mode in ("strict", "subsequence")
    pairs = in_sequence(expected, seen.calls) if in_order else in_any_order(expected, seen.calls)
    hit, used = {at for at, _ in pairs}, {at for _, at in pairs}
    missing = [expected[at]["name"] for at in range(len(expected)) if at not in hit]
    extra = [seen.calls[at].name for at in range(len(seen.calls)) if at not in used]
    matched = (mode == "subset" or not missing) and (mode in ("subsequence", "superset") or not extra)
    members: JsonDict = {
        "matched": matched,
        "mode": mode,
        "score": share(len(pairs), len(expected)),
        "missing": missing,
        "extra": extra,
    }
    told = []
    if missing and mode != "subset":
        told.append(f"{listed(missing, _NAMES_SHOWN)} is missing" + (" in its place" if in_order else ""))
    if extra and mode not in ("subsequence", "superset"):
        told.append(f"{listed(extra, _NAMES_SHOWN)} was not expected")
    failure = None if matched else f"the calls do not match ({mode}): {'; '.join(told)}"
    return Measured(members, ("score", members["score"]), failure)


def as_call(written: Json) -> JsonDict:
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


def measure_golden_path(written: JsonMapping, seen: Seen) -> Measured:
    """`golden_path`: {"efficiency", "missing", "wasted", "backtracks", "repeats"}: how direct the way to the goal was.

    A call beside the path is wasted, and also repeated if the same call was made before. Fails for a missing step, and above
    the caps.
    """
    golden = [as_call(one) for one in written["calls"]]
    pairs = in_sequence(golden, seen.calls)
    hit = {at for at, _ in pairs}
    missing = [golden[at]["name"] for at in range(len(golden)) if at not in hit]
    beside = set(range(len(seen.calls))) - {place for _, place in pairs}
    members: JsonDict = {
        "efficiency": share(len(pairs), max(len(seen.calls), len(golden))),
        "missing": missing,
        "wasted": len(beside),
        "backtracks": backtracks(golden, seen.calls),
        "repeats": len(beside & repeated(seen.calls)),
    }
    told = [f"{listed(missing, _NAMES_SHOWN)} is missing in its place"] if missing else []
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


Edge = tuple[str, str]


def measure_tool_edges(written: JsonMapping, seen: Seen) -> Measured:
    """`tool_edges`: which tool may follow which.

    {"steps", "allowed_pct", "outside", "restricted_attempts", "restricted", "delegation_pct", "not_delegated", "gate_passed"}.
    A step is a call and the one right after it. `allowed_pct` is the percentage of steps that are allowed (100 if `allowed` is
    not given), `delegation_pct` that of the expected hand-offs that were made (100 if there are none). Fails for a restricted
    step, whatever its result was, and below `min_allowed_pct` or `min_delegation_pct`.
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
    told = [f"{_steps_text(tried)} must not be tried"] if tried else []
    if floor is not None and allowed_pct < floor:
        told.append(f"{allowed_pct:g} % of the steps are allowed, but {floor:g} % must be: {_steps_text(outside)}")
    floor = written.get("min_delegation_pct")
    if floor is not None and delegation_pct < floor:
        told.append(
            f"{delegation_pct:g} % of the hand-offs were made, but {floor:g} % must be: {_steps_text(not_made)} is missing"
        )
    members: JsonDict = {
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


def _steps_text(steps: list[Edge]) -> str:
    return listed([f"{before} → {after}" for before, after in dict.fromkeys(steps)], _NAMES_SHOWN)


_GRADES = (("A", 90.0), ("B", 80.0), ("C", 70.0), ("D", 60.0))
_LAST_GRADE = "F"


def measure_token_efficiency(written: JsonMapping, seen: Seen) -> Measured:
    """`token_efficiency`: the tokens that the right choice of tools cost, and a grade for the choice.

    {"f1", "grade", "tool_surface_tokens", "correct_selections", "tokens", "cost", "tokens_per_correct", "cost_per_correct"}.
    The last two are None if no right tool was called, or the price is unknown. Fails above `max_tokens_per_correct`, or if it
    is given and no right tool was called.
    """
    chosen = score_function_sets([[name] for name in written["correct"]], seen.names)
    correct = chosen["true_positives"]
    per_correct = rounded(seen.tokens / correct) if correct else None
    members: JsonDict = {
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
    return next((letter for letter, least in _GRADES if points >= least), _LAST_GRADE)


_CONFIDENCE_PCT = 95.0


def measure_distractors(written: JsonMapping, seen: Seen) -> Measured:
    """`distractors`: how often the model called tools that were offered only to distract it.

    {"offered", "correct", "distracted", "accuracy", "certified_lower", "fell_for"}. A call is correct if it is of a tool in
    `of`, or of any real tool without `of`; other calls of real tools do not count. `accuracy` is
    correct·100/(correct + distracted), 0 if there is neither. `certified_lower` is the lower end of its 95 % Wilson interval.
    Fails below `min_accuracy` (100).
    """
    wanted = written.get("of")
    fell_for = [call.name for call in seen.calls if call.distractor]
    correct = sum(not call.distractor and (wanted is None or call.name in wanted) for call in seen.calls)
    made = correct + len(fell_for)
    accuracy = rounded(100 * correct / made) if made else 0.0
    members: JsonDict = {
        "offered": written["count"],
        "correct": correct,
        "distracted": len(fell_for),
        "accuracy": accuracy,
        "certified_lower": rounded(100 * wilson_interval(correct, made, _CONFIDENCE_PCT).low),
        "fell_for": list(dict.fromkeys(fell_for)),
    }
    floor, failure = written.get("min_accuracy", 100), None
    if accuracy < floor:
        why = f"{listed(members['fell_for'], _NAMES_SHOWN)} was called" if fell_for else "no right tool was called"
        failure = f"accuracy {accuracy:g} % is below {floor:g} %: {why}"
    return Measured(members, ("accuracy", accuracy), failure)


GATES: Mapping[str, Callable[[Any, Seen], Measured]] = {
    "equal_function_sets": measure_function_sets,
    "tool_selection": measure_tool_selection,
    "trajectory": measure_trajectory,
    "golden_path": measure_golden_path,
    "tool_edges": measure_tool_edges,
    "token_efficiency": measure_token_efficiency,
    "distractors": measure_distractors,
}
ALIASES = {"edges": "tool_edges"}


class Gates(NamedTuple):
    """The results of all blocks: `members` by name for assertion paths, a metric each, and why the test fails, or None."""

    members: JsonMapping
    metrics: tuple[DerivedMetric, ...]
    failure: str | None


def measure_gates(written: Mapping[str, object], seen: Seen, *, looked_at: Collection[object] = ()) -> Gates:
    """Measure each block that is `written`; `looked_at` are the first names of the paths of the test's assertions."""
    asserted = {ALIASES.get(str(name), str(name)) for name in looked_at}
    members: JsonDict = {}
    metrics: list[DerivedMetric] = []
    failures: list[str] = []
    for name, measure in GATES.items():
        if name not in written:
            continue
        found = measure(written[name], seen)
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
