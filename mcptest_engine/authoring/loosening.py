"""What an `expect` demands, and what its replacement would no longer demand.

Everything counts as lost unless it is shown to stay: the new `expect` has the same assertion, as data, or pins the same target
to a value for which it holds. Another exact value for the same target is a change and no loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import show
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.suite.items import ASSERT_SET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ASSERTIONS = "assertions"
BUDGETS = ("max_duration_ms", "max_response_tokens")
_UNIMPORTANT = frozenset({"name", "message"})
_MOST_TOLD = 3
_LONGEST = 40


def loosening_of(was: object, wanted: object, *, threshold: object = None) -> str | None:
    """How `wanted`, an `expect` as a suite has it, demands less than `was`; one line, None when it does not.

    `threshold` is the test's: where only a part of the assertions has to hold, each further one counts less.
    """
    old, new = rows_of(was), rows_of(wanted)
    lost = [row for row in _apart(old, new) if not _is_still_required(row, new)]
    losses = [f"drops {assertion_text(row)}" for row in lost[:_MOST_TOLD]]
    losses += [f"drops {len(lost) - _MOST_TOLD} more"] if len(lost) > _MOST_TOLD else []
    losses += [*_accepted_errors(old, new), *_widened(was, wanted)]
    if isinstance(threshold, (int, float)) and threshold < 1 and len(new) > len(old):
        losses.append(f"adds assertions to a test that needs only {threshold} of them to hold")
    return "; ".join(losses) or None


def rows_of(expect: object) -> list[Any]:
    """The assertions and sets of an `expect` in either form."""
    rows = expect.get(ASSERTIONS) if isinstance(expect, dict) else expect
    return list(rows) if isinstance(rows, (list, tuple)) else []


def budget_of(setting: object) -> tuple[float, bool] | None:
    """The limit of a budget, and whether it only warns; None for a value that is none."""
    size = setting.get("budget") if isinstance(setting, dict) else setting
    if not isinstance(size, (int, float)) or isinstance(size, bool):
        return None
    return size, isinstance(setting, dict) and setting.get("mode") == "warn"


def bare(row: object) -> Any:
    """A row without its name and its failure message."""
    if not isinstance(row, dict):
        return row
    members = {key: part for key, part in row.items() if key not in _UNIMPORTANT}
    if isinstance(members.get(ASSERT_SET), dict):
        members[ASSERT_SET] = {
            key: [bare(one) for one in part] if key == ASSERTIONS and isinstance(part, list) else part
            for key, part in members[ASSERT_SET].items()
            if key not in _UNIMPORTANT
        }
    return members


def is_same(one: object, other: object) -> bool:
    """Whether both are equal as data, in any order of keys; 1, 1.0 and true differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(is_same, one, other))
    return type(one) is type(other) and bool(one == other)


def assertion_text(row: object) -> str:
    """An assertion in short: its target in backticks, its matcher, its argument."""
    if not isinstance(row, dict):
        return "an assertion"
    if ASSERT_SET in row:
        inner = row[ASSERT_SET]
        named = inner.get("name") if isinstance(inner, dict) else None
        return f"the set `{one_line(str(named), _LONGEST)}`" if named else "a set of assertions"
    return f"`{one_line(str(row.get('target')), 60)}` {_matcher_line(row.get('matcher'))}"


def _matcher_line(matcher: object) -> str:
    if not isinstance(matcher, dict) or len(matcher) != 1:
        return one_line(show(matcher, _LONGEST))
    ((name, argument),) = matcher.items()
    if name == "not":
        return f"not {_matcher_line(argument)}"
    if isinstance(argument, (str, int, float)):
        return (
            f"{one_line(str(name))} `{one_line(argument if isinstance(argument, str) else show(argument), _LONGEST)}`"
        )
    return one_line(str(name))


def _apart(old: Sequence[object], new: Sequence[object]) -> Iterator[object]:
    """The old rows. A removed set is split into its rows if one of them stays, so that the exact loss is reported."""
    for row in old:
        inner = row.get(ASSERT_SET) if isinstance(row, dict) else None
        rows = inner.get(ASSERTIONS) if isinstance(inner, dict) else None
        if (
            isinstance(rows, list)
            and not _is_still_required(row, new)
            and any(_is_still_required(one, new) for one in rows)
        ):
            yield from rows
        else:
            yield row


