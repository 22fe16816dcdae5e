"""What the keys of the whole app do; the registry is `actions/app.py`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from mcptest_tui.config import TEMPLATE as CONFIG_TEMPLATE
from mcptest_tui.config import config_file, diagnose_config, put_entry
from mcptest_tui.interface import AppInterface
from mcptest_tui.keymap import diagnose_keymap, keymap_file, keymap_template, load_keymap
from mcptest_tui.places import absolute, longer_path, user_themes_dir
from mcptest_tui.runs import WATCH
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.widgets.no_room import SHORT
from mcptest_tui.words import key_of, key_shown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcptest_engine.running.diagnostics import Diagnostic
    from mcptest_tui.widgets.jump import Target


class AppActions(AppInterface):
    """A base of `Workbench`, apart only to keep both readable."""

    def action_go(self, mode: str) -> None:
        """A mode by its key."""
        self.clear_notices()
        self.go("home" if mode == "tests" and self.suites.searched and not self.store.documents else mode)

    def on_mode_bar_chosen(self, event: Any) -> None:
        """A mode by the mouse."""
        self.action_go(event.mode)

    async def action_back(self) -> None:
        """One level back; never out."""
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

    def action_watch(self) -> None:
        """Off, affected, all."""
        self.watch_mode = WATCH[(WATCH.index(self.watch_mode) + 1) % len(WATCH)]
        self.say(
            {"off": "a save runs nothing", "affected": "a save runs what it affects", "all": "a save runs all"}[
                self.watch_mode
            ]
        )

    # Lists over the screen

    def action_command_palette(self) -> None:
        """Every action by its name."""
        from mcptest_tui.screens.palette import HINT, Palette
        from mcptest_tui.screens.picker import Picker

        palette = Palette(self, self.screen)
        self.push_screen(Picker("Palette", palette.source, placeholder=HINT), self._then(palette.do))

    def action_help(self) -> None:
        """The keys of the focused pane; Enter does one."""
        from mcptest_tui.screens.help_panel import ABOUT, about, choices_of, rows_of
        from mcptest_tui.screens.picker import Picker
        from mcptest_tui.screens.value import ValueWindow

        if isinstance(self.screen, Picker):
            return  # a list to choose from says on its frame what its keys do
        rows, text = rows_of(self.screen), about(self.screen)
        choices = choices_of(rows)
        start = next((choice.id for choice in choices if choice.enabled), None)
        first = text.partition(". ")[0].rstrip(".") + "." if text else ""
        is_cut = self.size.height < SHORT and first != text
        choices = [ABOUT, *choices] if is_cut else choices

        async def do(name: str) -> None:
            if name == ABOUT.id:
                self.push_screen(
                    ValueWindow(ABOUT.title, text),
                    lambda answer: self.copy(text, "the help") if answer == "copy" else None,
                )
                return
            await self.run_action(rows[name].binding.action, default_namespace=rows[name].node)

        picker = Picker("Keys", lambda typed: (choices, typed), about=first if is_cut else text, start=start)
        self.push_screen(picker, self._then(do))

    def action_processes(self) -> None:
        """What runs because of us, in a window."""
        from mcptest_tui.screens.processes import ProcessesWindow

        self.push_screen(ProcessesWindow(self))

    def action_pick_theme(self) -> None:
        """All themes; the one under the cursor is on, and Escape gives the old one back."""
        from mcptest_tui.screens.picker import Choice, Picker

        before = self.theme
        self.themes.register_all()
        self.suites.watch()  # themes that were added meanwhile are read again at a save too
        own = self.themes.own()
        rest = [name for name in self.available_themes if name not in own]
        choices = [
            Choice(name, name, "dark" if self.available_themes[name].dark else "light", group=group)
            for group, names in (("mcptest and your own", own), ("Textual", rest))
            for name in names
        ]

        def answer(name: str | None) -> None:
            self.theme = name or before
            if name:
                self._write_entry(config_file(), CONFIG_TEMPLATE, diagnose_config, "theme", name)

        self.push_screen(
            Picker(
                "Theme",
                lambda typed: (choices, typed),
                start=before,
                highlighted=lambda name: setattr(self, "theme", name),
            ),
            answer,
        )

    def action_settings(self) -> None:
        """What can be changed, and what this runs on."""
        from mcptest_tui.screens.picker import Picker
        from mcptest_tui.screens.settings import settings_of

        rows = settings_of(self)
        self.push_screen(Picker("Settings", lambda typed: (rows, typed)), self._then(self._set))

    async def _set(self, name: str) -> None:
        if name == "theme":
            self.action_pick_theme()
        elif name == "watch":
            self.action_watch()
            self.action_settings()
        elif name == "keymap":
            self.action_edit_keymap()
        elif name == "themes":
            self.copy(str(user_themes_dir()), "the path of the themes' folder")
        elif name == "session":
            self.copy(str(self.session_file.path), "the path of the session file")
        elif name == "config":
            self.action_edit_config()
        elif name == "versions":
            self.action_about()

    def action_edit_keymap(self) -> None:
        """The keymap in the editor, which marks what is wrong with it; it is read again at every save."""
        self.go("edit", path=str(keymap_file()))

    def action_press_key(self) -> None:
        """Choose an action, press the key that it shall have, and it stands in the keymap."""
        from mcptest_tui.actions import by_id
        from mcptest_tui.screens.palette import keys_of
        from mcptest_tui.screens.picker import Choice, Picker

        rows = [
            Choice(name, action.title, keys_of(action), f"{name}  {action.help}", module)
            for name, (module, action) in by_id().items()
        ]
        self.push_screen(Picker("A key for which action?", lambda typed: (rows, typed)), self._then(self._ask_key))

    async def _ask_key(self, name: str) -> None:
        from mcptest_tui.widgets.modals import PressKey

        async def pressed(key: str) -> None:
            self._give_key(name, key)

        self.push_screen(PressKey(name), self._then(pressed))

    def _give_key(self, name: str, key: str) -> None:
        path = keymap_file()
        if self._write_entry(path, keymap_template(), diagnose_keymap, name, key):
            self.use_keymap(load_keymap())
            self.say(f"{key_shown(key)} is {name} now, in {path.name}")

    def _write_entry(
        self, path: Path, template: str, diagnose: Callable[[str, str], list[Diagnostic]], name: str, value: str
    ) -> bool:
        """Write one entry of a person's own file, the rest as it was; tell why where it cannot be written."""
        from mcptest_engine.suite.text_edits import EditRefused
        from mcptest_engine.workspace.suite_file import write_suite

        try:
            before = path.read_text(encoding="utf-8") if path.exists() else template
            after = put_entry(before, name, value)
            fresh = [one for one in diagnose(after, str(path)) if one not in diagnose(before, str(path))]
            if fresh:
                self.tell(f"not written: {fresh[0].message}", severity="warning", hint=fresh[0].hint)
                return False
            path.parent.mkdir(parents=True, exist_ok=True)
            write_suite(str(path), after.encode())
        except (OSError, UnicodeDecodeError, EditRefused) as wrong:
            self.tell(f"{path} was not written: {wrong}", severity="error")
            return False
        return True

    def action_edit_config(self) -> None:
        """The settings file likewise; it is taken at the next start."""
        self.go("edit", path=str(config_file()))

    def action_commands(self) -> None:
        """What was done here, as commands; Enter copies one."""
        from mcptest_tui.screens.picker import Choice, Picker

        done = self.commands.newest_first()
        choices = [
            Choice(str(at), one.command, time.strftime("%H:%M:%S", time.localtime(one.at)), one.command)
            for at, one in enumerate(done)
        ]

        async def copied(name: str) -> None:
            self.copy(done[int(name)].command, "the command")

        empty = "nothing yet: your runs and calls appear here as `mcptest` commands"
        picker = Picker("Command log", lambda typed: (choices, typed), empty=empty, verb="copy")
        self.push_screen(picker, self._then(copied))

    def action_about(self) -> None:
        """Versions, terminal, files; and what a key is called."""
        from mcptest_tui.screens.about import About, facts

        told = facts(self)
        text = "\n".join(f"{name}: {value}" for name, value in told)
        self.push_screen(About(told), lambda answer: self.copy(text, "this for an issue") if answer else None)

    def action_open_file(self) -> None:
        """A suite by its path."""
        from mcptest_tui.widgets.modals import Ask

        def check(typed: str) -> str | None:
            path = absolute(typed)
            if os.path.isdir(path):  # noqa: PTH112 - never raises
                return "that is a folder: go on to a file in it"
            return None if os.path.isfile(path) else "there is no such file"  # noqa: PTH113

        async def opened(typed: str) -> None:
            path = absolute(typed)
            await self.open_document(path)
            self.go("edit", path=path)

        self.push_screen(
            Ask("Open a suite", "its path", check=check, suggest=longer_path, entered=self.entered_paths),
            self._then(opened),
        )

    def action_jump(self) -> None:
        """A letter on every place."""
        from mcptest_tui.widgets.jump import JumpOverlay, targets_of

        targets = list(targets_of(self.screen))

        async def there(target: Target) -> None:
            if callable(target.what):
                target.what()
            elif target.what:
                await self.run_action(target.what, default_namespace=target.widget)
            if target.widget.focusable:
                target.widget.focus()

        self.push_screen(JumpOverlay(targets), self._then(there))

    def action_redraw(self) -> None:
        """Paint everything again."""
        self.screen.refresh(layout=True)
        if self._driver is not None:
            self._driver.write("\x1b[2J")
        self.refresh(layout=True)

    def action_help_quit(self) -> None:
        """Ctrl+C, which only copies here."""
        self.tell(f"{key_of('app.quit')} quits")

    def _then(self, do: Callable[[Any], Awaitable[None]]) -> Callable[[Any], None]:
        """Do something with a list's answer, if there is one, outside of the list's own handler."""

        def answered(answer: Any) -> None:
            if answer is not None:
                self.call_next(do, answer)

        return answered

    async def action_quit(self) -> None:
        """Leave, after a question if something would be lost."""
        self.leaving.ask()
