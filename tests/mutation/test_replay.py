"""From a suite to its mutation score: recorded answers, wrong answers judged, assertions that kill, proposals."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings

from mcptest_engine.authoring.observing import Secrets
from mcptest_engine.authoring.review import Choice, decide, look, undo
from mcptest_engine.core.errors import UsageError
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.mutation.killing import Killing, assertion_text, holds
from mcptest_engine.mutation.operators import Source, apply, changes_of
from mcptest_engine.mutation.proposing import save_proposals
from mcptest_engine.mutation.recording import envelope_with, record_answers
from mcptest_engine.mutation.replay import Mutated, Options, Replay, Status, replay_for, share_budget
from mcptest_engine.mutation.report import one_assertion, render_html, render_markdown, render_text, to_json
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.workspace.proposals import read_proposals
from mcptest_engine.workspace.workspace import Workspace
from tests.mutation.test_operators import results

if TYPE_CHECKING:
    from mcptest_engine.mutation.recording import Recording
    from mcptest_engine.suite.load import LoadedSuite

SHOP = [sys.executable, "-S", str(Path(__file__).parent.parent / "servers" / "shop.py")]
SUITE = f"""\
servers:
  shop: {{ command: {json.dumps(SHOP)} }}
tools:
  - name: the price of tea
    tool: price
    args: {{ item: tea }}
    expect:
      - {{ target: result.structuredContent.price, matcher: {{ gt: 0 }} }}
  - name: the price of milk
    tool: price
    args: {{ item: milk }}
  - name: orders are listed
    tool: orders
    expect:
      assertions:
        - {{ target: "result.content[0].text", transform: {{ jq: "fromjson | length" }}, matcher: {{ exact: 2 }} }}
  - name: tea is there
    tool: stock
    args: {{ item: tea }}
    expect: [{{ target: "result.content[0].text", matcher: {{ exact: There are 7 of tea left. }} }}]
  - name: the shop says who it is
    tool: opened
  - name: a closed shop refuses
    tool: refused
    outcome: error
  - name: a failing test
    tool: stock
    args: {{ item: milk }}
    expect: [{{ target: "result.content[0].text", matcher: {{ contains: coffee }} }}]
  - name: an order is read again
    tool: order
    args: {{ item: tea }}
    verify:
      - tool: get_order
        args: {{ id: o-tea }}
        expect: [{{ target: "result.content[0].text", matcher: {{ contains: total }} }}]
resources:
  - name: hours
    uri: shop://hours
prompts:
  - name: greeting
    prompt: greet
    args: {{ name: Ada }}
compositions:
  - name: order and look
    nodes:
      - {{ id: made, tool: order, args: {{ item: tea }}, transform: {{ jq: ".result.content[0].text | fromjson" }} }}
      - id: found
        tool: get_order
        args: {{ id: "${{made.id}}" }}
        needs: [made]
        transform: {{ jq: ".result.content[0].text | fromjson" }}
    expect: [{{ target: nodes.found.output.total, matcher: {{ gt: 0 }} }}]
"""


class Shop:
    """The suite, recorded once, and what came of its mutants."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(folder)
        self.suite = load(folder, SUITE)
        self.recording = record(self.suite, self.workspace)
        self.mutated = self.replay().run(self.recording)
        self.report = to_json(self.mutated, suite="mcptest.yml", redact=Redactor().redact)

    def replay(self, options: Options = Options(), **more: Any) -> Replay:  # noqa: B008 - it cannot change
        return replay_for(self.suite, self.workspace, options, redactor=Redactor(), **more)

    def test(self, name: str) -> dict[str, Any]:
        return next(one for one in self.report["tests"] if one["name"] == name)

    def mutants(self, name: str, status: Status) -> list[dict[str, Any]]:
        return [one for one in self.report["mutants"] if one["test"] == name and one["status"] == status]


def load(folder: Path, text: str) -> LoadedSuite:
    path = folder / "mcptest.yml"
    path.write_text(text, encoding="utf-8")
    return load_suite(path, LoadOptions(environ=dict(os.environ), workspace_root=folder))


def record(suite: LoadedSuite, workspace: Workspace, *cassettes: str) -> Recording:
    settings = RunSettings(environ={"PATH": os.environ["PATH"]})
    recording = asyncio.run(
        record_answers(suite, settings, workspace=workspace, emit=lambda _event: None, cassettes=cassettes)
    )
    assert recording is not None
    return recording


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("shop"))


