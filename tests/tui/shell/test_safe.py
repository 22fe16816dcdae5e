"""Foreign text on its way to the screen."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mcptest_tui.safe import one_line, shown

HOSTILE = "\x1b]2;owned\x1b\\ \x1b[2J [bold red]x[/] \x9b31m \u202e \x07 \r \x00 tab\there"


def test_what_a_terminal_would_obey_becomes_visible():
    text = shown(HOSTILE).plain
    assert "\x1b" not in text
    assert "␛]2;owned␛\\ ␛[2J [bold red]x[/]" in text
    assert "\t" not in text


@given(st.text())
def test_nothing_below_a_space_but_line_breaks_leaves(text):
    """Any text at all."""
    plain = shown(text).plain
    assert not [character for character in plain if unicodedata.category(character) == "Cc" and character != "\n"]


@given(st.text(max_size=60), st.integers(0, 30))
def test_one_line_is_one_line_and_no_wider(text, width):
    """In cells, wide characters included."""
    line = one_line(text, width)
    assert "\n" not in line
    assert cell_len(line) <= width


def test_markup_is_text():
    """Brackets are what they are."""
    assert shown("[b]no[/b]", style="bold").markup.count("no") == 1
    assert shown("[b]no[/b]").plain == "[b]no[/b]"


def test_a_limit_cuts_with_an_ellipsis():
    """Of characters."""
    assert shown("abcdef", limit=4).plain == "abc…"
