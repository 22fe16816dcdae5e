"""The hint for a misspelt word."""

from __future__ import annotations

import pytest

from mcptest_engine.core.errors import did_you_mean

KEYS = ("tags", "args", "name", "tool", "timeout_ms", "expect")


@pytest.mark.parametrize(
    ("word", "right"),
    [("agrs", "args"), ("nmae", "name"), ("Tgas", "tags"), ("expct", "expect"), ("timeout", "timeout_ms")],
)
def test_the_nearest_word_is_proposed(word, right):
    """Swapped letters before exchanged ones, whatever the case."""
    assert did_you_mean(word, KEYS) == f"did you mean `{right}`?"


def test_nothing_is_proposed_when_nothing_is_near():
    """A wrong guess costs more than none."""
    assert did_you_mean("xyzzy", KEYS) is None
