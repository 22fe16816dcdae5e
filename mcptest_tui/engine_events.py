"""What the engine sends to the workbench: its events go to the state, the screens and the parts of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_tui.state.processes import processes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent
    from mcptest_tui.base_app import BaseApp
    from mcptest_tui.tips import Tips

OF_TESTS = frozenset({"case.started", "case.finished"})
"""The events of which there are very many."""


class EngineEvents:
    """Applies the engine's events, and shows when the engine process has ended."""

    def __init__(self, app: BaseApp, tips: Tips) -> None:
        self._app, self._tips = app, tips

    def apply(self, events: list[WorkbenchEvent]) -> None:
        """Apply a batch of events."""
        app = self._app
        app.touch()
        delta = app.store.apply_many(events)
        others = [event for event in events if event["event"] not in OF_TESTS]
        for event in others:
            if event["event"] == "processes":
                app.processes = processes_of(event["rows"], app.store.documents)
        for screen in app.work_screens():
            screen.engine_events(events)
        if app.work_screen is not None:
            app.work_screen.events_applied(delta)
        app.runs.take_events(others)
        if any(event["event"] == "run.finished" for event in others):
            app.reviews.read()  # a run may have something to propose
            self._tips.run_finished()
            if not app.app_focus and 0 < app.config.bell_seconds < (app.store.progress.last_seconds or 0):
                app.bell()  # nobody looks at the terminal
        self._read_files(others)
        app.refresh_status()

    def _read_files(self, events: Sequence[WorkbenchEvent]) -> None:
        """Read files that have changed, and those that may have changed between being read and being watched."""
        app = self._app
        changed: list[str] = []
        watched: list[str] = []
        for event in events:
            if event["event"] == "files.changed":
                changed += app.suites.changed(app.agents.saved(event["paths"]))
            elif event["event"] == "files.watched":
                watched += app.agents.saved(event["paths"])
        if watched:
            missed = app.suites.missed(watched)
            if missed:
                app.documents_changed(missed)
            for screen in app.work_screens():
                screen.files_changed(watched)
        if changed:
            app.documents_changed(changed)

    def engine_changed(self, state: str, message: str) -> None:
        """Show that the engine process is "ready", "lost" or "gone"."""
        app = self._app
        if state in ("lost", "gone"):
            app.bridge.flush()  # its last events came before its end
            app.store.interrupt()
            app.processes = ()
            hint = "it is started again; results stay" if state == "lost" else "quit and start mcptest again"
            app.messages.notify(f"the engine stopped ({message})", severity="error", hint=hint)
        for screen in app.work_screens():
            screen.engine_changed(state, message)
        app.refresh_status()
