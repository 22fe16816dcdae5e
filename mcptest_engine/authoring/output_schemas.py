"""A tool's `outputSchema` as a generated test can hold it: without its prose, and only when it can be judged by itself."""

from __future__ import annotations

from typing import Any

from mcptest_engine.authoring.suite_text import plain
from mcptest_engine.core.sanitise import one_line

_BARE = frozenset({"description", "title", "$comment", "examples"})
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DATA = frozenset({"const", "enum", "default"})
DEEPEST_SCHEMA = 60  # levels; a suite has 100, some of which lead to the schema


def usable_schema(schema: object) -> tuple[dict[str, Any], str | None]:
    """An `outputSchema` without its prose and what checks nothing in it, or why it cannot be used.

    It cannot when it is no schema, or needs something from elsewhere.
    """
    from mcptest_engine.core.schema_keywords import ineffective_parts
    from mcptest_engine.core.schemas import SchemaError, compile_schema, nested_deeper_than

    if not isinstance(schema, dict):
        return {}, "it is not an object"
    if nested_deeper_than(schema, DEEPEST_SCHEMA):
        return {}, "it is nested too deeply"
    for candidate in (without_prose(schema), plain(schema)):
        try:
            compile_schema(candidate)
            for part in list(ineffective_parts(candidate)):
                holder: Any = candidate
                for step in part.path[:-1]:
                    holder = holder[step]
                del holder[part.path[-1]]
        except SchemaError as wrong:
            why = one_line(wrong.message, 160)
        else:
            return candidate, None
    return {}, why


def without_prose(schema: Any) -> Any:
    """A copy of a JSON Schema without what it says to people, which decides nothing and may be aimed at a model."""
    if isinstance(schema, list):
        return [without_prose(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    bare = {}
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            bare[key] = {name: without_prose(inner) for name, inner in value.items()}
        elif key in _DATA:
            bare[key] = plain(value)
        elif key not in _BARE:
            bare[key] = without_prose(value)
    return bare
