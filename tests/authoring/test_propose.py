"""What is proposed of a tool call."""

from __future__ import annotations

import base64
import json
import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.authoring.propose import Proposed, latency_budget_ms
from mcptest_engine.core.errors import BudgetExhausted, CallTimeout, InvalidResult, PolicyDenied, UsageError
from mcptest_engine.core.targets import parse_target, resolve
from mcptest_engine.judging.differences import equal
from mcptest_engine.safety.execution_policy import ExecutionPolicy
from mcptest_engine.suite.load import LoadOptions, check_text
from mcptest_engine.suite.yaml import read_tree
from tests.authoring.scripts import Scripted, text_result, tool
from tests.processes import longer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Of = Callable[..., Proposed]

# The example of the docs, its indentation as YAML needs it.
EXAMPLE = """\
  - name: "get_status: proposed assertions"
    server: "target"
    tool: "get_status"
    args: {}
    expect:
      assertions:
        - target: "result.isError"
          matcher:
            not:
              exact: true
          message: "tool call must not signal an error"
        - target: "result.content"
          matcher:
            schema:
              items:
                properties:
                  text:
                    type: "string"
                  type:
                    type: "string"
                required: ["text", "type"]
                type: "object"
              type: "array"
          message: "observed structure of result.content"
        - target: "result.content[0].text"
          matcher:
            exact: "status: degraded"
          message: "observed, not verified; the same in both calls"
        - target: "result.content[0].type"
          matcher:
            exact: "text"
          message: "observed, not verified; the same in both calls"
      # latency budget: 2x the slowest observed call, rounded up to the nearest 50 ms, floor 100 ms
      max_duration_ms: 100
"""


@pytest.fixture
def of(tmp_path: Path) -> Of:
    """`of(answer, answer, …)`: the proposal of a read-only tool that gives these answers."""

    def make(*answers: dict[str, Any], name: str = "look", **more: Any) -> Proposed:
        return Scripted(tmp_path, [tool(name)], {name: answers}).propose(name, **more)

    return make


def structured(value: Any, **more: Any) -> dict[str, Any]:
    return {"result": {"content": [], "structuredContent": value, **more}}


def assertions(proposed: Proposed) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = proposed.mapping["expect"]["assertions"]
    return found


def exacts(proposed: Proposed) -> dict[str, Any]:
    """What is asserted exactly of content, by target, in the order of the proposal."""
    return {
        one["target"]: one["matcher"]["exact"]
        for one in assertions(proposed)
        if "exact" in one.get("matcher", {}) and one["target"] != "result.isError"
    }


def schema(proposed: Proposed, target: str = "result.structuredContent") -> Any:
    return next(
        one["matcher"]["schema"]
        for one in assertions(proposed)
        if one["target"] == target and "schema" in one["matcher"]
    )


def problems(proposed: Proposed, tmp_path: Path) -> tuple[Any, ...]:
    """What a suite with the block has against it, warnings included."""
    text = f"servers:\n  target: {{ command: [cat] }}\ntools:\n{proposed.test}"
    return check_text(text, LoadOptions(environ={"PATH": "/bin"}, workspace_root=tmp_path), base_dir=tmp_path).problems


def test_the_example_of_the_specification_comes_out_to_the_character(of: Of) -> None:
    proposed = of(text_result("status: degraded"), name="get_status")
    told = re.sub(r"max_duration_ms: \d+", "max_duration_ms: 100", proposed.test)
    assert told == EXAMPLE
    assert (proposed.excluded_volatile, proposed.calls_made, proposed.notes) == ((), 2, ())


