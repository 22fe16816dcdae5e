"""Changes of numeric keywords: limits of values, lengths and counts, and `multipleOf`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mcptest_engine.safety.changes.change import Effect, SchemaChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LEAST = ("minLength", "minItems", "minProperties")
_MOST = ("maxLength", "maxItems", "maxProperties")


def bound_changes(old: Mapping[str, object], new: Mapping[str, object], path: str) -> Iterator[SchemaChange]:
    """The limits that differ; of unknown effect if one is no number, as the boolean `exclusiveMinimum` of old dialects."""
    for keyword in (*_LEAST, *_MOST):
        yield from _limit_changes(keyword, old.get(keyword), new.get(keyword), path, is_least=keyword in _LEAST)
    for inclusive, exclusive, is_least in (
        ("minimum", "exclusiveMinimum", True),
        ("maximum", "exclusiveMaximum", False),
    ):
        keys = (inclusive, exclusive)
        if any(isinstance(schema.get(exclusive), bool) for schema in (old, new)):
            if any(old.get(key) != new.get(key) for key in keys):
                yield _unknown(path, inclusive)
            continue
        before, after = (_tightest(schema.get(inclusive), schema.get(exclusive), is_least) for schema in (old, new))
        if old.get("type") == new.get("type") == "integer" and _whole_number(before, is_least) == _whole_number(
            after, is_least
        ):
            continue
        yield from _compare_limits(inclusive, before, after, path, is_least)
    yield from _multiple_changes(old.get("multipleOf"), new.get("multipleOf"), path)


def _limit_changes(keyword: str, before: object, after: object, path: str, *, is_least: bool) -> Iterator[SchemaChange]:
    trivial = 0 if is_least else None
    pair = [None if value == trivial else value for value in (before, after)]
    if not all(value is None or _is_number(value) for value in pair):
        if before != after:
            yield _unknown(path, keyword)
        return
    was, is_now = (None if value is None else (value, 0) for value in pair)
    yield from _compare_limits(keyword, was, is_now, path, is_least)


def _tightest(inclusive: Any, exclusive: Any, is_least: bool) -> tuple[Any, int] | None:
    """The stricter of two limits as (value, 1 if the value itself is excluded, else 0); None without a limit."""
    found = [(value, strict) for value, strict in ((inclusive, 0), (exclusive, 1)) if _is_number(value)]
    if not found:
        return None
    return max(found, key=lambda one: (one[0] if is_least else -one[0], one[1]))


def _whole_number(limit: tuple[Any, int] | None, is_least: bool) -> int | None:
    """The outermost whole number that a limit allows; None without a finite limit."""
    if limit is None or not math.isfinite(limit[0]):
        return None
    value, strict = limit
    inner: int = math.ceil(value) if is_least else math.floor(value)
    return inner if inner != value or not strict else inner + 1 if is_least else inner - 1


def _compare_limits(
    keyword: str, before: tuple[Any, int] | None, after: tuple[Any, int] | None, path: str, is_least: bool
) -> Iterator[SchemaChange]:
    if before == after:
        return
    message = f"`{keyword}` {_limit_text(before)} became {_limit_text(after)}"
    if after is None:
        tightened = False
    elif before is None:
        tightened = True
    else:
        ranks = [(limit if is_least else -limit, strict) for limit, strict in (before, after)]
        tightened = ranks[1] > ranks[0]
    effect = Effect.NARROWED if tightened else Effect.WIDENED
    yield SchemaChange(path, keyword, effect, message, before and before[0], after and after[0])


def _limit_text(limit: tuple[object, int] | None) -> str:
    return "(none)" if limit is None else f"{limit[0]}{' (exclusive)' if limit[1] else ''}"


def _multiple_changes(before: Any, after: Any, path: str) -> Iterator[SchemaChange]:
    if before == after:
        return
    message = f"`multipleOf` {'(none)' if before is None else before} became {'(none)' if after is None else after}"
    whole = isinstance(before, int) and isinstance(after, int) and before > 0 and after > 0
    if after is None or (whole and before % after == 0):
        yield SchemaChange(path, "multipleOf", Effect.WIDENED, message, before, after)
    elif before is None or (whole and after % before == 0):
        yield SchemaChange(path, "multipleOf", Effect.NARROWED, message, before, after)
    elif whole:
        yield SchemaChange(path, "multipleOf", Effect.BOTH, message, before, after)
    else:
        yield _unknown(path, "multipleOf")


def _unknown(path: str, keyword: str) -> SchemaChange:
    return SchemaChange(path, keyword, Effect.UNKNOWN, f"`{keyword}` changed: cannot tell whether it breaks")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
