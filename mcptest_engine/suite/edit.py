"""Edits of a suite's text: a test or an assertion more, another expectation, and every other byte as it was.

Each function returns one `TextEdit`, made by splicing at the marks of nodes. None is given unproved: the edited text is read
again, as a whole or in a window (`suite/windows.py`), and must come to exactly the tree that was wanted. Where no splice does
that (an alias would change elsewhere too, say), `EditRefused` says why; a wrong edit is never given.

Indexes count code points of the text as it was passed, a byte order mark included.
"""

from __future__ import annotations

import copy
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import McptestError, SuiteError
from mcptest_engine.suite.splice import Splicer, newline_of
from mcptest_engine.suite.windows import BLOCK as WINDOW_BLOCK
from mcptest_engine.suite.windows import Window, window
from mcptest_engine.suite.yaml import EMPTY, read_tree
from mcptest_engine.suite.yaml_nodes import Kind, Node, compose
from mcptest_engine.suite.yaml_text import Unwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.suite.yaml import Pointer, Tree

    _Wanted = Callable[[Any, Pointer], Any]
    _Spliced = Callable[["_Reread", Any, Pointer], Iterator[str]]

BOM = "\ufeff"
BLOCKS = ("tools", "resources", "prompts", "compliance", "compositions", "agents", "evals")
CHECKS = ("compliance", "checks")
ASSERTIONS = "assertions"
MOST_TRIES = 60


class EditRefused(McptestError):
    """No edit does what was asked without changing something else; the message says what is in the way."""


class TextEdit(NamedTuple):
    """Replace the characters `start` up to, without, `end` by `text`."""

    start: int
    end: int
    text: str


def apply(text: str, edits: TextEdit | Iterable[TextEdit]) -> str:
    """The edited text. All edits speak of `text`, in any order. Raises: ValueError when two overlap or one is out of range."""
    out: list[str] = []
    at = 0
    for edit in _in_order(edits):
        if not at <= edit.start <= edit.end <= len(text):
            raise ValueError(f"the edit at {edit.start} overlaps another, or lies outside of the text")
        out += (text[at : edit.start], edit.text)
        at = edit.end
    return "".join((*out, text[at:]))


def invert(text: str, edits: TextEdit | Iterable[TextEdit]) -> tuple[TextEdit, ...]:
    """What takes the edits back: applied to the edited text, it gives `text` again."""
    back: list[TextEdit] = []
    moved = 0
    for edit in _in_order(edits):
        start = edit.start + moved
        back.append(TextEdit(start, start + len(edit.text), text[edit.start : edit.end]))
        moved += len(edit.text) - (edit.end - edit.start)
    return tuple(back)


def append_test(text: str, block: str, test: Mapping[str, Any] | str) -> TextEdit:
    """Put a test at the end of `block` ("tools", …), which is made where there is none; a `compliance` may be a mapping.

    `test` is a mapping, or the YAML text of one (also as a list of one): then its lines are kept, indented anew.
    Raises: EditRefused.
    """
    lines = _lines_of(test) if isinstance(test, str) else None
    value = _mapping_of(test) if isinstance(test, str) else _plain(test)

    def wanted(tree: Any, path: Pointer) -> Any:
        root, key = {} if tree is None else tree, path[0]
        if _has_checks(root, key):
            return _put(root, CHECKS, [*_get(root, CHECKS), value])
        if not isinstance(root, dict) or not isinstance(root.get(key), (list, type(None))):
            raise EditRefused(f"`{block}` holds something else than a list of tests")
        return {**root, key: [*(root.get(key) or ()), value]}

    def spliced(splicer: _Reread, tree: Any, path: Pointer) -> Iterator[str]:
        key = str(path[0])
        if tree is None:
            yield from splicer.begin(key, [value], spread=True, lines=lines)
        elif _has_checks(tree, key):
            yield from splicer.add_item(CHECKS, value, spread=True, lines=lines)
        elif isinstance(tree.get(key), list):
            yield from splicer.add_item((key,), value, spread=True, lines=lines)
        else:
            yield from splicer.put((), key, [value], spread=True, lines=lines)

    return _edit(_Reading(text), (block,), wanted, spliced)


