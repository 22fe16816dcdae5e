"""The form for a call: one row for each argument, and below a row what is wrong with it. The screen owns the form's state.

Members of an object and items of a list stand below it, indented. A field is one line; text that needs more has a box that
grows. The surprising thing: JSON that is pasted into a field, and has members named like fields, fills the form instead.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from mcptest_engine.core.sanitise import one_line as sanitised_line
from mcptest_engine.core.text import counted
from mcptest_tui.keymap import bindings_for
from mcptest_tui.problems import Sturdy
from mcptest_tui.safe import one_line, shown
from mcptest_tui.state.forms import pasted
from mcptest_tui.widgets.choice import NOTHING, Choice
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from mcptest_tui.state.fields import Field
    from mcptest_tui.state.forms import Form

WIDEST_NAME = 24


def with_line_feeds(text: str) -> str:
    """Return pasted text with line feeds only: many terminals send carriage returns."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class FieldLine(Input):
    """The field for a text of one line."""

    def _on_paste(self, event: events.Paste) -> None:
        row = self.parent
        if isinstance(row, FieldRow) and row.takes(with_line_feeds(event.text)):
            event.stop()
            event.prevent_default()
            return
        super()._on_paste(event)


class FieldBox(TextArea):
    """The field for JSON or a text of several lines; pasted arguments replace its text."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("form.text")

    async def _on_paste(self, event: events.Paste) -> None:
        row = self.parent
        text = with_line_feeds(event.text)
        if isinstance(row, FieldRow) and row.takes(text):
            event.stop()
            event.prevent_default()
            return
        await super()._on_paste(events.Paste(text))
        event.prevent_default()

    def action_cursor_end(self, down: bool) -> None:
        """Move the cursor to the end of the text, or to its start."""
        self.move_cursor(self.document.end if down else (0, 0))


class PartLine(Widget, can_focus=True):
    """The row of an object or a list: what is sent of it while nothing is in it, and how items are added."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("part")
    DEFAULT_CSS = """
    PartLine { height: 1; width: 1fr; }
    PartLine:focus { background: $primary 28%; }
    PartLine:focus:ansi { background: ansi_default; text-style: reverse; }
    """

    def __init__(self, field: Field) -> None:
        super().__init__()
        self.field = field

    def render(self) -> Content:
        """Draw the state of the object or list: `3 items   + adds one`, `left out`."""
        field = self.field
        items = counted(len(field.members), "item") if field.kind == "list" and field.members else ""
        told = items or (field.raw and f"sends {field.raw}") or (NOTHING if field.empty and not field.required else "")
        keys = f"{key_of('call.item.add')} adds an item" if field.kind == "list" else ""
        quiet = "   ".join(filter(None, (one_line(field.placeholder, 40), keys)))
        return Content.assemble((f"{told}   " if told else "", "bold" if field.raw else ""), (quiet, "$foreground 65%"))

    def action_turn(self) -> None:
        """Switch an empty field between left out, empty and null."""
        if not any(not one.empty for one in self.field.members):
            self.field.turn()
            self.changed()

    def action_clear(self) -> None:
        """Remove everything typed in the field, and its list items."""
        self.field.clear()
        self.changed(reshaped=True)

    def changed(self, *, reshaped: bool = False) -> None:
        """Draw the row again, and post that the form has changed."""
        self.refresh()
        form = self.query_ancestor(SchemaForm)
        form.post_message((SchemaForm.Reshaped if reshaped else SchemaForm.Changed)(form, self.field.key))


