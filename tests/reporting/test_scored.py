"""Scores, sets and metrics, as every report tells them."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from mcptest_engine.core.results import DerivedMetric, Failure, FailureKind, MetricRollup
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.judging.scoring import judged_set
from mcptest_engine.reporting.facts import score_text
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import FORMATS, RenderOptions, render

HTML = "quality <b>|*"


@pytest.fixture
def scored(build: Any) -> RunRecord:
    """A pass by score, a failed score, a failed set, a failed metric, and one that only reports."""
    held = build.assertion(0, passed=True, message=None, weight=3.0)
    missed = build.assertion(1, weight=0.5)
    part = judged_set(2, {"name": "cover|age", "threshold": 0.9}, (held, build.assertion(1)))
    assert part.message is not None
    metric = DerivedMetric(name=HTML, value=2 / 3, threshold=0.7, passed=False, missing=("cites",))
    reported = DerivedMetric(name=HTML, value=1.0)
    below = Failure(kind=FailureKind.SCORE, message="score 0.125 is below the threshold 0.7 (1 of 3 hold)")
    gate = Failure(kind=FailureKind.METRIC, message=f"metric `{HTML}` is 0.667, below its threshold 0.7")
    return build.record(
        build.test("passes by its score", assertions=(held, missed), score=0.857142, threshold=0.75),
        build.test(
            "fails by its score", "fail", assertions=(held, missed, part), failure=below, score=0.125, threshold=0.7
        ),
        build.test(
            "fails by a set",
            "fail",
            assertions=(part,),
            failure=Failure(kind=FailureKind.ASSERTION, message=part.message),
        ),
        build.test(
            "fails by a metric",
            "fail",
            assertions=(missed,),
            failure=gate,
            score=0.5,
            threshold=0.5,
            derived_metrics=(metric,),
        ),
        build.test("reports a metric", assertions=(held,), derived_metrics=(reported,)),
    )


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in {"json", "ndjson", "html"}])
def test_every_report_tells_scores_as_accepted(name, scored, golden):
    """House: what is looked at is a snapshot."""
    golden(f"scored-{name}.txt", render(name, scored, RenderOptions(agent_budget=4000)).text)


def test_the_record_is_as_the_schema_says_and_survives(scored):
    data = json.loads(json.dumps(scored.to_json()))
    assert record_fault(data) is None
    assert RunRecord.from_json(data) == scored


def test_the_rollup_is_a_table_beneath_the_tests_in_markdown(scored):
    text = render("md", scored).stdout
    assert text.index("All tests") < text.index("### Metric rollups")
    assert "| quality &lt;b&gt;\\|\\* | 0.833 | 2 |" in text


def test_a_failed_set_is_followed_by_what_failed_in_it(scored):
    """A failure says why."""
    told = render("pretty", scored).stdout
    third = told[told.index("2) ") : told.index("3) ")]
    assert third.index("assert-set 3 (`cover|age`) failed") < third.index(
        "assertion 2 (`result.content[0].text`) failed"
    )


def test_a_score_just_below_its_threshold_shows_that_it_is(build: Any) -> None:
    test = build.test("t", "fail", assertions=(build.assertion(0),), score=2 / 3, threshold=0.667)
    assert score_text(test) == "score 0.666667, needs 0.667"
    assert score_text(replace(test, score=0.75)) == "score 0.75, needs 0.667"


def test_the_mean_of_equal_values_is_that_value(build: Any) -> None:
    tests = [build.test(f"t{at}", derived_metrics=(DerivedMetric(name="m", value=0.7),)) for at in range(3)]
    assert [one.mean for one in MetricRollup.of(tests)] == [0.7]
    largest = build.test("t", derived_metrics=(DerivedMetric(name="m", value=sys.float_info.max),))
    assert [one.mean for one in MetricRollup.of([largest])] == [sys.float_info.max]