def test_whole_numbers_are_proposed_as_what_the_output_schema_says(tmp_path: Path) -> None:
    number, maybe = {"type": "number"}, {"type": ["number", "null"]}
    readings = {"type": "array", "items": {"type": "object", "properties": {"value": number}}}
    declared = {
        "type": "object",
        "properties": {"load": number, "left": maybe, "readings": readings, "count": {"type": "integer"}},
    }
    seen = {"load": 5, "left": 3, "readings": [{"value": 1}], "count": 2, "more": 1}
    answer = text_result("x", structuredContent=seen)
    proposed = Scripted(tmp_path, [tool("get_load", outputSchema=declared)], {"get_load": [answer]}).propose("get_load")
    found = schema(proposed)["properties"]
    types = {name: found[name]["type"] for name in found}
    assert types == {"load": "number", "left": "number", "readings": "array", "count": "integer", "more": "integer"}
    assert found["readings"]["items"]["properties"]["value"]["type"] == "number"


@pytest.mark.parametrize(
    ("slowest", "budget"), [(0, 100), (12.5, 100), (50, 100), (50.1, 150), (75, 150), (1234.5, 2500), (1250.01, 2550)]
)
def test_the_latency_budget_is_twice_the_slowest_call_rounded_up(slowest: float, budget: int) -> None:
    assert latency_budget_ms(slowest) == budget


@pytest.mark.parametrize(
    ("flags", "matcher"),
    [
        (({}, {}), {"not": {"exact": True}}),
        (({"isError": False}, {"isError": False}), {"exact": False}),
        (({"isError": False}, {}), {"not": {"exact": True}}),
        (({"isError": None}, {}), {"not": {"exact": True}}),
        (({"isError": True}, {"isError": True}), {"exact": True}),
    ],
)
def test_the_error_flag_is_asserted_as_it_was_seen(of: Of, flags: Sequence[dict[str, Any]], matcher: Any) -> None:
    proposed = of(*(text_result("x", **flag) for flag in flags), validity="off")
    assert assertions(proposed)[0]["target"] == "result.isError"
    assert assertions(proposed)[0]["matcher"] == matcher
    assert any("signalled an error" in note for note in proposed.notes) == (matcher == {"exact": True})


def test_a_tool_that_fails_now_and_then_is_told_to_be_unstable(of: Of) -> None:
    proposed = of(text_result("x", isError=True), text_result("x", isError=False))
    assert [one["target"] for one in assertions(proposed) if "isError" in one["target"]] == []
    assert proposed.excluded_volatile[0] == "result.isError"
    assert "one of the two calls signalled an error" in " ".join(proposed.notes)


def test_the_assertions_come_in_the_order_of_the_specification(of: Of) -> None:
    result = {"content": [{"type": "text", "text": "a"}], "structuredContent": {"n": 1}}
    targets = [one["target"] for one in assertions(of({"result": result}))]
    assert targets == [
        "result.isError",
        "result.content",
        "result.structuredContent",
        "result.structuredContent.n",
        "result.content[0].text",
        "result.content[0].type",
    ]


def test_short_scalars_at_shallow_paths_are_preferred_and_five_are_the_most(of: Of) -> None:
    value = {
        "a_long": "x" * 100,
        "b_deep": {"inner": {"n": 1}},
        "c": 1,
        "d": True,
        "e": None,
        "f": "short",
        "g": 1.5,
    }
    assert exacts(of(structured(value))) == {
        "result.structuredContent.c": 1,
        "result.structuredContent.d": True,
        "result.structuredContent.e": None,
        "result.structuredContent.f": "short",
        "result.structuredContent.g": 1.5,
    }


def test_a_value_that_differs_is_listed_and_not_asserted(of: Of) -> None:
    proposed = of(structured({"serial": 1, "name": "x"}), structured({"serial": 2, "name": "x"}))
    assert proposed.excluded_volatile == ("result.structuredContent.serial",)
    assert exacts(proposed) == {"result.structuredContent.name": "x"}


