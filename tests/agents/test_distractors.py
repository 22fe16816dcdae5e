"""Tools offered beside the real ones: which, and what becomes of a model that calls one."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest_engine.core.results import FailureKind, Verdict
from mcptest_engine.running.kinds.agent.distractors import distractors_of
from tests.agents.conftest import holds
from tests.servers.model_endpoint import Reply, Use

SAY: dict[str, Any] = {
    "name": "say",
    "description": "Says it.",
    "inputSchema": {"type": "object", "required": ["text"]},
}
LISTED = {"shed": [SAY, {"name": "die"}]}


def names(written, listed=LISTED):
    return [one.descriptor["name"] for one in distractors_of(written, listed)[0]]


def test_near_duplicates_have_the_arguments_of_a_real_tool_and_say_why_they_are_not_it():
    (one, *_), _ = distractors_of({"count": 3, "from": "near_duplicate", "of": ["say"]}, LISTED)
    assert one.descriptor == {**SAY, "name": "say_legacy", "description": one.descriptor["description"]}
    assert one.descriptor["description"].startswith("Says it. Deprecated")
    assert one.server == "shed"
    assert names({"count": 3, "from": "near_duplicate"}) == ["say_legacy", "die_legacy", "say_sandbox"]


@pytest.mark.parametrize("source", ["catalog", "near_duplicate"])
def test_there_are_as_many_as_are_asked_for_and_all_have_names_of_their_own(source):
    listed = {"shed": [SAY, {"name": "say_legacy"}, {"name": "tune_piano"}]}
    found = names({"count": 200, "from": source, "of": ["say"]}, listed)
    assert len({*found, "say", "say_legacy", "tune_piano"}) == 203


def test_a_tool_that_no_server_lists_is_told():
    made, remarks = distractors_of({"count": 2, "from": "near_duplicate", "of": ["speak"]}, LISTED)
    assert (made, remarks) == ([], ["`distractors` names the tool `speak`, which no server lists"])


def test_a_model_that_keeps_to_the_real_tools_passes(agent, models):
    models.answers(Reply(uses=[Use("say", {"text": "a"})]), "done")
    result = agent(distractors={"count": 4, "from": "near_duplicate", "of": ["say"]})
    assert result.verdict is Verdict.PASS
    offered = {*models.questions[0].tools}
    assert {"say", "say_legacy", "say_sandbox", "say_archive", "say_staff"} <= offered
    assert result.trace["distractors"]["accuracy"] == 100
    assert result.trace["distractors"]["certified_lower"] == pytest.approx(20.654931)
    (metric,) = result.derived_metrics
    assert (metric.name, metric.value, metric.passed) == ("distractors.accuracy", 100, True)


def test_a_model_that_falls_for_one_is_told_so_and_fails(agent, models):
    models.answers(Reply(uses=[Use("say_legacy", {"text": "a"}), Use("say", {"text": "a"})]), "done")
    result = agent(distractors={"count": 1, "from": "near_duplicate", "of": ["say"]})
    assert (result.verdict, result.failure.kind) == (Verdict.FAIL, FailureKind.METRIC)
    assert result.failure.message == "distractors: accuracy 50 % is below 100 %: `say_legacy` was called"
    fallen = result.trace["tool_calls"][0]
    assert (fallen["server"], fallen["error"], fallen["distractor"]) == (None, "this tool is not available", True)
    assert "this tool is not available" in str(models.questions[1].body["messages"])


def test_an_assertion_on_the_accuracy_decides_in_place_of_the_gate(agent, models):
    models.answers(Reply(uses=[Use("say_legacy", {"text": "a"}), Use("say", {"text": "a"})]), "done")
    accuracy = holds("distractors.accuracy", {"gte": 40})
    result = agent(distractors={"count": 1, "from": "near_duplicate", "of": ["say"]}, expect=[accuracy])
    assert result.verdict is Verdict.PASS


def test_a_model_that_calls_nothing_is_not_accurate(agent, models):
    models.answers("done")
    result = agent(distractors={"count": 1})
    assert result.failure.message == "distractors: accuracy 0 % is below 100 %: no right tool was called"


def test_with_several_servers_a_near_duplicate_stands_among_the_tools_of_its_own(agent, models):
    from tests.agents.conftest import shed

    models.answers("done")
    wanted = {"count": 2, "from": "near_duplicate", "of": ["say"], "min_accuracy": 0}
    agent(servers={"a": shed(), "b": shed()}, distractors=wanted)
    offered = {*models.questions[0].tools}
    assert {"a__say_legacy", "b__say_legacy"} <= offered