def add_assertion(
    text: str,
    test: int | Sequence[str | int],
    target: str,
    matcher: Mapping[str, Any],
    *,
    name: str | None = None,
    message: str | None = None,
) -> TextEdit:
    """Append an assertion to the `expect` of a test, given by a line (from 1) or by its path such as ("tools", 0).

    Raises: EditRefused.
    """
    reading = _Reading(text)
    told = {"target": target, "matcher": matcher, "name": name, "message": message}
    assertion = _plain({key: part for key, part in told.items() if part is not None})

    def wanted(tree: Any, path: Pointer) -> Any:
        at = _expect_path(tree, path)
        there = _get(tree, at)
        if not isinstance(there, (list, type(None))):
            raise EditRefused("`expect` holds something else than assertions")
        return _put(tree, at, [*(there or ()), assertion])

    def spliced(splicer: _Reread, tree: Any, path: Pointer) -> Iterator[str]:
        at = _expect_path(tree, path)
        if isinstance(_get(tree, at), list):
            yield from splicer.add_item(at, assertion)
        else:
            yield from splicer.put(at[:-1], str(at[-1]), [assertion])

    return _edit(reading, reading.test_path(test), wanted, spliced)


def replace_expect(text: str, test: int | Sequence[str | int], expect: Any) -> TextEdit:
    """Give a test another `expect`; what is the same in both stays as it is written, comments included. Raises: EditRefused."""
    reading = _Reading(text)
    return _set_value(reading, (*reading.test_path(test), "expect"), expect)


def set_value(text: str, path: Sequence[str | int], value: Any) -> TextEdit:
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


def edit_between(before: str, after: str) -> TextEdit:
    """The one edit that leads from a text to another, without what both begin and end with."""
    least = min(len(before), len(after))
    start = _common(before, after, least)
    end = _common(before[::-1], after[::-1], least - start)
    if start and before[start - 1 : start] == "\r":
        start -= 1  # never between the two characters of a line's end
    if end and before[len(before) - end] == "\n" and end < len(before) and before[len(before) - end - 1] == "\r":
        end -= 1
    return TextEdit(start, len(before) - end, after[start : len(after) - end])


def _common(one: str, other: str, most: int) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _in_order(edits: TextEdit | Iterable[TextEdit]) -> list[TextEdit]:
    return [edits] if isinstance(edits, TextEdit) else sorted(edits, key=lambda edit: (edit.start, edit.end))


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
            raise EditRefused(f"no test stands on line {test}")
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


def _set_value(reading: _Reading, path: Pointer, value: Any) -> TextEdit:
    value = _plain(value)

    def spliced(splicer: _Reread, tree: Any, at: Pointer) -> Iterator[str]:
        steps, whole = list(_steps(tree, at, value)), [_Step("set", at, value)]
        inside = list(_steps_in_long_form(tree, at, value))
        if inside:
            yield from _in_steps(splicer, inside)
        yield from _in_steps(splicer, steps)
        if steps != whole:
            yield from _in_steps(splicer, whole)

    # a window holds two tests of a block at most: of a whole block it would change those alone
    return _edit(reading, path, lambda tree, at: _put(tree, at, value), spliced, windowed=len(path) > 1)


def _edit(reading: _Reading, path: Pointer, wanted: _Wanted, spliced: _Spliced, *, windowed: bool = True) -> TextEdit:
    """The first of the spliced texts that reads as what was wanted; read in a window where one proves as much."""
    near = _window(reading, path) if windowed else None
    if near is not None:
        found = _edit_in_window(near, path, wanted, spliced)
        if found is not None:
            shift = near.start - near.head + len(reading.text) - len(reading.body)
            return found._replace(start=found.start + shift, end=found.end + shift) if any(found) else found
    return _proved(reading.text, reading.value, path, wanted, spliced, _read)


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


def _edit_in_window(near: Window, path: Pointer, wanted: _Wanted, spliced: _Spliced) -> TextEdit | None:
    """The edit of the window's text; None where there is none that stays inside of the window."""

    def read(text: str) -> Any:
        try:
            return near.read(text)
        except SuiteError as broken:
            raise EditRefused(broken.problems[0].message) from None

    inner: Pointer = (WINDOW_BLOCK, 0, *path[2:]) if len(path) > 1 else (WINDOW_BLOCK,)
    try:
        found = _proved(near.text, read(near.text), inner, wanted, spliced, read)
    except EditRefused:
        return None
    inside = near.head <= found.start and found.end <= len(near.text) - near.tail
    return found if inside or not any(found) else None


