"""Finds problems in the text while it is typed, and shows them and the verdicts of its tests beside the lines."""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.content import Content

from mcptest_engine.core.text import counted
from mcptest_tui.actions import by_id
from mcptest_tui.config import config_file, diagnose_config
from mcptest_tui.debounce import Debounce
from mcptest_tui.keymap import diagnose_keymap, keymap_file
from mcptest_tui.screens.base import in_background
from mcptest_tui.screens.edit_files import FileController, OpenFiles
from mcptest_tui.screens.palette import keys_of
from mcptest_tui.state.verdict_notes import note_of
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.outline import Entry, Outline
from mcptest_tui.widgets.problems import ProblemLine, ProblemList, fix_text
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.running.documents import Diagnostic, Document
    from mcptest_tui.screens.base import WorkScreen
    from mcptest_tui.screens.edit_catalogs import Catalogs
    from mcptest_tui.screens.edit_docs import OpenDoc
    from mcptest_tui.state.verdict_notes import Note

QUIET_SECONDS, LONGEST_QUIET_SECONDS = 0.03, 0.12
"""How long no key comes before the text is looked at: as long as a look takes, so that one seldom meets the next key."""
LARGE = 200_000
LIST_ROWS = 7
LIST_ROWS_SHORT = 4


class Diagnostics(FileController):
    """Checks a file while it is typed, shows its problems in several places, and applies fixes."""

    def __init__(
        self, screen: WorkScreen, files: OpenFiles, catalogs: Catalogs, checked: Callable[[OpenDoc], None]
    ) -> None:
        """`checked` is called when the problems of a text are known."""
        super().__init__(screen, files)
        self._catalogs, self._checked = catalogs, checked
        self._to_check: OpenDoc | None = None
        self._check_quietly = Debounce(screen, QUIET_SECONDS, self._begin_check)
        self._explanation = ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer "go" only where there are problems; dim "fix" where none can be fixed."""
        doc = self.files.current
        if doc is not None and action == "go" and not doc.problems:
            return False
        if doc is not None and action == "fix" and not _fixable(doc):
            return None
        return super().check_action(action, parameters)

    # Finding out

    def check_soon(self, doc: OpenDoc) -> None:
        """Check the text when no key was pressed for a moment."""
        self._to_check = doc
        self._check_quietly()

    def _begin_check(self) -> None:
        if self._to_check is not None:
            in_background(self.screen, partial(self.check_now, self._to_check), "validate")

    async def check_now(self, doc: OpenDoc) -> None:
        """Check the text now, one check at a time; drop the result if the text changes meanwhile."""
        async with doc.checking:
            await self._check(doc)

    async def _check(self, doc: OpenDoc) -> None:
        text, catalogs = doc.text, self._catalogs.of(doc)
        read = tuple(map(id, catalogs.values()))
        if doc.checked == text and doc.checked_by == read:
            return
        documents = self.workbench.store.documents
        if doc.file.path == str(keymap_file()):
            doc.document, problems = None, diagnose_keymap(text, doc.file.path)
        elif doc.file.path == str(config_file()):
            doc.document, problems = None, diagnose_config(text, doc.file.path)
        elif doc.is_fragment(documents):
            doc.document = None
            problems = await asyncio.to_thread(
                _problems_of_part, doc.file.path, text, doc.owners(documents), doc.is_dirty
            )
        else:
            begun = time.perf_counter()
            doc.document = document = await self._document(doc.file.path, text, catalogs)
            took = time.perf_counter() - begun
            self._check_quietly.seconds = min(max(took, QUIET_SECONDS), LONGEST_QUIET_SECONDS)
            problems = list(document.diagnostics)
        if doc.text != text or doc.file.path not in self.files.docs:
            return
        doc.checked, doc.checked_by, doc.problems = text, read, problems
        self.refresh_marks(doc)
        self._checked(doc)

    async def _document(self, path: str, text: str, catalogs: dict[str, dict[str, Any]]) -> Document:
        from mcptest_engine.running.documents import Document, document_of
        from mcptest_tui.engine_client import EngineError

        if len(text) > LARGE and self.workbench.engine_ready.is_set():
            try:
                return Document.from_json(await self.workbench.engine.request("load", path=path, text=text))
            except EngineError:
                pass  # then here, which takes longer
        return await asyncio.to_thread(
            document_of, path, text, start_dir=self.workbench.folder, environ=dict(os.environ), catalogs=catalogs
        )

    # Showing it

    def refresh_marks(self, doc: OpenDoc) -> None:
        """Redraw a text's problems: underlines, gutter, problem list, problem line and outline."""
        squiggles: dict[int, list[tuple[int, int, str]]] = {}
        for problem in doc.problems:
            if problem.file == doc.file.path:
                span = (problem.column - 1, problem.end_column - 1, problem.severity)
                squiggles.setdefault(problem.line - 1, []).append(span)
        doc.area.mark(squiggles=squiggles, notes=self._notes_of(doc))
        if doc is self.files.current:
            self.show_list(doc)
            self.refresh_line(doc)
            self.screen.query_one(Outline).show(self._outline(doc))
            self.screen.refresh_bindings()

    def refresh_notes(self) -> None:
        """Redraw the verdicts beside the lines of all open files, and the outline."""
        for doc in self.files.docs.values():
            doc.area.mark(notes=self._notes_of(doc))
        if self.files.current is not None:
            self.screen.query_one(Outline).show(self._outline(self.files.current))

    def refresh_line(self, doc: OpenDoc) -> None:
        """Show the problem under the cursor, else what the word there means."""
        row, column = doc.area.cursor_location
        problem = doc.problem_at(row, column)
        fix = ""
        if problem is not None and doc.checked == doc.text:
            keys = keys_of(by_id()["edit.fix"][1]).split(", ")
            told = " or ".join(keys[: 1 if self.screen.has_class("-narrow") else 2])
            fix = fix_text(problem, doc.area.lines[problem.line - 1], told)
        otherwise = f"changed on the disk as well: {key_of('edit.save')} decides" if doc.disputed else self._explanation
        self.screen.query_one(ProblemLine).show(problem, fix, otherwise)

    def explain(self, text: str) -> None:
        """Show what the word under the cursor means, on the problem line."""
        self._explanation = text
        if self.files.current is not None:
            self.refresh_line(self.files.current)

    def show_list(self, doc: OpenDoc) -> None:
        """Show the problems below the text, in few rows; none on a tiny terminal."""
        found = self._list
        rows = min(len(doc.problems), LIST_ROWS_SHORT if self.screen.has_class("-short") else LIST_ROWS)
        found.display = bool(doc.problems) and doc.listed and not self.screen.has_class("-tiny")
        if found.display:
            found.styles.height = rows + 1  # another height lays out the whole screen
            told = f"{counted(len(doc.problems), 'problem')}   {key_of('edit.problem.next')} goes to the next"
            show_titles(found, Content(told))
            found.show(doc.problems, doc.file.path)

    @property
    def _list(self) -> ProblemList:
        return self.screen.query_one(ProblemList)

    def typed(self, doc: OpenDoc) -> None:
        """Check the changed text soon; never open the problem list while one types."""
        doc.listed = doc.listed and doc is self.files.current and self._list.display
        self.check_soon(doc)

    def _notes_of(self, doc: OpenDoc) -> dict[int, Note]:
        if doc.checked != doc.text:
            return doc.area.notes  # they move with their lines until the text was looked at
        rows = self.workbench.store.rows
        return {
            test.line - 1: note_of(row, test.digest, told=test.id in doc.asked)
            for test in doc.tests(self.workbench.store.documents)
            if (row := rows.get(test.id)) is not None
        }

    def _outline(self, doc: OpenDoc) -> tuple[Entry, ...]:
        rows, documents = self.workbench.store.rows, self.workbench.store.documents
        return tuple(
            Entry(test.line, row.status if (row := rows.get(test.id)) is not None else "new", test.name)
            for test in sorted(doc.tests(documents), key=lambda test: test.line)
        )

    def action_show_test(self) -> None:
        """Go to the test under the cursor in the list of tests."""
        doc, store = self.files.current, self.workbench.store
        test = doc.test_at_cursor(store.documents) if doc is not None else None
        if test is not None and test in store.rows:
            self.workbench.go("tests", id=test)
        else:
            self.workbench.messages.show("there is no test here")

    # Going from one to the next, and fixing

    async def action_go(self, step: int) -> None:
        """Go to the next problem, or to the previous; those of other files come last."""
        doc = self.files.current
        if doc is None:
            return
        await self.check_now(doc)
        if not doc.problems:
            self.workbench.messages.show("no problems")
            return
        path = doc.file.path
        order = sorted(
            doc.problems, key=lambda problem: (problem.file != path, problem.file, problem.line, problem.column)
        )
        row, column = doc.area.cursor_location
        here = (False, path, row + 1, column + 1)
        keys = [(problem.file != path, problem.file, problem.line, problem.column) for problem in order]
        if step > 0:
            at = next((at for at, key in enumerate(keys) if key > here), 0)
        else:
            at = max((at for at, key in enumerate(keys) if key < here), default=len(order) - 1)
        doc.listed = True
        self.show_list(doc)
        self._list.move_to(list(doc.problems).index(order[at]), tell=False)
        self.files.open(order[at].file, order[at].line, order[at].column)

    async def action_fix(self) -> None:
        """Apply the fix on the cursor's line; with none there, go to the next problem that has one."""
        doc = self.files.writable
        if doc is None:
            return
        await self.check_now(doc)
        row, column = doc.area.cursor_location
        mine = _fixable(doc)
        here = [problem for problem in mine if problem.line == row + 1]
        if here:
            best = min(here, key=lambda problem: not problem.column - 1 <= column < problem.end_column)
            self._apply_fixes(doc, [best])
        elif mine:
            after = next((problem for problem in mine if problem.line > row + 1), mine[0])
            self.files.open(after.file, after.line, after.column)
        else:
            self.workbench.messages.show("no automatic fix here")

    async def action_fix_all(self) -> None:
        """Apply all fixes of the file, as one step that can be undone."""
        doc = self.files.writable
        if doc is not None:
            await self.check_now(doc)
            self._apply_fixes(doc, doc.problems)

    def _apply_fixes(self, doc: OpenDoc, problems: Any) -> None:
        from mcptest_engine.running.diagnostics import edits_of, fixes_of, put_missing
        from mcptest_engine.suite.text_edits import apply

        fixes = fixes_of(problems, doc.file.path)
        edits = edits_of(fixes, doc.area.lines, doc.area.document.newline)
        text, inserted = put_missing(apply(doc.text, edits), problems, doc.file.path)
        if not edits and not inserted:
            self.workbench.messages.show("no automatic fix here")
            return
        doc.area.become(text)
        if len(edits) + inserted > 1:
            self.workbench.messages.show(f"applied {counted(len(edits) + inserted, 'fix')}")
        self._to_check = doc
        self._begin_check()

    def action_toggle(self) -> None:
        """Show and focus the list of problems, or hide it and focus the text."""
        doc = self.files.current
        if doc is None or not doc.problems:
            self.workbench.messages.show("no problems")
            return
        doc.listed = not self._list.display
        self.show_list(doc)
        (self._list if doc.listed else doc.area).focus()


def _fixable(doc: OpenDoc) -> list[Diagnostic]:
    return [one for one in doc.problems if (one.fix or one.insert) is not None and one.file == doc.file.path]


def _problems_of_part(path: str, text: str, owners: list[Document], is_dirty: bool) -> list[Diagnostic]:
    """Return the problems of a file that suites import: YAML errors, else those last found in its suites."""
    from mcptest_engine.core.errors import SuiteError
    from mcptest_engine.running.diagnostics import LINE_END, diagnostics_of
    from mcptest_engine.suite.yaml import EMPTY, read_tree

    try:
        read_tree(text, file=path)
    except SuiteError as broken:
        problems = [problem for problem in broken.problems if problem.message != EMPTY]
        return list(diagnostics_of(problems, lambda _: LINE_END.split(text), file=path))
    if is_dirty:
        return []
    return [problem for document in owners for problem in document.diagnostics if problem.file == path]
