"""The text of a file as Textual's editor holds it: lines that join to the very bytes that were read.

Textual's own document splits at every character that Unicode calls a line end and joins with the first kind that it saw, which
would rewrite a file that mixes them. This one splits at one kind only, and keeps the states that colours need.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from textual.document._document import Document, EditResult

from mcptest_tui.state.editor_model import newline_of
from mcptest_tui.state.yaml_spans import LineStates

if TYPE_CHECKING:
    from collections.abc import Callable

_SPLIT = {"\n": re.compile("\n"), "\r\n": re.compile("\r\n|\n"), "\r": re.compile("\r\n|\r|\n")}
_ANY_END = re.compile("\r\n|\r|\n")


class YamlDocument(Document):
    """`moved` is called with (first row, rows before, rows after, last row with other colours) of every edit, so that what
    hangs on rows can follow.
    """

    def __init__(self, text: str, moved: Callable[[int, int, int, int], None] | None = None) -> None:
        newline = newline_of(text)
        self._newline: Any = newline
        self._split = _SPLIT[newline]
        self._lines = text.split(newline)
        self._moved = moved
        self._text: str | None = text
        self.states = LineStates(self._lines)

    @property
    def text(self) -> str:
        """All of it; kept until the next edit, because Textual asks for it with every line that it draws."""
        if self._text is None:
            self._text = self._newline.join(self._lines)
        return self._text

    def replace_range(self, start: tuple[int, int], end: tuple[int, int], text: str) -> EditResult:
        """Replace a range of the text; every change of the text goes through here."""
        top, bottom = sorted((start, end))
        lines = self._lines
        replaced = self.get_text_range(top, bottom)
        last = min(bottom[0], len(lines) - 1)
        before, after = lines[top[0]][: top[1]], lines[last][bottom[1] :] if bottom[0] < len(lines) else ""
        pieces = self._split.split(text)
        column = len(pieces[-1]) + (len(before) if len(pieces) == 1 else 0)
        pieces[0] = before + pieces[0]
        pieces[-1] += after
        lines[top[0] : last + 1] = pieces
        self._text = None
        coloured = self.states.replaced(lines, top[0], last - top[0] + 1, len(pieces))
        if self._moved is not None:
            self._moved(top[0], last - top[0] + 1, len(pieces), coloured)
        return EditResult((top[0] + len(pieces) - 1, column), replaced)

    def pasted(self, text: str) -> str:
        """Return foreign text with this file's line ends, without null characters."""
        return _ANY_END.sub("\n" if self._newline == "\r\n" else self._newline, text.replace("\0", ""))
