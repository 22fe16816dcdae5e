"""The app as screens see it: its parts, and what a screen may ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.screen import ModalScreen

from mcptest_tui.base_app import BaseApp
from mcptest_tui.mode_screen import ModeScreen
from mcptest_tui.places import absolute

if TYPE_CHECKING:
    from mcptest_tui.agents import Agents
    from mcptest_tui.leaving import Leaving
    from mcptest_tui.reviews import Reviews
    from mcptest_tui.runs import Runs
    from mcptest_tui.session import SessionFile
    from mcptest_tui.state.command_log import CommandLog
    from mcptest_tui.state.processes import Process
    from mcptest_tui.suites import Suites
    from mcptest_tui.theme_book import ThemeBook
    from mcptest_tui.tips import Tips


class AppInterface(BaseApp):
    """The base of `Workbench` for screens, and for what its keys do."""

    suites: Suites
    runs: Runs
    reviews: Reviews
    agents: Agents
    leaving: Leaving
    tips: Tips
    themes: ThemeBook
    processes: tuple[Process, ...] = ()
    commands: CommandLog
    session: dict[str, Any]
    session_file: SessionFile
    places: list[str]
    """The modes that Escape leads back to."""
    entered_servers: list[str]
    """Commands and URLs that were entered in prompts, the newest first."""
    entered_paths: list[str]
    """Paths likewise."""

    if TYPE_CHECKING:
        # app.py
        def screen_shown(self, screen: ModeScreen) -> None: ...

    def run_tests(self, path: str | None, ids: list[str] | None = None) -> list[str]:
        """Run these tests, or all of a suite, or of every suite; the keys of the runs."""
        return self.runs.start(path, ids)

    def cancel_runs(self) -> None:
        """Stop what is on, and what waits."""
        self.runs.cancel()

    def editor_of(self, path: str) -> ModeScreen | None:
        """The screen that has unsaved text of a file."""
        return next((screen for screen in self.work_screens() if screen.unsaved_text(path) is not None), None)

    async def open_document(self, path: str) -> None:
        """Make a suite one of those that are open, also in the next session."""
        await self.suites.open(absolute(path))
        if self.engine_ready.is_set():
            self.suites.watch()

    def go(self, mode: str, **where: Any) -> None:
        """Show a mode, at a place in it. With a place, Escape leads back to where one came from."""
        before = self.current_mode
        if where and before != mode:
            self.places.append(before)
        elif not where:
            self.places.clear()
        while isinstance(self.screen, ModalScreen):
            self.pop_screen()
        if before != mode:
            self.tips.take_away()
        self.switch_mode(mode)
        while where and len(self.screen_stack) > 1:
            self.pop_screen()
        screen = self.screen
        if where and isinstance(screen, ModeScreen):
            screen.call_after_refresh(screen.arrive, **where)
        self.refresh_status()
