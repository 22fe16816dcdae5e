"""A JSON value as a tree to walk through: fold, search, copy, and add an assertion for what is under the cursor.

Used for requests, responses and the answers of calls made by hand. It shows what it was given; what lies elsewhere (the rest
of a long text, further entries) is asked for with a message, and put in with `extend`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len, chop_cells
from textual.message import Message

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, safe_text
from mcptest_tui.state.json_rows import SHOWN_TEXT, Hits, JsonRow, JsonRows, preview, scalar_text, whole
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.words import MARKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

    from mcptest_tui.state.json_rows import Path
    from mcptest_tui.widgets.lines import Piece

KINDS = ("string", "number", "boolean", "null")
INDENT = 2
WRAPPED_ROWS = 200
TEXT_ROWS = 20_000


class JsonTree(Lines):
    """`show(value)` and it is there. `subtitle` of the pane is its screen's business: `CursorMoved` tells when."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("json")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"json-tree--{name}" for name in KINDS),
        *(f"json-tree--{name}" for name in ("key", "dim", "more", "found", "text")),
    }
    DEFAULT_CSS = """
    JsonTree {
        & > .json-tree--key { color: $json-key; }
        & > .json-tree--string { color: $json-string; }
        & > .json-tree--number { color: $json-number; }
        & > .json-tree--boolean { color: $json-boolean; }
        & > .json-tree--null { color: $json-null; text-style: italic; }
        & > .json-tree--dim { color: $foreground 60%; }
        & > .json-tree--text { color: $foreground; }
        & > .json-tree--more { color: $accent; text-style: underline; }
        & > .json-tree--found { color: $warning; text-style: bold underline; }
    }
    """
    HELP = """A value as a tree. The frame shows the path of the node under the cursor, as an assertion writes it.
    {json.assert} adds an assertion for the value, {json.value} copies it, {json.target} copies its path,
    {json.search} searches, {json.raw} shows everything as text."""

    @dataclass
    class NodeAction(Message):
        """Something is asked of the screen about the node at `path`: "value" (the whole of it in a window), "copy",
        "more" (entries from `start` on), "assert", "text" (the whole value as text), "search", "target", "reach" (the hit
        at `path`, which is not here yet).
        """

        tree: JsonTree
        what: str
        path: Path
        start: int = 0

        @property
        def control(self) -> JsonTree:
            return self.tree

    def __init__(self, *, id: str | None = None, assertions: bool = False) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.nodes: JsonRows | None = None
        self._assertions = assertions
        self._nothing = ""
        self._text: list[str] | None = None
        self._wrap = False
        self._hits = Hits()
        self._parts: list[tuple[int, str | None]] | None = None
        self._parts_width = -1

    # What is shown

    def show(self, value: object, *, root: Path = (), keep: bool = False) -> None:
        """A value; with `keep` it is a newer one of the same kind: what is open stays open, and the cursor on its path."""
        before = self.nodes
        path = self.path if keep else None
        self.nodes = before.again(value) if keep and before is not None else JsonRows(value, root=root)
        self._nothing = ""
        if not keep:
            self._text = None
        elif self._text is not None:
            self._text = _lines_of(json.dumps(value, ensure_ascii=False, indent=2))
        self._hits.find_in(self.nodes)
        self._refolded(0 if path is None else self._row_at(path), top=None if keep else 0)
        if before is None and self.is_mounted:
            self.screen.refresh_bindings()  # the footer has keys for a value only where there is one

    def show_nothing(self, text: str) -> None:
        """Show `text`, which says why there is no value."""
        self.nodes, self._text, self._nothing = None, None, text
        self._hits.clear()
        self._refolded(0, top=0)

    def show_text(self, text: str) -> None:
        """Show the value as text that the screen has fetched for it."""
        self._text = _lines_of(text)
        self._refolded(0, top=0)

    @property
    def path(self) -> Path | None:
        """Where the cursor is, from the value's root; None in a text, or where there is nothing."""
        row = self.row
        return None if row is None else row.path

    @property
    def row(self) -> JsonRow | None:
        """The row under the cursor."""
        if self.nodes is None or self._text is not None or not self.nodes.rows:
            return None
        return self.nodes.rows[self._row_index(self.cursor)]

    @property
    def target(self) -> str:
        """The assertion path of the node under the cursor; "" where there is none."""
        return (
            self.nodes.target(self._row_index(self.cursor)) if self.nodes is not None and self.row is not None else ""
        )

    @property
    def searching(self) -> str:
        """The search and its count, as `"rain" 2 of 7`; empty without a search."""
        return self._hits.described(self.path)

    def value(self) -> Any:
        """Return the value under the cursor, as far as it is loaded."""
        row = self.row
        return None if row is None else row.value

    def is_whole(self) -> bool:
        """Whether the value under the cursor is loaded completely."""
        row = self.row
        return (
            row is not None
            and row.kind not in ("file", "more")
            and whole(row.value)
            and (row.kind != "string" or row.length == len(row.value))
        )

    def extend(self, path: Path, more: object) -> None:
        """Add further entries to the container at `path`."""
        if self.nodes is not None:
            self.nodes.extend(path, more)
            self._refolded(self.cursor)

    # Drawing

    def count(self) -> int:
        """How many rows there are."""
        if self._text is not None:
            return len(self._text)
        if self.nodes is None:
            return 1 if self._nothing else 0
        return len(self._display())

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        if self._text is not None:
            return [(one_line(self._text[at], width), "json-tree--text")]
        if self.nodes is None:
            return [(one_line(self._nothing, width), "json-tree--dim")]
        number, part = self._display()[at]
        row = self.nodes.rows[number]
        if part is not None:
            indent = " " * self._hang(row)
            return [(indent, ""), (part, f"json-tree--{row.kind}")]
        return self._node(row, width)

    def _node(self, row: JsonRow, width: int) -> list[Piece]:
        indent = " " * (INDENT * row.depth)
        if row.kind == "more":
            return [(f"{indent}  ", ""), (one_line(f"{row.value:,} more", width - len(indent) - 2), "json-tree--more")]
        fold = (
            (MARKS["open" if row.open else "closed"] if row.length else " ") if row.kind in ("object", "array") else " "
        )
        key = "" if row.key is None else one_line(str(row.key), max(min(width // 2, 60), 4))
        found = row.path in self._hits
        pieces: list[Piece] = [(f"{indent}{fold} ", "json-tree--dim")]
        room = width - cell_len(indent) - 2
        if row.key is not None:
            pieces += [(key, "json-tree--found" if found else "json-tree--key"), (": ", "json-tree--dim")]
            room -= cell_len(key) + 2
        return [*pieces, *self._value(row, max(room, 1))]

    def _value(self, row: JsonRow, room: int) -> list[Piece]:
        if row.kind in ("object", "array"):
            braces = ("{", "}") if row.kind == "object" else ("[", "]")
            if not row.length:
                return [("".join(braces), "json-tree--dim")]
            told = _counted(row)
            if row.open:
                return [(one_line(f"{braces[0]} {told}", room), "json-tree--dim")]
            left = room - cell_len(told) - 2
            shown = one_line(preview(row.value, max(left, 8)), left) if left > 12 else ""
            return [(shown, ""), (one_line(f"{'  ' if shown else braces[0] + ' '}{told}", room), "json-tree--dim")]
        if row.kind == "file":
            told = f"{row.value.get('bytes', 0):,} bytes, saved in a separate file; space shows them"
            return [(one_line(told, room), "json-tree--dim")]
        if row.kind != "string":
            return [(one_line(scalar_text(row.value), room), f"json-tree--{row.kind}")]
        return self._string(row, room)

    def _string(self, row: JsonRow, room: int) -> list[Piece]:
        text = row.value[:SHOWN_TEXT]
        shown = one_line(_quoted(text), 10_000)
        cut_off = row.length > len(text)
        told = f"  {row.length:,} characters" if cut_off or (cell_len(shown) > room and room > 30) else ""
        if self._wrap and not cut_off and cell_len(shown) > room:
            return [(chop_cells(shown, room)[0], "json-tree--string")]
        left = room - cell_len(told)
        if cut_off:
            shown = shown[:-1] + MARKS["cut"][:1]
        if left < 8:
            return [(one_line(shown, room), "json-tree--string")]
        return [(one_line(shown, left), "json-tree--string"), (told, "json-tree--dim")]

    def _display(self) -> list[tuple[int, str | None]]:
        """(row, the continuation of its text that this line shows, None for its first line)."""
        width = self.text_width
        if self._parts is None or self._parts_width != width:
            self._parts_width = width
            assert self.nodes is not None
            self._parts = []
            for number, row in enumerate(self.nodes.rows):
                self._parts.append((number, None))
                if self._wrap and row.kind == "string":
                    self._parts += [(number, part) for part in self._continued(row, width)]
        return self._parts

    def _continued(self, row: JsonRow, width: int) -> list[str]:
        """Return the lines of a wrapped text after its first line."""
        if row.length > SHOWN_TEXT:
            return []
        key = "" if row.key is None else one_line(str(row.key), max(min(width // 2, 60), 4))
        room = max(width - INDENT * row.depth - 2 - (cell_len(key) + 2 if row.key is not None else 0), 1)
        text = one_line(_quoted(row.value), 10_000)
        first = chop_cells(text, room)[0] if text else ""
        rest = text[len(first) :]
        return chop_cells(rest, max(width - self._hang(row), 8))[:WRAPPED_ROWS] if rest else []

    def _hang(self, row: JsonRow) -> int:
        return min(INDENT * row.depth + 4, max(self.text_width // 2, 1))

    # Moving and folding

    def action_fold(self, closed: bool) -> None:
        """Fold the container, or from inside go to it; or unfold it."""
        row = self.row
        if row is None or self.nodes is None:
            return
        number = self._row_index(self.cursor)
        if self.nodes.fold(number, closed):
            self._refolded(self._display_index(number))
        elif closed:
            parent = self.nodes.parent(number)
            if parent is not None:
                self.move_to(self._display_index(parent))
        elif row.kind in ("object", "array"):
            self.action_move(1)

    def action_fold_all(self, closed: bool) -> None:
        """Unfold all containers, or fold all but the outermost."""
        path = self.path
        if self.nodes is not None and path is not None:
            self.nodes.fold_all(closed)
            self._refolded(self._row_at(path[:1] if closed else path))

    def action_choose(self) -> None:
        """Fold or unfold, load what was left out, or show the whole text."""
        row = self.row
        if row is None or self.nodes is None:
            return
        if row.kind == "more":
            self.post_message(self.NodeAction(self, "more", row.path, row.start))
        elif row.kind in ("object", "array"):
            self.nodes.fold(self._row_index(self.cursor))
            self._refolded(self.cursor)
        else:
            self.action_peek()

    def clicked(self, at: int, x: int, *, twice: bool) -> None:  # noqa: ARG002
        """Fold or unfold, on a click on the mark or a double click."""
        row = self.row
        if row is None:
            return
        on_mark = INDENT * row.depth <= x <= INDENT * row.depth + 2
        if twice or row.kind == "more" or (row.kind in ("object", "array") and on_mark):
            self.action_choose()

    def action_wrap(self) -> None:
        """Switch between wrapping and cutting long texts."""
        number = self._row_index(self.cursor) if self.row is not None else 0
        self._wrap = not self._wrap
        self._parts = None
        self.changed(cursor=self._display_index(number) if self.nodes is not None else 0)

    def action_raw(self) -> None:
        """Switch between the tree and its JSON text."""
        if self._text is not None:
            self._text = None
            self._refolded(0, top=0)
        elif self.nodes is not None:
            if whole(self.nodes.value):
                self.show_text(json.dumps(self.nodes.value, ensure_ascii=False, indent=2))
            else:
                self.post_message(self.NodeAction(self, "text", ()))

    # Asking

    def action_peek(self) -> None:
        """Show the complete value in a window."""
        self._post_action("value")

    def action_copy_value(self) -> None:
        """Copy the complete value to the clipboard."""
        self._post_action("copy")

    def action_copy_target(self) -> None:
        """Copy the assertion path of the row under the cursor."""
        self._post_action("target")

    def action_add_assertion(self) -> None:
        """Add an assertion for the row under the cursor to the test."""
        self._post_action("assert")

    def action_search(self) -> None:
        """Start a search; the screen prompts for the text."""
        self.post_message(self.NodeAction(self, "search", ()))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Hits are there with a search, assertions where there is a suite; what is not applicable is left to the screen."""
        if action == "hit":
            return bool(self._hits.query)
        if action == "add_assertion":
            return self._assertions and self.row is not None
        return True

    def _post_action(self, what: str) -> None:
        path = self.path
        if path is not None:
            self.post_message(self.NodeAction(self, what, path))

    # Searching

    def search(self, text: str) -> int:
        """Mark what holds `text`, go to the first at or after the cursor; how many there are. "" ends the search."""
        self._hits.query = text
        self._hits.find_in(self.nodes)
        self.refresh()
        if self._hits.paths:
            self._go(self._hits.index(self.path) or 0)
        return len(self._hits.paths)

    def found(self, text: str, paths: Sequence[Path]) -> None:
        """Where all of the value holds `text`, also what is not here; it is gone to as by `search`."""
        if text == self._hits.query and self.nodes is not None and len(paths) > len(self._hits.paths):
            is_on_one = self._hits.index(self.path) is not None
            self._hits.take(paths)
            self.refresh()
            if is_on_one:
                self.cursor_moved()
            else:
                self._go(0)

    def reached(self, path: Path) -> None:
        """Move the cursor to a search hit that had to be loaded first."""
        at = self._hits.index(path)
        if at is not None:
            self._refolded(self.cursor)
            self._go(at, ask=False)

    def action_hit(self, step: int) -> None:
        """Move the cursor to the next search hit; it wraps around."""
        if self._hits.paths and self.nodes is not None:
            self._go(self._hits.next_to(self.path or (), step))

    def _go(self, number: int, *, ask: bool = True) -> None:
        if self.nodes is None:
            return
        self._text = None
        path = self._hits.paths[number]
        at = self.nodes.place_of(path)
        if at is None and ask:
            self.post_message(self.NodeAction(self, "reach", path))
        if at is not None:
            self._parts = None
            self.changed()
            self.move_to(self._display_index(at), centre=True)
            self.cursor_moved()

    # Rows and lines

    def _refolded(self, cursor: int, top: int | None = None) -> None:
        self._parts = None
        self.changed(cursor=cursor, top=top)
        self.show_row(self.cursor)
        self.cursor_moved()

    def _row_index(self, at: int) -> int:
        display = self._display()
        return display[min(at, len(display) - 1)][0] if display else 0

    def _display_index(self, number: int) -> int:
        if not self._wrap:
            return number
        return next((at for at, (row, _) in enumerate(self._display()) if row == number), 0)

    def _row_at(self, path: Path) -> int:
        """The line of a node that need not be visible any more: else of what is around it."""
        assert self.nodes is not None
        self._parts = None
        places = {row.path: at for at, row in reversed(list(enumerate(self.nodes.rows)))}
        while path not in places and path:
            path = path[:-1]
        return self._display_index(places.get(path, 0))


def text_of(value: object) -> str:
    """A value as it is copied: a text as itself, anything else as indented JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _lines_of(text: str) -> list[str]:
    return safe_text(text).split("\n")[:TEXT_ROWS]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _counted(row: JsonRow) -> str:
    word = ("key", "keys") if row.kind == "object" else ("item", "items")
    return f"{row.length:,} {word[0] if row.length == 1 else word[1]}"
