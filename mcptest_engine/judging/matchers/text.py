"""`starts-with`, `ends-with` and `regex`: what a text looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.clipping import LIMIT, show_text
from mcptest_engine.core.patterns import PatternTimeout, search
from mcptest_engine.core.results import Mismatch
from mcptest_engine.judging.matchers.reasons import unjudged, unjudged_kind

if TYPE_CHECKING:
    from mcptest_engine.judging.matchers import Context, Judge, Reason


def starts_with(start: str, _: Context) -> Judge:
    """The text begins with these characters."""

    def judge(actual: object) -> Reason | None:
        if not isinstance(actual, str):
            return unjudged_kind("a string", actual)
        if actual.startswith(start):
            return None
        return lambda: Mismatch(message=f"`{show_text(actual)}` does not start with `{show_text(start)}`")

    return judge


def ends_with(end: str, _: Context) -> Judge:
    """The text ends with these characters; the message shows the end of a long text."""

    def judge(actual: object) -> Reason | None:
        if not isinstance(actual, str):
            return unjudged_kind("a string", actual)
        if actual.endswith(end):
            return None
        tail = actual if len(actual) <= LIMIT else f"…{actual[1 - LIMIT :]}"
        return lambda: Mismatch(message=f"`{show_text(tail)}` does not end with `{show_text(end)}`")

    return judge


def matches_regex(pattern: str, _: Context) -> Judge:
    """A Python-style regular expression is found anywhere in the text, within one second."""

    def judge(actual: object) -> Reason | None:
        if not isinstance(actual, str):
            return unjudged_kind("a string", actual)
        try:
            if search(pattern, actual):
                return None
        except PatternTimeout as late:
            words = f"pattern `{show_text(pattern)}` could not be judged: {late} on a text of {len(actual)} characters"
            return unjudged(words, timed_out=True)
        return lambda: Mismatch(message=f"pattern `{show_text(pattern)}` not found in `{show_text(actual)}`")

    return judge
