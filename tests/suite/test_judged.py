"""What is graded, and by whom, as a suite says it. The messages about bad ones stand in tests/suites/bad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.targets import AGENT_GATES
from mcptest_engine.judging.agent_metrics import GATES as MEASURED
from mcptest_engine.judging.providers.setup import PROVIDERS
from mcptest_engine.suite.judged_checks import ANY_MODELS, KNOWN_MODELS
from mcptest_engine.suite.load import CheckedSuite, LoadOptions, check_suite, check_text
from mcptest_engine.suite.model.agents import AgentTest
from mcptest_tui.state.judged_rows import GATES as SHOWN

if TYPE_CHECKING:
    from pathlib import Path

SERVERS = 'servers: { api: { command: ["true"] } }\n'
EVAL = "evals: [{ name: a, output: hello, rubric: polite }]\n"


def checked(text: str, tmp_path: Path, environ: dict[str, str] | None = None) -> CheckedSuite:
    return check_text(
        text, LoadOptions(environ=environ or {}, workspace_root=tmp_path), name="s.yml", base_dir=tmp_path
    )


def test_who_grades_is_merged_by_name(tmp_path: Path) -> None:
    """A scorer is taken whole from the file that imports; a judge, prices and budgets go by key."""
    (tmp_path / "common.yml").write_text(
        "scorers:\n  - { name: a, type: exec, command: [old], timeout_ms: 5 }\n  - { name: b, type: exec, command: [b] }\n"
        "judge: { model: gpt-5, jury: 3 }\nbudget: { per_test_usd_cents: 1, per_suite_usd_cents: 2 }\n"
        "prices: { x: { input_usd_per_mtok: 1, output_usd_per_mtok: 1 } }\n"
        "evals: [{ name: imported, output: x, rubric: r }]\n"
    )
    (tmp_path / "s.yml").write_text(
        f"imports: [common.yml]\n{EVAL}scorers: [{{ name: a, type: exec, command: [new] }}]\n"
        "judge: { jury: 5 }\nbudget: { per_suite_usd_cents: 9 }\n"
        "prices: { y: { input_usd_per_mtok: 2, output_usd_per_mtok: 2 } }\n"
    )
    suite = check_suite(tmp_path / "s.yml", LoadOptions(environ={}, workspace_root=tmp_path)).suite
    assert suite is not None
    assert [(one["name"], one["command"], one.get("timeout_ms")) for one in suite.scorers] == [
        ("b", ["b"], None),
        ("a", ["new"], None),
    ]
    assert (suite.judge, suite.budget) == (
        {"model": "gpt-5", "jury": 5},
        {"per_test_usd_cents": 1, "per_suite_usd_cents": 9},
    )
    assert sorted(suite.prices) == ["x", "y"]
    assert [test.data["name"] for test in suite.tests] == ["imported", "a"]
    assert [one["name"] for one in suite.document["scorers"]] == ["b", "a"]


def test_a_scorer_s_environment_is_mcptest_s_and_text(tmp_path: Path) -> None:
    """External-scorers: `${VAR}` is the environment's. A number is the text that was written."""
    text = (
        SERVERS
        + EVAL
        + (
            "variables: { KEY: not this }\n"
            'scorers: [{ name: s, type: exec, command: ["${cmd}"], env: { A: "${KEY}", B: 1.50, C: true, D: "x-${KEY}" } }]\n'
        )
    )
    suite = checked(text.replace("not this }", "not this, cmd: run }"), tmp_path, {"KEY": "value"}).suite
    assert suite is not None
    assert suite.scorers[0]["env"] == {"A": "value", "B": "1.50", "C": "true", "D": "x-value"}
    assert suite.scorers[0]["command"] == ["run"]


def test_an_environment_that_lacks_what_a_scorer_needs_is_a_load_error(tmp_path: Path) -> None:
    """Placed at the value, with what to do; also for a scorer that this build cannot run."""
    scorer = '  - name: s\n    type: vendor\n    env:\n      BRAINTRUST_API_KEY: "${BRAINTRUST_API_KEY}"\n'
    text = f"{SERVERS}{EVAL}scorers:\n{scorer}"
    (problem,) = checked(text, tmp_path).errors
    assert str(problem) == (
        's.yml:7:27: environment variable "BRAINTRUST_API_KEY" is not set\n  at /scorers/0/env/BRAINTRUST_API_KEY\n'
        "  set it, or write it to `.env` beside the suite"
    )


