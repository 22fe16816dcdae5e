"""Regular expressions bounded in time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core import patterns
from mcptest_engine.core.patterns import PatternError, PatternTimeout, check_pattern, search


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("oper", "inoperative", True),
        ("(?i)OPER", "inoperative", True),
        ("^oper", "inoperative", False),
        (r"^v\d+\.\d+$", "v1.12", True),
        (r"\p{Lu}\p{Ll}+", "Ärger", True),
        ("(a|b){2}c", "xabc", True),
        ("[a-z]+@[a-z]+", "mail me@home now", True),
        ("(?<=a)b", "ab", True),
        ("^$", "", True),
    ],
)
def test_a_pattern_is_searched_for_anywhere(pattern, text, found):
    """The regex is a search, flags inline."""
    assert search(pattern, text) is found


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^(a|a)*$", "a" * 40 + "!"),
        (r"^(\w+\s?)*$", "word " * 12 + "!"),
        ("(.*a){12}", "b" * 100_000),
        ("(x+x+)+y", "x" * 60),
    ],
)
def test_a_pattern_that_would_take_for_ever_is_stopped(pattern, text):
    """Regular expressions bounded in time."""
    try:
        assert search(pattern, text, timeout_seconds=0.1) is False  # `regex` sees through some of them
    except PatternTimeout as late:
        assert str(late) == "the search took longer than 0.1 s"


def test_a_timeout_is_told():
    with pytest.raises(PatternTimeout):
        search("(.*)(.*)(.*)(.*)(.*)[^a]", "a" * 300, timeout_seconds=0.05)


@pytest.mark.parametrize(
    "pattern", [r"^(a+)+$", r"(\w*)*x", "(ab|a)*d", r"(\1a)", r"(?=a)a+", "a{e<=1}", r"[[a-z]--[b]]", r"\p{L}"]
)
def test_a_pattern_not_provably_cheap_is_not_given_to_re(pattern):
    """`re` cannot be stopped; what only `regex` knows must not be read by `re` as something else."""
    assert patterns._quick(pattern) is None


@pytest.mark.parametrize(
    "pattern", ["operational", "(?i)error: .*", r"^\d{4}-\d{2}-\d{2}T", "(ok|done)", "[^a-c]x", r"\bword\b"]
)
def test_an_ordinary_pattern_needs_no_further_package(pattern):
    code = (
        "import sys; from mcptest_engine.core.patterns import search; "
        f"search({pattern!r}, 'x' * 300); print('regex' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert run.stdout == "False\n", run.stderr


@pytest.mark.parametrize(
    ("pattern", "column"),
    [("(", 2), ("a[", 3), ("*a", 1), (r"\p{Nonsense}", None), ("a{3,1}", None), ("(?P<a>.)(?P<a", None)],
)
def test_a_pattern_that_cannot_be_read_says_where(pattern, column):
    with pytest.raises(PatternError) as refused:
        check_pattern(pattern)
    if column is not None:
        assert refused.value.column == column


@given(st.text("ab.*+?|()[]{}^$\\dw1,", max_size=8), st.text("ab1 ", max_size=12))
def test_both_ways_of_searching_agree(pattern, text):
    """Law: which package searches is nobody's business."""
    quick = patterns._quick(pattern)
    if quick is not None:
        assert (quick[0].search(text) is not None) == (patterns._slow(pattern).search(text, timeout=5) is not None)


@given(st.text("ab1 ", max_size=30))
def test_a_plain_text_is_found_where_it_stands(text):
    assert search(re.escape(text), f"x{text}y")
