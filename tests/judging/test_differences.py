"""Unified diffs: what they show, and how much."""

from __future__ import annotations

import random

import pytest

from mcptest_engine.judging import differences
from mcptest_engine.judging.differences import NOTHING


def unified_diff(expected, actual):
    diff = differences.unified_diff(expected, actual)
    assert diff is not None
    return diff


def aligned_difference(expected, actual):
    difference = differences.aligned_difference(expected, actual)
    assert difference is not None
    return difference


def test_a_diff_of_objects_shows_the_lines_that_differ():
    expected = {"name": "Ada", "tags": ["a", "b"], "n": 1}
    actual = {"n": 1.0, "name": "Bob", "tags": ["a", "b", "c"]}
    assert unified_diff(expected, actual) == "\n".join(
        [
            "--- expected",
            "+++ actual",
            "@@ -1,8 +1,9 @@",
            " {",
            '   "n": 1',
            '-  "name": "Ada"',
            '+  "name": "Bob"',
            '   "tags": [',
            '     "a"',
            '     "b"',
            '+    "c"',
            "   ]",
            " }",
        ]
    )


def test_a_diff_of_texts_is_one_of_their_lines():
    diff = unified_diff("one\ntwo\nthree", "one\n2\x1b\nthree")
    assert diff.splitlines()[3:] == [" one", "-two", "+2␛", " three"]


def test_line_numbers_count_what_is_equal_at_the_start():
    expected = {"items": list(range(1000))}
    actual = {"items": [*range(500), -1, *range(501, 1000)]}
    lines = unified_diff(expected, actual).splitlines()
    assert lines[2] == "@@ -500,7 +500,7 @@"
    assert lines[6:8] == ["-    500", "+    -1"]


def tool(name, **more):
    return {"annotations": {"readOnlyHint": True}, "name": name, **more}


@pytest.mark.parametrize(
    ("before", "after", "place", "expected", "actual"),
    [
        ("abcde", "abXcde", "/2", NOTHING, tool("X")),
        ("abcde", "abde", "/2", tool("c"), NOTHING),
        ("abcde", "abcdeX", "/5", NOTHING, tool("X")),
        ("abcde", "cde", "/0", tool("a"), NOTHING),
        ("abc", "aXbC", "/1", NOTHING, tool("X")),
        ("ab", "ba", "/0/name", "a", "b"),
        ("ab", "XY", "/0/name", "a", "X"),
        ("aa", "aaX", "/2", NOTHING, tool("X")),
    ],
)
def test_an_element_that_came_or_went_is_told_by_its_identity(before, after, place, expected, actual):
    """Not as a change of each element that stands elsewhere for it; of another order the first place is told."""
    difference = aligned_difference([tool(name) for name in before], [tool(name) for name in after])
    assert (difference.pointer, difference.expected, difference.actual) == (place, expected, actual)


def test_a_change_behind_an_inserted_element_is_told_where_it_is():
    before = {"tools": [tool("a"), tool("b", size=[1, 2])]}
    after = {"tools": [tool("b", size=[1, 3])]}
    removed = aligned_difference(before, after)
    assert removed.pointer == "/tools/0"
    changed = aligned_difference({"tools": before["tools"][1:]}, {"tools": [*after["tools"], tool("c")]})
    assert (changed.pointer, changed.expected, changed.actual) == ("/tools/0/size/1", 2, 3)


def test_a_large_catalog_is_narrowed_to_the_tool_that_came_or_changed_and_not_to_its_neighbour():
    """Beyond 2,000 lines only the differing part is shown."""
    before = [tool(f"t{number}", lines=["x"] * 50) for number in range(60)]
    came = unified_diff(before, [tool("new"), *before]).split("\n")
    assert came[:2] == ["--- expected at /0", "+++ actual at /0"]
    assert {line[0] for line in came[3:]} == {"+"}
    changed = unified_diff(before[1:], [*before[2:40], {**before[40], "lines": ["y"]}, *before[41:]]).split("\n")
    assert '-  "name": "t1"' in changed
    assert not any(line.startswith("+") for line in changed[2:])


def test_a_value_too_large_is_narrowed_to_the_part_that_differs():
    expected = {"big": list(range(10_000)), "small": {"a": 1}}
    actual = {"big": list(range(10_000)), "small": {"a": 2}}
    assert unified_diff(expected, actual).splitlines() == [
        "--- expected at /small", "+++ actual at /small", "@@ -1,3 +1,3 @@", " {", '-  "a": 1', '+  "a": 2', " }",
    ]  # fmt: skip


def test_lines_too_long_to_differ_are_told_apart_all_the_same():
    diff = unified_diff({"a": "x" * 1000 + "1"}, {"a": "x" * 1000 + "2"})
    assert diff.startswith("--- expected at /a")


@pytest.mark.timeout(30)
@pytest.mark.parametrize("kinds", [2, 50, 100_000])
def test_a_diff_is_bounded_in_size_and_time(kinds):
    """The worst for difflib are many lines that are alike."""
    chance = random.Random(1)
    one, other = ([chance.randrange(kinds) for _ in range(1900)] for _ in range(2))
    assert len(unified_diff(one, other).splitlines()) < 1000
    one, other = ([chance.randrange(kinds) for _ in range(490)] for _ in range(2))
    assert unified_diff(one, other)


def test_a_diff_of_values_of_any_depth(deep):
    assert unified_diff(deep, deep[0])
