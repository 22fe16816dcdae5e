"""Which model is asked and who answers for it, by the environment; nobody is asked, and no SDK is imported for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcptest_engine.cli.main import main
from mcptest_engine.core.errors import NotInstalled
from mcptest_engine.judging.providers import setup
from mcptest_engine.judging.providers.checking import check_models
from mcptest_engine.judging.providers.model_calls import ModelCalls
from mcptest_engine.judging.providers.prices import LISTED_ON, PRICES
from mcptest_engine.judging.providers.setup import ANTHROPIC, OPENAI, Setup

CLAUDE_KEY, GPT_KEY = {"ANTHROPIC_API_KEY": "sk-ant-1"}, {"OPENAI_API_KEY": "sk-1"}
OWN = {"OPENAI_BASE_URL": "http://localhost:11434/v1"}


@pytest.mark.parametrize(
    ("model", "environ", "provider"),
    [
        ("claude-opus-5-5", CLAUDE_KEY, ANTHROPIC),
        ("claude-opus-5-5", GPT_KEY, None),
        ("claude-opus-5-5", OWN, OPENAI),
        ("claude-opus-5-5", {**OWN, **CLAUDE_KEY}, ANTHROPIC),
        ("gpt-5.4", GPT_KEY, OPENAI),
        ("chatgpt-4o-latest", GPT_KEY, OPENAI),
        ("o3-mini", GPT_KEY, OPENAI),
        ("omni", GPT_KEY, None),
        ("llama3:8b", {**GPT_KEY, **CLAUDE_KEY}, None),
        ("llama3:8b", OWN, OPENAI),
        ("", OWN, OPENAI),
        ("gpt-5.4", {"OPENAI_API_KEY": "  "}, None),
    ],
)
def test_a_model_goes_by_its_id_to_a_provider_that_is_set_up(model, environ, provider):
    found = Setup(environ).endpoint_for(model)
    assert (None if found is None else found.provider) is provider


def test_the_docs_name_the_day_of_the_price_list_and_the_default_models():
    """docs/how-to/models.md: an old list is no lie as long as it says how old it is."""
    told = (Path(__file__).parents[2] / "docs" / "how-to" / "models.md").read_text(encoding="utf-8")
    assert f"as of {LISTED_ON}" in told
    assert f"`{ANTHROPIC.default}` or `{OPENAI.default}`" in told
    assert {ANTHROPIC.default, OPENAI.default} <= set(PRICES)


@pytest.mark.parametrize(
    ("model", "environ", "words"),
    [
        (None, {}, "no model provider: set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENAI_BASE_URL"),
        (None, OWN, "no model provider: OPENAI_BASE_URL is set, but no model is named; set MCPTEST_MODEL"),
        (
            "claude-opus-5-5",
            {},
            "no model provider: ANTHROPIC_API_KEY is not set, which `claude-opus-5-5` needs (or OPENAI_BASE_URL)",
        ),
        (
            "gpt-5.4",
            CLAUDE_KEY,
            "no model provider: OPENAI_API_KEY is not set, which `gpt-5.4` needs (or OPENAI_BASE_URL)",
        ),
        (
            "llama3",
            CLAUDE_KEY,
            "`llama3` is not a model of a known provider; set OPENAI_BASE_URL to an endpoint that has it",
        ),
        ("llama3", OWN, None),
        (None, CLAUDE_KEY, None),
        ("claude-opus-5-5", CLAUDE_KEY, None),
    ],
)
def test_what_is_missing_is_told_in_words(model, environ, words):
    told = ModelCalls(None, environ).missing(model)
    assert (told is None) == (words is None)
    assert (words or "") in (told or "")


def test_a_package_that_is_not_installed_is_an_error_and_defers_nothing(monkeypatch):
    monkeypatch.setattr(setup, "find_spec", lambda _: None)
    with pytest.raises(NotInstalled) as wrong:
        ModelCalls(None, CLAUDE_KEY).missing("claude-opus-5-5")
    assert wrong.value.message == "`claude-opus-5-5` needs the package `anthropic`, which is not installed"
    assert wrong.value.hint == "pip install anthropic openai"
    told = ModelCalls(None, {}).missing("claude-opus-5-5")
    assert told is not None
    assert told.startswith("no model provider: ANTHROPIC_API_KEY is not set")


JUDGED = "expect: [{ target: result, matcher: { llm-judge: { rubric: is it fine } } }]"
FOUND = "expect: [{ target: tool_calls, matcher: { exists: true } }]"


@pytest.mark.parametrize(
    ("command", "tests", "code"),
    [
        ("eval", "evals: [{ name: e, output: fine, rubric: is it fine }]", 3),
        ("run", f"agents: [{{ name: a, server: s, prompt: go, {FOUND} }}]", 3),
        ("run", f"tools: [{{ name: t, server: s, tool: get_weather, args: {{ city: Oslo }}, {JUDGED} }}]", 1),
    ],
    ids=["eval", "agent", "matcher"],
)
def test_a_key_without_its_package_never_gives_a_green_run(command, tests, code, tmp_path, monkeypatch, capfd):
    """With a key somebody wants the model asked: a run that leaves it out would look like one that passed."""
    monkeypatch.setattr(setup, "find_spec", lambda _: None)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.chdir(tmp_path)
    Path("mcptest.yml").write_text(f"servers: {{ s: {{ command: [mcptest, mock, --preset, demo] }} }}\n{tests}\n")
    assert main([command]) == code
    told = capfd.readouterr()
    assert "needs the package `openai`, which is not installed" in told.err + told.out
    assert "pip install anthropic openai" in told.err + told.out


@pytest.mark.parametrize(
    ("environ", "test", "judge"),
    [
        ({}, None, None),
        (CLAUDE_KEY, ANTHROPIC.default, ANTHROPIC.default),
        (GPT_KEY, OPENAI.default, OPENAI.default),
        ({**GPT_KEY, **CLAUDE_KEY}, ANTHROPIC.default, ANTHROPIC.default),
        (OWN, None, None),
        ({**OWN, **GPT_KEY}, None, None),
        ({**OWN, "MCPTEST_MODEL": "llama3"}, "llama3", "llama3"),
        ({**CLAUDE_KEY, "MCPTEST_JUDGE_MODEL": "claude-haiku-4-5"}, ANTHROPIC.default, "claude-haiku-4-5"),
        ({"MCPTEST_MODEL": "a", "MCPTEST_JUDGE_MODEL": "b"}, "a", "b"),
    ],
)
def test_a_model_that_no_test_names_is_the_environments_or_the_default_of_a_provider(environ, test, judge):
    models = ModelCalls(None, environ)
    assert (models.chosen(None, judging=False), models.chosen(None, judging=True)) == (test, judge)
    assert models.chosen("gpt-4o", judging=True) == "gpt-4o"


def test_asking_what_is_missing_imports_no_sdk():
    program = (
        "import sys; from mcptest_engine.judging.providers.model_calls import ModelCalls;"
        "m = ModelCalls(None, {'ANTHROPIC_API_KEY': 'k', 'OPENAI_API_KEY': 'k'}); m.missing(None), m.missing('gpt-5.4');"
        "print(sorted({'anthropic', 'openai', 'httpx2', 'pydantic'} & {*sys.modules}))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout.strip() == "[]"


def told_by_doctor(environ):
    found: list[Any] = []
    check_models(found.append, environ)
    return [(check.name, str(check.status), check.detail) for check in found]


def test_doctor_tells_which_providers_are_set_up_without_a_key_in_it():
    clear = {
        "OPENAI_BASE_URL": "http://10.0.0.7/v1",
        "OPENAI_API_KEY": "sk-secret",
        "MCPTEST_JUDGE_MODEL": "claude-opus-5-5",
    }
    assert told_by_doctor({}) == [
        ("Anthropic", "skipped", "ANTHROPIC_API_KEY is not set; tests that need its models are deferred"),
        ("OpenAI", "skipped", "OPENAI_API_KEY is not set; tests that need its models are deferred"),
    ]
    assert told_by_doctor({**clear, "ANTHROPIC_API_KEY": "sk-ant-secret"}) == [
        ("Anthropic", "ok", f"ANTHROPIC_API_KEY is set; `{ANTHROPIC.default}` where no model is named"),
        (
            "OpenAI",
            "warning",
            "OPENAI_API_KEY is not sent to http://10.0.0.7/v1: keys go only to https or to this machine",
        ),
        ("judge", "ok", "`claude-opus-5-5`, by MCPTEST_JUDGE_MODEL"),
    ]
    assert told_by_doctor({**OWN, "MCPTEST_MODEL": "gpt-5.4"})[1:] == [
        ("OpenAI", "ok", "no OPENAI_API_KEY, OPENAI_BASE_URL is http://localhost:11434/v1"),
        ("model", "ok", "`gpt-5.4`, by MCPTEST_MODEL"),
    ]
    assert told_by_doctor({"MCPTEST_MODEL": "gpt-5.4"})[2][1:] == (
        "warning",
        "no model provider: OPENAI_API_KEY is not set, which `gpt-5.4` needs (or OPENAI_BASE_URL), by MCPTEST_MODEL",
    )


def test_the_endpoint_for_tests_tells_how_it_is_used() -> None:
    """By hand it is started as often as by a test."""
    command = [sys.executable, "-m", "tests.servers.model_endpoint"]
    helped = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    assert "usage: python -m tests.servers.model_endpoint" in helped.stdout
    bad = subprocess.run([*command, "no-such-file.json"], capture_output=True, text=True, check=False)
    assert (bad.returncode, "Traceback" in bad.stderr) == (2, False)
