"""Every format, rendered from the record that holds everything, against what was read and accepted."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from mcptest_engine.core.errors import UsageError
from mcptest_engine.core.results import TestKind
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.registry import FORMATS, RenderOptions, render

ENDINGS = {
    "json": "json",
    "ndjson": "ndjson",
    "junit": "xml",
    "tap": "tap",
    "md": "md",
    "html": "html",
    "sarif": "sarif",
    "gitlab": "json",
    "openinference": "ndjson",
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_is_the_accepted_one(name, rich_record, golden):
    """House: what is looked at is a snapshot."""
    text = render(name, rich_record, RenderOptions(agent_budget=600)).text
    golden(f"{name}.{ENDINGS.get(name, 'txt')}", without_assets(text) if name == "html" else text)


def without_assets(page):
    """A page without its style and its script, which are files of their own, and without their hashes."""
    inside = re.sub(r"(?<=<style>).*?(?=</style>)|(?<=<script>).*?(?=</script>)", "…", page, flags=re.DOTALL)
    return re.sub(r"sha256-[\w+/=]+", "…", inside)


def test_a_report_on_a_terminal_is_the_accepted_one(rich_record, golden):
    """Colours on, lines folded to 80 columns."""
    golden("pretty-80.txt", render("pretty", rich_record, RenderOptions(color=True, width=80)).text)


@pytest.mark.parametrize("name", FORMATS)
def test_a_saved_record_gives_byte_for_byte_what_the_run_printed(name, rich_record):
    """design 2: every reporter but the live ones is a function of the record."""
    options = RenderOptions(color=True, width=72, agent_budget=300)
    saved = RunRecord.from_json(json.loads(json.dumps(rich_record.to_json())))
    assert render(name, saved, options) == render(name, rich_record, options)


@pytest.mark.parametrize("name", FORMATS)
def test_no_report_lets_a_server_speak_to_the_terminal(name, rich_record):
    """Controls and bidirectional marks are shown, not sent."""
    text = render(name, rich_record, RenderOptions()).text
    assert not [mark for mark in "\x1b\x07\x7f\x9b\u202e\r" if mark in text]


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_ends_in_a_newline_and_is_utf_8_whatever_a_server_sent(name, build):
    """JSON may carry lone surrogates, UTF-8 may not."""
    row = build.assertion(
        actual="\ud800 \ufffe", message="half a pair: \udfff \uffff", diff="--- a\n+++ b\n-\ud800\n+\u2028"
    )
    text = render(name, build.record(build.test("\ud83d", "fail", assertions=(row,)))).text
    assert text.endswith("\n")
    assert text.encode("utf-8")


@pytest.mark.parametrize("name", FORMATS)
def test_every_report_says_why_a_run_without_a_failed_test_failed(name, build):
    """Exit 7 is a failure, and the reason stands in the record's warnings."""
    record = build.record(exit_code=7, warnings=("the selection matched none of 3 tests",))
    text = render(name, record).text
    assert "matched none of 3 tests" in text
    if name not in {"json", "ndjson"}:
        assert "the selection matched no test" in text


@pytest.mark.parametrize("name", FORMATS)
def test_every_report_says_that_a_run_was_interrupted(name, build):
    """The report of what ran is still written."""
    record = build.record(build.test("a"), build.test("b", "skip"), exit_code=130, interrupted=True)
    assert "interrupted" in render(name, record).text


@pytest.mark.parametrize("name", FORMATS)
def test_every_report_can_tell_of_an_agent_whose_test_failed(name, build):
    """An agent's trace is none of a graph."""
    trace = {"tool_calls": [{"name": "status", "args": {}}], "final_response": "done"}
    test = build.test("a", "fail", trace=trace, request=None)
    assert "not found in" in render(name, build.record(replace(test, kind=TestKind.AGENT))).text


def test_an_unknown_format_is_refused_with_the_nearest_one(build):
    """style 5: what happened and how to go on."""
    with pytest.raises(UsageError) as refused:
        render("junti", build.record())
    assert str(refused.value) == 'unknown report format "junti"'
    assert refused.value.hint == "did you mean `junit`?"
