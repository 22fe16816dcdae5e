"""No command gives out a value of the environment, whatever a server does with what it was given."""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from typing import TYPE_CHECKING

import pytest

from tests.leaks.canaries import ALL, DECLARED, UNDECLARED, files_with, found_in
from tests.leaks.conftest import REFLECTING
from tests.servers.model_endpoint import Reply, Use
from tests.viewer.kept import viewing

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.servers.model_endpoint import ModelEndpoint, Question

    Run = Callable[..., subprocess.CompletedProcess[str]]

COMMAND = f"{sys.executable} {REFLECTING}"
SUITE = """\
variables:
  region: { from_env: SHOP_REGION }
  database: { from_env: DATABASE_URL }
servers:
  local:
    command: [PYTHON, REFLECTING]
    env: { MCP_TK: "${MCP_TK}", API_TOKEN: "${API_TOKEN}", DB: "${DATABASE_URL}", W: "${PLAINWORD}", R: "${SHOP_REGION}" }
  remote:
    url: URL
    auth: { bearer_token_env: MCP_TK }
    headers: { X-Word: { env: PLAINWORD }, X-Token: { env: API_TOKEN } }
scorers:
  - name: reflecting
    type: exec
    command: [env, -u, MYSTERY, PYTHON, REFLECTING, scorer]  # it is given all, and of that secrets are known by their names
    env: { API_TOKEN: "${API_TOKEN}", PLAINWORD: "${PLAINWORD}" }
evals:
  - name: graded
    server: local
    call: { tool: echo, args: { q: "${database}" } }
    scorers: [reflecting]
  - { name: "graded as it is written", prompt: "${region}", output: "${env.PLAINWORD}", scorers: [reflecting] }
tools:
  - name: it echoes
    server: local
    tool: echo
    args: { q: "${region}", "database": "${database}" }
    expect: [{ target: "result.content[0].text", matcher: { contains: "nothing like it" } }]
  - name: it fails
    server: local
    tool: fail
    args: { q: "${env.PLAINWORD}" }
  - name: it echoes what it was sent
    server: remote
    tool: echo
    args: { q: "${database}" }
    expect: [{ target: "result.structuredContent", matcher: { schema: { type: string } } }]
  - name: it fails there
    server: remote
    tool: fail
    args: { q: x }
    expect: [{ target: "error.message", matcher: { regex: "^none$" } }]
  - name: a snapshot of it
    server: remote
    tool: echo
    args: { q: x }
    expect: [{ target: "result.content", matcher: { snapshot: {} } }]
"""


def assert_nothing_leaks(process: subprocess.CompletedProcess[str], folder: Path, log: Path) -> None:
    assert "Traceback" not in process.stderr, process.stderr
    assert found_in(process.stdout) == [], process.stdout
    assert found_in(process.stderr) == [], process.stderr
    assert files_with(folder) == []
    assert found_in(log.read_text(), UNDECLARED) == []


LOOKING = [
    ("tools",),
    ("tools", "--format", "json"),
    ("resources",),
    ("resources", "--format", "json"),
    ("prompts",),
    ("prompts", "--format", "json"),
    ("capabilities",),
    ("capabilities", "--format", "json"),
    ("call", "echo", "--args", '{"q": "x"}'),
    ("call", "echo", "--args", '{"q": "x"}', "--format", "json"),
    ("call", "fail"),
    ("call", "fail", "--format", "json"),
    ("generate", "suite"),
    ("generate", "suite", "--probe", "--format", "json"),
    ("generate", "suite", "--output", "made.yml"),
    ("generate", "conformance"),
    ("generate", "redteam"),
    ("generate", "eval", "--format", "json"),
    ("propose", "echo", "--args", '{"q": "x"}'),
    ("init", "--no-run", "--ci", "github"),
    ("init", "--yes"),
    ("security",),
    ("security", "--format", "json"),
    ("security", "--format", "sarif"),
    ("doctor",),
    ("doctor", "--format", "json"),
]


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_command_that_looks_at_a_server_shows_no_secret_that_it_sends(
    mcptest: Run, words: tuple[str, ...], transport: str, listener: tuple[str, Path], tmp_path: Path
) -> None:
    url, log = listener
    if transport == "http":
        target = ("--url", url, "--bearer-token-env", "MCP_TK")
    else:
        target = ("--command", COMMAND, "--env", f"API_TOKEN={DECLARED['API_TOKEN']}")
    made = mcptest(*words, *target, **ALL)
    assert made.returncode in {0, 1, 5, 6}, made.stderr
    assert_nothing_leaks(made, tmp_path, log)


