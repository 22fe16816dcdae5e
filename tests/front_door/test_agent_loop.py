"""What an agent's work costs in tokens, and suites that it sends once and then only changes.

Counted is what a model reads and writes, as JSON, a token for four characters: the definitions of the tools, the answer to
`initialize`, each call's arguments and each answer's text. Structured content is the same once more, for programs.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import UsageError
from mcptest_engine.core.text import estimate_tokens
from mcptest_engine.front_door import handles
from mcptest_engine.front_door.edits import apply_edits
from mcptest_engine.front_door.handles import Handles
from tests.conftest import SERVERS
from tests.front_door.conftest import DEMO, SUITE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.front_door.conftest import Door

MOST_WITH_WRITES = 3_500
MOST_READ_ONLY = 3_000
MOST_FOR_THE_LOOP = 8_000


def tokens(value: Any) -> int:
    return estimate_tokens([json.dumps(value, ensure_ascii=False, separators=(",", ":"))])


class Agent:
    """A scripted client that counts what its model would read and write."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self.spent = {"initialize": tokens(door.opening), "tools/list": tokens(door.ask("tools/list"))}

    def call(self, verb: str, **arguments: Any) -> dict[str, Any]:
        answer = self.door.call(verb, **arguments)
        self.spent[f"{len(self.spent)} {verb}"] = tokens({"name": verb, "arguments": arguments}) + tokens(answer)
        return answer


def test_the_list_of_tools_costs_few_tokens(reader: Door, writer: Door) -> None:
    assert tokens(reader.ask("tools/list")) <= MOST_READ_ONLY
    assert tokens(writer.ask("tools/list")) <= MOST_WITH_WRITES


def test_the_whole_loop_on_an_unknown_server_costs_few_tokens(open_door: Callable[..., Door]) -> None:
    """Look, write a suite for all of it, add what was observed, run, read the failures, mend them, run green."""
    agent = Agent(open_door("--enable-writes"))
    tools = agent.call("list_tools", command=DEMO)["tools"]
    agent.call("call_tool", command=DEMO, tool="queue_depth")
    handle = agent.call("scaffold_suite", command=DEMO, text=False)["handle"]
    assert agent.call("propose_assertions", command=DEMO, tool="status", suite=handle)["suite"] == handle
    text = agent.door.call("edit_suite", suite=handle, lines=[1, 999])["text"]
    (budget,) = re.findall(r"max_duration_ms: \d+", text)  # twice what was seen: a busy machine may exceed that
    agent.door.call("edit_suite", suite=handle, edits=[{"old": budget, "new": "max_duration_ms: 60000"}])
    failures = agent.call("run_tool_test", suite=handle)["failures"]
    assert [failure["test"].split(":")[0] for failure in failures] == ["always_fails", "out_of_order"]
    for failure in failures:
        lines = [failure["line"], failure["line"] + 5]
        shown = agent.call("edit_suite", suite=handle, lines=lines)["text"]
        changed = f"{shown.partition('outcome:')[0]}outcome: error"  # what was expected of a result is gone with it
        assert agent.call("edit_suite", suite=handle, edits=[{"old": shown, "new": changed}])["valid"]
        again = failure["repro_call"]
        assert agent.call(again["name"], **again["arguments"])["verdict"] == "pass"
    ran = agent.call("run_tool_test", suite=handle)
    assert (ran["verdict"], ran["failed"], ran["suite"]) == ("pass", 0, handle)
    assert ran["passed"] > len(tools)
    assert sum(agent.spent.values()) <= MOST_FOR_THE_LOOP, agent.spent


