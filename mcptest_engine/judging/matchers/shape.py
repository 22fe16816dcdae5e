"""`length`, `type` and `exists`: how long a value is, of which kind, and whether it is there at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.clipping import kind_of, show
from mcptest_engine.core.results import Mismatch
from mcptest_engine.core.targets import Absent
from mcptest_engine.judging.matchers import compile_judge
from mcptest_engine.judging.matchers.numbers import is_number
from mcptest_engine.judging.matchers.reasons import absent, reworded, unjudged_kind, wrong_kind

if TYPE_CHECKING:
    from mcptest_engine.judging.matchers import Context, Judge, Reason

_ARTICLES = {"null": "null", "integer": "an integer", "array": "an array", "object": "an object"}


def length(wanted: object, context: Context) -> Judge:
    """The number of characters, elements or members: a number, or a matcher for it."""
    inner = compile_judge(wanted, context) if isinstance(wanted, dict) else None

    def judge(actual: object) -> Reason | None:
        if not isinstance(actual, (str, list, dict)):
            return unjudged_kind("a string, an array or an object, which have a length", actual)
        size = len(actual)
        if inner is None:
            words = f"length is `{size}`, not `{show(wanted)}`"
            return None if size == wanted else lambda: Mismatch(message=f"{words}: `{show(actual)}`")
        reason = inner(size)
        if reason is None:
            return None
        return reworded(reason, lambda: Mismatch(message=f"length {reason().message}: `{show(actual)}`"))

    return judge


def has_type(wanted: str, _: Context) -> Judge:
    """One of JSON Schema's types; `integer` is a number without a fraction, however it is written."""

    def judge(actual: object) -> Reason | None:
        if _is_of(wanted, actual):
            return None
        return wrong_kind(_ARTICLES.get(wanted, f"a {wanted}"), actual)

    return judge


def exists(wanted: bool, context: Context) -> Judge:
    """Present (null is present) or absent. The target `error` is null where the server sent none: that is absent here."""
    null_is_absent = context.target == "error"

    def judge(actual: object) -> Reason | None:
        if isinstance(actual, Absent):
            return (lambda: absent(actual)) if wanted else None
        if actual is None and null_is_absent:
            return (lambda: Mismatch(message="there is no error")) if wanted else None
        return None if wanted else lambda: Mismatch(message=f"is present: `{show(actual)}`")

    return judge


def _is_of(wanted: str, actual: object) -> bool:
    if isinstance(actual, Absent):
        return False
    if wanted == "integer":
        return is_number(actual) and (isinstance(actual, int) or (isinstance(actual, float) and actual.is_integer()))
    return kind_of(actual).rpartition(" ")[2] == wanted
