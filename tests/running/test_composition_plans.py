"""Compositions before they run: which cases are chosen, what they may cost, and how they are drawn."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import UsageError
from mcptest_engine.running.kinds.composition.drawing import dot, mermaid
from mcptest_engine.running.kinds.composition.estimating import CompositionEstimate, Expected, estimate, in_all
from mcptest_engine.running.kinds.composition.plan import Row
from mcptest_engine.running.plan import make_plan
from mcptest_engine.running.settings import RunSettings, Selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.running.cases import Plan
    from mcptest_engine.running.kinds.composition.plan import Program
    from mcptest_engine.suite.load import LoadedSuite

    Load = Callable[..., LoadedSuite]

SUITE = """\
servers: { s: { command: ["true"] } }
tools:
  - { name: plain, tool: search }
compositions:
  - name: render
    budget: { max_cost_usd: 0.5 }
    nodes:
      - { id: search, tool: search, args: { query: "${var.query}" }, max_cost_per_call_usd: 0.05, max_tokens_per_call: 10 }
      - { id: enrich, needs: [search], for_each: "${search.hits}", tool: get_readme, max_cost_per_call_usd: 0.01 }
    cases:
      - { name: common-query, vars: { query: mcp } }
      - { name: empty-query, vars: { query: "" } }
    eval: { mcp_use: { threshold: 0.5 } }
  - name: offline
    nodes:
      - { id: list, tool: search, mock: { result: { hits: [1, 2, 3] } } }
      - id: each
        needs: [list]
        for_each: "${list.hits[*]}"
        tool: get_readme
        args: { n: "${item}" }
        loop: { until: "true", max: 4 }
        max_cost_per_call_usd: 0.001
        max_tokens_per_call: 10