@pytest.mark.parametrize(
    ("first", "second", "excluded"),
    [
        ({"a": 1}, {}, ("result.structuredContent.a",)),
        ({}, {"a b": 1}, ('result.structuredContent["a b"]',)),
        ({"a": [1, 2]}, {"a": [1]}, ("result.structuredContent.a",)),
        ({"a": {"b": 1}}, {"a": [1]}, ("result.structuredContent.a",)),
        ({"a": 1}, {"a": True}, ("result.structuredContent.a",)),
        ({"a": None}, {"a": 0}, ("result.structuredContent.a",)),
        ({"a": [{"n": 1}, {"n": 2}]}, {"a": [{"n": 1}, {"n": 3}]}, ("result.structuredContent.a[1].n",)),
        ({"a": 1}, {"a": 1.0}, ()),
    ],
)
def test_every_way_in_which_answers_differ_is_told_by_its_path(
    of: Of, first: Any, second: Any, excluded: tuple[str, ...]
) -> None:
    proposed = of(structured(first), structured(second))
    assert proposed.excluded_volatile == excluded
    assert not set(exacts(proposed)) & set(excluded)


@pytest.mark.parametrize(
    "value",
    [
        {"at": "2026-03-04T11:12:13Z"},
        {"text": "it is 11:12:13 now"},
        {"key": "6f1c0e7e-8a55-4d0e-9f0a-0c8a3c1b2d4e"},
        {"key": "0123456789abcdef0123"},
        {"key": "01HZX3KQ8Y2V4W6N8P0R2T4V6X"},
        {"epoch": 1772622733},
        {"epoch": 1772622733123},
        {"uptime": 12},
        {"cursor": "abc"},
        {"day": "report for 2026-03-04"},
        {"day": "March 4, 2026"},
        {"pid": 4711},
        {"port": 8080},
        {"request_id": "r-1"},
        {"requestId": "r-1"},
        {"X-Request-Id": "r-1"},
        {"trace_id": "t"},
        {"traceID": "t"},
        {"session": "s"},
        {"hostname": "h1"},
        {"uptimeSeconds": 3},
        {"ts": 3},
        {"expires": "soon"},
        {"text": '{"state": "up", "worker": {"pid": 4711}}'},
    ],
)
def test_what_only_looks_stable_is_not_asserted_though_it_was_equal(of: Of, value: dict[str, Any]) -> None:
    proposed = of(structured(value))
    assert exacts(proposed) == {}
    assert proposed.excluded_volatile == (f"result.structuredContent.{next(iter(value))}",)
    assert "looks like a time or an id" in " ".join(proposed.notes)


@pytest.mark.parametrize(
    "value",
    [
        {"id": 7},
        {"born": "1815-12-10"},
        {"version": "1.2.3"},
        {"hash": "deadbeef"},
        {"year": 2026},
        {"support": 3},
        {"report": "r"},
        {"parts": 2},
        {"age": 36},
        {"host": "db"},
        {"sessions": 3},
        {"text": '{"state": "up", "id": 7}'},
        {"text": "{not json, pid: 4}"},
    ],
)
def test_what_two_calls_agree_on_is_believed_where_nothing_speaks_against_it(of: Of, value: dict[str, Any]) -> None:
    assert list(exacts(of(structured(value))).values()) == list(value.values())


def test_what_was_asked_for_by_its_name_comes_again_and_is_asserted(tmp_path: Path) -> None:
    server = Scripted(tmp_path / "s", [tool("look")], {"look": [structured({"request_id": "r-1", "pid": 7})]})
    proposed = server.propose("look", {"request_id": "r-1"})
    assert list(exacts(proposed).values()) == ["r-1"]


def test_nothing_that_looks_secret_is_written_down(of: Of, tmp_path: Path) -> None:
    secret = {
        "api_key": "s3cr3t-value-1",
        "pins": {"password": 1234},
        "said": "token ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "tokens": {"access_tokens": ["one-two-three"]},
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789": 1,
        "plain": "fine",
    }
    proposed = of(structured(secret))
    assert exacts(proposed) == {"result.structuredContent.plain": "fine"}
    told = " ".join((proposed.test, *proposed.notes, *proposed.excluded_volatile))
    assert not re.search("s3cr3t|1234|ghp_abc|one-two", told)
    assert "looks secret, and is not written: `result.structuredContent.api_key`" in told
    assert problems(proposed, tmp_path) == ()


