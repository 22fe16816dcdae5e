"""The servers, and what the server under the cursor offers: all panes of the servers' screen except the call's."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from textual.content import Content
from textual.widgets import Input, TextArea

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.base import Controller, WorkScreen
from mcptest_tui.state.about import item_lines, problem_lines, server_lines
from mcptest_tui.state.catalog import KINDS, TITLES, VERBS, Catalog
from mcptest_tui.state.servers import BUSY, Servers
from mcptest_tui.state.text_lines import line
from mcptest_tui.widgets.catalog_list import CatalogList, KindTabs
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.line import FilterLine
from mcptest_tui.widgets.server_list import ServerList
from mcptest_tui.widgets.text_view import TextView
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType

    from mcptest_tui.state.catalog import Item
    from mcptest_tui.state.servers import Server
    from mcptest_tui.state.text_lines import TextLine
    from mcptest_tui.widgets.lines import Lines

LONGEST_TYPED = 2_000
PLACES = ("servers", "catalog", "about")
NOTHING = Catalog()
"""What a server offers that is not connected."""


class SchemaView(TextView):
    """A `TextView` with colours for names, types and defaults."""

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
    HELP = """The details of the server, or of a tool, resource or prompt: the description as plain text, the arguments as a
    table with type, bounds and default, and the output schema. {servers.raw} shows the JSON that was sent; {about.open} opens
    the form for a call."""


class Browser(Controller):
    """Holds the servers and their catalogs, and shows those of the server under the cursor."""

    def __init__(self, screen: WorkScreen) -> None:
        super().__init__(screen)
        self.servers = Servers()
        self.catalogs: dict[str, Catalog] = {}
        self.looks_at = "server"
        self.raw = False
        self.wanted_key: str | None = None
        """The server of the last session, which may not be there yet."""
        self.selected: str | None = None
        self._catalog_of: str | None = None
        self.server_list = ServerList(self.servers, time.monotonic, id="server-list")
        self.kinds = KindTabs(id="kinds")
        self.filter_line = FilterLine("words, -words, read-only, destructive", id="catalog-filter")
        self.catalog_list = CatalogList(id="catalog")
        self.about = SchemaView(id="about")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim the filter key unless a server is connected; offer "raw" only for an item of its catalog."""
        if action == "filter" and isinstance(self.screen.focused, (Input, TextArea)):
            return False
        if action == "filter":
            return True if self.server is not None and self.server.connected else None
        return self.looks_at == "item" if action == "raw" else super().check_action(action, parameters)

    @property
    def server(self) -> Server | None:
        """The server under the cursor, if there is one."""
        return self.server_list.server()

    @property
    def catalog(self) -> Catalog:
        """What the current server offers; an empty one when it is not connected."""
        server = self.server
        return self.catalogs.get(server.key, NOTHING) if server is not None else NOTHING

    @property
    def item(self) -> Item | None:
        """The tool, resource or prompt that the right pane shows, if it shows one."""
        return self.catalog_list.item() if self.looks_at == "item" else None

    @property
    def one_pane(self) -> bool:
        """Whether panes are shown one at a time."""
        return self.screen.has_class("-narrow")

    def go_to(self, place: str, *, focus: bool = True) -> None:
        """Show a pane, where they are shown one at a time, and focus it unless `focus` is False."""
        self.screen.update_classes({f"-at-{name}": name == place for name in PLACES}, animate=False)
        if place != "about" and self.one_pane:
            self.screen.remove_class("-calling")
        if focus:
            {"servers": self.server_list, "catalog": self.catalog_list}.get(place, self.about).focus()

    def engine_lost(self) -> None:
        """Mark every session as lost and forget the catalogs, because the engine process ended."""
        self.servers.lost()
        self.servers.put_processes(())
        self.catalogs.clear()
        self.show_all()

    def remember(self) -> dict[str, Any]:
        """Return the servers typed by hand and the selected server, for the next session."""
        recent, current = self.servers.recent(), self.selected
        is_known = not (current or "").startswith("typed:") or (current or "").removeprefix("typed:") in recent
        return {"recent": recent, "current": current if is_known else None}

    def restore(self, memory: dict[str, Any]) -> None:
        """Apply what `remember` returned; commands typed by hand need consent before they start."""
        recent = memory.get("recent")
        for typed in reversed(recent if isinstance(recent, list) else []):
            if isinstance(typed, str) and len(typed) < LONGEST_TYPED:
                self.servers.add(typed, ask=True)
        if isinstance(memory.get("current"), str):
            self.wanted_key = memory["current"]
        self.show_all()

    def tick(self) -> None:
        """Redraw the durations in the panes; the screen's timer calls it."""
        self.server_list.refresh()
        server = self.server
        if server is not None and server.state in BUSY and self.looks_at == "server":
            self.show_about(keep=True)

    def show_all(self) -> None:
        """Redraw all panes; select the server of the last session once it is listed."""
        if self.wanted_key is not None and self.wanted_key in self.servers.by_key:
            self.server_list.current, self.wanted_key = self.wanted_key, None
        self.server_list.rebuilt()
        self.show_catalog()
        self.show_about(keep=True)
        self.screen.refresh_bindings()

    def show_catalog(self) -> None:
        """Show what the current server offers, or why there is nothing to show."""
        server, catalog = self.server, self.catalog
        listed = self.catalog_list
        key = server.key if server is not None else None
        same, before = key == self._catalog_of, listed.item()
        self._catalog_of = key
        cursor = listed.cursor if listed.catalog is catalog else catalog.place(before) if same and before else 0
        listed.show(catalog, self._why_nothing(), cursor=cursor)
        self.kinds.show(catalog.kind, catalog.counts() if catalog is not NOTHING else {})
        if not self.filter_line.has_focus:
            self.filter_line.put(catalog.filter)
        pane = self.screen.query_one("#catalog-pane")
        name = server.name if server is not None else ""
        told = f"{len(catalog.shown)} of {len(catalog.items[catalog.kind])}" if catalog.filter else ""
        show_titles(pane, shown(one_line("  ".join(filter(None, (name, told))) or "Catalog", 60)))

    def show_about(self, *, keep: bool = False) -> None:
        """Show the details of the item, server or problem under the cursor."""
        view, pane = self.about, self.screen.query_one("#about-pane")
        item = self.item
        server, problem = self.server, self.server_list.problem()
        self.selected = self.server_list.current
        if item is not None:
            view.show(item_lines(item, raw=self.raw), keep=keep)
            form = "text" if self.raw else "JSON"
            keys = f"{key_of('catalog.open')} {VERBS[item.kind]}   {key_of('servers.raw')} as {form}"
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
            return f"{server.short}; {retry} {again}, {more} shows more"
        return (
            f"starting …  {key_of('app.back')} cancels"
            if server.state == "starting"
            else f"not connected; {key_of('server.connect')} connects"
        )

    def _server_keys(self, server: Server) -> list[tuple[str, str]]:
        if server.connected:
            return [
                (key_of("servers.open"), "shows its tools, resources and prompts"),
                (key_of("suite.new"), "makes a suite for it"),
                (key_of("servers.traffic"), "shows its traffic"),
                (key_of("servers.refresh"), "reads its lists again"),
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

    def look_at(self, what: str) -> None:
        """Show the details of the "server" or the "item" under the cursor in the right pane."""
        self.looks_at = what
        self.show_about()

    def on_catalog_list_left(self, event: CatalogList.Left) -> None:
        """Go back from the catalog to the list of servers."""
        event.stop()
        self.go_to("servers")

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """Show the details of the row under the cursor, in place of a call's form."""
        if event.lines is self.server_list:
            self.screen.remove_class("-calling")
            self.show_catalog()
            self.look_at("server")
            self.screen.refresh_bindings()
        elif event.lines is self.catalog_list:
            self.screen.remove_class("-calling")
            self.look_at("item")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Show the details of the list that has the focus now."""
        looks_at = {"server-list": "server", "catalog": "item"}.get(event.widget.id or "")
        if looks_at is not None:
            self.go_to("servers" if looks_at == "server" else "catalog", focus=False)
            if looks_at != self.looks_at:
                self.look_at(looks_at)
                self.screen.refresh_bindings()
        elif event.widget is self.about:
            self.go_to("about", focus=False)

    def on_kind_tabs_clicked(self, event: KindTabs.Clicked) -> None:
        """Show the catalog's list whose tab was clicked."""
        event.stop()
        self.use_kind(event.kind)

    def on_filter_line_filtered(self, event: FilterLine.Filtered) -> None:
        """Filter the catalog by the text typed so far; focus the list at the end."""
        if event.line is not self.filter_line:
            return
        event.stop()
        if self.catalog is not NOTHING:
            self.catalog.search(event.text)
            self.show_catalog()
            self.look_at("item")
        if event.done:
            self.catalog_list.focus()

    def clear_filter(self) -> bool:
        """Remove the filter; return False when none is typed or set where the focus is."""
        if not self.filter_line.has_focus and (not self.catalog.filter or self.server_list.has_focus):
            return False
        self.catalog.search("")
        self.filter_line.put("")
        self.catalog_list.focus()
        self.show_catalog()
        return True

    def action_filter(self) -> None:
        """Open the line to type a filter for the catalog."""
        if self.one_pane:
            self.go_to("catalog")
        self.filter_line.open()

    def action_kind(self, step: int) -> None:
        """Show the next or the previous list of the catalog, and skip empty ones."""
        kinds = [kind for kind in KINDS if self.catalog.items[kind]] or list(KINDS)
        at = kinds.index(self.catalog.kind) if self.catalog.kind in kinds else 0
        self.use_kind(kinds[(at + step) % len(kinds)])

    def use_kind(self, kind: str) -> None:
        if self.catalog is NOTHING:
            return
        self.catalog.use(kind)
        self.catalog_list.cursor = 0
        self.show_catalog()
        self.look_at("item")

    def action_details(self) -> None:
        """Show and focus the details of the server or item under the cursor."""
        self.screen.remove_class("-calling")
        self.show_about()
        self.go_to("about")

    def action_raw(self) -> None:
        """Switch the details of an item between its description and its JSON."""
        self.raw = not self.raw
        self.show_about()

    def action_copy(self) -> None:
        """Copy the line of the item, or the command or URL of the server."""
        item, server = self.item, self.server
        if item is not None:
            self.workbench.copy("".join(text for text, _ in item.pieces), "the line")
        elif server is not None:
            self.workbench.copy(server.shown, "the URL" if server.transport == "http" else "the command")


def _empty_lines(searched: bool) -> list[TextLine]:
    if not searched:
        return [line(("looking for servers …", "dim"))]
    return [
        line(("No server here yet.", "bold")),
        line(""),
        line(("No open suite names a server, and no coding agent on this machine has one in its settings.", "dim")),
        line(""),
        line((f"{key_of('server.add')}  ", "key"), "a command or a URL"),
    ]
