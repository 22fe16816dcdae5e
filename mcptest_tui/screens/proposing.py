"""Proposes a test for a tool: the engine calls the tool if the policy allows it; the proposal goes to Review."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.text import counted
from mcptest_tui.engine_client import EngineError
from mcptest_tui.safe import one_line
from mcptest_tui.screens.base import Controller, WorkScreen, in_background
from mcptest_tui.state.forms import form_of
from mcptest_tui.state.saving import proposed_saving, saving_of
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from mcptest_tui.screens.browser import Browser
    from mcptest_tui.screens.calling import Calls
    from mcptest_tui.state.catalog import Item
    from mcptest_tui.state.saving import Saving
    from mcptest_tui.state.servers import Server


class Proposing(Controller):
    """Proposes a test for the tool whose details or call are shown."""

    def __init__(self, screen: WorkScreen, browser: Browser, calls: Calls) -> None:
        super().__init__(screen)
        self._browser, self._calls = browser, calls
        self._is_calling = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer "propose" only for a tool of a connected server."""
        if action != "propose":
            return super().check_action(action, parameters)
        item, server = self._proposed_item(), self._browser.server
        return server is not None and server.connected and item is not None and item.kind == "tools"

    def action_propose(self) -> None:
        """Propose a test with the arguments of the tool's form; open the form if they are missing."""
        item = self._proposed_item()
        server = self._browser.server
        if server is None or not server.connected or item is None or item.kind != "tools":
            self.workbench.messages.show("a test is proposed for a tool of a connected server")
            return
        call = self._calls.call if self._calls.is_shown else None
        form = call.form if call is not None else form_of(item)
        problems = form.check_whole()
        if problems:
            if call is None:
                self._calls.open(item)
                self.workbench.messages.show(
                    f"it needs arguments: fill them in, and {key_of('test.propose', typing=True)} proposes a test"
                )
            else:
                self._calls.pane.form.show_problems(problems)
                self._calls.pane.form.focus_field(next(iter(problems)))
                self.workbench.messages.show("a test is proposed for arguments that the schema allows", "warning")
            return
        arguments = form.params().get("arguments")
        self._propose(server, item, arguments if isinstance(arguments, dict) else {})

    def _proposed_item(self) -> Item | None:
        if self._calls.is_shown and self._calls.call is not None:
            return self._calls.call.form.item
        return self._browser.item

    def _propose(self, server: Server, item: Item, arguments: dict[str, Any], *, confirmed: bool = False) -> None:
        self._is_calling = True
        told = f"calling {one_line(item.name, 40)} to propose a test …"
        self.workbench.messages.show(told, is_over=lambda: not self._is_calling)
        in_background(
            self.screen, partial(self._request_proposal, server, item, arguments, confirmed), "servers.propose"
        )

    async def _request_proposal(self, server: Server, item: Item, arguments: dict[str, Any], confirmed: bool) -> None:
        from mcptest_tui.state.new_suite import free_path

        bench = self.workbench
        documents = [document for document in bench.store.documents.values() if document.sound]
        params = {"name": item.name, "arguments": arguments}
        saving = saving_of("tools/call", params, None, server, documents, str(free_path(bench.folder)))
        place = saving.place
        try:
            told = await bench.engine.request(
                "propose",
                session=server.key,
                tool=item.name,
                arguments=arguments,
                suite=None if place.new else place.path,
                server=place.server,
                confirmed=confirmed,
            )
        except EngineError as wrong:
            self._is_calling = False
            bench.refresh_status()
            if wrong.kind == "policy" and not confirmed:
                self._confirm_once(server, item, arguments, wrong.message)
            else:
                bench.messages.notify(wrong.message, severity="warning", hint=wrong.hint)
            return
        await self._take_proposal(saving, told)

    async def _take_proposal(self, saving: Saving, told: dict[str, Any]) -> None:
        """Show the proposal in Review or, without a suite for it, in the window that makes one."""
        from mcptest_tui.screens.save_test import SaveTest

        bench = self.workbench
        said = f"called {counted(int(told['calls']), 'time')}"
        if told["left_out"]:
            said += f"; left out what changes: {', '.join(told['left_out'][:2])}"
        bench.messages.show("; ".join([said, *told["notes"][:1]]))
        if saving.place.new:
            self.workbench.push_screen(SaveTest(proposed_saving(saving, told["mapping"])))
            return
        await bench.reviews.refresh()
        bench.go("review", suite=saving.place.path, test=str(told["name"]))

    def _confirm_once(self, server: Server, item: Item, arguments: dict[str, Any], why: str) -> None:
        """Ask whether to call the tool once although the policy does not allow it."""
        from mcptest_tui.widgets.modals import Question

        def answered(answer: str | None) -> None:
            if answer == "y":
                self._propose(server, item, arguments, confirmed=True)

        told = one_line(json.dumps(arguments, ensure_ascii=False), 200)
        lines = [f"{why[:1].upper()}{why[1:]}.", f"Server: {server.name}", f"It is called once, with {told}"]
        choices = [("n", "no"), ("y", "yes, call it once")]
        self.workbench.push_screen(Question(f"Call {one_line(item.name, 40)} once anyway?", lines, choices), answered)
