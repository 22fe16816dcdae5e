"""A tool, prompt or resource template on one line, like a function declaration.

`get_forecast(city: str, days: int = 3, [unit: "c"|"f"])`: required arguments come first; optional ones without a default are in
brackets. A schema may be anything that a server sends: whatever has no short form is `any`, and nothing here raises. References
are followed only inside the schema, and only a limited number of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.json_types import JsonDict, JsonMapping

MOST_ARGUMENTS = 100
MOST_VALUES = 4
MOST_KINDS = 4
_MOST_REFERENCES = 8
_DEEPEST = 3
_LONGEST = 40
_TYPES = {
    "string": "str", "integer": "int", "number": "number", "boolean": "bool", "null": "null", "object": "object",
}  # fmt: skip
_EXPRESSION = re.compile(r"\{([^{}]*)\}")

Piece = tuple[str, str]
"""A text and its role: "name", "argument", "type", "default", or "" for the text between."""


class Argument(NamedTuple):
    """One argument; `schema` is as the server sent it."""

    name: str
    required: bool
    schema: Any


def arguments_of(schema: object) -> list[Argument]:
    """The arguments that an input schema declares, required ones first, each group in the schema's order."""
    whole = resolved(schema, schema)
    properties = whole.get("properties")
    if not isinstance(properties, Mapping):
        return []
    needed = whole.get("required")
    required = {name for name in needed if isinstance(name, str)} if isinstance(needed, list) else set()
    found = [Argument(str(name), name in required, about) for name, about in properties.items()]
    return sorted(found, key=lambda argument: not argument.required)


def signature(name: object, schema: object) -> str:
    """The line of a tool."""
    return "".join(text for text, _ in signature_pieces(name, schema))


def signature_pieces(name: object, schema: object) -> list[Piece]:
    """The line of a tool, in pieces."""
    pieces: list[Piece] = [(str(name), "name"), ("(", "")]
    arguments = arguments_of(schema)
    for at, argument in enumerate(arguments[:MOST_ARGUMENTS]):
        pieces += [(", ", "")] if at else []
        pieces += _argument(argument, schema)
    if len(arguments) > MOST_ARGUMENTS:
        pieces.append((", …", ""))
    return [*pieces, (")", "")]


def prompt_pieces(prompt: Mapping[str, object]) -> list[Piece]:
    """The line of a prompt: its arguments have no types."""
    pieces: list[Piece] = [(str(prompt.get("name")), "name"), ("(", "")]
    for at, argument in enumerate(prompt_arguments(prompt)[:MOST_ARGUMENTS]):
        pieces += [(", ", "")] if at else []
        pieces += (
            [(argument.name, "argument")] if argument.required else [("[", ""), (argument.name, "argument"), ("]", "")]
        )
    return [*pieces, (")", "")]


def prompt_arguments(prompt: Mapping[str, object]) -> list[Argument]:
    """A prompt's arguments, as those of a tool whose arguments are all texts."""
    listed = prompt.get("arguments")
    found = [
        Argument(
            str(item.get("name")),
            item.get("required") is True,
            {
                "type": "string",
                **{key: item[key] for key in ("title", "description") if isinstance(item.get(key), str)},
            },
        )
        for item in (listed if isinstance(listed, list) else ())
        if isinstance(item, Mapping) and item.get("name") is not None
    ]
    return sorted(found, key=lambda argument: not argument.required)


def template_pieces(template: object) -> list[Piece]:
    """The line of a URI template, in pieces."""
    pieces: list[Piece] = []
    at, text = 0, str(template)
    for found in _EXPRESSION.finditer(text):
        pieces += [(text[at : found.start()], "name"), (found[0], "argument")]
        at = found.end()
    pieces.append((text[at:], "name"))
    return [piece for piece in pieces if piece[0]]


def template_variables(template: object) -> list[str]:
    """The variables of a URI template in their order. Source: RFC 6570."""
    names: dict[str, None] = {}
    for found in _EXPRESSION.finditer(str(template)):
        for part in found[1].lstrip("+#./;?&=,!@|").split(","):
            name = re.sub(r"(\*|:\d+)$", "", part.strip())
            if name:
                names[name] = None
    return list(names)


