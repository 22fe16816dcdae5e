"""Compositions in every report: their lines, their cases together, what failed in a graph, and what it cost."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest

from mcptest_engine.core.enums import TestKind
from mcptest_engine.core.results import Failure, FailureKind, Part
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.compositions import graph_lines
from mcptest_engine.reporting.facts import cost_text
from mcptest_engine.reporting.merge import merge_records
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import FORMATS, RenderOptions, render

MODELS = [
    {"model": "claude-x", "calls": 1, "tokens": 100, "cost_usd": 0.01},
    {"model": None, "calls": 4, "tokens": 200, "cost_usd": 0.008},
]


def node(node_id: str, status: str = "ok", *, needs: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    ran = {"duration_ms": 4.5, "started_ms": 1.0} if status != "skipped" else {"duration_ms": None}
    output = {"n": 1} if status == "ok" else None
    row = {"id": node_id, "status": status, "output": output, **ran, "server": "demo", "tool": "status"}
    return {**row, "needs": list(needs), **more}


def trace(*nodes: dict[str, Any], models: Any = (), **composition: Any) -> dict[str, Any]:
    cost, tokens = sum(row["cost_usd"] for row in models), sum(row["tokens"] for row in models)
    order = [row["id"] for row in nodes if row["status"] != "skipped"]
    ran = all(row["status"] != "err" for row in nodes)
    head = {"ran": ran, "order": order, "cost_total": cost, "tokens_total": tokens, "critical_path": order[:1]}
    return {
        "composition": {**head, **composition},
        "nodes": {row["id"]: row for row in nodes},
        "output": None,
        "cost": {"total": cost},
        "tokens": {"total": tokens},
        "duration_ms": 9.0,
        **({"models": list(models)} if models else {}),
    }


BROKEN = trace(
    node("a", "err", message="the tool reported an error: \x1b[2Jno", args={"x": "\x1b[2J|"}, result={"isError": True}),
    node("b", "skipped", needs=("a",), skipped_by="parent", message="`a` failed"),
    node("c", "skipped", needs=("b",), skipped_by="parent", message="`b` was skipped"),
    node("d", "skipped", skipped_by="when", message="`when` was false"),
    node("e", needs=("b",), args={}),
)


@pytest.fixture
def record(build: Any) -> RunRecord:
    """A composition with two cases, one that fails, one that was skipped, one without cases, and a plain test."""

    def composed(name: str, verdict: str = "pass", **more: Any) -> Any:
        full = name if more.get("case") is None else f"{name} [{more['case']}]"
        about: dict[str, Any] = {"kind": TestKind.COMPOSITION, "tool": None, "request": None, "output": None}
        return build.test(full, verdict, id=f"mcptest.yml::composition::{full}", **about, **more)

    told = "node `a` failed: the tool reported an error: no"
    spent: dict[str, Any] = {"cost_usd": 0.018, "tokens": 300, "trace": trace(node("s", args={}), models=MODELS)}
    return build.record(
        build.test("status answers"),
        composed("render", case="common", line=20, **spent),
        composed("render", "fail", case="empty | x", line=20, **spent),
        composed("render", "skip", case="later", line=20, message="needs staging"),
        composed("breaks", "fail", line=40, trace=BROKEN, failure=Failure(kind=FailureKind.ASSERTION, message=told)),
        composed("is fine", line=50, trace=trace(node("s", args={}))),
    )


def test_the_documented_lines_are_in_the_report_for_people(record: RunRecord) -> None:
    """Compositions, Running a composition: one line a case, and the sum at the end."""
    lines = render("pretty", record).stdout.splitlines()
    assert "composition [PASS] render [common]" in lines
    assert "composition [FAIL] render [empty | x]" in lines
    assert "composition [SKIP] render [later]  needs staging" in lines
    assert "composition [PASS] is fine" in lines
    assert lines[-2] == "ran 5 composition(s): 2 passed, 2 failed, 1 skipped"
    assert lines[-1].startswith("3 passed, 2 failed")


def test_a_trace_of_an_older_version_is_told_alike(record: RunRecord) -> None:
    """Records of 0.1 have no `skipped_by`, and another message for `when`."""
    nodes = {
        name: {key: value for key, value in row.items() if key != "skipped_by"} for name, row in BROKEN["nodes"].items()
    }
    nodes["d"] |= {"message": "`when` did not hold"}
    old = [replace(test, trace={**BROKEN, "nodes": nodes}) if test.trace == BROKEN else test for test in record.tests]
    assert render("pretty", record.with_tests(tuple(old))).stdout == render("pretty", record).stdout


def test_where_all_is_well_the_sum_is_the_documented_one(record: RunRecord) -> None:
    """Compositions, Running a composition: `ran 2 composition(s): 2 passed, 0 failed`."""
    kept = record.with_tests((record.tests[1], record.tests[5]))
    assert "\nran 2 composition(s): 2 passed, 0 failed\n" in render("pretty", kept).stdout


def test_a_run_without_compositions_says_nothing_of_them(record: RunRecord) -> None:
    """House: what is not there costs no line."""
    plain = record.with_tests(record.tests[:1])
    for name in FORMATS:
        assert (
            "composition" not in render(name, plain).text.partition("<style>")[0]
        )  # after which a page has its own words


@pytest.mark.parametrize("name", ["pretty", "md", "agent", "tap"])
def test_the_report_is_the_accepted_one(name: str, record: RunRecord, golden: Any) -> None:
    """House: what is looked at is a snapshot."""
    golden(f"compositions-{name}.txt", render(name, record, RenderOptions(width=80)).text)


@pytest.mark.parametrize("name", FORMATS)
def test_a_saved_record_gives_byte_for_byte_what_the_run_printed(name: str, record: RunRecord) -> None:
    """Design 2: every reporter is a function of the record, a trace included."""
    saved = RunRecord.from_json(json.loads(json.dumps(record.to_json())))
    assert render(name, saved) == render(name, record)
    assert "\x1b" not in render(name, record).text


def test_cases_of_two_shards_are_merged_into_one_composition(record: RunRecord) -> None:
    """`report --merge`: each shard ran some of the cases."""
    shards = [
        replace(record.with_tests((record.tests[place],)), shard=(number, 2)) for number, place in ((1, 1), (2, 2))
    ]
    merged = merge_records(shards)
    (one,) = merged.compositions
    assert len(one.tests) == 2
    assert merged.to_json()["spending"]["tokens"] == 600
    assert "ran 2 composition(s): 1 passed, 1 failed" in render("pretty", merged).stdout


def test_the_record_is_as_its_schema_says(record: RunRecord) -> None:
    """The schema is that of `--reporter json`."""
    assert record_fault(record.to_json()) is None


def test_the_record_sums_each_composition_and_the_run(record: RunRecord) -> None:
    """Per-case aggregation, per-model attribution; a consumer need not add up itself."""
    data = record.to_json()
    first = data["compositions"][0]
    counts = {key: first[key] for key in ("name", "cases", "passed", "failed", "skipped", "cost_usd", "tokens")}
    assert counts == {
        "name": "render", "cases": 3, "passed": 1, "failed": 1, "skipped": 1, "cost_usd": 0.036, "tokens": 600
    }  # fmt: skip
    assert data["spending"]["cost_usd"] == 0.036
    assert data["spending"]["models"][0] == {"model": "claude-x", "calls": 2, "tokens": 200, "cost_usd": 0.02}


def test_junit_says_which_case_of_which_composition(record: RunRecord) -> None:
    """Per-case aggregation in every reporter."""
    tree = ET.fromstring(render("junit", record).stdout)
    suite = {found.get("name"): found.get("value") for found in tree.findall("testsuite/properties/property")}
    assert suite["composition: render"] == "1 of 3 cases passed"
    (case,) = (found for found in tree.iter("testcase") if found.get("name") == "render [common]")
    assert {found.get("name"): found.get("value") for found in case.iter("property")} == {
        "case": "common", "composition": "render", "tokens": "300", "cost_usd": "0.018"
    }  # fmt: skip


def test_junit_calls_no_judged_row_a_composition(record: RunRecord) -> None:
    tests = tuple(replace(test, kind=TestKind.EVAL) for test in record.tests)
    tree = ET.fromstring(render("junit", replace(record, tests=tests)).stdout)
    named = {found.get("name") for case in tree.iter("testcase") for found in case.iter("property")}
    assert "case" in named
    assert "composition" not in named


def test_an_unknown_price_is_never_zero(build: Any) -> None:
    """An unknown price is null, never 0, and so is each sum that it is part of."""
    models = [
        {"model": "x", "calls": 1, "tokens": 5, "cost_usd": None},
        {"model": "y", "calls": 1, "tokens": 1, "cost_usd": 0.0},
    ]
    about = {"kind": TestKind.COMPOSITION, "cost_usd": None, "tokens": 6}
    told = {**trace(node("s", args={})), "models": models}
    record = build.record(build.test("c", trace=told, **about))
    assert record.to_json()["spending"]["cost_usd"] is None
    assert "x          1       5  unknown\n" in render("pretty", record).stdout
    assert record_fault(record.to_json()) is None


def test_a_crossed_budget_is_told_also_where_an_assertion_failed(build: Any) -> None:
    """Compositions, Budget: the reporter surfaces the cap's name."""
    nodes = (
        node("s", args={}),
        node("t", "skipped", needs=("s",), message="not run: the budget was used up (max_tokens)"),
    )
    test = build.test(
        "c", "fail", kind=TestKind.COMPOSITION, trace=trace(*nodes, budget_tripped="max_tokens", models=MODELS)
    )
    assert graph_lines(test) == ["budget max_tokens was exceeded", "not run: `t`"]
    failure = Failure(
        kind=FailureKind.ASSERTION,
        message="assertion 1 …; budget max_tokens: the calls took 300 tokens, over 9",
        parts=((Part.OWN, "assertion 1 …"), (Part.BUDGET, "budget max_tokens: the calls took 300 tokens, over 9")),
    )
    test = replace(test, failure=failure)
    assert graph_lines(test) == ["not run: `t`"]
    for name in ("pretty", "agent", "minimal", "junit", "tap", "md", "github"):
        assert "budget max_tokens: the calls took 300 tokens, over 9" in render(name, build.record(test)).text


