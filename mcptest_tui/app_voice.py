"""How the app speaks: notifications, the status bar's message, what was copied, and bugs of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from textual.app import App
from textual.worker import WorkerFailed

from mcptest_tui.actions import by_id
from mcptest_tui.problems import title_of
from mcptest_tui.safe import safe_text
from mcptest_tui.words import PLAIN, key_shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.filter import LineFilter
    from textual.notifications import SeverityLevel

    from mcptest_tui.actions import Action
    from mcptest_tui.app import Workbench

SECONDS, ERROR_SECONDS = 4, 8
SAID_SECONDS = 20
IDLE = "idle"
"""The severity of a message that a key has nothing to do: the next key that has takes it away."""


class AppVoice(App[int]):
    """A mixin of `Workbench`."""

    message: tuple[str, str] = ("", "information")

    @property
    def _speaker(self) -> Workbench:
        return cast("Workbench", self)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's own, and the one for terminals that have ASCII only."""
        filters = super().get_line_filters()
        if not PLAIN:
            return filters
        from mcptest_tui.ascii_only import AsciiOnly

        return [*filters, AsciiOnly()]

    def tell(self, message: str, *, severity: SeverityLevel = "information", hint: str | None = None) -> None:
        """Tell what happened; nothing in it is markup. `hint` says what to do.

        What went well is told in the status bar, over nothing; a warning or an error is a notification, and errors stay longer.
        """
        if severity == "information":
            self.say(f"{message}; {hint}" if hint else message)
            return
        text = safe_text(message) + (f"\n{safe_text(hint)}" if hint else "")
        timeout = ERROR_SECONDS if severity == "error" else SECONDS
        self.notify(text, severity=severity, markup=False, timeout=timeout)

    def say(self, message: str, severity: str = "information") -> None:
        """A message in the status bar, which goes after a while; a warning that is too long for it is a notification too."""
        told = self.message = (message, severity)
        self._show_message()
        if cell_len(message) > self.size.width - 2 and severity in ("warning", "error"):
            self.tell(message, severity=cast("SeverityLevel", severity))

        def forget() -> None:
            if self.message is told:
                self.message = ("", "information")
                self._show_message()

        self._speaker.set_timer(SECONDS if len(self.screen_stack) > 1 else SAID_SECONDS, forget)

    def _show_message(self) -> None:
        """In the status bar; of a dialog, which may lie over that, in the place of its keys."""
        self._speaker.refresh_status()
        if len(self.screen_stack) > 1:
            from mcptest_tui.screens.modals import Modal

            if isinstance(self.screen, Modal):
                self.screen.tell_keys()

    def clear_notices(self, *, errors: bool = False) -> None:
        """Take away what was told of the screen before: notifications, and the status bar's message."""
        for notice in list(self._notifications):
            if errors or notice.severity != "error":
                self._unnotify(notice)
        if errors or self.message[1] != "error":
            self.message = ("", "information")

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        """As the base class; a key of ours that has nothing to do says so: silence looks like a key that was lost."""
        if await super()._check_bindings(key, priority):
            if self.message[1] == IDLE:
                self.say("")  # it was about another key
            return True
        if not priority:
            for node, bindings in self.screen._modal_binding_chain:
                for binding in bindings.key_to_bindings.get(key, ()):
                    if binding.id in by_id() and not self._check_action_state(binding.action, node):
                        self.say(idle_words(key, by_id()[binding.id][1]), IDLE)
                        return False
        return False

    def copy(self, text: str, what: str) -> None:
        """Copy, and say how it was done once it is; one after the other, so that what was copied last stays."""
        self.run_worker(self._copy(text, what), group="copy", exit_on_error=False)

    async def _copy(self, text: str, what: str) -> None:
        from mcptest_tui.clipboard import copy

        try:
            root, way = self._speaker.workspace.root, self._speaker.config.clipboard
            async with self._speaker.copying:
                done = await copy(text, root, self.copy_to_clipboard, native=way != "osc52")
        except OSError as wrong:
            self.tell(f"could not copy {what}: {wrong.strerror or wrong}", severity="error")
            return
        self.tell(done.said(what))

    def problem(self, error: BaseException) -> bool:
        """A bug of ours: told in a panel, once. False when there are so many that going on makes no sense."""
        problems = self._speaker.problems
        error = error.error if isinstance(error, WorkerFailed) else error
        if error is problems.last:
            return True
        if not problems.note(error) or not self.is_running:
            return False
        from mcptest_tui.screens.modals import ErrorPanel

        report = problems.report(error)
        if isinstance(self.screen, ErrorPanel):
            self.say(title_of(error), "error")
        else:
            self.push_screen(
                ErrorPanel(error, report), lambda answer: self.copy(report, "the report") if answer == "copy" else None
            )
        return True

    def _handle_exception(self, error: Exception) -> None:
        """What `Sturdy` does not see: callbacks, timers, the handlers of widgets that are not sturdy."""
        if not self.problem(error):
            super()._handle_exception(error)


def idle_words(key: str, action: Action) -> str:
    """What a key says that is known here, and has nothing to do at the moment: `nothing is running`."""
    return action.idle or f"{key_shown(key)} does nothing here: {action.title[:1].lower()}{action.title[1:]}"
