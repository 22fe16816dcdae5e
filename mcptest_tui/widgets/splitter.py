"""The gap between two panes: dragged with the mouse, moved by keys, remembered for each mode.

It sets the width (or, lying down, the height) of the sibling before it. On narrow screens, where panes are shown one at
a time, it takes its hands off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

if TYPE_CHECKING:
    from textual import events

LEAST, MOST = 15, 85
"""Percent of the room that both panes share."""


class Splitter(Widget):
    """`Splitter(id="list-detail", percent=40)` between two siblings; `lying=True` between one above and one below.

    `alone` are the classes of the screen with any of which one of the two has all the room.
    """

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 - Textual's name
        percent: float = 40,
        lying: bool = False,
        alone: tuple[str, ...] = ("-narrow",),
    ) -> None:
        super().__init__(id=id, classes="-lying" if lying else "")
        self._first = percent
        self._lying = lying
        self._alone = alone
        self.percent: float | None = None

    def on_mount(self) -> None:
        """Set the pane before the splitter to its first size."""
        self.apply()

    def render(self) -> Content:
        """Draw nothing, because the panes have borders."""
        return Content("")

    def take(self, percent: object) -> None:
        """Apply a remembered size, which may have any shape; a wrong one is ignored."""
        if isinstance(percent, (int, float)) and LEAST <= percent <= MOST:
            self.percent = float(percent)
            self.apply()

    def grow(self, cells: int) -> None:
        """Enlarge the pane before the splitter by `cells`, also before it is laid out."""
        room, before = self._room(), self._before()
        if room and before is not None:
            laid = before.outer_size.height if self._lying else before.outer_size.width
            now = laid if self.percent is None else int(room * self.percent / 100)
            self._set(100 * (now + cells) / room)

    def reset(self) -> None:
        """Set the pane before the splitter to its first size again."""
        self.percent = None
        self.apply()

    def apply(self) -> None:
        """Set the pane before this to its size, or leave it to the style sheet where there is room for one pane only."""
        before = self._before()
        if before is None:
            return
        alone = self.has_class("-zoomed-away") or any(self.screen.has_class(name) for name in self._alone)
        name = "height" if self._lying else "width"
        if not alone:
            setattr(before.styles, name, f"{self.percent or self._first:.4f}%")
        elif before.styles.inline.has_rule(name):  # to take it away where there is none would lay everything out again
            setattr(before.styles, name, None)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.capture_mouse()
        self.add_class("-dragged")
        event.stop()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()
        self.remove_class("-dragged")
        event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        parent = self.parent
        room = self._room()
        if self.app.mouse_captured is not self or not isinstance(parent, Widget) or not room:
            return
        origin = parent.content_region.offset
        at = event.screen_y - origin.y if self._lying else event.screen_x - origin.x
        self._set(100 * at / room)
        event.stop()

    def _set(self, percent: float) -> None:
        self.percent = min(max(percent + 0.001, LEAST), MOST)  # rounded down by the layout: never a cell less
        self.apply()

    def _room(self) -> int:
        parent = self.parent
        if not isinstance(parent, Widget):
            return 0
        return parent.content_size.height if self._lying else parent.content_size.width

    def _before(self) -> Widget | None:
        if self.parent is None:
            return None
        siblings = list(self.parent.children)
        at = siblings.index(self)
        found = siblings[at - 1] if at else None
        return found if isinstance(found, Widget) else None
