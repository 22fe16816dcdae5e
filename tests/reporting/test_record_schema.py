"""The published schema of the run record, held equal to what the engine writes."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from mcptest_engine.core.results import FailureKind, TestKind, Verdict
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.record_schema import record_fault, record_schema, schema_text
from mcptest_engine.reporting.registry import render


def errors(data):
    validator = Draft202012Validator(record_schema(), format_checker=Draft202012Validator.FORMAT_CHECKER)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(data)]


def test_the_schema_is_a_schema():
    """JSON Schema 2020-12."""
    Draft202012Validator.check_schema(json.loads(schema_text()))


def test_what_the_json_reporter_prints_is_valid(rich_record):
    """The schema is that of `--reporter json`."""
    assert errors(json.loads(render("json", rich_record).stdout)) == []


def test_a_side_file_an_error_and_an_empty_run_are_valid(build):
    """Everything optional, everything empty."""
    big = build.test("big", output={"$file": "runs/x/1.json", "bytes": 2_000_000}, tool=None, request=None)
    error = build.test("error", output={"error": {"code": -32601, "message": "no"}, "http": None}, case="c")
    assert errors(build.record(big, error).to_json()) == []
    assert errors(build.record(exit_code=7).to_json()) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("surprise",), 1),
        (("verdict",), "inconclusive"),
        (("exit_code",), 4),
        (("run_id",), "x"),
        (("started_at",), "2026-01-02T03:04:05+02:00"),
        (("totals", "total"), -1),
        (("suite", "sha256"), "abc"),
        (("warnings",), []),
        (("tests", 1, "failure", "kind"), "weird"),
        (("tests", 1, "flaky"), False),
        (("tests", 1, "assertions", 0, "surprise"), 1),
        (("tests", 0, "failure"), {"kind": "assertion", "message": "of a test that passed"}),
        (("servers", 0, "auth"), "basic"),
    ],
)
def test_what_the_engine_never_writes_is_refused(path, value, rich_record):
    """Strict: unknown members, values out of range, and what contradicts itself."""
    data = copy.deepcopy(json.loads(json.dumps(rich_record.to_json())))
    at = data
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    assert errors(data)


def test_the_closed_sets_are_those_of_the_engine():
    """`core/results.py` is the source."""
    test = record_schema()["$defs"]["test"]["properties"]
    assert test["verdict"]["enum"] == [verdict.value for verdict in Verdict]
    assert test["kind"]["enum"] == [kind.value for kind in TestKind]
    written = [kind.value for kind in FailureKind]
    assert record_schema()["$defs"]["failure"]["properties"]["kind"]["enum"] == [*written[:-1], "policy", written[-1]]


def test_a_record_of_0_1_that_says_policy_is_readable(rich_record):
    """A test whose call the policy refuses is skipped, so no version since writes the word."""
    data = json.loads(json.dumps(rich_record.to_json()))
    data["tests"][1]["failure"] = {"kind": "policy", "message": "`delete_all` is destructive"}
    assert record_fault(data) is None
    failure = RunRecord.from_json(data).tests[1].failure
    assert failure is not None
    assert failure.kind is FailureKind.SUITE


def test_the_members_stand_in_the_order_in_which_they_are_written(rich_record):
    """Keys are written in this order."""
    schema = record_schema()
    agent = {"via": "mcp-server", "client": {"name": "agent", "version": "1"}}
    known = {"cassette": "weather", "requested_by": agent}
    data = replace(rich_record, shard=(1, 2), flags=("--var", "a=1"), **known).to_json()
    assert errors(data) == []
    assert [key for key in schema["properties"] if key in data] == list(data)
    for test in data["tests"]:
        assert list(test) == [key for key in schema["$defs"]["test"]["properties"] if key in test]


def test_every_member_is_explained():
    """An editor shows these."""

    def check(schema, place):
        assert "description" in schema or "$ref" in schema, place
        for name, inner in schema.get("properties", {}).items():
            check(inner, f"{place}.{name}")

    check(record_schema(), "$")
    for name, definition in record_schema()["$defs"].items():
        check(definition, name)
