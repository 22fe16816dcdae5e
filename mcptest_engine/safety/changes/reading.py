"""Read JSON Schemas: the types and values that a schema allows, the target of a reference, and which parts may be merged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.json_types import JsonDict

Schema = Mapping[str, object]

TEXTS = ("title", "description", "default", "examples", "deprecated")
UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_SCOPES = (  # keywords that depend on each other: merged only when one side has them all
    frozenset({"properties", "patternProperties", "additionalProperties"}),
    frozenset({"prefixItems", "items", "additionalItems"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"if", "then", "else"}),
)
_NEWEST = "https://json-schema.org/draft/2020-12/schema"
_CHANGED_WORDS = (
    "$ref", "$dynamicRef", "$recursiveRef", "dependencies", "dependentRequired", "dependentSchemas", "prefixItems", "contains",
    "additionalItems", "unevaluatedProperties", "unevaluatedItems", "exclusiveMinimum", "exclusiveMaximum", "const", "if",
    "propertyNames", "id",
)  # fmt: skip
JSON_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def mergeable(merged: Schema, part: Schema) -> bool:
    """Whether the keywords of `part` can be added to `merged`: none is in both, and none depends on the other schema's."""
    keys = [{key for key in schema if key not in TEXTS} for schema in (merged, part)]
    if keys[0] & keys[1] or any(key in names for key in UNEVALUATED for names in keys):
        return False
    return not any(scope & keys[0] and scope & keys[1] for scope in _SCOPES)


_OF_TYPE: Mapping[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
    "array": frozenset(
        {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"}
    ),
    "object": frozenset(
        {"properties", "patternProperties", "additionalProperties", "required", "propertyNames", "minProperties"}
        | {"maxProperties", "dependentRequired"}
    ),
}
_OF_TYPE = {**_OF_TYPE, "integer": _OF_TYPE["number"]}


def with_one_type(schema: dict[str, object]) -> Schema:
    """Join an `anyOf` of different types to one schema: keywords about one type do not constrain the others."""
    branches = schema.get("anyOf")
    if not isinstance(branches, list) or not branches or types_of(schema) is not None:
        return schema
    joined: JsonDict = {}
    types: list[str] = []
    for branch in branches:
        kind = branch.get("type") if isinstance(branch, Mapping) else None
        if not isinstance(kind, str) or kind not in JSON_TYPES or overlap(frozenset({kind}), frozenset(types)):
            return schema
        own = {key: value for key, value in branch.items() if key != "type" and key not in TEXTS}
        if not own.keys() <= _OF_TYPE.get(kind, frozenset()) or own.keys() & schema.keys():
            return schema
        types.append(kind)
        joined |= own
    return {**{key: value for key, value in schema.items() if key != "anyOf"}, "type": types, **joined}


def dialect(schema: Schema) -> str:
    return str(schema.get("$schema", _NEWEST)).rstrip("#").removeprefix("https:").removeprefix("http:")


def reads_alike(schema: object) -> bool:
    """Whether every dialect reads the schema alike: it has no keyword whose meaning changed between dialects."""
    text = canonical(schema)
    return not any(f'"{word}"' in text for word in _CHANGED_WORDS) and '"items": [' not in text


def has_nested_id(schema: object) -> bool:
    """Whether a part has an `$id` of its own, to which references inside it are relative."""
    own = isinstance(schema, Mapping) and "$id" in schema
    return canonical(schema).count('"$id":') > own


def pointed(root: object, reference: object) -> object:
    """The target of a reference within the document `root`; None for any other reference."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    from urllib.parse import unquote

    found = root
    for token in unquote(reference[1:]).split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and token in found:
            found = found[token]
        elif isinstance(found, list) and token.isdigit() and int(token) < len(found):
            found = found[int(token)]
        else:
            return None
    return found if reference == "#" or reference.startswith("#/") else None


def types_of(schema: Schema) -> frozenset[str] | None:
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    return frozenset(str(one) for one in declared) if isinstance(declared, list) else None


def within(these: Iterable[str], those: frozenset[str]) -> bool:
    """Whether all of `these` types are among `those`, where an integer is a number."""
    return all(one in those or (one == "integer" and "number" in those) for one in these)


def overlap(these: frozenset[str], those: frozenset[str]) -> bool:
    """Whether a value can be of one of `these` and one of `those` types, where an integer is a number."""
    return any(one in those or (one in {"integer", "number"} and those & {"integer", "number"}) for one in these)


def values_of(schema: Schema) -> list[str] | None:
    """The values that `enum` and `const` both allow, as JSON texts; None for a schema with neither."""
    listed = schema.get("enum")
    found = [canonical(value) for value in listed] if isinstance(listed, list) else None
    if "const" in schema:
        only = canonical(schema["const"])
        return [only] if found is None or only in found else []
    return found


def mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def names(value: object) -> list[str]:
    return [name for name in listed(value) if isinstance(name, str)]


def canonical(value: object) -> str:
    """A value as JSON that is the same for equal values; `1` and `1.0` are equal, `1` and `true` are not."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
