"""`md`: a run as Markdown for a pull request's comment or a job's summary. Sums, failures folded away, then all tests.

A comment holds 65,536 characters, so failures and rows stop short of that, and what is left out is counted. Names and
messages are escaped for where they stand: GitHub reads no Markdown inside `<summary>`, and HTML everywhere.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from mcptest_engine.core.results import Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted, number_text
from mcptest_engine.reporting import compositions, facts, hook_facts
from mcptest_engine.reporting.failure_text import failure_text
from mcptest_engine.reporting.grid import NO_MODEL, grid_of
from mcptest_engine.reporting.layout import escape_markdown
from mcptest_engine.reporting.ledger import change_lines, groups_of, tools_text
from mcptest_engine.reporting.matrix import cell_lines
from mcptest_engine.reporting.repro import repro_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest_engine.core.ledger import Turn
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

FAILURES_ROOM = 40_000
ROWS_ROOM = 18_000

_MARKS = {Verdict.PASS: "✅", Verdict.FAIL: "❌", Verdict.INCONCLUSIVE: "❔", Verdict.SKIP: "⏭️"}
_FENCES = re.compile("`{3,}")


def render(record: RunRecord, options: RenderOptions) -> str:
    """Heading, sums, reasons and warnings, a fold a failure, the doubtful tests, and a fold with every test."""
    sections = [
        _heading(record),
        *_sums(record),
        *(["\n".join(f"- {line}" for line in facts.suite_lines(record))] if record.suites else []),
        *_remarks(record),
        *_turns(record),
        *_hooks(record),
        *_failures(record, options),
        *_doubtful(record),
        *_compositions(record),
        *_grid(record),
        *_all_tests(record),
        *_repeats(record),
        *_rollups(record),
        *_tools(record),
        *_effects(record),
        *_spending(record),
    ]
    return "\n\n".join(sections) + "\n"


def _heading(record: RunRecord) -> str:
    verdict = (
        Verdict.INCONCLUSIVE if record.verdict is Verdict.PASS and facts.unchecked_text(record) else record.verdict
    )
    mark = _MARKS[verdict if verdict in (Verdict.PASS, Verdict.INCONCLUSIVE) else Verdict.FAIL]
    return f"## {mark} {_inline(record.suite.name)}: {_inline(facts.counts_text(record))}"


def _sums(record: RunRecord) -> Iterator[str]:
    totals = record.totals
    cells = {
        "Passed": totals.passed,
        "Failed": totals.failed,
        "Inconclusive": totals.inconclusive,
        "Skipped": totals.skipped,
        "Flaky": len(facts.flaky_tests(record)),
        "Total": totals.total,
    }
    yield "\n".join(
        [
            f"| {' | '.join(cells)} | Time |",
            f"| {' | '.join('---:' for _ in cells)} | ---: |",
            f"| {' | '.join(map(str, cells.values()))} | {_html(facts.duration_text(record.duration_ms))} |",
        ]
    )


def _remarks(record: RunRecord) -> Iterator[str]:
    reason = facts.run_reason(record)
    if reason is not None:
        yield f"**Failed:** {_inline(reason)}"
    warnings = [f"- {_inline(warning)}" for warning in hook_facts.other_warnings(record)]
    if warnings:
        yield "### Warnings\n\n" + "\n".join(warnings)


def _turns(record: RunRecord) -> Iterator[str]:
    """Tests that failed before or demanded more, and why they pass now; those first that somebody has to look at."""
    for group in groups_of(record.ledger.turns if record.ledger is not None else ()):
        rows = [f"- <code>{_escaped(turn.test)}</code>{_changes(turn)}" for turn in group.turns]
        yield f"### {group.title}\n\n{_bounded(rows)}"


def _changes(turn: Turn) -> str:
    lines = [_inline(line) for line in change_lines(turn)]
    return f": {'; '.join(lines)}" if lines else ""


def _tools(record: RunRecord) -> Iterator[str]:
    """A fold with what became of each tool, with the strongest demand that held."""
    tools = record.ledger.tools if record.ledger is not None else ()
    rows = [f"| {_inline(one.tool)} | {one.status.value} | {one.strength or ''} | {one.tests} |" for one in tools]
    if rows:
        head = "| Tool | Tests | Strength | Number |\n| --- | --- | --- | ---: |\n"
        yield f"<details><summary>{tools_text(tools)}</summary>\n\n{head}{_bounded(rows)}\n\n</details>"


def _hooks(record: RunRecord) -> Iterator[str]:
    """A fold for every hook that failed."""
    folds = [
        f"<details><summary>{_MARKS[Verdict.FAIL]} <code>{_html(told.title)}</code></summary>\n\n"
        f"{_fenced(chr(10).join(told.lines) or '(no output)')}\n\n</details>"
        for told in hook_facts.hook_failures(record)
    ]
    if folds:
        yield "### Hooks\n\n" + _bounded(folds)


def _failures(record: RunRecord, options: RenderOptions) -> Iterator[str]:
    failed = facts.tests_with(record, Verdict.FAIL)
    if hook_facts.setup_failure(record) is not None:  # the hook's own fold says it for all of them
        failed = tuple(test for test in failed if not hook_facts.is_blocked_by_hook(test))
    if not failed:
        return
    yield "### Failures"
    used = shown = 0
    for test in failed:
        fold = _fold(record, test, options)
        used += len(fold)
        if shown and used > FAILURES_ROOM:
            break
        shown += 1
        yield fold
    if shown < len(failed):
        yield f"{counted(len(failed) - shown, 'more failure')} left out; the run record has them all."


def _fold(record: RunRecord, test: TestResult, options: RenderOptions) -> str:
    title = f"<code>{_html(one_line(test.name))}</code>"
    place = f" <sub>{_html(facts.place(test))}</sub>" if facts.place(test) else ""
    body = _fenced(failure_text(test))
    repro = _fenced(repro_line(record, test, options), "sh")
    return f"<details><summary>{_MARKS[Verdict.FAIL]} {title}{place}</summary>\n\n{body}\n\n{repro}\n\n</details>"


def _doubtful(record: RunRecord) -> Iterator[str]:
    """Inconclusive tests with their reasons, and flaky ones."""
    inconclusive = facts.tests_with(record, Verdict.INCONCLUSIVE)
    if inconclusive:
        yield "### Inconclusive\n\n" + _bounded(
            [f"- {_code(test)}: {_inline(facts.inconclusive_text(test))}" for test in inconclusive]
        )
    flaky = facts.flaky_tests(record)
    if flaky:
        yield "### Flaky\n\n" + _bounded([f"- {_code(test)}: {facts.flaky_text(test)}" for test in flaky])


def _compositions(record: RunRecord) -> Iterator[str]:
    """Each composition and how many of its cases passed."""
    rows = []
    for one in record.compositions:
        mark = _MARKS[Verdict.FAIL if one.count_of(Verdict.FAIL) else one.tests[0].verdict]
        spending = one.spending
        spent = "" if spending is None else f"{spending.tokens:,}"
        cost = "" if spending is None else _inline(facts.cost_text(spending.cost_usd))
        rows.append(
            f"| {mark} | <code>{_escaped(one.name)}</code> | {compositions.cases_text(one)} | {spent} | {cost} "
            f"| {_html(facts.duration_text(one.duration_ms))} |"
        )
    if rows:
        head = "| | Composition | Cases | Tokens | Cost | Time |\n| --- | --- | --- | ---: | ---: | ---: |\n"
        yield f"### Compositions\n\n{head}{_bounded(rows)}"


def _grid(record: RunRecord) -> Iterator[str]:
    """Agent tests and evals by models."""
    grid = grid_of(record)
    if not any(model != NO_MODEL for model in grid.models):
        return
    rows = []
    for row in grid.rows:
        cells = (row.cells.get(model) for model in grid.models)
        told = ("" if cell is None else "<br>".join(map(_inline, cell_lines(cell))) for cell in cells)
        marks = ("" if cell is None else f"{_MARKS[cell.verdict]} " for cell in (row.cells.get(m) for m in grid.models))
        rows.append(
            f"| <code>{_escaped(row.name)}</code> | " + " | ".join(map("".join, zip(marks, told, strict=True))) + " |"
        )
    heads = " | ".join(_inline(model) for model in grid.models)
    table = f"| Test | {heads} |\n| --- |{' --- |' * len(grid.models)}\n{_bounded(rows)}"
    yield f"### Models\n\n{table}"


def _spending(record: RunRecord) -> Iterator[str]:
    """What each model and scorer cost."""
    spending = record.spending
    rows = (
        []
        if spending is None
        else [f"| {' | '.join(map(_inline, row))} |" for row in compositions.model_rows(spending)]
    )
    if rows:
        yield "### Spent\n\n| Model | Calls | Tokens | Cost |\n| --- | ---: | ---: | ---: |\n" + _bounded(rows)


def _effects(record: RunRecord) -> Iterator[str]:
    """The calls that changed something or could have, and those that were not executed; the record has the rest."""
    notable = [] if record.effects is None else [row for row in record.effects.calls if row.is_notable]
    rows = [
        f"| {_inline(row.tool)} | {row.class_text} | {row.decision.value} | {row.decided_by.value} | {row.count:,} |"
        for row in notable
    ]
    if rows:
        head = "| Tool | Class | Decision | Decided by | Calls |\n| --- | --- | --- | --- | ---: |\n"
        yield "### Effects\n\n" + head + _bounded(rows)


def _all_tests(record: RunRecord) -> Iterator[str]:
    if not record.tests:
        return
    scored = any(test.score is not None or test.derived_metrics for test in record.tests)
    rated = any(test.strength is not None for test in record.tests)
    rows = [
        f"| {_MARKS[test.verdict]} {test.verdict.value} | {_code(test)} | {_inline(test.tool or '')} | {_inline(test.server)} "
        + (f"| {facts.strength_text(test)} " if rated else "")
        + (f"| {_inline(facts.score_text(test))} " if scored else "")
        + f"| {_inline(', '.join(filter(None, (facts.duration_text(test.duration_ms), facts.behind_text(test)))))} |"
        for test in record.tests
    ]
    heads, rules = ("Strength | ", "--- | ") if rated else ("", "")
    heads, rules = (f"{heads}Score | ", f"{rules}--- | ") if scored else (heads, rules)
    table = (
        f"| Verdict | Test | Tool | Server | {heads}Time |\n| --- | --- | --- | --- | {rules}---: |\n{_bounded(rows)}"
    )
    count = counted(len(record.tests), "test")
    yield f"<details><summary>All tests ({count})</summary>\n\n{table}\n\n</details>"


def _repeats(record: RunRecord) -> Iterator[str]:
    """How many runs of each repeated test passed."""
    if rows := [f"| {_inline(one.name)} | {one.passed} of {one.runs} |" for one in facts.repeated_tests(record)]:
        yield "### Repeats\n\n| Test | Passed |\n| --- | ---: |\n" + _bounded(rows)


def _rollups(record: RunRecord) -> Iterator[str]:
    """Each metric over the run."""
    rollups = record.metric_rollups
    if rollups:
        rows = [f"| {_inline(one.name)} | {number_text(one.mean)} | {one.count} |" for one in rollups]
        yield "### Metric rollups\n\n| Metric | Mean | Count |\n| --- | ---: | ---: |\n" + _bounded(rows)


def _bounded(lines: Sequence[str]) -> str:
    """As many lines as there is room for, and how many are missing."""
    used = 0
    for shown, line in enumerate(lines):
        used += len(line) + 1
        if shown and used > ROWS_ROOM:
            return "\n".join(lines[:shown]) + f"\n\n{len(lines) - shown} more left out; the run record has them all."
    return "\n".join(lines)


def _code(test: TestResult) -> str:
    """A test's name in a table or a list. `<code>`, because GitHub links no `@name` inside it."""
    return f"<code>{_escaped(test.name)}</code>"


def _inline(text: str) -> str:
    """`_escaped`, and an empty comment after each `@`, so that no server's words call a person."""
    return _escaped(text).replace("@", "@<!-- -->")


def _escaped(text: str) -> str:
    """One line in which nothing is Markdown or HTML, and a `|` ends no cell."""
    return escape_markdown(one_line(text))


def _html(text: str) -> str:
    return html.escape(text)


def _fenced(text: str, language: str = "text") -> str:
    """A code block whose fence is longer than any in the text."""
    fence = "`" * max(3, 1 + max((len(found) for found in _FENCES.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"
