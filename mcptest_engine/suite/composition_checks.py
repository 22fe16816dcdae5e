"""What can be wrong with a composition although its shape is right: its graph, its references, its programs, its cases.

Each problem is told at the node that it is in. See docs/how-to/compositions.md.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import Severity, Suggestion, did_you_mean
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.targets import COMPOSITION_ROOTS, TargetSyntaxError, parse_target
from mcptest_engine.core.text import quoted
from mcptest_engine.suite.case_checks import ESCAPE_HINT, CaseChecks, among, wrong_variable
from mcptest_engine.suite.graph import Parent, cycles, parents_of
from mcptest_engine.suite.items import assertions_in
from mcptest_engine.suite.program_mentions import input_paths, mentions
from mcptest_engine.suite.references import (
    ID_PATTERN,
    RESERVED,
    WHOLE,
    Reference,
    ReferenceSyntaxError,
    parse_reference,
    templates_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.suite.assertion_checks import AssertionChecks
    from mcptest_engine.suite.merge import PlacedTest
    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.yaml import Pointer

_MEMBERS: Mapping[str, tuple[str, ...]] = {
    "composition": ("ran", "order", "critical_path", "cost_total", "tokens_total", "budget_tripped", "budget_scope"),
    "cost": ("total",),
    "tokens": ("total",),
}
_NODE_MEMBERS = (
    *("status", "output", "args", "result", "calls", "duration_ms", "started_ms", "message", "hint", "id", "server"),
    *("skipped_by", "ended_by", "item"),
    *("refused", "error_code", "tool", "needs", "mocked", "frozen", "cost_usd", "tokens", "model"),
)
_SHOWN_CYCLE = 12
_MOST_CYCLES = 5
_PROGRAMS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("transform", "jq"): ("result",),
    ("when",): ("parents",),
    ("loop", "until"): ("output", "iteration", "parents"),
}
"""The programs of a node by their keys, each with the members of its input."""
_PROGRAM_MENTIONS = re.compile(r"""\.parents(?:\.|\[\s*")([A-Za-z_][A-Za-z0-9_-]*)""")
_ID = re.compile(ID_PATTERN)


class _Node(NamedTuple):
    """A node that can be looked at: its data, its place, and its parents by their place in `needs`."""

    data: Mapping[str, Any]
    id: str
    path: Pointer
    parents: tuple[tuple[int, Parent], ...]
    templates: tuple[tuple[Pointer, str, int, str | None], ...]


class CompositionChecks:
    """Checks of compositions; `check_server` checks a call's server, `assertions` compiles what it is given at its end."""

    def __init__(
        self,
        places: Places,
        assertions: AssertionChecks,
        check_server: Callable[..., None],
        check_expect: Callable[..., None],
        check_metrics: Callable[[Any, int, Pointer], None],
        *,
        in_ci: bool,
    ) -> None:
        self._places = places
        self._assertions = assertions
        self._check_server = check_server
        self._check_expect = check_expect
        self._check_metrics = check_metrics
        self._in_ci = in_ci
        self._cases = CaseChecks(places, in_ci=in_ci)

    def check(self, test: PlacedTest) -> None:
        """Tell everything that is wrong with one composition."""
        entry, file, path = test.entry, test.file, test.path
        nodes = list(self._nodes(entry, file, path))
        known = {node.id for node in nodes}
        written = entry.get("nodes")
        if any(isinstance(node, dict) and "id" not in node for node in (written if isinstance(written, list) else ())):
            known |= set(_names_of_nodes(entry, nodes))  # a node without an id may be any of them
        cases = entry.get("cases")
        rows = [row for row in cases if isinstance(row, dict)] if isinstance(cases, list) else None
        for node in nodes:
            self._check_needs(node, known, file)
            self._check_references(node, known, rows, file)
            self._check_programs(node, known, file)
            if "mock" not in node.data:
                self._check_server(node.data, file, node.path)
            self._check_ways(node, file)
        self._check_cycle(nodes, file)
        self._check_output(entry, known, file, path)
        self._check_expect(entry, COMPOSITION_ROOTS, file, path)
        self._check_targets(entry.get("expect"), known, file, (*path, "expect"))
        inheriting = None if rows is None else [row for row in rows if "expect" not in row]
        self._cases.check_templates(entry.get("expect"), inheriting, file, (*path, "expect"))
        if rows is not None:

            def check_case(row: dict[str, Any], file: int, place: Pointer) -> None:
                self._check_expect(row, COMPOSITION_ROOTS, file, place)
                self._check_targets(row["expect"], known, file, (*place, "expect"))

            self._cases.check_rows(rows, file, path, check_case)
            self._cases.check_operands(entry.get("expect"), rows, file, path)
        if isinstance(budget := entry.get("budget"), dict) and budget.keys() == {"scope"}:
            message, hint = "`budget` has no limit, so `scope` has no effect", "add `max_cost_usd: 0.5`, or remove it"
            self._places.warn(file, (*path, "budget", "scope"), message, hint, key=True)
        if "eval" in entry:
            self._check_metrics(entry["eval"], file, (*path, "eval"))

    def _nodes(self, entry: Mapping[str, object], file: int, path: Pointer) -> Iterator[_Node]:
        nodes = entry.get("nodes")
        seen: set[str] = set()
        for index, node in enumerate(nodes if isinstance(nodes, list) else ()):
            if not isinstance(node, dict) or not isinstance(node.get("id"), str):
                continue  # the structural check tells
            place = (*path, "nodes", index)
            own_id = node["id"]
            if own_id in RESERVED:
                message = f"a node cannot be called {quoted(own_id)}, a name that templates reserve"
                self._places.report(file, (*place, "id"), message, "choose another id")
            elif not _ID.fullmatch(own_id):
                message = f"{quoted(own_id)} is not a valid node id: templates cannot refer to it"
                hint = "use letters, digits, `_` and `-`, and begin with a letter or `_`"
                self._places.report(file, (*place, "id"), message, hint)
            elif own_id in seen:
                message = f"duplicate node id {quoted(own_id)}: two nodes of a composition cannot have one id"
                self._places.report(file, (*place, "id"), message, "choose another id")
            else:
                seen.add(own_id)
                templates = tuple(
                    found for key in ("args", "mock") if key in node for found in templates_in(node[key], (key,))
                )
                yield _Node(node, own_id, place, tuple(parents_of(node)), templates)

    def _check_needs(self, node: _Node, known: set[str], file: int) -> None:
        seen: set[str] = set()
        for index, parent in node.parents:
            place: Pointer = (*node.path, "needs", index)
            if parent.id not in known:
                message = f"`needs` names {quoted(parent.id)}, and the composition has no such node"
                self._places.report(file, place, message, among(parent.id, known - {node.id}))
            elif parent.id in seen:
                self._places.warn(
                    file, place, f"{quoted(parent.id)} is listed twice in `needs`", "remove one of the two"
                )
            seen.add(parent.id)
        if not node.parents:
            return
        used = set(_used_by(node))
        for index, parent in node.parents:
            if parent.id in known and parent.id not in used and parent.id != node.id:
                message = f"`needs` names {quoted(parent.id)}, but nothing in the node uses its output"
                hint = "it only sets the order: remove it if the order does not matter"
                self._places.warn(file, (*node.path, "needs", index), message, hint)
            entry = node.data["needs"][index]
            if isinstance(entry, dict) and "default" in entry and not parent.optional:
                message = f"`default` has no effect on {quoted(parent.id)}, which is not optional"
                place = (*node.path, "needs", index, "default")
                self._places.warn(file, place, message, "add `optional: true`", key=True)

    def _check_references(self, node: _Node, known: set[str], rows: list[dict[str, Any]] | None, file: int) -> None:
        needs = {parent.id for _, parent in node.parents}
        for below, text, at, expression in node.templates:
            told = self._wrong_with(expression, node, known, needs, rows)
            if told is not None:
                self._places.report(file, (*node.path, *below), told[0], told[1], inside=(text, at))
        for below, source in _sources(node.data):
            self._check_source(source, below, node, known, needs, file)

    def _wrong_with(
        self,
        expression: str | None,
        node: _Node,
        known: set[str],
        needs: set[str],
        rows: list[dict[str, Any]] | None,
    ) -> tuple[str, str | None] | None:
        """What is wrong with one template of a node, and what may be meant."""
        if expression is None:
            return "`${` is not closed by `}`", ESCAPE_HINT
        try:
            reference = parse_reference(expression)
        except ReferenceSyntaxError as wrong:
            return wrong.message, ESCAPE_HINT
        if reference.space == "item":
            if "for_each" in node.data:
                return _wrong_item(reference, node.data["for_each"])
            return "`${item}` has a value only in a node with `for_each`", 'add `for_each: "${PARENT}"`'
        if reference.space == "var":
            return wrong_variable(reference, rows)
        if reference.space == "env" or reference.name in needs:
            return None
        shown = quoted(reference.name)
        if reference.name in known and reference.name != node.id:
            return f"`${{{reference.text}}}` refers to {shown}, which is not in the node's `needs`", (
                f"add {shown} to `needs`"
            )
        if reference.name == node.id:
            return f"`${{{reference.text}}}` refers to the node itself", "a node can only use outputs of its `needs`"
        return f"`${{{reference.text}}}`: there is no node {shown}, and no variable", among(reference.name, known)

    def _check_source(
        self, source: str, below: Pointer, node: _Node, known: set[str], needs: set[str], file: int
    ) -> None:
        place, key = (*node.path, *below), ".".join(map(str, below))
        found = WHOLE.fullmatch(source.strip())
        hint = f'write a parent\'s output, such as `{below[-1]}: "${{search}}"`'
        if found is None:
            self._places.report(file, place, f"`{key}` must be one template, found {quoted(source)}", hint)
            return
        try:
            reference = parse_reference(found[1])
        except ReferenceSyntaxError as wrong:
            self._places.report(file, place, wrong.message, hint)
            return
        if reference.space != "node":
            self._places.report(file, place, f"`{key}` needs a parent's output, found {quoted(source)}", hint)
            return
        told = self._wrong_with(found[1], node, known, needs, None)
        if told is not None:
            self._places.report(file, place, told[0], told[1])

    def _check_programs(self, node: _Node, known: set[str], file: int) -> None:
        needs = {parent.id for _, parent in node.parents}
        for way, members in _PROGRAMS.items():
            if way[0] not in node.data:
                continue
            value: Any = node.data
            for key in way:
                value = value.get(key) if isinstance(value, dict) else None
            if isinstance(value, str):
                self._check_input_paths(value, members, known, file, (*node.path, *way))
                if way[0] != "transform" and self._check_mentions(value, node, needs, known, file, way):
                    continue
            self._assertions.check_program(value, file, (*node.path, *way))

    def _check_input_paths(
        self, program: str, members: Sequence[str], ids: set[str], file: int, place: Pointer
    ) -> None:
        """What a program reads from its input has to be a member of it: anything else is null, in silence."""
        paths = list(input_paths(program))
        works = any(path.names[0] in members for path in paths)
        for path in paths:
            name = path.names[0]
            if name in members:
                continue
            shown = ", ".join(f"`.{member}`" for member in members)
            message = f"`{one_line(path.text, 80)}` is always null: the input of this program has only {shown}"
            severity = Severity.WARNING if path.has_fallback and works else Severity.ERROR
            near = did_you_mean(name, members)
            if near is None or name in ids:
                holder = next((one for one in members if name in ids and one in {"nodes", "parents"}), members[0])
                rest = path.text[1:] if path.text.startswith(".[") else path.text
                hint = Suggestion(path.text, f".{holder}{one_line(rest, 80)}")
            else:
                hint = Suggestion(f".{name}", f".{near.meant}")
            self._places.report(file, place, message, hint, severity=severity, inside=(program, path.start))

    def _check_mentions(
        self, program: str, node: _Node, needs: set[str], known: set[str], file: int, way: tuple[str, ...]
    ) -> bool:
        """A parent that a program names has to be one: of any other it would see null, and skip the node in silence.

        Gives whether a name lacks its quotes, so that the program cannot compile either.
        """
        is_unquoted = False
        for name in dict.fromkeys(mentions(program, "parents")):
            if name in needs:
                continue
            message = f"`{_path('parents', name)}` refers to {quoted(name)}, which is not in the node's `needs`"
            if name in known and name != node.id:
                hint: str | None = f"add {quoted(name)} to `needs`"
            else:
                dashed = _dashed(name, needs, "parents")
                is_unquoted |= dashed is not None
                hint = dashed or among(name, needs)
            self._places.report(file, (*node.path, *way), message, hint)
        return is_unquoted

    def _check_ways(self, node: _Node, file: int) -> None:
        """What a node says that has no effect beside something else that it says."""
        data = node.data
        if data.get("freeze") == "record" and self._in_ci:
            message = "`freeze: record` is refused under CI, because recorded outputs are not saved there"
            hint = "commit the recorded output and write `freeze: golden`"
            self._places.report(file, (*node.path, "freeze"), message, hint)
        if "max_concurrency" in data and "for_each" not in data:
            message = "`max_concurrency` has no effect without `for_each`"
            self._places.warn(file, (*node.path, "max_concurrency"), message, key=True)
        if "mock" in data:
            for key in ("freeze", "loop", "retries", "timeout_ms"):
                if key in data:
                    message = f"`{key}` has no effect beside `mock`: nothing is called"
                    self._places.warn(file, (*node.path, key), message, "remove one of the two", key=True)

    def _check_cycle(self, nodes: list[_Node], file: int) -> None:
        numbers = {node.id: number for number, node in enumerate(nodes)}
        parents = [
            list(dict.fromkeys(numbers[parent.id] for _, parent in node.parents if parent.id in numbers))
            for node in nodes
        ]
        for circle in islice(cycles(parents), _MOST_CYCLES):
            names = [nodes[number].id for number in circle]
            shown = " → ".join(f"`{name}`" for name in names[:_SHOWN_CYCLE])
            more = " → …" if len(names) > _SHOWN_CYCLE else ""
            first, after = nodes[circle[0]], names[1 % len(names)]
            index = next(index for index, parent in first.parents if parent.id == after)
            message = f"the nodes need each other in a cycle: {shown}{more} → `{names[0]}`"
            self._places.report(
                file, (*first.path, "needs", index), message, "remove one of these nodes from a `needs` list"
            )

    def _check_output(self, entry: Mapping[str, object], known: set[str], file: int, path: Pointer) -> None:
        output = entry.get("output")
        if isinstance(output, str) and output not in known:
            message = f"`output` names {quoted(output)}, and the composition has no such node"
            self._places.report(file, (*path, "output"), message, among(output, known))
        elif isinstance(output, dict):
            place = (*path, "output", "assemble")
            program, is_unquoted = output.get("assemble"), False
            if isinstance(program, str):
                self._check_input_paths(program, ("nodes",), known, file, place)
            for name in dict.fromkeys(mentions(program, "nodes") if isinstance(program, str) else ()):
                if name not in known:
                    message = f"`{_path('nodes', name)}` names {quoted(name)}, and the composition has no such node"
                    dashed = _dashed(name, known, "nodes")
                    is_unquoted |= dashed is not None
                    self._places.report(file, place, message, dashed or among(name, known))
            if not is_unquoted:  # else it does not compile for that reason
                self._assertions.check_program(program, file, place)

    def _check_targets(self, expect: object, known: set[str], file: int, path: Pointer) -> None:
        """Targets that name a node have to name one that is there, and look at what a trace has."""
        for place, item in assertions_in(expect, path):
            target = item.get("target")
            try:
                segments = parse_target(target).segments if isinstance(target, str) else ()
            except TargetSyntaxError:
                continue
            if len(segments) > 1 and segments[0] == "nodes" and isinstance(segments[1], str):
                name = segments[1]
                if name not in known:
                    message = f"the composition has no node {quoted(name)}"
                    self._places.report(file, (*place, "target"), message, among(name, known))
                    continue
            told = _no_member(segments)
            if told is not None:
                self._places.report(file, (*place, "target"), *told)


def _names_of_nodes(entry: Mapping[str, Any], nodes: Sequence[_Node]) -> Iterator[str]:
    """The names by which a composition refers to nodes, whether there are such nodes or not."""
    for node in nodes:
        yield from (parent.id for _, parent in node.parents)
    output = entry.get("output")
    if isinstance(output, str):
        yield output
    elif isinstance(output, dict) and isinstance(program := output.get("assemble"), str):
        yield from mentions(program, "nodes")
    rows = entry.get("cases")
    for one in (entry, *(row for row in (rows if isinstance(rows, list) else ()) if isinstance(row, dict))):
        for _, item in assertions_in(one.get("expect"), ()):
            with suppress(TargetSyntaxError):
                segments = parse_target(str(item.get("target"))).segments
                if segments[:1] == ("nodes",) and len(segments) > 1:
                    yield str(segments[1])


def _no_member(segments: Sequence[Any]) -> tuple[str, str | None] | None:
    """What is wrong with a target that looks for something that no trace has, and what may be meant."""
    start, *rest = segments or (None,)
    of_node = start == "nodes" and len(rest) > 1
    members, name = (_NODE_MEMBERS, rest[1]) if of_node else (_MEMBERS.get(str(start)), rest[0] if rest else None)
    if members is None or not isinstance(name, str) or name in members:
        return None
    return f"{'a node' if of_node else f'`{start}`'} has no {quoted(name)}", among(name, members)


def _path(root: str, name: str) -> str:
    return f".{root}.{name}" if name.isidentifier() else f'.{root}["{name}"]'


def _dashed(name: str, ids: Iterable[str], root: str) -> str | None:
    """To jq `.parents.a-b` is a difference."""
    meant = next((one for one in sorted(ids) if one.startswith(f"{name}-")), None)
    return None if meant is None else f'write `.{root}["{meant}"]`: in jq, a `-` after a name subtracts'


def _sources(node: Mapping[str, object]) -> Iterator[tuple[Pointer, str]]:
    """The templates that a fan-out goes over, each with its place in the node."""
    written = node.get("for_each")
    for name, source in written.items() if isinstance(written, dict) else (("", written),):
        if isinstance(source, str):
            yield ("for_each", name) if name else ("for_each",), source


def _wrong_item(reference: Reference, written: object) -> tuple[str, str | None] | None:
    """What is wrong with a part of an element that is a combination, whose names are known."""
    name = reference.path[0] if reference.path else None
    if not isinstance(written, dict) or name is None or name in written:
        return None
    return f"`${{{reference.text}}}`: `for_each` has no {quoted(str(name))}", among(str(name), written)


def _used_by(node: _Node) -> Iterator[str]:
    """The nodes whose outputs a node uses, in templates and in programs."""
    for _, _, _, expression in (*node.templates, *templates_in(node.data.get("for_each"))):
        try:
            reference = parse_reference(expression or "")
        except ReferenceSyntaxError:
            continue
        if reference.space == "node":
            yield reference.name
    loop = node.data.get("loop")
    for program in (node.data.get("when"), loop.get("until") if isinstance(loop, dict) else None):
        if isinstance(program, str):
            named = _PROGRAM_MENTIONS.findall(program)
            if ".parents" in program and not named:  # looked at as a whole
                yield from (parent.id for _, parent in node.parents)
            yield from named
