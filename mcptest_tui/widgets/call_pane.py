"""The form for a call above, what came of it below: the answer as a tree, with verdict, time and size in one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from mcptest_tui.keymap import bindings_for
from mcptest_tui.problems import Sturdy
from mcptest_tui.safe import one_line, shown
from mcptest_tui.widgets.json_tree import JsonTree
from mcptest_tui.widgets.line import FilterLine
from mcptest_tui.widgets.schema_form import SchemaForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

INKS = {"pass": "bold $verdict-pass", "fail": "bold $verdict-fail", "hint": "$text-warning", "dim": "$foreground 65%"}


class CallPane(Sturdy, Vertical):
    """The pane of one call: its `form` and its `result`, both filled by the screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("form")
    DEFAULT_CSS = """
    CallPane {
        & > SchemaForm { height: auto; max-height: 55%; }
        &.-unsent > SchemaForm { max-height: 100%; }
        & > #call-help { height: auto; max-height: 2; padding: 0 1; }
        & > #call-line { height: auto; max-height: 4; background: $panel; padding: 0 1; }
        & > JsonTree { height: 1fr; }
        &.-unsent > #call-line, &.-unsent > JsonTree { display: none; }
    }
    """
    HELP = """One row for each argument, required ones in bold; the members of an object or a list are below it. Empty
    fields are not sent. Type a list of texts or numbers as a, b; in other lists {call.item.add} adds an item and
    {call.item.remove} removes one. {call.send} sends; Pasted JSON fills the form, or the object that it is pasted into;
    {call.json} shows all arguments as one JSON text, and back. The answer is shown below; {call.save} saves the call as a
    test. {call.complete} asks the server for values, if it completes arguments of prompts and templates."""

    @dataclass
    class Sent(Message):
        """Posted when the person sends the call."""

        pane: CallPane

    @dataclass
    class ViewSwitched(Message):
        """Posted to switch between fields and JSON text."""

        pane: CallPane

    def compose(self) -> ComposeResult:
        """Lay out the form, its help, a line about the answer, and the answer."""
        yield SchemaForm()
        yield Static("", id="call-help")
        yield Static("", id="call-line")
        yield FilterLine("search keys and values", id="call-search")
        yield JsonTree(id="call-result")

    @property
    def form(self) -> SchemaForm:
        return self.query_one(SchemaForm)

    @property
    def result(self) -> JsonTree:
        """The tree that shows the answer."""
        return self.query_one(JsonTree)

    def help(self, text: str, *, problem: bool = False) -> None:
        """Show one line of help, or a problem, below the fields."""
        width = max(self.size.width - 4, 20)
        style = "$text-warning" if problem else "$foreground 65%"
        self.query_one("#call-help", Static).update(shown(one_line(text, 2 * width), style=style))

    def line(self, pieces: Sequence[tuple[str, str]], problem: str = "") -> None:
        """Show the call's result and a problem of the answer; () hides line and answer."""
        self.set_class(not pieces, "-unsent")
        parts = [Content.styled(text, INKS.get(ink, ink)) for text, ink in pieces]
        told = [
            Content("   ").join(parts),
            *([Content.styled(one_line(problem, 400), "$text-error")] if problem else []),
        ]
        self.query_one("#call-line", Static).update(Content("\n").join(told))

    def action_send(self) -> None:
        self.post_message(self.Sent(self))

    def action_turn(self) -> None:
        """Switch between JSON and fields."""
        self.post_message(self.ViewSwitched(self))

    def action_clear(self) -> None:
        """Empty all fields of the form."""
        form = self.form.form
        if form is not None:
            form.fill({})
            form.problems = {}
            self.form.post_message(SchemaForm.Reshaped(self.form, ""))

    def action_add_item(self) -> None:
        """Add an item to the list with the focus."""
        self.form.add_item()

    def action_remove_item(self) -> None:
        """Remove the last item of the list."""
        self.form.remove_item()

    def check_consume_key(self, key: str, character: str | None) -> bool:  # noqa: ARG002 - Textual's
        """In the form, letters and digits do what they do there, or nothing: those of the screen and the app are not meant."""
        return character is not None and character.isalnum() and self.form.has_focus_within

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable adding and removing items only where the focus is in a list."""
        if action in ("add_item", "remove_item"):
            form = self.form.form
            field = form.named(self.form.at) if form is not None else None
            return field is not None and field.list_around is not None
        return super().check_action(action, parameters)

    def action_go_on(self) -> None:
        """Move the focus to the next field on Enter, whatever kind of field it is."""
        self.form.step(1)

    def action_field(self, step: int) -> None:
        """Move the focus to the next field, or the previous one."""
        self.form.step(step)
