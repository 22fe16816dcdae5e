"""How much of what a server offers the tests of a run have exercised: tools, parameters, enum values, resources, prompts.

Pure: what is offered comes as catalogs, what was done as a run's record. A call counts when its test passed: one that failed
has shown nothing of the tool but that it does not work. The strength of the tests is counted too, which needs no catalog.
"""

from __future__ import annotations

import json
import re
from dataclasses import field
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.coverage import DIMENSIONS, STRENGTH, Dimension
from mcptest_engine.core.enums import Strength, Verdict
from mcptest_engine.core.redaction import MASK
from mcptest_engine.core.schemas import nested_deeper_than
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.servers.catalog import Catalog

MOST_VALUES = 200
LONGEST_NAME = 300
_DEEPEST_VALUE = 50
_MAY_BE_EMPTY = ("?", "&", "#", ".", "/", ";")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLists:
    """What one server offers: entries as `tools/list` and the like sent them; None for a list that is not known."""

    tools: Sequence[Mapping[str, Any]] | None = ()
    resources: Sequence[Mapping[str, Any]] | None = ()
    templates: Sequence[Mapping[str, Any]] = ()
    prompts: Sequence[Mapping[str, Any]] | None = ()

    @classmethod
    def of(cls, catalog: Catalog) -> ServerLists:
        """What a server's whole catalog says. Many servers that have resources know no templates, and are believed."""
        errors = catalog.errors
        return cls(
            tools=catalog.tools,
            resources=None if "resources" in errors else catalog.resources,
            templates=catalog.templates,
            prompts=None if "prompts" in errors else catalog.prompts,
        )


@dataclass(slots=True)
class _Done:
    """What was asked of one server."""

    tools: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    succeeded: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    uris: set[str] = field(default_factory=set)
    prompts: set[str] = field(default_factory=set)

    def note_call(self, tool: str, arguments: object, *, refused: bool) -> None:
        """A call of a tool was answered, with an error where it was `refused`."""
        self.tools.setdefault(tool, []).append(arguments if isinstance(arguments, dict) else {})
        (self.refused if refused else self.succeeded).add(tool)


def coverage_of(
    offered: Mapping[str, ServerLists],
    tests: Iterable[Mapping[str, object]],
    *,
    redact: Callable[[str], str] = str,
    several: bool | None = None,
) -> tuple[Dimension, ...]:
    """One `Dimension` for each of `DIMENSIONS` that all servers' lists tell. `tests` are those of a run record, as JSON values.

    `tools`: those of which a test saw a result without an error. `error_paths`: of the tools that were called, those that a
    test saw refuse something (a JSON-RPC error or `isError`). `strength`: the tests that check a value, of all but the skipped.
    `redact` does to names what was done to those of the record. With `several` servers names begin with the server's.
    """
    strengths: list[tuple[str, str | None]] = []
    done = _done(_passing(tests, strengths))
    rows: dict[str, list[tuple[str, bool]]] = {name: [] for name in DIMENSIONS}
    several = len(offered) > 1 if several is None else several
    for server, catalog in offered.items():
        own, prefix = done.get(server, _Done()), f"{server}/" if several else ""
        for tool in _once(catalog.tools, "name"):
            _count_tool(tool, own, prefix, rows, redact)
        for resource in _once(catalog.resources, "uri"):
            uri = redact(str(resource.get("uri")))
            rows["resources"].append((prefix + uri, uri in own.uris))
        for template in _once(catalog.templates, "uriTemplate"):
            text = redact(str(template.get("uriTemplate")))
            rows["resources"].append((prefix + text, any(_fits(uri, text) for uri in own.uris)))
        for prompt in _once(catalog.prompts, "name"):
            name = redact(str(prompt.get("name")))
            rows["prompts"].append((prefix + name, name in own.prompts))
    rows[STRENGTH] = [
        ("", True) if strength == Strength.VALUE else (f"{name} ({strength})", False) for name, strength in strengths
    ]
    known = {name for name in DIMENSIONS if all(_is_known(catalog, name) for catalog in offered.values())}
    known -= set() if strengths and all(strength for _, strength in strengths) else {STRENGTH}
    return tuple(_dimension(name, found) for name, found in rows.items() if name in known)


