"""What `synthesize` and `arguments_for` make of one schema."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest_engine.core.schemas import compile_schema
from mcptest_engine.core.synthesize import arguments_for, synthesize


def tool(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties), **more}
    return {"name": "tool", "inputSchema": schema}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "default": "given", "examples": ["shown"]}, "given"),
        ({"type": "string", "default": 3, "examples": ["shown"]}, "shown"),
        ({"type": "integer", "minimum": 5, "default": 3, "examples": [4, 7]}, 7),
        ({"enum": ["b", "a"]}, "b"),
        ({"enum": ["b", 2], "type": "integer"}, 2),
        ({"const": {"a": [1]}}, {"a": [1]}),
        ({"type": ["null", "integer"], "minimum": 3}, 3),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, True),
        ({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}, 4),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.1}, 0.05),
        ({"type": "number", "multipleOf": 0.01, "minimum": 0.005, "maximum": 0.019}, 0.01),
        ({"type": "integer", "multipleOf": 7, "minimum": 8, "maximum": 15}, 14),
        ({"allOf": [{"multipleOf": 4}, {"multipleOf": 6}], "type": "integer", "minimum": 1}, 12),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "string", "format": "date"}, "2025-01-01"),
        ({"type": "string", "format": "uuid"}, "123e4567-e89b-12d3-a456-426614174000"),
        ({"type": "string", "pattern": "^[A-Z]{3}-\\d{2}$"}, "AAA-11"),
        ({"type": "string", "pattern": "b", "format": "uri"}, "https://example.com/b"),
        ({"type": "string", "pattern": "^ftp://b", "format": "uri"}, "ftp://b"),
        ({"type": "string", "minLength": 3, "maxLength": 3}, "hel"),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True}, [1, 0, 2]),
        ({"type": "array", "prefixItems": [{"const": 1}, {"const": "a"}], "items": False}, [1, "a"]),
        ({"type": "array", "contains": {"const": 5}, "minContains": 2}, [5, 5]),
        ({"type": "object", "minProperties": 1, "additionalProperties": {"const": 1}}, {"extra1": 1}),
        ({"type": "object", "minProperties": 1, "patternProperties": {"^x-": {"const": 1}}}, {"x-": 1}),
        ({"type": "object", "required": ["a"], "dependentRequired": {"a": ["b"]}, "additionalProperties": {"const": 1}},
         {"a": 1, "b": 1}),
        ({"not": {"type": ["string", "object"]}}, 1),
        (True, "hello"),
    ],
)  # fmt: skip
def test_a_value_is_plain_and_always_the_same(schema: Any, value: Any) -> None:
    found = synthesize(schema)
    assert (found.value, found.problem) == (value, None)
    assert compile_schema(schema).is_valid(found.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("path", "."),
        ("filePath", "."),
        ("url", "https://example.com/"),
        ("user_id", "1"),
        ("query", "hello"),
        ("contact_email", "user@example.com"),
        ("timezone", "UTC"),
        ("start_date", "2025-01-01"),
        ("anything", "hello"),
    ],
)
def test_free_text_follows_what_the_argument_is_called_and_is_told_to_be_a_guess(name: str, value: str) -> None:
    found = arguments_for(tool({name: {"type": "string"}}))
    assert found.value == {name: value}
    assert found.guessed == (name,)


def test_an_example_in_the_description_is_taken_before_the_name() -> None:
    told = {"type": "string", "description": "IANA timezone name (e.g., 'Europe/Paris')"}
    assert arguments_for(tool({"where": told})).value == {"where": "Europe/Paris"}


@pytest.mark.parametrize(
    ("described", "value"),
    [
        ("The city, e.g. Oslo", "Oslo"),
        ("A city (e.g., Berlin)", "Berlin"),
        ("Example: a/b, or c", "a/b"),
        ("One of: asc, desc", "asc"),
        ("Either 'up' or 'down'", "up"),
        ("An ISO date", "2025-01-01"),
        ("An ISO timestamp", "2025-01-01T12:00:00Z"),
        ("For example the last one you saw", "hello"),
        ("One of the tables", "hello"),
    ],
)
def test_an_example_without_quotes_is_taken_where_it_is_plain(described: str, value: str) -> None:
    """Ruling A7: what the description names is a better guess."""
    found = arguments_for(tool({"x": {"type": "string", "description": described}}))
    assert (found.value, found.guessed) == ({"x": value}, ("x",))


@pytest.mark.parametrize(
    ("described", "value"),
    [("How many, e.g. 10", 10), ("Defaults to 25.", 25), ("For example 2024-01-31", 1), ("Such as 7.5", 1)],
)
def test_a_number_in_the_description_is_taken_where_it_fits(described: str, value: int) -> None:
    assert arguments_for(tool({"x": {"type": "integer", "description": described}})).value == {"x": value}


def test_what_the_schema_settles_is_no_guess() -> None:
    settled = {
        "a": {"enum": ["x"]},
        "b": {"const": 1},
        "c": {"type": "string", "default": "d"},
        "d": {"type": "boolean"},
        "e": {"type": "integer", "minimum": 1},
        "f": {"type": "string", "examples": ["y"]},
    }
    assert arguments_for(tool(settled)).guessed == ()


def test_an_unbounded_number_is_a_guess_also_with_the_bounds_of_a_machine() -> None:
    """Generators of schemas write ±(2^53 - 1) unasked."""
    most = 2**53 - 1
    found = arguments_for(tool({"a": {"type": "number"}, "b": {"type": "integer", "minimum": -most, "maximum": most}}))
    assert found.guessed == ("a", "b")


def test_a_guess_below_the_top_is_a_json_pointer() -> None:
    inner = {"type": "object", "properties": {"a/b": {"type": "string"}}, "required": ["a/b"]}
    assert arguments_for(tool({"filter": inner, "tags": {"type": "array", "items": {"type": "string"}}})).guessed == (
        "/filter/a~1b",
        "/tags/0",
    )


def test_optional_arguments_are_left_out_unless_the_schema_needs_them() -> None:
    properties = {"a": {"const": 1}, "b": {"const": 2}}
    assert arguments_for({"inputSchema": {"type": "object", "properties": properties}}).value == {}
    one_of = {"type": "object", "properties": properties, "anyOf": [{"required": ["b"]}, {"required": ["a"]}]}
    assert arguments_for({"inputSchema": one_of}).value == {"b": 2}


def test_the_condition_that_a_value_meets_is_followed() -> None:
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["file", "text"]}, "path": {"const": "."}, "text": {"const": "t"}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "file"}}},
        "then": {"required": ["path"]},
        "else": {"required": ["text"]},
    }
    assert arguments_for({"inputSchema": schema}).value == {"kind": "file", "path": "."}


def test_a_tower_of_conditions_is_climbed() -> None:
    """Each condition asks for the member that the next one is about: trying all ways would be 2^12."""
    rules = [
        {
            "if": {"properties": {f"p{at}": {"const": 1}}},
            "then": {"required": [f"p{at + 1}"]},
            "else": {"required": [f"q{at + 1}"]},
        }
        for at in range(12)
    ]
    schema = {"type": "object", "required": ["p0"], "allOf": rules}
    assert synthesize(schema).problem is None


def test_a_recursive_schema_ends_at_the_first_turn() -> None:
    schema = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        "required": ["next"],
    }
    assert synthesize(schema).value == {"next": None}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"const": 7}}},
        {"$ref": "#here", "$defs": {"x": {"$anchor": "here", "const": 7}}},
        {"$ref": "other", "$defs": {"x": {"$id": "other", "const": 7}}},
        {
            "$id": "https://example.com/a/",
            "$ref": "b#/$defs/y",
            "$defs": {"x": {"$id": "b", "$defs": {"y": {"const": 7}}}},
        },
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$ref": "#/definitions/a",
            "definitions": {"a": {"const": 7}},
        },
    ],
)
def test_references_inside_the_schema_are_followed(schema: Any) -> None:
    assert synthesize(schema).value == 7


@pytest.mark.parametrize("where", ["https://example.com/schema.json", "file:///etc/passwd", "other.json"])
def test_a_reference_to_elsewhere_is_a_problem_and_is_not_followed(where: str) -> None:
    found = arguments_for({"inputSchema": {"type": "object", "properties": {"a": {"$ref": where}}, "required": ["a"]}})
    assert found.problem is not None
    assert "cannot be used" in found.problem
    assert isinstance(found.value, dict)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": [{"const": 1}, {"const": 2}], "additionalItems": False},
        {"type": "integer", "minimum": 3, "exclusiveMinimum": True},
    ],
)
def test_idioms_of_older_drafts_are_read_without_being_named(schema: Any) -> None:
    """Tuples as `items`, booleans as `exclusiveMinimum`: not 2020-12, and common without `$schema`."""
    found = synthesize(schema)
    assert (found.value, found.problem) in (([1, 2], None), (4, None))


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (False, "allows nothing"),
        ({"type": "string", "minLength": 3, "maxLength": 1}, "no text was found"),
        ({"type": "integer", "minimum": 3, "maximum": 1}, "no number"),
        ({"allOf": [{"type": "string"}, {"type": "object"}]}, "no type fits"),
        ({"enum": ["a"], "type": "integer"}, "none of the values listed fits"),
        ({"type": "wrong"}, "cannot be used"),
        ({"pattern": "("}, "cannot be used"),
        (None, "cannot be used"),
        (["type"], "cannot be used"),
    ],
)
def test_what_cannot_be_satisfied_is_said(schema: Any, why: str) -> None:
    found = synthesize(schema)
    assert found.problem is not None
    assert why in found.problem


def test_a_tool_without_a_schema_takes_no_arguments() -> None:
    assert arguments_for({"name": "tool"}).value == {}
    assert arguments_for({"name": "tool", "inputSchema": {}}).value == {}


def test_arguments_are_always_an_object() -> None:
    found = arguments_for({"inputSchema": {"type": "string"}})
    assert found.problem is not None
    assert arguments_for({"inputSchema": {"properties": {"a": {"const": 1}}, "required": ["a"]}}).value == {"a": 1}
