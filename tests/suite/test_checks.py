"""The checks of a whole suite, where the corpus of bad suites cannot show them: what is *not* complained about."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from mcptest_engine.suite.load import LoadOptions, check_text

ONE_TEST = "tools: [{ name: n, tool: %s, expect: { max_duration_ms: 1 } }]\n"
HEAD = "servers:\n  api: { command: [python, server.py] }\ntools:\n"


def told(text: str, root: Path = Path("/nonexistent"), **environ: str) -> list[str]:
    options = LoadOptions(environ=environ, workspace_root=root, start_dir=root)
    return [problem.message for problem in check_text(text, options, base_dir=root).problems]


def asserting(body: str) -> str:
    return f"{HEAD}  - name: n\n    tool: t\n    expect: [{{ target: result, {body} }}]\n"


@pytest.mark.parametrize(
    "target",
    ["result", "error.code", "duration_ms", "attempt", "request.params", "notifications[0]", "http.status", ".result"],
)
def test_every_member_of_the_envelope_may_start_a_target(target: str) -> None:
    """decisions 2."""
    assert (
        told(f"{HEAD}  - {{ name: n, tool: t, expect: [{{ target: '{target}', matcher: {{ exists: true }} }}] }}") == []
    )


@pytest.mark.parametrize(
    "matcher",
    [
        r"regex: '(?i)^\p{L}+$'",
        r"regex: 'a++b'",
        "regex: '[[]'",
        "regex: plain text",
        "schema: {}",
        "schema: { $schema: 'http://json-schema.org/draft-07/schema#', type: string }",
        "schema: { $defs: { a: { type: string } }, $ref: '#/$defs/a' }",
        "schema: { $id: 'http://x/y', $defs: { a: { $anchor: b } }, $ref: '#b' }",
        "between: [1, 1]",
        "jq: '.a // 1 | tostring'",
        "exact: { schema: { type: nonsense }, regex: '(' }",
        "length: 3",
    ],
)
def test_a_good_matcher_is_not_complained_about(matcher: str) -> None:
    """Nor does a warning of a library reach the user."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert told(asserting(f"matcher: {{ {matcher} }}")) == []


@pytest.mark.parametrize("ci", ["", "0", "false", "False"])
def test_only_is_fine_outside_ci(ci: str) -> None:
    """Some set CI to say no."""
    assert told(f"{HEAD}  - {{ name: n, tool: t, only: true, expect: {{ max_duration_ms: 1 }} }}", CI=ci) == []


def test_a_working_directory_is_looked_for_from_where_mcptest_was_started(tmp_path: Path) -> None:
    """decisions 4: as in a shell."""
    (tmp_path / "here").mkdir()
    suite = "servers: {{ a: {{ command: [x], cwd: {} }} }}\ntools: [{{ name: n, tool: t, expect: {{ max_duration_ms: 1 }} }}]"
    assert told(suite.format("here"), tmp_path) == []
    assert told(suite.format(str(tmp_path)), tmp_path) == []
    assert told(suite.format("there"), tmp_path) == ['there is no directory "there"']


@pytest.mark.parametrize("tool", ["tools/list", "resources/list", "resources/templates/list", "prompts/list", "ping"])
def test_a_pseudo_tool_is_no_tool_that_a_mock_could_lack(tool: str, tmp_path: Path) -> None:
    """The request itself is sent."""
    (tmp_path / "m.yml").write_text("mock_server: { tools: [{ name: search }] }")
    suite = "servers: { m: { command: [mcptest, mock, --tools-from=m.yml] } }\n" + ONE_TEST
    assert told(suite % tool, tmp_path) == []
    assert told(suite % "serch", tmp_path) == ['the mock server has no tool "serch"']


@pytest.mark.parametrize(
    ("command", "manifest"),
    [
        ("[mcptest, mock, --tools-from, none.yml]", None),
        ("[other, mock, --tools-from, m.yml]", "mock_server: { tools: [] }"),
        ("[mcptest, mock, --tools-from, m.yml]", "tools: [\n"),
        ("[mcptest, mock, --tools-from, m.yml]", "5"),
        ("[mcptest, mock, --tools-from]", None),
        ("[mcptest, mock, --preset, demo]", None),
    ],
)
def test_a_mock_whose_tools_are_not_known_is_left_alone(command: str, manifest: str | None, tmp_path: Path) -> None:
    """A guess would be a false alarm; the mock tells what is wrong with its manifest."""
    if manifest is not None:
        (tmp_path / "m.yml").write_text(manifest)
    suite = (
        f"servers: {{ m: {{ command: {command} }} }}\ntools: [{{ name: n, tool: t, expect: {{ max_duration_ms: 1 }} }}]"
    )
    assert told(suite, tmp_path) == []


def test_a_python_that_runs_the_mock_as_a_module_is_recognised(tmp_path: Path) -> None:
    """Both ways to start it are in use."""
    (tmp_path / "m.yml").write_text("mock_server: { tools: [{ name: search }] }")
    suite = "servers: { m: { command: [python, -m, mcptest_tui, mock, --tools-from, m.yml] } }\n" + ONE_TEST
    assert told(suite % "x", tmp_path) == ['the mock server has no tool "x"']


def test_the_same_mistake_in_many_tests_is_told_at_each(tmp_path: Path) -> None:
    """And looked up once: a thousand misspelt servers are no reason to wait."""
    tests = "".join(
        f"  - {{ name: n{number}, server: appi, tool: t, expect: {{ max_duration_ms: 1 }} }}\n" for number in range(50)
    )
    assert told(HEAD + tests) == ['unknown server "appi"'] * 50


def test_a_regex_that_could_not_be_judged_is_refused() -> None:
    """What is checked with and what judges are one and the same: `re` alone would let this one pass."""
    (message,) = told(asserting("matcher: { regex: 'b?b{e}?' }"))
    assert message.startswith("the regex does not compile: ")
