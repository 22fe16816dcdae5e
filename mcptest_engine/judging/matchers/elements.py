"""`each` and `some`: a matcher for every element of an array, or for at least one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mcptest_engine.core.results import Mismatch
from mcptest_engine.core.targets import Absent
from mcptest_engine.judging.matchers import Undecided, Unjudged, compile_judge
from mcptest_engine.judging.matchers.reasons import absent, because, unjudged_kind

if TYPE_CHECKING:
    from mcptest_engine.judging.matchers import Context, Judge, Reason


def each(matcher: dict[str, object], context: Context) -> Judge:
    """Every element holds, an empty array too. An absent entry never does, whatever the matcher says of it."""
    inner = compile_judge(matcher, context)

    def judge(actual: object) -> Reason | None:
        if not isinstance(actual, list):
            return unjudged_kind("an array", actual)
        undecided: Undecided | None = None
        first: Reason | None = None
        for index, element in enumerate(actual):
            if isinstance(element, Absent):
                return first or partial(_absent_at, index, element)
            try:
                reason = inner(element)
            except Undecided as open_:
                undecided = undecided or open_
                continue
            if reason is None:
                continue
            told = partial(_mismatch_at, index, reason)
            if not isinstance(reason, Unjudged):
                return first.reason if isinstance(first, Unjudged) else told
            first = first or Unjudged(told, timed_out=reason.timed_out)
            if reason.timed_out:
                break
        if first is None and undecided is not None:
            raise undecided
        return first

    return judge


def some(matcher: dict[str, object], context: Context) -> Judge:
    """At least one element holds; of an empty array none does."""
    inner = compile_judge(matcher, context)
    wants_absence = matcher.get("exists") is False

    def judge(actual: object) -> Reason | None:
        if not isinstance(actual, list):
            return unjudged_kind("an array", actual)
        if not actual:
            return because("no element fits: the array is empty")
        if not wants_absence and all(isinstance(element, Absent) for element in actual):
            return partial(_absent_at, 0, actual[0])
        first: Reason | None = None
        is_judged = True
        undecided: Undecided | None = None
        for element in actual:
            if isinstance(element, Absent) and not wants_absence:
                first = first or partial(absent, element)
                continue
            try:
                reason = inner(element)
            except Undecided as open_:
                undecided = undecided or open_
                continue
            if reason is None:
                return None
            first = first or reason
            is_judged = is_judged and not isinstance(reason, Unjudged)
        if undecided is not None:
            raise undecided
        assert first is not None
        told = partial(_none_holds, len(actual), first)
        return told if is_judged else Unjudged(told)

    return judge


def _none_holds(count: int, first: Reason) -> Mismatch:
    return Mismatch(message=f"none of {count} elements fits; element [0]: {first().message}")


def _absent_at(index: int, entry: Absent) -> Mismatch:
    return Mismatch(message=f"element [{index}] {absent(entry).message}", pointer=f"/{index}")


def _mismatch_at(index: int, reason: Reason) -> Mismatch:
    mismatch = reason()
    return Mismatch(
        message=f"element [{index}]: {mismatch.message}", pointer=f"/{index}{mismatch.pointer}", diff=mismatch.diff
    )
