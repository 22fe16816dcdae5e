"""Agents, evals and judged metrics before they run: which rows there are, what they are called, and which are chosen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.enums import TestKind
from mcptest_engine.running.declared_tests import Shared, all_declared_tests
from mcptest_engine.running.documents import document_of
from mcptest_engine.running.kinds.agent.plan import AgentProgram
from mcptest_engine.running.kinds.eval.plan import EvalRow, Judge, MetricRow
from mcptest_engine.running.launch import needed_servers, open_pool
from mcptest_engine.running.plan import make_plan
from mcptest_engine.running.settings import RunSettings, Selection
from mcptest_engine.suite.load import LoadOptions, check_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest_engine.running.cases import Plan
    from mcptest_engine.suite.load import LoadedSuite

    Load = Callable[..., LoadedSuite]

SERVERS = 'servers: { s: { command: ["true"] }, other: { command: ["true"], serial: true } }\n'
SUITE = (
    SERVERS
    + """\
tools: [{ name: plain, tool: search, server: s }]
judge: { model: gpt-5, jury: 3 }
budget: { per_test_usd_cents: 5 }
agents:
  - name: finds it
    server: s
    models: [gpt-5, claude-x, gpt-5]
    runs: 2
    prompt: Find it.
    max_turns: 3
    budget: { per_test_usd_cents: 50 }
    derivedMetrics: [{ name: m, value: { weighted_average: [{ ref: a }] } }]
    threshold: 0.5
    expect: [{ name: a, target: tool_names, matcher: { contains: search } }]
    trajectory: { calls: [search] }
    eval: { mcp_use: { threshold: 0.6, judge: { jury: 5 } }, rubric: It is found. }
evals:
  - { name: literal, output: { a: 1 }, rubric: good, tags: [quick] }
  - { name: called, call: { tool: delete_all, server: s }, scorers: [one] }
  - { name: asked, server: s, prompt: hi, runs: 2, rubric: good, scorers: [], threshold: 0.9, judge: { model: o3 } }
scorers:
  - { name: one, type: exec, command: [grade], env: { N: 1.50 }, cwd: sub, timeout_ms: 5 }
  - { name: two, type: vendor, command: 7 }
"""
)
RUNS = [f"finds it [{model}] #{run}" for model in ("gpt-5", "claude-x") for run in (1, 2)]
METRICS = [f"{name}{metric}" for name in RUNS for metric in ("", ": mcp_use", ": rubric")]
EVALS = ["literal (one)", "literal (two)", "called", "asked #1", "asked #2"]


def planned(suite: LoadedSuite, *, repeat: int = 1, models: Sequence[str] = (), **more: Any) -> Plan:
    settings = RunSettings(selection=Selection(**more), repeat=repeat, models=tuple(models))
    return make_plan(suite, settings, relative=lambda path: path.name)


def chosen(suite: LoadedSuite, **more: Any) -> list[str]:
    return [case.name for case in planned(suite, **more).cases]


def test_a_suite_falls_into_rows_of_models_runs_graders_and_metrics(suite_of: Load) -> None:
    """One row per eval and scorer, a judge's where there is none."""
    assert chosen(suite_of(SUITE)) == ["plain", *METRICS, *EVALS]


def test_an_agent_test_holds_what_its_conversation_needs(suite_of: Load) -> None:
    """Its own budget is over the suite's, and each run is told apart."""
    cases = [case for case in planned(suite_of(SUITE)).cases if case.kind is TestKind.AGENT]
    programs = [case.body for case in cases if isinstance(case.body, AgentProgram)]
    assert len(programs) == len(cases)
    assert [(one.model, one.variant) for one in programs] == [
        *(("gpt-5", "1"), ("gpt-5", "2"), ("claude-x", "1"), ("claude-x", "2")),
    ]
    first = programs[0]
    assert (first.prompt, first.servers, first.max_turns, first.budget_usd) == ("Find it.", ("s",), 3, 0.5)
    assert (first.gates, first.trials) == ({"trajectory": {"calls": ["search"]}}, None)
    assert [(case.threshold, [metric["name"] for metric in case.metrics]) for case in cases] == [(0.5, ["m"])] * 4


def test_judged_metrics_name_their_subject_and_their_judge(suite_of: Load) -> None:
    """A metric's own judge is over the suite's; what it leaves out is the suite's. A test's assertions are not its metrics'."""
    cases = planned(suite_of(SUITE)).cases
    subject, use, rubric = cases[1:4]
    assert isinstance(use.body, MetricRow) and isinstance(rubric.body, MetricRow)
    assert use.subject == rubric.subject == subject.id
    assert (use.body.threshold, use.body.judge) == (0.6, Judge("gpt-5", 5))
    assert (rubric.body.written, rubric.body.judge) == ("It is found.", Judge("gpt-5", 3))
    assert [(case.kind, case.threshold, case.metrics, list(case.servers)) for case in (use, rubric)] == [
        (TestKind.EVAL, None, (), [])
    ] * 2


