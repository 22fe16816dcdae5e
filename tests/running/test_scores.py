"""Weights, sets, thresholds, `defaultTest` and metrics in whole runs: each worked number of suite-composition in the record."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.record_schema import record_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    RecordOf = Callable[..., RunRecord]

MANIFEST = Path(__file__).parent.parent.parent / "examples" / "suite-composition" / "manifest.yml"
SERVERS = "servers: { s: { command: " + json.dumps(
    [sys.executable, "-m", "mcptest_engine.mock", "--tools-from", str(MANIFEST)]
)
HEAD = f"{SERVERS} }} }}\n"
NAME = "result.structuredContent.name"


@pytest.fixture
def tests_of(record_of: RecordOf) -> Callable[[str], dict[str, dict[str, Any]]]:
    """The tests of a run of a suite, as the JSON record has them, by name. The record is valid and survives a round trip."""

    def run(text: str) -> dict[str, dict[str, Any]]:
        record = record_of(HEAD + text)
        data = json.loads(json.dumps(record.to_json()))
        assert record_fault(data) is None
        assert RunRecord.from_json(data).to_json() == record.to_json()
        return {test["name"]: test for test in data["tests"]}

    return run


def test_the_weighted_score_of_the_document(tests_of):
    """0.75 at 0.7."""
    test = tests_of(f"""
tools:
  - name: n
    tool: profile
    threshold: 0.7
    expect:
      - {{ target: {NAME}, matcher: {{ exact: Ada }}, weight: 3.0 }}
      - {{ target: {NAME}, matcher: {{ exact: Bob }}, weight: 1.0 }}
""")["n"]
    assert (test["verdict"], test["score"], test["threshold"]) == ("pass", 0.75, 0.7)
    assert [(one["weight"], one["passed"]) for one in test["assertions"]] == [
        (3, True),
        (1, False),
        (0, True),
        (0, True),
    ]


def test_the_set_of_the_document_and_one_that_falls_short(tests_of):
    """2 / 3 at 0.6; without a threshold the test has no score."""
    one = "{ target: result.structuredContent.name, matcher: { exact: %s } }"
    suite = """
tools:
  - { name: holds, tool: profile, expect: [ assert-set: { name: k, threshold: 0.6, assertions: [A, A, B] } ] }
  - { name: fails, tool: profile, expect: [ assert-set: { name: k, threshold: 0.7, assertions: [A, A, B] } ] }
  - { name: all, tool: profile, expect: [ assert-set: { assertions: [A, A, B] } ] }
"""
    tests = tests_of(suite.replace("A", one % "Ada").replace("B", one % "Bob"))
    assert [test["verdict"] for test in tests.values()] == ["pass", "fail", "fail"]
    assert not any("score" in test or "threshold" in test for test in tests.values())
    row, *_ = tests["holds"]["assertions"]
    assert round(row["set"]["score"], 3) == 0.667
    assert (row["passed"], row["set"]["passed"], row["set"]["threshold"]) == (True, True, 0.6)
    assert not {"target", "matcher", "actual"} & row.keys()
    assert tests["fails"]["failure"]["kind"] == "assertion"
    assert tests["fails"]["message"] == (
        "assert-set 1 (`k`) failed: score 0.667 is below the threshold 0.7 (2 of 3 hold)"
    )


def test_a_set_counts_as_one_in_the_score_of_its_test(tests_of):
    """A passing set adds its weight, a failing one zero, whatever held inside it."""
    tests = tests_of(f"""
tools:
  - name: n
    tool: profile
    threshold: 0.5
    expect:
      - {{ target: {NAME}, matcher: {{ exact: Ada }} }}
      - assert-set:
          weight: 3
          threshold: 0.9
          assertions:
            - {{ target: {NAME}, matcher: {{ exact: Ada }} }}
            - {{ target: {NAME}, matcher: {{ exact: Bob }} }}
""")
    assert tests["n"]["score"] == 0.25
    assert tests["n"]["failure"] == {
        "kind": "score",
        "message": "score 0.25 is below the threshold 0.5 (1 of 2 hold)",
    }


def test_three_of_four_at_three_quarters(tests_of):
    """The comparison is inclusive."""
    test = tests_of("""
