"""Assertions judged against an answer: the whole line that a person reads."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.judging.assertions import judge_assertions
from mcptest_engine.judging.snapshots import SnapshotStore

ANSWER: dict[str, Any] = {
    "result": {
        "content": [{"type": "text", "text": "status: degraded"}, {"type": "text", "text": '{"id": 9007199254740993}'}]
    },
    "error": None,
    "duration_ms": 3.5,
    "attempt": 1,
    "request": {"method": "tools/call", "params": {"name": "status"}},
    "notifications": [],
    "http": None,
}
REFUSED = {
    **{key: value for key, value in ANSWER.items() if key != "result"},
    "error": {"code": -32602, "message": "Unknown tool: x"},
}
REPORTED = {**ANSWER, "result": {"content": [{"type": "text", "text": "no such city"}], "isError": True}}


def row(target, matcher, envelope=ANSWER, **more):
    return judge_assertions([{"target": target, "matcher": matcher, **more}], envelope)[0]


def message_of(result):
    assert result.message is not None
    return result.message


def test_the_message_names_the_assertion_the_target_and_why():
    rows = judge_assertions(
        [
            {"target": "result.content[0].text", "matcher": {"contains": "degraded"}},
            {"target": "result.content[0].text", "matcher": {"contains": "operational"}},
        ],
        ANSWER,
    )
    assert [one.passed for one in rows] == [True, False]
    assert rows[0].message is None
    assert rows[1].message == (
        "assertion 2 (`result.content[0].text`) failed: substring `operational` not found in `status: degraded`"
    )
    assert rows[1].actual == "status: degraded"


def test_an_assertions_own_message_stands_in_front():
    told = row("attempt", {"gt": 1}, message="must be\na retry", name="again", weight=2.0)
    assert told.message == "must be\\na retry: assertion 1 (`attempt`) failed: `1` is not greater than `1`"
    assert (told.name, told.weight) == ("again", 2.0)


def test_an_absent_value_says_what_is_there():
    told = row("result.contnet[0].text", {"contains": "x"})
    assert told.message == (
        "assertion 1 (`result.contnet[0].text`) failed: does not exist: `result` has `content`; did you mean `content`?"
    )
    assert told.absent
    assert "actual" not in told.to_json()


def test_a_protocol_error_is_told_where_a_result_was_asked_for():
    """The brief of this part: an error answer explains every absent result."""
    told = row("result.content[0].text", {"contains": "x"}, REFUSED)
    assert told.message == (
        'assertion 1 (`result.content[0].text`) failed: does not exist: the server answered error -32602 "Unknown tool: x"'
    )
    assert row("error.code", {"exact": -32602}, REFUSED).passed
    assert row("error.code", {"exact": 1}, REFUSED).message.endswith("failed: expected `1`, got `-32602`")


def test_an_error_that_is_no_object_is_told_too():
    told = row("result", {"exists": True}, {**REFUSED, "error": "\x1bno"})
    assert told.message.endswith('does not exist: the server answered error "\\u001bno"')


def test_a_tool_error_is_mentioned_where_a_result_was_judged():
    told = row("result.content[0].text", {"contains": "sunny"}, REPORTED)
    assert told.message == (
        "assertion 1 (`result.content[0].text`) failed: substring `sunny` not found in `no such city`;"
        " the tool reported an error: no such city"
    )
    told = row("result.structuredContent.degrees", {"gt": 0}, REPORTED)
    assert told.message.endswith(
        "does not exist: `result` has `content`, `isError`; the tool reported an error: no such city"
    )
    told = row("result.isError", {"exact": False}, REPORTED)
    assert told.message.endswith("failed: expected `false`, got `true`; the tool reported an error: no such city")


def test_objects_carry_a_diff_and_the_place():
    told = row("result.content[0]", {"exact": {"type": "text", "text": "status: ok"}})
    assert told.pointer == "/text"
    assert '-  "text": "status: ok"' in told.diff


def test_a_transform_rewrites_the_value_before_the_matcher():
    """Reads JSON inside a text; integers stay exact."""
    told = row("result.content[1].text", {"exact": 9007199254740993}, transform={"jq": "fromjson | .id"})
    assert told.passed
    assert told.actual == 9007199254740993


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("empty", "transform `empty` gave no output; exactly one is needed"),
        ("1, 2", "transform `1, 2` gave 2 outputs; exactly one is needed"),
        (".a", 'transform `.a` failed: Cannot index string with string ("a")'),
    ],
)
def test_a_transform_gives_exactly_one_output(program, words):
    """Zero or many is a failed assertion that says so."""
    told = row("result.content[0].text", {"exists": True}, transform={"jq": program})
    assert told.passed is False
    assert told.message.endswith(f"failed: {words}")


def test_a_transform_leaves_what_is_absent_absent():
    assert row("result.isError", {"exists": False}, transform={"jq": "1"}).passed
    assert row("result.isError", {"exact": 1}, transform={"jq": "1"}).passed is False


def test_absent_entries_are_null_in_the_record():
    answer = {**ANSWER, "result": {"content": [{"text": "a"}, {}]}}
    told = row("result.content[*].text", {"each": {"type": "string"}}, answer)
    assert told.actual == ["a", None]
    assert told.message.endswith("element [1] does not exist: `result.content[1]` is an empty object")


def test_judging_changes_neither_answer_nor_assertions():
    assertions = [
        {"target": "result", "matcher": {"subset": {"content": []}}},
        {"target": "error", "matcher": {"exact": None}},
    ]
    before = copy.deepcopy((assertions, ANSWER))
    judge_assertions(assertions, ANSWER)
    assert (assertions, ANSWER) == before


def test_clipping_leaves_no_half_of_a_secret():
    """Secrets are redacted before anything is kept. Redacting a clipped message would miss a secret cut in two."""
    secret = "correct-horse-battery-staple"
    answer = {**ANSWER, "result": {"text": "x" * 190 + secret, "same": secret}}
    redact = Redactor([secret]).redact
    assertions = [
        {"target": "result.text", "matcher": {"contains": "operational"}},
        {"target": "result.same", "matcher": {"exact": secret + "!"}},
    ]
    rows = judge_assertions(assertions, answer, redact=redact)
    assert all(one.passed is False for one in rows)
    assert "correct" not in message_of(rows[0])
    assert secret not in message_of(rows[1])
    reported = {**REPORTED, "result": {"isError": True, "content": [{"text": "y" * 100 + secret}]}}
    told = judge_assertions([{"target": "result.x", "matcher": {"exact": 1}}], reported, redact=redact)[0]
    assert "correct" not in message_of(told)


@pytest.mark.parametrize(
    "result", [None, [], 5, "text", True, {"content": None}, {"content": [None, 5]}, {"isError": True}]
)
def test_any_result_is_judged(result):
    """What a server sends never makes us raise."""
    targets = [
        "result",
        "result.content",
        "result.content[0].text",
        "result.content[*].text",
        "result[*]",
        "result.isError",
    ]
    rows = judge_assertions(
        [{"target": target, "matcher": {"contains": "zzz"}} for target in targets], {**ANSWER, "result": result}
    )
    assert all(
        message_of(one).startswith(f"assertion {index + 1} (`{one.target}`) failed: ") for index, one in enumerate(rows)
    )


def test_a_deep_answer_is_judged(deep):
    told = row("result", {"exact": 1}, {**ANSWER, "result": deep})
    assert told.message.startswith("assertion 1 (`result`) failed: expected `1`, got `[[[")


def test_a_snapshot_without_a_name_goes_by_the_test_and_the_target(tmp_path):
    store = SnapshotStore(tmp_path / "s.yml", create=True)
    judge_assertions(
        [{"target": "attempt", "matcher": {"snapshot": True}}], ANSWER, snapshots=store, test_name="status"
    )
    assert store.lookup("status / attempt") == 1


def test_an_entry_too_many_that_lacks_the_target_is_told_in_those_words() -> None:
    """Nothing was expected there, and nothing is there: the two are not the same."""
    envelope = {"result": {"b": [{"d": 1}, {"e": 1}]}, "error": None, "duration_ms": 1}
    (row,) = judge_assertions([{"target": "result.b[*].d", "matcher": {"exact": [1]}}], envelope)
    told = "expected no further entry, got one in which the target does not exist: `result.b[1]` has `e`"
    assert row.message == f"assertion 1 (`result.b[*].d`) failed: differs at `[1]`: {told}"


@pytest.mark.parametrize(("word", "article"), [("email", "an"), ("ipv4", "an"), ("uri", "a"), ("date", "a")])
def test_a_format_has_its_article(word: str, article: str) -> None:
    """The validator says "a" of all of them."""
    envelope = {"result": {"a": "x"}, "error": None, "duration_ms": 1}
    (row,) = judge_assertions([{"target": "result.a", "matcher": {"schema": {"format": word}}}], envelope)
    assert f'"x" is not {article} "{word}"' in (row.message or "")


def test_the_error_of_an_answer_without_one_is_absent():
    assert row("error", {"exists": False}).passed
    assert row("error", {"not": {"exists": True}}).passed
    assert row("error", {"exact": None}).passed
    told = row("error", {"exists": True})
    assert (told.passed, told.message) == (False, "assertion 1 (`error`) failed: there is no error")
    assert row("error", {"exists": True}, REFUSED).passed
    assert row("http", {"exists": True}).passed, "null is present everywhere else"
