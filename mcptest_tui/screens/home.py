"""The first screen of a folder without a suite: four ways to begin. Nothing is written before it was shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from mcptest_engine.core.shipped import shipped
from mcptest_tui.engine_client import EngineError
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import shown
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.state.skeleton import free_path, skeleton, target_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.binding import BindingType
    from textual.widget import Widget

WAYS = {
    "demo": ("Try the demo", "the example suite, embedded server"),
    "new_suite": ("Make a suite from a server", "type its command or its URL"),
    "servers": ("Servers found on this machine", "from the settings of coding agents"),
    "open_file": ("Open a file", "a suite that lies elsewhere"),
}
SESSION = "home"


class HomeScreen(WorkScreen):
    """Four ways, by digit, Enter or mouse."""

    MODE = "home"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("home")
    HELP = "There is no suite in this folder. Choose how to begin: a digit, or the arrows and Enter."

    def compose_body(self) -> Iterable[Widget]:
        """The sentence and the list."""
        with VerticalScroll(id="home", can_focus=False), Vertical(id="home-box"):
            yield Static(shown("No suite in this folder.", style="bold"), id="home-title")
            yield Static(shown(str(Path.cwd()), style="$muted"), id="home-place")
            yield OptionList(
                *(Option(_way(name), id=name) for name in WAYS),
                markup=False,
                compact=True,
                id="home-ways",
            )
            yield Static("", id="home-note")

    def on_mount(self) -> None:
        """Say how many servers there are, once the engine has looked."""
        super().on_mount()
        self.run_worker(self._count(), group="home.count", exit_on_error=False)

    async def _count(self) -> None:
        await self.workbench.engine_ready.wait()
        try:
            found = len((await self.workbench.engine.ask("found")).get("servers") or ())
        except EngineError:
            return  # the servers' screen says it, when somebody looks there
        counted = f"{found} from the settings of coding agents" if found else "none in the settings of coding agents"
        self.query_one("#home-ways", OptionList).replace_option_prompt("servers", _way("servers", counted))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter or the mouse."""
        self.run_worker(self.run_action(event.option.id or "noop"), group="home", exit_on_error=False)

    async def action_demo(self) -> None:
        """Open the example suite, and run it."""
        path = shipped("examples") / "demo" / "mcptest.yml"
        await self.workbench.open_document(str(path))
        self.workbench.go("tests")
        self.workbench.run_tests(str(path))

    def action_servers(self) -> None:
        """The servers' screen."""
        self.workbench.go("servers")

    def action_open_file(self) -> None:
        """The same as everywhere."""
        self.workbench.action_open_file()

    def action_new_suite(self) -> None:
        """Ask for the server."""
        from mcptest_tui.screens.modals import Ask

        self.app.push_screen(
            Ask(
                "The server's command or URL",
                "for example  python server.py  or  http://localhost:8000/mcp",
                check=lambda typed: None if target_of(typed) else "neither a command nor a URL",
            ),
            self._asked,
        )

    def _asked(self, typed: str | None) -> None:
        target = target_of(typed) if typed else None
        if target is not None:
            self._note(f"asking the server for its tools: {typed}")
            self.run_worker(self._make(target), group="home", exclusive=True, exit_on_error=False)

    async def _make(self, target: dict[str, Any]) -> None:
        tools: list[dict[str, Any]] = []
        problem = ""
        engine = self.workbench.engine
        await self.workbench.engine_ready.wait()
        try:
            await engine.ask("connect", session=SESSION, target=target)
            catalog = await engine.ask("catalog", session=SESSION)
            tools = list(catalog.get("tools") or ())
        except EngineError as wrong:
            problem = f"{wrong.message}; {wrong.hint}" if wrong.hint else wrong.message
        finally:
            engine.tell("disconnect", session=SESSION)
        self._note(problem, error=True)
        self._show(skeleton(target, tools), problem)

    def _show(self, text: str, problem: str) -> None:
        from mcptest_tui.screens.preview import Preview

        path = free_path(Path.cwd())
        lead = f"The server did not answer: {problem}" if problem else "Nothing is written yet."
        self.app.push_screen(
            Preview(f"New suite: {path.name}", text, lead=lead, verb=f"write {path.name}"),
            lambda answer: self._write(path, text) if answer == "write" else None,
        )

    def _write(self, path: Path, text: str) -> None:
        from mcptest_engine.workspace.atomic import write_atomic

        try:
            write_atomic(path, text.encode())
        except OSError as wrong:
            self.workbench.tell(f"cannot write {path}: {wrong.strerror}", severity="error")
            return
        self.workbench.tell(f"wrote {path.name}", hint="f2 and then a runs it")
        self.run_worker(self._open(path), group="home", exit_on_error=False)

    async def _open(self, path: Path) -> None:
        await self.workbench.open_document(str(path))
        self.workbench.go("edit", path=str(path), line=1)

    def _note(self, text: str, *, error: bool = False) -> None:
        self.query_one("#home-note", Static).update(shown(text, style="$verdict-fail" if error else "$muted"))


def _way(name: str, told: str = "") -> Content:
    title, what = WAYS[name]
    number = list(WAYS).index(name) + 1
    return Content.assemble((f" {number} ", "bold"), f" {title:<31}", told or what)
