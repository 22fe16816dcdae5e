"""Boundary and negative cases of a tool's arguments."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest_engine.core.synthesize import edge_case, probe_cases, violation_case


def tool(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {
        "name": "tool",
        "inputSchema": {"type": "object", "properties": properties, "required": [*required], **more},
    }


@pytest.mark.parametrize(
    ("schema", "name", "value"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, "highest `a`", 9),
        ({"type": "string", "maxLength": 7}, "longest `a`", "hello h"),
        ({"enum": ["x", "y", "z"]}, "last choice of `a`", "z"),
        ({"type": "array", "items": {"const": 1}, "maxItems": 3}, "longest `a`", [1, 1, 1]),
        ({"type": "array", "items": {"const": 1}}, "empty `a`", []),
        ({"type": "string"}, "empty `a`", ""),
        ({"type": "boolean"}, "false for `a`", False),
    ],
)
def test_the_edge_case_stands_at_the_boundary_that_the_schema_declares(schema: Any, name: str, value: Any) -> None:
    case = edge_case(tool({"a": schema}, "a"))
    assert case is not None
    assert (case.name, case.arguments, case.valid) == (name, {"a": value}, True)


def test_optional_arguments_together_are_an_edge() -> None:
    case = edge_case(tool({"a": {"type": "string"}, "b": {"type": "boolean"}, "c": {"const": 1}}, "a"))
    assert case is not None
    assert (case.name, case.arguments) == ("every optional argument given", {"a": "hello", "b": True, "c": 1})
    assert case.guessed == ("a",)


def test_the_largest_integer_of_a_machine_is_nobodys_boundary() -> None:
    case = edge_case(tool({"a": {"type": "integer", "minimum": 2, "maximum": 2**53 - 1}}, "a"))
    assert case is None


def test_the_violation_leaves_out_the_first_required_argument() -> None:
    case = violation_case(tool({"b": {"type": "string"}, "a": {"type": "string"}}, "a", "b"))
    assert case is not None
    assert (case.name, case.arguments, case.valid) == ("without `a`", {"b": "hello"}, False)


def test_without_required_arguments_the_violation_is_of_a_wrong_type() -> None:
    case = violation_case(tool({"limit": {"type": "integer"}}))
    assert case is not None
    assert case.name == "`limit` is text"


def test_a_schema_that_accepts_everything_has_no_violation() -> None:
    assert violation_case(tool({})) is None
    assert violation_case({"name": "tool"}) is None
    assert violation_case(tool({"a": {}})) is None


def test_a_closed_schema_refuses_an_argument_that_it_does_not_declare() -> None:
    case = violation_case(tool({}, additionalProperties=False))
    assert case is not None
    assert (case.name, case.arguments) == ("an argument that is not declared", {"unexpected": True})


def test_probes_cover_omission_types_null_bounds_choices_and_the_unknown() -> None:
    properties = {
        "text": {"type": "string", "minLength": 2, "maxLength": 7},
        "kind": {"enum": ["x", "y"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 9},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
    }
    names = [case.name for case in probe_cases(tool(properties, "text", "kind", additionalProperties=False))]
    for wanted in (
        "without `kind`", "`text` is a number", "`limit` is text", "`text` is null", "`kind` is none of its choices",
        "`limit` is above its maximum", "`limit` is below its minimum", "`limit` is between two allowed numbers",
        "`text` is too long", "`text` is too short", "`tags` has too many items", "`tags` has too few items",
        "an argument that is not declared", "shortest `text`", "last choice of `kind`", "highest `limit`",
    ):  # fmt: skip
        assert wanted in names
    assert "without `text`" not in names  # the violation case
    assert "longest `text`" not in names  # the edge case


def test_probes_are_capped_and_keep_room_for_boundaries() -> None:
    properties = {f"a{at}": {"type": "integer", "minimum": 1, "maximum": 5} for at in range(40)}
    probes = probe_cases(tool(properties, *properties))
    assert len(probes) == 30
    assert sum(case.valid for case in probes) == 10


def test_a_hostile_name_stays_on_one_line_without_control_characters() -> None:
    case = violation_case(tool({"a\nb\x1b[31m": {"type": "string"}}, "a\nb\x1b[31m"))
    assert case is not None
    assert case.name.isprintable()


def test_nothing_is_varied_where_no_valid_arguments_are_known() -> None:
    broken = tool({"a": {"type": "string", "minLength": 3, "maxLength": 1}}, "a")
    assert (edge_case(broken), violation_case(broken), probe_cases(broken)) == (None, None, ())
