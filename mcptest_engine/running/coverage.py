"""How much of what a server offers the tests of a run have exercised: tools, parameters, enum values, resources, prompts.

Pure: what is offered comes as catalogs, what was done as a run's record. A test counts when its request was answered, whatever
was thought of the answer; a skipped one does not.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MOST_VALUES = 200
DIMENSIONS = ("tools", "parameters", "enum_values", "resources", "prompts", "error_paths")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One way of counting. `missing` names what no test exercised, in the servers' order."""

    name: str
    covered: int
    total: int
    missing: tuple[str, ...] = ()

    @property
    def percent(self) -> float:
        """0 to 100; of nothing all is covered."""
        return 100.0 * self.covered / self.total if self.total else 100.0

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"covered": self.covered, "total": self.total, "percent": round(self.percent, 1)}
        return {**told, **({"missing": list(self.missing)} if self.missing else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What one server offers: entries as `tools/list` and the like sent them."""

    tools: Sequence[Mapping[str, Any]] = ()
    resources: Sequence[Mapping[str, Any]] = ()
    templates: Sequence[Mapping[str, Any]] = ()
    prompts: Sequence[Mapping[str, Any]] = ()


@dataclass(slots=True)
class _Done:
    """What was asked of one server."""

    tools: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    uris: set[str] = field(default_factory=set)
    prompts: set[str] = field(default_factory=set)


def coverage_of(offered: Mapping[str, Offered], tests: Sequence[Mapping[str, Any]]) -> tuple[Dimension, ...]:
    """One `Dimension` for each of `DIMENSIONS`. `tests` are those of a run record, as JSON values.

    `error_paths`: of the tools that were called, those that a test saw refuse something (a JSON-RPC error or `isError`).
    """
    done = _done(tests)
    rows: dict[str, list[tuple[str, bool]]] = {name: [] for name in DIMENSIONS}
    several = len(offered) > 1
    for server, catalog in offered.items():
        own, prefix = done.get(server, _Done()), f"{server}/" if several else ""
        for tool in catalog.tools:
            _count_tool(tool, own, prefix, rows)
        for resource in catalog.resources:
            uri = str(resource.get("uri"))
            rows["resources"].append((prefix + uri, uri in own.uris))
        for template in catalog.templates:
            pattern = _template(str(template.get("uriTemplate")))
            covered = any(pattern.fullmatch(uri) for uri in own.uris)
            rows["resources"].append((prefix + str(template.get("uriTemplate")), covered))
        for prompt in catalog.prompts:
            name = str(prompt.get("name"))
            rows["prompts"].append((prefix + name, name in own.prompts))
    return tuple(_dimension(name, found) for name, found in rows.items())


def calls_of(tests: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
    """How often each (server, tool) was called and answered, in the order of first calls."""
    found = _done(tests)
    return {(server, tool): len(calls) for server, done in found.items() for tool, calls in done.tools.items()}


def offered_in(tests: Sequence[Mapping[str, Any]]) -> dict[str, Offered]:
    """What servers offer as far as the tests themselves have listed it: those that have asked for `tools/list`."""
    lists = {"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts"}
    found: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for test in tests:
        request, output = test.get("request"), test.get("output")
        method = str(request.get("method")) if isinstance(request, dict) else ""
        result = output.get("result") if isinstance(output, dict) else None
        entries = result.get(lists[method]) if method in lists and isinstance(result, dict) else None
        if isinstance(entries, list) and not (isinstance(result, dict) and result.get("nextCursor")):
            own = found.setdefault(str(test.get("server")), {})
            own[lists[method]] = [entry for entry in entries if isinstance(entry, dict)]
    return {server: Offered(**lists_of) for server, lists_of in found.items() if "tools" in lists_of}


def _count_tool(tool: Mapping[str, Any], done: _Done, prefix: str, rows: Mapping[str, list[tuple[str, bool]]]) -> None:
    name = str(tool.get("name"))
    calls = done.tools.get(name, [])
    rows["tools"].append((prefix + name, bool(calls)))
    if calls:
        rows["error_paths"].append((prefix + name, name in done.refused))
    for parameter, schema in _parameters(tool):
        given = [call[parameter] for call in calls if parameter in call]
        rows["parameters"].append((f"{prefix}{name}.{parameter}", bool(given)))
        for value in _enum(schema):
            told = json.dumps(value, ensure_ascii=False)
            rows["enum_values"].append((f"{prefix}{name}.{parameter} = {told}", _among(value, given)))


def _done(tests: Sequence[Mapping[str, Any]]) -> dict[str, _Done]:
    found: dict[str, _Done] = {}
    for test in tests:
        for asked in (test, *(step for step in test.get("verify") or () if isinstance(step, dict))):
            _note(found, asked, str(asked.get("server") or test.get("server")))
    return found


def _note(found: dict[str, _Done], asked: Mapping[str, Any], server: str) -> None:
    request, output = asked.get("request"), asked.get("output")
    if asked.get("verdict") == "skip" or not isinstance(request, dict) or not isinstance(output, dict):
        return
    params = request.get("params")
    params = params if isinstance(params, dict) else {}
    done = found.setdefault(server, _Done())
    match request.get("method"):
        case "tools/call":
            name = str(params.get("name"))
            arguments = params.get("arguments")
            done.tools.setdefault(name, []).append(arguments if isinstance(arguments, dict) else {})
            result = output.get("result")
            if output.get("error") is not None or (isinstance(result, dict) and result.get("isError") is True):
                done.refused.add(name)
        case "resources/read":
            done.uris.add(str(params.get("uri")))
        case "prompts/get":
            done.prompts.add(str(params.get("name")))


def _parameters(tool: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, about in properties.items() if isinstance(properties, dict) else ():
        yield str(name), about if isinstance(about, dict) else {}


def _enum(schema: Mapping[str, Any]) -> Sequence[Any]:
    items = schema.get("items")
    values = schema.get("enum", items.get("enum") if isinstance(items, dict) else None)
    return values[:MOST_VALUES] if isinstance(values, list) else ()


def _among(value: Any, given: Sequence[Any]) -> bool:
    """Whether the value was given, itself or in a list; `true` is not 1."""
    wanted = json.dumps(value, sort_keys=True)
    flat = [one for each in given for one in ((each, *each) if isinstance(each, list) else (each,))]
    return any(json.dumps(one, sort_keys=True, default=str) == wanted for one in flat)


def _template(text: str) -> re.Pattern[str]:
    """What a URI template stands for, an expression for any text. Source: RFC 6570, of which all operators are read alike."""
    parts = re.split(r"\{[^{}]*\}", text)
    return re.compile(".+?".join(re.escape(part) for part in parts), re.DOTALL)


def _dimension(name: str, rows: Sequence[tuple[str, bool]]) -> Dimension:
    missing = tuple(told for told, covered in rows if not covered)
    return Dimension(name=name, covered=len(rows) - len(missing), total=len(rows), missing=missing)
