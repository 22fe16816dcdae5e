"""Laws over schemas that nobody wrote: what is given without a problem conforms, and nothing is ever raised."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import hypothesis.strategies as st
import jsonschema
from hypothesis import HealthCheck, example, given, settings
from hypothesis_jsonschema import from_schema

from mcptest_engine.core.schemas import compile_schema
from mcptest_engine.core.synthesize import arguments_for, edge_case, probe_cases, synthesize, violation_case
from mcptest_engine.core.synthesize.search import readable
from tests.core.synthesize.test_hostile import HOSTILE

NAMES = st.sampled_from(["a", "b", "path", "x-y", ""])
SMALL = st.integers(0, 4)
VALUES = st.sampled_from([None, True, 0, 1, 2.5, -3, "", "a", "hello", [], [1], {}, {"a": 1}])
PATTERNS = st.sampled_from(["^[a-z]+$", "^\\d{2,3}$", "b", "^(?=.*\\d)[a-z\\d]{4,}$", "^(a|bc)*$", "^[^a]$"])
FORMATS = st.sampled_from(["date", "date-time", "email", "uuid", "uri", "ipv4", "hostname", "json-pointer", "unknown"])


def objects(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(NAMES, below, max_size=3)
    keywords = {
        "properties": members,
        "required": st.lists(NAMES, unique=True, max_size=3),
        "additionalProperties": below,
        "patternProperties": st.dictionaries(PATTERNS, below, max_size=1),
        "propertyNames": st.fixed_dictionaries({"minLength": st.integers(0, 2)}),
        "minProperties": SMALL,
        "maxProperties": SMALL,
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, unique=True, max_size=2), max_size=2),
        "dependentSchemas": members,
        "unevaluatedProperties": below,
    }
    return st.fixed_dictionaries({"type": st.just("object")}, optional=keywords)


def arrays(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keywords = {
        "items": below,
        "prefixItems": st.lists(below, min_size=1, max_size=2),
        "contains": below,
        "minItems": SMALL,
        "maxItems": SMALL,
        "uniqueItems": st.booleans(),
        "unevaluatedItems": below,
    }
    return st.fixed_dictionaries({"type": st.just("array")}, optional=keywords)


def combined(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(below, min_size=1, max_size=3)
    keywords = {"allOf": some, "anyOf": some, "oneOf": some, "not": below, "if": below, "then": below, "else": below}
    return st.fixed_dictionaries({}, optional=keywords)


TEXTS = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={"minLength": SMALL, "maxLength": st.integers(0, 40), "pattern": PATTERNS, "format": FORMATS},
)
BOUND = st.one_of(st.integers(-9, 9), st.sampled_from([0.1, 2.5, -0.3, 1e9]))
NUMBERS = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number"])},
    optional={
        "minimum": BOUND,
        "maximum": BOUND,
        "exclusiveMinimum": BOUND,
        "exclusiveMaximum": BOUND,
        "multipleOf": st.sampled_from([1, 3, 0.5, 0.01, 0.7]),
    },
)
OTHERS = st.one_of(
    st.booleans(),
    st.fixed_dictionaries({"enum": st.lists(VALUES, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"const": VALUES}, optional={"default": VALUES}),
    st.just({"$ref": "#"}),
    st.just({"type": ["null", "string"]}),
)
SCHEMAS = st.recursive(
    TEXTS | NUMBERS | OTHERS,
    lambda below: objects(below) | arrays(below) | combined(below),
    max_leaves=8,
)
JUNK = st.recursive(
    VALUES,
    lambda below: st.dictionaries(
        st.sampled_from(["type", "enum", "const", "properties", "required", "items", "allOf", "anyOf", "oneOf", "not", "if",
                         "$ref", "$id", "pattern", "format", "minLength", "minItems", "minimum", "multipleOf", "default",
                         "examples", "description", "dependencies", "contains", "propertyNames", "minProperties"]),
        below, max_size=4,
    ) | st.lists(below, max_size=3),
    max_leaves=10,
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCHEMAS)
def test_a_value_without_a_problem_conforms(schema: Any) -> None:
    """And by the word of a second validator too, which checks no formats."""
    found = synthesize(schema)
    if found.problem is None:
        assert compile_schema(schema).is_valid(found.value)
        assert json.loads(json.dumps(found.value)) == found.value


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(TEXTS, NUMBERS, objects(TEXTS | NUMBERS), arrays(TEXTS | NUMBERS)), st.data())
def test_where_another_generator_finds_a_value_so_do_we(schema: Any, data: st.DataObject) -> None:
    """hypothesis-jsonschema, by other ways; its value must conform too, since the two validators differ in formats."""
    known = {key: value for key, value in schema.items() if not key.startswith("unevaluated")}
    try:
        jsonschema.Draft202012Validator.check_schema(known)
        other = data.draw(from_schema(known))
    except Exception:  # noqa: BLE001 - it refuses what it cannot satisfy in many ways, each of them its own affair
        return
    if compile_schema(known).is_valid(other):
        assert synthesize(known).problem is None


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(JUNK)
@example({"contains": None, "const": {"type": None}})
def test_what_is_no_schema_is_a_problem_and_never_an_exception(junk: Any) -> None:
    """What is a schema of an older draft is read as one, and judged by as one."""
    tool = {"name": "tool", "inputSchema": junk}
    synthesize(junk)
    arguments_for(tool)
    for case in (edge_case(tool), violation_case(tool), *probe_cases(tool)):
        if case is not None:
            validator = readable(junk)[1]
            assert validator is not None
            assert validator.is_valid(case.arguments) is case.valid


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(NAMES, SCHEMAS, max_size=3), st.lists(NAMES, unique=True, max_size=2))
def test_a_case_is_valid_or_not_as_it_says(properties: Any, names: list[str]) -> None:
    schema = {"type": "object", "properties": properties, "required": names}
    tool = {"name": "tool", "inputSchema": schema}
    for case in (edge_case(tool), violation_case(tool), *probe_cases(tool)):
        assert case is None or compile_schema(schema).is_valid(case.arguments) is case.valid


def test_every_process_gives_the_same_values_whatever_its_hashes() -> None:
    """Two processes with other hashes, over the hostile schemas too: no step depends on the order of a set."""
    names = [name for name in HOSTILE if "thousand" not in name and "Python" not in name]
    script = (
        "import json, sys\n"
        "from tests.core.synthesize.test_hostile import HOSTILE\n"
        "from tests.core.synthesize.test_corpora import SUITE, TOOLS\n"
        "from mcptest_engine.core.synthesize import arguments_for, probe_cases, synthesize\n"
        "for name in json.loads(sys.argv[1]): print(synthesize(HOSTILE[name]))\n"
        "for entry in SUITE[::9]: print(synthesize(entry['schema']))\n"
        "for name, tool in TOOLS[::16]: print(name, arguments_for(tool), probe_cases(tool))\n"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", script, json.dumps(names)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert told[0].count(b"\n") > 100