def test_a_secret_that_only_the_spec_knows_is_not_written_down_either(of: Of) -> None:
    hide: Callable[[str], str] = lambda text: text.replace("hunter2-hunter2", "[REDACTED]")  # noqa: E731
    proposed = of(text_result("it is hunter2-hunter2"), redact=hide)
    assert "hunter2" not in proposed.test
    assert exacts(proposed) == {"result.content[0].type": "text"}


def test_a_secret_argument_is_not_written_down(of: Of) -> None:
    proposed = of(text_result("x"), arguments={"api_key": "s3cr3t-value-1", "q": "x"})
    assert "s3cr3t" not in proposed.test
    assert proposed.mapping["args"] == {"api_key": "[REDACTED]", "q": "x"}
    assert "use a variable" in " ".join(proposed.notes)


TEXTS = [
    "${name}",
    "$${name}",
    "cost: $5 ${",
    "line one\nline two\n",
    "\ttab and \\ back",
    "'quoted' \"twice\"",
    "# no comment",
    "- a: {b}",
    "yes",
    "null",
    "012",
    "ü ☂ 💥 é\u0301",
    "hidden\u200b\u202e\u2028\u0007\U000e0041",
    "",
    " ",
    "x" * 900,
    "%!@`&*|>",
]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_comes_back_from_the_block_as_it_was_sent(of: Of, tmp_path: Path, text: str) -> None:
    proposed = of(text_result(text), arguments={"given": text, "list": [text, {"deep": text}]})
    checked = check_text(
        f"servers:\n  target: {{ command: [cat] }}\ntools:\n{proposed.test}",
        LoadOptions(environ={"PATH": "/bin"}, workspace_root=tmp_path),
        base_dir=tmp_path,
    )
    assert checked.suite is not None, checked.problems
    data = checked.suite.tests[0].data
    assert data["args"] == {"given": text, "list": [text, {"deep": text}]}
    wanted = [one["matcher"]["exact"] for one in data["expect"]["assertions"] if one["target"].endswith("text")]
    assert wanted == [text]
    assert read_tree(proposed.test, file="").value == [proposed.mapping]


@pytest.mark.parametrize("number", [0, -1, 2**53, 2**63, 10**25, -(10**200), 0.1, 1e300, 5e-324, 5.0, 1e16, math.pi])
def test_any_number_that_a_server_can_send_comes_back_as_it_was_sent(of: Of, tmp_path: Path, number: float) -> None:
    proposed = of(structured({"n": number}), arguments={"n": number})
    assert problems(proposed, tmp_path) == ()
    read = read_tree(proposed.test, file="").value[0]
    assert equal(read["args"]["n"], number)
    assert list(exacts(proposed).values()) == [number]


@pytest.mark.parametrize("key", ["a.b", "a b", '"', "[0]", "", "ü", "${x}", "a\nb", "\\", "yes", "12", "#"])
def test_any_member_name_is_reached_by_its_target(of: Of, tmp_path: Path, key: str) -> None:
    proposed = of(structured({key: "value"}))
    assert problems(proposed, tmp_path) == ()
    (target,) = exacts(proposed)
    found = resolve(parse_target(target.replace("$${", "${")), {"result": {"structuredContent": {key: "value"}}})
    assert found == "value"
    assert schema(proposed)["required"] == [key]


def test_half_a_character_and_a_text_beyond_measure_are_told_and_left_out(of: Of, tmp_path: Path) -> None:
    proposed = of(structured({"half": "\ud800", "long": "word " * 500, "n": 1, "huge": 10**400}))
    assert exacts(proposed) == {"result.structuredContent.n": 1}
    told = " ".join(proposed.notes)
    assert "too long: `result.structuredContent.long`" in told
    assert "cannot be written into a suite: `result.structuredContent." in told
    assert problems(proposed, tmp_path) == ()


