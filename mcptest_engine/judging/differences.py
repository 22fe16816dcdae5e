"""When two JSON values are equal, where they first differ, and how that is shown.

`1` equals `1.0` and `true` does not equal `1`, neither of which Python's `==` says of both. Nothing here recurses over
values, so no depth of nesting ends it, and a diff is bounded in size and time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcptest_engine.core.clipping import compact, show
from mcptest_engine.core.text import pointer
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_LINES = 2_000  # of either side; beyond that only the differing part is shown
_MOST_PAIRS = 250_000  # of lines to compare; difflib takes time in their square
_MOST_SHOWN = 200
_CONTEXT = 3
_LINE_WIDTH = 400
_DEEPEST = 60
_IDENTITIES = ("name", "id", "uri", "uriTemplate")
"""What tells the elements of a list apart, the first that all of them have. Source: MCP 2025-11-25, schema."""


class _Nothing:
    """The type of `NOTHING`."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING: Final = _Nothing()
Step = tuple[str | int, Any, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where two values differ; a side that has nothing there is `NOTHING`.

    `path` leads there in the actual value, and in the expected one as well unless that has an `expected_path` of its own.
    """

    path: tuple[str | int, ...]
    expected: Any
    actual: Any
    expected_path: tuple[str | int, ...] | None = None

    @property
    def pointer(self) -> str:
        """The place as a JSON Pointer; "" is the whole value."""
        return pointer(self.path)


def equal(expected: object, actual: object) -> bool:
    """Deep JSON equality. NaN equals NaN, so that every value equals itself."""
    if type(expected) in _CONTAINERS and type(actual) in _CONTAINERS:
        return first_difference(expected, actual) is None
    return _same(expected, actual)


def first_difference(expected: object, actual: object, *, subset: bool = False) -> Difference | None:
    """Where `actual` first differs, in the order of `expected`; None when the two are equal.

    With `subset`, further keys of an object and further elements at an array's end are no difference.
    """
    path: list[str | int] = []
    stack: list[Iterator[Step]] = [iter((("", expected, actual),))]
    while stack:
        for segment, left, right in stack[-1]:
            if isinstance(left, dict) and isinstance(right, dict):
                stack.append(_member_steps(left, right, subset=subset))
            elif isinstance(left, list) and isinstance(right, list):
                stack.append(_elements(left, right, subset=subset))
            elif _same(left, right):
                continue
            else:
                return Difference(tuple((*path, segment)[1:]), left, right)
            path.append(segment)
            break
        else:
            stack.pop()
            if path:
                path.pop()
    return None


def aligned_difference(expected: Any, actual: Any) -> Difference | None:
    """The same, with elements that have an identity compared with their like, wherever that stands in the other list.

    So a tool that was inserted is the difference, and not the one that stands in its place now.
    """
    ours: tuple[str | int, ...] = ()
    theirs: tuple[str | int, ...] = ()
    while (difference := first_difference(expected, actual)) is not None:
        left, right = expected, actual
        for depth, segment in enumerate(difference.path):
            pairs = align(left, right) if isinstance(left, list) and isinstance(right, list) else None
            if pairs is not None and any(here != there for here, there in pairs):
                before = difference.path[:depth]
                at, expected, actual, place = next(
                    step for step in _paired(left, right, pairs) if not equal(step[1], step[2])
                )
                ours, theirs = (*ours, *before, at), (*theirs, *before, place)
                break
            left, right = _member(left, segment), _member(right, segment)
        else:
            path = difference.path
            return Difference((*theirs, *path), difference.expected, difference.actual, (*ours, *path))
    return None


def align(left: list[object], right: list[object]) -> list[tuple[int | None, int | None]] | None:
    """The indexes of elements that belong together by their name, id or URI, in order; None beside what one list lacks.

    None where the elements have no such identity, or stand in another order.
    """
    for key in _IDENTITIES:
        ours, theirs = _places(left, key), _places(right, key)
        if ours is not None and theirs is not None:
            break
    else:
        return None
    common = [name for name in ours if name in theirs]
    if not common or common != [name for name in theirs if name in ours]:
        return None
    pairs: list[tuple[int | None, int | None]] = []
    waiting = iter(theirs.items())
    for name, here in ours.items():
        if name not in theirs:
            pairs.append((here, None))
            continue
        for other, there in waiting:
            pairs.append((here if other == name else None, there))
            if other == name:
                break
    return [*pairs, *((None, there) for _, there in waiting)]


def unified_diff(expected: object, actual: object) -> str | None:
    """A unified diff of both as pretty JSON with sorted keys, or as the texts they are; None when the two are equal.

    Too large values are narrowed to the part that holds the first difference. The text is safe to show.
    """
    difference = aligned_difference(expected, actual)
    if difference is None:
        return None
    from mcptest_engine.core.sanitise import sanitise

    return sanitise("\n".join(_diff_lines(expected, actual, difference)))


def needs_diff(expected: object, actual: object) -> bool:
    """Whether a diff says more than a message: objects, arrays, texts of several lines."""
    if isinstance(expected, str) and isinstance(actual, str):
        return "\n" in expected or "\n" in actual
    return isinstance(expected, (dict, list)) and isinstance(actual, (dict, list))


_CONTAINERS = (dict, list)


def _same(left: object, right: object) -> bool:
    if type(left) is type(right):
        return bool(left == right) or (left != left and right != right)  # only NaN differs from itself
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
    return numbers and left == right


def _member_steps(left: dict[str, object], right: dict[str, object], *, subset: bool) -> Iterator[Step]:
    for key, value in left.items():
        yield key, value, right.get(key, NOTHING)
    if not subset:
        for key, value in right.items():
            if key not in left:
                yield key, NOTHING, value


def _elements(left: list[object], right: list[object], *, subset: bool) -> Iterator[Step]:
    yield from zip(range(len(left)), left, right, strict=False)
    if len(left) > len(right):
        yield len(right), left[len(right)], NOTHING
    elif len(right) > len(left) and not subset:
        yield len(left), NOTHING, right[len(left)]


def _places(elements: list[object], key: str) -> dict[str | int, int] | None:
    """The index of each element by its identity; None where one has none, or two have the same."""
    found: dict[str | int, int] = {}
    for at, element in enumerate(elements):
        name = element.get(key) if isinstance(element, dict) else None
        if not isinstance(name, (str, int)) or name in found:
            return None
        found[name] = at
    return found


def _paired(
    left: list[object], right: list[object], pairs: list[tuple[int | None, int | None]]
) -> Iterator[tuple[str | int, object, object, str | int]]:
    """Each pair as (index in the expected list, both elements, index in the actual one); of what is lacking, the other's."""
    for here, there in pairs:
        ours = NOTHING if here is None else left[here]
        theirs = NOTHING if there is None else right[there]
        at = here if here is not None else there
        assert at is not None
        yield at, ours, theirs, at if there is None else there


def _diff_lines(expected: object, actual: object, difference: Difference) -> list[str]:
    for depth in range(len(difference.path) + 1):
        place = difference.path[:depth]
        if depth == len(difference.path):
            left, right = _text_lines(difference.expected), _text_lines(difference.actual)
        else:
            left = _text_lines(_value_at(expected, (difference.expected_path or difference.path)[:depth]))
            right = _text_lines(_value_at(actual, place))
        if left is None or right is None:
            continue
        if left == right:  # the difference lies beyond what a line shows
            break
        where = f" at {pointer(place)}" if place else ""
        return [f"--- expected{where}", f"+++ actual{where}", *_hunks(left, right)]
    sides = (f"- {show(difference.expected)}", f"+ {show(difference.actual)}")
    return [f"--- expected at {difference.pointer or 'the top'}", "+++ actual", *sides]


def _value_at(value: object, place: Sequence[str | int]) -> object:
    for segment in place:
        value = _member(value, segment)
    return value


def _member(value: object, segment: str | int) -> object:
    if isinstance(value, list):
        return value[segment] if isinstance(segment, int) and segment < len(value) else NOTHING
    return value.get(segment, NOTHING) if isinstance(value, dict) else NOTHING


def _text_lines(value: object) -> list[str] | None:
    """`value` as lines, none where there is nothing; None when there are too many."""
    if value is NOTHING:
        return []
    if isinstance(value, str) and "\n" in value:
        if value.count("\n") >= _MOST_LINES:
            return None
        return [line if len(line) <= _LINE_WIDTH else f"{line[:_LINE_WIDTH]}…" for line in value.split("\n")]
    out: list[str] = []
    for line in _pretty(value, "", "", 0):
        out.append(line)
        if len(out) > _MOST_LINES:
            return None
    return out


def _pretty(value: object, indent: str, key: str, depth: int) -> Iterator[str]:
    """Lines of indented JSON with sorted keys; equal numbers are written alike."""
    if isinstance(value, (dict, list)) and value and depth < _DEEPEST:
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        yield f"{indent}{key}{opening}"
        deeper = f"{indent}  "
        members = sorted(value.items()) if isinstance(value, dict) else [(None, member) for member in value]
        for name, member in members:
            yield from _pretty(member, deeper, "" if name is None else f"{compact(name, _LINE_WIDTH)}: ", depth + 1)
        yield f"{indent}{closing}"
        return
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        value = int(value)
    text = "" if value is NOTHING else compact(value, _LINE_WIDTH)
    yield f"{indent}{key}{text if len(text) <= _LINE_WIDTH else text[:_LINE_WIDTH] + '…'}"


def _hunks(left: list[str], right: list[str]) -> Iterator[str]:
    """The hunks of a unified diff, with what is equal at both ends left to no algorithm."""
    start = _common(left, right)
    end = _common(left[start:][::-1], right[start:][::-1])
    first = max(0, start - _CONTEXT)
    last = max(0, end - _CONTEXT)
    left, right = left[first : len(left) - last], right[first : len(right) - last]
    shown = 0
    for tag_groups in _groups(left, right):
        yield from _hunk(left, right, tag_groups, first)
        shown += sum(group[2] - group[1] + group[4] - group[3] for group in tag_groups)
        if shown > _MOST_SHOWN:
            yield "… (more differences are not shown)"
            return


def _hunk(left: list[str], right: list[str], groups: list[tuple[str, int, int, int, int]], first: int) -> Iterator[str]:
    lower, upper = groups[0], groups[-1]
    yield f"@@ -{first + lower[1] + 1},{upper[2] - lower[1]} +{first + lower[3] + 1},{upper[4] - lower[3]} @@"
    for tag, left_from, left_to, right_from, right_to in groups:
        if tag == "equal":
            yield from (f" {line}" for line in left[left_from:left_to])
            continue
        yield from _side("-", left[left_from:left_to])
        yield from _side("+", right[right_from:right_to])


def _side(sign: str, lines: list[str]) -> Iterator[str]:
    yield from (f"{sign}{line}" for line in lines[:_MOST_SHOWN])
    if len(lines) > _MOST_SHOWN:
        yield f"{sign}… ({len(lines) - _MOST_SHOWN} more lines)"


def _groups(left: list[str], right: list[str]) -> Iterator[list[tuple[str, int, int, int, int]]]:
    if len(left) * len(right) > _MOST_PAIRS:
        yield [("replace", 0, len(left), 0, len(right))]
        return
    from difflib import SequenceMatcher

    for group in SequenceMatcher(None, left, right, autojunk=False).get_grouped_opcodes(_CONTEXT):
        yield [(tag, a, b, c, d) for tag, a, b, c, d in group]


def _common(left: list[str], right: list[str]) -> int:
    """How many lines are the same at the start of both."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
