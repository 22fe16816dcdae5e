"""The page of matchers, and every example on it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from docs.matchers import ENTRIES, Entry, page
from mcptest_engine.core.targets import parse_target, resolve
from mcptest_engine.judging.matchers import MATCHERS, Context, compile_matcher
from mcptest_engine.judging.opinions import Opinion
from mcptest_engine.judging.snapshots import SnapshotStore

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "matchers.md"
EACH = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


class Opinions:
    """A model that likes what holds, and has something against anything else."""

    def of(self, _, value):
        entry = next(entry for entry in ENTRIES if entry.name == "llm-judge")
        return Opinion(value == entry.holds, entry.message)


def judged(entry: Entry, value, store):
    value = resolve(parse_target("nowhere"), {}) if value is ... else value
    return compile_matcher(yaml.safe_load(entry.example), Context(store, opinions=Opinions()))(value)


@pytest.fixture
def store(tmp_path):
    return SnapshotStore(tmp_path / "suite.yml", create=True)


@EACH
def test_an_example_holds_for_the_value_beside_it(entry, store):
    """House rule: docs are tested."""
    assert judged(entry, entry.holds, store) is None


@EACH
def test_an_example_fails_with_the_words_beside_it(entry, store):
    """House rule: docs are tested."""
    judged(entry, entry.holds, store)
    mismatch = judged(entry, entry.fails, store)
    assert mismatch is not None
    assert mismatch.message == entry.message


@EACH
def test_an_example_is_of_the_matcher_it_stands_for(entry):
    assert list(yaml.safe_load(entry.example)) == [entry.name]


def test_every_matcher_is_on_the_page_once():
    """House rule: every matcher has its page."""
    assert sorted(entry.name for entry in ENTRIES) == sorted(MATCHERS)


def test_the_page_is_up_to_date():
    """Made by `python docs/matchers.py`."""
    assert PAGE.read_text(encoding="utf-8") == page()
