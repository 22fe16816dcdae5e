"""`matrix`: tests by models as one HTML file, for a browser or a printer. No script, nothing from elsewhere, all text escaped.

A cell has the verdict, the score, how many runs passed, what they took; why it failed is folded away below.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from mcptest_engine.core.results import Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted, number_text
from mcptest_engine.reporting import facts, hook_facts
from mcptest_engine.reporting.compositions import model_rows
from mcptest_engine.reporting.facts import cost_text
from mcptest_engine.reporting.failure_text import failure_text
from mcptest_engine.reporting.grid import Cell, Grid, grid_of
from mcptest_engine.reporting.layout import WORDS
from mcptest_engine.reporting.repro import repro_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

RUNS_SHOWN = 20
OTHERS_SHOWN = 200
NAME_LIMIT = 300
_QUOTED = re.compile(r"`([^`]+)`")

_STYLE = """
:root { color-scheme: light dark; --line: #c8ccd4; --soft: #5a6270; --head: #f1f3f6;
  --pass: #0b6b2e; --fail: #b3151f; --inconclusive: #7a5200; --skip: #5a6270;
  --pass-bg: #e4f5e9; --fail-bg: #fdeaea; --inconclusive-bg: #fdf3dc; --skip-bg: #f1f3f6; }
@media (prefers-color-scheme: dark) { :root { --line: #3a404b; --soft: #a3abb8; --head: #232830;
  --pass: #7ddb9b; --fail: #ff9a9a; --inconclusive: #f2c572; --skip: #a3abb8;
  --pass-bg: #12301d; --fail-bg: #3a1719; --inconclusive-bg: #35290f; --skip-bg: #232830; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem; }
h1 { font-size: 1.3rem; margin: 0 0 .25rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
p { color: var(--soft); margin: 0 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .4rem .6rem; text-align: left; vertical-align: top; }
thead th { background: var(--head); } th[scope=row] { font-weight: 500; max-width: 28rem; overflow-wrap: anywhere; }
td { min-width: 9rem; max-width: 26rem; overflow-wrap: anywhere; } th[scope=row] { min-width: 11rem; }
td.n { text-align: right; min-width: 4rem; }
.pass { background: var(--pass-bg); } .fail { background: var(--fail-bg); }
.inconclusive { background: var(--inconclusive-bg); } .skip { background: var(--skip-bg); }
b.pass { color: var(--pass); background: none; } b.fail { color: var(--fail); background: none; }
b.inconclusive { color: var(--inconclusive); background: none; } b.skip { color: var(--skip); background: none; }
small { color: var(--soft); display: block; } code, pre { font: 12px/1.4 ui-monospace, monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .4rem 0; }
@media print { body { margin: 0; } .wide { overflow: visible; }
  details > summary { display: none; } details::details-content { content-visibility: visible; block-size: auto; }
  tr { break-inside: avoid; } td, th { -webkit-print-color-adjust: exact; print-color-adjust: exact; } }
"""


def render(record: RunRecord, options: RenderOptions) -> str:
    """The page: sums, the grid, the sums of each model, what all of it cost, and metrics."""
    grid = grid_of(record)
    name = _html(one_line(record.suite.name, NAME_LIMIT))
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name}: tests by models</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{name}</h1>",
        f"<p>{_html(_summary(record))}</p>",
        *_remarks(record),
        *(_grid(record, grid, options) if grid.rows else ["<p>The run has no agent tests and no evals.</p>"]),
        *_sums(grid),
        *_cost_table(record),
        *_rollups(record, grid),
        *_others(record, options),
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _summary(record: RunRecord) -> str:
    reason = facts.run_reason(record)
    told = f"{facts.counts_text(record)} in {facts.duration_text(record.duration_ms)}"
    told = told if reason is None else f"{reason}: {told}"
    return f"{one_line(record.started_at, 40)}; {told}; run {one_line(record.run_id, 40)}"


def _remarks(record: RunRecord) -> Iterator[str]:
    """The run's warnings, and the hooks that failed."""
    warnings = hook_facts.other_warnings(record)
    if warnings:
        yield "<ul>" + "".join(f"<li>{_marked(warning)}</li>" for warning in warnings) + "</ul>"
    for told in hook_facts.hook_failures(record):
        lines = _html("\n".join(told.lines) or "(no output)")
        yield f"<details open><summary>{_html(told.title)}</summary><pre>{lines}</pre></details>"


def _others(record: RunRecord, options: RenderOptions) -> Iterator[str]:
    """What failed and has no place in the grid, since whoever has this page alone has to know."""
    failed = [test for test in facts.tests_with(record, Verdict.FAIL) if not test.kind.may_ask_models]
    if hook_facts.setup_failure(record) is not None:  # the hook's own words say it for all of them
        failed = [test for test in failed if not hook_facts.is_blocked_by_hook(test)]
    if not failed:
        return
    yield "<h2>Other tests that failed</h2>"
    for test in failed[:OTHERS_SHOWN]:
        text = _html("\n".join([failure_text(test), f"repro: {repro_line(record, test, options)}"]))
        yield f"<details><summary>{_html(one_line(test.name, NAME_LIMIT))}</summary><pre>{text}</pre></details>"
    if len(failed) > OTHERS_SHOWN:
        yield f"<p>{counted(len(failed) - OTHERS_SHOWN, 'more test')}</p>"


def _grid(record: RunRecord, grid: Grid, options: RenderOptions) -> Iterator[str]:
    yield '<div class="wide"><table>'
    heads = "".join(f'<th scope="col">{_html(one_line(model, NAME_LIMIT))}</th>' for model in grid.models)
    yield f'<thead><tr><th scope="col">Test</th>{heads}</tr></thead>'
    yield "<tbody>"
    for row in grid.rows:
        yield f'<tr><th scope="row">{_html(one_line(row.name, NAME_LIMIT))}</th>'
        for model in grid.models:
            cell = row.cells.get(model)
            yield "<td></td>" if cell is None else "".join(_cell(record, cell, options))
        yield "</tr>"
    yield "</tbody>"
    yield "</table></div>"


def _cell(record: RunRecord, cell: Cell, options: RenderOptions) -> Iterator[str]:
    verdict = cell.verdict
    word = "ERROR" if cell.has_error else WORDS[verdict]
    yield f'<td class="{verdict.value}"><b class="{verdict.value}">{word}</b>'
    for line in cell_lines(cell):
        yield f"<small>{_html(line)}</small>"
    told = [test for test in cell.tests if test.verdict is not Verdict.PASS]
    for test in told[:RUNS_SHOWN]:
        yield from _details(record, test, options)
    if len(told) > RUNS_SHOWN:
        yield f"<small>{counted(len(told) - RUNS_SHOWN, 'more run')}</small>"
    yield "</td>"


def cell_lines(cell: Cell) -> list[str]:
    """What a cell says beside its verdict: score, runs, and what they took."""
    lines = []
    if cell.score is not None:
        lines.append(f"score {number_text(cell.score)}")
    passed, runs = cell.runs
    if runs > 1:
        lines.append(f"{passed} of {runs} runs passed" + (f" (pass^{runs})" if passed == runs else ""))
    if cell.tokens is not None:
        cost = "price unknown" if cell.cost_usd is None else cost_text(cell.cost_usd)
        lines.append(f"{cell.tokens:,} tokens, {cost}")
    if cell.verdict in (Verdict.PASS, Verdict.FAIL):
        lines.append(facts.duration_text(cell.duration_ms) + (" a run" if len(cell.tests) > 1 else ""))
    return lines


def _details(record: RunRecord, test: TestResult, options: RenderOptions) -> Iterator[str]:
    if test.verdict is Verdict.FAIL:
        text = "\n".join([failure_text(test), f"repro: {repro_line(record, test, options)}"])
        summary = facts.reasons(test)[0].text
    else:
        text = summary = facts.remark(test) or "there was nothing to check"
    yield f"<details><summary>{_marked(one_line(summary, 120))}</summary><pre>{_html(text)}</pre></details>"


def _sums(grid: Grid) -> Iterator[str]:
    """What each model came to."""
    if not grid.rows:
        return
    yield "<h2>Models</h2>"
    yield "<p>The results of the tests with each model.</p>"
    yield '<div class="wide"><table><thead><tr>'
    heads = ("Model", "Passed", "Failed", "Inconclusive", "Skipped", "Time")
    yield "".join(f'<th scope="col">{head}</th>' for head in heads) + "</tr></thead><tbody>"
    for model in grid.models:
        tests = grid.tests_of(model)
        cells = [str(sum(test.verdict is verdict for test in tests)) for verdict in Verdict]
        cells.append(facts.duration_text(sum(test.duration_ms for test in tests)))
        name = _html(one_line(model, NAME_LIMIT))
        row = "".join(f'<td class="n">{_html(cell)}</td>' for cell in cells)
        yield f'<tr><th scope="row">{name}</th>{row}</tr>'
    yield "</tbody></table></div>"


def _cost_table(record: RunRecord) -> Iterator[str]:
    """What each model cost, whether it was tested or judged, and each scorer: as `md` and `pretty` have it."""
    rows = [] if record.spending is None else model_rows(record.spending)
    if not rows:
        return
    yield "<h2>Spent</h2>"
    yield "<p>Models that were tested, models that judged, and scorers.</p>"
    yield '<div class="wide"><table><thead><tr>'
    yield "".join(f'<th scope="col">{head}</th>' for head in ("Model", "Calls", "Tokens", "Cost"))
    yield "</tr></thead><tbody>"
    for name, *cells in rows:
        told = "".join(f'<td class="n">{_html(cell)}</td>' for cell in cells)
        yield f'<tr><th scope="row">{_html(name)}</th>{told}</tr>'
    yield "</tbody></table></div>"


def _rollups(record: RunRecord, grid: Grid) -> Iterator[str]:
    """The mean of each metric over all tests of the run, and before it over those of each model, where there are several."""
    columns = {model: grid.rollups_of(model) for model in grid.models} if len(grid.models) > 1 else {}
    columns["All tests"] = record.metric_rollups
    if not record.metric_rollups:
        return
    yield "<h2>Metric rollups</h2>"
    yield '<div class="wide"><table>'
    heads = "".join(f'<th scope="col">{_html(one_line(name, NAME_LIMIT))}</th>' for name in columns)
    yield f'<thead><tr><th scope="col">Metric</th>{heads}</tr></thead><tbody>'
    means = {column: {one.name: one for one in rollups} for column, rollups in columns.items()}
    for rollup in record.metric_rollups:
        cells = "".join(
            "<td></td>"
            if found is None
            else f'<td class="n">{number_text(found.mean)}<small>mean of {found.count}</small></td>'
            for found in (means[column].get(rollup.name) for column in columns)
        )
        yield f'<tr><th scope="row">{_html(one_line(rollup.name, NAME_LIMIT))}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _marked(text: str) -> str:
    """Escaped, with what stands in backticks as code."""
    return _QUOTED.sub(r"<code>\1</code>", _html(text))


def _html(text: str) -> str:
    return html.escape(text)
