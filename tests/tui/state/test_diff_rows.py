"""Expected beside actual."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.judging.differences import equal
from mcptest_tui.state.diff_rows import (
    CHANGED,
    DiffRow,
    compare,
    diff_of,
    differences,
    differing,
    from_unified,
    unfolded,
    unified,
)
from tests.tui.state.test_json_rows import json_values


def text(rows):
    return [f"{line.sign} {line.text}" for line in unified(rows)]


def test_members_are_compared_by_their_keys():
    assert text(compare({"a": 1, "b": 2, "c": 3}, {"c": 3, "a": 1, "b": 9})) == [
        "  {", '    "a": 1', '-   "b": 2', '+   "b": 9', '    "c": 3', "  }",
    ]  # fmt: skip


def test_one_element_more_is_one_row_more():
    assert text(compare(["a", "b"], ["a", "x", "b"])) == ["  [", '    "a"', '+   "x"', '    "b"', "  ]"]


def test_elements_with_a_name_are_compared_with_their_namesakes():
    """Also where one came and another went, so that both lists are as long."""
    before, after = ([{"name": name, "n": 1} for name in names] for names in (["a", "b", "c"], ["x", "a", "b"]))
    rows = [row for row in compare(before, after) if row.kind == "changed"]
    assert [(row.left, row.right) for row in rows if "name" in (row.left or row.right or "")] == [
        (None, '    "name": "x"'),
        ('    "name": "c"', None),
    ]


def test_what_a_subset_does_not_ask_for_is_no_difference():
    rows = compare({"a": 1}, {"a": 1, "b": 2}, subset=True)
    assert [row.kind for row in rows] == ["same", "same", "extra", "same"]


def test_texts_of_several_lines_are_compared_by_lines():
    assert text(compare("one\ntwo\nthree", "one\n2\nthree")) == ["  one", "- two", "+ 2", "  three"]


def test_long_stretches_of_the_same_are_left_out():
    left = {f"k{n}": n for n in range(50)}
    rows = compare(left, {**left, "k25": "x"})
    assert [row.kind for row in rows].count("gap") == 2
    assert len(rows) < 15


def test_an_integer_equals_the_same_number_as_a_float_and_never_a_boolean():
    assert all(row.kind == "same" for row in compare([1], [1.0]))
    assert any(row.kind == "changed" for row in compare([1], [True]))


def test_the_part_of_a_row_that_differs_is_known():
    assert differing("status: up", "status: down") == ((8, 10), (8, 12))
    assert differing("abc", "abc") == ((3, 3), (3, 3))
    assert differing("", "x") == ((0, 0), (0, 1))


def test_the_engines_own_diff_is_shown_for_what_only_it_can_compare():
    rows = list(from_unified("--- snapshot\n+++ actual\n@@ -1,2 +1,2 @@\n same\n-old\n+new"))
    assert rows == [
        DiffRow("gap", "-1,2 +1,2", None),
        DiffRow("same", "same", "same"),
        DiffRow("changed", "old", "new"),
    ]


def test_only_assertions_that_did_not_hold_are_compared():
    assertions = [
        {"target": "a", "matcher": {"exact": 1}, "passed": True, "actual": 1},
        {"target": "b", "matcher": {"exact": 1}, "passed": False, "actual": 2},
        {"target": "c", "matcher": {"contains": "x"}, "passed": False, "message": "leads nowhere"},
    ]
    assert [row.left for row in diff_of(assertions)] == ["b  exact", "1", "", "c  contains", "leads nowhere"]


@given(json_values, json_values)
def test_there_is_a_difference_exactly_where_values_differ(left, right):
    changed = any(row.kind in ("changed", "lines", "note") for row in compare(left, right))
    assert changed == (not equal(left, right))


@given(st.text(max_size=20), st.text(max_size=20))
def test_what_differs_stands_between_what_is_common(left, right):
    (begin, end), (other_begin, other_end) = differing(left, right)
    assert left[:begin] == right[:other_begin]
    assert left[end:] == right[other_end:]


def test_what_is_left_out_says_where_the_next_difference_is_and_can_be_shown():
    left = {"notes": [{"name": n, "meta": {"size": n}} for n in range(9)], "total": 9}
    right = {"notes": [{"name": n, "meta": {"size": 7.5 if n == 4 else n}} for n in range(9)], "total": 8}
    (title, *rows) = diff_of(
        [{"target": "result", "matcher": {"exact": left}, "actual": right, "passed": False, "index": 0}]
    )
    assert title.left == "result  exact  at notes[4].meta.size"
    gaps = [row.left for row in rows if row.kind == "gap"]
    assert gaps == ["26 rows the same, then notes[4].meta.size", "21 rows the same, then total"]
    assert len(list(unfolded(rows))) == 59


@given(json_values, json_values)
def test_a_difference_is_at_the_path_that_the_result_names(left, right):
    """As `differences` finds them, in the same order."""
    told = dict.fromkeys(row.path for row in unfolded(compare(left, right)) if row.kind in CHANGED)
    assert list(told) == list(dict.fromkeys(found.path for found in differences(left, right)))