def test_the_score_of_a_test_follows_what_it_asserts(shop: Shop) -> None:
    names = ("the price of milk", "the price of tea", "tea is there")
    strengths = [shop.test(name)["strength"] for name in names]
    assert strengths == ["valid", "shape", "value"]
    assert all(weak["score"] < strong["score"] for weak, strong in pairwise(map(shop.test, names)))
    assert shop.test("tea is there")["score"] == 1.0


def test_the_figures_add_up(shop: Shop) -> None:
    report = shop.report
    for row in (report, *report["tests"], *report["tools"]):
        low, high = row["interval"]
        assert low <= row["score"] <= high
        assert row["score"] == pytest.approx(row["killed"] / (row["killed"] + row["survived"]), abs=1e-4)
    by_status = {status.value: sum(one["status"] == status for one in report["mutants"]) for status in Status}
    assert {key: report[key] for key in ("equivalent", "undecided")} == {
        key: by_status[key] for key in ("equivalent", "undecided")
    }
    assert sum(one["killed"] for one in report["tests"]) == by_status["killed"] >= report["killed"]
    assert sum(one["killed"] for one in report["operators"]) == report["killed"]


def test_a_wrong_answer_that_another_test_notices_is_no_survivor_of_the_suite(tmp_path: Path) -> None:
    """Two tests of the same call share its mutants; each has its own score, and the weak one gets no proposal."""
    text = f"""\
servers: {{ shop: {{ command: {json.dumps(SHOP)} }} }}
tools:
  - {{ name: weak, tool: stock, args: {{ item: tea }} }}
  - name: strong
    tool: stock
    args: {{ item: tea }}
    expect: [{{ target: "result.content[0].text", matcher: {{ exact: There are 7 of tea left. }} }}]
"""
    workspace = Workspace(tmp_path)
    suite = load(tmp_path, text)
    mutated = replay_for(suite, workspace, Options(), redactor=Redactor()).run(record(suite, workspace))
    weak, strong = mutated.tests
    assert weak.score.survived > 0
    assert (strong.score.survived, mutated.score.survived) == (0, 0)
    assert mutated.score.killed == strong.score.killed
    assert {one.noticed_by for one in weak.mutants if one.status is Status.SURVIVED} == {"strong"}
    assert save_proposals(workspace, mutated, redactor=Redactor()).tests == 0


def test_each_killing_assertion_holds_for_the_true_answer_and_fails_on_the_wrong_one(shop: Shop) -> None:
    found = 0
    for test in shop.mutated.tests:
        for mutant in test.mutants:
            if mutant.status is Status.SURVIVED and mutant.recorded.call is None:
                assert mutant.assertion is not None, mutant.change
                recorded = mutant.recorded
                wrong = apply(recorded.source.answer, mutant.change)
                assert holds(mutant.assertion, envelope_with(recorded.judged, recorded.source.answer))
                assert not holds(mutant.assertion, envelope_with(recorded.judged, wrong)), mutant
                found += 1
    assert found > 20


def test_a_value_that_changes_from_run_to_run_is_left_out_and_counted(shop: Shop) -> None:
    paths = {one["path"] for one in shop.report["mutants"] if one["test"] == "the shop says who it is"}
    assert "result.content[0].text | fromjson | .shop" in paths
    assert "result.content[0].text | fromjson | .serial" not in paths
    assert shop.report["volatile"] == 1


def test_a_test_that_fails_is_left_out_and_said(shop: Shop) -> None:
    assert shop.report["left_out"] == [{"test": "a failing test", "reason": "it fails: `mcptest run` shows why"}]


def test_resources_prompts_and_expected_errors_have_mutants(shop: Shop) -> None:
    for name in ("hours", "greeting", "a closed shop refuses"):
        assert shop.test(name)["killed"] > 0
        assert shop.test(name)["survived"] > 0
    assert [one["operator"] for one in shop.mutants("a closed shop refuses", Status.KILLED)][:1] == ["flip-is-error"]


def test_a_stale_answer_is_that_of_another_call_of_the_tool(shop: Shop) -> None:
    stale = [one for one in shop.mutants("the price of milk", Status.SURVIVED) if one["operator"] == "stale-answer"]
    assert [one["after"]["structuredContent"]["item"] for one in stale] == ["tea"]


