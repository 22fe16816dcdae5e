"""Mode 3: the servers, what each of them offers, and calls by hand. The screen owns the state; what is shown only shows it.

Nothing starts on its own. What a server is asked for is asked by a worker, never by a handler.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Horizontal, Vertical
from textual.content import Content

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.asking import Asking
from mcptest_tui.screens.calling import Calling
from mcptest_tui.screens.connecting import Connecting
from mcptest_tui.screens.proposing import Proposing
from mcptest_tui.screens.servers_base import NOTHING
from mcptest_tui.state.about import item_lines, problem_lines, server_lines
from mcptest_tui.state.catalog import KINDS, TITLES, VERBS
from mcptest_tui.state.servers import BUSY
from mcptest_tui.state.text_lines import line
from mcptest_tui.widgets.call_pane import CallPane
from mcptest_tui.widgets.catalog_list import CatalogList, KindTabs
from mcptest_tui.widgets.filter_line import FilterLine
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.server_list import ServerList
from mcptest_tui.widgets.splitter import Splitter
from mcptest_tui.widgets.text_view import TextView
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual import events
    from textual.binding import BindingType
    from textual.timer import Timer
    from textual.widget import Widget

    from mcptest_tui.state.catalog import Item
    from mcptest_tui.state.servers import Server
    from mcptest_tui.widgets.lines import Lines

TICK_SECONDS = 0.5


class SchemaView(TextView):
    """A `TextView` with inks for names, types and defaults."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("about")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"text-view--{ink}" for ink in ("name", "type", "default")}
    DEFAULT_CSS = """
    SchemaView {
        & > .text-view--name { color: $foreground; }
        & > .text-view--key { color: $json-key; }
        & > .text-view--type { color: $json-string; }
        & > .text-view--default { color: $json-number; }
    }
    """
    HELP = """What the server says of itself, or of what it offers: the description as plain text, the arguments as a table with
    type, bounds and default, and what comes back. {servers.raw} shows the JSON that was sent; {about.open} goes on to
    the call."""


