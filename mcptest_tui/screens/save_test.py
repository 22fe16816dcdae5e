"""Keeping a call as a test: what to expect of it, where it goes, and the file as it will be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from mcptest_engine.core.errors import McptestError
from mcptest_engine.workspace.suite_file import write_suite
from mcptest_tui.keymap import bindings_for
from mcptest_tui.places import path_here
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.add_assertion import file_row, matchers_for
from mcptest_tui.state.saving import Proposal
from mcptest_tui.widgets.choice import Choice
from mcptest_tui.widgets.line import Line
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.widgets.modals import Modal
from mcptest_tui.widgets.text_view import TextView
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from mcptest_tui.base_app import BaseApp
    from mcptest_tui.mode_screen import Editor
    from mcptest_tui.state.saving import Place, SavedTest, Saving
    from mcptest_tui.widgets.json_tree import JsonTree
    from mcptest_tui.widgets.lines import Piece


class AssertionList(Lines):
    """The list of proposed assertions; Space chooses one or leaves it out."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.assertions")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"assertions--{name}" for name in ("on", "off", "target", "why", "dim")}
    DEFAULT_CSS = """
    AssertionList {
        & > .assertions--on { color: $verdict-pass; text-style: bold; }
        & > .assertions--off { color: $foreground 60%; }
        & > .assertions--target { color: $json-key; }
        & > .assertions--why { color: $warning; }
        & > .assertions--dim { color: $foreground 65%; }
    }
    """

    def __init__(self, proposals: list[Proposal]) -> None:
        super().__init__(id="save-assertions")
        self.proposals = proposals

    def count(self) -> int:
        """The number of rows: the assertions, or one that says there are none."""
        return len(self.proposals) or 1

    def get_content_height(self, container: object, viewport: object, width: int) -> int:  # noqa: ARG002
        """Return the height in rows, which is one for each assertion."""
        return self.count()

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        """Return the parts of row `at` with their styles: box, assertion path, expectation."""
        if not self.proposals:
            return [(one_line("no assertion: the test passes if the server answers", width), "assertions--dim")]
        one = self.proposals[at]
        box = f"[{MARKS['pass'] if one.chosen else ' '}] "
        why = f"  {one.why}" if one.why and not one.chosen else ""
        room = width - cell_len(box) - 2 - cell_len(why)
        target = one_line(one.target, max(room - cell_len(one_line(one.shown, room)), width // 2, 10))
        room -= cell_len(target)
        return [
            (box, "assertions--on" if one.chosen else "assertions--off"),
            (target, "assertions--target" if one.chosen else "assertions--off"),
            (f"  {one_line(one.shown, max(room, 4))}", "" if one.chosen else "assertions--off"),
            (why, "assertions--why"),
        ]

    def action_take(self) -> None:
        """Choose the assertion under the cursor, or leave it out again."""
        if self.proposals:
            one = self.proposals[self.cursor]
            one.chosen = not one.chosen
            self.refresh()
            self.post_message(self.Chosen(self))

    def clicked(self, at: int, x: int, *, twice: bool) -> None:  # noqa: ARG002
        """Choose or leave out the assertion, on a double click or a click on its box."""
        if twice or x < 4:
            self.action_take()


class YamlPreview(TextView):
    """Shows the lines of the suite around the test that would be added."""


class SaveTest(Modal[str]):
    """The window that saves a call as a test; it writes the file itself."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.save")

    def __init__(self, saving: Saving) -> None:
        super().__init__(classes="picker")
        self.saving = saving
        self.written: SavedTest | None = None

    def compose(self) -> ComposeResult:
        """Lay out the test's name, its suite, the assertions and the preview."""
        with Vertical(classes="dialog -large") as dialog:
            dialog.border_title = shown("Save as test")
            with Horizontal(classes="save-row"):
                yield Static("name", classes="save-label")
                yield Line(self.saving.name, enter="to the assertions", id="save-name")
            with Horizontal(classes="save-row"):
                yield Static("into", classes="save-label")
                options = [_place_text(place) for place in self.saving.places]
                yield Choice(options, options[self.saving.at], required=True)
            yield Static("Assert that", classes="save-title")
            yield AssertionList(self.saving.proposals)
            yield Static("", classes="save-title", id="save-file")
            yield Static("", id="save-note")
            yield YamlPreview(id="save-preview", wrap=False)

    def on_mount(self) -> None:
        """Focus the assertions, and show the first preview of the file."""
        self.query_one(AssertionList).focus()
        self.call_after_refresh(self._preview)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Update the preview for the new name of the test."""
        event.stop()
        self.saving.name = event.value
        self._preview()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Move the focus from the name to the assertions, on Enter."""
        event.stop()
        self.query_one(AssertionList).focus()

    def on_choice_changed(self, event: Choice.Changed) -> None:
        """Update the preview for the suite that was selected."""
        event.stop()
        self.saving.at = event.choice.options.index(event.value)
        self._preview()

    def on_choice_list_requested(self, event: Choice.ListRequested) -> None:
        """Select the next suite, where their names do not fit side by side."""
        event.stop()
        options = event.choice.options
        event.choice.put(options[(options.index(event.choice.value) + 1) % len(options)])

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Update the preview when an assertion was chosen or left out."""
        event.stop()
        self._preview()

    def _preview(self) -> None:
        """Show the file with the new test, or why it cannot be added."""
        path = Path(self.saving.place.path)
        self.written, problem = None, ""
        editor = self._editor()
        try:
            before = None
            if editor is not None:
                before = editor.unsaved_text(str(path))
            elif not self.saving.place.new:
                before = path.read_bytes().decode("utf-8")
            self.written = self.saving.with_test(before)
        except McptestError as wrong:
            problem = f"{wrong.message}; {wrong.hint}" if wrong.hint else wrong.message
        except (OSError, UnicodeDecodeError) as wrong:
            problem = f"{path.name} cannot be read: {getattr(wrong, 'strerror', None) or wrong}"
        told = path.name if self.written is None else f"{path.name}, line {self.written.line}"
        self.query_one("#save-file", Static).update(
            shown(told if not self.saving.place.new else f"{path.name}, a new file")
        )
        note = self.query_one("#save-note", Static)
        note.update(shown(problem or self._note(), style="$text-error" if problem else "$foreground 65%"))
        note.display = bool(problem or self._note())
        preview = self.query_one(YamlPreview)
        preview.show(
            []
            if self.written is None
            else [file_row(number, "+" if new else " ", text) for number, text, new in self.written.lines]
        )

    def _editor(self) -> Editor | None:
        """The editor that has unsaved text of the selected suite, if any."""
        bench: BaseApp = self.app  # type: ignore[assignment]
        return bench.editor_of(self.saving.place.path)

    def _note(self) -> str:
        server, told = self.saving.server, list(self.saving.notes)
        if self._editor() is not None:
            told.insert(0, "this file has unsaved text in Edit: the test is added to that text, which is not saved yet")
        if self.saving.place.new and server is not None and server.env_names:
            told.append(f"its env is taken from where mcptest runs: {', '.join(server.env_names)}")
        return "; ".join(told)

    def action_write(self) -> None:
        """Write the test, if the file has not changed since the preview."""
        written = self.written
        bench: BaseApp = self.app  # type: ignore[assignment]
        if written is None:
            return
        path = Path(written.path)
        editor = self._editor()
        if editor is not None:
            if editor.unsaved_text(written.path) != written.before:
                self._preview()
                return
            editor.change_text(written.path, written.after)
            self.dismiss("written")
            bench.messages.notify(
                f"added to the unsaved text of {path.name}, line {written.line}",
                hint=f"{key_of('app.mode.2', typing=True)} goes to the editor, to save it there",
            )
            return
        try:
            if written.before is None and path.exists():
                self.query_one("#save-note", Static).update(shown(f"{path.name} exists now", style="$text-error"))
                return
            if written.before is not None and path.read_bytes() != written.before.encode():
                self._preview()
                bench.messages.show(f"{path.name} has changed in the meantime; this is the new text", "warning")
                return
            write_suite(path, written.after.encode())
        except OSError as wrong:
            bench.messages.notify(f"cannot write {path}: {wrong.strerror or wrong}", severity="error")
            return
        self.dismiss("written")
        bench.messages.notify(
            f"saved as a test in {path.name}, line {written.line}",
            hint=f"{key_of('app.mode.1', typing=True)} goes to the tests, {key_of('app.mode.2', typing=True)} to the editor",
        )
        if written.before is None:
            bench.run_worker(bench.open_document(str(path)), group="documents", exit_on_error=False)
        else:
            bench.documents_changed([str(path)])


def chosen_leaf(saving: Saving, tree: JsonTree) -> None:
    """Put the value under the cursor first among the proposed assertions, chosen."""
    target = tree.target
    if tree.path is None or not tree.path or not target:
        return
    there = next((one for one in saving.proposals if one.target == target), None)
    if there is not None:
        there.chosen = True
        return
    saving.proposals.insert(0, Proposal(target, matchers_for(tree.value())[0]))


def _place_text(place: Place) -> str:
    """Return the suite as an option of a `Choice`, which takes JSON texts."""
    told = path_here(place.path)
    if place.new:
        told = f"new file {told}"
    elif place.several:
        told = f"{told}, server {place.server}"
    return json.dumps(told, ensure_ascii=False)
