"""Textual's compositor without the widgets that have not changed or lie behind: the original renders them all, at each key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual._compositor import Compositor

if TYPE_CHECKING:
    from textual._compositor import ChopsUpdate
    from textual.geometry import Region
    from textual.widget import Widget


class SparingCompositor(Compositor):
    """Renders the widgets that lie where something has changed. What is drawn is the same."""

    _changed: tuple[Region, ...] = ()

    @property
    def visible_widgets(self) -> dict[Widget, tuple[Region, Region]]:
        """All of them; while a part is drawn, those that are seen in it: what lies behind a widget in front is not."""
        found = super().visible_widgets
        changed = self._changed
        if not changed:
            return found
        seen = {}
        for widget, (region, clip) in found.items():  # the foremost first
            visible = region.intersection(clip)
            if any(one.overlaps(visible) for one in changed):
                seen[widget] = region, clip
                changed = tuple(one for one in changed if not visible.contains_region(one))
        return seen

    def render_partial_update(self) -> ChopsUpdate | None:
        """As the base class, of what has changed; of all, in a Textual that calls these by other names."""
        _ = getattr(self, "cuts", None)  # which are made of all widgets, and kept
        self._changed = tuple(getattr(self, "_dirty_regions", ()))
        try:
            return super().render_partial_update()
        finally:
            self._changed = ()
