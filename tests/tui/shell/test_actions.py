"""The registry: ids, keys and methods hold together, and the docs' table comes from it."""

from __future__ import annotations

import ast
import pkgutil
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

import mcptest_tui
from mcptest_tui.actions import EXCEPTIONS, KEYS, MODULES, TITLES, Action, actions_of, by_id, every_action
from mcptest_tui.actions.__main__ import table
from mcptest_tui.keymap import RESERVED, normal
from mcptest_tui.screens.make import MODES
from mcptest_tui.words import key_shown

ACTIONS = list(every_action())


def test_every_id_names_one_action():
    """A keymap goes by id."""
    assert len(by_id()) == len(ACTIONS)


def test_no_action_has_a_key_that_terminals_take_for_another():
    """Not as its only key; what tmux and screen take for themselves is in the palette beside."""
    forbidden = {*RESERVED, "ctrl+enter", "shift+enter"}
    prefixes = [action.id for _, action in ACTIONS if {*action.keys} <= {"ctrl+a", "ctrl+b"} and action.keys]
    assert all(by_id()[name][1].palette for name in prefixes)
    bad = {action.id: key for _, action in ACTIONS for key in action.keys if key in forbidden and len(action.keys) == 1}
    arrows = [
        action.id
        for _, action in ACTIONS
        if not action.where and action.keys and all(key in ARROWS for key in action.keys)
    ]
    assert bad == {}
    assert arrows == []


ARROWS = {f"ctrl+{arrow}" for arrow in ("up", "down", "left", "right")}


def test_a_key_has_one_meaning_wherever_it_works():
    """But for the keys of texts, and for the modes that `EXCEPTIONS` names with their reason."""
    meant = defaultdict(set)
    for module, action in ACTIONS:
        for key in () if action.text_keys or module in EXCEPTIONS else action.keys:
            meant[key].add(action.meaning)
    assert {key: meanings for key, meanings in meant.items() if len(meanings) > 1} == {}


@pytest.mark.parametrize("module", EXCEPTIONS)
def test_an_exception_is_no_larger_than_its_reason(module):
    """What a mode's keys mean beside what they mean elsewhere."""
    others = {key: one.meaning for other, one in ACTIONS for key in one.keys if other != module and not one.text_keys}
    found = {key for one in actions_of(module) for key in one.keys if others.get(key, one.meaning) != one.meaning}
    assert found == {"a", "r", "s", "R", "S"}


@pytest.mark.parametrize("module", MODULES)
def test_no_two_actions_have_one_key_in_one_place(module):
    """Textual takes the first of two in silence."""
    meant = defaultdict(list)
    for action in actions_of(module):
        for key in action.keys:
            meant[action.where, key].append(action.id)
    assert {place: ids for place, ids in meant.items() if len(ids) > 1} == {}


@pytest.mark.parametrize("module", ["tests", "edit", "servers", "review", "traffic", "agents"])
def test_the_page_names_no_key_of_a_mode_that_does_nothing_there(module):
    """Its prose is written by hand; the tables below it are not."""
    page = (Path(__file__).parents[3] / "docs/how-to/workbench.md").read_text(encoding="utf-8")
    prose = page.partition(f"\n## {TITLES[module]}\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([!-~]|\^[a-z]|f\d+|alt\+[a-z])`", prose)) - {"-", "~", "!", "?"}
    known = {key_shown(key) for place in (module, "app", "dialogs") for one in actions_of(place) for key in one.keys}
    known |= {key_shown(key) for _, one in ACTIONS if one.where in ("json", "lines", "diff") for key in one.keys}
    known |= {key_shown(by_id()[name][1].keys[0]) for name in LEADING_TO.get(module, ())}
    assert named <= known


LEADING_TO = {"edit": ("open.edit",), "review": ("test.propose", "review.open")}
"""Actions of other modes that lead to a mode, and are named on the page where that is described."""


def test_no_letter_quits_in_a_dialog():
    """Whoever wants a list or a window gone presses q; there it must not end the program."""
    quits = [one for _, one in ACTIONS if one.where.startswith("dialog") and one.method == "action_quit"]
    assert [one.keys for one in quits] == [("ctrl+q",)]


