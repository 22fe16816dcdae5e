"""What the status bar shows, from the state of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted
from mcptest_tui.state.processes import count_text
from mcptest_tui.widgets.mode_bar import MODES
from mcptest_tui.widgets.status_bar import COUNTED, Status

if TYPE_CHECKING:
    from mcptest_tui.base_app import BaseApp
    from mcptest_tui.mode_screen import ModeScreen

TITLES = dict(MODES)


def status_of(app: BaseApp, screen: ModeScreen) -> Status:
    """One value with everything in it."""
    progress = app.runs.progress
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
    progress = app.runs.progress
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
