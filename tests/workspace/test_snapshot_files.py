"""Snapshot files keep every JSON value, and read well."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.judging.differences import equal
from mcptest_engine.workspace.snapshots import (
    dump_values,
    load_values,
    read_snapshots,
    rename_snapshots,
    write_snapshots,
)

TEXT = st.one_of(
    st.text(max_size=12),
    st.text("\n :#-'\"yn01.e+_\t=<|>", max_size=8),
    st.sampled_from(["yes", "1e3", "0o7", "=", "~"]),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXT, JSON, max_size=3))
def test_reading_what_was_written_gives_the_values_back(values):
    """Law."""
    assert equal(load_values(dump_values(values)), values)


def test_half_a_character_survives():
    values = {"a": "\ud800 x"}
    assert load_values(dump_values(values)) == values


def test_equal_parts_are_written_out_and_not_referred_to():
    part = {"a": 1}
    assert "&" not in dump_values({"x": [part, part]})


def test_a_file_without_values_is_no_file(tmp_path):
    path = tmp_path / "deeper" / "suite.yml"
    write_snapshots(path, {"b": 1, "a": "ä"})
    assert path.read_text(encoding="utf-8").splitlines()[1:] == ["a: ä", "b: 1"]
    assert read_snapshots(path) == {"a": "ä", "b": 1}
    write_snapshots(path, {})
    assert not path.exists()
    assert read_snapshots(path) == {}


@pytest.mark.parametrize(
    ("renamed", "after"),
    [
        ({"a": "b", "b": "a"}, {"b / x": 1, "b #2 / x": 2, "a / x": 3, "a b / x": 4}),
        ({"a": "c"}, {"c / x": 1, "c #2 / x": 2, "b / x": 3, "a b / x": 4}),
        ({"a b": "d"}, {"a / x": 1, "a #2 / x": 2, "b / x": 3, "d / x": 4}),
        ({"a": "b"}, None),
    ],
    ids=["swapped", "one", "the longest", "taken"],
)
def test_snapshots_go_to_the_new_names_of_their_tests_all_at_once(tmp_path, renamed, after):
    """Where a new name is taken by a snapshot that stays, the file is left alone, and no value is lost."""
    path = tmp_path / "suite.yml"
    before = {"a / x": 1, "a #2 / x": 2, "b / x": 3, "a b / x": 4}
    write_snapshots(path, before)
    count = rename_snapshots(path, renamed, ["a", "b", "a b"])
    assert read_snapshots(path) == (before if after is None else after)
    assert bool(count) == (after is not None)