def test_rows_of_an_eval_share_its_answer(suite_of: Load) -> None:
    """What is no text is graded as its JSON text; a call of a tool that changes something runs alone."""
    rows = {case.name: case for case in planned(suite_of(SUITE)).cases if isinstance(case.body, EvalRow)}
    first, second, called, asked = (
        rows[name].body for name in ("literal (one)", "literal (two)", "called", "asked #2")
    )
    assert isinstance(first, EvalRow) and isinstance(second, EvalRow)
    assert isinstance(called, EvalRow) and isinstance(asked, EvalRow)
    assert first.candidate == second.candidate
    assert (first.candidate.output, list(first.candidate.servers)) == ('{"a": 1}', [])
    assert called.candidate.call == {"server": "s", "tool": "delete_all", "args": {}}
    assert [name for name, case in rows.items() if case.serial] == ["called"]
    assert asked.candidate.agent is not None
    assert (asked.candidate.agent.servers, asked.candidate.agent.variant, asked.candidate.agent.budget_usd) == (
        ("s",),
        "2",
        0.05,
    )
    assert (asked.scorer, asked.judge, asked.threshold) == (None, Judge("o3", 3), 0.9)
    assert {name: case.scorer for name, case in rows.items()} == dict(
        zip(EVALS, ("one", "two", "one", "judge", "judge"), strict=True)
    )


def test_a_scorer_is_as_declared_and_one_of_another_build_no_more_than_its_name(suite_of: Load) -> None:
    """External-scorers: an unknown type may hold anything. Values of `env` are the text that was written."""
    one, two = (case.body for case in planned(suite_of(SUITE), filter="literal (").cases)
    assert isinstance(one, EvalRow) and one.scorer is not None and isinstance(two, EvalRow) and two.scorer is not None
    assert (one.scorer.command, one.scorer.env, one.scorer.timeout_ms) == (("grade",), {"N": "1.50"}, 5)
    assert one.scorer.cwd == str(Path("sub").absolute())
    assert two.scorer._replace(name="", type="") == one.scorer._replace(
        name="", type="", command=(), env={}, cwd=None, timeout_ms=30_000
    )


def test_models_of_the_command_line_take_the_place_of_those_of_the_suite(suite_of: Load) -> None:
    """`--models a,b`; names tell the model even of one. Answers that are no model's stay as they are."""
    suite = suite_of(SUITE)
    assert chosen(suite, models=["o3"], filter="finds") == [
        f"finds it [o3] #{run}{metric}" for run in (1, 2) for metric in ("", ": mcp_use", ": rubric")
    ]
    assert chosen(suite, models=["a", "b"])[-7:] == [
        *EVALS[:3],
        *(f"asked [{m}] #{run}" for m in "ab" for run in (1, 2)),
    ]


def test_trials_are_one_row(suite_of: Load) -> None:
    """A test that is run once stays binary."""
    options = "run_options: { inconclusive: { on: true, confidence_pct: 90 } }"
    once = "  - { name: once, server: s, prompt: hi }"
    text = SUITE.replace("agents:", f"{options}\nagents:\n{once}")
    plan = planned(suite_of(text))
    agents = [(case.name, case.body.trials) for case in plan.cases if isinstance(case.body, AgentProgram)]
    assert agents == [("once", None), ("finds it [gpt-5]", (2, 5, 90)), ("finds it [claude-x]", (2, 5, 90))]


def test_what_is_judged_is_selected_with_what_it_is_judged_of(suite_of: Load) -> None:
    """`mcptest eval`; a metric cannot be judged without its subject."""
    expect = "[{ target: result, matcher: { not: { llm-judge: { rubric: rude } } } }]"
    polite = f"{{ name: polite, tool: a, server: s, expect: {expect} }}"
    suite = suite_of(SUITE.replace("tool: search, server: s }]", f"tool: search, server: s }}, {polite}]"))
    assert chosen(suite, judged=True) == ["polite", *METRICS, *EVALS]
    metric = f"{RUNS[1]}: mcp_use"
    assert chosen(suite, filter=metric) == [RUNS[1], metric]
    assert chosen(suite, filter=RUNS[1]) == [RUNS[1]]
    of_one = [RUNS[1], metric, f"{RUNS[1]}: rubric"]
    assert chosen(suite, filter=RUNS[1], judged=True) == of_one, "its whole name takes what is judged of it"
    assert chosen(suite, ids=frozenset({f"mcptest.yml::eval::{metric}"})) == [RUNS[1], metric]
    assert chosen(suite, servers=frozenset({"s"})) == ["plain", "polite", *METRICS, *EVALS[2:]]


