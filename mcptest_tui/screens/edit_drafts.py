"""Unsaved text: put aside every two seconds while there is some, and offered when its file is opened again; and questions
over the editor, one at a time.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from mcptest_tui.quiet import Quiet
from mcptest_tui.screens.edit_base import EditBase
from mcptest_tui.state.drafts import Draft
from mcptest_tui.widgets.modals import Question
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.await_complete import AwaitComplete
    from textual.timer import Timer

    from mcptest_tui.screens.edit_docs import OpenDoc

DRAFT_SECONDS = 2.0
PAUSE_SECONDS = 0.4
_DRAFT = "draft"


class _Asked(Question):
    """A question that knows whether it was answered, or only taken away with what it lay over."""

    is_answered = False

    def dismiss(self, result: str | None = None) -> AwaitComplete:
        """Answered."""
        self.is_answered = True
        return super().dismiss(result)


class EditDrafts(EditBase):
    """A mixin of the screen."""

    _draft_timer: Timer | None = None
    _at_pause: Quiet | None = None
    _drafting = False
    _looked_behind = False
    _question: _Asked | None = None

    def start_drafting(self) -> None:
        """Put unsaved text aside every two seconds, while there is some."""
        self._draft_timer = self.set_interval(DRAFT_SECONDS, self._draft_all, pause=True)

    def draft_soon(self) -> None:
        """Something is unsaved: put it aside at the next pause, and every two seconds."""
        if self._draft_timer is not None:
            self._draft_timer.resume()
        if self._at_pause is None:
            self._at_pause = Quiet(self, PAUSE_SECONDS, self._draft_all)
        self._at_pause()

    def _draft_all(self) -> None:
        dirty = [doc for doc in self.docs.values() if doc.is_dirty]
        if not dirty and self._draft_timer is not None:
            self._draft_timer.pause()
        if dirty and not self._drafting:
            self.run_worker(self._put_drafts(dirty), group="edit.draft", exit_on_error=False)
        for doc in self.docs.values():
            if doc.drafted and not doc.is_dirty and not self._drafting:
                self._drop_draft(doc)

    async def _put_drafts(self, docs: list[OpenDoc]) -> None:
        self._drafting = True
        try:
            for doc in docs:
                self._keep_left_over(doc)
                doc.drafted = True
                put = await asyncio.to_thread(self.drafts.put, self._draft_of(doc))
                if put is None:
                    self.workbench.say("unsaved text cannot be saved as a draft: no folder is writable", "warning")
                elif not doc.is_dirty:  # saved meanwhile
                    self._drop_draft(doc)
        finally:
            self._drafting = False

    def _drop_draft(self, doc: OpenDoc) -> None:
        doc.drafted = False
        self.drafts.drop(doc.file.path)

    def _keep_left_over(self, doc: OpenDoc) -> None:
        """Before a draft takes its place, an older one that nobody decided about becomes a file of its own."""
        if doc.left_over is not None:
            self.drafts.keep(doc.file.path, doc.left_over.text, "unsaved")
            doc.left_over = None

    def flush_drafts(self) -> None:
        """Put all unsaved text aside now."""
        for doc in self.docs.values():
            if doc.is_dirty:
                self._write_draft(doc)

    def _write_draft(self, doc: OpenDoc) -> None:
        self._keep_left_over(doc)
        doc.drafted = self.drafts.put(self._draft_of(doc)) is not None

    def open_left_behind(self) -> None:
        """Open once what an earlier session did not save, beside the others, so that it is offered; files never saved too."""
        if self._looked_behind:
            return
        self._looked_behind = True
        for draft in self.drafts.left_behind(self.workbench.workspace.root):
            if draft.path not in self.docs:
                self.open_path(draft.path, quiet=True)

    def _draft_of(self, doc: OpenDoc) -> Draft:
        row, column = doc.area.cursor_location
        return Draft(doc.file.path, doc.text, doc.file.disk.digest, time.time(), row, column)

    def offer_draft(self, doc: OpenDoc) -> None:
        """Text that was not saved last time."""
        path, draft = doc.file.path, doc.left_over
        if draft is None or doc is not self.current or not self.is_active or doc.postponed == _DRAFT:
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
        self._ask(
            f"There is unsaved text of {doc.file.name}",
            lines,
            (("r", "restore it"), ("d", "show the difference"), ("x", "throw it away"), ("l", "later")),
            {
                "r": lambda: self._restore_draft(doc, draft),
                "d": lambda: self._show_difference(
                    doc.file.name, doc.text, draft.text, "on the disk", "unsaved", lambda: self.offer_draft(doc)
                ),
                "x": lambda: self._throw_away(doc),
                "": lambda: setattr(doc, "postponed", _DRAFT),
            },
        )

    def _throw_away(self, doc: OpenDoc) -> None:
        doc.left_over = None
        self.drafts.drop(doc.file.path)

    def _restore_draft(self, doc: OpenDoc, draft: Draft) -> None:
        doc.left_over = None
        doc.area.become(draft.text)
        doc.area.move_cursor((draft.line, draft.column), center=True)
        self.show_doc(doc)
        self.workbench.say(f"restored {doc.file.name}; {key_of('edit.undo')} gives back what the disk has")

    def _ask(
        self, title: str, lines: list[str], choices: tuple[tuple[str, str], ...], answers: dict[str, Callable[[], Any]]
    ) -> None:
        """One question at a time: not while another stands there, nor before its answer has come through."""
        if self._question is not None and (self._question.is_answered or self._question in self.app.screen_stack):
            return
        self.completing.close()
        self._question = _Asked(title, lines, choices)

        def answered(answer: str | None) -> None:
            self._question = None
            answers.get(answer or "", answers.get("", lambda: None))()

        self.app.push_screen(self._question, answered)

    def _show_difference(
        self, name: str, before: str, after: str, before_name: str, after_name: str, then: Callable[[], None]
    ) -> None:
        from mcptest_tui.screens.difference import Difference

        self.app.push_screen(Difference(name, before, after, before_name, after_name), lambda _: then())
