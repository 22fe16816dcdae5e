"""OpenInference spans: ids, parents, kinds, and traces of any shape."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.results import TestKind, Verdict, VerifyResult
from mcptest_engine.reporting.openinference import VALUE_LIMIT
from mcptest_engine.reporting.registry import render
from tests.reporting.conftest import make_record, make_test

AGENT = {
    "tool_calls": [
        {"name": "lookup", "server": "demo", "args": {"id": 1}, "result": {"content": []}, "duration_ms": 4, "turn": 1},
        {"name": "other", "server": "demo", "args": {}, "result": {"isError": True}},
    ],
    "final_response": "done",
    "conversation": {"tokens": {"total": 30, "input": 20, "output": 10}, "turns": [{"tokens": {"total": 30}}]},
    "model": "claude-test",
}
GRAPH = {
    "composition": {"ran": False, "order": ["find"]},
    "nodes": {
        "find": {"id": "find", "status": "ok", "output": {"a": 1}, "duration_ms": 3.0, "started_ms": 1.0,
                 "server": "demo", "tool": "search", "needs": [], "args": {"q": "x"}, "tokens": 5, "cost_usd": 0.5},
        "each": {"id": "each", "status": "err", "output": None, "duration_ms": 3.0, "message": "broke",
                 "server": "demo", "tool": "get", "needs": ["find"], "calls": [{"args": {"n": 1}}, {"message": "no"}]},
        "last": {"id": "last", "status": "skipped", "output": None, "duration_ms": None, "needs": ["each"]},
    },
}  # fmt: skip


def spans(record):
    return [json.loads(line) for line in render("openinference", record).text.splitlines()]


def by_name(found, name):
    return next(span for span in found if span["name"] == name)


def check_tree(found):
    """Ids of the right shape, unique; every parent came before its children; one trace, one root."""
    known: set[str | None] = set()
    for span in found:
        assert re.fullmatch("[0-9a-f]{32}", span["trace_id"])
        assert re.fullmatch("[0-9a-f]{16}", span["span_id"])
        assert span["parent_span_id"] in (known or {None})
        assert span["span_id"] not in known
        assert span["status_code"] in {"OK", "ERROR", "UNSET"}
        assert span["attributes"]["openinference.span.kind"] == span["span_kind"]
        known.add(span["span_id"])
    assert len({span["trace_id"] for span in found}) == 1


def test_the_run_is_the_root_and_its_tests_stand_below_it(rich_record):
    """`mcptest.run` and `mcptest.test` are chains."""
    found = spans(rich_record)
    check_tree(found)
    root, tests = found[0], [span for span in found if span["name"] == "mcptest.test"]
    assert root["schema_version"] == "mcptest.dev/openinference/v1"
    assert root["span_kind"] == "CHAIN"
    assert root["attributes"]["mcptest.run.total"] == len(rich_record.tests) == len(tests)
    assert {span["parent_span_id"] for span in tests} == {root["span_id"]}
    assert [span["attributes"]["mcptest.test.status"] for span in tests] == [test.verdict for test in rich_record.tests]


def test_ids_come_of_the_run_and_of_nothing_else(build):
    """The same record gives the same spans; another run other ones."""
    record = build.record(build.test("a"), build.test("b"))
    other = replace(record, run_id="01JCQQYV4S3H6KX7M8RN2T5XZD")
    assert spans(record) == spans(record)
    assert not {span["span_id"] for span in spans(record)} & {span["span_id"] for span in spans(other)}


def test_a_call_is_a_tool_span_with_its_arguments_and_its_answer(build):
    """OpenInference: `tool.name`, `input.value`, `output.value`."""
    call = spans(build.record(build.test("a")))[2]
    assert call["span_kind"] == "TOOL"
    assert call["attributes"]["tool.name"] == "status"
    assert json.loads(call["attributes"]["input.value"]) == {}
    assert json.loads(call["attributes"]["output.value"])["result"]["content"][0]["text"] == "status: degraded"


def test_the_nodes_of_a_composition_stand_below_their_test(build):
    """A fan-out's calls stand below their node."""
    test = build.test("g", "fail", kind=TestKind.COMPOSITION, trace=GRAPH, request=None, tokens=5, cost_usd=0.5)
    found = spans(build.record(test))
    check_tree(found)
    find, each = by_name(found, "find"), by_name(found, "each")
    assert (find["status_code"], each["status_code"], by_name(found, "last")["status_code"]) == ("OK", "ERROR", "UNSET")
    assert find["attributes"]["llm.token_count.total"] == 5
    assert find["start_time"] == "2026-01-02T03:04:05.682500Z"
    calls = [span for span in found if span["parent_span_id"] == each["span_id"]]
    assert [span["status_code"] for span in calls] == ["OK", "ERROR"]


def test_an_agent_has_turns_and_tool_calls(build):
    """AGENT, LLM and TOOL; a call stands below the turn that made it where that is known."""
    found = spans(build.record(build.test("a", kind=TestKind.AGENT, trace=AGENT, request=None)))
    check_tree(found)
    agent, turn = by_name(found, "agent"), by_name(found, "turn 1")
    assert agent["attributes"]["llm.token_count.prompt"] == 20
    assert agent["attributes"]["output.value"] == "done"
    assert turn["attributes"]["llm.model_name"] == "claude-test"
    assert by_name(found, "lookup")["parent_span_id"] == turn["span_id"]
    assert by_name(found, "other")["parent_span_id"] == agent["span_id"]
    assert by_name(found, "other")["status_code"] == "ERROR"


