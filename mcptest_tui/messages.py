"""The messages of the workbench: one in the status bar, and notifications over the screen for warnings and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from rich.cells import cell_len

from mcptest_tui.safe import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App
    from textual.notifications import SeverityLevel

SECONDS, ERROR_SECONDS = 4, 8
STATUS_SECONDS = 20
IDLE = "idle"
"""The severity of a message about a key that has nothing to do: the next key that does something removes it."""


class Message(NamedTuple):
    """A message of the status bar. `details` are shown behind it, whole or not at all; it is removed when `is_over()`."""

    text: str = ""
    severity: str = "information"
    details: str = ""
    is_over: Callable[[], bool] | None = None


NO_MESSAGE = Message()


class Messages:
    """Shows messages; nothing in them is markup."""

    def __init__(self, app: App[int], draw: Callable[[], None]) -> None:
        """`draw` shows `current` on the screen."""
        self._app, self._draw = app, draw
        self.current = NO_MESSAGE

    def notify(
        self,
        text: str,
        *,
        severity: SeverityLevel = "information",
        hint: str | None = None,
        is_over: Callable[[], bool] | None = None,
    ) -> None:
        """Show a warning or an error as a notification, errors for longer; information in the status bar.

        `hint` says what to do; `is_over` is that of `show`.
        """
        if severity == "information":
            self.show(f"{text}; {hint}" if hint else text, is_over=is_over)
            return
        text = safe_text(text) + (f"\n{safe_text(hint)}" if hint else "")
        timeout = ERROR_SECONDS if severity == "error" else SECONDS
        self._app.notify(text, severity=severity, markup=False, timeout=timeout)

    def show(
        self,
        text: str,
        severity: str = "information",
        *,
        details: str = "",
        is_over: Callable[[], bool] | None = None,
    ) -> None:
        """Show a message in the status bar for a while; a warning or an error that is too long for it as a notification.

        It is removed sooner if `is_over()` becomes true.
        """
        if cell_len(text) > self._app.size.width - 2 and severity in ("warning", "error"):
            self.notify(text, severity=cast("SeverityLevel", severity))
            return
        message = self._replace(Message(text, severity, details, is_over))
        seconds = SECONDS if len(self._app.screen_stack) > 1 else STATUS_SECONDS
        self._app.set_timer(seconds, lambda: self._replace(NO_MESSAGE) if self.current is message else None)

    def remove_if_over(self) -> None:
        """Remove the message whose `is_over()` is true."""
        if self.current.is_over is not None and self.current.is_over():
            self._replace(NO_MESSAGE)

    def clear(self) -> None:
        """Forget the message of the screen before, except an error; the status bar is not drawn."""
        if self.current.severity != "error":
            self.current = NO_MESSAGE

    def _replace(self, message: Message) -> Message:
        self.current = message
        self._draw()
        return message
