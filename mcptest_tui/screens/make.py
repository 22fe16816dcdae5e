"""Screens by mode, each imported when it is first shown."""

from __future__ import annotations

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
