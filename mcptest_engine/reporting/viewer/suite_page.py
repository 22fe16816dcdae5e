"""`/suites?suite=`: what a suite is coming to over its runs, as plots; `/tests?id=`: the same of one test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.html.markup import Html, badge, joined, name_text, plain_table, section, tag
from mcptest_engine.reporting.viewer.frame import Page, address, framed, moment, percent, row_badge, run_address
from mcptest_engine.reporting.viewer.plots import Series, plot
from mcptest_engine.reporting.viewer.session_page import ledger_section, tools_section
from mcptest_engine.reporting.viewer.trends import percentile, test_trends, times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_engine.core.ledger import Ledger
    from mcptest_engine.reporting.viewer.run_index import PastTest, RunRow
    from mcptest_engine.reporting.viewer.trends import Histories, TestTrend

TESTS_SHOWN = 500
STRIP = 30


def suite_page(rows: Sequence[RunRow], histories: Histories, ledger: Ledger, *, kept: int) -> Page:
    """`rows` are the runs shown, `histories` the tests of those that could be read, both from the oldest to the newest;
    `ledger` is that of the newest of them, and `kept` is how many runs of the suite there are.
    """
    newest = rows[-1]
    known = {row.run_id: tests for row, tests in histories}
    tests = test_trends(histories)
    flaky = [test for test in tests if test.is_flaky]
    title = joined([tag("h1", name_text(newest.suite)), _about(newest, len(rows), kept)])
    return framed(
        newest.suite,
        title,
        ledger_section(ledger),
        _plots(rows, [known.get(row.run_id) for row in rows]),
        _tests_section("flaky", "Flaky tests", flaky, _FLAKY) if flaky else None,
        _tests_section("tests", "Tests", tests, None) if tests else None,
        tools_section(ledger.tools),
        live=True,
    )


_EACH = "From the oldest to the newest run; each leads to the test there."
_FLAKY = (
    "They passed only after a failed attempt, or went from pass to fail and back more than once while the suite's text "
    "and the flags of its runs stayed the same."
)


def test_page(trend: TestTrend) -> Page:
    """One test over the runs of its suite."""
    rows = [row for row, _ in trend.results]
    took = [past.duration_ms if past.verdict != "skip" and not past.cached else None for _, past in trend.results]
    marks = [past.verdict for _, past in trend.results]
    durations = plot(
        "Duration",
        [Series("duration", "plain", took, marks)],
        names=[_run_link(row) for row in rows],
        told=facts.duration_text,
    )
    suite = address("/suites", suite=rows[-1].key)
    return framed(
        trend.name,
        tag("h1", name_text(trend.name)),
        tag("p", badge(trend.last.verdict), " ", _steadiness(trend)),
        tag("p", "A test of ", tag("a", name_text(rows[-1].suite), href=suite), class_="muted"),
        section("history", "Verdicts", _strip(trend.results), note=_EACH),
        section("durations", "Durations", durations),
        section("results", "Every run", _results(trend)),
        live=True,
    )  # fmt: skip


def _about(newest: RunRow, shown: int, kept: int) -> Html:
    some = counted(kept, "run") if shown == kept else f"the newest {shown} of {kept} runs"
    return tag(
        "p",
        row_badge(newest),
        tag("span", some),
        tag("code", name_text(newest.path)),
        tag("a", "its runs", href=address("/", suite=newest.key)),
        class_="verdict",
    )


def _plots(rows: Sequence[RunRow], tests: Sequence[tuple[PastTest, ...] | None]) -> Html:
    names = [_run_link(row) for row in rows]
    marks = [row.status for row in rows]
    taken = [None if found is None else times(found) for found in tests]
    half, most = ([None if found is None else percentile(found, share) for found in taken] for share in (50, 95))
    flaky = [None if found is None else float(sum(test.flaky for test in found)) for found in tests]
    figures = [
        plot("Pass rate", [Series("pass rate", "pass", [row.share for row in rows], marks)], names=names, told=percent,
             top=1.0),
        plot("Duration of the run", [Series("duration", "plain", [row.duration_ms for row in rows])], names=names,
             told=facts.duration_text),
        plot("Duration of its tests", [Series("median (p50)", "plain", half), Series("p95", "hook", most)], names=names,
             told=facts.duration_text),
        plot("Flaky tests", [Series("flaky tests", "inconclusive", flaky)], names=names, told=lambda count: f"{count:.0f}"),
    ]  # fmt: skip
    return section("trends", "Trends", tag("div", *figures, class_="figures"))


def _run_link(row: RunRow) -> Html:
    return tag("a", moment(row.started_at) or row.run_id, href=run_address(row.run_id))


def _tests_section(anchor: str, title: str, trends: Sequence[TestTrend], note: str | None) -> Html:
    rows = [_test_row(trend) for trend in trends[:TESTS_SHOWN]]
    more = len(trends) - len(rows)
    left = tag("p", f"{more:,} more tests are not shown.", class_="note") if more else None
    table = plain_table(title, ("Test", "Its verdicts", "Passed", "Median"), rows, numbers=2)
    return section(anchor, title, tag("div", table, class_="histories"), left, note=note)


def _test_row(trend: TestTrend) -> tuple[str, ...]:
    name = tag("a", name_text(trend.name), href=address("/tests", id=trend.id))
    middle = percentile(times(past for _, past in trend.results), 50)
    return (
        joined([name, tag("span", _steadiness(trend), class_="sub") if trend.is_flaky else None]),
        _strip(trend.results[-STRIP:]),
        f"{trend.passed} of {len(trend.results)}",
        "" if middle is None else facts.duration_text(middle),
    )


def _steadiness(trend: TestTrend) -> str:
    """`passed 8 of 9 times, 2 times only after a failed attempt, changed its verdict 3 times`."""
    told = f"passed {trend.passed} of {counted(len(trend.results), 'time')}"
    retried = f", {counted(trend.retried, 'time')} only after a failed attempt" if trend.retried else ""
    flips = f", changed its verdict {counted(trend.flips, 'time')} under the same suite" if trend.flips else ""
    return told + retried + flips


def _strip(results: Sequence[tuple[RunRow, PastTest]]) -> Html:
    return tag("ol", *(tag("li", _cell(row, past)) for row, past in results), class_="strip")


def _cell(row: RunRow, past: PastTest) -> Html:
    told = f"{name_text(past.verdict)}{', flaky' if past.flaky else ''}, {moment(row.started_at)}"
    there = run_address(row.run_id, past.slug)
    return tag("a", tag("span", told, class_="hidden"), href=there, class_=f"cell {_kind(past)}")


def _kind(past: PastTest) -> str:
    known = past.verdict in ("pass", "fail", "inconclusive", "skip")
    return f"{past.verdict} retried" if known and past.flaky else past.verdict if known else "skip"


def _results(trend: TestTrend) -> Html:
    rows = [
        (
            joined([tag("a", moment(row.started_at) or row.run_id, href=run_address(row.run_id, past.slug))]),
            joined([badge(past.verdict), " flaky" if past.flaky else None]),
            name_text(past.message),
            facts.duration_text(past.duration_ms) + (" (cached)" if past.cached else ""),
        )
        for row, past in reversed(trend.results)
    ]
    return plain_table("Every run of the test", ("Run", "Verdict", "Message", "Took"), rows, numbers=1)
