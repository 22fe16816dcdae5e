"""Makes the screen of each mode; their modules are imported in idle moments, or when a mode is shown."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
STEP_SECONDS = 0.01


def make_screen(mode: str) -> WorkScreen:
    """Return a new screen of a mode, and import its module if needed."""
    module, name = MODES[mode]
    screen: WorkScreen = getattr(import_module(module), name)()
    return screen


async def import_all(is_busy: Callable[[], bool], use: Callable[[type[Widget]], object]) -> None:
    """Import the modules of all modes one by one while `is_busy` returns False; call `use` with each widget class.

    Not in a thread: keys would wait for the interpreter's lock, since two of the screens take as long to import as the whole
    start.
    """
    left = [*_modules()][::-1]
    while left:
        await asyncio.sleep(STEP_SECONDS)
        if is_busy():
            continue
        with suppress(Exception):  # said when the mode is opened
            module = import_module(left.pop())
            for found in [*vars(module).values()]:
                if isinstance(found, type) and issubclass(found, Widget):
                    use(found)


def _modules() -> Iterator[str]:
    """Yield module names, those that others import first, so that no import takes long."""
    yield "textual.widgets.text_area"
    for package in ("state", "widgets", "screens"):
        folder = str(Path(__file__).parents[1] / package)
        yield from (f"mcptest_tui.{package}.{module.name}" for module in iter_modules([folder]))
