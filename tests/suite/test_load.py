"""Loading: from files to a suite that can be run, or to everything that is wrong with it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest_engine.core.errors import Severity, SuiteError
from mcptest_engine.core.results import TestKind
from mcptest_engine.suite.load import CheckedSuite, LoadOptions, check_suite, check_text, load_suite

SERVERS = "servers:\n  api:\n    command: [python, server.py]\n"
BUDGET = "    expect: { max_duration_ms: 500 }\n"
TEST = f"tools:\n  - name: first\n    tool: echo\n{BUDGET}"


def options_for(root: Path, environ: dict[str, str] | None = None, **more: Any) -> LoadOptions:
    return LoadOptions(environ=environ or {}, workspace_root=root, start_dir=root, **more)


def write(root: Path, **files: str) -> Path:
    """Write `main_yml="…"` as main.yml; gives the path of the first."""
    paths = [root / name.replace("_", ".") for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths[0]


def messages(checked: CheckedSuite) -> list[str]:
    return [problem.message for problem in checked.problems]


def test_a_suite_gives_its_tests_ready_to_run(tmp_path: Path) -> None:
    """Expanded, normalised and placed."""
    text = f"""{SERVERS}
variables: {{ who: you, limit: 2.5 }}
env: {{ PORT: 8080, DEBUG: true, NAME: "${{var.who}}" }}
tools:
  - name: greets ${{who}}
    tool: greet
    args: {{ limit: "${{limit}}", note: "at most ${{limit}}" }}
    expect:
      - target: "result.isError"
        matcher: {{ exact: false }}

  - {{ name: budget, tool: greet, expect: {{ max_duration_ms: 5 }} }}
resources:
  - name: reads
    uri: "file:///a"
"""
    path = write(tmp_path, main_yml=text)
    suite = load_suite(path, options_for(tmp_path))
    first, second, third = suite.tests
    assert first.kind is TestKind.TOOL
    assert first.data == {
        "name": "greets you",
        "tool": "greet",
        "args": {"limit": 2.5, "note": "at most 2.5"},
        "expect": {"assertions": [{"target": "result.isError", "matcher": {"exact": False}}]},
    }
    assert (first.file, first.line, first.path, first.server) == (path, 8, ("tools", 0), "api")
    assert second.data["expect"] == {"assertions": [], "max_duration_ms": 5}
    assert (second.line, second.path) == (15, ("tools", 1))
    assert (third.kind, third.data["expect"], third.path) == (
        TestKind.RESOURCE,
        {"assertions": []},
        ("resources", 0),
    )
    assert suite.env == {"PORT": "8080", "DEBUG": "true", "NAME": "you"}
    assert suite.variables == {"who": "you", "limit": 2.5}
    assert (suite.name, suite.path, suite.files) == ("main", path, (path,))
    assert suite.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert [problem.severity for problem in suite.warnings] == [Severity.WARNING]


def test_the_steps_of_a_test_are_ready_to_run_too(tmp_path: Path) -> None:
    """Expanded and normalised as the test itself is."""
    text = f"""{SERVERS}
variables: {{ who: ada }}
tools:
  - name: moves the money once
    tool: transfer
    meta: {{ progressToken: "${{who}}" }}
    client: {{ elicitation: accept }}
    fault: drop_response
    retries: 1
    verify:
      - tool: balance
        args: {{ account: "${{who}}" }}
        expect:
          - {{ target: "result.isError", matcher: {{ exact: false }} }}
      - {{ uri: "file:///${{who}}", server: api, timeout_ms: 5, expect: {{ max_duration_ms: 5 }} }}
