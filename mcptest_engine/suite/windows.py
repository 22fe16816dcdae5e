"""A part of a suite that can be edited by itself: some tests of one block, as a small document of their own.

Reading a suite of 1,000 tests takes a tenth of a second, and an edit that proves itself reads it several times over. A window
makes that one reading. The surprising thing is why what holds in the small document holds in the large one: the window is whole
lines from one dash of a block list to the next (or to the next key of the file, or its end), behind it stands in the small
document what stands there in the large one, and YAML knows nothing at a dash of the lines before but their indentation and
their anchors. Where any of that is not plainly so, there is no window, and the whole text is read as often as it takes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.suite.splice import newline_of
from mcptest_engine.suite.text_edits import line_start
from mcptest_engine.suite.yaml import Tree, read_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

BLOCK = "k"
"""What the tests' block is called in the window."""
_END = "end-of-window"
_MARKED = re.compile(r"[&*]([^\s\[\]{},]+)")


class Window(NamedTuple):
    """`text` is the small document, of which the characters from `head` on, but the last `tail`, are those from `start` on.

    Its block `BLOCK` holds the tests `first` and following. `anchors` are those of the file that it uses.
    """

    text: str
    start: int
    head: int
    tail: int
    first: int
    anchors: Mapping[str, tuple[Any, Any]]

    def read(self, text: str) -> Any:
        """The value of a changed window. Raises: SuiteError."""
        return read_tree(text, file="", anchors=self.anchors).value


def window(tree: Tree, block: str, first: int, last: int) -> Window | None:
    """The window on the tests from `first` up to, without, `last`; None where it would prove nothing."""
    text, value = tree.text, tree.value
    tests = value.get(block) if isinstance(value, dict) else None
    key_at = tree.index((block,), key=True)
    if not isinstance(tests, list) or not 0 <= first < last <= len(tests) or key_at is None:
        return None
    root, column = _column(text, key_at), None
    start, column = _dash(tree, block, first)
    end, end_column = _dash(tree, block, last) if last < len(tests) else _next_key(tree, start)
    if root is None or start is None or end is None or column is None or end_column is None or end <= start:
        return None
    newline = newline_of(text)
    behind = ""
    if last < len(tests):
        if end_column != column:
            return None
        behind = f"{' ' * column}- {_END}{newline}"
    elif end < len(text):
        behind = f"{' ' * end_column}{_END}: {_END}{newline}"
    anchors = _anchors(tree, tests, start, end)
    if anchors is None:
        return None
    head = f"{' ' * root}{BLOCK}:{newline}"
    found = Window(head + text[start:end] + behind, start, len(head), len(behind), first, anchors)
    wanted: dict[str, Any] = {BLOCK: tests[first:last]}
    if last < len(tests):
        wanted[BLOCK] = [*wanted[BLOCK], _END]
    elif behind:
        wanted[_END] = _END
    try:
        there = found.read(found.text)
    except SuiteError:
        return None
    return found if repr(there) == repr(wanted) else None


def _column(text: str, at: int) -> int | None:
    """The column of `at` when only spaces stand before it on its line."""
    line = line_start(text, at)
    return None if text[line:at].strip(" ") else at - line


def _dash(tree: Tree, block: str, index: int) -> tuple[int | None, int | None]:
    """Where the line of an item's dash begins, and the column of the dash."""
    at = tree.index((block, index))
    if at is None:
        return None, None
    dash = tree.text.rfind("-", 0, at)
    gap = tree.text[dash + 1 : at]
    if dash < 0 or not gap or gap.strip(" \r\n"):
        return None, None
    return line_start(tree.text, dash), _column(tree.text, dash)


def _next_key(tree: Tree, start: int | None) -> tuple[int | None, int | None]:
    """Where the line of the file's next key begins, and its column; the end of the text when there is none."""
    if start is None:
        return None, None
    places = [place for key in tree.value if (place := tree.index((key,), key=True)) is not None and place > start]
    if not places:
        return len(tree.text), 0
    return line_start(tree.text, min(places)), _column(tree.text, min(places))


def _anchors(tree: Tree, tests: list[Any], start: int, end: int) -> dict[str, tuple[Any, Any]] | None:
    """The anchors from outside that the part uses; None where one of them, or one of its own, does not keep to its side."""
    if not tree.anchors:
        return {}
    if any(_holds(value, tests, tree.value) for value, _ in tree.anchors.values()):
        return None
    inside = tree.text[start:end]
    named = {found[1] for found in _MARKED.finditer(inside)} & tree.anchors.keys()
    outside = tree.text[:start], tree.text[end:]
    needed: dict[str, tuple[Any, Any]] = {}
    for name in named:
        mark = re.compile(rf"&{re.escape(name)}(?![^\s\[\]{{}},])")
        use = re.compile(rf"\*{re.escape(name)}(?![^\s\[\]{{}},])")
        own = len(mark.findall(inside))
        others = sum(len(mark.findall(part)) for part in outside)
        if own + others != 1 or (own and any(use.search(part) for part in outside)):
            return None
        if others:
            needed[name] = tree.anchors[name]
    return needed


def _holds(value: object, tests: list[Any], root: object) -> bool:
    """Whether an anchored value is, or has for a member, the whole block: then the block stands elsewhere too."""
    return (
        value is tests or value is root or (isinstance(value, dict) and any(part is tests for part in value.values()))
    )
