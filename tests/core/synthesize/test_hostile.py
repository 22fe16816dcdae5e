"""Schemas that a hostile server could send: each ends, with a value or a problem, and nothing grows without bound.

Steps are counted and never timed, so what ends here ends everywhere; the timeout of the test run is the net.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcptest_engine.core.synthesize import arguments_for, edge_case, probe_cases, synthesize, violation_case


def bomb(keyword: str) -> dict[str, Any]:
    """Each definition asks twice for the next: 2^40 ways to the last."""
    below = {f"a{at}": {keyword: [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(40)}
    return {"$ref": "#/$defs/a0", "$defs": {**below, "a40": {"type": "object"}}}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


def doubled(levels: int) -> dict[str, Any]:
    """Two members of two members of two …: each value would have 2^levels leaves."""
    both = {f"a{at}": {"$ref": f"#/$defs/a{at + 1}"} for at in range(levels)}
    below = {
        name: {"type": "object", "properties": {"l": to, "r": to}, "required": ["l", "r"]} for name, to in both.items()
    }
    return {"$ref": "#/$defs/a0", "$defs": {**below, f"a{levels}": {"type": "string"}}}


HOSTILE: dict[str, Any] = {
    "a million items": {"type": "array", "minItems": 10**6, "items": {"type": "string"}},
    "a thousand different items": {
        "type": "array",
        "minItems": 1000,
        "uniqueItems": True,
        "items": {"type": "integer"},
    },
    "a thousand long texts": {"type": "array", "minItems": 1000, "items": {"type": "string", "minLength": 60_000}},
    "more items than there are choices": {
        "type": "array",
        "minItems": 12,
        "uniqueItems": True,
        "items": {"enum": [*range(11)]},
    },
    "a million members": {"type": "object", "minProperties": 10**6},
    "a gigabyte of text": {"type": "string", "minLength": 10**9},
    "a length beyond all integers": {"type": "string", "minLength": 1e300},
    "a megabyte of choices": {"enum": ["x" * 100 + str(at) for at in range(10_000)]},
    "a megabyte of wrong choices": {"type": "integer", "enum": ["x" * 100 + str(at) for at in range(10_000)]},
    "ten thousand required members": {"type": "object", "required": [f"a{at}" for at in range(10_000)]},
    "a reference to itself": {"$ref": "#"},
    "two references to each other": {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    },
    "not itself": {"not": {"$ref": "#"}},
    "a member like itself for ever": {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
    "two ways to itself": {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}},
    },
    "items like itself": {"type": "array", "minItems": 2, "items": {"$ref": "#"}},
    "an allOf bomb": bomb("allOf"),
    "an anyOf bomb": bomb("anyOf"),
    "a oneOf bomb": bomb("oneOf"),
    "leaves without number": doubled(40),
    "a chain of references": {
        "$ref": "#/$defs/a0",
        "$defs": {f"a{at}": {"$ref": f"#/$defs/a{at + 1}"} for at in range(5000)} | {"a5000": {}},
    },
    "a deep value": nested(90),
    "a deep schema": nested(150),
    "a schema deeper than Python recurses": nested(5000),
    "a backtracking pattern": {"type": "string", "pattern": "^(a+)+$", "minLength": 100},
    "a look-ahead that backtracks": {"type": "string", "pattern": r"^(?=(a|a)*b)(a+)+\1c$"},
    "a pattern of repeated repeats": {"type": "string", "pattern": "((a{1000}){1000}){1000}"},
    "a pattern of nothing, often": {"type": "string", "pattern": "^(){1000000}$"},
    "a pattern in two thousand groups": {"type": "string", "pattern": "(" * 2000 + "a+" + ")" * 2000},
    "a pattern with many branches": {"type": "string", "pattern": "^" + "(a|b)" * 1000 + "$"},
    "a thousand patterns": {
        "type": "object",
        "minProperties": 3,
        "patternProperties": {f"^a{at}[0-9]+$": {} for at in range(1000)},
    },
    "many equal branches": {"oneOf": [{"type": "object"}] * 300},
    "a number of four hundred digits": {"type": "integer", "minimum": 10**400},
    "a number finer than floats": {"type": "number", "multipleOf": 1e-300, "minimum": 1e300},
    "half a character": {"type": "object", "required": ["\ud800"]},
    "a thirty-fold choice that is refused": {
        "type": "object",
        "required": [f"a{at}" for at in range(30)],
        "properties": {f"a{at}": {"anyOf": [{"const": at}, {"type": "string"}]} for at in range(30)},
        "not": {"type": "object"},
    },
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_schema_ends_in_a_bounded_value(what: str) -> None:
    """Bounded time and size, never an exception."""
    found = synthesize(HOSTILE[what])
    assert len(json.dumps(found.value)) < 1_000_000
    assert found.problem is None or len(found.problem) < 400


@pytest.mark.parametrize("what", [what for what in HOSTILE if "Python" not in what])
def test_a_hostile_schema_of_one_argument_gives_bounded_cases(what: str) -> None:
    hostile = HOSTILE[what]
    inner = {key: value for key, value in hostile.items() if key != "$defs"}
    schema = {"type": "object", "properties": {"a": inner}, "required": ["a"], "$defs": hostile.get("$defs", {})}
    tool = {"name": "tool", "inputSchema": schema}
    assert isinstance(arguments_for(tool).value, dict)
    cases = [edge_case(tool), violation_case(tool), *probe_cases(tool)]
    assert len(cases) <= 32
    assert len(json.dumps([case.arguments for case in cases if case is not None])) < 2_000_000


def test_references_that_multiply_are_a_problem_before_the_validator_follows_them() -> None:
    """The validator follows a reference each time it meets it, in native code that cannot be stopped."""
    problem = synthesize(bomb("allOf")).problem
    assert problem is not None
    assert "multiply" in problem
