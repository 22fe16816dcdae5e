"""What typing does in the editor beside inserting a letter: indentation, pairs of brackets, comments, and keys for a popup.

The popup itself is somebody else's: `assist` is asked first about every key, and told what was typed, at once and not by
message, so that a fast typist's Tab never overtakes the popup that it is meant for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from textual.widgets.text_area import Selection

from mcptest_tui.state.yaml_spans import IN_DOUBLE, IN_SINGLE, paint
from mcptest_tui.widgets.yaml_document import YamlDocument

if TYPE_CHECKING:
    from textual.document._document import EditResult, Location
    from textual.widgets import TextArea

_PAIRS = {"{": "}", "[": "]", '"': '"', "'": "'"}
_CLOSERS = frozenset(_PAIRS.values())
_DASHES = re.compile(r" *(?:- +)*")
_KEY = re.compile(r"""(?:"[^"]*"|'[^']*'|[^\s#{\["'][^#]*?)\s*:(?:\s|$)""")
_OPENS = re.compile(r"(?:^|[\s\w\"'\]}])(?::|[|>][-+0-9]*)\s*$")


class Assist(Protocol):
    """The popup for completion, as far as `YamlTyping` uses it."""

    @property
    def is_open(self) -> bool:
        """Whether the popup is shown over the text."""

    def key(self, key: str) -> bool:
        """Handle a key; return True when the popup has used it."""

    def typed(self, character: str) -> None:
        """Update the popup after `character` was typed, or "" after a deletion."""

    def close(self) -> None:
        """Close the popup, because the text or the cursor changed otherwise."""

    def go_to_stop(self) -> bool:
        """Go to the next place of a snippet that is being filled in; False when there is none."""


class NoAssist:
    """Takes the place of the popup in editors without completion."""

    is_open = False

    def key(self, key: str) -> bool:  # noqa: ARG002
        """Return False: without a popup no key is used."""
        return False

    def typed(self, character: str) -> None:
        """Do nothing: there is no popup to update."""

    def close(self) -> None:
        """Do nothing: there is no popup to close."""

    def go_to_stop(self) -> bool:
        """Return False: without completion there are no snippets."""
        return False


