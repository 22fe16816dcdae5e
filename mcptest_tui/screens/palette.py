"""What the palette offers: every action that applies now, recent ones first; `>` lists tests, `@` tools."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from mcptest_tui.actions import TITLES, by_id, every_action
from mcptest_tui.actions.search_terms import SEARCH_WORDS
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.screens.picker import Choice
from mcptest_tui.state.tree_rows import suite_title
from mcptest_tui.words import keys_now, keys_shown, mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.dom import DOMNode
    from textual.screen import Screen

    from mcptest_tui.actions import Action
    from mcptest_tui.base_app import BaseApp

RECENT = 5
NOT_RECENT = {"app.palette", "app.help", "app.back"}
FIRST = "Recent"
HINT = "an action; > a test; @ a tool"


class Doable(NamedTuple):
    """An action and the node that runs it; `mode` is set if that mode has to be shown first."""

    action: Action
    node: DOMNode | None
    mode: str = ""


def doable(app: BaseApp, screen: Screen[object]) -> Iterator[Doable]:
    """Yield the actions that apply now: of the focused pane, the screen, the app, or another mode."""
    focused = screen.focused
    nodes: list[DOMNode] = [*(focused.ancestors_with_self if focused is not None else ()), screen, app]
    mode = screen.MODE if isinstance(screen, WorkScreen) else ""
    for module, action in every_action():
        if not action.palette:
            continue
        if module in ("app", mode):
            node = next((node for node in nodes if _does(node, action)), None)
            if node is not None and app._check_action_state(action.action, node):
                yield Doable(action, node)
        elif not action.where:
            yield Doable(action, None, module)


def _does(node: DOMNode, action: Action) -> bool:
    owner = getattr(node, action.controller, None) if action.controller else node
    return hasattr(owner, action.method) or hasattr(owner, f"_{action.method}")


def keys_of(action: Action) -> str:
    """Return the keys of an action, with the user's keymap applied over the defaults."""
    return keys_shown(keys_now(action.id))


class Palette:
    """The choices of the palette for one opening of it over `screen`."""

    def __init__(self, app: BaseApp, screen: Screen[object]) -> None:
        self._app = app
        self._found = {found.action.id: found for found in doable(app, screen)}

    def source(self, typed: str) -> tuple[list[Choice], str]:
        """Return the choices for the typed text, and the part of it to search with."""
        if typed.startswith(">"):
            return self._tests, typed[1:]
        if typed.startswith("@"):
            return self._tools, typed[1:]
        done = dict.fromkeys(reversed(self._app.problems.actions))
        recent = [name for name in done if name in self._found and name not in NOT_RECENT][:RECENT]
        choices = [self._choice(self._found[name], FIRST) for name in recent]
        taken = set(recent)
        choices += [self._choice(found) for name, found in self._found.items() if name not in taken]
        choices.sort(key=lambda choice: choice.group != FIRST and choice.group != self._here())
        return choices, typed

    async def do(self, chosen: str) -> None:
        """Go to the chosen test or tool, or run the chosen action."""
        kind, _, rest = chosen.partition(":")
        if kind == "test":
            self._app.go("tests", id=rest)
        elif kind == "tool":
            suite, server, tool = rest.split("\0")
            self._app.go("servers", suite=suite, server=server, tool=tool)
        elif chosen in self._found:
            await self._do(self._found[chosen])

    async def _do(self, found: Doable) -> None:
        if found.mode:
            self._app.go(found.mode)
            self._app.call_after_refresh(self._app.run_action, found.action.action, self._app.screen)
        else:
            await self._app.run_action(found.action.action, default_namespace=found.node)

    def _choice(self, found: Doable, group: str = "") -> Choice:
        action = found.action
        title = f"{TITLES[found.mode]}: {action.title}" if found.mode else action.title
        group = group or TITLES[found.mode or by_id()[action.id][0]]
        words = SEARCH_WORDS.get(action.id, "")
        return Choice(action.id, title, keys_of(action), action.help, group, words=words)

    def _here(self) -> str:
        screen = self._app.screen_stack[0]
        return TITLES.get(screen.MODE, "") if isinstance(screen, WorkScreen) else ""

    @cached_property
    def _tests(self) -> list[Choice]:
        suites = {path: suite_title(path, self._app.store.documents) for path in self._app.store.documents}
        return [
            Choice(f"test:{row.id}", f"{mark(row.shown)} {row.name}", suites.get(row.path, row.path), row.id)
            for row in self._app.store.rows.values()
        ]

    @cached_property
    def _tools(self) -> list[Choice]:
        """The tools that connected servers offer, then those that tests call."""
        places = [
            (suite, server, tool.name) for screen in self._app.work_screens() for suite, server, tool in screen.tools()
        ]
        rows = self._app.store.rows.values()
        places += [(row.path, row.server, row.tool) for row in rows if row.block == "tools" and row.tool]
        found = {f"tool:{suite}\0{server}\0{tool}": (server, tool) for suite, server, tool in places if "/" not in tool}
        return [Choice(name, tool, server) for name, (server, tool) in found.items()]
