"""What a JSON tree asks for beyond what it does itself: whole values, further entries, a search in all of a value."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mcptest_tui.engine_client import EngineError
from mcptest_tui.screens.base import Controller, in_background
from mcptest_tui.state.json_rows import value_at, whole
from mcptest_tui.widgets.json_tree import JsonTree, text_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcptest_tui.state.json_rows import Path

    Request = Callable[..., Awaitable[Any]]
    """Asks the engine for something below the root of a tree: (command, path, more arguments)."""


class TreeValues(Controller):
    """Shows and copies values of trees; what a tree has only a part of is read from the engine.

    Each kind of request has a group of its own: going to a hit of fewer letters must not end the search for more.
    """

    def take(self, event: JsonTree.NodeAction, request: Request | None = None) -> None:
        """Do what a tree asks for; without `request` it holds all of its value."""
        tree = event.tree
        if event.what == "target":
            self.workbench.copy(tree.target, "the target")
        elif event.what in ("copy", "value") and tree.is_whole():
            self._use(event, text_of(tree.value()))
        elif request is not None and event.what == "reach":
            in_background(self.screen, partial(self._reach, event, request), "value.reach")
        elif request is not None and event.what in ("copy", "value", "more", "text"):
            in_background(self.screen, partial(self._fetch, event, request), "value")

    def find(self, tree: JsonTree, text: str, request: Request, then: Callable[[], None]) -> None:
        """Search a tree, and all of its value where it has only a part of that; `then` is called when more was found."""
        tree.search(text)
        if text and tree.nodes is not None and not whole(tree.nodes.value):
            in_background(self.screen, partial(self._find, tree, text, request, then), "value.find")

    def show(self, title: str, text: str, what: str = "the value") -> None:
        """Show a text in a window from which it can be copied."""
        from mcptest_tui.screens.value import ValueWindow

        bench = self.workbench
        bench.push_screen(ValueWindow(title, text), lambda answer: bench.copy(text, what) if answer == "copy" else None)

    def _use(self, event: JsonTree.NodeAction, text: str) -> None:
        """The whole value has come."""
        if event.what == "text":
            event.tree.show_text(text)
        elif event.what == "copy":
            self.workbench.copy(text, "the value")
        else:
            self.show(event.tree.target or "value", text)

    async def _fetch(self, event: JsonTree.NodeAction, request: Request) -> None:
        try:
            if event.what == "more":
                event.tree.extend(event.path, await request("expand", list(event.path), start=event.start))
            else:
                self._use(event, str(await request("value", list(event.path))))
        except EngineError as wrong:
            self.workbench.messages.notify(wrong.message, severity="warning", hint=wrong.hint)

    async def _find(self, tree: JsonTree, text: str, request: Request, then: Callable[[], None]) -> None:
        try:
            paths = await request("search", [], text=text)
        except EngineError:
            return  # what is here has been searched
        tree.found(text, [tuple(path) for path in paths])
        then()

    async def _reach(self, event: JsonTree.NodeAction, request: Request) -> None:
        try:
            await fetch_up_to(event.tree, event.path, request)
        except EngineError as wrong:
            self.workbench.messages.notify(wrong.message, severity="warning", hint=wrong.hint)


async def fetch_up_to(tree: JsonTree, path: Path, request: Request) -> None:
    """Fetch the entries that lead to a hit, container by container, and go there. Raises: EngineError."""
    for depth, key in enumerate(path):
        held = value_at(tree.nodes.value, path[:depth]) if tree.nodes is not None else None
        if not isinstance(held, (dict, list)):
            return
        if isinstance(key, int) and isinstance(held, list):
            start = len(held) - (1 if held and isinstance(held[-1], dict) and "$more" in held[-1] else 0)
            is_here = key < start
        else:
            start, is_here = len(held) - ("$more" in held), key in held
        if not is_here:
            tree.extend(path[:depth], await request("expand", list(path[:depth]), start=start, key=key))
    tree.reached(path)
