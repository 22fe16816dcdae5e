"""Servers whose list of tools changes while a model uses them: no call is decided by a list that is known to be out of date."""

from __future__ import annotations

import json
import os
import sys

import pytest

from mcptest_engine.safety.execution_policy import MANY_TOOLS
from tests.agents.conftest import shed
from tests.servers.model_endpoint import Reply, Use

# A server with `poke` and `gadget`; `poke` announces a change of the list. Its first argument says what it does when it lists.
# After `poke` the list is asked for twice: to check what that answered, and before the next call.
RESTLESS = """
import json, sys
mode, diary = sys.argv[1], open(sys.argv[2], "a")
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
gadget, lists, tools = {"readOnlyHint": True}, 0, True

def write(*messages):
    sys.stdout.write("".join(json.dumps(message) + "\\n" for message in messages))
    sys.stdout.flush()

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    told = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        info = {"capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": "x", "version": "1"}}
        write({**told, "result": {"protocolVersion": message["params"]["protocolVersion"], **info}})
    elif message["method"] == "tools/list":
        lists += 1
        hints = {"poke": {"readOnlyHint": True}, "gadget": gadget}
        listed = [{"name": name, "inputSchema": {"type": "object"}, "annotations": hints[name]} for name in hints]
        answer = {**told, "result": {"tools": listed}}
        if lists > 1 and mode == "always" or lists in (2, 3) and mode == "once":
            gadget = {"destructiveHint": True}
            write(answer, CHANGED)
        elif lists in (2, 3) and mode == "busy":
            gadget = {"destructiveHint": True}
            write({**told, "error": {"code": -1, "message": "busy"}})
        elif mode == "silent":
            write({**told, "error": {"code": -1, "message": "no list"}})
        else:
            write(answer)
    else:
        diary.write(message["params"]["name"] + "\\n")
        diary.flush()
        poked = [CHANGED] if message["params"]["name"] == "poke" else []
        write(*poked, {**told, "result": {"content": []}})
"""

# Two servers of one folder, told apart by the first argument. `b` announces a change with each answer to a call, and before it
# lists its tools for the second time it has `a` announce one.
ONE_OF_TWO = """
import json, os, sys, threading
me, folder = sys.argv[1], sys.argv[2]
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
hints, lists = {"readOnlyHint": True}, 0

def write(*messages):
    sys.stdout.write("".join(json.dumps(message) + "\\n" for message in messages))
    sys.stdout.flush()

def turn_destructive():
    global hints
    open(folder + "/turn").read()
    hints = {"destructiveHint": True}
    write(CHANGED)
    open(folder + "/turned", "w").close()

if me == "a":
    threading.Thread(target=turn_destructive, daemon=True).start()
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    told = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        info = {"capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": "x", "version": "1"}}
        write({**told, "result": {"protocolVersion": message["params"]["protocolVersion"], **info}})
    elif message["method"] == "tools/list":
        lists += 1
        if me == "b" and lists == 2:
            open(folder + "/turn", "w").close()
            open(folder + "/turned").read()
        write({**told, "result": {"tools": [{"name": "gadget", "inputSchema": {"type": "object"}, "annotations": hints}]}})
    else:
        with open(folder + "/diary", "a") as diary:
            diary.write(me + "\\n")
        write(*([CHANGED] if me == "b" else []), {**told, "result": {"content": []}})
"""


@pytest.fixture
def restless(tmp_path):
    """The command of `RESTLESS` in a mode; what was called of it stands in `diary`."""
    script = tmp_path / "restless.py"
    script.write_text(RESTLESS, encoding="utf-8")
    return lambda mode: json.dumps([sys.executable, "-S", str(script), mode, str(tmp_path / "diary")])


def decisions(test):
    return [(call["name"], call.get("class"), call.get("decision")) for call in test.trace["tool_calls"]]


def test_a_change_that_comes_behind_the_answer_of_a_list_is_listed_as_well(agent, models, restless, tmp_path):
    models.answers(Reply(uses=[Use("poke", {})]), Reply(uses=[Use("gadget", {})]), "done")
    test = agent(servers={"s": restless("once")})
    assert (tmp_path / "diary").read_text().split() == ["poke"]
    assert decisions(test) == [("poke", "read_only", "executed"), ("gadget", "destructive", "denied")]


def test_of_a_list_that_changes_each_time_that_it_is_read_nothing_is_called(agent, models, restless, tmp_path):
    models.answers(Reply(uses=[Use("poke", {})]), Reply(uses=[Use("gadget", {})]), "done")
    test = agent(servers={"s": restless("always")})
    assert (tmp_path / "diary").read_text().split() == ["poke"]
    assert "announced a change of its tools each of the 5 times" in test.trace["tool_calls"][1]["error"]


def test_after_a_list_that_failed_the_tools_are_listed_before_the_next_call(agent, models, restless, tmp_path):
    models.answers(Reply(uses=[Use("poke", {})]), *[Reply(uses=[Use("gadget", {})])] * 2, "done")
    test = agent(servers={"s": restless("busy")})
    assert (tmp_path / "diary").read_text().split() == ["poke"]
    assert decisions(test) == [
        ("poke", "read_only", "executed"),
        ("gadget", None, None),
        ("gadget", "destructive", "denied"),
    ]


def test_what_one_server_announces_while_another_is_listed_counts(agent, models, tmp_path):
    (tmp_path / "one_of_two.py").write_text(ONE_OF_TWO, encoding="utf-8")
    for name in ("turn", "turned"):
        os.mkfifo(tmp_path / name)
    argv = [sys.executable, "-S", str(tmp_path / "one_of_two.py")]
    both = [Use("a__gadget", {}, id="2"), Use("b__gadget", {}, id="3")]
    models.answers(Reply(uses=[Use("b__gadget", {}, id="1")]), Reply(uses=both), "done")
    test = agent(servers={name: json.dumps([*argv, name, str(tmp_path)]) for name in ("a", "b")})
    assert (tmp_path / "diary").read_text().split() == ["b", "b"]
    assert [(call["server"], call["class"], call["decision"]) for call in test.trace["tool_calls"]] == [
        ("b", "read_only", "executed"),
        ("a", "destructive", "denied"),
        ("b", "read_only", "executed"),
    ]


def test_a_call_that_no_server_was_there_for_is_not_in_the_ledger(record_of, models):
    names = ["die", "say", "say"]
    models.answers(*(Reply(uses=[Use(name, {}, id=str(at))]) for at, name in enumerate(names)), "done")
    asks = {"name": "t", "model": "gpt-5.4", "prompt": "go"}
    options = {"restart": False}
    record = record_of({"servers": {"shed": {"command": json.loads(shed())}}, "run_options": options, "agents": [asks]})
    assert [(row.tool, row.count) for row in record.effects.calls] == [("die", 1)]


def test_a_call_for_which_the_gate_could_not_list_the_tools_is_not_in_the_ledger(record_of, restless, tmp_path):
    suite = {"servers": {"s": {"command": json.loads(restless("silent"))}}, "tools": [{"name": "t", "tool": "poke"}]}
    record = record_of(suite, policy=MANY_TOOLS)
    assert (tmp_path / "diary").read_text() == ""
    assert record.effects is None
