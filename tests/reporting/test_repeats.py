"""Repeats of one test, summed up: how many of them passed."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest_engine.reporting.facts import repeated_tests
from mcptest_engine.reporting.registry import render


@pytest.fixture
def record(build: Any) -> Any:
    """`fl|aky` passed once of three runs, `sound` twice of two, and `once` was not repeated."""
    verdicts = {"fl|aky": ("pass", "fail", "fail"), "sound": ("pass", "pass")}
    tests = [
        build.test(f"{name} #{number}", verdict, id=f"s.yml::tool::{name} #run{number}")
        for name, runs in verdicts.items()
        for number, verdict in enumerate(runs, 1)
    ]
    return build.record(*tests, build.test("once"))


def test_the_runs_of_a_repeated_test_are_counted_together(record: Any) -> None:
    assert repeated_tests(record) == (("fl|aky", 1, 3), ("sound", 2, 2))


def test_runs_that_were_skipped_are_none_that_did_not_pass(build: Any) -> None:
    runs = {"skipped": ("skip", "skip"), "stopped": ("pass", "skip")}
    tests = [
        build.test(f"{name} #{number}", verdict, id=f"s.yml::tool::{name} #run{number}")
        for name, verdicts in runs.items()
        for number, verdict in enumerate(verdicts, 1)
    ]
    assert repeated_tests(build.record(*tests)) == (("stopped", 1, 1),)


@pytest.mark.parametrize(
    ("reporter", "words"),
    [
        ("pretty", "  repeats\n    fl|aky  1 of 3 passed\n    sound   2 of 2 passed\n"),
        ("md", "### Repeats\n\n| Test | Passed |\n| --- | ---: |\n| fl\\|aky | 1 of 3 |\n| sound | 2 of 2 |\n"),
        ("agent", "NOTE 1 of 3 passed: fl|aky\n"),
        ("html", "Repeats"),
    ],
)
def test_a_report_says_how_many_runs_of_a_test_passed(record: Any, reporter: str, words: str) -> None:
    assert words in render(reporter, record).text


@pytest.mark.parametrize("reporter", ["pretty", "md", "agent", "html"])
def test_a_run_without_repeats_says_nothing_of_them(build: Any, reporter: str) -> None:
    assert "epeats" not in render(reporter, build.record(build.test("once"))).text
