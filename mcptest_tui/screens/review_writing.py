"""Deciding about proposals in Review, writing what was decided, and taking both back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted
from mcptest_tui.places import path_here
from mcptest_tui.screens.base import Controller, in_background
from mcptest_tui.state.reviewing import ACCEPT, REJECT, SKIP, file_names_text, rest_question
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcptest_tui.screens.base import WorkScreen
    from mcptest_tui.state.reviewing import Item, Reviewing


class Writing(Controller):
    """Writes the decisions and undoes the last write. `on_begin` is called when a write begins."""

    def __init__(self, screen: WorkScreen, on_begin: Callable[[], None]) -> None:
        super().__init__(screen)
        self._on_begin = on_begin
        self.is_asked = False
        """Whether it was asked if all is to be written, now that all is decided."""

    @property
    def _state(self) -> Reviewing:
        return self.workbench.reviews.state

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Disable writing and undoing while a proposal is edited."""
        there = bool(self._state.items) if action == "write" else self.workbench.reviews.can_undo
        return there and not self.screen.has_class("-editing")

    def offer_write(self) -> None:
        """All are decided: write now? Asked once, until a decision is taken back."""
        if not self._state.is_complete or self.is_asked or self.workbench.reviews.is_writing:
            return
        self.is_asked = True
        from mcptest_tui.widgets.modals import Question

        counts, files = self._state.counts, self._state.files()
        lines = [f"{counts[ACCEPT]} accepted, {counts[REJECT]} rejected, {counts[SKIP]} skipped."]
        lines.append(f"This writes {file_names_text(files)}." if files else "This writes no suite.")
        choices = [("y", "yes, write"), ("n", "not yet")]
        self.workbench.push_screen(
            Question("All are decided. Write them?", lines, choices, yes="review.write"),
            lambda answer: self.action_write() if answer == "y" else None,
        )

    def action_write(self) -> None:
        """Write the accepted and rejected proposals, after open editors are saved."""
        if not self._state.unwritten:
            self.workbench.messages.show("nothing was accepted or rejected yet")
            return
        files = {item.file for item in self._state.accepted() if item.kind != "snapshot"}
        self._once_saved(files, "write", self._write)

    def _write(self) -> None:
        self.is_asked = False
        self.workbench.reviews.write()
        self._on_begin()

    def action_unwrite(self) -> None:
        """Undo the last write of decisions to the suites."""
        if not self.workbench.reviews.can_undo:
            self.workbench.messages.show("there is no write to undo")
            return
        files = {str(self.workbench.workspace.root / one["path"]) for one in self.workbench.reviews.written}
        self._once_saved(files, "take back", self.workbench.reviews.undo)

    def _once_saved(self, files: Iterable[str], words: str, then: Callable[[], None]) -> None:
        """Do it; where one of these files has unsaved text in Edit, ask to save that first: both are to be in the file."""
        bench = self.workbench
        unsaved = {file: editor for file in sorted(files) if (editor := bench.editor_of(file)) is not None}
        if not unsaved:
            then()
            return
        from mcptest_tui.widgets.modals import Question

        async def save() -> None:
            if all([await editor.save_all() for editor in set(unsaved.values())]):
                then()

        def answered(answer: str | None) -> None:
            if answer == "s":
                in_background(self.screen, save, "review.save")

        names = ", ".join(map(path_here, unsaved))
        lines = ["Edit has text of it that is not saved yet. Saved first, the file has both."]
        choices = [("s", f"save, then {words}"), ("n", "not now")]
        self.workbench.push_screen(Question(f"Save {names} first?", lines, choices), answered)


class Deciding(Controller):
    """Decides about the proposal under the cursor, or about several. `on_decision` is called after each decision."""

    def __init__(
        self, screen: WorkScreen, writing: Writing, on_decision: Callable[[], None], close_written: Callable[[], bool]
    ) -> None:
        super().__init__(screen)
        self._state = self.workbench.reviews.state
        self._writing, self._on_decision, self._close_written = writing, on_decision, close_written

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """There is something to decide, or to undo, and no proposal is edited."""
        there = bool(self._state.decisions) if action == "undo" else self._state.current is not None
        return there and not self.screen.has_class("-editing")

    def action_accept(self) -> None:
        """Accept the proposal under the cursor, with the text edited for it."""
        if self._close_written():
            return
        item = self._state.current
        before = self._state.decision(item) if item is not None else None
        text = before.text if before is not None else None
        if item is not None and not self._refuse(item, text):
            self.decide(ACCEPT, text)

    def _refuse(self, item: Item, text: str | None) -> bool:
        """Say why a proposal cannot be accepted with this text; False when it can."""
        if item.stale:
            told = f"it can only be rejected: {item.stale}"
        elif item.is_missing_arguments(text):
            told = f"it needs arguments that the server accepts: {key_of('review.edit')} gives them, then it can be accepted"
        else:
            return False
        self.workbench.messages.show(told, "warning")
        return True

    def action_reject(self) -> None:
        """Reject the proposal under the cursor, which leaves its suite unchanged."""
        self.decide(REJECT)

    def action_skip(self) -> None:
        """Skip the proposal, which leaves it for another time."""
        self.decide(SKIP)

    def decide(self, choice: str, text: str | None = None) -> None:
        """Decide about the proposal under the cursor, with a text of its own if it was changed."""
        if self._state.current is None or self._close_written():
            return
        self._state.decide(choice, text)
        self._on_decision()
        self._writing.offer_write()

    def action_undo(self) -> None:
        """Undo the last decision that is not written yet."""
        if self._state.undo() is None:
            self.workbench.messages.show(
                "nothing was decided yet"
                + (f"; {key_of('review.unwrite')} undoes the last write" if self.workbench.reviews.can_undo else "")
            )
            return
        self._writing.is_asked = False
        self._on_decision()

    def action_rest(self, choice: str) -> None:
        """Decide about all proposals that are left, after one question."""
        chosen, title, lines, left = rest_question(self._state, choice)
        if not chosen:
            told = "; ".join(left)
            self.workbench.messages.show(f"nothing is left to {choice} at once{': ' + told if told else ''}")
            return
        self._decide_many(chosen, choice, title, lines)

    def action_alike(self) -> None:
        """Accept all that make the same change, after one question."""
        item = self._state.current
        if item is None or self._refuse(item, None):
            return
        chosen = self._state.alike(item)
        if len(chosen) < 2:
            self.workbench.messages.show("no other undecided proposal makes the same change")
            return
        lines = [f"They make the same change in other tests, in {file_names_text(self._state.files(chosen))}."]
        self._decide_many(chosen, ACCEPT, f"Accept {counted(len(chosen), 'proposal')} that are alike?", lines)

    def _decide_many(self, items: Sequence[Item], choice: str, title: str, lines: Sequence[str]) -> None:
        def answered(answer: str | None) -> None:
            if answer == "y":
                there = {item.id for item in self._state.items}
                self._state.decide_all([item for item in items if item.id in there], choice)
                self._on_decision()
                self._writing.offer_write()

        from mcptest_tui.widgets.modals import Question

        choices = [("y", f"yes, {choice}"), ("n", "no")]
        self.workbench.push_screen(Question(title, lines, choices), answered)
