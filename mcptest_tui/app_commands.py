"""Commands of the whole app as objects that `Workbench` is composed of; the registry is `actions/app.py`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, TypeVar

from mcptest_tui.config import TEMPLATE as CONFIG_TEMPLATE
from mcptest_tui.config import config_file, diagnose_config, put_entry
from mcptest_tui.keymap import diagnose_keymap, keymap_file, keymap_template, load_keymap
from mcptest_tui.places import absolute, longer_path, user_themes_dir
from mcptest_tui.runs import WATCH
from mcptest_tui.widgets.frame import SHORT
from mcptest_tui.words import OWN_KEYS, key_of, key_shown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcptest_engine.running.diagnostics import Diagnostic
    from mcptest_tui.base_app import BaseApp
    from mcptest_tui.state.command_log import CommandLog
    from mcptest_tui.theme_book import ThemeBook
    from mcptest_tui.widgets.jump import Target

Answer = TypeVar("Answer")


class Commands:
    """Some commands of the app. The registry names the object before the action: `windows.help` is its `action_help`."""

    def __init__(self, app: BaseApp) -> None:
        self._app = app

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Whether there is anything to do, as of a widget: all of these always work."""
        return True

    def _then(self, do: Callable[[Answer], Awaitable[None]]) -> Callable[[Answer | None], None]:
        """Do something with a list's answer, if there is one, outside of the list's own handler."""

        def answered(answer: Answer | None) -> None:
            if answer is not None:
                self._app.call_next(do, answer)

        return answered


class Windows(Commands):
    """The actions that open a list, a question or a text over the current screen."""

    def __init__(self, app: BaseApp, command_log: CommandLog) -> None:
        super().__init__(app)
        self._command_log = command_log

    def action_palette(self) -> None:
        """Show the palette, which lists every action by its name."""
        from mcptest_tui.screens.palette import HINT, Palette
        from mcptest_tui.screens.picker import Picker

        palette = Palette(self._app, self._app.screen)
        self._app.push_screen(Picker("Palette", palette.source, placeholder=HINT), self._then(palette.do))

    def action_help(self) -> None:
        """Show the keys of the focused pane; Enter runs the selected one."""
        from mcptest_tui.screens.help_panel import ABOUT, about, choices_of, rows_of
        from mcptest_tui.screens.picker import Picker
        from mcptest_tui.screens.value import ValueWindow

        if isinstance(self._app.screen, Picker):
            return  # a list to choose from says on its frame what its keys do
        rows, text = rows_of(self._app.screen), about(self._app.screen)
        choices = choices_of(rows)
        start = next((choice.id for choice in choices if choice.enabled), None)
        first = text.partition(". ")[0].rstrip(".") + "." if text else ""
        is_cut = self._app.size.height < SHORT and first != text
        choices = [ABOUT, *choices] if is_cut else choices

        async def do(name: str) -> None:
            if name == ABOUT.id:
                self._app.push_screen(
                    ValueWindow(ABOUT.title, text),
                    lambda answer: self._app.copy(text, "the help") if answer == "copy" else None,
                )
                return
            await self._app.run_action(rows[name].binding.action, default_namespace=rows[name].node)

        picker = Picker("Keys", lambda typed: (choices, typed), about=first if is_cut else text, start=start)
        self._app.push_screen(picker, self._then(do))

    def action_processes(self) -> None:
        """Show the window of the processes that the workbench started."""
        from mcptest_tui.screens.processes import ProcessesWindow

        self._app.push_screen(ProcessesWindow(self._app))

    def action_commands(self) -> None:
        """Show past runs and calls as `mcptest` commands; Enter copies one."""
        from mcptest_tui.screens.picker import Choice, Picker

        done = self._command_log.newest_first()
        choices = [
            Choice(str(at), one.command, time.strftime("%H:%M:%S", time.localtime(one.at)), one.command)
            for at, one in enumerate(done)
        ]

        async def copied(name: str) -> None:
            self._app.copy(done[int(name)].command, "the command")

        empty = "nothing yet: your runs and calls appear here as `mcptest` commands"
        picker = Picker("Command log", lambda typed: (choices, typed), empty=empty, verb="copy")
        self._app.push_screen(picker, self._then(copied))

    def action_about(self) -> None:
        """Show the versions, the terminal and the files that are used."""
        from mcptest_tui.screens.about import About, facts

        told = facts(self._app)
        text = "\n".join(f"{name}: {value}" for name, value in told)
        self._app.push_screen(About(told), lambda answer: self._app.copy(text, "this for an issue") if answer else None)

    def action_open_file(self) -> None:
        """Prompt for the path of a suite, and open it in the editor."""
        from mcptest_tui.widgets.modals import TextPrompt

        def check(typed: str) -> str | None:
            path = absolute(typed)
            if os.path.isdir(path):  # noqa: PTH112 - never raises
                return "that is a folder: go on to a file in it"
            return None if os.path.isfile(path) else "there is no such file"  # noqa: PTH113

        async def opened(typed: str) -> None:
            path = absolute(typed)
            await self._app.open_document(path)
            self._app.go("edit", path=path)

        self._app.push_screen(
            TextPrompt("Open a suite", "its path", check=check, suggest=longer_path, entered=self._app.entered_paths),
            self._then(opened),
        )

    def action_jump(self) -> None:
        """Show a letter at every place on the screen; typing it goes there."""
        from mcptest_tui.widgets.jump import JumpOverlay, targets_of

        targets = list(targets_of(self._app.screen))

        async def there(target: Target) -> None:
            if callable(target.what):
                target.what()
            elif target.what:
                await self._app.run_action(target.what, default_namespace=target.widget)
            if target.widget.focusable:
                target.widget.focus()

        self._app.push_screen(JumpOverlay(targets), self._then(there))


