"""Durations as a suite writes them."""

from __future__ import annotations

import pytest

from mcptest_engine.core.text import seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"), [("250ms", 0.25), ("30s", 30), ("1.5m", 90), ("1h", 3600), ("0s", 0), ("0.001s", 0.001)]
)
def test_a_duration_is_a_number_and_its_unit(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "30", "s", "-1s", "1 s", "1e3s", "1d", "\uff11s", "30s\n", "1_0s"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="such as `30s`"):
        seconds_of(text)
