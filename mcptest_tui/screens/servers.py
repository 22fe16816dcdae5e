"""Mode 3: the servers, what each of them offers, and calls by hand. The screen composes them, and forwards what happens.

Nothing starts on its own. What a server is asked for is asked by a worker, never by a handler.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Horizontal, Vertical
from textual.content import Content

from mcptest_tui.keymap import bindings_for
from mcptest_tui.screens.base import WorkScreen, in_background
from mcptest_tui.screens.browser import Browser
from mcptest_tui.screens.calling import Calls
from mcptest_tui.screens.connecting import Connections
from mcptest_tui.screens.proposing import Proposing
from mcptest_tui.screens.requests import Requests
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.server_list import ServerList
from mcptest_tui.widgets.splitter import Splitter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.binding import BindingType
    from textual.timer import Timer
    from textual.widget import Widget

    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent
    from mcptest_tui.state.catalog import Item
    from mcptest_tui.widgets.lines import Lines

TICK_SECONDS = 0.5


class ServersScreen(WorkScreen):
    """The screen of servers: three panes, or one of them on narrow terminals."""

    MODE = "servers"
    CSS_PATH = "servers.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("servers")
    HELP = ServerList.HELP

    def __init__(self) -> None:
        super().__init__()
        self.add_class("-at-servers")  # set later, it has all panes styled again
        self.browser = Browser(self)
        self.calls = Calls(self, self.browser)
        self.connections = Connections(self, self.browser, self.calls)
        self.requests = Requests(self, self.browser, self.calls, self.connections)
        self.proposing = Proposing(self, self.browser, self.calls)
        self.calls.began = self.connections.began = self._wake
        self._tick: Timer | None = None

    def compose_body(self) -> Iterable[Widget]:
        """Servers and catalog at the left, what is looked at or called at the right."""
        with Horizontal(id="servers"):
            with Vertical(id="servers-side"):
                with Vertical(id="servers-pane", classes="pane"):
                    yield self.browser.server_list
                yield Splitter(id="servers-catalog", percent=40, lying=True)
                with Vertical(id="catalog-pane", classes="pane"):
                    yield self.browser.kinds
                    yield self.browser.filter_line
                    yield self.browser.catalog_list
            yield Splitter(id="side-about", percent=42)
            with Vertical(id="about-pane", classes="pane"):
                yield self.browser.about
            yield self.calls.pane

    def on_mount(self) -> None:
        """Show the servers of the suites; the engine searches the machine for others."""
        self._tick = self.set_interval(TICK_SECONDS, self._ticked, pause=True)
        show_titles(self.query_one("#servers-pane"), Content("Servers"))
        self.browser.go_to("servers")
        self.documents_read()
        in_background(self, self.connections.find, "servers.find")

    def tools(self) -> Iterable[tuple[str, str, Item]]:
        """Return (suite, server, tool) for every tool of every connected server."""
        for key, catalog in self.browser.catalogs.items():
            server = self.browser.servers.by_key.get(key)
            if server is not None and server.connected:
                yield from ((server.path, server.name, item) for item in catalog.items["tools"])

    def connected_catalogs(self) -> Iterable[tuple[str, str, dict[str, Any]]]:
        """Return (suite, server, catalog) for every connected server, as the engine sent it."""
        for server in self.browser.servers.by_key.values():
            if server.catalog is not None and server.state == "ready":
                yield server.path, server.name, server.catalog

    # What comes from the app

    def engine_events(self, events: list[WorkbenchEvent]) -> None:
        """Update the servers' states, and handle their notifications."""
        browser = self.browser
        self.requests.take_news(events)
        moved = browser.servers.apply(events, time.monotonic())
        changed = moved | browser.servers.put_processes(self.workbench.processes)
        if not changed:
            return
        for key in moved:
            self.connections.state_changed(browser.servers.by_key[key])
            self.calls.server_moved(browser.servers.by_key[key])
        browser.server_list.refresh()
        self._wake()
        if browser.server is not None and browser.server.key in changed:
            browser.show_catalog()
            browser.show_about(keep=True)
        self.refresh_bindings()
        self.workbench.refresh_status()
        self.connections.announce_ended(changed)

    def engine_changed(self, state: str, message: str) -> None:  # noqa: ARG002
        """Show all servers as disconnected when the engine process has ended."""
        if state in ("lost", "gone"):
            self.browser.engine_lost()

    def documents_read(self) -> None:
        """Update the list to the servers that the suites declare now."""
        self.browser.servers.put_suites(self.workbench.store.documents.values())
        self.browser.servers.put_processes(self.workbench.processes)
        self.browser.show_all()
        self.connections.arrive_late()

    def arrive(self, **where: object) -> None:
        """Show a server by its suite and name; with `tool` or `call`, what is to be called there."""
        self.connections.arriving = dict(where)
        self.connections.arrive_late()

    def key_title(self, action: str) -> str:
        """The footer's word for a key that does another thing now; "" for its usual one."""
        server = self.browser.server
        if action != "connections.connect" or server is None:
            return ""
        return "reconnect" if server.connected else "start again" if server.state == "failed" else ""

    def idle_text(self, action: str) -> str:
        """Return why a key does nothing: which server must be connected first."""
        needed = action in ("connections.new_suite", "browser.filter", "requests.ping")
        return self.connections.idle_text() if needed else ""

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Enter: on a server what it offers, on what it offers the form."""
        event.stop()
        browser = self.browser
        if event.lines is browser.catalog_list or (event.lines is browser.about and browser.item is not None):
            item = browser.catalog_list.item()
            if item is not None:
                self.calls.open(item)
        elif event.lines in (browser.server_list, browser.about):
            self.connections.open_server()

    # The session, and the bars

    def back(self) -> bool:
        """Out of the search, the call, the filter, and back to the servers."""
        browser = self.browser
        if self.calls.close_search() or self.calls.give_up() or self.requests.give_up():
            return True
        if browser.server is not None and browser.server.state == "starting":
            self.connections.action_disconnect()
        elif self.calls.is_shown:
            self.calls.leave()
        elif browser.clear_filter():
            pass
        elif browser.about.has_focus:
            browser.go_to("catalog" if browser.looks_at == "item" else "servers")
        elif browser.catalog_list.has_focus:
            browser.go_to("servers")
        else:
            return False
        return True

    def hints_first(self) -> dict[str, str]:
        """Cancel what is waited for; in a form, the ways out; in what is offered, the other lists."""
        if self.requests.is_waiting:
            return {"app.back": "cancel"}
        if self.calls.pane.form.has_focus_within:
            return {"call.send": "", "call.item.add": "", "app.back": "", "modes": ""}
        return {"lists": ""} if self.browser.catalog_list.has_focus else {}

    def remember(self) -> dict[str, Any]:
        """Return what the session stores: typed values and the selection, no server's data."""
        return self.browser.remember()

    def restore(self, memory: dict[str, Any]) -> None:
        """From the last session; a command from a file is asked about before it is started."""
        self.browser.restore(memory)

    def _wake(self) -> None:
        """Start the timer while something is shown that changes with time."""
        if self._tick is not None and (self.browser.server_list.busy or self.calls.waiting):
            self._tick.resume()

    def _ticked(self) -> None:
        if not (self.browser.server_list.busy or self.calls.waiting) and self._tick is not None:
            self._tick.pause()
        self.browser.tick()
        self.calls.show_waiting()
