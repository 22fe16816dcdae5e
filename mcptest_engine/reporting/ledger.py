"""The session ledger in words: what turned, in groups from what an auditor must see to what is only told."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.enums import Strength, Verdict
from mcptest_engine.core.ledger import LedgerTool, ToolStatus, TurnCause
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcptest_engine.core.ledger import Ledger, Turn
    from mcptest_engine.core.run_record import RunRecord

_LIMIT = 500
_LINES = 3


class Group(NamedTuple):
    """Turns that mean the same. `needs_review`: somebody has to look at them. `key` is their place on a page."""

    key: str
    title: str
    note: str
    turns: tuple[Turn, ...]
    needs_review: bool = False


def groups_of(turns: Iterable[Turn]) -> tuple[Group, ...]:
    """The turns in groups, those first that somebody has to look at; empty groups are left out."""
    turns = tuple(turns)
    weakened = [turn for turn in turns if turn.is_by_test and not turn.is_green_by_test and not turn.is_dropped]
    found = (
        Group(
            "green-by-test",
            "Passes because the test changed",
            "Each of these failed, and passes now. Its earlier version would fail on the new answer too.",
            tuple(turn for turn in turns if turn.is_green_by_test),
            needs_review=True,
        ),
        Group(
            "dropped",
            "Failed, then skipped or removed",
            "Nothing shows that what failed was corrected.",
            tuple(turn for turn in turns if turn.is_dropped),
            needs_review=True,
        ),
        Group("weakened", "Demands less than before", "These passed before.", tuple(weakened), needs_review=True),
        Group(
            "replaced",
            "Passes because something else answers",
            "Another command, URL or cassette has replaced the server that failed.",
            tuple(turn for turn in turns if turn.cause is TurnCause.REPLACED),
            needs_review=True,
        ),
        Group(
            "by-server",
            "Passes because the server changed",
            "The test demands what it did when it failed, or would pass if it did.",
            tuple(turn for turn in turns if turn.cause is TurnCause.SERVER),
        ),
        Group(
            "by-answer",
            "Passes because the answer changed",
            "Whether the server changed is not known: its program is not on this machine.",
            tuple(turn for turn in turns if turn.cause is TurnCause.ANSWER),
        ),
        Group(
            "by-neither",
            "Passes although nothing changed",
            "Neither the test nor the program of the server changed: the test is flaky, or depends on data.",
            tuple(turn for turn in turns if turn.cause is TurnCause.NEITHER),
        ),
        Group(
            "restored",
            "Weakened, then restored",
            "Each of these demands again what it had demanded.",
            tuple(turn for turn in turns if turn.restored_in is not None),
        ),
    )
    return tuple(group for group in found if group.turns)


def change_lines(turn: Turn) -> Iterator[str]:
    """What changed in the test, then in the server, one line each, with code between backticks."""
    for change in turn.changes:
        yield one_line(change.text, _LIMIT)
    for line in turn.server_changes:
        yield one_line(f"server: {line}", _LIMIT)


def ledger_lines(record: RunRecord) -> tuple[str, ...]:
    """A line for each test that passes since this run, or is no longer run, and nothing shows that the server was corrected.

    After a few of them, one says how many more there are.
    """
    if record.ledger is None:
        return ()
    now = [turn for turn in record.ledger.turns if turn.to_run == record.run_id and turn.needs_review]
    lines = [f'"{one_line(turn.test, 80)}" {turn_text(turn)}: {next(change_lines(turn), "")}' for turn in now[:_LINES]]
    more = len(now) - len(lines)
    return (*lines, *([f"{counted(more, 'more test')} like these: see `ledger` in the run record"] if more else ()))


def turn_text(turn: Turn) -> str:
    """What became of a test: "passes because the test changed"."""
    if turn.cause is TurnCause.REPLACED:
        return "passes because something else answers"
    if turn.is_green_by_test:
        return "passes because the test changed"
    if turn.after is Verdict.PASS:
        return "demands less than before"
    return "was dropped" if turn.is_dropped else "is no longer run"


def tools_text(tools: Iterable[LedgerTool]) -> str:
    """`4 tools: 2 passed, 1 failed, 1 untouched`."""
    tools = tuple(tools)
    counts = ((status, sum(tool.status is status for tool in tools)) for status in ToolStatus)
    told = ", ".join(f"{count} {status.value}" for status, count in counts if count)
    return f"{counted(len(tools), 'tool')}: {told}" if told else "no tool"


def merged_tools(ledgers: Iterable[Ledger]) -> tuple[LedgerTool, ...]:
    """The tools of several suites: each with the best that became of it, and its strongest demand that held."""
    order = list(ToolStatus)
    levels = list(Strength)
    found: dict[tuple[str, str], LedgerTool] = {}
    for tool in (tool for ledger in ledgers for tool in ledger.tools):
        key = (tool.server, tool.tool)
        known = found.get(key, tool)
        strengths = [one for one in (known.strength, tool.strength) if one is not None]
        offered = [one for one in (known.offered, tool.offered) if one is not None]
        found[key] = LedgerTool(
            server=tool.server,
            tool=tool.tool,
            status=min(known.status, tool.status, key=order.index),
            tests=tool.tests if known is tool else known.tests + tool.tests,
            strength=max(strengths, key=levels.index, default=None),
            offered=any(offered) if offered else None,
        )
    return tuple(found.values())
