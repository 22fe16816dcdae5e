"""`json` and `ndjson`: the whole record, in JSON that any reader takes."""

from __future__ import annotations

import json

from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.registry import render


def strict(text):
    def refuse(word):
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


def test_json_gives_the_record_back(rich_record):
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


def test_every_test_has_a_line_of_its_own(build):
    """Records can be searched and compared line by line."""
    lines = render("json", build.record(build.test("a"), build.test("b"))).stdout.splitlines()
    assert sum(line.startswith('    {"id": "mcptest.yml::tool::') for line in lines) == 2
