"""How much a test demands of an answer, known from its assertions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from mcptest_engine.core.enums import ExpectedOutcome, Strength
from mcptest_engine.judging.strength import strength_of

TEXT = "result.content[0].text"


def of(*rows: tuple[str, dict[str, Any]], **more: Any) -> Strength:
    expect = {"assertions": [{"target": target, "matcher": matcher} for target, matcher in rows]}
    return strength_of([expect], outcome=more.pop("outcome", ExpectedOutcome.SUCCESS), **more)


@pytest.mark.parametrize(
    ("target", "matcher", "strength"),
    [
        (TEXT, {"exact": "on"}, "value"),
        (TEXT, {"exact": ""}, "value"),
        (TEXT, {"of-a-newer-version": 1}, "shape"),
        (TEXT, {"contains": "on"}, "value"),
        (TEXT, {"contains": ""}, "shape"),
        (TEXT, {"regex": "^v"}, "value"),
        (TEXT, {"regex": ".*"}, "shape"),
        (TEXT, {"exists": True}, "shape"),
        (TEXT, {"type": "string"}, "shape"),
        (TEXT, {"length": {"gte": 1}}, "shape"),
        (TEXT, {"not": {"contains": "error"}}, "shape"),
        (TEXT, {"snapshot": True}, "value"),
        ("result.structuredContent.n", {"gt": 0}, "shape"),
        ("result.structuredContent.n", {"between": [1, 3]}, "value"),
        ("result.structuredContent", {"schema": {"type": "object", "required": ["n"]}}, "shape"),
        ("result.structuredContent", {"schema": {"properties": {"n": {"const": 3}}}}, "value"),
        ("result.structuredContent.items", {"each": {"type": "string"}}, "shape"),
        ("result.structuredContent.items", {"some": {"subset": {"id": 1}}}, "value"),
        ("result.structuredContent.n", {"all-of": [{"type": "number"}, {"exact": 3}]}, "value"),
        ("result.structuredContent.n", {"any-of": [{"type": "null"}, {"exact": 3}]}, "shape"),
        ("result.content[0].type", {"exact": "text"}, "shape"),
        ("result.isError", {"exact": False}, "valid"),
        ("error", {"exists": False}, "valid"),
        ("error.message", {"type": "string"}, "valid"),
        ("error.code", {"exact": -32602}, "value"),
        ("duration_ms", {"lt": 500}, "valid"),
        ("http.status", {"exact": 200}, "valid"),
        ("nodes.a.status", {"exact": "ok"}, "valid"),
        ("nodes.a.output.n", {"exact": 3}, "value"),
        ("final_response", {"contains": "30"}, "value"),
    ],
)
def test_the_strength_of_one_assertion(target: str, matcher: dict[str, Any], strength: str) -> None:
    assert of((target, matcher)) == strength


def test_without_assertions_validity_and_outcome_decide() -> None:
    assert of() is Strength.VALID
    assert of(is_validated=False) is Strength.ANSWERED
    assert of(outcome=ExpectedOutcome.ANY) is Strength.ANSWERED
    assert of(("result.isError", {"exact": False}), outcome=ExpectedOutcome.ANY) is Strength.VALID


def test_the_strongest_demand_counts_also_of_a_set_and_of_a_later_step() -> None:
    weak = {"target": TEXT, "matcher": {"exists": True}}
    strong = {"target": TEXT, "matcher": {"exact": "on"}}
    for expectations in (
        [{"assertions": [weak, strong]}],
        [{"assertions": [{"assert-set": {"assertions": [weak, strong]}}]}],
        [{"assertions": [weak]}, {"assertions": [strong]}],
    ):
        assert strength_of(expectations, outcome=ExpectedOutcome.SUCCESS) is Strength.VALUE


def test_what_does_not_have_to_hold_demands_nothing() -> None:
    strong = (TEXT, {"exact": "on"})
    assert of(strong, threshold=0.0) is Strength.VALID
    assert of(strong, threshold=0.5) is Strength.VALUE
    inner = {"assertions": [{"target": TEXT, "matcher": {"exact": "on"}}], "threshold": 0}
    assert strength_of([{"assertions": [{"assert-set": inner}]}], outcome=ExpectedOutcome.SUCCESS) is Strength.VALID


def test_a_further_assertion_never_makes_a_test_weaker() -> None:
    rows: list[tuple[str, dict[str, Any]]]
    rows = [("duration_ms", {"lt": 5}), ("error", {"exists": False}), (TEXT, {"exists": True}), (TEXT, {"exact": "a"})]
    levels = [list(Strength).index(of(*rows[:count], outcome=ExpectedOutcome.ANY)) for count in range(len(rows) + 1)]
    assert all(one <= other for one, other in pairwise(levels))
    assert levels[-1] == 3
