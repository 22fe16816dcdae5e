"""Finding and connecting servers, reading what they offer, and making a suite for one."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.widgets import Input, TextArea

from mcptest_tui.engine_client import EngineError
from mcptest_tui.screens.base import Controller, WorkScreen, in_background
from mcptest_tui.state.about import consent_lines
from mcptest_tui.state.catalog import Catalog
from mcptest_tui.state.new_suite import free_path, target_problem
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_tui.screens.browser import Browser
    from mcptest_tui.screens.calling import Calls
    from mcptest_tui.state.servers import Server


class Connections(Controller):
    """Connects servers, ends their sessions and processes, and reads what they offer."""

    def __init__(self, screen: WorkScreen, browser: Browser, calls: Calls) -> None:
        super().__init__(screen)
        self._browser, self._calls = browser, calls
        self.arriving: dict[str, Any] | None = None
        """A place that `app.go` named and that could not be shown yet."""
        self._opening: str | None = None
        self._ending: dict[str, bool] = {}
        """The keys of the servers that are ended from here, and whether it is their processes, without a session."""
        self.began: Callable[[], None] = lambda: None
        """Called when a server is started or ended."""

    async def find(self) -> None:
        """Read the servers from the settings of the coding agents on this machine."""
        await self.workbench.engine_ready.wait()
        try:
            answer = await self.workbench.engine.request("found")
        except EngineError as wrong:
            self._browser.servers.searched = True
            self.workbench.messages.show(wrong.message, "warning")
        else:
            self._browser.servers.put_found(answer)
        self._browser.show_all()
        self.arrive_late()

    def arrive_late(self) -> None:
        """Go to the place that `app.go` named, once its server can be shown."""
        where = self.arriving
        if where is None:
            return
        server = self._browser.servers.named(str(where.get("server") or ""), str(where.get("suite") or ""))
        if server is None and where.get("suite") and not where.get("server"):
            server = next((one for one in self._browser.servers.by_key.values() if one.path == where["suite"]), None)
        if server is None:
            if self._browser.servers.searched:
                self.arriving = None
                self.workbench.messages.show(f"no server is called {where.get('server')}", "warning")
            return
        self._browser.server_list.select(server.key)
        if where.get("tool") or where.get("call"):
            if not server.connected or server.key not in self._browser.catalogs:
                if server.state == "off" and (where.get("call") or {}).pop("send", False):
                    self.connect(server, sends=True)
                elif server.state == "off":
                    self._browser.go_to("servers")
                    self.workbench.messages.show(
                        f"{server.name} is not connected: {key_of('server.connect')} connects it, then opens the call"
                    )
                return
            self.arriving = None
            self._calls.arrive(server, where)
            return
        self.arriving = None
        self._browser.go_to("servers")

    # Connecting

    def open_server(self) -> None:
        """Show what the server under the cursor offers; connect it first if it is not connected."""
        server = self._browser.server
        if server is None:
            return
        if server.connected:
            self._browser.go_to("catalog")
        elif server.state != "starting":
            self._opening = server.key
            self.connect(server)

    def action_connect(self) -> None:
        """Connect the server under the cursor; restart it if it is connected."""
        server = self._browser.server
        if server is None:
            self.workbench.messages.show(f"{key_of('server.add')} adds a server by its command or URL")
        elif server.state != "starting":
            self._browser.catalogs.pop(server.key, None)
            self.connect(server)

    def action_disconnect(self) -> None:
        """End the session of the server under the cursor, or cancel connecting; without a session, end its processes."""
        server = self._browser.server
        if server is not None and server.runs and server.state in ("off", "failed"):
            for process in self._browser.servers.processes:
                if (process.suite, process.name) == (server.path, server.name):
                    self.workbench.engine.send("end_process", number=process.number)
        elif server is not None and server.state in ("ready", "starting"):
            server.state = "stopping"
            in_background(self.screen, partial(self._disconnect, server), f"connect {server.key}")
            self._browser.show_all()
            self.began()
        if server is not None:
            self._ending[server.key] = server.state != "stopping"
            self.workbench.messages.show(f"ending {server.name} …")

    def connect(self, server: Server, *, sends: bool = False) -> None:
        """Start the server, after consent where it is needed; with `sends`, send the requested call then."""
        if self.arriving is not None:
            self.arriving["sends"] = sends
        if not self._browser.servers.needs_consent(server):
            self._start(server)
            return
        from mcptest_tui.widgets.modals import Question

        verb = "ask this URL" if server.transport == "http" else "start it"

        consent = server.consent

        def answered(answer: str | None) -> None:
            if answer == "y":
                self._browser.servers.agree(consent)
                self.connect(server, sends=sends)  # asks again, should its settings have changed meanwhile

        title = f"Connect to {server.name}?" if server.transport == "http" else f"Start {server.name}?"
        self.workbench.push_screen(
            Question(title, consent_lines(server), [("y", f"yes, {verb}"), ("n", "no")]), answered
        )

    def _start(self, server: Server) -> None:
        server.state, server.since, server.message = "starting", time.monotonic(), ""
        self._browser.catalogs.pop(server.key, None)
        self._browser.show_all()
        self.began()
        in_background(self.screen, partial(self._connect, server), f"connect {server.key}")

    async def _connect(self, server: Server) -> None:
        bench = self.workbench
        await bench.engine_ready.wait()
        try:
            await bench.engine.request("connect", session=server.key, target={**server.target, "name": server.name})
        except EngineError as wrong:
            self._browser.servers.refused(server, wrong.message, wrong.hint)
            self._browser.show_all()

    async def _disconnect(self, server: Server) -> None:
        """End the server's session; one that the engine does not know of is marked as ended here."""
        if self.workbench.engine_ready.is_set():
            with suppress(EngineError):
                await self.workbench.engine.request("disconnect", session=server.key)
        if server.state == "stopping":
            server.state, server.version = "off", server.version + 1
            self._browser.show_all()
            self.announce_ended({server.key})

    def announce_ended(self, keys: set[str]) -> None:
        """Show a message for each of these servers that was ended here and has now ended."""
        for key in keys & set(self._ending):
            one = self._browser.servers.by_key[key]
            if one.state in ("off", "failed") and not (self._ending[key] and one.runs):
                del self._ending[key]
                self.workbench.messages.show(f"{one.name} has ended")

    def state_changed(self, server: Server) -> None:
        """Read the catalog of a server that connected; forget that of any other, and report its failure."""
        if server.connected:
            in_background(self.screen, partial(self._load, server), f"catalog {server.key}")
            return
        self._browser.catalogs.pop(server.key, None)
        if server.state == "failed" and server is not self._browser.server:
            self.workbench.messages.notify(
                f"{server.name}: {server.message}", severity="error", hint=server.hint or None
            )

    # What it offers

    async def _load(self, server: Server, *, refresh: bool = False) -> None:
        before = self._browser.catalogs.get(server.key)
        try:
            told = await self.workbench.engine.request("catalog", session=server.key, refresh=refresh)
        except EngineError as wrong:
            server.catalog_problem = wrong.message
        else:
            server.catalog = told
            catalog = Catalog(told, server.watched)
            if before is not None:
                catalog.kind = before.kind
                catalog.search(before.filter)
            self._browser.catalogs[server.key] = catalog
        self._browser.server_list.refresh()
        if self._browser.server is server:
            self._browser.show_catalog()
            self._browser.show_about(keep=True)
            self.screen.refresh_bindings()
        if self._opening == server.key:
            self._opening = None
            if self._browser.server is server and self._browser.server_list.has_focus:
                self._browser.go_to("catalog")
        self.arrive_late()

    def load_again(self, server: Server) -> None:
        """Read the lists of a server again, after they changed or on request."""
        in_background(self.screen, partial(self._load, server, refresh=True), f"catalog {server.key}")

    def action_refresh(self) -> None:
        """Read the lists of a connected server again, and look for servers again."""
        server = self._browser.server
        if server is not None and server.connected:
            self.load_again(server)
        in_background(self.screen, self.find, "servers.find")

    # Adding, and going elsewhere

    def action_add(self) -> None:
        """Ask for a server's command or URL, then add and connect the server."""
        from mcptest_tui.widgets.modals import TextPrompt

        def answered(typed: str | None) -> None:
            server = self._browser.servers.add(typed) if typed else None
            if server is not None:
                server.ask = False
                self._browser.show_all()
                self._browser.server_list.select(server.key)
                self._browser.go_to("servers")
                self._opening = server.key
                self.connect(server)

        self.workbench.push_screen(
            TextPrompt(
                "Server command or URL",
                "for example  python server.py  or  http://localhost:8000/mcp  or  https://host/mcp $MY_TOKEN\n"
                "(the name of the variable that holds a bearer token; `mcptest login URL` logs in by OAuth)",
                check=target_problem,
                entered=self.workbench.entered_servers,
            ),
            answered,
        )

    def action_edit(self) -> None:
        """Open the suite that declares the server, at the line where it does."""
        server = self._browser.server
        if server is None:
            return
        if server.path:
            self.workbench.go("edit", path=server.path, line=_line_of(server))
        else:
            self.workbench.messages.show(f"{server.name} is in no suite: {key_of('suite.new')} makes one")

    def action_traffic(self) -> None:
        """Show the traffic of the server under the cursor."""
        server = self._browser.server
        if server is not None:
            self.workbench.go("traffic", server=server.name)

    def action_new_suite(self) -> None:
        """Open the window that makes a suite from what the server offers."""
        from mcptest_tui.screens.scaffold import ScaffoldScreen
        from mcptest_tui.state.scaffolding import Scaffolding, places_for

        server = self._browser.server
        if server is None:
            return
        if told := self.idle_text():
            self.workbench.messages.show(told)
            return
        folder = Path(server.path).parent if server.path else self.workbench.folder
        suites = [path for path, document in self.workbench.store.documents.items() if document.sound]
        places = places_for(suites, server.path if server.path in suites else "", str(free_path(folder)))
        self.workbench.push_screen(ScaffoldScreen(server.name, server.key, Scaffolding(places)))

    # What applies

    def idle_text(self) -> str:
        """Return a message if the server under the cursor is not connected, else an empty text."""
        server = self._browser.server
        if server is None or server.connected:
            return ""
        return f"{server.name} is not connected: {key_of('server.connect')} connects it"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim the actions that do not apply to the server under the cursor."""
        if action == "add" and isinstance(self.screen.focused, (Input, TextArea)):
            return False
        if action not in ("connect", "disconnect", "new_suite", "edit"):
            return super().check_action(action, parameters)
        server = self._browser.server
        if action == "connect":
            return server is None or server.state != "starting"
        if server is None:
            return None
        can = {
            "disconnect": server.state in ("ready", "starting") or bool(server.runs),
            "new_suite": server.connected,
            "edit": bool(server.path),
        }
        return can[action] or None


def _line_of(server: Server) -> int:
    """Return the line on which the suite declares the server; 1 if it is not found."""
    try:
        text = Path(server.path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return 1
    inside = False
    for number, row in enumerate(text.split("\n"), 1):
        if row.startswith("servers:"):
            inside = True
        elif inside and row[:1] not in ("", " ", "#"):
            return 1
        elif inside and row.strip().strip("\"'").startswith(server.name):
            return number
    return 1
