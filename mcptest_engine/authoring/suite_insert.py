"""Adds generated tests at the ends of an existing suite's blocks, with comments; every other byte stays.

One edit for a whole block, because adding tests one by one would parse a large suite a hundred times. As in `suite/edit.py`,
the result is parsed again. If it is not the intended one, the tests are added one by one, without their comments, or it is
refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcptest_engine.authoring.suite_text import (
    TestText,
    block_lines,
    lines_of,
    plain,
    same_settings,
    target_lines,
    unused_key,
)
from mcptest_engine.core.enums import TestKind
from mcptest_engine.core.errors import SuiteError
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.edit import BLOCKS, BOM, append_test, reads_as, set_value
from mcptest_engine.suite.splice import Splicer
from mcptest_engine.suite.text_edits import EditRefused, apply
from mcptest_engine.suite.yaml import EMPTY, read_tree
from mcptest_engine.suite.yaml_nodes import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.authoring.targets import Target
    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.suite.yaml import Pointer


def declared_in(text: str) -> JsonDict:
    """The content of the suite's text, {} for an empty one. Raises: EditRefused when it cannot be parsed."""
    try:
        tree = read_tree(text.removeprefix(BOM), file="").value
    except SuiteError as broken:
        if broken.problems[0].message == EMPTY:
            return {}
        first = broken.problems[0]
        raise EditRefused(f"the suite cannot be read: {first.message}", hint=first.hint) from None
    if not isinstance(tree, dict):
        raise EditRefused("the suite is not a mapping")
    return tree


def key_in(servers: Mapping[str, object], target: Target) -> str:
    """The key of an equally declared server, else an unused one."""
    for key, settings in servers.items():
        if isinstance(settings, dict) and same_settings(settings, target.settings):
            return key
    return unused_key(target.key, servers)


