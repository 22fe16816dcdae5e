"""The beginning of a JSON object is the same whichever way it is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.workspace.json_beginnings import _members, _parse_at_once, _parse_one_by_one

NAMES = st.sampled_from(["tests", "a", '"tests":', "{", ""])
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=9) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(NAMES, VALUES, max_size=5), st.sampled_from([(",", ":"), (", ", ": ")]), st.integers(0, 400))
def test_the_quick_way_finds_what_the_slow_one_finds(
    value: dict[str, object], separators: tuple[str, str], cut: int
) -> None:
    """Also where the name stands further in, in a text, or the text ends too early: nothing, or the same."""
    text = json.dumps(value, separators=separators)[: cut or None]
    slow = _parse_one_by_one(text, "tests")
    assert _parse_at_once(text, "tests") in (None, slow)
    assert _members(text.encode(), "tests") == slow


@pytest.mark.parametrize(
    "text", ['{"a":1 "tests":[2]}', '{"a":{"b":1,"tests":[2]}}', '{"a":1,,"tests":[2]}', '{"a":"x,"tests":[2]}']
)
def test_what_is_torn_has_no_head(text: str) -> None:
    assert _parse_at_once(text, "tests") is None
    assert _parse_at_once('{"a":1,"tests":[', "tests") == {"a": 1}
