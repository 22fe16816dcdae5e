"""Changes of schemas: each kind by name, and the laws that make "not breaking" mean it."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptest_engine.safety.changes.schemas import schema_changes


def effects(old, new):
    return {f"{change.path}:{change.keyword}": str(change.effect) for change in schema_changes(old, new)}


def within(**schema: Any) -> dict[str, Any]:
    """An object with one property `a`."""
    return {"type": "object", "properties": {"a": schema}}


def integer(**schema: Any) -> dict[str, Any]:
    return within(type="integer", **schema)


KINDS = [
    ("type narrowed", within(type=["string", "null"]), within(type="string"), {"a:type": "narrowed"}),
    ("type widened", within(type="integer"), within(type="number"), {"a:type": "widened"}),
    ("type replaced", within(type="integer"), within(type="string"), {"a:type": "both"}),
    ("enum value dropped", within(enum=["x", "y"]), within(enum=["x"]), {"a:enum": "narrowed"}),
    ("enum value added", within(enum=["x"]), within(enum=["x", "y"]), {"a:enum": "widened"}),
    ("const among an enum", within(const="x"), within(enum=["x", "y"]), {"a:enum": "widened"}),
    ("minimum raised", within(minimum=1), within(minimum=2), {"a:minimum": "narrowed"}),
    ("minimum made exclusive", within(minimum=1), within(exclusiveMinimum=1), {"a:minimum": "narrowed"}),
    ("whole numbers", integer(exclusiveMinimum=0, exclusiveMaximum=10), integer(minimum=1, maximum=9), {}),
    ("whole numbers, halves", integer(minimum=0.5, maximum=9.5), integer(minimum=1, maximum=9), {}),
    ("whole numbers, fewer", integer(exclusiveMinimum=0), integer(exclusiveMinimum=1), {"a:minimum": "narrowed"}),
    ("not whole", within(exclusiveMinimum=0), within(minimum=1), {"a:minimum": "narrowed"}),
    ("maxLength raised", within(maxLength=1), within(maxLength=2), {"a:maxLength": "widened"}),
    ("maxLength new", within(), within(maxLength=2), {"a:maxLength": "narrowed"}),
    ("minLength of nothing", within(), within(minLength=0), {}),
    ("multipleOf loosened", within(multipleOf=4), within(multipleOf=2), {"a:multipleOf": "widened"}),
    ("multipleOf changed", within(multipleOf=4), within(multipleOf=6), {"a:multipleOf": "both"}),
    ("pattern changed", within(pattern="a"), within(pattern="b"), {"a:pattern": "unknown"}),
    ("default changed", within(default=1), within(default=2), {"a:default": "neutral"}),
    ("an item's type", within(items={"type": "string"}), within(items={"type": "null"}), {"a[]:type": "both"}),
    ("unique", within(), within(uniqueItems=True), {"a:uniqueItems": "narrowed"}),
    ("closed", {}, {"additionalProperties": False}, {":additionalProperties": "narrowed"}),
    ("opened", {"additionalProperties": False}, {}, {":additionalProperties": "widened"}),
    ("removed", within(), {"type": "object"}, {"a:properties": "both"}),
    ("new", {"type": "object"}, within(type="string"), {"a:properties": "neutral"}),
    ("new in a closed one", {"additionalProperties": False}, {**within(), "additionalProperties": False},
     {"a:properties": "widened", ":type": "narrowed"}),
    ("required now", within(), {**within(), "required": ["a"]}, {"a:required": "narrowed"}),
    ("optional now", {**within(), "required": ["a"]}, within(), {"a:required": "widened"}),
    ("new and required", {}, {"properties": {"a": {}}, "required": ["a"]}, {"a:required": "narrowed"}),
    ("null added by anyOf", within(type="string"), within(anyOf=[{"type": "string"}, {"type": "null"}]), {"a:type": "widened"}),
    ("another alternative", within(anyOf=[{"const": 1}]), within(anyOf=[{"const": 2}, {"const": 1}]), {"a:anyOf": "widened"}),
    ("reordered alternatives", within(anyOf=[{"const": 1}, {"const": 2}]), within(anyOf=[{"const": 2}, {"const": 1}]), {}),
    ("overlapping oneOf", within(oneOf=[{"type": "number"}]), within(oneOf=[{"type": "number"}, {"type": "integer"}]),
     {"a:oneOf": "unknown"}),
    ("discriminated oneOf",
     within(oneOf=[{"type": "object", "required": ["k"], "properties": {"k": {"const": 1}}}]),
     within(oneOf=[{"type": "object", "required": ["k"], "properties": {"k": {"const": value}}} for value in (1, 2)]),
     {"a:oneOf": "widened"}),
    ("if added", within(), within(**{"if": {"type": "string"}, "then": {"minLength": 1}}),
     {"a:if": "unknown", "a:then": "unknown"}),
    ("a condition more", within(allOf=[{"minLength": 1}]), within(allOf=[{"minLength": 1}, {"maxLength": 3}]),
     {"a:maxLength": "narrowed"}),
    ("not added", within(), within(**{"not": {"const": 1}}), {"a:not": "narrowed"}),
    ("nothing allowed", True, False, {":not": "narrowed"}),
    ("draft 4 bounds", within(minimum=1, exclusiveMinimum=True), within(minimum=1), {"a:minimum": "unknown"}),
    ("not a schema", within(), {"properties": 3}, {":type": "widened", "a:properties": "both"}),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), [kind[1:] for kind in KINDS], ids=[kind[0] for kind in KINDS])
def test_each_kind_of_change_is_told_for_what_it_is(old, new, expected):
    """What is lost and what is gained, by place and keyword."""
    assert effects(old, new) == expected


def test_a_reference_means_what_it_leads_to():
    """A definition that changes is a change of each place that refers to it; a renamed one is none."""
    old = {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": ["string", "null"]}}}
    inline = {"properties": {"a": {"type": ["string", "null"]}}}
    renamed = {"properties": {"a": {"allOf": [{"$ref": "#/$defs/B"}]}}, "$defs": {"B": {"type": ["null", "string"]}}}
    narrowed = {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}
    assert effects(old, inline) == effects(old, renamed) == {}
    assert effects(old, narrowed) == {"a:type": "narrowed"}


def test_a_schema_that_refers_to_itself_is_compared_once_around():
    """Trees are common in arguments."""

    def tree(**leaf: Any) -> dict[str, Any]:
        node = {"type": "object", "properties": {"leaf": leaf, "next": {"$ref": "#/$defs/Node"}}}
        return {"$ref": "#/$defs/Node", "$defs": {"Node": node}}

    assert effects(tree(type="string"), tree(type="string", maxLength=3)) == {"leaf:maxLength": "narrowed"}
    assert effects({"$ref": "#"}, {"$ref": "#", "title": "x"}).get(":$ref") == "unknown"


@pytest.mark.parametrize("reference", ["https://example.com/a.json", "#anchor", "#/nowhere", "#/$defs/~2", 3])
def test_a_reference_that_leads_nowhere_cannot_be_told(reference):
    """Nothing is fetched, and nothing is guessed."""
    assert effects({"$ref": reference}, {"type": "string"}) == {":$ref": "unknown"}


def test_schemas_that_are_too_large_cannot_be_told():
    """A hostile server's schema must not hold up a check."""

    def wide(depth: int, word: str) -> dict[str, Any]:
        defs = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 4} for n in range(depth)}
        return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{depth}": {"const": word}}}

    assert set(effects(wide(30, "a"), wide(30, "b")).values()) == {"unknown"}