class ServersScreen(Connecting, Calling, Proposing, Asking):
    """Three panes; at narrow sizes one of them."""

    MODE = "servers"
    CSS_PATH = "servers.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("servers")
    HELP = ServerList.HELP

    def __init__(self) -> None:
        super().__init__()
        self.ending = {}
        self.raw = False
        self._tick: Timer | None = None
        self._wanted_key: str | None = None
        self._catalog_of: str | None = None
        self._selected: str | None = None

    def compose_body(self) -> Iterable[Widget]:
        """Servers and catalog at the left, what is looked at or called at the right."""
        with Horizontal(id="servers"):
            with Vertical(id="servers-side"):
                with Vertical(id="servers-pane", classes="pane"):
                    yield ServerList(self.servers, time.monotonic, id="server-list")
                yield Splitter(id="servers-catalog", percent=40, lying=True)
                with Vertical(id="catalog-pane", classes="pane"):
                    yield KindTabs(id="kinds")
                    yield FilterLine("words, -words, read-only, destructive", id="catalog-filter")
                    yield CatalogList(id="catalog")
            yield Splitter(id="side-about", percent=42)
            with Vertical(id="about-pane", classes="pane"):
                yield SchemaView(id="about")
            yield CallPane(id="call-pane", classes="pane -unsent")

    def on_mount(self) -> None:
        """What there is already; the machine is searched by the engine."""
        self._tick = self.set_interval(TICK_SECONDS, self._ticked, pause=True)
        show_titles(self.query_one("#servers-pane"), Content("Servers"))
        self.go_to("servers")
        self.documents_read()
        self.in_background(self.find, "servers.find")

    def tools(self) -> Iterable[tuple[str, str, Item]]:
        """Those of every connected server."""
        for key, catalog in self.catalogs.items():
            server = self.servers.by_key.get(key)
            if server is not None and server.connected:
                yield from ((server.path, server.name, item) for item in catalog.items["tools"])

    # What comes from the app

    def engine_events(self, events: list[dict[str, Any]]) -> None:
        """States of servers, and what they have to say unasked."""
        self.server_news(events)
        moved = self.servers.apply(events, time.monotonic())
        changed = moved | self.servers.put_processes(self.workbench.processes)
        if not changed:
            return
        for key in moved:
            self.state_changed(self.servers.by_key[key])
            self.server_moved(self.servers.by_key[key])
        self.server_list.refresh()
        self._wake()
        server = self.server
        if server is not None and server.key in changed:
            self.show_catalog()
            self.show_about(keep=True)
        self.refresh_bindings()
        self.workbench.refresh_status()
        self.tell_ended(changed)

    def engine_changed(self, state: str, message: str) -> None:  # noqa: ARG002
        """Every session is gone with the engine that had it."""
        if state in ("lost", "gone"):
            self.servers.lost()
            self.servers.put_processes(())
            self.catalogs.clear()
            self.show_all()

    def documents_read(self) -> None:
        """Other servers in the suites."""
        self.servers.put_suites(self.workbench.store.documents.values())
        self.servers.put_processes(self.workbench.processes)
        self.show_all()
        self.arrive_late()

    def arrive(self, **where: Any) -> None:
        """Show a server by its suite and name; with `tool` or `call`, what is to be called there."""
        self.arriving = dict(where)
        self.arrive_late()

    def show_all(self) -> None:
        """Everything anew, the cursor on its server."""
        if self._wanted_key is not None and self._wanted_key in self.servers.by_key:
            self.server_list.current, self._wanted_key = self._wanted_key, None
        self.server_list.rebuilt()
        self.show_catalog()
        self.show_about(keep=True)
        self.refresh_bindings()

    # What is shown

    def show_catalog(self) -> None:
        """The lists of the current server."""
        server, catalog = self.server, self.catalog
        listed = self.catalog_list
        key = server.key if server is not None else None
        same, before = key == self._catalog_of, listed.item()
        self._catalog_of = key
        cursor = listed.cursor if listed.catalog is catalog else catalog.place(before) if same and before else 0
        listed.show(catalog, self._why_nothing(), cursor=cursor)
        self.query_one(KindTabs).show(catalog.kind, catalog.counts() if catalog is not NOTHING else {})
        if not self.filter_line.has_focus:
            self.filter_line.put(catalog.filter)
        pane = self.query_one("#catalog-pane")
        name = server.name if server is not None else ""
        told = f"{len(catalog.shown)} of {len(catalog.items[catalog.kind])}" if catalog.filter else ""
        show_titles(pane, shown(one_line("  ".join(filter(None, (name, told))) or "Catalog", 60)))

    def show_about(self, *, keep: bool = False) -> None:
        """What the cursor is on: the server, or what it offers."""
        view, pane = self.query_one("#about", SchemaView), self.query_one("#about-pane")
        item = self.catalog_list.item() if self.looks_at == "item" else None
        server, problem = self.server, self.server_list.problem()
        self._selected = self.server_list.current
        if item is not None:
            view.show(item_lines(item, raw=self.raw), keep=keep)
            reads = "reads" if self.raw else "JSON"
            keys = f"{key_of('catalog.open')} {VERBS[item.kind]}s it   {key_of('servers.raw')} {reads}"
            show_titles(pane, shown(one_line(item.name, 60)), shown(keys))
        elif server is not None:
            view.show(server_lines(server, time.monotonic(), self._server_keys(server)), keep=keep)
            show_titles(pane, shown(one_line(server.name, 60)), Content(""))
        elif problem is not None:
            view.show(problem_lines(problem), keep=keep)
            show_titles(pane, shown(one_line(problem.client, 60)), Content(""))
        else:
            view.show(_empty_lines(self.servers.searched), keep=keep)
            show_titles(pane, Content("Servers"), Content(""))

    def _why_nothing(self) -> str:
        server, catalog = self.server, self.catalog
        if server is None:
            return ""
        if catalog is not NOTHING:
            problem = catalog.problem(catalog.kind)
            if problem:
                return problem
            kind = TITLES[catalog.kind].lower()
            return (
                f'no {kind} match "{catalog.filter}"; {key_of("app.back")} clears it'
                if catalog.filter
                else f"it offers no {kind}"
            )
        if server.connected:
            return (
                server.catalog_problem
                or f"listing tools, resources and prompts …  {key_of('server.disconnect')} ends it"
            )
        if server.state == "failed":
            retry, more = key_of("server.connect"), key_of("servers.details")
            again = "starts it again" if server.died else "tries again"
            return f"{server.short}; {retry} {again}, {more} says more"
        return (
            f"starting …  {key_of('app.back')} cancels"
            if server.state == "starting"
            else f"not connected; {key_of('server.connect')} connects"
        )

    def key_title(self, action: str) -> str:
        """The footer's word for a key that does another thing now; "" for its usual one."""
        server = self.server
        if action == "connect" and server is not None and server.connected:
            return "reconnect"
        return "start again" if action == "connect" and server is not None and server.state == "failed" else ""

    def _server_keys(self, server: Server) -> list[tuple[str, str]]:
        if server.connected:
            return [
                (key_of("servers.open"), "what it offers"),
                (key_of("suite.new"), "a suite for it"),
                (key_of("servers.traffic"), "what is said with it"),
                (key_of("servers.refresh"), "asks again what it offers"),
                (
                    key_of("server.connect"),
                    "reconnects: ends and starts it" if server.transport != "http" else "reconnects",
                ),
                (key_of("server.disconnect"), "ends it"),
            ]
        if server.state == "starting":
            return [(key_of("server.disconnect"), "ends it")]
        verb = (
            "starts it again"
            if server.died and server.transport != "http" and server.state == "failed"
            else "tries again"
            if server.state == "failed"
            else "connects"
            if server.transport == "http"
            else "starts and connects"
        )
        keys = [(key_of("server.connect"), verb)]
        keys += [(key_of("server.disconnect"), "ends it")] if server.runs else []
        keys += [(key_of("servers.edit"), "opens its suite")] if server.group == "suite" else []
        return [*keys, (key_of("server.add"), "another command or URL")]

    # The cursor and the focus

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """Follow it."""
        event.stop()
        if event.lines is self.server_list:
            self.looks_at = "server"
            self.remove_class("-calling")
            self.show_catalog()
            self.show_about()
            self.refresh_bindings()
        elif event.lines is self.catalog_list:
            self.looks_at = "item"
            self.remove_class("-calling")
            self.show_about()
        elif event.lines is self.call_pane.result:
            self.told_path()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The right pane is about what the focus is in."""
        looks_at = {"server-list": "server", "catalog": "item"}.get(event.widget.id or "")
        if looks_at is not None:
            self.go_to("servers" if looks_at == "server" else "catalog", focus=False)
            if looks_at != self.looks_at:
                self.looks_at = looks_at
                self.show_about()
                self.refresh_bindings()
        elif self.call_pane in event.widget.ancestors_with_self or event.widget.id == "about":
            self.go_to("about", focus=False)

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Enter: on a server what it offers, on what it offers the form."""
        event.stop()
        if event.lines is self.server_list:
            self.open_server()
        elif event.lines is self.catalog_list:
            item = self.catalog_list.item()
            if item is not None:
                self.open_call(item)
        elif event.lines is self.query_one("#about"):
            item = self.catalog_list.item() if self.looks_at_item else None
            if item is not None:
                self.open_call(item)
            else:
                self.open_server()

    def on_catalog_list_left(self, event: CatalogList.Left) -> None:
        """Back to the servers."""
        event.stop()
        self.go_to("servers")

    def on_kind_tabs_clicked(self, event: KindTabs.Clicked) -> None:
        """By the mouse."""
        event.stop()
        self._use_kind(event.kind)

    def on_filter_line_filtered(self, event: FilterLine.Filtered) -> None:
        """A letter of the filter, or of a search in the answer."""
        event.stop()
        if event.line is not self.filter_line:
            self.search_answer(event.text, done=event.done)
            return
        if self.catalog is not NOTHING:
            self.catalog.search(event.text)
            self.show_catalog()
            self.looks_at = "item"
            self.show_about()
        if event.done:
            self.catalog_list.focus()

    def action_filter(self) -> None:
        """Type a filter for what is offered."""
        if self.one_pane:
            self.go_to("catalog")
        self.filter_line.open()

    def action_kind(self, step: int) -> None:
        """The next list, or the one before; empty ones are passed over."""
        kinds = [kind for kind in KINDS if self.catalog.items[kind]] or list(KINDS)
        at = kinds.index(self.catalog.kind) if self.catalog.kind in kinds else 0
        self._use_kind(kinds[(at + step) % len(kinds)])

    def _use_kind(self, kind: str) -> None:
        if self.catalog is NOTHING:
            return
        self.catalog.use(kind)
        self.catalog_list.cursor = 0
        self.show_catalog()
        self.looks_at = "item"
        self.show_about()

    def action_details(self) -> None:
        """Read what the cursor is on: the server and its last words, or a tool and its schema."""
        self.remove_class("-calling")
        self.show_about()
        self.go_to("about")

    def action_raw(self) -> None:
        """The description, or the JSON."""
        self.raw = not self.raw
        self.show_about()

    def action_copy(self) -> None:
        """The line under the cursor: a signature, a URI, a command."""
        item, server = self.catalog_list.item(), self.server
        if self.looks_at == "item" and item is not None:
            self.workbench.copy("".join(text for text, _ in item.pieces), "the line")
        elif server is not None:
            self.workbench.copy(server.shown, "the URL" if server.transport == "http" else "the command")

    # The session, and the bars

    def back(self) -> bool:
        """Out of the search, the call, the filter, and back to the servers."""
        if self.close_search() or self.give_up_call() or self.give_up_wait():
            return True
        if self.server is not None and self.server.state == "starting":
            self.action_disconnect()
            return True
        if self.is_calling:
            self.leave_call()
            return True
        if self.filter_line.has_focus or (self.catalog.filter and not self.server_list.has_focus):
            self.catalog.search("")
            self.filter_line.put("")
            self.catalog_list.focus()
            self.show_catalog()
            return True
        if self.query_one("#about").has_focus:
            self.go_to("catalog" if self.looks_at == "item" else "servers")
            return True
        if self.catalog_list.has_focus:
            self.go_to("servers")
            return True
        return False

    def hints_first(self) -> dict[str, str]:
        """Cancel what is waited for; in a form, the ways out; in what is offered, the other lists."""
        if self.is_waiting:
            return {"app.back": "cancel"}
        if self.call_pane.form.has_focus_within:
            return {"call.send": "", "call.item.add": "", "app.back": "", "modes": ""}
        return {"lists": ""} if self.catalog_list.has_focus else {}

    def remember(self) -> dict[str, Any]:
        """What was typed, and the selection; nothing that a server said."""
        recent, current = self.servers.recent(), self._selected or ""
        is_kept = not current.startswith("typed:") or current.removeprefix("typed:") in recent
        return {"recent": recent, "current": self._selected if is_kept else None}

    def restore(self, memory: dict[str, Any]) -> None:
        """From the last session; a command from a file is asked about before it is started."""
        recent = memory.get("recent")
        for typed in reversed(recent if isinstance(recent, list) else []):
            if isinstance(typed, str) and len(typed) < 2_000:
                self.servers.add(typed, ask=True)
        if isinstance(memory.get("current"), str):
            self._wanted_key = memory["current"]
        self.show_all()

    def _wake(self) -> None:
        if self._tick is not None and (self.server_list.busy or self.waiting):
            self._tick.resume()

    def _ticked(self) -> None:
        if not (self.server_list.busy or self.waiting) and self._tick is not None:
            self._tick.pause()
        self.server_list.refresh()
        server = self.server
        if server is not None and server.state in BUSY and self.looks_at == "server":
            self.show_about(keep=True)
        self.tell_waiting()

    def wake(self) -> None:
        """Something that changes with the time is shown."""
        self._wake()


def _empty_lines(searched: bool) -> list[Any]:
    if not searched:
        return [line(("looking for servers …", "dim"))]
    return [
        line(("No server here yet.", "bold")),
        line(""),
        line(("No open suite names a server, and no coding agent on this machine has one in its settings.", "dim")),
        line(""),
        line((f"{key_of('server.add')}  ", "key"), "a command or a URL"),
    ]
