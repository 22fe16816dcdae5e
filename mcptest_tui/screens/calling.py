"""Calling what a server offers by hand: the form, sending, the answer, keeping it as a test.

The form and the answer of everything that was opened are kept, so that going back and forth loses nothing.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from mcptest_tui.engine_client import EngineError
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.base import Controller, WorkScreen, in_background
from mcptest_tui.screens.tree_values import TreeValues
from mcptest_tui.state.about import answer_line
from mcptest_tui.state.catalog import VERBS, unlisted
from mcptest_tui.state.forms import as_json, completion_of, form_of
from mcptest_tui.state.saving import saving_of
from mcptest_tui.widgets.call_pane import CallPane
from mcptest_tui.widgets.choice import Choice, plain
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.line import FilterLine
from mcptest_tui.words import key_of, took_shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual import events

    from mcptest_tui.screens.browser import Browser
    from mcptest_tui.screens.tree_values import Request
    from mcptest_tui.state.catalog import Item
    from mcptest_tui.state.fields import Field
    from mcptest_tui.state.forms import Form
    from mcptest_tui.state.servers import Server
    from mcptest_tui.widgets.json_tree import JsonTree
    from mcptest_tui.widgets.lines import Lines
    from mcptest_tui.widgets.schema_form import SchemaForm

KEPT_CALLS = 50
STDERR_SHOWN = 8
METHODS = {"tools/call": "tools", "resources/read": "resources", "prompts/get": "prompts"}


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


class Calls(Controller):
    """The form that is filled in, and the answer to it, in the pane of the call."""

    def __init__(self, screen: WorkScreen, browser: Browser) -> None:
        super().__init__(screen)
        self._browser = browser
        self.pane = CallPane(id="call-pane", classes="pane -unsent")
        self.call: Call | None = None
        self._calls: dict[tuple[str, str, str], Call] = {}
        self._values = TreeValues(screen)
        self._agreed_tools: set[tuple[str, str]] = set()
        self.began: Callable[[], None] = lambda: None
        """Called when an answer is waited for."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A call can be saved once it was made."""
        if action == "save":
            return self.is_shown and self.call is not None and bool(self.call.params)
        return super().check_action(action, parameters)

    @property
    def is_shown(self) -> bool:
        """Whether the form is shown."""
        return self.screen.has_class("-calling")

    @property
    def waiting(self) -> bool:
        """Whether a call has no answer yet."""
        return any(call.started is not None for call in self._calls.values())

    # Opening

    def open(self, item: Item, arguments: dict[str, Any] | None = None, *, send: bool = False) -> None:
        """The form for an item, as it was left; with `arguments` filled with these, and sent at once where that is wanted."""
        server = self._browser.server
        if server is None:
            return
        key = (server.key, item.kind, item.name)
        call = self._calls.get(key)
        if call is None or call.form.item is not item:
            fresh = Call(server, form_of(item))
            if call is not None and call.form.item.data == item.data:
                fresh = call  # listed again, and the same
            call = self._calls[key] = fresh
            while len(self._calls) > KEPT_CALLS:
                self._calls.pop(next(iter(self._calls)))
        if arguments is not None:
            call.form.fill(arguments)
        self.call = call
        call.warning = ""
        in_background(self.screen, partial(self._show_call, call, send=send), "servers.form")

    def arrive(self, server: Server, where: dict[str, Any]) -> None:
        """From elsewhere: a tool by its name, or a whole request to send again."""
        wanted = where.get("call") if isinstance(where.get("call"), dict) else {}
        params = wanted.get("params") if isinstance(wanted, dict) else None
        params = params if isinstance(params, dict) else {}
        kind = METHODS.get(str((wanted or {}).get("method") or "tools/call"), "tools")
        name = str(where.get("tool") or params.get("name") or params.get("uri") or "")
        catalog = self._browser.catalogs[server.key]
        item = catalog.find(kind, name)
        if item is None:
            self.workbench.messages.show(f"{server.name} lists no {one_line(name, 60)}", "warning")
            if not wanted:
                self._browser.go_to("catalog")
                return
            item = unlisted(kind, name)
        else:
            catalog.search("")
            catalog.use(kind)
            self._browser.show_catalog()
            self._browser.catalog_list.move_to(catalog.shown.index(item), tell=False)
        arguments = params.get("arguments")
        send = bool(where.get("sends") or (wanted or {}).get("send"))
        self.open(item, arguments if isinstance(arguments, dict) else None, send=send)

    async def _show_call(self, call: Call, *, at: str = "", send: bool = False) -> None:
        pane = self.pane
        self.screen.add_class("-calling")
        self._browser.go_to("about", focus=False)
        item = call.form.item
        show_titles(pane, shown(one_line(f"{VERBS[item.kind]} {item.name}", 60)), shown("  ".join(item.badges)))
        self._show_help("")
        await pane.form.show(call.form, at=at)
        pane.form.show_problems(call.form.problems)
        self._show_answer(call)
        self.screen.refresh_bindings()
        if send:
            pane.action_send()

    def show_again(self, at: str) -> None:
        """The form with what was put into it, typing at a field."""
        if self.call is not None:
            self.call.form.check()
            in_background(self.screen, partial(self._show_call, self.call, at=at), "servers.form")

    def leave(self) -> None:
        """Back to the list. A form that is still being drawn would take the focus, although it is not shown."""
        self.screen.workers.cancel_group(self.screen, "servers.form")
        self.screen.remove_class("-calling")
        self._browser.go_to("catalog")
        self._browser.show_about()

    # Typing

    def on_schema_form_changed(self, event: SchemaForm.Changed) -> None:
        """What was wrong may be right now."""
        event.stop()
        call = self.call
        if call is None:
            return
        if call.warning:
            call.warning = ""
            self._show_help(event.name)
        if event.name in call.form.problems:
            call.form.check()
            self.pane.form.show_problems(call.form.problems)

    def on_schema_form_entered(self, event: SchemaForm.Entered) -> None:
        """Help for the field."""
        event.stop()
        self._show_help(event.name)

    def _show_help(self, name: str) -> None:
        call = self.call
        found = call.form.named(name) if call is not None else None
        if call is not None and call.warning:
            self.pane.help(call.warning, problem=True)
        else:
            self.pane.help(self._help_of(call, found) if call is not None and found is not None else "")

    def _help_of(self, call: Call, found: Field) -> str:
        asks = call.server.has_capability("completions") and completion_of(call.form, found) is not None
        return (
            f"{found.help}   {key_of('call.complete', typing=True)} asks {call.server.name} for values"
            if asks
            else found.help
        )

    def on_schema_form_left(self, event: SchemaForm.Left) -> None:
        """Wrong things are told when one goes on; what is only missing waits for sending."""
        event.stop()
        call = self.call
        found = call.form.named(event.name) if call is not None else None
        if call is None or found is None or found.empty:
            return
        before = dict(call.form.problems)
        now = call.form.check().get(event.name, "")
        call.form.problems = {**before, event.name: now} if now else before
        if not now:
            call.form.problems.pop(event.name, None)
        self.pane.form.show_problems(call.form.problems)

    def on_schema_form_pasted(self, event: SchemaForm.Pasted) -> None:
        """The form is filled from what was pasted."""
        event.stop()
        if self.call is None:
            return
        part = self.call.form.named(event.name) if event.name else None
        unknown: list[str] = []
        if part is None:
            unknown = self.call.form.fill(dict(event.value))
        else:
            part.put(dict(event.value))
        self.call.form.check()
        in_background(self.screen, partial(self._show_call, self.call, at=event.name), "servers.form")
        told = f"; no field for {', '.join(unknown[:3])}" if unknown else ""
        self.workbench.messages.show(f"filled from what was pasted{told}", "warning" if unknown else "information")

    def on_schema_form_reshaped(self, event: SchemaForm.Reshaped) -> None:
        """Other rows: a box, other items, other members."""
        event.stop()
        if self.call is not None and self.is_shown:
            if self.call.form.problems:
                self.call.form.check()
            in_background(self.screen, partial(self._show_call, self.call, at=event.name), "servers.form")

    def on_choice_list_requested(self, event: Choice.ListRequested) -> None:
        """Too many values for a row."""
        event.stop()
        from mcptest_tui.screens.picker import Choice as Listed
        from mcptest_tui.screens.picker import Picker

        choice = event.choice
        choices = [Listed(option, plain(option)) for option in choice.options]
        self.workbench.push_screen(
            Picker("Values", lambda typed: (choices, typed), start=choice.value),
            lambda answer: choice.put(answer) if answer is not None else None,
        )

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Show the call's pane, where one pane is shown at a time, once something in it has the focus."""
        if self.pane in event.widget.ancestors_with_self:
            self._browser.go_to("about", focus=False)

    def on_call_pane_view_switched(self, event: CallPane.ViewSwitched) -> None:
        """JSON instead of fields, and back."""
        event.stop()
        call = self.call
        if call is None or (not call.form.fields and call.form.method != "tools/call"):
            return
        try:
            call.form = as_json(call.form)
        except ValueError as wrong:
            self.pane.help(str(wrong), problem=True)
            return
        in_background(self.screen, partial(self._show_call, call), "servers.form")

    # Sending

    def on_call_pane_sent(self, event: CallPane.Sent) -> None:
        """Check, ask where it destroys, send."""
        event.stop()
        call, pane = self.call, self.pane
        if call is None or call.started is not None:
            return
        if not call.server.connected:
            pane.help(
                f"{call.server.name} is no longer connected: {key_of('app.back')}, then {key_of('server.connect')}",
                problem=True,
            )
            return
        problems = call.form.check_whole()
        pane.form.show_problems(problems)
        if problems and not call.warning:
            what = problems.get("") or "not valid for the schema"
            call.warning = f"{what}: {key_of('call.send', typing=True)} again sends it anyway"
            self._show_help("")
            pane.form.focus_field(next(iter(problems)))
            return
        call.warning = ""
        self._show_help(pane.form.at)
        if call.form.note:
            pane.help(call.form.note, problem=True)
        self._confirm_and_send(call)

    def _confirm_and_send(self, call: Call) -> None:
        item = call.form.item
        known = (call.server.key, item.name)
        if not item.destructive or known in self._agreed_tools:
            self._send(call)
            return
        from mcptest_tui.widgets.modals import Question

        def answered(answer: str | None) -> None:
            if answer == "y":
                self._agreed_tools.add(known)
                self._send(call)

        lines = [
            "This tool destroys something, according to its annotations or its name.",
            f"Server: {call.server.name}",
        ]
        self.workbench.push_screen(
            Question(f"Call {item.name}?", lines, [("n", "no"), ("y", "yes, call it")]), answered
        )

    def _send(self, call: Call) -> None:
        call.started, call.refused, call.hint, call.stderr = time.monotonic(), "", "", ""
        call.params = call.form.params()
        self.show_waiting()
        self.began()
        in_background(self.screen, partial(self._request, call), "servers.call")

    async def _request(self, call: Call) -> None:
        try:
            call.called = await self.workbench.engine.request(
                "call", session=call.server.key, method=call.form.method, params=call.params
            )
            if call.form.method == "resources/read" and call.params.get("uri") in call.server.watched:
                call.server.watched[call.params["uri"]] = "subscribed"
        except EngineError as wrong:
            call.called, call.refused, call.hint = None, wrong.message, wrong.hint or ""
            call.stderr = str(wrong.more.get("stderr") or "")
        except asyncio.CancelledError:
            call.called, call.refused, call.hint = None, "cancelled", ""
            raise
        finally:
            call.started = None
            if self.call is call and self.screen.is_mounted:
                self._show_answer(call)
                self.screen.refresh_bindings()

    def give_up(self) -> bool:
        """Do not wait any longer; false when nothing is waited for."""
        if self.call is None or self.call.started is None or not self.is_shown:
            return False
        self.screen.workers.cancel_group(self.screen, "servers.call")
        return True

    # The answer

    def show_waiting(self) -> None:
        """How long it takes."""
        call = self.call
        if call is None or call.started is None:
            return
        seconds = time.monotonic() - call.started
        self.pane.line([(f"waiting {seconds:.0f} s", "hint"), (f"{key_of('app.back')} cancels", "dim")])

    def _show_answer(self, call: Call) -> None:
        pane = self.pane
        if call.started is not None:
            self.show_waiting()
        elif call.refused:
            pane.line([("no answer", "fail")])
            pane.result.show_text("\n".join(_refusal(call, max(pane.size.width - 6, 20))))
        elif call.called is not None and call.answer is not None:
            name = "error" if "error" in call.answer else "result"
            keys = (f"{key_of('call.save')} saves it as a test", "dim")
            pane.line([*answer_line(call.answer, call.called), keys], call.invalid)
            pane.result.show(call.answer.get(name), root=(name,))
            self._announce_slow_call(call)
        else:
            pane.line(())
            pane.result.show_nothing("")

    def server_moved(self, server: Server) -> None:
        """Connected again, or gone: what can be done about a call without an answer is another thing now."""
        if self.call is not None and self.call.server is server and self.call.refused and self.is_shown:
            self._show_answer(self.call)

    def _announce_slow_call(self, call: Call) -> None:
        """Say a long wait's end where it may not have been seen."""
        took = float((call.called or {}).get("duration_ms") or 0)
        if took > 10_000:
            self.workbench.messages.show(f"{call.form.title} answered after {took_shown(took)}")

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """Say where the cursor is in the answer."""
        if event.lines is self.pane.result:
            event.stop()
            self.show_path()

    def show_path(self) -> None:
        """Where the cursor is in the answer."""
        pane = self.pane
        if self.call is not None and self.call.called is not None and pane.result.has_focus:
            told = "   ".join(filter(None, (pane.result.searching, pane.result.target)))
            show_titles(pane, subtitle=shown(one_line(told, 80)))

    def on_json_tree_node_action(self, event: JsonTree.NodeAction) -> None:
        """Do it here, or have a worker ask the engine for what is not here."""
        event.stop()
        call = self.call
        if call is None or call.called is None:
            return
        if event.what == "search":
            self._search_line.open()
        else:
            self._values.take(event, self._part_of(call))

    def _part_of(self, call: Call) -> Request:
        """What requests a part of the answer from the engine."""
        called, ask = call.called or {}, self.workbench.engine.request
        member = "error" if "error" in called.get("answer", {}) else "result"
        return lambda do, path, **more: ask(do, id=called["id"], path=[member, *path], **more)

    # Searching in it

    @property
    def _search_line(self) -> FilterLine:
        return self.pane.query_one("#call-search", FilterLine)

    def on_filter_line_filtered(self, event: FilterLine.Filtered) -> None:
        """Search the answer as it is typed."""
        if event.line is not self._search_line:
            return
        event.stop()
        text = event.text
        tree, call = self.pane.result, self.call
        if call is not None and call.called is not None:
            self._values.find(tree, text, self._part_of(call), lambda: self.show_path() if call is self.call else None)
        if event.done:
            tree.focus()

    def close_search(self) -> bool:
        """Away with the search; false when there is none."""
        line = self._search_line
        if not line.has_class("-on"):
            return False
        line.put("")
        self.pane.result.search("")
        self.pane.result.focus()
        return True

    # Keeping it

    def action_save(self) -> None:
        """The call as a test: shown first, then written."""
        from mcptest_tui.screens.save_test import SaveTest, chosen_leaf
        from mcptest_tui.state.new_suite import free_path

        call = self.call
        if call is None or not call.params:
            self.workbench.messages.show(f"make the call first: {key_of('call.send', typing=True)}")
            return
        documents = [document for document in self.workbench.store.documents.values() if document.sound]
        saving = saving_of(
            call.form.method,
            call.params,
            call.answer,
            call.server,
            documents,
            str(free_path(self.workbench.folder)),
            destructive=call.form.item.destructive,
        )
        saving.invalid = call.invalid if (call.called or {}).get("invalid", {}).get("fails") else ""
        if self.pane.result.has_focus:
            chosen_leaf(saving, self.pane.result)
        self.workbench.push_screen(SaveTest(saving))


def _refusal(call: Call, width: int) -> Iterator[str]:
    """Why there is no answer, what helps, and the end of the server's stderr, as rows."""
    again = (
        f"{key_of('call.send', typing=True)} tries again"
        if call.server.connected
        else f"{key_of('app.back')}, then {key_of('server.connect')}, connects it again"
    )
    for part in (call.refused, call.hint, again):
        yield from wrap(part, width)
    if call.stderr.strip():
        yield from ("", "The end of its stderr", *call.stderr.strip().splitlines()[-STDERR_SHOWN:])
