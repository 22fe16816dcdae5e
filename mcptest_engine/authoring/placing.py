"""Puts a proposed test into a suite's text: as a new test, or as the `expect` of the test with the same call.

Nothing is written here. The new text differs only in the test, and in the server that it names where the suite declares none
for that target.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from mcptest_engine.authoring.block_text import BUDGET_COMMENT
from mcptest_engine.authoring.loosening import is_same, loosening_of, rows_of
from mcptest_engine.authoring.merging import with_merged
from mcptest_engine.authoring.suite_insert import declared_in, insert_server
from mcptest_engine.authoring.suite_text import same_settings, target_lines, unused_key
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.assertion_forms import with_assertions
from mcptest_engine.suite.edit import BOM, append_test, replace_expect
from mcptest_engine.suite.short_assertions import has_short_form, with_long_assertions
from mcptest_engine.suite.text_edits import EditRefused, apply, line_start
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.suite.yaml_nodes import Kind, compose
from mcptest_engine.workspace.schema_file import SCHEMA_LINE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mcptest_engine.authoring.propose import Proposed
    from mcptest_engine.authoring.targets import Target
    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.suite.load import LoadedSuite

BLOCK = "tools"
PROPOSED_NAME = ": proposed assertions"
_MOST_LINES = 5
_BUDGET_KEY = "max_duration_ms"
_BUDGET = re.compile(rf"{_BUDGET_KEY}\s*:")


@dataclass(frozen=True, slots=True, kw_only=True)
class SameCall:
    """A test of the suite's own file with the same call: its index under `tools`, its name, and its first line.

    `judged` are its assertions with variables filled in, those of `defaultTest` last; `others` are the lines of further tests
    of this call.
    """

    index: int
    name: str
    line: int
    judged: tuple[JsonMapping, ...] = ()
    others: tuple[int, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the choice, for a person."""
        if not self.others:
            return ()
        lines = ", ".join(str(line) for line in self.others[:_MOST_LINES])
        more = " and more" if len(self.others) > _MOST_LINES else ""
        are = "another test makes" if len(self.others) == 1 else f"{len(self.others)} more tests make"
        return (f"this is about the test `{one_line(self.name, 80)}`; {are} the same call, on line {lines}{more}",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """The suite with the proposal; `line` is that of the test, from 1, and `test` its YAML block as it was inserted."""

    text: str
    line: int
    test: str


def server_for(suite: LoadedSuite | None, text: str, target: Target) -> tuple[str, bool]:
    """The key of the suite's server that is `target`, and whether it must be declared first.

    Two servers are the same when they run the same command, with the variables that the target sets, or have the same URL.
    """
    tree = declared_in(text)
    written = tree.get("servers")
    servers = written if isinstance(written, dict) else {}
    expanded: Mapping[str, object] = {} if suite is None else suite.servers
    for key, settings in servers.items():
        if isinstance(settings, dict) and same_settings(settings, target.settings):
            return str(key), False
    for settings_by_key in (servers, expanded):
        for key, settings in settings_by_key.items():
            if isinstance(settings, dict) and _reaches(settings, target.settings):
                return str(key), False
    return unused_key(target.key, {**servers, **expanded}), True


def same_call(
    suite: LoadedSuite, path: Path, tool: str, arguments: Mapping[str, object], server: str
) -> SameCall | None:
    """The test in `path` itself that calls `tool` of `server` with exactly `arguments`.

    Of several, the one with the proposal's name, else the first.
    """
    own = os.path.realpath(path)
    found: list[SameCall] = []
    for entry in suite.tests:
        data = entry.data
        if entry.path[0] != BLOCK or os.path.realpath(entry.file) != own or entry.server != server:
            continue
        if data.get("tool") == tool and "cases" not in data and _same_arguments(data.get("args") or {}, arguments):
            judged = tuple(rows_of(data.get("expect")))
            found.append(SameCall(index=int(entry.path[1]), name=str(data.get("name")), line=entry.line, judged=judged))
    if not found:
        return None
    taken = next((one for one in found if PROPOSED_NAME in one.name), found[0])
    return replace(taken, others=tuple(one.line for one in found if one is not taken))


def shared_expect(text: str, index: int, *, block: str = BLOCK) -> str | None:
    """Why the `expect` of a test cannot be replaced in place, because others share it; None when it is its own."""
    body = text.removeprefix(BOM)
    root = compose(body)
    test = None if root is None else root.at((block, index))
    for node in (test, None if test is None else test.child("expect")):
        if node is not None and (node.kind is Kind.ALIAS or (node.anchor and f"*{node.anchor}" in body)):
            name = body[node.start + 1 : node.end] if node.kind is Kind.ALIAS else node.anchor
            return f"its `expect` is shared with other tests, by the anchor `&{one_line(name, 40)}`"
    return None


def new_suite(proposed: Proposed, target: Target) -> str:
    """A suite of one test."""
    server = "\n".join(target_lines(replace(target, key=proposed.mapping["server"])))
    return f"{SCHEMA_LINE}\n\n{server}\n\n{BLOCK}:\n{proposed.test}"


def added(text: str, proposed: Proposed, target: Target, *, with_server: bool) -> Placed:
    """Add the test at the end of `tools`, under a unique name. Raises: EditRefused."""
    if with_server:
        text = insert_server(text, proposed.mapping["server"], target)
    tests = declared_in(text).get(BLOCK)
    proposed = proposed.named(_free_name(proposed.mapping["name"], tests if isinstance(tests, list) else ()))
    after = apply(text, append_test(text, BLOCK, proposed.test))
    tree = read_tree(after.removeprefix(BOM), file="")
    span = tree.span((BLOCK, len(tree.value[BLOCK]) - 1))
    assert span is not None
    return Placed(text=after, line=span.line, test=proposed.test)


def replaced(text: str, proposed: Proposed, there: SameCall) -> Placed:
    """Replace the `expect` of the existing test; assertions that hold stay. Raises: EditRefused."""
    text = with_assertions(text, short=False, test=(BLOCK, there.index)).text
    before = declared_in(text)[BLOCK][there.index].get("expect")
    if has_short_form(before):
        raise EditRefused(
            f"the test's assertions are in the short form, and cannot be converted (line {there.line})",
            hint="write them as a list of `target` and `matcher`",
        )
    expect = proposed.mapping["expect"]
    after = apply(text, replace_expect(text, (BLOCK, there.index), expect))
    old = before.get(_BUDGET_KEY) if isinstance(before, dict) else None
    if isinstance(expect, dict) and not is_same(old, expect.get(_BUDGET_KEY)):
        after = _with_budget_comment(after, there.index)
    return Placed(text=after, line=there.line, test=proposed.test)


def merged_for(text: str, proposed: Proposed, there: SameCall) -> Proposed:
    """Merge the proposal into the existing test: its own `expect`, and what is new or must change."""
    found = with_merged(proposed, _long_tests(text)[there.index].get("expect"), there.judged)
    return replace(found, notes=(*there.notes, *found.notes))


def loss_of(before: str, after: str, there: SameCall) -> str | None:
    """How the existing test demands less in `after` than in `before`."""
    old, new = (_long_tests(text)[there.index] for text in (before, after))
    return loosening_of(old.get("expect"), new.get("expect"), threshold=old.get("threshold"))


def _long_tests(text: str) -> list[dict[str, object]]:
    """The tests of tools, with assertions in the long form."""
    tests: list[JsonDict] = with_long_assertions(read_tree(text.removeprefix(BOM), file="")).value[BLOCK]
    return tests


def _with_budget_comment(text: str, index: int) -> str:
    """Write the derivation of the latency budget above its field, if that has its own line and no comment yet."""
    body = text.removeprefix(BOM)
    tree = read_tree(body, file="")
    at = tree.index((BLOCK, index, "expect", _BUDGET_KEY), key=True)
    if at is None or _BUDGET.match(body, at) is None:
        return text
    start = line_start(body, at)
    newline = "\r\n" if body[:start].endswith("\r\n") else body[start - 1 : start]
    above = body[:start].rstrip("\r\n")
    above = above[line_start(above, len(above)) :]
    if not start or body[start:at].strip(" ") or above.lstrip().startswith("#"):
        return text
    commented = f"{body[:start]}{body[start:at]}{BUDGET_COMMENT}{newline}{body[start:]}"
    if repr(read_tree(commented, file="").value) != repr(tree.value):
        return text
    return text[: len(text) - len(body)] + commented


def _free_name(name: str, tests: Sequence[object]) -> str:
    taken = {test["name"] for test in tests if isinstance(test, dict) and isinstance(test.get("name"), str)}
    number, found = 2, name
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    return found


def _reaches(settings: JsonMapping, wanted: JsonMapping) -> bool:
    if settings.get("url") != wanted.get("url"):
        return False
    if "command" not in wanted:
        return "command" not in settings
    env, needed = settings.get("env") or {}, wanted.get("env") or {}
    same_env = isinstance(env, dict) and all(str(env.get(name)) == str(value) for name, value in needed.items())
    return same_env and _argv(settings) is not None and _argv(settings) == _argv(wanted)


def _argv(settings: Mapping[str, object]) -> list[str] | None:
    command = settings.get("command")
    if isinstance(command, str):
        try:
            return shlex.split(command)
        except ValueError:
            return None
    return [str(word) for word in command] if isinstance(command, (list, tuple)) else None


def _same_arguments(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same_arguments(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same_arguments, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