TYPES = st.sampled_from(["boolean", "null", ["string", "null"]])
VALUES = st.lists(st.sampled_from(["x", "y", 1, None, True]), min_size=1, max_size=3, unique_by=repr)
SIMPLE = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")}, optional={"minLength": st.integers(0, 3), "maxLength": st.integers(3, 6)}
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": st.integers(-3, 0),
            "exclusiveMaximum": st.integers(2, 5),
            "multipleOf": st.sampled_from([1, 2, 4]),
        },
    ),
    st.fixed_dictionaries({"enum": VALUES}),
    st.fixed_dictionaries({"type": TYPES}),
    st.fixed_dictionaries({"const": st.sampled_from(["x", 1, None])}),
)


def arrays_of(inner):
    limits = {"minItems": st.integers(0, 1), "maxItems": st.integers(1, 3), "uniqueItems": st.booleans()}
    return st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional=limits)


def objects_of(inner):
    names = st.sampled_from("abc")
    return st.builds(
        lambda properties, required, closed: {
            "type": "object",
            "properties": properties,
            "required": sorted(properties.keys() & required),
            **({"additionalProperties": False} if closed else {}),
        },
        st.dictionaries(names, inner, max_size=3),
        st.sets(names),
        st.booleans(),
    )


SCHEMAS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        arrays_of(inner),
        objects_of(inner),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=2)}),
    ),
    max_leaves=5,
)


