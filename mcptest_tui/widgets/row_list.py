"""The list of tests: suites, blocks and tests with mark, name, badges and milliseconds, ten thousand of them as well as ten.

The selection is an id, so that runs and edits leave it, the scroll position and the focus where they are. Rows that are in
view and run have a spinner; one timer turns them all, and it sleeps when there is none.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.geometry import Size
from textual.message import Message

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import NEAR, name_among, one_line, without_middle
from mcptest_tui.state.test_row import BUSY, STATUSES, TestRow
from mcptest_tui.state.tree_rows import Group, Note, TreeRows
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.words import MARKS, is_ascii, mark, strength_shown, took_shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from textual.binding import BindingType
    from textual.timer import Timer

    from mcptest_tui.state.tree_rows import Entry
    from mcptest_tui.widgets.lines import Piece

TURN_SECONDS = 0.1
TIME_WIDTH = 6
SPINNER = "|/-\\" if is_ascii() else "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FLAKY, CACHED, ADDED, OUTDATED = ("=", "c", "+", "*") if is_ascii() else ("≈", "c", "+", "✎")
STRENGTH_WIDTH, SHORT_STRENGTH_WIDTH = 11, 6
WIDE_ENOUGH, NARROW = 60, 40
COUNTED = ("fail", "inconclusive", "pass", "skip")


class RowList(Lines):
    """Draws a `TreeRows`; `rows` is shared with the screen, which has it built."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("tests.list")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"row-list--{name}" for name in STATUSES),
        *(
            f"row-list--{name}"
            for name in ("group", "block", "time", "weak", "badge", "marked", "dim", "problem", "hint")
        ),
    }
    DEFAULT_CSS = """
    RowList {
        & > .row-list--pass { color: $verdict-pass; }
        & > .row-list--fail { color: $verdict-fail; text-style: bold; }
        & > .row-list--inconclusive { color: $verdict-inconclusive; text-style: bold; }
        & > .row-list--skip { color: $verdict-skip; }
        & > .row-list--new, & > .row-list--stopped { color: $foreground 60%; }
        & > .row-list--queued { color: $foreground 50%; }
        & > .row-list--running { color: $primary; text-style: bold; }
        & > .row-list--group { text-style: bold; }
        & > .row-list--block { color: $foreground 80%; }
        & > .row-list--time { color: $foreground 60%; }
        & > .row-list--dim { color: $foreground 60%; }
        & > .row-list--badge { color: $accent; }
        & > .row-list--weak { color: $verdict-inconclusive; }
        & > .row-list--marked { color: $warning; text-style: bold; }
        & > .row-list--problem { color: $verdict-fail; }
        & > .row-list--hint { color: $foreground 75%; }
    }
    """
    HELP = """Every test of the open suites. The marks: passed, failed, inconclusive (!), skipped (~), not run yet. Behind a
    name: c cached, + new; a flaky test passed only after a failed attempt. Before the time: how much the test demands
    (answered, valid, shape, value), and the share of wrong answers that it noticed in the last `mcptest mutate`. The time
    excludes waiting for an earlier call. "waits": a save affects the test, but does not start it, because it changes
    something or costs money; {run.this} runs it. "waits for tools/list": the tool has answered, but the server has not
    listed its tools yet. "runs again alone": its server ended or hung while other tests ran, so it is run once more, after
    them."""

    @dataclass
    class Folded(Message):
        """Posted when a group is folded or unfolded; the screen builds the rows anew."""

        id: str | None
        closed: bool | None

    @dataclass
    class Marked(Message):
        """Posted when other tests are marked than before."""

        ids: frozenset[str]

    def __init__(self, rows: TreeRows, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.rows = rows
        self.marked: set[str] = set()
        self.current: str | None = None
        self.dimmed: set[str] = set()
        self.nothing: list[str] = []
        self._anchor: str | None = None
        self._timer: Timer | None = None
        self._turn = 0

    def on_mount(self) -> None:
        """Create the timer of the spinners, paused until a test runs."""
        self._timer = self.set_interval(TURN_SECONDS, self._spin, pause=True)

    def count(self) -> int:
        """How many rows there are."""
        return len(self.rows.entries) or len(self.nothing)

    # Keeping the place

    def rebuilt(self) -> None:
        """The rows were built anew: the cursor stays on its test, and that test where it was on the screen."""
        offset = self.cursor - self.scroll_offset.y
        at = self.rows.position(self.current)
        if at is None:
            at = min(self.cursor, max(self.count() - 1, 0))
            offset = min(max(offset, 0), self.page - 1)
        if not 0 <= offset < self.page:  # scrolled away with the wheel: the first visible row stays
            self.changed(cursor=at)
        else:
            self.changed(cursor=at, top=at - offset)
        before = self.current
        self.current = self.rows.entries[self.cursor].id if self.rows.entries else None
        if before != self.current:
            self.post_message(self.CursorMoved(self))
        self._wake()

    def grown(self, changed: Collection[TestRow]) -> None:
        """Show rows that were added at the end, and draw the changed ones again."""
        before = self.virtual_size.height
        if before < self.page:
            self.changed()
        else:
            self._fit(Size(self.scrollable_content_region.width, self.count()))
        self.repainted(changed)

    def repainted(self, changed: Collection[TestRow]) -> None:
        """These tests have changed in place: draw those of them that are in view, and the groups, which count them."""
        top = self.scroll_offset.y
        entries = self.rows.entries
        seen = {row.id for row in changed}
        for at in range(top, min(top + self.page, len(entries))):
            entry = entries[at]
            if isinstance(entry, Group) or entry.id in seen:
                self.refresh_line(at)
        self._wake()

    def select(self, name: str, *, centre: bool = True) -> bool:
        """Move the cursor to a test or group; return False when it is not listed."""
        at = self.rows.position(name)
        if at is None:
            return False
        self.move_to(at, centre=centre)
        self.current = name
        return True

    def entry(self) -> Entry | None:
        """Return the test, group or note under the cursor, None without rows."""
        entries = self.rows.entries
        return entries[self.cursor] if self.cursor < len(entries) else None

    def test(self) -> TestRow | None:
        """Return the test under the cursor, None where there is none."""
        entry = self.entry()
        return entry if isinstance(entry, TestRow) else None

    def cursor_moved(self) -> None:
        """Remember the row by its id; while a range is on, mark the rows passed."""
        entry = self.entry()
        self.current = entry.id if entry is not None else None
        if self._anchor is not None:
            self._mark_range()
        super().cursor_moved()

    # Marks and folding

    def action_mark(self) -> None:
        """Mark the test or the whole group, or unmark it; then go to the next row."""
        if self._anchor is not None:
            self._anchor = None
            return
        entry = self.entry()
        if entry is None:
            return
        ids = {entry.id} if isinstance(entry, TestRow) else self._within(entry)
        self._mark(self.marked - ids if ids <= self.marked else self.marked | ids)
        if isinstance(entry, TestRow):
            self.action_move(1)

    def action_range(self) -> None:
        """Start marking each row that the cursor passes, or stop it."""
        self._anchor = None if self._anchor is not None else self.current
        if self._anchor is not None:
            self._mark_range()

    def unmark(self) -> bool:
        """Remove all marks; return False when there were none."""
        had = bool(self.marked) or self._anchor is not None
        self._anchor = None
        if had:
            self._mark(set())
        return had

    def action_fold(self, closed: bool) -> None:
        """Fold the group, or from a test go to its group; or unfold it."""
        entry = self.entry()
        if isinstance(entry, Group) and entry.open != (not closed):
            self.post_message(self.Folded(entry.id, closed))
        elif closed and entry is not None:
            parent = self.rows.parent_of(entry)
            at = self.rows.position(parent)
            if at is not None:
                self.move_to(at)
        elif not closed and isinstance(entry, Group):
            self.action_move(1)

    def action_fold_all(self, closed: bool) -> None:
        """Request by a message that all blocks are folded, or everything is unfolded."""
        self.post_message(self.Folded(None, closed))

    def action_open_detail(self) -> None:
        self.action_choose()

    def clicked(self, at: int, x: int, *, twice: bool) -> None:
        """Fold the group when its mark is clicked; a double click opens a test."""
        if not self.rows.entries:
            return
        entry = self.rows.entries[at]
        if isinstance(entry, Group) and (twice or x <= 2 + 2 * entry.depth):
            self.post_message(self.Folded(entry.id, None))
        else:
            super().clicked(at, x, twice=twice)

    def jump_targets(self) -> Iterator[tuple[int, int, object]]:
        """Every row in view, for the jump overlay."""
        top = self.scroll_offset.y
        for at in range(top, min(top + self.page, len(self.rows.entries))):
            yield 1, at - top, lambda at=at: self.move_to(at)

    def _within(self, entry: Entry) -> set[str]:
        path, _, block = entry.id.partition("\0")
        rows = (row for row in self.rows.entries if isinstance(row, TestRow))
        return {row.id for row in rows if row.path == path and (not block or row.block == block)}

    def _mark_range(self) -> None:
        anchor = self.rows.position(self._anchor)
        start = self.cursor if anchor is None else anchor
        first, last = sorted((start, self.cursor))
        entries = self.rows.entries[first : last + 1]
        self._mark(self.marked | {entry.id for entry in entries if isinstance(entry, TestRow)})

    def _mark(self, ids: set[str]) -> None:
        self.marked = ids
        self.refresh()
        self.post_message(self.Marked(frozenset(ids)))

    # Drawing

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        if not self.rows.entries:
            return [(one_line(f" {self.nothing[at]}", width), "row-list--hint")]
        entry = self.rows.entries[at]
        if isinstance(entry, TestRow):
            return self._test(entry, width, at)
        return self._group(entry, width) if isinstance(entry, Group) else self._note(entry, width)

    def _test(self, row: TestRow, width: int, at: int) -> list[Piece]:
        status = row.status
        indent = "    " if self.rows.order == "file" else " "
        sign = SPINNER[self._turn % len(SPINNER)] if status == "running" else mark(row.shown)
        badges = self._badges(row)
        took = f"{self._time(row):>{TIME_WIDTH}}"  # always as wide, so that no name changes when its time comes
        strength = _strength(row, width)
        room = width - len(indent) - 2 - cell_len(badges) - len(strength) - len(took) - 1
        near = self.rows.entries[max(at - NEAR, 0) : at + NEAR + 1] if cell_len(row.name) > room else ()
        name = name_among(row.name, [one.name for one in near if isinstance(one, TestRow)], max(room, 4))
        gap = max(width - len(indent) - 2 - cell_len(name) - cell_len(badges) - len(strength) - len(took), 0)
        faded = row.remembered or row.path in self.dimmed
        name_ink = "row-list--marked" if row.id in self.marked else "row-list--dim" if faded else ""
        pointed = ("> " if is_ascii() else "▸ ") if row.id in self.marked else ""
        if pointed:
            indent = indent[: -len(pointed)] + pointed if len(indent) >= len(pointed) else indent
        return [
            (indent, "row-list--marked" if pointed else ""),
            (f"{sign} ", "row-list--dim" if faded else f"row-list--{status}"),
            (name, name_ink),
            (badges, "row-list--badge"),
            (" " * gap, ""),
            (strength, "row-list--weak" if row.is_weak else "row-list--time"),
            (took, "row-list--time"),
        ]

    def _badges(self, row: TestRow) -> str:
        badges = ""
        if row.flaky:
            badges += f" {FLAKY}"
        if row.cached:
            badges += f" {CACHED}"
        if row.busy and row.answered:
            badges += " runs again alone" if row.answered == "alone" else f" waits for {row.block}/list"
        elif row.waits:
            badges += " waits"
        if row.added:
            badges += f" {ADDED}"
        elif row.outdated:
            badges += f" {OUTDATED}"
        return badges

    def _time(self, row: TestRow) -> str:
        if row.status == "running":
            elapsed = time.time() - row.started
            return "" if elapsed < 1 else f"{elapsed:.0f} s" if elapsed < 60 else took_shown(elapsed * 1000)
        if row.own_ms is None or row.shown in ("queued", "stopped", "skip", "deferred"):
            return ""
        return took_shown(row.own_ms)

    def _group(self, group: Group, width: int) -> list[Piece]:
        fold = MARKS["open" if group.open else "closed"]
        indent = " " * (2 * group.depth)
        counts = self._counts(group)
        taken = len(indent) + 2 + sum(cell_len(text) for text, _ in counts)
        name = one_line(group.title, max(width - taken - 1, 4))
        gap = max(width - taken - cell_len(name), 1)
        return [
            (f"{indent}{fold} ", "row-list--dim"),
            (name, "row-list--block" if group.depth else "row-list--group"),
            (" " * gap, ""),
            *counts,
        ]

    def _counts(self, group: Group) -> list[Piece]:
        if group.depth == 0 and group.problems:
            since = f"  from {time.strftime('%H:%M', time.localtime(group.stale))}" if group.stale is not None else ""
            word = "problem" if group.problems == 1 else "problems"
            return [(f"{mark('fail')} {group.problems} {word}", "row-list--problem"), (since, "row-list--dim")]
        told: list[Piece] = []
        for status in COUNTED:
            if group.counts[status]:
                told.append((f"{'  ' if told else ''}{group.counts[status]} {mark(status)}", f"row-list--{status}"))
        for sign, statuses in (("new", ("new", "stopped")), ("queued", BUSY)):
            left = sum(group.counts[status] for status in statuses)
            if left:
                told.append((f"{'  ' if told else ''}{left} {mark(sign)}", f"row-list--{sign}"))
        return told

    def _note(self, note: Note, width: int) -> list[Piece]:
        if note.is_hint:
            return [(one_line(f"       {note.text}", width), "row-list--hint")]
        place = f"  {note.line}:{note.column} "
        return [(place, "row-list--dim"), (without_middle(note.text, max(width - len(place), 4)), "row-list--problem")]

    # The spinner

    def _visible_busy(self) -> list[int]:
        top = self.scroll_offset.y
        entries = self.rows.entries
        return [
            at
            for at in range(top, min(top + self.page, len(entries)))
            if isinstance(row := entries[at], TestRow) and row.status == "running"
        ]

    def _wake(self) -> None:
        if self._timer is not None and self._visible_busy():
            self._timer.resume()

    def _spin(self) -> None:
        busy = self._visible_busy()
        if not busy and self._timer is not None:
            self._timer.pause()
        self._turn += 1
        for at in busy:
            self.refresh_line(at)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._wake()


def _strength(row: TestRow, width: int) -> str:
    """The column of what a test demands: in words; where there is less room, the share if it is known, or the word."""
    told = strength_shown(row.strength, row.mutation_score)
    if width >= WIDE_ENOUGH:
        return f"{told:>{STRENGTH_WIDTH}} "
    if width < NARROW:
        return ""
    told = told if row.mutation_score is None else strength_shown("", row.mutation_score).strip()
    return f"{one_line(told, SHORT_STRENGTH_WIDTH - 1):>{SHORT_STRENGTH_WIDTH}} "
