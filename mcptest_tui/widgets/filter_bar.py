"""The filter above the list: what is typed applies at once, Enter only goes back to the list, Tab completes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from mcptest_tui.keymap import bindings_for
from mcptest_tui.problems import Sturdy
from mcptest_tui.safe import one_line, shown
from mcptest_tui.state.filters import Known, completions
from mcptest_tui.widgets.line import Line
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType


class FilterInput(Line):
    """The line in which the filter is typed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("filter")

    @dataclass
    class Complete(Message):
        """Posted to insert the selected completion (0), or to select another."""

        steps: int

    def action_complete(self) -> None:
        """Insert the completion that is selected below the line."""
        self.post_message(self.Complete(0))

    def action_next_completion(self, steps: int) -> None:
        """Select the completion that is `steps` further."""
        self.post_message(self.Complete(steps))


class FilterBar(Sturdy, Vertical):
    """The line of a filter, shown while it is typed or set, with completions while it is typed."""

    DEFAULT_CSS = """
    FilterBar {
        height: auto; display: none;
        &.-on { display: block; }
        & FilterInput { height: 1; border: none; padding: 0 1 !important; background: $panel; width: 1fr; }
        & FilterInput:focus { background-tint: $foreground 0%; border: none; }
        & #filter-words { height: 1; padding: 0 1; display: none; color: $foreground 70%; }
        &.-asked #filter-words { display: block; }
    }
    """
    HELP = """Type to see only some of the tests: any text, is:failed, tag:smoke, server:, tool:, file:, slow:>500; a -
    before a part excludes what matches. {filter.complete} completes, {line.take} goes back to the list, {app.back} clears
    the filter."""

    @dataclass
    class Changed(Message):
        """Posted when the text of the filter has changed."""

        text: str

    class Applied(Message):
        """Posted when the person goes back to the list."""

    def __init__(self) -> None:
        super().__init__()
        self._known = Known()
        self._words: list[tuple[str, str]] = []
        self._chosen = 0
        self._problem = ""
        self._quiet = ""

    def compose(self) -> ComposeResult:
        """Lay out the line to type in and the completions below it."""
        yield FilterInput(enter="to the list", escape="clear", placeholder="text  is:failed  tag:  server:  slow:>500")
        yield Static("", id="filter-words")

    @property
    def text(self) -> str:
        return self.query_one(FilterInput).value

    def open(self, known: Known) -> None:
        """Show the bar, and move the focus to its line."""
        self._known = known
        self.add_class("-on")
        field = self.query_one(FilterInput)
        field.focus()
        field.cursor_position = len(field.value)
        self._offer()

    def put(self, text: str) -> None:
        """Set the text without posting `Changed`."""
        field = self.query_one(FilterInput)
        if field.value != text:
            self._quiet = text
            field.value = text
        self.set_class(bool(text) or field.has_focus, "-on")

    def say(self, problem: str) -> None:
        """Show a problem of the filter instead of completions; "" for none."""
        if problem != self._problem:
            self._problem = problem
            self._draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._quiet == event.value:
            self._quiet = ""
            return
        self._quiet = ""
        self.post_message(self.Changed(event.value))
        self._offer()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Applied())

    def on_resize(self) -> None:
        """Draw as many completions as fit the new width."""
        self._draw()

    def on_descendant_focus(self) -> None:
        """Show the completions for the text, which may have been set without typing."""
        self._offer()

    def on_descendant_blur(self) -> None:
        """Hide the completions, and the line too when it is empty."""
        self.remove_class("-asked")
        self.set_class(bool(self.text), "-on")
        self._draw()

    def on_filter_input_complete(self, event: FilterInput.Complete) -> None:
        """Insert the selected completion, or select another."""
        event.stop()
        if event.steps and self._words:
            self._chosen = (self._chosen + event.steps) % len(self._words)
            self._draw()
        elif event.steps > 0 or not self._words:
            self.post_message(self.Applied())
        elif not event.steps:
            field = self.query_one(FilterInput)
            field.value = self._words[self._chosen][0]
            field.cursor_position = len(field.value)

    def _offer(self) -> None:
        self._words, self._chosen = completions(self.text, self._known), 0
        self._draw()

    def _draw(self) -> None:
        typing = self.query_one(FilterInput).has_focus
        self.set_class(bool(self._problem) or typing, "-asked")  # no letter moves the list
        width = max(self.size.width, 20)
        words = self.query_one("#filter-words", Static)
        if self._problem:
            words.update(shown(one_line(self._problem, width), style="$text-warning"), layout=False)
            return
        if not self._words:
            told = "a space adds a condition, a - before it excludes" if self.text else ""
            words.update(shown(one_line(told, width), style="$text-muted"), layout=False)
            return
        parts: list[Content] = []
        room = width - 5
        for at, (_, word) in enumerate(self._words):
            text = one_line(word, 30)
            room -= len(text) + 2
            if room < 0 and at > self._chosen:
                break
            parts.append(Content.styled(text, "bold $accent" if at == self._chosen else "$text-muted"))
        key = Content.styled(f"{key_of('filter.complete')} ", "$footer-key-foreground")
        words.update(key + Content("  ").join(parts), layout=False)