def _passing(
    tests: Iterable[Mapping[str, Any]], strengths: list[tuple[str, str | None]]
) -> Iterator[Mapping[str, Any]]:
    """The tests that passed; of each that was not skipped its name and strength go to `strengths`."""
    for test in tests:
        verdict = test.get("verdict")
        if verdict != Verdict.SKIP:
            strengths.append((str(test.get("name")), test.get("strength")))
        if verdict == Verdict.PASS:
            yield test


def _once(entries: Sequence[Mapping[str, object]] | None, key: str) -> Sequence[Mapping[str, Any]]:
    """The entries, of namesakes the first: a name that is listed nine times is no nine things that were exercised."""
    found: dict[str, Mapping[str, Any]] = {}
    for entry in entries or ():
        found.setdefault(str(entry.get(key)), entry)
    return tuple(found.values())


def _is_known(catalog: ServerLists, dimension: str) -> bool:
    if dimension in ("resources", "prompts"):
        return getattr(catalog, dimension) is not None
    return catalog.tools is not None


def calls_of(tests: Sequence[Mapping[str, object]]) -> dict[tuple[str, str], int]:
    """How often each (server, tool) was called and answered, in the order of first calls."""
    found = _done(tests)
    return {(server, tool): len(calls) for server, done in found.items() for tool, calls in done.tools.items()}


def lists_of_tests(tests: Iterable[Mapping[str, object]]) -> dict[str, ServerLists]:
    """What servers offer as far as the tests themselves have listed it whole: those that have asked for `tools/list`."""
    lists = {"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts"}
    found: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for test in tests:
        request, output = test.get("request"), test.get("output")
        method = str(request.get("method")) if isinstance(request, dict) else ""
        result = output.get("result") if isinstance(output, dict) else None
        entries = result.get(lists[method]) if method in lists and isinstance(result, dict) else None
        paged = (isinstance(result, dict) and result.get("nextCursor")) or _params(request).get("cursor") is not None
        if isinstance(entries, list) and not paged:
            own = found.setdefault(str(test.get("server")), {})
            own[lists[method]] = [entry for entry in entries if isinstance(entry, dict)]
    unknown: dict[str, Any] = dict.fromkeys(lists.values())
    return {server: ServerLists(**{**unknown, **known}) for server, known in found.items() if "tools" in known}


def _count_tool(
    tool: Mapping[str, object],
    done: _Done,
    prefix: str,
    rows: Mapping[str, list[tuple[str, bool]]],
    redact: Callable[[str], str],
) -> None:
    name = redact(str(tool.get("name")))
    calls = done.tools.get(name, [])
    rows["tools"].append((prefix + name, name in done.succeeded))
    if calls:
        rows["error_paths"].append((prefix + name, name in done.refused))
    for parameter, schema in _parameters(tool):
        given = [call[parameter] for call in calls if parameter in call]
        rows["parameters"].append((f"{prefix}{name}.{redact(parameter)}", bool(given)))
        if MASK in given:  # the record keeps the values of such a parameter to itself
            continue
        values = _enum(schema)
        texts = _json_values(given) if values else set()
        for value in values:
            told = redact(json.dumps(value, ensure_ascii=False))
            rows["enum_values"].append(
                (f"{prefix}{name}.{redact(parameter)} = {told}", json.dumps(value, sort_keys=True) in texts)
            )


def _done(tests: Iterable[Mapping[str, Any]]) -> dict[str, _Done]:
    found: dict[str, _Done] = {}
    for test in tests:
        server = str(test.get("server"))
        _note(found, test, server)
        for step in test.get("verify") or ():
            if isinstance(step, dict):
                _note(found, step, str(step.get("server") or server))
        trace, trials = test.get("trace"), test.get("trials") or ()
        if trace is None and not trials:
            continue
        nodes = trace.get("nodes") if isinstance(trace, dict) else None
        for node in nodes.values() if isinstance(nodes, dict) else ():
            _note_node(found, node)
        for one in (trace, *(trial.get("trace") for trial in trials if isinstance(trial, dict))):
            # once where several rows have it
            if isinstance(one, dict) and (test.get("kind") == "agent" or "models" in one):
                _note_conversation(found, one)
    return found


