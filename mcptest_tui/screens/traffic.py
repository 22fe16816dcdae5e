"""Mode 5: every message both ways of all sessions, of runs and of browsing; what it holds, and the same call again.

The engine sends rows only while this screen is shown. Those of the meantime are stored, and sent first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Vertical
from textual.content import Content

from mcptest_engine.core.text import counted
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.base import Controller, WorkScreen, in_background
from mcptest_tui.screens.traffic_message import MessageActions, OpenMessage
from mcptest_tui.state.traffic import Traffic
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.line import FilterLine
from mcptest_tui.widgets.splitter import Splitter
from mcptest_tui.widgets.traffic_list import TrafficList
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.binding import BindingType
    from textual.widget import Widget

    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent

ERRORS = "is:error"


def no_messages_text() -> tuple[str, ...]:
    """Return the texts that an empty list of messages shows."""
    run, connect = (key_of("app.mode.1"), key_of("run.this")), (key_of("app.mode.3"), key_of("server.connect"))
    return (
        "",
        "No message yet.",
        "",
        f"Run a test ({', then '.join(run)}) or connect a server ({', then '.join(connect)}),",
        "and every message appears here, with its time and size.",
    )


class TrafficScreen(WorkScreen):
    """The list; Enter opens the message below it, or over it where there is little room."""

    MODE = "traffic"
    CSS_PATH = "traffic.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("traffic")
    HELP = TrafficList.HELP

    def __init__(self) -> None:
        super().__init__()
        self.traffic = Traffic()
        self.rows = TrafficList(self.traffic, id="traffic-list")
        self.message = OpenMessage(self, self.traffic, self.rows)
        self.listing = Listing(self, self.traffic, self.rows)
        self.calls = MessageActions(self, self.message, self.rows)

    def compose_body(self) -> Iterable[Widget]:
        """The filter and the list; the message."""
        with Vertical(id="traffic"):
            with Vertical(id="traffic-pane", classes="pane"):
                yield self.listing.filter_line
                yield self.rows
            yield Splitter(id="traffic-message", percent=50, lying=True, alone=("-narrow", "-short", "-closed"))
            with Vertical(id="message-pane", classes="pane"):
                yield self.message.search
                yield self.message.tree

    def on_mount(self) -> None:
        """The engine sends the stored rows by itself."""
        self.message.set_open(is_open=False)
        self.listing.use_filter("")
        self.rows.focus()

    def on_screen_resume(self) -> None:
        """Let the engine send rows."""

        async def listen() -> None:
            await self.workbench.engine_ready.wait()
            self.workbench.engine.send("traffic_on", on=True)

        in_background(self, listen, "traffic.on")

    def on_screen_suspend(self) -> None:
        """Let the engine store rows, unless a dialog covers the screen."""
        if isinstance(self.app.screen, WorkScreen) and self.app.screen is not self:
            self.workbench.engine.send("traffic_on", on=False)

    def engine_events(self, events: list[WorkbenchEvent]) -> None:
        """Show new messages, and the answer of the open one."""
        before = self.traffic.missed
        if self.traffic.apply(events):
            self.rows.rebuilt()
            opened = self.message.row
            if opened is not None and self.rows.row() is opened and opened.answer is not None:
                self.message.show(opened)
        if self.traffic.missed != before or any(event["event"] == "traffic" for event in events):
            self.listing.show_title()

    def engine_changed(self, state: str, message: str) -> None:  # noqa: ARG002
        """Mark all bodies and streams as lost when the engine process has ended."""
        if state in ("lost", "gone"):
            self.traffic.lost()
            self.rows.rebuilt()

    def arrive(self, **where: object) -> None:
        """Show the messages of one server, or of one method."""
        parts = [f'{name}:"{where[name]}"' for name in ("server", "method") if isinstance(where.get(name), str)]
        self.listing.put_filter(" ".join(parts))

    def back(self) -> bool:
        """Close the search, else the message, else the filter."""
        return self.message.back() or self.listing.back()

    def status_text(self) -> Content:
        """Return the errors, and whether the list is paused, for the status bar."""
        parts = []
        if self.traffic.errors:
            parts.append((counted(self.traffic.errors, "error") + "  ", "$verdict-fail"))
        if self.traffic.paused:
            parts.append(("paused  ", "$text-warning"))
        return Content.assemble(*parts) if parts else Content("")

    def remember(self) -> dict[str, Any]:
        """The filter, and whether pairs are folded."""
        return {"filter": self.traffic.filter.text, "pairs": self.traffic.pairs}

    def restore(self, memory: dict[str, Any]) -> None:
        """Use filter and folding of the last session."""
        self.traffic.pairs = memory.get("pairs") is not False
        if isinstance(memory.get("filter"), str):
            self.listing.put_filter(memory["filter"])


class Listing(Controller):
    """Which messages the list shows, its title, and where its cursor goes."""

    def __init__(self, screen: TrafficScreen, traffic: Traffic, rows: TrafficList) -> None:
        super().__init__(screen)
        self._traffic, self._rows, self._message = traffic, rows, screen.message
        placeholder = "text  method:tools/call  server:  is:error  is:open  slow:>100"
        self.filter_line = FilterLine(placeholder, id="traffic-filter")
        self._was_empty = True

    def put_filter(self, text: str) -> None:
        """Show what matches, and the filter above it."""
        self.filter_line.put(text)
        self.use_filter(text)

    def use_filter(self, text: str) -> None:
        """Show the messages that match `text`; an empty text shows all."""
        self._traffic.show(text)
        why = self._traffic.filter.problem or f"no message matches {text}"
        self._rows.nothing = ("", why, f"{key_of('app.back')} clears the filter") if text else no_messages_text()
        self._changed()

    def _changed(self) -> None:
        self._rows.rebuilt()
        self.show_title()

    def show_title(self) -> None:
        """Say on the frame what is listed; a list that was empty, or is now, has other keys."""
        traffic, pane = self._traffic, self.screen.query_one("#traffic-pane")
        count = len(traffic.shown)
        title = [
            f"Traffic  {count:,} of {len(traffic.rows):,}" if traffic.filter else f"Traffic  {len(traffic.rows):,}"
        ]
        if not traffic.pairs:
            title.append("every message")
        if traffic.spare:
            title.append(f"{traffic.spare:,} of spare servers: is:spare")
        if traffic.paused:
            title.append(f"paused, {traffic.missed:,} more")
        if traffic.dropped:
            title.append(f"{traffic.dropped:,} not saved: too many")
        problem = shown(one_line(traffic.filter.problem, 90), style="$text-warning")
        show_titles(pane, shown("  ".join(title)), problem)
        if self._was_empty is bool(count):
            self._was_empty = not count
            self.screen.refresh_bindings()

    def on_filter_line_filtered(self, event: FilterLine.Filtered) -> None:
        """Filter the messages at each keystroke; Enter moves the focus to them."""
        if event.line is self.filter_line:
            event.stop()
            self.use_filter(event.text)
            if event.done:
                self._rows.focus()

    def back(self) -> bool:
        """Clear the filter; False when there is none."""
        if not self._traffic.filter.text and not self.filter_line.has_focus:
            return False
        self.put_filter("")
        self._rows.focus()
        return True

    def action_filter(self) -> None:
        """Open the line in which a filter is typed."""
        self.filter_line.open()

    def action_errors(self) -> None:
        """Show only what failed, or all again."""
        parts = self._traffic.filter.text.split()
        parts = [part for part in parts if part != ERRORS] if ERRORS in parts else [*parts, ERRORS]
        self.put_filter(" ".join(parts))

    def action_pairs(self) -> None:
        """Show requests and responses in one row, or apart."""
        self._traffic.turn_pairs()
        self._changed()

    def action_pause(self) -> None:
        """Stop showing new messages, or show them again."""
        self._traffic.pause(not self._traffic.paused)
        self._changed()
        self.workbench.refresh_status()

    def action_clear(self) -> None:
        """Remove all messages from the list, and close the open one."""
        self._traffic.clear()
        self._message.close()
        self._changed()

    def action_error(self, step: int) -> None:
        """Go to the next error, or to the one before."""
        rows = self._traffic.shown
        at = min(self._rows.cursor, len(rows))  # where nothing is shown, it stands on a line that says so
        places = range(at + 1, len(rows)) if step > 0 else range(at - 1, -1, -1)
        found = next((place for place in places if rows[place].failed), None)
        if found is None:
            self.workbench.messages.show("no error further on" if step > 0 else "no error before this")
        else:
            self._rows.move_to(found, centre=True)
