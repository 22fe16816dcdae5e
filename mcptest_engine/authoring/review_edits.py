"""Accepted items as edits of one file: found in the current text, made together, parsed again, checked, or refused.

All changes are made at once and the result is compared with the intended one. Only if that fails are they made one by one, so
that the possible ones are made.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.authoring.review_texts import Piece, SuiteText, Unreadable, dashed, undashed, value_at
from mcptest_engine.core.errors import McptestError, SuiteError
from mcptest_engine.suite.edit import BLOCKS, append_test, set_value
from mcptest_engine.suite.text_edits import EditRefused, TextEdit, apply
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.suite.yaml_text import Unwritable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mcptest_engine.authoring.review_items import ReviewItem
    from mcptest_engine.suite.yaml import Pointer

_SINCE = "has changed since it was proposed; look at it again"


class AcceptedItem(NamedTuple):
    """An accepted item, and the edited text of its `after`, None when it is as proposed."""

    item: ReviewItem
    edited: str | None


class Made(NamedTuple):
    """The file after the edits; the items that could not be made, each with the reason."""

    text: SuiteText
    accepted: tuple[ReviewItem, ...]
    refused: tuple[tuple[ReviewItem, str], ...]


def edited(text: SuiteText, wanted: Sequence[AcceptedItem], *, root: Path) -> Made:
    """Make all changes to one file, as far as possible. Writes nothing. `root` is the workspace's."""
    made = _edited(text, wanted)
    if not made.accepted or not (problems := new_problems(text, made.text, root=root)):
        return made
    if len(wanted) == 1:
        return Made(text, (), ((wanted[0].item, problems[0]),))
    half = len(wanted) // 2  # halving finds the few wrong ones among hundreds in a fraction of the edits
    first = edited(text, wanted[:half], root=root)
    second = edited(first.text, wanted[half:], root=root)
    return Made(second.text, first.accepted + second.accepted, first.refused + second.refused)


def new_problems(before: SuiteText, after: SuiteText, *, root: Path) -> list[str]:
    """The problems that a suite has only after the edits.

    Only the tests that differ are checked, in their suite: checking a thousand because of one takes longer than the edit.
    """
    found = _problems(after, _reduced(before, after), root)
    if not found:
        return []
    known = set(_problems(before, before.whole, root))
    return [problem for problem in found if problem not in known]


def _reduced(before: SuiteText, after: SuiteText) -> str:
    """The suite after the edits without its unchanged tests; as JSON, which is YAML."""
    document = after.tree.value
    if not isinstance(document, dict):
        return after.whole
    blocks = {}
    for block in BLOCKS:
        old = before.tests(block)
        blocks[block] = [
            test for at, test in enumerate(after.tests(block)) if at >= len(old) or not _same(test, old[at])
        ]
    reduced = {key: blocks.get(key, value) for key, value in document.items() if blocks.get(key) != []}
    try:
        return json.dumps(reduced, allow_nan=False)
    except (ValueError, RecursionError):
        return after.whole


def _problems(text: SuiteText, written: str, root: Path) -> list[str]:
    from mcptest_engine.suite.load import LoadOptions, check_text

    options = LoadOptions(environ=dict(os.environ), workspace_root=root, allow_outside=True)
    checked = check_text(written, options, name=text.path.name, base_dir=text.path.parent)
    return [
        problem.shown if problem.hint is None else f"{problem.shown} ({problem.hint})" for problem in checked.errors
    ]


class _Refused(McptestError):
    """Why one item cannot be written."""


class _Place(NamedTuple):
    """The place and the new value of one item. `piece` is None where only the whole file can be edited."""

    wanted: AcceptedItem
    path: Pointer
    value: Any
    piece: Piece | None
    text: str


def _edited(text: SuiteText, wanted: Sequence[AcceptedItem]) -> Made:
    accepted: list[ReviewItem] = []
    refused: list[tuple[ReviewItem, str]] = []
    waiting = [one for one in wanted if one.item.kind != "test"]
    while waiting:
        places, later = _places(text, waiting, refused)
        together = _together(text, places)
        if together is not None:
            text = together
            accepted += [place.wanted.item for place in places]
        else:
            text = _one_by_one(text, places, accepted, refused)
        waiting = later
    new = [one for one in wanted if one.item.kind == "test"]
    for block in dict.fromkeys(one.item.block for one in new):
        text = _with_tests(text, block, [one for one in new if one.item.block == block], accepted, refused)
    return Made(text, tuple(accepted), tuple(refused))


