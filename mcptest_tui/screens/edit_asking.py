"""Questions over the editor, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_tui.screens.edit_base import EditBase
from mcptest_tui.widgets.modals import Question

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.await_complete import AwaitComplete


class _Asked(Question):
    """A question that knows whether it was answered, or only taken away with what it lay over."""

    is_answered = False

    def dismiss(self, result: str | None = None) -> AwaitComplete:
        """Answered."""
        self.is_answered = True
        return super().dismiss(result)


class EditAsking(EditBase):
    """A mixin of the screen."""

    _question: _Asked | None = None

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
