"""Finding and replacing, renaming a server, node, variable or test with its snapshots, and formatting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted
from mcptest_tui.screens.edit_files import FileController
from mcptest_tui.widgets.find_bar import FindBar
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from mcptest_engine.suite.rename import Renaming
    from mcptest_tui.screens.base import WorkScreen
    from mcptest_tui.screens.edit_docs import OpenDoc
    from mcptest_tui.screens.edit_files import OpenFiles


class Finding(FileController):
    """Opens and closes the find bar; the bar itself searches the text."""

    def __init__(self, screen: WorkScreen, files: OpenFiles) -> None:
        super().__init__(screen, files)
        self.bar = FindBar()

    def back(self) -> bool:
        """Close the find bar; return False when it is not open."""
        if self.bar.display:
            self.bar.action_leave()
            return True
        return False

    def on_find_bar_replaced(self, event: FindBar.Replaced) -> None:
        """Show how many places were replaced."""
        self.workbench.messages.show(f"replaced {counted(event.count, 'place')}; {key_of('edit.undo')} takes it back")

    def action_find(self) -> None:
        """Open the find bar, filled with the selected text."""
        self.bar.open(replacing=False)

    def action_replace(self) -> None:
        """Open the find bar with its second field, for the replacement."""
        self.bar.open(replacing=True)


class Refactoring(FileController):
    """Renames in a whole file and formats it, without changing what it means."""

    def action_rename(self) -> None:
        """Ask for a new name of the server, node, variable or test under the cursor; rename it in the file."""
        from mcptest_engine.suite.rename import find_renaming, list_names, rename
        from mcptest_engine.suite.text_edits import EditRefused
        from mcptest_tui.widgets.modals import TextPrompt

        doc = self.files.writable
        if doc is None:
            return
        area, text = doc.area, doc.text
        renaming = find_renaming(text, area.index_of(area.cursor_location))
        if renaming is None:
            self.workbench.messages.show("there is no server, node, variable or test here")
            return
        others = self._files_naming(doc, renaming)
        if others:
            self.workbench.messages.show(
                f"not renamed: {', '.join(others[:3])} {'names' if len(others) == 1 else 'name'} {renaming.name} too; "
                "change the name in all of the files by hand",
                "warning",
            )
            return
        kind, old, places = renaming.kind, renaming.name, counted(len(renaming.places), "place")
        taken = set(list_names(text, kind)) - {old} if kind in ("server", "test") else set()

        def check(typed: str) -> str | None:
            if not typed.strip() or typed.strip() in taken:
                return f"another {kind} has this name" if typed.strip() else "type a name"
            try:
                rename(text, renaming, typed.strip())
            except (EditRefused, ValueError) as wrong:
                return f"{wrong}{f'; {hint}' if (hint := getattr(wrong, 'hint', None)) else ''}"
            return None

        def answered(typed: str | None) -> None:
            if typed is None or typed.strip() == old:
                return
            if doc.text != text:
                self.workbench.messages.show("not renamed: the text has changed meanwhile; rename it again", "warning")
                return
            area.become(rename(text, renaming, typed.strip()))
            if kind == "test":
                doc.renamings.add((old, typed.strip()))
            self.workbench.messages.show(f"renamed {old} in {places}; one undo takes it back")

        hint = f"renames {places} of this file"
        if kind == "test":
            hint += "; its snapshots go along when it is saved"
        self.workbench.push_screen(TextPrompt(f"Rename the {kind} {old}", hint, value=old, check=check), answered)

    def _files_naming(self, doc: OpenDoc, renaming: Renaming) -> list[str]:
        """Return the other files of the same suites in which the name occurs too."""
        from pathlib import Path

        import yaml

        from mcptest_engine.suite.rename import count_names

        suites = [*doc.owners(self.workbench.store.documents), *([doc.document] if doc.document is not None else [])]
        files = dict.fromkeys(file for suite in suites for file in suite.files if file.endswith((".yml", ".yaml")))
        files.pop(doc.file.path, None)
        found = []
        for file in files:
            opened = self.files.docs.get(file)
            try:
                if count_names(opened.text if opened is not None else Path(file).read_text("utf-8"), renaming):
                    found.append(self.workbench.workspace.relative(Path(file)))
            except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError):
                continue  # no test of it runs as it stands
        return found

    def action_format(self) -> None:
        """Format the text; its meaning and its comments stay the same."""
        from mcptest_engine.suite.text_edits import EditRefused
        from mcptest_engine.suite.tidy import tidy

        doc = self.files.writable
        if doc is None:
            return
        try:
            text = tidy(doc.text)
        except EditRefused as refused:
            hint = f"; {refused.hint}" if refused.hint else ""
            self.workbench.messages.show(f"not formatted: {refused.message}{hint}", "warning")
            return
        if text == doc.text:
            self.workbench.messages.show("nothing to format")
            return
        doc.area.become(text)
        self.workbench.messages.show("formatted; one undo takes it back")

    def rename_snapshots(self, doc: OpenDoc, before: str) -> int:
        """Rename the snapshots of tests renamed since the saved text `before`; return how many were renamed."""
        import os
        from pathlib import Path

        import yaml

        from mcptest_engine.core.errors import McptestError
        from mcptest_engine.suite.rename import find_renamed_tests, list_names
        from mcptest_engine.workspace.slug import slug
        from mcptest_engine.workspace.snapshots import rename_snapshots

        workspace, count = self.workbench.workspace, 0
        if not doc.renamings:
            return 0
        try:
            renamed, tests = find_renamed_tests(before, doc.file.saved, doc.renamings), list_names(before, "test")
        except (yaml.YAMLError, RecursionError):
            return 0  # a text with such a fault was saved: no test of it runs
        suites = [doc.file.path, *(one.path for one in doc.owners(self.workbench.store.documents))]
        for suite in suites if renamed else ():
            stem = os.path.splitext(workspace.relative(Path(suite)))[0]  # noqa: PTH122
            try:
                count += rename_snapshots(workspace.snapshots_dir / f"{slug(stem)}.yml", renamed, tests)
            except (OSError, McptestError) as wrong:
                names = ", ".join(renamed)
                self.workbench.messages.notify(f"the snapshots keep the names of {names}: {wrong}", severity="warning")
        return count
