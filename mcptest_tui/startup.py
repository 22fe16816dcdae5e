"""What happens after the first paint: problems of a person's files, the suites, the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted
from mcptest_tui.engine_client import EngineError
from mcptest_tui.places import path_here
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from mcptest_tui.base_app import BaseApp
    from mcptest_tui.theme_book import ThemeBook


class Startup:
    """The steps of the start that follow the first paint."""

    def __init__(self, app: BaseApp, themes: ThemeBook) -> None:
        self._app, self._themes = app, themes

    def show_problems(self) -> None:
        """Show what is wrong with the session file and the settings."""
        app = self._app
        if app.session.file.complaint:
            app.messages.notify(app.session.file.complaint, severity="warning")
        if app.config.problems:
            first = app.config.problems[:3]
            more = f"{key_of('app.settings')} opens the settings, which list them all"
            hint = more if first != app.config.problems else None
            app.messages.notify("\n".join(first), severity="warning", hint=hint)

    async def open_suites(self) -> None:
        """Read the suites whose paths are known without a search."""
        app = self._app
        await app.suites.open_near()
        if app.current_mode == "tests" and not app.store.documents and app.suites.has_none():
            app.go("home")  # and not only when the engine has looked: its keys are pressed at once

    async def start_engine(self) -> None:
        """Start the engine, which searches the other suites; then read what has time."""
        app = self._app
        try:
            await app.engine.start(str(app.folder))
            spare_seconds = app.config.spare_minutes * 60 if app.config.spare_servers else 0
            app.engine.send("spare_servers", seconds=spare_seconds)
            app.engine_ready.set()
            app.suites.watch()
            app.reviews.read()  # proposals are announced before a large folder is searched
            await app.suites.search()
        except (EngineError, OSError) as wrong:
            app.messages.notify(
                f"the engine did not start: {wrong}", severity="error", hint="`mcptest run` works without it"
            )
        if not app.store.documents and app.current_mode == "tests":
            app.go("home")
        self._themes.register_all()
        self._announce_drafts()

    def _announce_drafts(self) -> None:
        """Show that there is unsaved text of an earlier session: its file may be one that nobody opens again."""
        from mcptest_tui.state.drafts import Drafts

        app = self._app
        if app.current_mode == "edit":
            return  # which offers it by itself
        left = Drafts(app.workspace.root).left_behind(app.workspace.root)
        if left:
            others = f" and {counted(len(left) - 1, 'other file')}" if len(left) > 1 else ""
            app.messages.notify(
                f"unsaved text of {path_here(left[0].path)}{others} is saved as a draft",
                hint=f"the editor ({key_of('app.mode.2', typing=True)}) offers it",
                severity="warning",
            )
