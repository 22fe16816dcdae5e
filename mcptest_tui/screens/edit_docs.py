"""One open file: its text on the disk, its text area, and the problems found in it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from mcptest_tui.widgets.yaml_area import YamlArea

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.running.documents import Diagnostic, Document, TestItem
    from mcptest_tui.state.drafts import Draft
    from mcptest_tui.state.editor_model import EditorFile


class OpenDoc:
    """One open file of the editor.

    `checked` is the text that `document` and `problems` belong to. `disputed`: the disk and the text here both differ from what
    was read. `listed`: the list of problems may be shown, as after opening and saving, but not while one types.
    """

    def __init__(self, file: EditorFile) -> None:
        self.file = file
        self.area = YamlArea(file.saved, read_only=bool(file.read_only))
        self.document: Document | None = None
        self.problems: Sequence[Diagnostic] = ()
        self.checked: str | None = None
        self.checked_by: tuple[int, ...] = ()
        """Which lists of servers the problems go by."""
        self.disputed = False
        self.listed = not file.is_new
        self.renamings: set[tuple[str, str]] = set()
        """Each renaming of a test that was made here, as (old name, new one): a save takes snapshots along by them."""
        self.asked: set[str] = set()
        self.drafted = False
        """Whether a draft of this session is on the disk."""
        self.postponed = ""
        """What a person does not want to be asked again: the digest of the disk's text, or "draft"."""
        self.left_over: Draft | None = None
        """Unsaved text of an earlier session, until somebody has decided what becomes of it."""
        self.shown_dirty = False
        self.saving = asyncio.Lock()
        self.checking = asyncio.Lock()
        self.deciding = False
        """What was chosen between both sides is being done: nothing is asked again meanwhile."""
        self._typed_at = 0.0

    @property
    def text(self) -> str:
        """The text as it stands in the editor."""
        return self.area.text

    @property
    def is_dirty(self) -> bool:
        """Whether the editor holds text that would be lost without a save."""
        return not self.file.read_only and self.file.is_dirty(self.text)

    @property
    def idle_seconds(self) -> float:
        """The seconds since the text was last changed."""
        return time.monotonic() - self._typed_at

    def typed(self) -> None:
        """Note the time of a change of the text."""
        self._typed_at = time.monotonic()

    def is_fragment(self, documents: Mapping[str, Document]) -> bool:
        """Whether the file is only a part of suites that import it."""
        return self.file.path not in documents and bool(self.owners(documents))

    def owners(self, documents: Mapping[str, Document]) -> list[Document]:
        """Return the suites that include this file."""
        return [
            document
            for path, document in documents.items()
            if path != self.file.path and self.file.path in document.files
        ]

    def tests(self, documents: Mapping[str, Document]) -> list[TestItem]:
        """Return the tests of the file as last checked or, for a fragment, as its suites were read."""
        suites = self.owners(documents) if self.document is None else [self.document]
        return [test for suite in suites for test in suite.tests if test.file == self.file.path]

    def test_at_cursor(self, documents: Mapping[str, Document]) -> str | None:
        """Return the id of the test around the cursor; on an empty line, of the test above."""
        row = self.area.cursor_location[0]
        while row > 0 and not self.area.lines[row].strip():
            row -= 1
        found = next((test for test in self.tests(documents) if test.line <= row + 1 <= test.end_line), None)
        return found.id if found is not None else None

    def problem_at(self, row: int, column: int) -> Diagnostic | None:
        """Return the problem at a place, else the first problem on its line."""
        here = [problem for problem in self.problems if problem.file == self.file.path and problem.line == row + 1]
        exact = (
            problem for problem in here if problem.column - 1 <= column < max(problem.end_column, problem.column + 1)
        )
        return next(exact, here[0] if here else None)