"""


def planned(suite: LoadedSuite, **more: Any) -> Plan:
    repeat = more.pop("repeat", 1)
    return make_plan(suite, RunSettings(selection=Selection(**more), repeat=repeat), relative=lambda path: path.name)


def chosen(suite: LoadedSuite, *rows: str, **more: Any) -> list[str]:
    return [case.name for case in planned(suite, rows=frozenset(rows), **more).cases]


def test_cases_are_selected_by_name_and_what_is_judged_of_them_with_them(suite_of: Load) -> None:
    """`--case NAME`, repeatable; every condition given must hold."""
    suite = suite_of(SUITE)
    common, empty = "render [common-query]", "render [empty-query]"
    assert chosen(suite, "common-query") == [common, f"{common}: mcp_use"]
    assert chosen(suite, "common-query", "empty-query", filter=empty) == [empty]
    assert chosen(suite, "common-query", filter="offline") == []
    assert chosen(suite, "common-query", ids=frozenset({f"mcptest.yml::composition::{common}"})) == [common]
    shards = [chosen(suite, "common-query", "empty-query", shard=(part, 2)) for part in (1, 2)]
    assert sorted(shards[0] + shards[1]) == sorted(chosen(suite, "common-query", "empty-query"))


@pytest.mark.parametrize(
    ("wrong", "hint"), [("comon-query", "did you mean `common-query`?"), ("x", "there are `common-query`")]
)
def test_a_case_that_does_not_exist_is_refused(suite_of: Load, wrong: str, hint: str) -> None:
    """Errors name the nearest."""
    with pytest.raises(UsageError, match=f"no test of the suite has a case `{wrong}`") as refused:
        chosen(suite_of(SUITE), wrong)
    assert hint in str(refused.value.hint)


def ran(*calls: int, cost: float | None, case: str = "common-query") -> dict[str, Any]:
    """A record in which `search` was called once and `enrich` for each of `calls`."""
    rows = [{"args": {}, "status": "ok"} for _ in calls]
    nodes = {
        "search": {"id": "search", "status": "ok", "args": {}, "cost_usd": cost, "tokens": 5},
        "enrich": {"id": "enrich", "status": "ok", "calls": rows, "cost_usd": 0.002 * len(rows), "tokens": len(rows)},
    }
    name = f"render [{case}]"
    test = {"name": name, "id": f"mcptest.yml::composition::{name}", "case": case, "trace": {"nodes": nodes}}
    return {"run_id": "RUN", "tests": [test]}


def estimated(
    suite: LoadedSuite, *records: dict[str, Any], **more: Any
) -> tuple[CompositionEstimate, CompositionEstimate]:
    render, offline = estimate(planned(suite, **more).cases, records)
    return render, offline


def test_what_nobody_knows_is_unknown_and_never_zero(suite_of: Load) -> None:
    """Compositions, Budget: reviewable before they cost a cent."""
    render, offline = estimated(suite_of(SUITE))
    assert render.unknown == ("search", "enrich")
    assert render.nodes[0].cost_usd == Expected(None, 0.1)
    assert render.nodes[1].cost_usd == Expected(None, None)
    assert render.cost_usd == Expected(0.0, 0.5)
    assert render.capped == ("max_cost_usd",)
    assert offline.nodes[1].calls == Expected(None, 12)


def test_a_fan_out_over_a_mock_is_counted(suite_of: Load) -> None:
    """Its size stands in the suite: three items, four rounds each, at a tenth of a cent."""
    offline = estimated(suite_of(SUITE))[1]
    assert offline.cost_usd.most == 0.012
    assert offline.tokens.most == 120
    assert offline.nodes[0].basis == "mock"


def test_what_the_same_nodes_cost_last_is_what_they_are_expected_to(suite_of: Load) -> None:
    """Cases x runs x fan-out; a case that never ran is expected to be like one that did."""
    render, _ = estimated(suite_of(SUITE), ran(1, 2, 3, cost=0.02), ran(1, cost=9.0), repeat=5)
    assert (render.cases, render.rows) == (2, 10)
    assert render.unknown == ()
    assert [node.calls.expected for node in render.nodes] == [10, 30]
    assert render.cost_usd.expected == 0.26
    assert render.tokens.expected == 80
    assert render.nodes[0].run_id == "RUN"


def test_a_price_that_was_unknown_stays_unknown(suite_of: Load) -> None:
    render, offline = estimated(suite_of(SUITE), ran(1, cost=None))
    assert render.unknown == ("search",)
    assert in_all([render, offline])[0].most == 0.512


@pytest.mark.parametrize(
    "damaged", [{}, {"tests": [1]}, {"tests": [{"trace": 1}]}, {"tests": [{"trace": {"nodes": []}}]}]
)
def test_a_damaged_record_says_nothing(suite_of: Load, damaged: dict[str, Any]) -> None:
    """A record may be an old one, or written by hand."""
    assert estimated(suite_of(SUITE), damaged)[0].unknown == ("search", "enrich")


MERMAID = re.compile(
    r"flowchart TD|  subgraph c\d+\[\"[^\"\[\]<>]*\"\]|  end"
    r"|    c\d+n\d+(\[|\[\[|\(|\{\{)\"([^\"\[\]<>{}]|<br/>)*\"(\]|\]\]|\)|\}\})"
    r"|    c\d+n\d+ (-->|-\.->\|optional\|) c\d+n\d+"
)
DOT = re.compile(
    r"digraph \"([^\"\\]|\\.)*\" \{|  node \[shape=box\];|  subgraph \"cluster_\d+\" \{|    label=\"([^\"\\]|\\.)*\";|  ?\}|\}"
    r"|    c\d+n\d+ \[label=\"([^\"\\]|\\.)*\"(, (shape=hexagon|peripheries=2|style=rounded))?\];"
    r"|    c\d+n\d+ -> c\d+n\d+( \[style=dashed, label=\"optional\"\])?;"
)
NASTY = """\
servers: { s: { command: ["true"] } }
compositions:
  - name: "a \\"b\\"] #1 <c> \\\\ `d`"
    nodes:
      - { id: end, tool: "x\\"]; click --> y{|}" , mock: { result: [1] } }
      - { id: each, needs: [end], for_each: "${end}", max_concurrency: 4, tool: y, args: { a: "${item}" } }
      - { id: wait, needs: [{ id: each, optional: true }], tool: y, loop: { until: ". == \\"hunter2-hunter2\\"", max: 3 } }
      - { id: last, needs: [wait, each], tool: y, when: '.parents.wait != "<b>"' }
"""


def programs(suite: LoadedSuite) -> list[Program]:
    return [case.body.program for case in planned(suite).cases if isinstance(case.body, Row)]


@pytest.mark.parametrize(("form", "grammar"), [("mermaid", MERMAID), ("dot", DOT)])
def test_a_picture_is_valid_whatever_things_are_called(suite_of: Load, form: str, grammar: re.Pattern[str]) -> None:
    """`mcptest list --graph`; each line is as the language has it, and no secret is in it."""

    def redact(text: str) -> str:
        return text.replace("hunter2-hunter2", "***")

    found = programs(suite_of(NASTY))
    text = mermaid(found, redact=redact) if form == "mermaid" else dot(found, 'my "suite"\\', redact=redact)
    assert [line for line in text.splitlines() if not grammar.fullmatch(line)] == []
    assert "hunter2" not in text
    assert text.count("optional") == 1
    for told in ("for each $", ", 4 at once", "3 times at most", "when .parents.wait", "mock"):
        assert told in text
