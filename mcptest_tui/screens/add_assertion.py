"""Add an assertion about a value of an answer: choose a matcher, and see the lines before they are written."""

from __future__ import annotations

import os
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from mcptest_engine.core.clipping import compact
from mcptest_engine.workspace.suite_file import write_suite
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shown
from mcptest_tui.state.json_rows import SHOWN_TEXT, whole
from mcptest_tui.state.text_lines import TextLine
from mcptest_tui.widgets.modals import Modal
from mcptest_tui.widgets.text_view import TextView
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from mcptest_tui.base_app import BaseApp
    from mcptest_tui.state.test_row import TestRow
    from mcptest_tui.widgets.json_tree import JsonTree

LARGEST_EXACT = 400
CONTAINS = 80
AROUND = 3
"""Lines that are shown above and below the new ones."""


class Way(NamedTuple):
    """A matcher, and the text of the suite file with an assertion that uses it."""

    matcher: dict[str, Any]
    after: str


def matchers_for(value: Any) -> list[dict[str, Any]]:
    """Return the matchers that the value satisfies, the strictest first."""
    from mcptest_engine.authoring.shapes import type_of

    found: list[dict[str, Any]] = []
    if isinstance(value, str):
        if len(value) <= SHOWN_TEXT and "\n" not in value:
            found.append({"exact": value})
        first = next((part.strip() for part in value.splitlines() if part.strip()), "")
        found += [{"contains": first[:CONTAINS]}] if first else []
    elif not isinstance(value, (dict, list)) or (whole(value) and len(compact(value, LARGEST_EXACT)) <= LARGEST_EXACT):
        found.append({"exact": value})
    if isinstance(value, list) and whole(value):
        found.append({"length": len(value)})
    return [*found, {"type": type_of(value)}, {"exists": True}] if whole(value) else [*found, {"exists": True}]


class AddAssertion(Modal[str]):
    """The window that offers matchers; answers the new text of the suite file, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.assertion")
    ENTER = "write"

    def __init__(self, name: str, target: str, file: str, before: str, ways: list[Way]) -> None:
        super().__init__(classes="picker")
        self._test, self._target, self._file, self._before, self._ways = name, target, file, before, ways

    def compose(self) -> ComposeResult:
        """Yield the list of matchers, and below it a preview of the file."""
        with Vertical(classes="dialog -tall") as dialog:
            dialog.border_title = shown(f"Add an assertion to {one_line(self._test, 60)}")
            yield Static(shown(one_line(self._target, 200), style="$json-key"), classes="picker-about")
            options = OptionList(*map(_option, self._ways), markup=False, compact=True)
            yield options
            yield Static("", classes="save-title", id="assertion-place")
            yield TextView(id="assertion-preview")

    def on_mount(self) -> None:
        """Focus the list of matchers when the window opens."""
        self.query_one(OptionList).focus()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show which lines the highlighted matcher would add, and where."""
        first, rows = changed_rows(self._before, self._ways[event.option_index].after)
        self.query_one("#assertion-place", Static).update(shown(f"{self._file}, line {first}"))
        self.query_one(TextView).show(rows)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close the window; the answer is the file's text with the chosen assertion."""
        self.dismiss(self._ways[event.option_index].after)

    def action_write(self) -> None:
        """Choose the matcher under the cursor, as Enter in the list does."""
        self.query_one(OptionList).action_select()


def add_to_suite(bench: BaseApp, row: TestRow, tree: JsonTree) -> None:
    """Offer an assertion about a value of an answer, and write it into the suite or its unsaved text."""
    from mcptest_engine.suite.edit import add_assertion
    from mcptest_engine.suite.text_edits import EditRefused, apply

    file = File(row.file)
    if row.kind == "eval":
        bench.messages.show("a judgement has no targets; its test is decided by the score", "warning")
        return
    editor = bench.editor_of(row.file)
    try:
        text = (editor.unsaved_text(row.file) if editor is not None else None) or file.read_bytes().decode()
        line = row.line if editor is None else _line_in(bench, text, row)
        if line is None:
            words = f"{file.name} has unsaved text in Edit, where this test is not found"
            bench.messages.notify(words, severity="warning", hint=f"{key_of('app.mode.2')} goes there; save it first")
            return
        ways = [
            Way(matcher, apply(text, add_assertion(text, line, tree.target, matcher)))
            for matcher in matchers_for(tree.value())
        ]
    except EditRefused as refused:
        bench.messages.notify(
            refused.message,
            severity="warning",
            hint=refused.hint or f"{key_of('open.edit')} opens the editor at the test",
        )
        return
    except (OSError, UnicodeDecodeError) as wrong:
        bench.messages.notify(f"cannot read {file.name}: {getattr(wrong, 'strerror', None) or wrong}", severity="error")
        return
    bench.push_screen(
        AddAssertion(row.name, tree.target, file.name, text, ways),
        lambda after: _write(bench, row, text, after) if after else None,
    )


def _line_in(bench: BaseApp, text: str, row: TestRow) -> int | None:
    """Return the line of a test in a suite's unsaved text; None if it is not found."""
    from mcptest_engine.running.documents import document_of

    document = document_of(row.file, text, start_dir=bench.folder, environ=dict(os.environ))
    return next((test.line for test in document.tests if test.id == row.id and test.file == row.file), None)


def _write(bench: BaseApp, row: TestRow, before: str, after: str) -> None:
    file = File(row.file)
    editor = bench.editor_of(row.file)
    if editor is not None and editor.unsaved_text(row.file) == before:
        editor.change_text(row.file, after)
        bench.messages.show(f"added to the unsaved text of {file.name}; {key_of('app.mode.2')} goes there, to save it")
        return
    try:
        if editor is not None or file.read_bytes() != before.encode():
            bench.messages.notify(
                f"{file.name} has changed meanwhile; nothing was written",
                severity="warning",
                hint=f"{key_of('json.assert')} again",
            )
            return
        write_suite(file, after.encode())
    except OSError as wrong:
        bench.messages.notify(f"cannot write {file}: {wrong.strerror or wrong}", severity="error")
        return
    bench.messages.show(f"added an assertion to {row.name}")
    bench.documents_changed([row.file])


def _option(way: Way) -> Option:
    ((name, argument),) = way.matcher.items()
    return Option(shown(one_line(f" {name}: {compact(argument, 200)}", 200)))


def changed_rows(before: str, after: str) -> tuple[int, list[TextLine]]:
    """Return the number of the first changed line, and the rows around it: `-` removed, `+` added."""
    old, new = before.split("\n"), after.split("\n")
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
    rows = [file_row(at + 1, " ", new[at]) for at in range(max(head - AROUND, 0), head)]
    rows += [file_row(at + 1, "-", old[at]) for at in range(head, len(old) - tail)]
    rows += [file_row(at + 1, "+", new[at]) for at in range(head, len(new) - tail)]
    rows += [file_row(at + 1, " ", new[at]) for at in range(len(new) - tail, min(len(new) - tail + AROUND, len(new)))]
    return head + 1, rows


def file_row(number: int, sign: str, text: str) -> TextLine:
    """Return one row of a file's preview: `-` removed, `+` added, in the colours that Review uses."""
    ink = {"+": "actual", "-": "expected"}.get(sign, "dim")
    indent = len(text) - len(text.lstrip(" "))
    return TextLine(0, 9 + indent, ((f"{number:>4} ", "dim"), (f"{sign} ", ink), (one_line(text, 400), ink)))