def type_of(schema: object, root: object, depth: int = 0) -> str:
    """The type of a value in short: `int`, `"c"|"f"`, `str[]`, `Place`, `any`."""
    named = _reference_name(schema)
    whole = resolved(schema, root)
    if "const" in whole:
        return _literal(whole["const"])
    values = whole.get("enum")
    if isinstance(values, list) and values:
        literals = [_literal(value) for value in values[:MOST_VALUES]]
        return "|".join([*literals, "…"] if len(values) > MOST_VALUES else literals)
    kind = whole.get("type")
    if isinstance(kind, list):
        return _alternatives(_plain_type(one, whole, root, depth, named) for one in kind) or "any"
    if isinstance(kind, str):
        return _plain_type(kind, whole, root, depth, named)
    for key in ("anyOf", "oneOf"):
        branches = whole.get(key)
        if isinstance(branches, list) and branches:
            return (
                _alternatives(type_of(branch, root, depth + 1) for branch in branches[:20])
                if depth < _DEEPEST
                else "any"
            )
    if isinstance(whole.get("properties"), Mapping):
        return named or "object"
    return named or "any"


def resolved(schema: object, root: object) -> JsonMapping:
    """The schema after following its local reference and a single `allOf`; {} for what is no object."""
    found: Any = schema
    for _ in range(_MOST_REFERENCES):
        if not isinstance(found, Mapping):
            return {}
        if isinstance(found.get("$ref"), str):
            target = _referenced(root, found["$ref"])
            if not isinstance(target, Mapping):
                return {key: value for key, value in found.items() if key != "$ref"}
            found = {**target, **{key: value for key, value in found.items() if key != "$ref"}}
        elif isinstance(found.get("allOf"), list) and "properties" not in found and "type" not in found:
            merged = _merged(found["allOf"], root)
            if merged is None:
                return found
            found = {**merged, **{key: value for key, value in found.items() if key != "allOf"}}
        else:
            return found
    return found if isinstance(found, Mapping) else {}


def _merged(parts: list[Any], root: object) -> JsonDict | None:
    """Merge the parts of an `allOf` into one schema, where that is simple."""
    merged: JsonDict = {}
    for part in parts[:20]:
        if not isinstance(part, Mapping):
            return None
        target = _referenced(root, part["$ref"]) if isinstance(part.get("$ref"), str) else part
        if not isinstance(target, Mapping):
            return None
        for key, value in target.items():
            if key == "properties" and isinstance(merged.get(key), Mapping) and isinstance(value, Mapping):
                merged[key] = {**merged[key], **value}
            elif key == "required" and isinstance(merged.get(key), list) and isinstance(value, list):
                merged[key] = [*merged[key], *value]
            else:
                merged.setdefault(key, value)
    return merged


def _argument(argument: Argument, root: object) -> Iterator[Piece]:
    whole = resolved(argument.schema, root)
    optional = not argument.required and "default" not in whole
    if optional:
        yield ("[", "")
    yield (argument.name, "argument")
    yield (": ", "")
    yield (type_of(argument.schema, root), "type")
    if not argument.required and "default" in whole:
        yield (" = ", "")
        yield (_literal(whole["default"]), "default")
    if optional:
        yield ("]", "")


def _plain_type(kind: object, schema: Mapping[str, object], root: object, depth: int, named: str) -> str:
    if kind == "array":
        if "items" not in schema or depth >= _DEEPEST:
            return "list"
        inner = type_of(schema["items"], root, depth + 1)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind == "object" and named:
        return named
    return _TYPES.get(kind, _short(kind)) if isinstance(kind, str) else "any"


def _alternatives(kinds: Iterator[str]) -> str:
    types = list(dict.fromkeys(kinds))
    if len(types) > MOST_KINDS:
        types = [*types[:MOST_KINDS], "…"]
    return "|".join(types)


def _reference_name(schema: object) -> str:
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if not isinstance(reference, str):
        return ""
    return "itself" if reference == "#" else _short(reference.rpartition("/")[2])


def _literal(value: object) -> str:
    try:
        return _short(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return "…"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _referenced(root: object, reference: str) -> object:
    """The target of a local reference, None for any other."""
    if not reference.startswith("#"):
        return None
    found = root
    for part in reference[1:].split("/")[1:50]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and len(key) < 6 and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found