def test_pictures_are_described_and_not_compared(of: Of) -> None:
    data = base64.b64encode(b"\x89PNG" * 20).decode()
    blocks = [
        {"type": "image", "data": data, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///x", "blob": data, "mimeType": "application/zip"}},
    ]
    proposed = of({"result": {"content": blocks}})
    assert data not in proposed.test
    assert exacts(proposed) == {
        "result.content[0].mimeType": "image/png",
        "result.content[0].type": "image",
        "result.content[1].type": "resource",
        "result.content[1].resource.mimeType": "application/zip",
        "result.content[1].resource.uri": "file:///x",
    }
    assert proposed.notes == (
        "is binary data, and is not compared: `result.content[0].data`, `result.content[1].resource.blob`",
    )
    items = schema(proposed, "result.content")["items"]
    assert items["required"] == ["type"]
    assert sorted(items["properties"]) == ["data", "mimeType", "resource", "type"]


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ([], [], {"type": "array"}),
        ([1, "a", None], None, {"items": {"type": ["integer", "null", "string"]}, "type": "array"}),
        ([1, 1.5], None, {"items": {"type": "number"}, "type": "array"}),
        (5, 5, {"type": "integer"}),
        ("x", None, {"type": "string"}),
        ({}, {}, {"type": "object"}),
        (
            {"a": 1, "b": 2},
            {"a": "x"},
            {
                "properties": {"a": {"type": ["integer", "string"]}, "b": {"type": "integer"}},
                "required": ["a"],
                "type": "object",
            },
        ),
        (
            [{"a": 1}, {"a": 1, "b": [2]}, []],
            None,
            {
                "items": {
                    "properties": {"a": {"type": "integer"}, "b": {"items": {"type": "integer"}, "type": "array"}},
                    "required": ["a"],
                    "type": ["array", "object"],
                },
                "type": "array",
            },
        ),
    ],
)
def test_the_structure_is_what_both_answers_have(of: Of, first: Any, second: Any, wanted: Any) -> None:
    found = of(structured(first), structured(first if second is None else second), validity="off")
    assert schema(found) == wanted


def test_an_answer_of_megabytes_is_described_in_bounds(of: Of, tmp_path: Path) -> None:
    value = {"rows": [{"n": n, "inner": {"x": [n]}} for n in range(60_000)], "total": 60_000}
    proposed = of({"result": {"content": [{"type": "text", "text": "y" * 5_000_000}], "structuredContent": value}})
    assert len(proposed.test) < 20_000
    assert exacts(proposed)["result.structuredContent.total"] == 60_000
    assert schema(proposed)["required"] == ["rows", "total"]
    assert "too large: `result.structuredContent.rows`" in " ".join(proposed.notes)
    assert problems(proposed, tmp_path) == ()


def test_a_deep_answer_is_described_in_bounds(of: Of, tmp_path: Path) -> None:
    value: Any = 1
    for _ in range(150):
        value = {"down": [value]}
    proposed = of(structured(value))
    assert problems(proposed, tmp_path) == ()
    assert len(proposed.test) < 20_000


def test_a_single_call_proposes_the_flag_and_the_structure_and_says_why(of: Of) -> None:
    proposed = of(text_result("x"), single_call=True)
    assert [one["target"] for one in assertions(proposed)] == ["result.isError", "result.content"]
    assert proposed.calls_made == 1
    assert proposed.notes[0] == (
        "only one call was requested; no exact values are proposed, because it is unknown which are stable"
    )
    assert "max_duration_ms" in proposed.mapping["expect"]


def test_a_budget_of_one_call_makes_a_single_observation(of: Of) -> None:
    proposed = of(text_result("x"), policy=ExecutionPolicy(max_calls=1))
    assert proposed.calls_made == 1
    assert proposed.notes[0].startswith("the budget of 1 tool call leaves none for a second call; ")
    assert exacts(proposed) == {}


def test_a_budget_of_no_call_is_an_error(of: Of) -> None:
    with pytest.raises(BudgetExhausted):
        of(text_result("x"), policy=ExecutionPolicy(max_calls=0))


@pytest.mark.parametrize("second", [{"silent": True}, {"die": 3}])
def test_a_second_call_that_is_not_answered_leaves_one_observation(of: Of, second: dict[str, Any]) -> None:
    for seconds in longer(0.3):
        with suppress(CallTimeout):  # of the first call, which had not time enough
            proposed = of(text_result("x"), second, timeout_seconds=seconds)
            break
    assert (proposed.calls_made, exacts(proposed)) == (2, {})
    assert "the second call was not answered" in proposed.notes[0]


