"""Edits of a suite's text: a test or an assertion more, another expectation, and every other byte as it was.

Each function returns one `TextEdit`, made by splicing at the marks of nodes. None is given unproved: the edited text is read
again, as a whole or in a window (`suite/windows.py`), and must come to exactly the tree that was wanted. Where no splice does
that (an alias would change elsewhere too, say), `EditRefused` says why; a wrong edit is never given.

Indexes count code points of the text as it was passed, a byte order mark included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.enums import TestKind
from mcptest_engine.core.errors import SuiteError
from mcptest_engine.suite.edit_steps import (
    ASSERTIONS,
    Step,
    get,
    plain,
    put,
    same,
    stepped,
    steps_to,
    steps_to_long_form,
)
from mcptest_engine.suite.splice import Splicer
from mcptest_engine.suite.text_edits import EditRefused, TextEdit, edit_between, line_start
from mcptest_engine.suite.windows import BLOCK as WINDOW_BLOCK
from mcptest_engine.suite.windows import Window, window
from mcptest_engine.suite.yaml import EMPTY, read_tree
from mcptest_engine.suite.yaml_nodes import Kind, Node, compose
from mcptest_engine.suite.yaml_text import Unwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcptest_engine.suite.yaml import Pointer, Tree

    _Wanted = Callable[[Any, Pointer], Any]
    _Read = Callable[[str], Any]
    _Spliced = Callable[[Splicer, Any, Pointer, _Read], Iterator[str]]

BOM = "\ufeff"
BLOCKS = tuple(kind.block for kind in TestKind)
CHECKS = ("compliance", "checks")
MOST_TRIES = 60


def append_test(text: str, block: str, test: Mapping[str, object] | str) -> TextEdit:
    """Put a test at the end of `block` ("tools", …), which is made where there is none; a `compliance` may be a mapping.

    `test` is a mapping, or the YAML text of one (also as a list of one): then its lines are kept, indented anew.
    Raises: EditRefused.
    """
    lines = _lines_of(test) if isinstance(test, str) else None
    value = _mapping_of(test) if isinstance(test, str) else plain(test)

    def new_tree(tree: Any, path: Pointer) -> Any:
        root, key = {} if tree is None else tree, path[0]
        if _has_checks(root, key):
            return put(root, CHECKS, [*get(root, CHECKS), value])
        if not isinstance(root, dict) or not isinstance(root.get(key), (list, type(None))):
            raise EditRefused(f"`{block}` contains something other than a list of tests")
        return {**root, key: [*(root.get(key) or ()), value]}

    def edited_texts(splicer: Splicer, tree: Any, path: Pointer, _read: _Read) -> Iterator[str]:
        key = str(path[0])
        if tree is None:
            yield from splicer.begin(key, [value], spread=True, lines=lines)
        elif _has_checks(tree, key):
            yield from splicer.add_item(CHECKS, value, spread=True, lines=lines)
        elif isinstance(tree.get(key), list):
            yield from splicer.add_item((key,), value, spread=True, lines=lines)
        else:
            yield from splicer.put((), key, [value], spread=True, lines=lines)

    return _edit(_Reading(text), (block,), new_tree, edited_texts)


def add_assertion(
    text: str,
    test: int | Sequence[str | int],
    target: str,
    matcher: Mapping[str, object],
    *,
    name: str | None = None,
    message: str | None = None,
) -> TextEdit:
    """Append an assertion to the `expect` of a test, given by a line (from 1) or by its path such as ("tools", 0).

    Raises: EditRefused.
    """
    reading = _Reading(text)
    told = {"target": target, "matcher": matcher, "name": name, "message": message}
    assertion = plain({key: part for key, part in told.items() if part is not None})

    def new_tree(tree: Any, path: Pointer) -> Any:
        at = _expect_path(tree, path)
        there = get(tree, at)
        if not isinstance(there, (list, type(None))):
            raise EditRefused("`expect` contains something other than assertions")
        return put(tree, at, [*(there or ()), assertion])

    def edited_texts(splicer: Splicer, tree: object, path: Pointer, _read: _Read) -> Iterator[str]:
        at = _expect_path(tree, path)
        if isinstance(get(tree, at), list):
            yield from splicer.add_item(at, assertion)
        else:
            yield from splicer.put(at[:-1], str(at[-1]), [assertion])

    return _edit(reading, reading.test_path(test), new_tree, edited_texts)


def replace_expect(text: str, test: int | Sequence[str | int], expect: object) -> TextEdit:
    """Give a test another `expect`; what is the same in both stays as it is written, comments included. Raises: EditRefused."""
    reading = _Reading(text)
    return _set_value(reading, (*reading.test_path(test), "expect"), expect)


def set_value(text: str, path: Sequence[str | int], value: object) -> TextEdit:
    """Give the place at `path` another value, in the smallest steps that lead there; a key that is not there is added.

    Raises: EditRefused.
    """
    return _set_value(_Reading(text), tuple(path), value)


def place_of_test(text: str, line: int) -> Pointer | None:
    """The path, as ("tools", 0), of the test that `line`, from 1, belongs to; None where there is none, or nothing is read."""
    try:
        root = compose(text.removeprefix(BOM))
    except Exception:  # noqa: BLE001 - half a text: whatever the parser has against it, there is no test to be found
        return None
    for block in BLOCKS:
        node = None if root is None or root.kind is not Kind.MAPPING else root.child(block)
        path: Pointer = (block,)
        if node is not None and block == CHECKS[0] and node.kind is Kind.MAPPING:
            node, path = node.child(CHECKS[1]), CHECKS
        for index, item in enumerate(node.items if node is not None else ()):
            if _line(text, item.start) <= line <= _line(text, item.end):
                return (*path, index)
    return None


class _Reading:
    """A suite's text, read once: `body` is without its byte order mark, `tree` None for a file without a value.

    Raises: EditRefused when it cannot be read.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.body = text.removeprefix(BOM)
        self.tree = _tree(self.body)

    @property
    def value(self) -> Any:
        return None if self.tree is None else self.tree.value

    def test_path(self, test: int | Sequence[str | int]) -> Pointer:
        """The path of a test given by a line of it, or by its path. Raises: EditRefused."""
        if not isinstance(test, int):
            return tuple(test)
        found = self._nearest_test(test) or place_of_test(self.text, test)
        if found is None:
            raise EditRefused(f"there is no test on line {test}")
        return found

    def _nearest_test(self, line: int) -> tuple[str, int] | None:
        """The last test that begins on `line` or above it, if it reaches as far; None also where only the nodes can tell."""
        if self.tree is None or not isinstance(self.tree.value, dict):
            return None
        best: tuple[int, str, int] | None = None
        for block in BLOCKS:
            tests = self.tree.value.get(block)
            for index in range(len(tests) if isinstance(tests, list) else 0):
                span = self.tree.span((block, index))
                if span is not None and span.line <= line and (best is None or span.line > best[0]):
                    best = (span.line, block, index)
        near = None if best is None else window(self.tree, best[1], best[2], best[2] + 1)
        if near is None or best is None:
            return None
        root = compose(near.text)
        node = None if root is None else root.at((WINDOW_BLOCK, 0))
        end = 0 if node is None else _line(self.body, near.start + node.end - near.head)
        return (best[1], best[2]) if line <= end else None


