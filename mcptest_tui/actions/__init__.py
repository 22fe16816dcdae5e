"""The registry: every action is one `Action`; bindings, palette, footer, help and the docs' key table come from it.

Plain data without Textual, so that the table of keys can be printed, and a user's keymap checked, without an app. Each
mode's module exports `ACTIONS`; their order is their usefulness: the footer shows as many as fit, from the first on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULES = ("app", "home", "tests", "edit", "servers", "review", "traffic", "agents")
TITLES = {
    "app": "Everywhere",
    "home": "First screen",
    "tests": "Tests",
    "edit": "Edit",
    "servers": "Servers",
    "review": "Review",
    "traffic": "Traffic",
    "agents": "Agents",
}


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a person can do.

    `id` is what a keymap names; `title` stands in the footer and the palette; `action` is what Textual runs on the node
    that has the binding; `help` is one sentence. `where` names the pane whose widget binds it
    (`bindings_for("list")`); empty, it is the mode's screen (or the app) that does.
    """

    id: str
    title: str
    keys: tuple[str, ...]
    action: str
    help: str = ""
    show: bool = True
    priority: bool = False
    where: str = ""
    palette: bool = True

    @property
    def method(self) -> str:
        """The name of the method that does it: `action_run` for `run` and for `app.run('x')`."""
        return f"action_{self.action.partition('(')[0].rpartition('.')[2]}"


def actions_of(module: str) -> tuple[Action, ...]:
    """All actions of one mode, or of the whole app ("app")."""
    found = import_module(f"mcptest_tui.actions.{module}").ACTIONS
    assert isinstance(found, tuple)
    return found


def actions_for(context: str) -> tuple[Action, ...]:
    """The actions bound in `context`: a mode's own ("tests"), or those of a pane ("list") wherever they stand."""
    if context in MODULES:
        return tuple(action for action in actions_of(context) if action.where in ("", context))
    return tuple(action for _, action in every_action() if action.where == context)


def every_action() -> Iterator[tuple[str, Action]]:
    """(module, action) for all of them."""
    for module in MODULES:
        for action in actions_of(module):
            yield module, action


@cache
def _ids(module: str) -> dict[str, str]:
    return {action.action: action.id for action in actions_of(module)}


def id_of(action: str, mode: str) -> str:
    """The id of what Textual runs as `action` in a mode; for an action that is not registered, its bare name."""
    for module in (mode, "app"):
        found = _ids(module).get(action) if module in MODULES else None
        if found is not None:
            return found
    return action.partition("(")[0]


def by_id() -> dict[str, tuple[str, Action]]:
    """All actions, by id."""
    return {action.id: (module, action) for module, action in every_action()}
