"""What changed in a test from one run to another, and whether its earlier version would pass on the later answer.

Both versions are read from results of run records. Which of two matchers demands more is found by what they accept: the values
that either names, their neighbours, and a few of every type. So no pair of matchers needs a rule of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.clipping import show
from mcptest_engine.core.enums import ExpectedOutcome, Strength, TestKind, Verdict
from mcptest_engine.core.ledger import ChangeKind, TestChange
from mcptest_engine.core.targets import Absent, parse_target
from mcptest_engine.judging.differences import equal
from mcptest_engine.judging.matchers import Context, Undecided, compile_judge
from mcptest_engine.judging.strength import strength_of
from mcptest_engine.running.cases import Case, Request
from mcptest_engine.running.verdicts import judge
from mcptest_engine.suite.items import ASSERT_SET, assertions_of, uses_matcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.core.results import AssertionResult, TestResult, VerifyResult

_LONGEST = 300
_NEEDS_MORE = ("snapshot", "llm-judge", "jq")
"""Matchers that look at more than the value, or run a program: what they accept is not tried out."""
_UNUSABLE = (Undecided, ValueError, TypeError, LookupError, re.error)
"""What a stored matcher may raise: a pattern in which a secret is masked is none."""
_NOTHING = Absent((), "x", 0, None)
_OF_EVERY_TYPE: tuple[Any, ...] = ("", "x", 0, 1, -1, 0.5, True, False, None, [], ["x"], {}, {"x": 1}, _NOTHING)
_LEVELS = tuple(Strength)


class _Leaf(NamedTuple):
    """One assertion. `must_hold` is false where a threshold lets the test pass without it."""

    target: str
    transform: str | None
    matcher: Mapping[str, Any]
    must_hold: bool
    actual: Any

    @property
    def place(self) -> str:
        return self.target if self.transform is None else f"{self.target} | {self.transform}"

    @property
    def strength(self) -> Strength:
        return _strength_of({"target": self.target, "matcher": self.matcher})


def compare_tests(before: TestResult, after: TestResult) -> tuple[TestChange, ...]:
    """The changes of a test between two results of it, those that weaken it first; () where it is the same.

    What a result does not show is taken for unchanged: a test that was skipped is only known to be skipped.
    """
    skip = (after.definition or {}).get("skip")
    if skip is not None:
        if "skip" in (before.definition or {}):
            return ()
        return (TestChange(kind=ChangeKind.SKIPPED, after=_value_text(skip), weakens=True),)
    if _is_unknown(before) or _is_unknown(after):
        return ()
    found = [
        *_call_changes(before, after),
        *_outcome_changes(before, after),
        *_assertion_changes(before.assertions, after.assertions, before, after),
        *_limit_changes(before, after),
        *_step_changes(before, after),
        *_node_changes(before, after),
    ]
    return tuple(sorted(found, key=lambda change: not change.weakens))


def earlier_version_passes(before: TestResult, after: TestResult) -> bool | None:
    """Whether the test as it was for `before` passes on the answer that came for `after`; None where that cannot be told."""
    if not before.kind.is_request or before.request != after.request or _is_unknown(before):
        return None
    output = after.output
    if output is None or "$file" in output or ("result" not in output and output.get("error") is None):
        return None
    timeout_ms = (before.definition or {}).get("timeout_ms")
    if timeout_ms is not None and after.duration_ms > timeout_ms:
        return False
    if _implicit(before, "valid") is not None and _implicit(after, "valid") is None:
        return None if _implicit(before, "valid") else False
    items, decided = _without_opinions(before, after)
    limits = {key: value for key, value in (before.definition or {}).items() if key.startswith("max_")}
    case = Case(
        id=before.id,
        name=before.name,
        kind=before.kind,
        body=Request(),
        server=before.server,
        servers=(),
        method=str((before.request or {}).get("method", "")),
        params=(before.request or {}).get("params"),
        expect={**limits, "assertions": items},
        timeout_seconds=0.0,
        file=before.file,
        line=before.line,
        tool=before.tool,
        outcome=_outcome_of(before) or ExpectedOutcome.ANY,
        threshold=before.threshold if items else None,
    )
    try:
        verdict = judge(case, _envelope_of(after), snapshots=None, redact=lambda value: value).verdict
    except _UNUSABLE:
        return None
    if verdict is Verdict.FAIL or decided is False:
        return False
    if verdict is not Verdict.PASS or decided is None:
        return None
    return _steps_pass(before, after)


def _is_unknown(result: TestResult) -> bool:
    """Whether a result shows nothing of what the suite demands."""
    if result.verdict in (Verdict.PASS, Verdict.SKIP) or result.assertions:
        return result.verdict is Verdict.SKIP
    return "assertions" not in (result.definition or {})


def _call_changes(before: TestResult, after: TestResult) -> Iterator[TestChange]:
    if (before.server, before.tool) != (after.server, after.tool):
        names = [f"{result.server}/{result.tool or result.kind.value}" for result in (before, after)]
        yield TestChange(kind=ChangeKind.CALL_CHANGED, before=_value_text(names[0]), after=_value_text(names[1]))
        return
    if before.request is None or after.request is None or not before.kind.is_request:
        return
    one, other = (_arguments(result.request or {}) for result in (before, after))
    if not equal(one, other):
        yield TestChange(kind=ChangeKind.ARGUMENTS_CHANGED, before=_value_text(one), after=_value_text(other))


def _arguments(request: Mapping[str, Any]) -> Any:
    params = request.get("params") or {}
    return params["arguments"] if set(params) == {"name", "arguments"} else params


def _implicit(result: TestResult, name: str) -> bool | None:
    """Whether an implicit assertion held; None where it was not made."""
    return next((row.passed for row in result.assertions if row.implicit == name), None)


def _outcome_of(result: TestResult) -> ExpectedOutcome | None:
    """What the call had to come to; None where that is not known."""
    row = next((row for row in result.assertions if row.implicit == "outcome"), None)
    if row is not None:
        return ExpectedOutcome(row.matcher["exact"])
    if not result.kind.is_request:
        return None
    if result.assertions or result.verdict is Verdict.PASS:
        return ExpectedOutcome.ANY
    said = (result.definition or {}).get("outcome")
    return None if said is None else ExpectedOutcome(said)


def _outcome_changes(before: TestResult, after: TestResult) -> Iterator[TestChange]:
    one, other = _outcome_of(before), _outcome_of(after)
    if one is not None and other is not None and one is not other:
        yield TestChange(
            kind=ChangeKind.OUTCOME_CHANGED, before=one.value, after=other.value, weakens=other is ExpectedOutcome.ANY
        )
    answered = "result" in (before.output or {}) and "result" in (after.output or {})
    if answered and _implicit(before, "valid") is not None and _implicit(after, "valid") is None:
        yield TestChange(kind=ChangeKind.VALIDITY_OFF, weakens=True)


def _items_of(result: TestResult | VerifyResult) -> list[Mapping[str, Any]]:
    """The written assertions, as the suite has them."""
    rows = [_item_of(row) for row in result.assertions if row.implicit is None]
    definition = getattr(result, "definition", None) or {}
    return rows or list(definition.get("assertions", ()))


def _item_of(row: AssertionResult) -> Mapping[str, Any]:
    more = {"weight": row.weight} if row.name is None else {"weight": row.weight, "name": row.name}
    if row.set is not None:
        inner = [_item_of(one) for one in row.set.assertions]
        return {ASSERT_SET: {"threshold": row.set.threshold, "assertions": inner, **more}}
    transform = {} if row.transform is None else {"transform": {"jq": row.transform}}
    return {"target": row.target, "matcher": row.matcher, **transform, **more}


def _leaves(
    items: Sequence[Mapping[str, Any]], rows: Sequence[AssertionResult], threshold: float | None
) -> list[_Leaf]:
    actual = {(row.target, repr(row.matcher)): row.actual for item in rows for row in item.leaves()}
    found = []
    for item in items:
        inner = item.get(ASSERT_SET)
        must_hold = threshold is None and (inner is None or inner.get("threshold", 1.0) >= 1)
        for one in (item,) if inner is None else inner["assertions"]:
            transform = one.get("transform", {}).get("jq")
            seen = actual.get((one["target"], repr(one["matcher"])))
            found.append(_Leaf(one["target"], transform, one["matcher"], must_hold, seen))
    return found


def _assertion_changes(
    old: Sequence[AssertionResult], new: Sequence[AssertionResult], before: Any, after: Any
) -> Iterator[TestChange]:
    """Assertions are told apart by what they look at; of several on the same place, equal ones belong together first."""
    thresholds = (getattr(before, "threshold", None), getattr(after, "threshold", None))
    ours = _leaves(_items_of(before), old, thresholds[0])
    theirs = _leaves(_items_of(after), new, thresholds[1])
    removed: list[_Leaf] = []
    pairs: list[tuple[_Leaf, _Leaf]] = []
    for alike in (_is_same, _has_same_matcher, _has_same_place):
        removed = []
        for leaf in ours:
            match = next((other for other in theirs if alike(leaf, other)), None)
            if match is None:
                removed.append(leaf)
            else:
                theirs.remove(match)
                pairs.append((leaf, match))
        ours = removed
    for leaf, other in pairs:
        if leaf.must_hold and not other.must_hold:
            words = f"{_matcher_text(leaf.matcher)}, must hold", f"{_matcher_text(other.matcher)}, counts for a score"
            kind = ChangeKind.ASSERTION_WEAKENED
            yield TestChange(kind=kind, place=leaf.place, before=words[0], after=words[1], weakens=True)
        elif leaf.matcher != other.matcher:
            yield _matcher_change(leaf, other)
        elif _is_accepted_anew(leaf, other, old, new):
            yield TestChange(kind=ChangeKind.VALUE_REPLACED, place=leaf.place, before=_matcher_text(leaf.matcher))
    for leaf in removed:
        stands_in = any(
            _is_related(leaf, other) and _LEVELS.index(other.strength) >= _LEVELS.index(leaf.strength)
            for other in theirs
        )
        yield TestChange(
            kind=ChangeKind.ASSERTION_REMOVED,
            place=leaf.place,
            before=_matcher_text(leaf.matcher),
            weakens=not stands_in,
        )
    for leaf in theirs:
        yield TestChange(kind=ChangeKind.ASSERTION_ADDED, place=leaf.place, after=_matcher_text(leaf.matcher))


def _has_same_place(one: _Leaf, other: _Leaf) -> bool:
    return (one.target, one.transform) == (other.target, other.transform)


def _has_same_matcher(one: _Leaf, other: _Leaf) -> bool:
    return _has_same_place(one, other) and one.matcher.keys() == other.matcher.keys()


def _is_same(one: _Leaf, other: _Leaf) -> bool:
    return _has_same_place(one, other) and equal(dict(one.matcher), dict(other.matcher))


def _is_related(one: _Leaf, other: _Leaf) -> bool:
    """Whether one looks at a part of what the other looks at; a tool's text and its structured content say the same."""
    ours, theirs = (parse_target(leaf.target).segments for leaf in (one, other))
    shorter = min(len(ours), len(theirs))
    copies = {"content", "structuredContent"}
    return ours[:shorter] == theirs[:shorter] or (
        ours[:1] == theirs[:1] == ("result",) and {ours[1:2], theirs[1:2]} == {(name,) for name in copies}
    )


