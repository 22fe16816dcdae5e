"""Where in a suite a cursor stands, read off the lines alone: a text that is half typed does not parse.

The path to the cursor is found by walking up: by indentation in block style, by unmatched brackets in flow style. The
surprising thing: flow style is looked for only where the line above ends as an open bracket's content must (in `,`, `[` or
`{`), so that a bracket in some text far above cannot swallow the rest of the file.

Rows and columns count from 0 here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ITEM = -1
"""In a path: some item of a list, whichever."""
Path = tuple["str | int", ...]

_MOST_FLOW_LINES = 20_000
_MOST_BLOCK_LINES = 500
_MOST_LINE = 4_000
# A bracket in the middle of a word, as in `${name}` and `content[0]`, opens nothing.
_INSIDE = r"(?<=[^\s\[\]{},:])(?:\[[^\[\]{}\s]*\]?|\{[^\[\]{}\s]*\}?)"
_TOKEN = re.compile(
    r"""(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|(?P<open_quote>["'])|(?P<comment>(?:^|(?<=\s))\#.*)"""
    r"""|(?P<mark>[\[\]{},]|:(?=[\s,\[\]{}]|$))|(?P<plain>(?:[^\s\[\]{},:#"']|(?<=\S)[#"']|:(?![\s,\[\]{}]|$)|"""
    rf"""{_INSIDE})+)|(?P<space>\s+)"""
)
_PLAIN_KEY = r"""[^\s\-?#&*!|>@`"'\[\]{},:](?:[^:#]|:(?=\S)|(?<=\S)\#)*?|-[^\s:](?:[^:#]|:(?=\S))*?"""
_KEY = rf"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|{_PLAIN_KEY})"""
_LINE = re.compile(rf"(?P<indent> *)(?P<dashes>(?:-[ \t]+)*)(?:{_KEY}[ \t]*:(?=[ \t]|$)[ \t]*)?")
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*[ \t]+)+")
_BLOCK_SCALAR = re.compile(r"(?:[&!]\S*[ \t]+)*[|>][-+0-9]*[ \t]*(?:#.*)?$")
_WORD = re.compile(r"[\w.\-/$~%@+*]*")


class Holder(NamedTuple):
    """Where a mapping of the path can be read: at one of its keys (block), or at its opening bracket (flow)."""

    flow: bool
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Place:
    """`path` leads to what is being typed: to the mapping whose key it is ("key"), or to the value ("value").

    "open" is the begin of a line or of an item, where either may come. `start` to `end` is the word under the cursor, `typed`
    its part before the cursor; `quote` the quote that it stands in. `column` is where the keys of this mapping stand. `holders`
    has, by depth, the mappings on the way.
    """

    path: Path
    mode: str
    row: int
    typed: str = ""
    start: int = 0
    end: int = 0
    quote: str = ""
    flow: bool = False
    after_dash: bool = False
    column: int = 0
    holders: tuple[tuple[int, Holder], ...] = ()

    def holder(self, depth: int) -> Holder | None:
        """The mapping that the first `depth` parts of the path lead to."""
        return next((holder for at, holder in self.holders if at == depth), None)


def place_at(lines: Sequence[str], row: int, column: int) -> Place | None:
    """What is being typed at a cursor; None in a comment, in a text block, or outside of the text."""
    if not 0 <= row < len(lines) or len(lines[row]) > _MOST_LINE:
        return None
    before = lines[row][: max(column, 0)]
    scanned = _scan(before)
    if scanned.in_comment:
        return None
    openers = _enclosing(lines, row, scanned)
    if openers is None:
        return None
    found = _flow_place(lines, row, before, openers) if openers else None
    if found is not None:
        return found
    here = [opener for opener in openers if opener[0] == row]
    if here:  # what is above them is no flow style after all, but some text with brackets in it
        return _flow_place(lines, row, before, here)
    return _block_place(lines, row, before, scanned)


def members(lines: Sequence[str], holder: Holder) -> dict[str, str]:
    """The keys of a mapping with what stands behind each, as written."""
    if holder.flow:
        return _flow_members(lines, holder)
    found: dict[str, str] = {}
    for row in _rows_of(lines, holder):
        match = _parts(lines[row])
        key = match["key"]
        if key is not None and match.start("key") == holder.column:
            found.setdefault(unquoted(key), lines[row][match.end() :])
    return found


def yaml_under(lines: Sequence[str], holder: Holder, key: str, *, without: int) -> str:
    """What stands under a key of a mapping, as YAML, of a long one the beginning. The row `without` is left out of a block."""
    if holder.flow:
        return members(lines, holder).get(key, "")
    for row in _rows_of(lines, holder):
        match = _parts(lines[row])
        if match["key"] is None or unquoted(match["key"]) != key:
            continue
        found = [lines[row][match.end() :]]
        for below in range(row + 1, min(row + _MOST_BLOCK_LINES, len(lines))):
            line = lines[below]
            indent = len(line) - len(line.lstrip(" "))
            if not _is_blank(line) and (indent < holder.column or (indent == holder.column and line[indent] != "-")):
                break
            found.append("" if below == without else line)
        return "\n".join(found)
    return ""


def unquoted(text: str) -> str:
    """A scalar as written, without its quotes and its comment."""
    text = text.strip()
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        return text[1:end] if end > 0 else text[1:]
    return re.split(r"\s+#", text, maxsplit=1)[0].strip()


class _Scanned(NamedTuple):
    """A part of a line: brackets left open (column, which), brackets closed that were open before, and its end."""

    openers: tuple[tuple[int, str], ...]
    closers: int
    in_comment: bool
    quote: int
    """The column of a quote that is not closed, or -1."""
    last: str


@lru_cache(maxsize=20_000)
def _scan(text: str) -> _Scanned:
    openers: list[tuple[int, str]] = []
    closers, last = 0, ""
    block = _parts(text)
    at = 0 if not block["dashes"] and block["key"] is None else block.end()
    if at and _BLOCK_SCALAR.match(text, at):
        return _Scanned((), 0, False, -1, "|")
    while (found := _TOKEN.match(text, at)) is not None and found.end() > at:
        at = found.end()
        kind, token = found.lastgroup, found.group()
        if kind == "comment":
            return _Scanned(tuple(openers), closers, True, -1, last)
        if kind == "open_quote":
            return _Scanned(tuple(openers), closers, False, found.start(), last)
        if kind != "space":
            last = token[-1]
        if kind == "mark" and token in "[{":
            openers.append((found.start(), token))
        elif kind == "mark" and token in "]}":
            if openers:
                openers.pop()
            else:
                closers += 1
    return _Scanned(tuple(openers), closers, False, -1, last or text.rstrip()[-1:])


@lru_cache(maxsize=20_000)
def _parts(line: str) -> re.Match[str]:
    found = _LINE.match(line, 0, _MOST_LINE)
    assert found is not None  # everything in it is optional
    return found


def _is_blank(line: str) -> bool:
    text = line.lstrip()
    return not text or text.startswith("#")


def _enclosing(lines: Sequence[str], row: int, scanned: _Scanned) -> list[tuple[int, int, str]] | None:
    """The brackets around the cursor, outermost first, as (row, column, bracket)."""
    found = [(row, column, mark) for column, mark in scanned.openers]
    pending = scanned.closers
    continued = pending > 0
    least = max(row - _MOST_FLOW_LINES, 0)
    for number in range(row - 1, least - 1, -1):
        line = lines[number]
        if _is_blank(line):
            continue
        told = _scan(line) if len(line) <= _MOST_LINE else _Scanned((), 0, False, -1, "")
        if not continued and told.last not in (",", "[", "{"):
            break
        continued = True
        if len(told.openers) > pending:
            kept = told.openers[: len(told.openers) - pending]
            found = [(number, column, mark) for column, mark in kept] + found
            pending, continued = told.closers, told.closers > 0
        else:
            pending += told.closers - len(told.openers)
    else:
        if continued and pending == 0 and least:
            return None
    return found if not pending else [opener for opener in found if opener[0] == row]


# Block style


def _block_place(lines: Sequence[str], row: int, before: str, scanned: _Scanned) -> Place | None:
    line = lines[row]
    match = _parts(before)
    dashes = match["dashes"]
    first = match.end("indent")
    inner = match.end("dashes")
    parents = _parents(lines, row, first, is_dash=bool(dashes))
    if parents is None:
        return None
    path, holders = parents
    path = path + (ITEM,) * dashes.count("-")
    if match["key"] is not None:
        key = unquoted(match["key"])
        holders = (*holders, (len(path), Holder(False, row, inner)))
        rest = before[match.end() :]
        start = match.end() + _skipped(rest)
        if _BLOCK_SCALAR.match(before, start):
            return None
        return _word(line, before, start, Place((*path, key), "value", row, column=inner, holders=holders))
    if scanned.quote >= 0 and scanned.quote != inner:
        return None
    if (
        before[first:].rstrip() == "-" * max(len(before[first:].rstrip()), 1)
        and not before.endswith(" ")
        and before.strip()
    ):
        return None  # right behind a dash
    start = inner + _skipped(before[inner:])
    holders = (*holders, (len(path), Holder(False, row, inner)))
    place = Place(path, "open", row, column=inner, after_dash=bool(dashes), holders=holders)
    return _word(line, before, start, place)


def _skipped(rest: str) -> int:
    """How much of a value's beginning is an anchor or a tag."""
    found = _PROPERTIES.match(rest)
    return found.end() if found else 0


def _word(line: str, before: str, start: int, place: Place) -> Place:
    """`place` with the word that begins at a column."""
    quote = before[start : start + 1] if before[start : start + 1] in ("'", '"') else ""
    begin, end = start + len(quote), len(before)
    following = (re.compile(f"[^{quote}]*") if quote else _WORD).match(line, end)
    return replace(place, typed=before[begin:], start=begin, end=following.end() if following else end, quote=quote)


def _parents(
    lines: Sequence[str], row: int, column: int, *, is_dash: bool
) -> tuple[Path, tuple[tuple[int, Holder], ...]] | None:
    """The path that leads to what stands at `column` of a row; None inside of a text block."""
    path: list[str | int] = []
    keys: list[Holder | None] = []
    need, equal = column, is_dash
    for number in range(row - 1, -1, -1):
        if need == 0 and not equal:
            break
        line = lines[number]
        indent = len(line) - len(line.lstrip(" "))
        if indent > need or (indent == need and not equal) or _is_blank(line):
            continue
        match = _parts(line)
        key = match["key"]
        if key is not None and (match.start("key") < need or (match.start("key") == need and equal)):
            if _BLOCK_SCALAR.match(line, match.end()):
                return None
            path.append(unquoted(key))
            keys.append(Holder(False, number, match.start("key")))
            need, equal = match.start("key"), False
        for at in reversed(
            [index for index in range(match.start("dashes"), match.end("dashes")) if line[index] == "-"]
        ):
            if at < need:
                path.append(ITEM)
                keys.append(None)
                need, equal = at, True
        if key is None and not match["dashes"] and indent < need:
            need, equal = indent, False  # the rest of something longer
    path.reverse()
    keys.reverse()
    return tuple(path), tuple((depth, holder) for depth, holder in enumerate(keys) if holder is not None)


def _rows_of(lines: Sequence[str], holder: Holder) -> Iterator[int]:
    """The rows on which keys of a block mapping may stand: up to where it begins, then down to where it ends."""
    column = holder.column
    for row in range(holder.row, -1, -1):
        line = lines[row]
        indent = len(line) - len(line.lstrip(" "))
        if (indent > column and row != holder.row) or _is_blank(line):
            continue
        match = _parts(line)
        if match["key"] is not None and match.start("key") == column:
            yield row
        if (indent < column and row != holder.row) or (match["dashes"] and match.end("dashes") == column):
            break
    for row in range(holder.row + 1, len(lines)):
        line = lines[row]
        indent = len(line) - len(line.lstrip(" "))
        if indent > column or _is_blank(line):
            continue
        if indent < column or _parts(line)["dashes"]:
            break
        yield row


# Flow style


def _flow_place(lines: Sequence[str], row: int, before: str, openers: list[tuple[int, int, str]]) -> Place | None:
    outer_row, outer_column, _ = openers[0]
    outer = _block_place(lines, outer_row, lines[outer_row][:outer_column], _scan(lines[outer_row][:outer_column]))
    if outer is None or outer.typed.strip():
        return None
    path, holders = list(outer.path), list(outer.holders)
    if outer.mode == "open" and not outer.after_dash:
        holders = [(depth, holder) for depth, holder in holders if depth != len(path)]
    for number, (at_row, at, mark) in enumerate(openers):
        if number:
            inner = _key_before(lines, openers[number - 1], at_row, at)
            path.append(ITEM if openers[number - 1][2] == "[" else inner)
        if mark == "{":
            holders = [*[held for held in holders if held[0] != len(path)], (len(path), Holder(True, at_row, at))]
    at_row, at, mark = openers[-1]
    key, start = _typed_in_flow(before, at + 1 if at_row == row else 0)
    if mark == "[":
        place = Place((*path, ITEM), "value", row, after_dash=True, flow=True, holders=tuple(holders))
    elif key is not None:
        place = Place((*path, key), "value", row, flow=True, holders=tuple(holders))
    else:
        place = Place(tuple(path), "key", row, flow=True, holders=tuple(holders))
    return _word(lines[row], before, start, place)


def _typed_in_flow(before: str, at: int) -> tuple[str | None, int]:
    """The key whose value is being typed, None where a key is; and the column where the typed word begins."""
    depth, key, start, plain = 0, None, -1, ""
    position = at
    block = _parts(before)
    if at == 0 and block["key"] is not None:
        position = 0
    while (found := _TOKEN.match(before, position)) is not None and found.end() > position:
        position = found.end()
        token = found.group()
        if found.lastgroup == "mark":
            depth += token in "[{"
            depth -= token in "]}" and depth > 0
            if depth == 0 and token == ",":
                key, start, plain = None, -1, ""
            elif depth == 0 and token == ":":
                key, start, plain = unquoted(plain), -1, ""
        elif found.lastgroup == "open_quote":
            return key, found.start()
        elif depth == 0 and found.lastgroup in ("plain", "quoted"):
            start = found.start() if start < 0 else start
            plain = before[start : found.end()]
    return key, len(before) if start < 0 else start


def _key_before(lines: Sequence[str], opener: tuple[int, int, str], row: int, column: int) -> str:
    """The key whose value opens at a column, inside of the bracket before it."""
    begin = opener[1] + 1 if opener[0] == row else 0
    before = lines[row][begin:column]
    if not before.strip() and row > opener[0]:
        above = row - 1
        while above > opener[0] and _is_blank(lines[above]):
            above -= 1
        before = lines[above][opener[1] + 1 if above == opener[0] else 0 :]
    key, _ = _typed_in_flow(before, 0)
    return key or ""


def _flow_members(lines: Sequence[str], holder: Holder) -> dict[str, str]:
    found: dict[str, str] = {}
    depth, key, plain, value = 0, "", "", ""
    for row in range(holder.row, min(holder.row + 400, len(lines))):
        line = lines[row][:_MOST_LINE]
        at = holder.column if row == holder.row else 0
        while (token := _TOKEN.match(line, at)) is not None and token.end() > at:
            at = token.end()
            text, kind = token.group(), token.lastgroup
            if kind == "mark" and text in "[{":
                depth += 1
            elif kind == "mark" and text in "]}":
                depth -= 1
                if depth == 0:
                    if key:
                        found.setdefault(key, value.strip())
                    return found
            if depth == 1 and kind == "mark" and text == ",":
                if key:
                    found.setdefault(key, value.strip())
                key, plain, value = "", "", ""
            elif depth == 1 and kind == "mark" and text == ":" and not key:
                key, value = unquoted(plain), ""
            elif kind not in ("comment", "mark") or depth > 1:
                plain += text if not key else ""
                value += text if key else ""
    if key:
        found.setdefault(key, value.strip())
    return found
