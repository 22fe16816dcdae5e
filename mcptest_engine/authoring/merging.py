"""Merges a proposal into an existing test: assertions that still hold stay, only the others are replaced.

Each assertion of the test is judged on the observed answers. One that holds stays as it is written, with its comments. One that
fails is replaced by the proposal for the same target. Further proposals are added only for values that no assertion covers yet.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.authoring.loosening import ASSERTIONS, assertion_text, bare, budget_of, is_same, rows_of
from mcptest_engine.core.text import listed
from mcptest_engine.suite.items import ASSERT_SET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.authoring.propose import Proposed
    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.servers.calls import Exchange

BUDGET = "max_duration_ms"
_TOKENS = "max_response_tokens"
_MOST_TOLD = 3
_OPEN = frozenset({"not", "exists", "type"})
"""Matchers that say little, so that an exact value for the same target is still added."""
_IS_ERROR = "result.isError"


class Merged(NamedTuple):
    """The `expect` for an existing test, and notes for a person."""

    expect: Any
    notes: tuple[str, ...] = ()


def merged(proposed: Proposed, written: Any, judged: Sequence[JsonMapping]) -> Merged:
    """The proposal merged into `written`, the `expect` in the file; `judged` are its assertions with variables filled in.

    A list or a mapping stays one; it becomes the long form where the proposal adds a budget.
    """
    rows = rows_of(written)
    wanted = proposed.mapping["expect"]
    if (
        not proposed.observed
        or len(judged) < len(rows)
        or (written is not None and not isinstance(written, (list, dict)))
    ):
        return Merged(wanted)
    made = _Merging(rows, wanted[ASSERTIONS])
    made.judge(judged, proposed.observed)
    there = written if isinstance(written, dict) else {}
    budgets, notes = _budgets(there, wanted, proposed.observed)
    return Merged({**there, ASSERTIONS: made.rows(), **budgets}, (*made.notes(), *notes))


def with_merged(proposed: Proposed, written: Any, judged: Sequence[JsonMapping]) -> Proposed:
    """The proposal with `merged` as its `expect`."""
    from mcptest_engine.authoring.block_text import expect_text
    from mcptest_engine.suite.yaml_text import Unwritable

    found = merged(proposed, written, judged)
    try:
        text = expect_text(found.expect)
    except (Unwritable, RecursionError):
        text = ""
    mapping = {**proposed.mapping, "expect": found.expect}
    return replace(proposed, mapping=mapping, expect_text=text, notes=(*proposed.notes, *found.notes))


class _Merging:
    """The rows of one test and of the proposal."""

    def __init__(self, rows: Sequence[Any], wanted: Sequence[Mapping[str, object]]) -> None:
        self._rows, self._wanted = rows, wanted
        self._failing: list[int] = []
        self._unjudged: list[int] = []

    def judge(self, judged: Sequence[Mapping[str, object]], observed: Sequence[Exchange]) -> None:
        """Judge the rows on every answer."""
        for number in range(len(self._rows)):
            verdicts = [_holds(judged[number], one) for one in observed]
            if False in verdicts:
                self._failing.append(number)
            elif None in verdicts:
                self._unjudged.append(number)

    def rows(self) -> list[Any]:
        """The rows that stay, failing ones replaced by the proposal for their target, then the new ones."""
        holding = [row for number, row in enumerate(self._rows) if number not in self._failing]
        left = [row for row in self._wanted if not any(is_same(bare(one), bare(row)) for one in holding)]
        found: list[Any] = []
        for number, row in enumerate(self._rows):
            if number not in self._failing:
                found.append(row)
                continue
            instead = next((one for one in left if _target(row) is not None and _target(one) == _target(row)), None)
            if instead is not None:
                left.remove(instead)
                found.append({**row, "matcher": instead["matcher"]})  # its name, message and weight stay
        return [*found, *(row for row in left if not any(_covers(one, row) for one in holding))]

    def notes(self) -> Iterator[str]:
        """Notes on rows that a person wrote and that were changed."""
        wrong = [self._rows[number] for number in self._failing]
        if wrong:
            yield f"no longer holds, and is replaced or removed: {listed(wrong, _MOST_TOLD, assertion_text)}"
        if self._unjudged:
            open_rows = [self._rows[number] for number in self._unjudged]
            yield f"cannot be checked here, and stays: {listed(open_rows, _MOST_TOLD, assertion_text)}"


def _holds(row: Mapping[str, object], observed: Exchange) -> bool | None:
    """Whether the row holds; None where that is unknown, as for a snapshot or a set with one."""
    from mcptest_engine.judging.assertions import judge_assertions

    if _holds_snapshot(row):
        return None
    try:
        (result,) = judge_assertions([row], envelope(observed))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return result.passed


def envelope(observed: Exchange) -> dict[str, object]:
    """The value that targets look into."""
    answer = observed.answer
    return {
        **({"result": answer["result"]} if "result" in answer else {}),
        "error": answer.get("error"),
        "duration_ms": observed.duration_ms,
        "attempt": 1,
        "request": {"method": observed.method, "params": observed.params},
        "notifications": [],
        "server_requests": [],
        "http": observed.http,
    }


def _holds_snapshot(value: object) -> bool:
    if isinstance(value, dict):
        return "snapshot" in value or any(_holds_snapshot(part) for part in value.values())
    return isinstance(value, list) and any(_holds_snapshot(part) for part in value)


def _target(row: Any) -> str | None:
    target = row.get("target") if isinstance(row, dict) and "transform" not in row else None
    return target.lstrip(".") if isinstance(target, str) else None


def _covers(existing: Any, new: JsonMapping) -> bool:
    """Whether a row that stays covers the target of a proposed one, by more than an open matcher."""
    if ASSERT_SET in existing and ASSERT_SET in new:
        return True
    target = _target(existing)
    if target is None or target != _target(new):
        return False
    return target == _IS_ERROR or next(iter(existing.get("matcher") or {}), "") not in _OPEN


def _budgets(written: JsonMapping, wanted: JsonMapping, observed: Sequence[Exchange]) -> tuple[JsonDict, list[str]]:
    """The budgets: one that no call exceeded stays, however wide it is, because the author chose it."""
    from mcptest_engine.judging.budgets import response_tokens

    spent = {
        BUDGET: max(one.duration_ms for one in observed),
        _TOKENS: float(max(response_tokens(one.answer) for one in observed)),
    }
    proposed = {BUDGET: wanted[BUDGET], _TOKENS: int(spent[_TOKENS])} if BUDGET in wanted else {}
    found: JsonDict = {}
    notes = []
    for key, value in proposed.items():
        there = budget_of(written.get(key))
        if there is None:
            found.update({key: value} if key == BUDGET else {})
        elif spent[key] <= there[0] or there[1]:
            found[key] = written[key]
            if key == BUDGET and there[0] > value:
                notes.append(f"{key} stays at {there[0]:g}, wider than the {value}ms that these calls need")
        else:
            setting = written[key]
            found[key] = {**setting, "budget": value} if isinstance(setting, dict) else value
    return found, notes
