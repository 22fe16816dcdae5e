"""The servers, under the headings of where they come from, each with its state in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line
from mcptest_tui.state.servers import BUSY, ConfigProblem, Heading, Server, state_mark, state_text
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from textual.binding import BindingType

    from mcptest_tui.state.servers import Servers
    from mcptest_tui.widgets.lines import Piece

STATES = ("off", "starting", "stopping", "ready", "failed")


class ServerList(Lines):
    """Draws a `Servers`; the selection is a key, so that it stays where it is while others come and go."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("servers.list")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"server-list--{state}" for state in STATES),
        "server-list--heading",
        "server-list--origin",
        "server-list--note",
    }
    DEFAULT_CSS = """
    ServerList {
        & > .server-list--heading { color: $foreground 70%; text-style: bold; }
        & > .server-list--note { color: $warning; }
        & > .server-list--origin { color: $foreground 60%; }
        & > .server-list--off { color: $foreground 65%; }
        & > .server-list--starting { color: $primary; text-style: bold; }
        & > .server-list--stopping { color: $primary; }
        & > .server-list--ready { color: $verdict-pass; }
        & > .server-list--failed { color: $verdict-fail; text-style: bold; }
    }
    """
    HELP = """The servers of the open suites, those found in the settings of coding agents on this machine, and those that you
    typed. None is started until you connect it. {server.ping} pings it, {servers.traffic} shows its traffic. Requests
    of a server to its client (roots, sampling, elicitation) are answered by `client:` of its suite, and refused without it.
    Tasks are not supported."""

    def __init__(self, servers: Servers, now: Callable[[], float], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.servers = servers
        self.current: str | None = None
        self._now = now

    def count(self) -> int:
        """How many rows there are, or lines of the text without servers."""
        return len(self.servers.rows) or len(self._nothing)

    @property
    def _nothing(self) -> tuple[str, ...]:
        if not self.servers.searched:
            return ("looking for servers …",)
        return "no server yet", f"{key_of('server.add')} adds one by its command or URL"

    def server(self) -> Server | None:
        """Return the server under the cursor, None on any other row."""
        row = self.servers.rows[self.cursor] if self.cursor < len(self.servers.rows) else None
        return row if isinstance(row, Server) else None

    def rebuilt(self) -> None:
        """Draw the changed rows; the cursor stays on its server."""
        rows = self.servers.rows
        at = next((at for at, row in enumerate(rows) if isinstance(row, Server) and row.key == self.current), None)
        if at is None:
            at = next((at for at, row in enumerate(rows) if not isinstance(row, Heading) and at >= self.cursor), None)
        if at is None:
            at = next((at for at, row in enumerate(rows) if not isinstance(row, Heading)), 0)
        before = self.current
        self.changed(cursor=at)
        self.show_row(self.cursor)
        server = self.server()
        self.current = server.key if server is not None else None
        if self.current != before:
            self.cursor_moved()

    def select(self, key: str) -> bool:
        """Move the cursor to a server; return False when it is not listed."""
        at = next((at for at, row in enumerate(self.servers.rows) if isinstance(row, Server) and row.key == key), None)
        if at is not None:
            self.move_to(at)
        return at is not None

    def move_to(self, at: int, *, tell: bool = True, centre: bool = False) -> None:
        """Move the cursor to row `at`, passing over headings in the same direction."""
        rows = self.servers.rows
        if not rows:
            return
        at = min(max(at, 0), len(rows) - 1)
        step = 1 if at >= self.cursor else -1
        wanted = at
        while 0 <= wanted < len(rows) and isinstance(rows[wanted], Heading):
            wanted += step
        if not 0 <= wanted < len(rows):
            wanted = at
            while 0 <= wanted < len(rows) and isinstance(rows[wanted], Heading):
                wanted -= step
        if 0 <= wanted < len(rows):
            super().move_to(wanted, tell=tell, centre=centre)
            if wanted == 1:
                self.show_row(0)

    def cursor_moved(self) -> None:
        """Remember the server under the cursor by its key."""
        server = self.server()
        self.current = server.key if server is not None else None
        super().cursor_moved()

    def problem(self) -> ConfigProblem | None:
        """Return the unreadable agent settings under the cursor, None on any other row."""
        row = self.servers.rows[self.cursor] if self.cursor < len(self.servers.rows) else None
        return row if isinstance(row, ConfigProblem) else None

    @property
    def busy(self) -> bool:
        """Whether a state is shown that changes with time."""
        return any(isinstance(row, Server) and row.state in BUSY for row in self.servers.rows)

    def jump_targets(self) -> Iterator[tuple[int, int, object]]:
        """Every server in view, for the jump overlay."""
        top = self.scroll_offset.y
        for at in range(top, min(top + self.page, len(self.servers.rows))):
            if isinstance(self.servers.rows[at], Server):
                yield 1, at - top, lambda at=at: self.move_to(at)

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        if not self.servers.rows:
            return [(one_line(f" {self._nothing[at]}", width), "server-list--origin")]
        row = self.servers.rows[at]
        if isinstance(row, Heading):
            return [(one_line(row.title, width), "server-list--heading")]
        if isinstance(row, ConfigProblem):
            told = one_line(f"{row.client}: {row.path.rpartition('/')[2]} cannot be read", max(width - 3, 1))
            return [(f" {MARKS['fail']} ", "server-list--failed"), (told, "server-list--note")]
        words = one_line(state_text(row, self._now()), max(width // 2, 8))
        name = one_line(row.name, max(width - cell_len(words) - 4, 6))
        room = width - 3 - cell_len(name) - cell_len(words) - 3
        origin = one_line(row.origin, room) if row.origin and room >= 6 else ""
        gap = max(width - 3 - cell_len(name) - (cell_len(origin) + 2 if origin else 0) - cell_len(words), 1)
        return [
            (f" {MARKS[state_mark(row)]} ", f"server-list--{row.state}"),
            (name, ""),
            (f"  {origin}" if origin else "", "server-list--origin"),
            (" " * gap, ""),
            (words, f"server-list--{row.state}"),
        ]