def test_no_text_names_a_key_by_hand():
    """It is taken from the registry, so that it is the person's own."""
    named = []
    for path in sorted((Path(__file__).parents[3] / "mcptest_tui").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        named += [
            (path.name, node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in bare
            and re.search(r"\b(Enter|Escape|Backspace|Arrows)\b", node.value)
        ]
    assert {file for file, _ in named} <= {"keymap.py"}, named


def test_every_meaning_is_of_an_action():
    """And every action that has keys of lists says what they mean."""
    assert set(KEYS) == {action.meaning for _, action in ACTIONS if action.meaning}


@pytest.mark.parametrize("action", [action for _, action in ACTIONS], ids=lambda action: action.id)
def test_an_action_says_what_it_does(action: Action):
    """Title and help stand in footer, palette, help and docs; keys are spelled as Textual spells them."""
    assert action.title == action.title.strip()
    assert not action.title[0].islower()
    assert action.help.endswith((".", "?")) or not (action.help or action.show)
    assert all(normal(key) == key for key in action.keys)


def test_the_actions_of_the_whole_app_exist():
    """Each is a method of the app, of its commands, or of every screen."""
    from mcptest_tui.app import Workbench
    from mcptest_tui.app_commands import Preferences, Windows
    from mcptest_tui.screens.base import Panes, WorkScreen

    owners = {
        "": Workbench,
        "windows": Windows,
        "preferences": Preferences,
        "screen": WorkScreen,
        "screen.panes": Panes,
    }
    missing = [
        action.id
        for action in actions_of("app")
        if not hasattr(owners[action.action.partition("(")[0].rpartition(".")[0]], action.method)
    ]
    assert missing == []


def test_the_table_of_keys_names_every_action():
    """`python -m mcptest_tui.actions` is what docs/reference/workbench-keys.md holds."""
    text = table()
    assert all(f"| `{action.id}` |" in text for _, action in ACTIONS)
    assert "| `app.palette` | `^p`, `:` | Palette |" in text


@pytest.mark.anyio
async def test_the_actions_of_every_mode_exist(workbench, demo) -> None:
    """Each is a method of the mode's screen or of one of its controllers: Textual says nothing of an action that is not."""
    missing = []
    async with workbench() as pilot:
        for mode in MODES:
            pilot.app.go(mode)
            await pilot.pause()
            screen = pilot.app.screen_stack[0]
            for action in actions_of(mode):
                owner = getattr(screen, action.controller, None) if action.controller else screen
                if not action.where and not hasattr(owner, action.method):
                    missing.append(action.id)
    assert missing == []


def test_every_key_of_the_registry_is_bound_where_its_action_is_done():
    """Also in windows, lists and lines: a row of the table that nothing binds, or whose method is gone, is a dead key."""
    from mcptest_tui.app import Workbench
    from mcptest_tui.app_commands import Preferences, Windows

    names = [found.name for found in pkgutil.walk_packages(mcptest_tui.__path__, "mcptest_tui.")]
    for name in names:
        if not name.endswith("__main__"):
            import_module(name)
    ours = [kind for kind in classes_below(DOMNode) if kind.__module__.startswith("mcptest_tui")]
    bound, dead = set(), set()
    for kind in ours:
        for one in (one for one in kind.__dict__.get("BINDINGS", ()) if isinstance(one, Binding)):
            bound.add(one.id)
            owner, _, method = one.action.partition("(")[0].rpartition(".")
            places = {
                "": [kind, Workbench],
                "app": [Workbench],
                "screen": ours,
                "windows": [Windows],
                "app.windows": [Windows],
                "preferences": [Preferences],
            }.get(owner)
            if places and not any(hasattr(place, f"action_{method}") for place in places):
                dead.add((kind.__name__, one.id))
    assert dead == set()
    assert {one.id for _, one in ACTIONS if one.keys} <= bound


def classes_below(kind):
    """Its subclasses, and theirs."""
    return {kind, *(one for below in kind.__subclasses__() for one in classes_below(below))}
