"""The first screen in a folder without a suite: four ways to begin. Nothing is written without a question."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from mcptest_engine.workspace.suite_file import demo_suite
from mcptest_tui.actions import id_of
from mcptest_tui.engine_client import EngineError
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import shown
from mcptest_tui.screens.base import Controller, WorkScreen, in_background
from mcptest_tui.state.new_suite import free_path, server_name, shown_target, target_of, target_problem
from mcptest_tui.words import MARKS, key_of, key_shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.binding import BindingType
    from textual.widget import Widget
    from textual.worker import Worker

WAYS = {
    "demo": ("Try the demo", "the example suite, embedded server"),
    "making.new_suite": ("Make a suite from a server", "type its command or its URL"),
    "servers": ("Servers found on this machine", "from the settings of coding agents"),
    "open_file": ("Open a file", "a suite in another folder"),
}
SESSION = "home"
GROUP = "home"
"""Of the workers that a person may cancel."""
STDERR_SHOWN = 5


class HomeScreen(WorkScreen):
    """The screen with four ways to begin, chosen by key, Enter or mouse."""

    MODE = "home"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("home")
    HELP = f"There is no suite in this folder. Choose how to begin: its key, or the arrows and {key_shown('enter')}."

    def __init__(self) -> None:
        super().__init__()
        self.making = SuiteMaking(self, self._note)

    def compose_body(self) -> Iterable[Widget]:
        """Yield the title, the folder, the list of ways, and a line for notes."""
        with VerticalScroll(id="home", can_focus=False), Vertical(id="home-box"):
            yield Static(shown("No suite in this folder.", style="bold"), id="home-title")
            yield Static(shown(str(self.workbench.folder), style="$muted"), id="home-place")
            yield OptionList(
                *(Option(_way(name), id=name) for name in WAYS),
                markup=False,
                compact=True,
                id="home-ways",
            )
            yield Static("", id="home-note")

    def on_mount(self) -> None:
        """Count the servers on this machine, and show the number when the engine has answered."""
        self.run_worker(self._count(), group="home.count", exit_on_error=False)

    async def _count(self) -> None:
        await self.workbench.engine_ready.wait()
        try:
            found = len((await self.workbench.engine.request("found")).get("servers") or ())
        except EngineError:
            return  # the servers' screen says it, when somebody looks there
        counted = f"{found} from the settings of coding agents" if found else "none in the settings of coding agents"
        self.query_one("#home-ways", OptionList).replace_option_prompt("servers", _way("servers", counted))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Run the action of the way that was chosen by Enter or the mouse."""
        self.run_worker(self.run_action(event.option.id or "noop"), group=GROUP, exit_on_error=False)

    def action_demo(self) -> None:
        """Ask whether to write the demo suite into this folder; then open and run it."""
        from mcptest_tui.widgets.modals import Question

        lines = [
            "This writes a suite for mcptest's mock server, mcptest-demo.yml, into this folder. Change it as you like.",
            "One test in it is wrong on purpose, for you to correct.",
        ]
        choices = [("y", "write it, and run it"), ("n", "no")]
        self.app.push_screen(Question("Try the demo", lines, choices), self._open_demo)

    async def _open_demo(self, answer: str | None) -> None:
        if answer != "y":
            return
        try:
            path = str(demo_suite(self.workbench.folder))
        except OSError as wrong:
            self._note(f"{wrong.filename} cannot be written: {wrong.strerror}", error=True)
            return
        await self.workbench.open_document(path)
        self.workbench.go("tests")
        self.workbench.runs.start(path)

    def action_servers(self) -> None:
        """Go to the screen with the servers found on this machine."""
        self.workbench.go("servers")

    async def action_open_file(self) -> None:
        """Ask for a file to open, as the app's own action does."""
        await self.workbench.run_action("windows.open_file")

    def hints_first(self) -> dict[str, str]:
        """Return the footer's first keys: cancel while connecting, the ways to begin, quit."""
        asked = {"app.back": "cancel"} if self.making.is_connecting else {}
        return {**asked, "home.demo": "", "home.new": "", "home.servers": "", "home.open": "", "app.quit": ""}

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:  # noqa: ARG002 - Textual's
        """Update the footer, which offers to cancel only while a worker can be cancelled."""
        self.refresh_bindings()

    def back(self) -> bool:
        """Cancel connecting to a server; return False when there is nothing to cancel."""
        return self.making.cancel()

    def _note(self, text: str, *, error: bool = False) -> None:
        self.query_one("#home-note", Static).update(shown(text, style="$verdict-fail" if error else "$muted"))


class SuiteMaking(Controller):
    """Asks for a server, connects to it, and previews a suite for it. `note` is called with messages."""

    def __init__(self, screen: WorkScreen, note: Callable[..., None]) -> None:
        super().__init__(screen)
        self._note = note
        self._typed = ""
        """The command or URL that was typed last."""

    @property
    def is_connecting(self) -> bool:
        """Whether a server is being connected."""
        return any(worker.group == GROUP and not worker.is_finished for worker in self.screen.workers)

    def cancel(self) -> bool:
        """Cancel connecting to a server; return False when there is nothing to cancel."""
        asked = self.workbench.workers.cancel_group(self.screen, GROUP)
        if asked:
            self._note("cancelled; nothing was written")
        return bool(asked)

    def action_new_suite(self) -> None:
        """Ask for the command or URL of the server to make a suite for."""
        from mcptest_tui.widgets.modals import TextPrompt

        self.workbench.push_screen(
            TextPrompt(
                "The server's command or URL",
                "for example  python server.py  or  http://localhost:8000/mcp",
                value=self._typed,
                check=target_problem,
                entered=self.workbench.entered_servers,
            ),
            self._on_server_typed,
        )

    def _on_server_typed(self, typed: str | None) -> None:
        target = target_of(typed) if typed else None
        if target is not None:
            self._typed = typed or ""
            self._note(f"asking the server for its tools ({key_of('app.back')} cancels): {shown_target(target)}")
            in_background(self.screen, partial(self._make, target), GROUP)

    async def _make(self, target: dict[str, Any]) -> None:
        """Connect to the server and open the window that makes a suite; its closing ends the session."""
        from mcptest_tui.screens.scaffold import ScaffoldScreen
        from mcptest_tui.state.scaffolding import Scaffolding, places_for

        engine = self.workbench.engine
        await self.workbench.engine_ready.wait()
        name = server_name(target)
        try:
            await engine.request("connect", session=SESSION, target={**target, "name": name})
            await engine.request("catalog", session=SESSION)
        except EngineError as wrong:
            engine.send("disconnect", session=SESSION)
            told = [f"{wrong.message}; {wrong.hint}" if wrong.hint else wrong.message]
            stderr = str(wrong.more.get("stderr") or "").strip().split("\n")[-STDERR_SHOWN:]
            again = f"{key_of('home.new')} tries again: the command is still there"
            self._note("\n".join([*told, *(f"{MARKS['split']} {text}" for text in stderr if text), again]), error=True)
            return
        except asyncio.CancelledError:
            engine.send("disconnect", session=SESSION)
            raise
        self._note("")
        state = Scaffolding(places_for((), "", str(free_path(self.workbench.folder))))
        scaffold = ScaffoldScreen(name, SESSION, state, mode="tests")
        self.workbench.push_screen(scaffold, lambda _: engine.send("disconnect", session=SESSION))


def _way(name: str, told: str = "") -> Content:
    title, what = WAYS[name]
    return Content.assemble((f" {key_of(id_of(name, 'home')):>2} ", "bold"), f" {title:<31}", told or what)
