"""The app: modes, engine, store, theme, keys, and the wiring between them."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.actions import parse
from textual.errors import NoWidget

from mcptest_engine.workspace.workspace import find_workspace
from mcptest_tui.actions import id_of
from mcptest_tui.agents import Agents
from mcptest_tui.app_commands import Commands, Preferences, Windows
from mcptest_tui.base_app import BaseApp
from mcptest_tui.bridge import FLUSH_SECONDS, Bridge
from mcptest_tui.config import load_config
from mcptest_tui.debounce import Debounce
from mcptest_tui.engine_client import EngineClient
from mcptest_tui.engine_events import EngineEvents
from mcptest_tui.garbage import PAUSE_SECONDS, REST_SECONDS, collect_all, collect_young
from mcptest_tui.keymap import bindings_for, keymap_file
from mcptest_tui.leaving import Leaving
from mcptest_tui.problems import Problems
from mcptest_tui.reviews import Reviews
from mcptest_tui.runs import Runs
from mcptest_tui.screens.base import Controller, WorkScreen
from mcptest_tui.screens.make import MODES, import_all, make_screen
from mcptest_tui.session import Saved, Session, SessionFile, theme_at_start
from mcptest_tui.startup import Startup
from mcptest_tui.state.command_log import CommandLog
from mcptest_tui.state.store import Store
from mcptest_tui.status import StatusDisplay
from mcptest_tui.styles.sheet import Sheet
from mcptest_tui.suites import Suites
from mcptest_tui.theme_book import ThemeBook
from mcptest_tui.tips import TIPS, Tips
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.binding import BindingType
    from textual.dom import DOMNode

    from mcptest_tui.mode_screen import ModeScreen
    from mcptest_tui.widgets.mode_bar import ModeBar


SESSION_SECONDS = 5.0
IN_USE_SECONDS = 0.1
PAINT_SECONDS = 0.03
"""After so long, what a key has changed is drawn."""
RESUMED = frozenset(MODES) - {"home"}


class Workbench(BaseApp, inherit_bindings=False):
    """One workbench: the suites under `paths`, one engine process, and a screen for each mode."""

    TITLE = "mcptest"
    CSS_PATH = "styles/base.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("app")
    MODES = {mode: partial(make_screen, mode) for mode in MODES}  # noqa: RUF012 - Textual's own type
    ENABLE_COMMAND_PALETTE = False
    """Textual's own, which would take ctrl+p from ours."""
    CLOSE_TIMEOUT = 1.0
    ESCAPE_TO_MINIMIZE = False
    stylesheet: Sheet

    def __init__(self, paths: list[str] | None = None) -> None:
        self.config = load_config()
        self.folder = Path.cwd()
        self.workspace = find_workspace(self.folder)
        session_file = SessionFile(self.workspace.root)
        saved = Saved.of(session_file.load())
        self.suites = Suites(self, paths or [], saved.files)
        # Textual reads it while it initialises itself.
        self.DEFAULT_MODE = saved.mode if saved.mode in RESUMED and self.suites.near() else "tests"  # type: ignore[misc]
        super().__init__()
        self.stylesheet = Sheet(variables=self.get_css_variables())
        self.problems = Problems()
        self.store = Store()
        self.tips = Tips(self)
        engine_events = EngineEvents(self, self.tips)
        self.bridge = Bridge(engine_events.apply, self._is_key_due)
        self.command_log = CommandLog(self._name_of, time.time)
        self.engine = EngineClient(self.bridge.take, engine_events.engine_changed, self.command_log.log_command)
        self.engine_ready = asyncio.Event()
        self.copying = asyncio.Lock()
        self.runs = Runs(self, self.suites, self.bridge.take)
        self.reviews = Reviews(self, self.runs)
        self.agents = Agents(self, self.reviews, self.bridge.take)
        self._status_display = StatusDisplay(self)
        self.leaving = Leaving(self, self._status_display.restore_title)
        self.session = Session(self, self.suites, session_file, saved.screens)
        self.watch_mode = saved.watch or self.config.watch
        self.entered_servers = self.session.texts("servers", "recent")
        self.entered_paths = list(reversed(saved.files))
        self.themes = ThemeBook(self)
        self.startup = Startup(self, self.themes)
        self.windows = Windows(self, self.command_log)
        self.preferences = Preferences(self, self.windows, self.themes)
        self.themes.use(theme_at_start(self.config.theme, colours=self.console.color_system))
        self.animation_level = "none"
        self.store.remember(saved.verdicts)
        self.suites.put_remembered()
        self._last_input = 0.0
        self._at_rest = Debounce(self, PAUSE_SECONDS, collect_young), Debounce(self, REST_SECONDS, collect_all)

    async def on_event(self, event: events.Event) -> None:
        """As the base class, but for the mouse over what is being removed: Textual would look for its parent, which is gone."""
        if isinstance(event, events.MouseEvent) and not event.is_forwarded:
            with suppress(NoWidget):
                under, _ = self.get_widget_at(event.x, event.y)
                if under is not self.screen and not under.is_attached:
                    return
        if isinstance(event, events.InputEvent):
            self.touch()
            self._last_input = time.monotonic()
            if isinstance(event, events.Key):
                self.tips.key_pressed()
        await super().on_event(event)

    def touch(self) -> None:
        """Something has happened: the session is to be saved, and garbage collected once nothing happens any more."""
        self.session.is_touched = True
        for rest in self._at_rest:
            rest()

    # Starting

    def on_mount(self) -> None:
        """Start the timers and listeners; suites are read after the first paint."""
        self.bridge.use(self.set_interval(FLUSH_SECONDS, self.bridge.flush_in_turn))
        self._status_display.start_timer()
        self.leaving.listen()
        self.tips.listen()
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw())  # back from the shell
        self.preferences.use_keymap()
        self.set_interval(SESSION_SECONDS, self._save_if_touched)
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        self.startup.show_problems()
        self.run_worker(self._open(), group="engine.start", exit_on_error=False)

    async def _open(self) -> None:
        await self.startup.open_suites()
        await self.startup.start_engine()
        await import_all(self._is_in_use, self.stylesheet.parse_ahead)

    def _is_in_use(self) -> bool:
        """Whether a person is typing, so that nothing else should be done now."""
        return self.key_queue.is_typing or time.monotonic() - self._last_input < IN_USE_SECONDS

    def _is_key_due(self) -> bool:
        return self.key_queue.is_typing or time.monotonic() - self._last_input < PAINT_SECONDS

    # Documents

    def documents_changed(self, paths: list[str]) -> None:
        """Read again the suites that are made of these files, and run what the watch mode says."""
        self.themes.changed(paths)
        self.reviews.saved(paths)
        if str(keymap_file()) in paths:
            self.preferences.use_keymap()
        self.run_worker(self._changed(list(dict.fromkeys(paths))), group="documents", exit_on_error=False)

    async def _changed(self, paths: list[str]) -> None:
        documents = await self.suites.read_changed(paths)
        for screen in self.work_screens():
            screen.files_changed(paths)
        self.runs.saved(paths, documents)

    def documents_read(self) -> None:
        """Update the screens and the runs after suites were read."""
        if self.is_ending:
            return
        for screen in self.work_screens():
            screen.documents_read()
        self.runs.documents_read()
        if self.store.documents and self.current_mode == "home":
            self.go("tests")
        elif not self.store.documents and self.suites.searched and self.current_mode == "tests":
            self.go("home")
        self.refresh_status()

    def watch_app_focus(self, focused: bool) -> None:
        """Search for new suites when the terminal window gets the focus again."""
        if focused:
            self.run_worker(self.suites.search_again, group="look", exclusive=True, exit_on_error=False)  # type: ignore[arg-type]

    def watched_files(self) -> list[str]:
        """Files and folders to watch beside those of the suites."""
        edited = (path for editor in self.editors() for path in editor.open_paths())
        return [*edited, *self.themes.watched(), str(keymap_file()), self.reviews.folder, *self.agents.folders]

    def refresh_status(self) -> None:
        """Draw the status bar, the badges and the terminal's title again."""
        self.messages.remove_if_over()
        self._status_display.refresh()

    def screen_shown(self, screen: ModeScreen) -> None:
        """Update a screen that came to the front."""
        if screen is self.work_screen:
            with self.problems.recovering("a screen's news"):
                screen.caught_up()
            self.refresh_status()
            no_suite = not self.store.documents
            is_empty = {"edit": no_suite, "servers": no_suite, "review": not self.reviews.state.items}
            if screen.MODE in TIPS and not is_empty.get(screen.MODE):
                self.tips.show(screen.MODE)

    def _parse_action(
        self, action: Any, default_namespace: DOMNode, namespaces: Mapping[str, DOMNode] | None = None
    ) -> tuple[Any, str, tuple[object, ...]]:
        """As the base class; `saving.save` is done by the node's `saving`, `screen.calls.save` by the screen's."""
        owner, name, parameters = parse(action) if isinstance(action, str) else action
        if owner not in ("", "app", "screen", "focused"):
            scope, _, controller_name = owner.rpartition(".")
            node = {"screen": self.screen, "app": self}.get(scope, default_namespace)
            controller = getattr(node, controller_name, None)
            return controller if isinstance(controller, Controller | Commands) else node, name, parameters
        return super()._parse_action(action, default_namespace, namespaces)

    def _check_action_state(self, action: str, default_namespace: DOMNode) -> bool | None:
        """As the base class; a mode that has no panes yet has nothing to do, even if a dialog over it checks already."""
        target, name, parameters = self._parse_action(action, default_namespace)
        screen = target.screen if isinstance(target, Controller) else target
        if isinstance(screen, WorkScreen) and not screen.is_mounted:
            return None
        enabled: bool | None = target.check_action(name, parameters)
        return enabled

    async def run_action(
        self, action: Any, default_namespace: DOMNode | None = None, namespaces: Mapping[str, DOMNode] | None = None
    ) -> bool:
        """Note what is done, by the action's id, for the palette's recent ones and for reports."""
        if isinstance(action, str):
            keys = () if default_namespace is None else default_namespace._bindings.key_to_bindings.values()
            bound = (one.id for found in keys for one in found if one.action == action and one.id)
            self.problems.did(next(bound, None) or id_of(action, self.current_mode))
        return await super().run_action(action, default_namespace, namespaces)

    # What its own keys do; other commands are those of `windows` and `preferences`

    def action_go(self, mode: str) -> None:
        """Show a mode by its key."""
        self.clear_notices()
        self.go("home" if mode == "tests" and self.suites.searched and not self.store.documents else mode)

    def on_mode_bar_chosen(self, event: ModeBar.Chosen) -> None:
        """Show a mode by a click."""
        self.action_go(event.mode)

    async def action_back(self) -> None:
        """Go one level back, but never out of mcptest."""
        screen = self.screen
        told = self.tips.take_away()
        if not isinstance(screen, WorkScreen) or screen.back() or screen.panes.leave_zoom() or told:
            return
        places = self.places
        if len(self.screen_stack) > 1:
            self.pop_screen()
        elif places:
            self.clear_notices()
            self.switch_mode(places.pop())
            self.refresh_status()

    def action_redraw(self) -> None:
        """Clear the terminal and draw everything again."""
        self.screen.refresh(layout=True)
        self.write_to_terminal("\x1b[2J")
        self.refresh(layout=True)

    def action_help_quit(self) -> None:
        """Name the key that quits: Ctrl+C only copies here."""
        self.messages.notify(f"{key_of('app.quit')} quits")

    async def action_quit(self) -> None:
        """Quit, after a question if something would be lost."""
        self.leaving.confirm()

    def _name_of(self, test: str) -> str | None:
        row = self.store.rows.get(test)
        return None if row is None else row.name

    def _save_if_touched(self) -> None:
        if self.session.is_touched and not self._is_in_use():
            self.session.save()
