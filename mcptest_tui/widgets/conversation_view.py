"""A conversation turn by turn, with the calls and their results; Enter opens a call or a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, chop_cells

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, safe_text
from mcptest_tui.widgets.lines import Lines, nearest
from mcptest_tui.words import MARKS, key_of, mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.binding import BindingType

    from mcptest_tui.state.conversation_rows import Entry
    from mcptest_tui.widgets.lines import Piece

LABEL = 10
MOST_ROWS = 14
"""Rows of one text; Enter shows all of it."""
NARROW = 48
ROOM_FOR_SERVERS = 64
INKS = ("system", "user", "assistant", "dim", "pass", "fail", "inconclusive", "skip", "running", "name", "run", "more")


class ConversationView(Lines):
    """Shows a conversation as `Entry`s; the one under the cursor is `selected`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("conversation")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"conversation-view--{ink}" for ink in INKS}
    DEFAULT_CSS = """
    ConversationView {
        & > .conversation-view--system { color: $foreground 65%; }
        & > .conversation-view--user { color: $accent; text-style: bold; }
        & > .conversation-view--assistant { color: $primary; text-style: bold; }
        & > .conversation-view--dim { color: $foreground 65%; }
        & > .conversation-view--pass { color: $verdict-pass; text-style: bold; }
        & > .conversation-view--fail { color: $verdict-fail; text-style: bold; }
        & > .conversation-view--inconclusive { color: $verdict-inconclusive; text-style: bold; }
        & > .conversation-view--skip { color: $verdict-skip; }
        & > .conversation-view--running { color: $primary; text-style: bold; }
        & > .conversation-view--name { text-style: bold; }
        & > .conversation-view--run { text-style: bold; }
        & > .conversation-view--more { color: $accent; text-style: underline; }
    }
    """
    HELP = """What was said between the test, the model and the tools, turn by turn. {conversation.open} on a call shows its
arguments and its result as a tree; on a text that is cut it shows all of it; on the head of one of several runs it folds
that run."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.entries: Sequence[Entry] = ()
        self._nothing = ""
        self._rows: list[tuple[int, int, str]] = []
        self._laid_out = -1
        self._numbers = 3

    def show(self, entries: Sequence[Entry], nothing: str = "", *, keep: bool = False, follow: bool = False) -> None:
        """Other entries, or what to say where there are none. With `follow` a cursor at the end stays at the end."""
        if keep and entries == self.entries and nothing == self._nothing:
            return
        at_end = follow and keep and self.cursor >= self.count() - 1
        before, place = self.selected, self._rows[self.cursor][0] if self.cursor < len(self._rows) else 0
        below = self.cursor - next((row for row, (number, *_) in enumerate(self._rows) if number == place), 0)
        self.entries, self._nothing = entries, nothing
        self._laid_out = -1
        self._lay_out()
        same = nearest(entries, place, lambda one: one == before)
        row = next((row for row, (number, *_) in enumerate(self._rows) if number == same), None)
        self.changed(top=None if keep else 0, cursor=0 if not keep else None if row is None else row + below)
        if at_end:
            self.move_to(self.count() - 1, tell=False)

    @property
    def selected(self) -> Entry | None:
        """The entry under the cursor."""
        self._lay_out()
        return self.entries[self._rows[self.cursor][0]] if 0 <= self.cursor < len(self._rows) else None

    def count(self) -> int:
        """How many rows there are at this width."""
        self._lay_out()
        return len(self._rows) or (1 if self._nothing else 0)

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        self._lay_out()
        if not self._rows:
            return [(one_line(self._nothing, width), "conversation-view--dim")]
        number, part, text = self._rows[at]
        entry = self.entries[number]
        if entry.kind == "say":
            return self._said(entry, part, text)
        if entry.kind == "note":
            return self._note(entry, part, text)
        return self._call(entry, width) if entry.kind == "call" else self._run(entry, width)

    def _said(self, entry: Entry, part: int, text: str) -> list[Piece]:
        if part:
            cut = part == MOST_ROWS or (part < 0)
            return [(" " * (LABEL + self._numbers), ""), (text, "conversation-view--more" if cut else "")]
        ink = entry.label if entry.label in ("system", "user", "assistant") else "dim"
        number = f"{entry.number:>{self._numbers - 1}} " if entry.number else " " * self._numbers
        return [
            (number, "conversation-view--dim"),
            (f"{one_line(entry.label, LABEL - 1):<{LABEL}}", f"conversation-view--{ink}"),
            (text, ""),
        ]

    def _call(self, entry: Entry, width: int) -> list[Piece]:
        indent = self._numbers + (2 if width < NARROW else LABEL)
        room = max(width - indent - 2, 4)
        told = f"  {entry.told}" if entry.told and room > 30 else ""
        if entry.server and room > ROOM_FOR_SERVERS:
            told = f"  {one_line(entry.server, room // 5)} {told}"
        room -= cell_len(told)
        name = one_line(entry.text, max(room // 2, 4))
        room -= cell_len(name)
        args = one_line(f" {entry.label}", max(room // 2, 0)) if entry.label and room > 8 else ""
        room -= cell_len(args)
        arrow = f" {MARKS['arrow']} " if entry.outcome and room > 8 else ""
        outcome = one_line(entry.outcome, room - cell_len(arrow)) if arrow else ""
        gap = " " * max(room - cell_len(arrow) - cell_len(outcome), 0)
        ink = {"pass": "pass", "fail": "fail"}.get(entry.status, "dim")
        head: list[Piece] = [(" " * indent, "")]
        if entry.number:
            head = [(f"{entry.number:>{self._numbers - 1}} ", "conversation-view--dim")]
            head.append(
                (f"{'assistant':<{indent - self._numbers}}"[: indent - self._numbers], "conversation-view--assistant")
            )
        return [
            *head,
            (f"{mark(entry.status)} ", f"conversation-view--{ink}"),
            (name, "conversation-view--name"),
            (args, "conversation-view--dim"),
            (arrow, "conversation-view--dim"),
            (outcome, "conversation-view--fail" if entry.status == "fail" else ""),
            (f"{gap}{told}", "conversation-view--dim"),
        ]

    def _run(self, entry: Entry, width: int) -> list[Piece]:
        fold = f"{MARKS[entry.outcome]} " if entry.outcome in ("open", "closed") else ""
        ink = "inconclusive" if entry.status == "deferred" else entry.status
        head = f"{entry.label}   "
        used = cell_len(fold) + 2 + cell_len(head) + cell_len(entry.told)
        return [
            (fold, "conversation-view--dim"),
            (f"{mark(entry.status)} ", f"conversation-view--{ink}" if ink in INKS else ""),
            (head, "conversation-view--run"),
            (entry.told, "conversation-view--dim"),
            (one_line(f"   {entry.text}", max(width - used, 0)) if entry.text else "", "conversation-view--dim"),
        ]

    def _note(self, entry: Entry, part: int, text: str) -> list[Piece]:
        sign = f"{mark(entry.status)} " if entry.status else ""
        ink = f"conversation-view--{entry.status}" if entry.status in INKS else "conversation-view--dim"
        return [(" " * cell_len(sign) if part else sign, ink), (text, "conversation-view--dim")]

    def _lay_out(self) -> None:
        """Each row as (entry, its number in the entry, its text); -1 for the row that says how much more there is."""
        width = self.text_width
        if width == self._laid_out:
            return
        self._laid_out = width
        self._rows = []
        if not width:
            return
        most = max((entry.number for entry in self.entries if entry.kind in ("say", "call")), default=0)
        self._numbers = max(len(str(most)), 2) + 1
        room = max(width - LABEL - self._numbers, 12)
        for at, entry in enumerate(self.entries):
            if entry.kind == "note":
                beside = cell_len(mark(entry.status)) + 1 if entry.status else 0
                parts = _wrapped(entry.text, max(width - beside, 12))
                self._rows += [(at, part, text) for part, text in enumerate(parts)][:MOST_ROWS]
                continue
            if entry.kind != "say":
                self._rows.append((at, 0, ""))
                continue
            shown = 0
            for part, text in enumerate(_wrapped(entry.text, room)):
                if part >= MOST_ROWS:
                    break
                self._rows.append((at, part, text))
                shown += len(text) + 1
            else:
                if not entry.length:
                    continue
            length = f"{entry.length or len(entry.text):,} characters"
            self._rows.append((at, -1, one_line(f"{length}; {key_of('conversation.open')} shows all of it", room)))


def _wrapped(text: str, width: int) -> Iterator[str]:
    """A text as rows no wider than `width`, at spaces where there are some; always at least one."""
    for line in (safe_text(text).strip("\n") or "").split("\n"):
        if line.isascii():
            yield from _ascii(line, width)
        elif cell_len(line) <= width:
            yield line
        else:
            yield from _wide(line, width)


def _ascii(line: str, width: int) -> Iterator[str]:
    at = 0
    while len(line) - at > width:
        end = line.rfind(" ", at + 1, at + width + 1)
        end = end if end > at else at + width
        yield line[at:end]
        at = end + 1 if line[end : end + 1] == " " else end
    yield line[at:]


def _wide(line: str, width: int) -> Iterator[str]:
    while cell_len(line) > width:
        head = chop_cells(line, width)[0]
        space = head.rfind(" ")
        if space > 0 and line[len(head) : len(head) + 1] != " ":
            head = head[:space]
        yield head
        line = line[len(head) :].removeprefix(" ")
    yield line