"""
    suite = load_suite(write(tmp_path, main_yml=text), options_for(tmp_path))
    assert suite.warnings == ()
    data = suite.tests[0].data
    assert (data["meta"], data["client"], data["fault"]) == (
        {"progressToken": "ada"},
        {"elicitation": "accept"},
        "drop_response",
    )
    assert data["verify"] == [
        {
            "tool": "balance",
            "args": {"account": "ada"},
            "expect": {"assertions": [{"target": "result.isError", "matcher": {"exact": False}}]},
        },
        {"uri": "file:///ada", "server": "api", "timeout_ms": 5, "expect": {"assertions": [], "max_duration_ms": 5}},
    ]


def test_the_document_is_the_whole_suite(tmp_path: Path) -> None:
    """Imports are resolved and templates replaced by then."""
    path = write(
        tmp_path,
        main_yml=f"imports: [more.yml]\nname: whole\nvariables: {{ t: 50 }}\n{TEST}    timeout_ms: '${{t}}'\n",
        more_yml=SERVERS,
    )
    document = load_suite(path, options_for(tmp_path)).document
    assert document["name"] == "whole"
    assert list(document["servers"]) == ["api"]
    assert [(test["name"], test["timeout_ms"]) for test in document["tools"]] == [("first", 50)]


def test_loading_imports_neither_pydantic_nor_a_matcher_library_that_is_not_used(tmp_path: Path) -> None:
    """Start-up is on the way of every run."""
    path = write(tmp_path, main_yml=SERVERS + TEST)
    program = (
        "import sys\nfrom pathlib import Path\nfrom mcptest_engine.suite.load import LoadOptions, load_suite\n"
        f"load_suite(Path({str(path)!r}), LoadOptions(environ={{}}, workspace_root=Path({str(tmp_path)!r})))\n"
        "slow = {'pydantic', 'regex', 'jq', 'jsonschema', 'difflib', 'rich', 'mcp', 'hashlib', 'subprocess', 'asyncio'}\n"
        "sys.exit(repr(slow & set(sys.modules)) if slow & set(sys.modules) else 0)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_imports_add_up_and_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    """`${CONFIG_DIR}` too is that of the file in which it stands."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "servers.yml").write_text(
        'imports: ["variables.yml"]\nservers:\n  api:\n    command: [python, "${CONFIG_DIR}/${script}"]\n'
    )
    (tmp_path / "parts" / "variables.yml").write_text(f"variables: {{ script: a.py, x: imported }}\n{TEST}")
    path = write(
        tmp_path,
        main_yml="imports: [parts/servers.yml]\nvariables: { script: b.py }\nprompts:\n"
        '  - name: own\n    prompt: "${x}"\n' + BUDGET,
    )
    suite = load_suite(path, options_for(tmp_path))
    assert suite.servers["api"]["command"] == ["python", f"{tmp_path}/parts/b.py"]
    assert [(test.data["name"], test.file.name, test.server) for test in suite.tests] == [
        ("first", "variables.yml", "api"),
        ("own", "main.yml", "api"),
    ]
    assert suite.tests[1].data["prompt"] == "imported"
    assert [file.name for file in suite.files] == ["main.yml", "servers.yml", "variables.yml"]


def test_a_file_that_two_files_import_is_read_once(tmp_path: Path) -> None:
    """Else its tests would run twice."""
    path = write(
        tmp_path,
        main_yml="imports: [a.yml, b.yml, ./shared.yml]\n",
        a_yml="imports: [shared.yml]\n",
        b_yml="imports: [shared.yml]\n",
        shared_yml=SERVERS + TEST,
    )
    assert len(load_suite(path, options_for(tmp_path)).tests) == 1


def test_a_link_out_of_the_workspace_is_out_of_the_workspace(tmp_path: Path) -> None:
    """Imports stay inside, whatever the path looks like."""
    root, outside = tmp_path / "root", tmp_path / "outside.yml"
    root.mkdir()
    outside.write_text(SERVERS)
    (root / "link.yml").symlink_to(outside)
    path = write(root, main_yml=f"imports: [link.yml]\n{TEST}")
    checked = check_suite(path, options_for(root))
    assert messages(checked) == ['the import "link.yml" is outside of the workspace']
    assert load_suite(path, options_for(root, allow_outside=True)).servers


def test_a_chain_of_imports_is_bounded(tmp_path: Path) -> None:
    """Generated files must not exhaust the stack."""
    for number in range(60):
        (tmp_path / f"{number}.yml").write_text(f"imports: [{number + 1}.yml]\n")
    (tmp_path / "60.yml").write_text(SERVERS)
    checked = check_suite(tmp_path / "0.yml", options_for(tmp_path))
    assert "the imports are nested more than 32 levels deep here" in messages(checked)


@pytest.mark.parametrize("name", ["nothing.yml", "a\0b.yml", "."])
def test_a_suite_that_cannot_be_read_is_one_problem(tmp_path: Path, name: str) -> None:
    """One clear error each."""
    checked = check_suite(tmp_path / name, options_for(tmp_path))
    assert (checked.suite, len(checked.problems)) == (None, 1)