def test_a_first_call_that_is_not_answered_proposes_nothing(of: Of) -> None:
    with pytest.raises(CallTimeout):
        of({"silent": True}, timeout_seconds=0.2)


def test_a_refusal_is_proposed_by_its_code(of: Of, tmp_path: Path) -> None:
    proposed = of({"error": {"code": -32602, "message": "no"}})
    assert [(one["target"], one["matcher"]) for one in assertions(proposed)] == [("error.code", {"exact": -32602})]
    assert "both observed calls were refused with the JSON-RPC error -32602" in proposed.notes[0]
    assert problems(proposed, tmp_path) == ()


def test_refusals_with_other_codes_have_only_an_error_in_common(of: Of) -> None:
    proposed = of({"error": {"code": -1, "message": "a"}}, {"error": {"code": -2, "message": "b"}})
    assert [(one["target"], one["matcher"]) for one in assertions(proposed)] == [("error", {"type": "object"})]
    assert proposed.excluded_volatile == ("error.code", "error.message")


def test_an_answer_and_a_refusal_have_only_an_answer_in_common(of: Of, tmp_path: Path) -> None:
    proposed = of(text_result("x"), {"error": {"code": -1, "message": "a"}})
    (only,) = assertions(proposed)
    assert only["assert-set"]["threshold"] == 0.5
    assert proposed.excluded_volatile == ("error", "result")
    assert problems(proposed, tmp_path) == ()


def test_a_result_without_content_is_told(of: Of) -> None:
    proposed = of({"result": {}}, validity="off")
    assert [one["target"] for one in assertions(proposed)] == ["result.isError"]
    assert proposed.notes == ("the result has no `content`, which the protocol requires",)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"result": {}}, '"content" is a required property'),
        (structured({"n": "no"}), 'at `n`: "no" is not of type "integer"'),
    ],
)
def test_nothing_is_proposed_from_an_answer_that_is_not_valid(tmp_path: Path, answer: Any, fault: str) -> None:
    declared = {"type": "object", "properties": {"n": {"type": "integer"}}}
    listed = [tool("look", outputSchema=declared) if "structuredContent" in answer["result"] else tool("look")]
    with pytest.raises(InvalidResult, match="this answer may be wrong: ") as told:
        Scripted(tmp_path, listed, {"look": [answer, answer]}).propose("look")
    assert fault in told.value.message


@pytest.mark.parametrize(
    ("descriptor", "called"),
    [
        (tool("get_x"), ["get_x"] * 2),
        (tool("delete_x", annotations={"readOnlyHint": True}), ["delete_x"] * 2),
        (tool("create_x"), ["create_x"]),
        (tool("get_x", annotations={"idempotentHint": False}), ["get_x"]),
        (tool("delete_x"), []),
        (tool("get_x", annotations={"destructiveHint": True}), []),
    ],
)
def test_a_tool_is_called_as_often_as_its_class_allows(tmp_path: Path, descriptor: Any, called: list[str]) -> None:
    """Twice, once, not at all; the server writes down what it was asked."""
    server = Scripted(tmp_path, [descriptor], {})
    if called:
        assert server.propose(descriptor["name"]).calls_made == len(called)
    else:
        with pytest.raises(PolicyDenied, match="classified as destructive and is not called"):
            server.propose(descriptor["name"])
    assert server.called == called


def test_a_tool_that_is_listed_anew_as_destructive_is_called_once_and_its_test_held_back(tmp_path: Path) -> None:
    """The class is that of the list as it is now."""
    changed = {**text_result("x"), "list": [tool("get_x", annotations={"destructiveHint": True})]}
    server = Scripted(tmp_path, [tool("get_x", annotations={"readOnlyHint": True})], {"get_x": [changed]})
    proposed = server.propose("get_x")
    assert server.called == ["get_x"]
    assert proposed.calls_made == 1
    assert (
        "the server changed its list after the first call, and the tool is classified as destructive now"
        in " ".join(proposed.notes)
    )
    assert proposed.mapping["skip"].startswith("review before first run")


