"""The base of every long list here: rows drawn one a line when they are seen, a cursor, and no widget for any of them.

What a subclass draws is pairs of a text and the name of an ink, a component class of its own; the text must have passed
`safe.py`. The cursor is told by its background and, where colours are missing, by a bar at the left edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from mcptest_tui.keymap import bindings_for
from mcptest_tui.problems import Sturdy
from mcptest_tui.words import MARKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.binding import BindingType

    Ink = str
    Piece = tuple[str, Ink]

Row = TypeVar("Row")

SEEN = 1.1
"""How much a list grows before its scroll bar is drawn anew, unless it is scrolled: the bar is as tall as the list."""


class Lines(Sturdy, ScrollView, can_focus=True):
    """A scrolling list of rows; subclasses give `count` and `pieces`, and call `changed`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("lines")
    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines--cursor", "lines--cursor-blurred", "lines--bar"}
    DEFAULT_CSS = """
    Lines {
        background: $background; color: $foreground; overflow-x: hidden; overflow-y: auto; scrollbar-gutter: stable;
        & > .lines--cursor { background: $primary 28%; text-style: bold; }
        & > .lines--cursor-blurred { background: $foreground 10%; }
        & > .lines--bar { color: $primary; text-style: bold; }
        &:ansi > .lines--cursor { background: ansi_default; text-style: bold reverse; }
    }
    """
    HAS_CURSOR = True

    @dataclass
    class CursorMoved(Message):
        """Posted when the cursor has moved to another row."""

        lines: Lines

    @dataclass
    class Chosen(Message):
        """Posted on Enter or a double click on a row; `row` is its `row_at` of that moment."""

        lines: Lines
        row: object = None

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.cursor = 0
        self._inks: dict[str, Style] = {}
        self._mixes: dict[str, Style] = {}
        self._undrawn: set[type[Exception]] = set()

    # What a subclass gives

    def count(self) -> int:
        """Return how many rows there are."""
        raise NotImplementedError

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        """Return the styled texts of row `at`; what exceeds `width` cells is cut."""
        raise NotImplementedError

    def row_at(self, at: int) -> object:  # noqa: ARG002
        """Return what row `at` stands for, which `Chosen` carries."""
        return None

    # Drawing

    def changed(self, *, cursor: int | None = None, top: int | None = None) -> None:
        """Draw the rows again after they have changed, with cursor and first row where wanted."""
        count = self.count()
        size = Size(self.scrollable_content_region.width, count)
        self.cursor = min(max(self.cursor if cursor is None else cursor, 0), max(count - 1, 0))
        self._fit(size)
        if top is not None:
            self.scroll_to(y=min(max(top, 0), self._most()), animate=False, immediate=True, force=True)
        self.refresh()

    def _fit(self, size: Size) -> None:
        """Another height; without a layout of the whole screen where no scroll bar comes or goes."""
        before = self.virtual_size
        if size == before:
            return
        bar, height = self.show_vertical_scrollbar, self.size.height
        if size.width != before.width or not height or bar != (size.height > height):
            self.virtual_size = size
            return
        self.set_reactive(ScrollView.virtual_size, size)
        if bar:
            shown = self.vertical_scrollbar.window_virtual_size
            if not shown <= size.height <= shown * SEEN:
                self.vertical_scrollbar.window_virtual_size = size.height
        else:
            self.set_reactive(ScrollView.scroll_y, 0.0)
            self.set_reactive(ScrollView.scroll_target_y, 0.0)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The bar is moved, and is as long as it should be; of it, the cells are drawn that look different then."""
        if self.show_vertical_scrollbar:
            bar = self.vertical_scrollbar
            bar.window_virtual_size = self.virtual_size.height
            before, after = _thumb(bar, bar.position), _thumb(bar, new_value)
            bar.set_reactive(ScrollBar.position, bar.validate_position(new_value))
            if before != after:
                top = int(min(before, after))
                length = bar.size.height * bar.window_size / max(bar.window_virtual_size, 1)
                bar.refresh(Region(0, top, bar.size.width, int(max(before, after) + max(length, 1)) + 2 - top))
        drawn = self._drawn()
        super().watch_scroll_y(old_value, new_value)
        self._reuse(drawn, round(new_value) - round(old_value))

    def _drawn(self) -> dict[int, Strip]:
        """The lines that are drawn and still right, by their places in the widget."""
        lines, first = self._styles_cache, self.gutter.top
        places = range(first, first + self.size.height)
        return {y: lines._cache[y] for y in places if y in lines._cache and not lines.is_dirty(y)}

    def _reuse(self, drawn: dict[int, Strip], steps: int) -> None:
        """Move drawn lines up by `steps` rows, so that they are not drawn again: Textual draws all lines at each scroll."""
        lines, first = self._styles_cache, self.gutter.top
        places = range(first, first + self.size.height)
        moved = {y - steps: strip for y, strip in drawn.items() if y - steps in places}
        lines._cache.update(moved)
        lines._dirty_lines -= moved.keys()

    def render_line(self, y: int) -> Strip:
        """Draw the row at line `y` of the widget."""
        width, text_width = self.size.width, self.text_width
        at = y + self.scroll_offset.y
        if not 0 <= at < self.count():
            return Strip.blank(width, self._plain())
        base, marked = self._base(at)
        bar = Segment(MARKS["bar"] if marked else " ", base + self.ink("lines--bar") if marked else base)
        segments, room, plain = [bar], text_width, not marked
        for text, ink in self._pieces(at, text_width):
            taken = cell_len(text)
            is_cut = taken > room
            if is_cut:
                text = shortened(text, room)
                taken = cell_len(text)
            if taken:
                segments.append(Segment(text, self._mixed(base, ink, plain) if ink else base))
            room -= taken
            if is_cut:
                break
        room += width - 1 - text_width
        if room > 0:
            segments.append(Segment(" " * room, base))
        return Strip(segments, width)

    @property
    def text_width(self) -> int:
        """The cells of a row for its text: all but the bar of the cursor and the scroll bar, which has a column of its own."""
        return max(self.scrollable_content_region.width - 1, 0)

    def _pieces(self, at: int, width: int) -> Sequence[Piece]:
        """Return the row's texts; if drawing fails, report the error and draw a substitute."""
        try:
            return self.pieces(at, width)
        except Exception as error:  # noqa: BLE001 - a bug of ours
            if type(error) not in self._undrawn:
                self._undrawn.add(type(error))
                self.app.call_later(self.app.problem, error)  # type: ignore[attr-defined]
            return [("cannot be drawn"[:width], "")]

    def ink(self, name: str) -> Style:
        """The colour and weight of a component class, without its background."""
        found = self._inks.get(name)
        if found is None:
            style = self.get_component_rich_style(name)
            found = self._inks[name] = Style(
                color=style.color,
                bold=style.bold,
                italic=style.italic,
                underline=style.underline,
                strike=style.strike,
                reverse=style.reverse,
                bgcolor=style.bgcolor if name.endswith("-marked") else None,
            )
        return found

    def _mixed(self, base: Style, name: str, plain: bool) -> Style:
        """Return a style on the background of the row; those of plain rows are cached."""
        if not plain:
            return base + self.ink(name)
        found = self._mixes.get(name)
        if found is None:
            found = self._mixes[name] = base + self.ink(name)
        return found

    def _plain(self) -> Style:
        found = self._inks.get("")
        if found is None:
            found = self._inks[""] = self.rich_style
        return found

    def notify_style_update(self) -> None:
        """Drop the cached styles when the theme or a state has changed."""
        super().notify_style_update()
        self._inks.clear()
        self._mixes.clear()

    def _base(self, at: int) -> tuple[Style, bool]:
        if not self.HAS_CURSOR or at != self.cursor:
            return self._plain(), False
        name = "lines--cursor" if self.has_focus else "lines--cursor-blurred"
        return self.get_component_rich_style(name), True

    # The cursor

    def move_to(self, at: int, *, tell: bool = True, centre: bool = False) -> None:
        """Move the cursor to row `at`, and scroll it into view."""
        count = self.count()
        if not count:
            return
        before, self.cursor = self.cursor, min(max(at, 0), count - 1)
        self.show_row(self.cursor, centre=centre)
        if before != self.cursor:
            self.refresh_line(before)
            self.refresh_line(self.cursor)
            if tell:
                self.cursor_moved()

    def cursor_moved(self) -> None:
        """Post `CursorMoved`; a subclass may do more."""
        self.post_message(self.CursorMoved(self))

    def show_row(self, at: int, *, centre: bool = False) -> None:
        """Scroll as little as needed to show a row."""
        height, top = self.page, self.scroll_offset.y
        if top <= at < top + height:
            return
        wanted = at - height // 2 if centre else at if at < top else at - height + 1
        self.scroll_to(y=min(max(wanted, 0), self._most()), animate=False, immediate=True, force=True)

    @property
    def page(self) -> int:
        """The number of rows in view."""
        return max(self.scrollable_content_region.height, 1)

    def _most(self) -> int:
        return max(self.count() - self.page, 0)

    def action_move(self, steps: int) -> None:
        """Move the cursor by `steps` rows, or scroll where there is none."""
        if self.HAS_CURSOR:
            self.move_to(self.cursor + steps)
        else:
            self._scroll_by(steps)

    def action_page(self, pages: float) -> None:
        """Move the cursor by `pages` pages, down or up."""
        self.action_move(int(self.page * pages) or (1 if pages > 0 else -1))

    def action_end(self, down: bool) -> None:
        """Move the cursor to the last row, or to the first."""
        self.action_move(self.count() * (1 if down else -1))

    def action_choose(self) -> None:
        if self.count():
            self.post_message(self.Chosen(self, self.row_at(self.cursor)))

    def _scroll_by(self, steps: int) -> None:
        self.scroll_to(
            y=min(max(self.scroll_offset.y + steps, 0), self._most()), animate=False, immediate=True, force=True
        )

    # The mouse, and sizes

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the row under the pointer; a double click chooses it."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        at = offset.y + self.scroll_offset.y
        if 0 <= at < self.count() and self.HAS_CURSOR:
            self.move_to(at)
            self.clicked(at, offset.x, twice=event.chain == 2)

    def clicked(self, at: int, x: int, *, twice: bool) -> None:  # noqa: ARG002
        """Handle a click on row `at` at column `x`; a double click chooses it."""
        if twice:
            self.action_choose()

    def on_resize(self) -> None:
        """Draw again for the new size, with the cursor in view."""
        self.changed()
        if self.HAS_CURSOR and self.count():
            self.show_row(self.cursor)

    def on_focus(self) -> None:
        """Draw the cursor in the style of a focused list."""
        self.refresh_line(self.cursor)

    def on_blur(self) -> None:
        """Draw the cursor in the style of a list without the focus."""
        self.refresh_line(self.cursor)


def nearest(rows: Sequence[Row], at: int, is_wanted: Callable[[Row], bool]) -> int | None:
    """Return the index nearest to `at` whose row is wanted, None without one."""
    return min(
        (place for place, row in enumerate(rows) if is_wanted(row)), key=lambda place: abs(place - at), default=None
    )


def shortened(text: str, room: int) -> str:
    """Return the text cut to `room` cells with "…", without spaces at its end."""
    bare = text.rstrip()
    if cell_len(bare) <= room:
        return bare
    kept = chop_cells(bare, max(room - 1, 1))
    return (kept[0] if kept and room > 1 else "") + MARKS["cut"][:1] if room > 0 else ""


def _thumb(bar: ScrollBar, position: float) -> float:
    """Return the cell where the thumb of a scroll bar begins, rounded to eighths."""
    rows, window, whole = bar.size.height, bar.window_size, bar.window_virtual_size
    if whole <= window:
        return 0
    length = max(1, rows * window / whole)
    return int((rows - length) * position / (whole - window) * 8) / 8
