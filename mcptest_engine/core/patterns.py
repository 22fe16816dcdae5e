"""Regular expressions bounded in time: a Python-style search that a hostile text cannot hold up.

The `regex` package can stop a search; the standard `re` cannot, but costs nothing to import. So a pattern that both read
alike and whose number of steps on this very text is provably small goes to `re`, everything else to `regex` with a timeout.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from typing import Any

from mcptest_engine.core.lazy_patterns import lazy_pattern

MOST_STEPS = 200_000_000  # counted generously: at most some tenths of a second for `re`
_UNBOUNDED = None

# What `re` and `regex` read alike: no set operations, no fuzzy `{e<=1}`, no group kinds or escapes that only one knows.
_ESCAPE = r"\\[dwsDWSbBnrt]|\\[^A-Za-z0-9\s]"
_COMMON = lazy_pattern(
    rf"(?:\(\?[ims]+\))?(?:[^\\\[\]{{}}()]|{_ESCAPE}|\{{\d{{1,4}}(?:,\d{{0,4}})?\}}|\((?:\?(?:[ims]*:|P<[A-Za-z_]\w*>))?|\)"
    rf"|\[\^?(?:[^\[\]\\&|~-]|-(?!-)|{_ESCAPE})+\])*+"
)


class PatternError(ValueError):
    """A pattern that cannot be read. `column` counts from 1; None when the fault has no place."""

    def __init__(self, message: str, column: int | None) -> None:
        super().__init__(message if column is None else f"{message} (column {column})")
        self.message = message
        self.column = column


class PatternTimeout(Exception):
    """The search took longer than it was given."""


def check_pattern(pattern: str) -> None:
    """Raises: PatternError for a pattern that cannot be read."""
    if _quick(pattern) is None:
        _slow(pattern)


def search(pattern: str, text: str, *, timeout_seconds: float = 1.0) -> bool:
    """Whether `pattern`, a Python-style regular expression, is found anywhere in `text`.

    Raises: PatternError, PatternTimeout.
    """
    quick = _quick(pattern)
    if quick is not None:
        compiled, degree, factor = quick
        if factor * (len(text) + 1) ** (degree + 1) <= MOST_STEPS:
            return compiled.search(text) is not None
    try:
        return _slow(pattern).search(text, timeout=timeout_seconds, concurrent=True) is not None
    except TimeoutError:
        raise PatternTimeout(f"the search took longer than {timeout_seconds:g} s") from None


@lru_cache(maxsize=1024)
def _slow(pattern: str) -> Any:
    import warnings

    import regex

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on sets that may get another meaning some day
        try:
            return regex.compile(pattern)
        except regex.error as wrong:
            raise PatternError(str(wrong.msg), None if wrong.pos is None else wrong.pos + 1) from None
        except (RecursionError, OverflowError, MemoryError):
            raise PatternError("the pattern is too complex", None) from None


@lru_cache(maxsize=1024)
def _quick(pattern: str) -> tuple[re.Pattern[str], int, int] | None:
    """The pattern for `re` with its cost: at most `factor * n ** (degree + 1)` steps on n characters. None: not provable."""
    if _COMMON.fullmatch(pattern) is None or ("(?" in pattern and not pattern.isascii()):
        return None
    try:
        compiled = re.compile(pattern)
        ways = _ways(import_module("re._parser").parse(pattern))
    except (re.error, OverflowError, RecursionError, AttributeError):
        return None  # `regex` says what is wrong with it, if anything is
    if ways is None or ways[1] * ways[2] > MOST_STEPS:
        return None
    return compiled, ways[0], ways[1] * ways[2]


def _ways(tokens: Any) -> tuple[int, int, int] | None:
    """In how many ways a sequence can match at one place, `factor * n ** degree`, and how long one way is."""
    degree, factor, length = 0, 1, 1
    for operator, argument in tokens:
        found = _ways_of(str(operator), argument)
        if found is None:
            return _UNBOUNDED
        degree, factor, length = degree + found[0], factor * found[1], length + found[2]
        if factor * length > MOST_STEPS:
            return _UNBOUNDED
    return degree, factor, length


def _ways_of(operator: str, argument: Any) -> tuple[int, int, int] | None:
    if operator in ("LITERAL", "NOT_LITERAL", "ANY", "AT"):
        return 0, 1, 1
    if operator == "IN":
        return 0, 1, 1 + len(argument)
    if operator == "SUBPATTERN":
        return _ways(argument[-1])
    if operator == "BRANCH":
        branches = [_ways(branch) for branch in argument[1]]
        if any(branch is None for branch in branches):
            return _UNBOUNDED
        known = [branch for branch in branches if branch is not None]
        return max(way[0] for way in known), sum(way[1] for way in known), sum(way[2] for way in known)
    if operator in ("MAX_REPEAT", "MIN_REPEAT"):
        return _ways_of_repeat(*argument)
    return _UNBOUNDED


def _ways_of_repeat(least: int, most: Any, body: Any) -> tuple[int, int, int] | None:
    once = _ways(body)
    if once is None or any(str(operator) == "AT" for operator, _ in body):
        return _UNBOUNDED
    degree, factor, length = once
    endless = int(most) > 10_000
    if (degree, factor) == (0, 1):
        return (1, 1, length * (least + 1)) if endless else (0, int(most) - least + 1, length * int(most))
    if endless or degree or int(most) > 16:  # a repeat of what can itself match in several ways
        return _UNBOUNDED
    return 0, factor ** int(most) * (int(most) - least + 1), length * int(most)
