"""What the document shows, as it shows it: its suites load, and do what is said beside them."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.results import Verdict
from mcptest_engine.reporting.registry import render
from mcptest_engine.running.launch import launch
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, check_suite
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcptest_engine.core.run_record import RunRecord

SERVERS = "servers: { index: { command: [never-started] } }\ncompositions:\n"
FOUND = (
    "{ result: { top_hit: { name: mcptest, score: 0.9 }, count: 1, hits: [{ name: a }, { name: b }, { name: c }] } }"
)
ANATOMY = f"""\
  - name: render-top-readme
    description: Search for a package and fetch its README in one DAG.
    nodes:
      - id: search
        tool: search_packages
        args: {{ query: "mcp", limit: 1 }}
        mock: {FOUND}
        transform: {{ jq: .result }}
      - id: readme
        needs: [search]
        tool: get_readme
        args: {{ package: "${{search.top_hit.name}}" }}
        mock: {{ result: {{ body: "# ${{search.top_hit.name}}" }} }}
    output: readme
    expect:
      - {{ target: "composition.ran", matcher: {{ exact: true }} }}
      - {{ target: "nodes.readme.status", matcher: {{ exact: "ok" }} }}
      - {{ target: "output.body", matcher: {{ exact: "# mcptest" }} }}
      - {{ target: "nodes.readme.args", matcher: {{ exact: {{ package: mcptest }} }} }}
      - {{ target: "composition.order", matcher: {{ exact: [search, readme] }} }}
      - {{ target: "nodes.search.duration_ms", matcher: {{ exact: 0 }} }}
"""
RESHAPED = """\
  - name: a transform sees the result of the call under `result`
    nodes:
      - id: search
        tool: search_packages
        mock: { result: { hits: [{ name: a, score: 0.5, more: 1 }] } }
        transform: { jq: ".result.hits[0] | { name, score }" }
      - { id: readme, needs: [search], tool: get, args: { package: "${search.name}" }, mock: { result: 1 } }
    expect:
      - { target: nodes.search.output, matcher: { exact: { name: a, score: 0.5 } } }
      - { target: nodes.readme.args.package, matcher: { exact: a } }
