"""What a server offers: a row of tabs with counts, and a line for each tool, resource, template or prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line
from mcptest_tui.state.catalog import KINDS, SHORT, TITLES, Catalog
from mcptest_tui.widgets.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual import events
    from textual.binding import BindingType

    from mcptest_tui.state.catalog import Item
    from mcptest_tui.widgets.lines import Piece

MARKED = {"destructive": ("!", "catalog-list--destructive"), "changes things": ("~", "catalog-list--changing")}
SUSPICIOUS = ("?", "catalog-list--suspicious")
BADGES_FROM = 64
"""Cells from which a row has room for words about its tool."""


class KindTabs(Widget):
    """The tabs of the four lists, each with its count; a click shows one."""

    DEFAULT_CSS = "KindTabs { height: 1; }"

    @dataclass
    class Clicked(Message):
        """Posted when a tab was clicked or reached by the jump overlay."""

        kind: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.current = KINDS[0]
        self.counts: dict[str, int] = {}

    def show(self, current: str, counts: dict[str, int]) -> None:
        """Mark another tab as current, and show other counts."""
        if (current, counts) != (self.current, self.counts):
            self.current, self.counts = current, counts
            self.refresh()

    def render(self) -> Content:
        parts = []
        for kind, _, text in self._placed():
            empty = not self.counts.get(kind)
            style = (
                "bold underline $primary" if kind == self.current else "$foreground 40%" if empty else "$foreground 65%"
            )
            parts.append(Content.styled(text, style))
        return Content(" ") + Content("  ").join(parts)

    def on_click(self, event: events.Click) -> None:
        """Post `Clicked` for the tab under the pointer."""
        for kind, x, text in self._placed():
            if x <= event.x < x + len(text):
                self.post_message(self.Clicked(kind))

    def jump_targets(self) -> Iterator[tuple[int, int, object]]:
        """Every tab, for the jump overlay."""
        for kind, x, _ in self._placed():
            yield x, 0, lambda kind=kind: self.post_message(self.Clicked(kind))

    def _placed(self) -> list[tuple[str, int, str]]:
        def texts(titles: dict[str, str]) -> list[str]:
            return [f"{titles[kind]} {self.counts.get(kind, 0)}" if self.counts else titles[kind] for kind in KINDS]

        told = texts(TITLES)
        if sum(len(text) + 2 for text in told) > self.size.width:
            told = texts(SHORT)
        placed, x = [], 1
        for kind, text in zip(KINDS, told, strict=True):
            placed.append((kind, x, text))
            x += len(text) + 2
        return placed


class CatalogList(Lines):
    """Draws the list of a `Catalog` that is shown. A tool that destroys has a `!` before it, one that changes things a `~`,
    one with suspicious words a `?`.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("catalog")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"catalog-list--{name}"
        for name in ("name", "argument", "type", "default", "dim", "destructive", "changing", "badge", "suspicious")
    }
    DEFAULT_CSS = """
    CatalogList {
        & > .catalog-list--name { text-style: bold; }
        & > .catalog-list--argument { color: $json-key; }
        & > .catalog-list--type { color: $json-string; }
        & > .catalog-list--default { color: $json-number; }
        & > .catalog-list--dim { color: $foreground 65%; }
        & > .catalog-list--destructive { color: $verdict-fail; text-style: bold; }
        & > .catalog-list--changing { color: $verdict-inconclusive; text-style: bold; }
        & > .catalog-list--suspicious { color: $warning; text-style: bold reverse; }
        & > .catalog-list--badge { color: $foreground 65%; }
    }
    """
    HELP = """The tools, resources and prompts of the server. Required arguments come first, optional ones without a default
    are in brackets. ! marks a tool that destroys something, ~ one that changes something, ? a description with suspicious
    words. {catalog.open} opens the form for a call, {servers.details} the description; {servers.tab.next} changes the list.
    {test.propose} calls a tool and proposes a test of it. {server.subscribe} subscribes to a resource: it is marked
    when the server updates it. Lists that change are read again."""

    @dataclass
    class Left(Message):
        """Posted when the person goes back to the servers."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.catalog = Catalog()
        self.nothing = ""

    def show(self, catalog: Catalog, nothing: str = "", *, cursor: int = 0) -> None:
        """Show another catalog, list or filter; `nothing` is the text of an empty one."""
        self.catalog, self.nothing = catalog, nothing
        self.changed(cursor=cursor)
        self.show_row(self.cursor)

    def item(self) -> Item | None:
        """Return the entry under the cursor, None where the list is empty."""
        shown = self.catalog.shown
        return shown[self.cursor] if self.cursor < len(shown) else None

    def count(self) -> int:
        """Return the number of rows; the text of an empty list is one."""
        return len(self.catalog.shown) or bool(self.nothing)

    def action_leave(self) -> None:
        self.post_message(self.Left())

    def action_choose(self) -> None:
        """Choose the entry under the cursor, if there is one."""
        if self.item() is not None:
            super().action_choose()

    def jump_targets(self) -> Iterator[tuple[int, int, object]]:
        """Every row in view, for the jump overlay."""
        top = self.scroll_offset.y
        for at in range(top, min(top + self.page, len(self.catalog.shown))):
            yield 1, at - top, lambda at=at: self.move_to(at)

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        if not self.catalog.shown:
            return [(one_line(f" {self.nothing}", width), "catalog-list--dim")]
        item = self.catalog.shown[at]
        mark, ink = next((MARKED[badge] for badge in item.badges if badge in MARKED), (" ", ""))
        if item.warnings:
            mark, ink = SUSPICIOUS
        badges = self.catalog.word(item) if width >= BADGES_FROM or item.kind == "resources" else ""
        if item.warnings and width >= BADGES_FROM:
            badges = "suspicious"
        room = width - 2 - (cell_len(badges) + 2 if badges else 0)
        pieces: list[Piece] = [(f"{mark} ", ink)]
        left = room
        for text, kind in item.pieces:
            whole = one_line(text, room)
            told = whole if cell_len(whole) < left else one_line(f"{whole.removesuffix('…')}…", left)
            pieces.append((told, f"catalog-list--{kind or 'dim'}"))
            left -= cell_len(told)
            if told != whole or told.endswith("…"):
                break
        title = item.title
        if title and left > 12:
            told = one_line(title, left - 3)
            pieces.append((f"  {told}", "catalog-list--dim"))
            left -= cell_len(told) + 2
        if badges:
            pieces += [(" " * max(left, 0) + "  ", ""), (badges, ink or "catalog-list--badge")]
        return pieces