def _proved(
    text: str, tree: Any, path: Pointer, wanted: _Wanted, spliced: _Spliced, read: Callable[[str], Any]
) -> TextEdit:
    """The first of the spliced texts that `read` reads as what was wanted. Raises: EditRefused."""
    body = text.removeprefix(BOM)
    goal = wanted(tree, path)
    if _same(tree, goal):
        return TextEdit(0, 0, "")
    try:
        splicer = _Reread(body, None if tree is None else compose(body), newline_of(body), read)
        for candidate in spliced(splicer, tree, path):
            try:
                if _same(read(candidate), goal):
                    return edit_between(text, text[: len(text) - len(body)] + candidate)
            except EditRefused:
                continue
    except Unwritable as wrong:
        raise EditRefused(str(wrong)) from None
    raise EditRefused(
        "this cannot be edited here without changing something else",
        hint="an anchor, an alias or a spelling in the way; edit the text by hand",
    )


class _Reread(Splicer):
    """A splicer that knows how its text is read."""

    def __init__(self, text: str, root: Node | None, newline: str, read: Callable[[str], Any]) -> None:
        super().__init__(text, root, newline)
        self.read = read

    def then(self, text: str) -> _Reread:
        """The same for another text."""
        return _Reread(text, compose(text), self.newline, self.read)


def _read(text: str) -> Any:
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


def _same(one: Any, other: Any) -> bool:
    return one == other and repr(one) == repr(other)  # 1, 1.0 and true are equal to Python