TALK = {
    "tool_calls": [
        {"name": "a", "server": "s", "args": None, "raw": "{", "error": "no JSON", "is_error": True, "turn": 1},
        {"name": "b", "server": "s", "args": {}, "result": {"content": []}, "is_error": False, "turn": 2},
    ],
    "final_response": "done",
    "conversation": {
        "system_prompt": "be brief",
        "turns": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "", "tool_calls": [{"name": "a", "args": None}]},
            {"role": "tool", "name": "a", "content": "error: no JSON", "is_error": True},
            {"role": "assistant", "content": "again", "tool_calls": [{"name": "b", "args": {}}]},
            {"role": "tool", "name": "b", "content": "ok"},
            {"role": "assistant", "content": "done"},
        ],
    },
    "model": "m",
    "stop": "end",
    "turns": 3,
}


def test_only_what_the_model_said_is_an_answer_of_it_and_its_calls_stand_below_it(build):
    """What users and tools said are the messages that it was asked with; a call says which answer asked for it, from 1 on."""
    found = spans(build.record(build.test("a", kind=TestKind.AGENT, trace=TALK, request=None)))
    check_tree(found)
    turns = [span for span in found if span["span_kind"] == "LLM"]
    assert [span["attributes"]["output.value"] for span in turns] == ["", "again", "done"]
    first, second, _ = (span["attributes"] for span in turns)
    assert [first[f"llm.input_messages.{at}.message.content"] for at in (0, 1)] == ["be brief", "go"]
    assert first["llm.output_messages.0.message.tool_calls.0.tool_call.function.name"] == "a"
    assert second["llm.input_messages.0.message.role"] == "tool"
    one, two = by_name(found, "a"), by_name(found, "b")
    assert (one["parent_span_id"], two["parent_span_id"]) == (turns[0]["span_id"], turns[1]["span_id"])
    assert (one["status_code"], one["attributes"]["input.value"], one["attributes"]["output.value"]) == (
        "ERROR",
        "{",
        "no JSON",
    )


def test_each_run_of_a_test_with_trials_has_its_conversation(build):
    """The record's own trace is one of them."""
    trials = tuple({"verdict": verdict, "duration_ms": 1.0, "trace": TALK} for verdict in ("pass", "fail"))
    found = spans(build.record(build.test("a", kind=TestKind.AGENT, trace=TALK, request=None, trials=trials)))
    check_tree(found)
    agents = [span for span in found if span["span_kind"] == "AGENT"]
    assert [(span["attributes"]["mcptest.trial.number"], span["status_code"]) for span in agents] == [
        (1, "OK"),
        (2, "ERROR"),
    ]


def test_what_judged_a_test_is_an_evaluator(build):
    """OpenInference: EVALUATOR, with what was graded and what came of it."""
    judgement = {"by": "judge", "verdict": "fail", "score": 0.2, "threshold": 0.7, "reasoning": "rude",
                 "input": "hi", "output": "go away", "model": "m", "cost_usd": 0.25}  # fmt: skip
    found = spans(build.record(build.test("a", kind=TestKind.EVAL, request=None, judgement=judgement)))
    check_tree(found)
    span = by_name(found, "judge")
    told = json.loads(span["attributes"]["output.value"])
    assert (span["span_kind"], told["score"], told["reasoning"]) == ("EVALUATOR", 0.2, "rude")
    assert (span["attributes"]["llm.cost.total"], span["attributes"]["llm.model_name"]) == (0.25, "m")


def test_steps_of_verify_are_spans(build):
    """A further call after the deciding one."""
    step = VerifyResult(index=0, server="demo", verdict=Verdict.PASS, duration_ms=2.0, name="balance", tool="get")
    found = spans(build.record(build.test("a", verify=(step,))))
    assert by_name(found, "verify step 1 (balance)")["attributes"]["tool.name"] == "get"


def test_a_long_value_is_cut_and_says_so(build):
    """A backend takes no megabytes in an attribute."""
    found = spans(build.record(build.test("a", output={"result": {"text": "x" * 100_000}})))
    assert (
        len(found[2]["attributes"]["output.value"])
        == VALUE_LIMIT
        == found[2]["attributes"]["mcptest.output.clipped_at"]
    )
    assert found[2]["attributes"]["output.mime_type"] == "text/plain"


KEYS = st.sampled_from(["nodes", "tool_calls", "conversation", "turns", "calls", "args", "tokens", "turn"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "x", "\ud800", "\x1b[2J", "ok"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["nodes", "tool_calls", "conversation", "model", "final_response"]), ANYTHING))
def test_a_trace_of_any_shape_gives_spans(trace):
    """A record may be of another version, or edited by hand."""
    check_tree(spans(make_record(make_test("a", kind=TestKind.AGENT, trace=trace, request=None))))
