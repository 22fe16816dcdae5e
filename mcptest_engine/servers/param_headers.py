"""Arguments that a server requires in HTTP headers too, by `x-mcp-header` in its tools' schemas.

Only annotations under plain `properties` count, and only for texts, integers and booleans; a schema with a wrong annotation
yields no headers. A value that does not fit into a header is sent as `=?base64?…?=`. Source: MCP 2026-07-28, basic/transports,
custom headers (SEP-2243).
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.core.json_types import JsonDict

ANNOTATION = "x-mcp-header"
PREFIX = "Mcp-Param-"

TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""A valid header name. Source: RFC 9110 section 5.6.2."""

_PLAIN = re.compile(r"[\x20-\x7e]*")
_WRAPPED = re.compile(r"=\?base64\?.*\?=")
_TYPES = frozenset({"string", "integer", "boolean"})

_Path = tuple[str, ...]


class ParamHeaders:
    """The headers that the known tools require: tool -> path of the argument -> name of the header."""

    def __init__(self) -> None:
        self._wanted: dict[str, dict[_Path, str]] = {}

    def learn(self, listed: object) -> None:
        """Learn the tools of one `tools/list` result; anything else is ignored."""
        tools = listed.get("tools") if isinstance(listed, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                self._wanted[tool["name"]] = annotated_headers(tool.get("inputSchema"))

    def of_call(self, method: str, params: Mapping[str, object] | None) -> dict[str, str] | None:
        """The headers of a `tools/call`, None when it needs none."""
        wanted = self._wanted.get(str((params or {}).get("name"))) if method == "tools/call" else None
        if not wanted:
            return None
        found = ((header, _argument_at((params or {}).get("arguments"), path)) for path, header in wanted.items())
        return {
            PREFIX + header: header_text(value)
            for header, value in found
            if isinstance(value, str | bool | int | float)
        }


def annotated_headers(schema: object) -> dict[_Path, str]:
    """The path of each annotated property with its header; {} when an annotation is wrong."""
    if schema_fault(schema) is not None:
        return {}
    return {path: node[ANNOTATION] for path, node in _positions(schema) if path and ANNOTATION in node}


def schema_fault(schema: object) -> str | None:
    """What is wrong with the annotations of a tool's input schema; None when nothing is."""
    seen: dict[str, _Path] = {}
    for path, node in _positions(schema):
        if ANNOTATION not in node:
            continue
        header = node[ANNOTATION]
        if not path:
            return f"`{ANNOTATION}` is not at a plain property"
        where = ".".join(path)
        if not isinstance(header, str) or not TOKEN.fullmatch(header):
            return f"`{ANNOTATION}` of `{where}` is not the name of a header"
        if node.get("type") not in _TYPES:
            return f"`{ANNOTATION}` of `{where}` is at a value that is not a text, integer or boolean"
        if header.lower() in seen:
            return f"`{ANNOTATION}` of `{where}` is that of `{'.'.join(seen[header.lower()])}` too"
        seen[header.lower()] = path
    return None


def header_text(value: str | float | bool) -> str:
    """Encode a value for a header."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if _PLAIN.fullmatch(text) and text == text.strip() and not _WRAPPED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'surrogatepass')).decode()}?="


def _positions(schema: object) -> Iterator[tuple[_Path | None, JsonDict]]:
    """Yield every schema inside `schema` with its path of plain properties, None where other keywords are between."""
    waiting: list[tuple[_Path | None, Any]] = [((), schema)]
    while waiting:
        path, node = waiting.pop()
        if not isinstance(node, dict):
            continue
        yield path, node
        for key, inner in node.items():
            if key == "properties" and isinstance(inner, dict):
                waiting += [(None if path is None else (*path, name), item) for name, item in inner.items()]
            elif key in _ONE:
                waiting.append((None, inner))
            elif key in _MANY and isinstance(inner, list):
                waiting += [(None, item) for item in inner]
            elif key in _NAMED and isinstance(inner, dict):
                waiting += [(None, item) for item in inner.values()]


# The keywords of JSON Schema 2020-12 whose values are schemas; `default`, `const` and the like hold data.
_ONE = frozenset({"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"}) | {
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
}
_MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})


def _argument_at(value: object, path: _Path) -> object:
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
