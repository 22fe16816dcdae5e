"""Every node of a YAML text with its beginning and its end, for edits that splice text and change nothing else.

`suite/yaml.py` reads values and keeps beginnings only; this keeps the style and the end as well, and no values but the keys'.
The surprising thing: the parser ends a block collection where the next thing begins, comments and empty lines between
included; here it ends where its last value does.
"""

from __future__ import annotations

import re
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.yaml import events_of

if TYPE_CHECKING:
    from collections.abc import Sequence


_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


class Kind(Enum):
    """What a node is."""

    MAPPING = "mapping"
    SEQUENCE = "sequence"
    SCALAR = "scalar"
    ALIAS = "alias"


@dataclass(slots=True, eq=False)
class Node:
    """One node. `start` is where its properties (anchor, tag) or itself begin, `body` where it does without them.

    `end` is behind its last character that counts. `flow` says that it is written in brackets, `style` is a scalar's indicator
    ("" for a plain one). A mapping has `pairs`, a sequence `items`; `key` is what a scalar spells.
    """

    kind: Kind
    start: int
    body: int
    end: int
    flow: bool = False
    style: str = ""
    anchor: str = ""
    key: str = ""
    items: list[Node] = field(default_factory=list)
    pairs: list[tuple[Node, Node]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written: the null of `key:`."""
        return self.kind is Kind.SCALAR and self.start == self.end

    def child(self, part: str | int) -> Node | None:
        """The value under a key, or the item at an index; None where none is written (an alias, a merged key)."""
        if isinstance(part, int):
            return self.items[part] if self.kind is Kind.SEQUENCE and 0 <= part < len(self.items) else None
        return next((value for key, value in self.pairs if key.key == part), None)

    def at(self, path: Sequence[str | int]) -> Node | None:
        """The node that a path of keys and indexes leads to."""
        node: Node | None = self
        for part in path:
            node = None if node is None else node.child(part)
        return node


def compose(text: str) -> Node | None:
    """The nodes of one YAML document without a byte order mark; None for an empty one. Raises: yaml.YAMLError.

    The text has been read by `suite/yaml.py` before, which bounds the depth.
    """
    readable = text
    while True:
        try:
            return _Composer(text, readable).document()
        except yaml.YAMLError as error:
            from mcptest_engine.suite.yaml_faults import with_pairs_joined

            joined = with_pairs_joined(error, readable)
            if joined is None:
                raise
            readable = joined


class _Composer:
    def __init__(self, text: str, readable: str) -> None:
        self._text = text
        self._as_written = readable is text
        self._next = events_of(readable)

    def document(self) -> Node | None:
        self._next()
        if type(self._next()) is not DocumentStartEvent:
            return None
        event = self._next()
        if type(event) is ScalarEvent and not event.value and not event.style:
            return None
        return self._node(event)

    def _node(self, event: Any) -> Node:
        kind = type(event)
        start, end = event.start_mark.index, event.end_mark.index
        if kind is AliasEvent:
            return Node(Kind.ALIAS, start, start, end)
        anchor = event.anchor or ""
        if kind is ScalarEvent:
            style = event.style or ""
            end = self._scalar_end(start, end, style) if style != '"' else self._quote_end(start, end)
            return Node(Kind.SCALAR, start, start, end, style=style, anchor=anchor, key=event.value)
        body = end - 1 if event.flow_style else self._dash(end)
        node = Node(Kind.SEQUENCE, start, body, end, flow=bool(event.flow_style), anchor=anchor)
        if kind is MappingStartEvent:
            node.kind = Kind.MAPPING
            self._pairs(node)
        else:
            self._items(node)
        return node

    def _pairs(self, node: Node) -> None:
        while type(event := self._next()) is not MappingEndEvent:
            key = self._node(event)
            node.pairs.append((key, self._node(self._next())))
        if not self._text.startswith("{", node.body) or not node.flow:  # a block, or the one pair of `[key: value]`
            node.body = node.pairs[0][0].start if node.pairs else node.body
        self._close(node, event, [part for pair in node.pairs for part in pair])

    def _items(self, node: Node) -> None:
        while type(event := self._next()) is not SequenceEndEvent:
            node.items.append(self._node(event))
        self._close(node, event, node.items)

    def _close(self, node: Node, event: Any, children: list[Node]) -> None:
        node.end = event.end_mark.index if node.flow else max((child.end for child in children), default=node.end)

    def _dash(self, index: int) -> int:
        """Where a block collection begins; of an indentless sequence the parser gives the place behind its dash."""
        behind = self._text[index : index + 1] != "-" and self._text[index - 1 : index] == "-"
        return index - 1 if behind and index else index

    def _scalar_end(self, start: int, end: int, style: str) -> int:
        if style not in ("|", ">"):
            return end
        header = self._text[start:end].partition("\n")[0]
        if "+" in header.partition("#")[0]:
            return end  # what follows it is part of its value
        return start + len(self._text[start:end].rstrip(" \t\r\n"))

    def _quote_end(self, start: int, end: int) -> int:
        """The parser may have been given a shorter spelling of the same length, with spaces behind it."""
        found = None if self._as_written else _QUOTED.match(self._text, self._text.find('"', start))
        return end if found is None else found.end()