def _note_conversation(found: dict[str, _Done], trace: Mapping[str, object]) -> None:
    """The calls that a model made, where the server answered with a result."""
    calls = trace.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, dict) or "result" not in call:
            continue
        done = found.setdefault(str(call.get("server")), _Done())
        done.note_call(str(call.get("name")), call.get("args"), refused=call.get("is_error") is True)


def _note_node(found: dict[str, _Done], node: Mapping[str, Any]) -> None:
    """The calls of a composition's node, where the server was asked and answered."""
    if node.get("mocked") or node.get("frozen"):
        return
    name, done = str(node.get("tool")), found.setdefault(str(node.get("server")), _Done())
    for call in node.get("calls") or ([node] if "args" in node else []):
        refused = "refused" in call
        if call.get("status") != "ok" and not refused:
            continue
        done.note_call(name, call.get("args"), refused=refused)


def _note(found: dict[str, _Done], asked: Mapping[str, object], server: str) -> None:
    request, output = asked.get("request"), asked.get("output")
    if not isinstance(request, dict) or not isinstance(output, dict) or asked.get("verdict") == "skip":
        return
    params = _params(request)
    done = found.get(server)
    if done is None:
        done = found[server] = _Done()
    match request.get("method"):
        case "tools/call":
            result = output.get("result")
            refused = output.get("error") is not None or (isinstance(result, dict) and result.get("isError") is True)
            done.note_call(str(params.get("name")), params.get("arguments"), refused=refused)
        case "resources/read":
            done.uris.add(str(params.get("uri")))
        case "prompts/get":
            done.prompts.add(str(params.get("name")))


def _params(request: object) -> Mapping[str, Any]:
    params = request.get("params") if isinstance(request, dict) else None
    return params if isinstance(params, dict) else {}


def _parameters(tool: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, about in properties.items() if isinstance(properties, dict) else ():
        yield str(name), about if isinstance(about, dict) else {}


def _enum(schema: Mapping[str, object]) -> Sequence[Any]:
    items = schema.get("items")
    values = schema.get("enum", items.get("enum") if isinstance(items, dict) else None)
    if not isinstance(values, list):
        return ()
    return [value for value in values[:MOST_VALUES] if not nested_deeper_than(value, _DEEPEST_VALUE)]


def _json_values(given: Sequence[object]) -> set[str]:
    """The values given, themselves and those in lists, as JSON: there `true` is not 1."""
    flat = (one for each in given for one in ((each, *each) if isinstance(each, list) else (each,)))
    return {json.dumps(one, sort_keys=True, default=str) for one in flat}


def _fits(uri: str, template: str) -> bool:
    """Whether a URI may stand for a template: between its fixed parts anything, and something where an expression must be.

    Linear, because a server wrote the template. Source: RFC 6570, of which variables are not looked at, and of operators only
    whether an expression may come to nothing.
    """
    first, *rest = re.split(r"\{([^{}]*)\}", template)
    if not rest:
        return uri == first
    at, end = len(first), len(uri) - len(rest[-1])
    if not uri.startswith(first) or not uri.endswith(rest[-1]):
        return False
    for expression, fixed in zip(rest[:-2:2], rest[1:-2:2], strict=True):
        at = uri.find(fixed, at + _least(expression))
        if at < 0:
            return False
        at += len(fixed)
    return at + _least(rest[-2]) <= end


def _least(expression: str) -> int:
    return 0 if expression.startswith(_MAY_BE_EMPTY) else 1


def _label(told: str) -> str:
    return told if len(told) <= LONGEST_NAME else f"{told[:LONGEST_NAME]}…"


def _dimension(name: str, rows: Sequence[tuple[str, bool]]) -> Dimension:
    missing = tuple(_label(told) for told, covered in rows if not covered)
    refused = tuple(_label(told) for told, covered in rows if covered) if name == "error_paths" else ()
    return Dimension(name=name, covered=len(rows) - len(missing), total=len(rows), missing=missing, refused=refused)
