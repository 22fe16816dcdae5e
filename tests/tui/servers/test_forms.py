"""The form of a call: fields of a schema, what was typed, what is wrong with it, what is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_tui.state.catalog import Catalog, Item
from mcptest_tui.state.fields import REST, WHOLE
from mcptest_tui.state.forms import as_json, form_of, pasted
from tests.tui.servers.test_signatures import JSON


def tool(schema, **more):
    """The form of a tool with this input schema."""
    return form_of(Item("tools", {"name": "t", "inputSchema": schema, **more}))


def of(properties, required=(), **more):
    """The form for these properties."""
    return tool({"type": "object", "properties": properties, "required": list(required), **more})


def typed(form, **texts):
    """The form with these texts in its fields."""
    for name, text in texts.items():
        form.named(name).raw = text
    return form


@given(JSON)
def test_every_schema_has_a_form(schema):
    """A schema that cannot be drawn has one field for everything; nothing raises."""
    form = tool(schema)
    form.check_whole()
    assert form.params()["name"] == "t"
    for field in form.fields:
        field.raw = "{'a': 1"
        assert field.placeholder is not None
        assert field.help is not None
    form.check_whole()
    assert form.params()


KINDS = [
    ({"type": "string"}, "text", False),
    ({"type": "integer"}, "integer", False),
    ({"type": "number"}, "number", False),
    ({"type": "boolean"}, "choice", False),
    ({"enum": ["a", 1, None]}, "choice", False),
    ({"const": "x"}, "choice", False),
    ({"type": ["string", "null"]}, "text", True),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer", True),
    ({"type": "array"}, "json", False),
    ({"type": "object"}, "json", False),
    ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "json", False),
    ({"$ref": "#/$defs/S"}, "text", False),
    ({"$ref": "https://elsewhere.test/x.json"}, "json", False),
    ({"enum": [{"a": 1}]}, "json", False),
    (True, "json", False),
    ({}, "json", False),
]


@pytest.mark.parametrize(("schema", "kind", "nullable"), KINDS, ids=str)
def test_the_kind_of_a_field(schema, kind, nullable):
    """By its schema; what is odd is a JSON box."""
    (field,) = of({"a": schema}, **{"$defs": {"S": {"type": "string"}}}).fields
    assert (field.kind, field.nullable) == (kind, nullable)


def test_required_fields_come_first():
    """Each group in the schema's order."""
    form = of({"b": {}, "a": {"type": "string"}, "c": {}}, required=["c"])
    assert [field.name for field in form.fields] == ["c", "b", "a"]


VALUES = [
    ({"type": "string"}, "3", "3"),
    ({"type": "string"}, '""', ""),
    ({"type": "string"}, "  ", "  "),
    ({"type": "string"}, "null", "null"),
    ({"type": ["string", "null"]}, "null", None),
    ({"type": "integer"}, " 3 ", 3),
    ({"type": "integer"}, "1e3", 1000),
    ({"type": "integer"}, "123456789012345678901234567890", 123456789012345678901234567890),
    ({"type": "number"}, "0.5", 0.5),
    ({"type": "number"}, "3", 3),
    ({"type": "boolean"}, "true", True),
    ({"enum": ["a", 1]}, '"a"', "a"),
    ({"type": "array"}, "['a', 1,]", ["a", 1]),
    ({"type": "object"}, "{a: 1}", {"a": 1}),
]


@pytest.mark.parametrize(("schema", "text", "value"), VALUES, ids=str)
def test_what_is_sent_for_what_was_typed(schema, text, value):
    """And that it is not wrong."""
    form = typed(of({"a": schema}), a=text)
    assert form.check_whole() == {}
    assert form.params()["arguments"] == {"a": value}


def test_an_empty_field_is_left_out():
    """So the server's default holds."""
    assert of({"a": {"type": "integer", "default": 3}}).params() == {"name": "t", "arguments": {}}


WRONG = [
    ({"type": "integer"}, "abc", "`abc` is not a whole number"),
    ({"type": "integer"}, "1.5", "`1.5` is not a whole number"),
    ({"type": "number"}, "1,5", "`1,5` is not a number; write a dot"),
    ({"type": "number"}, "inf", "`inf` is not a number that JSON has"),
    ({"type": "number", "minimum": 1}, "0", "has to be at least 1"),
    ({"type": "number", "exclusiveMaximum": 1}, "1", "has to be less than 1"),
    ({"type": "string", "minLength": 3}, "ab", "has 2 characters, at least 3 are needed"),
    ({"enum": ["celsius", "fahrenheit"]}, '"celsuis"', 'not one of "celsius", "fahrenheit"; did you mean `celsius`?'),
    ({"type": "array"}, "a, b", 'must be a list: ["a", "b"]'),
    ({"type": "array"}, "{}", "must be a list: [{}]"),
    ({"type": "object"}, "[1]", 'must be an object: {"name": value}'),
    ({"type": "object"}, "{a", "column 3: expected `:` after `a`"),
]