class YamlTyping:
    """Handles keys that change the text of a YAML editor."""

    def __init__(self, area: TextArea) -> None:
        self._area = area
        self.assist: Assist = NoAssist()

    def take(self, key: str, character: str | None) -> bool:
        """Handle a pressed key and its character; return False when it does nothing here."""
        if self.assist.is_open and self.assist.key(key):
            return True
        if self._area.read_only:
            return False
        if key in ("tab", "shift+tab"):
            if key != "tab" or not self.assist.go_to_stop():
                self._indent(back=key == "shift+tab")
        elif key == "enter":
            self._new_line()
        elif character is not None:
            self._type(character)
        else:
            return False
        return True

    def insert_text(self, text: str) -> None:
        """Replace the selection by a text from elsewhere."""
        told = self._area.document.pasted(text) if isinstance(self._area.document, YamlDocument) else text
        self._area.move_cursor(self._replace(told, *self._area.selection).end_location)

    def _replace(self, text: str, start: Location, end: Location) -> EditResult:
        return self._area.replace(text, start, end, maintain_selection_offset=False)

    # Letters

    def _type(self, character: str) -> None:
        start, end = self._area.selection
        if start != end and character in _PAIRS:
            self._surround(character)
            return
        if start == end and character in _CLOSERS and self._step_over(character):
            self.assist.typed(character)
            return
        if character == " " and start == end and self._previous() == "{" and self._next() == "}":
            self._replace("  ", start, end)  # `{ ¦ }`
            self._area.move_cursor_relative(columns=-1)
            self.assist.typed(character)
            return
        paired = start == end and character in _PAIRS and self._pairs_here(character)
        self._replace(character + _PAIRS[character] if paired else character, start, end)
        if paired:
            self._area.move_cursor_relative(columns=-1)
        self.assist.typed(character)

    def _step_over(self, closer: str) -> bool:
        """Go behind the closer of a pair that was opened on this line; of the spaces before it one is enough."""
        row, column = self._area.cursor_location
        rest = self._area.document[row][column:]
        gap = len(rest) - len(rest.lstrip(" ")) if closer in "}]" else 0
        if rest[gap : gap + 1] != closer or not self._closes(closer):
            return False
        if gap and self._previous() == " ":
            self._replace("", (row, column), (row, column + gap))
            gap = 0
        self._area.move_cursor((row, column + gap + 1))
        return True

    def _next(self) -> str:
        row, column = self._area.cursor_location
        return self._area.document[row][column : column + 1]

    def _previous(self) -> str:
        row, column = self._area.cursor_location
        return self._area.document[row][max(column - 1, 0) : column]

    def _closes(self, character: str) -> bool:
        """Whether the bracket at the cursor is the end of a pair that was opened on this line."""
        row, column = self._area.cursor_location
        before = self._area.document[row][:column]
        if character in "\"'":
            return before.count(character) % 2 == 1
        opener = {"}": "{", "]": "["}[character]
        return before.count(opener) > before.count(character)

    def _pairs_here(self, character: str) -> bool:
        row, column = self._area.cursor_location
        line = self._area.document[row]
        before, after = line[:column], line[column : column + 1]
        if after and after not in " \t,]}":
            return False
        if any(
            start < column <= end and name in ("text", "comment")
            for start, end, name in paint(line, self._state(row)).spans
        ):
            return False
        return character in "{[" or not before or before[-1] in " \t[{,:("

    def _state(self, row: int) -> int:
        return self._area.document.states[row] if isinstance(self._area.document, YamlDocument) else 0

    def _surround(self, character: str) -> None:
        start, end = sorted(self._area.selection)
        text = self._area.get_text_range(start, end)
        self._area.history.checkpoint()
        result = self._area.replace(character + text + _PAIRS[character], start, end, maintain_selection_offset=False)
        self._area.selection = Selection((start[0], start[1] + 1), (result.end_location[0], result.end_location[1] - 1))

    def delete_left(self) -> bool:
        """Delete an empty pair, or two spaces of indentation; False where one character is to be deleted."""
        row, column = self._area.cursor_location
        line = self._area.document[row]
        after = line[column : column + 1]
        if self._area.read_only or self._area.selection.start != self._area.selection.end or not column:
            return False
        if line[column - 2 : column + 2] == "{  }" or (after and _PAIRS.get(line[column - 1]) == after):
            self._area.delete((row, column - 1), (row, column + 1), maintain_selection_offset=False)
        elif not line[:column].strip(" ") and column % 2 == 0:
            self._area.delete((row, column - 2), (row, column), maintain_selection_offset=False)
        else:
            return False
        return True

    # Lines

    def _new_line(self) -> None:
        """Insert a line break with the indentation that fits there."""
        self.assist.close()
        start, end = sorted(self._area.selection)
        line = self._area.document[start[0]]
        before, after = line[: start[1]], self._area.document[end[0]][end[1] :]
        if self._state(start[0]) in (IN_DOUBLE, IN_SINGLE):
            self._replace("\n", start, end)
            return
        if not before.strip():
            self._replace("\n" + before, (start[0], 0), end)
            return
        indent = " " * self._indent_below(before, self._state(start[0]))
        if before.rstrip()[-1:] in ("{", "[") and after.lstrip()[:1] in ("}", "]"):
            closing = " " * (len(before) - len(before.lstrip(" ")))
            rest = len(after) - len(after.lstrip())
            self._replace(f"\n{closing}  \n{closing}", start, (end[0], end[1] + rest))
            self._area.move_cursor((start[0] + 1, len(closing) + 2))
            return
        rest = len(after) - len(after.lstrip(" ")) if after.strip() else 0
        self._replace("\n" + indent, start, (end[0], end[1] + rest))
        self.assist.typed("\n")

    def _indent_below(self, before: str, state: int) -> int:
        found = _DASHES.match(before)
        is_entry = found is not None and _KEY.match(before, found.end()) is not None
        # Below `- key: value` more keys may come; below an item of another kind, another item.
        inner = found.end() if found is not None and is_entry else len(before) - len(before.lstrip(" "))
        if state > 0:
            return len(before) - len(before.lstrip(" "))
        comment = next((start for start, _, name in paint(before, state).spans if name == "comment"), len(before))
        return inner + 2 if _OPENS.search(before[:comment].rstrip()) else inner

    def _indent(self, *, back: bool) -> None:
        """Move the selected lines by two spaces, or put two at the cursor."""
        start, end = sorted(self._area.selection)
        if start == end and not back:
            self._replace(" " * (2 - start[1] % 2), start, end)
            self.assist.typed("")
            return
        last = end[0] - 1 if end[0] > start[0] and end[1] == 0 else end[0]
        self._change_lines(start[0], last, _dedented if back else _indented)

    def comment(self) -> None:
        """Put `# ` before the selected lines, or take it away where all of them have it."""
        if self._area.read_only:
            return
        start, end = sorted(self._area.selection)
        last = end[0] - 1 if end[0] > start[0] and end[1] == 0 else end[0]
        lines = [line for line in (self._area.document[row] for row in range(start[0], last + 1)) if line.strip()]
        if lines and all(line.lstrip().startswith("#") for line in lines):
            self._change_lines(start[0], last, lambda line: re.sub(r"^(\s*)# ?", r"\1", line, count=1))
            return
        column = min((len(line) - len(line.lstrip(" ")) for line in lines), default=0)
        self._change_lines(start[0], last, lambda line: f"{line[:column]}# {line[column:]}" if line.strip() else line)

    def _change_lines(self, first: int, last: int, change: object) -> None:
        """Rewrite whole lines in one step that can be undone, with cursor and selection on the same text."""
        assert callable(change)
        before = [self._area.document[row] for row in range(first, last + 1)]
        after = [change(line) for line in before]
        if after == before:
            return
        shifts = {first + at: len(new) - len(old) for at, (old, new) in enumerate(zip(before, after, strict=True))}
        start, end = self._area.selection
        self._area.history.checkpoint()
        self._area.replace("\n".join(after), (first, 0), (last, len(before[-1])), maintain_selection_offset=False)
        self._area.history.checkpoint()
        self._area.selection = Selection(
            *((row, max(column + shifts.get(row, 0), 0) if column else 0) for row, column in (start, end))
        )


def _indented(line: str) -> str:
    return f"  {line}" if line.strip() else line


def _dedented(line: str) -> str:
    return line[1 if not line.startswith("  ") else 2 :] if line.startswith(" ") else line.removeprefix("\t")
