"""The ledger of effects: every call of a tool in a run, who decided it, and the limits that a suite sets."""

from __future__ import annotations

import asyncio
import hashlib
import json
from types import SimpleNamespace
from typing import Any

import pytest

from mcptest_engine.core.effects import CallDecision, DecidedBy, Effect, Effects
from mcptest_engine.core.errors import PolicyDenied, ServerError, UsageError
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import render
from mcptest_engine.running.effects import MOST_ARGUMENTS, EffectLedger
from mcptest_engine.safety.tool_classes import ToolClass
from tests.agents.test_tool_policy import store  # noqa: F401  (a fixture)
from tests.authoring.scripts import Scripted
from tests.servers.model_endpoint import Reply, Use

CASE = {"server": "store", "model": "gpt-5.4"}


def effects_of(ledger, limits=None):
    effects = ledger.effects(replayed=False, limits=limits)
    assert effects is not None
    return effects


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def rows_of(record):
    return [
        (row.tool, row.tool_class, row.decision.value, row.decided_by.value, row.count) for row in record.effects.calls
    ]


@pytest.fixture
def suite(store):  # noqa: F811
    """A suite on `store` with these blocks."""
    return lambda **blocks: {"servers": {"store": {"command": json.loads(store.command)}}, **blocks}


def test_tests_agents_and_evals_are_all_in_it(record_of, models, suite):
    models.when("go", Reply(uses=[Use("create_thing", {"id": "1"}), Use("delete_thing", {"id": "2"})]))
    models.answer_with(lambda _: Reply('{"score": 1, "reasoning": "good"}'))
    record = record_of(
        suite(
            tools=[{"name": f"t{n}", "tool": "look", "args": {"b": n % 2, "a": "é"}} for n in range(3)],
            agents=[{"name": "a", "prompt": "go", "tools": {"dry": ["delete_*"]}, **CASE}],
            evals=[{"name": "e", "call": {"tool": "get_ro"}, "rubric": "ok", "judge": {"model": "gpt-5.4"}}],
            compositions=[{"name": "c", "nodes": [{"id": "n", "tool": "look", "args": {"b": 0, "a": "é"}}]}],
        )
    )
    assert sorted(rows_of(record)) == [
        ("create_thing", "mutating", "executed", "model", 1),
        ("delete_thing", "destructive", "dry", "suite", 1),
        ("get_ro", "read_only", "executed", "suite", 1),
        ("look", "read_only_presumed", "executed", "suite", 4),
    ]
    found = {row.tool: row.arguments for row in record.effects.calls}
    assert found["look"] == found["get_ro"] == ()
    assert (found["create_thing"], found["delete_thing"]) == ((digest('{"id":"1"}'),), (digest('{"id":"2"}'),))


def test_a_run_that_sees_no_list_says_so_and_asks_for_none(record_of, suite, store):  # noqa: F811
    tools = [{"name": "t", "tool": "create_thing", "args": {"b": 1, "a": "é"}}]
    record = record_of(suite(tools=tools, run_options={"catalog": "off"}))
    assert rows_of(record) == [("create_thing", "unlisted", "executed", "suite", 1)]
    assert record.effects is not None
    assert record.effects.calls[0].arguments == (digest('{"a":"é","b":1}'),)
    assert record.exit_code == 0


def test_secrets_are_masked_before_they_are_hashed(mcptest, suite, store):  # noqa: F811
    secret = "hunter2-hunter2-hunter2"
    made = suite(
        variables={"api_key": {"from_env": "API_KEY"}},
        tools=[{"name": "t", "tool": "create_thing", "args": {"key": "${api_key}"}}],
    )
    (store.folder / "mcptest.yml").write_text(json.dumps(made), encoding="utf-8")
    ran = mcptest("run", "mcptest.yml", "--reporter", "json", API_KEY=secret)
    record = json.loads(ran.stdout)
    shown = record["tests"][0]["request"]["params"]["arguments"]
    assert shown != {"key": secret}
    assert record["effects"]["calls"][0]["arguments"] == [digest(json.dumps(shown, separators=(",", ":")))]


def test_many_different_arguments_have_a_hash_up_to_a_limit_and_are_all_counted():
    ledger = EffectLedger(lambda value: value)
    for number in range(MOST_ARGUMENTS + 50):
        ledger.note("s", "create_thing", {"n": number})
    (row,) = effects_of(ledger).calls
    assert (row.count, len(row.arguments)) == (MOST_ARGUMENTS + 50, MOST_ARGUMENTS)


def test_the_record_of_it_is_valid_and_comes_back_the_same(record_of, suite):
    record = record_of(suite(tools=[{"name": "t", "tool": "drop_all"}], effects={"mutating": 3}))
    data = json.loads(json.dumps(record.to_json()))
    assert record_fault(data) is None
    assert RunRecord.from_json(data).effects == record.effects
    del data["effects"]
    assert RunRecord.from_json(data).effects is None


