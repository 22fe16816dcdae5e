"""A JSON Schema as the rows of a table that a person reads: name, type, what is required, defaults, bounds, description.

Nested objects stand below what holds them, one level deeper. A schema may refer to itself and may be nonsense: references are
followed a few levels, rows end at a number, and what cannot be said in rows is left to the raw JSON.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.servers.signatures import resolved, type_of
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEEPEST = 5
MOST_ROWS = 400
MOST_VALUES = 30
_LONGEST = 400


class SchemaRow(NamedTuple):
    """One member. `facts` are short words: `required`, `default 3`, `1 to 7`."""

    depth: int
    name: str
    type: str
    required: bool
    facts: tuple[str, ...]
    description: str


def rows_of(schema: object) -> list[SchemaRow]:
    """Return the members of an object's schema, [] for one without members."""
    rows: list[SchemaRow] = []
    for row in _members(schema, schema, 0, frozenset({"#"})):
        rows.append(row)
        if len(rows) >= MOST_ROWS:
            rows.append(
                SchemaRow(0, "…", "", False, (f"more than can be shown; {key_of('servers.raw')} shows the JSON",), "")
            )
            break
    return rows


def facts_of(schema: object, root: object) -> list[str]:
    """What a schema says of a value beside its type, in the order in which one wants to know it."""
    whole = resolved(schema, root)
    found: list[str] = []
    if "default" in whole:
        found.append(f"default {_literal(whole['default'])}")
    values = whole.get("enum")
    if isinstance(values, list) and len(values) > 4:
        told = ", ".join(_literal(value) for value in values[:MOST_VALUES])
        found.append(f"one of {told}{', …' if len(values) > MOST_VALUES else ''}")
    found += _bounds(whole, "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "")
    found += _bounds(whole, "minLength", "", "maxLength", "", "character")
    found += _bounds(whole, "minItems", "", "maxItems", "", "item")
    if _is_number(whole.get("multipleOf")):
        found.append(f"a multiple of {_literal(whole['multipleOf'])}")
    if whole.get("uniqueItems") is True:
        found.append("no item twice")
    for key, word in (("pattern", "matches"), ("format", "format")):
        if isinstance(whole.get(key), str):
            found.append(f"{word} {whole[key][:_LONGEST]}")
    examples = whole.get("examples")
    if isinstance(examples, list) and examples:
        found.append(f"such as {_literal(examples[0])}")
    if whole.get("deprecated") is True:
        found.append("deprecated")
    if isinstance(whole.get("$ref"), str):
        found.append(f"refers to {whole['$ref'][:_LONGEST]}")
    return found


def describes(schema: object) -> str:
    """What a whole schema is where it has no members: `any object`, `no arguments`, `not an object`."""
    whole = resolved(schema, schema)
    if not isinstance(schema, dict):
        return (
            "no schema" if schema is None else "any arguments" if schema is True else "a schema that is not an object"
        )
    if whole.get("properties"):
        return ""
    if whole.get("type") not in ("object", None):
        return f"a schema for {type_of(schema, schema)}, where an object's is expected"
    if any(key in whole for key in ("anyOf", "oneOf", "allOf", "$ref", "patternProperties", "if")):
        return f"a schema that is not a list of members; {key_of('servers.raw')} shows it"
    return "any object" if whole.get("additionalProperties") else "none"


def _members(schema: object, root: object, depth: int, above: frozenset[str]) -> Iterator[SchemaRow]:
    whole = resolved(schema, root)
    properties = whole.get("properties")
    if not isinstance(properties, dict):
        return
    required = whole.get("required")
    needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    for name, about in sorted(properties.items(), key=lambda member: member[0] not in needed):
        known = _references(about, root) & above
        yield _row(name, about, root, depth, name in needed, known=bool(known))
        if depth < DEEPEST and not known:
            yield from _below(about, root, depth + 1, above | _references(about, root))


def _below(schema: object, root: object, depth: int, above: frozenset[str]) -> Iterator[SchemaRow]:
    whole = resolved(schema, root)
    if isinstance(whole.get("properties"), dict):
        yield from _members(schema, root, depth, above)
    items = whole.get("items")
    if isinstance(items, dict):
        inner = resolved(items, root)
        if isinstance(inner.get("properties"), dict):
            yield from _members(items, root, depth, above)
        elif facts := facts_of(items, root):
            yield SchemaRow(depth, "each", type_of(items, root), False, tuple(facts), _description(inner))
    more = whole.get("additionalProperties")
    if isinstance(more, dict) and more:
        yield SchemaRow(depth, "(any name)", type_of(more, root), False, tuple(facts_of(more, root)), "")
    for key in ("anyOf", "oneOf"):
        branches = whole.get(key)
        for branch in branches[:10] if isinstance(branches, list) and "properties" not in whole else ():
            inner = resolved(branch, root)
            if isinstance(inner.get("properties"), dict) and depth < DEEPEST:
                title = inner.get("title")
                yield SchemaRow(depth, "or", str(title) if isinstance(title, str) else "object", False, (), "")
                yield from _members(branch, root, depth + 1, above)


def _row(name: object, schema: object, root: object, depth: int, required: bool, *, known: bool) -> SchemaRow:
    whole = resolved(schema, root)
    kind = "never" if schema is False else type_of(schema, root)
    if isinstance(whole.get("enum"), list) and len(whole["enum"]) > 4:
        plain = whole.get("type")
        kind = type_of({"type": plain}, root) if isinstance(plain, str) else "any"
    facts = [*(("required",) if required else ()), *(("as above",) if known else facts_of(schema, root))]
    return SchemaRow(depth, str(name), kind, required, tuple(facts), _description(whole))


def _references(schema: object, root: object) -> frozenset[str]:
    """Return what a schema refers to, itself and in its items."""
    items = resolved(schema, root).get("items")
    found = [one.get("$ref") for one in (schema, items) if isinstance(one, dict)]
    return frozenset(one for one in found if isinstance(one, str))


def _description(whole: Mapping[str, object]) -> str:
    text = whole.get("description")
    return text if isinstance(text, str) else ""


def _bounds(whole: Mapping[str, object], low: str, above: str, high: str, below: str, unit: str) -> Iterator[str]:
    least, most = whole.get(low), whole.get(high)
    more_than, less_than = whole.get(above), whole.get(below)
    if _is_number(least) and _is_number(most):
        yield _counted(most, unit) if least == most else f"{_literal(least)} to {_counted(most, unit)}"
        return
    for value, words in ((least, "at least"), (most, "at most"), (more_than, "more than"), (less_than, "less than")):
        if unit and words == "at least" and value == 1:
            yield "not empty"
        elif _is_number(value) and not (unit and value == 0):
            yield f"{words} {_counted(value, unit)}"


def _counted(value: object, unit: str) -> str:
    return f"{_literal(value)} {unit}{'' if value == 1 else 's'}" if unit else _literal(value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _literal(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "…"
    return text if len(text) <= 80 else f"{text[:79]}…"