def test_an_imported_file_that_is_broken_is_told_in_that_file_alone(tmp_path: Path) -> None:
    """What it would have declared is not missed."""
    path = write(
        tmp_path, main_yml=f"imports: [broken.yml]\n{TEST}    server: api\n    tags: ['${{x}}']\n", broken_yml="a: [\n"
    )
    checked = check_suite(path, options_for(tmp_path))
    assert {problem.file for problem in checked.problems} == {str(tmp_path / "broken.yml")}


def test_dotenv_feeds_look_ups_and_never_overrides(tmp_path: Path) -> None:
    """`.env` beside the suite; not for servers."""
    (tmp_path / ".env").write_text("A=file\nB=file\nnonsense\n")
    path = write(
        tmp_path, main_yml=f'{SERVERS}{TEST}variables:\n  a: "${{env.A}}"\n  b: {{ from_env: B, default: none }}\n'
    )
    suite = load_suite(path, options_for(tmp_path, {"A": "set"}))
    assert suite.variables == {"a": "set", "b": "file"}
    assert (suite.lookups["A"], suite.lookups["B"], suite.env) == ("set", "file", {})
    (warning,) = suite.warnings
    assert str(warning) == f"{tmp_path}/.env:3:1: warning: expected NAME=value"
    assert tmp_path / ".env" in suite.files


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\xff\xfe\xfa", "the file is not valid UTF-8 and is not read"), (b"#" * 1_000_001, "the file is over 1000 kB")],
)
def test_a_dotenv_that_cannot_be_read_is_a_warning(tmp_path: Path, content: bytes, message: str) -> None:
    """It belongs to other tools too."""
    (tmp_path / ".env").write_bytes(content)
    (told,) = messages(check_suite(write(tmp_path, main_yml=SERVERS + TEST), options_for(tmp_path)))
    assert told.startswith(message)


def test_a_directory_named_dotenv_is_passed_over(tmp_path: Path) -> None:
    """Many keep a virtual environment there."""
    (tmp_path / ".env").mkdir()
    assert not check_suite(write(tmp_path, main_yml=SERVERS + TEST), options_for(tmp_path)).problems


def test_secrets_are_collected_from_every_place_that_names_one(tmp_path: Path) -> None:
    """They never reach a record."""
    text = """
servers:
  api:
    url: http://localhost
    auth: { bearer_token_env: MCP_TOKEN }
    headers: { X-Api-Key: { env: HEADER }, Authorization: "Bearer literal-one", X-Plain: plain-one }
  machine:
    url: http://localhost
    auth: { oauth: { grant: client_credentials, client_id: ci, client_secret_env: OAUTH } }
  cli:
    command: [run, "${env.DB_PASSWORD}"]
    env: { API_KEY: own-key, PLAIN: plain-two }
env: { CLIENT_SECRET: "${FROM_ENV}" }
variables: { token: { from_env: NAMED, default: default-token } }
tools:
  - name: first
    server: api
    tool: echo
    args: { text: "${var.who} ${var.password}" }
    expect: { max_duration_ms: 5 }
    cases: [{ name: a, vars: { who: me, password: "of a $${case}" } }, { name: b, vars: { who: you, password: 5 } }]
"""
    environ = {"MCP_TOKEN": "tok", "HEADER": "head", "DB_PASSWORD": "pass", "FROM_ENV": "client", "OTHER_TOKEN": "no"}
    environ["OAUTH"] = "oauth-secret"
    suite = load_suite(write(tmp_path, main_yml=text), options_for(tmp_path, environ))
    assert suite.secrets == {
        "tok",
        "head",
        "oauth-secret",
        "Bearer literal-one",
        "literal-one",
        "pass",
        "own-key",
        "client",
        "default-token",
        "of a ${case}",
    }
    assert "own-key" not in repr(suite).split("servers=")[0]


def test_a_secret_that_a_message_would_quote_is_masked(tmp_path: Path) -> None:
    """Also where it stands in the wrong place."""
    path = write(tmp_path, main_yml=f'{SERVERS}{TEST}    timeout_ms: "${{env.API_TOKEN}}"\n')
    checked = check_suite(path, options_for(tmp_path, {"API_TOKEN": "s3cr3t-value"}))
    (problem,) = checked.problems
    assert "s3cr3t-value" not in str(problem)
    assert "[REDACTED]" in problem.message


def test_strict_takes_warnings_for_errors(tmp_path: Path) -> None:
    """`--strict`."""
    path = write(tmp_path, main_yml=SERVERS)
    assert load_suite(path, options_for(tmp_path)).warnings
    with pytest.raises(SuiteError, match="the suite has no tests"):
        load_suite(path, options_for(tmp_path, strict=True))


