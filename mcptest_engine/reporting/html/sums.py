"""The blocks below the table: hooks, coverage, effects, metrics, compositions, what was spent, and the foot of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.effects import CLASSES
from mcptest_engine.core.results import Verdict
from mcptest_engine.core.run_record import SCHEMA_VERSION
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import number_text
from mcptest_engine.reporting import compositions, facts, hook_facts
from mcptest_engine.reporting.html.markup import (
    Html,
    badge,
    bar,
    block_of,
    joined,
    name_text,
    plain_table,
    section,
    tag,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.costs import CompositionSum
    from mcptest_engine.core.coverage import Dimension
    from mcptest_engine.core.effects import Effect
    from mcptest_engine.core.run_record import HookResult, RunRecord

HOOKS_SHOWN = 200
NAMES_SHOWN = 500
NAMES_OPEN = 40
HASHES_SHOWN = 3


def blocks(record: RunRecord) -> Iterator[Html | None]:
    """Each block of which the run has anything to tell."""
    yield _compositions(record)
    yield _hooks(record)
    yield _coverage(record)
    yield _effects(record)
    yield _repeats(record)
    yield _metrics(record)
    yield _spending(record)


def foot(record: RunRecord) -> Html:
    """What this file is, and what it is not."""
    what = (
        f"A report of the run {name_text(record.run_id)}, made by mcptest {name_text(record.mcptest_version)} "
        f"from its record ({SCHEMA_VERSION}) alone."
    )
    trust = (
        "This file is complete in itself: it loads nothing, sends nothing, and runs no script out of the data it shows. "
        "Texts of servers are shown with control characters made visible; secrets were masked before the run was saved."
    )
    mark = tag("p", tag("span", "mcp", class_="brand-a"), tag("span", "test", class_="brand-b"), class_="brand")
    return joined([mark, tag("p", what), tag("p", trust)])


def _compositions(record: RunRecord) -> Html | None:
    found = record.compositions
    if not found:
        return None
    costs = any(one.spending is not None for one in found)
    heads = ("Composition", "Passed", *(("Tokens", "Cost") if costs else ()), "Time")
    rows = [_composition(one, costs=costs) for one in found]
    table = plain_table("Compositions", heads, rows, numbers=len(heads) - 1)
    return section("compositions", "Compositions", table)


def _composition(one: CompositionSum, *, costs: bool) -> tuple[str, ...]:
    verdict = Verdict.FAIL if one.count_of(Verdict.FAIL) else one.tests[0].verdict
    spending = one.spending
    spent = ("", "") if spending is None else (f"{spending.tokens:,}", facts.cost_text(spending.cost_usd))
    return (
        joined([badge(verdict), " ", name_text(one.name)]),
        f"{one.count_of(Verdict.PASS)} of {len(one.tests)}",
        *(spent if costs else ()),
        facts.duration_text(one.duration_ms),
    )


def _hooks(record: RunRecord) -> Html | None:
    if not record.hooks:
        return None
    names = {test.id: test.name for test in record.tests}
    failed_first = sorted(record.hooks, key=lambda hook: hook.passed)[:HOOKS_SHOWN]
    rows = [_hook_row(hook, names.get(hook.test or "", "")) for hook in failed_first]
    more = len(record.hooks) - len(rows)
    left = tag("p", f"{more:,} more hooks passed; the run record has them.", class_="note") if more else None
    heads = ("Hook", "Command", "Around", "Result", "Time")
    return section("hooks", "Hooks", plain_table("Hooks that ran", heads, rows, numbers=1), left)


def _hook_row(hook: HookResult, test: str) -> tuple[str, ...]:
    lines = hook_facts.output_lines(hook)
    output = tag("details", tag("summary", "output"), block_of("\n".join(lines))) if lines else None
    told = one_line(hook.message or f"exit code {hook.exit_code}", facts.MESSAGE_LIMIT)
    came_to = joined([badge(Verdict.PASS if hook.passed else Verdict.FAIL), " ", told, output])
    where = name_text(test) if hook.test is not None else "the run"
    return hook.phase, tag("code", name_text(hook.command)), where, came_to, facts.duration_text(hook.duration_ms)


def _coverage(record: RunRecord) -> Html | None:
    if not record.coverage:
        return None
    heads = ("What is counted", "Share", "Covered", "Floor")
    table = plain_table(
        "Coverage of what the servers offer", heads, [_covered(row) for row in record.coverage], numbers=2, extra=1
    )
    missing = [_missing(row) for row in record.coverage if row.missing]
    return section(
        "coverage",
        "Coverage",
        table,
        *missing,
        note="How much of what the servers offer passing tests covered, and how many tests check a value.",
    )


def _effects(record: RunRecord) -> Html | None:
    if record.effects is None or not record.effects.calls:
        return None
    rows = sorted(record.effects.calls, key=lambda row: -CLASSES.index(row.tool_class))
    table = plain_table(
        "Calls of tools",
        ("Tool", "Server", "Class", "Decision", "Decided by", "Arguments", "Calls"),
        [_effect(row) for row in rows[:NAMES_SHOWN]],
        numbers=1,
    )
    left = len(rows) - NAMES_SHOWN
    more = tag("p", f"{left:,} more rows; the run record has them.", class_="note") if left > 0 else None
    return section("effects", "Effects", table, more, note="Every call of a tool in this run, and who decided it.")


def _effect(row: Effect) -> tuple[str, ...]:
    hashes = ", ".join(row.arguments[:HASHES_SHOWN])
    more = f" and {len(row.arguments) - HASHES_SHOWN} more" if len(row.arguments) > HASHES_SHOWN else ""
    return (
        tag("code", name_text(row.tool)),
        name_text(row.server),
        row.class_text,
        row.decision.value,
        row.decided_by.value,
        tag("code", f"{hashes}{more}") if hashes else "",
        f"{row.count:,}",
    )


def _covered(row: Dimension) -> tuple[str, ...]:
    name = row.shown_name.capitalize()
    if row.unknown is not None:
        return name, "", f"not counted: {one_line(row.unknown, facts.MESSAGE_LIMIT)}", _floor(row)
    if not row.total:
        return name, "", "nothing offered", _floor(row)
    kind = "fail" if row.is_short else "pass" if row.judged else "plain"
    return (
        name,
        bar(0, row.percent, kind, total=100),
        f"{row.covered} of {row.total}, {row.shown_percent:g}\u00a0%",
        _floor(row),
    )


def _floor(row: Dimension) -> str:
    if row.floor is None:
        return "none"
    if row.is_short:
        return tag("span", f"{row.floor:g}\u00a0%, not met", class_="short-of")
    return f"{row.floor:g}\u00a0%, {'met' if row.judged else 'not judged'}"


def _missing(row: Dimension) -> Html:
    names = [tag("li", tag("code", name_text(name))) for name in row.missing[:NAMES_SHOWN]]
    more = len(row.missing) - len(names)
    title = tag("summary", f"{row.missing_name.capitalize()} ({len(row.missing)})")
    names_list = tag("ul", *names, tag("li", f"and {more} more") if more else None, class_="names")
    return tag("details", title, names_list, open=len(row.missing) <= NAMES_OPEN)


def _repeats(record: RunRecord) -> Html | None:
    rows = [(name_text(one.name), f"{one.passed} of {one.runs}") for one in facts.repeated_tests(record)]
    return section("repeats", "Repeats", plain_table("Repeats", ("Test", "Passed"), rows, numbers=1)) if rows else None


def _metrics(record: RunRecord) -> Html | None:
    rows = [(name_text(one.name), number_text(one.mean), str(one.count)) for one in record.metric_rollups]
    heads = ("Metric", "Mean", "Tests")
    return section("metrics", "Metric rollups", plain_table("Metric rollups", heads, rows, numbers=2)) if rows else None


def _spending(record: RunRecord) -> Html | None:
    spending = record.spending
    if spending is None:
        return None
    table = plain_table(
        "What each model cost", ("Model", "Calls", "Tokens", "Cost"), compositions.model_rows(spending), numbers=3
    )
    return section(
        "spending",
        "Spending",
        table,
        note=f"Together {compositions.spending_text(spending)}, as the calls reported.",
    )