def _with_tests(
    text: SuiteText,
    block: str,
    wanted: Sequence[AcceptedItem],
    accepted: list[ReviewItem],
    refused: list[tuple[ReviewItem, str]],
) -> SuiteText:
    """Add new tests at the end of a block: all at once, in the style of the first; else one by one."""
    together = _appended_together(text, block, wanted) if len(wanted) > 1 else None
    if together is not None:
        accepted += [one.item for one in wanted]
        return together
    for one in wanted:
        try:
            text = _appended(text, one)
            accepted.append(one.item)
        except (McptestError, Unwritable) as wrong:
            refused.append((one.item, _refusal_text(wrong)))
    return text


def _appended_together(text: SuiteText, block: str, wanted: Sequence[AcceptedItem]) -> SuiteText | None:
    """Append the tests; None when the result is not the intended one."""
    fragments = [undashed(one.item.after if one.edited is None else one.edited).strip("\n") for one in wanted]
    try:
        mappings = [_read(fragment) for fragment in fragments]
        first = append_test(text.text, block, fragments[0])
    except (McptestError, Unwritable):
        return None
    there = text.tests(block)
    unlike = [one for at, one in enumerate(mappings) if one not in there and one not in mappings[:at]]
    at = first.text.find("- ")
    column = at - first.text.rfind("\n", 0, at) - 1
    if len(unlike) < len(mappings) or first.start != first.end or at < 0:
        return None
    bodies = [_indented(dashed(fragment), column, text.newline) for fragment in fragments]
    before, body, after = first.text.partition(bodies[0])
    if not body:
        return None
    try:
        inserted = "".join(f"{before}{one}{after}" for one in bodies)
        changed = _text(text, apply(text.text, TextEdit(first.start, first.end, inserted)))
    except McptestError:
        return None
    goal = {**(text.tree.value or {}), block: [*there, *mappings]}
    return changed if _same(changed.tree.value, goal) else None


def _indented(lines: str, column: int, newline: str) -> str:
    first, *rest = lines.split("\n")
    return newline.join((first, *(f"{' ' * column}{line}" if line.strip() else line for line in rest)))


def _places(
    text: SuiteText, waiting: Sequence[AcceptedItem], refused: list[tuple[ReviewItem, str]]
) -> tuple[list[_Place], list[AcceptedItem]]:
    """The changes that can be made at once, and those inside a piece that another one changes."""
    places: list[_Place] = []
    later: list[AcceptedItem] = []
    for one in waiting:
        try:
            place = _place_of(text, one)
        except (McptestError, Unwritable) as wrong:
            refused.append((one.item, _refusal_text(wrong)))
            continue
        if any(_overlap(place, other) for other in places):
            later.append(one)
        else:
            places.append(place)
    return places, later


def _overlap(one: _Place, other: _Place) -> bool:
    shorter = min(len(one.path), len(other.path))
    return one.path[:shorter] == other.path[:shorter] or (
        one.piece is not None
        and other.piece is not None
        and one.piece.start < other.piece.end
        and other.piece.start < one.piece.end
    )


def _together(text: SuiteText, places: Sequence[_Place]) -> SuiteText | None:
    """The text with all changes made piece by piece; None when the result is not the intended one."""
    goal = text.tree.value
    edits: list[TextEdit] = []
    for place in places:
        if place.piece is None:
            return None
        goal = _with(goal, place.path, place.value)
        edits.append(text.put(place.piece, place.text))
    try:
        changed = _text(text, apply(text.text, edits))
    except (McptestError, ValueError):
        return None
    return changed if _same(changed.tree.value, goal) else None


def _one_by_one(
    text: SuiteText,
    places: Sequence[_Place],
    accepted: list[ReviewItem],
    refused: list[tuple[ReviewItem, str]],
) -> SuiteText:
    for place in places:
        try:
            text = _text(text, apply(text.text, set_value(text.text, place.path, place.value)))
            accepted.append(place.wanted.item)
        except (McptestError, Unwritable, ValueError) as wrong:
            refused.append((place.wanted.item, _refusal_text(wrong)))
    return text


