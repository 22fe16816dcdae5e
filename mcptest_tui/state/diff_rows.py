"""Expected beside actual: two JSON values, or two texts, aligned by their structure, as rows to be drawn.

Members are aligned by their keys and elements by what is equal in them, so that one added element is one added row. Sizes are
bounded: a diff is read by a person.
"""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.clipping import compact
from mcptest_engine.core.targets import render
from mcptest_engine.core.text import counted
from mcptest_engine.judging.differences import NOTHING, align, equal
from mcptest_tui.state.json_rows import readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Path = tuple[str | int, ...]

MOST_ROWS = 2_000
MOST_ALIGNED = 200
CONTEXT = 3
DEEPEST = 60
LINE = 400
CHANGED = ("changed", "lines")
EQUALITY = ("exact", "equals", "subset")


class DiffRow(NamedTuple):
    """One row of both sides. `kind` is "same", "changed" (a side that has nothing is None), "lines" (the same, of rows that
    belong together), "extra" (more than a subset asks for), "gap" (`left` says how much is left out: `hidden`, where it is
    here), "title" or "note". `path` leads to what differs.
    """

    kind: str
    left: str | None
    right: str | None
    path: tuple[str | int, ...] = ()
    hidden: tuple[DiffRow, ...] = ()


class Difference(NamedTuple):
    """One place where two values differ: its path, and what stands there on either side, `NOTHING` for nothing."""

    path: tuple[str | int, ...]
    expected: Any
    actual: Any


class Line(NamedTuple):
    """One row of a unified diff; `mark` the characters from `start` to `end` that differ within it."""

    sign: str
    text: str
    start: int = 0
    end: int = 0


def diff_of(assertions: Sequence[Mapping[str, object]]) -> list[DiffRow]:
    """The rows for all assertions that did not hold, each below its title; [] when there are none."""
    rows: list[DiffRow] = []
    for assertion in assertions:
        if assertion.get("passed") is not False or "implicit" in assertion:
            continue
        if rows:
            rows.append(DiffRow("note", "", ""))
        own = _rows_of(assertion)
        path = next((row.path for row in own if row.kind in CHANGED), ())
        place = f"  at {render(path)}" if path else ""
        rows.append(DiffRow("title", f"{assertion.get('target', '')}  {matcher_name(assertion)}{place}", None))
        rows += own
    return rows


def matcher_name(assertion: Mapping[str, object]) -> str:
    """Return the matcher's name as it is written in a suite."""
    matcher = assertion.get("matcher")
    return next(iter(matcher), "") if isinstance(matcher, dict) else ""


def expected_of(assertion: Mapping[str, object]) -> Any:
    """Return the value that stands behind the matcher's name."""
    matcher = assertion.get("matcher")
    return next(iter(matcher.values()), None) if isinstance(matcher, dict) else None


def compare(expected: object, actual: object, *, subset: bool = False) -> list[DiffRow]:
    """Return the rows of two values' difference, without long equal parts."""
    rows: list[DiffRow] = []
    for row in _pairs(expected, actual, "", (), subset):
        rows.append(row)
        if len(rows) >= MOST_ROWS:
            rows.append(DiffRow("note", "the rest is left out", None))
            break
    return _without_sameness(rows)


def differences(
    expected: object, actual: object, *, subset: bool = False, path: tuple[str | int, ...] = ()
) -> Iterator[Difference]:
    """Every place where two values differ, aligned as in `compare`; an index is that of the actual list where it has one."""
    if len(path) < DEEPEST and isinstance(expected, dict) and isinstance(actual, dict):
        for name in (*expected, *(() if subset else (name for name in actual if name not in expected))):
            sides = (expected.get(name, NOTHING), actual.get(name, NOTHING))
            yield from differences(*sides, subset=subset, path=(*path, name))
    elif len(path) < DEEPEST and isinstance(expected, list) and isinstance(actual, list):
        for here, there in _aligned(expected, actual, by_place=subset):
            if here is None and subset:
                continue
            sides = (NOTHING if here is None else expected[here], NOTHING if there is None else actual[there])
            yield from differences(*sides, subset=subset, path=(*path, here or 0 if there is None else there))
    elif not equal(expected, actual):
        yield Difference(path, expected, actual)


