"""What a model is told of tools and of their answers: names that providers take, and every kind of content."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest_engine.running.kinds.agent.toolbox import (
    LONGEST_ANSWER,
    LONGEST_NAME,
    Toolbox,
    answer_for_model,
    provider_names,
)

NAMES = st.lists(
    st.text(min_size=1, max_size=90) | st.from_regex(r"[a-z_.-]{1,8}", fullmatch=True), unique=True, max_size=8
)


@settings(max_examples=40)
@given(NAMES)
def test_told_names_are_taken_by_providers_and_all_different(names):
    told = provider_names([(name, name) for name in names])
    assert all(re.fullmatch(rf"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}", name) for name in told)
    assert len(set(told)) == len(names)


@settings(max_examples=40)
@given(NAMES)
def test_a_name_that_is_usual_stays_as_it_is(names):
    for name, told in zip(names, provider_names([(name, name) for name in names]), strict=True):
        if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            assert told == name


@settings(max_examples=40)
@given(st.lists(st.text(min_size=1, max_size=80), unique=True, max_size=6), st.booleans())
def test_what_the_model_says_leads_back_to_the_tool(names, several):
    tools = [{"name": name} for name in names]
    box = Toolbox({"one": tools, "two": tools} if several else {"one": tools})
    found = [(tool.server, tool.name) for offer in box.offers if (tool := box.get(offer.name)) is not None]
    assert found == [(server, name) for server in (("one", "two") if several else ("one",)) for name in names]


def test_names_of_one_server_stay_bare_and_of_several_carry_the_server():
    tool = {"name": "search", "description": "finds", "inputSchema": {"type": "object", "required": ["q"]}}
    assert [offer.name for offer in Toolbox({"a": [tool]}).offers] == ["search"]
    assert [offer.name for offer in Toolbox({"a": [tool], "b": [tool]}).offers] == ["a__search", "b__search"]


def test_tools_of_two_servers_that_would_go_by_one_name_are_told_apart_in_any_order():
    listed: dict[str, list[dict[str, Any]]]
    listed = {"a": [{"name": "b__look"}], "a__b": [{"name": "look", "annotations": {"destructiveHint": True}}]}
    for servers in (listed, dict(reversed(listed.items()))):
        box = Toolbox(servers)
        found = {offer.name: tool for offer in box.offers if (tool := box.get(offer.name)) is not None}
        assert all(re.fullmatch("a__b__look_[0-9a-f]{8}", name) for name in found)
        assert sorted((tool.server, tool.name, tool.told) for tool in found.values()) == [
            ("a", "b__look", "a__b__look_7739c7a8"),
            ("a__b", "look", "a__b__look_e514f0e1"),
        ]


def test_a_tool_that_is_listed_anew_is_answered_for_by_its_new_schema():
    box = Toolbox({"a": [{"name": "x", "outputSchema": {"type": "object"}}]})
    box.relist("a", [{"name": "x", "outputSchema": {"type": "object", "required": ["id"]}}])
    offered = box.get("x")
    assert offered is not None
    assert offered.descriptor["outputSchema"]["required"] == ["id"]


def test_a_tool_with_a_schema_that_no_provider_takes_is_offered_with_one_for_any_object():
    wrong: tuple[Any, ...] = (None, [], {"type": "string"}, "no schema")
    for schema in wrong:
        (offer,) = Toolbox({"a": [{"name": "x", "inputSchema": schema, "title": "the title"}]}).offers
        assert offer.input_schema == {"type": "object", "properties": {}}
        assert offer.description == "the title"


def test_what_cannot_be_offered_is_remarked():
    box = Toolbox({"a": [{"name": "x"}, {"name": "x"}, {"name": 7}, {"title": "y"}]})
    assert [offer.name for offer in box.offers] == ["x"]
    assert box.remarks == [
        'server "a" lists the tool `x` twice; the first is offered',
        'server "a" lists a tool whose name is a number; it is not offered',
        'server "a" lists a tool whose name is null; it is not offered',
    ]


def test_texts_are_joined_and_the_rest_is_described():
    resource = {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "text/plain", "blob": "aGk="}}
    content = [
        {"type": "text", "text": "one"},
        {"type": "text", "text": "two"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "three"}},
        resource,
        "no block",
    ]
    assert answer_for_model({"content": content, "structuredContent": {"a": 1}}).splitlines() == [
        "one",
        "two",
        "[image image/png, 4 characters of base64]",
        "three",
        "[resource file:///b text/plain]",
    ]


def test_structured_content_is_told_where_there_is_no_text():
    assert answer_for_model({"content": [], "structuredContent": {"a": "ö"}}) == '{"a": "ö"}'
    assert answer_for_model({"structuredContent": []}) == "[]"


def test_nothing_is_told_as_nothing_and_too_much_is_cut_off():
    assert answer_for_model({"content": None}) == "(the tool returned no content)"
    told = answer_for_model({"content": [{"type": "text", "text": "x" * 300_000}]})
    assert len(told) < LONGEST_ANSWER + 50
    assert told.endswith("… (cut off: 300000 characters)")


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_whatever_a_server_calls_content_something_is_told(content):
    assert answer_for_model({"content": content})
