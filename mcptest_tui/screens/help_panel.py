"""The help list of `?`: the keys that work in the focused pane, by group; Enter runs the chosen action."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from textual.app import App
from textual.screen import Screen

from mcptest_tui.actions import TITLES
from mcptest_tui.screens.picker import Choice
from mcptest_tui.widgets.footer import is_typed
from mcptest_tui.words import key_of, key_shown, keys_now

if TYPE_CHECKING:
    from textual.binding import Binding
    from textual.dom import DOMNode

MOVING = "Moving about"
ABOUT = Choice("about", "What this pane shows", "", "Read all about the focused pane.", "Help")
"""Opens the whole text about the pane, of which a small terminal has room for one sentence."""


class Row(NamedTuple):
    """One action in the list, with the keys that run it here."""

    node: DOMNode
    binding: Binding
    keys: list[str]
    enabled: bool
    group: str


def rows_of(screen: Screen[object]) -> dict[str, Row]:
    """Return all bindings in force by their ids, the keys of one action together.

    The workbench's own come first, those nearest to the focus first, and of a pane first those in the footer; then the keys
    for moving about, which Textual's widgets define.
    """
    found: dict[str, Row] = {}
    for key, (node, binding, enabled, _) in screen.active_bindings.items():
        if binding.system or not binding.description or (binding.id is None and isinstance(node, Screen)):
            continue
        if is_typed(screen, key):
            continue
        name = binding.id or f"{type(node).__name__}.{binding.action}"
        row = found.get(name)
        if row is None:
            found[name] = Row(node, binding, [key], enabled, group_of(node) if binding.id else MOVING)
        else:
            row.keys.append(key)
    groups = list(dict.fromkeys(row.group for row in found.values()))

    def place(row: Row) -> tuple[bool, int, bool]:
        of_a_pane = not isinstance(row.node, (App, Screen))
        return row.group == MOVING, groups.index(row.group), of_a_pane and not row.binding.show

    return dict(sorted(found.items(), key=lambda item: place(item[1])))


def group_of(node: DOMNode) -> str:
    """Return the heading under which the keys of a node are listed."""
    if isinstance(node, App):
        return "Everywhere"
    if isinstance(node, Screen):
        return TITLES.get(getattr(node, "MODE", ""), "Here")
    return str(getattr(node, "border_title", "") or "This pane")


def choices_of(rows: dict[str, Row]) -> list[Choice]:
    """Return the rows as choices for a picker."""
    return [
        Choice(
            name,
            row.binding.description,
            ", ".join(map(key_shown, row.keys)),
            row.binding.tooltip,
            row.group,
            row.enabled,
        )
        for name, row in rows.items()
    ]


def about(screen: Screen[object]) -> str:
    """Return the help text of the focused pane, else of the nearest node around it that has one."""
    node = screen.focused
    while node is not None:
        text = type(node).HELP if type(node).__module__.startswith("mcptest_tui") else None
        if text:
            return _flowing(text, screen)
        parent = node.parent
        node = parent if parent is not screen else None  # type: ignore[assignment]
    return _flowing(type(screen).HELP or "", screen)


def _flowing(text: str, screen: Screen[object]) -> str:
    """Put each paragraph on one line, and replace each `{action.id}` by a key that works here."""

    def key(found: re.Match[str]) -> str:
        return key_of(found[1], typing=any(is_typed(screen, one) for one in keys_now(found[1])))

    named = re.sub(r"\{([a-z][a-z_.]+)\}", key, text)
    return "\n".join(" ".join(part.split()) for part in named.split("\n\n"))
