"""Unsaved text: written as a draft every two seconds while there is some, and offered when its file is opened again; and
questions over the editor, one at a time.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from mcptest_tui.debounce import Debounce
from mcptest_tui.screens.base import Controller, WorkScreen
from mcptest_tui.screens.edit_files import FileController, OpenFiles
from mcptest_tui.state.drafts import Draft, Drafts
from mcptest_tui.widgets.modals import Question
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.await_complete import AwaitComplete
    from textual.timer import Timer

    from mcptest_tui.screens.edit_docs import OpenDoc

DRAFT_SECONDS = 2.0
PAUSE_SECONDS = 0.4
_DRAFT = "draft"


class _Question(Question):
    """A question that knows whether it was answered, or only taken away with what it lay over."""

    is_answered = False

    def dismiss(self, result: str | None = None) -> AwaitComplete:
        """Answered."""
        self.is_answered = True
        return super().dismiss(result)


class Questions(Controller):
    """Questions over a screen, one at a time."""

    def __init__(self, screen: WorkScreen, before: Callable[[], None]) -> None:
        """`before` is called before a question is shown."""
        super().__init__(screen)
        self.open: _Question | None = None
        self._before = before

    def show(
        self, title: str, lines: list[str], choices: tuple[tuple[str, str], ...], answers: dict[str, Callable[[], Any]]
    ) -> None:
        """Show a question, unless another is open or its answer has not come through; `answers[""]` is for Escape."""
        if self.open is not None and (self.open.is_answered or self.open in self.workbench.screen_stack):
            return
        self._before()
        self.open = _Question(title, lines, choices)

        def answered(answer: str | None) -> None:
            self.open = None
            answers.get(answer or "", answers.get("", lambda: None))()

        self.workbench.push_screen(self.open, answered)

    def show_difference(
        self, name: str, before: str, after: str, before_name: str, after_name: str, then: Callable[[], None]
    ) -> None:
        """Show two texts of a file in a window, and go on when it is closed."""
        from mcptest_tui.screens.difference import Difference

        self.workbench.push_screen(Difference(name, before, after, before_name, after_name), lambda _: then())


class Drafting(FileController):
    """Writes drafts of what is unsaved, and offers those of earlier sessions."""

    def __init__(self, screen: WorkScreen, files: OpenFiles, drafts: Drafts, questions: Questions) -> None:
        super().__init__(screen, files)
        self.drafts, self._questions = drafts, questions
        self._timer: Timer | None = None
        self._at_pause = Debounce(screen, PAUSE_SECONDS, self._write_all)
        self._is_writing = False
        self._has_opened_left_behind = False

    def write_soon(self) -> None:
        """Something is unsaved: write a draft at the next pause, and every two seconds."""
        if self._timer is None:
            self._timer = self.screen.set_interval(DRAFT_SECONDS, self._write_all)
        self._timer.resume()
        self._at_pause()

    def _write_all(self) -> None:
        unsaved = self.files.unsaved
        if not unsaved and self._timer is not None:
            self._timer.pause()
        elif unsaved and not self._is_writing:
            self.screen.run_worker(self._write_each(unsaved), group="edit.draft", exit_on_error=False)
        for doc in self.files.docs.values():
            if doc.drafted and not doc.is_dirty and not self._is_writing:
                self.drop(doc)

    async def _write_each(self, docs: list[OpenDoc]) -> None:
        self._is_writing = True
        try:
            for doc in docs:
                doc.drafted = True
                if await self.write_async(doc) is None:
                    self.workbench.messages.show(
                        "unsaved text cannot be saved as a draft: no folder is writable", "warning"
                    )
                elif not doc.is_dirty:  # saved meanwhile
                    self.drop(doc)
        finally:
            self._is_writing = False

    async def write_async(self, doc: OpenDoc) -> Path | None:
        """Write a draft in a thread; where it is, None where no folder is writable."""
        self._store_left_over(doc)
        return await asyncio.to_thread(self.drafts.put, _draft_of(doc))

    def write(self, doc: OpenDoc) -> bool:
        """Write a draft now; False where no folder is writable."""
        self._store_left_over(doc)
        doc.drafted = self.drafts.put(_draft_of(doc)) is not None
        return doc.drafted

    def flush(self) -> None:
        """Write drafts of all unsaved text now."""
        for doc in self.files.unsaved:
            self.write(doc)

    def drop(self, doc: OpenDoc) -> None:
        """The text is saved: its draft goes."""
        doc.drafted = False
        self.drafts.drop(doc.file.path)

    def saved(self, doc: OpenDoc) -> None:
        """The text was written to its file: an older draft that nobody decided about becomes a file of its own."""
        self._store_left_over(doc)
        self.drop(doc)

    def _store_left_over(self, doc: OpenDoc) -> None:
        if doc.left_over is not None:
            self.drafts.keep(doc.file.path, doc.left_over.text, "unsaved")
            doc.left_over = None

    def open_left_behind(self) -> None:
        """Open once what an earlier session did not save, beside the others, so that it is offered; files never saved too."""
        if self._has_opened_left_behind:
            return
        self._has_opened_left_behind = True
        for draft in self.drafts.left_behind(self.workbench.workspace.root):
            if draft.path not in self.files.docs:
                self.files.open(draft.path, quiet=True)

    def offer(self, doc: OpenDoc) -> None:
        """Ask what becomes of text that was not saved last time."""
        path, draft = doc.file.path, doc.left_over
        if draft is None or doc is not self.files.current or not self.screen.is_active or doc.postponed == _DRAFT:
            return
        if draft.text == doc.text:
            doc.left_over = None
            self.drafts.drop(path)
            return
        when = time.strftime("%H:%M", time.localtime(draft.at))
        day = time.strftime("%Y-%m-%d", time.localtime(draft.at))
        lines = [
            f"It was typed until {when}{'' if day == time.strftime('%Y-%m-%d') else f' on {day}'}, and never saved."
        ]
        if draft.base != doc.file.disk.digest:
            lines.append("The file has changed on the disk since then.")

        def throw_away() -> None:
            doc.left_over = None
            self.drafts.drop(path)

        self._questions.show(
            f"There is unsaved text of {doc.file.name}",
            lines,
            (("r", "restore it"), ("d", "show the difference"), ("x", "throw it away"), ("l", "later")),
            {
                "r": lambda: self._restore(doc, draft),
                "d": lambda: self._questions.show_difference(
                    doc.file.name, doc.text, draft.text, "on the disk", "unsaved", lambda: self.offer(doc)
                ),
                "x": throw_away,
                "": lambda: setattr(doc, "postponed", _DRAFT),
            },
        )

    def _restore(self, doc: OpenDoc, draft: Draft) -> None:
        doc.left_over = None
        doc.area.become(draft.text)
        doc.area.move_cursor((draft.line, draft.column), center=True)
        self.files.show(doc)
        self.workbench.messages.show(
            f"restored {doc.file.name}; {key_of('edit.undo')} goes back to the text on the disk"
        )


def _draft_of(doc: OpenDoc) -> Draft:
    row, column = doc.area.cursor_location
    return Draft(doc.file.path, doc.text, doc.file.disk.digest, time.time(), row, column)
