"""Lists of keys in the code, held to the models, which describe the language: a key that is added there is missed nowhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcptest_engine.core.enums import TestKind
from mcptest_engine.running.kinds.agent.tool_policy import LISTS
from mcptest_engine.running.launch import URL_ONLY
from mcptest_engine.suite import case_checks, judged_checks
from mcptest_engine.suite.case_rows import WITH_CASES
from mcptest_engine.suite.hook_checks import PHASES
from mcptest_engine.suite.items import NESTING_MATCHERS
from mcptest_engine.suite.merge import merge, merge_variables, whole_document
from mcptest_engine.suite.schema import strict_schema
from mcptest_engine.suite.server_checks import ONLY_WITH
from mcptest_engine.suite.short_assertions import EXPECT_KEYS
from mcptest_engine.suite.templates import LATE_BLOCKS, Declared, Templates, Walk

SCHEMA = strict_schema()
TOP_KEYS = sorted(SCHEMA["properties"].keys() - {"$schema", "imports"})


def keys_of(definition: str) -> set[str]:
    return set(SCHEMA["$defs"][definition]["properties"])


def value_of(key: str, text: str) -> Any:
    """A value with the shape that the key has in a suite; `text` is in it."""
    schema = SCHEMA["properties"][key]
    if "anyOf" in schema:
        schema = schema["anyOf"][0]
    shape = {"array": [{"name": text}], "string": text}.get(schema.get("type"), {"k": text})
    return {"k": {"url": text}} if key == "servers" else shape


def test_each_kind_of_test_has_its_block() -> None:
    items = {key for key in TOP_KEYS if "Test" in json.dumps(SCHEMA["properties"][key].get("items", ""))}
    assert {"tools", "resources", "prompts", "agents", "evals"} <= items
    assert items <= {kind.block for kind in TestKind} <= set(TOP_KEYS)
    assert set(WITH_CASES) == {
        kind.block
        for kind in TestKind
        for item in [SCHEMA["properties"][kind.block].get("items", {}).get("$ref", "").rpartition("/")[2]]
        if item and "cases" in keys_of(item)
    }


@pytest.mark.parametrize("key", TOP_KEYS)
def test_each_key_of_a_suite_is_merged_and_may_hold_templates(key: str) -> None:
    document = {key: value_of(key, "x")}
    whole = whole_document(merge([(0, document)]), document, dict.fromkeys(merge_variables([(0, document)]), "x"))
    assert key in whole
    if key == "variables":  # their own order: `Templates.resolve_variables`
        return
    templates = Templates(environ={}, declared={"v": Declared(value="new", file=0, config_dir="")})
    templates.resolve_variables()
    faults: list[Any] = []
    text = "${env.v}" if key == "env" else "${var.v}"
    if key == "env":
        templates.environ = {"v": "new"}
    value = Walk(templates, "", faults).block(key, value_of(key, text))
    assert ("new" in json.dumps(value)) == (key != TestKind.COMPOSITION.block), (
        "its nodes are late: `late_templates.py`"
    )
    assert key in LATE_BLOCKS or key != TestKind.COMPOSITION.block
    assert not faults


def test_lists_of_keys_are_those_of_the_models() -> None:
    assert keys_of("Expect") | keys_of("AgentExpect") == EXPECT_KEYS
    assert keys_of("CompositionCase") - {"vars"} == case_checks._ROW_KEYS
    assert set(PHASES) | {"per_attempt", "timeout_ms"} == keys_of("Hooks")
    assert set(LISTS) == set(judged_checks._TOOL_LISTS) == keys_of("AgentTools")
    assert set(ONLY_WITH["command"]) | URL_ONLY <= keys_of("Server")
    nesting = {
        name for name, about in SCHEMA["$defs"]["Matcher"]["properties"].items() if "/Matcher" in json.dumps(about)
    }
    assert nesting == NESTING_MATCHERS
