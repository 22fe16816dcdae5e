"""Completion at the cursor, and explanations of the word under it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_tui.screens.edit_files import FileController, OpenFiles
from mcptest_tui.widgets.completion import Completing, HelpCard, Popup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.suite.completion import Completions, Help
    from mcptest_tui.screens.base import WorkScreen
    from mcptest_tui.screens.edit_catalogs import Catalogs
    from mcptest_tui.screens.edit_docs import OpenDoc


class Assistance(FileController):
    """Completions and explanations for the file that is edited, over its text."""

    def __init__(self, screen: WorkScreen, files: OpenFiles, catalogs: Catalogs, popup: Popup, card: HelpCard) -> None:
        super().__init__(screen, files)
        self._catalogs = catalogs
        catalogs.arrived = self._catalog_arrived
        self._popup = popup
        self.completing = Completing(popup, card, self._complete)
        self._answers: Mapping[tuple[str, str], list[tuple[str, str]]] = {}
        """By test and run: the targets of its answer."""
        self._offered: Sequence[tuple[str, str]] = ()
        """Those among the completions that are shown."""
        self._awaits_server = False
        """A list was asked for, and comes when the server has answered: Escape is meant for it."""

    def _complete(self, explicit: bool) -> Completions:
        """Return the completions at the cursor of the file that is shown."""
        from mcptest_engine.suite.completion import complete

        doc = self.files.current
        assert doc is not None
        row, column = doc.area.cursor_location
        self._offered = answered = self._answered_at_cursor(doc)
        found = complete(
            doc.area.lines,
            row + 1,
            column + 1,
            self._catalogs.of(doc),
            answered=answered,
            folder=Path(doc.file.path).parent,
        )
        self._catalogs.read_at_cursor(doc, explicit=explicit)
        return found

    def _answered_at_cursor(self, doc: OpenDoc) -> list[tuple[str, str]]:
        """Return the assertion paths of the last answer to the test at the cursor; request it if needed."""
        from mcptest_engine.suite.cursor import place_at

        store = self.workbench.store
        place = place_at(doc.area.lines, *doc.area.cursor_location)
        is_target = place is not None and place.path[-1:] == ("target",)
        row = store.rows.get((doc.test_at_cursor(store.documents) if is_target else None) or "")
        if row is None or row.result is None or "verify" in (place.path if place is not None else ()):
            return []
        key = (row.id, row.run_id)
        if key not in self._answers:
            self._answers = {key: []}  # of one test at a time: the one that is being written
            self.screen.run_worker(
                self._read_answer(doc, *key), group="edit.answer", exclusive=True, exit_on_error=False
            )
        return self._answers[key]

    async def _read_answer(self, doc: OpenDoc, test: str, run_id: str) -> None:
        from mcptest_engine.suite.completion_sources import targets_in
        from mcptest_tui.engine_client import EngineError

        try:
            await self.workbench.engine_ready.wait()
            answer = await self.workbench.engine.request("expand", id=test, run_id=run_id or None, path=["output"])
        except EngineError:
            return  # there is no answer any more; the targets that every test has are offered
        self._answers = {(test, run_id): targets_in(answer)}
        self.complete_again(doc)

    def complete_again(self, doc: OpenDoc) -> None:
        """Refresh an open completion list when the answer to its test is known by now."""
        if doc is not self.files.current or not doc.area.has_focus or not self._popup.display:
            return
        answered = self._answered_at_cursor(doc)
        if answered and answered is not self._offered:
            self.completing.look(explicit=True)

    def _catalog_arrived(self, suite: str) -> None:
        """Complete again when a server of the file's suite has listed what it offers."""
        doc = self.files.current
        if doc is not None and doc.area.has_focus and suite in self._catalogs.suites_of(doc):
            self.completing.look(explicit=self._awaits_server or self.completing.is_open)
            self._awaits_server = False

    def on_popup_chosen(self, event: Popup.Chosen) -> None:
        """Insert the completion that was clicked."""
        self.completing.take(event.at)

    def action_complete(self) -> None:
        """Show completions at the cursor, or say that there are none or that a server is read."""
        if self.files.writable is not None and not self.completing.look(explicit=True):
            self._awaits_server = self._catalogs.is_reading
            self.workbench.messages.show("asking the server …" if self._awaits_server else "nothing to complete here")

    def action_explain(self) -> None:
        """Show the problem under the cursor in full, and the word's meaning, in a card."""
        doc = self.files.current
        told = self.word_at_cursor()
        problem = doc.problem_at(*doc.area.cursor_location) if doc is not None else None
        if problem is not None:
            told = problem_help(problem.message, problem.hint, told)
        if told is None:
            self.workbench.messages.show("nothing is known about this word")
        else:
            self.completing.explain(told)

    def word_at_cursor(self) -> Help | None:
        """Return what the word under the cursor means; None if nothing is known."""
        from mcptest_engine.suite.completion import hover

        doc = self.files.current
        if doc is None:
            return None
        row, column = doc.area.cursor_location
        return hover(doc.area.lines, row + 1, column + 1, self._catalogs.of(doc))

    def back(self) -> bool:
        """Close the popup or card, also one that waits for a server; False when there is none."""
        if not self.completing.is_open and not self._awaits_server:
            return False
        self._awaits_server = False
        self.completing.close()
        return True


def problem_help(message: str, hint: str | None, word: Help | None) -> Help:
    """Return the card for a problem: the whole message and hint, then the word's meaning."""
    from mcptest_engine.suite.completion import Help

    if word is None:
        return Help(message, hint or "")
    about = "   ".join(filter(None, (word.title, word.takes)))
    return word._replace(title=message, takes="", text="\n".join(filter(None, (hint, f"\n{about}", word.text))))


def in_a_line(told: Help | None) -> str:
    """Return what a word means as one line; an empty text if nothing is known."""
    if told is None:
        return ""
    text = " ".join(told.text.split())
    takes = f" ({told.takes})" if told.takes else ""
    return f"{told.title}{takes}: {text}" if text else f"{told.title}{takes}"