def _is_accepted_anew(one: _Leaf, other: _Leaf, old: Sequence[AssertionResult], new: Sequence[AssertionResult]) -> bool:
    """Whether what is stored for a snapshot was replaced: the value is the same, it failed, and it holds now."""
    if not uses_matcher({"assertions": [{"matcher": one.matcher}]}, "snapshot") or not equal(one.actual, other.actual):
        return False
    passed = [
        next((row.passed for item in rows for row in item.leaves() if row.target == one.target), None)
        for rows in (old, new)
    ]
    return passed == [False, True]


def _matcher_change(before: _Leaf, after: _Leaf) -> TestChange:
    kind, weakens = _kind_of_change(before, after)
    return TestChange(
        kind=kind,
        place=before.place,
        before=_matcher_text(before.matcher),
        after=_matcher_text(after.matcher),
        weakens=weakens,
    )


def _kind_of_change(before: _Leaf, after: _Leaf) -> tuple[ChangeKind, bool]:
    values = [*_OF_EVERY_TYPE, before.actual, after.actual, *_named(before.matcher), *_named(after.matcher)]
    ours, theirs = (_accepted(leaf.matcher, values) for leaf in (before, after))
    fell = _LEVELS.index(after.strength) - _LEVELS.index(before.strength)
    if ours is not None and theirs is not None:
        if ours < theirs:
            return ChangeKind.ASSERTION_WEAKENED, True
        if theirs < ours:
            return ChangeKind.ASSERTION_STRENGTHENED, False
    if fell < 0:
        return ChangeKind.ASSERTION_WEAKENED, True
    if fell > 0:
        return ChangeKind.ASSERTION_STRENGTHENED, False
    return ChangeKind.VALUE_REPLACED if before.strength is Strength.VALUE else ChangeKind.ASSERTION_CHANGED, False