@pytest.mark.parametrize(
    ("limits", "code"), [({"destructive": 0}, 6), ({"destructive": 1}, 0), ({"mutating": 0}, 6), ({"mutating": 2}, 0)]
)
def test_a_limit_that_is_exceeded_fails_the_run(record_of, suite, limits, code):
    """The run lists the tools for it: classes come from annotations, and not from names alone."""
    calls = [("t1", "delete_thing"), ("t2", "create_thing"), ("t3", "create_thing"), ("t4", "get_ro")]
    record = record_of(suite(tools=[{"name": name, "tool": tool} for name, tool in calls], effects=limits))
    assert {row.tool_class for row in record.effects.calls} == {"destructive", "mutating", "read_only"}
    assert (record.exit_code, record.verdict.value) == (code, "fail" if code else "pass")
    if code:
        tool_class = next(iter(limits))
        tool, made = {"destructive": ("delete_thing", "1 call"), "mutating": ("create_thing", "2 calls")}[tool_class]
        told = f"effects: {made} of {tool_class} tools, 0 are allowed: `{tool}` ({made[0]})"
        assert record.warnings == (told,)
        for name in ("pretty", "agent", "md", "github", "minimal"):
            assert "0 are allowed" in render(name, record).text, name


def test_what_was_not_executed_exceeds_nothing(record_of, models, suite):
    models.answers(Reply(uses=[Use("delete_thing", {}), Use("drop_all", {})]), "done")
    agents = [{"name": "a", "prompt": "go", "tools": {"dry": ["drop_all"]}, **CASE}]
    record = record_of(suite(agents=agents, effects={"destructive": 0}))
    assert record.exit_code == 0
    assert rows_of(record) == [
        ("delete_thing", "destructive", "denied", "policy", 1),
        ("drop_all", "destructive", "dry", "suite", 1),
    ]


def test_an_unlisted_tool_counts_by_what_its_name_suggests(record_of, suite):
    tools, off = [{"name": "t", "tool": "delete_other"}], {"catalog": "off"}
    record = record_of(suite(tools=tools, effects={"destructive": 0}, run_options=off))
    assert record.exit_code == 6
    assert (record.effects.calls[0].tool_class, record.effects.calls[0].limited_as) == ("unlisted", "destructive")


@pytest.mark.parametrize(
    ("tool", "counts_as"),
    [
        ("truncate_table", "destructive"),
        ("rm_rf", "destructive"),
        ("deleteuser", "destructive"),
        ("terminate_instance", "destructive"),
        ("execute_sql", "mutating"),
        ("look", None),
    ],
)
def test_the_name_of_an_unlisted_tool_counts_by_all_the_words_that_the_policy_knows(tool, counts_as):
    ledger = EffectLedger(lambda value: value)
    ledger.note("s", tool, {})
    (row,) = effects_of(ledger, limits={}).calls
    assert (row.tool_class, row.limited_as) == ("unlisted", counts_as)


WIPING, READING = ({"name": "wipe", "annotations": {hint: True}} for hint in ("destructiveHint", "readOnlyHint"))


@pytest.mark.parametrize("tools", [[WIPING, READING], [READING, WIPING]])
def test_a_tool_that_is_listed_twice_has_the_more_dangerous_class(record_of, tmp_path, tools):
    listed = [{**tool, "inputSchema": {"type": "object"}} for tool in tools]
    server = Scripted(tmp_path / "server", listed, {"wipe": [{"result": {"content": []}}]})
    servers = {"s": {"command": list(server.argv)}}
    record = record_of({"servers": servers, "tools": [{"name": "t", "tool": "wipe"}], "effects": {"destructive": 0}})
    assert rows_of(record) == [("wipe", "destructive", "executed", "suite", 1)]
    assert record.exit_code == 6


def test_no_list_of_later_changes_the_class_that_a_tool_had_when_it_was_called():
    ledger = EffectLedger(lambda value: value)
    ledger.learn_classes("s", [WIPING])
    ledger.note("s", "wipe", {"a": 1})
    ledger.learn_classes("s", [READING])
    effects = effects_of(ledger, limits={"destructive": 0})
    (row,) = effects.calls
    assert (row.tool_class, len(row.arguments)) == ("destructive", 1)
    assert effects.exceeded() == ["effects: 1 call of destructive tools, 0 are allowed: `wipe` (1)"]


def test_calls_before_the_first_list_and_after_it_are_one_row():
    ledger = EffectLedger(lambda value: value)
    ledger.note("s", "wipe", {})
    ledger.learn_classes("s", [WIPING])
    ledger.note("s", "wipe", {})
    assert [(row.tool_class, row.count) for row in effects_of(ledger, limits={}).calls] == [("destructive", 2)]


