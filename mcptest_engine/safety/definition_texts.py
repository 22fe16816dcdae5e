"""Every text of a descriptor, with its place, because clients differ in which texts they show to a model.

Depth and number of values are bounded: a server may send anything, even a schema without end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from mcptest_engine.core.values import dataclass

MOST_DEPTH = 40
MOST_NODES = 20_000
LONGEST_KEYWORD = 24  # the keys of JSON Schema and MCP are shorter
_VALUES = ("default", "const", "enum", "examples", "example", "enumNames", "enumDescriptions", "markdownDescription")
_NAMED_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


@dataclass(frozen=True, slots=True)
class Text:
    """One text. `where` is its place, such as "inputSchema.properties.q.description".

    `argument` is the innermost argument that it belongs to; `is_name` says that it is the name of an entry or an argument.
    """

    where: str
    text: str
    argument: str | None = None
    is_name: bool = False


def tool_name(tool: Mapping[str, object]) -> str:
    """The tool's name; JSON where it is no text, and "(unnamed)" where it is missing."""
    name = tool.get("name")
    return name if isinstance(name, str) else "(unnamed)" if name is None else _as_text(name)


def texts_of_tool(tool: Mapping[str, object]) -> Iterator[Text]:
    """Every text of a tool: name, title, description, both schemas, then all other members, also ones unknown to MCP."""
    yield from _prose(tool, ("name", "title", "description"))
    for member in ("inputSchema", "outputSchema"):
        if isinstance(tool.get(member), (Mapping, list)):
            yield from _schema_texts(tool[member], member)
    yield from _other_texts(tool, ("name", "title", "description", "inputSchema", "outputSchema"))


def texts_of_entry(entry: Mapping[str, object]) -> Iterator[Text]:
    """Every text of a prompt, a resource or a resource template."""
    yield from _prose(entry, ("name", "title", "description", "uri", "uriTemplate"))
    arguments = entry.get("arguments")
    for index, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        if index < MOST_NODES and isinstance(argument, Mapping):
            for text in _prose(argument, ("name", "title", "description")):
                yield Text(f"arguments[{index}].{text.where}", text.text, argument=tool_name(argument))
            for text in _other_texts(argument, ("name", "title", "description")):
                yield Text(f"arguments[{index}].{text.where}", text.text, argument=tool_name(argument))
    yield from _other_texts(entry, ("name", "title", "description", "uri", "uriTemplate", "arguments"))


def _prose(entry: Mapping[str, object], members: tuple[str, ...]) -> Iterator[Text]:
    for member in members:
        value = entry.get(member)
        if isinstance(value, str) and value:
            yield Text(member, value, is_name=member == "name")


def _other_texts(entry: Mapping[str, object], seen: tuple[str, ...]) -> Iterator[Text]:
    """The texts of the members that are not in `seen`, at any depth, and their keys where these could hold words."""
    for key, value in entry.items():
        if key not in seen:
            yield from _key_text(str(key), str(key), None)
            yield from _value_texts(value, str(key), None)


def _key_text(key: str, where: str, argument: str | None) -> Iterator[Text]:
    """A key that could hold words: JSON Schema's and MCP's own keys are short and only letters."""
    if not key.isalpha() or len(key) > LONGEST_KEYWORD:
        yield Text(where, key, argument=argument)


def _schema_texts(top: object, member: str) -> Iterator[Text]:
    stack: list[tuple[object, str, str | None, int]] = [(top, member, None, 0)]
    visited = 0
    while stack and visited < MOST_NODES:
        node, where, argument, depth = stack.pop()
        visited += 1
        if isinstance(node, list):
            stack += [(item, f"{where}[{at}]", argument, depth + 1) for at, item in reversed(list(enumerate(node)))]
        elif isinstance(node, str):
            if node:
                yield Text(where, node, argument=argument)
        elif isinstance(node, Mapping) and depth <= MOST_DEPTH:
            below: list[tuple[object, str, str | None, int]] = []
            for key, value in node.items():
                place = f"{where}.{key}"
                if key in _NAMED_SCHEMAS and isinstance(value, Mapping):
                    for name, schema in value.items():
                        yield Text(f"{place}.{name}", str(name), argument=str(name), is_name=True)
                        below.append((schema, f"{place}.{name}", str(name), depth + 1))
                    continue
                yield from _key_text(str(key), place, argument)
                if key in _VALUES:
                    yield from _value_texts(value, place, argument)
                elif isinstance(value, str):
                    yield Text(place, value, argument=argument)
                elif isinstance(value, (Mapping, list)):
                    below.append((value, place, argument, depth + 1))
            stack += reversed(below)


def _value_texts(value: object, where: str, argument: str | None) -> Iterator[Text]:
    stack: list[tuple[object, str, int]] = [(value, where, 0)]
    visited = 0
    while stack and visited < MOST_NODES:
        node, place, depth = stack.pop()
        visited += 1
        if isinstance(node, str):
            if node:
                yield Text(place, node, argument=argument)
        elif depth <= MOST_DEPTH and isinstance(node, Mapping):
            for key in node:
                yield from _key_text(str(key), f"{place}.{key}", argument)
            stack += [(item, f"{place}.{key}", depth + 1) for key, item in reversed(list(node.items()))]
        elif depth <= MOST_DEPTH and isinstance(node, list):
            stack += [(item, f"{place}[{at}]", depth + 1) for at, item in reversed(list(enumerate(node)))]


def _as_text(value: object) -> str:
    try:
        return json.dumps(value)[:200]
    except (ValueError, TypeError, RecursionError):
        return "(unnamed)"


def argument_names(schema: object) -> frozenset[str]:
    """The names of all properties anywhere in a schema."""
    names = {text.argument for text in _schema_texts(schema, "") if text.is_name}
    return frozenset(name for name in names if name is not None)
