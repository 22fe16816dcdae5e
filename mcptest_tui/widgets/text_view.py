"""Lines of text that are only read: wrapped to the width or cut, scrolled, drawn when they are seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, chop_cells
from textual.geometry import Size

from mcptest_tui.keymap import bindings_for
from mcptest_tui.widgets.lines import Lines, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.binding import BindingType

    from mcptest_tui.state.text_lines import TextLine
    from mcptest_tui.widgets.lines import Piece

INKS = (
    "bold",
    "dim",
    "pass",
    "fail",
    "inconclusive",
    "deferred",
    "skip",
    "new",
    "stopped",
    "running",
    "key",
    "hint",
    "actual",
    "expected",
    "actual-part",
    "expected-part",
    "same",
)
LEAST = 12
LONG = 1_000
MOST_ROWS = 20_000


class TextView(Lines):
    """Shows `TextLine`s, whose texts are already sanitized."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("text")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"text-view--{ink}" for ink in INKS}
    DEFAULT_CSS = """
    TextView {
        & > .text-view--bold { text-style: bold; }
        & > .text-view--dim { color: $foreground 65%; }
        & > .text-view--pass { color: $verdict-pass; text-style: bold; }
        & > .text-view--fail { color: $verdict-fail; text-style: bold; }
        & > .text-view--inconclusive { color: $verdict-inconclusive; text-style: bold; }
        & > .text-view--deferred { color: $verdict-inconclusive; text-style: bold; }
        & > .text-view--skip { color: $verdict-skip; }
        & > .text-view--new, & > .text-view--stopped { color: $foreground 65%; }
        & > .text-view--running { color: $primary; }
        & > .text-view--key { color: $footer-key-foreground; text-style: bold; }
        & > .text-view--hint { color: $warning; }
        & > .text-view--actual { color: $value-actual; }
        & > .text-view--expected { color: $value-expected; }
        & > .text-view--actual-part { color: $value-actual; text-style: bold underline; }
        & > .text-view--expected-part { color: $value-expected; text-style: bold underline; }
        & > .text-view--same { color: $foreground 80%; }
    }
    """
    HAS_CURSOR = False

    def __init__(self, *, id: str | None = None, classes: str | None = None, wrap: bool = True) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.lines: Sequence[TextLine] = ()
        self._wrap = wrap
        self._rows: list[Sequence[Piece]] = []
        self._laid_out = (-1, False)

    def show(self, lines: Sequence[TextLine], *, keep: bool = False) -> None:
        """Show other lines, scrolled to the top unless `keep` is set."""
        if lines == self.lines and keep:
            return
        before, top = self._rows, self.scroll_offset.y
        self.lines = lines
        self._laid_out = (-1, False)
        if (top and not keep) or top > self._most() or not before:
            self.changed(top=None if keep else 0)
            return
        self._fit(Size(self.scrollable_content_region.width, self.count()))
        for at in range(top, top + self.page):
            if before[at : at + 1] != self._rows[at : at + 1]:
                self.refresh_line(at)

    def count(self) -> int:
        """Return the number of rows at the current width."""
        self._lay_out()
        return len(self._rows)

    def pieces(self, at: int, width: int) -> Sequence[Piece]:  # noqa: ARG002
        return [(text, f"text-view--{ink}" if ink else "") for text, ink in self._rows[at]]

    def action_wrap(self) -> None:
        """Switch between wrapping and cutting long lines."""
        self._wrap = not self._wrap
        self.changed()

    def _lay_out(self) -> None:
        layout = (self.text_width, self._wrap)
        if layout == self._laid_out:
            return
        self._laid_out = layout
        width = max(self.text_width, LEAST)
        self._rows = []
        if not self.text_width:
            return  # not placed yet: a long text would be wrapped in vain
        for told in self.lines:
            self._rows += wrapped(told, width) if self._wrap else [cut(told, width)]
            if len(self._rows) > MOST_ROWS:
                break


def wrapped(told: TextLine, width: int) -> Iterator[list[Piece]]:
    """A line as rows no wider than `width`, at spaces where there are some."""
    hang, used = min(told.hang, width // 2), min(told.at, width // 2)
    row: list[Piece] = [(" " * used, "")] if used else []
    fresh, is_joined = True, False
    for at, (text, ink) in enumerate(told.pieces):
        if len(text) > LONG and text.isascii():
            *rows, text = _broken(text, width - used, width - hang)
            for part in rows:
                yield [*row, (part, ink)]
                row, used, fresh = ([(" " * hang, "")] if hang else []), hang, True
        for word in _split_pieces(text, width - hang):
            bare = word.rstrip()
            joined = 0 if word != bare or not text.endswith(word) else _joined(told.pieces[at + 1 :], width - hang)
            if not fresh and not is_joined and used + cell_len(bare) + joined > width:
                yield row
                row, used = ([(" " * hang, "")] if hang else []), hang
                word = word.lstrip()
            if used + cell_len(word) > width:
                word = bare
            if word:
                row.append((word, ink))
                used += cell_len(word)
                fresh = False
            is_joined = bool(joined)
    yield row


def _joined(pieces: Sequence[Piece], width: int) -> int:
    """The cells of what stands behind a word without a space between, such as the rest of a bar; 0 for more than a row."""
    cells = 0
    for text, _ in pieces:
        first = text.partition(" ")[0]
        cells += cell_len(first)
        if first != text or cells > width // 2:
            break
    return cells if cells <= width // 2 else 0


def cut(told: TextLine, width: int) -> list[Piece]:
    """Return a line as one row, cut with "…" where it is too long."""
    at = min(told.at, width // 2)
    row: list[Piece] = [(" " * at, "")] if at else []
    room = width - at
    for text, ink in told.pieces:
        if cell_len(text) > room:
            return [*row, (shortened(text, room), ink)]
        row.append((text, ink))
        room -= cell_len(text)
    return row


def _broken(text: str, room: int, width: int) -> Iterator[str]:
    """A long text of narrow characters as rows, the first of `room` cells: by far the fastest way through a megabyte."""
    start, room = 0, max(room, 1)
    while len(text) - start > room:
        end = text.rfind(" ", start, start + room + 1)
        end = end if end > start else start + room
        yield text[start:end].rstrip(" ")
        start, room = end + (text[end : end + 1] == " "), max(width, 1)
    yield text[start:]


def _split_pieces(text: str, width: int) -> Iterator[str]:
    """Words with the spaces after them; what is wider than a row in pieces."""
    start = 0
    while start < len(text):
        end = text.find(" ", start)
        while 0 <= end < len(text) and text[end] == " ":
            end += 1
        word = text[start:] if end < 0 else text[start:end]
        start += len(word)
        if cell_len(word) <= width:
            yield word
        else:
            yield from chop_cells(word, max(width, 2))
