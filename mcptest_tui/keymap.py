"""From the registry to Textual's bindings, and a person's own keys over them.

`~/.config/mcptest/keymap.yml` maps ids of actions to keys. Textual is silent about clashes (the first one wins, the
other is lost), so they are found here: both actions are named and the default is kept.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from textual.binding import Binding, BindingType

from mcptest_engine.core.errors import did_you_mean
from mcptest_tui.actions import ALIASES, actions_for, by_id
from mcptest_tui.config import MOST_PROBLEMS, Wrong, diagnose_own_file
from mcptest_tui.places import config_dir
from mcptest_tui.words import key_of, key_shown, keys_shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcptest_engine.running.diagnostics import Diagnostic
    from mcptest_tui.actions import Action

RESERVED = {
    "ctrl+m": "it is Enter in most terminals",
    "ctrl+i": "it is Tab in most terminals",
    "ctrl+h": "it is Backspace in most terminals",
    "ctrl+j": "it is a line break in most terminals",
    "ctrl+c": "it copies the selection",
}


def bindings_for(context: str) -> list[BindingType]:
    """Textual's bindings of a mode ("tests"), of a pane ("list"), or of the app."""
    return [_binding(action) for action in actions_for(context) if action.keys]


def _binding(action: Action) -> Binding:
    keys = ",".join(action.keys)
    return Binding(
        keys, action.action, action.title, show=action.show, priority=action.priority, id=action.id, tooltip=action.help
    )


class Keymap(NamedTuple):
    """The keymap for `App.set_keymap`, and what was wrong with the rest of its file."""

    keys: dict[str, str]
    wrong: tuple[Wrong, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems of the keymap file, one line for each."""
        return tuple(one.text for one in self.wrong)


def keymap_file() -> Path:
    """Return the path of the person's keymap."""
    return config_dir() / "keymap.yml"


def keymap_template() -> str:
    """What a keymap begins with: examples that hold as they stand, since they are what the registry has."""
    known = by_id()
    examples = (
        f"# {name}: [{', '.join(map(json.dumps, known[name][1].keys))}]" for name in ("run.this", "app.palette")
    )
    return "\n".join(
        (
            "# Your own keys: the id of an action, and its key or keys; docs/reference/workbench-keys.md lists the ids.",
            "# Read again when you save it. A problem is shown, and the default is used.",
            "#",
            *examples,
            "",
        )
    )


def diagnose_keymap(text: str, path: str) -> list[Diagnostic]:
    """What is wrong with the text of a keymap, each at its place, with the fix where an id is misspelt."""
    return diagnose_own_file(text, path, lambda value: checked(value).wrong, "expected lines such as `run.this: r`")


def load_keymap(path: Path | None = None) -> Keymap:
    """The keymap file, checked; empty without one. Never raises: an invalid entry becomes a problem and is left out."""
    path = path or keymap_file()
    if not os.path.isfile(path):  # noqa: PTH113 - never raises
        return Keymap({})
    from mcptest_engine.core.errors import SuiteError
    from mcptest_engine.suite.yaml import EMPTY, read_file

    try:
        value = read_file(path, file=str(path)).value
    except SuiteError as wrong:
        problems = [problem for problem in wrong.problems[:3] if problem.message != EMPTY]
        texts = (str(problem).splitlines()[0].replace(str(path), path.name) for problem in problems)
        return Keymap({}, tuple(Wrong("", text) for text in texts))
    if not isinstance(value, dict):
        return Keymap({}, (Wrong("", f"{path.name}: expected lines such as `run.this: r`"),))
    return checked(value)


def checked(wanted: Mapping[str, object]) -> Keymap:
    """`wanted` without ids that do not exist, keys that cannot work, and keys that another action has."""
    known = by_id()
    keys: dict[str, str] = {}
    wrong: list[Wrong] = []
    more: list[str] = []
    for written, value in wanted.items():
        name = ALIASES.get(written, written)
        if name not in known and len(wrong) >= MOST_PROBLEMS:
            more.append(str(written))
        elif name not in known:
            hint = did_you_mean(str(name), known) or f"{key_of('app.help')} lists them all"
            wrong.append(Wrong(str(written), f'no action "{name}"', hint))
        if name not in known:
            continue
        listed = [str(key).strip() for key in (value if isinstance(value, list) else str(value).split(","))]
        bad = next((key for key in listed if key in RESERVED or not key), None)
        if bad is not None:
            told = f'"{name}" cannot have the key "{bad}": {RESERVED.get(bad, "it is empty")}'
            wrong.append(Wrong(str(written), told))
            continue
        keys[name] = ",".join(normal(key) for key in listed)
    if more:
        wrong.append(Wrong(more[0], f'no action "{more[0]}", and none for {len(more) - 1:,} more names'))
    return _without_clashes(keys, wrong)


def normal(key: str) -> str:
    """Return a key as Textual names it: `?` as `question_mark`, `^p` as `ctrl+p`."""
    from textual.keys import _character_to_key

    if len(key) == 2 and key.startswith("^"):
        return f"ctrl+{key[1].lower()}"
    return _character_to_key(key) if len(key) == 1 else key


def _without_clashes(keys: dict[str, str], wrong: list[Wrong]) -> Keymap:
    """Leave out every entry whose key another action of the same place has.

    Repeated, because an entry left out has its default key again, with which another entry may clash.
    """
    known = by_id()
    while (clash := _first_clash(keys, known)) is not None:
        name, other, key = clash
        told = f'"{name}" ({known[name][1].title}) and "{other}" ({known[other][1].title}) both have the key "{key_shown(key)}"'
        wrong.append(Wrong(name, told, f"{name} keeps {keys_shown(known[name][1].keys) or 'no key'}"))
        del keys[name]
    return Keymap(keys, tuple(wrong))


def _first_clash(keys: Mapping[str, str], known: Mapping[str, tuple[str, Action]]) -> tuple[str, str, str] | None:
    for name, wanted in keys.items():
        for other, (module, action) in known.items():
            if other == name or not _meet(known[name], (module, action)):
                continue
            taken = keys[other].split(",") if other in keys else list(action.keys)
            for key in wanted.split(","):
                # a pane's key before its screen's, as we have it
                shared = key in known[name][1].keys and key in action.keys
                if key in taken and not shared:
                    return name, other, key
    return None


def _meet(one: tuple[str, Action], other: tuple[str, Action]) -> bool:
    """Whether both can be in force at once: in one mode, or everywhere, and not in two different panes."""
    (module, action), (other_module, other_action) = one, other
    if "app" not in (module, other_module) and module != other_module:
        return False
    return "" in (action.where, other_action.where) or action.where == other_action.where
