"""How much a test demands of an answer, known from its assertions alone: answered, valid, shape or value."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from mcptest_engine.core.enums import ExpectedOutcome, Strength
from mcptest_engine.core.targets import parse_target
from mcptest_engine.judging.matchers import STRENGTHS
from mcptest_engine.suite.items import ASSERT_SET

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.json_types import JsonMapping

_LEVELS = tuple(Strength)
_PINNING_KEYWORDS = frozenset({"const", "enum"})
_AROUND_THE_ANSWER = frozenset(
    {"duration_ms", "attempt", "request", "http", "notifications", "server_requests", "cost", "tokens", "stop", "turns",
     "model"}
)  # fmt: skip
_SHAPE_MEMBERS = frozenset({"type", "mimeType", "role"})


def strength_of(
    expectations: Iterable[JsonMapping],
    *,
    outcome: ExpectedOutcome,
    is_validated: bool = True,
    threshold: float | None = None,
) -> Strength:
    """The strongest demand of a test, of its own `expect` and of those of its `verify` steps, all in their mapping form.

    `is_validated`: an invalid answer fails the test. With a `threshold` of 0 no assertion has to hold.
    """
    found = Strength.VALID if is_validated and outcome is not ExpectedOutcome.ANY else Strength.ANSWERED
    if threshold is not None and threshold <= 0:
        return found
    for expect in expectations:
        for item in expect.get("assertions", ()):
            rows = item[ASSERT_SET]["assertions"] if ASSERT_SET in item else (item,)
            if ASSERT_SET in item and item[ASSERT_SET].get("threshold", 1) <= 0:
                continue
            for row in rows:
                level = _strength_of_assertion(row)
                if level is Strength.VALUE:
                    return level
                found = max(found, level, key=_LEVELS.index)
    return found


def _strength_of_assertion(row: JsonMapping) -> Strength:
    strongest = _strongest_on(row["target"])
    if strongest in (Strength.ANSWERED, Strength.VALID):
        return strongest
    found = _strength_of_matcher(row["matcher"])
    if strongest is None:
        return found if found is Strength.VALUE else Strength.VALID
    return min(found, strongest, key=_LEVELS.index)


@lru_cache(maxsize=1024)
def _strongest_on(target: str) -> Strength | None:
    """The most that an assertion on this target can demand; None for one on an error, which demands validity or a value."""
    segments = parse_target(target).segments
    if segments[0] == "error":
        return None
    if segments[0] in _AROUND_THE_ANSWER:
        return Strength.ANSWERED
    is_status = segments[0] == "nodes" and segments[2:3] == ("status",)
    if is_status or segments[:2] in (("result", "isError"), ("composition", "ran")):
        return Strength.VALID
    is_shape = segments[-1] in _SHAPE_MEMBERS and segments[:2] in (("result", "content"), ("result", "messages"))
    return Strength.SHAPE if is_shape else Strength.VALUE


def _strength_of_matcher(matcher: JsonMapping) -> Strength:
    ((name, argument),) = matcher.items()
    if name in ("each", "some"):
        return _strength_of_matcher(argument)
    if name in ("all-of", "any-of"):
        inner = [_strength_of_matcher(one) for one in argument] or [Strength.ANSWERED]
        return (max if name == "all-of" else min)(inner, key=_LEVELS.index)
    if name == "schema":
        return Strength.VALUE if _pins(argument) else Strength.SHAPE
    if name == "regex":
        return Strength.SHAPE if _matches_anything(argument) else Strength.VALUE
    is_empty = argument in ("", [], {}) and name not in ("exact", "one-of")
    return Strength.SHAPE if is_empty else STRENGTHS.get(name) or Strength.SHAPE  # a record may be of a newer version


def _pins(schema: object) -> bool:
    """Whether a JSON Schema names values."""
    if isinstance(schema, dict):
        return not _PINNING_KEYWORDS.isdisjoint(schema) or any(map(_pins, schema.values()))
    return isinstance(schema, list) and any(map(_pins, schema))


def _matches_anything(pattern: object) -> bool:
    """Whether a regular expression is found in texts that have nothing in common: it says nothing of the value."""
    try:
        return all(re.search(str(pattern), text) is not None for text in ("", "\x01"))
    except re.error:
        return False
