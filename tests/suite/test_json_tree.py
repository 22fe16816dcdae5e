"""JSON with the place of every value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.suite.json_tree import read_json, read_json_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    yield path, value
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


@given(value=VALUES, indent=st.sampled_from([None, 0, 2, "\t"]), ascii_only=st.booleans())
def test_a_value_is_read_as_the_standard_library_reads_it_and_every_part_stands_at_its_place(
    value: Any, indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    tree = read_json(text, file="a.json")
    assert tree.value == json.loads(text)
    for path, part in places(value):
        index = tree.index(path)
        assert index is not None
        assert json.JSONDecoder().raw_decode(text, index)[0] == part
        if path and isinstance(path[-1], str):
            key = tree.index(path, key=True)
            assert key is not None
            assert json.JSONDecoder().raw_decode(text, key)[0] == path[-1]


@given(rows=st.lists(VALUES, max_size=5), end=st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_lines_are_read_each_by_itself(rows: list[Any], end: str) -> None:
    tree, problems = read_json_lines(end.join(map(json.dumps, rows)), file="a.jsonl")
    assert (tree.value, problems) == (json.loads(json.dumps(rows)), [])


@given(text=st.text(st.sampled_from("{}[]\",:0123456789.eE+-truefalsn\\u \n\t'#/x\ufeff"), max_size=20))
def test_what_the_standard_library_refuses_is_refused_with_its_place(text: str) -> None:
    try:
        json.loads(text, parse_constant=dict[str, None]().__getitem__)
    except (ValueError, KeyError):
        with pytest.raises(SuiteError) as wrong:
            read_json(text, file="a.json")
        assert all(problem.span is not None for problem in wrong.value.problems)
