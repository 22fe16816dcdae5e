"""What agents did as rows: verdict, time, result, the suite, and the agent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len

from mcptest_tui.safe import one_line
from mcptest_tui.state.agent_rows import clock_shown
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.widgets.text_view import TextView
from mcptest_tui.words import MARKS, key_of, mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest_tui.state.agents import AgentsView
    from mcptest_tui.widgets.lines import Piece

HELP = """What coding agents did in this workspace through `mcptest mcp-server`, newest first, as it happens: runs with
their results, suites that came as text and have no result, and proposals for you to review. {agents.open} shows the result
of a run; {agents.repro} copies the command that runs it again; {agents.edit} opens its suite; {agents.tests} goes to the
test that failed; {agents.review} reviews the proposals."""
OUTCOME, WHO = 14, 16
WIDE = 64
"""Cells from which there is room for seconds."""


class AgentList(Lines):
    """Draws an `AgentsView`. The cursor stays on its row when others come above it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"agent-list--{name}" for name in ("pass", "fail", "inconclusive", "skip", "new", "dim", "who")
    }
    DEFAULT_CSS = """
    AgentList {
        & > .agent-list--pass { color: $verdict-pass; text-style: bold; }
        & > .agent-list--fail { color: $verdict-fail; text-style: bold; }
        & > .agent-list--inconclusive { color: $verdict-inconclusive; text-style: bold; }
        & > .agent-list--skip { color: $verdict-skip; }
        & > .agent-list--new { color: $foreground 65%; }
        & > .agent-list--dim { color: $foreground 65%; }
        & > .agent-list--who { color: $accent; }
    }
    """
    HELP = HELP

    def __init__(self, view: AgentsView, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.view = view
        self._first: str | None = None

    def cursor_moved(self) -> None:
        """The view knows at once: rows that are read meanwhile put the cursor where it says."""
        self.view.go(self.cursor)
        super().cursor_moved()

    def count(self) -> int:
        """The rows, and a line below them when there are older ones, or none."""
        return len(self.view.shown) + bool(self._below())

    def _below(self) -> str:
        if not self.view.shown and self.view.rows:
            return "no run failed: ! shows everything"
        return f"older runs are not included: {key_of('agents.older')} adds them" if self.view.more else ""

    def rebuilt(self) -> None:
        """Other rows. Whoever looks at the top sees what comes there; elsewhere everything stays in its place."""
        offset, was_top = self.cursor - self.scroll_offset.y, self.scroll_offset.y == 0
        at = self.view.at
        self.changed(cursor=at, top=0 if was_top else at - offset)
        self.show_row(at)

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        if at >= len(self.view.shown):
            return [(one_line(f"  {self._below()}", width), "agent-list--dim")]
        row = self.view.shown[at]
        wide = width >= WIDE
        clock = clock_shown(row.at, time.time(), seconds=wide)
        told: list[Piece] = [
            (f"{mark(row.status)} ", f"agent-list--{row.status}"),
            (f"{clock:>{8 if wide else 6}}  ", "agent-list--dim"),
            (_fit(row.outcome, OUTCOME), f"agent-list--{row.status}"),
        ]
        room = width - sum(cell_len(text) for text, _ in told) - 1
        who = one_line(row.who, min(WHO, room // 2 - 2)) if room >= 24 else ""
        what = f"{row.what} {MARKS['dot']} {row.cassette}" if row.cassette else row.what
        room -= cell_len(who) + 2 if who else 0
        return [*told, (" ", ""), (_fit(what, max(room, 0)), ""), ("  " if who else "", ""), (who, "agent-list--who")]

    def jump_targets(self) -> Iterator[tuple[int, int, object]]:
        """Every row in view, for the jump overlay."""
        top = self.scroll_offset.y
        for at in range(top, min(top + self.page, len(self.view.shown))):
            yield 1, at - top, lambda at=at: self.move_to(at)


class AgentDetail(TextView):
    """The pane with all that is known about the row under the cursor."""

    HELP = HELP


def _fit(text: str, width: int) -> str:
    told = one_line(text, width)
    return told + " " * max(width - cell_len(told), 0)