def _is_still_required(row: object, new: Sequence[object]) -> bool:
    """Whether the new `expect` demands a row of the old one too."""
    plain = bare(row)
    if any(is_same(plain, bare(one)) for one in new):
        return True
    if not isinstance(plain, dict):
        return False
    if ASSERT_SET in plain:
        return _is_set_still_required(plain[ASSERT_SET], new)
    return any(_is_stronger(bare(one), plain) for one in new if isinstance(one, dict))


def _is_set_still_required(inner: object, new: Sequence[object]) -> bool:
    """Whether a set's rows are demanded one by one, or in a set of the same rows that demands as much."""
    if not isinstance(inner, dict) or not isinstance(rows := inner.get(ASSERTIONS), list):
        return False
    if all(_is_still_required(one, new) for one in rows):
        return True
    for one in new:
        other = bare(one).get(ASSERT_SET) if isinstance(one, dict) else None
        if isinstance(other, dict) and is_same(_without_threshold(inner), _without_threshold(other)):
            return bool(_threshold(other) >= _threshold(inner))
    return False


def _without_threshold(inner: Mapping[str, object]) -> dict[str, object]:
    return {key: part for key, part in inner.items() if key != "threshold"}


def _threshold(inner: Mapping[str, object]) -> float:
    threshold = inner.get("threshold", 1.0)
    return threshold if isinstance(threshold, (int, float)) else 1.0


def _is_stronger(new: Mapping[str, object], old: Mapping[str, object]) -> bool:
    """Whether `new` pins the target of `old`: to another value, or to one for which `old` holds."""
    if any(not is_same(new.get(key), old.get(key)) for key in {*new, *old} - {"matcher"}):
        return False
    pinned, matcher = new.get("matcher"), old.get("matcher")
    if not isinstance(pinned, dict) or list(pinned) != ["exact"] or not isinstance(matcher, dict) or "transform" in old:
        return False
    return list(matcher) == ["exact"] or _holds(matcher, pinned["exact"])


def _holds(matcher: Mapping[str, object], value: object) -> bool:
    """Whether a matcher holds for a value, both as in a suite."""
    from mcptest_engine.authoring.review_runs import Templated, as_judged
    from mcptest_engine.judging.matchers import Context, compile_judge
    from mcptest_engine.suite.templates import LITERAL_KEYS

    try:
        return compile_judge(as_judged(matcher, LITERAL_KEYS), Context())(as_judged(value)) is None
    except Templated:
        return False
    except Exception:  # noqa: BLE001 - a suite is checked by the loader: what no judge can be made of holds for nothing here
        return False


def _accepted_errors(old: Sequence[object], new: Sequence[object]) -> Iterator[str]:
    """The losses where another exact value accepts a failed call, which is always a loss."""
    if _expects_error(new) and not _expects_error(old) and any(_is_about_error(row) for row in old):
        yield "accepts an error result"


def _is_about_error(row: object) -> bool:
    return isinstance(row, dict) and str(row.get("target", "")).lstrip(".") == "result.isError"


def _expects_error(rows: Sequence[Any]) -> bool:
    return any(_is_about_error(row) and is_same(row.get("matcher"), {"exact": True}) for row in rows)


def _widened(was: object, wanted: object) -> Iterator[str]:
    if not isinstance(was, dict):
        return
    new = wanted if isinstance(wanted, dict) else {}
    for key in BUDGETS:
        before, after = budget_of(was.get(key)), budget_of(new.get(key))
        if before is None:
            continue
        if after is None:
            yield f"drops {key}"
        elif after[0] > before[0]:
            yield f"raises {key} from {show(before[0])} to {show(after[0])}"
        elif after[1] and not before[1]:
            yield f"only warns of {key}"
    for key in was:
        if key not in (*BUDGETS, ASSERTIONS) and not is_same(was[key], new.get(key)):
            yield f"drops `{one_line(str(key), _LONGEST)}`"
