"""Mode 5: every message both ways of all sessions, of runs and of browsing; what it holds, and the same call again.

The engine tells rows only while this screen is looked at; what came meanwhile it has kept, and tells first.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Vertical
from textual.content import Content

from mcptest_engine.core.text import counted
from mcptest_tui.engine_client import EngineError
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.screens.tree_values import TreeValues
from mcptest_tui.screens.working import in_background
from mcptest_tui.state.about import size_shown
from mcptest_tui.state.json_rows import whole
from mcptest_tui.state.saving import BLOCKS, saving_of
from mcptest_tui.state.traffic import Traffic
from mcptest_tui.widgets.filter_line import FilterLine
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.json_tree import JsonTree
from mcptest_tui.widgets.splitter import Splitter
from mcptest_tui.widgets.traffic_list import TrafficList
from mcptest_tui.words import key_of, took_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.binding import BindingType
    from textual.timer import Timer
    from textual.widget import Widget

    from mcptest_tui.state.traffic import Row
    from mcptest_tui.widgets.lines import Lines

FOLLOW_SECONDS = 0.06
ERRORS = "is:error"


def nothing_said() -> tuple[str, ...]:
    """What stands there without a message."""
    run, connect = (key_of("app.mode.1"), key_of("run.this")), (key_of("app.mode.3"), key_of("server.connect"))
    return (
        "",
        "No message yet.",
        "",
        f"Run a test ({', then '.join(run)}) or connect a server ({', then '.join(connect)}),",
        "and every message appears here, with its time and size.",
    )


OF_A_MESSAGE = ("again", "copy", "headers", "save", "other")


class TrafficScreen(WorkScreen):
    """The list; Enter opens the message below it, or over it where there is little room."""

    MODE = "traffic"
    CSS_PATH = "traffic.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("traffic")
    HELP = TrafficList.HELP

    def __init__(self) -> None:
        super().__init__()
        self.traffic = Traffic()
        self.values = TreeValues(self)
        self.opened: Row | None = None
        self._is_empty = True
        self._side = "response"
        self._note = ""
        self._following: Timer | None = None

    def compose_body(self) -> Iterable[Widget]:
        """The filter and the list; the message."""
        with Vertical(id="traffic"):
            with Vertical(id="traffic-pane", classes="pane"):
                yield FilterLine("text  method:tools/call  server:  is:error  is:open  slow:>100", id="traffic-filter")
                yield TrafficList(self.traffic, id="traffic-list")
            yield Splitter(id="traffic-message", percent=50, lying=True, alone=("-narrow", "-short", "-closed"))
            with Vertical(id="message-pane", classes="pane"):
                yield FilterLine("search keys and values", id="message-search")
                yield JsonTree(id="message")

    def on_mount(self) -> None:
        """The rows that the engine kept come by themselves."""
        self._opened(there=False)
        self._following = self.set_interval(FOLLOW_SECONDS, self._follow, pause=True)
        self.rows.nothing = nothing_said()
        self.rows.rebuilt()
        self._entitle()
        self.rows.focus()

    def on_screen_resume(self) -> None:
        """Looked at: tell the rows."""
        in_background(self, self._listen, "traffic.on")

    def on_screen_suspend(self) -> None:
        """Not looked at: keep them."""
        if isinstance(self.app.screen, WorkScreen) and self.app.screen is not self:
            self.workbench.engine.tell("traffic_on", on=False)

    async def _listen(self) -> None:
        await self.workbench.engine_ready.wait()
        self.workbench.engine.tell("traffic_on", on=True)

    # The parts

    @property
    def rows(self) -> TrafficList:
        """The list."""
        return self.query_one(TrafficList)

    @property
    def message(self) -> JsonTree:
        """What the opened message holds."""
        return self.query_one("#message", JsonTree)

    @property
    def filter_line(self) -> FilterLine:
        """The filter."""
        return self.query_one("#traffic-filter", FilterLine)

    @property
    def one_pane(self) -> bool:
        """Whether the message stands over the list."""
        return self.has_class("-narrow") or self.has_class("-short")

    # What comes from the app

    def engine_events(self, events: list[dict[str, Any]]) -> None:
        """Rows."""
        before = self.traffic.missed
        if self.traffic.apply(events):
            self.rows.rebuilt()
            opened = self.opened
            if opened is not None and self.rows.row() is opened and opened.answer is not None:
                self._open_side()
        if self.traffic.missed != before or any(event.get("event") == "traffic" for event in events):
            self._entitle()

    def engine_changed(self, state: str, message: str) -> None:  # noqa: ARG002
        """Another engine has none of the old bodies."""
        if state in ("lost", "gone"):
            self.traffic.lost()
            self.rows.rebuilt()

    def arrive(self, **where: Any) -> None:
        """Show what is said with one server, or in one method."""
        parts = [f'{name}:"{where[name]}"' for name in ("server", "method") if isinstance(where.get(name), str)]
        self._use_filter(" ".join(parts))

    # The list

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a message there is none to copy, to repeat or to save."""
        if action in OF_A_MESSAGE and not self.traffic.shown:
            return None
        return super().check_action(action, parameters)

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """An open message follows, a little later."""
        event.stop()
        if event.lines is self.rows and self.has_class("-opened") and self._following is not None:
            self._following.reset()
            self._following.resume()
        elif event.lines is self.message:
            self._show_path()

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Enter."""
        event.stop()
        if event.lines is self.rows and self.rows.row() is not None:
            self._opened(there=True)
            self._show(self.rows.row())
            self.message.focus()

    def on_filter_line_filtered(self, event: FilterLine.Filtered) -> None:
        """A letter."""
        event.stop()
        if event.line is self.filter_line:
            self._use_filter(event.text, put=False)
            if event.done:
                self.rows.focus()
        else:
            self.message.search(event.text)
            self._show_path()
            if event.done:
                self.message.focus()

    def action_filter(self) -> None:
        """Type one."""
        self.filter_line.open()

    def action_errors(self) -> None:
        """Only what failed, and back."""
        parts = self.traffic.filter.text.split()
        parts = [part for part in parts if part != ERRORS] if ERRORS in parts else [*parts, ERRORS]
        self._use_filter(" ".join(parts))

    def action_pairs(self) -> None:
        """Fold, or unfold."""
        self.traffic.turn_pairs()
        self.rows.rebuilt()
        self._entitle()

    def action_pause(self) -> None:
        """Stand still, or go on."""
        self.traffic.pause(not self.traffic.paused)
        self.rows.rebuilt()
        self._entitle()
        self.workbench.refresh_status()

    def action_clear(self) -> None:
        """Forget."""
        self.traffic.clear()
        self._close()
        self.rows.rebuilt()
        self._entitle()

    def action_error(self, step: int) -> None:
        """To the next error, or the one before."""
        rows = self.traffic.shown
        at = min(self.rows.cursor, len(rows))  # where nothing is shown, it stands on a line that says so
        places = range(at + 1, len(rows)) if step > 0 else range(at - 1, -1, -1)
        found = next((place for place in places if rows[place].failed), None)
        if found is None:
            self.workbench.say("no error further on" if step > 0 else "no error before this")
        else:
            self.rows.move_to(found, centre=True)

    def action_other(self) -> None:
        """From a request to its response, and back."""
        row = self.rows.row() if self.opened is None else self.opened
        if row is None:
            return
        if self.traffic.pairs:
            self._side = "request" if self._side == "response" else "response"
            if self.has_class("-opened"):
                self._show(row)
            return
        other = row.answer or row.asked
        if other is None or not self.rows.go_to(other):
            self.workbench.say("there is no other side")

    def _use_filter(self, text: str, *, put: bool = True) -> None:
        self.traffic.show(text)
        if put:
            self.filter_line.put(text)
        why = self.traffic.filter.problem
        self.rows.nothing = (
            ("", why or f"no message matches {text}", f"{key_of('app.back')} clears the filter")
            if text
            else nothing_said()
        )
        self.rows.rebuilt()
        self._entitle()

    def _entitle(self) -> None:
        traffic, pane = self.traffic, self.query_one("#traffic-pane")
        count = len(traffic.shown)
        told = [f"Traffic  {count:,} of {len(traffic.rows):,}" if traffic.filter else f"Traffic  {len(traffic.rows):,}"]
        if not traffic.pairs:
            told.append("every message")
        if traffic.spare:
            told.append(f"{traffic.spare:,} of spare servers: is:spare")
        if traffic.paused:
            told.append(f"paused, {traffic.missed:,} more")
        if traffic.dropped:
            told.append(f"{traffic.dropped:,} not saved: too many")
        problem = shown(one_line(traffic.filter.problem, 90), style="$text-warning")
        show_titles(pane, shown("  ".join(told)), problem)
        if self._is_empty is bool(count):
            self._is_empty = not count
            self.refresh_bindings()

    # The message

    def _follow(self) -> None:
        if self._following is not None:
            self._following.pause()
        if self.has_class("-opened") and self.rows.row() is not self.opened:
            self._show(self.rows.row())

    def _show(self, row: Row | None) -> None:
        self.opened = row
        if row is None:
            self.message.show_nothing("")
            return
        self._open_side()

    def _open_side(self) -> None:
        row = self._side_of(self.opened)
        if row is None:
            return
        if row.gone:
            self._put(row, row.text, "the engine that stored it has ended; this is its beginning")
            return
        in_background(self, partial(self._fetch, row), "traffic.body")

    def _side_of(self, row: Row | None) -> Row | None:
        """The row whose body is shown: in pairs the response, or the request."""
        if row is None or not self.traffic.pairs or row.answer is None:
            return row
        return row.answer if self._side == "response" else row

    async def _body(self, row: Row) -> str:
        return str(await self.workbench.engine.ask("traffic_body", n=row.n))

    async def _fetch(self, row: Row) -> None:
        try:
            text = await self._body(row)
        except EngineError as wrong:
            self._put(row, row.text, f"{wrong.message}; this is its beginning")
        else:
            self._put(row, text)

    def _put(self, row: Row, text: str, note: str = "") -> None:
        """Show a body: as a tree where it is JSON."""
        try:
            value = json.loads(text) if row.kind not in ("stderr", "noise") else None
        except (ValueError, RecursionError):
            value = None
        self._note = note or ("" if value is None or whole(value) else "only the first part of it is saved")
        if value is None:
            self.message.show_text(text)
        else:
            self.message.show(value)
        self._show_path()

    def _show_path(self) -> None:
        row, pane = self._side_of(self.opened), self.query_one("#message-pane")
        if row is None:
            return
        pair = self.traffic.pairs and self.opened is not None and self.opened.answer is not None
        told = [row.method or row.kind, row.kind if row.kind in ("request", "response") else ""]
        told += [f"#{row.id}"] if row.id else []
        told += ["no answer"] if row.is_unanswered else []
        asked = row.asked or row
        told += [took_text(row.ms, asked.behind)] if row.ms is not None else []
        told.append(size_shown(row.size))
        told += [f"HTTP {row.status}"] if row.status else []
        if pair:
            told.append(f" {key_of('traffic.other')} shows the {'request' if self._side == 'response' else 'response'}")
        parts = (self._note, self.message.searching, self.message.target if self.message.has_focus else "")
        title, subtitle = "  ".join(filter(None, told)), "   ".join(filter(None, parts))
        show_titles(pane, shown(one_line(title, 100)), shown(one_line(subtitle, 100)))

    def on_json_tree_node_action(self, event: JsonTree.NodeAction) -> None:
        """All of it is here."""
        event.stop()
        if event.what == "search":
            self.query_one("#message-search", FilterLine).open()
        else:
            self.values.take(event)

    # What is done with it

    def action_copy(self) -> None:
        """The whole message."""
        row = self._side_of(self.rows.row())
        if row is not None:
            in_background(self, partial(self._copy, row), "traffic.copy")

    async def _copy(self, row: Row) -> None:
        try:
            text = await self._body(row)
        except EngineError as wrong:
            self.workbench.tell(wrong.message, severity="warning", hint=wrong.hint)
            return
        self.workbench.copy(text, f"the {row.kind}")

    def action_headers(self) -> None:
        """Status and headers of the HTTP response in which the message came."""
        row = self.rows.row()
        answer = row.answer if row is not None and row.answer is not None else row
        if answer is None or answer.status is None:
            self.workbench.say("it was not in an HTTP response")
        else:
            in_background(self, partial(self._headers, answer), "traffic.headers")

    async def _headers(self, row: Row) -> None:
        try:
            http = await self.workbench.engine.ask("traffic_http", n=row.n) or {}
        except EngineError as wrong:
            self.workbench.tell(wrong.message, severity="warning", hint=wrong.hint)
            return
        text = "\n".join(f"{name}: {value}" for name, value in (http.get("headers") or {}).items())
        self.values.show(f"HTTP {row.status}", text or "its headers are no longer saved", "the headers")

    def action_again(self) -> None:
        """The same call once more, in the form of the servers' screen."""
        in_background(self, self._again, "traffic.again")

    async def _again(self) -> None:
        found = await self._request(self.rows.row())
        if found is not None:
            row, method, params = found
            self.workbench.go("servers", server=row.server, call={"method": method, "params": params, "send": True})

    def action_save(self) -> None:
        """A test of a suite."""
        in_background(self, self._save, "traffic.save")

    async def _save(self) -> None:
        found = await self._request(self.rows.row())
        if found is None:
            return
        row, method, params = found
        answer: dict[str, Any] | None = None
        if row.answer is not None:
            try:
                whole = json.loads(await self._body(row.answer))
                answer = {name: whole[name] for name in ("result", "error") if name in whole}
            except (EngineError, ValueError, RecursionError, TypeError):
                self.workbench.say("the response is too large to propose anything of it", "warning")
        self._open_save(row, method, params, answer)

    def _open_save(self, row: Row, method: str, params: dict[str, Any], answer: dict[str, Any] | None) -> None:
        from mcptest_tui.screens.save_test import SaveTest
        from mcptest_tui.screens.servers import ServersScreen
        from mcptest_tui.state.new_suite import free_path

        screen = next((one for one in self.workbench.work_screens() if isinstance(one, ServersScreen)), None)
        documents = [document for document in self.workbench.store.documents.values() if document.sound]
        server = screen.browser.servers.named(row.server) if screen is not None else _server_of(row.server, documents)
        saving = saving_of(method, params, answer, server, documents, str(free_path(self.workbench.folder)))
        self.app.push_screen(SaveTest(saving))

    async def _request(self, row: Row | None) -> tuple[Row, str, dict[str, Any]] | None:
        """The request of a row and what it asked; None, and said, where it is no call."""
        asked = row.asked or row if row is not None else None
        if asked is None or asked.kind != "request" or not asked.sent or asked.method not in BLOCKS:
            self.workbench.say("only a tools/call, resources/read or prompts/get can be made again", "warning")
            return None
        try:
            value = json.loads(await self._body(asked))
            params = value.get("params")
        except (EngineError, ValueError, RecursionError, AttributeError) as wrong:
            self.workbench.say(f"the request cannot be read: {wrong}", "warning")
            return None
        kept = {name: part for name, part in params.items() if name != "_meta"} if isinstance(params, dict) else {}
        return asked, asked.method, kept

    # The session, and the bars

    def back(self) -> bool:
        """Out of the search, the message, the filter."""
        search = self.query_one("#message-search", FilterLine)
        if search.has_class("-on"):
            search.put("")
            self.message.search("")
            self.message.focus()
            return True
        if self.has_class("-opened"):
            self._close()
            return True
        if self.traffic.filter.text or self.filter_line.has_focus:
            self._use_filter("")
            self.rows.focus()
            return True
        return False

    def _close(self) -> None:
        self._opened(there=False)
        self.opened = None
        self.rows.focus()

    def _opened(self, *, there: bool) -> None:
        self.set_class(there, "-opened")
        self.set_class(not there, "-closed")
        self.query_one(Splitter).apply()

    def status_text(self) -> Content:
        """Errors, and whether the rows stand still."""
        parts = []
        if self.traffic.errors:
            parts.append((counted(self.traffic.errors, "error") + "  ", "$verdict-fail"))
        if self.traffic.paused:
            parts.append(("paused  ", "$text-warning"))
        return Content.assemble(*parts) if parts else Content("")

    def remember(self) -> dict[str, Any]:
        """Filter and folding."""
        return {"filter": self.traffic.filter.text, "pairs": self.traffic.pairs}

    def restore(self, memory: dict[str, Any]) -> None:
        """From the last session."""
        self.traffic.pairs = memory.get("pairs") is not False
        if isinstance(memory.get("filter"), str):
            self._use_filter(memory["filter"])


def _server_of(name: str, documents: list[Any]) -> Any:
    """A server of the suites by its name, where the servers' screen was never opened."""
    from mcptest_tui.state.servers import Servers

    servers = Servers()
    servers.put_suites(documents)
    return servers.named(name)
