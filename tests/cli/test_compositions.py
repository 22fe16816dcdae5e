"""Compositions on the command line: run, selected by case, listed, drawn, estimated, held against what they cost before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.reporting.record_schema import record_fault

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Command = Callable[..., subprocess.CompletedProcess[str]]

MANIFEST = """\
mock_server:
  name: packages
  tools:
    - name: search
      response:
        structuredContent: { hits: [{ name: a }, { name: b }, { name: c }], query: "${args.query}" }
        _meta: { mcptest/usage: { cost_usd: 0.01, tokens: 100, model: claude-x } }
    - name: get_readme
      response:
        structuredContent: { body: "${args.package}" }
        _meta: { mcptest/usage: { cost_usd: 0.002, tokens: 50, model: gpt-y } }
    - { name: broken, response: { content: [{ type: text, text: "no such thing" }], isError: true } }
"""
SUITE = """\
name: packages
servers: { mock: { command: [mcptest, mock, --tools-from, manifest.yml] } }
tools:
  - { name: search answers, tool: search, args: { query: x }, expect: [{ target: error, matcher: { exact: null } }] }
compositions:
  - name: render
    description: Searches, and reads each.
    nodes:
      - { id: search, tool: search, args: { query: "${var.query}" } }
      - id: enrich
        needs: [search]
        for_each: "${search.structuredContent.hits}"
        tool: get_readme
        args: { package: "${item.name}" }
      - id: token
        needs: [{ id: enrich, optional: true }]
        tool: get_readme
        when: ".parents.enrich | length > 0"
        args: { package: "<b>\\"x\\"]" }
    output: token
    cases:
      - { name: common-query, vars: { query: mcp } }
      - { name: empty-query, vars: { query: "" } }
    expect:
      - { target: nodes.search.output.structuredContent.query, matcher: { exact: mcp } }
  - name: breaks
    nodes:
      - { id: a, tool: broken, args: { x: 1 } }
      - { id: b, tool: get_readme, needs: [a], args: { package: "${a.x}" } }
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    (tmp_path / "manifest.yml").write_text(MANIFEST, encoding="utf-8")
    suite = tmp_path / "mcptest.yml"
    suite.write_text(SUITE, encoding="utf-8")
    return suite


