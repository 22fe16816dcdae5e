"""The assertions of a suite's text written in the other form, long or short, with everything else left as it stands.

Made of spans that are copied and words between them that are replaced. The surprising thing: nothing here is trusted. An
`expect` counts as converted only if it reads as the same assertions in the same order; else it stays as it is, with a reason.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.suite.edit import BOM, CHECKS
from mcptest_engine.suite.edit_steps import get, same
from mcptest_engine.suite.items import normalised_expect
from mcptest_engine.suite.short_assertions import (
    EXPECT_KEYS,
    ROOTS_OF,
    long_target,
    short_target,
    with_long_assertions,
)
from mcptest_engine.suite.splice import is_json, newline_of
from mcptest_engine.suite.text_edits import EditRefused, TextEdit, apply, line_start
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.suite.yaml_nodes import Kind, Node, compose

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.suite.yaml import Pointer

_PLAIN_IN_FLOW = re.compile(r"[A-Za-z_][\w.-]*")
_PLAIN = re.compile(r"[A-Za-z_][\w.\[\]*-]*")
_WIDTH = 100
"""Several matchers of one target stand on one line up to about this many characters."""
_SPECIAL_IN_FLOW = re.compile(r"[,\[\]{}]")


class Left(NamedTuple):
    """An `expect` that stays in its form: its line, from 1, and why."""

    line: int
    reason: str


class Converted(NamedTuple):
    """The text after a conversion, how many `expect` changed, and those that could not."""

    text: str
    changed: int
    left: tuple[Left, ...]


class _Site(NamedTuple):
    """An `expect` of the file, and the block whose targets it has."""

    path: Pointer
    block: str
    in_json: bool = False


class _Stays(Exception):
    """Why an `expect` keeps its form."""


def with_assertions(text: str, *, short: bool, test: Pointer = ()) -> Converted:
    """The text with its assertions in the short form, or in the long one; only those of `test`, such as ("tools", 0), if given.

    Raises: EditRefused for a text that cannot be read.
    """
    body = text.removeprefix(BOM)
    try:
        tree = read_tree(body, file="")
        root = compose(body)
    except (SuiteError, RecursionError):
        raise EditRefused("the text cannot be read", hint="correct its problems first") from None
    left: list[Left] = []
    edits: dict[_Site, list[TextEdit]] = {}

    def leave(site: _Site, reason: str) -> None:
        place = tree.span_of(tree.index(site.path, key=True, nearest=True) or 0)
        left.append(Left(place.line, reason))

    in_json = is_json(body, root)
    for site in (one._replace(in_json=in_json) for one in _sites(tree.value)):
        if site.path[: len(test)] != test:
            continue
        try:
            node = _own_node(body, root, site.path)
            if found := _to_short(body, node, site) if short else _to_long(body, node, site):
                edits[site] = found
        except _Stays as stays:
            leave(site, str(stays))
    before = with_long_assertions(tree).value
    after = _applied(body, edits)
    if not _reads_as(after, before, edits):
        for site in list(edits):
            if not _reads_as(_applied(body, {site: edits[site]}), before, [site]):
                leave(site, "the converted text would mean something else")
                del edits[site]
        after = _applied(body, edits)
    if not _is_same_suite(tree.value, after, edits):
        raise EditRefused("this text cannot be converted without changing its meaning")
    return Converted(text[: len(text) - len(body)] + after, len(edits), tuple(sorted(left)))


def _applied(text: str, edits: Mapping[_Site, list[TextEdit]]) -> str:
    return apply(text, [edit for found in edits.values() for edit in found])


def _sites(document: object) -> Iterator[_Site]:
    if not isinstance(document, dict):
        return
    for block in (*ROOTS_OF, "defaultTest"):
        entries, path = document.get(block), (block,)
        if block == CHECKS[0] and isinstance(entries, dict):
            entries, path = entries.get(CHECKS[1]), CHECKS  # type: ignore[assignment]
        if block == "defaultTest":
            yield from _of_entry(entries, path, "tools")
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            yield from _of_entry(entry, (*path, number), block)


def _of_entry(entry: object, path: Pointer, block: str) -> Iterator[_Site]:
    if not isinstance(entry, dict):
        return
    if "expect" in entry:
        yield _Site((*path, "expect"), block)
    for key in ("verify", "cases"):
        for number, inner in enumerate(entry[key] if isinstance(entry.get(key), list) else ()):
            if isinstance(inner, dict) and "expect" in inner:
                of_step = "resources" if "uri" in inner else "prompts" if "prompt" in inner else "tools"
                yield _Site((*path, key, number, "expect"), of_step if key == "verify" else block)


def _own_node(text: str, root: Node | None, path: Pointer) -> tuple[Node, Node]:
    """The key `expect` and its value. Raises: _Stays where others share it."""
    holder = None if root is None else root.at(path[:-1])
    pair = None if holder is None else next(((key, value) for key, value in holder.pairs if key.key == "expect"), None)
    if (
        pair is None
        or pair[1].kind is Kind.ALIAS
        or pair[1].anchor
        or re.search("[&*]", text[pair[0].end : pair[1].start])
    ):
        raise _Stays("it is shared by an anchor")
    return pair


def _reads_as(text: str, wanted: object, sites: Iterable[_Site]) -> bool:
    """Whether each `expect` of a text comes to the same assertions and budgets as in `wanted`."""
    try:
        found = with_long_assertions(read_tree(text, file="")).value
    except (SuiteError, RecursionError):
        return False
    return all(same(_expected(found, site.path), _expected(wanted, site.path)) for site in sites)


def _expected(document: object, path: Pointer) -> Any:
    """An `expect` with its keys in one order: whether budgets stand before or behind the assertions says nothing."""
    return sorted(normalised_expect(get(document, path)).items())


def _is_same_suite(one: object, after: str, sites: Iterable[_Site]) -> bool:
    """Whether a text differs from a document in nothing but these `expect`."""
    try:
        other = read_tree(after, file="").value
    except (SuiteError, RecursionError):
        return False
    hidden = {site.path for site in sites}
    return same(_without(one, hidden, ()), _without(other, hidden, ()))


def _without(value: object, hidden: set[Pointer], path: Pointer) -> Any:
    """A document with null in place of what stands at some paths."""
    if path in hidden:
        return None
    if isinstance(value, dict):
        return {key: _without(part, hidden, (*path, key)) for key, part in value.items()}
    if isinstance(value, list):
        return [_without(part, hidden, (*path, number)) for number, part in enumerate(value)]
    return value


# To the short form


class _Row(NamedTuple):
    """One assertion of a list: the places of its dash (or of itself) and of its end, its key, and its matcher."""

    start: int
    end: int
    key: str
    matcher: Node


def _to_short(text: str, pair: tuple[Node, Node], site: _Site) -> list[TextEdit]:
    key, node = pair
    holder = key
    if node.kind is Kind.MAPPING:
        found = next(((name, value) for name, value in node.pairs if name.key == "assertions"), None)
        if found is None:
            return []
        holder, listed = found
    else:
        listed = node
    if listed.kind is not Kind.SEQUENCE or not listed.items:
        return []
    rows = [_row(text, item, site.block, flow=listed.flow) for item in listed.items]
    keys = [row.key for row in rows]
    for number, row in enumerate(rows):
        if row.key in keys[:number] and keys[number - 1] != row.key:
            raise _Stays(f"other assertions stand between those on `{row.key}`")
    if listed.flow:
        return _flow_to_short(text, node, holder, listed, rows, in_json=site.in_json)
    return _block_to_short(text, node, holder, listed, rows)


def _row(text: str, item: Node, block: str, *, flow: bool) -> _Row:
    parts = {name.key: value for name, value in item.pairs}
    if item.kind is not Kind.MAPPING or parts.keys() != {"target", "matcher"}:
        others = ", ".join(f"`{name}`" for name in parts if name not in ("target", "matcher"))
        raise _Stays(
            f"an assertion has {others}, which the short form lacks" if others else "an item is not an assertion"
        )
    target, matcher = parts["target"], parts["matcher"]
    start = item.start if flow else text.rfind("-", 0, item.start)
    first, second = sorted((target, matcher), key=lambda node: node.start)
    removed = text[start : first.start] + text[first.end : second.start] + text[second.end : item.end]
    if re.search(r"[#&*!]", removed):
        raise _Stays("a comment, an anchor or a tag in an assertion would be lost")
    if matcher.kind is not Kind.MAPPING or not matcher.pairs or target.kind is not Kind.SCALAR:
        raise _Stays("an assertion has an alias or no matcher")
    return _Row(start, item.end, short_target(target.key, block), matcher)


def _spelt(key: str, *, flow: bool, in_json: bool = False) -> str:
    is_plain = not in_json and (_PLAIN_IN_FLOW if flow else _PLAIN).fullmatch(key)
    return key if is_plain else json.dumps(key, ensure_ascii=False)


def _together(text: str, rows: Sequence[_Row], column: int, *, flow: bool, in_json: bool = False) -> str:
    """The key of the short form for assertions on one target, which stands in `column`."""
    key, matcher = _spelt(rows[0].key, flow=flow, in_json=in_json), rows[0].matcher
    if len(rows) > 1:
        if not all(row.matcher.flow for row in rows):
            raise _Stays(f"several matchers for `{rows[0].key}` do not stand on one line each")
        names = [name.key for row in rows for name, _ in row.matcher.pairs]
        if len(set(names)) < len(names):
            raise _Stays(f"two matchers for `{rows[0].key}` have the same name")
        parts = [text[row.matcher.body + 1 : row.matcher.end - 1].strip().rstrip(",") for row in rows]
        if flow or column + len(key) + sum(map(len, parts)) < _WIDTH:
            return f"{key}: {{ {', '.join(parts)} }}"
        return "".join([f"{key}:", *(f"{newline_of(text)}{' ' * (column + 2)}{part}" for part in parts)])
    name, operand = matcher.pairs[0]
    value = text[operand.start : operand.end]
    is_plain = operand.kind is Kind.SCALAR and operand.style not in ("|", ">") and "\n" not in value
    if name.key == "exact" and is_plain and matcher.flow and value not in ("", "null", "Null", "NULL", "~"):
        return f"{key}: {value}"
    if matcher.flow:
        return f"{key}: {text[matcher.start : matcher.end]}"
    if flow:
        raise _Stays("a matcher on several lines")
    moved = _moved(text[matcher.start : matcher.end], column + 2 - _column(text, matcher.start))
    return f"{key}:{newline_of(text)}{' ' * (column + 2)}{moved}"


def _groups(rows: Sequence[_Row]) -> list[list[_Row]]:
    groups: list[list[_Row]] = []
    for row in rows:
        if groups and groups[-1][0].key == row.key:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _block_to_short(text: str, node: Node, holder: Node, listed: Node, rows: Sequence[_Row]) -> list[TextEdit]:
    column, start = _column(text, rows[0].start), line_start(text, rows[0].start)
    if any(text[line_start(text, row.start) : row.start].strip(" ") for row in rows):
        raise _Stays("a dash does not begin its line")
    out, at = "", start
    for group in _groups(rows):
        between = [text[one.end : other.start] for one, other in pairwise(group)]
        if any(part.strip() for part in between):
            raise _Stays("a comment between assertions on one target would be lost")
        out += text[at : group[0].start] + _together(text, group, column, flow=False)
        at = group[-1].end
    wanted = _column(text, holder.start) + (0 if node is not listed else 2)
    shift = wanted - column if node is not listed or column < wanted else 0
    begin = start
    if node is not listed:
        if node.flow or text[holder.end : start].strip(" \t\r\n") != ":":
            raise _Stays("a comment behind `assertions` would be lost")
        begin = line_start(text, holder.start)
        if text[begin : holder.start].strip(" "):
            raise _Stays("`assertions` does not begin its line")
    return [TextEdit(begin, at, _moved(out, shift, first=True) if shift else out)]


def _flow_to_short(
    text: str, node: Node, holder: Node, listed: Node, rows: Sequence[_Row], *, in_json: bool
) -> list[TextEdit]:
    out, at = "", listed.body + 1
    for group in _groups(rows):
        if any("#" in text[one.end : other.start] for one, other in pairwise(group)):
            raise _Stays("a comment between assertions on one target would be lost")
        out += text[at : group[0].start] + _together(text, group, 0, flow=True, in_json=in_json)
        at = group[-1].end
    out += text[at : listed.end - 1]
    if node is listed:
        return [TextEdit(listed.body, listed.end, f"{{{_padded(out)}}}")]
    if node.flow:
        return [TextEdit(holder.start, listed.end, out.strip().rstrip(","))]
    raise _Stays("`assertions` holds a list on one line under a mapping that is not")


def _padded(text: str) -> str:
    return f"{'' if text[:1].isspace() else ' '}{text}{'' if text[-1:].isspace() else ' '}"


def _unpadded(text: str) -> str:
    """What stands beside a bracket, without the one space of a mapping on one line."""
    return "" if text == " " else text


# To the long form


def _to_long(text: str, pair: tuple[Node, Node], site: _Site) -> list[TextEdit]:
    _, node = pair
    if node.kind is not Kind.MAPPING:
        return []
    places = [number for number, (name, _) in enumerate(node.pairs) if name.key not in EXPECT_KEYS]
    if not places:
        return []
    if "assertions" in {name.key for name, _ in node.pairs} or places[-1] - places[0] != len(places) - 1:
        raise _Stays("it has both forms, or a budget between assertions")
    written = [node.pairs[number] for number in places]
    is_list = len(written) == len(node.pairs)
    if node.flow:
        items = "".join(
            text[before : name.start] + ", ".join(_items(text, name, value, site, 0, flow=True))
            for before, (name, value) in zip(
                [written[0][0].start, *(value.end for _, value in written)], written, strict=False
            )
        )
        if not is_list:
            key = _spelt("assertions", flow=True, in_json=site.in_json)
            return [TextEdit(written[0][0].start, written[-1][1].end, f"{key}: [{items}]")]
        head, tail = text[node.body + 1 : written[0][0].start], text[written[-1][1].end : node.end - 1]
        return [TextEdit(node.body, node.end, f"[{_unpadded(head)}{items}{_unpadded(tail)}]")]
    column, start = _column(text, written[0][0].start), line_start(text, written[0][0].start)
    if text[start : written[0][0].start].strip(" "):
        raise _Stays("its first key does not begin a line")
    newline = newline_of(text)
    out, at = "", start
    for name, value in written:
        rows = _items(text, name, value, site, column, flow=False)
        out += text[at : name.start] + f"{newline}{' ' * column}".join(f"- {row}" for row in rows)
        at = value.end
    if not is_list:
        out = f"{' ' * column}assertions:{newline}{_moved(out, 2, first=True)}"
    return [TextEdit(start, at, out)]


def _items(text: str, name: Node, value: Node, site: _Site, column: int, *, flow: bool) -> list[str]:
    """What stands behind the dashes of the assertions that one key of the short form stands for."""
    target = long_target(name.key, site.block)
    if target is None:
        raise _Stays(f"`{name.key}` is not a target")
    between = text[name.end : value.start]
    if re.search(r"[#&*!]", between) or value.kind is Kind.ALIAS:
        raise _Stays("a comment, an anchor or a tag in an assertion would be lost")
    matchers = (
        [(key.key, operand) for key, operand in value.pairs] if value.kind is Kind.MAPPING else [("exact", value)]
    )
    if value.kind is Kind.MAPPING and "#" in _without_values(text, value):
        raise _Stays("a comment in an assertion would be lost")
    if site.in_json:
        return [
            f'{{ "target": {json.dumps(target, ensure_ascii=False)}, "matcher": '
            f"{{ {json.dumps(matcher, ensure_ascii=False)}: {text[operand.start : operand.end]} }} }}"
            for matcher, operand in matchers
        ]
    return [_item(text, target, matcher, operand, column, flow=flow) for matcher, operand in matchers]


def _without_values(text: str, mapping: Node) -> str:
    """A mapping's text without its keys' values: what would be lost if only these were copied."""
    at, parts = mapping.start, []
    for _, value in mapping.pairs:
        parts.append(text[at : value.start])
        at = value.end
    return "".join([*parts, text[at : mapping.end]])


def _item(text: str, target: str, matcher: str, operand: Node, column: int, *, flow: bool) -> str:
    value = text[operand.start : operand.end]
    is_block = operand.kind is not Kind.SCALAR and not operand.flow
    on_one_line = "\n" not in value and not is_block and operand.style not in ("|", ">")
    if on_one_line and operand.kind is Kind.SCALAR and not operand.style:
        on_one_line = flow or not _SPECIAL_IN_FLOW.search(value)
    if on_one_line or flow:
        return f"{{ target: {_spelt(target, flow=True)}, matcher: {{ {matcher}: {value} }} }}"
    newline = newline_of(text)
    inner = " " * (column + 4)
    head = f"target: {_spelt(target, flow=True)}{newline}{' ' * (column + 2)}matcher:{newline}{inner}{matcher}:"
    moved = column + 6 - _column(text, operand.start)
    if is_block:
        return f"{head}{newline}{inner}  {_moved(value, moved)}"
    return f"{head} {_moved(value, 4)}"


# Lines and columns


def _column(text: str, at: int) -> int:
    return at - line_start(text, at)


def _moved(text: str, columns: int, *, first: bool = False) -> str:
    """Lines moved to the right, or to the left; the first stays where it is unless `first`. Empty ones stay empty."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if (number or first) and line.strip():
            lines[number] = (
                " " * columns + line if columns > 0 else line[min(-columns, len(line) - len(line.lstrip(" "))) :]
            )
    return "\n".join(lines)