def names_in(tree: Mapping[str, object]) -> frozenset[str]:
    """The names of the suite's tests, after parsing."""
    found = set()
    for block in BLOCKS:
        tests = tree.get(block)
        for test in tests if isinstance(tests, list) else ():
            if isinstance(test, dict) and isinstance(test.get("name"), str):
                found.add(test["name"].replace("$${", "${"))
    return frozenset(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where new tests go in an existing suite: under the server `target`, beside the tests called `names`."""

    target: Target
    is_new: bool
    names: frozenset[str]

    @classmethod
    def in_suite(cls, text: str, target: Target) -> Place:
        """An equally declared server stays under its key. Raises: EditRefused when the suite cannot be parsed."""
        tree = declared_in(text)
        declared = tree.get("servers")
        servers = declared if isinstance(declared, dict) else {}
        key = key_in(servers, target)
        target = replace(target, key=key)
        return cls(target=target, is_new=key not in servers, names=names_in(tree))

    def with_tests(self, text: str, tests: Sequence[TestText]) -> str:
        """Add these tests at the ends of their blocks, and the server when it is new. Raises: EditRefused."""
        after = insert_server(text, self.target.key, self.target) if self.is_new and tests else text
        for block in dict.fromkeys(one.entry.block for one in tests):
            after = insert_tests(after, block, [one for one in tests if one.entry.block == block])
        return after

    def fragment(self, tests: Sequence[TestText]) -> str:
        """The new part, as a suite of its own would contain it."""
        server = target_lines(self.target) if self.is_new else []
        return "\n".join([*server, *block_lines(tests)]).strip("\n") + "\n"


def insert_server(text: str, key: str, target: Target) -> str:
    """The suite with one server more, and the variables that it needs.

    Tests that name no server, because there was one only, go on meaning that one.

    Calls get it by `defaultTest`; checks, nodes of compositions, agent tests and evals, for which that does not hold, name it.
    """
    tree, settings = declared_in(text), plain(target.settings)
    servers = tree.get("servers")
    if not tree:
        return _with_variables(_with_lines(text, "servers", {key: settings}), target)
    text = _with_variables(text, target)
    if not isinstance(servers, dict) or not servers:
        return apply(text, set_value(text, ("servers",), {key: settings}))
    text = apply(text, set_value(text, ("servers", key), settings))
    if len(servers) > 1:
        return text
    only = next(iter(servers))
    for path in _nameless_others(tree):
        text = apply(text, set_value(text, (*path, "server"), only))
    if not _nameless_tests(tree):
        return text
    if isinstance(tree.get("defaultTest"), dict):
        return apply(text, set_value(text, ("defaultTest", "server"), only))
    return apply(text, set_value(text, ("defaultTest",), {"server": only}))


def _with_variables(text: str, target: Target) -> str:
    """Add the variables of a new server. Raises: EditRefused for one that exists with another value."""
    declared = declared_in(text).get("variables")
    there = declared if isinstance(declared, dict) else {}
    new = {name: plain(value) for name, value in target.variables.items() if name not in there}
    for name in target.variables.keys() - new.keys():
        if repr(plain(there[name])) != repr(plain(target.variables[name])):
            raise EditRefused(
                f"the suite and the server that is added to it have different variables `{one_line(name)}`",
                hint="rename one of them",
            )
    if new and not there:
        return apply(text, set_value(text, ("variables",), new))
    for name, value in new.items():
        text = apply(text, set_value(text, ("variables", name), value))
    return text


def insert_tests(text: str, block: str, tests: Sequence[TestText]) -> str:
    """Add these tests at the end of a block. Raises: EditRefused."""
    tree = declared_in(text)
    there = tree.get(block)
    if not isinstance(there, (list, type(None))):
        raise EditRefused(f"`{block}` is not a list of tests")
    wanted = {**tree, block: [*(there or ()), *(plain(one.entry.test) for one in tests)]}
    body = text.removeprefix(BOM)
    splicer = Splicer(body)
    for candidate in _with_tests(splicer, block, tests):
        if reads_as(candidate, wanted):
            return text[: len(text) - len(body)] + candidate
    for one in tests:
        text = apply(text, append_test(text, block, plain(one.entry.test)))
    return text


def _nameless_others(tree: JsonMapping) -> Iterator[Pointer]:
    """The paths of entries that name no server, of the kinds that take none from `defaultTest`."""
    for kind in TestKind:
        if kind.is_request:
            continue
        path: Pointer = (kind.block,)
        entries = tree.get(kind.block)
        if isinstance(entries, dict):  # `compliance` as a mapping
            entries, path = entries.get("checks"), (kind.block, "checks")
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if kind is TestKind.COMPOSITION and isinstance(entry, dict):
                nodes = entry.get("nodes")
                for number, node in enumerate(nodes if isinstance(nodes, list) else ()):
                    if isinstance(node, dict) and not node.keys() & {"server", "mock"}:
                        yield (*path, index, "nodes", number)
            elif isinstance(entry, dict) and not entry.keys() & {"server", "servers", "output"}:
                call = entry.get("call")
                if not (isinstance(call, dict) and "server" in call):
                    yield (*path, index)


def _nameless_tests(tree: Mapping[str, object]) -> bool:
    shared = tree.get("defaultTest")
    if isinstance(shared, dict) and "server" in shared:
        return False
    blocks = [tests for kind in TestKind if kind.is_request and isinstance(tests := tree.get(kind.block), list)]
    return any(isinstance(test, dict) and "server" not in test for tests in blocks for test in tests)


def _with_tests(splicer: Splicer, block: str, tests: Sequence[TestText]) -> Iterator[str]:
    """Texts to try with many ready-made items at once, the best first; none where the block is written in brackets."""
    root = splicer.root
    if root is not None and root.flow:
        return
    node = None if root is None else root.child(block)
    if node is None:
        where = len(splicer.text) if root is None else splicer.end_of_document()
        yield from splicer.insert_lines(where, [f"{block}:", *lines_of(tests, 2)], gap=root is not None)
    elif node.kind is Kind.SEQUENCE and not node.flow and node.items:
        yield from splicer.insert_lines(node.end, lines_of(tests, splicer.column(node.body)), gap=True)


def _with_lines(text: str, key: str, value: object) -> str:
    body = text.removeprefix(BOM)
    return text[: len(text) - len(body)] + next(Splicer(body).begin(key, value))