def _accepted(matcher: Mapping[str, object], values: Sequence[object]) -> frozenset[int] | None:
    """The places of the values that a matcher accepts; None where it cannot be tried out."""
    if any(uses_matcher({"assertions": [{"matcher": matcher}]}, name) for name in _NEEDS_MORE):
        return None
    try:
        accepts = compile_judge(matcher, Context())
        return frozenset(at for at, value in enumerate(values) if accepts(value) is None)
    except _UNUSABLE:
        return None


def _named(operand: object, depth: int = 0) -> Iterator[Any]:
    """The values that a matcher names, and for a number its neighbours."""
    if depth > 4:
        return
    if isinstance(operand, dict):
        if depth:
            yield operand
        for value in operand.values():
            yield from _named(value, depth + 1)
    elif isinstance(operand, (list, tuple)):
        yield list(operand)
        for value in operand:
            yield from _named(value, depth + 1)
    elif isinstance(operand, str):
        yield from (operand, f"{operand} ", f" {operand}", operand.swapcase())
    elif isinstance(operand, (int, float)) and not isinstance(operand, bool):
        yield from (operand, operand - 1, operand + 1, operand - 1e-6, operand + 1e-6)
    else:
        yield operand


def _limit_changes(before: TestResult, after: TestResult) -> Iterator[TestChange]:
    """Thresholds, budgets, retries, and whatever else stands beside the assertions."""
    limits: list[dict[str, Any]] = []
    for result in (before, after):
        own = {key: value for key, value in (result.definition or {}).items() if key not in _NOT_LIMITS}
        limits.append(own if result.threshold is None else {**own, "threshold": result.threshold})
    if not (before.assertions and after.assertions):
        for own in limits:
            own.pop("threshold", None)
    one, other = limits
    for key in dict.fromkeys((*one, *other)):
        if one.get(key) != other.get(key):
            yield TestChange(
                kind=ChangeKind.LIMIT_CHANGED,
                place=key,
                before=_value_text(one[key]) if key in one else "none",
                after=_value_text(other[key]) if key in other else "none",
                weakens=_is_looser(key, one.get(key), other.get(key)),
            )


