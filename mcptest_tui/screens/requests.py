"""The smaller requests: ping, log level, subscriptions, completion of arguments.

None of them is sent to a server that did not say it can do it; each is said in the notification that tells what came of it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from mcptest_tui.engine_client import EngineError
from mcptest_tui.safe import one_line
from mcptest_tui.screens.base import Controller, WorkScreen, in_background
from mcptest_tui.state.forms import completion_of, completion_values
from mcptest_tui.words import key_of, took_shown

if TYPE_CHECKING:
    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent
    from mcptest_tui.screens.browser import Browser
    from mcptest_tui.screens.calling import Calls
    from mcptest_tui.screens.connecting import Connections
    from mcptest_tui.state.fields import Field
    from mcptest_tui.state.servers import Server

WAITS = frozenset(f"servers.{name}" for name in ("ping", "level", "subscribe", "complete", "propose"))
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class Requests(Controller):
    """Sends a connected server what is neither a call nor a list."""

    def __init__(self, screen: WorkScreen, browser: Browser, calls: Calls, connections: Connections) -> None:
        super().__init__(screen)
        self._browser, self._calls, self._connections = browser, calls, connections

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What the server did not say that it can do is dim in the footer."""
        server = self._browser.server
        if action == "ping":
            return True if server is not None and server.connected else None
        if action == "log_level":
            return True if server is not None and server.connected and server.has_capability("logging") else None
        if action == "subscribe":
            return True if server is not None and server.has_capability("resources", "subscribe") else None
        return super().check_action(action, parameters)

    async def _send_request(self, server: Server, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """What the engine tells of a request that was answered by a result; None, and said, where it was not."""
        workbench = self.workbench
        try:
            called = await workbench.engine.request("call", session=server.key, method=method, params=params)
        except EngineError as wrong:
            workbench.messages.notify(wrong.message, severity="warning", hint=wrong.hint)
            return None
        error = called["answer"].get("error")
        if error is not None:
            told = error.get("message") if isinstance(error, dict) else error
            workbench.messages.show(f"{server.name} refuses {method}: {one_line(str(told), 200)}", "warning")
            return None
        invalid = called.get("invalid")
        if invalid is not None:
            workbench.messages.show(f"{server.name}: {one_line(invalid['message'], 300)}", "warning")
        return cast("dict[str, Any]", called)

    def _able(self, capability: str, member: str = "") -> Server | None:
        """The current server, if it is connected and said that it can do this; None, and said, where not."""
        server = self._browser.server
        if server is None or not server.connected:
            self.workbench.messages.show(f"no server is connected here: {key_of('server.connect')} connects it")
            return None
        if capability and not server.has_capability(capability, member):
            what = f"{capability}.{member}" if member else capability
            self.workbench.messages.show(
                f"{server.name} does not declare that it can do this: it has no capability `{what}`"
            )
            return None
        return server

    # Waiting

    @property
    def is_waiting(self) -> bool:
        """Whether a person waits for something here that Escape gives up."""
        server, call = self._browser.server, self._calls.call
        is_called = call is not None and call.started is not None and self._calls.is_shown
        return is_called or (server is not None and server.state == "starting") or bool(self._awaited_groups())

    def _awaited_groups(self) -> set[str]:
        """The groups of the workers whose answers are waited for."""
        server = self._browser.server
        groups = WAITS | {f"catalog {server.key}"} if server is not None else WAITS
        return {
            one.group
            for one in self.screen.workers
            if one.node is self.screen and one.group in groups and not one.is_finished
        }

    def give_up(self) -> bool:
        """Wait no longer for what a server was asked; False when nothing was."""
        server, asks = self._browser.server, self._awaited_groups()
        for group in asks:
            self.screen.workers.cancel_group(self.screen, group)
        if server is not None and f"catalog {server.key}" in asks:
            server.catalog_problem = f"not listed; {key_of('servers.refresh')} asks again"
            self._browser.show_catalog()
        if asks:
            self.workbench.messages.show("cancelled")
            self.screen.refresh_bindings()
        return bool(asks)

    # Is it there, and what does it log

    def action_ping(self) -> None:
        """Send the server a ping, and show how long its answer took."""
        server = self._able("")
        if server is not None:
            in_background(self.screen, partial(self._ping, server), "servers.ping")

    async def _ping(self, server: Server) -> None:
        called = await self._send_request(server, "ping", {})
        if called is not None:
            took = took_shown(float(called.get("duration_ms") or 0))
            self.workbench.messages.show(f"{server.name} answered the ping in {took}")

    def action_log_level(self) -> None:
        """Choose the level from which on the server sends log messages."""
        from mcptest_tui.screens.picker import Choice, Picker

        server = self._able("logging")
        if server is None:
            return
        choices = [Choice(level, level) for level in LEVELS]

        def answered(level: str | None) -> None:
            if level is not None:
                in_background(self.screen, partial(self._set_level, server, level), "servers.level")

        self.workbench.push_screen(
            Picker(f"Log messages of {one_line(server.name, 30)}", lambda typed: (choices, typed), start=server.level),
            answered,
        )

    async def _set_level(self, server: Server, level: str) -> None:
        if await self._send_request(server, "logging/setLevel", {"level": level}) is not None:
            server.level = level
            self._browser.show_about(keep=True)
            self.workbench.messages.show(
                f"{server.name} logs from {level} on: {key_of('servers.traffic')} shows its messages"
            )

    # Resources that are watched

    def action_subscribe(self) -> None:
        """Subscribe to updates of the resource, or end the subscription."""
        item = self._browser.catalog_list.item()
        if item is None or item.kind != "resources":
            tab = key_of("servers.tab.next")
            self.workbench.messages.show(f"only a resource can be subscribed to: {tab} goes to the resources")
            return
        server = self._able("resources", "subscribe")
        if server is not None:
            in_background(self.screen, partial(self._subscribe, server, item.name), "servers.subscribe")

    async def _subscribe(self, server: Server, uri: str) -> None:
        on = uri not in server.watched
        if await self._send_request(server, f"resources/{'' if on else 'un'}subscribe", {"uri": uri}) is None:
            return
        if on:
            server.watched[uri] = "subscribed"
        else:
            server.watched.pop(uri, None)
        self._browser.catalog_list.refresh()
        self.workbench.messages.show(f"{'subscribed to' if on else 'no longer subscribed to'} {one_line(uri, 80)}")

    def take_news(self, events: list[WorkbenchEvent]) -> None:
        """Handle notifications of servers: changed lists and updated resources."""
        for event in events:
            if event["event"] != "server.news":
                continue
            server = self._browser.servers.by_key.get(event["session"])
            if server is None or not server.connected:
                continue
            for uri in event["updated"]:
                if uri in server.watched:
                    server.watched[uri] = "updated"
                    self.workbench.messages.show(
                        f"{server.name} updated {one_line(uri, 80)}: {key_of('catalog.open')} reads it"
                    )
            self._browser.catalog_list.refresh()
            if event["lists"]:
                self._connections.load_again(server)

    # What an argument could be

    def action_complete(self) -> None:
        """Request completions for the field with the focus from the server."""
        call = self._calls.call
        found = call.form.named(self._calls.pane.form.at) if call is not None else None
        asked = completion_of(call.form, found) if call is not None and found is not None else None
        if asked is None:
            self.workbench.messages.show("only arguments of prompts and of templates can be completed by a server")
            return
        server = self._able("completions")
        if server is not None and found is not None:
            in_background(self.screen, partial(self._request_values, server, found, asked), "servers.complete")

    async def _request_values(self, server: Server, found: Field, asked: dict[str, Any]) -> None:
        from mcptest_tui.screens.picker import Choice, Picker

        called = await self._send_request(server, "completion/complete", asked)
        if called is None or not self._calls.is_shown:
            return
        values, more = completion_values(called["answer"].get("result"))
        if not values:
            if "invalid" not in called:
                self.workbench.messages.show(f"{server.name} proposes nothing for {one_line(found.name, 40)}")
            return
        choices = [Choice(str(at), value) for at, value in enumerate(values)]

        def answered(chosen: str | None) -> None:
            call = self._calls.call
            if chosen is not None and call is not None:
                found.put(values[int(chosen)])
                self._calls.show_again(found.name)

        about = "there are more: type a beginning in the field first" if more else ""
        self.workbench.push_screen(
            Picker(one_line(found.name, 40), lambda typed: (choices, typed), about=about), answered
        )