def test_a_step_of_verify_has_mutants_of_its_own(shop: Shop) -> None:
    steps = [one for one in shop.report["mutants"] if one.get("answer_of") == "verify step 1"]
    assert {one["status"] for one in steps} == {"killed", "survived"}


def test_a_wrong_answer_goes_on_through_a_composition(shop: Shop) -> None:
    """A changed id leads to a call that nobody recorded; a changed total is what the composition gives."""
    of = [one for one in shop.report["mutants"] if one["test"] == "order and look"]
    undecided = [one for one in of if one["status"] == "undecided"]
    assert {one["answer_of"] for one in undecided} == {"call 1"}
    negative = next(one for one in of if one["operator"] == "number-sign")
    assert (negative["answer_of"], negative["status"]) == ("call 2", "killed")
    higher = next(one for one in of if one["operator"] == "number-plus-one")
    assert higher["status"] == "survived"
    assert higher["assertion"].startswith('- target: "output.total"')


def test_the_same_seed_draws_the_same_mutants(shop: Shop) -> None:
    def drawn(seed: int) -> list[Any]:
        mutated = shop.replay(Options(budget=40, seed=seed)).run(shop.recording)
        return [(one.change.operator, one.change.path, one.status) for one in mutated.mutants]

    assert len(drawn(1)) == 40
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_what_is_known_is_told_when_it_is_ended_early(shop: Shop) -> None:
    done = 0

    def tell(now: int, _total: int) -> None:
        nonlocal done
        done = now

    mutated = shop.replay(tell=tell, stop=lambda: done >= 10).run(shop.recording)
    assert mutated.is_partial
    assert len(mutated.mutants) == 10
    report = to_json(mutated, suite="mcptest.yml", redact=lambda value: value)
    assert "interrupted: these figures are partial" in render_text(
        report, color=False, width=80, height=24, proposals={}
    )


def test_only_the_operators_that_are_named_are_used(shop: Shop) -> None:
    mutated = shop.replay(Options(operators=("empty-text",))).run(shop.recording)
    assert {one.change.operator for one in mutated.mutants} == {"empty-text"}
    with pytest.raises(UsageError, match="there is no operator `emty-text`"):
        shop.replay(Options(operators=("emty-text",)))


@pytest.mark.parametrize(
    ("wanted", "budget", "given"),
    [([5, 5], 10, [5, 5]), ([100, 2, 100], 10, [4, 2, 4]), ([3], 0, [0]), ([], 9, []), ([1, 9], 5, [1, 4])],
)
def test_a_budget_is_shared_equally(wanted: list[int], budget: int, given: list[int]) -> None:
    assert share_budget(wanted, budget) == given


def test_the_reports_name_the_score_the_weak_tests_and_what_is_missing(shop: Shop) -> None:
    text = render_text(shop.report, color=False, width=80, height=24, proposals={"mcptest.yml": 3})
    lines = text.splitlines()
    assert len(lines) <= 24
    assert "score" in lines[1]
    assert "interval" in lines[1]
    assert "- { target:" in text
    assert "mcptest review mcptest.yml" in text
    markdown = render_markdown(shop.report)
    assert "| the price of tea |" in markdown
    assert "```yaml" in markdown
    html = render_html(shop.report)
    assert "<script" not in html
    assert "the price of tea" in html


def test_a_proposal_adds_what_is_missing_and_can_be_rejected(shop: Shop, tmp_path: Path) -> None:
    """Review accepts, edits or rejects it; what was rejected does not come again, and an accepted one kills what it said."""
    workspace = Workspace(tmp_path)
    suite = load(tmp_path, SUITE)

    def propose() -> dict[str, Any]:
        save_proposals(workspace, shop.mutated, redactor=Redactor())
        return {item.title: item for item in look(workspace).items if item.source == "mutate"}

    items = propose()
    assert {"the price of milk", "orders are listed", "hours", "greeting", "order and look"} <= set(items)
    assert "tea is there" not in items
    assert len(propose()) == len(items), "a second run takes the place of the first one's proposals"
    rejected = decide(workspace, [(items["hours"], Choice.REJECT, None)])
    assert set(propose()) == set(items) - {"hours"}
    undo(workspace, rejected)
    accepted = decide(
        workspace, [(items[name], Choice.ACCEPT, None) for name in ("the price of milk", "order and look")]
    )
    assert not accepted.refused
    again = record(load(tmp_path, suite.path.read_text("utf-8")), workspace)
    mutated = replay_for(suite, workspace, Options(), redactor=Redactor()).run(again)
    before = {test.test.case.name: test.score.survived for test in shop.mutated.tests}
    after = {test.test.case.name: test.score.survived for test in mutated.tests}
    assert after["the price of milk"] == 0
    assert after["order and look"] < before["order and look"]