def mutated(draw, schema):
    """The schema with one part of it changed, mostly a little."""
    found = copy.deepcopy(schema)
    places = []

    def visit(value):
        if isinstance(value, dict):
            places.append(value)
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            visit(item)

    visit(found)
    place = draw(st.sampled_from(places))
    for key in draw(st.sets(st.sampled_from([*place, "minLength"]), max_size=2)):
        place.pop(key, None)
    place.update(draw(SIMPLE | st.just({}) | SCHEMAS))
    return found


SCALARS = ("", "x", "y", "abc", "abcdef", None, True, False, 0, 1, 2, 4, -3, -1, 3, 0.5, 1.0, 2.5)


def candidates(schema, depth=0):
    """Values on both sides of what the schema says; an object has no property that it does not name."""
    if not isinstance(schema, dict) or depth > 4:
        return list(SCALARS[:4])
    parts = [part for word in ("anyOf", "allOf", "oneOf") for part in schema.get(word, ())]
    found = [value for part in parts for value in candidates(part, depth + 1)]
    if "items" in schema:
        inner = candidates(schema["items"], depth + 1)
        few = [*inner[:6], *inner[-6:]]
        found += [
            [],
            *([one] for one in few),
            *([one, other] for one in few[:4] for other in few[:4]),
            few[:3],
            few[:4],
        ]
    if "properties" in schema:
        names = sorted(schema["properties"])
        values = [candidates(schema["properties"][name], depth + 1) for name in names]
        for at in range(max(map(len, values), default=0)):
            whole = {name: held[at % len(held)] for name, held in zip(names, values, strict=True)}
            found += [whole, *({name: value} for name, value in whole.items())]
        found.append({})
    return [*found, *(schema.get("enum", ())), *SCALARS] if not found else [*found[:120], *SCALARS[:8]]


def is_schema(schema):
    return jsonschema_rs.meta.is_valid({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


@given(SCHEMAS)
@settings(deadline=None, suppress_health_check=list(HealthCheck))
def test_a_schema_has_not_changed_from_itself(schema):
    """diff(A, A) is empty, for a copy as well."""
    assert schema_changes(schema, copy.deepcopy(schema)) == []


def check_law(draw, forbidden, *, of_results):
    """Where no change is `forbidden`, what one schema accepts the other does too."""
    old = draw(SCHEMAS)
    new = mutated(draw, old)
    if not is_schema(new) or {str(change.effect) for change in schema_changes(old, new)} & forbidden:
        return
    accepted, accepting = (new, old) if of_results else (old, new)
    first, then = (jsonschema_rs.Draft202012Validator(schema) for schema in (accepted, accepting))
    # Of arguments only those that the old schema names: a new optional one may have a name that an open schema let pass.
    for value in [*candidates(accepted), *(candidates(accepting) if of_results else ())]:
        assert then.is_valid(value) or not first.is_valid(value), (old, new, value)


@given(st.data())
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_not_breaking_rejects_no_argument_that_was_accepted(data):
    """The law of arguments: nothing that narrows, and nothing that are unclear, means nothing is lost."""
    check_law(data.draw, {"narrowed", "both", "unknown"}, of_results=False)


@given(st.data())
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_not_breaking_gives_no_result_that_was_impossible(data):
    """The law of results: nothing that widens, and nothing that are unclear, means nothing is gained."""
    check_law(data.draw, {"widened", "both", "unknown"}, of_results=True)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.sampled_from(["string", "#", "$ref"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "properties",
                        "required",
                        "items",
                        "anyOf",
                        "oneOf",
                        "allOf",
                        "enum",
                        "$ref",
                        "not",
                        "minimum",
                        "additionalProperties",
                        "prefixItems",
                        "dependentRequired",
                        "multipleOf",
                        "a",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
    st.data(),
)
@settings(deadline=None)
def test_anything_that_a_server_calls_a_schema_can_be_compared(schema, data):
    """A catalog is foreign data."""
    schema_changes(schema, data.draw(st.just(schema) | st.just({}) | st.just([schema])))
