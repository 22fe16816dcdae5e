"""The published schema as a tree to walk: what may stand at a place, and how it is described.

Of alternatives (`anyOf`, a reference, `if`) all are followed. The schema of a server's tool is walked in the same way, and may
be of any shape: nothing here raises.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mcptest_engine.suite.schema import schema_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TEMPLATE = "#/$defs/Template"
_MOST_DEPTH = 24
_MOST_SKELETON_LEVELS = 4
_MOST_SKELETON_VALUES = 40
Schema = dict[str, Any]


@lru_cache(maxsize=1)
def suite_schema() -> Schema:
    """The schema of a suite."""
    schema: Schema = json.loads(schema_text())
    return schema


@lru_cache(maxsize=2_000)
def of_suite(path: tuple[str | int, ...]) -> tuple[Schema, ...]:
    """What may stand at a path of the suite, each alternative by itself."""
    return walk(suite_schema(), path)


@lru_cache(maxsize=2_000)
def suite_property(path: tuple[str | int, ...]) -> Schema | None:
    """The property that a path ends in, with its description and examples."""
    return described(suite_schema(), path)


def walk(root: object, path: Sequence[str | int]) -> tuple[Schema, ...]:
    """The alternatives at `path`, where an int stands for any item of a list."""
    here = tuple(alternatives(root, root))
    for part in path:
        here = tuple(
            inner for schema in here for found in _children(schema, part) for inner in alternatives(root, found)
        )
        if len(here) > 200:
            return here[:200]
    return here


def described(root: object, path: Sequence[str | int]) -> Schema | None:
    """The schema of the key that `path` ends in, as its mapping describes it."""
    if not path:
        return root if isinstance(root, dict) else None
    for schema in walk(root, path[:-1]):
        for found in _children(schema, path[-1]):
            if isinstance(found, dict):
                return found
    return None


def alternatives(root: object, schema: object, depth: int = 0, followed: set[str] | None = None) -> Iterator[Schema]:
    """A schema with its references followed, each of them once, and its alternatives taken apart."""
    if not isinstance(schema, dict) or depth > _MOST_DEPTH:
        return
    followed = {_TEMPLATE} if followed is None else followed
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if reference not in followed:
            followed.add(reference)
            yield from alternatives(root, _resolved(root, reference), depth + 1, followed)
        return
    apart = [part for key in ("anyOf", "oneOf", "allOf") for part in _listed(schema.get(key)) if _says_a_shape(part)]
    apart += [schema[key] for key in ("else", "then") if key in schema]
    if apart:
        for part in apart:
            yield from alternatives(root, part, depth + 1, followed)
    if not apart or "properties" in schema or "enum" in schema:
        yield schema


def properties(schemas: Sequence[Schema]) -> dict[str, Any]:
    """The known keys of all alternatives that are objects, in the schema's order."""
    found: dict[str, Any] = {}
    for schema in schemas:
        known = schema.get("properties")
        if isinstance(known, dict):
            for key, value in known.items():
                found.setdefault(str(key), value)
    return found


def required(schemas: Sequence[Schema]) -> set[str]:
    """The keys that must be there."""
    return {str(key) for schema in schemas for key in _listed(schema.get("required")) if isinstance(key, str)}


def values(schemas: Sequence[Schema]) -> list[tuple[Any, str]]:
    """The scalars that a schema names: (value, "value" for one of a closed set, "example" for an example)."""
    found: dict[str, tuple[Any, str]] = {}
    for schema in schemas:
        closed = [*_listed(schema.get("enum")), *([schema["const"]] if "const" in schema else [])]
        if not closed and "boolean" in types(schema):
            closed = [True, False]
        for value in closed:
            if not isinstance(value, (dict, list)):
                found.setdefault(repr(value), (value, "value"))
    return list(found.values())


def examples(schema: object) -> list[Any]:
    """The examples of a property, its default first."""
    if not isinstance(schema, dict):
        return []
    given = [schema["default"]] if "default" in schema else []
    return given + [example for example in _listed(schema.get("examples")) if example not in given]


def types(schema: object) -> tuple[str, ...]:
    """JSON Schema's names of what a schema takes."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(kind, str):
        return (kind,)
    if isinstance(kind, list):
        return tuple(name for name in kind if isinstance(name, str))
    return ("object",) if isinstance(schema, dict) and "properties" in schema else ()


def description(schema: object) -> str:
    """What a schema says of itself."""
    text = schema.get("description") if isinstance(schema, dict) else None
    return text if isinstance(text, str) else ""


def skeleton(root: object, schema: object) -> Any:
    """A value to begin with: the schema's default, its first value or example, else null or an empty one of its type.

    An object has its required keys, down to a few levels and as long as there are not many: a schema may refer to itself.
    """
    count = 0

    def build_value(schema: object, level: int) -> Any:
        nonlocal count
        count += 1
        parts = list(alternatives(root, schema))
        for part in parts:
            known = examples(part) or [value for value, _ in values([part])]
            if known:
                return known[0]
        kinds = [name for part in parts for name in types(part)] or ["string"]
        if "null" in kinds:
            return None
        if kinds[0] == "object":
            inner = properties(parts)
            names = sorted(required(parts) & inner.keys()) if level < _MOST_SKELETON_LEVELS else []
            return {name: build_value(inner[name], level + 1) for name in names if count < _MOST_SKELETON_VALUES}
        return {"integer": 0, "number": 0, "boolean": False, "array": []}.get(kinds[0], "")

    return build_value(schema, 0)


def type_shown(root: object, schema: object) -> str:
    """The types of a property in a few words: `string or list of string`."""
    shown: dict[str, None] = {}
    for part in alternatives(root, schema):
        for name in types(part) or (("any value",) if not part.get("enum") and "const" not in part else ("one of",)):
            inner = "" if name != "array" else " or ".join(types(next(alternatives(root, part.get("items")), {})))
            shown[f"list of {inner}" if inner else "list" if name == "array" else name] = None
    return " or ".join(shown)


def values_shown(root: object, schema: object) -> str:
    """The values of a property where they are few and closed, `celsius | fahrenheit`, else its types."""
    closed = [
        value if isinstance(value, str) else json.dumps(value) for value, _ in values(list(alternatives(root, schema)))
    ]
    return " | ".join(closed) if 0 < len(closed) < 12 else type_shown(root, schema)


def _children(schema: Schema, part: str | int) -> Iterator[Any]:
    if isinstance(part, int):
        if "items" in schema:
            yield schema["items"]
        return
    known = schema.get("properties")
    if isinstance(known, dict) and part in known:
        yield known[part]
    elif inner := [told for pattern, told in _patterns(schema) if re.search(pattern, part)]:
        yield inner[0]
    elif isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"]


def _patterns(schema: Schema) -> Iterator[tuple[str, Any]]:
    """The patterns for keys that the suite's own schema has; those of a server's schema may be of any form."""
    known = schema.get("patternProperties")
    if isinstance(known, dict) and "assertions" in schema.get("properties", ()):
        yield from known.items()


def _says_a_shape(schema: object) -> bool:
    """`{required: […]}` alone is a condition and no shape of its own."""
    return isinstance(schema, dict) and set(schema) != {"required"}


def _resolved(root: object, reference: str) -> Any:
    if not reference.startswith("#"):
        return None
    found = root
    for part in reference[1:].split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
