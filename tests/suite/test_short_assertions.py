"""Assertions in the short form: `expect: { text: { contains: ok } }`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from mcptest_engine.core.targets import parse_target, resolve_answer
from mcptest_engine.suite.completion import complete, hover
from mcptest_engine.suite.load import CheckedSuite, LoadOptions, check_text
from mcptest_engine.suite.schema import schema_text
from mcptest_engine.suite.short_assertions import long_target, short_target

HERE = Path(__file__).parent
HEAD = "servers:\n  api: { command: [python, server.py] }\n"


def checked(tests: str) -> CheckedSuite:
    return check_text(HEAD + tests, LoadOptions(environ={}, workspace_root=HERE, start_dir=HERE), base_dir=HERE)


def of_tool(*lines: str) -> CheckedSuite:
    """The check of a test whose `expect`, on line 6, has these lines."""
    return checked("tools:\n  - name: a\n    tool: t\n    expect:\n" + "".join(f"      {line}\n" for line in lines))


def expected(suite: CheckedSuite, number: int = 0) -> Any:
    assert suite.suite is not None, suite.problems
    return suite.suite.tests[number].data["expect"]


def rows(suite: CheckedSuite, number: int = 0) -> list[tuple[str, Any]]:
    return [(row["target"], row["matcher"]) for row in expected(suite, number)["assertions"]]


def test_each_key_stands_for_assertions_in_the_long_form() -> None:
    found = of_tool(
        "text: { contains: x, regex: '^y' }",
        "structured.total: 3",
        "structured.tags: [a, b]",
        "json.items[0].name: { exact: null }",
        "error.code: { exact: -32602 }",
        'result.content[1].text: "two"',
        "max_duration_ms: 50",
    )
    assert rows(found) == [
        ("result.content[0].text", {"contains": "x"}),
        ("result.content[0].text", {"regex": "^y"}),
        ("result.structuredContent.total", {"exact": 3}),
        ("result.structuredContent.tags", {"exact": ["a", "b"]}),
        ("json.items[0].name", {"exact": None}),
        ("error.code", {"exact": -32602}),
        ("result.content[1].text", {"exact": "two"}),
    ]
    assert expected(found)["max_duration_ms"] == 50


def test_assertions_in_the_long_form_come_first() -> None:
    """So that their numbers are those of the list in the file."""
    found = of_tool("text: ok", "assertions: [{ target: result.isError, matcher: { exact: true } }]")
    assert [target for target, _ in rows(found)] == ["result.isError", "result.content[0].text"]


def test_text_is_that_of_what_the_test_asks_for() -> None:
    """Of a resource, a prompt, and each step of `verify`."""
    text = """tools:
  - name: a
    tool: t
    expect: { text: x }
    verify:
      - { uri: "a://b", expect: { text: x } }
      - { prompt: p, expect: { text: x } }
resources: [{ name: b, uri: "a://b", expect: { text: x } }]
prompts: [{ name: c, prompt: p, expect: { text: x } }]
defaultTest: { expect: { duration_ms: { lt: 50 } } }
"""
    found = checked(text)
    assert [target for target, _ in rows(found)] == ["result.content[0].text", "duration_ms"]
    assert [target for target, _ in rows(found, 1)] == ["result.contents[0].text", "duration_ms"]
    assert [target for target, _ in rows(found, 2)] == ["result.messages[0].content.text", "duration_ms"]
    assert found.suite is not None
    steps = found.suite.tests[0].data["verify"]
    assert [step["expect"]["assertions"][0]["target"] for step in steps] == [
        "result.contents[0].text",
        "result.messages[0].content.text",
    ]


def test_agents_checks_and_compositions_take_their_own_targets() -> None:
    text = """compliance: [{ name: a, check: initialize, expect: { session.protocol_version: "2025-11-25" } }]
compositions:
  - name: b
    nodes: [{ id: one, tool: t }]
    cases: [{ name: c, expect: { output: 1 } }]
    expect: { composition.ran: true }
