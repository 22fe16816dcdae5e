"""What is wrong with the text, found while it is typed; and what its tests came to, beside their lines."""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.content import Content

from mcptest_engine.core.words import counted
from mcptest_tui.actions import by_id
from mcptest_tui.config import config_file, diagnose_config
from mcptest_tui.keymap import diagnose_keymap, keymap_file
from mcptest_tui.quiet import Quiet
from mcptest_tui.screens.edit_base import EditBase
from mcptest_tui.screens.palette import keys_of
from mcptest_tui.state.verdict_notes import note_of
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.outline import Entry, Outline
from mcptest_tui.widgets.problems import ProblemLine, ProblemList, fix_words
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from mcptest_engine.running.documents import Diagnostic, Document, TestItem
    from mcptest_tui.screens.edit_docs import OpenDoc
    from mcptest_tui.state.verdict_notes import Note

QUIET_SECONDS, LONGEST_QUIET_SECONDS = 0.03, 0.12
"""How long no key comes before the text is looked at: as long as a look takes, so that one seldom meets the next key."""
LARGE = 200_000
LIST_ROWS = 7
LIST_ROWS_SHORT = 4


class EditChecks(EditBase):
    """A mixin of the screen."""

    _to_check: OpenDoc
    _check_quietly: Quiet | None = None
    _explained = ""

    # Finding out

    def check_soon(self, doc: OpenDoc) -> None:
        """Look at the text when no key has come for a moment."""
        self._to_check = doc
        if self._check_quietly is None:
            self._check_quietly = Quiet(self, QUIET_SECONDS, lambda: self._begin_check(self._to_check))
        self._check_quietly()

    def _begin_check(self, doc: OpenDoc) -> None:
        self.run_worker(partial(self.check_now, doc), group="validate", exclusive=True, exit_on_error=False)  # type: ignore[arg-type]

    async def check_now(self, doc: OpenDoc) -> None:
        """Look at the text as it stands; if it changes meanwhile, the look after that counts. One look at a time."""
        async with doc.checking:
            await self._check(doc)

    async def _check(self, doc: OpenDoc) -> None:
        text, catalogs = doc.text, self.catalog_of(doc)
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
            if self._check_quietly is not None:
                took = time.perf_counter() - begun
                self._check_quietly.seconds = min(max(took, QUIET_SECONDS), LONGEST_QUIET_SECONDS)
            problems = list(document.diagnostics)
        if doc.text != text or doc.file.path not in self.docs:
            return
        doc.checked, doc.checked_by, doc.problems = text, read, problems
        self.refresh_marks(doc)
        self.refresh_tabs()
        self.workbench.refresh_status()
        self.offer_anew(doc)

    async def _document(self, path: str, text: str, catalogs: dict[str, dict[str, Any]]) -> Document:
        from mcptest_engine.running.documents import Document, document_of
        from mcptest_tui.engine_client import EngineError

        if len(text) > LARGE and self.workbench.engine_ready.is_set():
            try:
                return Document.from_json(await self.workbench.engine.ask("load", path=path, text=text))
            except EngineError:
                pass  # then here, which takes longer
        return await asyncio.to_thread(
            document_of, path, text, start_dir=self.workbench.folder, environ=dict(os.environ), catalogs=catalogs
        )

    # Showing it

    def refresh_marks(self, doc: OpenDoc) -> None:
        """Underlines, gutter, list, line."""
        squiggles: dict[int, list[tuple[int, int, str]]] = {}
        for problem in doc.problems:
            if problem.file == doc.file.path:
                span = (problem.column - 1, problem.end_column - 1, problem.severity)
                squiggles.setdefault(problem.line - 1, []).append(span)
        doc.area.mark(squiggles=squiggles, notes=self._notes_of(doc))
        if doc is self.current:
            self.show_list(doc)
            self.refresh_problem_line(doc)
            self.query_one(Outline).show(self._outline(doc))
            self.refresh_bindings()

    def refresh_notes(self) -> None:
        """Verdicts beside the lines."""
        for doc in self.docs.values():
            doc.area.mark(notes=self._notes_of(doc))
        if self.current is not None:
            self.query_one(Outline).show(self._outline(self.current))

    def refresh_problem_line(self, doc: OpenDoc) -> None:
        """The problem under the cursor, else what the word there means."""
        row, column = doc.area.cursor_location
        problem = doc.problem_at(row, column)
        fix = ""
        if problem is not None and doc.checked == doc.text:
            fix = fix_words(problem, doc.area.lines[problem.line - 1], self._fix_keys())
        otherwise = f"changed on the disk as well: {key_of('edit.save')} decides" if doc.disputed else self._explained
        self.query_one(ProblemLine).show(problem, fix, otherwise)

    def explained(self, words: str) -> None:
        """What the word under the cursor means, on the line where problems stand."""
        self._explained = words
        if self.current is not None:
            self.refresh_problem_line(self.current)

    def _fix_keys(self) -> str:
        keys = keys_of(by_id()["edit.fix"][1]).split(", ")
        return " or ".join(keys[: 1 if self.has_class("-narrow") else 2])

    def show_list(self, doc: OpenDoc) -> None:
        """The problems below the text, in as many rows as it can spare; none of a tiny terminal's."""
        found = self.query_one(ProblemList)
        rows = min(len(doc.problems), LIST_ROWS_SHORT if self.has_class("-short") else LIST_ROWS)
        found.display = bool(doc.problems) and doc.listed and not self.has_class("-tiny")
        if found.display:
            found.styles.height = rows + 1  # another height lays out the whole screen
            told = f"{counted(len(doc.problems), 'problem')}   {key_of('edit.problem.next')} goes to the next"
            show_titles(found, Content(told))
            found.show(doc.problems, doc.file.path)

    def _tests_of(self, doc: OpenDoc) -> list[TestItem]:
        """The tests of the file, as it stands in the editor, or as their suite was read."""
        path = doc.file.path
        document = doc.document
        documents = doc.owners(self.workbench.store.documents) if document is None else [document]
        return [test for one in documents for test in one.tests if test.file == path]

    def _notes_of(self, doc: OpenDoc) -> dict[int, Note]:
        if doc.checked != doc.text:
            return doc.area.notes  # they move with their lines until the text was looked at
        rows = self.workbench.store.rows
        return {
            test.line - 1: note_of(row, test.digest, told=test.id in doc.asked)
            for test in self._tests_of(doc)
            if (row := rows.get(test.id)) is not None
        }

    def _outline(self, doc: OpenDoc) -> tuple[Entry, ...]:
        rows = self.workbench.store.rows
        return tuple(
            Entry(test.line, row.status if (row := rows.get(test.id)) is not None else "new", test.name)
            for test in sorted(self._tests_of(doc), key=lambda test: test.line)
        )

    def test_at_cursor(self, doc: OpenDoc) -> str | None:
        """The id of the test around the cursor; on an empty line, of the one above."""
        row = doc.area.cursor_location[0]
        while row > 0 and not doc.area.lines[row].strip():
            row -= 1
        found = next((test for test in self._tests_of(doc) if test.line <= row + 1 <= test.end_line), None)
        return found.id if found is not None else None

    def action_show_test(self) -> None:
        """The test under the cursor, among the tests."""
        test = self.test_at_cursor(self.current) if self.current is not None else None
        if test is not None and test in self.workbench.store.rows:
            self.workbench.go("tests", id=test)
        else:
            self.workbench.say("there is no test here")

    # Going from one to the next, and fixing

    async def action_problem(self, step: int) -> None:
        """The next problem behind the cursor, or before it; those of other files come last."""
        doc = self.current
        if doc is None:
            return
        await self.check_now(doc)
        if not doc.problems:
            self.workbench.say("no problems")
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
        self.query_one(ProblemList).move_to(list(doc.problems).index(order[at]), tell=False)
        self.go_to(order[at].file, order[at].line, order[at].column)

    def fixable(self, doc: OpenDoc) -> bool:
        """Whether a key could fix something in this file."""
        return bool(self._mendable(doc))

    def _mendable(self, doc: OpenDoc) -> list[Diagnostic]:
        return [one for one in doc.problems if (one.fix or one.insert) is not None and one.file == doc.file.path]

    async def action_fix(self) -> None:
        """Apply the fix on the cursor's line; with none there, go to the next problem that has one."""
        doc = self.current
        if doc is None or doc.file.read_only:
            return
        await self.check_now(doc)
        row, column = doc.area.cursor_location
        mine = self._mendable(doc)
        here = [problem for problem in mine if problem.line == row + 1]
        if here:
            best = min(here, key=lambda problem: not problem.column - 1 <= column < problem.end_column)
            self._apply_fixes(doc, [best])
        elif mine:
            after = next((problem for problem in mine if problem.line > row + 1), mine[0])
            self.go_to(after.file, after.line, after.column)
        else:
            self.workbench.say("no automatic fix here")

    async def action_fix_all(self) -> None:
        """All of them, as one step that can be undone."""
        doc = self.current
        if doc is not None and not doc.file.read_only:
            await self.check_now(doc)
            self._apply_fixes(doc, doc.problems)

    def _apply_fixes(self, doc: OpenDoc, problems: Any) -> None:
        from mcptest_engine.running.diagnostics import edits_of, fixes_of, put_missing
        from mcptest_engine.suite.text_edits import apply

        fixes = fixes_of(problems, doc.file.path)
        edits = edits_of(fixes, doc.area.lines, doc.area.document.newline)
        text, inserted = put_missing(apply(doc.text, edits), problems, doc.file.path)
        if not edits and not inserted:
            self.workbench.say("no automatic fix here")
            return
        doc.area.become(text)
        if len(edits) + inserted > 1:
            self.workbench.say(f"applied {counted(len(edits) + inserted, 'fix')}")
        self._begin_check(doc)

    def action_toggle_problems(self) -> None:
        """Show the list of problems and go there, or put it away."""
        doc = self.current
        found = self.query_one(ProblemList)
        if doc is None or not doc.problems:
            self.workbench.say("no problems")
            return
        doc.listed = not found.display
        self.show_list(doc)
        (found if doc.listed else doc.area).focus()


def _problems_of_part(path: str, text: str, owners: list[Document], is_dirty: bool) -> list[Diagnostic]:
    """Of a file that suites import: what no YAML is, and what was told of it when those suites were read last."""
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