def test_a_suite_is_sent_once_and_then_changed_by_its_handle(writer: Door) -> None:
    first = writer.call("run_tool_test", suite=SUITE)
    handle = first["suite"]
    (failure,) = first["failures"]
    assert failure["repro_call"] == {"name": "run_tool_test", "arguments": {"suite": handle, "filter": "status check"}}
    edit = {"old": "contains: degraded", "new": "contains: operational"}
    edited = writer.call("edit_suite", suite=handle, edits=[edit])
    assert (edited["suite"], edited["valid"], edited["errors"], edited["lines"]) == (handle, True, [], 6)
    assert "text" not in edited
    assert writer.call("run_tool_test", suite=handle, filter="status check")["total"] == 1
    everything = {"op": "replace", "path": "/tools", "value": [{"name": "of another name", "tool": "status"}]}
    run_id = writer.call("run_tool_test", suite=writer.call("edit_suite", suite=handle, edits=[everything])["suite"])[
        "run_id"
    ]
    assert writer.call("get_run", run_id=run_id)["requested_by"]["lineage"] == first["run_id"]
    assert writer.call("validate_suite", suite=handle)["valid"]
    assert writer.call("trigger_run", config=handle)["verdict"] == "pass"
    assert writer.call("record_cassette", name="of-a-handle", config=handle)["passed"] == 1
    mutated = writer.call("mutate_suite", config=handle, budget=20)
    assert mutated["proposals"] == 0
    assert f"`{handle}`" in mutated["notes"][-1]
    assert "there is no suite `s999999` here" in writer.refused("run_tool_test", suite="s999999")
    assert handle in writer.refused("edit_suite", suite="s999999")


