"""What holds of equality and of matchers for every value."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.clipping import show
from mcptest_engine.judging.differences import equal, first_difference, unified_diff
from mcptest_engine.judging.matchers import compile_matcher

TEXT = st.text(max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
SIMPLE = st.one_of(
    JSON.map(lambda value: {"exact": value}),
    st.integers(-3, 3).map(lambda bound: {"gt": bound}),
    st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"]).map(
        lambda kind: {"type": kind}
    ),
    TEXT.map(lambda part: {"contains": part}),
    st.integers(0, 4).map(lambda size: {"length": size}),
)


def holds(matcher, value):
    return compile_matcher(matcher)(value) is None


@given(JSON)
def test_every_value_equals_itself_and_is_its_own_subset(value):
    copy = json.loads(json.dumps(value))
    assert equal(value, copy)
    assert holds({"subset": value}, copy)
    assert unified_diff(value, copy) is None


@given(JSON, JSON)
def test_equality_does_not_care_for_sides(one, other):
    assert equal(one, other) == equal(other, one)


@given(JSON, JSON)
def test_equal_values_are_subsets_of_each_other(one, other):
    if holds({"exact": one}, other):
        assert holds({"subset": one}, other)
        assert holds({"subset": other}, one)


@given(JSON, JSON)
def test_there_is_a_diff_exactly_when_there_is_a_difference(one, other):
    assert (unified_diff(one, other) is None) == equal(one, other)
    assert (first_difference(one, other) is None) == equal(one, other)


@given(JSON, JSON)
def test_the_first_difference_is_where_it_says(one, other):
    difference = first_difference(one, other)
    if difference is not None:
        for segment in difference.path[:-1]:
            one, other = one[segment], other[segment]
        assert not equal(one, other)


@given(SIMPLE, JSON)
def test_not_not_is_the_matcher_itself(matcher, value):
    assert holds({"not": {"not": matcher}}, value) == holds(matcher, value)


@given(SIMPLE, JSON)
def test_a_matcher_and_its_negation_never_hold_both_and_one_holds_of_what_can_be_judged(matcher, value):
    is_judged = ("gt" not in matcher or type(value) in (int, float)) and (
        "length" not in matcher or isinstance(value, (str, list, dict))
    )
    assert holds({"not": matcher}, value) + holds(matcher, value) == is_judged


@given(st.lists(SIMPLE, max_size=4), JSON)
def test_not_any_is_all_not(matchers, value):
    """De Morgan."""
    negated = [{"not": matcher} for matcher in matchers]
    assert holds({"not": {"any-of": matchers}}, value) == holds({"all-of": negated}, value)
    assert holds({"not": {"all-of": matchers}}, value) == holds({"any-of": negated}, value)


@given(SIMPLE, st.lists(JSON, max_size=4))
def test_not_each_is_some_not(matcher, values):
    assert holds({"not": {"each": matcher}}, values) == holds({"some": {"not": matcher}}, values)


@given(SIMPLE, JSON)
def test_every_message_is_one_short_line(matcher, value):
    mismatch = compile_matcher(matcher)(value)
    if mismatch is not None:
        assert "\n" not in mismatch.message
        assert len(mismatch.message) < 700


@given(JSON, st.integers(1, 50))
def test_a_value_is_shown_within_its_limit(value, limit):
    assert len(show(value, limit)) <= limit
