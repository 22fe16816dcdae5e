"""`/`: the runs, newest first, with what each suite is coming to above them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.text import counted
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.html.markup import Html, bar, joined, name_text, section, tag
from mcptest_engine.reporting.viewer.frame import (
    Page,
    address,
    framed,
    percent,
    row_badge,
    run_address,
    totals_text,
    when,
)
from mcptest_engine.reporting.viewer.plots import spark
from mcptest_engine.reporting.viewer.trends import by_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcptest_engine.reporting.viewer.run_index import RunRow
    from mcptest_engine.workspace.active_runs import ActiveRun

A_PAGE = 50
SUITES_SHOWN = 6
MOST_SUITES = 100
SPARKED = 30
VERDICTS = ("pass", "fail", "inconclusive", "damaged")


class RunFilter(NamedTuple):
    """Which runs are asked for; "" is any, and pages count from 1."""

    suite: str = ""
    verdict: str = ""
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> RunFilter:
        """What an address asks for; a page that is no number is the first."""
        page = query.get("page", "")
        number = int(page) if page.isascii() and page.isdigit() and len(page) < 7 else 1
        return cls(query.get("suite", ""), query.get("verdict", ""), max(number, 1))

    def takes(self, row: RunRow) -> bool:
        """Whether a run is asked for."""
        if self.suite and (row.damaged or row.key != self.suite):
            return False
        return not self.verdict or self.verdict == ("damaged" if row.damaged else row.status)


def list_page(rows: Sequence[RunRow], active_runs: Sequence[ActiveRun], wanted: RunFilter, place: str) -> Page:
    """`place` is the folder of the workspace, as it is shown."""
    suites = by_suite(rows)
    title = tag("h1", "Runs")
    where = tag("p", f"{counted(len(rows), 'run')} kept in ", tag("code", name_text(place)), class_="muted")
    return framed(
        "Runs",
        title,
        where,
        _now(active_runs) if active_runs else None,
        _suites(suites) if suites else None,
        _runs(rows, suites, wanted),
        here="/",
        live=True,
    )


def _now(active_runs: Sequence[ActiveRun]) -> Html:
    note = "They have no record yet. A run that was killed leaves none."
    return section(
        "now", f"Active runs ({len(active_runs)})", tag("ul", *map(_progress_item, active_runs[:10])), note=note
    )


def _progress_item(run: ActiveRun) -> Html:
    """How far a run is, where it says so."""
    if not run.suite:
        return tag("li", "a run that began at ", tag("code", run.run_id))
    bad = [f"{count} {word}" for count, word in ((run.failed, "failed"), (run.inconclusive, "inconclusive")) if count]
    far = f" {run.finished} of {counted(run.total, 'test')}{''.join(f', {one}' for one in bad)} "
    line = bar(0, min(run.finished, run.total), "fail" if run.failed else "plain", total=run.total)
    return tag("li", name_text(run.suite), far, tag("code", run.run_id), line)


def _suites(suites: Mapping[str, Sequence[RunRow]]) -> Html:
    cards = [_card(key, rows) for key, rows in list(suites.items())[:MOST_SUITES]]
    rest = cards[SUITES_SHOWN:]
    more = tag(
        "details",
        tag("summary", counted(len(rest), "more suite")),
        tag("ul", *rest, class_="cards"),
        id="more-suites",
    )
    return section("suites", "Suites", tag("ul", *cards[:SUITES_SHOWN], class_="cards"), more if rest else None)


def _card(key: str, rows: Sequence[RunRow]) -> Html:
    newest, shown = rows[0], rows[:SPARKED][::-1]
    took = [row.duration_ms for row in shown]
    shares = [row.share for row in shown]
    now = "no test was decided" if newest.share is None else f"{percent(newest.share)} pass"
    name = tag("a", name_text(newest.suite), href=address("/suites", suite=key))
    return tag(
        "li",
        tag("h3", name, " ", row_badge(newest)),
        _sparked(now, "Pass rate", shares, percent, kind="pass", top=1.0),
        _sparked(
            facts.duration_text(newest.duration_ms),
            "Duration",
            took,
            facts.duration_text,
            kind="plain",
            top=max(took),
        ),
        tag("p", f"{counted(len(rows), 'run')}, ", tag("code", name_text(newest.path)), class_="about"),
    )


def _sparked(
    now: str, title: str, values: Sequence[float | None], told: Callable[[float], str], *, kind: str, top: float
) -> Html:
    """How it stands, and how it came to that; of a single run there is no more to see than what it says."""
    line = spark(title, values, told, kind=kind, top=top) if len(values) > 1 else None
    return tag("p", tag("span", now), line, class_="sparked")


def _runs(rows: Sequence[RunRow], suites: Mapping[str, Sequence[RunRow]], wanted: RunFilter) -> Html:
    taken = [row for row in rows if wanted.takes(row)]
    pages = max(-(-len(taken) // A_PAGE), 1)
    at = min(wanted.page, pages)
    shown = taken[(at - 1) * A_PAGE : at * A_PAGE]
    filters = _filters(suites, wanted) if rows else None
    if not shown:
        told = "No run fits this filter." if rows else "No run is saved here yet."
        hint = (
            None if rows else tag("p", "Run a suite with ", tag("code", "mcptest run"), "; it appears here by itself.")
        )
        return section("runs", "All runs", filters, tag("p", told, class_="empty"), hint)
    heads = ("Compare", "Suite", "Verdict", "Tests", "Took", "Mode", "Asked by", "Began (UTC)", "Source")
    kinds = ("c-pick", "c-name", "c-verdict", "c-sums", "c-took num", "c-more", "c-more", "c-when", "c-more")
    head = (
        tag("th", tag("span", word, class_="hidden" if word == "Compare" else None), scope="col", class_=kind)
        for word, kind in zip(heads, kinds, strict=True)
    )
    table = tag(
        "table",
        tag("caption", "Runs, the newest first", class_="hidden"),
        tag("thead", tag("tr", *head)),
        tag("tbody", *(_run_row(row) for row in shown)),
        class_="runs",
    )
    compare = tag("p", tag("button", "Compare two runs", type="submit", id="compare"), class_="controls compare-bar")
    form = tag("form", table, compare, method="get", action="/compare")
    return section("runs", "All runs", filters, form, _pages(wanted, at, pages, len(taken)))


def _filters(suites: Mapping[str, Sequence[RunRow]], wanted: RunFilter) -> Html:
    names = [(key, rows[0].suite) for key, rows in suites.items()]
    options = [(key, f"{name} ({key})" if name != key else name) for key, name in names]
    if wanted.suite and wanted.suite not in suites:
        options.append((wanted.suite, wanted.suite))
    any_wanted = wanted.suite or wanted.verdict
    return tag(
        "form",
        _select("Suite", "suite", options, wanted.suite),
        _select("Verdict", "verdict", [(word, word) for word in VERDICTS], wanted.verdict),
        tag("button", "Show", type="submit"),
        tag("a", "Show all", href="/") if any_wanted else None,
        method="get", action="/", class_="controls", aria_label="Which runs", id="filters",
    )  # fmt: skip


def _select(label: str, name: str, options: Sequence[tuple[str, str]], chosen: str) -> Html:
    # The value of an option is asked for as it is: no name of a suite is cut.
    shown = [
        tag("option", name_text(text)[:80], value=value, selected=value == chosen)
        for value, text in [("", "any"), *options]
    ]
    return tag("label", label, " ", tag("select", *shown, name=name, id=f"filter-{name}"))


def _run_row(row: RunRow) -> Html:
    link = run_address(row.run_id)
    if row.damaged:
        told = tag("span", f"{row.run_id}.json, {row.size:,} bytes", class_="sub")
        name = tag("th", tag("a", "damaged record", href=link, class_="name"), told, scope="row", class_="c-name")
        return tag(
            "tr", tag("td", class_="c-pick"), name, tag("td", row_badge(row), class_="c-verdict"), tag("td", colspan=6)
        )
    label = f"Compare {name_text(row.suite)} of {name_text(row.started_at)}"
    pick = tag("input", type="checkbox", name="run", value=row.run_id, aria_label=label)
    also = ", ".join(filter(None, (row.mode if row.mode != "live" else "", row.who, row.branch)))
    remark = joined(filter(None, (tag("code", name_text(row.path)), _marks(row), _short(also))), " ")
    return tag(
        "tr",
        tag("td", pick, class_="c-pick"),
        tag("th", tag("a", name_text(row.suite), href=link, class_="name"), tag("span", remark, class_="sub"),
            scope="row", class_="c-name"),
        tag("td", row_badge(row), class_="c-verdict"),
        tag("td", totals_text(row), class_="c-sums"),
        tag("td", facts.duration_text(row.duration_ms), class_="c-took num"),
        tag("td", name_text(row.mode), class_="c-more"),
        tag("td", name_text(row.who) or "command\u00a0line", class_="c-more"),
        tag("td", when(row), class_="c-when"),
        tag("td", _source(row), class_="c-more"),
    )  # fmt: skip


def _short(text: str) -> Html | None:
    return tag("span", name_text(text), class_="short") if text else None


def _marks(row: RunRow) -> str | None:
    marks = [*(["interrupted"] if row.interrupted else []), *([f"shard {row.shard}"] if row.shard else [])]
    marks += [f"{row.subset} tests"] if row.subset else []
    marks += [f"{counted(row.doubtful, 'test')} to review"] if row.doubtful else []
    return ", ".join(marks) or None


def _source(row: RunRow) -> Html:
    commit = tag("code", name_text(row.commit)[:10] + ("+" if row.dirty else "")) if row.commit else None
    return joined([part for part in (name_text(row.branch) or None, commit) if part], " ")


def _pages(wanted: RunFilter, at: int, pages: int, count: int) -> Html:
    def link(page: int, word: str) -> Html:
        asked = "" if page == 1 else str(page)
        return tag("a", word, href=address("/", suite=wanted.suite, verdict=wanted.verdict, page=asked))

    return tag(
        "nav",
        link(at - 1, "← Newer") if at > 1 else None,
        tag("span", f"page {at} of {pages}, {counted(count, 'run')}", class_="muted"),
        link(at + 1, "Older →") if at < pages else None,
        aria_label="Pages",
        class_="pages",
    )
