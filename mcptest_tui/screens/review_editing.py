"""The text of a proposal in the small editor of Review: opened, checked while it is typed, accepted as it stands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mcptest_tui.debounce import Debounce
from mcptest_tui.engine_client import EngineError
from mcptest_tui.screens.base import Controller, in_background
from mcptest_tui.state.reviewing import ACCEPT
from mcptest_tui.widgets.review_view import FragmentEditor
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_tui.screens.base import WorkScreen
    from mcptest_tui.state.reviewing import Item, Reviewing

CHECK_SECONDS = 0.15


class Editing(Controller):
    """The editor of one proposal. `decide` accepts it, `close_written` shows it again, `on_close` moves the focus elsewhere."""

    def __init__(
        self,
        screen: WorkScreen,
        decide: Callable[[str, str | None], None],
        close_written: Callable[[], object],
        on_close: Callable[[], None],
    ) -> None:
        super().__init__(screen)
        self._decide, self._close_written, self._on_close = decide, close_written, on_close
        self._id: str | None = None
        self._check_soon = Debounce(screen, CHECK_SECONDS, self._check)

    @property
    def is_open(self) -> bool:
        """Whether a proposal is being edited now."""
        return self._id is not None

    @property
    def _state(self) -> Reviewing:
        return self.workbench.reviews.state

    @property
    def editor(self) -> FragmentEditor:
        """The widget in which the fragment of YAML is edited."""
        return self.screen.query_one(FragmentEditor)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Enable editing only for a proposal that is not being edited already."""
        return self._state.current is not None and not self.is_open

    def caught_up(self) -> None:
        """Close the editor if its proposal is no longer in the list."""
        if self._id is not None and all(item.id != self._id for item in self._state.items):
            self._close_editor()
            self.workbench.messages.show("this proposal no longer exists", "warning")

    def back(self) -> bool:
        """Close the editor; return False when it is not open."""
        if self._id is None:
            return False
        item = self._edited()
        self._close_editor()
        if item is not None and item.id in self._state.drafts:
            told = f"the edited text is saved, but not accepted: {key_of('review.edit')} goes on with it"
            self.workbench.messages.show(told, "warning")
        return True

    def action_edit(self) -> None:
        """Open the editor on the YAML that the proposal would write."""
        item = self._state.current
        if item is None:
            return
        if item.is_cut:
            self.workbench.messages.show(f"this is too long to edit here: {key_of('review.source')} opens the suite")
            return
        self._close_written()
        decision = self._state.decision(item)
        text = self._state.drafts.get(item.id) or (decision.text if decision is not None else None) or item.to_edit
        self._id = item.id
        self.screen.add_class("-editing")
        self.editor.open(text)
        self.editor.note(f"{key_of('review.take')} accepts it so   {key_of('app.back')} cancel")
        self._check_soon()

    def on_fragment_editor_typed(self, event: FragmentEditor.Typed) -> None:
        """Check the text when typing pauses."""
        event.stop()
        item = self._edited()
        if item is not None:
            self._state.drafts[item.id] = event.text
            decision = self._state.decision(item)
            if event.text in (item.to_edit, decision.text if decision is not None else None):
                del self._state.drafts[item.id]
            self._check_soon()

    def on_fragment_editor_restored(self, event: FragmentEditor.Restored) -> None:
        """Put the proposed text back."""
        event.stop()
        item = self._edited()
        if item is not None:
            self.editor.area.become(item.to_edit)

    def on_fragment_editor_taken(self, event: FragmentEditor.Taken) -> None:
        """Accept the proposal with the edited text, if that is valid."""
        event.stop()
        item = self._edited()
        if item is not None:
            in_background(self.screen, partial(self._take, item, self.editor.text), "review.take")

    async def _take(self, item: Item, text: str) -> None:
        problem = await self._problem_of(item, text)
        if problem is not None:
            self.editor.note(problem, problem=True)
            return
        if self._id != item.id or self._state.current is not item:
            return
        self._state.drafts.pop(item.id, None)
        self._close_editor()
        text = item.undescribed(text)
        self._decide(ACCEPT, None if text == item.after else text)

    def _check(self) -> None:
        item = self._edited()
        if item is not None:
            in_background(self.screen, partial(self._show_check, item, self.editor.text), "review.check")

    async def _show_check(self, item: Item, text: str) -> None:
        problem = await self._problem_of(item, text)
        if self._id == item.id and self.editor.text == text:
            self.editor.note(
                problem or f"it can be accepted   {key_of('review.take')} accepts it   {key_of('app.back')} cancel",
                problem=problem is not None,
            )

    async def _problem_of(self, item: Item, text: str) -> str | None:
        if item.is_missing_arguments(item.undescribed(text)):
            return "it still needs arguments that the server accepts: change `args`"
        try:
            told = await self.workbench.engine.request("review_check", id=item.id, text=text)
        except EngineError as wrong:
            return wrong.message
        return None if told.get("problem") is None else str(told["problem"])

    def _edited(self) -> Item | None:
        return next((item for item in self._state.items if item.id == self._id), None)

    def _close_editor(self) -> None:
        self._id = None
        self.screen.remove_class("-editing")
        self._on_close()
