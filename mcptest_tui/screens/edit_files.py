"""Which files are open in the editor, and which of them is shown; the base of the editor's controllers."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content

from mcptest_engine.core.text import counted
from mcptest_engine.running.diagnostics import Diagnostic
from mcptest_tui.config import TEMPLATE as CONFIG_TEMPLATE
from mcptest_tui.config import config_file
from mcptest_tui.keymap import keymap_file, keymap_template
from mcptest_tui.places import path_here
from mcptest_tui.safe import shown, without_middle
from mcptest_tui.screens.base import Controller, WorkScreen
from mcptest_tui.screens.edit_docs import OpenDoc
from mcptest_tui.state.editor_model import open_file, reason
from mcptest_tui.widgets.file_tabs import FileTabs, Tab
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.outline import Entry
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_tui.state.drafts import Drafts
    from mcptest_tui.widgets.lines import Lines

NEW_NAMES = ("mcptest.yml", "suite.yml")
SHORTEST_NAME = 20


class OpenFiles(Controller):
    """The open files by their paths, in the order of their tabs, each with an editor below `#edit-texts`."""

    def __init__(self, screen: WorkScreen, drafts: Drafts, shown: Callable[[OpenDoc | None], None]) -> None:
        """`shown` is called when another file is shown, or none."""
        super().__init__(screen)
        self.docs: dict[str, OpenDoc] = {}
        self.current: OpenDoc | None = None
        self.wraps = False
        self._drafts, self._shown = drafts, shown

    @property
    def writable(self) -> OpenDoc | None:
        """The file that is shown, if its text can be changed."""
        return self.current if self.current is not None and not self.current.file.read_only else None

    @property
    def unsaved(self) -> list[OpenDoc]:
        """The open files whose text differs from the disk."""
        return [doc for doc in self.docs.values() if doc.is_dirty]

    def open(self, path: str, line: int | None = None, column: int | None = None, *, quiet: bool = False) -> None:
        """Open and show a file, which need not exist, at a place from 1. `quiet` opens it behind others."""
        path = os.path.abspath(path)  # noqa: PTH100
        doc = self.docs.get(path)
        if doc is None:
            try:
                file = open_file(path)
            except OSError as wrong:
                self.workbench.messages.notify(f"cannot open {path}: {reason(wrong)}", severity="error")
                return
            doc = self.docs[path] = OpenDoc(file)
            doc.area.display = False
            if file.is_new and path == str(keymap_file()):
                doc.area.load_text(keymap_template())
            elif file.is_new and path == str(config_file()):
                doc.area.load_text(CONFIG_TEMPLATE)
            self.screen.query_one("#edit-texts").mount(doc.area)
            if file.read_only:
                self.workbench.messages.notify(
                    f"{file.name} is read-only here: {file.read_only}",
                    hint=f"{key_of('edit.external', typing=True)} opens it in $EDITOR",
                )
            doc.left_over = self._drafts.find(path) if not file.read_only else None
            self.workbench.suites.watch()
        if not quiet or self.current is None:
            self.show(doc)
        if line is not None:
            doc.area.place(line - 1, (column or 1) - 1)

    def show(self, doc: OpenDoc) -> None:
        """Show this file in place of the others, and focus its text."""
        for other in self.docs.values():
            other.area.display = other is doc
        self.screen.query_one("#edit-empty").display = False
        self.current = doc
        doc.area.soft_wrap = self.wraps
        if self.screen.is_current:
            doc.area.focus()
        self._shown(doc)

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Go to a problem, or to a test of the outline."""
        event.stop()
        row = event.row
        if isinstance(row, Diagnostic):
            self.open(row.file, row.line, row.column)
        elif isinstance(row, Entry) and self.current is not None:
            self.open(self.current.file.path, row.line, 1)

    def remove(self, doc: OpenDoc) -> None:
        """Close a file without asking or saving, and show another if one is open."""
        del self.docs[doc.file.path]
        doc.area.remove()
        if doc is self.current:
            self.current = None
            if self.docs:
                self.show(next(reversed(self.docs.values())))
            else:
                self.screen.query_one("#edit-empty").display = True
                self.screen.query_one("#edit-empty").focus()
                self._shown(None)
        self.refresh_tabs()
        self.workbench.refresh_status()

    def refresh_tabs(self) -> None:
        """Redraw the tabs and the title: names, marks of unsaved text, error counts."""
        for doc in self.docs.values():
            doc.shown_dirty = doc.is_dirty
        tabs = [
            Tab(path, self.title_of(doc), doc.is_dirty, len([d for d in doc.problems if d.severity == "error"]))
            for path, doc in self.docs.items()
        ]
        screen, current = self.screen, self.current
        screen.set_class(len(tabs) > 1, "-several")
        screen.query_one(FileTabs).show(tabs, current.file.path if current else "")
        pane = screen.query_one("#edit-pane")
        if current is not None:
            dirty = Content.styled(f" {MARKS['dot']} unsaved", "$warning") if current.is_dirty else Content("")
            state = " new" if current.file.is_new else ""
            readonly = f"  read-only: {current.file.read_only}" if current.file.read_only else ""
            behind = Content.assemble(state, dirty, shown(readonly))
            room = (pane.size.width or screen.size.width) - behind.cell_length - 4
            name = without_middle(self.title_of(current), max(room, SHORTEST_NAME))
            show_titles(pane, Content.assemble(shown(name), behind))
        else:
            show_titles(pane, Content("Edit"))

    def title_of(self, doc: OpenDoc) -> str:
        """Return a file's path relative to the current folder, or its name if it lies elsewhere."""
        here = path_here(doc.file.path)
        return doc.file.name if here == doc.file.path else here

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim "go to line" and "wrap" while no file is open."""
        needs_file = action in ("go_to_line", "wrap")
        return None if needs_file and self.current is None else super().check_action(action, parameters)

    def on_file_tabs_chosen(self, event: FileTabs.Chosen) -> None:
        """Show the file whose tab was clicked."""
        if event.path in self.docs:
            self.show(self.docs[event.path])

    def action_go_to_line(self) -> None:
        """Ask for a line number, and move the cursor to that line."""
        from mcptest_tui.widgets.modals import TextPrompt

        doc = self.current
        if doc is None:
            return
        last = len(doc.area.lines)

        def check(typed: str) -> str | None:
            return None if typed.isdigit() and 0 < int(typed) <= last else f"a number from 1 to {last}"

        def answered(typed: str | None) -> None:
            if typed is not None:
                self.open(doc.file.path, int(typed), 1)

        self.workbench.push_screen(TextPrompt("Go to line", counted(last, "line"), check=check), answered)

    def action_wrap(self) -> None:
        """Turn the wrapping of long lines on or off in all open files."""
        self.wraps = not self.wraps
        for doc in self.docs.values():
            doc.area.soft_wrap = self.wraps

    def action_next(self, step: int) -> None:
        """Show the next or the previous open file; after the last comes the first."""
        docs = list(self.docs.values())
        if self.current is not None and len(docs) > 1:
            self.show(docs[(docs.index(self.current) + step) % len(docs)])

    def action_pick(self) -> None:
        """Choose a file to show: an open one, one of the suites, or any other."""
        from mcptest_tui.screens.picker import Choice, Picker

        choices = [
            Choice(path, self.title_of(doc), "unsaved" if doc.is_dirty else "", path, "Open files")
            for path, doc in self.docs.items()
        ]
        known = {file: None for document in self.workbench.store.documents.values() for file in document.files}
        choices += [
            Choice(path, path_here(path), "", path, "Suites and their parts")
            for path in known
            if path not in self.docs and path.endswith((".yml", ".yaml")) and os.path.isfile(path)  # noqa: PTH113
        ]
        choices.append(Choice(":open", "Another file …", "", "By its path.", "More"))
        choices.append(Choice(":new", "A new file …", "", "An empty suite.", "More"))
        app = self.workbench

        def answered(chosen: str | None) -> None:
            if chosen == ":open":
                app.call_next(app.run_action, "windows.open_file")
            elif chosen == ":new":
                self.action_new()
            elif chosen is not None:
                self.open(chosen)

        def source(typed: str) -> tuple[list[Choice], str]:
            path = _path_of(typed)
            is_other = os.path.isfile(path) and not any(choice.title == typed for choice in choices)  # noqa: PTH113
            return (
                [Choice(str(path.absolute()), typed, "", "By its path.", "More")] if is_other else []
            ) + choices, typed

        start = self.current.file.path if self.current is not None else None
        app.push_screen(Picker("Files", source, start=start), answered)

    def action_new(self) -> None:
        """Ask for the name of a new suite; it is written at the first save."""
        from mcptest_tui.widgets.modals import TextPrompt

        free = next((name for name in NEW_NAMES if not Path(name).exists()), f"suite-{int(time.time())}.yml")

        def check(typed: str) -> str | None:
            if not typed.strip():
                return "a name such as weather.yml"
            path = _path_of(typed)
            if os.path.isdir(path):  # noqa: PTH112
                return "that is a folder"
            return None if path.suffix in (".yml", ".yaml") else "a suite's name ends in .yml or .yaml"

        def answered(typed: str | None) -> None:
            if typed is not None:
                self.open(str(_path_of(typed)))

        hint = "its path; one that exists is opened"
        entered = self.workbench.entered_paths
        self.workbench.push_screen(TextPrompt("A new suite", hint, value=free, check=check, entered=entered), answered)


class FileController(Controller):
    """A controller of the editor whose actions need a file that is shown."""

    def __init__(self, screen: WorkScreen, files: OpenFiles) -> None:
        super().__init__(screen)
        self.files = files

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Dim all actions of the controller while no file is open."""
        return True if self.files.current is not None else None


def _path_of(typed: str) -> Path:
    """Return a typed path with `~` expanded; unlike `Path.expanduser`, this never raises."""
    return Path(os.path.expanduser(typed.strip()))  # noqa: PTH111
