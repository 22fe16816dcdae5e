"""Lines of text before they are wrapped: pieces of (text, ink), the ink being a name that the view has a colour for.

All text in them has been made safe by whoever makes a line.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rich.cells import cell_len

from mcptest_engine.core.sanitise import one_line, sanitise
from mcptest_tui.state.json_rows import is_cut

Piece = tuple[str, str]
LIMIT = 2_000


class TextLine(NamedTuple):
    """One line before it is wrapped: its first row begins at column `at`, those after it at `hang`."""

    at: int
    hang: int
    pieces: tuple[Piece, ...]


def line(*pieces: Piece | str, at: int = 0) -> TextLine:
    """A line; a plain text has no ink. Its later rows begin below what follows its first piece, if that ends in a space."""
    made = tuple((piece, "") if isinstance(piece, str) else piece for piece in pieces)
    first = made[0][0] if made else ""
    return TextLine(at, at + cell_len(first) if len(made) > 1 and first.endswith(" ") else at, made)


BLANK = line("")


def indented(told: TextLine, by: int = 4) -> TextLine:
    """Return the same line, indented by `by` more cells."""
    return told._replace(at=told.at + by, hang=told.hang + by)


def safe(text: object) -> str:
    """Any text on one line; of one that the engine has cut, its beginning."""
    return one_line(str(readable_text(text)), LIMIT)


def safe_lines(text: object) -> list[str]:
    plain = str(readable_text(text)).replace("\r\n", "\n")
    return [part.rstrip() for part in sanitise(plain).expandtabs(4).strip("\n").split("\n")]


def readable_text(text: Any) -> Any:
    """A text that the engine has cut as a text again, ending in "…"; nothing as ""."""
    if text is None:
        return ""
    return f"{text['text']}…" if is_cut(text) else text
