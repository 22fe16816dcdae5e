"""The structure of observed values as a JSON Schema: their types, and the members that all of them had.

Several values at one path (the elements of an array, two calls) get one description that all of them match. What is too wide,
too deep or too large is left undescribed, so that the schema never claims more than was seen.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcptest_engine.core.json_types import JsonDict

MOST_VALUES = 100_000
"""The most values that are read."""
MOST_SHAPES = 200
"""The most places that a schema describes."""
DEEPEST = 8
MOST_MEMBERS = 60
"""An object with more members than this is treated as a map, whose keys are data."""
LONGEST_NAME = 100


@dataclass(slots=True, eq=False)
class Shape:
    """What was seen at one place. `open`: not everything was read, so nothing is said about its content."""

    depth: int
    types: set[str] = field(default_factory=set)
    members: dict[str, Shape] = field(default_factory=dict)
    required: set[str] | None = None
    elements: Shape | None = None
    members_open: bool = False
    elements_open: bool = False


def schema_of(values: Iterable[Any], *, may_name: Callable[[str], bool] = lambda _: True) -> JsonDict:
    """A JSON Schema that all `values` match. Members whose name `may_name` refuses are left out.

    Keys are sorted, so that equal observations give equal texts.
    """
    top = Shape(depth=0)
    waiting = deque((top, value) for value in values)
    seen, shapes = 0, 1
    while waiting:
        shape, value = waiting.popleft()
        seen += 1
        shape.types.add(type_of(value))
        if isinstance(value, dict):
            if shape.members_open or shape.depth >= DEEPEST or not _may_look(len(value), seen, waiting, MOST_MEMBERS):
                shape.members_open = True
                continue
            names = {name for name in value if isinstance(name, str) and len(name) <= LONGEST_NAME and may_name(name)}
            shape.required = names if shape.required is None else shape.required & names
            for name in sorted(names):
                member = shape.members.get(name)
                if member is None:
                    if shapes >= MOST_SHAPES:
                        shape.required.discard(name)
                        continue
                    member = shape.members[name] = Shape(depth=shape.depth + 1)
                    shapes += 1
                waiting.append((member, value[name]))
        elif isinstance(value, list):
            if shape.elements_open or not _may_look(len(value), seen, waiting, MOST_VALUES):
                shape.elements_open = True
                continue
            if value and shape.elements is None:
                if shapes >= MOST_SHAPES or shape.depth >= DEEPEST:
                    shape.elements_open = True
                    continue
                shape.elements = Shape(depth=shape.depth + 1)
                shapes += 1
            waiting.extend((shape.elements, element) for element in value if shape.elements is not None)
    return _rendered(top)


def widened(schema: JsonDict, declared: object) -> JsonDict:
    """The observed schema, with "number" for whole numbers when the declared schema allows any number."""
    if not isinstance(declared, dict):
        return schema
    found, inner = dict(schema), declared.get("properties")
    seen, allowed = (
        [types] if isinstance(types, str) else types for types in (schema.get("type"), declared.get("type"))
    )
    if isinstance(seen, list) and isinstance(allowed, list) and "integer" in seen and "number" in allowed:
        types = sorted("number" if one == "integer" else one for one in seen)
        found["type"] = types[0] if len(types) == 1 else types
    if "properties" in found and isinstance(inner, dict):
        found["properties"] = {name: widened(member, inner.get(name)) for name, member in found["properties"].items()}
    if "items" in found:
        found["items"] = widened(found["items"], declared.get("items"))
    return found


def type_of(value: object) -> str:
    """The JSON Schema type of a value; 5.0 is a number, though a schema would accept it as an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array"


def _may_look(size: int, seen: int, waiting: deque[Any], most: int) -> bool:
    return size <= most and seen + len(waiting) + size <= MOST_VALUES


def _rendered(shape: Shape) -> dict[str, object]:
    """The schema, its keys in alphabetical order."""
    found: JsonDict = {}
    if shape.elements is not None and not shape.elements_open:
        inner = _rendered(shape.elements)
        if inner:
            found["items"] = inner
    if not shape.members_open:
        members = {name: _rendered(shape.members[name]) for name in sorted(shape.members)}
        if members:
            found["properties"] = members
        if shape.required:
            found["required"] = sorted(shape.required)
    types = shape.types - {"integer"} if "number" in shape.types else shape.types
    if types:
        found["type"] = next(iter(types)) if len(types) == 1 else sorted(types)
    return found