def test_secrets_of_a_scorer_s_environment_are_registered(tmp_path: Path) -> None:
    """They never reach a record."""
    env = 'env: { API_KEY: own-secret-value, PLAIN: plain-value, OTHER: "${A_TOKEN}" }'
    text = f"{SERVERS}{EVAL}scorers: [{{ name: s, type: exec, command: [x], {env} }}]\n"
    suite = checked(text, tmp_path, {"A_TOKEN": "token-of-the-environment"}).suite
    assert suite is not None
    assert suite.secrets == {"own-secret-value", "token-of-the-environment"}
    assert "own-secret-value" not in repr(suite)


@pytest.mark.parametrize(
    "more",
    ["api_key: null", "command: 5", "env: [1, 2]", "timeout_ms: soon", "deep: { a: [{ b: null }] }", 'key: "${K}"'],
)
def test_a_scorer_of_another_build_may_hold_anything(tmp_path: Path, more: str) -> None:
    """It fails when it is to grade, not before."""
    found = checked(f"{SERVERS}{EVAL}scorers: [{{ name: s, type: braintrust, {more} }}]\n", tmp_path)
    assert found.suite is not None
    assert [problem.message for problem in found.problems] == [
        'scorer type "braintrust" is not available in this build, so everything that it grades fails'
    ]
    assert found.suite.scorers[0]["type"] == "braintrust"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (EVAL, 0),
        ("evals: [{ name: a, prompt: hi, rubric: polite }]", 0),
        ("evals: [{ name: a, call: { tool: t }, rubric: polite }]", 1),
        ("evals: [{ name: a, call: { tool: t, server: s }, rubric: polite }]", 1),
        ("evals: [{ name: a, output: hello, server: api, rubric: polite }]", 1),
        ("agents: [{ name: a, prompt: hi, expect: { max_cost_usd: 1 } }]", 1),
    ],
)
def test_a_suite_of_answers_needs_no_server_unless_one_is_named(tmp_path: Path, text: str, problems: int) -> None:
    assert len(checked(text, tmp_path).errors) == problems


@pytest.mark.parametrize(
    ("model", "environ", "warned"),
    [
        ("gpt-5", {}, False),
        ("claude-x", {}, False),
        ("o3-mini", {}, False),
        ("llama3:8b", {}, True),
        ("llama3:8b", {ANY_MODELS: "http://127.0.0.1:11434/v1"}, False),
        ("llama3:8b", {ANY_MODELS: "  "}, True),
    ],
)
def test_a_model_that_nobody_is_known_to_have_is_warned_of(
    tmp_path: Path, model: str, environ: dict[str, str], warned: bool
) -> None:
    """Once for each model; it is no error, since any endpoint may have it."""
    agent = f"{{ name: a, models: ['{model}'], prompt: hi, eval: {{ mcp_use: true }} }}"
    found = checked(f"{SERVERS}agents: [{agent}]\njudge: {{ model: '{model}' }}\n", tmp_path, environ)
    assert [problem.message for problem in found.problems] == [
        f'the provider of the model "{model}" is not known'
    ] * warned


def test_known_models_are_those_of_the_providers() -> None:
    """Two layers say it: one asks, the other warns."""
    assert KNOWN_MODELS.pattern.split("|") == [part for one in PROVIDERS for part in one.ids.pattern.split("|")]
    assert ANY_MODELS in {one.base for one in PROVIDERS}


def test_the_measures_of_an_agent_test_are_the_same_everywhere() -> None:
    assert tuple(MEASURED) == AGENT_GATES
    assert set(SHOWN) == set(AGENT_GATES)
    assert set(AGENT_GATES) <= AgentTest.model_fields.keys()


def test_templates_stand_in_what_is_graded(tmp_path: Path) -> None:
    """As in any test, with the type of what they stand for."""
    text = SERVERS + (
        "variables: { who: Ada, t: 0.5, data: { a: 1 }, m: gpt-5 }\n"
        'evals: [{ name: "greets ${who}", output: "${data}", rubric: "names ${who}", '
        'threshold: "${t}", metadata: "${data}" }]\n'
        'judge: { model: "${m}" }\nprices: { gpt-5: { input_usd_per_mtok: "${t}", output_usd_per_mtok: 1 } }\n'
    )
    suite = checked(text, tmp_path).suite
    assert suite is not None
    data: Any = suite.tests[0].data
    assert (data["name"], data["output"], data["rubric"], data["threshold"]) == (
        "greets Ada",
        {"a": 1},
        "names Ada",
        0.5,
    )
    assert (data["metadata"], suite.judge, suite.prices["gpt-5"]["input_usd_per_mtok"]) == (
        {"a": 1},
        {"model": "gpt-5"},
        0.5,
    )
