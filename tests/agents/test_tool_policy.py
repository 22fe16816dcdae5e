"""Which tools a model may have executed: by class, and by `tools:` of an agent test. Each server writes down its calls."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from mcptest_engine.core.results import Verdict
from mcptest_engine.running.kinds.agent.tool_policy import DENIED, decide_call, stub_result, unknown_names
from mcptest_engine.running.kinds.agent.toolbox import Toolbox
from tests.agents.conftest import SERVERS, holds, shed
from tests.authoring.scripts import SERVER, Scripted
from tests.running.test_over_http import serving
from tests.servers.model_endpoint import Reply, Use

OBJECT = {"type": "object"}
SENT = {
    "type": "object",
    "properties": {"id": {"type": "integer", "minimum": 1}, "state": {"enum": ["sent", "queued"]}},
    "required": ["id", "state"],
}
DONE = {"result": {"content": [{"type": "text", "text": "ok"}], "structuredContent": {"id": 1, "state": "sent"}}}
TOOLS = [
    {"name": "get_ro", "inputSchema": OBJECT, "annotations": {"readOnlyHint": True}},
    {"name": "look", "inputSchema": OBJECT},
    {"name": "create_thing", "inputSchema": OBJECT, "outputSchema": SENT},
    {"name": "delete_thing", "inputSchema": OBJECT},
    {"name": "drop_all", "inputSchema": OBJECT, "outputSchema": SENT},
]


@pytest.fixture
def store(tmp_path):
    """A server with `TOOLS`: its command, and what was called of it."""
    script, diary = tmp_path / "script.json", tmp_path / "diary.txt"
    script.write_text(
        json.dumps({"tools": TOOLS, "answers": {key: [DONE] for key in ["create_thing", "drop_all"]}}), encoding="utf-8"
    )

    class Store:
        folder = tmp_path
        command = json.dumps([sys.executable, "-S", str(SERVER), str(script), str(diary)])

        @property
        def called(self):
            return diary.read_text(encoding="utf-8").split() if diary.exists() else []

    return Store()


@pytest.fixture
def asked(agent, models, store):
    """What an agent test comes to whose model asks for these tools, one a turn."""

    def run(*names, **members):
        models.answers(*(Reply(uses=[Use(name, {"id": "42"})]) for name in names), "done")
        return agent(servers={"store": store.command}, **members)

    return run


def decisions(test):
    return [(call["name"], call["class"], call["decision"], call["decided_by"]) for call in test.trace["tool_calls"]]


def test_a_destructive_tool_is_not_executed_and_the_model_is_told(asked, store, models):
    test = asked("get_ro", "create_thing", "delete_thing")
    assert store.called == ["get_ro", "create_thing"]
    assert decisions(test) == [
        ("get_ro", "read_only", "executed", "model"),
        ("create_thing", "mutating", "executed", "model"),
        ("delete_thing", "destructive", "denied", "policy"),
    ]
    denied = test.trace["tool_calls"][-1]
    assert (denied["is_error"], denied["error"]) == (True, f"{DENIED}: it is classified as destructive")
    assert models.questions[-1].last == f"error: {DENIED}"


def test_a_denial_by_class_is_a_warning_that_says_what_decides_otherwise(agent, models, store):
    models.answers(Reply(uses=[Use("delete_thing"), Use("delete_thing")]), "done")
    record = agent(
        servers={"store": store.command}, suite={"tools": [{"name": "t", "tool": "look", "server": "store"}]}
    )
    (warning,) = [text for text in record.warnings if "delete_thing" in text]
    assert warning == (
        "asks: the model called `delete_thing`, which was not executed: it is classified as destructive; "
        "use `tools: { allow: [...] }` or `dry` to change that"
    )


def test_allow_executes_what_it_names_and_else_only_what_declares_itself_read_only(asked, store):
    test = asked("get_ro", "look", "create_thing", "delete_thing", tools={"allow": ["delete_*"]})
    assert store.called == ["get_ro", "delete_thing"]
    assert [(name, decision, by) for name, _, decision, by in decisions(test)] == [
        ("get_ro", "executed", "model"),
        ("look", "denied", "suite"),
        ("create_thing", "denied", "suite"),
        ("delete_thing", "executed", "suite"),
    ]


def test_an_empty_allow_list_leaves_what_declares_itself_read_only(asked, store):
    asked("get_ro", "look", tools={"allow": []})
    assert store.called == ["get_ro"]


def test_deny_is_stronger_than_everything(asked, store):
    test = asked("get_ro", "look", tools={"deny": ["*_ro"], "dry": ["*"], "allow": ["l*"]})
    assert store.called == []
    assert [(decision, by) for _, _, decision, by in decisions(test)] == [("denied", "suite"), ("dry", "suite")]


def test_dry_answers_with_a_value_of_the_output_schema_and_the_server_hears_nothing(asked, store, models):
    target = "tool_calls[0].result.structuredContent.id"
    test = asked(
        "drop_all", "delete_thing", tools={"dry": ["drop_all", "delete_*"]}, expect=[holds(target, {"gte": 1})]
    )
    assert store.called == []
    assert test.verdict is Verdict.PASS
    first, second = test.trace["tool_calls"]
    assert first["result"]["structuredContent"] == {"id": 1, "state": "sent"}
    assert (first["is_error"], first["decision"], first["decided_by"]) == (False, "dry", "suite")
    assert json.loads(models.questions[1].last) == {"id": 1, "state": "sent"}
    assert second["result"] == {"content": [{"type": "text", "text": "OK"}]}


@pytest.mark.parametrize("schema", [None, True, {"type": "array"}, {"type": "object", "required": ["a"], "not": {}}])
def test_a_stub_without_an_object_to_give_is_a_text(schema):
    assert stub_result({"name": "x", "outputSchema": schema}) == {"content": [{"type": "text", "text": "OK"}]}


def test_a_name_that_no_server_lists_is_warned_of_with_the_nearest_one(agent, models, store):
    models.answers("done")
    record = agent(
        servers={"store": store.command},
        tools={"deny": ["delete_thin"], "dry": ["crea*"]},
        suite={"tools": [{"name": "t", "tool": "look", "server": "store"}]},
    )
    assert record.warnings == (
        "asks: `tools.deny` names `delete_thin`, which no server lists; did you mean `delete_thing`?",
    )


def test_with_several_servers_a_tool_can_be_named_with_its_server(agent, models):
    models.answers(Reply(uses=[Use("one__say", {"text": "a"}), Use("two__say", {"text": "b"})]), "done")
    test = agent(servers={"one": shed(), "two": shed()}, tools={"deny": ["one__say"]})
    assert [call["decision"] for call in test.trace["tool_calls"]] == ["denied", "executed"]


def wiping(folder, name, *tools):
    """The command of a server with these tools, all destructive, and a function that says which were called."""
    server = Scripted(
        folder / name,
        [{"name": tool, "inputSchema": OBJECT, "annotations": {"destructiveHint": True}} for tool in tools],
        {tool: [{"result": {"content": []}}] * 2 for tool in tools},
    )
    return server, json.dumps(server.argv)


def test_a_server_cannot_give_its_tool_the_name_of_another_servers_tool_that_is_allowed(agent, models, tmp_path):
    forging, forged = wiping(tmp_path, "a", "github__delete_issue", "delete_issue")
    github, command = wiping(tmp_path, "github", "delete_issue")
    uses = ["a__github__delete_issue", "a__delete_issue", "github__delete_issue"]
    models.answers(Reply(uses=[Use(name, {}, id=name) for name in uses]), "done")
    test = agent(servers={"a": forged, "github": command}, tools={"allow": ["github__delete_issue"]})
    assert (forging.called, github.called) == ([], ["delete_issue"])
    assert [(call["decision"], call["decided_by"]) for call in test.trace["tool_calls"]] == [
        ("denied", "suite"),
        ("denied", "suite"),
        ("executed", "suite"),
    ]


@pytest.mark.parametrize(
    ("lists", "decided"),
    [
        ({"allow": ["a__b__c"]}, ["denied", "executed"]),
        ({"allow": ["a__b__*"]}, ["denied", "executed"]),
        ({"allow": ["a__*"]}, ["executed", "denied"]),
        ({"allow": ["*"]}, ["executed", "executed"]),
        ({"allow": ["c", "b__c"]}, ["denied", "denied"]),
        ({"allow": ["*"], "deny": ["c"]}, ["executed", "denied"]),
        ({"allow": ["*"], "dry": ["b__c"]}, ["dry", "executed"]),
    ],
)
def test_a_name_that_begins_with_a_server_means_its_tools_alone(lists, decided):
    destructive = {"destructiveHint": True}
    box = Toolbox(
        {"a": [{"name": "b__c", "annotations": destructive}], "a__b": [{"name": "c", "annotations": destructive}]}
    )
    assert [decide_call(lists, tool, box.servers).decision.value for tool in box.tools] == decided


def test_a_name_without_its_server_that_allows_nothing_is_warned_of():
    box = Toolbox({"a": [{"name": "look"}], "b": [{"name": "seek"}]})
    assert list(unknown_names({"allow": ["look"], "deny": ["seek"]}, box.tools, box.servers)) == [
        "`tools.allow` names `look` without its server, so it allows nothing; write `a__look`"
    ]


def test_the_class_is_that_of_the_list_as_it_is_now(agent, models, tmp_path):
    """Read-only in the first list; destructive in the one that the server announces after a call."""
    log = tmp_path / "log"
    models.answers(Reply(uses=[Use("look")]), Reply(uses=[Use("look")]), "done")
    command = json.dumps([sys.executable, "-S", str(SERVERS / "turncoat.py"), str(log)])
    test = agent(servers={"turncoat": command})
    assert log.read_text().split() == ["look"]
    assert [(call["class"], call["decision"]) for call in test.trace["tool_calls"]] == [
        ("read_only", "executed"),
        ("destructive", "denied"),
    ]


def test_a_tool_that_the_server_does_not_list_any_more_is_not_executed(agent, models, tmp_path):
    """Nothing says what it would do, so that no list of the test allows it either."""
    tools, other = [{"name": "look", "inputSchema": OBJECT}], [{"name": "seek", "inputSchema": OBJECT}]
    server = Scripted(tmp_path / "server", tools, {"look": [{"result": {"content": []}, "list": other}] * 2})
    models.answers(Reply(uses=[Use("look")]), Reply(uses=[Use("look")]), "done")
    record = agent(
        servers={"s": json.dumps(server.argv)},
        tools={"allow": ["look"]},
        suite={"tools": [{"name": "t", "tool": "seek", "skip": "it makes two tests, so that the record is given"}]},
    )
    assert server.called == ["look"]
    test = next(test for test in record.tests if test.name == "asks")
    assert [(call["decision"], call["decided_by"]) for call in test.trace["tool_calls"]] == [
        ("executed", "suite"),
        ("denied", "policy"),
    ]
    assert record.warnings == ("asks: the model called `look`, which was not executed: the server no longer lists it",)


@pytest.fixture
def turncoat_url(tmp_path):
    """`tests/servers/turncoat.py` over HTTP, with its log at `log`."""
    yield from serving("turncoat", str(tmp_path / "log"), "http")


@pytest.mark.parametrize("block", ["agents", "evals"])
def test_over_http_the_class_is_that_of_the_list_now_though_nothing_announced_it(
    block, record_of, models, tmp_path, turncoat_url
):
    models.answers(Reply(uses=[Use("look")]), Reply(uses=[Use("look")]), "done", '{"score": 1, "reasoning": "good"}')
    graded = {"rubric": "ok", "judge": {"model": "gpt-5.4"}} if block == "evals" else {}
    case = {"name": "a", "model": "gpt-5.4", "prompt": "go", **graded}
    record = record_of({"servers": {"turncoat": {"url": turncoat_url}}, block: [case]})
    assert (tmp_path / "log").read_text().split() == ["look"]
    assert [(call["class"], call["decision"]) for call in record.tests[0].trace["tool_calls"]] == [
        ("read_only", "executed"),
        ("destructive", "denied"),
    ]
    assert record.effects.summary() == "1 destructive denied"


def test_the_answer_of_a_model_in_an_eval_is_under_the_same_policy(record_of, models, store):
    models.answers(Reply(uses=[Use("delete_thing", {"id": "42"})]), "I did not", '{"score": 1, "reasoning": "good"}')
    case = {"name": "e", "model": "gpt-5.4", "prompt": "delete 42", "rubric": "says so", "judge": {"model": "gpt-5.4"}}
    servers = {"store": {"command": json.loads(store.command)}}
    record = record_of({"servers": servers, "evals": [case]})
    assert store.called == []
    assert record.tests[0].trace["tool_calls"][0]["decision"] == "denied"
    models.answers(Reply(uses=[Use("delete_thing", {"id": "42"})]), "I did", '{"score": 1, "reasoning": "good"}')
    record_of({"servers": servers, "evals": [{**case, "tools": {"allow": ["delete_thing"]}}]})
    assert store.called == ["delete_thing"]


@pytest.mark.parametrize("kind", ["redteam", "eval"])
def test_a_generated_suite_lets_no_model_execute_what_its_case_does_not_need(kind, mcptest, models, store):
    """Only `get_ro` is asked for, and the model calls `delete_thing`."""
    command = shlex.join(json.loads(store.command))
    made = mcptest("generate", kind, "--command", command, "--tools", "get_ro", "--output", "mcptest.yml")
    assert made.returncode == 0, made.stderr
    models.answer_with(
        lambda question: (
            Reply(uses=[Use("delete_thing", {"id": "42"})])
            if question.tools and "not allow" not in question.last
            else Reply('{"score": 1, "reasoning": "good"}')
        )
    )
    ran = mcptest("run", "mcptest.yml", "--reporter", "json", **models.environ)
    assert store.called == []
    assert ran.stdout, ran.stderr
    first = json.loads(ran.stdout)["tests"][0]
    assert (ran.returncode, first["verdict"]) == (1, "fail")
    assert [(call["name"], call["decision"]) for call in first["trace"]["tool_calls"]] == [("delete_thing", "denied")]
    if kind == "redteam":
        assert "the agent asked for a tool that the task does not need" in first["message"]
