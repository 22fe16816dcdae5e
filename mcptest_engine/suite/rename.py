"""A server, a test, a composition's node or a variable renamed wherever a suite's text names it: spans are replaced, in their
own quotes, and nothing else.

A test's name is what its snapshots go by (`workspace/snapshots.py`), and nothing in a suite refers to it; servers are named by
tests, steps, nodes and expected calls. Data of tests (`args`, `expect`, `mock`) may hold the same word, and is left alone.
Nodes and variables are named inside of texts too: in templates, and nodes in jq programs and assertion paths.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from mcptest_engine.suite.edit import BLOCKS, BOM, CHECKS
from mcptest_engine.suite.references import ID_PATTERN, RESERVED
from mcptest_engine.suite.templates import LITERAL_KEYS
from mcptest_engine.suite.text_edits import EditRefused, TextEdit, apply
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.suite.yaml_nodes import Kind, Node, compose
from mcptest_engine.suite.yaml_text import scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DATA = frozenset({"args", "expect", "mock", "env", "vars", "client", "cases", "eval", "fault", "headers"})
_PROGRAMS = frozenset({"when", "jq", "until", "assemble"})
_KEY = "\0key"
_COMPUTED = re.compile(r"\.(?:parents|nodes)(?!\w|\.[A-Za-z_]|\.?\[\s*\")")
_IDENTIFIER = re.compile(ID_PATTERN)
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*[ \t]+)+")


class Place(NamedTuple):
    """Where a name stands; `style` is the quote of the text that is nothing but the name, None where it is a part of a text.

    `is_path`: it is a part of a path in which no other characters than letters, digits and `_` can stand.
    """

    start: int
    end: int
    style: str | None = None
    is_path: bool = False


class Renaming(NamedTuple):
    """What the cursor stands on: a "server", "test", "node" or "variable", its name, and every place that has the name."""

    kind: str
    name: str
    places: tuple[Place, ...]
    is_unclear: bool = False
    """Whether a jq program computes which node it reads, and holds the name as well."""
    taken: frozenset[str] = frozenset()
    """The names of the other nodes of the composition, or of the other variables."""


def find_renaming(text: str, index: int) -> Renaming | None:
    """What can be renamed at a character of the text: the server, node or variable whose name stands there, else the test."""
    body = text.removeprefix(BOM)
    try:
        root = compose(body)
    except (yaml.YAMLError, RecursionError):
        return None
    if root is None or root.kind is not Kind.MAPPING:
        return None
    index -= len(text) - len(body)
    named = list(_servers_in(root))
    here = next((node.key for node in named if node.start <= index <= node.end), None)
    if here is not None:
        return Renaming("server", here, tuple(_place(node) for node in named if node.key == here))
    line = body[body.rfind("\n", 0, index) + 1 :].partition("\n")[0]
    for found in chain(_nodes_of(body, root, line), _variables_of(body, root, line)):
        if any(place.start <= index <= place.end for place in found.places):
            return found
    for test in _tests_in(root):
        name = test.child("name")
        if test.start <= index <= test.end and name is not None and name.kind is Kind.SCALAR:
            return Renaming("test", name.key, (_place(name),))
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
    test is known by its place, so that two that changed their names are told apart; else by being the only one it can be, or by
    the rest of its text.
    Tests whose name stands twice in a text are left out.
    """
    linked: dict[str, set[str]] = {}
    for pair in renamings:
        group = set(pair).union(*(linked.get(name, ()) for name in pair))
        linked.update(dict.fromkeys(group, group))
    bodies, new_bodies = _bodies_of(before), _bodies_of(after)
    old, new = [name for name, _ in bodies], [name for name, _ in new_bodies]
    if len(old) == len(new):
        pairs = list(zip(old, new, strict=True))
    else:
        gone, came = [name for name in old if name not in new], [name for name in new if name not in old]
        pairs = [(name, other) for name in gone for other in came if other in linked.get(name, ())]
        for name, body in bodies:  # names that went from one test to another are told by what stands in the tests
            alike = [other for other, there in new_bodies if there == body and other in linked.get(name, ())]
            if name in new and len(alike) == 1:
                pairs.append((name, alike[0]))
        pairs = [pair for pair in pairs if [name for name, _ in pairs].count(pair[0]) == 1]
    return {
        name: other
        for name, other in pairs
        if name != other and other in linked.get(name, ()) and old.count(name) == new.count(other) == 1
    }


