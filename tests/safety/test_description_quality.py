"""How well tools describe themselves. Source: docs/how-to/doctor.md."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.safety.description_quality import HEURISTICS, RULES, Weight, assess
from tests.safety.corpora import public_catalogs

GOOD: dict[str, Any] = {
    "name": "search_records",
    "description": "Find the records that match a query, newest first. Use it before get_record, to learn the id.",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string", "description": "Words to look for"}}},
}


def rules(*tools: dict[str, Any]) -> list[str]:
    return [found.rule for found in assess(tools).findings]


def test_a_tool_that_says_all_that_is_needed_scores_one() -> None:
    quality = assess([GOOD])
    assert quality.min_score == quality.mean_score == 1.0
    assert (quality.findings, quality.misses()) == ((), ())


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"description": "search"}, "DESC-001"),
        ({"description": None}, "DESC-002"),
        ({"description": " "}, "DESC-002"),
        ({"description": 7}, "DESC-002"),
        ({"description": "Searches the records"}, "DESC-003"),
        ({"description": "Finds what matches, newest first.", "inputSchema": {"properties": {"q": {}}}}, "DESC-004"),
        ({"description": "Find many things"}, "DESC-005"),
        ({"description": "Say the query again, and again. " * 100}, "DESC-006"),
        ({"annotations": {"readOnlyHint": "yes"}}, "DESC-008"),
        ({"annotations": []}, "DESC-008"),
        ({"description": "TODO: say what it does"}, "DESC-009"),
    ],
)
def test_each_rule_fires_on_what_it_is_about(changed: dict[str, Any], rule: str) -> None:
    assert rule in rules({**GOOD, **changed})


def test_two_tools_of_one_description_are_told_apart_by_nothing() -> None:
    assert rules(GOOD, {**GOOD, "name": "other"}) == ["DESC-007", "DESC-007"]


def test_a_parameter_may_be_described_in_the_words_of_the_description() -> None:
    """A `userId` that the text calls "user ids" is spoken of."""
    schema = {"properties": {"userId": {}, "max_results": {}, "kind": {"enum": ["a"]}, "x": {}}}
    text = "Find users by their user ids, at most max_results of them."
    (found,) = assess([{"name": "t", "description": text, "inputSchema": schema}]).findings
    assert (found.rule, found.message) == ("DESC-004", "`x` not described")


def test_the_gate_names_what_is_missed_and_by_how_much() -> None:
    """Default gate: min_score >= 0.50, mean_score >= 0.70, critical_count <= 0."""
    quality = assess([GOOD, {"name": "x", "description": "x"}])
    assert quality.misses() == ("min_score 0.24 < 0.50 (`x`)", "mean_score 0.62 < 0.70", "critical_count 1 > 0")
    assert quality.to_json()["passed"] is False
    assert quality.to_json()["gate"] == {"min_score": 0.5, "mean_score": 0.7, "critical_count": 0}
    assert assess([]).misses() == ()


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["name", "description", "annotations", "inputSchema", "outputSchema"]),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.text(),
                lambda inner: (
                    st.lists(inner) | st.dictionaries(st.sampled_from(["properties", "a", "readOnlyHint"]), inner)
                ),
            ),
        ),
        max_size=3,
    )
)
def test_whatever_a_server_lists_gets_six_scores_from_zero_to_one(tools: list[dict[str, Any]]) -> None:
    for tool in assess(tools).tools:
        assert tuple(tool.scores) == HEURISTICS
        assert all(0 <= score <= 1 for score in (*tool.scores.values(), tool.score))


def test_public_servers_pass_but_for_a_few() -> None:
    """docs/how-to/doctor.md says how many."""
    passing = [catalog for catalog in public_catalogs() if not assess(catalog["tools"]).misses()]
    assert (len(passing), len(public_catalogs())) == (37, 39)


def test_a_critical_finding_is_one_that_leaves_a_model_with_nothing() -> None:
    critical = {rule.id for rule in RULES.values() if rule.severity is Weight.CRITICAL}
    assert critical == {"DESC-001", "DESC-002", "DESC-009"}
