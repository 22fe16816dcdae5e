"""What the assertions of a test say of its call's outcome, before the call is made.

Each is judged on made-up answers: an assertion that holds of no error states that none came, and one on `http.status` that
holds of no status of success expects that HTTP refuses the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.enums import ExpectedOutcome
from mcptest_engine.core.targets import parse_target, resolve_answer
from mcptest_engine.judging.assertions import run_transform
from mcptest_engine.judging.matchers import Context, Undecided, Unjudged, compile_judge
from mcptest_engine.suite.items import ASSERT_SET, assertions_of, is_about_error, is_about_status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonMapping

    _Judge = Callable[[Mapping[str, object]], bool | None]

_SUCCESSES: tuple[Mapping[str, object], ...] = (
    {"result": {"content": []}, "error": None},
    {"result": {"content": [], "isError": False}, "error": None},
)
_TOOL_ERRORS: tuple[Mapping[str, object], ...] = ({"result": {"content": [], "isError": True}, "error": None},)
_PROTOCOL_ERRORS: tuple[Mapping[str, object], ...] = (
    {"error": {"code": -32603, "message": "Internal error"}},
    {"error": {"code": -32000, "message": "Server error", "data": {}}},
)

_STATED: dict[str, bool] = {}
_MOST_KINDS = 1_000


def expected_outcome(
    items: Sequence[Mapping[str, object]], threshold: float | None, verified: Iterable[Mapping[str, object]] = ()
) -> ExpectedOutcome | None:
    """ANY where an assertion can hold of an error, SUCCESS where one states that none came; None where none is about it.

    `verified` are the items of the steps that follow: one that can hold of an error counts for the call itself, too.
    """
    stated = [_states_success(row) for row in assertions_of(items) if is_about_error(row)]
    if not all(stated) or expects_refusal(items, threshold):
        return ExpectedOutcome.ANY
    if stated:
        return ExpectedOutcome.SUCCESS
    may_fail = any(is_about_error(row) and not _states_success(row) for row in assertions_of(verified))
    return ExpectedOutcome.ANY if may_fail else None


def expects_refusal(items: Sequence[Mapping[str, object]], threshold: float | None) -> bool:
    """Whether the test cannot pass with any status of success, because of what it says of `http.status`."""
    statuses = [row for row in assertions_of(items) if is_about_status(row)]
    if not statuses:
        return False
    judges = {id(row): _compile(row) for row in statuses}
    return not any(_can_pass(items, threshold, status, judges) for status in range(200, 300))


def _can_pass(items: Sequence[JsonMapping], threshold: float | None, status: int, judges: Mapping[int, _Judge]) -> bool:
    """Whether a test or a set can pass with this status, whatever else comes. `judges` are those of its assertions on it."""
    held = []
    for item in items:
        within = item.get(ASSERT_SET)
        if within is not None:
            can_hold = _can_pass(within["assertions"], within.get("threshold", 1.0), status, judges)
        else:
            judge = judges.get(id(item))
            can_hold = judge is None or judge({"http": {"status": status}}) is not False
        held.append((can_hold, (within or item).get("weight", 1.0)))
    if threshold is None:
        return all(can_hold for can_hold, _ in held)
    from mcptest_engine.judging.scoring import exact, share  # it brings exact fractions, which few suites need

    return share(held) >= exact(threshold)


def _states_success(row: Mapping[str, object]) -> bool:
    """Whether an assertion on the error holds where none came, and of no error. Most suites have a few kinds of them."""
    key = repr((row["target"], row["matcher"], row.get("transform")))
    if key not in _STATED:
        if len(_STATED) >= _MOST_KINDS:
            _STATED.clear()
        _STATED[key] = _finds_success(row)
    return _STATED[key]


def _finds_success(row: JsonMapping) -> bool:
    if "any-of" in row["matcher"]:
        return all(_states_success({**row, "matcher": choice}) for choice in row["matcher"]["any-of"])
    errors = _PROTOCOL_ERRORS if parse_target(row["target"]).segments[0] == "error" else _TOOL_ERRORS
    judge = _compile(row)
    return all(judge(envelope) is False for envelope in errors) and any(map(judge, _SUCCESSES))


def _compile(row: JsonMapping) -> _Judge:
    """Whether an assertion holds of an answer; None where it cannot be judged, or not without a model or a snapshot."""
    target, inner = parse_target(row["target"]), compile_judge(row["matcher"], Context(target=row["target"]))

    def judge(envelope: Mapping[str, object]) -> bool | None:
        actual = resolve_answer(target, envelope)
        if "transform" in row:
            actual, mismatch = run_transform(row["transform"]["jq"], actual)
            if mismatch is not None:
                return None
        try:
            reason = inner(actual)
        except Undecided:
            return None
        return None if isinstance(reason, Unjudged) else reason is None

    return judge
