"""Whether judging a value by a schema is too much work, told before it is tried."""

from typing import Any

from mcptest_engine.core.schema_weight import weight_check

TREE = {
    "$defs": {"node": {"properties": {"left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"}}}},
    "$ref": "#/$defs/node",
}
TWICE_A_LEVEL = {
    "$defs": {"node": {"anyOf": [{"properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["x"]}] * 2}},
    "$ref": "#/$defs/node",
}


def doubled(levels):
    links = {f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(levels)}
    return {"$defs": {**links, f"d{levels}": {"type": "object"}}, "$ref": "#/$defs/d0"}


def chained(levels):
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"next": value}
    return value


def test_references_that_double_each_other_are_too_much():
    heavy = weight_check(doubled(60))
    assert heavy is not None
    assert heavy({})


def test_a_loop_that_doubles_is_too_much_for_a_deep_value_alone():
    heavy = weight_check(TWICE_A_LEVEL)
    assert heavy is not None
    assert heavy(chained(60))
    assert not heavy(chained(3))


def test_a_tree_is_judged_however_large():
    """Each of its values is visited once: a loop of references alone is no fault."""
    heavy = weight_check(TREE)
    value: dict[str, Any] = {}
    for _ in range(10):
        value = {"left": value, "right": dict(value)}
    assert heavy is not None
    assert not heavy(value)


def test_what_is_small_when_it_is_written_out_is_never_weighed():
    """So that an array of a million items costs nothing more."""
    assert weight_check({"$defs": {"item": {"type": "object"}}, "items": {"$ref": "#/$defs/item"}}) is None
    assert weight_check(doubled(6)) is None
    assert weight_check({"items": {"type": "object"}}) is None


def test_a_reference_among_data_is_none():
    assert weight_check({"const": {"$ref": "#"}}) is None