class Preferences(Commands):
    """A person's own settings: the keymap, the settings file and the theme."""

    def __init__(self, app: BaseApp, windows: Windows, themes: ThemeBook) -> None:
        super().__init__(app)
        self._windows, self._themes = windows, themes
        self.keymap_problems: tuple[str, ...] = ()

    def use_keymap(self) -> None:
        """Apply the person's keymap, and show what in it is wrong."""
        keymap = load_keymap()
        self._app.set_keymap(keymap.keys)
        OWN_KEYS.clear()
        OWN_KEYS.update({name: tuple(keys.split(",")) for name, keys in keymap.keys.items()})
        if keymap.problems and keymap.problems != self.keymap_problems:
            self._app.messages.notify(
                "\n".join(keymap.problems[:3]),
                severity="warning",
                hint=f"{key_of('app.settings')} opens the settings, which list them all",
            )
        self.keymap_problems = keymap.problems

    def action_settings(self) -> None:
        """Show the settings and the files that they are read from."""
        from mcptest_tui.screens.picker import Picker
        from mcptest_tui.screens.settings import settings_of

        rows = settings_of(self._app, self.keymap_problems)
        self._app.push_screen(Picker("Settings", lambda typed: (rows, typed)), self._then(self._set))

    async def _set(self, name: str) -> None:
        if name == "theme":
            self.action_pick_theme()
        elif name == "watch":
            self.action_watch()
            self.action_settings()
        elif name == "keymap":
            self.action_edit_keymap()
        elif name == "themes":
            self._app.copy(str(user_themes_dir()), "the path of the themes' folder")
        elif name == "session":
            self._app.copy(str(self._app.session.file.path), "the path of the session file")
        elif name == "config":
            self.action_edit_config()
        elif name == "versions":
            self._windows.action_about()

    def action_watch(self) -> None:
        """Switch the watch mode to the next of off, affected and all."""
        self._app.watch_mode = WATCH[(WATCH.index(self._app.watch_mode) + 1) % len(WATCH)]
        self._app.messages.show(
            {"off": "a save runs nothing", "affected": "a save runs what it affects", "all": "a save runs all"}[
                self._app.watch_mode
            ]
        )

    def action_pick_theme(self) -> None:
        """All themes; the one under the cursor is on, and Escape gives the old one back."""
        from mcptest_tui.screens.picker import Choice, Picker

        before = self._app.theme
        self._themes.register_all()
        self._app.suites.watch()  # themes that were added meanwhile are read again at a save too
        own = self._themes.own()
        rest = [name for name in self._app.available_themes if name not in own]
        choices = [
            Choice(name, name, "dark" if self._app.available_themes[name].dark else "light", group=group)
            for group, names in (("mcptest and your own", own), ("Textual", rest))
            for name in names
        ]

        def answer(name: str | None) -> None:
            self._app.theme = name or before
            if name:
                self._write_entry(config_file(), CONFIG_TEMPLATE, diagnose_config, "theme", name)

        self._app.push_screen(
            Picker(
                "Theme",
                lambda typed: (choices, typed),
                start=before,
                highlighted=lambda name: setattr(self._app, "theme", name),
            ),
            answer,
        )

    def action_edit_keymap(self) -> None:
        """The keymap in the editor, which marks what is wrong with it; it is read again at every save."""
        self._app.go("edit", path=str(keymap_file()))

    def action_press_key(self) -> None:
        """Choose an action, press the key that it shall have, and it stands in the keymap."""
        from mcptest_tui.actions import by_id
        from mcptest_tui.screens.palette import keys_of
        from mcptest_tui.screens.picker import Choice, Picker

        rows = [
            Choice(name, action.title, keys_of(action), f"{name}  {action.help}", module)
            for name, (module, action) in by_id().items()
        ]
        self._app.push_screen(
            Picker("A key for which action?", lambda typed: (rows, typed)), self._then(self._press_key)
        )

    async def _press_key(self, name: str) -> None:
        from mcptest_tui.widgets.modals import PressKey

        async def set_key(key: str) -> None:
            self._set_key(name, key)

        self._app.push_screen(PressKey(name), self._then(set_key))

    def _set_key(self, name: str, key: str) -> None:
        path = keymap_file()
        if self._write_entry(path, keymap_template(), diagnose_keymap, name, key):
            self.use_keymap()
            self._app.messages.show(f"{key_shown(key)} is {name} now, in {path.name}")

    def action_edit_config(self) -> None:
        """Open the settings file in the editor; it is read at the next start."""
        self._app.go("edit", path=str(config_file()))

    def _write_entry(
        self, path: Path, template: str, diagnose: Callable[[str, str], list[Diagnostic]], name: str, value: str
    ) -> bool:
        """Write one entry of a person's own file, the rest unchanged; show why if it cannot be written."""
        from mcptest_engine.suite.text_edits import EditRefused
        from mcptest_engine.workspace.suite_file import write_suite

        try:
            before = path.read_text(encoding="utf-8") if path.exists() else template
            after = put_entry(before, name, value)
            fresh = [one for one in diagnose(after, str(path)) if one not in diagnose(before, str(path))]
            if fresh:
                self._app.messages.notify(f"not written: {fresh[0].message}", severity="warning", hint=fresh[0].hint)
                return False
            path.parent.mkdir(parents=True, exist_ok=True)
            write_suite(str(path), after.encode())
        except (OSError, UnicodeDecodeError, EditRefused) as wrong:
            self._app.messages.notify(f"{path} was not written: {wrong}", severity="error")
            return False
        return True