@pytest.mark.parametrize(("schema", "text", "told"), WRONG, ids=str)
def test_what_is_wrong_is_told_in_a_clause(schema, text, told):
    """And still it can be sent, as the text that it is where it is nothing else."""
    form = typed(of({"a": schema}), a=text)
    assert form.check() == {"a": told}
    assert "a" in form.params()["arguments"]


def test_a_required_field_says_how_to_send_an_empty_text():
    """An empty field is no text."""
    form = of({"a": {"type": "string"}, "b": {"type": "integer"}}, required=["a", "b"])
    assert form.check() == {"a": 'required; "" is an empty text', "b": "required"}


def test_what_only_a_validator_sees_is_told_at_its_field():
    """Patterns, nested members, dependencies."""
    form = of({"a": {"type": "string", "pattern": "^x"}, "b": {"type": "object", "required": ["c"]}})
    typed(form, a="y", b="{}")
    problems = form.check_whole()
    assert problems["a"] == '"y" does not match "^x"'
    assert "c" in problems["b"]


@pytest.mark.parametrize("schema", [{"$ref": "https://x.test/y.json"}, {"type": "strng"}, {"pattern": "("}], ids=str)
def test_a_schema_that_cannot_be_used_is_said_and_in_nobodys_way(schema):
    """Nothing is fetched, and the call can be made."""
    form = typed(of({"a": schema}), a='"x"')
    assert form.check_whole() == {}
    assert form.note.startswith(("the schema cannot", "cannot check"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"city": "Oslo"}', {"city": "Oslo"}),
        ("{city: 'Oslo', // x\n}", {"city": "Oslo"}),
        ('{"name": "t", "arguments": {"a": 1}}', {"a": 1}),
        ('{"method": "tools/call", "params": {"name": "t", "arguments": {"a": 1}}}', {"a": 1}),
        ("Oslo", None),
        ("[1]", None),
        ("{broken", None),
        ("", None),
    ],
)
def test_pasted_json(text, value):
    """Arguments, or a whole request; anything else is a text."""
    assert pasted(text) == value


def test_filling_takes_everything_along():
    """What has no field goes into one of its own, and out again."""
    form = of({"a": {"type": "string"}, "b": {"type": "integer"}})
    assert form.fill({"a": "", "b": 2, "more": [1]}) == ["more"]
    assert [field.raw for field in form.fields] == ['""', "2", '{"more": [1]}']
    assert form.params()["arguments"] == {"a": "", "b": 2, "more": [1]}


def test_an_argument_that_is_not_allowed_is_told_with_the_nearest():
    """Only where the schema closes the list."""
    form = of({"city": {"type": "string"}}, additionalProperties=False)
    form.fill({"citty": "Oslo"})
    assert form.check() == {REST: "`citty` is not one of the arguments; did you mean `city`?"}


@given(st.dictionaries(st.sampled_from("abc"), st.text() | st.integers() | st.none() | st.lists(st.booleans())))
def test_arguments_survive_the_form_and_its_json(arguments):
    """Fill, turn to JSON, turn back: the same call."""
    form = of({"a": {"type": "string"}, "b": {}, "c": {"type": ["integer", "null"]}})
    form.fill(arguments)
    assert form.params()["arguments"] == arguments
    turned = as_json(form)
    assert [field.name for field in turned.fields] == [WHOLE]
    assert turned.params()["arguments"] == arguments
    assert as_json(turned).params()["arguments"] == arguments


def test_a_text_that_no_line_can_show_becomes_json():
    """Escapes stay visible, and the value is the same."""
    form = of({"a": {"type": "string"}})
    form.fill({"a": "two\nlines \x1b[2J \u202e"})
    (field,) = form.fields
    assert (field.kind, field.value()) == ("json", "two\nlines \x1b[2J \u202e")
    assert field.raw.isascii()
    assert "\\u001b" in field.raw