def rename(text: str, renaming: Renaming, name: str) -> str:
    """The text with another name in all of the places. Raises: EditRefused where it would not read as that."""
    body = text.removeprefix(BOM)
    inside_texts = renaming.kind in ("node", "variable")
    if inside_texts:
        _check_identifier(renaming, name)
    edits = []
    for place in renaming.places:
        properties = _PROPERTIES.match(body, place.start) if place.style is not None else None
        start = properties.end() if properties is not None else place.start
        spelled = name if place.style is None else _spelled(name, place.style)
        edits.append(TextEdit(start, place.end, spelled))
    after = apply(body, edits)
    spans = sorted(edit.start for edit in edits)
    try:
        was, now = read_tree(body, file="").value, read_tree(after, file="").value
        is_data_kept = inside_texts or list(_data_in(now)) == list(_data_in(was))
        renamed = find_renaming(after, spans[0])
    except Exception as wrong:
        raise EditRefused("the text would no longer be YAML") from wrong
    if renamed is None or renamed.name != name or len(renamed.places) != len(renaming.places) or not is_data_kept:
        raise EditRefused(
            "this name is not possible here", hint="an anchor or a text block prevents it; edit it by hand"
        )
    other = _entry_by_alias(body, renaming, was, now) if inside_texts else None
    if other is not None:
        raise EditRefused(
            f"an alias repeats the {renaming.kind} `{renaming.name}` in `{other}`, which would change too",
            hint="edit the names by hand",
        )
    return text[: len(text) - len(body)] + after


def _entry_by_alias(body: str, renaming: Renaming, was: Any, now: Any) -> str | None:
    """The name of an entry that changes with the one in which all the places stand; None where there is none."""
    root = compose(body)
    for block, at, node in _entries_in(root) if root is not None else ():
        if all(node.start <= place.start <= node.end for place in renaming.places):
            for other in BLOCKS:
                pairs = zip(was.get(other) or (), now.get(other) or (), strict=True) if other != CHECKS[0] else ()
                for number, (one, changed) in enumerate(pairs):
                    if (other, number) != (block, at) and one != changed:
                        return str(one.get("name", other))
    return None


def _entries_in(root: Node) -> Iterator[tuple[str, int, Node]]:
    for block in BLOCKS:
        entries = root.child(block)
        for at, node in enumerate(entries.items if entries is not None else ()):
            yield block, at, node


def count_names(text: str, renaming: Renaming) -> int:
    """How often another file of the suite has the name of a server or a variable. Raises: yaml.YAMLError, RecursionError."""
    body = text.removeprefix(BOM)
    root = compose(body)
    if root is None or root.kind is not Kind.MAPPING:
        return 0
    if renaming.kind == "server":
        return sum(node.key == renaming.name for node in _servers_in(root))
    return len(_variable_places(body, root, renaming.name)) if renaming.kind == "variable" else 0


def _check_identifier(renaming: Renaming, name: str) -> None:
    """Refuse a new name that is no identifier, or is taken. Raises: EditRefused."""
    if not _IDENTIFIER.fullmatch(name) or name in RESERVED:
        raise EditRefused(
            f"a {renaming.kind} cannot be called that", hint="letters, digits, `_` and `-`, no digit first"
        )
    if name in renaming.taken:
        raise EditRefused(f"another {renaming.kind} has this name")
    if renaming.is_unclear:
        raise EditRefused(
            f"a jq program may refer to the node `{renaming.name}`, and mcptest cannot rename it there",
            hint="edit the names by hand",
        )
    if "-" in name and any(place.is_path for place in renaming.places):
        raise EditRefused("a name with `-` is not possible in a path such as `.nodes.NAME`", hint="edit it by hand")


def _place(node: Node) -> Place:
    return Place(node.start, node.end, node.style)