def test_a_destructive_tool_is_called_exactly_once_when_allowed(tmp_path: Path) -> None:
    server = Scripted(tmp_path, [tool("delete_x")], {})
    proposed = server.propose("delete_x", policy=ExecutionPolicy(execute_destructive=True))
    assert server.called == ["delete_x"]
    assert "# review before first run: " in proposed.test
    assert proposed.mapping["serial"] is True
    assert proposed.mapping["skip"] == "review before first run: classified as destructive"


def test_a_name_that_is_listed_twice_has_the_more_dangerous_class(tmp_path: Path) -> None:
    server = Scripted(tmp_path, [tool("delete_x"), tool("delete_x", annotations={"readOnlyHint": True})], {})
    with pytest.raises(PolicyDenied):
        server.propose("delete_x")
    assert server.called == []


def test_a_tool_that_is_not_listed_is_not_called(tmp_path: Path) -> None:
    server = Scripted(tmp_path, [tool("get_status")], {})
    with pytest.raises(UsageError, match="lists no tool") as refused:
        server.propose("get_statu")
    assert refused.value.hint == "did you mean `get_status`?"
    assert server.called == []


def test_arguments_that_no_suite_can_hold_are_refused_before_anything_is_called(tmp_path: Path) -> None:
    server = Scripted(tmp_path, [tool("get_x")], {})
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    for arguments in ({"half": "\ud800"}, {"deep": deep}):
        with pytest.raises(UsageError, match="the arguments cannot be written into a suite"):
            server.propose("get_x", arguments)
    assert server.called == []


MEASURED = {
    "cores": [
        {"model": "AMD EPYC 7B13 64-Core Processor", "speed": 2449, "idle": 991230, "times": {"user": 5110, "irq": 0}}
    ],
    "freeBytes": 81234567,
    "memory": {"total": 16777216, "usedPercent": 41.5},
    "loadAverage": [0.1, 0.2],
    "disk": {"size": "512 GB"},
    "cpuModel": "Intel(R) Xeon(R) CPU @ 2.20GHz",
}
LASTING = {
    "model": "T-800",
    "stock": {"available": 4, "total": 9},
    "discount_percent": 5,
    "weight": "12 kg",
    "user": "ada",
    "core": "apple",
    "idle": "no",
    "healthy": True,
}


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("name", MEASURED)
def test_what_is_measured_of_the_machine_is_not_pinned(tmp_path: Path, name: str, as_text: bool) -> None:
    """Two calls within a second agree on it, and another machine does not."""
    value = {name: MEASURED[name], "healthy": True}
    content = [{"type": "text", "text": json.dumps(value) if as_text else "ok"}]
    answer = {"content": content} if as_text else {"content": content, "structuredContent": value}
    proposed = Scripted(tmp_path, [tool("get_machine")], {"get_machine": [{"result": answer}]}).propose("get_machine")
    exact = [one["target"] for one in proposed.mapping["expect"]["assertions"] if "exact" in one["matcher"]]
    assert not [target for target in exact if name in target or (as_text and target.endswith(".text"))]
    assert "looks like a time or an id" in " ".join(proposed.notes)


@pytest.mark.parametrize("name", LASTING)
def test_what_is_only_called_alike_is_pinned(tmp_path: Path, name: str) -> None:
    answer = {"content": [], "structuredContent": {name: LASTING[name]}}
    proposed = Scripted(tmp_path, [tool("get_machine")], {"get_machine": [{"result": answer}]}).propose("get_machine")
    assert proposed.excluded_volatile == ()


def test_what_differs_between_two_calls_is_not_pinned_whatever_it_is_called(tmp_path: Path) -> None:
    answers = [{"result": {"content": [], "structuredContent": {"level": level}}} for level in (1, 2)]
    proposed = Scripted(tmp_path, [tool("get_machine")], {"get_machine": answers}).propose("get_machine")
    assert proposed.excluded_volatile == ("result.structuredContent.level",)
