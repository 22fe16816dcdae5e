"""How the app looks: its theme, and the tokens that style sheets take from it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

from textual.app import App

from mcptest_tui.session import remember
from mcptest_tui.themes import PLAIN_TEXT, token_defaults

if TYPE_CHECKING:
    from mcptest_tui.app import Workbench


class AppLooks(App[int]):
    """A mixin of `Workbench`."""

    @property
    def _looking(self) -> Workbench:
        return cast("Workbench", self)

    def get_css_variables(self) -> dict[str, str]:
        """Textual's text colours as plain ones: `auto 60%`, drawn as part of a text, is no paler than the rest of it."""
        variables = super().get_css_variables()
        self.theme_variables = {**variables, **{name: variables[ours] for name, ours in PLAIN_TEXT.items()}}
        return self.theme_variables

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our tokens, for themes that lack them."""
        return token_defaults(self.current_theme)

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
        """The file of the theme that is on has changed."""
        self._invalidate_css()
        self._watch_theme(self.theme)

    def theme_chosen(self, name: str) -> None:
        """Keep a theme that was picked."""
        self._looking.themes.chosen = name
        with suppress(OSError):
            remember(theme=name)
        self._looking.save_session()
