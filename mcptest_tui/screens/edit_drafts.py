"""Drafts of unsaved text, written every two seconds and offered when the file is opened again.

Also the questions over the editor, of which one is shown at a time.
"""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
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
MOST_RESTORED = 20
HOLD_SECONDS = 0.5
_DRAFT = "draft"


class _Question(Question):
    """A question that knows whether it was answered, or closed together with the screen below it."""

    is_answered = False

    def dismiss(self, result: str | None = None) -> AwaitComplete:
        """Close the question, and note that it was answered."""
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
        self,
        title: str,
        lines: list[str],
        choices: tuple[tuple[str, str], ...],
        answers: dict[str, Callable[[], object]],
    ) -> None:
        """Show a question unless one is open already; `answers[""]` is called on Escape."""
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
        """Show two texts of a file in a window; call `then` when it is closed."""
        from mcptest_tui.screens.difference import Difference

        self.workbench.push_screen(Difference(name, before, after, before_name, after_name), lambda _: then())


class Drafting(FileController):
    """Writes drafts of unsaved text, and offers those of earlier sessions."""

    def __init__(self, screen: WorkScreen, files: OpenFiles, drafts: Drafts, questions: Questions) -> None:
        super().__init__(screen, files)
        self.drafts, self._questions = drafts, questions
        self._timer: Timer | None = None
        self._at_pause = Debounce(screen, PAUSE_SECONDS, self._write_all)
        self._is_writing = False
        self._has_opened_left_behind = False

    def write_soon(self) -> None:
        """Write drafts at the next pause in typing, and every two seconds from then on."""
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
        """Write a draft in a thread; return its path, or None if no folder is writable."""
        self._store_left_over(doc)
        return await asyncio.to_thread(self.drafts.put, _draft_of(doc))

    def write(self, doc: OpenDoc) -> bool:
        """Write a draft now; return False if no folder is writable."""
        self._store_left_over(doc)
        doc.drafted = self.drafts.put(_draft_of(doc)) is not None
        return doc.drafted

    def flush(self) -> None:
        """Write drafts of all unsaved text now."""
        for doc in self.files.unsaved:
            self.write(doc)

    def drop(self, doc: OpenDoc) -> None:
        """Delete the draft of a file whose text is saved."""
        doc.drafted = False
        self.drafts.drop(doc.file.path)

    def saved(self, doc: OpenDoc) -> None:
        """Delete the draft of a saved file; store an older, undecided draft as a file of its own."""
        self._store_left_over(doc)
        self.drop(doc)

    def _store_left_over(self, doc: OpenDoc) -> None:
        if doc.left_over is not None:
            self.drafts.keep(doc.file.path, doc.left_over.text, "unsaved")
            doc.left_over = None

    def open_left_behind(self) -> None:
        """Open once, behind the others, the files of which an earlier session left unsaved text."""
        if self._has_opened_left_behind:
            return
        self._has_opened_left_behind = True
        for draft in self.drafts.left_behind(self.workbench.workspace.root):
            if draft.path not in self.files.docs:
                self.files.open(draft.path, quiet=True)

    def offer(self, doc: OpenDoc) -> None:
        """Ask whether to restore text that an earlier session did not save."""
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


class FirstFiles(Controller):
    """Opens the files of the last session, else the first suite; holds typed keys until there is a text."""

    def __init__(self, screen: WorkScreen, files: OpenFiles, drafting: Drafting) -> None:
        super().__init__(screen)
        self._files, self._drafting = files, drafting
        self.is_chosen = False
        """A file was asked for: no other is to be shown instead."""
        self.holds_keys = True
        """Until the text has the focus: what is typed meanwhile is meant for it."""
        self._is_begun = False

    def begin(self) -> None:
        """Open a file once the screen is laid out, and hold typed keys until then."""
        self.screen.call_after_refresh(self.open_something)
        self._hold()

    def _hold(self, was_there: bool = False) -> None:
        """Hold typed keys until a text has the focus, or was there for a while without it."""
        current = self._files.current
        there = self._is_begun and not self.screen.is_restoring and (current is None or current.area.is_mounted)
        if there and was_there:
            self.holds_keys = False
        elif self.holds_keys:
            self.screen.set_timer(HOLD_SECONDS, partial(self._hold, there))

    def open_something(self) -> None:
        """Open the first suite, unless a file is open, chosen or being restored."""
        self._is_begun = True
        if self._files.docs or self.is_chosen or self.screen.is_restoring:
            return
        path = next(iter(self.workbench.store.documents), None)
        if path is not None:
            self._files.open(path)
        self._drafting.open_left_behind()
        if not self._files.docs:
            self.holds_keys = False

    def restore(self, memory: dict[str, Any]) -> None:
        """Open the files of the last session that still exist or have drafts."""
        files, current = self._files, self._files.current
        files.wraps = memory.get("wrap") is True
        places = [place for place in memory.get("files", ()) if isinstance(place, dict)][:MOST_RESTORED]
        for place in places:
            path = place.get("path")
            if isinstance(path, str) and (os.path.isfile(path) or self._drafting.drafts.find(path) is not None):  # noqa: PTH113
                files.open(path, int(place.get("line") or 1), int(place.get("column") or 1), quiet=True)
        wanted = current.file.path if current is not None and self.is_chosen else memory.get("current")
        if isinstance(wanted, str) and wanted in files.docs:
            files.show(files.docs[wanted])
        self._drafting.open_left_behind()

    def remember(self) -> dict[str, Any]:
        """Return the open files with their cursors, the shown file, and whether lines wrap."""
        places = [
            {"path": path, "line": doc.area.cursor_location[0] + 1, "column": doc.area.cursor_location[1] + 1}
            for path, doc in self._files.docs.items()
        ]
        current = self._files.current
        shown = current.file.path if current is not None else None
        return {"files": places, "current": shown, "wrap": self._files.wraps}


def _draft_of(doc: OpenDoc) -> Draft:
    row, column = doc.area.cursor_location
    return Draft(doc.file.path, doc.text, doc.file.disk.digest, time.time(), row, column)
