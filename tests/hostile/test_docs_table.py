"""The page about failures says what the tests have seen, and nothing else."""

from __future__ import annotations

from tests.hostile.page import PAGE, current


def test_the_page_has_the_tables_of_the_tests() -> None:
    """One source: `python -m tests.hostile.page` writes the tables from what the tests hold true."""
    text = PAGE.read_text(encoding="utf-8")
    assert current(text) == text
