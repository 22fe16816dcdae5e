"""The filter above the list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_tui.state.filters import Known, completions, parse_filter, toggled
from tests.tui.state.making import finished, id_of, item, ran, started, store_of


@pytest.fixture
def store():
    store = store_of(
        item("lists cities", tags=("smoke",), server="weather", tool="list", strength="valid"),
        item("forecast returns rain", tags=("slow", "rain fall"), server="weather", tool="forecast"),
        item("reads a file", server="files", tool="read"),
    )
    ran(store, "u1", **{"lists cities": "pass"})
    test = id_of("forecast returns rain")
    store.apply_many([started("u2", test), finished("u2", test, "fail", 800.0, flaky=True)])
    return store


def test_slow_goes_by_a_tests_own_time(store):
    """What it waited behind another call is not its own."""
    test = id_of("reads a file")
    store.apply_many([started("u3", test), finished("u3", test, duration_ms=803.0, behind={"ms": 801.0, "tool": "x"})])
    assert chosen(store, "slow:>500") == ["forecast"]
    assert "reads" in chosen(store, "slow:<500")


def chosen(store, text):
    return [row.name.split()[0] for row in parse_filter(text).select(store.rows.values())]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["lists", "forecast", "reads"]),
        ("RAIN", ["forecast"]),
        ("returns forecast", ["forecast"]),
        ('"returns rain"', ["forecast"]),
        ("is:failed", ["forecast"]),
        ("is:fail", ["forecast"]),
        ("is:passed,new", ["lists", "reads"]),
        ("-is:failed", ["lists", "reads"]),
        ("is:flaky", ["forecast"]),
        ("is:weak", ["lists"]),
        ("tag:smoke", ["lists"]),
        ('tag:"rain fall"', ["forecast"]),
        ("server:files", ["reads"]),
        ("-server:files is:new", []),
        ("tool:read", ["reads"]),
        ("file:s.yml", ["lists", "forecast", "reads"]),
        ("slow:>500", ["forecast"]),
        ("slow:>0.5s", ["forecast"]),
        ("slow:<500", ["lists"]),
        ("is:", ["lists", "forecast", "reads"]),
        ("is:,", ["lists", "forecast", "reads"]),
        ("tag:,", ["lists", "forecast", "reads"]),
        ("-files", ["lists", "forecast", "reads"]),
        ("-file", ["lists", "forecast"]),
    ],
)
def test_a_filter_shows(store, text, names):
    assert chosen(store, text) == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("is:faild", "no is:faild; did you mean `failed`?"),
        ("tga:smoke", "no qualifier tga:; did you mean `tag`?"),
        ("slow:x", "slow: takes milliseconds, such as slow:>500"),
    ],
)
def test_what_cannot_be_understood_is_told_with_the_nearest_word(text, said):
    assert parse_filter(text).problems == (said,)


def test_a_typo_in_a_tag_is_told_when_nothing_matches(store):
    known = Known.of(store.rows.values())
    assert parse_filter("tag:smoek").why_empty(known) == "no tag:smoek; did you mean `smoke`?"
    assert parse_filter("tag:smoke is:failed").why_empty(known) == ""
    assert parse_filter("is:failed,inconclusive,stopped").why_empty(known) == ""


def test_a_failed_test_that_runs_again_is_still_among_the_failed_ones(store):
    store.queue("u9", [id_of("forecast returns rain")])
    assert chosen(store, "is:failed") == ["forecast"]
    assert chosen(store, "is:running") == ["forecast"]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", ["is:", "tag:", "server:", "tool:", "file:", "slow:"]),
        ("t", ["tag:", "tool:"]),
        ("rain is:fa", ["failed"]),
        ("tag:", ["smoke", "slow", "rain fall"]),
        ("-server:w", ["weather"]),
        ("server:weather", []),
        ("x:y", []),
        ("rain ", []),
    ],
)
def test_the_last_word_can_be_completed(store, typed, words):
    assert [word for _, word in completions(typed, Known.of(store.rows.values()))] == words


def test_a_completion_is_the_whole_text_then(store):
    known = Known.of(store.rows.values())
    assert completions("is:failed tag:rain", known)[0][0] == 'is:failed tag:"rain fall" '
    assert completions("-is:pas", known)[0][0] == "-is:passed "


def test_a_part_is_put_in_and_taken_out():
    assert toggled("", "is:failed") == "is:failed"
    assert toggled("rain is:failed", "is:failed") == "rain"


@given(st.text(alphabet='abc:-" is>,500slow', max_size=30))
def test_any_text_is_a_filter(text):
    filter_ = parse_filter(text)
    store = store_of(item("a"))
    assert set(filter_.select(store.rows.values())) <= set(store.rows.values())
    for whole, _ in completions(text, Known.of(store.rows.values())):
        parse_filter(whole)


def test_what_came_from_the_cache_is_found(store):
    test = id_of("lists cities")
    store.apply_many([started("u3", test), finished("u3", test, cached=True)])
    assert chosen(store, "is:cached") == ["lists"]
    store.apply_many([started("u4", test), finished("u4", test)])
    assert chosen(store, "is:cached") == []
