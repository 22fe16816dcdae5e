"""A call as a test: what is proposed, where it goes, and that the file loads and the test passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcptest_engine.core.environment import shipped
from mcptest_engine.running.documents import document_of
from mcptest_engine.suite.yaml import read_tree
from mcptest_tui.state.saving import proposals_of, proposed_saving, saving_of
from mcptest_tui.state.servers import Servers

DEMO = shipped("examples") / "demo" / "mcptest.yml"


def proposed(method, answer):
    """(target, matcher, chosen) of each."""
    return [(one.target, dict(one.matcher), one.chosen) for one in proposals_of(method, answer)]


def test_a_result_is_expected_to_be_no_error_and_to_hold_its_leaves():
    """Structured content by its leaves; the text that repeats it is not chosen."""
    result = {
        "content": [{"type": "text", "text": "{…}"}],
        "structuredContent": {"city": "Oslo", "temp": 19.5, "tags": ["a"], "ok": True, "none": None},
    }
    assert proposed("tools/call", {"result": result}) == [
        ("result.isError", {"not": {"exact": True}}, True),
        ("result.structuredContent.city", {"exact": "Oslo"}, True),
        ("result.structuredContent.temp", {"exact": 19.5}, True),
        ("result.structuredContent.tags[0]", {"exact": "a"}, True),
        ("result.structuredContent.ok", {"exact": True}, True),
        ("result.structuredContent.none", {"exact": None}, True),
        ("result.content[0].text", {"exact": "{…}"}, False),
    ]


def test_a_long_text_is_expected_to_contain_its_first_line():
    """Also one that was cut on its way here."""
    blocks = [{"type": "text", "text": f"  first line  \n{'x' * 300}"}, {"text": {"$cut": 9_000, "text": "y" * 2_000}}]
    assert proposed("tools/call", {"result": {"content": blocks}})[1:] == [
        ("result.content[0].text", {"contains": "first line"}, True),
        ("result.content[1].text", {"contains": "y" * 80}, True),
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("when", "2026-11-22T03:13:43Z"),
        ("ref", "0190163d-8694-739b-aea5-966c26f8ad91"),
        ("created_at", "yesterday"),
        ("stamp", 1795317223),
        ("uptime", 12.5),
    ],
)
def test_what_changes_is_proposed_and_not_chosen(name, value):
    """It says why."""
    (_, one) = proposals_of("tools/call", {"result": {"structuredContent": {name: value}}})
    assert (one.chosen, one.why) == (False, "seems to change")


def test_errors_are_expected_to_be_errors():
    """A tool execution error, and a protocol error by its code."""
    refused = {"result": {"isError": True, "content": [{"type": "text", "text": "no such city"}]}}
    assert proposed("tools/call", refused) == [
        ("result.isError", {"exact": True}, True),
        ("result.content[0].text", {"exact": "no such city"}, True),
    ]
    assert proposed("tools/call", {"error": {"code": -32602, "message": "bad"}}) == [
        ("error.code", {"exact": -32602}, True),
        ("error.message", {"exact": "bad"}, False),
    ]


@pytest.mark.parametrize(
    "answer", [{}, {"result": None}, {"result": {"content": "x", "structuredContent": 3}}, {"error": 1}]
)
def test_odd_answers_propose_what_there_is(answer):
    """Nothing raises."""
    list(proposals_of("tools/call", answer))
    list(proposals_of("resources/read", answer))
    list(proposals_of("prompts/get", answer))


@pytest.fixture
def suite(tmp_path):
    """A copy of the demo suite, its document and its server."""
    path = tmp_path / "mcptest.yml"
    path.write_text(DEMO.read_text())
    document = document_of(path, start_dir=tmp_path, environ={})
    servers = Servers()
    servers.put_suites([document])
    return document, servers.named("demo")


CALLS = [
    (
        "tools/call",
        {"name": "get_weather", "arguments": {"city": "${x} Oslo"}},
        {"result": {"content": [{"type": "text", "text": "costs ${5}"}]}},
    ),
    (
        "resources/read",
        {"uri": "demo://settings"},
        {"result": {"contents": [{"text": "region", "mimeType": "text/plain"}]}},
    ),
    (
        "prompts/get",
        {"name": "p", "arguments": {"a": "1"}},
        {"result": {"messages": [{"role": "user", "content": {"text": "x"}}]}},
    ),
]


@pytest.mark.parametrize(("method", "params", "answer"), CALLS, ids=lambda part: str(part)[:20])
def test_a_saved_call_is_one_test_more_and_everything_else_as_it_was(suite, method, params, answer):
    """At the end of its block, with what looks like a template kept from being one."""
    document, server = suite
    saving = saving_of(method, params, answer, server, [document], "new.yml")
    before = Path(document.path).read_text()
    written = saving.with_test(before)
    assert written.path == document.path
    after = document_of(Path(document.path), written.after, start_dir=Path(document.path).parent, environ={})
    assert after.sound, after.diagnostics
    assert len(after.tests) == len(document.tests) + 1
    (new,) = [test for test in after.tests if test.name not in {old.name for old in document.tests}]
    assert new.line == written.line
    kept = iter(written.after.splitlines())
    assert all(line in kept for line in before.splitlines())
    assert next(row for _, row, fresh in written.lines if fresh).strip().startswith("- name: ")


def test_a_new_suite_has_the_server_and_the_test(tmp_path):
    """For a server that stands in no suite; its env comes from where mcptest runs."""
    servers = Servers()
    told = {
        "key": "k",
        "name": "db",
        "client": "Cursor",
        "source": "/x/mcp.json",
        "transport": "stdio",
        "target": "mcptest mock --preset demo",
        "digest": "d",
        "argv": ["mcptest", "mock", "--preset", "demo"],
        "cwd": None,
        "env_names": ["DB_URL"],
        "header_names": [],
        "variables": [],
        "missing": [],
        "enabled": True,
    }
    servers.put_found({"servers": [told]})
    path = tmp_path / "mcptest.yml"
    answer = {"result": {"content": [{"type": "text", "text": "All systems operational"}]}}
    saving = saving_of("tools/call", {"name": "status"}, answer, servers.named("db"), [], str(path))
    written = saving.with_test(None)
    assert saving.place.new
    assert 'env: { DB_URL: "${DB_URL}" }' in written.after
    document = document_of(path, written.after, start_dir=tmp_path, environ={"DB_URL": "x"})
    assert document.sound, document.diagnostics
    assert [(test.server, test.tool) for test in document.tests] == [("db", "status")]


def test_a_masked_secret_of_a_server_that_was_found_is_written_as_a_variable(tmp_path):
    """Issue: `[REDACTED]` was written, and the suite sent just that as the token."""
    servers = Servers()
    found: dict[str, Any] = {
        "key": "k",
        "name": "db",
        "client": "Cursor",
        "source": "/x",
        "transport": "stdio",
        "digest": "d",
    }
    found |= {key: [] for key in ("env_names", "header_names", "variables", "missing")}
    servers.put_found({"servers": [{**found, "target": "db", "argv": ["db", "--token", "[REDACTED]"], "cwd": None}]})
    saving = saving_of("tools/call", {"name": "t"}, None, servers.named("db"), [], str(tmp_path / "new.yml"))
    assert '[db, "--token", "${env.TOKEN}"]' in saving.with_test(None).after
    assert saving.notes == ("the value of `TOKEN` is not written: set the variable where the suite runs",)


def test_a_variable_that_holds_something_else_here_is_not_taken_for_a_typed_secret(tmp_path, monkeypatch):
    """Else the next run sends the server a secret that is meant for another."""
    monkeypatch.setenv("API_KEY", "of-another-service")
    typed = Servers().add("notes --api-key hidden-1")
    saving = saving_of("tools/call", {"name": "t"}, None, typed, [], str(tmp_path / "new.yml"))
    assert "${env.NOTES_API_KEY}" in saving.with_test(None).after
    assert "`API_KEY` has another value here, so the suite reads `NOTES_API_KEY`" in saving.notes


def test_the_server_is_named_where_a_suite_has_several(tmp_path):
    """And a suite that has the same server is offered for a typed one."""
    path = tmp_path / "mcptest.yml"
    path.write_text("servers:\n  a: { command: [a, x] }\n  b: { command: [b] }\ntools: []\n")
    document = document_of(path, start_dir=tmp_path, environ={})
    servers = Servers()
    typed = servers.add("a x")
    assert typed is not None
    saving = saving_of("tools/call", {"name": "t"}, None, typed, [document], str(tmp_path / "new.yml"))
    assert [(place.path, place.server, place.new) for place in saving.places] == [
        (str(path), "a", False),
        (str(tmp_path / "new.yml"), typed.name, True),
    ]
    assert saving.test()["server"] == "a"


def test_all_that_was_proposed_is_kept_also_what_the_window_does_not_show(tmp_path):
    """A time limit, a message, and above all the `skip:` of a tool that destroys."""
    saving = saving_of("tools/call", {"name": "wipe", "arguments": {}}, None, None, [], str(tmp_path / "new.yml"))
    assertion = {"target": "result.isError", "matcher": {"exact": False}, "message": "it works"}
    proposed = {
        "name": "wipe: proposed",
        "server": "server",
        "tool": "wipe",
        "args": {},
        "serial": True,
        "skip": "look first",
        "expect": {"assertions": [assertion], "max_duration_ms": 150},
    }
    test = proposed_saving(saving, proposed).test()
    assert test["expect"] == proposed["expect"]
    assert (test["serial"], test["skip"]) == (True, "look first")
    saving.proposals[0].chosen = False
    assert saving.test()["expect"] == {"max_duration_ms": 150}
    document = document_of(tmp_path / "new.yml", saving.with_test(None).after, start_dir=tmp_path, environ={})
    assert document.sound, document.diagnostics


@pytest.mark.parametrize(
    ("name", "destructive", "held"),
    [("wipe_all", None, True), ("status", None, False), ("status", True, True), ("delete_x", False, False)],
)
def test_a_saved_call_of_a_tool_that_destroys_is_not_run_by_itself(tmp_path, name, destructive, held):
    """What the server says of the tool counts; in the traffic there is its name only."""
    saving = saving_of("tools/call", {"name": name}, None, None, [], str(tmp_path / "n.yml"), destructive=destructive)
    assert ("skip" in saving.test()) is held


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"city": "Oslo", "days": 3}, "forecast with city Oslo, days 3"),
        ({"text": "a text that is much too long for a name", "days": 3}, "forecast with days 3"),
        ({"filter": {"a": 1}, "tags": ["a", "b"], "days": 3}, "forecast with days 3"),
    ],
)
def test_a_name_is_never_cut_in_the_middle(arguments, name):
    """What does not fit is left out."""
    saving = saving_of("tools/call", {"name": "forecast", "arguments": arguments}, None, None, [], "new.yml")
    assert saving.name == name


def test_nested_arguments_stand_in_blocks_and_why_the_test_will_fail_is_said(tmp_path):
    """An object that holds objects has a line for each member, as deep as it goes."""
    arguments = {"customer": {"name": "Ada", "address": {"city": "Oslo"}}, "lines": [{"sku": "A", "box": {"w": 1}}]}
    params = {"name": "order", "arguments": arguments}
    saving = saving_of("tools/call", params, None, None, [], str(tmp_path / "n.yml"))
    saving.invalid = "`structuredContent` does not match the tool's `outputSchema`"
    text = saving.with_test(None).after
    assert text.endswith(
        "  - name: order\n    tool: order\n    args:\n      customer:\n        name: Ada\n        address: { city: Oslo }\n"
        "      lines:\n        - sku: A\n          box: { w: 1 }\n"
    )
    assert read_tree(text, file="n.yml").value["tools"][0]["args"] == arguments
    assert saving.notes == (
        "the test fails until the server is fixed: `structuredContent` does not match the tool's `outputSchema`",
    )