def write_suite(folder: Path, url: str) -> None:
    text = SUITE.replace("PYTHON", sys.executable).replace("REFLECTING", str(REFLECTING)).replace("URL\n", f"{url}\n")
    (folder / "mcptest.yml").write_text(text)


REPORTERS = (
    *("pretty", "minimal", "json", "ndjson", "junit", "tap", "md"),
    *("html", "github", "sarif", "gitlab", "openinference", "agent"),
)


def test_a_run_and_all_that_is_made_of_it_holds_no_value_of_the_environment(
    mcptest: Run, listener: tuple[str, Path], tmp_path: Path
) -> None:
    url, log = listener
    write_suite(tmp_path, url)
    reporters = [word for form in REPORTERS for word in ("--reporter", f"{form}=out.{form}")]
    ran = mcptest("run", "--record", "tape", *reporters, **ALL)
    assert ran.returncode == 1, ran.stderr
    assert_nothing_leaks(ran, tmp_path, log)
    assert set(DECLARED) >= set(found_in(log.read_text())) >= {"MCP_TK", "PLAINWORD", "API_TOKEN", "DATABASE_URL"}
    for words in (
        *(("report", "--format", form) for form in REPORTERS),
        ("run", "--replay", "tape"),
        ("run", "--cache"),
        ("run", "--last-failed", "--reporter", "agent"),
        ("list", "--format", "json"),
        ("list",),
        ("validate",),
        ("coverage",),
        ("coverage", "--format", "json"),
        ("evidence", "latest"),
        ("diff-runs", "latest~1", "latest"),
        ("security", "--server", "local"),
        ("tools", "--server", "remote", "--format", "json"),
        ("call", "echo", "--server", "local"),
        ("capabilities", "--server", "local"),
        ("generate", "suite", "--server", "local"),
        ("propose", "echo", "--server", "local", "--args", '{"q": "x"}'),
        ("doctor",),
        ("doctor", "--server", "local"),
        ("cache",),
        ("eval", "--explain"),
        ("eval",),
        ("eval", "--cache", "--reporter", "json"),
        ("eval", "--cache", "--reporter", "html=graded.html"),
        ("run", "--update-snapshots"),
        ("propose", "echo", "--server", "local", "--args", '{"q": "x"}', "--write", "mcptest.yml", "--single-call"),
        ("propose", "echo", "--server", "local", "--args", '{"q": "x"}', "--write", "mcptest.yml"),
        ("review", "--diff"),
        ("review", "--accept-all", "--loosening"),
        ("review", "--undo"),
        ("review", "--reject-all"),
    ):
        made = mcptest(*words, **ALL)
        assert made.returncode != 2 or words[0] == "validate", (words, made.stderr)
        assert_nothing_leaks(made, tmp_path, log)
    served = mcptest("call", "echo", "--command", "mcptest serve --cassette tape --server local")
    assert "echo" in served.stdout + served.stderr
    assert_nothing_leaks(served, tmp_path, log)
    with viewing(tmp_path) as viewed:
        pages: dict[str, str] = {}
        new = {"/"}
        while new:
            pages |= {link: viewed.get(unescape(link)).text for link in new}
            new = {link for text in pages.values() for link in re.findall(r'href="(/[^"#]*)"', text)} - set(pages)
    assert len(pages) > 5
    assert {link: found for link, text in pages.items() if (found := found_in(text))} == {}


