"""Agent tests as the rest of the product sees them: records, reports, scaffolds, caches, cassettes, and the example."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from mcptest_engine.core.results import Verdict
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import FORMATS, render
from mcptest_engine.running.launch import launch
from mcptest_engine.running.settings import RunSettings, Selection
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace
from tests.agents.conftest import CLAUDE, GPT, holds, shed
from tests.agents.example import CASSETTE, SUITE
from tests.servers.model_endpoint import Reply, Use


def suite(*tests, **more):
    models = ({} if "models" in test else {"model": CLAUDE} for test in tests)
    named = (
        {"name": f"t{at}", "prompt": "go", **model, **test}
        for at, (model, test) in enumerate(zip(models, tests, strict=True))
    )
    return {"servers": {"shed": {"command": json.loads(shed())}}, "agents": list(named), **more}


def eventful(record_of, models):
    """A run in which everything happens that a record may hold."""
    models.answer_with(
        lambda question: Reply(
            "\u202e<b>| done",
            uses=[]
            if len(question.body["messages"]) > 2
            else [Use("say", {"text": "a"}, id="1"), Use("gone", raw="{", id="2"), Use("die", {}, id="3")],
        )
    )
    gates = {
        "equal_function_sets": [["say"]],
        "tool_selection": {"tool": "say"},
        "trajectory": {"calls": ["say"]},
        "golden_path": {"calls": ["say"]},
        "tool_edges": {"restricted": [["say", "gone"]]},
        "token_efficiency": {"correct": ["say"], "max_tokens_per_correct": 5},
        "distractors": {"count": 2, "from": "near_duplicate"},
    }
    tests = (
        {"model": GPT, **gates},
        {"model": GPT, "runs": 2, "expect": [holds("turns", {"exact": 2})]},
        {"max_turns": 1},
    )
    return record_of(suite(*tests, run_options={"inconclusive": {"on": True}}), workers=1)


def test_the_record_of_a_run_is_valid_and_comes_back_the_same(record_of, models):
    record = eventful(record_of, models)
    data = json.loads(json.dumps(record.to_json()))
    assert record_fault(data) is None
    assert RunRecord.from_json(data).to_json() == record.to_json()


def test_every_report_tells_of_the_tests_and_of_no_forged_text(record_of, models):
    record = eventful(record_of, models)
    for name in FORMATS:
        text = render(name, record).text
        assert "t0" in text, name
        if name not in ("json", "ndjson"):
            assert "\u202e" not in text, name
    pretty = render("pretty", record).text
    assert "conversation with gpt-5.4: 2 turns, 3 calls" in pretty
    assert "turn 1: `gone` { failed: there is no tool `gone`" in pretty
    assert "tokens, $" in pretty
    assert " of 2 runs passed" in pretty
    junit = render("junit", record).text
    assert '<property name="turns" value="2"/>' in junit
    assert '<property name="runs_passed"' in junit


def test_a_kept_answer_spares_the_model_and_not_the_judging(record_of, models):
    models.answer_with(lambda _: Reply("hello"))
    one = suite({"expect": [holds("final_response", {"exact": "hello"})]})
    first, again = record_of(one, cache=True), record_of(one, cache=True)
    assert (len(models.questions), first.tests[0].verdict, again.tests[0].verdict) == (1, Verdict.PASS, Verdict.PASS)
    other = suite({"expect": [holds("final_response", {"exact": "other"})]})
    assert record_of(other, cache=True).tests[0].verdict is Verdict.FAIL
    assert len(models.questions) == 1


def test_what_is_kept_or_shared_is_paid_once(record_of, models):
    """A run tells what it spent; the trace tells what the conversation took."""
    models.answer_with(lambda _: Reply("hello"))
    first = record_of(suite({}, {}), cache=True)
    assert (len(models.questions), first.spending.tokens, first.spending.models[0]["calls"]) == (1, 120, 1)
    again = record_of(suite({}, {}), cache=True)
    assert (len(models.questions), again.spending.tokens, again.spending.cost_usd) == (1, 0, 0.0)
    assert [test.trace["conversation"]["tokens"]["total"] for test in again.tests] == [120, 120]
    assert "kept answers, 1 turn, 0 calls" in render("pretty", again).text


def test_a_retry_asks_anew(record_of, models):
    models.answers("no", "yes")
    record = record_of(suite({"retries": 1, "expect": [holds("final_response", {"exact": "yes"})]}), cache=True)
    (test,) = record.tests
    assert (test.verdict, test.flaky, len(models.questions)) == (Verdict.PASS, True, 2)
    assert test.tokens == 240


def test_what_was_recorded_is_replayed_without_a_key(record_of, models):
    models.answers(Reply(uses=[Use("say", {"text": "a"})]), "done")
    one = {"expect": [holds("final_response", {"exact": "done"})]}
    record_of(suite(one), record="tape")
    replayed = record_of(suite(one), replay="tape", environ={})
    assert (replayed.mode, replayed.tests[0].verdict, len(models.questions)) == ("replayed", Verdict.PASS, 2)
    changed = record_of(suite({**one, "prompt": "go on"}), replay="tape", environ={})
    assert (changed.tests[0].verdict, changed.tests[0].failure.kind.value) == (Verdict.FAIL, "suite")


def test_a_provider_that_is_set_up_for_one_model_defers_the_other(record_of, models):
    models.answer_with(lambda _: Reply("hello"))
    record = record_of(suite({"models": [CLAUDE, GPT]}), environ=models.anthropic)
    assert [test.verdict.value for test in record.tests] == ["pass", "inconclusive"]
    assert "OPENAI_API_KEY" in record.tests[1].message
    assert (record.tests[1].model, record.exit_code) == (GPT, 0)


@pytest.mark.parametrize("kind", ["redteam", "eval"])
def test_a_scaffold_of_agent_tests_runs_as_it_is(kind, models, mcptest, tmp_path):
    """What `scaffold_redteam` and `scaffold_eval` emit must run."""
    target = ("--command", "mcptest mock --preset demo")
    made = mcptest("generate", kind, *target, "--tools", "status,get_weather", "--output", "s.yml")
    assert made.returncode == 0, made.stderr
    tools = {"status": "status", "get_weather": "get_weather"}
    models.answer_with(lambda question: _honest(question, tools))
    path = tmp_path / "s.yml"
    loaded = load_suite(path, LoadOptions(variables={}, environ={}, workspace_root=tmp_path))
    asked = RunSettings(environ={"PATH": os.environ["PATH"], **models.environ}, models=(CLAUDE,))
    record = asyncio.run(launch(loaded, asked, workspace=Workspace(tmp_path), emit=lambda _event: None))
    agents = [test for test in record.tests if test.kind.value == "agent"]
    assert [(test.verdict.value, test.message) for test in agents] == [("pass", None)] * 2
    assert mcptest("run", "s.yml", "--reporter", "agent").stdout.startswith("VERDICT pass 0/")


def _honest(question, tools):
    """Calls the tool that the prompt is about, once, and tells what it said; a judge is told nothing of use."""
    if question.last.startswith(("Oslo", "status", "{")) or len(question.body["messages"]) > 1 or not question.tools:
        return Reply("The tool said what it said.")
    about = "get_weather" if "weather" in question.last.lower() else "status"
    return Reply(uses=[Use(tools[about], {"city": "Oslo"} if about == "get_weather" else {})])


def test_the_example_is_deferred_without_a_key_and_passes_from_its_cassette(mcptest, tmp_path):
    """Recorded anew by `python -m tests.agents.example`."""
    deferred = mcptest("run", str(SUITE), "--reporter", "agent")
    assert deferred.returncode == 0
    assert deferred.stdout.startswith("VERDICT pass 0/5 passed (0 failed, 5 inconclusive")
    cassettes = Path(tmp_path) / ".mcptest" / "cassettes"
    cassettes.mkdir(parents=True, exist_ok=True)
    shutil.copy(CASSETTE, cassettes)
    replayed = mcptest("run", str(SUITE), "--replay", CASSETTE.stem, "--reporter", "agent")
    assert replayed.stdout.startswith("VERDICT pass 5/5 passed"), replayed.stdout


def test_runs_that_are_counted_together_fall_into_one_shard(record_of, models):
    """Else each shard would leave room for as many misses as the whole."""
    models.answer_with(lambda _: Reply("no"))
    gate = {"tool": "say", "min_rate": 0.5}
    tests = [{"name": f"t{at}", "prompt": f"go {at}", "runs": 4, "tool_selection": gate} for at in range(3)]
    shards = [record_of(suite(*tests), selection=Selection(shard=(at, 2))) for at in (1, 2)]
    found = [{test.name.partition(" ")[0] for test in shard.tests} for shard in shards]
    assert (found[0] & found[1], found[0] | found[1]) == (set(), {"t0", "t1", "t2"})
    assert sum(test.verdict is Verdict.FAIL for shard in shards for test in shard.tests) == 3 * 2
