"""What the parts of the servers' screen know of each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.screens.working import Working
from mcptest_tui.state.catalog import Catalog
from mcptest_tui.state.servers import Servers
from mcptest_tui.widgets.call_pane import CallPane
from mcptest_tui.widgets.catalog_list import CatalogList
from mcptest_tui.widgets.filter_line import FilterLine
from mcptest_tui.widgets.server_list import ServerList

if TYPE_CHECKING:
    from textual.widget import Widget

    from mcptest_tui.state.catalog import Item
    from mcptest_tui.state.forms import Form
    from mcptest_tui.state.servers import Server

PLACES = ("servers", "catalog", "about")
NOTHING = Catalog()
"""What a server offers that is not connected."""


@dataclass(slots=True, eq=False)
class Call:
    """A form and what came of sending it. `params` are those that were sent last."""

    server: Server
    form: Form
    params: dict[str, Any] = field(default_factory=dict)
    called: dict[str, Any] | None = None
    refused: str = ""
    hint: str = ""
    stderr: str = ""
    started: float | None = None
    warning: str = ""

    @property
    def answer(self) -> dict[str, Any] | None:
        """What the server answered: `{result}` or `{error}`."""
        return self.called["answer"] if self.called is not None else None

    @property
    def invalid(self) -> str:
        """What is wrong with the answer by the protocol or the tool's `outputSchema`."""
        return str((self.called or {}).get("invalid", {}).get("message", ""))


class ServersBase(Working, WorkScreen):
    """The state, the widgets, and the steps that one part asks of another; each stands in the part that its name speaks of."""

    call: Call | None = None

    def __init__(self) -> None:
        super().__init__()
        self.servers = Servers()
        self.catalogs: dict[str, Catalog] = {}
        self.looks_at = "server"

    if TYPE_CHECKING:
        # servers.py
        def show_all(self) -> None: ...
        def show_catalog(self) -> None: ...
        def show_about(self, *, keep: bool = False) -> None: ...
        def wake(self) -> None: ...

        # connecting.py
        def load_again(self, server: Server) -> None: ...

        # calling.py
        def open_call(self, item: Item, arguments: dict[str, Any] | None = None, *, send: bool = False) -> None: ...
        def arrive_at_call(self, server: Server, where: dict[str, Any]) -> None: ...
        def show_form_again(self, at: str) -> None: ...
        def can_save(self) -> bool: ...

        # proposing.py
        def can_propose(self) -> bool: ...

    @property
    def server_list(self) -> ServerList:
        """The servers."""
        return self.query_one(ServerList)

    @property
    def catalog_list(self) -> CatalogList:
        """What the current one offers."""
        return self.query_one(CatalogList)

    @property
    def call_pane(self) -> CallPane:
        """Form and answer."""
        return self.query_one(CallPane)

    @property
    def filter_line(self) -> FilterLine:
        """The filter of the catalog."""
        return self.query_one("#catalog-filter", FilterLine)

    @property
    def server(self) -> Server | None:
        """The one under the cursor."""
        return self.server_list.server()

    @property
    def catalog(self) -> Catalog:
        """What the current server offers; an empty one when it is not connected."""
        server = self.server
        return self.catalogs.get(server.key, NOTHING) if server is not None else NOTHING

    @property
    def one_pane(self) -> bool:
        """Whether panes are shown one at a time."""
        return self.has_class("-narrow")

    @property
    def looks_at_item(self) -> bool:
        """Whether the right pane is about what a server offers."""
        return self.looks_at == "item"

    @property
    def is_calling(self) -> bool:
        """Whether the form is shown."""
        return self.has_class("-calling")

    def go_to(self, place: str, *, focus: bool = True) -> None:
        """Show a pane, where they are shown one at a time, and type in it."""
        for name in PLACES:
            self.set_class(name == place, f"-at-{name}")
        if place != "about" and self.one_pane:
            self.remove_class("-calling")
        if focus:
            widget: Widget = {"servers": self.server_list, "catalog": self.catalog_list}.get(
                place, self.query_one("#about")
            )
            widget.focus()
