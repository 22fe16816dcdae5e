"""The checks of a whole suite, where the corpus of bad suites cannot show them: what is *not* complained about."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from mcptest_engine.suite.checks import METHODS_AS_TOOLS
from mcptest_engine.suite.load import LoadOptions, check_suite, check_text

ONE_TEST = "tools: [{ name: n, tool: %s, expect: { max_duration_ms: 1 } }]\n"
HEAD = "servers:\n  api: { command: [python, server.py] }\ntools:\n"


def told(text: str, root: Path = Path("/nonexistent"), **environ: str) -> list[str]:
    options = LoadOptions(environ=environ, workspace_root=root, start_dir=root)
    return [problem.message for problem in check_text(text, options, base_dir=root).problems]


def asserting(body: str) -> str:
    return f"{HEAD}  - name: n\n    tool: t\n    expect: [{{ target: result, {body} }}]\n"


@pytest.mark.parametrize(
    "target",
    [
        "result",
        "error.code",
        "duration_ms",
        "attempt",
        "request.params",
        "notifications[0]",
        "server_requests",
        "http.status",
        ".result",
    ],
)
def test_every_member_of_the_envelope_may_start_a_target(target: str) -> None:
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
    """As in a shell."""
    (tmp_path / "here").mkdir()
    suite = "servers: {{ a: {{ command: [x], cwd: {} }} }}\ntools: [{{ name: n, tool: t, expect: {{ max_duration_ms: 1 }} }}]"
    assert told(suite.format("here"), tmp_path) == []
    assert told(suite.format(str(tmp_path)), tmp_path) == []
    assert told(suite.format("there"), tmp_path) == ['there is no directory "there"']


@pytest.mark.parametrize("tool", sorted(METHODS_AS_TOOLS - {"server/discover"}))
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


URL = "servers: {{ api: {{ url: '{}' }} }}\ntools: [{{ name: n, tool: t, expect: {{ max_duration_ms: 1 }} }}]\n"


@pytest.mark.parametrize(
    "url", ["http://user:hunter2@host/mcp", "https://hunter2@host", "${var.u}", "ftp://user:hunter2@host"]
)
def test_a_password_in_a_url_is_refused_and_never_shown(url: str) -> None:
    text = URL.format(url) + "variables: { u: 'http://user:hunter2@host' }\n"
    for wrong in (text, text.replace(f"'{url}'", f"['{url}']"), text.replace(f"{{ url: '{url}' }}", f"'{url}'")):
        checked = check_text(wrong, LoadOptions(environ={}, workspace_root=Path("/")), base_dir=Path("/"))
        assert checked.suite is None
        assert "hunter2" not in "".join(map(str, checked.problems))


@pytest.mark.parametrize("url", ["http://host/@user", "http://host/a?b=c@d", "http://host#@"])
def test_an_at_sign_behind_the_host_is_no_user_name(url: str) -> None:
    """RFC 3986, 3.2."""
    assert told(URL.format(url)) == []


@pytest.mark.parametrize("key", ["env: {A: b}", "cwd: /", "inherit_env: true", "shutdown_grace_ms: 5"])
def test_what_only_a_command_has_is_refused_for_a_url(key: str) -> None:
    """Nothing is ignored in silence."""
    text = f"servers: {{ api: {{ url: 'http://h', {key} }} }}\n{ONE_TEST % 't'}"
    assert told(text) == [f"`{key.partition(':')[0]}` has no effect on a server with `url`; it goes with `command`"]


@pytest.mark.parametrize("key", ["headers: {A: b}", "auth: {bearer_token_env: T}", "http: {}", "wait_for_ready: 5s"])
def test_what_only_a_url_has_is_refused_for_a_command(key: str) -> None:
    """Nothing is ignored in silence."""
    text = f"servers: {{ api: {{ command: [a], {key} }} }}\n{ONE_TEST % 't'}"
    assert told(text, T="token") == [
        f"`{key.partition(':')[0]}` has no effect on a server with `command`; it goes with `url`"
    ]


def test_a_template_in_a_key_of_the_arguments_is_a_warning() -> None:
    """It is sent unchanged, which nobody means."""
    text = f"{HEAD}  - {{ name: n, tool: t, args: {{ a: [{{ '${{x}}': 1 }}] }}, expect: {{ max_duration_ms: 1 }} }}\n"
    assert told(text) == ['templates are replaced in values, not in keys: "${x}" is sent unchanged']


def test_a_name_holds_no_invisible_characters() -> None:
    """The line that runs the test again could not be typed."""
    entry = "  - {{ name: {}, tool: t, expect: {{ max_duration_ms: 1 }} }}\n"
    assert told(HEAD + entry.format('"a\\u200bb"')) == [
        "a test's name must not contain invisible characters: U+200B is character 2"
    ]
    assert told(HEAD + entry.format('"é\u200cé 👨\u200d👩\u200d👧"')) == []


def test_a_variable_that_is_empty_is_called_so() -> None:
    """It is set, so its own name is no suggestion."""
    text = f"servers: {{ api: {{ url: 'http://h', auth: {{ bearer_token_env: T }} }} }}\n{ONE_TEST % 't'}"
    problems = check_text(
        text, LoadOptions(environ={"T": ""}, workspace_root=Path("/")), base_dir=Path("/nonexistent")
    ).problems
    assert [(problem.message, problem.hint) for problem in problems] == [('environment variable "T" is empty', None)]


@pytest.mark.parametrize("imported", ["- a list", "broken: [", "imports: [suite.yaml]"])
def test_an_import_that_cannot_be_read_or_goes_in_a_circle_is_all_that_is_told(imported: str, tmp_path: Path) -> None:
    """What it would have declared is not known, so nothing is missed."""
    (tmp_path / "other.yaml").write_text(imported)
    (tmp_path / "suite.yaml").write_text(f"imports: [other.yaml]\n{ONE_TEST % 't'}")
    checked = check_suite(tmp_path / "suite.yaml", LoadOptions(environ={}, workspace_root=tmp_path))
    assert len(checked.problems) == 1
    assert "declares no server" not in str(checked.problems[0])


def test_a_misspelt_only_key_of_a_mapping_gets_a_hint() -> None:
    """`jk` can only mean `jq` there."""
    text = asserting("transform: { jk: . }, matcher: { exists: true }")
    problems = check_text(text, LoadOptions(environ={}, workspace_root=Path("/")), base_dir=Path("/")).problems
    assert [problem.hint for problem in problems] == ["did you mean `jq`?"]


def test_env_values_are_the_text_that_was_written(tmp_path: Path) -> None:
    """An environment holds text: a version 1.50 is not 1.5."""
    written = "A: 1.50, B: 012, C: 0x1F, D: 1e3, E: &e 3.10, F: *e, G: True, H: '1.50', I: !!float 5, J: -0.0"
    text = (
        f"env: {{ {written},K: .5}}\nservers:\n  api:\n    command: [a]\n    env:\n      A: 2.50  # two\n"
        f"{ONE_TEST % 't'}"
    )
    suite = check_text(text, LoadOptions(environ={}, workspace_root=tmp_path), base_dir=tmp_path).suite
    assert suite is not None
    values = ["1.50", "012", "0x1F", "1e3", "3.10", "3.10", "true", "1.50", "5", "-0.0", ".5"]
    assert suite.env == dict(zip("ABCDEFGHIJK", values, strict=True))
    assert suite.servers["api"]["env"] == {"A": "2.50"}


def test_authorities_are_looked_for_from_where_mcptest_was_started(tmp_path: Path) -> None:
    """As a working directory is; a directory of them is as good as a file."""
    (tmp_path / "ca.pem").write_text("")
    (tmp_path / "authorities").mkdir()
    text = "servers: {{ api: {{ url: 'https://h', http: {{ verify: {} }} }} }}\n" + ONE_TEST.replace("{", "{{").replace(
        "}", "}}"
    )
    for verify in ("ca.pem", "authorities", str(tmp_path / "ca.pem"), "true"):
        assert told(text.format(verify) % "t", tmp_path) == []
    assert told(text.format("other.pem") % "t", tmp_path) == ['there is no file or directory "other.pem"']


@pytest.mark.parametrize("protocol", ["2024-11-05", "2025-11-25", "2026-07-28", "auto", "1.0", "DRAFT-2027"])
def test_a_revision_that_is_known_or_offered_on_purpose_is_not_complained_about(protocol: str) -> None:
    """Any text may be offered, and only one that looks like a slip is told."""
    assert told(f"servers: {{ api: {{ command: [a], protocol: '{protocol}' }} }}\n{ONE_TEST % 't'}") == []


LOST = "  - { name: n, tool: t, fault: drop_response, expect: { max_duration_ms: 1 } }\n"


def test_retries_of_the_whole_suite_count_for_a_lost_answer() -> None:
    """The call is made again either way, and judged then."""
    assert told(f"{HEAD}{LOST}") == [
        "`fault: drop_response` discards the answer, so there is nothing for `expect` to check"
    ]
    assert told(f"{HEAD}{LOST}run_options: {{ retries: 1 }}\n") == []


@pytest.mark.parametrize("kind", ["tools: [{ tool: t", "resources: [{ uri: 'a:b'", "prompts: [{ prompt: p"])
def test_a_test_of_any_kind_may_leave_the_judging_to_its_steps(kind: str) -> None:
    """It asserts something, if not of its own answer."""
    block = f"{kind}, name: n, verify: [{{ tool: t, expect: {{ max_duration_ms: 1 }} }}] }}]\n"
    assert told(f"servers: {{ api: {{ command: [a] }} }}\n{block}") == []


def test_a_step_is_sent_where_its_test_is_when_it_names_no_server() -> None:
    """So it needs to name one only when that is another."""
    head = "servers: { a: { command: [a] }, b: { command: [b] } }\n"
    step = "verify: [{ tool: t, expect: { max_duration_ms: 1 } }]"
    assert told(f"{head}tools: [{{ name: n, server: b, tool: t, {step} }}]\n") == []


def test_a_password_in_any_url_of_a_server_is_never_shown() -> None:
    """Whether the url is one or not."""
    for url in ("http://user:hunter2@h", "ftp://user:hunter2@h"):
        for key in ("http: {{ proxy: '{}' }}", "wait_for_ready: '{}'", "wait_for_ready: {{ url: '{}' }}"):
            text = f"servers: {{ api: {{ url: 'http://h', {key.format(url)} }} }}\n{ONE_TEST % 't'}"
            checked = check_text(text, LoadOptions(environ={}, workspace_root=Path("/")), base_dir=Path("/"))
            assert checked.suite is None
            assert "hunter2" not in "".join(map(str, checked.problems))