def test_json_that_is_no_object_is_not_turned_into_fields():
    """Said, and nothing lost."""
    form = as_json(of({"a": {}}))
    assert form.whole is not None
    form.whole.raw = "[1]"
    with pytest.raises(ValueError, match="must be a JSON object"):
        as_json(form)


def test_many_arguments_have_fields_up_to_a_number():
    """The rest is one JSON box."""
    form = of({f"a{at}": {"type": "string"} for at in range(200)})
    assert len(form.fields) == 61
    assert form.fields[-1].name == REST


def test_requests_of_resources_templates_and_prompts():
    """One form for everything that can be asked for."""
    resource = form_of(Item("resources", {"uri": "a://b", "name": "b"}))
    assert (resource.method, resource.fields, resource.params()) == ("resources/read", [], {"uri": "a://b"})
    template = typed(form_of(Item("templates", {"uriTemplate": "a://{id}"})), id="1 2")
    assert template.params() == {"uri": "a://1%202"}
    prompt = form_of(Item("prompts", {"name": "p", "arguments": [{"name": "x"}, {"name": "y", "required": True}]}))
    assert [(field.name, field.required) for field in prompt.fields] == [("y", True), ("x", False)]
    assert typed(prompt, y="1").params() == {"name": "p", "arguments": {"y": "1"}}


def test_a_catalog_is_filtered_by_words():
    """In names first, then titles, descriptions and badges; - takes out."""
    tools = [
        {"name": "get_book", "description": "One book."},
        {"name": "delete_all", "annotations": {"destructiveHint": True}},
        {"name": "list", "description": "All books, see get_book."},
        {"odd": 1},
        "nothing",
    ]
    catalog = Catalog({"tools": tools, "prompts": "broken"})
    assert catalog.counts() == {"tools": 4, "resources": 0, "templates": 0, "prompts": 0}
    catalog.search("book")
    assert [item.name for item in catalog.shown] == ["get_book", "list"]
    catalog.search("is:destructive")
    assert [item.name for item in catalog.shown] == ["delete_all"]
    catalog.search("-book -destructive")
    assert [item.name for item in catalog.shown] == [""]
    assert json.dumps([item.pieces for item in catalog.shown])


@pytest.mark.parametrize(
    ("format_name", "typed", "problem"),
    [
        ("date", "tomorrow", "no date, such as 2026-01-31"),
        ("date", "2026-02-30", "no date, such as 2026-01-31"),
        ("date", "2026-02-28", ""),
        ("email", "someone", "no email, such as a@example.org"),
        ("unheard-of", "anything", ""),
    ],
)
def test_a_format_is_checked_as_it_is_typed(format_name, typed, problem):
    form = of({"due": {"type": "string", "format": format_name}})
    form.fields[0].raw = typed
    assert form.check().get("due", "") == problem


ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "customer": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/Address"}},
            "required": ["name"],
        },
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}, "minItems": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "counts": {"type": "array", "items": {"$ref": "#/$defs/Count"}},
        "note": {"anyOf": [{"$ref": "#/$defs/Note"}, {"type": "null"}]},
        "payment": {"oneOf": [{"$ref": "#/$defs/Card"}, {"$ref": "#/$defs/Cash"}, {"type": "string"}]},
    },
    "required": ["customer", "lines"],
    "$defs": {
        "Address": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "Line": {
            "type": "object",
            "properties": {"sku": {"type": "string", "pattern": "^[A-Z]+$"}, "size": {"enum": ["S", "L"]}},
            "required": ["sku"],
        },
        "Count": {"type": "integer", "minimum": 0},
        "Note": {"type": "object", "properties": {"text": {"type": "string"}}},
        "Card": {
            "type": "object",
            "properties": {"kind": {"const": "card"}, "number": {"type": "string"}},
            "required": ["kind", "number"],
        },
        "Cash": {"type": "object", "properties": {"kind": {"const": "cash"}}, "required": ["kind"]},
    },
}


def labels(form):
    """What stands at the left of each row, indented."""
    return [f"{'  ' * row.depth}{row.label}" for row in form.rows()]