def _plain(value: Any) -> Any:
    """A copy in plain dicts and lists."""
    if isinstance(value, dict) or hasattr(value, "items"):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def _get(tree: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        try:
            tree = tree[part]
        except (LookupError, TypeError):
            return None
    return tree


def _put(tree: Any, path: Sequence[str | int], value: Any) -> Any:
    """A copy of the tree with another value at `path`. Raises: EditRefused when nothing could stand there."""
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(head, int):
        if not isinstance(tree, list) or not 0 <= head < len(tree):
            raise EditRefused("there is no such place in the file")
        return [*tree[:head], _put(tree[head], rest, value), *tree[head + 1 :]]
    if not isinstance(tree, dict) or (rest and head not in tree):
        raise EditRefused("there is no such place in the file")
    return {**tree, head: _put(tree.get(head), rest, value)}


class _Step(NamedTuple):
    """One small change: "set" the value at a path, "insert" an item before the one at a path, or "remove" that item.

    "wrap" puts the list at a path under the key `value` of a mapping in its place.
    """

    kind: str
    path: Pointer
    value: Any = None


def _steps(tree: Any, path: Pointer, value: Any) -> Iterator[_Step]:
    """The smallest changes that make the value at `path` into `value`, in order."""
    there = _get(tree, path)
    if _same(there, value) and path:
        return
    if isinstance(there, dict) and isinstance(value, dict) and there and list(value)[: len(there)] == list(there):
        for key, part in value.items():
            if key in there:
                yield from _steps(tree, (*path, key), part)
            else:
                yield _Step("set", (*path, key), copy.deepcopy(part))
    elif isinstance(there, list) and isinstance(value, list) and there and value:
        yield from _steps_of_list(tree, path, there, value)
    else:
        yield _Step("set", path, value)


def _steps_in_long_form(tree: Any, path: Pointer, value: Any) -> Iterator[_Step]:
    """The changes that make an `expect` that is a list into one that is a mapping, its items left as they are written."""
    there = _get(tree, path)
    is_wanted = isinstance(value, dict) and isinstance(value.get(ASSERTIONS), list) and value[ASSERTIONS]
    if not is_wanted or not isinstance(there, list) or not there or path[-1:] != ("expect",):
        return
    yield _Step("wrap", path, ASSERTIONS)
    wrapped = _put(tree, path, {ASSERTIONS: there})
    yield from _steps(wrapped, (*path, ASSERTIONS), value[ASSERTIONS])
    for key, part in value.items():
        if key != ASSERTIONS:
            yield _Step("set", (*path, key), copy.deepcopy(part))


def _steps_of_list(tree: Any, path: Pointer, there: list[Any], value: list[Any]) -> Iterator[_Step]:
    """Items that stay are left alone. From the end on, so that no index moves before its turn; what is appended comes last."""
    appended: list[_Step] = []
    following = len(there)
    for old, new in reversed(_matched(there, value, repr)):
        if new is None:
            assert old is not None
            yield _Step("remove", (*path, old))
        elif old is not None:
            yield from _steps(tree, (*path, old), value[new])
        elif following == len(there):
            appended.append(_Step("insert", (*path, new), copy.deepcopy(value[new])))
        else:
            yield _Step("insert", (*path, following), copy.deepcopy(value[new]))
        following = following if old is None else old
    yield from reversed(appended)


def _matched(
    there: Sequence[Any], value: Sequence[Any], sign: Callable[[Any], str]
) -> list[tuple[int | None, int | None]]:
    """Which item of one list becomes which of the other, in order; None for none. Equal items first, then likes."""
    pairs: list[tuple[int | None, int | None]] = []
    matcher = SequenceMatcher(None, [sign(item) for item in there], [sign(item) for item in value], autojunk=False)
    for what, old, old_end, new, new_end in matcher.get_opcodes():
        if what == "replace" and sign is repr:
            inner = _matched(there[old:old_end], value[new:new_end], _about)
            pairs += [
                (None if one is None else old + one, None if other is None else new + other) for one, other in inner
            ]
        else:
            pairs += zip_longest(range(old, old_end), range(new, new_end))
    return pairs


def _about(item: Any) -> str:
    """What an item of a list is known by: an assertion's target, a test's name."""
    named = next((item[key] for key in ("target", "name") if key in item), None) if isinstance(item, dict) else None
    return repr(item if named is None else named)


def _in_steps(splicer: _Reread, steps: Sequence[_Step], tries: Iterator[int] | None = None) -> Iterator[str]:
    """The text after all steps; where a step can be made in several ways, all are followed, as long as there are `tries`."""
    tries = iter(range(MOST_TRIES + 4 * len(steps))) if tries is None else tries
    if not steps:
        yield splicer.text
        return
    step, rest = steps[0], steps[1:]
    wanted = _stepped(splicer.read(splicer.text), step)
    for candidate in _spliced(splicer, step):
        if next(tries, None) is None:
            return
        try:
            if _same(splicer.read(candidate), wanted):
                yield from _in_steps(splicer.then(candidate), rest, tries)
        except EditRefused:
            continue


def _spliced(splicer: Splicer, step: _Step) -> Iterator[str]:
    if step.kind == "remove":
        return splicer.remove(step.path)
    if step.kind == "wrap":
        return splicer.wrap(step.path, step.value)
    return splicer.insert(step.path, step.value) if step.kind == "insert" else splicer.set(step.path, step.value)


def _stepped(tree: Any, step: _Step) -> Any:
    """The tree after a step."""
    kind, path, value = step
    if kind == "set":
        return _put(tree, path, value)
    if kind == "wrap":
        return _put(tree, path, {value: _get(tree, path)})
    holder, index = _get(tree, path[:-1]), path[-1]
    assert isinstance(holder, list)
    assert isinstance(index, int)
    return _put(
        tree,
        path[:-1],
        [*holder[:index], *([value] if kind == "insert" else ()), *holder[index + (kind == "remove") :]],
    )


def _has_checks(tree: Any, block: str | int) -> bool:
    """Whether the block is a `compliance` whose checks stand one level further in."""
    inner = tree.get(block) if isinstance(tree, dict) and block == CHECKS[0] else None
    return isinstance(inner, dict) and isinstance(inner.get(CHECKS[1]), list)


def _expect_path(tree: Any, path: Pointer) -> Pointer:
    if not isinstance(_get(tree, path), dict):
        raise EditRefused("there is no such test in the file")
    is_mapping = isinstance(_get(tree, (*path, "expect")), dict)
    return (*path, "expect", ASSERTIONS) if is_mapping else (*path, "expect")


def _mapping_of(text: str) -> dict[str, Any]:
    value = _read(text.removeprefix(BOM))
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise EditRefused("a test is a mapping")
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
    column = node.start - (body.rfind("\n", 0, node.start) + 1)
    first, *rest = body[node.start :].rstrip().split("\n")
    if any(line[:column].strip() for line in rest):
        return None
    return [first, *(line[column:] for line in rest)]


def _line(text: str, index: int) -> int:
    body = text.removeprefix(BOM)
    return body.count("\n", 0, index) + 1
