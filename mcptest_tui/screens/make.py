"""Screens by mode, imported once the first of them is drawn, or when it is shown."""

from __future__ import annotations

import threading
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcptest_tui.screens.base import WorkScreen

MODES = {
    "tests": ("mcptest_tui.screens.tests", "TestsScreen"),
    "edit": ("mcptest_tui.screens.edit", "EditScreen"),
    "servers": ("mcptest_tui.screens.servers", "ServersScreen"),
    "review": ("mcptest_tui.screens.review", "ReviewScreen"),
    "traffic": ("mcptest_tui.screens.traffic", "TrafficScreen"),
    "agents": ("mcptest_tui.screens.agents", "AgentsScreen"),
    "home": ("mcptest_tui.screens.home", "HomeScreen"),
}


def make_screen(mode: str) -> WorkScreen:
    """A new screen of a mode."""
    module, name = MODES[mode]
    screen: WorkScreen = getattr(import_module(module), name)()
    return screen


def import_all() -> None:
    """Import the screens in a thread, so that no key waits for it: two of them take as long as all of the start."""

    def import_each() -> None:
        for module, _ in MODES.values():
            with suppress(Exception):  # said when the mode is opened
                import_module(module)

    threading.Thread(target=import_each, name="imports", daemon=True).start()