def test_members_of_an_object_and_items_of_a_list_have_rows():
    form = tool(ORDER)
    assert labels(form) == [
        "customer", "  name", "  address", "    city", "lines", "tags", "counts", "note", "  text", "payment",
    ]  # fmt: skip
    lines = form.named("lines")
    lines.add_item(0)
    lines.add_item(1)
    typed(form, **{"customer.name": "Ada", "lines[0].sku": "AB", "lines[1].sku": "C", "lines[1].size": '"L"'})
    typed(form, tags='b, "c, d", e', counts="1, 20")
    assert form.params()["arguments"] == {
        "customer": {"name": "Ada"},
        "lines": [{"sku": "AB"}, {"sku": "C", "size": "L"}],
        "tags": ["b", "c, d", "e"],
        "counts": [1, 20],
    }
    assert form.check_whole() == {}
    lines.remove_item(lines.members[0])
    assert form.named("lines[0].sku").raw == "C"


def test_what_is_wrong_inside_is_told_at_its_row():
    form = tool(ORDER)
    assert form.check() == {"customer.name": 'required; "" is an empty text', "lines": "required"}
    form.named("lines").add_item(0)
    typed(form, **{"customer.name": "Ada", "customer.address.city": "", "lines[0].sku": "ab", "counts": "1, two"})
    assert form.check_whole() == {"counts": "item 2: `two` is not a whole number"}
    form.named("counts").raw = "1, -2"
    assert form.check_whole() == {
        "lines[0].sku": '"ab" does not match "^[A-Z]+$"',
        "counts": "[1]: -2 is less than the minimum of 0",
    }


def test_an_optional_object_is_left_out_until_something_is_in_it():
    """Or until it is turned to an empty one, or to null where that is a value."""
    form = of({"note": ORDER["properties"]["note"], "more": ORDER["$defs"]["Note"]}, **{"$defs": ORDER["$defs"]})
    note, more = form.fields
    sent = []
    for _ in range(3):
        sent.append(form.params()["arguments"])
        note.turn()
    more.turn()
    assert sent == [{}, {"note": {}}, {"note": None}]
    typed(form, **{"note.text": "x"})
    assert form.params()["arguments"] == {"note": {"text": "x"}, "more": {}}


def test_a_value_of_several_shapes_has_the_rows_of_the_one_that_is_chosen():
    form = tool(ORDER)
    payment = form.named("payment")
    assert payment.options == ('"card"', '"cash"', '"str"')
    payment.choose('"card"')
    assert labels(form)[-3:] == ["payment", "  kind", "  number"]
    assert form.arguments()["payment"] == {"kind": "card"}
    payment.choose('"str"')
    assert labels(form)[-2:] == ["payment", "  value"]
    form.fill({"payment": {"kind": "cash"}})
    assert payment.raw == '"cash"'
    form.fill({"payment": {"kind": "cheque"}})
    assert (payment.kind, form.arguments()["payment"]) == ("json", {"kind": "cheque"})


def test_a_schema_that_refers_to_itself_or_is_deep_is_one_field_of_json_there():
    tree = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    }
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(9):
        deep = {"type": "object", "properties": {"in": deep}}
    form = of({"tree": {"$ref": "#/$defs/Tree"}, "deep": deep}, **{"$defs": {"Tree": tree}})
    kinds = {row.key: row.kind for row in form.rows()}
    assert kinds["tree.name"] == "text"
    assert kinds["tree.children"] == "json"
    assert kinds["deep.in.in.in.in"] == "json"
    assert len(kinds) == 8


def test_a_number_or_a_text_needs_no_quotes():
    form = of({"id": {"anyOf": [{"type": "integer"}, {"type": "string"}]}})
    values = []
    for text in ("seven", "7", '"7"'):
        values.append(typed(form, id=text).arguments()["id"])
        assert form.check_whole() == {}
    assert values == ["seven", 7, "7"]


PART = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-1, 1) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "address", "city", "sku", "size", "kind", "number", "text", "a.b"]), inner
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*ORDER["properties"], "odd"]), PART))
def test_nested_arguments_survive_the_form_and_its_json(arguments):
    """Whatever was typed as JSON, right or wrong: rows, JSON, rows again are the same call, to the type of each number."""
    form = tool(ORDER)
    form.fill(arguments)
    assert json.dumps(form.arguments(), sort_keys=True) == json.dumps(arguments, sort_keys=True)
    turned = as_json(form)
    again = as_json(turned)
    assert json.dumps(again.arguments(), sort_keys=True) == json.dumps(arguments, sort_keys=True)
    form.check_whole()


def test_a_text_of_further_arguments_that_is_no_object_is_not_lost_in_turning():
    form = of({"a": {"type": "string"}}, additionalProperties=True)
    form.named(REST).raw = '{"b": 1'
    with pytest.raises(ValueError, match="must be a JSON object"):
        as_json(form)
