"""A composition's nodes as a graph: who waits for whom, how far each is, and when it ran; Enter looks into one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line
from mcptest_tui.state.graph_rows import NODE, PLAIN, GraphNode, bar, in_order, node_remark, rails
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.words import MARKS, took_shown
from mcptest_tui.words import PLAIN as IS_PLAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

    from mcptest_tui.widgets.lines import Piece

STATUS_MARKS = {"ok": "pass", "err": "fail", "skipped": "skip", "running": "running", "waiting": "queued"}
_INKS = {"ok": "pass", "err": "fail", "skipped": "skip", "running": "running", "waiting": "dim"}
_FULL = "#" if IS_PLAIN else "━"
LEGEND: tuple[Sequence[Piece], ...] = (
    [
        *(
            (f"{MARKS[sign]} {word}   ", f"graph-view--{ink}")
            for sign, word, ink in (
                ("pass", "ok", "pass"),
                ("fail", "failed", "fail"),
                ("skip", "skipped", "skip"),
                ("running", "running", "running"),
                ("queued", "waiting", "dim"),
            )
        )
    ],
    [
        (f"{_FULL * 2} ", "graph-view--bar"),
        ("when it ran   ", "graph-view--dim"),
        (f"{_FULL * 2} ", "graph-view--critical"),
        ("critical path: sets the total time", "graph-view--dim"),
    ],
)
NARROWEST_WITH_BARS = 56
WIDE_AXIS = 32
"""Cells of the time axis from which its middle is named too."""
LONGEST_NAME = 28
SHORTEST_NAME = 12
SHORTEST_WORDS = 8
NARROW_RAILS = 20
"""Cells of rails that are drawn however narrow the pane is; wider ones may take a third of it."""


class GraphView(Lines):
    """Shows a composition as a graph of `GraphNode`s; that under the cursor is `selected`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("graph")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"graph-view--{ink}" for ink in ("rail", "pass", "fail", "skip", "running", "dim", "name", "bar", "critical")
    }
    DEFAULT_CSS = """
    GraphView {
        & > .graph-view--rail { color: $foreground 45%; }
        & > .graph-view--pass { color: $verdict-pass; text-style: bold; }
        & > .graph-view--fail { color: $verdict-fail; text-style: bold; }
        & > .graph-view--skip { color: $verdict-skip; }
        & > .graph-view--running { color: $primary; text-style: bold; }
        & > .graph-view--dim { color: $foreground 65%; }
        & > .graph-view--name { text-style: bold; }
        & > .graph-view--bar { color: $primary 70%; }
        & > .graph-view--critical { color: $warning; }
    }
    """
    HELP = """Each row is a node below the nodes that it needs. Its bar shows when it ran. The bars of the critical path,
which sets the total time, are highlighted. {graph.open} shows a node's arguments, its output before and after the
transform, and its calls."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.nodes: Sequence[GraphNode] = ()
        self._rails: list[str] | None = []
        self._nothing = ""

    def show(self, nodes: Sequence[GraphNode], nothing: str = "", *, keep: bool = False) -> None:
        """Show other nodes, or a text when there are none."""
        if nodes == self.nodes and nothing == self._nothing and keep:
            return
        drawn = [(node.id, node.needs) for node in self.nodes]
        self._nothing = nothing
        if drawn != [(node.id, node.needs) for node in nodes] or not drawn:
            self.nodes = in_order(nodes)
            self._rails = _as_wide_as_the_widest(rails(self.nodes))
        else:
            self.nodes = nodes
        self.changed(top=None if keep else 0, cursor=max(self.cursor, 1) if keep else 1)

    @property
    def selected(self) -> GraphNode | None:
        """The node under the cursor."""
        return self.nodes[self.cursor - 1] if 1 <= self.cursor <= len(self.nodes) else None

    def count(self) -> int:
        """How many rows there are: the headings, the nodes, and the legend after a blank one."""
        return len(self.nodes) + 2 + len(LEGEND) if self.nodes else 1 if self._nothing else 0

    def move_to(self, at: int, *, tell: bool = True, centre: bool = False) -> None:
        """The cursor on a node; with the first the headings come into view, with the last the legend."""
        at = min(max(at, 1), len(self.nodes))
        super().move_to(at, tell=tell, centre=centre)
        if at in (1, len(self.nodes)):
            self.show_row(0 if at == 1 else self.count() - 1)
            self.show_row(at)

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        """One row: rails, mark, name, how long, what is to be said, and the bar."""
        if not self.nodes:
            return [(one_line(self._nothing, width), "graph-view--dim")]
        rows = self._rails if self._rails and len(self._rails[0]) <= max(width // 3, NARROW_RAILS) else None
        names = min(max(len(one.id) for one in self.nodes), LONGEST_NAME, max(width // 3, SHORTEST_NAME))
        if at == 0:
            return self._headings(len(rows[0]) if rows else 1, names, width, share=2 if rows else 3)
        if at > len(self.nodes):
            return LEGEND[at - len(self.nodes) - 2] if at > len(self.nodes) + 1 else []
        node = self.nodes[at - 1]
        before, _, after = rows[at - 1].partition(NODE) if rows else ("", NODE, "")
        row: list[Piece] = [
            (before, "graph-view--rail"),
            (MARKS[STATUS_MARKS.get(node.status, "queued")], f"graph-view--{_INKS.get(node.status, 'dim')}"),
            (after, "graph-view--rail"),
            (f" {one_line(node.id, names):<{names}}", "graph-view--name"),
            (f" {_took(node):>8}", "graph-view--dim"),
        ]
        room = width - sum(cell_len(text) for text, _ in row)
        told = node_remark(node) or node.tool
        if rows is None and node.needs:
            told = f"after {', '.join(node.needs)}   {told}"
        ink = "graph-view--fail" if node.status == "err" else "graph-view--dim"
        share = 2 if rows else 3  # where parents are named in words, these need the room
        bars = room // share if width >= NARROWEST_WITH_BARS and self._whole else 0
        begin, length = bar(node, self._whole, bars)
        start = room - bars + begin
        if not length or (node.status == "err" and cell_len(told) + 4 > start):  # why it failed goes before when it ran
            return [*row, *_said(told, room, ink)]
        said = _said(told, start - 2, ink)
        blank = " " * (start - sum(cell_len(text) for text, _ in said))
        return [*row, *said, (blank, ""), (_FULL * length, f"graph-view--{'critical' if node.is_critical else 'bar'}")]

    def _headings(self, rails: int, names: int, width: int, *, share: int) -> list[Piece]:
        """What the columns are, and over the bars the time that they stand for."""
        room = width - rails - names - 10
        bars = room // share if width >= NARROWEST_WITH_BARS and self._whole else 0
        told = one_line(f"{'':<{rails}} {one_line('node', names):<{names}} {'took':>8}  result", width - bars)
        end = took_shown(self._whole)
        axis = f"0{end:>{bars - 1}}" if bars > len(end) + 1 else ""
        if bars >= WIDE_AXIS:
            half = took_shown(self._whole / 2)
            axis = f"0{half:^{bars - 1 - len(end)}}{end}"
        return [(f"{told:<{width - len(axis)}}{axis}", "graph-view--dim")]

    @property
    def _whole(self) -> float:
        """How long the composition took, in ms; 0 before anything has ended."""
        return max(((node.started_ms or 0.0) + (node.duration_ms or 0.0) for node in self.nodes), default=0.0)


def _as_wide_as_the_widest(rows: list[str] | None) -> list[str] | None:
    width = max(map(len, rows or ()), default=0)
    return rows and [f"{row.translate(PLAIN) if IS_PLAIN else row:<{width}}" for row in rows]


def _said(text: str, room: int, ink: str) -> list[Piece]:
    """The words after two blanks, cut to `room`; nothing where that is no room for words."""
    return [(f"  {one_line(text, room - 2)}", ink)] if room > SHORTEST_WORDS else []


def _took(node: GraphNode) -> str:
    if node.status == "running":
        return "…" if not IS_PLAIN else "..."
    if node.duration_ms is None:
        return "" if node.status == "waiting" else node.status
    return took_shown(node.duration_ms)
