"""What is shown around every screen, from the state of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted
from mcptest_tui.state.processes import count_text
from mcptest_tui.title import Title
from mcptest_tui.widgets.mode_bar import MODES
from mcptest_tui.widgets.status_bar import COUNTED, Status

if TYPE_CHECKING:
    from textual.timer import Timer

    from mcptest_tui.base_app import BaseApp
    from mcptest_tui.mode_screen import ModeScreen

TITLES = dict(MODES)
TICK_SECONDS = 0.25


class StatusDisplay:
    """Shows the state of the app around every screen: in its status bar and mode bar, and in the terminal's title."""

    def __init__(self, app: BaseApp) -> None:
        self._app = app
        self._title = Title()
        self._timer: Timer | None = None

    def start_timer(self) -> None:
        """Create the timer that shows the progress of a run."""
        self._timer = self._app.set_interval(TICK_SECONDS, self._show_run, pause=True)

    def refresh(self) -> None:
        """Show the state, and pause the timer while nothing runs."""
        app = self._app
        busy = app.store.progress.busy
        if self._timer is not None:
            (self._timer.resume if busy else self._timer.pause)()
        if not busy:
            self._show_title()
        screen = app.work_screen
        if screen is not None and screen.is_mounted:
            screen.show_status(_status_of(app, screen), self._badges(), app.suites.title())

    def restore_title(self) -> None:
        """Restore the title that the terminal had before the workbench started."""
        self._title.give_back(self._app.write_to_terminal)

    def _show_run(self) -> None:
        self._show_title()
        self._app.refresh_status()

    def _show_title(self) -> None:
        if self._app.config.title:
            self._title.show(self._app.store.counts, self._app.store.progress, self._app.write_to_terminal)

    def _badges(self) -> dict[str, str]:
        """Return the counts that need action, of all modes."""
        found = {**self._app.reviews.badge, **self._app.agents.badge}
        for screen in self._app.work_screens():
            found.update(screen.badges())
        return found


def _status_of(app: BaseApp, screen: ModeScreen) -> Status:
    progress = app.store.progress
    counts = app.store.counts
    message = app.messages.current
    return Status(
        running=progress.busy,
        text=_text(app),
        done=progress.done if progress.busy else 0,
        total=progress.total if progress.busy else 0,
        counts=tuple((status, counts[status]) for status in COUNTED if counts.get(status)),
        elapsed=progress.elapsed if progress.busy or progress.last_seconds is not None else None,
        left=progress.left,
        live="" if progress.busy else count_text(app.processes),
        spent=progress.spent.text,
        watch=app.watch_mode if app.store.documents else "",
        extra=screen.status_text(),
        message=message.text,
        details=message.details,
        severity=message.severity,
        mode=TITLES.get(screen.MODE, ""),
    )


def _text(app: BaseApp) -> str:
    progress = app.store.progress
    if progress.stopping:
        return "stopping"
    if progress.run is not None:
        return "running"
    if progress.waiting:
        return "waiting" if app.engine_ready.is_set() else "starting the engine"
    problems = sum(1 for document in app.store.documents.values() if not document.sound)
    if problems:
        return f"{counted(problems, 'suite')} with problems"
    if progress.not_run:
        return f"stopped, {progress.not_run} not run"
    return counted(len(app.store.rows), "test") if app.store.documents else ""
