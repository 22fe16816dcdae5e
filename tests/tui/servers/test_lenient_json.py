"""JSON as people write it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.lenient_json import LenientError, loads

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_json_is_read_as_json(value):
    """Whatever the strict reader takes."""
    assert loads(json.dumps(value)) == value


@given(st.text(alphabet="{}[]\"',:/*#abc01\\ \n", max_size=40))
def test_any_text_gives_a_value_or_a_place(text):
    """Never another exception."""
    try:
        loads(text)
    except LenientError as wrong:
        assert wrong.line >= 1
        assert wrong.column >= 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{city: 'Oslo', days: 3,}", {"city": "Oslo", "days": 3}),
        ("{'a': [1, 2,], /* x */ b: None, // y\n c: True # z\n}", {"a": [1, 2], "b": None, "c": True}),
        ("{\u201ca\u201d: \u2018b\u2019}", {"a": "b"}),
        (r"'it\'s \x41 \u0042'", "it's A B"),
        ("+1.5", 1.5),
        ("\ufeff{}", {}),
        ("{max-items: .5}", {"max-items": 0.5}),
    ],
)
def test_spellings_of_people(text, value):
    """Comments, commas, quotes, names, words of Python."""
    assert loads(text) == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{a: 1e999}", "1:5: the number 1e999… is too large to be read"),
        ("9" * 5000, "1:1: the number 99999999999999999999… is too large to be read"),
        ("{a: b}", "1:5: `b` is not a value; a text needs quotes"),
        ('{"a": 1', "1:1: this `{` is never closed"),
        ("[1 2]", "1:4: expected `,` or `]`"),
        ("", "1:1: expected a value, found the end of the text"),
        ("{}\n}", "2:1: expected the end of the text"),
        ("'abc", "1:1: this text is never closed"),
        ("[" * 500, "1:202: nested too deeply"),
        ("NaN", "1:1: `NaN` is not a value; a text needs quotes"),
    ],
)
def test_what_is_wrong_has_its_place(text, told):
    """Line and column from 1."""
    with pytest.raises(LenientError) as wrong:
        loads(text)
    assert str(wrong.value) == told
