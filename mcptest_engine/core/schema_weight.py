"""How much work judging a value by a schema is, before it is done.

The validator follows each reference each time it meets it, in native code that nobody can interrupt: thirty definitions,
each an `allOf` of the next one twice, keep it busy for minutes. Here every pair of schema and value is counted once.
Most schemas are cleared by themselves, before there is a value: those that are small when each reference is written out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.schema_document import OPAQUE, Document

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.core.json_types import JsonDict

HEAVIEST = 500_000  # visits; some 20 ms
_DEEPEST = 300
_MOST_PAIRS = 50_000
_MOST_WRITTEN_OUT = 10_000
_PATIENCE = 20  # how much more a value that somebody sent may cost than one of our own making
_MOST_PAIRS = 50_000
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")


def too_heavy(document: Document, value: object, *, patience: int = 1) -> bool:
    """Whether the validator would visit more than `HEAVIEST` pairs of schema and value, times `patience`."""
    if document.reference_count == 0:
        return False
    scale = _Scale(document, HEAVIEST * patience, _MOST_PAIRS * patience)
    return scale.weigh(document.root, value, 0) > scale.heaviest


def weight_check(schema: object) -> Callable[[object], bool] | None:
    """What tells whether a value that a server sent is too much work to judge; None when no value ever is."""
    document = Document(schema)
    if document.reference_count == 0 or _containers_without_references(document) <= _MOST_WRITTEN_OUT:
        return None
    return lambda value: too_heavy(document, value, patience=_PATIENCE)


def _containers_without_references(document: Document) -> int:
    """How many containers the schema has once each reference is replaced by what it leads to; too many for one in a loop."""
    sizes: dict[int, int] = {}
    too_many = _MOST_WRITTEN_OUT + 1

    def size(node: object, depth: int) -> int:
        if not isinstance(node, (dict, list)):
            return 0
        if id(node) in sizes:
            return sizes[id(node)]
        if depth > _DEEPEST:
            return too_many
        sizes[id(node)] = too_many  # until it is known: whoever comes back here is in a loop
        if isinstance(node, dict):
            parts = [*document.references(node), *(part for key, part in node.items() if key not in OPAQUE)]
        else:
            parts = node
        found = 1
        for part in parts:
            found += size(part, depth + 1)
            if found >= too_many:
                break
        sizes[id(node)] = found = min(found, too_many)
        return found

    return size(document.root, 0)


class _Scale:
    def __init__(self, document: Document, heaviest: int, most_pairs: int) -> None:
        self.heaviest = heaviest
        self._most_pairs = most_pairs
        self._document = document
        self._known: dict[tuple[int, int], int] = {}

    def weigh(self, schema: object, value: object, depth: int) -> int:
        if not isinstance(schema, dict):
            return 1
        key = (id(schema), id(value) if isinstance(value, (dict, list)) else 0)  # all others lead to the same schemas
        if key in self._known:
            return self._known[key]
        if depth > _DEEPEST or len(self._known) > self._most_pairs:
            return self.heaviest + 1
        self._known[key] = 1  # a loop counts once; the validator ends it too
        total = 1
        for part, member in self._below(schema, value):
            total += self.weigh(part, member, depth + 1)
            if total > self.heaviest:
                break
        self._known[key] = total
        return total

    def _below(self, schema: JsonDict, value: Any) -> list[tuple[Any, Any]]:
        parts: list[tuple[Any, Any]] = [(target, value) for target in self._document.references(schema)]
        for keyword in _LISTS:
            branches = schema.get(keyword)
            parts += [(branch, value) for branch in branches] if isinstance(branches, list) else []
        parts += [(schema[keyword], value) for keyword in _SINGLE if keyword in schema]
        if isinstance(value, dict):
            parts += self._members(schema, value)
        elif isinstance(value, list):
            for keyword in ("items", "additionalItems", "unevaluatedItems", "contains"):
                part = schema.get(keyword)
                if isinstance(part, dict):
                    parts += [(part, item) for item in value]
            for keyword in ("items", "prefixItems"):
                listed = schema.get(keyword)
                parts += zip(listed, value, strict=False) if isinstance(listed, list) else []
        return parts

    @staticmethod
    def _members(schema: JsonDict, value: JsonDict) -> list[tuple[Any, Any]]:
        own = schema.get("properties")
        parts = [(own[name], member) for name, member in value.items() if name in own] if isinstance(own, dict) else []
        for keyword in ("patternProperties", "dependentSchemas", "dependencies"):
            listed = schema.get(keyword)
            for rule in listed.values() if isinstance(listed, dict) else ():
                whole = keyword != "patternProperties"
                parts += [(rule, value)] if whole else [(rule, member) for member in value.values()]
        for keyword in ("additionalProperties", "unevaluatedProperties"):
            part = schema.get(keyword)
            if isinstance(part, dict):
                parts += [(part, member) for member in value.values()]
        if isinstance(schema.get("propertyNames"), dict):
            parts += [(schema["propertyNames"], name) for name in value]
        return parts
