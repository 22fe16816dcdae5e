"""GitLab's Code Quality report, by the schema that GitLab reads it with and in the shape that it documents."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import jsonschema

from mcptest_engine.core.results import Failure, FailureKind
from mcptest_engine.reporting.registry import render

OWNERS = json.loads((Path(__file__).parents[1] / "schemas" / "gitlab-code-quality.json").read_text(encoding="utf-8"))
SHAPE = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./|/)"},
                    "lines": {"type": "object", "required": ["begin"], "properties": {"begin": {"minimum": 1}}},
                },
            },
        },
    },
}


def entries(record):
    found = json.loads(render("gitlab", record).text)
    jsonschema.validate(found, {"type": "array", "items": OWNERS})
    jsonschema.validate(found, SHAPE)  # what its documentation says beyond that
    return found


def test_everything_that_did_not_pass_is_an_entry(rich_record):
    """Passing tests are omitted; a skip is minor, a failure without a rule major."""
    warnings = [one for one in entries(rich_record) if one["check_name"] == "mcptest.warning"]
    assert [one["severity"] for one in warnings] == ["info"] * len(rich_record.warnings)
    found = [one for one in entries(rich_record) if one not in warnings]
    wanted = [test for test in rich_record.tests if test.verdict != "pass"]
    assert len(found) == len(wanted)
    assert {(one["severity"], test.verdict == "fail") for one, test in zip(found, wanted, strict=True)} == {
        ("major", True),
        ("minor", False),
    }
    assert len({one["fingerprint"] for one in found}) == len(found)


def test_an_entry_has_the_documented_members(build):
    """`description` is `<name>: <message>`; the message is no part of the fingerprint."""
    failure = Failure(kind=FailureKind.TIMEOUT, message="no answer within 30000ms")
    (found,) = entries(build.record(build.test("a", "fail", file="s/a.yml", line=7, failure=failure, cached=True)))
    assert found == {
        "description": "a: no answer within 30000ms",
        "check_name": "mcptest.timeout",
        "fingerprint": hashlib.sha256(b"a\0s/a.yml\x007").hexdigest(),
        "severity": "major",
        "location": {"path": "s/a.yml", "lines": {"begin": 7}},
        "properties": {"duration_ms": 12.25, "cache_hit": True},
    }


def test_a_check_is_named_by_what_failed(build):
    """`mcptest.assertion` for assertions, and for what failed otherwise the name that `sarif` gives it."""
    kinds = (FailureKind.ASSERTION, FailureKind.SCORE, FailureKind.SCORER, FailureKind.SERVER)
    failed = [build.test(kind, "fail", failure=Failure(kind=kind, message="m")) for kind in kinds]
    record = build.record(*failed, build.test("s", "skip"))
    assert [one["check_name"] for one in entries(record)] == [
        *(f"mcptest.{kind}" for kind in kinds),
        "mcptest.assertion",
    ]
    (run,) = json.loads(render("sarif", record).text)["runs"]
    assert [one["ruleId"] for one in run["results"]] == [f"mcptest.{kind}" for kind in kinds]


def test_a_run_that_passed_is_an_empty_list(build):
    """GitLab wants a list even then."""
    assert entries(build.record(build.test("a"))) == []


def test_a_run_that_failed_without_a_failed_test_has_an_entry_of_its_own(build):
    """A gate that was missed is a failure."""
    (found,) = entries(build.record(build.test("a"), exit_code=6, warnings=("coverage of tools is 20 %",)))
    assert found["severity"] == "critical"
    assert "a quality gate was not met (exit code 6); coverage of tools is 20 %" in found["description"]