@pytest.mark.parametrize("dealt", [False, True])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_a_shard_keeps_a_metric_with_its_subject_and_an_answer_with_its_graders(
    suite_of: Load, count: int, dealt: bool
) -> None:
    """Otherwise a model would be asked in each of the shards."""
    suite = suite_of(SUITE)
    shards = [planned(suite, shard=(number, count), dealt=dealt).cases for number in range(1, count + 1)]
    assert sorted(case.name for shard in shards for case in shard) == sorted(chosen(suite))
    for shard in shards:
        ids = {case.id for case in shard}
        assert all(case.subject in ids for case in shard if case.subject is not None)
        assert all(case.body.candidate.key in ids for case in shard if isinstance(case.body, EvalRow))


@pytest.mark.parametrize("repeat", [1, 3])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_a_shard_knows_where_each_of_its_cases_stands_in_the_whole_run(suite_of: Load, count: int, repeat: int) -> None:
    """Rows of one test have one line, and a run that is repeated begins at the first line again."""
    suite = suite_of(SUITE)
    whole = planned(suite, repeat=repeat)
    shards = [planned(suite, shard=(number, count), repeat=repeat) for number in range(1, count + 1)]
    told = {place: case.id for shard in shards for place, case in zip(shard.places, shard.cases, strict=True)}
    assert [told[place] for place in sorted(told)] == [case.id for case in whole.cases]
    assert whole.places == ()


def test_repeats_ask_anew_and_refer_to_each_other(suite_of: Load) -> None:
    """The first repeat is what a run without repeats is, so that an answer which was kept serves it."""
    plan = planned(suite_of(SUITE), repeat=2)
    ids = [case.id for case in plan.cases]
    assert len(set(ids)) == len(ids)
    for place, case in enumerate(plan.cases):
        assert case.subject is None or case.subject in ids[:place]
    assert [case.body.variant for case in plan.cases if isinstance(case.body, AgentProgram)] == [
        "1",
        "2",
        "1",
        "2",
        "1#2",
        "2#2",
        "1#2",
        "2#2",
    ]
    keys = {case.body.candidate.key for case in plan.cases if isinstance(case.body, EvalRow)}
    assert len(keys) == 8


def test_namesakes_keep_answers_of_their_own(suite_of: Load) -> None:
    """An eval of one run may be called as the run of another is."""
    text = SERVERS + "evals: [{ name: a, output: x, runs: 2, rubric: r }, { name: 'a #2', output: y, rubric: r }]"
    rows = [case.body for case in planned(suite_of(text)).cases]
    candidates = [row.candidate for row in rows if isinstance(row, EvalRow)]
    assert [one.output for one in candidates] == ["x", "x", "y"]
    assert len({one.key for one in candidates}) == 3


def test_a_test_called_as_a_repeat_of_another_has_an_id_of_its_own(suite_of: Load) -> None:
    """Whichever comes first, as one id would hide one of the two."""
    for names in (("a", "a", "a #2"), ("a #2", "a", "a")):
        agents = ", ".join(f"{{ name: '{name}', server: s, prompt: hi }}" for name in names)
        ids = [case.id for case in planned(suite_of(f"{SERVERS}agents: [{agents}]")).cases]
        assert len(set(ids)) == 3, ids


def test_a_server_that_is_serial_makes_its_agents_serial(suite_of: Load) -> None:
    text = SERVERS + "agents: [{ name: a, servers: [s, other], prompt: hi }, { name: b, server: s, prompt: hi }]"
    assert [case.serial for case in planned(suite_of(text)).cases] == [True, False]


@pytest.mark.parametrize(
    ("environ", "servers"),
    [
        ({}, ()),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, ("s",)),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "MCPTEST_MODEL": "m"}, ("s", "other")),
    ],
)
def test_no_server_is_started_for_what_will_be_deferred(
    suite_of: Load, environ: dict[str, str], servers: tuple[str, ...]
) -> None:
    """The environment says so, and no SDK is imported for it."""
    pytest.importorskip("openai")
    text = SERVERS + "agents: [{ name: a, server: s, model: m, prompt: hi }, { name: b, server: other, prompt: hi }]"
    suite, settings = suite_of(text), RunSettings(environ=environ)
    assert needed_servers(suite, settings, open_pool(suite, settings)) == servers