def test_a_call_under_a_gate_has_the_class_that_it_was_decided_by():
    """Another call may have the tools listed anew before the answer comes."""
    ledger = EffectLedger(lambda value: value)
    policy = SimpleNamespace(is_allowed=lambda *_: False)
    gate = SimpleNamespace(policy=policy, last_class=lambda *_: ToolClass.DESTRUCTIVE)
    session: Any = SimpleNamespace(gate=gate)
    with ledger.note_call(session, "s", "gadget", {}) as note_sending:
        note_sending(ToolClass.READ_ONLY)
    (row,) = effects_of(ledger).calls
    assert (row.tool_class, row.decision, row.decided_by) == ("read_only", CallDecision.EXECUTED, DecidedBy.POLICY)


@pytest.mark.parametrize(
    ("wrong", "is_sending", "decision"),
    [
        (PolicyDenied("no"), False, CallDecision.DENIED),
        (UsageError("the server lists no such tool"), False, CallDecision.DENIED),
        (UsageError("NaN"), True, None),
        (ServerError("no list", server="s"), False, None),
        (ServerError("died", server="s"), True, CallDecision.EXECUTED),
        (asyncio.CancelledError(), False, None),
        (asyncio.CancelledError(), True, CallDecision.EXECUTED),
    ],
)
def test_a_call_is_counted_from_when_it_may_have_been_sent(wrong, is_sending, decision):
    ledger = EffectLedger(lambda value: value)
    session: Any = SimpleNamespace(gate=None)
    with pytest.raises(type(wrong)), ledger.note_call(session, "s", "gadget", {}) as note_sending:
        if is_sending:
            note_sending(None)
        raise wrong
    effects = ledger.effects(replayed=False, limits=None)
    assert (None if effects is None else effects.calls[0].decision) is decision


def test_a_replay_executes_nothing(mcptest, store):  # noqa: F811
    command = json.loads(store.command)
    text = f"servers: {{ store: {{ command: {json.dumps(command)} }} }}\ntools: [{{ name: t, tool: delete_thing }}]\n"
    suite_file = store.folder / "mcptest.yml"
    suite_file.write_text(f"{text}effects: {{ destructive: 1 }}\n", encoding="utf-8")
    assert mcptest("run", "mcptest.yml", "--record", "tape").returncode == 0
    suite_file.write_text(f"{text}effects: {{ destructive: 0 }}\n", encoding="utf-8")
    ran = mcptest("run", "mcptest.yml", "--replay", "tape", "--reporter", "json")
    (row,) = json.loads(ran.stdout)["effects"]["calls"]
    assert (ran.returncode, row["decision"], store.called) == (0, "replayed", ["delete_thing"])


def test_the_command_says_which_limit_was_exceeded(mcptest, store):  # noqa: F811
    command = json.dumps(json.loads(store.command))
    text = f"servers: {{ store: {{ command: {command} }} }}\ntools: [{{ name: t, tool: delete_thing }}]\n"
    (store.folder / "mcptest.yml").write_text(f"{text}effects: {{ destructive: 0 }}\n", encoding="utf-8")
    ran = mcptest("run", "mcptest.yml")
    assert ran.returncode == 6
    assert "effects: 1 call of destructive tools, 0 are allowed: `delete_thing` (1)" in ran.stdout + ran.stderr


def test_reports_show_it(record_of, suite):
    record = record_of(
        suite(tools=[{"name": "t", "tool": "drop_all"}, {"name": "u", "tool": "get_ro"}], effects={"mutating": 0})
    )
    assert "EFFECTS 1 destructive executed\n" in render("agent", record).text
    assert "| drop\\_all | destructive | executed | suite | 1 |" in render("md", record).text
    page = render("html", record).text
    assert "Every call of a tool in this run, and who decided it." in page
    assert page.index("drop_all</") < page.rindex("get_ro</")


def test_shards_are_judged_together():
    from mcptest_engine.core.effects import merged_effects

    def part(count, *hashes):
        row = Effect(
            server="s",
            tool="create_thing",
            tool_class="mutating",
            decision=CallDecision.EXECUTED,
            decided_by=DecidedBy.SUITE,
            count=count,
            arguments=hashes,
        )
        return Effects(calls=(row,), limits={"mutating": 3})

    one, other = part(2, "aa", "bb"), part(2, "bb", "cc")
    assert one.exceeded() == other.exceeded() == []
    merged = merged_effects([one, other])
    assert merged is not None
    assert (merged.calls[0].count, merged.calls[0].arguments) == (4, ("aa", "bb", "cc"))
    assert merged.exceeded() == ["effects: 4 calls of mutating tools, 3 are allowed: `create_thing` (4)"]