_NOT_LIMITS = frozenset({"assertions", "outcome", "timeout_ms", "skip"})


def _is_looser(key: str, before: Any, after: Any) -> bool:
    """Whether a limit lets more pass. Without retries there are none; without another limit there is no limit."""
    if key == "retries":
        return (after or 0) > (before or 0)
    if key == "threshold":
        return after is not None and (before is None or after < before)
    if before is None or after is None:
        return after is None
    (number, mode), (later, later_mode) = (
        (limit.get("budget"), limit.get("mode")) if isinstance(limit, dict) else (limit, None)
        for limit in (before, after)
    )
    if later_mode == "warn" and mode != "warn":
        return True
    return isinstance(number, (int, float)) and isinstance(later, (int, float)) and later > number


def _step_changes(before: TestResult, after: TestResult) -> Iterator[TestChange]:
    if before.verify and not after.verify and after.verdict is not Verdict.PASS:
        return  # the steps follow a call that passed
    for at, step in enumerate(before.verify):
        if at >= len(after.verify):
            yield TestChange(kind=ChangeKind.STEP_REMOVED, before=_value_text(step.label), weakens=True)
            continue
        other = after.verify[at]
        if step.verdict is Verdict.SKIP or other.verdict is Verdict.SKIP:
            continue
        if step.request != other.request:
            one, two = (_arguments(each.request or {}) for each in (step, other))
            yield TestChange(
                kind=ChangeKind.ARGUMENTS_CHANGED, place=step.label, before=_value_text(one), after=_value_text(two)
            )
        yield from _assertion_changes(step.assertions, other.assertions, step, other)


