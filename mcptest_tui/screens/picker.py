"""A list to search and choose from, for the palette, the help of a pane, themes and other choices.

It is not Textual's own palette, which takes two rows for each entry, reads help as markup, and fills its list in steps of a
quarter of a second.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import FuzzySearch
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shown
from mcptest_tui.widgets.line import Line
from mcptest_tui.widgets.modals import Modal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

SHOWN = 200
MANY = 1_000
_search = FuzzySearch()


@dataclass(frozen=True, slots=True)
class Choice:
    """One row: its title, a text at its right end (such as a key), a sentence of help, and its heading.

    All of it may be text from servers or files.
    """

    id: str
    title: str
    right: str = ""
    help: str = ""
    group: str = ""
    enabled: bool = True
    words: str = ""
    """Other words that people search for."""


def ranked(choices: Sequence[Choice], query: str) -> list[tuple[Choice, tuple[int, ...]]]:
    """Return matching choices, best first, with the matched places in the title; all of them without a query."""
    if not query:
        return [(choice, ()) for choice in choices]
    if len(choices) > MANY:  # looking for letters takes 30 µs a title: too long for ten thousand of them
        wanted = query.lower()
        choices = [choice for choice in choices if wanted in choice.title.lower()][:MANY]
    found = [(choice, *_scored(choice, query)) for choice in choices]
    found.sort(key=lambda item: -item[1])
    return [(choice, offsets) for choice, score, offsets in found if score]


def _scored(choice: Choice, query: str) -> tuple[float, tuple[int, ...]]:
    """Return how well a choice matches, and which letters of its title do.

    A choice whose right end (its key) is the query comes first. Then the beginning of the title scores highest, the beginning
    of a word, the choice's search words, the middle of a word, single letters, and last the words of its heading and help.
    """
    title, wanted = choice.title.lower(), query.lower()
    score, offsets = _search.match(query, choice.title)
    at = title.find(wanted)
    if at >= 0:
        offsets = range(at, at + len(wanted))
        score += 300 if at == 0 else 200 if not title[at - 1].isalnum() else 100
    elif choice.words and _has_word_starts(wanted, f"{title} {choice.words}"):
        score += 150
    elif score == 0 and len(wanted) > 2 and _has_word_starts(wanted, f"{choice.group} {choice.help}".lower()):
        score = 0.1
    return score + (1000 if choice.right == query else 0), tuple(offsets)


def _has_word_starts(wanted: str, text: str) -> bool:
    """Whether each word of `wanted` begins a word of the text."""
    return all(re.search(rf"\b{re.escape(word)}", text) for word in wanted.split())


class Picker(Modal[str]):
    """A window to choose from: type to search, arrows move, Enter chooses. Answers the id of the choice.

    `source` returns the choices for the typed text and the part of it to search with, so that a first letter can have a
    meaning. `highlighted` is called with the id under the cursor, which is `start` as long as nothing is typed.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("picker")

    def __init__(
        self,
        title: str,
        source: Callable[[str], tuple[Sequence[Choice], str]],
        *,
        about: str = "",
        placeholder: str = "type to search",
        start: str | None = None,
        highlighted: Callable[[str], None] | None = None,
        empty: str = "nothing matches",
        verb: str = "take",
    ) -> None:
        super().__init__(classes="picker")
        self._title, self._source, self._about = title, source, about
        self._placeholder, self._start, self._told, self._empty = placeholder, start, highlighted, empty
        self._verb = verb
        self._found: dict[str, Choice] = {}

    def compose(self) -> ComposeResult:
        """Yield the input line, the list, and a line of help about the row under the cursor."""
        with Vertical(classes="dialog -tall") as dialog:
            dialog.border_title = Content(self._title)
            yield Line(placeholder=self._placeholder, enter=self._verb)
            if self._about:
                yield Static(shown(self._about, style="$muted"), classes="picker-about")
            choices = OptionList(markup=False, compact=True)
            choices.can_focus = False
            yield choices
            yield Static("", classes="picker-help")

    def on_mount(self) -> None:
        """Fill the list with all choices once the window is laid out."""
        self.call_after_refresh(self._fill, "")

    def on_resize(self) -> None:
        """Fill the list again, because the right column moves with the width."""
        for field in self.query(Input):  # none before it is composed, and after it is closed
            self.call_after_refresh(self._fill, field.value, keep=True)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the choices that match the typed text."""
        self._fill(event.value)

    def on_input_submitted(self) -> None:
        """Choose the row under the cursor."""
        self.query_one(OptionList).action_select()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close the window and answer the id of the chosen row."""
        if event.option.id is not None:
            self.dismiss(event.option.id)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the help of the row under the cursor, and call `highlighted` with its id."""
        choice = self._found.get(event.option.id or "")
        self.query_one(".picker-help", Static).update(shown(choice.help if choice else "", style="$muted"))
        if choice is not None and self._told is not None:
            self._told(choice.id)

    def action_move(self, steps: int) -> None:
        """Move the cursor of the list; the focus stays in the input line."""
        choices = self.query_one(OptionList)
        for _ in range(abs(steps)):
            (choices.action_cursor_down if steps > 0 else choices.action_cursor_up)()

    def _fill(self, typed: str, *, keep: bool = False) -> None:
        choices, query = self._source(typed)
        found = ranked(choices, query.strip())[:SHOWN]
        widget = next(iter(self.query(OptionList)), None)
        if widget is None:
            return  # closed meanwhile
        before = widget.highlighted_option.id if keep and widget.highlighted_option else None if query else self._start
        self._found = {choice.id: choice for choice, _ in found}
        width = max(widget.size.width - 2, 20)
        options: list[Option] = []
        group = ""
        for choice, offsets in found:
            if not query and choice.group != group:
                group = choice.group
                options.append(Option(shown(group, style="bold $muted"), disabled=True))
            options.append(Option(_row(choice, offsets, width), id=choice.id, disabled=not choice.enabled))
        if not options:
            options.append(Option(shown(self._empty, style="$muted"), disabled=True))
        widget.clear_options().add_options(options)
        ids = [option.id for option in options]
        first = next((at for at, option in enumerate(options) if not option.disabled), None)
        widget.highlighted = ids.index(before) if before is not None and before in ids else first
        if first is None:
            self.query_one(".picker-help", Static).update("")


def _row(choice: Choice, offsets: Sequence[int], width: int) -> Content:
    right = one_line(choice.right, 24)
    room = width - len(right) - 3
    title = shown(one_line(choice.title, room))
    for offset in offsets:
        if offset < len(title.plain):
            title = title.stylize("bold underline", offset, offset + 1)
    gap = max(room - title.cell_length + 2, 1)
    return Content.assemble(" ", title, " " * gap, (right, "bold"))
