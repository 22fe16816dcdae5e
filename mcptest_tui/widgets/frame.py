"""The words in a pane's frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Region

if TYPE_CHECKING:
    from textual.content import Content
    from textual.widget import Widget


def show_titles(pane: Widget, title: Content | None = None, subtitle: Content | None = None) -> None:
    """Show a title in the upper edge of a pane's frame, a subtitle in the lower one; None leaves what is there.

    Textual draws all of the pane and of what is in it for every title that is set, the same one too. Here the edge is drawn
    whose words are other than before.
    """
    width, height = pane.outer_size
    for name, words, row in (("_border_title", title, 0), ("_border_subtitle", subtitle, height - 1)):
        before = getattr(pane, name)
        if words is None or (before is not None and before.is_same(words)):
            continue
        setattr(pane, name, words)
        if height > 0:
            pane.refresh(Region(0, row, width, 1).translate(-pane.content_offset))
