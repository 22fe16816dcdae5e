"""The row of keys that work now: as many as fit, most useful first, the last one always that of help; a click does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from textual.content import Content
from textual.widget import Widget

from mcptest_tui.actions import by_id
from mcptest_tui.words import key_shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual import events
    from textual.dom import DOMNode
    from textual.screen import Screen


HELP = "windows.help"
"""What the key of the help does; it comes last."""


class Hint(NamedTuple):
    """One action in the footer, or several actions of one group."""

    keys: tuple[str, ...]
    title: str
    action: str
    node: DOMNode | None = None

    @property
    def shown(self) -> str:
        """The keys as the footer shows them: `r`, `[ ]`, `f1-f6`."""
        keys = [key_shown(key) for key in self.keys]
        return f"{keys[0]}-{keys[-1]}" if len(keys) > 2 else " ".join(keys)

    @property
    def width(self) -> int:
        """The number of cells that ` key title ` takes."""
        return len(self.shown) + len(self.title) + 3


def fitted(hints: Iterable[Hint], width: int) -> list[Hint]:
    """Return the first hints that fit beside that of the help, none of them cut."""
    hints = list(hints)
    more = [hint for hint in hints if hint.action == HELP]
    room = width - sum(hint.width for hint in more)
    taken = []
    for hint in hints:
        if hint.action == HELP:
            continue
        if hint.width > room:
            break
        taken.append(hint)
        room -= hint.width
    return [*taken, *more] if room >= 0 else []


def is_typed(screen: Screen[Any], key: str) -> bool:
    """Whether the focused widget takes the key as text. Textual hides such keys, but for some with names of its own."""
    told = key_shown(key)
    character = " " if key == "space" else told if len(told) == 1 and told.isascii() else None
    return screen.focused is not None and screen.focused.check_consume_key(key, character)


def hints_of(screen: Screen[Any]) -> list[Hint]:
    """The keys that work now: those first that the focused line and the screen name, then the focused pane's.

    Each action stands once with its first key that is not typed; those of a group stand together, the group's word behind them.
    """
    first = {**getattr(screen.focused, "hints", {}), **getattr(screen, "hints_first", dict)()}
    known, found = by_id(), dict[str, Hint]()
    listed = set[str]()
    for key, (node, binding, enabled, _) in screen.active_bindings.items():
        action = known[binding.id][1] if binding.id in known else None
        group = action.group if action is not None else ""
        name = group or binding.id or f"{id(node)} {binding.action}"
        once = binding.id or name
        if not enabled or once in listed or not binding.description:
            continue
        if (binding.show or binding.action == HELP or name in first) and not is_typed(screen, key):
            listed.add(once)
            now = getattr(node, "key_title", None)  # a screen's
            other = now(binding.action) if now is not None else ""
            if other is None:
                continue
            told = first.get(name) or other or group or binding.description.lower()
            title = "more" if binding.action == HELP else told
            before = found.get(name)
            keys = (key,) if before is None else (*before.keys, key)
            found[name] = Hint(keys, title, binding.action, node)
    return [found[name] for name in dict.fromkeys([*first, *found]) if name in found]


class FittedFooter(Widget):
    """The footer with the keys of the focused widget; keys that do not fit are left out."""

    def __init__(self) -> None:
        super().__init__()
        self._hints: list[Hint] = []
        self._is_stale = False

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)
        self.call_after_refresh(self._changed)

    def _changed(self, _: object = None) -> None:
        """Look for the keys when the row is drawn: the signal may come several times before that."""
        if self.screen.is_current:
            self._is_stale = True
            self.refresh()

    def render(self) -> Content:
        """Draw the keys; nothing under a dialog, which shows keys of its own."""
        if self.app.screen is not self.screen:
            return Content("")
        if self._is_stale and self.screen.is_current:
            self._is_stale = False
            self._hints = hints_of(self.screen)
        parts = [
            Content.assemble((f" {hint.shown}", "bold $footer-key-foreground"), f" {hint.title} ")
            for hint in fitted(self._hints, self.size.width)
        ]
        return Content("").join(parts)

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the key under the pointer."""
        x = 0
        for hint in fitted(self._hints, self.size.width):
            if x <= event.x < x + hint.width and len(hint.keys) < 3:
                await self.app.run_action(hint.action, default_namespace=hint.node or self.screen)
                return
            x += hint.width