@pytest.mark.parametrize(
    ("more", "environ", "servers"),
    [
        ("", {}, ()),
        ("judge: { model: m }", {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, ("other",)),
        ("scorers: [{ name: one, type: exec, command: [grade] }]", {}, ("other",)),
    ],
)
def test_a_call_needs_its_server_where_somebody_can_grade_it(
    suite_of: Load, more: str, environ: dict[str, str], servers: tuple[str, ...]
) -> None:
    pytest.importorskip("openai")
    evals = "evals: [{ name: a, call: { tool: t, server: other }, rubric: r }, { name: b, output: x, rubric: r }]\n"
    suite, settings = suite_of(SERVERS + evals + more), RunSettings(environ=environ)
    assert needed_servers(suite, settings, open_pool(suite, settings)) == servers


def test_the_workbench_lists_the_rows_that_a_run_has(tmp_path: Path) -> None:
    """Before any run, with the ids of the run; also of a suite that is not sound."""
    path = tmp_path / "mcptest.yml"
    path.write_text(SUITE, encoding="utf-8")
    document = document_of(path, start_dir=tmp_path, environ={})
    assert document.sound
    assert [test.name for test in document.tests] == ["plain", *METRICS, *EVALS]
    assert len({test.id for test in document.tests}) == len(document.tests)
    broken = document_of(path, SUITE.replace("rubric: It is found.", "rubric: 7"), start_dir=tmp_path, environ={})
    assert (broken.sound, [test.id for test in broken.tests]) == (False, [test.id for test in document.tests])


def test_a_changed_grader_changes_the_tests_that_it_grades(tmp_path: Path) -> None:
    """So that watching the affected ones finds them: a scorer's file, its declaration, the suite's judge."""
    (tmp_path / "grade.py").write_text("1", encoding="utf-8")
    text = SUITE.replace("command: [grade]", "command: [python3, grade.py]").replace("cwd: sub, ", "")

    def digests(text: str) -> dict[str, str]:
        document = document_of(tmp_path / "s.yml", text, start_dir=tmp_path, environ={})
        assert document.sound, document.diagnostics
        assert document.scorer_files == (str(tmp_path / "grade.py"),)
        return {test.name: test.digest for test in document.tests}

    before = digests(text)
    changed = {name for name, digest in digests(text.replace("jury: 3", "jury: 1")).items() if digest != before[name]}
    assert changed == {*METRICS, *EVALS}
    (tmp_path / "grade.py").write_text("22", encoding="utf-8")
    assert {name for name, digest in digests(text).items() if digest != before[name]} == set(EVALS[:3])


_NAMES = st.sampled_from(["a", "b", "a #2", "b [m]"])
_AGENT = st.fixed_dictionaries(
    {"name": _NAMES, "prompt": st.just("hi")},
    optional={
        "models": st.lists(st.sampled_from(["gpt-5", "o3", "m"]), min_size=1, max_size=3),
        "runs": st.integers(0, 3),
        "eval": st.just({"mcp_use": True, "plan_quality": {"threshold": 0.5}}),
        "skip": st.booleans(),
    },
)
_EVAL = st.fixed_dictionaries(
    {"prompt": st.just("hi"), "rubric": st.just("good")},
    optional={
        "output": st.just("x"),
        "runs": st.integers(0, 3),
        "models": st.lists(st.sampled_from(["gpt-5", "o3"]), min_size=1, max_size=2),
        "scorers": st.lists(st.sampled_from(["one", "two"]), max_size=2),
    },
)


@given(
    agents=st.lists(_AGENT, max_size=3),
    evals=st.lists(_EVAL, max_size=3),
    scorers=st.sampled_from([[], ["one"], ["one", "two"]]),
    together=st.booleans(),
    models=st.lists(st.sampled_from(["gpt-5", "zulu"]), max_size=2),
)
def test_names_foretell_the_plan(
    agents: list[dict[str, Any]],
    evals: list[dict[str, Any]],
    scorers: list[str],
    together: bool,
    models: list[str],
) -> None:
    """Whoever shows a suite lists the tests that a run has; ids are never given twice, and metrics follow their subjects."""
    named = [
        {**one, "name": f"e{number}", "scorers": [name for name in one.get("scorers", scorers) if name in scorers]}
        for number, one in enumerate(evals)
    ]
    text = json.dumps(
        {
            "servers": {"s": {"command": ["true"]}},
            "agents": agents,
            "evals": named,
            "scorers": [{"name": name, "type": "exec", "command": ["x"]} for name in scorers],
            "run_options": {"inconclusive": {"on": together}},
        }
    )
    nowhere = Path("/nowhere")
    checked = check_text(text, LoadOptions(environ={}, workspace_root=nowhere), name="s.yml", base_dir=nowhere)
    assert checked.suite is not None, checked.problems
    plan = planned(checked.suite, models=models)
    shared = Shared.of(checked.suite, models)
    told = [
        (test.kind, test.name)
        for entry in checked.suite.tests
        for test in all_declared_tests(entry.kind, entry.data, entry.data["name"], shared)
    ]
    assert [(case.kind, case.name) for case in plan.cases] == told
    ids = [case.id for case in plan.cases]
    assert len(set(ids)) == len(ids)
    assert all(case.subject in ids[:at] for at, case in enumerate(plan.cases) if case.subject is not None)
