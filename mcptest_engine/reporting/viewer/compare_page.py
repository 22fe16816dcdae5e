"""`/compare?a=&b=`: what became of each test from one run to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.reporting import facts
from mcptest_engine.reporting.html.markup import (
    Html,
    badge,
    facts_list,
    joined,
    name_text,
    plain_table,
    section,
    tag,
    worded,
)
from mcptest_engine.reporting.html.page import slugs_of
from mcptest_engine.reporting.run_diff import sections, sums
from mcptest_engine.reporting.viewer.frame import Page, address, compare_address, framed, moment, run_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.compare import Pair, RunComparison
    from mcptest_engine.reporting.viewer.run_index import RunRow

ROWS = 500


def compare_page(compared: RunComparison) -> Page:
    """Two runs side by side, then their tests by what became of them."""
    before, after = compared.before, compared.after
    places = _Places(before), _Places(after)
    swap = tag("a", "Swap the runs", href=compare_address(after.run_id, before.run_id))
    runs = facts_list([("Before", _run_cell(before)), ("After", _run_cell(after))])
    notes = (
        tag("ul", *(tag("li", worded(note)) for note in compared.notes), class_="warnings") if compared.notes else None
    )
    found = [
        _block(at, part.heading, part.pairs, [part.remark(pair) for pair in part.pairs[:ROWS]], places)
        for at, part in enumerate(sections(compared))
    ]
    same = None if found else tag("section", tag("p", "No test changed.", class_="empty"))
    title = tag("h1", "Compare two runs")
    about = tag("p", sums(compared), ". ", swap, ".")
    return framed("Compare two runs", title, about, tag("section", runs, notes), *found, same, here="/compare")


def pick_page(rows: Sequence[RunRow], told: str | None) -> Page:
    """Two runs are yet to be named; `told` says what was wrong with those that were."""
    sound = [row for row in rows if not row.damaged]
    options = [(row.run_id, f"{moment(row.started_at)} {name_text(row.suite)}: {row.status}") for row in sound]
    title = tag("h1", "Compare two runs")
    wrong = tag("p", told, class_="reason", role="alert") if told else None
    if len(sound) < 2:
        body: Html = tag("p", "There are not two runs here yet.", class_="empty")
    else:
        body = tag(
            "form",
            _select("Before", "a", options, 1),
            _select("After", "b", options, 0),
            tag("button", "Compare", type="submit"),
            method="get",
            action="/compare",
            class_="controls",
        )
    return framed("Compare two runs", title, wrong, tag("section", body), here="/compare", status=400 if told else 200)


def _select(label: str, name: str, options: Sequence[tuple[str, str]], chosen: int) -> Html:
    shown = [tag("option", text[:120], value=value, selected=at == chosen) for at, (value, text) in enumerate(options)]
    return tag("label", label, " ", tag("select", *shown, name=name))


def _run_cell(record: RunRecord) -> Html:
    link = tag("a", f"{name_text(record.suite.name)}, {moment(record.started_at)}", href=run_address(record.run_id))
    told = f" {facts.counts_text(record)} in {facts.duration_text(record.duration_ms)}"
    return joined([badge(record.verdict), " ", link, tag("span", told, class_="sub")])


def _name(pair: Pair) -> Html:
    return tag("a", name_text(pair.either.name), href=address("/tests", id=pair.either.id))


class _Places:
    """Where the tests of a run are shown."""

    def __init__(self, record: RunRecord) -> None:
        self._run_id, self._slugs = record.run_id, slugs_of(record)

    def link(self, test: TestResult | None) -> Html:
        """A test's verdict and time there; a dash for one that the run has not."""
        if test is None:
            return tag("span", "not there", class_="none")
        there = tag("a", facts.duration_text(test.duration_ms), href=run_address(self._run_id, self._slugs[test.id]))
        return joined([badge(test.verdict), " ", there])


def _sub(pair: Pair, remark: str) -> Html | None:
    """What is said of a test under its name, unless it is the verdict that stands beside it."""
    return tag("span", worded(remark), class_="sub") if remark and remark != pair.either.verdict.value else None


def _block(
    at: int, heading: str, pairs: Sequence[Pair], remarks: Sequence[str], places: tuple[_Places, _Places]
) -> Html:
    rows = [
        (
            joined([_name(pair), _sub(pair, remark)]),
            places[0].link(pair.before),
            places[1].link(pair.after),
        )
        for pair, remark in zip(pairs, remarks, strict=False)
    ]
    title = heading.capitalize()
    more = len(pairs) - len(rows)
    left = tag("p", f"{more:,} more are not shown.", class_="note") if more else None
    table = plain_table(title, ("Test", "Before", "After"), rows)
    return section(f"part-{at}", f"{title} ({len(pairs):,})", table, left)
