"""Which themes the app has, and which is on; a theme file is read again when it is saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_tui.places import user_themes_dir
from mcptest_tui.themes import DEFAULT, ThemeError, in_256_colours, read_theme, theme_files

if TYPE_CHECKING:
    from mcptest_tui.base_app import BaseApp


class ThemeBook:
    """Registers theme files with the app. Only the one that is on is read before the first paint."""

    def __init__(self, app: BaseApp) -> None:
        self._app = app
        self._files = theme_files()
        self.complaints: list[str] = []

    def use(self, name: str) -> None:
        """Put the first theme on; one that does not exist or is broken gives the default."""
        if self._register(name) or name in self._app.available_themes:
            self._app.first_theme(name)
        else:
            self._register(DEFAULT)
            self._app.first_theme(DEFAULT)

    def register_all(self) -> None:
        """Register all other themes, with a message about broken ones."""
        self._files = theme_files()
        for name in self._files:
            if name not in self._app.available_themes:
                self._register(name)
        self._show_complaints()

    def own(self) -> list[str]:
        """Return the names of mcptest's themes and of the person's."""
        return [name for name in self._files if name in self._app.available_themes]

    def watched(self) -> list[str]:
        """Return the person's theme files, which are read again when they change."""
        return [str(path) for path in self._files.values() if path.parent == user_themes_dir()]

    def changed(self, paths: list[str]) -> None:
        """Some files were saved: read the themes among them again, and paint with the one that is on."""
        for path in map(Path, paths):
            ours = path.parent == user_themes_dir() and self._files.get(path.stem) == path
            if ours and self._register(path.stem) and self._app.theme == path.stem:
                self._app.repaint_theme()
        self._show_complaints()

    def _register(self, name: str) -> bool:
        path = self._files.get(name)
        if path is None:
            return False
        try:
            theme = read_theme(path)
        except ThemeError as wrong:
            self.complaints.append(f"{wrong.message}{f'; {wrong.hint}' if wrong.hint else ''}")
            return False
        self._app.register_theme(in_256_colours(theme) if self._app.console.color_system == "256" else theme)
        return True

    def _show_complaints(self) -> None:
        if self.complaints and self._app.is_running:
            self._app.messages.notify("\n".join(self.complaints[:3]), severity="warning", hint="the theme is left out")
            self.complaints.clear()
