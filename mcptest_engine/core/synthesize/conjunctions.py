"""What schemas that all apply at one place say together, and JSON values as schemas see them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcptest_engine.core.synthesize.negation import TYPES
from mcptest_engine.core.synthesize.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.json_types import Json, JsonDict

    Conjunction = list[JsonDict]

DEPENDING = frozenset({"dependentRequired", "dependencies", "dependentSchemas"})
_KEYWORDS_OF = {
    "object": frozenset({"properties", "required", "patternProperties", "additionalProperties", "propertyNames"})
    | {
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "unevaluatedProperties",
    },
    "array": frozenset({"items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"})
    | {"additionalItems", "unevaluatedItems", "minContains"},
    "string": frozenset({"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
}


def json_key(value: object) -> str:
    """One text for all JSON values that are equal: 1 is 1.0, true is not 1."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, (dict, list)):
        return json.dumps(value, sort_keys=True, default=repr)
    return f"{type(value).__name__}:{value!r}"


def type_of(value: object) -> str:
    """The JSON type: "integer" for whole numbers, also for 1.0."""
    match value:
        case bool():
            return "boolean"
        case None:
            return "null"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case list():
            return "array"
        case _:
            return "object"


def allowed_values(schemas: Conjunction) -> list[Json] | None:
    lists = [[schema["const"]] for schema in schemas if "const" in schema]
    lists += [schema["enum"] for schema in schemas if isinstance(schema.get("enum"), list)]
    if not lists:
        return None
    first, *others = sorted(lists, key=len)
    for other in others:
        keys = {json_key(value) for value in other}
        first = [value for value in first if json_key(value) in keys]
    return first


def author_values(schemas: Conjunction) -> list[Json]:
    """What the author offers: defaults before examples."""
    defaults = [schema["default"] for schema in schemas if "default" in schema]
    examples = [
        value for schema in schemas if isinstance(schema.get("examples"), list) for value in schema["examples"][:4]
    ]
    return [*defaults, *examples, *(schema["example"] for schema in schemas if "example" in schema)]


def kinds_of(schemas: Conjunction) -> list[str]:
    """The types that all of the schemas allow, the likeliest first."""
    allowed: list[str] | None = None
    for schema in schemas:
        named = schema.get("type")
        named = [named] if isinstance(named, str) else named
        if isinstance(named, list):
            these = [kind for kind in named if isinstance(kind, str) and kind in TYPES]
            if "number" in these and "integer" not in these:
                these.append("integer")
            if "any" in named:
                these = list(TYPES)
            allowed = these if allowed is None else [kind for kind in allowed if kind in these]
    hinted = [
        kind for kind, keywords in _KEYWORDS_OF.items() if any(not keywords.isdisjoint(schema) for schema in schemas)
    ]
    if allowed is None:
        return list(dict.fromkeys([*hinted, *TYPES]))
    return sorted(allowed, key=lambda kind: (kind == "null", kind == "integer" and "number" in allowed))


def depending(schema: dict[str, object], names: Iterable[str]) -> list[object]:
    """What comes with the members of these names: lists of further names, and schemas for the whole object."""
    found = []
    for keyword in DEPENDING:
        depending = members(schema, keyword)
        found += [depending[name] for name in names if name in depending]
    return found


def count_of(schema: dict[str, object], keyword: str, otherwise: int) -> int:
    value = schema.get(keyword)
    return int(value) if is_number(value) else otherwise


def members(schema: JsonDict, keyword: str) -> JsonDict:
    members = schema.get(keyword)
    return members if isinstance(members, dict) else {}


def required(schema: JsonDict) -> list[str]:
    names = schema.get("required")
    if isinstance(names, list):
        return [name for name in names if isinstance(name, str)]
    return []


def prefix_schemas(schema: dict[str, object]) -> list[object]:
    prefix = schema.get("prefixItems", schema.get("items"))
    return prefix if isinstance(prefix, list) else []