def _set_value(reading: _Reading, path: Pointer, value: object) -> TextEdit:
    value = plain(value)

    def edited_texts(splicer: Splicer, tree: object, at: Pointer, read: _Read) -> Iterator[str]:
        steps, whole = list(steps_to(tree, at, value)), [Step("set", at, value)]
        inside = list(steps_to_long_form(tree, at, value))
        if inside:
            yield from _in_steps(splicer, inside, read)
        yield from _in_steps(splicer, steps, read)
        if steps != whole:
            yield from _in_steps(splicer, whole, read)

    # a window holds two tests of a block at most: of a whole block it would change those alone
    return _edit(reading, path, lambda tree, at: put(tree, at, value), edited_texts, windowed=len(path) > 1)


def _edit(
    reading: _Reading, path: Pointer, new_tree: _Wanted, edited_texts: _Spliced, *, windowed: bool = True
) -> TextEdit:
    """The first of the spliced texts that reads as what was wanted; read in a window where one proves as much."""
    near = _window(reading, path) if windowed else None
    if near is not None:
        found = _edit_in_window(near, path, new_tree, edited_texts)
        if found is not None:
            shift = near.start - near.head + len(reading.text) - len(reading.body)
            return found._replace(start=found.start + shift, end=found.end + shift) if any(found) else found
    return _proved(reading.text, reading.value, path, new_tree, edited_texts, read_value)


def _window(reading: _Reading, path: Pointer) -> Window | None:
    """The window on what the path is about: a test, or the last two where one is to be added behind them."""
    if reading.tree is None or not path or not isinstance(reading.value, dict):
        return None
    block, tests = str(path[0]), reading.value.get(path[0])
    if block not in BLOCKS or not isinstance(tests, list):
        return None
    if len(path) == 1:
        return window(reading.tree, block, max(len(tests) - 2, 0), len(tests))
    return window(reading.tree, block, path[1], path[1] + 1) if isinstance(path[1], int) else None


