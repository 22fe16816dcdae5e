"""A matcher that did not hold is told anew so that it holds, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.authoring.review_matchers import LARGEST_VALUE, find_loosening, restated
from mcptest_engine.judging.matchers import compile_matcher

LONG = (
    "The service is up.\n"
    + "x" * 90
    + "\nThe forecast for Oslo says sun and more sun for every day of the week to come."
)


@pytest.mark.parametrize(
    ("matcher", "actual", "wanted", "loosens"),
    [
        ({"exact": 1}, 2, {"exact": 2}, None),
        ({"exact": {"a": 1}}, {"a": [2]}, {"exact": {"a": [2]}}, None),
        ({"contains": "rain"}, "sun", {"contains": "sun"}, None),
        ({"contains": "forecast for Rome"}, LONG, {"contains": LONG.split("\n")[2]}, None),
        ({"contains": {"a": 1}}, {"a": 2, "b": 3}, {"contains": {"a": 2}}, None),
        ({"contains": {"a": 1, "c": 1}}, {"a": 2}, {"contains": {"a": 2}}, "no longer requires `c`"),
        ({"contains": 1}, [2], None, None),
        ({"icontains": "RAIN"}, "Sun", {"icontains": "Sun"}, None),
        ({"contains-any": ["a"]}, "b", {"contains-any": ["a", "b"]}, 'accepts "b" as well'),
        ({"starts-with": "rain"}, "sun and more", {"starts-with": "sun and more"}, None),
        ({"ends-with": "rain"}, "first\nsun", {"ends-with": "sun"}, None),
        ({"regex": "^a+$"}, "bbb", {"exact": "bbb"}, None),
        ({"regex": "Rome"}, LONG, {"contains": "The service is up."}, None),
        ({"one-of": [1, 2]}, 3, {"one-of": [1, 2, 3]}, "accepts 3 as well"),
        ({"type": "string"}, 3, {"type": "integer"}, None),
        ({"type": "string"}, None, {"type": "null"}, "accepts null"),
        ({"length": 2}, [1, 2, 3], {"length": 3}, None),
        ({"length": {"lte": 2}}, "abc", {"length": {"lte": 3}}, "raises the limit from 2 to 3"),
        ({"lt": 5}, 8, {"lt": 9}, "raises the limit from 5 to 9"),
        ({"lt": 0.5}, 0.52, {"lt": 0.53}, "raises the limit from 0.5 to 0.53"),
        ({"lte": 5}, 9, {"lte": 9}, "raises the limit from 5 to 9"),
        ({"gt": 5}, 3, {"gt": 2}, "lowers the limit from 5 to 2"),
        ({"gte": 5}, 3.5, {"gte": 3.5}, "lowers the limit from 5 to 3.5"),
        ({"between": [1, 5]}, 9, {"between": [1, 9]}, "raises the limit from 5 to 9"),
        ({"between": [1, 5]}, 0, {"between": [0, 5]}, "lowers the limit from 1 to 0"),
        (
            {"approx": {"value": 1, "tolerance": 0.1}},
            2.5,
            {"approx": {"value": 2.5, "tolerance": 0.1}},
            None,
        ),
        ({"subset": {"a": {"b": 1}, "l": [1, 2]}}, {"a": {"b": 2}, "l": [1]}, None, None),
        ({"not": {"exact": True}}, True, {"exact": True}, "expects the value that it excluded"),
        ({"exists": False}, 1, {"exists": True}, None),
        (
            {"all-of": [{"type": "integer"}, {"lt": 5}]},
            7,
            {"all-of": [{"type": "integer"}, {"lt": 8}]},
            "raises the limit from 5 to 8",
        ),
        ({"schema": {"type": "string"}}, 1, None, None),
        ({"jq": "false"}, 1, None, None),
        ({"any-of": [{"exact": 1}]}, 2, None, None),
        ({"each": {"exact": 1}}, [2], None, None),
        ({"contains": "a"}, 5, None, None),
        ({"contains": "a"}, "  \n", None, None),
        ({"lt": 5}, "8", None, None),
        ({"lt": 5}, True, None, None),
        ({"exact": 1}, "y" * (LARGEST_VALUE + 1), None, None),
        ({}, 1, None, None),
        ({"unheard-of": 1}, 1, None, None),
    ],
)
def test_a_failed_matcher_states_what_came(
    matcher: dict[str, Any], actual: Any, wanted: dict[str, Any] | None, loosens: str | None
) -> None:
    found = restated(matcher, actual)
    if "subset" in matcher:
        assert found is not None
        assert found.matcher == {"subset": {"a": {"b": 2}, "l": [1]}}
        assert found.loosens == "no longer requires `l.1`"
        return
    assert (None if found is None else found.matcher) == wanted
    assert (None if found is None else found.loosens) == loosens


@pytest.mark.parametrize(
    ("part", "new", "loosens"),
    [
        (("all-of", 0, "subset", "a"), 2, None),
        (("all-of", 0, "subset", "b"), {"x": 1}, "no longer requires `b.y`"),
        (("all-of", 1), {"exact": 1}, None),
        (("all-of", 2, "one-of"), [1, 2], "accepts {"),
    ],
)
def test_only_the_part_that_asks_for_less_loosens(part: tuple[str | int, ...], new: Any, loosens: str | None) -> None:
    matcher = {"all-of": [{"subset": {"a": 1, "b": {"x": 1, "y": 2}}}, {"exact": 0}, {"one-of": [1]}]}
    found = find_loosening(matcher, part, new, {"a": 2, "b": {"x": 1}})
    assert (found or "").startswith(loosens or "")
    assert (found is None) == (loosens is None)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
_NUMBERS = st.integers(-1000, 1000) | st.floats(-1e9, 1e9)
_MATCHERS = st.one_of(
    st.builds(lambda v: {"exact": v}, _JSON),
    st.builds(lambda v: {"subset": v}, _JSON),
    st.builds(lambda v: {"one-of": v}, st.lists(_JSON, min_size=1, max_size=3)),
    st.builds(
        lambda k, v: {k: v}, st.sampled_from(["contains", "icontains", "starts-with", "ends-with"]), st.text(min_size=1)
    ),
    st.builds(lambda k, v: {k: v}, st.sampled_from(["lt", "lte", "gt", "gte"]), _NUMBERS),
    st.builds(lambda a, b: {"between": sorted([a, b])}, _NUMBERS, _NUMBERS),
    st.builds(lambda v: {"length": v}, st.integers(0, 9)),
    st.builds(lambda v: {"not": {"exact": v}}, _JSON),
)


@given(_MATCHERS, _JSON)
def test_whatever_is_proposed_holds_for_what_came(matcher: dict[str, Any], actual: Any) -> None:
    found = restated(matcher, actual)
    if found is not None:
        assert compile_matcher(found.matcher)(actual) is None


def test_what_is_equal_keeps_its_order_and_its_spelling():
    """Only what differs is another value: keys stand where they stood, and `0` is not made `0.0`."""
    wanted = {"exact": {"total": 0, "name": "a", "rows": [{"id": 1, "at": 2.0}]}}
    found = restated(wanted, {"rows": [{"at": 2, "id": 1.0}, {"id": 5}], "new": 1, "name": "b", "total": 0.0})
    assert found is not None
    assert repr(found.matcher) == repr(
        {"exact": {"total": 0, "name": "b", "rows": [{"id": 1, "at": 2.0}, {"id": 5}], "new": 1}}
    )