def unified(rows: Sequence[DiffRow]) -> Iterator[Line]:
    """Return the rows with one side after the other: removed, then added."""
    left: list[Line] = []
    right: list[Line] = []
    for row in rows:
        if row.kind != "lines":
            yield from left
            yield from right
            left, right = [], []
        if row.kind in CHANGED:
            ours, theirs = differing(row.left or "", row.right or "") if None not in row else ((0, 0), (0, 0))
            if row.left is not None:
                left.append(Line("-", row.left, *ours))
            if row.right is not None:
                right.append(Line("+", row.right, *theirs))
        else:
            sign = {"same": " ", "extra": "·", "gap": "@", "title": "#", "note": "%"}[row.kind]
            yield Line(sign, row.left or row.right or "")
    yield from left
    yield from right


def differing(left: str, right: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """The part of either that the other does not have, between what both begin and end with."""
    most = min(len(left), len(right))
    begin = next((at for at in range(most) if left[at] != right[at]), most)
    end = next((at for at in range(most - begin) if left[-1 - at] != right[-1 - at]), most - begin)
    return (begin, len(left) - end), (begin, len(right) - end)


def _rows_of(assertion: Mapping[str, object]) -> list[DiffRow]:
    name = matcher_name(assertion)
    expected = readable(expected_of(assertion))
    if "actual" not in assertion:
        message = str(assertion.get("message") or "the target does not exist")
        return [DiffRow("note", message, None)]
    actual = readable(assertion["actual"])
    if name in EQUALITY:
        return compare(expected, actual, subset=name == "subset")
    if assertion.get("diff"):
        return list(from_unified(str(assertion["diff"])))
    return [*_zipped(_value_lines(expected, name, 0), _value_lines(actual, "", 0))]


def from_unified(text: str) -> Iterator[DiffRow]:
    """The rows of a unified diff, as the engine makes them for snapshots."""
    left: list[str] = []
    right: list[str] = []
    for line in text.split("\n"):
        sign, rest = line[:1], line[1:]
        if sign == "-" and not line.startswith("---"):
            left.append(rest)
        elif sign == "+" and not line.startswith("+++"):
            right.append(rest)
        else:
            yield from _zipped(left, right)
            left, right = [], []
            if sign == "@":
                yield DiffRow("gap", line.strip("@ "), None)
            elif not line.startswith(("---", "+++")):
                yield DiffRow("same", rest, rest)
    yield from _zipped(left, right)


def _pairs(left: object, right: object, key: str, path: Path, subset: bool) -> Iterator[DiffRow]:
    depth = len(path)
    if isinstance(left, str) and isinstance(right, str) and ("\n" in left or "\n" in right):
        yield from _at(path, _texts(left, right, key, depth))
    elif depth < DEEPEST and isinstance(left, dict) and isinstance(right, dict):
        yield from _members(left, right, key, path, subset)
    elif depth < DEEPEST and isinstance(left, list) and isinstance(right, list):
        yield from _elements(left, right, key, path, subset)
    elif equal(left, right):
        yield from (DiffRow("same", line, line) for line in _value_lines(left, key, depth))
    else:
        yield from _at(path, _zipped(_value_lines(left, key, depth), _value_lines(right, key, depth)))


def _members(left: dict[str, Any], right: dict[str, Any], key: str, path: Path, subset: bool) -> Iterator[DiffRow]:
    depth = len(path)
    yield _both(_head(key, depth) + "{")
    for name, member in left.items():
        shown, own = json.dumps(name, ensure_ascii=False), (*path, name)
        if name in right:
            yield from _pairs(member, right[name], shown, own, subset)
        else:
            yield from (DiffRow("changed", line, None, own) for line in _value_lines(member, shown, depth + 1))
    for name, member in right.items():
        if name not in left:
            shown = json.dumps(name, ensure_ascii=False)
            yield from _at((*path, name), _added(_value_lines(member, shown, depth + 1), subset))
    yield _both("  " * depth + "}")


def _elements(left: list[Any], right: list[Any], key: str, path: Path, subset: bool) -> Iterator[DiffRow]:
    depth = len(path)
    yield _both(_head(key, depth) + "[")
    for here, there in _aligned(left, right, by_place=subset):
        if here is not None and there is not None:
            yield from _pairs(left[here], right[there], "", (*path, there), subset)
        elif here is not None:
            yield from (
                DiffRow("changed", line, None, (*path, here)) for line in _value_lines(left[here], "", depth + 1)
            )
        elif there is not None:
            yield from _at((*path, there), _added(_value_lines(right[there], "", depth + 1), subset))
    yield _both("  " * depth + "]")


def _at(path: Path, rows: Iterator[DiffRow]) -> Iterator[DiffRow]:
    return (row._replace(path=path) if row.kind in CHANGED else row for row in rows)


def _aligned(left: list[Any], right: list[Any], *, by_place: bool) -> Iterator[tuple[int | None, int | None]]:
    """Pairs of indexes that belong together: by name, id or URI, else by what is equal, unless there is too much of it."""
    pairs = None if by_place else align(left, right)
    if pairs is not None:
        yield from pairs
        return
    most = max(len(left), len(right))
    if by_place or len(left) == len(right) or most > MOST_ALIGNED:
        for at in range(most):
            yield (at if at < len(left) else None, at if at < len(right) else None)
        return
    matcher = SequenceMatcher(
        None, [compact(item, LINE) for item in left], [compact(item, LINE) for item in right], False
    )
    for _, from_, to, other_from, other_to in matcher.get_opcodes():
        for at in range(max(to - from_, other_to - other_from)):
            here, there = from_ + at, other_from + at
            yield (here if here < to else None, there if there < other_to else None)


def _texts(left: str, right: str, key: str, depth: int) -> Iterator[DiffRow]:
    indent = "  " * depth
    if key:
        yield _both(_head(key, depth) + "text")
    ours, theirs = left.split("\n")[:MOST_ROWS], right.split("\n")[:MOST_ROWS]
    if len(ours) * len(theirs) > 250_000:
        yield from _zipped(ours, theirs)
        return
    for tag, from_, to, other_from, other_to in SequenceMatcher(None, ours, theirs, False).get_opcodes():
        if tag == "equal":
            yield from (_both(indent + line) for line in ours[from_:to])
        else:
            yield from _zipped(
                [indent + line for line in ours[from_:to]], [indent + line for line in theirs[other_from:other_to]]
            )


def _added(lines: Iterator[str], subset: bool) -> Iterator[DiffRow]:
    for line in lines:
        yield DiffRow("extra", None, line) if subset else DiffRow("changed", None, line)


def _zipped(left: Any, right: Any) -> Iterator[DiffRow]:
    ours, theirs = list(left), list(right)
    kind = "changed" if len(ours) == len(theirs) == 1 else "lines"
    for at in range(max(len(ours), len(theirs))):
        yield DiffRow(kind, ours[at] if at < len(ours) else None, theirs[at] if at < len(theirs) else None)


def _both(line: str) -> DiffRow:
    return DiffRow("same", line, line)


def _head(key: str, depth: int) -> str:
    return "  " * depth + (f"{key}: " if key else "")


def _value_lines(value: object, key: str, depth: int) -> Iterator[str]:
    """Return a value as formatted lines, bounded; texts of several lines as lines."""
    head = _head(key, depth)
    if isinstance(value, str) and "\n" in value:
        lines = value.split("\n")[:MOST_ROWS]
        if key:
            yield f"{head}text"
        yield from ("  " * depth + line for line in lines)
    elif isinstance(value, (dict, list)) and value and depth < DEEPEST:
        yield head + ("{" if isinstance(value, dict) else "[")
        if isinstance(value, dict):
            for name, member in value.items():
                yield from _value_lines(member, json.dumps(name, ensure_ascii=False), depth + 1)
        else:
            for member in value:
                yield from _value_lines(member, "", depth + 1)
        yield "  " * depth + ("}" if isinstance(value, dict) else "]")
    else:
        yield head + compact(value, LINE)


def _without_sameness(rows: list[DiffRow]) -> list[DiffRow]:
    """Long stretches of the same become a gap, but for a few rows on either side of a difference."""
    if not any(row.kind in CHANGED for row in rows):
        return rows
    keep = [False] * len(rows)
    for at, row in enumerate(rows):
        if row.kind not in ("same", "extra"):
            for near in range(max(at - CONTEXT, 0), min(at + CONTEXT + 1, len(rows))):
                keep[near] = True
    out: list[DiffRow] = []
    left_out: list[DiffRow] = []
    for at, (row, kept) in enumerate(zip(rows, keep, strict=True)):
        if kept:
            out += _gap(left_out, rows[at:])
            left_out = []
            out.append(row)
        else:
            left_out.append(row)
    return out + _gap(left_out, ())


def _gap(rows: list[DiffRow], after: Sequence[DiffRow]) -> list[DiffRow]:
    """Return few rows as they are, many as one that counts them."""
    if len(rows) <= CONTEXT:
        return rows
    path = next((row.path for row in after if row.kind in CHANGED), ())
    place = f", then {render(path)}" if path else ""
    return [DiffRow("gap", f"{counted(len(rows), 'row')} the same{place}", None, hidden=tuple(rows))]


def unfolded(rows: Sequence[DiffRow]) -> Iterator[DiffRow]:
    """Return the rows, with each gap replaced by the rows that it hides."""
    for row in rows:
        if row.hidden:
            yield from row.hidden
        else:
            yield row
