"""A JSON value as rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.targets import parse_target, resolve
from mcptest_tui.state.json_rows import Hits, JsonRows, readable, value_at, whole

VALUE: dict[str, Any] = {
    "result": {"content": [{"type": "text", "text": "rain"}], "odd key": None, "n": 3, "empty": {}}
}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def keys(tree):
    return [row.key for row in tree.rows]


def test_the_outermost_braces_are_no_row():
    assert keys(JsonRows(VALUE)) == ["result", "content", 0, "type", "text", "odd key", "n", "empty"]
    assert JsonRows(VALUE).rows[0].depth == 0
    assert [row.kind for row in JsonRows("text").rows] == ["string"]
    assert [row.kind for row in JsonRows({}).rows] == ["object"]


def test_a_fold_hides_what_is_inside():
    tree = JsonRows(VALUE)
    assert tree.fold(1, True)
    assert keys(tree) == ["result", "content", "odd key", "n", "empty"]
    assert not tree.fold(1, True)
    assert tree.fold(1)
    assert len(tree.rows) == 8
    tree.fold_all(True)
    assert keys(tree) == ["result"]
    tree.fold_all(False)
    assert len(tree.rows) == 8


def test_a_row_knows_what_an_assertion_calls_it():
    tree = JsonRows(VALUE)
    assert [tree.target(at) for at in (0, 4, 5)] == ["result", "result.content[0].text", 'result["odd key"]']
    assert JsonRows(VALUE["result"], root=("result",)).target(0) == "result.content"


def test_a_large_value_is_closed_at_first_level_by_level():
    tree = JsonRows([{"a": list(range(10))} for _ in range(100)])
    assert all(row.open for row in tree.rows if row.depth == 0)
    assert not any(row.open for row in tree.rows if row.depth == 1)


def test_a_search_looks_into_what_is_folded():
    tree = JsonRows(VALUE)
    tree.fold_all(True)
    assert tree.find("RAIN") == [("result", "content", 0, "text")]
    assert tree.find("odd") == [("result", "odd key")]
    at = tree.place_of(("result", "content", 0, "text"))
    assert at is not None
    assert tree.rows[at].value == "rain"


def test_what_was_cut_says_how_long_it_is():
    tree = JsonRows({"text": {"$cut": 5000, "text": "abc"}, "list": [1, {"$more": 40}], "a": 1, "$more": 7})
    kinds = [(row.kind, row.length if row.kind != "more" else row.value) for row in tree.rows]
    assert kinds == [("string", 5000), ("array", 41), ("number", 0), ("more", 40), ("number", 0), ("more", 7)] or kinds == [
        ("string", 5000), ("array", 41), ("number", 0), ("more", 40), ("number", 0), ("more", 7),
    ]  # fmt: skip
    assert not whole(tree.value)
    assert readable(tree.value["text"]) == "abc…"


@pytest.mark.parametrize("said", ["boo", True, None, -3, 0, [1], 1.5], ids=repr)
def test_a_servers_own_key_that_reads_like_ours_is_a_member(said):
    """`$more`, `$cut` and `$file` mark what the engine has left out, and a server may say them too."""
    value = {
        "$more": said,
        "items": [{"$more": said}],
        "cut": {"$cut": said, "text": "x"},
        "f": {"$file": "a", "bytes": said},
    }
    tree = JsonRows(value)
    tree.fold_all(False)
    assert "more" not in [row.kind for row in tree.rows]
    assert "$more" in keys(tree)
    assert whole(value)


def test_further_entries_take_the_place_of_the_row_that_offered_them():
    tree = JsonRows({"list": [1, 2, {"$more": 3}]})
    more = tree.rows[-1]
    assert (more.kind, more.path, more.start) == ("more", ("list",), 2)
    tree.extend(("list",), [3, 4, {"$more": 1}])
    assert tree.value == {"list": [1, 2, 3, 4, {"$more": 1}]}
    tree.extend(("list",), [5])
    assert [row.kind for row in tree.rows].count("more") == 0


def test_a_newer_value_keeps_open_what_was_open():
    tree = JsonRows(VALUE)
    tree.fold_all(True)
    assert keys(tree.again({**VALUE, "error": {"code": 1}}))[:1] == ["result"]


@given(json_values)
def test_every_row_leads_back_to_its_value(value):
    tree = JsonRows(value)
    tree.fold_all(False)
    for at, row in enumerate(tree.rows):
        if row.kind == "more" or not row.path:
            continue
        assert value_at(value, row.path) == row.value or row.kind == "string"
        assert resolve(parse_target(tree.target(at)), value) == value_at(value, row.path)


@pytest.mark.parametrize("value", [None, True, 0, "", [], {}, [[]], {"": {"": 1}}, "x" * 5000])
def test_any_value_has_a_row(value):
    assert JsonRows(value).rows


def test_a_search_goes_on_from_the_cursor_and_from_the_other_end_after_the_last_hit():
    hits = Hits()
    assert hits.described(()) == ""
    hits.query = "e"
    hits.find_in(JsonRows({"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}))
    assert hits.paths == [("one",), ("three",), ("five",)]
    assert [hits.next_to(("three",), step) for step in (1, -1)] == [2, 0]
    assert [hits.next_to(("five",), 1), hits.next_to(("one",), -1)] == [0, 2]
    assert hits.described(("three",)) == '"e" 2 of 3'
    assert hits.described(("two",)) == '"e" 3'
    hits.find_in(None)
    assert hits.paths == []
