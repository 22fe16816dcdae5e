"""One message of the log: its body below the list, and what is done with it."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from mcptest_tui.debounce import Debounce
from mcptest_tui.engine_client import EngineError
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.base import Controller, in_background
from mcptest_tui.screens.tree_values import TreeValues
from mcptest_tui.state.about import size_shown
from mcptest_tui.state.json_rows import whole
from mcptest_tui.state.saving import BLOCKS, saving_of
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.json_tree import JsonTree
from mcptest_tui.widgets.line import FilterLine
from mcptest_tui.widgets.splitter import Splitter
from mcptest_tui.words import key_of, took_text

if TYPE_CHECKING:
    from mcptest_tui.screens.base import WorkScreen
    from mcptest_tui.state.traffic import Row, Traffic
    from mcptest_tui.widgets.lines import Lines
    from mcptest_tui.widgets.traffic_list import TrafficList

FOLLOW_SECONDS = 0.06


class OpenMessage(Controller):
    """Shows the body of the message under the cursor, once one was opened. Of a pair it shows one side."""

    def __init__(self, screen: WorkScreen, traffic: Traffic, rows: TrafficList) -> None:
        super().__init__(screen)
        self._traffic, self._rows = traffic, rows
        self.search = FilterLine("search keys and values", id="message-search")
        self.tree = JsonTree(id="message")
        self.values = TreeValues(screen)
        self.row: Row | None = None
        self._side = "response"
        self._note = ""
        self._follow_soon = Debounce(screen, FOLLOW_SECONDS, self._follow)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Disable going to the other message of a pair while none is listed."""
        return True if self._traffic.shown else None

    @property
    def is_open(self) -> bool:
        """Whether the pane of the message is there."""
        return self.screen.has_class("-opened")

    def set_open(self, *, is_open: bool) -> None:
        """Show the pane, or take it away."""
        self.screen.set_class(is_open, "-opened")
        self.screen.set_class(not is_open, "-closed")
        self.screen.query_one(Splitter).apply()

    def close(self) -> None:
        """Go back to the list."""
        self.set_open(is_open=False)
        self.row = None
        self._rows.focus()

    def back(self) -> bool:
        """Out of the search, then out of the message; False when none is open."""
        if self.search.has_class("-on"):
            self.search.put("")
            self.tree.search("")
            self.tree.focus()
            return True
        if self.is_open:
            self.close()
            return True
        return False

    def show(self, row: Row | None) -> None:
        """Show a message: its beginning, where the engine that stored it has ended."""
        self.row = row
        side = self.side_of(row)
        if side is None:
            self.tree.show_nothing("")
        elif side.gone:
            self._put(side, side.text, "the engine that stored it has ended; this is its beginning")
        else:
            in_background(self.screen, partial(self._fetch, side), "traffic.body")

    def side_of(self, row: Row | None) -> Row | None:
        """The row whose body is shown: in pairs the response, or the request."""
        if row is None or not self._traffic.pairs or row.answer is None:
            return row
        return row.answer if self._side == "response" else row

    async def _fetch(self, row: Row) -> None:
        try:
            text = await self.workbench.engine.request("traffic_body", n=row.n)
        except EngineError as wrong:
            self._put(row, row.text, f"{wrong.message}; this is its beginning")
        else:
            self._put(row, str(text))

    def _put(self, row: Row, text: str, note: str = "") -> None:
        """Show a body: as a tree where it is JSON."""
        try:
            value = json.loads(text) if row.kind not in ("stderr", "noise") else None
        except (ValueError, RecursionError):
            value = None
        self._note = note or ("" if value is None or whole(value) else "only the first part of it is saved")
        if value is None:
            self.tree.show_text(text)
        else:
            self.tree.show(value)
        self._show_path()

    def _show_path(self) -> None:
        row = self.side_of(self.row)
        if row is None:
            return
        pair = self._traffic.pairs and self.row is not None and self.row.answer is not None
        parts = [row.method or row.kind, row.kind if row.kind in ("request", "response") else ""]
        parts += [f"#{row.id}"] if row.id else []
        parts += ["no answer"] if row.is_unanswered else []
        parts += [took_text(row.ms, (row.asked or row).behind)] if row.ms is not None else []
        parts.append(size_shown(row.size))
        parts += [f"HTTP {row.status}"] if row.status else []
        if pair:
            parts.append(
                f" {key_of('traffic.other')} shows the {'request' if self._side == 'response' else 'response'}"
            )
        below = (self._note, self.tree.searching, self.tree.target if self.tree.has_focus else "")
        title, subtitle = "  ".join(filter(None, parts)), "   ".join(filter(None, below))
        pane = self.screen.query_one("#message-pane")
        show_titles(pane, shown(one_line(title, 100)), shown(one_line(subtitle, 100)))

    def _follow(self) -> None:
        if self.is_open and self._rows.row() is not self.row:
            self.show(self._rows.row())

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """An open message follows the cursor of the list, a little later."""
        event.stop()
        if event.lines is self.tree:
            self._show_path()
        elif self.is_open:
            self._follow_soon()

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Open the message under the cursor."""
        event.stop()
        if event.lines is self._rows and self._rows.row() is not None:
            self.set_open(is_open=True)
            self.show(self._rows.row())
            self.tree.focus()

    def on_filter_line_filtered(self, event: FilterLine.Filtered) -> None:
        """Search the message at each keystroke; Enter moves the focus to it."""
        if event.line is self.search:
            event.stop()
            self.tree.search(event.text)
            self._show_path()
            if event.done:
                self.tree.focus()

    def on_json_tree_node_action(self, event: JsonTree.NodeAction) -> None:
        """Search the message, or use a value of it, which is all here."""
        event.stop()
        if event.what == "search":
            self.search.open()
        else:
            self.values.take(event)

    def action_other(self) -> None:
        """Go from a request to its response, or back."""
        row = self._rows.row() if self.row is None else self.row
        if row is None:
            return
        if self._traffic.pairs:
            self._side = "request" if self._side == "response" else "response"
            if self.is_open:
                self.show(row)
            return
        other = row.answer or row.asked
        if other is None or not self._rows.go_to(other):
            self.workbench.messages.show("there is no request or response to this message")


class MessageActions(Controller):
    """Copies the message under the cursor, sends its call again, and saves the call as a test."""

    def __init__(self, screen: WorkScreen, message: OpenMessage, rows: TrafficList) -> None:
        super().__init__(screen)
        self._message, self._rows = message, rows

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Without a message there is none to copy, to repeat or to save."""
        return True if self._rows.row() is not None else None

    async def _body(self, row: Row) -> str:
        return str(await self.workbench.engine.request("traffic_body", n=row.n))

    def action_copy(self) -> None:
        """Copy the complete message, which the engine stores."""
        row = self._message.side_of(self._rows.row())
        if row is not None:
            in_background(self.screen, partial(self._copy, row), "traffic.copy")

    async def _copy(self, row: Row) -> None:
        try:
            text = await self._body(row)
        except EngineError as wrong:
            self.workbench.messages.notify(wrong.message, severity="warning", hint=wrong.hint)
            return
        self.workbench.copy(text, f"the {row.kind}")

    def action_headers(self) -> None:
        """Show status and headers of the HTTP response in which the message came."""
        row = self._rows.row()
        answer = row.answer if row is not None and row.answer is not None else row
        if answer is None or answer.status is None:
            self.workbench.messages.show("it was not in an HTTP response")
        else:
            in_background(self.screen, partial(self._show_headers, answer), "traffic.headers")

    async def _show_headers(self, row: Row) -> None:
        try:
            http = await self.workbench.engine.request("traffic_http", n=row.n) or {}
        except EngineError as wrong:
            self.workbench.messages.notify(wrong.message, severity="warning", hint=wrong.hint)
            return
        text = "\n".join(f"{name}: {value}" for name, value in (http.get("headers") or {}).items())
        self._message.values.show(f"HTTP {row.status}", text or "its headers are no longer saved", "the headers")

    def action_again(self) -> None:
        """Open the call once more in the form of the servers' screen."""
        in_background(self.screen, self._again, "traffic.again")

    async def _again(self) -> None:
        found = await self._request()
        if found is not None:
            row, params = found
            call = {"method": row.method, "params": params, "send": True}
            self.workbench.go("servers", server=row.server, call=call)

    def action_save(self) -> None:
        """Save the call as a test of a suite."""
        in_background(self.screen, self._save, "traffic.save")

    async def _save(self) -> None:
        found = await self._request()
        if found is None:
            return
        row, params = found
        answer: dict[str, Any] | None = None
        if row.answer is not None:
            try:
                whole_answer = json.loads(await self._body(row.answer))
                answer = {name: whole_answer[name] for name in ("result", "error") if name in whole_answer}
            except (EngineError, ValueError, RecursionError, TypeError):
                self.workbench.messages.show("the response is too large for a proposal", "warning")

        from mcptest_tui.screens.save_test import SaveTest
        from mcptest_tui.screens.servers import ServersScreen
        from mcptest_tui.state.new_suite import free_path
        from mcptest_tui.state.servers import Servers

        documents = [document for document in self.workbench.store.documents.values() if document.sound]
        screen = next((one for one in self.workbench.work_screens() if isinstance(one, ServersScreen)), None)
        if screen is not None:
            servers = screen.browser.servers
        else:
            servers = Servers()
            servers.put_suites(documents)
        place = str(free_path(self.workbench.folder))
        saving = saving_of(row.method, params, answer, servers.named(row.server), documents, place)
        self.workbench.push_screen(SaveTest(saving))

    async def _request(self) -> tuple[Row, dict[str, Any]] | None:
        """The request under the cursor and its params; None where it is no call, after a message that says so."""
        row = self._rows.row()
        asked = row.asked or row if row is not None else None
        if asked is None or asked.kind != "request" or not asked.sent or asked.method not in BLOCKS:
            self.workbench.messages.show(
                "only a tools/call, resources/read or prompts/get can be made again", "warning"
            )
            return None
        try:
            value = json.loads(await self._body(asked))
            params = value.get("params")
        except (EngineError, ValueError, RecursionError, AttributeError) as wrong:
            self.workbench.messages.show(f"the request cannot be read: {wrong}", "warning")
            return None
        plain = {name: part for name, part in params.items() if name != "_meta"} if isinstance(params, dict) else {}
        return asked, plain
