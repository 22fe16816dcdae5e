"""The row of keys that apply here: as many as fit, most useful first, the last one always that of help; a click does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from textual.content import Content
from textual.widget import Widget

from mcptest_tui.words import key_shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual import events
    from textual.dom import DOMNode
    from textual.screen import Screen


HELP = "help"
"""What the key of the help does; it comes last."""


class Hint(NamedTuple):
    """One action in the footer."""

    key: str
    title: str
    enabled: bool
    action: str
    node: DOMNode | None = None

    @property
    def width(self) -> int:
        """Cells of ` key title `."""
        return len(key_shown(self.key)) + len(self.title) + 3


def fitted(hints: Iterable[Hint], width: int) -> list[Hint]:
    """The first hints that fit beside the help's; never part of one."""
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
    """What the keys do here, the focused pane's first, each action once with its first key that is not typed."""
    found: dict[str, Hint] = {}
    for key, (node, binding, enabled, _) in screen.active_bindings.items():
        name = binding.id or f"{id(node)} {binding.action}"
        if is_typed(screen, key) or not binding.description:
            continue
        if (binding.show or binding.action == HELP) and name not in found:
            now = getattr(node, "key_title", None)  # a screen's
            title = "more" if binding.action == HELP else (now and now(binding.action)) or binding.description.lower()
            found[name] = Hint(key, title, enabled, binding.action, node)
    return list(found.values())


class FittedFooter(Widget):
    """Follows the focus by itself, through the screen's signal."""

    def __init__(self) -> None:
        super().__init__()
        self._hints: list[Hint] = []

    def on_mount(self) -> None:
        """Listen to the screen."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)
        self.call_after_refresh(self._changed)

    def _changed(self, _: object = None) -> None:
        if self.screen.is_current:
            hints = hints_of(self.screen)
            if hints != self._hints:
                self._hints = hints
                self.refresh()

    def render(self) -> Content:
        """The row; what does not apply at the moment is dim."""
        parts = [
            Content.assemble(
                (f" {key_shown(hint.key)}", "bold $footer-key-foreground" if hint.enabled else "$muted dim"),
                (f" {hint.title} ", "" if hint.enabled else "$muted dim"),
            )
            for hint in fitted(self._hints, self.size.width)
        ]
        return Content("").join(parts)

    async def on_click(self, event: events.Click) -> None:
        """Do what stands under the pointer."""
        x = 0
        for hint in fitted(self._hints, self.size.width):
            if x <= event.x < x + hint.width:
                if hint.enabled:
                    await self.app.run_action(hint.action, default_namespace=hint.node or self.screen)
                return
            x += hint.width
