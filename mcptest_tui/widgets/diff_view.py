"""Expected and actual, one under the other or side by side, with what differs within a row underlined."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, chop_cells

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line
from mcptest_tui.state.diff_rows import CHANGED, DiffRow, Line, differing, unfolded, unified
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.binding import BindingType

    from mcptest_tui.widgets.lines import Piece

SIGNS = {"-": "expected", "+": "actual", " ": "same", "·": "dim", "@": "gap", "#": "title", "%": "dim"}
NARROWEST = 60
LEGEND = (("- expected", "diff-view--expected"), ("   ", ""), ("+ actual", "diff-view--actual"))


class DiffView(Lines):
    """Shows the difference between two values or texts as `DiffRow`s."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("diff")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"diff-view--{name}"
        for name in ("actual", "expected", "same", "dim", "gap", "title", "actual-part", "expected-part")
    }
    DEFAULT_CSS = """
    DiffView {
        & > .diff-view--actual { color: $value-actual; }
        & > .diff-view--expected { color: $value-expected; }
        & > .diff-view--actual-part { color: $value-actual; text-style: bold underline; }
        & > .diff-view--expected-part { color: $value-expected; text-style: bold underline; }
        & > .diff-view--same { color: $foreground 80%; }
        & > .diff-view--dim { color: $foreground 55%; }
        & > .diff-view--gap { color: $primary; }
        & > .diff-view--title { text-style: bold; }
    }
    """
    HELP = """The expected (-) and the actual value (+). {diff.sides} shows both side by side, {diff.wrap} wraps long rows,
    {diff.unfold} shows the equal rows in between."""
    HAS_CURSOR = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.rows: Sequence[DiffRow] = ()
        self.sides = False
        self._wrap = True
        self._unfolded = False
        self._nothing = ""
        self._lines: list[Sequence[Piece]] = []
        self._laid_out: tuple[int, bool, bool, bool] | None = None

    def show(self, rows: Sequence[DiffRow], nothing: str = "", *, keep: bool = False) -> None:
        """Show other rows, or a text when there are none."""
        self.rows, self._nothing = rows, nothing
        self._laid_out = None
        self.changed(top=None if keep else 0)

    def count(self) -> int:
        """How many rows there are at this width."""
        layout = (self.text_width, self.sides, self._wrap, self._unfolded)
        if self._laid_out != layout:
            self._laid_out = layout
            self._lines = list(self._laid(max(self.text_width, 12))) if self.text_width else []
        return len(self._lines)

    def pieces(self, at: int, width: int) -> Sequence[Piece]:  # noqa: ARG002
        return self._lines[at]

    def action_sides(self) -> None:
        """Switch between a side-by-side and a unified difference."""
        self.sides = not self.sides
        self.changed(top=0)

    def action_wrap(self) -> None:
        """Switch between wrapping and cutting long lines."""
        self._wrap = not self._wrap
        self.changed()

    def action_unfold(self) -> None:
        """Rows that are the same on both sides: all of them, or those around a difference."""
        self._unfolded = not self._unfolded
        self.changed(top=0)

    def _laid(self, width: int) -> Iterator[Sequence[Piece]]:
        rows = tuple(unfolded(self.rows)) if self._unfolded else self.rows
        if not rows:
            yield [(one_line(self._nothing, width), "diff-view--dim")]
        elif self.sides and width >= NARROWEST:
            yield from self._beside(rows, width)
        else:
            yield self._legend()
            for line in unified(rows):
                yield from self._unified(line, width)

    def _legend(self) -> Sequence[Piece]:
        if not any(row.hidden for row in self.rows):
            return LEGEND
        does = "folds" if self._unfolded else "shows"
        return (*LEGEND, (f"   {key_of('diff.unfold')} {does} what is the same", "diff-view--dim"))

    def _unified(self, line: Line, width: int) -> Iterator[Sequence[Piece]]:
        ink = SIGNS[line.sign]
        sign = {"#": "", "%": "", "@": MARKS["cut"] + " "}.get(line.sign, f"{line.sign} ")
        for at, row in enumerate(self._folded(_marked(line.text, line.start, line.end, ink), width - len(sign))):
            yield [(sign if at == 0 else " " * len(sign), f"diff-view--{ink}"), *row]

    def _beside(self, rows: Sequence[DiffRow], width: int) -> Iterator[Sequence[Piece]]:
        half = (width - 3) // 2
        yield [(f"{'expected':<{half}}", "diff-view--expected"), ("   ", ""), ("actual", "diff-view--actual")]
        for row in rows:
            if row.kind in ("title", "gap", "note"):
                sign = {"gap": "@", "title": "#", "note": "%"}[row.kind]
                yield from self._unified(Line(sign, row.left or ""), width)
                continue
            (begin, end), (other_begin, other_end) = (0, 0), (0, 0)
            if row.kind in CHANGED and row.left is not None and row.right is not None:
                (begin, end), (other_begin, other_end) = differing(row.left, row.right)
            inks = ("expected", "actual") if row.kind in CHANGED else ("same", "same" if row.kind == "same" else "dim")
            left = self._folded(_marked(row.left or "", begin, end, inks[0]), half)
            right = self._folded(_marked(row.right or "", other_begin, other_end, inks[1]), half)
            for at in range(max(len(left), len(right))):
                ours = left[at] if at < len(left) else []
                theirs = right[at] if at < len(right) else []
                gap = half - sum(cell_len(text) for text, _ in ours)
                yield [*ours, (" " * gap, ""), (f" {MARKS['split']} ", "diff-view--dim"), *theirs]

    def _folded(self, pieces: list[Piece], width: int) -> list[list[Piece]]:
        """Pieces as rows no wider than `width`; one, cut, when nothing is wrapped."""
        width = max(width, 4)
        rows: list[list[Piece]] = [[]]
        room = width
        for text, ink in pieces:
            while text:
                if cell_len(text) <= room:
                    rows[-1].append((text, ink))
                    room -= cell_len(text)
                    break
                if not self._wrap:
                    rows[-1].append((one_line(text, room), ink))
                    return rows
                first = chop_cells(text, room)[0] if room > 1 else ""
                rows[-1].append((first, ink))
                rows.append([])
                text, room = text[len(first) :], width
        return rows


def _marked(text: str, start: int, end: int, ink: str) -> list[Piece]:
    """A text with its part from `start` to `end` in a stronger ink; made safe after cutting, which changes lengths."""
    name = f"diff-view--{ink}"
    if not 0 <= start < end or ink not in ("actual", "expected") or (start, end) == (0, len(text)):
        return [(_safe(text), name)]
    parts = ((text[:start], name), (text[start:end], f"{name}-part"), (text[end:], name))
    return [(_safe(part), ink_of) for part, ink_of in parts if part]


def _safe(text: str) -> str:
    return one_line(text, 10_000)
