"""The operators: what they change, and that they change nothing else."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptest_engine.judging.differences import equal
from mcptest_engine.mutation.operators import (
    AGENT,
    BY_NAME,
    FROM_JSON,
    MISSING,
    OPERATORS,
    Change,
    Path,
    Source,
    apply,
    assertion_path,
    changes_of,
    find_copies,
    get_at,
    put_at,
    read_json,
    show_path,
)
from mcptest_engine.mutation.recording import find_volatile
from mcptest_engine.mutation.report import page_rows

SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=3)
SENTENCES = st.sampled_from(["7 of tea", "from 8 to 18.5", "-3", "007", "9" * 5000])
TEXTS = st.text(max_size=12) | st.builds(json.dumps, VALUES) | SENTENCES


@st.composite
def results(draw: st.DrawFn) -> dict[str, Any]:
    """Results of tools, some with structured content that a text repeats."""
    blocks = [{"type": "text", "text": text} for text in draw(st.lists(TEXTS, max_size=2))]
    result: dict[str, Any] = {"content": blocks}
    if draw(st.booleans()):
        wrapped = draw(VALUES)
        content = draw(OBJECTS | st.just({"result": wrapped}))
        result["structuredContent"] = content
        if draw(st.booleans()):
            result["content"] = [{"type": "text", "text": json.dumps(content)}]
        elif set(content) == {"result"} and isinstance(wrapped, list):
            result["content"] = [
                {"type": "text", "text": one if isinstance(one, str) else json.dumps(one)} for one in wrapped
            ]
    return {**result, **draw(st.sampled_from([{}, {"isError": False}, {"_meta": {"a": 1}}]))}


def changes(result: Any, method: str = "tools/call", **more: Any) -> list[Change]:
    return list(changes_of(Source(method, {"result": result}, **more)))


def made(result: Any, method: str = "tools/call", **more: Any) -> dict[tuple[str, str], Any]:
    return {(one.operator, show_path(one.path)): one.after for one in changes(result, method, **more)}


def parsed(value: Any) -> Any:
    """A value with its JSON texts read, for which the order of members counts nothing."""
    if isinstance(value, str):
        held = read_json(value)
        return value if held is None else ["JSON", parsed(held)]
    if isinstance(value, dict):
        return {key: parsed(part) for key, part in value.items()}
    return [parsed(part) for part in value] if isinstance(value, list) else value


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(results(), st.lists(VALUES, max_size=1))
def test_each_mutant_differs_in_exactly_the_change_that_it_names(result: dict[str, Any], others: list[Any]) -> None:
    answer = {"result": result}
    before = copy.deepcopy(answer)
    refuses_numbers = lambda value: (lambda: None) if value == {} else None  # noqa: E731 - a judge
    for change in changes_of(Source("tools/call", answer, tuple(others), refuses_numbers)):  # type: ignore[arg-type]
        mutant = apply(answer, change)
        assert equal(get_at(answer, change.path), change.before) or change.before is MISSING
        assert not equal(parsed(mutant), parsed(answer))
        put_back = put_at(mutant, change.path, change.before) if change.path else change.before
        if change.copies:  # they are the structured content again
            put_back = put_at(put_back, ("result", "content"), answer["result"]["content"])
            for copied in change.copies:
                source = get_at(mutant, ("result", "structuredContent", *copied.source))
                text = get_at(mutant, ("result", "content", copied.block, "text"))
                assert source is MISSING or text == source or equal(json.loads(text), source)
        assert equal(parsed(put_back), parsed(answer)), change
    assert equal(answer, before), "a recorded answer was altered"


def test_the_operators_by_what_they_make_of_one_answer() -> None:
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": json.dumps({"paid": True, "ids": [3, 4]})}],
        "isError": False,
    }
    found = made(result, others=({"content": []},))
    inside = "result.content[0].text | fromjson"
    assert found["flip-is-error", "result.isError"] is True
    assert found["drop-member", f"{inside} | .paid"] is MISSING
    assert found["change-type", f"{inside} | .ids[0]"] == "3"
    assert found["set-null", f"{inside} | .paid"] is None
    assert found["flip-boolean", f"{inside} | .paid"] is False
    assert found["number-plus-one", f"{inside} | .ids[1]"] == 5
    assert found["number-minus-one", f"{inside} | .ids[0]"] == 2
    assert found["number-zero", f"{inside} | .ids[0]"] == 0
    assert found["number-sign", f"{inside} | .ids[0]"] == -3
    assert found["empty-text", "result.content[0].text"] == ""
    assert found["truncate-text", "result.content[0].text"] == result["content"][0]["text"][:14]
    assert found["swap-items", f"{inside} | .ids"] == [4, 3]
    assert found["drop-last-item", "result.content"] == []
    assert found["stale-answer", "result"] == {"content": []}
    assert found["error-answer", "answer"]["error"]["code"] == -32603
    assert found["unknown-content-type", "result.content[0].type"] == "x-unknown"
    assert found["drop-member", "result.isError"] is MISSING


def test_a_number_in_a_sentence_is_changed_and_a_date_is_not() -> None:
    found = changes({"content": [{"type": "text", "text": "7 left on 2026-11-27 at 10:30, v1.2.3 for -4.5 EUR"}]})
    texts = {one.after for one in found if one.operator == "number-plus-one"}
    assert texts == {
        "8 left on 2026-11-27 at 10:30, v1.2.3 for -4.5 EUR",
        "7 left on 2026-11-27 at 10:30, v1.2.3 for -3.5 EUR",
    }


def test_structured_content_changes_with_the_text_that_repeats_it() -> None:
    """FastMCP wraps what is no object as `result`, and gives a list as a block each."""
    result = {
        "content": [{"type": "text", "text": "tea"}, {"type": "text", "text": "30"}],
        "structuredContent": {"result": ["tea", 30]},
    }
    answer = {"result": result}
    by_name = {(one.operator, show_path(one.path)): one for one in changes(result)}
    one_more = apply(answer, by_name["number-plus-one", "result.structuredContent.result[1]"])
    assert [block["text"] for block in one_more["result"]["content"]] == ["tea", "31"]
    shorter = apply(answer, by_name["drop-last-item", "result.structuredContent.result"])
    assert [block["text"] for block in shorter["result"]["content"]] == ["tea"]
    assert not [path for _, path in by_name if path.startswith("result.content[") and path.endswith("text")]
    assert len(find_copies(answer)) == 2


def test_what_no_client_looks_at_is_marked() -> None:
    result = {
        "content": [{"type": "text", "text": "x", "annotations": {"priority": 1}}],
        "_meta": {"trace": 1},
        "extra": 1,
    }
    ignored = {show_path(one.path) for one in changes(result) if one.ignored is not None}
    assert ignored == {"result.content[0].annotations", "result._meta", "result.extra"}


def test_a_declared_output_schema_is_broken() -> None:
    def judge(value: object) -> Any:
        return None if isinstance(value, dict) and isinstance(value.get("n"), int) else lambda: None

    result = {"content": [], "structuredContent": {"n": 1}}
    found = made(result, output_schema=judge)
    assert found["break-output-schema", "result.structuredContent"] == {}
    assert ("break-output-schema", "result.structuredContent") not in made(result)


def test_the_protocols_own_members_are_not_dropped() -> None:
    """Every such mutant would be killed by the validity of the answer, whatever a suite asserts."""
    dropped = {
        show_path(one.path) for one in changes({"content": [{"type": "text", "text": "x"}]}) if one.after is MISSING
    }
    assert dropped == set()


GREETING = {"role": "user", "content": {"type": "text", "text": "at 8"}}


@pytest.mark.parametrize(
    ("method", "result", "path"),
    [
        ("resources/read", {"contents": [{"uri": "a://b", "text": "from 8"}]}, "result.contents[0].text"),
        ("prompts/get", {"messages": [GREETING]}, "result.messages[0].content.text"),
        ("tools/list", {"tools": [{"name": "echo 8"}]}, "result.tools[0].name"),
    ],
)
def test_resources_prompts_and_lists_are_changed(method: str, result: dict[str, Any], path: str) -> None:
    names = {name for name, where in made(result, method) if where == path}
    assert {"empty-text", "truncate-text", "number-plus-one"} <= names


def test_an_error_and_a_trace_are_changed() -> None:
    refused = Source("tools/call", {"error": {"code": -32602, "message": "no such city"}})
    assert {show_path(one.path) for one in changes_of(refused)} == {"error.code", "error.message"}
    call = {"name": "price", "is_error": False, "args": {"item": "tea"}, "result": {"content": []}}
    trace = Source(AGENT, {"final_response": "30 EUR", "tool_calls": [call]})
    paths = {show_path(one.path) for one in changes_of(trace)}
    assert {"final_response", "tool_calls", "tool_calls[0].args.item", "tool_calls[0].name"} <= paths


def test_what_lies_in_a_list_whose_order_changes_is_left_alone() -> None:
    result = {"content": [], "structuredContent": {"tags": ["a", {"b": 1}], "total": 2}}
    tags = ("result", "structuredContent", "tags")
    paths = {one.path for one in changes_of(Source("tools/call", {"result": result}), volatile={tags})}
    assert not [path for path in paths if path[:3] == tags]
    assert ("result", "structuredContent", "total") in paths


def test_volatile_paths_are_left_alone() -> None:
    result = {"content": [{"type": "text", "text": '{"at": 17, "n": 3}'}]}
    at: Path = ("result", "content", 0, "text", FROM_JSON, "at")
    paths = {one.path for one in changes_of(Source("tools/call", {"result": result}), volatile={at})}
    assert at not in paths
    assert (*at[:-1], "n") in paths


@pytest.mark.parametrize(
    ("path", "target", "program"),
    [
        (("result", "content", 0, "text"), "result.content[0].text", None),
        (("result", "content", 0, "text", FROM_JSON, "a b", 1), "result.content[0].text", 'fromjson | .["a b"][1]'),
        (("result", "x", FROM_JSON), "result.x", "fromjson"),
        (("result", "x", FROM_JSON, 0, FROM_JSON, "n"), "result.x", "fromjson | .[0] | fromjson | .n"),
    ],
)
def test_a_path_as_an_assertion_names_it(path: tuple[Any, ...], target: str, program: str | None) -> None:
    assert assertion_path(path) == (target, program)


def test_a_text_is_read_only_where_it_can_be_written_again() -> None:
    for text in ('{"a": 1}', '{"a":1,"b":[1,2]}', '{\n  "a": "é"\n}', '["\\u00e9"]'):
        assert read_json(text) is not None
    for text in ('{"a":  1}', '{"a": 1.50}', "{", "17", "text"):
        assert read_json(text) is None


def test_every_operator_has_its_row_in_the_table() -> None:
    assert len(list(page_rows())) == len(OPERATORS) + 2
    assert len(BY_NAME) == len(OPERATORS)


@pytest.mark.parametrize(
    ("first", "again", "changing"),
    [
        ([{"entry": 1}, {"entry": 2}], [{"entry": 8}, {"entry": 9}], True),
        ([1.5, 2.5], [7.25, 8.25], True),
        ([{"id": 1, "seen": 1}, {"id": 2, "seen": 2}], [{"id": 1, "seen": 3}, {"id": 2, "seen": 4}], False),
        ([{"entry": 1}, {"entry": 2}], [{"entry": 1}, {"entry": 9}], False),
        ([{"entry": 1}], [{"entry": 8}], False),
        ([{"tags": [1, 2]}, {"tags": [3, 4]}], [{"tags": [5, 6]}, {"tags": [7, 8]}], True),
    ],
)
def test_a_list_of_which_nothing_came_again_had_its_length_by_chance(first: Any, again: Any, changing: bool) -> None:
    answers = [{"result": {"content": [], "structuredContent": {"entries": entries}}} for entries in (first, again)]
    found = find_volatile(Source("tools/call", answers[0]), answers[1], frozenset())
    assert (("result", "structuredContent", "entries") in found) is changing
    assert ("result", "structuredContent") not in found