def test_a_suite_that_does_not_load_raises_with_every_problem(tmp_path: Path) -> None:
    """In file order."""
    path = write(tmp_path, main_yml=f"{SERVERS}{TEST}    server: x\n    tags: 5\n")
    with pytest.raises(SuiteError) as refused:
        load_suite(path, options_for(tmp_path))
    assert [problem.pointer for problem in refused.value.problems] == ["/tools/0/server", "/tools/0/tags"]


def test_text_is_checked_as_a_file_would_be(tmp_path: Path) -> None:
    """For suites that are typed or sent."""
    write(tmp_path, more_yml=SERVERS)
    checked = check_text(f"imports: [more.yml]\n{TEST}", options_for(tmp_path), base_dir=tmp_path)
    assert checked.suite is not None
    assert (checked.suite.name, checked.suite.tests[0].server) == ("<inline>", "api")
    broken = check_text("tools: 5", options_for(tmp_path), name="draft.yml", base_dir=tmp_path)
    assert broken.problems[0].file == "draft.yml"


def test_repeated_names_of_tests_are_no_problem(tmp_path: Path) -> None:
    """Their ids get a number."""
    text = f"{SERVERS}{TEST}  - name: first\n    tool: echo\n{BUDGET}"
    assert check_text(text, options_for(tmp_path), base_dir=tmp_path).problems == ()


def test_a_value_that_a_template_put_somewhere_is_told_at_the_template(tmp_path: Path) -> None:
    """The file has no other place for it."""
    text = f'{SERVERS}variables:\n  e: [{{ target: "result", matcher: {{ contians: x }} }}]\n{TEST}'.replace(
        "expect: { max_duration_ms: 500 }", 'expect: "${e}"'
    )
    (problem,) = check_text(text, options_for(tmp_path), base_dir=tmp_path).problems
    assert problem.message == 'unknown matcher "contians"'
    assert problem.pointer == "/tools/0/expect/0/matcher"
    assert problem.span is not None
    assert text.splitlines()[problem.span.line - 1].strip() == 'expect: "${e}"'


FRAGMENTS = st.sampled_from(
    (
        *("servers:\n", "  a:\n", "    url: http://x\n", "tools:\n", "  - name: n\n", "    tool: t\n", "    expect:\n"),
        *("      - target: result\n", "        matcher: { regex: '(' }\n", "variables: { a: '${a}', b: [1] }\n"),
        *("imports: [x.yml, '']\n", "  - ${b}\n", "    args: ${b}\n", "env: {A: ${A}}\n", "- \n", "    server: [\n"),
        *("    cwd: 5\n", "    timeout_ms: '${b}'\n", "    only: true\n", "&a *a\n", "\t", "\0", "run_options: []\n"),
    )
)


@settings(max_examples=150, deadline=None)
@given(st.lists(FRAGMENTS | st.text(max_size=12), max_size=14).map("".join))
def test_any_text_gives_a_suite_or_problems(text: str) -> None:
    """Bad input never raises, and a problem has a message of one line."""
    root = Path("/nonexistent")
    checked = check_text(text, options_for(root, {"CI": "1"}), base_dir=root)
    assert (checked.suite is None) == bool(checked.errors)
    assert all(problem.message and "\n" not in problem.message for problem in checked.problems)


SECRET_ENV = {"MY_API_KEY": "Zq8v-secret-value-01", "SHORT_KEY": "eu-1"}


@pytest.mark.parametrize(
    ("test", "pointer", "whose"),
    [
        ('name: "named ${env.MY_API_KEY}", tool: t', "/tools/0/name", "the test's name"),
        ('name: "in ${env.SHORT_KEY}", tool: t', "/tools/0/name", "the test's name"),
        ('name: n, tool: t, tags: [a, "${env.MY_API_KEY}"]', "/tools/0/tags/1", "the tag"),
        ("name: asks with lit-secret-val-4, tool: t", "/tools/0/name", "the test's name"),
    ],
)
def test_a_name_or_tag_that_holds_a_secret_is_refused(test: str, pointer: str, whose: str, tmp_path: Path) -> None:
    """`--filter` and `--tag` go by them, so they cannot be masked."""
    text = (
        f"{SERVERS}env: {{ A_TOKEN: lit-secret-val-4 }}\ntools:\n  - {{ {test}, expect: {{ max_duration_ms: 5 }} }}\n"
    )
    checked = check_suite(write(tmp_path, main_yml=text), options_for(tmp_path, SECRET_ENV))
    (problem,) = checked.problems
    assert problem.message == f"{whose} contains the value of a secret variable"
    assert problem.pointer == pointer
    assert "secret-val" not in str(problem)