agents: [{ name: d, servers: [api], prompt: p, expect: { final_response: { contains: x }, max_cost_usd: 1 } }]
"""
    found = checked(text)
    assert rows(found, 0) == [("session.protocol_version", {"exact": "2025-11-25"})]
    assert rows(found, 1) == [("composition.ran", {"exact": True})]
    assert rows(found, 2) == [("final_response", {"contains": "x"})]


def test_a_template_gives_a_value_its_type() -> None:
    found = checked('variables: { n: 3 }\ntools: [{ name: a, tool: t, expect: { structured.n: "${var.n}" } }]\n')
    assert rows(found) == [("result.structuredContent.n", {"exact": 3})]


@pytest.mark.parametrize(
    ("line", "place", "message", "hint"),
    [
        ("structurd.x: 1", (7, 7), "unknown key `structurd.x`", "did you mean `structured.x`?"),
        ("txt: { contains: x }", (7, 7), "unknown key `txt`", "did you mean `text`?"),
        ("max_duration: 5", (7, 7), "unknown key `max_duration`", "did you mean `max_duration_ms`?"),
        ("duration_ms: 500", (7, 7), "unknown key `duration_ms`", "did you mean `max_duration_ms`?"),
        ("text: { contians: x }", (7, 15), 'unknown matcher "contians"', "did you mean `contains`?"),
        ("json.n: { between: [2, 1] }", (7, 26), "no number lies between 2 and 1", "put the smaller number first"),
        ("text: { type: { } }", (7, 21), "expected ", ""),
        ("text:", (7, 12), "the matcher is empty", "write exactly one"),
        ("result[: 1", (7, 14), 'the target "result[" cannot be read', ""),
        ("text: { regex: '(' }", (7, 24), "the regex does not compile", ""),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(line: str, place: tuple[int, int], message: str, hint: str) -> None:
    (problem,) = of_tool(line).errors
    assert problem.span is not None
    assert (problem.span.line, problem.span.column) == place
    assert message in (problem.words or problem.message)
    assert hint in (problem.hint or "")


def test_a_failure_has_the_line_of_its_key() -> None:
    found = of_tool("text: ok", "structured:", "  subset: { a: 1 }")
    assert found.suite is not None
    (entry,) = found.suite.tests
    assert [entry.assertion_line(number) for number in range(2)] == [7, 8]


def test_an_editor_accepts_the_short_form_and_names_what_is_wrong() -> None:
    published = jsonschema_rs.Draft202012Validator(json.loads(schema_text()))

    def is_valid(expect: Any) -> bool:
        return published.is_valid({"tools": [{"name": "a", "tool": "t", "expect": expect}]})

    assert is_valid(
        {"text": {"contains": "x", "regex": "y"}, "structured.n": 3, "http.status": 200, "max_duration_ms": 5}
    )
    assert not is_valid({"txt": "x"})
    assert not is_valid({"text": {"contians": "x"}})
    assert not is_valid({"text": None})


ENVELOPES = {
    "tool": {"result": {"content": [{"type": "text", "text": '{"total": 3, "items": [{"id": 7}]}'}]}},
    "resource": {"result": {"contents": [{"uri": "a", "text": '{"total": 3, "items": [{"id": 7}]}'}]}},
    "prompt": {"result": {"messages": [{"content": {"type": "text", "text": '{"total": 3, "items": [{"id": 7}]}'}}]}},
}


@pytest.mark.parametrize("kind", ENVELOPES)
def test_json_is_the_first_text_read_as_json(kind: str) -> None:
    assert resolve_answer(parse_target("json.total"), ENVELOPES[kind]) == 3
    assert resolve_answer(parse_target("json.items[*].id"), ENVELOPES[kind]) == [7]


@pytest.mark.parametrize(
    ("text", "target", "reason"),
    [
        ('{"total": 3}', "json.totl", "`json.totl` does not exist; `json` has `total`; did you mean `total`?"),
        ("no JSON", "json.total", "`json` does not exist; `result.content[0].text` is not JSON"),
        (7, "json", "`json` does not exist; `result.content[0].text` is not JSON"),
        ("[" * 100_000, "json", "`json` does not exist; `result.content[0].text` is not JSON"),
    ],
)
def test_json_that_is_not_there_says_why(text: Any, target: str, reason: str) -> None:
    found: Any = resolve_answer(parse_target(target), {"result": {"content": [{"text": text}]}})
    assert found.reason == reason


def test_json_of_an_answer_without_text_is_absent() -> None:
    found: Any = resolve_answer(parse_target("json.a"), {"result": {"content": []}})
    assert found.reason.startswith("`result.content[0]` does not exist")


@pytest.mark.parametrize("block", ["tools", "resources", "prompts", "agents"])
@pytest.mark.parametrize("target", ["text", "text.x", "structured[0].a", "json.b", "result.isError", "tool_names"])
def test_a_short_name_and_its_target_lead_to_each_other(block: str, target: str) -> None:
    full = long_target(target, block)
    assert full is None or short_target(full, block) == target


@pytest.mark.parametrize(
    ("written", "offered"),
    [
        ("    expect:\n      str¦", {"structured": "structured: ", "structured.sum": "structured.sum: "}),
        ("    expect: { te¦ }", {"text": "text: "}),
        ("    expect:\n      text: { conta¦ }", {"contains": "contains: "}),
        ("    expect:\n      json.a: ¦", {"between": "{ between:  }"}),
    ],
)
def test_short_targets_and_their_matchers_are_offered(written: str, offered: dict[str, str]) -> None:
    output = {"type": "object", "properties": {"sum": {"type": "number"}}}
    catalog = {"api": {"tools": [{"name": "add", "inputSchema": {}, "outputSchema": output}]}}
    text = f"{HEAD}tools:\n  - name: a\n    tool: add\n{written}"
    before = text.partition("¦")[0]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    found = {item.label: item.insert for item in complete(text.replace("¦", ""), line, column, catalog).items}
    assert offered.items() <= found.items()


def test_the_word_under_the_cursor_is_explained() -> None:
    text = f"{HEAD}tools:\n  - name: a\n    tool: add\n    expect: {{ structured.sum: 3 }}\n"
    found = hover(text, 6, 20)
    assert found is not None
    assert "structuredContent" in found.text