class FieldRow(Horizontal):
    """One row of the form: the name of an argument and its field."""

    def __init__(self, field: Field, width: int) -> None:
        super().__init__()
        self.field = field
        self._width = width
        self.problem = ""
        """What is said below it."""

    def compose(self) -> ComposeResult:
        indent = "  " * self.field.depth
        name = indent + one_line(self.field.label, max(self._width - 1 - len(indent), 1))
        label = Static(shown(name, style="bold" if self.field.required else "$foreground 65%"), classes="field-name")
        label.styles.width = self._width
        yield label
        yield self._editor()

    def _editor(self) -> Widget:
        field = self.field
        if field.kind in ("object", "list"):
            return PartLine(field)
        if field.kind in ("choice", "union"):
            default = field.schema.get("default")
            empty = (
                f"default: {default if isinstance(default, str) else json.dumps(default)}"
                if isinstance(default, (str, int, float, bool))
                else ""
            )
            return Choice(field.options, field.raw, required=field.required, empty=one_line(empty, 30))
        if field.kind == "json":
            box = FieldBox(
                field.raw,
                compact=True,
                soft_wrap=True,
                tab_behavior="focus",
                highlight_cursor_line=False,
                placeholder=shown(one_line(field.placeholder, 80)),
            )
            box.cursor_blink = False
            return box
        line = FieldLine(field.raw, placeholder=one_line(field.placeholder, 80), compact=True, select_on_focus=False)
        line.cursor_blink = False
        return line

    @property
    def indent(self) -> int:
        """The column at which the field begins."""
        return self._width

    @property
    def editor(self) -> Widget:
        """The widget in which the value is typed."""
        return self.children[1]

    def takes(self, text: str) -> bool:
        """Whether pasted text is for the whole form, or needs another kind of field, for which there is a message."""
        value = pasted(text)
        form = self.query_ancestor(SchemaForm)
        if value is not None and form.form is not None and form.form.whole is not None:
            box = self.editor
            assert isinstance(box, TextArea)
            box.text = json.dumps(value, indent=2, ensure_ascii=False)
            return True
        part = form.part_for(value, self.field) if value is not None else None
        if value is not None and part is not None:
            form.post_message(SchemaForm.Pasted(form, part, value))
            return True
        if self.field.kind == "text" and sanitised_line(text) != text.rstrip("\n"):
            self.field.put(self.field.raw + text)
            form.post_message(SchemaForm.Reshaped(form, self.field.key))
            return True
        return False


