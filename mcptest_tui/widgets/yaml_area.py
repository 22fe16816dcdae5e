"""The editor for YAML: colours of what is visible, underlined problems, verdicts in the gutter, notes behind a test's name.

Textual's `TextArea` with its drawing completed. No tree-sitter: a line is coloured when it is drawn, by itself, and kept. What
is in the file is text and nothing else: controls are shown as stand-ins, one for one, so that columns stay what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.document._wrapped_document import WrappedDocument
from textual.geometry import Offset, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from mcptest_engine.core.sanitise import replace_unsafe
from mcptest_tui.keymap import bindings_for
from mcptest_tui.problems import Sturdy
from mcptest_tui.safe import one_line
from mcptest_tui.state.yaml_spans import paint
from mcptest_tui.widgets.yaml_document import YamlDocument
from mcptest_tui.widgets.yaml_typing import YamlTyping
from mcptest_tui.words import MARKS, mark

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from textual import events
    from textual.binding import BindingType
    from textual.document._document import Location
    from textual.geometry import Region

    from mcptest_tui.state.verdict_notes import Note

INKS = (
    *("comment", "key", "text", "number", "constant", "null", "template", "anchor", "mark"),
    *("error", "warning", "error-mark", "warning-mark", "hit", "note"),
    *("pass", "fail", "inconclusive", "skip", "new", "stopped", "queued", "running", "stale"),
)
NOTE_GAP = 3
GUTTER_SIDE = 3
"""Cells for the two marks of the gutter and the gap before the number."""
_BRACKET_ROWS = 400
Told = TypeVar("Told")


class LineList(WrappedDocument):
    """As the base class, whose `height` counts all lines anew for each line that is drawn."""

    @property
    def height(self) -> int:
        """The number of rows of the text."""
        return len(self._offset_to_line_info)


class YamlArea(Sturdy, TextArea, inherit_bindings=False):
    """One file. Whoever owns it marks it, by rows: `squiggles` are (first column, column behind, "error" or "warning"),
    `notes` the verdicts, `hits` what a search found.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("editor")
    HELP = """The suite's text. {edit.complete} completes, {edit.explain} explains, {edit.problem.next} goes from problem to
    problem, {edit.fix} applies a fix."""
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"yaml-area--{ink}" for ink in INKS}
    DEFAULT_CSS = """
    YamlArea {
        border: none; padding: 0; background: $background; color: $foreground; scrollbar-size-horizontal: 0;
        &:focus { border: none; }
        & > .text-area--gutter { color: $foreground 45%; background: $background; }
        & > .text-area--cursor-gutter { color: $foreground; background: $foreground 8%; text-style: bold; }
        & > .text-area--cursor-line { background: $foreground 8%; }
        & > .text-area--matching-bracket { background: $foreground 25%; text-style: bold; }
        & > .yaml-area--comment { color: $foreground 55%; text-style: italic; }
        & > .yaml-area--key { color: $json-key; }
        & > .yaml-area--text { color: $json-string; }
        & > .yaml-area--number { color: $json-number; }
        & > .yaml-area--constant { color: $json-boolean; }
        & > .yaml-area--null { color: $json-boolean; }
        & > .yaml-area--template { color: $accent; text-style: bold; }
        & > .yaml-area--anchor { color: $secondary; }
        & > .yaml-area--mark { color: $foreground 60%; }
        & > .yaml-area--error { color: $text-error; text-style: underline; }
        & > .yaml-area--warning { color: $text-warning; text-style: underline; }
        & > .yaml-area--error-mark { color: $text-error; text-style: bold; }
        & > .yaml-area--warning-mark { color: $text-warning; text-style: bold; }
        & > .yaml-area--hit { background: $warning 40%; }
        & > .yaml-area--note { color: $foreground 55%; text-style: italic; }
        & > .yaml-area--pass { color: $verdict-pass; text-style: bold; }
        & > .yaml-area--fail { color: $verdict-fail; text-style: bold; }
        & > .yaml-area--inconclusive { color: $verdict-inconclusive; text-style: bold; }
        & > .yaml-area--skip { color: $verdict-skip; }
        & > .yaml-area--new, & > .yaml-area--stopped { color: $foreground 45%; }
        & > .yaml-area--queued { color: $foreground 60%; }
        & > .yaml-area--running { color: $primary; text-style: bold; }
        & > .yaml-area--stale { color: $foreground 45%; }
    }
    """

    selection = reactive(Selection(), init=False, always_update=True, repaint=False)
    """As the base class has it, but only the rows that look different are drawn anew."""

    _styled: object = None
    """The theme whose styles were read."""

    def __init__(self, text: str = "", *, id: str | None = None, read_only: bool = False) -> None:  # noqa: A002
        super().__init__("", soft_wrap=False, read_only=read_only, show_line_numbers=True, max_checkpoints=2_000, id=id)
        self.typing = YamlTyping(self)
        self.set_reactive(TextArea.cursor_blink, False)
        self.set_reactive(TextArea.indent_width, 2)
        self.squiggles: dict[int, list[tuple[int, int, str]]] = {}
        self.notes: dict[int, Note] = {}
        self.hits: dict[int, list[tuple[int, int]]] = {}
        self._inks: dict[str, Style] = {}
        self._wanted: tuple[int, int] | None = None
        self._rows_shown = 0
        self._set_document(text, None)

    # Keys

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Keep Tab for indentation, so that the footer names no other meaning of it."""
        if not self.read_only and key in ("tab", "shift+tab"):
            return True
        return super().check_consume_key(key, character)

    async def _on_key(self, event: events.Key) -> None:
        if self.typing.take(event.key, event.character if event.is_printable else None):
            event.stop()
            event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert pasted text with the line ends of this file."""
        event.prevent_default()
        event.stop()
        if not self.read_only:
            self.typing.assist.close()
            self.typing.insert_text(event.text)

    def action_paste(self) -> None:
        """Insert the text that was last copied in the workbench."""
        if not self.read_only:
            self.typing.insert_text(self.app.clipboard)

    def action_delete_left(self) -> None:
        """Delete a character, an empty pair, or two spaces of indentation."""
        if not self.typing.delete_left():
            super().action_delete_left()
        self.typing.assist.typed("")

    def action_comment(self) -> None:
        """Put `# ` before the selected lines, or remove it where all of them have it."""
        self.typing.comment()

    # The text

    @property
    def lines(self) -> Sequence[str]:
        """The lines of the text."""
        return self._yaml.lines

    @property
    def _yaml(self) -> YamlDocument:
        assert isinstance(self.document, YamlDocument)
        return self.document

    def _set_document(self, text: str, language: str | None) -> None:
        from textual.document._document_navigator import DocumentNavigator

        if not hasattr(self, "_inks"):  # the base class makes one of its own while it initialises
            super()._set_document(text, language)
            return
        self.document = YamlDocument(text, self._rows_moved)
        self.wrapped_document = LineList(self.document, tab_width=self.indent_width)
        self.navigator = DocumentNavigator(self.wrapped_document)
        self.move_cursor((0, 0))
        self._rewrap_and_refresh_virtual_size()
        self.refresh()

    def become(self, text: str) -> None:
        """Have another text, by one edit that can be undone; the cursor stays where it was, as far as there is such a place."""
        from mcptest_engine.suite.text_edits import edit_between

        before = self.text
        edit = edit_between(before, text)
        if not edit.text and edit.start == edit.end:
            return
        if YamlDocument(text).newline != self.document.newline:
            row, column = self.cursor_location
            self.load_text(text)
            self.move_cursor((min(row, len(self.lines) - 1), column))
            return
        self.history.checkpoint()
        self.replace(
            edit.text, self.location_of(edit.start), self.location_of(edit.end), maintain_selection_offset=True
        )
        self.history.checkpoint()

    def location_of(self, index: int) -> Location:
        """The row and column of a character of the text."""
        before = self.text[:index]
        newline = self.document.newline
        row = before.count(newline)
        return row, len(before) - (before.rfind(newline) + len(newline) if row else 0)

    def index_of(self, place: Location) -> int:
        """The index in the text of the character at a row and column."""
        above = sum(len(line) for line in self.lines[: place[0]])
        return above + place[0] * len(self.document.newline) + place[1]

    def place(self, row: int, column: int) -> None:
        """Move the cursor; a place out of view, or in its lower third, is scrolled to a third from the top."""
        if not self.size.height:
            self._wanted = (row, column)  # without a size there is no middle yet
            return
        top, height = self.scroll_offset.y, self.size.height
        self.move_cursor((row, column))
        at = self.wrapped_document.location_to_offset(self.cursor_location).y
        if not top <= at < top + height * 2 // 3:
            self.scroll_to(y=max(at - height // 3, 0), animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        """The first size: there is a place to go to. With any other, a cursor that was in view stays there."""
        before, self._rows_shown = self._rows_shown, self.size.height
        if self._wanted is not None and self.size.height:
            wanted, self._wanted = self._wanted, None
            self.call_after_refresh(self.place, *wanted)
        elif 0 <= self._cursor_offset[1] - self.scroll_offset.y < before:
            self.call_after_refresh(self.scroll_cursor_visible)

    def _rows_moved(self, top: int, before: int, after: int, coloured: int) -> None:
        """What hangs on rows below an edit goes with them; what hung on the edited rows waits for the next look.

        Up to row `coloured` the text may have other colours than before.
        """
        if before != after:
            self.squiggles = _moved(self.squiggles, top, before, after)
            self.notes = _moved(self.notes, top, before, after)
        if before == after and not self.hits:
            self._draw_rows(range(top, coloured + 1))
        else:
            self.hits = {}
            self._line_cache.clear()
            self.refresh()

    def _draw_rows(self, rows: Collection[int]) -> None:
        """Draw these rows of the text anew; where long lines are wrapped, all."""
        if rows and self.soft_wrap:
            self._line_cache.clear()
            self.refresh()
            return
        for key in [key for key in self._line_cache.keys() if key[2] in rows]:  # noqa: SIM118 - it is no mapping
            self._line_cache.discard(key)
        top = self.scroll_offset.y
        for row in rows:
            if top <= row < top + self.size.height:
                self.refresh_lines(row)

    def _build_highlight_map(self) -> None:
        """There is no tree to ask; `_rows_moved` has seen to what was edited."""

    def _watch_selection(self, previous_selection: Selection, selection: Selection) -> None:
        bracket = self._matching_bracket_location
        super()._watch_selection(previous_selection, selection)
        if self.soft_wrap:
            self.refresh()
            return
        top, height = self.scroll_offset.y, self.size.height
        for first, last in {tuple(sorted(one)) for one in (previous_selection, selection)}:
            if seen := range(max(first[0], top), min(last[0] + 1, top + height)):
                self.refresh_lines(seen.start, len(seen))
        for place in (bracket, self._matching_bracket_location):
            if place is not None:
                self.refresh_lines(place[0])

    # What is shown beside the text

    def mark(
        self,
        *,
        squiggles: Mapping[int, Iterable[tuple[int, int, str]]] | None = None,
        notes: Mapping[int, Note] | None = None,
        hits: Mapping[int, Iterable[tuple[int, int]]] | None = None,
    ) -> None:
        """Replace the given kinds of marks, and draw the rows that change."""
        before: tuple[dict[int, Any], ...] = (self.squiggles, self.notes, self.hits)
        if squiggles is not None:
            self.squiggles = {row: list(found) for row, found in squiggles.items()}
        if notes is not None:
            self.notes = dict(notes)
        if hits is not None:
            self.hits = {row: list(found) for row, found in hits.items()}
        marks: tuple[dict[int, Any], ...] = (self.squiggles, self.notes, self.hits)
        pairs = list(zip(before, marks, strict=True))
        self._draw_rows({row for old, new in pairs for row in old.keys() | new.keys() if old.get(row) != new.get(row)})

    def ink(self, name: str) -> Style:
        """The colour and weight of a component class; a background only where it is the point."""
        found = self._inks.get(name)
        if found is None:
            style = self.get_component_rich_style(name)
            background = style.bgcolor if name.endswith("-hit") else None
            found = self._inks[name] = Style(
                color=style.color, bgcolor=background, bold=style.bold, italic=style.italic, underline=style.underline
            )
        return found

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styled = None
        if hasattr(self, "_inks"):
            self._inks.clear()

    def action_cursor_end(self, down: bool) -> None:
        """Move the cursor to the end of the file, or to its start."""
        self.move_cursor(self.document.end if down else (0, 0))

    # Drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        """As the base class, but the cursor's line keeps the colours of its text, and styles are read when they change."""
        theme = self._theme
        if theme is not self._styled:
            self._styled = theme
            theme.apply_css(self)
            for name in ("cursor_line_style", "bracket_matching_style"):
                style = getattr(theme, name) or Style()
                setattr(theme, name, Style(bgcolor=style.bgcolor, bold=style.bold or None))
        return super(TextArea, self).render_lines(crop)

    def get_line(self, line_index: int) -> Text:
        """Return one line with its colours and marks."""
        line = self.document.get_line(line_index)
        text = Text(replace_unsafe(line, _stand_in) if not line.isprintable() or not line.isascii() else line, end="")
        text.no_wrap = True
        for start, end, name in paint(line, self._yaml.states[line_index]).spans:
            text.stylize(self.ink(f"yaml-area--{name}"), start, end)
        for start, end, severity in self.squiggles.get(line_index, ()):
            text.stylize(self.ink(f"yaml-area--{severity}"), start, end)
        for start, end in self.hits.get(line_index, ()):
            text.stylize(self.ink("yaml-area--hit"), start, end)
        return text

    @property
    def gutter_width(self) -> int:
        """The width of the gutter: marks and the line number, with gaps."""
        return GUTTER_SIDE + max(len(str(self.document.line_count)), 3) + 1 if self.show_line_numbers else 0

    def _render_line(self, y: int) -> Strip:
        strip = super()._render_line(y)
        offset = y + self.scroll_offset.y
        if not 0 <= offset < self.wrapped_document.height or not self.show_line_numbers:
            return strip
        row, section = self.wrapped_document._offset_to_line_info[offset]
        width, room = self.gutter_width, self.scrollable_content_region.width
        is_here = row == self.cursor_location[0] and self._has_cursor
        base = self._theme.cursor_line_gutter_style if is_here else self._theme.gutter_style
        style = self.rich_style + (base or Style())
        gutter = self._gutter(row, width, style) if section == 0 else [Segment(" " * width, style)]
        body = strip.crop(width, max(strip.cell_length, width))
        last = section == len(self.wrapped_document.get_offsets(row))
        note = self.notes.get(row)
        noted = None
        if note is not None and note.text and last and self.scroll_offset.x == 0:
            noted = self._with_note(body, note, row, room - width)
        body = self._with_edge(body, row, room - width, is_here=is_here) if noted is None else noted
        return Strip([*gutter, *body], width + body.cell_length)

    def _with_edge(self, body: Strip, row: int, room: int, *, is_here: bool) -> Strip:
        """A sign in the last column of a line that goes on behind it, unless the cursor is there."""
        behind = self.get_column_width(row, len(self.document.get_line(row))) - self.scroll_offset.x
        if self.soft_wrap or behind <= room or (is_here and self._cursor_offset[0] - self.scroll_offset.x >= room - 1):
            return body
        sign = Segment(MARKS["cut"][:1], self.rich_style + self.ink("yaml-area--mark"))
        return Strip.join([body.crop(0, room - 1), Strip([sign]), body.crop(room, max(body.cell_length, room))])

    def _gutter(self, row: int, width: int, style: Style) -> list[Segment]:
        """The verdict of the test that begins on a line, the mark of a problem, and the line's number."""
        note = self.notes.get(row)
        severities = {severity for _, _, severity in self.squiggles.get(row, ())}
        severity = "error" if "error" in severities else "warning" if severities else ""
        problem = {"error": MARKS["bar"], "warning": "!"}.get(severity, " ")
        verdict = Segment(" ", style)
        if note is not None:
            verdict = Segment(
                mark(note.status), style + self.ink(f"yaml-area--{'stale' if note.stale else note.status}")
            )
        return [
            verdict,
            Segment(problem, style + self.ink(f"yaml-area--{severity}-mark") if severity else style),
            Segment(f"{row + 1:>{width - GUTTER_SIDE}} ", style),
        ]

    def _with_note(self, body: Strip, note: Note, row: int, room: int) -> Strip | None:
        """A word behind the text, in the room that is left; cut rather than pushed out. None where there is no room."""
        used = self.get_column_width(row, len(self.document.get_line(row))) + NOTE_GAP
        told = one_line(note.text, room - used) if room - used >= 8 else ""
        if not told or self.soft_wrap:
            return None
        behind = next(iter(body.crop(used - 1, used)), None)
        background = Style(bgcolor=behind.style.bgcolor) if behind is not None and behind.style is not None else Style()
        style = self.ink("yaml-area--stale" if note.stale else "yaml-area--note") + background
        strip = Strip([Segment(told, style)])
        end = used + strip.cell_length
        return Strip.join([body.crop(0, used), strip, body.crop(end, max(body.cell_length, end))])

    def _refresh_size(self) -> None:
        """As the base class, but for the column that it adds where there is room without it, and without a layout of the screen
        where no scroll bar comes or goes.
        """
        if self.soft_wrap:
            size = Size(0, self.wrapped_document.height)
        else:
            width, height = self.document.get_size(self.indent_width)
            size = Size(max(width + self.gutter_width + 1, self.scrollable_content_region.width), height)
        if size != self.virtual_size:
            self.set_reactive(ScrollView.virtual_size, size)
            self._scroll_update(size)

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """As the base class, and back to the left edge as soon as the cursor can be seen from there."""
        moved = super().scroll_cursor_visible(center, animate)
        if self.scroll_offset.x and self._cursor_offset[0] + self.gutter_width + 3 < self.size.width:
            self.scroll_to(x=0, animate=False, force=True, immediate=True)
        return moved

    def find_matching_bracket(self, bracket: str, search_from: Location) -> Location | None:
        """As the base class, but not through the whole file: an open bracket must not make every key slow."""
        return super().find_matching_bracket(bracket, search_from) if bracket in "[]{}()" and bracket else None

    def _yield_character_locations(self, start: Location) -> Iterable[tuple[str, Location]]:
        for character, place in super()._yield_character_locations(start):
            if place[0] > start[0] + _BRACKET_ROWS:
                return
            yield character, place

    def _yield_character_locations_reverse(self, start: Location) -> Iterable[tuple[str, Location]]:
        for character, place in super()._yield_character_locations_reverse(start):
            if place[0] < start[0] - _BRACKET_ROWS:
                return
            yield character, place


def _stand_in(character: str) -> str:
    code = ord(character)
    return chr(0x2400 + code) if code < 32 else "\u2421" if code == 127 else "\ufffd"


def _moved(told: dict[int, Told], top: int, before: int, after: int) -> dict[int, Told]:
    return {
        row if row <= top else row + after - before: value
        for row, value in told.items()
        if row <= top or row >= top + before
    }
