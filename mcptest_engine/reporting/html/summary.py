"""The first screen: what failed, what passed and needs a look, what nobody decided, what was tested, what was not, what acted.

Each answer is short and leads on. Names that do not fit are counted, never left out in silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.enums import Strength
from mcptest_engine.core.results import Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.reporting import facts, overview
from mcptest_engine.reporting.html.markup import Html, joined, name_text, section, tag, worded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.core.effects import Effect
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord

SHOWN = 6
NAMES_SHOWN = 40
TOOLS_SHOWN = 14
_REASON = 160


class _Line(NamedTuple):
    """Something about a test: where it leads, what is said of it, and its tool."""

    slug: str
    name: str
    tool: str | None
    text: str


def block(record: RunRecord, slugs: Mapping[str, str]) -> Html:
    """The answers side by side; those that want a look come first."""
    cells = (
        _suites(record),
        _failed_list(record, slugs),
        _doubtful(record, slugs),
        _undecided(record, slugs),
        _tested(record),
        _strength(record),
        None if record.suites else _untouched(record),
        _acted(record),
        _warned(record),
    )
    grid = tag("div", *(cell for cell in cells if cell is not None), class_="answers")
    return section("summary", "At a glance", grid)


def _cell(title: str, *children: str | None, kind: str = "", wide: bool = False) -> Html:
    return tag(
        "div", tag("h3", title), *children, class_=" ".join(filter(None, ("answer", kind, "broad" if wide else "")))
    )


def _suites(record: RunRecord) -> Html | None:
    """The suites of a run of several; what each covers is in the report of its own run."""
    if not record.suites:
        return None
    failed = sum(run.verdict != Verdict.PASS for run in record.suites)
    items = [
        tag(
            "li",
            tag("code", name_text(run.path)),
            f" {run.verdict}",
            tag("span", f"{facts.suite_text(run)}; run {run.run_id}", class_="sub"),
        )
        for run in record.suites
    ]
    items += [tag("li", tag("code", name_text(suite.path)), " not run") for suite in record.not_run]
    title = f"Suites: {len(record.suites) - failed:,} of {len(items):,} passed"
    note = tag(
        "p", "The report of a suite's own run has its coverage: mcptest report RUN --format html", class_="muted"
    )
    return _cell(title, tag("ul", *items), note, kind="fail" if failed or record.not_run else "pass")


def _failed_list(record: RunRecord, slugs: Mapping[str, str]) -> Html:
    failed = facts.tests_with(record, Verdict.FAIL)
    if not failed:
        return _cell("Failed: 0", tag("p", "No test failed.", class_="muted"), kind="pass" if record.tests else "")
    lines = (_summary_line(test, slugs, facts.reasons(test)[0].text) for test in failed[:SHOWN])
    return _cell(f"Failed: {len(failed):,}", _line_list(lines, len(failed)), kind="fail")


def _doubtful(record: RunRecord, slugs: Mapping[str, str]) -> Html | None:
    """What passed and says less by it than it seems."""
    found = list(_doubts(record, slugs))
    if not found:
        return None
    return _cell(f"Passed, but look again: {len(found):,}", _line_list(found[:SHOWN], len(found)), kind="inconclusive")


def _doubts(record: RunRecord, slugs: Mapping[str, str]) -> Iterator[_Line]:
    by_name = {test.name: slugs[test.id] for test in record.tests}
    for turn in overview.weakened_tests(record):
        yield _Line(by_name.get(turn.test, ""), turn.test, turn.tool, overview.weakened_text(turn))
    for test in overview.passed_on_errors(record):
        yield _summary_line(test, slugs, f"the server answered with an error: {overview.error_text(test)}")
    for test in facts.weak_tests(record):
        yield _summary_line(test, slugs, facts.weak_text(test))
    for test in facts.flaky_tests(record):
        yield _summary_line(test, slugs, facts.flaky_text(test))


def doubts_by_test(record: RunRecord, slugs: Mapping[str, str]) -> dict[str, list[str]]:
    """Why a test that passed says less than it seems, by its slug; for those who open it by a link."""
    found: dict[str, list[str]] = {}
    for line in _doubts(record, slugs):
        found.setdefault(line.slug, []).append(line.text)
    return found


def _undecided(record: RunRecord, slugs: Mapping[str, str]) -> Html | None:
    inconclusive, skipped = (facts.tests_with(record, verdict) for verdict in (Verdict.INCONCLUSIVE, Verdict.SKIP))
    if not inconclusive and not skipped:
        return None
    lines = [
        _summary_line(test, slugs, f"inconclusive: {facts.inconclusive_text(test)}") for test in inconclusive[:SHOWN]
    ]
    lines += [
        _summary_line(test, slugs, f"skipped: {facts.remark(test) or 'no reason given'}") for test in skipped[:SHOWN]
    ]
    count = len(inconclusive) + len(skipped)
    return _cell(f"Not decided: {count:,}", _line_list(lines[:SHOWN], count), kind="skip")


def _summary_line(test: TestResult, slugs: Mapping[str, str], text: str) -> _Line:
    return _Line(slugs[test.id], test.name, test.tool, text)


def _line_list(lines: Iterable[_Line], count: int) -> Html:
    items = [
        tag(
            "li",
            tag("a", name_text(line.name), href=f"#t-{line.slug}") if line.slug else name_text(line.name),
            joined([" ", tag("code", name_text(line.tool))]) if line.tool else None,
            tag("span", worded(one_line(line.text, _REASON)), class_="sub"),
        )
        for line in lines
    ]
    more = tag("li", tag("a", f"and {count - len(items):,} more", href="#review")) if count > len(items) else None
    return tag("ul", *items, more)


def _tested(record: RunRecord) -> Html:
    rows, known = overview.tool_rows(record), overview.tools_of_servers(record)
    title = f"Tested: {counted(len(rows), 'tool')}"
    if known is not None:
        title = f"Tested: {known.offered - len(known.untouched):,} of {counted(known.offered, 'tool')}"
    if not rows:
        return _cell(title, tag("p", "No test called a tool.", class_="muted"))
    several = len({row.server for row in rows}) > 1
    head = tag("tr", *(tag("th", word, scope="col") for word in ("Tool", "Tests passed", "Strongest check")))
    shown = [_tool_row(row, several=several) for row in rows[:TOOLS_SHOWN]]
    rest = [_tool_row(row, several=several) for row in rows[TOOLS_SHOWN:]]
    caption = tag("caption", "What was tested, and the strongest check that passed", class_="hidden")
    table = tag("table", caption, tag("thead", head), tag("tbody", *shown), class_="brief")
    more = None
    if rest:
        more = tag(
            "details",
            tag("summary", f"{counted(len(rest), 'more tool')}, no test of them failed"
                if all(not row.failed for row in rows[TOOLS_SHOWN:]) else counted(len(rest), "more tool")),
            tag("table", tag("caption", "More tools", class_="hidden"), tag("tbody", *rest), class_="brief"),
        )  # fmt: skip
    legend = tag("p", "value: a value is checked; shape: its type; valid: only that the call succeeds", class_="muted")
    return _cell(title, table, more, legend, wide=True)


def _tool_row(row: overview.ToolRow, *, several: bool) -> Html:
    server = tag("span", f" {row.server}", class_="muted") if several else None
    kind = "fail" if row.failed else None
    strongest = (
        row.strength.value if row.strength is not None else "nothing passed" if not row.passed else "not recorded"
    )
    return tag(
        "tr",
        tag("th", tag("code", name_text(row.tool)), server, scope="row"),
        tag("td", f"{row.passed} of {row.tests}", class_=kind),
        tag("td", strongest),
    )


def _strength(record: RunRecord) -> Html:
    counts = facts.strength_counts(record)
    if not counts:
        return _cell("How strongly", tag("p", "This record does not say how strong its tests are.", class_="muted"))
    rows = [
        tag("li", f"{count:,} {'checks' if count == 1 else 'check'} {words}")
        for strength, words in _DEMANDS.items()
        if (count := counts.get(strength, 0))
    ]
    scores = [test.mutation_score for test in record.tests if test.mutation_score is not None]
    measured = None
    if scores:
        share = facts.percent_text(sum(scores) / len(scores))
        measured = tag(
            "p", f"{share} of wrong answers noticed, mean of {counted(len(scores), 'test')} (mcptest mutate)"
        )
    return _cell(f"How strongly: {facts.value_checks(counts)}", tag("ul", *rows) if rows else None, measured)


_DEMANDS: Mapping[Strength, str] = {
    Strength.SHAPE: "that values are there, or their type",
    Strength.VALID: "only that the call succeeds, or fails",
    Strength.ANSWERED: "only that an answer comes",
}


def _untouched(record: RunRecord) -> Html:
    known = overview.tools_of_servers(record)
    if known is None:
        return _cell("Never tested", tag("p", overview.uncovered_text(record), class_="muted"), kind="inconclusive")
    names = known.untouched
    if not names:
        return _cell(
            "Never tested: 0 tools", tag("p", "Every tool of the servers was called.", class_="muted"), kind="pass"
        )
    shown = joined([tag("code", name_text(name)) for name in names[:NAMES_SHOWN]], ", ")
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else None
    return _cell(f"Never tested: {counted(len(names), 'tool')}", tag("p", shown, more), kind="inconclusive")


def _acted(record: RunRecord) -> Html:
    rows = overview.acting_calls(record)
    if record.effects is None or not record.effects.calls:
        called = bool(overview.tool_rows(record))
        told = "This record does not say which calls changed something." if called else "No tool was called."
        return _cell("Calls with effects: none" if not called else "Calls with effects", tag("p", told, class_="muted"))
    total = sum(row.count for row in record.effects.calls)
    if not rows:
        all_calls = (
            "The only call was of a tool that is" if total == 1 else f"All {total:,} calls were of tools that are"
        )
        told = f"{all_calls} read-only, or presumed so by name."
        return _cell("Calls with effects: none", tag("p", told, class_="muted"), kind="pass")
    items = [tag("li", *_effect(row)) for row in rows[:SHOWN]]
    more = tag("li", tag("a", f"and {len(rows) - SHOWN:,} more", href="#effects")) if len(rows) > SHOWN else None
    acting = sum(row.count for row in rows)
    title = f"Calls with effects: {acting:,} of {counted(total, 'tool call')}"
    destroys = any(row.tool_class == "destructive" for row in rows)
    return _cell(title, tag("ul", *items, more), kind="inconclusive" if destroys else "")


def _effect(row: Effect) -> Sequence[str]:
    told = f" {counted(row.count, 'call')}, {row.class_text}, {row.decision.value}"
    return tag("code", name_text(row.tool)), f"{told}, decided by {_DECIDERS[row.decided_by.value]}"


_DECIDERS = {"suite": "the suite", "model": "a model", "policy": "the policy", "person": "a person"}


def _warned(record: RunRecord) -> Html | None:
    notes = (*overview.remarkable(record), *facts.warning_texts(record))
    if not notes:
        return None
    items = [tag("li", worded(one_line(note, _REASON))) for note in notes[:4]]
    more = tag("li", tag("a", f"and {len(notes) - 4:,} more", href="#audit")) if len(notes) > 4 else None
    return _cell(f"Also: {counted(len(notes), 'remark')}", tag("ul", *items, more))