class SchemaForm(Sturdy, VerticalScroll, can_focus=False):
    """The fields of a `Form`; what is typed is stored in its `raw` texts."""

    DEFAULT_CSS = """
    SchemaForm {
        height: auto; max-height: 100%; padding: 0 1;
        & .field, & FieldRow { height: auto; }
        & .field-name { height: 1; padding: 0 0; }
        & FieldRow > Input { height: 1; border: none; padding: 0; background: $surface; width: 1fr; }
        & FieldRow > Input:focus { background: $primary 28%; background-tint: $foreground 0%; }
        & FieldRow > TextArea { height: auto; min-height: 1; max-height: 10; background: $surface; width: 1fr; padding: 0; }
        & FieldRow > TextArea:focus { background: $primary 20%; }
        &:ansi FieldRow > Input:focus, &:ansi FieldRow > TextArea:focus { background: ansi_default; text-style: underline; }
        & .field-problem { height: auto; color: $text-error; display: none; }
        & .field-problem.-on { display: block; }
        & .form-none { color: $text-muted; height: 1; }
    }
    """

    @dataclass
    class Changed(Message):
        """Posted when something was typed into a field."""

        form: SchemaForm
        name: str

    @dataclass
    class Entered(Message):
        """Posted when the focus has moved to a field."""

        form: SchemaForm
        name: str

    @dataclass
    class Left(Message):
        """Posted when the focus has left a field."""

        form: SchemaForm
        name: str

    @dataclass
    class Pasted(Message):
        """Arguments were pasted; `name` is the key of the object that they are for, "" for all."""

        form: SchemaForm
        name: str
        value: dict[str, object]

    @dataclass
    class Reshaped(Message):
        """Other rows are needed: a text outgrew its line, or there are other items or members."""

        form: SchemaForm
        name: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.form: Form | None = None

    async def show(self, form: Form, *, focus: bool = True, at: str = "") -> None:
        """The fields of a form, with the focus in the field named `at`, else in the first that wants something."""
        self.form = form
        with self.app.batch_update():  # nothing is drawn of what is half taken away
            await self.remove_children()
            await self.mount_all(list(self._rows(form)))
        if focus:
            self.focus_field(at)

    def _rows(self, form: Form) -> Iterator[Widget]:
        fields = list(form.rows())
        widest = max((2 * one.depth + cell_len(one_line(one.label, WIDEST_NAME)) for one in fields), default=0)
        width = min(widest, WIDEST_NAME + 6) + 2
        for field in fields:
            yield Vertical(FieldRow(field, width), Static("", classes="field-problem"), classes="field")
        if not form.fields:
            yield NoFields()

    def rows(self) -> list[FieldRow]:
        """Return the rows of the form in their order."""
        return list(self.query(FieldRow))

    @property
    def at(self) -> str:
        """The key of the field with the focus; "" when none has it."""
        return next((row.field.key for row in self.rows() if row.has_focus_within), "")

    def focus_field(self, name: str = "") -> None:
        rows = self.rows()
        wanted = next((row for row in rows if row.field.key == name), None)
        typed = [row for row in rows if row.field.kind != "object"]
        wanted = wanted or next((row for row in typed if row.field.required and row.field.empty), None)
        if wanted is not None or rows:
            (wanted or next(iter(typed), rows[0])).editor.focus()
        else:
            self.query_one(NoFields).focus()

    def part_for(self, value: dict[str, object], at: Field) -> str | None:
        """The key of the innermost object around a field that has one of the value's members; "" for all arguments."""
        around: Field | None = at
        while around is not None:
            if around.kind == "object" and any(one.name in value for one in around.members):
                return around.key
            around = around.parent
        form = self.form
        is_known = form is not None and form.whole is None and any(one.name in value for one in form.fields)
        return "" if is_known else None

    def add_item(self) -> None:
        """Add an item to the list with the focus, behind the current item or at the end."""
        field = self.form.named(self.at) if self.form is not None else None
        there = field.list_around if field is not None else None
        if field is None or there is None:
            return
        steps = field.path[len(there.path) :]
        item = there.add_item(int(steps[0]) + 1 if steps else len(there.members))
        inside = [one for one in item.rows() if one.kind != "object"]
        self.post_message(self.Reshaped(self, (inside[0] if inside else item).key))

    def remove_item(self) -> None:
        """Remove the item with the focus; on the row of a list, its last item."""
        field = self.form.named(self.at) if self.form is not None else None
        there = field.list_around if field is not None else None
        if field is None or there is None or not there.members:
            return
        steps = field.path[len(there.path) :]
        at = int(steps[0]) if steps else len(there.members) - 1
        there.remove_item(there.members[at])
        self.post_message(
            self.Reshaped(
                self, there.members[min(at, len(there.members) - 1)].key if there.members and steps else there.key
            )
        )

    def show_problems(self, problems: dict[str, str]) -> None:
        """Show what is wrong below each field."""
        for row in self.rows():
            self._show_problem(row, problems.get(row.field.key, ""))

    def _show_problem(self, row: FieldRow, problem: str) -> None:
        if problem == row.problem:
            return  # another layout of the whole form would show the same
        row.problem = problem
        block = row.parent
        assert block is not None
        static = block.query_one(".field-problem", Static)
        static.set_class(bool(problem), "-on")
        static.styles.padding = (0, 0, 0, row.indent)
        static.update(shown(one_line(problem, 300)) if problem else "")

    # What fields say

    def on_input_changed(self, event: Input.Changed) -> None:
        """Store the text of a one-line field after each keystroke."""
        event.stop()
        self._typed(event.input, event.value)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Store the text of a box after each keystroke."""
        event.stop()
        self._typed(event.text_area, event.text_area.text)

    def on_choice_changed(self, event: Choice.Changed) -> None:
        event.stop()
        row = event.choice.parent
        if isinstance(row, FieldRow) and row.field.kind == "union":
            row.field.choose(event.value)
            self.post_message(self.Reshaped(self, row.field.key))
        else:
            self._typed(event.choice, event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Move the focus to the next field on Enter, which sends nothing."""
        event.stop()
        self.step(1)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        row = event.widget.parent
        if isinstance(row, FieldRow):
            self.post_message(self.Entered(self, row.field.key))

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """Post `Left` for the field that has lost the focus."""
        row = event.widget.parent
        if isinstance(row, FieldRow):
            self.post_message(self.Left(self, row.field.key))

    def _typed(self, editor: Widget, text: str) -> None:
        row = editor.parent
        if isinstance(row, FieldRow) and row.field.raw != text:
            row.field.raw = text
            self.post_message(self.Changed(self, row.field.key))
            for part in self.query(PartLine):
                part.refresh()  # it may say that it is left out

    def step(self, step: int) -> None:
        """Move the focus by `step` fields, not past the first or the last."""
        rows = self.rows()
        at = next((at for at, row in enumerate(rows) if row.has_focus_within), None)
        if at is not None and 0 <= at + step < len(rows):
            rows[at + step].editor.focus()


class NoFields(Static, can_focus=True):
    """Shown in place of fields when the call takes no arguments."""

    def __init__(self) -> None:
        super().__init__(shown(f"No arguments. {key_of('call.send')} sends the request."), classes="form-none")