def test_a_word_that_is_also_a_password_may_stand_in_a_name(tmp_path: Path) -> None:
    """A test server's password is often "password": what is written as a word is one."""
    text = f"{SERVERS}env: {{ PASSWORD: password, KEY: demo }}\ntools:\n"
    text += "  - { name: a wrong password is refused, tool: t, tags: [demo], expect: { max_duration_ms: 5 } }\n"
    assert messages(check_suite(write(tmp_path, main_yml=text), options_for(tmp_path))) == []


@pytest.mark.parametrize(
    "declared",
    [
        "env: { A_TOKEN: lit-secret-val-4 }",
        "variables: { password: lit-secret-val-4 }",
        "env: { A_TOKEN: x }\nvariables: { api_key: lit-secret-val-4 }",
    ],
)
@pytest.mark.parametrize("found", ["lit-secret-val-4", f"{'x' * 70} lit-secret-val-4", f"{'x' * 30} lit-secret-val-4"])
def test_a_message_shows_no_secret_that_the_suite_itself_holds(declared: str, found: str, tmp_path: Path) -> None:
    """Nor half of one, where what is quoted is cut off."""
    text = f'{SERVERS}{declared}\n{TEST}    timeout_ms: "{found}"\n'
    (problem,) = check_suite(write(tmp_path, main_yml=text), options_for(tmp_path)).problems
    assert "lit-" not in str(problem)


def _tests(count: int, more: str) -> str:
    return "tools:\n" + "".join(f"  - {{ name: t{number}, tool: echo, {more} }}\n" for number in range(count))


MANY = {
    "unknown keys of one test": "tools:\n  - name: a\n    tool: t\n"
    + "".join(f"    key{n}: 1\n" for n in range(6_000)),
    "unknown keys with anchors": "".join(f"x{n}: &a{n} {{}}\n" for n in range(6_000)),
    "unknown servers": _tests(3_000, "server: t"),
    "unknown variables": _tests(3_000, 'args: { a: "${nope}" }'),
    "duplicate keys": "variables:\n" + "  k: 1\n" * 6_000,
}


@pytest.mark.parametrize("text", MANY.values(), ids=MANY)
def test_of_a_file_with_very_many_problems_the_first_are_listed_and_it_is_said(tmp_path: Path, text: str) -> None:
    """Of thousands of problems, each with a hint to look for, nobody reads the last; looking took 25 s."""
    checked = check_text(SERVERS + text, options_for(tmp_path), base_dir=tmp_path)
    assert checked.suite is None
    assert len(checked.problems) == 501
    assert all(problem.span is not None for problem in checked.problems[:500])
    last = checked.problems[-1]
    assert last.message == "the file has more than 500 problems; the others are not listed"
    assert last.severity is Severity.ERROR


def test_very_many_warnings_hide_no_error(tmp_path: Path) -> None:
    text = SERVERS + _tests(2_000, "expect: {}") + "  - { name: last, tool: echo, server: nowhere, expect: {} }\n"
    checked = check_text(text, options_for(tmp_path), base_dir=tmp_path)
    assert checked.suite is None
    assert [problem.message for problem in checked.problems if problem.severity is Severity.ERROR] == [
        'unknown server "nowhere"',
        "the file has more than 500 problems; the others are not listed",
    ]


def test_very_many_warnings_alone_leave_a_suite_that_loads(tmp_path: Path) -> None:
    checked = check_text(SERVERS + _tests(2_000, "expect: {}"), options_for(tmp_path), base_dir=tmp_path)
    assert checked.suite is not None
    assert len(checked.suite.tests) == 2_000
    assert len(checked.problems) == 501


def test_an_import_that_is_a_pipe_is_refused_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four of them took 20 s. A suite itself may come through a pipe, which a shell makes of `<(…)`."""
    monkeypatch.setattr("mcptest_engine.suite.yaml.PIPE_WAIT_SECONDS", 3600)
    os.mkfifo(tmp_path / "pipe")
    path = write(tmp_path, main_yml=f"imports: [pipe]\n{SERVERS}{TEST}")
    (problem,) = check_suite(path, options_for(tmp_path)).problems
    assert (problem.message, problem.pointer) == ('the import "pipe" is not a regular file', "/imports/0")
