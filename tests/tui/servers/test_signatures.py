"""Tools, prompts and templates on one line, whatever a server sends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.servers.signatures import (
    prompt_pieces,
    signature,
    signature_pieces,
    template_variables,
)
from mcptest_tui.state.schema_rows import describes, rows_of
from mcptest_tui.state.uri_templates import expand

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "required", "enum", "$ref", "anyOf", "items", "allOf", "default", "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(JSON, JSON)
def test_no_schema_raises(name, schema):
    """A schema may be anything."""
    assert signature(name, schema).endswith(")")
    rows_of(schema)
    describes(schema)
    prompt_pieces({"name": name, "arguments": schema})


@pytest.mark.parametrize(
    ("properties", "required", "told"),
    [
        ({}, [], "get()"),
        ({"city": {"type": "string"}}, ["city"], "get(city: str)"),
        ({"days": {"type": "integer", "default": 3}}, [], "get(days: int = 3)"),
        ({"unit": {"enum": ["c", "f"]}, "city": {"type": "string"}}, ["city"], 'get(city: str, [unit: "c"|"f"])'),
        ({"a": {"type": ["string", "null"]}}, [], "get([a: str|null])"),
        ({"a": {"type": "array", "items": {"type": "number"}}}, [], "get([a: number[]])"),
        ({"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, [], "get([a: int|null])"),
        ({"a": {"$ref": "#/$defs/Place"}}, ["a"], "get(a: Place)"),
        ({"a": {"$ref": "#/$defs/Colour"}}, ["a"], 'get(a: "red"|"blue")'),
        ({"a": True, "b": {}}, [], "get([a: any], [b: any])"),
        ({"a": {"enum": [1, 2, 3, 4, 5]}}, ["a"], "get(a: 1|2|3|4|…)"),
    ],
)
def test_the_line_of_a_tool(properties, required, told):
    """As one would declare it."""
    definitions = {"Place": {"type": "object", "properties": {"lat": {}}}, "Colour": {"enum": ["red", "blue"]}}
    schema = {"type": "object", "properties": properties, "required": required, "$defs": definitions}
    assert signature("get", schema) == told


def test_a_schema_that_refers_to_itself_ends():
    """Only so many references are followed, and only so many levels."""
    schema = {"$ref": "#", "properties": {"child": {"$ref": "#"}, "next": {"$ref": "#/properties/next"}}}
    assert signature("tree", schema).startswith("tree(")
    assert len(rows_of(schema)) < 500


def test_pieces_say_what_they_are():
    """For colours."""
    assert signature_pieces("a", {"properties": {"b": {"type": "integer", "default": 1}}}) == [
        ("a", "name"),
        ("(", ""),
        ("b", "argument"),
        (": ", ""),
        ("int", "type"),
        (" = ", ""),
        ("1", "default"),
        (")", ""),
    ]


@pytest.mark.parametrize(
    ("template", "values", "uri"),
    [
        ("file:///{path}", {"path": "a b/c"}, "file:///a%20b%2Fc"),
        ("file:///{+path}", {"path": "a b/c"}, "file:///a%20b/c"),
        ("db://{table}{?limit,after}", {"table": "t", "limit": "5"}, "db://t?limit=5"),
        ("x{/a,b}{#c}", {"a": "1", "b": "2", "c": "d"}, "x/1/2#d"),
        ("x{;v,e}{&q}", {"v": "6", "e": "", "q": ""}, "x;v=6;e&q="),
        ("{v:3}", {"v": "value"}, "val"),
        ("{unknown}", {}, ""),
    ],
)
def test_templates_are_filled_as_the_rfc_has_it(template, values, uri):
    """RFC 6570, its own examples among them."""
    assert expand(template, values) == uri


def test_variables_of_a_template():
    """In their order, once."""
    assert template_variables("a://{id}/{id}{?q,r*}{+s:3}") == ["id", "q", "r", "s"]


def test_a_schema_as_a_table():
    """Nested members one level deeper, facts in words."""
    schema = {
        "type": "object",
        "required": ["place"],
        "properties": {
            "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3},
            "place": {
                "type": "object",
                "description": "Where.",
                "required": ["lat"],
                "properties": {"lat": {"type": "number", "minimum": -90}},
            },
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 5}, "minItems": 1},
            "mode": {"type": "string", "enum": ["a", "b", "c", "d", "e"]},
        },
    }
    told = [(row.depth, row.name, row.type, row.facts) for row in rows_of(schema)]
    assert told == [
        (0, "place", "object", ("required",)),
        (1, "lat", "number", ("required", "at least -90")),
        (0, "days", "int", ("default 3", "1 to 7")),
        (0, "tags", "str[]", ("not empty",)),
        (1, "each", "str", ("at most 5 characters",)),
        (0, "mode", "str", ('one of "a", "b", "c", "d", "e"',)),
    ]


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (None, "no schema"),
        (True, "any arguments"),
        ({"type": "object"}, "none"),
        ({"type": "object", "additionalProperties": True}, "any object"),
        ({"type": "string"}, "a schema for str, where an object's is expected"),
        ({"oneOf": []}, "a schema that is not a list of members; t shows it"),
        ({"properties": {"a": {}}}, ""),
    ],
)
def test_a_schema_without_members_is_said(schema, told):
    """Never an empty place."""
    assert describes(schema) == told
