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

MODULES = ("app", "home", "tests", "edit", "servers", "review", "traffic", "agents", "dialogs")
TITLES = {
    "app": "Everywhere",
    "home": "First screen",
    "tests": "Tests",
    "edit": "Edit",
    "servers": "Servers",
    "review": "Review",
    "traffic": "Traffic",
    "agents": "Agents",
    "dialogs": "Dialogs",
}

KEYS: dict[str, tuple[str, ...]] = {
    "run": ("r", "ctrl+r"),
    "run all": ("a",),
    "run failed": ("f",),
    "run the last again": ("full_stop",),
    "stop": ("x",),
    "stop all": ("X",),
    "choose": ("enter",),
    "back": ("escape",),
    "edit": ("e",),
    "$EDITOR": ("E", "ctrl+e"),
    "find": ("slash", "ctrl+f"),
    "next": ("n",),
    "previous": ("N",),
    "failures only": ("exclamation_mark",),
    "mark": ("space",),
    "mark range": ("V",),
    "mark all": ("M",),
    "add": ("plus", "alt+a"),
    "remove": ("minus", "alt+r"),
    "save": ("ctrl+s",),
    "save as test": ("s",),
    "propose": ("P", "alt+p"),
    "review": ("v",),
    "details": ("i", "ctrl+g"),
    "as text": ("t", "ctrl+t"),
    "other diff": ("d",),
    "other side": ("percent_sign",),
    "wrap": ("W", "alt+w"),
    "copy": ("y",),
    "copy the path": ("Y",),
    "copy the command": ("c",),
    "undo": ("u",),
    "undo the write": ("U",),
    "reload": ("R",),
    "clear": ("C", "alt+c"),
    "watch": ("w",),
    "follow": ("F",),
    "bail": ("b",),
    "order": ("o",),
    "older": ("O",),
    "matrix": ("m",),
    "ping": ("p",),
    "new suite": ("ctrl+n",),
    "open a file": ("ctrl+o",),
    "demo": ("D",),
    "accept": ("a",),
    "reject": ("r",),
    "skip": ("s",),
    "accept the rest": ("A",),
    "reject the rest": ("R",),
    "skip the rest": ("S",),
    "all alike": ("asterisk",),
    "complete": ("ctrl+space", "ctrl+@"),
    "fix": ("f9", "alt+enter", "ctrl+full_stop"),
    "next problem": ("f8",),
    "previous problem": ("shift+f8",),
    "replace": ("f7",),
    "next file": ("ctrl+pagedown",),
    "previous file": ("ctrl+pageup",),
    "no value": ("backspace", "delete"),
    "go to Tests": ("1", "f1"),
    "go to Edit": ("2", "f2"),
    "go to Servers": ("3", "f3"),
    "go to Review": ("4", "f4"),
    "go to Traffic": ("5", "f5"),
    "go to Agents": ("6", "f6"),
    "go to the server": ("S",),
    "traffic": ("T",),
    "go to the test": ("J",),
    "palette": ("ctrl+p", "colon"),
    "help": ("question_mark", "f12"),
    "jump": ("apostrophe", "ctrl+right_square_bracket"),
    "settings": ("comma",),
    "command log": ("at",),
    "live processes": ("ampersand",),
    "quit": ("ctrl+q", "q"),
    "shell": ("ctrl+z",),
    "redraw": ("ctrl+l",),
    "next pane": ("tab",),
    "previous pane": ("shift+tab",),
    "next tab": ("right_square_bracket",),
    "previous tab": ("left_square_bracket",),
    "zoom": ("z", "f10"),
    "wider": ("greater_than_sign",),
    "narrower": ("less_than_sign",),
    "reset sizes": ("equals_sign",),
    "down": ("j", "down"),
    "up": ("k", "up"),
    "left": ("h", "left"),
    "right": ("l", "right"),
    "fold all": ("H",),
    "unfold all": ("L",),
    "first": ("g", "home"),
    "last": ("G", "end"),
    "half a page down": ("ctrl+d",),
    "half a page up": ("ctrl+u",),
    "page down": ("pagedown",),
    "page up": ("pageup",),
}
"""Each key has one meaning, wherever it works, and each meaning the same keys: the first is for lists, one with ctrl or an F
key works in texts too. An action names its meaning and gets these. Only the keys of texts (`text_keys`) stand apart.
"""

EXCEPTIONS: dict[str, str] = {
    "review": "accept, reject and skip have the keys of `mcptest review` and of insta (`a` `r` `s`); nothing is run in Review",
}
"""Where keys mean something else than everywhere, and why."""

ALIASES: dict[str, str] = {"server.restart": "server.connect"}
"""Ids of earlier versions, which stay valid in a keymap."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a person can do.

    `id` is what a keymap names; `title` stands in the footer and the palette; `meaning` gives the keys (`KEYS`), "" none;
    `action` is what Textual runs on the node that has the binding, or on its controller (`saving.save`); `help` is one
    sentence. `where` names the pane whose widget binds it (`bindings_for("list")`); empty, it is the mode's screen (or the
    app) that does.
    """

    id: str
    title: str
    meaning: str
    action: str
    help: str = ""
    show: bool = True
    priority: bool = False
    where: str = ""
    palette: bool = True
    text_keys: tuple[str, ...] = ()
    idle: str = ""
    """What is said when the key is pressed and there is nothing to do."""
    group: str = ""
    """A word under which the footer names the keys of several actions together: `[ ] tabs`."""

    @property
    def keys(self) -> tuple[str, ...]:
        """What it is bound to, unless a keymap says otherwise; the first is shown."""
        return self.text_keys or (KEYS[self.meaning] if self.meaning else ())

    @property
    def method(self) -> str:
        """The name of the method that does it: `action_run` for `run`, for `app.run('x')` and for `running.run`."""
        return f"action_{self.action.partition('(')[0].rpartition('.')[2]}"

    @property
    def controller(self) -> str:
        """What does it instead of the node itself, by its name there; "" for the node."""
        owner = self.action.partition("(")[0].rpartition(".")[0]
        return "" if owner in ("app", "screen", "focused") else owner.rpartition(".")[2]


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


@cache
def by_id() -> dict[str, tuple[str, Action]]:
    return {action.id: (module, action) for module, action in every_action()}