def names_in(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [test["name"] for test in json.loads(done.stdout)["tests"]]


def test_a_run_tells_each_case_and_why_it_failed(mcptest: Command, packages: Path, tmp_path: Path) -> None:
    """Compositions, Running a composition; the record is as its schema says, and tells the same again."""
    done = mcptest("run", "--reporter", "pretty", "--reporter", "json=run.json")
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert "composition [PASS] render [common-query]" in lines
    assert "composition [FAIL] render [empty-query]" in lines
    assert "composition [FAIL] breaks" in lines
    assert "ran 3 composition(s): 1 passed, 2 failed" in lines
    assert "     node `a` failed: the tool reported an error: no such thing (1 node skipped)" in lines
    assert '       args: {"x": 1}' in lines
    assert "       skipped because of it: `b`" in lines
    assert "    claude-x      2     200   $0.02" in lines
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert record_fault(record) is None
    assert mcptest("report", "run.json").stdout == done.stdout


def test_the_repro_line_of_a_case_runs_that_case(mcptest: Command, packages: Path) -> None:
    """Agent-interface: every `repro` line is exact."""
    agent = mcptest("run", "--case", "empty-query", "--reporter", "agent").stdout
    (line,) = (line for line in agent.splitlines() if line.startswith("repro: "))
    assert line == 'repro: mcptest run --filter "render [empty-query]"'
    assert names_in(mcptest("list", "--filter", "render [empty-query]", "--format", "json")) == ["render [empty-query]"]
    assert names_in(mcptest("list", "--last-failed", "--format", "json")) == ["render [empty-query]"]
    wrong = mcptest("run", "--case", "emty-query")
    assert wrong.returncode == 2
    assert "did you mean `empty-query`?" in wrong.stderr


def test_an_estimate_says_what_is_known_and_what_is_not(mcptest: Command, packages: Path) -> None:
    """Cases x runs x fan-out, from caps and from what the same nodes cost last; nothing is called."""
    mcptest("run", "--case", "common-query")
    done = mcptest("run", "--dry-run", "--estimate-cost", "--repeat", "5", "--reporter", "json")
    assert done.returncode == 0, done.stderr
    render, breaks = json.loads(done.stdout)["compositions"]
    assert render["cost_usd"] == {"expected": 0.18, "at_most": None}
    assert {node["id"]: node["calls"]["expected"] for node in render["nodes"]} == {
        "search": 10,
        "enrich": 30,
        "token": 10,
    }
    assert breaks["unknown"] == ["a", "b"]
    text = mcptest("run", "--dry-run", "--estimate-cost").stdout
    assert "unknown, and not part of the estimate: `a`, `b`" in text
    assert "total: expected $0.036 and 600 tokens and what is unknown, no upper limit is known" in text
    refused = mcptest("run", "--estimate-cost")
    assert (refused.returncode, "add --dry-run" in refused.stderr) == (2, True)


def test_costs_are_held_against_a_baseline(mcptest: Command, packages: Path, tmp_path: Path) -> None:
    """Cost regression against a saved baseline: exit 6; told in each report in one line."""
    only = ("--filter", "render [common-query]")
    saved = mcptest("run", *only, "--save-cost-baseline", "ci/costs.json")
    assert saved.returncode == 0, saved.stderr
    (tmp_path / "manifest.yml").write_text(MANIFEST.replace("0.002", "0.004"), encoding="utf-8")
    formats = ["minimal", "junit", "tap", "md", "github", "agent", "json"]
    sinks = [flag for name in formats for flag in ("--reporter", f"{name}={name}.out")]
    done = mcptest("run", *only, "--cost-baseline", "ci/costs.json", "--reporter", "pretty", *sinks)
    told = "the run cost $0.026, 44.4% over the $0.018 of ci/costs.json (10% allowed)"
    assert done.returncode == 6
    assert f"warning: cost regression: {told}" in done.stdout
    for name in formats:
        text = (tmp_path / f"{name}.out").read_text(encoding="utf-8")
        assert "cost regression: the run cost " in text, name
    assert mcptest("run", *only, "--cost-baseline", "ci/costs.json", "--cost-tolerance", "50").returncode == 0
    assert packages.is_file()


@pytest.mark.parametrize(
    ("flags", "told"),
    [(("--cost-baseline", "manifest.yml"), "is not a cost baseline"), (("--cost-tolerance", "5"), "without a")],
)
def test_a_baseline_that_makes_no_sense_is_refused(
    mcptest: Command,
    packages: Path,
    flags: tuple[str, ...],
    told: str,
) -> None:
    """Exit 2, nothing executed."""
    done = mcptest("run", *flags)
    assert (done.returncode, told in done.stderr) == (2, True)


def test_a_run_that_failed_saves_no_baseline(mcptest: Command, packages: Path, tmp_path: Path) -> None:
    """What a broken run cost says nothing."""
    done = mcptest("run", "--filter", "breaks", "--save-cost-baseline", "costs.json")
    assert done.returncode == 1
    assert "the run did not pass" in done.stderr
    assert not (tmp_path / "costs.json").exists()


def test_the_list_shows_the_nodes_of_a_composition_once(mcptest: Command, packages: Path) -> None:
    """Descriptions, nodes and cases."""
    done = mcptest("list")
    assert done.stdout.count("Searches, and reads each.") == 1
    assert "  render [empty-query]   3 nodes" in done.stdout
    assert "    enrich: get_readme, after search  [for each ${search.structuredContent.hits}]" in done.stdout
    assert "    token: get_readme, after enrich (optional)  [when .parents.enrich | length > 0]" in done.stdout
    rows: list[dict[str, Any]] = json.loads(mcptest("list", "--format", "json").stdout)["tests"]
    assert rows[1]["case"] == "common-query"
    assert [node["id"] for node in rows[1]["nodes"]] == ["search", "enrich", "token"]


def test_the_servers_of_nodes_are_listed_where_there_are_several(mcptest: Command, tmp_path: Path) -> None:
    server = '{ command: ["true"] }'
    nodes = "[{ id: a, server: one, tool: t }, { id: b, server: two, needs: [a], tool: t, when: .parents.a }]"
    text = f"servers: {{ one: {server}, two: {server} }}\ncompositions: [{{ name: c, nodes: {nodes} }}]\n"
    (tmp_path / "mcptest.yml").write_text(text, encoding="utf-8")
    lines = mcptest("list").stdout.splitlines()
    assert lines[-2:] == ["    a: t (one)", "    b: t (two), after a  [when .parents.a]"]


def test_compositions_are_drawn(mcptest: Command, packages: Path) -> None:
    """`mcptest list --graph`, of what a run would take."""
    done = mcptest("list", "--graph", "mermaid", "--filter", "breaks")
    assert done.stdout.splitlines()[0] == "flowchart TD"
    assert "    c0n0 --> c0n1" in done.stdout.splitlines()
    assert mcptest("list", "--graph", "mcptest.yml", "--filter", "breaks").stdout == done.stdout
    assert mcptest("list", "--graph", "svg").returncode == 2
    assert mcptest("list", "--graph", "dot").stdout.startswith('digraph "packages" {')
    assert mcptest("list", "--graph", "dot", "--filter", "search answers").returncode == 7


SECRETS = """\
name: secrets
env: { API_KEY: "${THE_API_KEY}" }
servers: { mock: { command: [mcptest, mock, --tools-from, secrets.yml] } }
compositions:
  - name: leaks
    nodes:
      - { id: token, tool: echo, args: { text: "Bearer ${env.THE_API_KEY}" }, transform: { jq: ".result.content[0].text" } }
      - { id: next, needs: [token, list], for_each: "${list}", tool: echo, args: { text: "${token}" } }
      - { id: list, tool: echo, mock: { result: [1] } }
      - { id: boom, needs: [token], tool: fail, args: { text: "${token}" } }
"""
ECHOES = """\
mock_server:
  tools:
    - name: echo
      response:
        content: [{ type: text, text: "${args.text}" }]
        _meta: { mcptest/usage: { cost_usd: 0.01, tokens: 1, model: "${args.text}" } }
    - { name: fail, response: { content: [{ type: text, text: "${args.text}" }], isError: true } }
"""


def test_a_secret_that_goes_through_a_composition_reaches_no_report(mcptest: Command, tmp_path: Path) -> None:
    """Arguments, outputs, reasons, models; in no report and not in the saved record."""
    secret = "Xk29-super-secret-998877"
    (tmp_path / "secrets.yml").write_text(ECHOES, encoding="utf-8")
    (tmp_path / "mcptest.yml").write_text(SECRETS, encoding="utf-8")
    formats = ["minimal", "json", "ndjson", "junit", "tap", "md", "github", "agent"]
    sinks = [flag for name in formats for flag in ("--reporter", f"{name}={name}.out")]
    done = mcptest("run", "--reporter", "pretty", *sinks, THE_API_KEY=secret)
    assert "node `boom` failed: the tool reported an error: Bearer [REDACTED]" in done.stdout
    written = [path for path in tmp_path.rglob("*") if path.suffix in {".out", ".json"}]
    assert len(written) == len(formats) + 1
    shown = done.stdout + done.stderr + "".join(path.read_text(encoding="utf-8") for path in written)
    assert secret not in shown


def test_an_estimate_over_the_budget_says_that_the_budget_will_end_the_run(mcptest: Command, tmp_path: Path) -> None:
    usage = "{ _meta: { mcptest/usage: { cost_usd: 0.02, tokens: 7 } } }"
    suite = f"""\
compositions:
  - name: too dear
    budget: {{ max_cost_usd: 0.03, max_tokens: 50 }}
    nodes:
      - {{ id: a, tool: t, mock: {{ result: {usage} }} }}
      - {{ id: list, tool: t, mock: {{ result: [1, 2] }} }}
      - {{ id: b, tool: t, needs: [list], for_each: {{ x: "${{list}}", y: "${{list}}" }}, mock: {{ result: {usage} }} }}
"""
    (tmp_path / "mcptest.yml").write_text(suite, encoding="utf-8")
    lines = mcptest("run", "--dry-run", "--estimate-cost").stdout.splitlines()
    assert [line.split()[:4] for line in lines[4:7]] == [
        ["a", "1", "$0.02", "7"], ["list", "1", "$0.00", "0"], ["b", "4", "$0.08", "28"]
    ]  # fmt: skip
    assert "  expected $0.10 and 35 tokens, at most $0.03 and 35 tokens" in lines
    assert "  over the budget, which ends the composition: max_cost_usd" in lines
