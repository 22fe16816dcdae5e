"""Calling what a server offers by hand: fill in a form, send it, read the answer, save it as a test.

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
    """A form, and the answer or error after it was sent. `params` are those that were sent last."""

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
        """How the answer violates the protocol or the tool's `outputSchema`; empty if it does not."""
        return str((self.called or {}).get("invalid", {}).get("message", ""))


class Calls(Controller):
    """The form of a call and its answer, in the pane for calls."""

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
        """Offer to save a call only after it was sent."""
        if action == "save":
            return self.is_shown and self.call is not None and bool(self.call.params)
        return super().check_action(action, parameters)

    @property
    def is_shown(self) -> bool:
        """Whether the form is shown."""
        return self.screen.has_class("-calling")

    @property
    def waiting(self) -> bool:
        """Whether any call still waits for its answer."""
        return any(call.started is not None for call in self._calls.values())

    # Opening

    def open(self, item: Item, arguments: dict[str, Any] | None = None, *, send: bool = False) -> None:
        """Show an item's form as it was left, or filled with `arguments`; `send` sends it at once."""
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
        """Open what another screen named: a tool, or a whole request to send again."""
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
        """Draw the form again with its values, and focus the field `at`."""
        if self.call is not None:
            self.call.form.check()
            in_background(self.screen, partial(self._show_call, self.call, at=at), "servers.form")

    def leave(self) -> None:
        """Go back to the catalog. Cancel a form that is still being drawn, which would take the focus."""
        self.screen.workers.cancel_group(self.screen, "servers.form")
        self.screen.remove_class("-calling")
        self._browser.go_to("catalog")
        self._browser.show_about()

    # Typing

    def on_schema_form_changed(self, event: SchemaForm.Changed) -> None:
        """Check the form again when a field that had a problem was changed."""
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
        """Show the help text of the field that got the focus."""
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
        """Check a field when it is left; missing values are reported only when the form is sent."""
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
        """Fill the form, or one field of it, from an object that was pasted."""
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
        """Draw the form again when items were added or removed, or a text outgrew its line."""
        event.stop()
        if self.call is not None and self.is_shown:
            if self.call.form.problems:
                self.call.form.check()
            in_background(self.screen, partial(self._show_call, self.call, at=event.name), "servers.form")

    def on_choice_list_requested(self, event: Choice.ListRequested) -> None:
        """Offer a field's values in a picker when they are too many for a row."""
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
        """Show the call's pane when something in it gets the focus, where panes are shown one at a time."""
        if self.pane in event.widget.ancestors_with_self:
            self._browser.go_to("about", focus=False)

    def on_call_pane_view_switched(self, event: CallPane.ViewSwitched) -> None:
        """Switch the form between fields and JSON."""
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
        """Check the form, ask before a destructive tool is called, then send it."""
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
        """Cancel the call that waits for an answer; return False when there is none."""
        if self.call is None or self.call.started is None or not self.is_shown:
            return False
        self.screen.workers.cancel_group(self.screen, "servers.call")
        return True

    # The answer

    def show_waiting(self) -> None:
        """Show for how many seconds the call has been waiting."""
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
        """Show again how to repeat a failed call, because the server connected or ended."""
        if self.call is not None and self.call.server is server and self.call.refused and self.is_shown:
            self._show_answer(self.call)

    def _announce_slow_call(self, call: Call) -> None:
        """Show a message when a call was answered after more than ten seconds."""
        took = float((call.called or {}).get("duration_ms") or 0)
        if took > 10_000:
            self.workbench.messages.show(f"{call.form.title} answered after {took_shown(took)}")

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """Update the frame when the cursor moves in the answer."""
        if event.lines is self.pane.result:
            event.stop()
            self.show_path()

    def show_path(self) -> None:
        """Show the path of the value under the cursor in the pane's frame."""
        pane = self.pane
        if self.call is not None and self.call.called is not None and pane.result.has_focus:
            told = "   ".join(filter(None, (pane.result.searching, pane.result.target)))
            show_titles(pane, subtitle=shown(one_line(told, 80)))

    def on_json_tree_node_action(self, event: JsonTree.NodeAction) -> None:
        """Open the search, or do what was asked with a value of the answer."""
        event.stop()
        call = self.call
        if call is None or call.called is None:
            return
        if event.what == "search":
            self._search_line.open()
        else:
            self._values.take(event, self._part_of(call))

    def _part_of(self, call: Call) -> Request:
        """Return a function that requests a part of the answer from the engine."""
        called, ask = call.called or {}, self.workbench.engine.request
        member = "error" if "error" in called.get("answer", {}) else "result"
        return lambda do, path, **more: ask(do, id=called["id"], path=[member, *path], **more)

    # Searching in it

    @property
    def _search_line(self) -> FilterLine:
        return self.pane.query_one("#call-search", FilterLine)

    def on_filter_line_filtered(self, event: FilterLine.Filtered) -> None:
        """Search the answer for the text typed so far."""
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
        """Close the search in the answer; return False when none is open."""
        line = self._search_line
        if not line.has_class("-on"):
            return False
        line.put("")
        self.pane.result.search("")
        self.pane.result.focus()
        return True

    # Keeping it

    def action_save(self) -> None:
        """Show the call as a test in the window that writes it to a suite."""
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
    """Yield rows: why there is no answer, what helps, and the last lines of the server's stderr."""
    again = (
        f"{key_of('call.send', typing=True)} tries again"
        if call.server.connected
        else f"{key_of('app.back')}, then {key_of('server.connect')}, connects it again"
    )
    for part in (call.refused, call.hint, again):
        yield from wrap(part, width)
    if call.stderr.strip():
        yield from ("", "The end of its stderr", *call.stderr.strip().splitlines()[-STDERR_SHOWN:])
