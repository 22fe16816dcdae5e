"""What runs, suites, reviews and agents need of the program that they are parts of: the workbench, or `--plain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from textual.notifications import SeverityLevel

    from mcptest_engine.workspace.workspace import Workspace
    from mcptest_tui.config import Config
    from mcptest_tui.engine_client import EngineClient
    from mcptest_tui.mode_screen import ModeScreen
    from mcptest_tui.state.store import Store


class MessageOutput(Protocol):
    """Shows messages to the person: `Messages` of the workbench, or `Printer` of `--plain`."""

    def notify(
        self,
        text: str,
        *,
        severity: SeverityLevel = "information",
        hint: str | None = None,
        is_over: Callable[[], bool] | None = None,
    ) -> None:
        """Show something that a person should not miss, and what to do about it."""

    def show(
        self, text: str, severity: str = "information", *, details: str = "", is_over: Callable[[], bool] | None = None
    ) -> None:
        """Show what has just happened."""


class Host(Protocol):
    """The program that suites, runs and reviews belong to: the workbench, or `--plain`."""

    config: Config
    folder: Path
    workspace: Workspace
    store: Store
    engine: EngineClient
    engine_ready: asyncio.Event
    watch_mode: str

    @property
    def messages(self) -> MessageOutput:
        """The object that shows messages to the person."""

    @property
    def current_mode(self) -> str:
        """The name of the mode that is shown; "" for a host without modes."""

    def run_worker(self, work: Any, *, group: str, exclusive: bool = False, exit_on_error: bool) -> object:
        """Start a coroutine, or a function that returns one; with `exclusive` the one before of its group is cancelled."""

    def work_screens(self) -> Iterable[ModeScreen]:
        """The screens of the modes that exist so far, shown or not."""

    def watched_files(self) -> list[str]:
        """Files and folders to watch beside those of the suites."""

    def documents_read(self) -> None:
        """Called when other documents are in the store, to show them."""

    def documents_changed(self, paths: list[str]) -> None:
        """Read again what is made of these files, and run what the watch mode says."""

    def refresh_status(self) -> None:
        """Show the state of the runs and of the reviews."""