def _nodes_of(body: str, root: Node, line: str) -> Iterator[Renaming]:
    """Every node of a composition whose id stands in `line`, with all places that name it."""
    compositions = root.child("compositions")
    for composition in compositions.items if compositions is not None else ():
        nodes = composition.child("nodes")
        found_ids = [node.child("id") for node in nodes.items] if nodes is not None else []
        ids = frozenset(one.key for one in found_ids if one is not None)
        for node in nodes.items if nodes is not None else ():
            own = node.child("id")
            if own is None or own.key not in line or not _IDENTIFIER.fullmatch(own.key):
                continue
            name = re.escape(own.key)
            template = re.compile(rf"(?<!\$)\$\{{\s*({name})(?![\w-])")
            program = re.compile(rf"\.(?:parents|nodes)(?:\.({name})(?!\w)|\.?\[\s*\\?\"({name})\\?\"\s*\])")
            target = re.compile(rf"(?<![\w.$-])nodes(?:\.({name})(?![\w-])|\[\\?\"({name})\\?\"\])")
            places, is_unclear = [_place(own)], False
            for keys, one in _scalars(composition):
                key, above = keys[-1], keys[-2] if len(keys) > 1 else ""
                if one.key == own.key and (key in ("needs", "output") or (key, above) == ("id", "needs")):
                    places.append(_place(one))
                    continue
                patterns = [] if "expect" in keys and LITERAL_KEYS.intersection(keys) else [template]
                patterns += [program] if key in _PROGRAMS and "expect" not in keys else []
                patterns += [target] if key == "target" else []
                found = list(_found(body, one, patterns))
                places += found
                if program in patterns and _COMPUTED.search(one.key):
                    is_unclear |= len(re.findall(rf"(?<![\w$]){name}(?!\w)", one.key)) > len(found)
            yield Renaming("node", own.key, tuple(places), is_unclear, ids - {own.key})


def _variables_of(body: str, root: Node, line: str) -> Iterator[Renaming]:
    """Every variable whose name stands in `line`, with its places: a suite's in the whole file, a case's in its test."""
    declared = root.child("variables")
    names = [key.key for key, _ in declared.pairs] if declared is not None else []
    for name in names:
        if name in line:
            yield Renaming("variable", name, tuple(_variable_places(body, root, name)), taken=frozenset(names) - {name})
    for test in _tests_in(root):
        cases = test.child("cases")
        own = {
            key.key: None
            for case in (cases.items if cases is not None else ())
            if (given := case.child("vars")) is not None
            for key, _ in given.pairs
        }
        for name in own:
            if name in line and name not in names:
                yield Renaming(
                    "variable",
                    name,
                    tuple(_variable_places(body, test, name)),
                    taken=frozenset((*names, *own)) - {name},
                )


def _variable_places(body: str, within: Node, name: str) -> list[Place]:
    pattern = re.compile(rf"(?<!\$)\$\{{\s*(?:var\.)?({re.escape(name)})(?![\w-])")
    strict = re.compile(rf"(?<!\$)\$\{{\s*var\.({re.escape(name)})(?![\w-])")
    places = []
    for keys, one in _scalars(within, with_keys=True):
        if keys[-1] == _KEY:
            if one.key == name and keys[-2] in ("variables", "vars"):
                places.append(_place(one))
        elif not ("expect" in keys and LITERAL_KEYS.intersection(keys)):
            is_strict = "compositions" in keys or within.child("nodes") is not None or "env" in keys
            places += _found(body, one, [strict if is_strict else pattern])
    return places


def _scalars(root: Node, *, with_keys: bool = False) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Every scalar with the keys that lead to it; a key itself has `_KEY` behind them."""
    waiting: list[tuple[tuple[str, ...], Node]] = [(("",), root)]
    while waiting:
        keys, node = waiting.pop()
        if node.kind is Kind.SCALAR:
            yield keys, node
        waiting += [(keys, item) for item in reversed(node.items)]
        for key, value in reversed(node.pairs):
            waiting.append(((*keys, key.key), value))
            if with_keys and key.kind is Kind.SCALAR:
                waiting.append(((*keys, _KEY), key))


def _found(body: str, node: Node, patterns: Iterable[re.Pattern[str]]) -> Iterator[Place]:
    for pattern in patterns:
        for found in pattern.finditer(body, node.body, node.end):
            group = found.lastindex or 1
            yield Place(*found.span(group), is_path=found[0][0] != "$" and "[" not in found[0])


def _data_in(value: object) -> Iterator[Any]:
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


def _bodies_of(text: str) -> list[tuple[str, str]]:
    """The name of each test, and the rest of its text. Raises: yaml.YAMLError, RecursionError."""
    body = text.removeprefix(BOM)
    root = compose(body)
    return [
        (name.key, body[test.start : name.start] + body[name.end : test.end])
        for test in (_tests_in(root) if root is not None else ())
        if (name := test.child("name")) is not None
    ]


def _tests_in(root: Node) -> Iterator[Node]:
    for block in BLOCKS:
        node = root.child(block)
        if node is not None and block == CHECKS[0] and node.kind is Kind.MAPPING:
            node = node.child(CHECKS[1])
        yield from (item for item in (node.items if node is not None else ()) if item.kind is Kind.MAPPING)
