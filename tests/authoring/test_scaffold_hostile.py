"""Whatever a server lists, the generated suite loads without a problem or a warning, and says what the server meant.

Nothing that a server writes can break out of a comment, of quotes, or into a template.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptest_engine.authoring.catalog_texts import OTHER_REQUESTS, nameable_tools
from mcptest_engine.authoring.conformance import scaffold_conformance
from mcptest_engine.authoring.evals import scaffold_eval
from mcptest_engine.authoring.redteam import scaffold_redteam
from mcptest_engine.authoring.scaffold import ScaffoldOptions, scaffold_suite, without_prose
from mcptest_engine.authoring.suite_text import MOST_CHARACTERS, Entry, first_line, lines_of, plain, proved
from mcptest_engine.authoring.targets import untemplated
from mcptest_engine.core.errors import Severity
from mcptest_engine.core.sanitise import first_control, sanitise
from mcptest_engine.suite.templates import Templates
from mcptest_engine.suite.yaml import read_tree
from tests.authoring.catalogs import TARGET, catalog, loaded, problems, text_tool, tool, written

SLOW = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None, max_examples=60
)
ALL = ScaffoldOptions(all=True, probe=True)

NASTY = (
    "no", "y", "1e3", "0x1", "012", "~", "null", "- a", "# b", "a: b", "a #b", "", " ", "'", '"', "\\", "\n", "a\nb: c",
    "\r", "\u2028tools:", "\x85", "\x1b[31m", "\x07", "\ufeff", "\u202eevil", "\U000e0041", "${HOME}", "$${x}", "${", "%", "@",
    "&a", "*a", "!!x", "|", ">", "{", "[", "]", "}", ",", "?", "-", ":", "<<", "=", "é", "日本", "🎉", "\ud800", "...", "---",
    "x" * 200, "server\ttab", "`tick`", "ping", "tools/call", "true", ".inf", "2026-01-01", "1:2",
)  # fmt: skip
TEXTS = st.sampled_from(NASTY) | st.text(st.characters(), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null", "text", 7])
SCHEMAS = st.recursive(
    VALUES
    | st.fixed_dictionaries({"type": TYPES})
    | st.fixed_dictionaries({"enum": st.lists(VALUES, max_size=3)})
    | st.fixed_dictionaries({"const": VALUES})
    | st.fixed_dictionaries({"default": VALUES, "description": TEXTS})
    | st.just({"$ref": "https://example.com/x"}),
    lambda inner: st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(TEXTS, inner, max_size=3)},
        optional={"required": st.lists(TEXTS, max_size=2) | VALUES, "additionalProperties": inner},
    ),
    max_leaves=6,
)
TOOLS = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXTS | VALUES,
        "description": TEXTS | VALUES,
        "title": TEXTS | VALUES,
        "inputSchema": SCHEMAS,
        "outputSchema": SCHEMAS,
        "annotations": VALUES | st.fixed_dictionaries({"destructiveHint": st.booleans()}),
    },
)
RESOURCES = st.fixed_dictionaries({}, optional={"uri": TEXTS | VALUES, "name": TEXTS})
PROMPTS = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXTS | VALUES,
        "arguments": VALUES | st.lists(st.fixed_dictionaries({"name": TEXTS, "required": st.just(True)}), max_size=2),
    },
)


@given(st.lists(TOOLS, max_size=4), st.lists(RESOURCES, max_size=2), st.lists(PROMPTS, max_size=2))
@SLOW
def test_every_catalog_gives_a_suite_without_problems(
    tools: list[dict[str, Any]], resources: list[dict[str, Any]], prompts: list[dict[str, Any]]
) -> None:
    found = scaffold_suite(catalog(*tools, resources=tuple(resources), prompts=tuple(prompts)), TARGET, ALL)
    assert problems(found.suite) == ()
    assert _is_clean(found.suite)
    assert sum(one.tests_generated for one in found.tools) == len(
        [test for test in written(found.suite).get("tools", ()) if test["tool"] != "ping"]
    )


@given(st.lists(TOOLS, max_size=3))
@SLOW
def test_every_catalog_gives_agent_and_compliance_suites_without_errors(tools: list[dict[str, Any]]) -> None:
    """Of `agents:` validate may say that nothing runs them yet; that is no error."""
    listed = catalog(*tools)
    for found in (
        scaffold_conformance(listed, TARGET),
        scaffold_redteam(listed, TARGET),
        scaffold_eval(listed, TARGET),
    ):
        assert [problem for problem in problems(found.suite) if problem.severity is Severity.ERROR] == []
        assert _is_clean(found.suite)


@given(TEXTS.filter(bool))
@SLOW
def test_a_tool_is_called_by_the_very_name_that_the_server_gave(name: str) -> None:
    found = scaffold_suite(catalog(text_tool(name)), TARGET, ScaffoldOptions(include_edge=False))
    if found.tools and found.tools[0].tests_generated:
        assert {test.data["tool"] for test in loaded(found.suite).tests} == {name}
    else:
        assert found.notes


@pytest.mark.parametrize("name", NASTY)
def test_no_description_breaks_out_of_its_comment(name: str) -> None:
    found = scaffold_suite(catalog(text_tool(description=f"{name}\ntools: []\n{name}")), TARGET)
    assert problems(found.suite) == ()
    assert [test["tool"] for test in written(found.suite)["tools"]] == ["get_page"] * 3


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
@SLOW
def test_a_test_that_is_kept_reads_back_as_it_was_meant(arguments: dict[str, Any]) -> None:
    entry = Entry(block="tools", test={"name": "a", "args": arguments}, comments=("first\nsecond: 1", "third"))
    good, left_out = proved([entry])
    assert len(good) + len(left_out) == 1
    if good:
        for column in (0, 2, 6):
            text = "tools:\n" + "\n".join(lines_of(good, column)) + "\n"
            assert repr(read_tree(text, file="").value) == repr({"tools": [plain(entry.test)]})


@given(VALUES)
@SLOW
def test_templates_give_back_what_was_literal(value: Any) -> None:
    templates = Templates(environ={}, declared={})
    document, faults = templates.expand_document({"tools": [{"args": untemplated(value)}]}, config_dir="/")
    assert faults == []
    assert repr(document) == repr({"tools": [{"args": plain(value)}]})


@given(TEXTS)
def test_what_is_told_of_a_text_is_one_safe_line(text: str) -> None:
    line = first_line(text)
    assert sanitise(line) is line
    assert first_control(line) is None
    assert len(line) <= 100


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"k" * 2000: 1}, "reads back the same"),
        ({"${HOME}": 1}, "the name of an argument contains `${`"),
        ({"a": {"${x}": 1}}, "the name of an argument contains `${`"),
        ({"a": math.inf}, "a number that JSON cannot express"),
        ({"a": "\ud800"}, "a lone surrogate"),
        ({"a": "x" * MOST_CHARACTERS}, "characters"),
        ({"a": 10**4500}, "too many digits"),
    ],
)
def test_what_no_suite_holds_is_left_out_and_the_others_are_kept(arguments: dict[str, Any], why: str) -> None:
    sound = Entry(block="tools", test={"name": "b", "args": {"a": 1}})
    good, left_out = proved([Entry(block="tools", test={"name": "a", "args": arguments}), sound])
    assert [one.entry for one in good] == [sound]
    assert why in left_out[0][1]


def test_nesting_that_no_suite_holds_is_left_out() -> None:
    deep: Any = 1
    for _ in range(120):
        deep = [deep]
    good, left_out = proved([Entry(block="tools", test={"name": "a", "args": {"a": deep}})])
    assert good == ()
    assert left_out


def test_tools_without_a_name_and_names_that_come_twice_are_told() -> None:
    notes: list[str] = []
    found = nameable_tools([tool(""), tool(7), {}, tool("one", title="first"), tool("one", title="second")], notes)
    assert [one["title"] for one in found.values()] == ["first"]
    assert len(notes) == 4


def test_names_that_look_like_requests_are_those_that_validate_warns_of() -> None:
    """Else a generated suite would have a warning."""
    for name in (*OTHER_REQUESTS, "tools/list", "ping"):
        assert nameable_tools([tool(name)], []) == {}
    expect = "expect: [{ target: error, matcher: { exact: null } }]"
    suite = f'servers: {{ a: {{ command: ["x"] }} }}\ntools: [{{ name: a, tool: %s, {expect} }}]\n'
    assert all("as the request" in problems(suite % name)[0].message for name in OTHER_REQUESTS)
    assert problems(suite % "elicitation/accept") == ()


@pytest.mark.parametrize(
    "schema", [None, 7, "object", [], True, {"type": "array"}, {"properties": []}, {"required": [[]]}]
)
def test_an_input_schema_of_a_wrong_shape_is_lived_with(schema: object) -> None:
    found = scaffold_suite(catalog({"name": "get_page", "inputSchema": schema}, {"name": "no_schema"}), TARGET, ALL)
    assert [one.name for one in found.tools] == ["get_page", "no_schema"]
    assert problems(found.suite) == ()


def test_a_schema_as_deep_as_a_server_likes_is_lived_with() -> None:
    deep: Any = {"type": "string"}
    for _ in range(900):
        deep = {"type": "object", "properties": {"a": deep}, "required": ["a"]}
    found = scaffold_suite(catalog(tool("deep", deep, outputSchema=deep), tool("get_page")), TARGET, ALL)
    assert problems(found.suite) == ()
    assert found.notes


def test_two_tools_whose_names_look_alike_have_tests_of_different_names() -> None:
    names = ["a" * 100 + "1", "a" * 100 + "2", "get\u200bpage", "get\\u200bpage"]
    suite = written(scaffold_suite(catalog(*map(tool, names)), TARGET).suite)
    tests = [test["name"] for test in suite["tools"]]
    assert len(tests) == len(set(tests))


def test_properties_called_like_prose_are_kept() -> None:
    schema = {"properties": {"title": {"title": "x", "type": "string"}}, "$defs": {"examples": {"examples": [1]}}}
    assert without_prose(schema) == {"properties": {"title": {"type": "string"}}, "$defs": {"examples": {}}}


def _is_clean(suite: str) -> bool:
    """Nothing that a terminal obeys or a reader cannot see."""
    return sanitise(suite) == suite