"""
TRUTHS = """\
  - name: zero, an empty text, list and object hold, and what is absent does not
    nodes:
      - { id: search, tool: t, mock: { result: { zero: 0, text: "", list: [], object: {}, no: false, none: null } } }
      - { id: zero, needs: [search], when: .parents.search.zero, tool: t, mock: { result: 1 } }
      - { id: text, needs: [search], when: .parents.search.text, tool: t, mock: { result: 1 } }
      - { id: list, needs: [search], when: .parents.search.list, tool: t, mock: { result: 1 } }
      - { id: object, needs: [search], when: .parents.search.object, tool: t, mock: { result: 1 } }
      - { id: no, needs: [search], when: .parents.search.no, tool: t, mock: { result: 1 } }
      - { id: none, needs: [search], when: .parents.search.none, tool: t, mock: { result: 1 } }
      - { id: absent, needs: [search], when: .parents.search.count, tool: t, mock: { result: 1 } }
      - { id: default, needs: [search], when: (.parents.search.count // 0) > 0, tool: t, mock: { result: 1 } }
      - { id: below, needs: [absent], tool: t, mock: { result: "${absent}" } }
    expect:
      - { target: composition.order, matcher: { exact: [search, zero, text, list, object] } }
      - { target: nodes.below, matcher: { subset: { status: skipped, output: null, duration_ms: null } } }
      - { target: composition.ran, matcher: { exact: true } }
"""
ENRICHED = f"""\
  - name: a fan-out gives its results in the order of the elements
    nodes:
      - {{ id: search, tool: search_packages, mock: {FOUND}, transform: {{ jq: .result.hits }} }}
      - id: enrich
        needs: [search]
        for_each: "${{search}}"
        max_concurrency: 2
        tool: fetch_metadata
        args: {{ name: "${{item.name}}" }}
        mock: {{ result: {{ meta: "${{item.name}}" }} }}
      - {{ id: names, needs: [enrich], tool: t, mock: {{ result: "${{enrich[*].meta}}" }} }}
    expect:
      - {{ target: nodes.enrich.output, matcher: {{ exact: [{{ meta: a }}, {{ meta: b }}, {{ meta: c }}] }} }}
      - {{ target: output, matcher: {{ exact: [a, b, c] }} }}
      - {{ target: "nodes.enrich.calls[2].args.name", matcher: {{ exact: c }} }}
"""
PARAMETRIC = """\
  - name: parametric
    nodes:
      - id: search
        tool: search_packages
        args: { q: "${var.query}", limit: "${var.limit}" }
        mock: { result: { hits: [], asked: "${var.limit}" } }
        transform: { jq: .result }
    output: search
    expect:
      - { target: nodes.search.output.asked, matcher: { exact: "${var.limit}" } }
    cases:
      - { name: short, vars: { query: "mcp", limit: 1 } }
      - { name: long, vars: { query: "test framework", limit: 10 } }
      - name: golden
        vars: { query: "rubric", limit: 5 }
        golden: { hits: [], asked: 5 }
        expect:
          - { target: nodes.search.output.hits, matcher: { exact: [] } }
"""
GATED = """\
  - name: gated
    budget: { max_cost_usd: 0.50, max_tokens: 20000 }
    nodes:
      - id: search
        tool: search_packages
        max_cost_per_call_usd: 0.05
        max_tokens_per_call: 1000
        mock: { result: { _meta: { mcptest/usage: { cost_usd: 0.04, tokens: 900, model: small } } } }
    expect:
      - { target: "cost.total", matcher: { lte: 0.50 } }
      - { target: "tokens.total", matcher: { exact: 900 } }
      - { target: composition.cost_total, matcher: { exact: 0.04 } }
      - { target: composition.budget_tripped, matcher: { exists: false } }
      - { target: nodes.search.model, matcher: { exact: small } }
"""
JUDGED = """\
  - name: judged
    nodes: [{ id: search, tool: search_packages, args: { query: "${var.query}" }, mock: { result: 1 } }]
    output: search
    eval:
      mcp_task_completion: { threshold: 0.8 }
      mcp_use: { threshold: 0.7 }
      rubric: { criteria: [{ name: "covers query", weight: 1.0 }] }
"""


@pytest.fixture
def run_text(tmp_path: Path) -> Callable[[str], RunRecord]:
    def running(text: str) -> RunRecord:
        path = tmp_path / "mcptest.yml"
        path.write_text(SERVERS + text, encoding="utf-8")
        environ = {"PATH": os.environ["PATH"]}
        checked = check_suite(path, LoadOptions(environ=environ, workspace_root=tmp_path))
        assert checked.suite is not None, checked.problems
        settings = RunSettings(environ=environ)
        return asyncio.run(launch(checked.suite, settings, workspace=Workspace(tmp_path), emit=lambda _event: None))

    return running


@pytest.mark.parametrize(
    "text", [ANATOMY, RESHAPED, TRUTHS, ENRICHED, GATED], ids=lambda text: text.splitlines()[0][10:]
)
def test_a_composition_of_the_document_does_what_is_said_of_it(run_text: Callable[[str], RunRecord], text: str) -> None:
    record = run_text(text)
    assert [(test.verdict, test.message) for test in record.tests] == [(Verdict.PASS, None)]
    assert record.servers == (), "a mock-only suite runs offline"


def test_a_composition_runs_once_for_each_of_its_cases(run_text: Callable[[str], RunRecord]) -> None:
    record = run_text(PARAMETRIC)
    told = [(test.name, test.case, test.verdict) for test in record.tests]
    assert told == [(f"parametric [{name}]", name, Verdict.PASS) for name in ("short", "long", "golden")]
    assertions: list[Any] = [[item.to_json().get("name") for item in test.assertions] for test in record.tests]
    assert assertions == [[None], [None], [None, "golden.matched"]]


def test_a_golden_value_is_made_of_the_variables_of_its_case(run_text: Callable[[str], RunRecord]) -> None:
    text = PARAMETRIC.replace("golden: { hits: [], asked: 5 }", 'golden: { hits: [], asked: "${var.limit}" }')
    record = run_text(text)
    assert [test.message for test in record.tests] == [None, None, None]
    assert record.tests[2].assertions[1].matcher == {"exact": {"hits": [], "asked": 5}}


@pytest.mark.parametrize("name", ["pretty", "md", "github", "tap", "junit", "html", "json", "ndjson"])
def test_reports_say_how_many_golden_values_were_matched(run_text: Callable[[str], RunRecord], name: str) -> None:
    other = PARAMETRIC.replace("golden: {", "golden: { left: out,").replace("expect:\n          -", "tags: []\n#")
    shown = render(name, run_text(other)).stdout
    wanted = "golden.matched" if name in ("html", "json", "ndjson") else "2 of 3 cases passed, 0 of 1 golden matched"
    assert wanted in shown


def test_judged_metrics_are_rows_that_wait_for_a_model(run_text: Callable[[str], RunRecord]) -> None:
    record = run_text(JUDGED)
    assert [test.verdict for test in record.tests] == [Verdict.PASS, *[Verdict.INCONCLUSIVE] * 3]
    assert {str(test.message)[:27] for test in record.tests[1:]} == {"deferred: no model provider"}
    assert record.exit_code == 0
