"""Our own lines, frames and signs in ASCII, where MCPTEST_ASCII or the locale wants it. Letters of foreign texts stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.filter import LineFilter

if TYPE_CHECKING:
    from textual.color import Color

SIGNS = {
    "─━═╌╍▔▁▂▃": "-",
    "│┃║▌▐▏▎▍▕": "|",
    "┌┐└┘╭╮╰╯├┤┬┴┼╔╗╚╝": "+",
    "█▇▆▅▄▉▊▋▀": "#",
    "…·•": ".",
    "→▸▶": ">",
    "←◂◀": "<",
    "⇄↔": "=",
    "≈": "~",
    "↑": "^",
    "↓▾▼": "v",
    "✓": "+",
    "✗": "x",
    "○": ".",
    "●": "*",
    "◇": "?",
    "⏎": "/",
}
_TABLE = {ord(sign): ascii_sign for signs, ascii_sign in SIGNS.items() for sign in signs}


class AsciiOnly(LineFilter):
    """Replaces each drawn sign by one ASCII character, so that nothing moves."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's
        """Return the line with ASCII characters in place of drawn signs."""
        return [Segment(text.translate(_TABLE), style, control) for text, style, control in segments]