def test_a_suite_that_is_refused_leaves_no_run_behind_and_can_be_mended(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    door = open_door("--enable-writes")
    words = door.refused("run_tool_test", suite=SUITE.replace("expect:", "asert:"))
    assert words.endswith("the suite is `s1`: correct it with edit_suite")
    assert "is not a regular expression" in door.refused("run_tool_test", suite=SUITE, filter="re:(")
    assert not list((tmp_path / ".mcptest" / "inline").iterdir())
    assert door.call("edit_suite", suite="s1", edits=[{"old": "asert:", "new": "expect:"}])["valid"]


def test_a_fault_of_the_yaml_has_its_line_and_column(reader: Door) -> None:
    (error,) = reader.call("validate_suite", suite="servers: {}\ntools: [\n")["errors"]
    assert (error["line"], error["column"]) == (2, 8)
    (error,) = reader.call("validate_suite", suite="serverz: {}\n")["errors"][:1]
    assert error.keys() == {"path", "message", "hint"}


TEXT = """\
# mine
servers:
  a: { command: [x] }  # the first
tools:
  - name: one
    tool: t
    expect:
      - { target: result, matcher: { exact: 1 } }
  - { name: two, tool: t }
"""


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        ({"old": "name: one", "new": "name: first"}, "name: one", "name: first"),
        ({"op": "replace", "path": "/tools/0/name", "value": "first"}, "name: one", "name: first"),
        ({"op": "replace", "path": "/tools/0/expect/0/matcher/exact", "value": 2}, "exact: 1", "exact: 2"),
        ({"op": "remove", "path": "/tools/1"}, "  - { name: two, tool: t }\n", ""),
        ({"op": "add", "path": "/tools/1/args", "value": {"n": 1}}, "tool: t }", 'tool: t, args: { "n": 1 } }'),
        (
            {"op": "add", "path": "/tools/-", "value": {"name": "three", "tool": "t"}},
            "two, tool: t }\n",
            "two, tool: t }\n  - name: three\n    tool: t\n",
        ),
    ],
)
def test_an_edit_changes_its_place_and_leaves_the_comments(edit: dict[str, Any], before: str, after: str) -> None:
    assert apply_edits(TEXT, [edit]) == TEXT.replace(before, after)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ({"old": "name: onne", "new": ""}, "line 5 is the nearest: - name: one"),
        ({"old": "tool: t", "new": ""}, "occurs 2 times"),
        ({"old": "", "new": "x"}, "is empty"),
        ({"old": "x"}, "neither `old` and `new` nor `op` and `path`"),
        ({"op": "replace", "path": "/tools/7/name", "value": 1}, "`/tools` has no item `7`: it has 2"),
        ({"op": "remove", "path": "/toolz"}, "did you mean `tools`?"),
        ({"op": "remove", "path": "/servers/a/command/0/b"}, "neither a list nor a mapping"),
        ({"op": "add", "path": "/tools/0/tags"}, "takes `path` and `value`"),
        ({"op": "replace", "path": "tools", "value": 1}, "not a JSON Pointer"),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused_with_the_nearest(edit: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as refused:
        apply_edits(TEXT, [{"old": "# mine", "new": "# ours"}, edit])
    words = f"{refused.value.message}\n{refused.value.hint}"
    assert words.startswith("edit 2 of 2 cannot be made, and none is: ")
    assert told in words


def test_the_suites_that_are_retained_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Handles()
    assert kept.add("a: 1") == kept.add("a: 1") == "s1"
    for number in range(handles.MOST_SUITES):
        kept.add(f"b: {number}")
        kept.get("s1")  # what is used stays
    assert kept.get("s1") == "a: 1"
    with pytest.raises(UsageError, match="no suite `s2` here"):
        kept.get("s2")
    monkeypatch.setattr(handles, "MOST_CHARACTERS", 10)
    kept.add("c: 1234567")
    with pytest.raises(UsageError, match="this session has s52"):
        kept.get("s1")
    with pytest.raises(UsageError, match="2,000,001 characters"):
        kept.add("x" * 2_000_001)


def test_a_tool_is_called_by_name_under_the_policy_and_answers_as_the_server_did(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    diary = tmp_path / "diary"
    server = [sys.executable, str(SERVERS / "recorder.py"), str(diary)]
    door = open_door("--enable-writes")
    tools = {tool["name"]: tool for tool in door.call("list_tools", command=server)["tools"]}
    for name in tools:
        hints = tools[name].get("annotations", {})
        if not hints.get("readOnlyHint"):
            assert "set `" in door.refused("call_tool", command=server, tool=name)
    called = [line for line in diary.read_text().splitlines() if any(name in line for name in tools)]
    assert not called
    raw = door.call("call_tool", command=DEMO, tool="status")
    assert raw["result"] == {"content": [{"type": "text", "text": "status: operational"}]}
    assert raw["tool_class"] == "read_only"
    (logo,) = door.call("call_tool", command=DEMO, tool="get_logo")["result"]["content"]
    assert logo["data"].startswith("iVBORw0KGgo")
    made = door.call("call_tool", command=DEMO, tool="create_record", args={"name": "x"}, allow=["create_record"])
    assert made["result"]["structuredContent"]["name"] == "x"
    words = door.refused("call_tool", command=DEMO, tool="delete_record", allow=["delete_record"])
    assert "set `execute_destructive` to true" in words


def test_a_proposal_shows_what_was_observed_and_claims_no_more(writer: Door) -> None:
    made = writer.call("propose_assertions", command=DEMO, tool="status")
    assert made["observed"] == [{"result": {"content": [{"type": "text", "text": "status: operational"}]}}]
    assert made["notes"][0].startswith("the values are observed, not verified")
    assert made["test"].count("observed, not verified") == made["test"].count('exact: "')


def test_one_test_of_a_run_is_returned_alone(writer: Door) -> None:
    run_id = writer.call("run_tool_test", suite=SUITE)["run_id"]
    found = writer.call("get_run", run_id=run_id, test="it answers")
    assert found.keys() == {"run_id", "tests"}
    assert [test["name"] for test in found["tests"]] == ["it answers"]
    assert "did you mean `it answers`?" in writer.refused("get_run", run_id=run_id, test="it answer")


def test_a_report_is_rendered_or_written_where_it_is_too_large(open_door: Callable[..., Door], tmp_path: Path) -> None:
    door = open_door("--enable-writes")
    run_id = door.call("run_tool_test", suite=SUITE)["run_id"]
    told = door.call("render_report", format="agent")
    assert told["run_id"] == run_id
    assert told["text"].startswith("VERDICT fail 1/2 passed")
    page = door.call("render_report", format="html", run_id=run_id)
    assert page["file"] == f".mcptest/reports/{run_id}.html"
    assert (tmp_path / page["file"]).stat().st_size == page["bytes"]
    assert "did you mean `junit`?" in door.refused("render_report", format="junitt")
    reader = open_door()
    assert reader.call("render_report", format="md")["text"]
    assert "--enable-writes" in reader.refused("render_report", format="html")