def _edit_in_window(near: Window, path: Pointer, new_tree: _Wanted, edited_texts: _Spliced) -> TextEdit | None:
    """The edit of the window's text; None where there is none that stays inside of the window."""

    def read(text: str) -> Any:
        try:
            return near.read(text)
        except SuiteError as broken:
            raise EditRefused(broken.problems[0].message) from None

    inner: Pointer = (WINDOW_BLOCK, 0, *path[2:]) if len(path) > 1 else (WINDOW_BLOCK,)
    try:
        found = _proved(near.text, read(near.text), inner, new_tree, edited_texts, read)
    except EditRefused:
        return None
    inside = near.head <= found.start and found.end <= len(near.text) - near.tail
    return found if inside or not any(found) else None


def _proved(text: str, tree: object, path: Pointer, new_tree: _Wanted, edited_texts: _Spliced, read: _Read) -> TextEdit:
    """The first of the spliced texts that `read` reads as what was wanted. Raises: EditRefused."""
    body = text.removeprefix(BOM)
    goal = new_tree(tree, path)
    if same(tree, goal):
        return TextEdit(0, 0, "")
    try:
        for candidate in edited_texts(Splicer(body), tree, path, read):
            try:
                if same(read(candidate), goal):
                    return edit_between(text, text[: len(text) - len(body)] + candidate)
            except EditRefused:
                continue
    except Unwritable as wrong:
        raise EditRefused(str(wrong)) from None
    raise EditRefused(
        "this cannot be edited here without changing something else",
        hint="an anchor, an alias or the spelling prevents it; edit the text by hand",
    )


def reads_as(text: str, value: object) -> bool:
    """Whether the document's value is this one, to the order of keys and the type of each number."""
    try:
        return same(read_tree(text, file="").value, value)
    except (SuiteError, RecursionError):
        return False


def read_value(text: str) -> Any:
    """The document's value, None for a file without one. Raises: EditRefused."""
    tree = _tree(text)
    return None if tree is None else tree.value


def _tree(text: str) -> Tree | None:
    try:
        return read_tree(text, file="")
    except SuiteError as broken:
        if broken.problems[0].message == EMPTY:
            return None
        raise EditRefused(
            f"the file cannot be read: {broken.problems[0].message}", hint=broken.problems[0].hint
        ) from None


def _in_steps(
    splicer: Splicer, steps: Sequence[Step], read: _Read, tries: Iterator[int] | None = None
) -> Iterator[str]:
    """The text after all steps; where a step can be made in several ways, all are followed, as long as there are `tries`."""
    tries = iter(range(MOST_TRIES + 4 * len(steps))) if tries is None else tries
    if not steps:
        yield splicer.text
        return
    step, rest = steps[0], steps[1:]
    wanted = stepped(read(splicer.text), step)
    for candidate in _edit_pieces(splicer, step):
        if next(tries, None) is None:
            return
        try:
            if same(read(candidate), wanted):
                yield from _in_steps(Splicer(candidate), rest, read, tries)
        except EditRefused:
            continue


def _edit_pieces(splicer: Splicer, step: Step) -> Iterator[str]:
    if step.kind == "remove":
        return splicer.remove(step.path)
    if step.kind == "wrap":
        return splicer.wrap(step.path, step.value)
    return splicer.insert(step.path, step.value) if step.kind == "insert" else splicer.set(step.path, step.value)


def _has_checks(tree: object, block: str | int) -> bool:
    """Whether the block is a `compliance` whose checks stand one level further in."""
    inner = tree.get(block) if isinstance(tree, dict) and block == CHECKS[0] else None
    return isinstance(inner, dict) and isinstance(inner.get(CHECKS[1]), list)


def _expect_path(tree: object, path: Pointer) -> Pointer:
    if not isinstance(get(tree, path), dict):
        raise EditRefused("there is no such test in the file")
    is_mapping = isinstance(get(tree, (*path, "expect")), dict)
    return (*path, "expect", ASSERTIONS) if is_mapping else (*path, "expect")


def _mapping_of(text: str) -> dict[str, Any]:
    value = read_value(text.removeprefix(BOM))
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise EditRefused("a test must be a mapping")
    return value


def _lines_of(text: str) -> list[str] | None:
    """The lines of a block mapping's text without their common indentation and without its dash; None for other shapes."""
    root = compose(text.removeprefix(BOM))
    node: Node | None = root.items[0] if root is not None and root.kind is Kind.SEQUENCE else root
    if node is None or node.kind is not Kind.MAPPING or node.flow or node.start != node.body:
        return None
    body = text.removeprefix(BOM).replace("\r\n", "\n")
    root = compose(body)
    node = root.items[0] if root is not None and root.kind is Kind.SEQUENCE else root
    assert node is not None
    column = node.start - line_start(body, node.start)
    first, *rest = body[node.start :].rstrip().split("\n")
    if any(line[:column].strip() for line in rest):
        return None
    return [first, *(line[column:] for line in rest)]


def _line(text: str, index: int) -> int:
    body = text.removeprefix(BOM)
    return body.count("\n", 0, index) + 1
