"""Lines of text cut into rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mcptest_tui.state.text_lines import line
from mcptest_tui.widgets.text_view import LONG, wrapped


def rows(text, width, *, at=0, before=""):
    told = line((before, "dim"), text, at=at) if before else line(text, at=at)
    return ["".join(piece for piece, _ in row) for row in wrapped(told, width)]


@given(st.text(max_size=300), st.integers(12, 60))
def test_no_row_is_wider_than_there_is_room(text, width):
    assert all(cell_len(row) <= width for row in rows(text.replace("\n", " "), width, before="name  "))


@pytest.mark.parametrize("word", ["x", "hello world ", "a  b ", "x" * 70 + " "])
def test_a_long_text_loses_nothing_and_breaks_at_spaces(word):
    text = word * (3 * LONG // len(word))
    made = rows(text, 40, at=2, before="name  ")
    assert "".join("".join(made).split()) == f"name{''.join(text.split())}"
    assert max(map(len, made)) <= 40
    if word.startswith("hello"):
        assert all(row.endswith(("hello", "world")) for row in made[:-1])
