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


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[1 // one\n]", "expected `,` or `]`, found `/`", "JSON has no comments"),
        ('{"a": 1 # one\n}', "expected `,` or `}`, found `#`", "JSON has no comments"),
        ("[] // none", "more text follows the value of the file", "JSON has no comments"),
        ("[1,\u00a02]", "expected a value, found `\\xa0`", None),
        ("[1\u00a0]", "expected `,` or `]`, found `\\xa0`", None),
        (
            f'{{"{"k" * 1000}": 1, "{"k" * 1000}": 2}}',
            f"duplicate key `{'k' * 40}`",
            "remove one of the two, or merge them",
        ),
    ],
)
def test_a_comment_is_called_one_and_what_cannot_be_seen_is_shown_in_little_space(
    text: str, message: str, hint: str | None
) -> None:
    with pytest.raises(SuiteError) as wrong:
        read_json(text, file="a.json")
    assert [(problem.message, problem.hint) for problem in wrong.value.problems] == [(message, hint)]


def test_a_comment_after_a_row_is_called_one() -> None:
    _, problems = read_json_lines('{"a": 1} // one\n{"a": 2} {"a": 3}\n', file="a.jsonl")
    assert [problem.hint for problem in problems] == ["JSON has no comments", "write each row on a line of its own"]