def test_a_cassette_stands_for_the_servers(shop: Shop, tmp_path: Path) -> None:
    from mcptest_engine.running.launch import launch

    settings = RunSettings(environ={"PATH": os.environ["PATH"]}, record="shop")
    workspace = Workspace(tmp_path)
    suite = load(tmp_path, SUITE)
    asyncio.run(launch(suite, settings, workspace=workspace, emit=lambda _event: None))
    without_server = load(tmp_path, SUITE.replace(json.dumps(SHOP), '["no-such-program"]'))
    file = str(workspace.data_dir / "cassettes" / "shop.json")
    for cassettes in (("shop",), (file, file)):
        recording = record(without_server, workspace, *cassettes)
        assert len(recording.tests) == len(shop.recording.tests)


def test_secrets_of_the_suite_stand_in_no_report_and_no_assertion(tmp_path: Path) -> None:
    text = f"""\
servers:
  shop: {{ command: {json.dumps(SHOP)} }}
tools:
  - {{ name: stock, tool: stock, args: {{ item: "Zq8v-secret-value-0123456" }} }}
"""
    workspace, redactor = Workspace(tmp_path), Redactor(("Zq8v-secret-value-0123456",))
    suite = load(tmp_path, text)
    mutated = replay_for(suite, workspace, Options(), redactor=redactor).run(record(suite, workspace))
    report = to_json(mutated, suite="mcptest.yml", redact=redactor.redact)
    save_proposals(workspace, mutated, redactor=redactor)
    (proposal,) = read_proposals(workspace)
    assert report["survived"] > 0
    assert "secret-value" not in json.dumps([report, asdict(proposal)])


def test_what_a_model_judges_is_left_out_of_a_live_run(tmp_path: Path) -> None:
    text = f"""\
servers:
  shop: {{ command: {json.dumps(SHOP)} }}
tools:
  - name: judged
    tool: orders
    expect: [{{ target: "result.content[0].text", matcher: {{ llm-judge: {{ rubric: "Names two orders." }} }} }}]
  - {{ name: stock, tool: stock, args: {{ item: tea }} }}
agents:
  - {{ name: asks, prompt: "How much is tea?", expect: [{{ target: final_response, matcher: {{ contains: "30" }} }}] }}
"""
    recording = record(load(tmp_path, text), Workspace(tmp_path))
    assert [test.case.name for test in recording.tests] == ["stock"]
    assert {name for name, _ in recording.left_out} == {"judged", "asks"}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(results())
def test_an_assertion_is_found_for_nearly_every_wrong_answer_and_judges_as_a_run_does(result: dict[str, Any]) -> None:
    """What is found without asking jq is what jq says."""
    answer, killing = {"result": result}, Killing(Secrets(lambda text: text))
    changes = [one for one in changes_of(Source("tools/call", answer)) if one.ignored is None]
    missed = []
    for change in changes[:40]:
        wrong = apply(answer, change)
        true, false = ({"error": None, **one} for one in (answer, wrong))
        killer = killing.find(true, false, at=change.path)
        if killer is None:
            missed.append(change)
        else:
            assert holds(killer.assertion, true), (change, killer)
            assert not holds(killer.assertion, false), (change, killer)
    assert len(missed) <= len(changes[:40]) / 4, missed


def test_what_a_server_sends_reaches_no_terminal_as_it_is() -> None:
    row = assertion_text({"target": "result.content[0].text", "matcher": {"exact": "a\x1b[2Jb\u202e"}})
    assert "\x1b" not in one_assertion(row)
    assert "\u202e" not in one_assertion(row)
    assert read_tree(one_assertion(row), file="").value[0]["matcher"]["exact"] == "a\x1b[2Jb\u202e"


def test_mutated_nothing_has_no_score() -> None:
    report = to_json(Mutated(), suite="x.yml", redact=lambda value: value)
    assert report["score"] is None
    assert "no mutant could be judged" in render_text(report, color=False, width=80, height=24, proposals={})
    assert "no mutant could be judged" in render_markdown(report)
    assert "no mutant could be judged" in render_html(report)
