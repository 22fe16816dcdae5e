"""`json` and `ndjson`: the whole record, in JSON that any reader takes."""

from __future__ import annotations

import json

import pytest

from mcptest_engine.core.results import RunRecord
from mcptest_engine.reporting.json_ import compact
from mcptest_engine.reporting.registry import render


def strict(text):
    def refuse(word):
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


def test_json_gives_the_record_back(rich_record):
    """decisions 12."""
    data = strict(render("json", rich_record).stdout)
    assert data == json.loads(json.dumps(rich_record.to_json()))
    assert list(data)[:2] == ["schema_version", "run_id"]
    assert RunRecord.from_json(data).to_json() == data


def test_ndjson_is_a_test_a_line_and_the_rest_on_the_last(rich_record):
    """upstream-compatible: one test record per line, then a summary; nothing is lost."""
    *tests, summary = map(strict, render("ndjson", rich_record).stdout.split("\n")[:-1])
    assert {test.pop("type") for test in tests} == {"test"}
    assert summary.pop("type") == "summary"
    assert {**summary, "tests": tests} == strict(render("json", rich_record).stdout)


@pytest.mark.parametrize("text", ["\x1b", "\x7f", "\x9b", "\u202e", "\u2028", "\ud800", "\ufeff", "\uffff", "a\\\x7f"])
def test_what_a_terminal_obeys_is_written_as_an_escape_and_reads_the_same(text):
    """decisions 11, without changing the value."""
    written = compact({"a": text})
    assert text[-1] not in written
    assert strict(written) == {"a": text}


def test_numbers_that_json_has_no_word_for_are_written_as_their_names():
    """Python's reader lets NaN in; a document with NaN in it is not JSON."""
    assert strict(compact([float("nan"), float("inf"), {"a": -float("inf")}, 0.1])) == [
        "NaN",
        "Infinity",
        {"a": "-Infinity"},
        0.1,
    ]


def test_every_test_has_a_line_of_its_own(build):
    """Records can be searched and compared line by line."""
    lines = render("json", build.record(build.test("a"), build.test("b"))).stdout.splitlines()
    assert sum(line.startswith('    {"id": "mcptest.yml::tool::') for line in lines) == 2
