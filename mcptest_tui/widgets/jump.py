"""The jump overlay: a letter on every place that can be gone to; the letter goes there, anything else closes it."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.screen import Screen

LETTERS = "asdfghjklqwertyuiopzxcvbnm"


class Target(NamedTuple):
    """A place on the screen, and what happens when it is jumped to."""

    x: int
    y: int
    widget: Widget
    what: str | Callable[[], object] | None = None


def labels(number: int) -> list[str]:
    """Return `number` labels, none of which begins with another."""
    if number <= len(LETTERS):
        return list(LETTERS[:number])
    return ["".join(pair) for pair in product(LETTERS, LETTERS)][:number]


def targets_of(screen: Screen[object]) -> Iterator[Target]:
    """Every pane that can have the focus, and whatever places a widget's `jump_targets` names: (x, y, action or function)."""
    taken: set[tuple[int, int]] = set()
    for widget in screen.query(Widget):
        region = widget.region
        if (
            not region
            or not widget.visible
            or not all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))
        ):
            continue
        own = getattr(widget, "jump_targets", None)
        places: list[tuple[int, int, str | Callable[[], object] | None]] = list(own()) if own is not None else []
        if widget.focusable:
            places.insert(0, (0, 0, None))
        for x, y, what in places:
            place = (region.x + x, region.y + y)
            if place not in taken and region.contains(*place):
                taken.add(place)
                yield Target(*place, widget, what)


class JumpOverlay(ModalScreen[Target]):
    """Shows a letter at every target over the screen below."""

    def __init__(self, targets: Sequence[Target]) -> None:
        super().__init__()
        self._targets = dict(zip(labels(len(targets)), targets, strict=True))
        self._typed = ""

    def compose(self) -> ComposeResult:
        """Lay out one small label for each target."""
        for label, target in self._targets.items():
            widget = Static(label, classes="jump-label", markup=False)
            widget.styles.offset = (target.x, target.y)
            yield widget

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self._typed += event.character or " "
        if self._typed in self._targets:
            self.dismiss(self._targets[self._typed])
        elif not any(label.startswith(self._typed) for label in self._targets):
            self.dismiss(None)

    def on_click(self) -> None:
        self.dismiss(None)
