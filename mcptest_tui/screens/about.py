"""The About window: versions, terminal and files for a bug report, and the keymap name of a pressed key."""

from __future__ import annotations

import locale
import os
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from mcptest_engine import __version__
from mcptest_tui.actions import by_id
from mcptest_tui.clipboard import native_tool
from mcptest_tui.config import config_file
from mcptest_tui.keymap import RESERVED, bindings_for, keymap_file
from mcptest_tui.places import state_file, user_themes_dir
from mcptest_tui.problems import versions
from mcptest_tui.safe import shown
from mcptest_tui.widgets.footer import hints_of
from mcptest_tui.widgets.modals import Modal
from mcptest_tui.words import is_ascii, key_shown

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from mcptest_tui.base_app import BaseApp

PRESS = "Press a key to see its name."


def facts(app: BaseApp) -> list[tuple[str, str]]:
    """Return (name, value) rows for the window, without names of tests or texts of servers."""
    environ = os.environ
    width, height = app.size
    tool = native_tool()
    pid = app.engine.pid
    inside = [
        name for name, variable in (("tmux", "TMUX"), ("screen", "STY"), ("ssh", "SSH_TTY")) if environ.get(variable)
    ]
    return [
        ("mcptest", f"{__version__}, {versions()}"),
        (
            "terminal",
            f"TERM={environ.get('TERM', '')}, {width}x{height}{', in ' + ' and '.join(inside) if inside else ''}",
        ),
        ("colours", colours(app)),
        ("text", f"{locale.getpreferredencoding(False)}, {'ASCII marks' if is_ascii() else 'Unicode marks'}"),
        ("clipboard", tool[0] if tool and app.config.clipboard == "auto" else "through the terminal (OSC 52)"),
        ("engine", f"process {pid}" if pid else "not running"),
        ("theme", str(app.theme)),
        ("config", _file(str(config_file()))),
        ("keymap", _file(str(keymap_file()))),
        ("themes", _file(str(user_themes_dir()))),
        ("session", _file(str(app.session.file.path))),
        ("tips told", _file(str(state_file()))),
    ]


def colours(app: BaseApp) -> str:
    """Return the terminal's colour system and the environment variable that decides it."""
    if app.no_color:
        return "none (NO_COLOR)"
    told = os.environ.get("COLORTERM")
    return f"{app.console.color_system or 'none'} (COLORTERM{f'={told}' if told else ' is not set'})"


def _file(path: str) -> str:
    return path if os.path.exists(path) else f"{path} (none yet)"  # noqa: PTH110


class About(Modal[str]):
    """The window with the facts; answers "copy", or None when it is closed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.about")

    def __init__(self, told: list[tuple[str, str]]) -> None:
        super().__init__(classes="picker")
        self._told = told

    def compose(self) -> ComposeResult:
        """Yield the rows of facts, and the line that names a pressed key."""
        width = max(len(name) for name, _ in self._told)
        with Vertical(classes="dialog -tall") as dialog:
            dialog.border_title = Content("About")
            with VerticalScroll(can_focus=False):
                for name, value in self._told:
                    with Horizontal(classes="about-row"):
                        yield Static(shown(f"{name:>{width}}  ", style="$muted"), classes="about-name")
                        yield Static(shown(value))
            yield Static(shown(PRESS, style="$muted"), classes="about-key picker-help")

    def on_key(self, event: events.Key) -> None:
        """Show the name and actions of a pressed key; keys shown on the frame do their own action."""
        if event.key not in {key for hint in hints_of(self) for key in hint.keys}:
            event.stop()
            event.prevent_default()
            self.query_one(".about-key", Static).update(key_text(event.key, event.character))

    def action_copy(self) -> None:
        """Close the window with the answer "copy", for which the app copies all facts."""
        self.dismiss("copy")


def key_text(key: str, character: str | None) -> Content:
    """One line about a key: its name for the keymap, how it is shown, which actions have it."""
    names = [name for name, (_, action) in by_id().items() if key in action.keys]
    said = f"  {RESERVED[key]}" if key in RESERVED else f"  {', '.join(names[:4])}" if names else "  free everywhere"
    also = f" ({key_shown(key)})" if key_shown(key) != key else ""
    typed = f" types {character!r}" if character and character.isprintable() and character != key else ""
    return Content.assemble((shown(key).plain, "bold $primary"), also, typed, (shown(said).plain, "$muted"))
