"""`defaultTest` put into a test: its assertions after the test's own, the rest where the test says nothing.

Source: suite-composition, defaultTest; decisions 14, Assertions (its budgets are defaults).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.kinds import TestKind
from mcptest_engine.suite.items import may_decide_outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

METRICS = "derivedMetrics"
DEFAULT_OUTCOME = "default_outcome"
WITHOUT_DEFAULTS = frozenset({TestKind.COMPLIANCE, TestKind.COMPOSITION, TestKind.AGENT, TestKind.EVAL})
"""The kinds of tests that `defaultTest` is not put into: what it expects of a call's answer says nothing of theirs."""


def normalised_expect(expect: Any) -> Mapping[str, Any]:
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
