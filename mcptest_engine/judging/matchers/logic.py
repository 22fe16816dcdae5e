"""`not`, `all-of` and `any-of`: matchers of matchers.

`not` is stricter than logic: what could not be judged, such as `gt` of a text, holds no more within `not` than without. On a
path that leads nowhere it holds only if all but the last segment resolve. An absent `isError` is fine; a misspelt
`result.contnet[0].text` must not make a test green.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from mcptest_engine.core.clipping import show
from mcptest_engine.core.results import Mismatch
from mcptest_engine.core.targets import Absent, Spread
from mcptest_engine.judging.matchers import Undecided, Unjudged, compile_judge
from mcptest_engine.judging.matchers.reasons import absent, because, reworded

if TYPE_CHECKING:
    from mcptest_engine.judging.matchers import Context, Judge, Reason


def negated(matcher: dict[str, object], context: Context) -> Judge:
    """The inner matcher could be judged, and does not hold."""
    inner = compile_judge(matcher, context)

    def judge(actual: object) -> Reason | None:
        if isinstance(actual, Absent):
            if not actual.parent_resolves:
                return lambda: absent(actual)
        elif isinstance(actual, Spread):
            lost = [index for index, entry in enumerate(actual) if isinstance(entry, Absent)]
            if len(lost) < len(actual):  # else nothing is named as the last segment says
                lost = [index for index in lost if not actual[index].parent_resolves]
            if lost:
                return because(f"element [{lost[0]}] does not exist: {actual[lost[0]].explanation}", f"/{lost[0]}")
        reason = inner(actual)
        if reason is not None:
            if isinstance(reason, Unjudged) and not isinstance(actual, Absent):
                return reworded(reason, partial(_unjudged, matcher, reason))
            return None
        shown = "it is absent" if isinstance(actual, Absent) else f"it is `{show(actual)}`"
        return lambda: Mismatch(message=f"`{_matcher_name(matcher)}` must not hold, but it does: {shown}")

    return judge


def all_of(matchers: list[dict[str, object]], context: Context) -> Judge:
    """Every inner matcher holds; the first that does not gives the reason, also where others are undecided."""
    judges = [compile_judge(matcher, context) for matcher in matchers]

    def judge(actual: object) -> Reason | None:
        undecided: Undecided | None = None
        first: Reason | None = None
        for inner in judges:
            try:
                reason = inner(actual)
            except Undecided as open_:
                undecided = undecided or open_
                continue
            if reason is not None and not isinstance(reason, Unjudged):
                return first.reason if isinstance(first, Unjudged) else reason
            first = first or reason
        if first is None and undecided is not None:
            raise undecided
        return first

    return judge


def any_of(matchers: list[dict[str, object]], context: Context) -> Judge:
    """At least one inner matcher holds, whatever of the others is undecided."""
    judges = [compile_judge(matcher, context) for matcher in matchers]

    def judge(actual: object) -> Reason | None:
        reasons: list[Reason] = []
        undecided: Undecided | None = None
        for inner in judges:
            try:
                reason = inner(actual)
            except Undecided as open_:
                undecided = undecided or open_
                continue
            if reason is None:
                return None
            reasons.append(reason)
        if undecided is not None:
            raise undecided
        if isinstance(actual, Absent):
            return lambda: absent(actual)
        told = partial(_none_holds, reasons)
        return Unjudged(told) if any(isinstance(reason, Unjudged) for reason in reasons) else told

    return judge


def _unjudged(matcher: dict[str, object], reason: Reason) -> Mismatch:
    return replace(mismatch := reason(), message=f"`{_matcher_name(matcher)}` could not be judged: {mismatch.message}")


def _none_holds(reasons: list[Reason]) -> Mismatch:
    told = "; or ".join(reason().message for reason in reasons[:5])
    more = f"; and {len(reasons) - 5} more" if len(reasons) > 5 else ""
    return Mismatch(message=f"none of {len(reasons)} holds: {told}{more}")


def _matcher_name(matcher: dict[str, object]) -> str:
    ((name, argument),) = matcher.items()
    return f"{name}: {show(argument, 80)}"
