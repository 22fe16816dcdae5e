"""A composition's nodes as a graph: who waits for whom, how far each is, and when it ran; Enter looks into one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line
from mcptest_tui.state.graph_rows import NODE, PLAIN, GraphNode, bar, in_order, rails, words
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.words import MARKS
from mcptest_tui.words import PLAIN as IS_PLAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

    from mcptest_tui.widgets.lines import Piece

STATUS_MARKS = {"ok": "pass", "err": "fail", "skipped": "skip", "running": "running", "waiting": "queued"}
_INKS = {"ok": "pass", "err": "fail", "skipped": "skip", "running": "running", "waiting": "dim"}
_FULL = "#" if IS_PLAIN else "━"
NARROWEST_WITH_BARS = 64
LONGEST_NAME = 28
SHORTEST_NAME = 12


class GraphView(Lines):
    """Shows `GraphNode`s. A node under the cursor is `selected`."""

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
    PANE = "The graph"
    HELP = """Each row is a node below the nodes that it needs. Its bar is when it ran; the bars of the critical path, which the
end waited for, stand out. Enter shows a node's arguments, its output before and after the transform, and its calls."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.nodes: Sequence[GraphNode] = ()
        self._rails: list[str] | None = []
        self._nothing = ""

    def show(self, nodes: Sequence[GraphNode], nothing: str = "", *, keep: bool = False) -> None:
        """Other nodes, or what to say where there are none."""
        if nodes == self.nodes and nothing == self._nothing and keep:
            return
        drawn = [(node.id, node.needs) for node in self.nodes]
        self._nothing = nothing
        if drawn != [(node.id, node.needs) for node in nodes] or not drawn:
            self.nodes = in_order(nodes)
            self._rails = rails(self.nodes)
        else:
            self.nodes = nodes
        self.changed(top=None if keep else 0, cursor=None if keep else 0)

    @property
    def selected(self) -> GraphNode | None:
        """The node under the cursor."""
        return self.nodes[self.cursor] if 0 <= self.cursor < len(self.nodes) else None

    def count(self) -> int:
        """How many rows there are."""
        return len(self.nodes) or (1 if self._nothing else 0)

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        """One row: rails, mark, name, how long, what is to be said, and the bar."""
        if not self.nodes:
            return [(one_line(self._nothing, width), "graph-view--dim")]
        node = self.nodes[at]
        width = min(width, max(self.scrollable_content_region.width - 1, 1))  # a scroll bar lies over the last column
        before, after = self._drawn(at)
        names = min(max(len(one.id) for one in self.nodes), LONGEST_NAME, max(width // 3, SHORTEST_NAME))
        row: list[Piece] = [
            (before, "graph-view--rail"),
            (MARKS[STATUS_MARKS.get(node.status, "queued")], f"graph-view--{_INKS.get(node.status, 'dim')}"),
            (after, "graph-view--rail"),
            (f" {one_line(node.id, names):<{names}}", "graph-view--name"),
            (f" {_took(node):>8}", "graph-view--dim"),
        ]
        used = sum(cell_len(text) for text, _ in row)
        share = 2 if self._rails is not None else 3  # where parents are named in words, these need the room
        bars = max((width - used) // share, 0) if width >= NARROWEST_WITH_BARS and self._whole else 0
        room = width - used - bars - 4
        told = words(node) or node.tool
        if self._rails is None and node.needs:
            told = f"after {', '.join(node.needs)}   {told}"
        if room > 6:
            row.append(
                (f"  {one_line(told, room):<{room}}", "graph-view--fail" if node.status == "err" else "graph-view--dim")
            )
        if bars:
            begin, length = bar(node, self._whole, bars)
            row.append((f"  {' ' * begin}", ""))
            row.append((_FULL * length, f"graph-view--{'critical' if node.is_critical else 'bar'}"))
        return row

    def _drawn(self, at: int) -> tuple[str, str]:
        """The rails before the mark, and after it as wide as the widest row has them."""
        if not self._rails:
            return "", ""
        widest = max(len(row) for row in self._rails)
        text = self._rails[at].translate(PLAIN) if IS_PLAIN else self._rails[at]
        before, _, after = text.partition(NODE)
        return before, f"{after:<{widest - len(before) - 1}}"

    @property
    def _whole(self) -> float:
        """How long the composition took, in ms; 0 before anything has ended."""
        return max(((node.started_ms or 0.0) + (node.duration_ms or 0.0) for node in self.nodes), default=0.0)


def _took(node: GraphNode) -> str:
    if node.status == "running":
        return "…" if not IS_PLAIN else "..."
    if node.duration_ms is None:
        return "" if node.status == "waiting" else node.status
    return f"{node.duration_ms:.0f} ms" if node.duration_ms >= 10 else f"{node.duration_ms:.1f} ms"
