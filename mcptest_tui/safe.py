"""The only way from a text that is not ours to the screen: sanitised, tabs expanded, and never read as markup.

Textual passes ESC, C1 and bidirectional controls on to the terminal from every widget; a tool's description could set
the window's title or clear the screen. `shown` makes the one value that widgets take; `one_line` a plain str for places
that cut to a width.
"""

from __future__ import annotations

from os.path import commonprefix
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from mcptest_engine.core.sanitise import one_line as sanitised_line
from mcptest_engine.core.sanitise import sanitise

if TYPE_CHECKING:
    from collections.abc import Sequence

TAB = 4
NEAR = 3
"""From so many rows on each side of it a name is told apart."""


def safe_text(text: str) -> str:
    """Return `text` sanitised, with tabs as spaces; line breaks stay."""
    return sanitise(text.replace("\r\n", "\n")).expandtabs(TAB)


def shown(text: str, *, limit: int | None = None, style: str = "") -> Content:
    """`text` as content that holds no markup and no controls; beyond `limit` characters it ends in "…"."""
    if limit is not None and len(text) > limit:
        text = text[: max(limit - 1, 0)] + "…"
    return Content.styled(safe_text(text), style) if style else Content(safe_text(text))


def one_line(text: str, width: int) -> str:
    r"""`text` sanitised on one line (newline as `\n`) and no wider than `width` cells; cut, it ends in "…"."""
    line = sanitised_line(text, max(width, 0) + 1)
    if cell_len(line) <= width:
        return line
    return set_cell_size(line, max(width - 1, 0)).rstrip() + "…" if width > 0 else ""


def shortened_name(name: str, width: int) -> str:
    """The name of a test in so many cells: where it is too long, what stands behind its first words is kept."""
    if cell_len(name) <= width:
        return one_line(name, width)
    at = name.find(" [")
    at = at if at > 0 else max(name.rfind(sign) for sign in (" (", ": ", " #"))
    tail = one_line(name[at:], max(width * 2 // 3, 4)) if at > 0 else ""
    return one_line(name[:at] if at > 0 else name, width - cell_len(tail)) + tail


def without_middle(text: str, width: int) -> str:
    """One line without its middle where it is too long: what it is told by stands at its beginning or at its end."""
    line = one_line(text, 1_000)
    if cell_len(line) <= width:
        return line
    head = one_line(line, width * 2 // 5)
    tail = line[-max(width - cell_len(head), 1) :]
    return one_line(head + tail, width)


def name_among(name: str, near: Sequence[str], width: int) -> str:
    """The name in so many cells, told from those of the rows near it: where they would look the same, from the word on that
    differs. What a test is told by often stands at its end: a model, a run, what is done with a tool.
    """
    shown = shortened_name(name, width)
    if cell_len(name) <= width:
        return shown
    alike = [other for other in near if other != name and shortened_name(other, width) == shown]
    if not alike:
        return shown
    begin = max(len(commonprefix([name, other])) for other in alike)  # noqa: RUF071 - characters are meant
    begin = max(name.rfind(sign, 0, begin) for sign in " ./[") + 1
    tail = one_line(name[begin:], max(width * 2 // 3, 4))
    return one_line(name[:begin], width - cell_len(tail)) + tail
