"""Weak input schemas: the rules SCH-001 to SCH-007.

One finding for each tool and rule, at the first place, with the number of places. An `enum`, `const`, `$ref` or combination of
schemas counts as a type, because it tells a model as much as `type` does. No rule is above medium: these schemas are weak, not
dangerous, and a property that takes any JSON value is valid.
Source: MCP 2025-11-25, schema, Tool (SCH-005).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from mcptest_engine.safety.definition_texts import tool_name
from mcptest_engine.safety.findings import Finding, finding

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonMapping

_MOST_NODES = 20_000
_DEEPEST = 200
_SCHEMAS = ("inputSchema", "outputSchema")
_TYPED = ("type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if")
_BOUNDED_TEXT = ("maxLength", "enum", "const", "format", "pattern")
_BOUNDED_ARRAY = ("maxItems", "enum", "const")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "unevaluatedProperties")
_NAMED = ("$defs", "definitions", "patternProperties", "dependentSchemas")


def lint_tool(tool: Mapping[str, object]) -> list[Finding]:
    """The findings on a tool's schemas, in the order of the rules. Only SCH-005 and SCH-007 look at its `outputSchema`."""
    places: dict[str, list[str]] = {}
    for rule, where in _weak_places(tool.get("inputSchema")):
        places.setdefault(rule, []).append(where)
    remote = [where for key in _SCHEMAS for where in _remote_refs(tool.get(key), key)]
    if remote:
        places["SCH-007"] = remote
    broken = [key for key in _SCHEMAS if (key == "inputSchema" or key in tool) and not _is_object_schema(tool.get(key))]
    if broken:
        places["SCH-005"] = broken
    return [_finding(rule, tool_name(tool), places[rule]) for rule in sorted(places)]


def lint_names(tools: Iterable[Mapping[str, object]]) -> list[Finding]:
    """SCH-006: a finding for each name that is listed more than once."""
    counts = Counter(tool_name(tool) for tool in tools if isinstance(tool.get("name"), str))
    return [finding("SCH-006", name, "name", subject=f"`{name[:40]}`") for name, count in counts.items() if count > 1]


def _is_object_schema(schema: object) -> bool:
    """Whether it is a valid schema of an object; one too deep to check, or with references elsewhere, is accepted."""
    from mcptest_engine.core.schemas import SchemaError, compile_schema, nested_deeper_than

    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return False
    if nested_deeper_than(schema, _DEEPEST) or any(_remote_refs(schema, "")):
        return True
    try:
        compile_schema({key: value for key, value in schema.items() if key != "$schema"})
        return True
    except SchemaError:
        pass
    try:
        compile_schema(schema)  # `$schema` may name an older draft
    except SchemaError:
        return False
    return True


def _remote_refs(schema: object, where: str) -> Iterator[str]:
    """The places of the `$ref`s that lead out of the schema."""
    nodes = list(_nodes(schema, where))
    own = {node["$id"] for node, _, _ in nodes if isinstance(node, Mapping) and isinstance(node.get("$id"), str)}
    for node, place, _ in nodes:
        ref = node.get("$ref") if isinstance(node, Mapping) else None
        base = ref.partition("#")[0] if isinstance(ref, str) else ""
        if base and base not in own:
            yield place


def _finding(rule: str, tool: str, places: list[str]) -> Finding:
    first = places[0].removeprefix("inputSchema.").replace("properties.", "") or "inputSchema"
    more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
    return finding(rule, tool, places[0], subject=f"`{first[:40]}`{more}", digest_of="\n".join(places))


def _weak_places(schema: object) -> Iterator[tuple[str, str]]:
    for node, where, is_property in _nodes(schema, "inputSchema"):
        if isinstance(node, Mapping):
            yield from ((rule, where) for rule in _rules_broken(node, is_property=is_property))
        elif is_property and node is True:
            yield "SCH-003", where


def _nodes(schema: object, where: str) -> Iterator[tuple[object, str, bool]]:
    """Each schema in `schema`, up to a limit, with its place, and whether it is that of a property."""
    stack: list[tuple[object, str, bool]] = [(schema, where, False)]
    visited = 0
    while stack and visited < _MOST_NODES:
        node, place, is_property = stack.pop()
        visited += 1
        yield node, place, is_property
        if isinstance(node, Mapping):
            stack += reversed(list(_children(node, place)))


def _rules_broken(node: Mapping[str, object], *, is_property: bool) -> Iterator[str]:
    properties = node.get("properties")
    kinds = node.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if isinstance(properties, Mapping) and properties:
        if not isinstance(node.get("required"), list):
            yield "SCH-001"
        if node.get("additionalProperties") is not False and node.get("unevaluatedProperties") is not False:
            yield "SCH-002"
    if is_property and not any(key in node for key in _TYPED):
        yield "SCH-003"
    if is_property and (
        ("string" in kinds and not any(key in node for key in _BOUNDED_TEXT))
        or ("array" in kinds and not any(key in node for key in _BOUNDED_ARRAY))
    ):
        yield "SCH-004"


def _children(node: JsonMapping, where: str) -> Iterator[tuple[object, str, bool]]:
    properties = node.get("properties")
    if isinstance(properties, Mapping):
        yield from ((child, f"{where}.properties.{name}", True) for name, child in properties.items())
    for key in _NAMED:
        if isinstance(node.get(key), Mapping):
            yield from ((child, f"{where}.{key}.{name}", False) for name, child in node[key].items())
    for key in _LISTS:
        if isinstance(node.get(key), list):
            yield from ((child, f"{where}.{key}[{at}]", False) for at, child in enumerate(node[key]))
    for key in _SINGLE:
        if isinstance(node.get(key), Mapping):
            yield node[key], f"{where}.{key}", False