def _node_changes(before: TestResult, after: TestResult) -> Iterator[TestChange]:
    """The calls of a composition that are no longer made."""
    one, other = ((result.trace or {}).get("nodes", {}) for result in (before, after))
    if not isinstance(one, dict) or not isinstance(other, dict) or not one or not other:
        return
    for name, node in one.items():
        now = other.get(name)
        if now is None:
            yield TestChange(
                kind=ChangeKind.STEP_REMOVED, place=name, before=_value_text(node.get("tool")), weakens=True
            )
        elif any(now.get(key) and not node.get(key) for key in ("mocked", "frozen")):
            word = "mocked" if now.get("mocked") else "frozen"
            kind = ChangeKind.CALL_MOCKED
            yield TestChange(kind=kind, place=name, before="called", after=word, weakens=True)


def _without_opinions(before: TestResult, after: TestResult) -> tuple[list[Mapping[str, Any]], bool | None]:
    """The earlier assertions that can be judged again, and what the others say: false for one that must have failed.

    A snapshot or a model is not asked again: what held before is taken to hold, what failed on another value is open.
    """
    plain: list[Mapping[str, Any]] = []
    said: bool | None = True
    rows = {(row.target, repr(row.matcher)): row for item in after.assertions for row in item.leaves()}
    earlier = {(row.target, repr(row.matcher)): row for item in before.assertions for row in item.leaves()}
    for item in _items_of(before):
        if not any(uses_matcher({"assertions": [item]}, name) for name in ("snapshot", "llm-judge")):
            plain.append(item)
            continue
        for one in assertions_of([item]):
            key = (one["target"], repr(one["matcher"]))
            was, now = earlier.get(key), rows.get(key)
            if was is not None and was.passed is False:
                if now is not None and equal(was.actual, now.actual):
                    return plain, False
                said = None
    return plain, said


def _steps_pass(before: TestResult, after: TestResult) -> bool | None:
    """Whether the earlier `verify` steps would pass on the later answers to them."""
    for step in before.verify:
        if step.index >= len(after.verify) or step.verdict is Verdict.SKIP:
            return None
        now = after.verify[step.index]
        if now.request != step.request or now.output is None:
            return None
        items = _items_of(step)
        case = Case(
            id="", name="", kind=TestKind.TOOL, body=Request(), server=step.server, servers=(),
            method=str((step.request or {}).get("method", "")), params=(step.request or {}).get("params"),
            expect={"assertions": items}, timeout_seconds=0.0, file="", line=0,
        )  # fmt: skip
        try:
            verdict = judge(case, _envelope_of(now), snapshots=None, redact=lambda value: value).verdict
        except _UNUSABLE:
            return None
        if verdict is not Verdict.PASS:
            return False
    return True


def _envelope_of(result: TestResult | VerifyResult) -> dict[str, Any]:
    """What assertion paths lead into, from a stored result. Source of the shape: `calling.py`."""
    output = result.output or {}
    return {
        **({"result": output["result"]} if "result" in output else {}),
        "error": output.get("error"),
        "duration_ms": result.duration_ms,
        "attempt": max(len(getattr(result, "attempts", ())), 1),
        "request": result.request,
        "notifications": output.get("notifications", []),
        "server_requests": output.get("server_requests", []),
        "http": output.get("http"),
    }


def _strength_of(item: Mapping[str, object]) -> Strength:
    return strength_of([{"assertions": [item]}], outcome=ExpectedOutcome.ANY, is_validated=False)


def _matcher_text(matcher: Mapping[str, object]) -> str:
    """A matcher as a person writes it: `exact: 4`."""
    ((name, operand),) = matcher.items()
    return f"{name}: {show(operand, _LONGEST)}"


def _value_text(value: object) -> str:
    return value[:_LONGEST] if isinstance(value, str) else show(value, _LONGEST)