tools:
  - name: n
    tool: profile
    threshold: 0.75
    expect:
      - { target: result.structuredContent.name, matcher: { schema: { type: string } } }
      - { target: result.structuredContent.email, matcher: { regex: "@" } }
      - { target: result.structuredContent.age, matcher: { exact: 30 } }
      - { target: result.structuredContent.country, matcher: { exact: US } }
""")["n"]
    assert (test["verdict"], test["score"]) == ("pass", 0.75)


def test_the_metric_of_the_document_fails_a_test_whose_own_score_passed(tests_of, record_of):
    """0.667 below 0.7; the rollup is over the tests that reported it."""
    suite = """
tools:
  - name: n
    tool: answer
    threshold: 0.5
    expect:
      - { target: "result.content[0].text", matcher: { icontains: sources }, name: cites_sources }
      - { target: "result.content[0].text", matcher: { regex: "^[A-Z]" }, name: well_formed }
    derivedMetrics:
      - name: quality
        threshold: 0.7
        value: { weighted_average: [{ ref: cites_sources, weight: 2.0 }, { ref: well_formed, weight: 1.0 }] }
      - { name: doubled, value: { weighted_sum: [{ ref: quality, weight: 2 }] } }
  - name: another
    tool: answer
    expect:
      - { target: "result.content[0].text", matcher: { icontains: sources }, name: cites_sources }
    derivedMetrics: [{ name: quality, value: { weighted_sum: [{ ref: cites_sources }, { ref: cites }] } }]
"""
    tests = tests_of(suite)
    first, second = tests["n"], tests["another"]
    assert first["score"] == 0.5
    assert first["failure"]["kind"] == "metric"
    assert [(one["name"], round(one["value"], 3), one.get("passed")) for one in first["derived_metrics"]] == [
        ("quality", 0.667, False),
        ("doubled", 1.333, None),
    ]
    assert second["verdict"] == "pass"
    assert second["derived_metrics"] == [{"name": "quality", "value": 1.0, "missing": ["cites"]}]
    record = record_of(HEAD + suite).to_json()
    assert [(one["name"], round(one["mean"], 3), one["count"]) for one in record["metric_rollups"]] == [
        ("quality", 0.833, 2),
        ("doubled", 1.333, 1),
    ]
    assert (
        "another: metric `quality`: no assertion, set or metric is named `cites`, so its score is 0.0"
        in record["warnings"]
    )


def test_the_baseline_is_appended_and_explicit_values_win(tests_of):
    """Budgets are defaults. A threshold of 0 is explicit too."""
    tests = tests_of(f"""
defaultTest:
  threshold: 0.8
  tags: [shared]
  expect:
    assertions: [{{ target: result.isError, matcher: {{ not: {{ exact: true }} }}, name: no_error }}]
    max_response_tokens: 1
tools:
  - name: inherits
    tool: profile
    expect: {{ max_response_tokens: 100, assertions: [{{ target: {NAME}, matcher: {{ exact: Bob }} }}] }}
  - name: keeps its own
    tool: profile
    threshold: 0.5
    tags: [own]
    expect: {{ max_response_tokens: 100, assertions: [{{ target: {NAME}, matcher: {{ exact: Bob }} }}] }}
  - name: zero
    tool: profile
    threshold: 0
    expect: {{ max_response_tokens: 100, assertions: [{{ target: {NAME}, matcher: {{ exact: Bob }} }}] }}
  - {{ name: budget, tool: search, args: {{ q: x }} }}
""")
    assert [(test["verdict"], test["score"], test["threshold"]) for test in tests.values()] == [
        ("fail", 0.5, 0.8),
        ("pass", 0.5, 0.5),
        ("pass", 0.5, 0),
        ("fail", 1.0, 0.8),
    ]
    assert [one.get("name") for one in tests["inherits"]["assertions"]] == [None, "no_error", None, None]
    assert (tests["inherits"]["tags"], tests["keeps its own"]["tags"]) == (["shared"], ["own"])
    assert tests["budget"]["failure"]["kind"] == "budget"


def test_a_server_that_does_not_answer_is_no_score(record_of):
    """Green means checked: there was nothing to score."""
    record = record_of("""
