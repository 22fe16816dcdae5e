"""Ways to splice a value into a YAML text at the marks of its nodes.

Every method gives texts to try, the best looking first; whoever calls reads them and takes the first that means what was
wanted. So nothing here has to know every corner of YAML, and comments, quotes and indentation around stay as they are.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mcptest_engine.suite.text_edits import line_start
from mcptest_engine.suite.yaml_nodes import Kind, Node, compose
from mcptest_engine.suite.yaml_text import ALWAYS_QUOTED, block, entry, in_flow, indented, item, scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK = re.compile(r"(?:\r\n|\r(?!\n)|\n)[ \t]*(?:\r\n|\r(?!\n)|\n)")
_BLANK_LINE = re.compile(r"[ \t]*(?:\r\n|\r|\n)")
_INDENTED_COMMENT = re.compile(r"([ ]*)#[^\r\n]*")
_FLOW_REST = re.compile(r"[ \t]*,?[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n)")
_END_OF_DOCUMENT = re.compile(r"(?:^|(?<=\n))\.\.\.[ \t]*(?:#.*)?\s*\Z")


def newline_of(text: str) -> str:
    """How the text's first line ends."""
    found = _LINE_END.search(text)
    return "\n" if found is None else found.group()


class Splicer:
    """One text without a byte order mark, its nodes (None for an empty one), and how its lines end."""

    def __init__(self, text: str) -> None:
        self.text, self.root, self.newline = text, compose(text), newline_of(text)
        self._as_json = is_json(text, self.root)

    def begin(self, key: str, value: object, *, spread: bool = False, lines: list[str] | None = None) -> Iterator[str]:
        """The first key of a file that has none, behind its comments."""
        yield self._behind(len(self.text), self._joined([*self._entry(key, value, 0, spread=spread, lines=lines), ""]))

    def set(self, path: Sequence[str | int], value: object) -> Iterator[str]:
        """Another value at `path`; a key, or the item just behind the end of a list, is added."""
        if self.root is None:
            return
        if not path:
            yield from self._replace(self.root, value, 0)
            return
        holder = self.root.at(path[:-1])
        if holder is None:
            return
        last = path[-1]
        if isinstance(last, int) and last == len(holder.items):
            yield from self.add_item(path[:-1], value)
        elif isinstance(last, int):
            if holder.kind is Kind.SEQUENCE and 0 <= last < len(holder.items):
                column = 0 if holder.flow else self.column(holder.body)
                yield from self._replace(holder.items[last], value, column, in_flow_style=holder.flow)
        else:
            yield from self.put(path[:-1], last, value)

    def put(
        self,
        path: Sequence[str | int],
        key: str,
        value: object,
        *,
        spread: bool = False,
        lines: list[str] | None = None,
    ) -> Iterator[str]:
        """`key: value` in the mapping at `path`: added, or in place of what is there. `spread` and `lines` as in `add_item`."""
        node = None if self.root is None else self.root.at(path)
        if node is None or node.kind is not Kind.MAPPING:
            return
        there = next(((name, old) for name, old in node.pairs if name.key == key), None)
        if there is not None:
            yield from self._replace_pair(node, *there, value, spread=spread, lines=lines)
        elif node.flow:
            if self.text.startswith("{", node.body):
                member = in_flow({key: value}, as_json=self._as_json)[1:-1].strip()
                yield from self._into_flow(node, [part for _, part in node.pairs], member)
        elif node.pairs:
            column = self.column(node.pairs[0][0].start)
            told = self._entry(key, value, column, spread=spread, lines=lines)
            first, *rest = told
            gap = len(path) == 0 and self._has_gaps([name for name, _ in node.pairs])
            where = self.end_of_document() if not path else node.end
            if len(path) > 1:
                where = self._behind_comments(self._next_line(where), column - 1)
            yield from self.insert_lines(where, [" " * column + first, *rest], gap=gap)

    def add_item(
        self, path: Sequence[str | int], value: object, *, spread: bool = False, lines: list[str] | None = None
    ) -> Iterator[str]:
        """One more item in the list at `path`. `spread` gives each of its keys a line; `lines` are its own, ready made."""
        node = None if self.root is None else self.root.at(path)
        if node is None or node.kind is not Kind.SEQUENCE:
            return
        if node.flow and not node.items and path and not self.text[node.body + 1 : node.end - 1].strip():
            holder = self.root.at(path[:-1]) if self.root is not None else None
            if holder is not None and not holder.flow and holder.kind is Kind.MAPPING:
                name = next(name for name, old in holder.pairs if old is node)
                yield from self._replace_pair(holder, name, node, [value], spread=spread, lines=lines)
        if node.flow:
            yield from self._into_flow(node, node.items, in_flow(value, as_json=self._as_json))
            return
        told = self._item_lines(node, value, spread=spread, lines=lines)
        where, above = node.end, self.root.at(path[:-1]) if self.root is not None and len(path) > 1 else None
        key = None if above is None else next((one for one, old in above.pairs if old is node), None)
        if key is not None:
            where = self._behind_comments(self._next_line(where), self.column(key.start))
        yield from self.insert_lines(where, told, gap=self._has_gaps(node.items))

    def insert(self, path: Sequence[str | int], value: object) -> Iterator[str]:
        """One more item before the one at `path`; its comments, and those of the one before, stay beside them."""
        node, index = self._list_of(path)
        if node is None:
            return
        if index == len(node.items):
            yield from self.add_item(path[:-1], value)
        elif node.flow:
            at = node.items[index].start
            indent = self.text[line_start(self.text, at) : at]
            joint = f",{self.newline}{indent}" if not indent.strip() and len(indent) < at else ", "
            yield self.text[:at] + in_flow(value, as_json=self._as_json) + joint + self.text[at:]
        elif (start := self._item_start(node, index)) is not None:
            gap = [""] if self._has_gaps(node.items) else []
            told = [*self._item_lines(node, value), *gap, ""]
            yield self.text[:start] + self._joined(told) + self.text[start:]

    def wrap(self, path: Sequence[str | int], key: str) -> Iterator[str]:
        """The list at `path` under a key of a mapping in its place: its lines, and the comments among them, farther in."""
        holder = None if self.root is None else self.root.at(path[:-1])
        found = None if holder is None else next((pair for pair in holder.pairs if pair[0].key == path[-1]), None)
        if holder is None or found is None or found[1].kind is not Kind.SEQUENCE:
            return
        name, node = found
        if not holder.flow:
            column, colon = self.column(name.start), self.text.find(":", name.end) + 1
            head = f"{self.newline}{' ' * (column + 2)}{scalar(key)}:"
            between = self.text[colon : node.start]
            if not between.strip():
                end = self._behind_comments(self._next_line(node.end), column) if not node.flow else node.end
                yield self.text[:colon] + head + self._farther_in(colon, end) + self.text[end:]
            first = self._next_line(colon)
            if first <= node.start and not node.flow:
                head = head.removeprefix(self.newline) + self.newline
                end = self._behind_comments(self._next_line(node.end), column)
                yield self.text[:first] + head + " " * 2 + self._farther_in(first, end) + self.text[end:]
        if node.flow:
            told = in_flow({key: 0}, as_json=self._as_json)
            before, after = told.rsplit("0", 1)
            yield self.text[: node.start] + before + self.text[node.start : node.end] + after + self.text[node.end :]

    def _farther_in(self, start: int, end: int) -> str:
        """The text from `start` to `end`, each line but the first two columns farther in, but for empty ones."""
        first, *rest = self.text[start:end].split("\n")
        return "\n".join((first, *(f"  {line}" if line.strip() else line for line in rest)))

    def _behind_comments(self, end: int, column: int) -> int:
        """Behind the comments from the beginning of a line on that are farther in than `column`, empty lines between too."""
        at = end
        while at < len(self.text):
            if found := _BLANK_LINE.match(self.text, at):
                at = found.end()
            elif (found := _INDENTED_COMMENT.match(self.text, at)) and len(found[1]) > column:
                end = at = self._next_line(found.end())
            else:
                break
        return end

    def remove(self, path: Sequence[str | int]) -> Iterator[str]:
        """The list without the item at `path`, or the mapping without the key, which is not its only one.

        The comments of an item go with it; of a key only what stands behind it.
        """
        if path and isinstance(path[-1], str):
            yield from self._without_key(path)
            return
        node, index = self._list_of(path)
        if node is None or not index < len(node.items) or len(node.items) < 2:
            return
        if node.flow:
            yield from self._out_of_flow(node, index)
        elif (start := self._item_start(node, index)) is not None:
            end = self._item_end(node, index)
            above = self._line_above(start) if index else None
            if above is not None and not self.text[above:start].strip():
                yield self._without(above, end)
            elif not index and (blank := _BLANK_LINE.match(self.text, end)):
                yield self._without(start, blank.end())
            yield self._without(start, end)

    # Replacing

    def _replace_pair(
        self,
        holder: Node,
        name: Node,
        old: Node,
        value: object,
        *,
        spread: bool = False,
        lines: list[str] | None = None,
    ) -> Iterator[str]:
        if holder.flow:
            yield from self._replace(old, value, 0, in_flow_style=True)
            return
        if isinstance(value, str) and old.style in ("'", '"'):
            yield from self._replace(old, value, 0)
        column = self.column(name.start)
        told = self._entry(name.key, value, column, spread=spread, lines=lines)
        colon = self.text.find(":", name.end) + 1
        if not self.text[colon : old.start].strip():
            if len(told) == 1:
                yield self.text[:colon] + " " + in_flow(value, quoted=name.key in ALWAYS_QUOTED) + self.text[old.end :]
            else:
                rest = self._rest_of_line(old.end)
                yield self.text[:colon] + rest + self._joined(["", *told[1:]]) + self.text[old.end + len(rest) :]
                yield self.text[:colon] + self._joined(["", *told[1:]]) + self.text[old.end :]
        yield from self._replace(old, value, self.column(old.start))

    def _replace(self, old: Node, value: object, column: int, *, in_flow_style: bool = False) -> Iterator[str]:
        """The text of one node by another's, at its place; a text keeps the quotes of the one before it."""
        before, after = self.text[: old.start], self.text[old.end :]
        if isinstance(value, str) and old.style in ("'", '"') and old.start == old.body and value.isprintable():
            told = (
                f"'{value.replace(chr(39), chr(39) * 2)}'"
                if old.style == "'"
                else json.dumps(value, ensure_ascii=False)
            )
            yield before + told + after
        space = " " if old.is_empty and before[-1:] in (":", "-") else ""
        is_collection = isinstance(value, (dict, list)) and bool(value)
        if is_collection and not in_flow_style and not old.flow and old.kind in (Kind.MAPPING, Kind.SEQUENCE):
            yield before + self._joined(block(value, self.column(old.start))) + after
        yield before + space + in_flow(value, as_json=self._as_json) + after
        if is_collection and not in_flow_style:
            inner = column + 2
            yield before + self._joined(["", *indented(block(value, inner), inner)]) + after

    # Removing

    def _out_of_flow(self, node: Node, index: int) -> Iterator[str]:
        """The item's lines where it has some of its own; else what is between it and one beside it."""
        items, old = node.items, node.items[index]
        line = line_start(self.text, old.start)
        found = _FLOW_REST.match(self.text, old.end)
        is_last = index == len(items) - 1
        if found is not None and line and not self.text[line : old.start].strip() and not (is_last and self._as_json):
            yield self.text[:line] + self.text[found.end() :]
        if is_last:
            yield self.text[: items[index - 1].end] + self.text[old.end :]
        else:
            yield self.text[: old.start] + self.text[items[index + 1].start :]

    def _without_key(self, path: Sequence[str | int]) -> Iterator[str]:
        node = None if self.root is None else self.root.at(path[:-1])
        pairs = [] if node is None or node.kind is not Kind.MAPPING else node.pairs
        index = next((at for at, (name, _) in enumerate(pairs) if name.key == path[-1]), None)
        if node is None or index is None or len(pairs) < 2:
            return
        name, old = pairs[index]
        line = line_start(self.text, name.start)
        if not node.flow and not self.text[line : name.start].strip():
            yield self._without(line, self._next_line(old.end))
        if index + 1 < len(pairs):
            yield self.text[: name.start] + self.text[pairs[index + 1][0].start :]
        else:
            yield self.text[: pairs[index - 1][1].end] + self.text[old.end :]

    def _without(self, start: int, end: int) -> str:
        before = self.text[:start]
        if end == len(self.text) and self.text[-1:] not in ("\n", "\r"):
            before = before.removesuffix(self.newline)
        return before + self.text[end:]

    # Adding

    def _into_flow(self, node: Node, members: Sequence[Node], told: str) -> Iterator[str]:
        if not members:
            at = node.body + 1
            pad = "" if self._as_json or node.kind is Kind.SEQUENCE else " "
            yield self.text[:at] + pad + told + pad + self.text[at:]
            return
        last = members[-1] if node.kind is Kind.SEQUENCE else node.pairs[-1][0]
        start, end = last.start, members[-1].end
        begin = line_start(self.text, start)
        indent = self.text[begin:start]
        joint = f",{self.newline}{indent}" if not indent.strip() and begin else ", "
        yield self.text[:end] + joint + told + self.text[end:]
        if joint != ", ":
            yield self.text[:end] + ", " + told + self.text[end:]
        yield self.text[:end] + " , " + told + self.text[end:]

    def insert_lines(self, end: int, lines: list[str], *, gap: bool) -> Iterator[str]:
        """New lines behind the line on which `end` stands (a comment behind the value stays there)."""
        if gap:
            yield self._behind(end, self._joined(["", *lines]))
        yield self._behind(end, self._joined(lines))

    def _behind(self, end: int, told: str) -> str:
        at_line_start = end == 0 or self.text[end - 1] in "\n\r"
        if not at_line_start:
            found = _LINE_END.search(self.text, end)
            if found is None:
                return self.text + self.newline + told.removesuffix(self.newline)
            end = found.end()
        told = told if told.endswith(self.newline) else told + self.newline
        return self.text[:end] + told + self.text[end:]

    # What the new lines look like

    def _entry(self, key: str, value: object, column: int, *, spread: bool, lines: list[str] | None) -> list[str]:
        if not (spread and isinstance(value, list)):
            return entry(key, value, column)
        inner = column + 2
        told = [f"{scalar(key)}:"]
        for member in value:
            first, *rest = self._item(member, inner, spread=True, lines=lines, offset=2)
            told += [" " * inner + first, *rest]
        return told

    def _item(self, value: object, column: int, *, spread: bool, lines: list[str] | None, offset: int) -> list[str]:
        if lines is None or not spread:
            first, *rest = item(value, column, spread=spread)  # written for an offset of two
            shift = " " * max(offset - 2, 0)
            return ["-" + " " * (offset - 1) + first[2:], *(shift + line for line in rest)]
        inner = " " * (column + offset)
        return ["-" + " " * (offset - 1) + lines[0], *(inner + line if line.strip() else "" for line in lines[1:])]

    def _item_lines(
        self, node: Node, value: object, *, spread: bool = False, lines: list[str] | None = None
    ) -> list[str]:
        """One more item of a block list, as its lines."""
        column, last = self.column(node.body), node.items[-1] if node.items else None
        # as the list's last item, which may have its keys on lines of their own
        spread = spread or (last is not None and last.kind is Kind.MAPPING and not last.flow)
        first, *rest = self._item(value, column, spread=spread, lines=lines, offset=self._offset(node))
        return [" " * column + first, *rest]

    # Where things stand

    def _list_of(self, path: Sequence[str | int]) -> tuple[Node | None, int]:
        """The list that an item is of, and its index; None where no list is."""
        node, index = None if self.root is None or not path else self.root.at(path[:-1]), path[-1] if path else 0
        if node is None or node.kind is not Kind.SEQUENCE or not isinstance(index, int):
            return None, 0
        return node, index

    def _item_start(self, node: Node, index: int) -> int | None:
        """Where the first line of a block list's item begins, or that of the comments right above it.

        None where the item shares its line with something before it.
        """
        column, floor = self.column(node.body), node.items[index - 1].end if index else 0
        start = node.body - column
        if index:
            dash = re.compile(rf"(?<=[\r\n]) {{{column}}}-(?=\s|$)").search(self.text, floor, node.items[index].end + 1)
            if dash is None:
                return None
            start = dash.start()
        elif self.text[start : node.body].strip(" "):
            return None
        comment, above = " " * column + "#", self._line_above(start)
        while above is not None and above >= floor and self.text.startswith(comment, above):
            start, above = above, self._line_above(above)
        return start

    def _item_end(self, node: Node, index: int) -> int:
        """Behind the last line of a block list's item, or of the comments below that are farther in than its dash."""
        end, column = self._next_line(node.items[index].end), self.column(node.body)
        while end < len(self.text) and (found := _INDENTED_COMMENT.match(self.text, end)) and len(found[1]) > column:
            end = self._next_line(found.end())
        return end

    def _line_above(self, start: int) -> int | None:
        """Where the line above the one that begins at `start` does; None for the first."""
        if not start:
            return None
        end = start - (2 if self.text.endswith("\r\n", 0, start) else 1)
        return line_start(self.text, end)

    def _next_line(self, at: int) -> int:
        if at and self.text[at - 1] in "\r\n":
            return at
        found = _LINE_END.search(self.text, at)
        return len(self.text) if found is None else found.end()

    def _offset(self, node: Node) -> int:
        """How far behind their dash the list's items begin."""
        last = node.items[-1]
        dash = self.text.rfind("-", 0, last.start)
        gap = self.text[dash + 1 : last.start]
        return len(gap) + 1 if dash >= 0 and gap and not gap.strip(" ") else 2

    def _has_gaps(self, nodes: Sequence[Node]) -> bool:
        """Whether an empty line parts the last two of them."""
        if len(nodes) < 2:
            return False
        return _BLANK.search(self.text, nodes[-2].start, nodes[-1].start) is not None

    def end_of_document(self) -> int:
        """Where more keys of the file go: right behind the last line that says something, before a `...`."""
        found = _END_OF_DOCUMENT.search(self.text)
        body = self.text if found is None else self.text[: found.start()]
        kept = body.rstrip(" \t\r\n")
        assert self.root is not None
        return max(len(kept), self.root.end)

    def _rest_of_line(self, at: int) -> str:
        """A comment behind `at` on its line, with the space before it."""
        found = _LINE_END.search(self.text, at)
        rest = self.text[at:] if found is None else self.text[at : found.start()]
        return rest if rest.lstrip().startswith("#") else ""

    def column(self, index: int) -> int:
        """How many characters stand before one on its line."""
        return index - line_start(self.text, index)

    def _joined(self, lines: Sequence[str]) -> str:
        return self.newline.join(lines)


def is_json(text: str, root: Node | None) -> bool:
    """Whether a text is written as JSON: in brackets, with quotes around its first key."""
    if root is None or not root.flow:
        return False
    first = root.pairs[0][0] if root.pairs else root
    return first is root or text.startswith('"', first.start)
