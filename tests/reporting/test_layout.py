"""Columns: what a terminal makes of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.reporting.facts import duration_text
from mcptest_engine.reporting.layout import Ink, clip, columns, fold, pad

TEXTS = st.text(st.sampled_from(list("ab 日本🎉e\u0301é-")), max_size=40)


@pytest.mark.parametrize(
    ("text", "size"),
    [("abc", 3), ("日本語", 6), ("🎉 x", 4), ("e\u0301", 1), ("❤\ufe0f", 2), ("👨\u200d👩", 2), ("🇩🇪", 2), ("", 0)],
)
def test_wide_characters_take_two_columns_and_marks_none(text, size):
    """Unicode, East Asian Width (UAX #11)."""
    assert columns(text) == size


@given(TEXTS, st.integers(0, 40))
def test_a_clipped_text_fits_and_a_short_one_is_untouched(text, width):
    """The law of `clip`."""
    assert columns(clip(text, width)) <= width
    if columns(text) <= width:
        assert clip(text, width) == text


@given(TEXTS, st.integers(1, 20))
def test_folding_loses_nothing_but_spaces_and_every_line_fits_or_is_a_word(text, width):
    """The law of `fold`."""
    lines = fold(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(columns(line) <= width or " " not in line.strip() for line in lines)


def test_a_padded_text_ends_at_its_column():
    """Columns, not characters."""
    assert pad("日本", 6) == "日本  "
    assert pad("longer", 3) == "longer"


def test_without_colours_ink_leaves_no_trace():
    """NO_COLOR: words stay."""
    assert Ink(on=False).red("FAIL") == "FAIL"
    assert Ink(on=True).red("FAIL") == "\x1b[31mFAIL\x1b[0m"


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0ms"),
        (0.4, "<1ms"),
        (1, "1ms"),
        (99.4, "99ms"),
        (999.4, "999ms"),
        (999.6, "1.0s"),
        (59_940, "59.9s"),
        (59_960, "1m 00s"),
        (125_000, "2m 05s"),
    ],
)
def test_a_duration_is_told_in_the_unit_that_fits(milliseconds, text):
    """No figure that rounds into the next unit's."""
    assert duration_text(milliseconds) == text
