"""`/sessions`: the sessions of agents; `/sessions/{id}`: what one did, and first what it changed in its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.html.ledger import group_block, names_list, tools_table
from mcptest_engine.reporting.html.markup import Html, badge, joined, name_text, plain_table, section, tag, worded
from mcptest_engine.reporting.ledger import groups_of, merged_tools
from mcptest_engine.reporting.viewer.frame import (
    Page,
    address,
    framed,
    moment,
    row_badge,
    run_address,
    session_address,
    totals_text,
    when,
)
from mcptest_engine.workspace.ulid import is_ulid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest_engine.core.ledger import Ledger, LedgerTool, Turn
    from mcptest_engine.reporting.viewer.run_index import RunRow

SESSIONS_SHOWN = 200
RUNS_SHOWN = 100


def by_session(rows: Iterable[RunRow]) -> dict[str, list[RunRow]]:
    """The runs of each session in the order given; those of a person, or of an older version, are of none."""
    found: dict[str, list[RunRow]] = {}
    for row in rows:
        if row.session:
            found.setdefault(row.session, []).append(row)
    return found


def by_lineage(rows: Iterable[RunRow]) -> dict[str, list[RunRow]]:
    """The runs of one session by suite, whatever its text was in each of them."""
    found: dict[str, list[RunRow]] = {}
    for row in rows:
        found.setdefault(row.lineage or row.key, []).append(row)
    return found


def sessions_page(sessions: Mapping[str, Sequence[RunRow]]) -> Page:
    """Each session with its runs, the newest first."""
    note = worded(
        "A session lasts as long as one process of `mcptest mcp-server`: from the start of its client to its end."
    )
    heads = ("Asked by", "Began (UTC)", "To review", "Suites", "Runs")
    rows = [_session_row(session, own) for session, own in list(sessions.items())[:SESSIONS_SHOWN]]
    empty = tag("p", "No agent has asked for a run here yet.", class_="empty")
    table = plain_table("Sessions, the newest first", heads, rows, numbers=2) if rows else empty
    body = tag("section", table)
    return framed("Sessions", tag("h1", "Sessions"), tag("p", note, class_="muted"), body, here="/sessions", live=True)


def _session_row(session: str, rows: Sequence[RunRow]) -> tuple[str, ...]:
    changed = sum(row.doubtful for row in rows)
    mark = tag("span", counted(changed, "test"), class_="badge fail") if changed else "none"
    link = tag("a", name_text(rows[0].who), href=session_address(session))
    return link, when(rows[-1]), mark, str(len(by_lineage(rows))), str(len(rows))


def session_page(rows: Sequence[RunRow], suites: Mapping[str, Sequence[RunRow]], ledgers: Mapping[str, Ledger]) -> Page:
    """`rows` are the session's runs and `suites` the same by lineage, the newest first; `ledgers` are by lineage."""
    turns = [turn for lineage in suites for turn in ledgers[lineage].turns]
    title = f"Session of {name_text(rows[0].who)}"
    about = tag(
        "p",
        _headline(turns),
        tag("span", f"{counted(len(rows), 'run')} of {counted(len(suites), 'suite')}"),
        tag("span", when(rows[-1]), " to ", when(rows[0]), class_="muted"),
        class_="verdict",
    )
    return framed(
        title,
        tag("h1", title),
        about,
        _changes_cell(turns),
        tools_section(merged_tools(ledgers.values())),
        _others(turns),
        *(_timeline(at, own) for at, own in enumerate(suites.values())),
        here="/sessions",
        live=True,
    )


def ledger_section(ledger: Ledger) -> Html | None:
    """What turned in the runs of a suite; None where nothing did."""
    groups = groups_of(ledger.turns)
    note = f"The newest {counted(len(ledger.runs), 'run')}, each test compared with its earlier results."
    return (
        section("ledger", "Ledger", *(group_block(one, run_address) for one in groups), note=note) if groups else None
    )


def tools_section(tools: Sequence[LedgerTool]) -> Html | None:
    """Which tools are tested, and how strongly."""
    note = "After the newest result of each test."
    return section("tools", "Tools", tools_table(tools), note=note) if tools else None


def _headline(turns: Sequence[Turn]) -> Html:
    count = sum(turn.needs_review for turn in turns)
    return tag("span", f"{counted(count, 'test')} to review", class_="badge fail") if count else badge("pass")


def _changes_cell(turns: Sequence[Turn]) -> Html:
    groups = [group for group in groups_of(turns) if group.needs_review]
    title = "Review first"
    if not groups:
        told = (
            "No test was weakened, skipped or removed, and none passes because it was changed or its server replaced."
        )
        return section("changed", title, tag("p", told))
    return tag(
        "section",
        tag("h2", title, id="changed-title"),
        names_list(groups),
        *(group_block(group, run_address) for group in groups),
        id="changed",
        aria_labelledby="changed-title",
        class_="look",
    )


def _others(turns: Sequence[Turn]) -> Html | None:
    groups = [group for group in groups_of(turns) if not group.needs_review]
    title = "Passes for another reason"
    return section("others", title, *(group_block(one, run_address) for one in groups)) if groups else None


def _timeline(at: int, rows: Sequence[RunRow]) -> Html:
    """The runs of one suite, from the oldest to the newest."""
    shown = rows[:RUNS_SHOWN][::-1]
    newest = rows[0]
    table = plain_table(
        "Runs, the oldest first",
        ("Run", "Verdict", "Tests", "Took"),
        [
            (
                joined([tag("a", moment(row.started_at) or row.run_id, href=run_address(row.run_id)), _remark(row)]),
                row_badge(row),
                totals_text(row),
                facts.duration_text(row.duration_ms),
            )
            for row in shown
        ],
        numbers=1,
    )
    trends = tag("p", tag("a", "Trends of this suite", href=address("/suites", suite=newest.key)))
    left = len(rows) - len(shown)
    more = tag("p", f"{left:,} older runs are not shown.", class_="note") if left else None
    strip = tag("ol", *(tag("li", _cell(row)) for row in shown), class_="strip")
    title = "Runs of a suite that came as text" if is_ulid(newest.suite) else f"Runs of {name_text(newest.suite)}"
    return section(f"suite-{at}", title, strip, table, more, trends)


def _cell(row: RunRow) -> Html:
    told = f"{row.status}, {moment(row.started_at)}"
    return tag("a", tag("span", told, class_="hidden"), href=run_address(row.run_id), class_=f"cell {row.status}")


def _remark(row: RunRow) -> Html | None:
    told = [f"{counted(row.doubtful, 'test')} to review"] if row.doubtful else []
    told += [f"took {row.subset} tests"] if row.subset else []
    return tag("span", ", ".join(told), class_="sub") if told else None