def test_a_variable_given_in_place_of_one_of_the_environment_is_shown_no_more_than_that(
    mcptest: Run, listener: tuple[str, Path], tmp_path: Path
) -> None:
    url, log = listener
    write_suite(tmp_path, url)
    given = ("--var", f"region={DECLARED['SHOP_REGION']}", "--var", f"database={DECLARED['DATABASE_URL']}")
    environ = {**ALL, "SHOP_REGION": "another region", "DATABASE_URL": "another-database"}
    reporters = [word for form in REPORTERS for word in ("--reporter", f"{form}=out.{form}")]
    ran = mcptest("run", *given, "--record", "tape", *reporters, **environ)
    assert ran.returncode == 1, ran.stderr
    assert "DATABASE_URL" in found_in(log.read_text())
    assert_nothing_leaks(ran, tmp_path, log)
    for words in (
        ("list", "--format", "json"),
        ("eval", "--reporter", "json"),
        ("run", "--replay", "tape", "--last-failed"),
    ):
        assert_nothing_leaks(mcptest(*words, *given, **environ), tmp_path, log)


ASKING = """\
variables: { database: { from_env: DATABASE_URL } }
servers: { local: { command: [PYTHON, REFLECTING], env: { API_TOKEN: "${API_TOKEN}", DB: "${DATABASE_URL}" } } }
judge: { model: gpt-5 }
evals:
  - { name: graded, call: { tool: echo, args: { q: "${database}" } }, rubric: "It is about ${env.API_TOKEN}." }
  - { name: criteria, call: { tool: echo, args: { q: x } }, rubric: { criteria: [{ name: a, description: "${database}" }] } }
  - { name: asked, prompt: say it, model: gpt-5, rubric: It says it. }
tools:
  - name: judged
    tool: echo
    args: { q: "${database}" }
    expect: [{ target: "result.content[0].text", matcher: { llm-judge: { rubric: "It is about ${database}." } } }]
compositions:
  - { name: metrics, nodes: [{ id: a, tool: echo, args: { q: "${database}" } }], eval: { rubric: Is kind. } }
agents:
  - name: conversation
    model: gpt-5
    prompt: call it
    expect: [{ target: final_response, matcher: { llm-judge: { rubric: It is short. } } }]
"""


def test_no_value_of_the_environment_reaches_a_model_whoever_asks_it(
    mcptest: Run, models: ModelEndpoint, tmp_path: Path
) -> None:
    """Agents, the judges of evals, of assertions and of metrics: the provider is nobody that the suite gave it to."""

    def reply(question: Question) -> Reply:
        if "echo" in question.tools and len(question.body["messages"]) < 3:
            return Reply(uses=[Use("echo", {"q": "y"})])
        return Reply(
            '{"reasoning": "because", "score": 0.9, "criteria": [{"id": "a", "score": 0.9, "reasoning": "b"}]}'
        )

    models.answer_with(reply)
    text = ASKING.replace("PYTHON", sys.executable).replace("REFLECTING", str(REFLECTING))
    (tmp_path / "mcptest.yml").write_text(text)
    ran = mcptest("run", "--reporter", "json", **ALL, **models.environ)
    assert ran.returncode != 2, ran.stderr
    assert len(models.questions) >= 7, ran.stdout
    assert [found for question in models.questions if (found := found_in(json.dumps(question.body)))] == []
    assert sum("[REDACTED]" in json.dumps(question.body) for question in models.questions) >= 5


@pytest.mark.parametrize(
    "broken",
    [
        'server: "${region}"',
        'timeout_ms: "${database}"',
        'fault: "${env.PLAINWORD}"',
        'args: "${database}"',
        'name: "in ${region}"',
    ],
)
@pytest.mark.parametrize("words", [("validate",), ("validate", "--format", "json"), ("run",), ("list",), ("doctor",)])
def test_a_suite_that_does_not_load_quotes_no_value_of_the_environment(
    mcptest: Run, words: tuple[str, ...], broken: str, listener: tuple[str, Path], tmp_path: Path
) -> None:
    url, log = listener
    write_suite(tmp_path, url)
    key = broken.partition(":")[0]
    before = {"server": "server: local", "args": 'args: { q: "${env.PLAINWORD}" }', "name": "name: it fails\n"}
    text = (tmp_path / "mcptest.yml").read_text()
    place = before.get(key)
    new = text.replace("tool: fail\n", f"tool: fail\n    {broken}\n", 1) if place is None else None
    (tmp_path / "mcptest.yml").write_text(new or text.replace(place or "", broken + ("\n" if key == "name" else ""), 1))
    made = mcptest(*words, **ALL)
    assert made.returncode != 0, made.stdout
    assert_nothing_leaks(made, tmp_path, log)
