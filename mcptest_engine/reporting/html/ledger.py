"""The session ledger as HTML, for the report of a run and for the run viewer's pages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcptest_engine.core.clipping import show_text
from mcptest_engine.core.ledger import ToolStatus
from mcptest_engine.core.text import counted
from mcptest_engine.reporting.html.markup import Html, joined, name_text, plain_table, section, tag, worded
from mcptest_engine.reporting.html.review import diff_block
from mcptest_engine.reporting.ledger import change_lines, groups_of, tools_text
from mcptest_engine.workspace.ulid import is_ulid, ulid_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcptest_engine.core.ledger import LedgerTool, TestChange, Turn
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.ledger import Group

    RunLink = Callable[[str], str | None]
    """The address of a run's page; None where there is none."""

SHOWN = 100
TOOLS_SHOWN = 500
_STATUS_BADGES = {
    ToolStatus.PASSED: "pass",
    ToolStatus.PARTLY: "fail",
    ToolStatus.FAILED: "fail",
    ToolStatus.SKIPPED: "skip",
    ToolStatus.UNTOUCHED: "inconclusive",
}


def block(record: RunRecord) -> Html | None:
    """What turned in the run and what became of each tool; None where the record has no ledger."""
    if record.ledger is None or not (record.ledger.tools or record.ledger.turns):
        return None
    groups = groups_of(record.ledger.turns)
    earlier = len(record.ledger.runs) - 1
    note = f"Compared with {counted(earlier, 'earlier run')} of this suite." if earlier else "No earlier run is saved."
    parts = (group_block(group, lambda _run_id: None) for group in groups)
    return section("ledger", "Ledger", *parts, tag("h3", "Tools"), tools_table(record.ledger.tools), note=note)


def group_block(group: Group, link: RunLink) -> Html:
    """A heading, what the group means, and its tests: as cards where somebody has to look at them, else in a list."""
    shown = group.turns[:SHOWN]
    more = len(group.turns) - len(shown)
    left = (
        tag("p", f"{counted(more, 'more test')} not shown; the run records have them.", class_="note") if more else None
    )
    heading = tag("h3", f"{group.title} ({len(group.turns)})", id=group.key)
    if group.needs_review:
        return joined(
            [
                heading,
                tag("p", group.note, class_="about"),
                *(_card(turn, link, f"{group.key}-{at}") for at, turn in enumerate(shown)),
                left,
            ]
        )
    items = (tag("li", _name(turn), *_turn_lines(turn), tag("span", _runs(turn, link), class_="sub")) for turn in shown)
    return joined([heading, tag("p", group.note, class_="about"), tag("ul", *items, class_="warnings"), left])


def tools_table(tools: Sequence[LedgerTool]) -> Html:
    """Each tool with what became of it, those that nobody tested first."""
    if not tools:
        return tag("p", "No tool is known: no list was read, and no test calls one.", class_="empty")
    order = [ToolStatus.UNTOUCHED, ToolStatus.FAILED, ToolStatus.PARTLY, ToolStatus.SKIPPED, ToolStatus.PASSED]
    rows = sorted(tools, key=lambda tool: order.index(tool.status))[:TOOLS_SHOWN]
    heads = ("Tool", "Server", "Tests", "Strength", "Number")
    table = plain_table("Tools", heads, map(_tool_cells, rows), numbers=1, extra=1)
    left = len(tools) - len(rows)
    more = tag("p", f"{left:,} more tools are not shown.", class_="note") if left else None
    about = f"{tools_text(tools)}. The strength is that of the strongest test that passes."
    return joined([tag("p", about, class_="about"), table, more])


def _tool_cells(tool: LedgerTool) -> tuple[str, ...]:
    status = tag("span", tool.status.value, class_=f"badge {_STATUS_BADGES[tool.status]}")
    unlisted = tag("span", "not listed by the server", class_="sub") if tool.offered is False else None
    return (
        joined([tag("code", name_text(tool.tool)), unlisted]),
        name_text(tool.server),
        status,
        tool.strength or "",
        f"{tool.tests:,}",
    )


def names_list(groups: Iterable[Group]) -> Html | None:
    """The tests of groups by name, each leading to its card, so that all are on one screen; None for one or two."""
    links = [
        tag("a", name_text(turn.test), href=f"#{group.key}-{at}")
        for group in groups
        for at, turn in enumerate(group.turns[:SHOWN])
    ]
    return tag("p", joined(links, ", ")) if len(links) > 2 else None


def _card(turn: Turn, link: RunLink, anchor: str) -> Html:
    changes = (part for change in turn.changes for part in _change(change))
    server = (tag("p", worded(f"server: {line}"), class_="about") for line in turn.server_changes)
    title = tag("h4", _name(turn))
    return tag(
        "article", title, tag("p", _runs(turn, link), class_="about"), *changes, *server, class_="doubt fail", id=anchor
    )


def _change(change: TestChange) -> Iterator[Html]:
    place = [": ", tag("code", name_text(change.place))] if change.place else []
    yield tag("p", change.title, *place, class_="why")
    lines = [f"{mark} {show_text(text, 500)}" for mark, text in (("-", change.before), ("+", change.after)) if text]
    if lines:
        yield diff_block(lines)


def _name(turn: Turn) -> Html:
    tool = tag("code", name_text(turn.tool)) if turn.tool is not None else None
    return joined([tag("strong", name_text(turn.test)), None if tool is None else " ", tool])


def _turn_lines(turn: Turn) -> Iterator[Html]:
    for line in change_lines(turn):
        yield joined([" · ", worded(line)])


def _runs(turn: Turn, link: RunLink) -> Html:
    """`fail 2026-01-02 03:04:05 → pass 2026-01-02 03:05:00`, each leading to its run."""
    sides = ((turn.before.value, turn.from_run), ("removed" if turn.after is None else turn.after.value, turn.to_run))
    parts = [joined([word, " ", _run_link(run_id, link)]) for word, run_id in sides]
    if turn.restored_in is not None:
        parts.append(joined(["restored ", _run_link(turn.restored_in, link)]))
    return tag("span", joined(parts, " → "), class_="muted")


def _run_link(run_id: str, link: RunLink) -> Html:
    text = moment_of(run_id)
    address = link(run_id)
    return tag("span", text) if address is None else tag("a", text, href=address)


def moment_of(run_id: str) -> str:
    """When a run began, in UTC, by its id."""
    if not is_ulid(run_id):
        return name_text(run_id)
    return datetime.fromtimestamp(ulid_seconds(run_id), UTC).strftime("%Y-%m-%d %H:%M:%S")
