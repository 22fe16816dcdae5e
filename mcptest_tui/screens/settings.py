"""Settings: what can be changed and where it stands, what was wrong with a person's own files, and what this runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine import __version__
from mcptest_tui.config import config_file
from mcptest_tui.keymap import keymap_file
from mcptest_tui.places import user_themes_dir
from mcptest_tui.problems import versions
from mcptest_tui.screens.about import colours
from mcptest_tui.screens.picker import Choice
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from mcptest_tui.base_app import BaseApp


def settings_of(app: BaseApp, keymap_problems: tuple[str, ...]) -> list[Choice]:
    """The rows of the settings; what choosing one does stands in `Preferences`."""
    changed = len(app._keymap)
    keymap, enter = keymap_file(), key_of("line.take")
    rows = [
        Choice(
            "theme",
            "Theme",
            app.theme,
            f"{enter} shows all themes, with a live preview; saved for all folders, as `theme` in the settings file.",
            "Looks and keys",
        ),
        Choice(
            "watch",
            "What a save runs",
            app.watch_mode,
            f"{enter} goes on to the next: off, affected, all.",
            "Looks and keys",
        ),
        Choice(
            "config",
            f"Settings file: {config_file()}",
            "" if config_file().is_file() else "none yet",
            f"{enter} opens it in the editor: editor, clipboard, bell, title; read when mcptest starts.",
            "Looks and keys",
        ),
        Choice(
            "keymap",
            f"Keys: {keymap}",
            f"{changed} changed" if keymap.is_file() else "none yet",
            f"{enter} opens it in the editor; lines such as `run.this: r`. Read again at every save.",
            "Looks and keys",
        ),
        Choice(
            "themes",
            f"Own themes: {user_themes_dir()}",
            "",
            f"Copy one of the themes of mcptest there; {enter} copies the path.",
            "Looks and keys",
        ),
    ]
    rows += [
        Choice(f"problem-{at}", problem, "left out", problem, "Problems in your own files")
        for at, problem in enumerate((*app.config.problems, *keymap_problems))
    ]
    rows += [
        Choice("session", f"Session: {app.session.file.path}", "", f"{enter} copies the path.", "About"),
        Choice(
            "versions",
            f"mcptest {__version__}, {versions()}",
            "",
            f"{enter} shows more, to copy for an issue.",
            "About",
        ),
        Choice("colours", f"Colours: {colours(app)}", "", "COLORTERM=truecolor when the terminal has more.", "About"),
    ]
    return rows
