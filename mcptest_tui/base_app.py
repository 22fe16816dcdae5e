"""The app as screens see it: its parts, the screens that exist, and how Textual's own behaviour is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.css.query import NoMatches
from textual.filter import Monochrome, NoColor
from textual.screen import ModalScreen
from textual.widget import MountError
from textual.worker import WorkerFailed

from mcptest_tui.actions import by_id
from mcptest_tui.key_order import KeyDone, KeyQueue
from mcptest_tui.messages import IDLE, Messages
from mcptest_tui.mode_screen import Editor, ModeScreen
from mcptest_tui.places import absolute
from mcptest_tui.problems import Sturdy, title_of
from mcptest_tui.themes import PLAIN_TEXT, token_defaults
from mcptest_tui.widgets.footer import is_typed
from mcptest_tui.words import PLAIN, key_shown

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.terminal_theme import TerminalTheme
    from textual import events
    from textual.dom import DOMNode
    from textual.driver import Driver
    from textual.filter import LineFilter
    from textual.theme import Theme

    from mcptest_engine.workspace.workspace import Workspace
    from mcptest_tui.actions import Action
    from mcptest_tui.agents import Agents
    from mcptest_tui.bridge import Bridge
    from mcptest_tui.config import Config
    from mcptest_tui.engine_client import EngineClient
    from mcptest_tui.problems import Problems
    from mcptest_tui.reviews import Reviews
    from mcptest_tui.runs import Runs
    from mcptest_tui.session import Session
    from mcptest_tui.state.processes import Process
    from mcptest_tui.state.store import Store
    from mcptest_tui.suites import Suites

MOST_ROUNDS = 20
"""A screen that never comes to rest is drawn after so many."""
REPEAT_SECONDS = 0.5
"""A key that comes again within this time was held down, or pressed twice because nothing had been seen yet."""


class BaseApp(Sturdy, App[int]):
    """The base of `Workbench`: what screens use of it, and what is changed of Textual's own app."""

    config: Config
    folder: Path
    """Where mcptest was started; it may be deleted meanwhile."""
    workspace: Workspace
    store: Store
    bridge: Bridge
    engine: EngineClient
    engine_ready: asyncio.Event
    problems: Problems
    suites: Suites
    runs: Runs
    reviews: Reviews
    agents: Agents
    processes: tuple[Process, ...] = ()
    session: Session
    entered_servers: list[str]
    """Commands and URLs that were entered in prompts, the newest first."""
    entered_paths: list[str]
    """Paths likewise."""
    watch_mode: str
    copying: asyncio.Lock
    delayed = 0
    """How many screens are being shown of which nothing is drawn yet."""
    is_ending = False
    """The screens are about to be taken apart: nothing is shown on them any more."""
    _opened_edit = ("", 0.0)
    """The key that has just opened Edit, and when it was pressed."""

    if TYPE_CHECKING:
        # app.py
        def refresh_status(self) -> None: ...
        def touch(self) -> None: ...
        def documents_changed(self, paths: list[str]) -> None: ...
        def screen_shown(self, screen: ModeScreen) -> None: ...

    def __init__(self) -> None:
        super().__init__()
        self.messages = Messages(self, self._draw_message)
        self.key_queue = KeyQueue(self, super().on_event)
        self.places: list[str] = []
        """The modes that Escape leads back to."""

    async def on_event(self, event: events.Event) -> None:
        """Handle an event as Textual does, except that keys and pasted text are queued."""
        await self.key_queue.handle(event)

    async def on_key_done(self, event: KeyDone) -> None:
        """Pass the mark behind a key to the queue, which then sends the next key."""
        await self.key_queue.key_done(event)

    # The screens

    @property
    def work_screen(self) -> ModeScreen | None:
        """The mode's screen that is shown, also when a list or a question lies over it."""
        stack = self._screen_stacks.get(self.current_mode, ())
        shown = next((screen for screen in reversed(stack) if isinstance(screen, ModeScreen)), None)
        if shown is None or not shown.children or self.is_ending:
            return None  # at the end it is taken apart before its timers are
        return shown

    def work_screens(self) -> Iterator[ModeScreen]:
        """The screens that exist, whether shown or not; none at the end, when what was read last finds them half gone."""
        for stack in () if self.is_ending else self._screen_stacks.values():
            for screen in stack[:1]:
                if isinstance(screen, ModeScreen) and screen.is_mounted and screen.children:
                    yield screen

    def editors(self) -> list[Editor]:
        """Return the editors of the screens that exist."""
        return [screen.editor for screen in self.work_screens() if screen.editor is not None]

    def editor_of(self, path: str) -> Editor | None:
        """Return the editor that has unsaved text of a file, if any."""
        return next((editor for editor in self.editors() if editor.unsaved_text(path) is not None), None)

    async def open_document(self, path: str) -> None:
        """Make a suite one of those that are open, also in the next session."""
        await self.suites.open(absolute(path))
        if self.engine_ready.is_set():
            self.suites.watch()

    def go(self, mode: str, **where: Any) -> None:
        """Show a mode, at a place in it. With a place, Escape leads back to the mode before."""
        before = self.current_mode
        if where and before != mode:
            self.places.append(before)
        elif not where:
            self.places.clear()
        while isinstance(self.screen, ModalScreen):
            self.pop_screen()
        self.switch_mode(mode)
        while where and len(self.screen_stack) > 1:
            self.pop_screen()
        screen = self.screen
        if where and isinstance(screen, ModeScreen):
            screen.call_after_refresh(screen.arrive, **where)
        self.refresh_status()

    def delay_update(self, delay: float = 0.05) -> None:  # noqa: ARG002 - Textual's
        """As the base class, but draw again once the mode's screen is laid out and filled, and not after a fixed time."""
        batch = self.batch_update()
        batch.__enter__()
        self.delayed += 1
        rounds = iter(range(MOST_ROUNDS))

        def draw() -> None:
            waits = any(node.message_queue_size for node in self.screen.walk_children(with_self=True))
            if waits and not self.is_ending and next(rounds, None) is not None:
                call_when_idle()
                return
            self.delayed -= 1
            batch.__exit__(None, None, None)
            self.screen.refresh()

        def call_when_idle() -> None:
            # Not `call_after_refresh`, which has the screen call that is shown then: a dialog, with which the call may go.
            mode = self.screen_stack[0]
            mode.call_later(mode._invoke_later, draw, self)

        self.call_next(call_when_idle)

    # Drawing and messages

    def write_to_terminal(self, text: str) -> None:
        """Write control sequences to the terminal, if there is one."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(text)

    def get_driver_class(self) -> type[Driver]:
        """Textual's own, but for terminals the one that sleeps until a key comes."""
        from textual.drivers.linux_driver import LinuxDriver

        from mcptest_tui.terminal_driver import TerminalDriver

        found = super().get_driver_class()
        return TerminalDriver if found is LinuxDriver else found

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return Textual's line filters, and `AsciiOnly` for terminals with ASCII only."""
        filters = super().get_line_filters()
        if not PLAIN:
            return filters
        from mcptest_tui.ascii_only import AsciiOnly

        return [*filters, AsciiOnly()]

    def _draw_message(self) -> None:
        """Draw the message: in the status bar, and in a dialog, which may cover that, in the place of its keys."""
        self.refresh_status()
        if len(self.screen_stack) > 1:
            from mcptest_tui.widgets.modals import Modal

            if isinstance(self.screen, Modal):
                self.screen.show_keys()

    def clear_notices(self) -> None:
        """Remove the notifications and the status bar's message of the screen before, except errors."""
        for notice in list(self._notifications):
            if notice.severity != "error":
                self._unnotify(notice)
        self.messages.clear()

    def _refresh_notifications(self) -> None:
        """As the base class, which leaves an empty row where a notification was taken away."""
        super()._refresh_notifications()
        if self._notifications or not self.screen_stack:
            return
        for holder in self.screen.query("ToastHolder"):
            holder.remove()

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        """As the base class; a message is shown for a key of ours that has nothing to do, since silence looks like a lost key.

        One that has just opened the editor, and comes again at once, isn't typed into the file.
        """
        opened, self._opened_edit = self._opened_edit, ("", 0.0)
        if (
            priority
            and opened[0] == key
            and self.key_queue.key_time < opened[1] + REPEAT_SECONDS
            and is_typed(self.screen, key)
        ):
            self._opened_edit = key, self.key_queue.key_time
            self.messages.show(f"not typed: {key_shown(key)} had just opened Edit", IDLE)
            return True
        mode = self._current_mode
        if await super()._check_bindings(key, priority):
            if self._current_mode == "edit" != mode:
                self._opened_edit = key, self.key_queue.key_time
            if self.messages.current.severity == IDLE:
                self.messages.show("")  # it was about another key
            return True
        if not priority:
            for node, bindings in self.screen._modal_binding_chain:
                for binding in bindings.key_to_bindings.get(key, ()):
                    if binding.id in by_id() and not self._check_action_state(binding.action, node):
                        text = node.idle_text(binding.action) if isinstance(node, ModeScreen) else ""
                        self.messages.show(text or idle_text(key, by_id()[binding.id][1]), IDLE)
                        return False
        return False

    def copy(self, text: str, what: str) -> None:
        """Copy, and say how it was done once it is; one after the other, so that what was copied last stays."""
        self.run_worker(self._copy(text, what), group="copy", exit_on_error=False)

    async def _copy(self, text: str, what: str) -> None:
        from mcptest_tui.clipboard import copy

        try:
            root, way = self.workspace.root, self.config.clipboard
            async with self.copying:
                done = await copy(text, root, self.copy_to_clipboard, native=way != "osc52")
        except OSError as wrong:
            self.messages.notify(f"could not copy {what}: {wrong.strerror or wrong}", severity="error")
            return
        text, details = done.said(what)
        self.messages.show(text, details=details)

    def problem(self, error: BaseException) -> bool:
        """Show a bug of ours in a panel, once. False when there are so many that going on makes no sense."""
        problems = self.problems
        error = error.error if isinstance(error, WorkerFailed) else error
        if error is problems.last:  # told already, or raised again by `Sturdy` to end the app
            return not problems.too_many
        if self.return_code is not None and isinstance(error, (NoMatches, MountError)):
            return True  # the app is ending: a screen that was still being opened has lost its widgets
        if not problems.note(error) or not self.is_running:
            return False
        from mcptest_tui.widgets.modals import ErrorPanel

        report = problems.report(error)
        if isinstance(self.screen, ErrorPanel):
            self.messages.show(title_of(error), "error")
        else:
            self.push_screen(
                ErrorPanel(error, report), lambda answer: self.copy(report, "the report") if answer == "copy" else None
            )
        return True

    def _handle_exception(self, error: Exception) -> None:
        """What `Sturdy` does not see: callbacks, timers, the handlers of widgets that are not sturdy."""
        if not self.problem(error):
            super()._handle_exception(error)

    # How it looks

    def get_css_variables(self) -> dict[str, str]:
        """Textual's text colours as plain ones: `auto 60%`, drawn as part of a text, is no paler than the rest of it.

        Without colours, what failed would be a darker grey than what passed.
        """
        variables = super().get_css_variables()
        if self.no_color:
            variables |= dict.fromkeys(
                ("verdict-pass", "verdict-fail", "verdict-inconclusive"), variables["foreground"]
            )
        self.theme_variables = {**variables, **{name: variables[ours] for name, ours in PLAIN_TEXT.items()}}
        return self.theme_variables

    def get_theme(self, theme_name: str) -> Theme | None:
        """As the base class, which copies all themes for it, with each line that is drawn."""
        return self._registered_themes.get(theme_name) or super().get_theme(theme_name)

    def update_styles(self, node: DOMNode, animate: bool = True) -> None:
        """As the base class; a widget that is not in its place yet is styled when it is."""
        if node is self or node._parent is not None:
            super().update_styles(node, animate=animate)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the theme variables of the workbench, for themes that lack them."""
        return token_defaults(self.current_theme)

    def _refresh_truecolor_filter(self, theme: TerminalTheme) -> None:
        """As the base class; with NO_COLOR also the filter that takes the colours away, which depends on the theme."""
        super()._refresh_truecolor_filter(theme)
        if self.no_color:
            others = [one for one in self._filters if not isinstance(one, (Monochrome, NoColor))]
            self._filters = [*others, NoColor() if self.native_ansi_color else Monochrome()]

    def first_theme(self, name: str) -> None:
        """The theme of the first paint. Setting it as later ones are set would parse all style sheets twice over."""
        self.set_reactive(App.theme, name)
        self._refresh_truecolor_filter(self.ansi_theme)
        dark = self.current_theme.dark
        classes = {existing: False for existing in self.classes if existing.startswith("-theme-")}
        self.update_classes(
            {**classes, f"-theme-{name}": True, "-dark-mode": dark, "-light-mode": not dark}, update=False
        )
        self.stylesheet.set_variables(self.get_css_variables())

    def repaint_theme(self) -> None:
        """Draw everything again after the file of the active theme has changed."""
        self._invalidate_css()
        self._watch_theme(self.theme)


def idle_text(key: str, action: Action) -> str:
    """The message of a key that has nothing to do at the moment: `nothing is running`."""
    return action.idle or f"{key_shown(key)} does nothing here: {action.title[:1].lower()}{action.title[1:]}"
