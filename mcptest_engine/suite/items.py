"""What stands under `expect`: assertions, and sets of them. And what `defaultTest` adds to a test.

The assertions of `defaultTest` come after the test's own, the rest holds where the test says nothing.
Budgets of `defaultTest` are defaults too. See docs/how-to/scores.md.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.targets import parse_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest_engine.suite.yaml import Pointer

ASSERT_SET = "assert-set"
METRICS = "derivedMetrics"
DEFAULT_OUTCOME = "default_outcome"
NESTING_MATCHERS = frozenset({"not", "all-of", "any-of", "each", "some", "length"})
"""The matchers whose operand is a matcher, or a list of them."""


def assertions_of(items: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Every assertion of a sound list, those inside sets included, in order."""
    for item in items:
        if ASSERT_SET in item:
            yield from item[ASSERT_SET]["assertions"]
        else:
            yield item


def assertions_in(expect: Any, path: Pointer) -> Iterator[tuple[Pointer, Mapping[str, Any]]]:
    """Every assertion of an `expect` of any shape, with its place; `path` leads to the `expect`."""
    below = isinstance(expect, dict)
    items, path = (expect.get("assertions"), (*path, "assertions")) if below else (expect, path)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if not isinstance(item, dict):
            continue
        if isinstance(inner := item.get(ASSERT_SET), dict):
            yield from assertions_in(inner, (*path, index, ASSERT_SET))
        else:
            yield (*path, index), item


def may_decide_outcome(items: Iterable[Mapping[str, object]]) -> bool:
    """Whether an assertion of a sound list is about the call's error or the status of HTTP."""
    return any(is_about_error(row) or is_about_status(row) for row in assertions_of(items))


def is_about_status(row: Mapping[str, object]) -> bool:
    """Whether an assertion is about the status of HTTP."""
    return parse_target(row["target"]).segments == ("http", "status")


def is_about_error(row: Mapping[str, object]) -> bool:
    """Whether an assertion is about the call's error: its target is in `error` or `result.isError`.

    So is one on the whole `result` whose matcher or transform names `isError`.
    """
    segments = parse_target(row["target"]).segments
    if segments == ("result",):
        return "isError" in json.dumps([row["matcher"], row.get("transform")], default=str)
    return segments[0] == "error" or segments[:2] == ("result", "isError")


def uses_matcher(expect: Mapping[str, Any], name: str) -> bool:
    """Whether an assertion uses the matcher `name`, at whatever depth of `not`, `all-of`, `each` and the like."""
    return any(_uses(row["matcher"], name) for row in assertions_of(expect["assertions"]))


def matchers_in(expectations: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of all matchers in sound `expect` mappings, at whatever depth; operands of `length` among them."""
    waiting: list[Any] = [
        row["matcher"]
        for expect in expectations
        for item in expect["assertions"]
        for row in (item[ASSERT_SET]["assertions"] if ASSERT_SET in item else (item,))
    ]
    found: set[str] = set()
    for matcher in waiting:  # which grows meanwhile
        if isinstance(matcher, list):
            waiting += matcher
        elif isinstance(matcher, dict):
            found.update(matcher)
            waiting += [matcher[key] for key in NESTING_MATCHERS & matcher.keys()]
    return found


def _uses(matcher: object, name: str) -> bool:
    if isinstance(matcher, list):
        return any(_uses(inner, name) for inner in matcher)
    if not isinstance(matcher, dict):
        return False
    return name in matcher or any(_uses(matcher[key], name) for key in NESTING_MATCHERS & matcher.keys())


def normalised_expect(expect: object) -> Mapping[str, Any]:
    """What is expected as a mapping with `assertions`, whichever way it was written."""
    if type(expect) is dict and "assertions" in expect:
        return expect
    budgets = expect if isinstance(expect, dict) else {}
    return {"assertions": expect if isinstance(expect, list) else [], **budgets}


def with_defaults(entry: Mapping[str, Any], defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """The test with its `expect` as a mapping and what `defaultTest` says put in. An explicit value wins, `0` included.

    Metrics of a name that the test has itself are left out.
    """
    own = normalised_expect(entry.get("expect"))
    if not defaults:
        return entry if own is entry.get("expect") else {**entry, "expect": own}
    shared = normalised_expect(defaults.get("expect"))
    assertions = [*own["assertions"], *shared["assertions"]]
    merged = {**defaults, **entry, "expect": {**shared, **own, "assertions": assertions}}
    if "outcome" in defaults and "outcome" not in entry and may_decide_outcome(assertions):
        merged[DEFAULT_OUTCOME] = merged.pop("outcome")  # only where the assertions do not decide
    if METRICS in defaults and METRICS in entry:
        named = {metric["name"] for metric in entry[METRICS]}
        merged[METRICS] = [*entry[METRICS], *(metric for metric in defaults[METRICS] if metric["name"] not in named)]
    return merged
