"""The tests of the file that is edited, beside it on wide terminals: a click or {edit.there} goes to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line
from mcptest_tui.widgets.lines import Lines, nearest
from mcptest_tui.words import mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType


class Entry(NamedTuple):
    """One test of the outline: its line, its verdict, its name."""

    line: int
    status: str
    name: str


class Outline(Lines):
    """The list of a suite's tests with their verdicts; the test around the cursor is marked."""

    HELP = "The tests of this file. {edit.there} goes to one."
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("edit.list")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"outline--{ink}" for ink in ("name", "pass", "fail", "inconclusive", "skip", "other")
    }
    DEFAULT_CSS = """
    Outline {
        & > .outline--name { color: $foreground; }
        & > .outline--pass { color: $verdict-pass; text-style: bold; }
        & > .outline--fail { color: $verdict-fail; text-style: bold; }
        & > .outline--inconclusive { color: $verdict-inconclusive; text-style: bold; }
        & > .outline--skip { color: $verdict-skip; }
        & > .outline--other { color: $foreground 50%; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.entries: Sequence[Entry] = ()
        self._line = 1

    def show(self, entries: Sequence[Entry]) -> None:
        """Show these tests, with the one marked that `follow` was last given."""
        if entries != self.entries:
            before = self.row_at(self.cursor)
            self.entries = entries
            self.changed(
                cursor=nearest(entries, self.cursor, lambda one: before is not None and one.name == before.name)
            )
            self.follow(self._line)

    def row_at(self, at: int) -> Entry | None:
        return self.entries[at] if at < len(self.entries) else None

    def follow(self, line: int) -> None:
        """Mark the test that the given line belongs to."""
        self._line = line
        at = max((at for at, entry in enumerate(self.entries) if entry.line <= line), default=None)
        if at is not None and not self.has_focus:
            self.move_to(at, tell=False)

    def count(self) -> int:
        """How many tests there are."""
        return len(self.entries)

    def pieces(self, at: int, width: int) -> list[tuple[str, str]]:
        """Return the mark and the name of a test, as `✓ name`."""
        entry = self.entries[at]
        ink = entry.status if entry.status in ("pass", "fail", "inconclusive", "skip") else "other"
        return [(f"{mark(entry.status)} ", f"outline--{ink}"), (one_line(entry.name, width - 2), "outline--name")]
