"""A server or a test renamed wherever a suite's text names it: spans are replaced, in their own quotes, and nothing else.

A test's name is what its snapshots go by (`workspace/snapshots.py`), and nothing in a suite refers to it; servers are named by
tests, steps, nodes and expected calls. Data of tests (`args`, `expect`, `mock`) may hold the same word, and is left alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from mcptest_engine.suite.edit import BLOCKS, BOM, CHECKS
from mcptest_engine.suite.text_edits import EditRefused, TextEdit, apply
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.suite.yaml_nodes import Kind, Node, compose
from mcptest_engine.suite.yaml_text import scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DATA = frozenset({"args", "expect", "mock", "env", "vars", "client", "cases", "eval", "fault", "headers"})
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*[ \t]+)+")


class Renaming(NamedTuple):
    """What the cursor stands on: a "server" or a "test", its name, and every place that has the name."""

    kind: str
    name: str
    places: tuple[Node, ...]


def find_renaming(text: str, index: int) -> Renaming | None:
    """What can be renamed at a character of the text: the server whose name stands there, else the test around it."""
    try:
        root = compose(text.removeprefix(BOM))
    except (yaml.YAMLError, RecursionError):
        return None
    if root is None or root.kind is not Kind.MAPPING:
        return None
    index -= len(text) - len(text.removeprefix(BOM))
    named = list(_servers_in(root))
    here = next((node.key for node in named if node.start <= index <= node.end), None)
    if here is not None:
        return Renaming("server", here, tuple(node for node in named if node.key == here))
    for test in _tests_in(root):
        name = test.child("name")
        if test.start <= index <= test.end and name is not None and name.kind is Kind.SCALAR:
            return Renaming("test", name.key, (name,))
    return None


def list_names(text: str, kind: str) -> list[str]:
    """The names of the servers, or tests, of a text, in its order. Raises: yaml.YAMLError, RecursionError."""
    root = compose(text.removeprefix(BOM))
    if root is None:
        return []
    if kind == "server":
        servers = root.child("servers")
        return [key.key for key, _ in servers.pairs] if servers is not None else []
    return [name.key for test in _tests_in(root) if (name := test.child("name")) is not None]


def find_renamed_tests(before: str, after: str, renamings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The new names of tests by their old ones, from one text to another. Raises: yaml.YAMLError, RecursionError.

    `renamings` are the steps that were taken, undone or not: only what they lead to counts. With as many tests in both texts a
    test is known by its place, so that two that changed their names are told apart; else by being the only one it can be.
    Tests whose name stands twice in a text are left out.
    """
    linked: dict[str, set[str]] = {}
    for pair in renamings:
        group = set(pair).union(*(linked.get(name, ()) for name in pair))
        linked.update(dict.fromkeys(group, group))
    old, new = list_names(before, "test"), list_names(after, "test")
    if len(old) == len(new):
        pairs = list(zip(old, new, strict=True))
    else:
        gone, came = [name for name in old if name not in new], [name for name in new if name not in old]
        pairs = [(name, other) for name in gone for other in came if other in linked.get(name, ())]
        pairs = [pair for pair in pairs if [name for name, _ in pairs].count(pair[0]) == 1]
    return {
        name: other
        for name, other in pairs
        if name != other and other in linked.get(name, ()) and old.count(name) == new.count(other) == 1
    }


def rename(text: str, renaming: Renaming, name: str) -> str:
    """The text with another name in all of the places. Raises: EditRefused where it would not read as that."""
    body = text.removeprefix(BOM)
    edits = []
    for node in renaming.places:
        properties = _PROPERTIES.match(body, node.start)
        start = properties.end() if properties is not None else node.start
        edits.append(TextEdit(start, node.end, _spelled(name, node.style)))
    after = apply(body, edits)
    spans = sorted(edit.start for edit in edits)
    try:
        is_data_kept = list(_data_in(read_tree(after, file="").value)) == list(_data_in(read_tree(body, file="").value))
        renamed = find_renaming(after, spans[0])
    except Exception as wrong:
        raise EditRefused("the text would not be YAML any more") from wrong
    if renamed is None or renamed.name != name or len(renamed.places) < len(renaming.places) or not is_data_kept:
        raise EditRefused(
            "this name cannot stand here", hint="an anchor or a text block is in the way; edit it by hand"
        )
    return text[: len(text) - len(body)] + after


def _data_in(value: Any) -> Iterator[Any]:
    """The data of tests: an alias of a name that is changed may stand there."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key in _DATA:
            yield one
        else:
            yield from _data_in(one)


def _spelled(name: str, style: str) -> str:
    if style == "'" and "\n" not in name:
        return "'" + name.replace("'", "''") + "'"
    return scalar(name, quoted=style == '"')


def _servers_in(root: Node) -> Iterator[Node]:
    """Every place of a suite that names a server."""
    servers = root.child("servers")
    if servers is not None and servers.kind is Kind.MAPPING:
        yield from (key for key, _ in servers.pairs if key.kind is Kind.SCALAR)
    waiting = [value for key, value in root.pairs if key.key in (*BLOCKS, "defaultTest")]
    while waiting:
        node = waiting.pop()
        waiting += node.items
        for key, value in node.pairs:
            if key.key == "server" and value.kind is Kind.SCALAR:
                yield value
            elif key.key == "servers":
                yield from (item for item in value.items if item.kind is Kind.SCALAR)
            elif key.key not in _DATA:
                waiting.append(value)


def _tests_in(root: Node) -> Iterator[Node]:
    for block in BLOCKS:
        node = root.child(block)
        if node is not None and block == CHECKS[0] and node.kind is Kind.MAPPING:
            node = node.child(CHECKS[1])
        yield from (item for item in (node.items if node is not None else ()) if item.kind is Kind.MAPPING)
