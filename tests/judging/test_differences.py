"""Unified diffs: what they show, and how much."""

from __future__ import annotations

import random

import pytest

from mcptest_engine.judging.differences import unified_diff


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