servers: { s: { command: [python3, -c, "raise SystemExit(3)"] } }
tools:
  - name: n
    tool: t
    threshold: 0
    expect: [{ target: result.a, matcher: { exact: 1 }, name: a }]
    derivedMetrics: [{ name: m, value: { weighted_sum: [{ ref: a }] } }]
""").to_json()
    (test,) = record["tests"]
    assert test["verdict"] == "fail"
    assert test["failure"]["kind"] == "server"
    assert not {"score", "threshold", "derived_metrics"} & test.keys()
    assert "metric_rollups" not in record


def test_a_suite_that_uses_none_of_it_has_no_new_key(record_of):
    """Legacy tests omit the fields."""
    record = record_of(
        HEAD + f"tools: [{{ name: n, tool: profile, expect: [{{ target: {NAME}, matcher: {{ exact: Ada }} }}] }}]"
    )
    data = record.to_json()
    assert list(data["tests"][0]) == [
        "id", "name", "kind", "server", "tool", "verdict", "duration_ms", "started_offset_ms", "cached", "file", "line", "tags",
        "strength", "assertions", "request", "output",
    ]  # fmt: skip
    assert list(data["tests"][0]["assertions"][0]) == ["index", "target", "matcher", "weight", "passed", "actual"]
    assert not {"metric_rollups", "hooks"} & data.keys()


def test_a_verify_step_may_expect_a_set(tests_of):
    """Steps expect as tests do."""
    test = tests_of(f"""
tools:
  - name: n
    tool: profile
    expect: [{{ target: {NAME}, matcher: {{ exact: Ada }} }}]
    verify:
      - tool: profile
        expect:
          - assert-set:
              threshold: 0.5
              assertions:
                - {{ target: {NAME}, matcher: {{ exact: Ada }} }}
                - {{ target: {NAME}, matcher: {{ jq: '. == "Bob"' }} }}
""")["n"]
    assert test["verdict"] == "pass"
    assert test["verify"][0]["assertions"][0]["set"]["score"] == 0.5


def test_what_was_not_judged_has_no_score(record_of: RecordOf) -> None:
    """No key, no judge: neither a score nor a metric is made of it, and no mean of the run."""
    judged = "{ target: result.structuredContent.name, matcher: { llm-judge: { rubric: it is a name } }, name: kind }"
    held = f"{{ target: {NAME}, matcher: {{ exact: Ada }}, name: right }}"
    wrong = f"{{ target: {NAME}, matcher: {{ exact: Bob }} }}"
    metrics = """
      - { name: of_both, value: { weighted_average: [{ ref: kind }, { ref: right }] } }
      - { name: of_one, value: { weighted_average: [{ ref: right }] } }
      - { name: of_a_metric, value: { weighted_average: [{ ref: of_both }] } }"""
    record = record_of(f"""{HEAD}
tools:
  - name: open
    tool: profile
    threshold: 0.5
    expect: [{judged}, {held}]
    derivedMetrics: {metrics}
  - {{ name: in a set, tool: profile, expect: [ assert-set: {{ name: k, assertions: [{judged}, {held}] }} ] }}
  - {{ name: lost anyway, tool: profile, threshold: 0.7, expect: [{judged}, {wrong}] }}
""")
    data = json.loads(json.dumps(record.to_json()))
    assert record_fault(data) is None
    assert RunRecord.from_json(data).to_json() == record.to_json()
    opened, inside, lost = data["tests"]
    assert [test["verdict"] for test in data["tests"]] == ["inconclusive", "inconclusive", "fail"]
    assert "score" not in opened
    assert opened["derived_metrics"] == [{"name": "of_one", "value": 1.0}]
    assert [row["name"] for row in data["metric_rollups"]] == ["of_one"]
    assert inside["assertions"][0]["set"]["score"] is None
    assert lost["message"] == "score at most 0.5 is below the threshold 0.7 (0 of 2 hold, 1 not judged)"
    assert "score" not in lost
