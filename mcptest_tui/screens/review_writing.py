"""Writing what was decided in Review, and taking it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_tui.places import path_here
from mcptest_tui.screens.base import Controller
from mcptest_tui.state.reviewing import ACCEPT, REJECT, SKIP, file_names_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcptest_tui.screens.base import WorkScreen
    from mcptest_tui.state.reviewing import Reviewing


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
        """Nothing is written while a proposal is edited."""
        there = bool(self._state.items) if action == "write" else self.workbench.reviews.can_undo
        return there and not self.screen.has_class("-editing")

    def ask_when_complete(self) -> None:
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
        """Carry the decisions out."""
        if not self._state.unwritten:
            self.workbench.say("nothing was accepted or rejected yet")
            return
        files = {item.file for item in self._state.accepted() if item.kind != "snapshot"}
        self._once_saved(files, "write", self._write)

    def _write(self) -> None:
        self.is_asked = False
        self.workbench.reviews.write()
        self._on_begin()

    def action_unwrite(self) -> None:
        """Take the last write back."""
        if not self.workbench.reviews.can_undo:
            self.workbench.say("there is no write to undo")
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
                self.screen.run_worker(save, group="review.save", exclusive=True, exit_on_error=False)  # type: ignore[arg-type]

        names = ", ".join(map(path_here, unsaved))
        lines = ["Edit has text of it that is not saved yet. Saved first, the file has both."]
        choices = [("s", f"save, then {words}"), ("n", "not now")]
        self.workbench.push_screen(Question(f"Save {names} first?", lines, choices), answered)
