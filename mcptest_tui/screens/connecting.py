"""Finding servers, connecting them, asking what they offer, and making a suite for one: a part of the servers' screen."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.widgets import Input, TextArea

from mcptest_tui.engine_client import EngineError
from mcptest_tui.screens.servers_base import ServersBase
from mcptest_tui.state.about import consent_lines
from mcptest_tui.state.catalog import Catalog
from mcptest_tui.state.new_suite import free_path, target_problem
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_tui.state.servers import Server


class Connecting(ServersBase):
    """A mixin of `ServersScreen`. `arriving` is a place that `app.go` named and that could not be shown yet."""

    arriving: dict[str, Any] | None = None
    _opening: str | None = None
    ending: dict[str, bool]
    """The keys of the servers that are ended from here, and whether it is their processes, without a session."""

    async def find(self) -> None:
        """The servers in the settings of the agents on this machine."""
        await self.workbench.engine_ready.wait()
        try:
            answer = await self.workbench.engine.ask("found")
        except EngineError as wrong:
            self.servers.searched = True
            self.workbench.say(wrong.message, "warning")
        else:
            self.servers.put_found(answer)
        self.show_all()
        self.arrive_late()

    def arrive_late(self) -> None:
        """Go where `app.go` wanted to, as far as that is there by now."""
        where = self.arriving
        if where is None:
            return
        server = self.servers.named(str(where.get("server") or ""), str(where.get("suite") or ""))
        if server is None and where.get("suite") and not where.get("server"):
            server = next((one for one in self.servers.by_key.values() if one.path == where["suite"]), None)
        if server is None:
            if self.servers.searched:
                self.arriving = None
                self.workbench.say(f"no server is called {where.get('server')}", "warning")
            return
        self.server_list.select(server.key)
        if where.get("tool") or where.get("call"):
            if not server.connected or server.key not in self.catalogs:
                if server.state == "off" and (where.get("call") or {}).pop("send", False):
                    self.connect(server, sends=True)
                elif server.state == "off":
                    self.go_to("servers")
                    self.workbench.say(
                        f"{server.name} is not connected: {key_of('server.connect')} connects it, and goes on to the call"
                    )
                return
            self.arriving = None
            self.arrive_at_call(server, where)
            return
        self.arriving = None
        self.go_to("servers")

    # Connecting

    def open_server(self) -> None:
        """Enter: what the server offers; one that is not connected is connected first."""
        server = self.server
        if server is None:
            return
        if server.connected:
            self.go_to("catalog")
        elif server.state != "starting":
            self._opening = server.key
            self.connect(server)

    def action_connect(self) -> None:
        """Connect the server under the cursor; one that is connected is started again."""
        server = self.server
        if server is None:
            self.workbench.say(f"{key_of('server.add')} adds a server by its command or URL")
        elif server.state != "starting":
            self.catalogs.pop(server.key, None)
            self.connect(server)

    def action_disconnect(self) -> None:
        """End the session of the server under the cursor, or give up connecting; one that is not connected, its processes."""
        server = self.server
        if server is not None and server.runs and server.state in ("off", "failed"):
            for process in self.servers.processes:
                if (process.suite, process.name) == (server.path, server.name):
                    self.workbench.engine.tell("end_process", number=process.number)
        elif server is not None and server.state in ("ready", "starting"):
            server.state = "stopping"
            self.in_background(partial(self._disconnect, server), f"connect {server.key}")
            self.show_all()
            self.wake()
        if server is not None:
            self.ending[server.key] = server.state != "stopping"
            self.workbench.say(f"ending {server.name} …")

    def connect(self, server: Server, *, sends: bool = False) -> None:
        """Start it, after a question if somebody else wrote it down. `sends`: then the call that is arrived at is made."""
        if self.arriving is not None:
            self.arriving["sends"] = sends
        if not self.servers.needs_asking(server):
            self._start(server)
            return
        from mcptest_tui.widgets.modals import Question

        verb = "ask this URL" if server.transport == "http" else "start it"

        consent = server.consent

        def answered(answer: str | None) -> None:
            if answer == "y":
                self.servers.agree(consent)
                self.connect(server, sends=sends)  # asks again, should its settings have changed meanwhile

        title = f"Connect to {server.name}?" if server.transport == "http" else f"Start {server.name}?"
        self.app.push_screen(Question(title, consent_lines(server), [("y", f"yes, {verb}"), ("n", "no")]), answered)

    def _start(self, server: Server) -> None:
        server.state, server.since, server.message = "starting", time.monotonic(), ""
        self.catalogs.pop(server.key, None)
        self.show_all()
        self.wake()
        self.in_background(partial(self._connect, server), f"connect {server.key}")

    async def _connect(self, server: Server) -> None:
        bench = self.workbench
        await bench.engine_ready.wait()
        try:
            await bench.engine.ask("connect", session=server.key, target={**server.target, "name": server.name})
        except EngineError as wrong:
            self.servers.refused(server, wrong.message, wrong.hint)
            self.show_all()

    async def _disconnect(self, server: Server) -> None:
        """Have its session ended; connecting that the engine has not heard of is given up, and nothing will be told of it."""
        if self.workbench.engine_ready.is_set():
            with suppress(EngineError):
                await self.workbench.engine.ask("disconnect", session=server.key)
        if server.state == "stopping":
            server.state, server.version = "off", server.version + 1
            self.show_all()
            self.tell_ended({server.key})

    def tell_ended(self, keys: set[str]) -> None:
        """Say which of these servers have ended that were ended from here."""
        for key in keys & set(self.ending):
            one = self.servers.by_key[key]
            if one.state in ("off", "failed") and not (self.ending[key] and one.runs):
                del self.ending[key]
                self.workbench.say(f"{one.name} has ended")

    def state_changed(self, server: Server) -> None:
        """The engine said what became of it."""
        if server.connected:
            self.in_background(partial(self._load, server), f"catalog {server.key}")
            return
        self.catalogs.pop(server.key, None)
        if server.state == "failed" and server is not self.server:
            self.workbench.tell(f"{server.name}: {server.message}", severity="error", hint=server.hint or None)

    # What it offers

    async def _load(self, server: Server, *, refresh: bool = False) -> None:
        before = self.catalogs.get(server.key)
        try:
            told = await self.workbench.engine.ask("catalog", session=server.key, refresh=refresh)
        except EngineError as wrong:
            server.catalog_problem = wrong.message
        else:
            server.catalog = told
            catalog = Catalog(told, server.watched)
            if before is not None:
                catalog.kind = before.kind
                catalog.search(before.filter)
            self.catalogs[server.key] = catalog
        self.server_list.refresh()
        if self.server is server:
            self.show_catalog()
            self.show_about(keep=True)
            self.refresh_bindings()
        if self._opening == server.key:
            self._opening = None
            if self.server is server and self.server_list.has_focus:
                self.go_to("catalog")
        self.arrive_late()

    def load_again(self, server: Server) -> None:
        """It said that its lists have changed."""
        self.in_background(partial(self._load, server, refresh=True), f"catalog {server.key}")

    def action_refresh(self) -> None:
        """Ask again what it offers; with none connected, look again for servers."""
        server = self.server
        if server is not None and server.connected:
            self.load_again(server)
        self.in_background(self.find, "servers.find")

    # Adding, and going elsewhere

    def action_add(self) -> None:
        """A command or a URL, typed."""
        from mcptest_tui.widgets.modals import Ask

        def answered(typed: str | None) -> None:
            server = self.servers.add(typed) if typed else None
            if server is not None:
                server.ask = False
                self.show_all()
                self.server_list.select(server.key)
                self.go_to("servers")
                self._opening = server.key
                self.connect(server)

        self.app.push_screen(
            Ask(
                "Server command or URL",
                "for example  python server.py  or  http://localhost:8000/mcp  or  https://host/mcp $MY_TOKEN\n"
                "(the name of the variable that holds a bearer token; `mcptest login URL` logs in by OAuth)",
                check=target_problem,
                entered=self.workbench.entered_servers,
            ),
            answered,
        )

    def action_edit(self) -> None:
        """The suite that declares the server."""
        server = self.server
        if server is None:
            return
        if server.path:
            self.workbench.go("edit", path=server.path, line=_line_of(server))
        else:
            self.workbench.say(f"{server.name} stands in no suite: {key_of('suite.new')} makes one")

    def action_traffic(self) -> None:
        """What is said with it."""
        server = self.server
        if server is not None:
            self.workbench.go("traffic", server=server.name)

    def action_new_suite(self) -> None:
        """A suite out of what the server says of itself, shown while it is chosen what goes in."""
        from mcptest_tui.screens.scaffold import ScaffoldScreen
        from mcptest_tui.state.scaffolding import Scaffolding, places_for

        server = self.server
        if server is None:
            return
        if told := self.idle_words("new_suite"):
            self.workbench.say(told)
            return
        folder = Path(server.path).parent if server.path else self.workbench.folder
        suites = [path for path, document in self.workbench.store.documents.items() if document.sound]
        places = places_for(suites, server.path if server.path in suites else "", str(free_path(folder)))
        self.app.push_screen(ScaffoldScreen(server.name, server.key, Scaffolding(places)))

    # What applies

    def idle_words(self, action: str) -> str:
        """What has to be connected first."""
        server = self.server
        if action not in ("new_suite", "filter", "ping") or server is None or server.connected:
            return ""
        return f"{server.name} is not connected: {key_of('server.connect')} connects it"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done to this server now is dim in the footer, or left out."""
        found: dict[str, Callable[[Server | None], bool | None]] = {
            "connect": lambda one: one is None or one.state != "starting",
            "disconnect": lambda one: (
                True if one is not None and (one.state in ("ready", "starting") or one.runs) else None
            ),
            "new_suite": lambda one: True if one is not None and one.connected else None,
            "filter": lambda one: True if one is not None and one.connected else None,
            "ping": lambda one: True if one is not None and one.connected else None,
            "log_level": lambda one: True if one is not None and one.connected and one.offers("logging") else None,
            "subscribe": lambda one: True if one is not None and one.offers("resources", "subscribe") else None,
            "raw": lambda one: self.looks_at_item,  # noqa: ARG005
            "edit": lambda one: True if one is not None and one.path else None,
            "save": lambda one: self.can_save(),  # noqa: ARG005
            "propose": lambda one: self.can_propose(),  # noqa: ARG005
        }
        if action in ("filter", "add") and isinstance(self.focused, (Input, TextArea)):
            return False
        if action in found:
            if not self.is_mounted:  # a key that comes while the screen is being made has the footer ask
                return None
            return found[action](self.server)
        return super().check_action(action, parameters)


def _line_of(server: Server) -> int:
    """The line on which a suite declares the server; 1 where that cannot be seen."""
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
