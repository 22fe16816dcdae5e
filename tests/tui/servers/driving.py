"""Driving the servers' screen: a suite of given servers, one of them connected, one of its tools called."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from textual.screen import ModalScreen

from tests.tui.waiting import until

ODD = Path(__file__).parent / "programs" / "odd.py"


def odd(mode: str) -> dict[str, Any]:
    """The settings of an odd server."""
    return {"command": [sys.executable, str(ODD), mode]}


def suite_of(place: Path, **servers: dict[str, Any]) -> Path:
    """A suite with these servers and no test yet."""
    path = place / "mcptest.yml"
    path.write_text(f"name: s\nservers: {json.dumps(servers)}\ntools: []\n")
    return path


async def at_servers(pilot: Any, name: str = "") -> Any:
    """Mode 3, everything found, the cursor on the server called `name`."""
    app = pilot.app
    await pilot.press("f3")
    await until(
        pilot, lambda: app.current_mode == "servers" and app.screen.browser.servers.searched, what="the servers"
    )
    if name:
        assert app.screen.browser.server_list.select(app.screen.browser.servers.named(name).key)
        await pilot.pause()
    return app.screen


async def connected(pilot: Any, name: str) -> Any:
    """The server is connected, its catalog there, and the focus in it."""
    screen = await at_servers(pilot, name)
    await pilot.press("enter")
    await until(
        pilot, lambda: screen.browser.catalog_list.has_focus and screen.browser.catalog_list.count(), what="the catalog"
    )
    return screen


async def at_list(pilot: Any, name: str) -> Any:
    """The focus in the list of servers, the cursor on the one called `name`, after another check in the same app."""
    app = pilot.app
    while isinstance(app.screen, ModalScreen):
        await pilot.press("escape")
    screen = await at_servers(pilot)
    while not screen.browser.server_list.has_focus:
        await pilot.press("escape")
    app.messages.show("")
    screen.calls._calls.clear()
    return await at_servers(pilot, name)


async def connected_anew(pilot: Any, name: str) -> Any:
    """The same as `connected`, after another check in the same app."""
    await at_list(pilot, name)
    return await connected(pilot, name)


async def form_of(pilot: Any, screen: Any, tool: str) -> Any:
    """The form of a tool, its first field focused."""
    catalog = screen.browser.catalog
    screen.browser.catalog_list.move_to(catalog.shown.index(catalog.find("tools", tool)))
    screen.browser.catalog_list.focus()
    await pilot.press("enter")
    await until(pilot, lambda: screen.calls.is_shown and screen.calls.pane.form.has_focus_within, what="the form")
    return screen.calls.call


async def at_catalog(pilot: Any, screen: Any) -> None:
    """Back from whatever a check has opened, with the tools in the list and nothing typed into any form."""
    app = pilot.app
    await until(pilot, lambda: all(one.is_finished for one in app.workers if one.group == "servers.form"))
    while app.screen is not screen or screen.calls.is_shown:
        await pilot.press("escape")
    app.messages.show("")
    screen.calls._calls.clear()
    screen.browser.catalog.use("tools")
    screen.browser.show_catalog()
    screen.browser.catalog_list.focus()
    await pilot.pause()


async def fresh_form(pilot: Any, screen: Any, tool: str) -> Any:
    """The form of a tool as it is when it was never opened, after another check in the same app."""
    await at_catalog(pilot, screen)
    return await form_of(pilot, screen, tool)


async def sent(pilot: Any, screen: Any) -> Any:
    """The call was made and has an answer, or has none and it is said."""
    await pilot.press("ctrl+r")
    await until(pilot, lambda: screen.calls.call.params and screen.calls.call.started is None, what="the answer")
    return screen.calls.call
