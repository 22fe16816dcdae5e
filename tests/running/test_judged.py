"""What a model judges in a run: `llm-judge` assertions, and the metrics of compositions and agents, over a local endpoint."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptest_engine.core.results import FailureKind, Verdict
from mcptest_engine.judging.providers.values import ModelReply
from mcptest_engine.running.judged import Judged
from mcptest_engine.running.launch import launch
from mcptest_engine.running.plan import make_plan
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace
from tests.conftest import SERVERS
from tests.servers.model_endpoint import Reply, Use

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.judging.providers.values import ModelRequest
    from tests.servers.model_endpoint import ModelEndpoint, Question

ECHO = {"command": [sys.executable, "-S", str(SERVERS / "echo.py")]}
CLAUDE = {"model": "claude-test"}
KIND = {"rubric": "Is kind."}


def said(score: float, reasoning: str = "because", **more: Any) -> str:
    return json.dumps({"reasoning": reasoning, "score": score, **more})


DEAR = Reply(said(0.9), usage=(0, 4000))
"""A grade that costs 0.02 USD at the prices of `run`."""


def tool(matcher: dict[str, Any], *others: dict[str, Any], text: str = "hello", **more: Any) -> dict[str, Any]:
    judged = {"target": "result.content[0].text", "matcher": matcher}
    return {"name": "greets", "tool": "echo", "args": {"text": text}, "expect": [judged, *others], **more}


def mocked(name: str = "greet", **more: Any) -> dict[str, Any]:
    return {"name": name, "nodes": [{"id": "a", "tool": "say", "args": {"x": 1}, "mock": {"result": "hi"}}], **more}


@pytest.fixture
def run(tmp_path: Path, models: ModelEndpoint) -> Callable[..., RunRecord]:
    """The record of a run of a suite given as data; `key` False without anybody to ask, but for `environ`."""

    def running(
        suite: dict[str, Any], *, key: bool = True, environ: dict[str, str] | None = None, **more: Any
    ) -> RunRecord:
        path = tmp_path / "mcptest.yml"
        path.write_text(json.dumps({"prices": {"*": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 5}}, **suite}))
        environ = {"PATH": os.environ["PATH"], **(models.environ if key else {}), **(environ or {})}
        loaded = load_suite(path, LoadOptions(environ=environ, workspace_root=tmp_path))

        async def launched() -> RunRecord:
            async with asyncio.timeout(180):
                asked = RunSettings(environ=environ, **more)
                return await launch(loaded, asked, workspace=Workspace(tmp_path), emit=lambda _event: None)

        return asyncio.run(launched())

    return running


def told(record: RunRecord) -> list[tuple[str, str | None]]:
    return [(test.verdict.value, test.message) for test in record.tests]


# --- llm-judge


def test_an_assertion_holds_where_the_model_says_so(run: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    models.answers(said(0.9, "it greets"))
    record = run({"servers": {"s": ECHO}, "judge": CLAUDE, "tools": [tool({"llm-judge": KIND})]})
    (test,) = record.tests
    assert told(record) == [("pass", None)]
    row, *_ = test.assertions
    assert row.judgement is not None
    assert (row.judgement["score"], row.judgement["output"]) == (0.9, "hello")
    assert test.tokens == 120
    assert test.cost_usd == pytest.approx(0.0002)
    assert record.spending is not None
    assert record.spending.models[0]["model"] == "claude-test"
    (question,) = models.questions
    assert 'tools/call {"name": "echo", "arguments": {"text": "hello"}}' in question.last


def test_an_assertion_fails_with_the_models_reason(run: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    models.answers(said(0.2, "no greeting"))
    record = run({"servers": {"s": ECHO}, "judge": CLAUDE, "tools": [tool({"llm-judge": {**KIND, "threshold": 0.5}})]})
    words = "assertion 1, line 1 (`result.content[0].text`) failed: the judge gives score 0.2, needs 0.5: no greeting"
    assert told(record) == [("fail", words)]
    assert record.tests[0].failure is not None
    assert record.tests[0].failure.kind is FailureKind.ASSERTION


@pytest.mark.parametrize(
    ("others", "more", "verdict"),
    [
        ((), {}, "inconclusive"),
        (({"target": "result.isError", "matcher": {"exact": True}},), {}, "fail"),
        (({"target": "result.content", "matcher": {"length": 9}, "weight": 3},), {"threshold": 0.5}, "fail"),
        (({"target": "result.content", "matcher": {"length": 9}},), {"threshold": 0.5}, "inconclusive"),
    ],
)
def test_without_a_model_a_test_is_inconclusive_unless_something_else_fails_it(
    run: Callable[..., RunRecord], others: tuple[dict[str, Any], ...], more: dict[str, Any], verdict: str
) -> None:
    """`passed` is null, and a deferred assertion counts as passed in a score."""
    record = run({"servers": {"s": ECHO}, "tools": [tool({"llm-judge": KIND}, *others, **more)]}, key=False)
    (test,) = record.tests
    assert test.verdict.value == verdict
    assert test.assertions[0].passed is None
    assert record.exit_code == (1 if verdict == "fail" else 0)
    if verdict == "inconclusive":
        assert test.message is not None
        assert test.message.startswith("deferred: no model provider")


def test_a_test_that_waits_for_a_model_and_fails_is_not_deferred(run: Callable[..., RunRecord]) -> None:
    """Only an inconclusive one is: a step of `verify` decided this one."""
    step = {"tool": "echo", "args": {"text": "a"}, "expect": [{"target": "result.content", "matcher": {"length": 9}}]}
    waits = tool({"llm-judge": KIND})
    fails = {**waits, "name": "fails", "verify": [step]}
    record = run({"servers": {"s": ECHO}, "tools": [waits, fails]}, key=False)
    waiting, failed = record.tests
    assert (waiting.verdict, failed.verdict) == (Verdict.INCONCLUSIVE, Verdict.FAIL)
    assert str(waiting.deferred).startswith("no model provider")
    assert (failed.deferred, failed.assertions[0].deferred) == (None, waiting.deferred)


def test_a_judge_without_a_grade_fails_the_test(run: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    models.answers("great!", "great!")
    record = run({"servers": {"s": ECHO}, "judge": CLAUDE, "tools": [tool({"not": {"llm-judge": KIND}})]})
    failure = record.tests[0].failure
    assert failure is not None
    assert (failure.kind, record.tests[0].verdict) == (FailureKind.SCORER, Verdict.FAIL)
    assert failure.scorer_error is not None
    assert failure.scorer_error["kind"] == "invalid_verdict"
    assert record.tests[0].tokens == 240, "what it cost is counted"


def test_a_split_jury_leaves_a_test_inconclusive(run: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    models.answers(said(1), said(0))
    record = run({"servers": {"s": ECHO}, "judge": {**CLAUDE, "jury": 2}, "tools": [tool({"llm-judge": KIND})]})
    assert record.tests[0].verdict is Verdict.INCONCLUSIVE
    assert "undecided: the jury is split: 1 of 2 jurors pass" in str(record.tests[0].assertions[0].message)


def test_sets_steps_and_nested_matchers_are_judged_too(run: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    models.answer_with(lambda question: said(0.1 if "grumpy" in question.last else 0.9, "of course"))
    row = {"target": "result.content[0].text", "matcher": {"llm-judge": KIND}}
    one_of = {"assert-set": {"threshold": 0.5, "assertions": [row, {**row, "matcher": {"exact": "no"}}]}}
    each = {"target": "result.content[*].text", "matcher": {"each": {"llm-judge": KIND}}}
    step = {"tool": "echo", "args": {"text": "grumpy"}, "expect": [{**row, "matcher": {"not": {"llm-judge": KIND}}}]}
    suite = {"servers": {"s": ECHO}, "judge": CLAUDE, "tools": [tool({"llm-judge": KIND}, one_of, each, verify=[step])]}
    record = run(suite)
    assert told(record) == [("pass", None)]
    assert len(models.questions) == 2, "one opinion for the same value, however many ask for it"
    assert record.tests[0].tokens == 240, "and its price is counted once"
    assert all(
        row.judgement for item in record.tests[0].assertions for row in item.leaves() if "exact" not in row.matcher
    )


def test_a_model_is_told_no_secret(run: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    models.answers(said(0.9, "it is hunter2-hunter2 indeed"))
    secret = {"env": {"API_TOKEN": "hunter2-hunter2"}, "servers": {"s": ECHO}, "judge": CLAUDE}
    record = run({**secret, "tools": [tool({"llm-judge": KIND}, text="it is hunter2-hunter2")]})
    assert record.tests[0].verdict is Verdict.PASS
    assert "hunter2" not in models.questions[0].last
    assert "hunter2-hunter2" not in json.dumps(record.to_json()["tests"])


def test_compositions_are_judged_by_assertions_too(run: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    models.answers(said(0.9))
    row = {"target": "output", "matcher": {"llm-judge": KIND}}
    assert told(run({"judge": CLAUDE, "compositions": [mocked(expect=[row])]})) == [("pass", None)]
    (deferred,) = run({"judge": CLAUDE, "compositions": [mocked(expect=[row])]}, key=False).tests
    assert deferred.verdict is Verdict.INCONCLUSIVE


# --- evals


def test_nothing_is_called_for_an_answer_that_nobody_can_grade(
    run: Callable[..., RunRecord], models: ModelEndpoint, tmp_path: Path
) -> None:
    """Neither a tool is called nor, where only the judge has no key, the model under test asked."""
    started = tmp_path / "started"
    server = {"command": ["sh", "-c", 'echo on >> "$0"; exec "$@"', str(started), *ECHO["command"]]}
    called = {"name": "called", "call": {"tool": "echo", "args": {"text": "gone"}}, "rubric": "Is gone."}
    asked = {"name": "asked", "prompt": "Say hello", "model": "claude-test", "rubric": "Says hello."}
    anthropic = {name: value for name, value in models.environ.items() if name.startswith("ANTHROPIC")}
    models.answer_with(lambda question: said(0.9) if "score" in question.last else "hello")

    def verdicts(judge: str) -> list[str]:
        suite = {"servers": {"s": server}, "judge": {"model": judge}, "evals": [called, asked]}
        return [test.verdict.value for test in run(suite, key=False, environ=anthropic).tests]

    assert verdicts("gpt-5.4") == ["inconclusive"] * 2
    assert not models.questions
    assert not started.exists()
    assert verdicts("claude-test") == ["pass"] * 2
    assert started.exists()


# --- metrics

METRICS = {
    "rubric": "Says hi.",
    "mcp_task_completion": {"threshold": 0.8},
    "mcp_use": True,
    "argument_correctness": True,
    "plan_quality": True,
}


def test_each_metric_of_a_composition_is_a_row_of_its_own(run: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    def answer(question: Question) -> str:
        findings = [{"call": 1, "ok": False, "reasoning": "made up"}, {"call": 9, "ok": True, "reasoning": ""}]
        more = {"findings": findings} if '"findings"' in question.last else {}
        return said(0.75, "well enough", **more)

    models.answer_with(answer)
    record = run({"judge": CLAUDE, "compositions": [mocked(eval=METRICS, description="Greet somebody.")]})
    assert [(test.name, test.verdict.value) for test in record.tests] == [
        ("greet", "pass"),
        ("greet: rubric", "pass"),
        ("greet: mcp_task_completion", "fail"),
        ("greet: mcp_use", "pass"),
        ("greet: argument_correctness", "pass"),
        ("greet: plan_quality", "pass"),
    ]
    failed = record.tests[2]
    assert failed.failure is not None
    assert (failed.failure.kind, failed.message) == (FailureKind.SCORE, "score 0.75, needs 0.8: well enough")
    assert (failed.score, failed.threshold, failed.tokens) == (0.75, 0.8, 120)
    judgement = record.tests[4].judgement
    assert judgement is not None
    assert judgement["extra"]["findings"] == [{"call": 1, "tool": "say", "ok": False, "reasoning": "made up"}]
    asked = models.questions[0].last
    assert "Greet somebody." in asked
    assert 'call 1: say (step `a`)\nargs: {"x": 1}\nreturned: "hi"' in asked
    assert record.exit_code == 1


def test_metrics_of_an_agent_are_judged_by_its_conversation(
    run: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    def answer(question: Question) -> Reply | str:
        if question.model == "claude-judge":
            return said(0.9, "fine")
        asks = question.last == "Say hello to Ada"
        return Reply(uses=[Use("echo", {"text": "hello Ada"})]) if asks else "I said hello to Ada."

    models.answer_with(answer)
    agent = {"name": "greets Ada", "prompt": "Say hello to Ada", "model": "claude-test", "eval": METRICS}
    record = run({"servers": {"s": ECHO}, "judge": {"model": "claude-judge"}, "agents": [agent]})
    assert [test.verdict.value for test in record.tests] == ["pass"] * 6, told(record)
    judged = [question for question in models.questions if question.model == "claude-judge"]
    assert len(judged) == 5
    for question in judged:
        assert "Say hello to Ada" in question.last
        assert (
            'call 1: echo (server s)\nargs: {"text": "hello Ada"}\nreturned: {"content": [{"type": "text"'
            in question.last
        )
        assert "I said hello to Ada." in question.last


def test_without_a_model_every_metric_is_deferred_and_none_is_a_pass(run: Callable[..., RunRecord]) -> None:
    record = run({"compositions": [mocked(eval=METRICS)]}, key=False)
    assert [test.verdict.value for test in record.tests] == ["pass", *["inconclusive"] * 5]
    assert all(str(test.message).startswith("deferred: no model provider") for test in record.tests[1:])
    assert record.exit_code == 0


def test_what_was_not_run_is_not_judged_and_what_failed_is(
    run: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    models.answer_with(lambda _: said(0.9))
    wrong = [{"target": "output", "matcher": {"exact": "no"}}]
    skipped = mocked("skipped", eval={"mcp_use": True})
    skipped["skip"] = "not today"
    unable = mocked("unable", eval={"mcp_use": True})
    unable["nodes"] = [{"id": "a", "tool": "say", "mock": {"result": 1}, "when": "false"}]
    suite = {"judge": CLAUDE, "compositions": [mocked("wrong", eval={"mcp_use": True}, expect=wrong), skipped, unable]}
    record = run(suite)
    assert [test.verdict.value for test in record.tests] == ["fail", "pass", "skip", "skip", "inconclusive", "skip"]
    assert record.tests[3].message in ("skipped by the suite", "not today", "not judged: `skipped` was not run")
    assert record.tests[5].message == "not judged: `unable` was not run"


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_no_number_of_workers_and_no_barrier_keeps_a_metric_waiting_for_ever(
    run: Callable[..., RunRecord], models: ModelEndpoint, workers: int
) -> None:
    models.answer_with(lambda _: said(0.9))
    graded = {"mcp_use": True, "plan_quality": True}
    compositions = [mocked(f"c{number}", eval=graded, serial=number % 3 == 1) for number in range(5)]
    record = run({"judge": CLAUDE, "compositions": compositions}, workers=workers, repeat=2)
    assert {test.verdict for test in record.tests} == {Verdict.PASS}
    assert len(record.tests) == 30
    assert [test.name for test in record.tests[:3]] == ["c0 #1", "c0: mcp_use #1", "c0: plan_quality #1"]


@pytest.mark.parametrize("workers", [1, 8])
def test_bail_ends_the_judging_as_well(run: Callable[..., RunRecord], models: ModelEndpoint, workers: int) -> None:
    wrong = [{"target": "output", "matcher": {"exact": "no"}}]
    graded = {"mcp_use": True}
    suite = {"judge": CLAUDE, "compositions": [mocked("a", expect=wrong, eval=graded), mocked("b", eval=graded)]}
    record = run(suite, workers=workers, bail=1)
    assert record.tests[1].verdict is Verdict.SKIP
    assert "bail" in str(record.tests[1].message)
    assert not models.questions


def test_a_metric_that_is_selected_brings_its_subject_along(
    run: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    from mcptest_engine.running.settings import Selection

    models.answers(said(0.9))
    suite = {"judge": CLAUDE, "compositions": [mocked("a", eval=METRICS), mocked("b")]}
    record = run(suite, selection=Selection(filter="a: mcp_use"))
    assert [(test.name, test.verdict.value) for test in record.tests] == [("a", "pass"), ("a: mcp_use", "pass")]


def test_a_jury_without_a_majority_of_keys_defers_an_eval_before_anything_is_started(
    run: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    asked = {"name": "e", "call": {"tool": "echo"}, "rubric": "kind", "judge": {"models": ["claude-a", "gpt-b"]}}
    own = {name: value for name, value in models.environ.items() if not name.startswith("OPENAI")}
    record = run({"servers": {"s": {"command": ["no-such-server"]}}, "evals": [asked]}, key=False, environ=own)
    ((verdict, message),) = told(record)
    assert verdict == "inconclusive"
    assert "OPENAI_API_KEY is not set" in str(message) and "1 of 2 jurors can be asked" in str(message)
    assert not record.servers
    assert not models.questions


def test_a_judge_of_its_own_takes_the_place_of_the_suites_jury(
    run: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    models.answer_with(lambda _: said(0.9))
    suite = {
        "judge": {"models": ["claude-a", "gpt-b", "gpt-c"]},
        "servers": {"s": ECHO},
        "tools": [tool({"llm-judge": {**KIND, "model": "claude-x"}})],
        "compositions": [mocked(eval={"mcp_use": True})],
    }
    record = run(suite)
    assert sorted(question.model for question in models.questions) == ["claude-a", "claude-x", "gpt-b", "gpt-c"]
    assert [test.verdict for test in record.tests] == [Verdict.PASS] * 3


def test_an_interruption_in_the_middle_of_judging_ends_the_run(
    tmp_path: Path, models: ModelEndpoint, run: Callable[..., RunRecord]
) -> None:
    models.answer_with(lambda _: Reply(said(0.9), fault="hang"))
    path = tmp_path / "mcptest.yml"
    path.write_text(json.dumps({"judge": CLAUDE, "compositions": [mocked(eval=METRICS)]}))
    environ = {"PATH": os.environ["PATH"], **models.environ}
    suite = load_suite(path, LoadOptions(environ=environ, workspace_root=tmp_path))

    async def interrupted() -> RunRecord:
        workspace = Workspace(tmp_path)
        task = asyncio.create_task(
            launch(suite, RunSettings(environ=environ), workspace=workspace, emit=lambda _event: None)
        )
        await models.until(lambda: len(models.questions) == 5)
        task.cancel()
        async with asyncio.timeout(180):
            return await task

    record = asyncio.run(interrupted())
    assert record.interrupted
    assert [test.verdict.value for test in record.tests] == ["pass", *["skip"] * 5]


def test_a_cap_that_is_reached_skips_what_is_left(run: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    """A call costs 0.02 USD, and may cost a little more than that by its output limit."""
    models.answer_with(lambda _: DEAR)
    record = run({"judge": CLAUDE, "compositions": [mocked(eval=METRICS)]}, max_cost_usd=0.05)
    verdicts = [test.verdict.value for test in record.tests]
    assert verdicts.count("skip") == 3, verdicts
    skipped = next(test for test in record.tests if test.verdict is Verdict.SKIP)
    assert str(skipped.message).startswith("not run: --max-cost")
    assert record.exit_code == 5


# --- the order in which things come to their end


class Slowly:
    """Models that answer whenever they like, in an order that is drawn."""

    def __init__(self, pauses: list[int]) -> None:
        self._pauses = pauses

    def missing(self, _: str | None) -> str | None:
        return None

    def chosen(self, model: str | None, *, judging: bool) -> str | None:
        return model or f"judge-{judging}"

    async def send(self, request: ModelRequest) -> ModelReply:
        for _ in range(self._pauses.pop() if self._pauses else 0):
            await asyncio.sleep(0)
        return ModelReply(request.model, said(0.9), (), "end", 10, 2, 0.0, 1.0)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    graded=st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=6),
    workers=st.integers(1, 4),
    bail=st.booleans(),
    pauses=st.lists(st.integers(0, 5), max_size=30),
)
def test_whatever_waits_for_whom_a_run_comes_to_its_end(
    tmp_path: Path, graded: list[tuple[int, bool, bool]], workers: int, bail: bool, pauses: list[int]
) -> None:
    """Metrics follow their subjects in whatever order workers, serial cases, failures and judges let them."""
    names = ["mcp_use", "plan_quality", "argument_correctness"]
    wrong = [{"target": "output", "matcher": {"exact": "no"}}]
    compositions = [
        mocked(f"c{at}", serial=serial, **({"eval": dict.fromkeys(names[:count], True)} if count else {}),
               **({"expect": wrong} if fails else {}))
        for at, (count, serial, fails) in enumerate(graded)
    ]  # fmt: skip
    path = tmp_path / "mcptest.yml"
    path.write_text(json.dumps({"judge": CLAUDE, "compositions": compositions}))
    suite = load_suite(path, LoadOptions(environ={"PATH": ""}, workspace_root=tmp_path))

    async def launched() -> RunRecord:
        asked = RunSettings(environ={"PATH": ""}, workers=workers, bail=1 if bail else None)
        async with asyncio.timeout(180):
            return await launch(suite, asked, workspace=Workspace(tmp_path), emit=lambda _event: None)

    with patched_models(Slowly(pauses)):
        record = asyncio.run(launched())
    assert len(record.tests) == sum(count + 1 for count, _, _ in graded)
    assert not record.interrupted
    if not bail:
        assert all((test.judgement is not None) == (": " in test.name) for test in record.tests)


@contextmanager
def patched_models(models: Any) -> Iterator[None]:
    """The network would decide the order otherwise, and not what was drawn."""
    own = Judged.models
    try:
        Judged.models = models  # type: ignore[method-assign]
        yield
    finally:
        Judged.models = own  # type: ignore[method-assign]


# --- what is kept, replayed and repeated


def test_a_judge_is_asked_once_with_a_cache_and_never_in_a_replay(
    run: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    models.answer_with(lambda _: said(0.9))
    suite = {"judge": {**CLAUDE, "jury": 3}, "compositions": [mocked(eval={"mcp_use": True})]}
    first = run(suite, cache=True)
    asked = len(models.questions)
    again = run(suite, cache=True)
    assert (asked, len(models.questions)) == (3, 3)
    assert [test.cached for test in (first.tests[1], again.tests[1])] == [False, True]
    assert (first.tests[1].tokens, again.tests[1].tokens) == (360, 0), "what is kept costs nothing"
    run(suite, record="judged")
    replayed = run(suite, replay="judged", key=False)
    assert len(models.questions) == 6
    assert [(test.verdict.value, test.cached) for test in replayed.tests] == [("pass", False)] * 2


def test_a_replay_costs_what_the_recorded_run_did(run: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    """docs/how-to/models.md, Cassettes."""
    models.answer_with(lambda _: said(0.9))
    suite = {"judge": CLAUDE, "compositions": [mocked(eval={"mcp_use": True})]}
    recorded, replayed = run(suite, record="judged"), run(suite, replay="judged", key=False)
    assert recorded.spending is not None
    assert recorded.spending == replayed.spending
    capped = run(suite, replay="judged", key=False, max_cost_usd=0.00001)
    assert (capped.exit_code, capped.spending) == (0, recorded.spending)
    assert "a replay asks no model, so `--max-cost` limits only scorers" in capped.warnings


@pytest.mark.parametrize("metric", ["mcp_use", "rubric"])
def test_a_metric_is_judged_by_the_judge_of_the_environment_alone(
    run: Callable[..., RunRecord], models: ModelEndpoint, metric: str
) -> None:
    """An endpoint of one's own has no default model, and `MCPTEST_JUDGE_MODEL` names one for judges."""
    models.answer_with(lambda _: said(0.9))
    own = {"OPENAI_BASE_URL": models.openai["OPENAI_BASE_URL"], "MCPTEST_JUDGE_MODEL": "llama"}
    suite = {"compositions": [mocked(eval={metric: "Is kind." if metric == "rubric" else True})]}
    record = run(suite, key=False, environ=own)
    assert [test.verdict for test in record.tests] == [Verdict.PASS, Verdict.PASS]


