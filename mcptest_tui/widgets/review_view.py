"""A proposal to be read, the list of all of them, and the small editor in which one is changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from mcptest_tui.keymap import bindings_for
from mcptest_tui.problems import Sturdy
from mcptest_tui.safe import name_among, one_line, shown
from mcptest_tui.state.review_rows import decision_pieces
from mcptest_tui.state.tree_rows import suite_title
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.widgets.text_view import TextView
from mcptest_tui.widgets.yaml_area import YamlArea
from mcptest_tui.words import MARKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widgets import TextArea

    from mcptest_tui.state.reviewing import Reviewing
    from mcptest_tui.widgets.lines import Piece

NEARBY = 20
"""From so many proposals on each side a name is told apart: one test may have a row for each difference."""
LONGEST_ABOUT = 1_000
LEAST_ABOUT = 12
"""So much of what a proposal changes comes before the place of the test."""
LEAST_TOLD = 5
HELP = """Proposals, one by one. - marks the text of the suite, + the proposed text. {review.accept} accepts,
{review.reject} rejects, {review.skip} leaves it for later; each then shows the next undecided one. {review.next} and
{review.previous} look at others without deciding. {review.edit} changes the text before it is accepted. Nothing is written
until {review.write}. {review.undo} undoes a decision, and {review.unwrite} the last write."""


class ReviewView(TextView, inherit_bindings=False):
    """The proposal under the cursor. j and k go to others; the arrows scroll, as in everything that is read."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("review.item"), *bindings_for("lines")]
    HELP = HELP


class ReviewList(Lines):
    """The list of all proposals, each with the decision about it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"review-list--{name}" for name in ("pass", "fail", "skip", "new", "hint", "dim", "suite", "about")
    }
    DEFAULT_CSS = """
    ReviewList {
        & > .review-list--pass { color: $verdict-pass; text-style: bold; }
        & > .review-list--fail { color: $verdict-fail; text-style: bold; }
        & > .review-list--skip { color: $verdict-skip; }
        & > .review-list--new { color: $foreground 65%; }
        & > .review-list--hint { color: $warning; }
        & > .review-list--about { color: $json-key; }
        & > .review-list--dim { color: $foreground 65%; }
        & > .review-list--suite { color: $foreground 65%; }
    }
    """
    HELP = HELP

    def __init__(self, state: Reviewing, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.state = state

    def cursor_moved(self) -> None:
        """The state knows at once: proposals that are read meanwhile put the cursor where it says."""
        self.state.go(self.cursor)
        super().cursor_moved()

    def count(self) -> int:
        return len(self.state.items)

    @property
    def _is_several(self) -> bool:
        """Whether the proposals are about several suites, so that each row has to name its own."""
        items = self.state.items
        return bool(items) and items[0].suite != items[-1].suite

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        """One row: the decision, the test, then as there is room what it changes and where."""
        item = self.state.items[at]
        told, ink = decision_pieces(self.state.decision(item), draft=item.id in self.state.drafts)
        risk = f"{item.mark} " if self.state.risks else ""
        room = width - 2 - len(risk)
        before = self.state.items[at - 1] if at else None
        is_next = before is not None and (before.suite, before.title) == (item.suite, item.title)
        near = self.state.items[max(at - NEARBY, 0) : at + NEARBY + 1]
        titles = dict.fromkeys(one.title for one in near)
        place = suite_title(item.suite, {one.suite for one in self.state.items}) if self._is_several else ""
        place = f"{place}:{item.line}" if item.line else place
        what = one_line(item.about, LONGEST_ABOUT)
        is_cut = cell_len(item.title) > room
        named = room - min(cell_len(f"  {what} {place}"), room // 3) if is_cut else room
        title = MARKS["dot"].rjust(2) if is_next else name_among(item.title, [*titles], named)
        room -= cell_len(title) + 2
        if cell_len(place) + 1 + min(cell_len(what), LEAST_ABOUT) > room:
            place = ""
        rest = room - cell_len(place) - 1 if place else room
        if cell_len(what) > rest:
            what = _path_among(what, [one.about for one in near], rest) if rest >= LEAST_TOLD else ""
        return [
            (f"{told[:1] or MARKS['new']} ", f"review-list--{ink or 'new'}"),
            (risk, "review-list--hint"),
            (title, "review-list--dim" if told or is_next else ""),
            (f"  {what}", "review-list--dim" if told else "review-list--about"),
            (" " * max(room - cell_len(what) - cell_len(place), 0), ""),
            (place, "review-list--suite"),
        ]

    def jump_targets(self) -> Iterator[tuple[int, int, object]]:
        """Every row in view, for the jump overlay."""
        top = self.scroll_offset.y
        for at in range(top, min(top + self.page, self.count())):
            yield 1, at - top, lambda at=at: self.move_to(at)


def _path_among(path: str, near: Sequence[str], width: int) -> str:
    """As much of the end of a path as there is room for; from where it differs, if a path near it would look the same."""
    if cell_len(path) <= width:
        return path
    shown = _end_of(path, width)
    alike = any(other != path and _end_of(other, width) == shown for other in near)
    return name_among(path, near, width) if alike else shown


def _end_of(path: str, width: int) -> str:
    """`…products[0].price`: the last names of a path that have room, or the end of its last one."""
    at = max(len(path) - width + 1, 1)
    begin = at if path[at - 1] == "." else next((place for place in range(at, len(path)) if path[place] in ".["), at)
    return one_line("…" + path[begin:].removeprefix("."), width)


class FragmentEditor(Sturdy, Vertical):
    """The proposed text in a small editor; the screen says what is wrong with it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("review.editor")
    DEFAULT_CSS = """
    FragmentEditor {
        & > YamlArea { height: 1fr; }
        & > #fragment-note { height: auto; max-height: 4; padding: 0 1; background: $panel; }
    }
    """

    @dataclass
    class Typed(Message):
        """Posted when the text of the fragment has changed."""

        text: str

    @dataclass
    class Taken(Message):
        """Posted when the person accepts the edited text."""

    @dataclass
    class Restored(Message):
        """Posted when the person wants the proposed text back."""

    def compose(self) -> ComposeResult:
        """Lay out the text and one line of remarks about it."""
        yield YamlArea(id="fragment")
        yield Static("", id="fragment-note")

    @property
    def area(self) -> YamlArea:
        return self.query_one(YamlArea)

    @property
    def text(self) -> str:
        return self.area.text

    def open(self, text: str) -> None:
        self.area.load_text(text)
        self.area.focus()

    def note(self, text: str, *, problem: bool = False) -> None:
        """Show `text` below the fragment; a problem is red and marked."""
        width = max(self.size.width - 2, 20)
        style = "$text-error" if problem else "$foreground 65%"
        sign = f"{MARKS['fail']} " if problem else ""
        self.query_one("#fragment-note", Static).update(shown(f"{sign}{one_line(text, 4 * width)}", style=style))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(event.text_area.text))

    def action_take(self) -> None:
        """Request by a message that the edited fragment is accepted."""
        self.post_message(self.Taken())

    def action_restore(self) -> None:
        """Request by a message that the proposed text is put back."""
        self.post_message(self.Restored())
