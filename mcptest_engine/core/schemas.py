"""JSON Schemas, compiled once and cut off from the world.

A server chooses its schemas and an author copies them, so a reference must never make us open a socket or a file: both
validators we could use fetch remote references unless told not to. Formats are checked; without `$schema` a schema is
read as draft 2020-12.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from jsonschema_rs import Validator

DEEPEST = 200  # levels; the validator recurses in native code, where too much depth ends the whole process
REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_CACHED = 1024
_SCALARS = frozenset({str, int, float, bool, type(None)})
_VALIDATORS: dict[str, Validator] = {}


class SchemaError(ValueError):
    """A JSON Schema that cannot be used. `pointer` is the JSON Pointer of the fault inside the schema, "" when unknown."""

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(f"{message} (at `{pointer}`)" if pointer else message)
        self.message = message
        self.pointer = pointer


def compile_schema(schema: object) -> Validator:
    """The validator for a schema (an object or a boolean), kept by the schema's JSON text.

    Raises: SchemaError for what is not a schema, and for a reference to anything outside it.
    """
    if nested_deeper_than(schema, DEEPEST):
        raise SchemaError("the schema is nested too deeply")
    try:
        text = json.dumps(schema, separators=(",", ":"))
    except (TypeError, ValueError):
        raise SchemaError("the schema is not JSON") from None
    validator = _VALIDATORS.get(text)
    if validator is None:
        if len(_VALIDATORS) >= _CACHED:
            _VALIDATORS.clear()
        validator = _VALIDATORS[text] = _compiled(schema)
    return validator


def refers(schema: object) -> bool:
    """Whether a keyword that refers to another schema stands anywhere in the schema; linear, without recursion."""
    met = [schema]
    for node in met:  # which grows meanwhile
        if isinstance(node, dict):
            if not REFERENCES.isdisjoint(node):
                return True
            met += node.values()
        elif isinstance(node, list):
            met += node
    return False


def refuse_to_fetch(uri: str) -> NoReturn:
    """The `retriever` of every validator: a schema is never the reason for a request or for reading a file."""
    raise ValueError(f"nothing outside of the schema is fetched: {uri}")


def nested_deeper_than(value: object, levels: int) -> bool:
    """Whether arrays and objects of `value` stand more than `levels` deep in each other; linear, without recursion."""
    if not isinstance(value, (dict, list)):
        return False
    met = [value]
    for container in met:  # which grows meanwhile; few of them cannot be deep, and most values have few
        for member in container.values() if isinstance(container, dict) else container:
            if member.__class__ not in _SCALARS and isinstance(member, (dict, list)):
                met.append(member)  # noqa: PERF401 - cheaper than a comprehension where there is none
        if len(met) > levels:
            return _layers_deeper_than(value, levels)
    return False


def _layers_deeper_than(value: Any, levels: int) -> bool:
    containers = (dict, list)
    layer = [value]
    for _ in range(levels):
        if not layer:
            return False
        layer = [  # most members are texts, and that is asked sooner
            member
            for container in layer
            for member in (container.values() if isinstance(container, dict) else container)
            if member.__class__ is not str and isinstance(member, containers)
        ]
    return bool(layer)


def _compiled(schema: Any) -> Validator:
    import jsonschema_rs

    from mcptest_engine.core.text import pointer

    try:
        return jsonschema_rs.validator_for(schema, validate_formats=True, retriever=refuse_to_fetch)
    except jsonschema_rs.ValidationError as wrong:
        raise SchemaError(_first_line(wrong.message), pointer(wrong.instance_path)) from None
    except (ValueError, TypeError) as wrong:
        raise SchemaError(_first_line(str(wrong))) from None


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
