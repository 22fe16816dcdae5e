"""`not`, `all-of` and `any-of`: matchers of matchers.

`not` is stricter than logic: on a path that leads nowhere it holds only if all but the last segment resolve. An absent
`isError` is fine; a misspelt `result.contnet[0].text` must not make a test green.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import show
from mcptest_engine.core.results import Mismatch
from mcptest_engine.core.targets import Absent, Spread
from mcptest_engine.judging.matchers import Undecided, compile_judge
from mcptest_engine.judging.matchers.reasons import absent, because

if TYPE_CHECKING:
    from mcptest_engine.judging.matchers import Context, Judge, Reason


def negated(matcher: dict[str, Any], context: Context) -> Judge:
    """The inner matcher does not hold."""
    inner = compile_judge(matcher, context)

    def judge(actual: object) -> Reason | None:
        if isinstance(actual, Absent):
            if not actual.parent_resolves:
                return lambda: absent(actual)
        elif isinstance(actual, Spread):
            for index, entry in enumerate(actual):
                if isinstance(entry, Absent) and not entry.parent_resolves:
                    return because(f"element {index} is absent: {entry.explanation}", f"/{index}")
        if inner(actual) is not None:
            return None
        shown = "it is absent" if isinstance(actual, Absent) else f"it is `{show(actual)}`"
        return lambda: Mismatch(message=f"`{_named(matcher)}` holds and must not: {shown}")

    return judge


def all_of(matchers: list[dict[str, Any]], context: Context) -> Judge:
    """Every inner matcher holds; the first that does not gives the reason, also where others are undecided."""
    judges = [compile_judge(matcher, context) for matcher in matchers]

    def judge(actual: object) -> Reason | None:
        undecided: Undecided | None = None
        for inner in judges:
            try:
                reason = inner(actual)
            except Undecided as open_:
                undecided = undecided or open_
                continue
            if reason is not None:
                return reason
        if undecided is not None:
            raise undecided
        return None

    return judge


def any_of(matchers: list[dict[str, Any]], context: Context) -> Judge:
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
        return lambda: _none_holds(reasons)

    return judge


def _none_holds(reasons: list[Reason]) -> Mismatch:
    told = "; or ".join(reason().message for reason in reasons[:5])
    more = f"; and {len(reasons) - 5} more" if len(reasons) > 5 else ""
    return Mismatch(message=f"none of {len(reasons)} holds: {told}{more}")


def _named(matcher: dict[str, Any]) -> str:
    ((name, argument),) = matcher.items()
    return f"{name}: {show(argument, 80)}"