def _place_of(text: SuiteText, wanted: AcceptedItem) -> _Place:
    """The place of the item's change in the suite. Raises: _Refused, EditRefused, Unwritable."""
    item = wanted.item
    if item.block not in BLOCKS:
        raise _Refused("it does not say which block of the suite it is about")
    found = list(_found(text, item))
    if not found:
        what = (
            "the test" if text.find(item.block, item.test_name, line=item.line) is None else "the text that it changes"
        )
        raise _Refused(f"{what} is no longer in the file" if what == "the test" else f"{what} {_SINCE}")
    if len(found) > 1:
        raise _Refused("several tests of this name contain the text that it changes")
    index, path = found[0]
    piece = text.piece(item.block, index, path)
    if piece is not None and piece.inner and piece.inner[-1] != path[-1]:
        piece = None
    at, value = (item.block, index, *path), item.value
    if wanted.edited is not None:
        if piece is None:
            raise _Refused("it cannot be edited here; edit the file by hand")
        written = item.undescribed(wanted.edited)
        value = _value_of(written, piece)
        at = at[: len(at) - len(piece.inner) + (not piece.is_item)]
        return _Place(wanted, at, value, piece, undashed(written) if piece.is_item else written)
    try:
        new = "" if piece is None else piece.with_value(value)
    except EditRefused:
        piece, new = None, ""
    return _Place(wanted, at, value, piece, new)


def _found(text: SuiteText, item: ReviewItem) -> Iterator[tuple[int, Pointer]]:
    """The current place of the item's subject: the test by its name, the assertion by its content."""
    by_line = text.find(item.block, item.test_name, line=item.line)
    tests = text.tests(item.block)
    named = [at for at, test in enumerate(tests) if isinstance(test, dict) and test.get("name") == item.test_name]
    for index in [by_line] if by_line is not None and text.line(item.block, by_line) == item.line else named:
        path = _path_now(tests[index], item)
        if path is not None:
            yield index, path


def _path_now(test: object, item: ReviewItem) -> Pointer | None:
    if _same(value_at(test, item.path), item.was):
        return item.path
    if not item.path or isinstance(item.path[-1], str):
        return None
    homes: list[Pointer] = [item.path[:-1], ("expect",), ("expect", "assertions")]
    for home in dict.fromkeys(homes):
        there = value_at(test, home)
        equal = [at for at, one in enumerate(there) if _same(one, item.was)] if isinstance(there, list) else []
        if len(equal) == 1:
            return (*home, equal[0])
    return None


def _value_of(fragment: str, piece: Piece) -> object:
    """The value of an edited piece. Raises: _Refused."""
    value = _read(undashed(fragment) if piece.is_item else fragment)
    if piece.is_item and not piece.inner and not isinstance(_read(piece.text), dict):
        return value
    if not isinstance(value, dict):
        raise _Refused("the edited text is not a mapping")
    if piece.is_item:
        return value
    key = piece.inner[0]
    if list(value) != [key]:
        raise _Refused(f"the edited text must be `{key}:` and its content, and nothing else")
    return value[key]


def _appended(text: SuiteText, wanted: AcceptedItem) -> SuiteText:
    """The suite with the item's test at the end of its block. Raises: EditRefused, Unwritable, _Refused."""
    item = wanted.item
    if item.block not in BLOCKS:
        raise _Refused(f"`{item.block}` is not a block of tests")
    shown = item.after if wanted.edited is None else wanted.edited
    mapping = _read(undashed(shown))
    if not isinstance(mapping, dict):
        raise _Refused("the edited text is not a test")
    if mapping in text.tests(item.block):
        raise _Refused("the test is in the suite already")
    return _text(text, apply(text.text, append_test(text.text, item.block, undashed(shown))))


def _read(fragment: str) -> Any:
    try:
        return read_tree(fragment, file="").value
    except SuiteError as broken:
        problem = broken.problems[0]
        where = "" if problem.span is None else f" on line {problem.span.line} of it"
        raise _Refused(f"the edited text cannot be read: {problem.message}{where}") from None


def _text(before: SuiteText, text: str) -> SuiteText:
    """The same file with another text. Raises: Unreadable, EditRefused."""
    try:
        return SuiteText(before.path, (before.bom + text).encode("utf-8"))
    except UnicodeEncodeError:
        raise EditRefused("the text cannot be written as UTF-8") from None


def _with(tree: Any, path: Pointer, value: Any) -> Any:
    """A copy of the tree with another value at an existing path, or with a new key."""
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(head, int):
        return [*tree[:head], _with(tree[head], rest, value), *tree[head + 1 :]]
    return {**tree, head: _with(tree.get(head), rest, value)}


def _same(one: object, other: object) -> bool:
    return bool(one == other) and repr(one) == repr(other)


def _refusal_text(wrong: Exception) -> str:
    if isinstance(wrong, Unreadable):
        return f"the result would not be a suite: {wrong.message}"
    return wrong.message if isinstance(wrong, McptestError) else str(wrong)