def test_each_repeat_of_a_test_is_judged_anew(run: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    models.answer_with(lambda _: said(0.9))
    suite = {"judge": CLAUDE, "compositions": [mocked(eval={"mcp_use": True}, expect=[])]}
    record = run(suite, repeat=3)
    assert len(models.questions) == 3
    assert not any(test.cached for test in record.tests)


@pytest.mark.parametrize("cache", [False, True])
def test_each_run_of_a_test_is_judged_anew(
    run: Callable[..., RunRecord], models: ModelEndpoint, tmp_path: Path, cache: bool
) -> None:
    """Evals, judged metrics and assertions alike, whoever runs beside whom; none of it says that it was cached."""
    row = {"target": "final_response", "matcher": {"llm-judge": KIND}}
    agent = {"name": "a", "prompt": "hi", "model": "local", "runs": 2, "expect": [row], "eval": {"mcp_use": True}}
    local = {"OPENAI_BASE_URL": models.openai["OPENAI_BASE_URL"]}
    graded = {"name": "e", "output": "x", "rubric": "Fine.", "runs": 2}
    suite = {"servers": {"s": ECHO}, "judge": CLAUDE, "agents": [agent], "evals": [graded]}
    (tmp_path / ".mcptest").mkdir()
    models.answer_with(lambda question: said(0.9) if question.model == "claude-test" else "hello")
    record = run(suite, cache=cache, environ=local)
    assert [test.verdict.value for test in record.tests] == ["pass"] * 6
    assert not any(test.cached for test in record.tests)
    assert len([question for question in models.questions if question.model == "claude-test"]) == 6
    assert record.spending is not None
    assert record.spending.tokens == 8 * 120


def test_what_judging_cost_in_attempts_that_failed_is_counted(
    run: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    models.answers(said(0.1), said(0.9))
    record = run({"servers": {"s": ECHO}, "judge": CLAUDE, "tools": [tool({"llm-judge": KIND}, retries=1)]})
    (test,) = record.tests
    assert (test.verdict, test.flaky, test.tokens) == (Verdict.PASS, True, 240)
    assert record.spending is not None
    assert record.spending.models[0]["calls"] == 2


def test_what_jurors_cost_before_a_cap_was_reached_is_told(
    run: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    """The first juror was paid, and the others were not asked."""
    models.answer_with(lambda _: DEAR)
    judge = {"judge": {**CLAUDE, "jury": 3}}
    for suite in (
        {**judge, "evals": [{"name": "e", "output": "x", "rubric": "Is kind."}]},
        {**judge, "servers": {"s": ECHO}, "tools": [tool({"llm-judge": KIND})]},
    ):
        models.questions.clear()
        record = run(suite, max_cost_usd=0.03)
        assert (len(models.questions), record.tests[0].tokens, record.exit_code) == (1, 4000, 5)
        assert record.tests[0].verdict in (Verdict.SKIP, Verdict.INCONCLUSIVE)
        assert "not run" not in str(record.tests[0].message), "a juror was asked"
        assert record.spending is not None
        assert record.spending.tokens == 4000


def test_an_assertion_that_a_cap_keeps_from_being_judged_is_no_pass(
    run: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    models.answer_with(lambda _: DEAR)
    tools = [{**tool({"llm-judge": KIND}, text=f"hello {number}"), "name": f"greets {number}"} for number in range(3)]
    record = run({"servers": {"s": ECHO}, "judge": CLAUDE, "tools": tools}, max_cost_usd=0.03)
    assert [test.verdict.value for test in record.tests].count("pass") == 1
    open_ = next(test for test in record.tests if test.verdict is Verdict.INCONCLUSIVE)
    assert str(open_.message).startswith(
        "not judged: --max-cost 0.03 USD has 0.01 USD left, and a call of `claude-test` may"
    )
    assert record.exit_code == 5


@pytest.mark.parametrize("workers", [1, 8])
def test_rows_that_there_is_no_money_to_judge_have_called_nothing(
    run: Callable[..., RunRecord], models: ModelEndpoint, tmp_path: Path, workers: int
) -> None:
    """The judge is reserved for before the call whose answer it is to grade."""
    models.answer_with(lambda _: DEAR)
    book = tmp_path / "book"
    bank = {"command": [sys.executable, "-S", str(SERVERS / "ledger.py"), str(book)]}
    call = {"prompt": "q", "rubric": "Is kind.", "serial": False, "call": {"tool": "transfer", "args": {"amount": 1}}}
    evals = [{"name": f"e{at}", **call} for at in range(5)]
    record = run({"servers": {"s": bank}, "judge": CLAUDE, "evals": evals}, max_cost_usd=0.05, workers=workers)
    assert [test.verdict.value for test in record.tests].count("pass") == len(models.questions) == 2
    assert len(json.loads(book.read_text())) == 2
    assert all(str(test.message).startswith("not run: ") for test in record.tests if test.verdict is Verdict.SKIP)
    assert record.exit_code == 5


def test_an_answer_that_is_too_long_to_be_judged_within_the_cap_is_not_graded(
    run: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    """It was called for, so it is not told as not run; nobody is asked."""
    call = {"tool": "echo", "args": {"text": "x" * 90_000}}
    suite = {"servers": {"s": ECHO}, "judge": CLAUDE, "evals": [{"name": "e", "rubric": "Is kind.", "call": call}]}
    (test,) = run(suite, max_cost_usd=0.04).tests
    assert (test.verdict, models.questions) == (Verdict.SKIP, [])
    assert str(test.message).startswith("not graded: --max-cost 0.04 USD has 0.04 USD left")


def test_jurors_are_paid_from_what_their_row_holds(run: Callable[..., RunRecord], models: ModelEndpoint) -> None:
    """Three jurors, both ways round, of rows that all want their money at once."""
    models.answer_with(lambda _: DEAR)
    evals = [
        {"name": f"e{at}", "rubric": f"Is kind {at}.", "call": {"tool": "echo", "args": {"text": "x"}}}
        for at in range(6)
    ]
    judge = {**CLAUDE, "jury": 3, "guarded": True}
    record = run({"servers": {"s": ECHO}, "judge": judge, "evals": evals}, max_cost_usd=0.45, workers=8)
    passed = [test for test in record.tests if test.verdict is Verdict.PASS]
    assert len(models.questions) == 6 * len(passed), "no row was begun that could not be judged to its end"
    assert len(passed) == 3
    assert record.spending is not None
    assert record.spending.cost_usd == 0.36


def test_a_conversation_that_there_is_no_money_to_grade_is_not_begun(
    run: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    models.answer_with(lambda _: "hello")
    dear = {"type": "exec", "command": ["echo", json.dumps({"verdict": "pass", "cost_usd": 1})]}
    evals = [{"name": f"e{at}", "prompt": f"hi {at}", "model": "claude-test", "rubric": "r"} for at in range(3)]
    suite = {"servers": {"s": ECHO}, "scorers": [{"name": "dear", **dear}], "evals": evals}
    record = run(suite, max_cost_usd=1.5, workers=1)
    assert [test.verdict.value for test in record.tests] == ["pass", "skip", "skip"]
    assert len(models.questions) == 1
    assert "a call of scorer `dear` may cost 1 USD" in str(record.tests[1].message)
    assert str(record.tests[1].message).startswith("not run: --max-cost 1.5 USD has ")


@pytest.mark.parametrize(
    ("entry", "options", "seconds"),
    [
        ({}, {}, 120.0),
        ({}, {"timeout_ms": 500}, 120.0),
        ({}, {"model_timeout_ms": 7000}, 7.0),
        ({"timeout_ms": 900}, {"model_timeout_ms": 7000}, 0.9),
    ],
)
def test_how_long_a_model_may_take_is_the_evals_then_the_suites_then_two_minutes(
    tmp_path: Path, entry: dict[str, Any], options: dict[str, Any], seconds: float
) -> None:
    """docs/how-to/models.md, When no answer comes. The time of a call of a tool is not a model's."""
    path = tmp_path / "mcptest.yml"
    metric = {"name": "m", "prompt": "hi", "timeout_ms": 3, "eval": {"mcp_use": True}}
    graded = {"name": "e", "output": "x", "rubric": "Fine.", **entry}
    suite = {"servers": {"s": ECHO}, "judge": CLAUDE, "evals": [graded], "agents": [metric], "run_options": options}
    path.write_text(json.dumps(suite))
    loaded = load_suite(path, LoadOptions(environ={}, workspace_root=tmp_path))
    cases = make_plan(loaded, RunSettings(environ={}), relative=str).cases
    times = {case.name: case.model_timeout_seconds for case in cases}
    of_suite = options.get("model_timeout_ms", 120_000) / 1000
    assert times == {"e": seconds, "m": of_suite, "m: mcp_use": of_suite}


def test_a_judge_that_takes_longer_than_the_eval_allows_gives_no_verdict(
    run: Callable[..., RunRecord], models: ModelEndpoint
) -> None:
    models.answer_with(lambda _: Reply(said(0.9), fault="hang"))
    graded = {"name": "e", "output": "x", "rubric": "Fine.", "timeout_ms": 300}
    (test,) = run({"servers": {"s": ECHO}, "judge": CLAUDE, "evals": [graded]}).tests
    assert (test.verdict, test.failure.kind if test.failure else None) == (Verdict.FAIL, FailureKind.SCORER)
    assert "did not finish its answer within 0.3s" in str(test.message)


def test_a_literal_output_comes_before_a_call_which_is_not_made(
    run: Callable[..., RunRecord], models: ModelEndpoint, tmp_path: Path
) -> None:
    """The literal, the call, the model, in this order."""
    models.answer_with(lambda _: said(0.9))
    book = tmp_path / "book"
    bank = {"command": [sys.executable, "-S", str(SERVERS / "ledger.py"), str(book)]}
    both = {"output": "kind words", "call": {"tool": "transfer", "args": {"amount": 1}}, "prompt": "q"}
    record = run({"servers": {"s": bank}, "judge": CLAUDE, "evals": [{"name": "e", "rubric": "Fine.", **both}]})
    (test,) = record.tests
    assert (test.verdict, test.judgement["output"] if test.judgement else None) == (Verdict.PASS, "kind words")
    assert not book.exists()


@pytest.mark.parametrize("seed", range(6))
def test_a_run_of_models_judges_and_scorers_spends_no_more_than_its_cap_and_one_scorer(
    run: Callable[..., RunRecord], models: ModelEndpoint, tmp_path: Path, seed: int
) -> None:
    """One budget for all of them: conversations, graded calls and literal answers at random costs, all at once."""
    chance = random.Random(seed)
    models.answer_with(lambda _: Reply(said(0.9), usage=(chance.randrange(1500), chance.randrange(4096))))
    (tmp_path / "pays.sh").write_text(PAYS)
    book = tmp_path / "book"
    bank = {"command": [sys.executable, "-S", str(SERVERS / "ledger.py"), str(book)]}
    call = {"call": {"server": "bank", "tool": "transfer", "args": {"amount": 1}}, "serial": False}
    answers: list[dict[str, Any]] = [{"output": "x"}, {"model": "claude-test"}, call]
    evals = [
        {
            "name": f"e{at}",
            "server": "s",
            "prompt": f"hi {at}",
            "rubric": f"Is kind {at}.",
            "metadata": {"cost": round(chance.uniform(0, 0.05), 4)},
            "scorers": chance.choice([[], ["pays"]]),
            **chance.choice(answers),
        }
        for at in range(40)
    ]
    agents = [{"name": f"a{at}", "server": "s", "prompt": f"go {at}", "model": "claude-other"} for at in range(8)]
    scorers = [{"name": "pays", "type": "exec", "command": ["sh", str(tmp_path / "pays.sh")]}]
    suite = {
        "servers": {"s": ECHO, "bank": bank},
        "judge": CLAUDE,
        "scorers": scorers,
        "evals": evals,
        "agents": agents,
    }
    cap = round(chance.uniform(0.06, 1.0), 3)
    record = run(suite, max_cost_usd=cap, workers=chance.choice([1, 8, 64]))
    assert record.spending is not None
    assert record.spending.cost_usd is not None
    log = tmp_path / "pays.sh.log"
    paid = [float(line) for line in log.read_text().split()] if log.exists() else []
    assert sum(paid) == pytest.approx(record.spending.scorers_usd)
    assert record.spending.cost_usd <= cap + max(paid, default=0)
    called = [test for test in record.tests if test.request is not None]
    assert len(called) == (len(json.loads(book.read_text())) if book.exists() else 0)
    assert not [test.name for test in called if str(test.message).startswith("not run")]
    assert len(models.questions) == sum(row["calls"] for row in record.spending.models)


PAYS = """read -r line
cost=${line#*\\"cost\\": }; cost=${cost%%\\}*}
echo "$cost" >> "$0.log"
printf '{"verdict": "pass", "cost_usd": %s}' "$cost"
"""