def test_the_item_of_a_fan_out_that_failed_is_shown_with_its_args(build: Any) -> None:
    """A failed node is shown with its args as resolved."""
    calls = [
        {"item": 0, "status": "ok", "started_ms": 0, "duration_ms": 1, "args": {"n": "one"}, "output": 1},
        {
            "item": 1,
            "status": "err",
            "started_ms": 0,
            "duration_ms": 1,
            "args": {"n": "two"},
            "output": None,
            "message": "no",
        },
        {
            "item": 2,
            "status": "err",
            "started_ms": 0,
            "duration_ms": 1,
            "args": {"n": "three"},
            "output": None,
            "message": "ended before it was answered",
        },
    ]
    test = build.test(
        "c",
        "fail",
        kind=TestKind.COMPOSITION,
        trace=trace(node("e", "err", calls=calls, message="item [1]: no", item=1)),
    )
    assert graph_lines(test) == ["node `e`: item [1]: no", '  args: {"n": "two"} (item [1])']


def test_what_a_node_called_when_kept_from_running_is_told_as_for_every_other(build: Any) -> None:
    nodes = [node("when", "err", message="broken"), node("after", "skipped", needs=("when",), message="`when` failed")]
    test = build.test("c", "fail", kind=TestKind.COMPOSITION, trace=trace(*nodes))
    assert graph_lines(test) == ["node `when`: broken", "  skipped because of it: `after`"]


def test_of_many_failed_nodes_the_first_are_shown(build: Any) -> None:
    """A report of a thousand broken nodes is still read."""
    nodes = [node(f"n{number}", "err", message="no") for number in range(1000)]
    lines = graph_lines(build.test("c", "fail", kind=TestKind.COMPOSITION, trace=trace(*nodes)))
    assert len(lines) == 6
    assert lines[-1] == "… 995 more failed nodes"


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (0.0, "$0.00"),
        (0.5, "$0.50"),
        (0.0123, "$0.0123"),
        (1234.5, "$1,234.50"),
        (3e-9, "under $0.000001"),
        (None, "unknown"),
    ],
)
def test_money_is_written_plainly(cost: float | None, text: str) -> None:
    """A small price is neither an exponent nor nothing."""
    assert cost_text(cost) == text


def test_repeats_of_a_case_belong_to_its_composition(build: Any) -> None:
    """`--repeat` numbers names and ids."""
    tests = [
        build.test(f"c [a] #{n}", kind=TestKind.COMPOSITION, case="a", id=f"m.yml::composition::c [a] #run{n}")
        for n in (1, 2)
    ]
    (one,) = build.record(*tests).compositions
    assert (one.name, len(one.tests)) == ("c", 2)
