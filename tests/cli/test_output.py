"""What commands print: nothing that a terminal obeys, no secret, and no traceback for what a server or a file holds."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[..., subprocess.CompletedProcess[str]]
    Write = Callable[..., Path]

SERVERS = Path(__file__).resolve().parents[1] / "servers"
SECRET = "Zq8v-secret-value-0123456"
UNSAFE = frozenset("\x1b\x7f\x9b\u202e\U000e0041")


def script(name: str, *arguments: str) -> str:
    return shlex.join((sys.executable, "-S", str(SERVERS / f"{name}.py"), *arguments))


def answer(result: str) -> str:
    return json.dumps({"line": f'{{"jsonrpc":"2.0","id":$ID,"result":{result}}}'})


CONTENT = (
    r'{"content":[{"type":"text","text":"t\u009b31m \u007f"},'
    r'{"type":"image","data":"\u009b \u202e \udb40\udc41 \ud800"}]}'
)


@pytest.mark.parametrize("reporter", ["pretty", "minimal", "agent", "md", "tap", "json", "junit"])
def test_a_pipe_that_is_not_utf_8_costs_no_verdict_and_no_character(
    mcptest: Command, write: Write, reporter: str
) -> None:
    """A report is UTF-8, whatever encoding the environment names for the terminal."""
    suite = write(
        f"servers: {{ s: {{ command: {json.dumps(shlex.split(script('echo')))} }} }}\n"
        'tools: [{ name: "übung ✓ 漢 😀", server: s, tool: echo, args: { text: "✓" },'
        ' expect: [{ target: "result.content[0].text", matcher: { contains: "✓" } }] }]\n'
    )
    done = mcptest("run", str(suite), "--reporter", reporter, PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    if reporter not in ("minimal", "agent"):
        assert "übung ✓ 漢 😀" in (json.loads(done.stdout)["tests"][0]["name"] if reporter == "json" else done.stdout)


@pytest.mark.parametrize("words", [("tools",), ("call", "echo", "--args", '{"text": "✓ 漢"}')], ids=["tools", "call"])
def test_every_command_writes_to_a_pipe_that_is_not_utf_8(mcptest: Command, words: tuple[str, ...]) -> None:
    done = mcptest(*words, "--command", "mcptest mock --preset demo", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_result_is_printed_so_that_no_terminal_obeys_it(mcptest: Command, form: str) -> None:
    """Server text is data; JSON keeps its value by escapes."""
    done = mcptest("call", "line", "--args", answer(CONTENT), "--command", script("bad_answers"), "--format", form)
    assert (done.returncode, "is not valid MCP" in done.stderr) == (1, True)
    assert UNSAFE.isdisjoint(done.stdout + done.stderr)
    if form == "json":
        assert json.loads(done.stdout) == json.loads(CONTENT)


def test_a_deep_result_is_printed_on_one_line(mcptest: Command) -> None:
    """Whatever the server may send is no bug of ours."""
    result = '{"content":[],"v":' + "[" * 700 + "]" * 700 + "}"
    done = mcptest("call", "line", "--args", answer(result), "--command", script("bad_answers"), "--format", "json")
    assert "this is a bug" not in done.stderr
    assert json.loads(done.stdout) == json.loads(result)


def test_a_catalog_is_printed_so_that_no_terminal_obeys_it(mcptest: Command) -> None:
    for form in ("table", "json"):
        done = mcptest("tools", "--command", script("odd_catalog", "controls"), "--format", form)
        assert done.returncode == 0, done.stderr
        assert "red" in done.stdout
        assert UNSAFE.isdisjoint(done.stdout)


@pytest.mark.parametrize("arguments", [("list",), ("deep", "700")])
def test_an_odd_catalog_is_no_bug_of_ours(mcptest: Command, arguments: tuple[str, ...]) -> None:
    """A schema's `required` may hold anything."""
    for form in ("table", "json"):
        done = mcptest("tools", "--command", script("odd_catalog", *arguments), "--format", form)
        assert (done.returncode, done.stderr) == (0, "")
        assert "odd" in done.stdout


def test_an_output_that_cannot_be_written_is_told(mcptest: Command) -> None:
    """No traceback for a mistyped path."""
    done = mcptest("tools", "--command", script("odd_catalog", "list"), "--output", "no/such/directory")
    assert done.returncode == 2
    assert done.stderr == "error: `no/such/directory` was not written: No such file or directory\n"


@pytest.fixture
def crashing(tmp_path: Path) -> Path:
    """A server that shows its environment on stderr and exits."""
    path = tmp_path / "crash.py"
    path.write_text("import os, sys\nsys.exit(f'boot failed, key={os.environ[\"API_TOKEN\"]} that was it')\n")
    return path


def test_the_end_of_stderr_is_shown_without_the_secrets_of_the_suite(
    mcptest: Command, tmp_path: Path, crashing: Path
) -> None:
    (tmp_path / "mcptest.yml").write_text(
        f"servers:\n  s: {{ command: [{sys.executable}, {crashing}], env: {{ API_TOKEN: {SECRET} }} }}\n"
        "tools:\n  - { name: a, tool: x, expect: { max_duration_ms: 5 } }\n"
    )
    for done in (
        mcptest("tools"),
        mcptest("tools", "--command", f"{sys.executable} {crashing}", "--env", f"API_TOKEN={SECRET}"),
    ):
        assert done.returncode == 1
        assert "boot failed" in done.stderr
        assert SECRET not in done.stderr


def test_a_bearer_token_that_the_server_sends_back_is_not_shown(mcptest: Command) -> None:
    """The URL leads nowhere, and its path stands in the message."""
    url = f"http://127.0.0.1:1/{SECRET}"
    done = mcptest("tools", "--url", url, "--bearer-token-env", "MY_TOKEN", MY_TOKEN=SECRET)
    assert done.returncode == 1
    assert "connection refused" in done.stderr
    assert SECRET not in done.stderr


SECRETS = """\
tools:
  - name: asks
    tool: get_status
    args: { service: "${env.MY_API_KEY}", flag: "\\u009b" }
    description: "says ${env.MY_API_KEY} \\e[31m"
    tags: ["a\\u202eb"]
    skip: "until ${env.MY_API_KEY} works \\e[31m"
    expect: [{ target: result, matcher: { exact: "${env.MY_API_KEY}" }, name: "is ${env.MY_API_KEY}" }]
"""


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_list_shows_neither_secrets_nor_what_a_terminal_obeys(mcptest: Command, suite_with: Write, form: str) -> None:
    suite_with(SECRETS)
    done = mcptest("list", "--format", form, MY_API_KEY=SECRET)
    assert done.returncode == 0, done.stderr
    assert "[REDACTED]" in done.stdout
    assert SECRET not in done.stdout
    assert UNSAFE.isdisjoint(done.stdout)


@pytest.mark.parametrize("reporter", ["json", "ndjson", "junit", "pretty", "md", "agent", "tap"])
def test_no_report_shows_a_secret_that_the_suite_put_into_an_assertion(
    mcptest: Command, suite_with: Write, tmp_path: Path, reporter: str
) -> None:
    """Matchers, their names and messages are the suite's, and secret all the same."""
    suite_with(SECRETS.replace("    skip: ", "    # "))
    done = mcptest("run", "--reporter", reporter, MY_API_KEY=SECRET)
    assert done.returncode == 1, done.stderr
    assert SECRET not in done.stdout + done.stderr
    saved = [path.read_text() for path in (tmp_path / ".mcptest" / "runs").glob("*.json")]
    assert saved
    assert not any(SECRET in text for text in saved)


def test_validate_prints_no_secret_of_the_suite(mcptest: Command, suite_with: Write) -> None:
    suite_with(f'tools:\n  - {{ name: a, tool: t, timeout_ms: "{SECRET}" }}\n', top=f"env: {{ A_TOKEN: {SECRET} }}\n")
    for form in ("text", "json"):
        done = mcptest("validate", "--format", form)
        assert done.returncode == 2
        assert "[REDACTED]" in done.stdout + done.stderr
        assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("tools", "--command", "x", "--env", "FOO"), "`--env FOO` is not of the form K=V"),
        (("tools", "--command", "x", "--config", "s.yml"), "--config has no effect"),
        (("call", "t", "--url", "http://127.0.0.1:1/", "--config", "s.yml"), "--config has no effect"),
        (("validate", "a.yml", "--config", "b.yml"), "both suites as FILE and `--config b.yml` are given"),
    ],
)
def test_flags_that_would_be_ignored_are_refused(mcptest: Command, arguments: tuple[str, ...], told: str) -> None:
    """What is asked for is done or refused, never passed over."""
    done = mcptest(*arguments)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_server_of_the_suite_is_started_as_a_run_would_start_it(mcptest: Command, tmp_path: Path) -> None:
    """The suite's own time to connect, and a hint for a command that lies beside the suite."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "server.py").write_text("")
    silent = f"{sys.executable}, -c, 'import sys; sys.stdin.read()'"
    (tmp_path / "sub" / "mcptest.yml").write_text(
        f"servers:\n  beside: {{ command: [./server.py] }}\n  silent: {{ command: [{silent}] }}\n"
        "run_options: { connect_timeout_ms: 300 }\n"
    )
    config = ("--config", "sub/mcptest.yml")
    assert "`${CONFIG_DIR}/server.py`" in mcptest("tools", *config, "--server", "beside").stderr
    assert "within 300 ms" in mcptest("tools", *config, "--server", "silent").stderr


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda record: record["tests"][0].update(name=5), "`/tests/0/name`: 5 is not of type"),
        (lambda record: record["tests"][0].update(extra=1), "`/tests/0`: "),
        (lambda record: record["tests"][0].update(output={"result": json.loads("[" * 400 + "]" * 400)}), "levels deep"),
        (lambda record: record["totals"].update(passed=99), "its `totals` do not match its tests"),
        (lambda record: record.update(verdict="pass", exit_code=1), "its verdict is `pass`, but its exit code is 1"),
    ],
)
def test_a_damaged_record_is_told_with_the_place_of_the_damage(
    mcptest: Command, write: Write, tmp_path: Path, change: Callable[[dict[str, object]], None], told: str
) -> None:
    """A record is held to its published schema before anything reads it."""
    write()
    mcptest("run", "--reporter", "json", "--output", "run.json")
    record = json.loads((tmp_path / "run.json").read_text())
    change(record)
    (tmp_path / "bad.json").write_text(json.dumps(record))
    done = mcptest("report", "bad.json")
    assert done.returncode == 2
    assert done.stderr.startswith("error: `bad.json` is not a run record: ")
    assert told in done.stderr


def test_a_record_with_odd_values_in_its_outputs_is_still_reported(
    mcptest: Command, write: Write, tmp_path: Path
) -> None:
    """Half a character and numbers of many digits are JSON."""
    write()
    mcptest("run", "--reporter", "json", "--output", "run.json")
    record = json.loads((tmp_path / "run.json").read_text())
    record["tests"][0]["output"] = {"result": {"text": "a\ud800b", "n": 10**60, "x": 1e300}}
    (tmp_path / "odd.json").write_text(json.dumps(record))
    done = mcptest("report", "odd.json", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == record


def test_a_run_with_a_deeply_nested_answer_is_saved(mcptest: Command, tmp_path: Path) -> None:
    """One answer never costs the record of the others."""
    arguments = answer('{"content":[],"v":' + "[" * 900 + "]" * 900 + "}")
    (tmp_path / "mcptest.yml").write_text(
        json.dumps(
            {
                "servers": {"s": {"command": shlex.split(script("bad_answers"))}},
                "tools": [
                    {
                        "name": "deep",
                        "tool": "line",
                        "args": json.loads(arguments),
                        "expect": [{"target": "result.v", "matcher": {"exists": True}}],
                    }
                ],
            }
        )
    )
    done = mcptest("run", "--reporter", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert mcptest("report", "--format", "json").stdout == done.stdout
    assert "nested more than 200 levels deep" in done.stdout


def test_a_number_that_is_infinite_to_us_is_told_and_reported_the_same(mcptest: Command, tmp_path: Path) -> None:
    """A report is byte for byte what the run printed; 1e999 has no value that could be written again."""
    arguments = answer('{"content":[],"v":1e999}')
    suite = {
        "servers": {"s": {"command": shlex.split(script("bad_answers"))}},
        "tools": [
            {
                "name": "inf",
                "tool": "line",
                "args": json.loads(arguments),
                "expect": [{"target": "result.v", "matcher": {"exact": 3}}],
            }
        ],
    }
    (tmp_path / "mcptest.yml").write_text(json.dumps(suite))
    done = mcptest("run", "--reporter", "json")
    assert done.returncode == 1
    assert "a number that is too large to read: 1e999" in done.stdout
    assert mcptest("report", "--format", "json").stdout == done.stdout


@pytest.mark.parametrize("reporter", ["json", "md", "agent", "pretty"])
def test_a_member_that_comes_twice_is_a_finding_in_every_report(
    reporter: str, mcptest: Command, tmp_path: Path
) -> None:
    """RFC 8259, 4: which of them counts is open, so the test passes here and may fail with another client."""
    arguments = answer('{"content":[{"type":"text","text":"no"}],"content":[{"type":"text","text":"a","text":"b"}]}')
    suite = {
        "servers": {"s": {"command": shlex.split(script("bad_answers"))}},
        "tools": [
            {
                "name": "twice",
                "tool": "line",
                "args": json.loads(arguments),
                "expect": [{"target": "result.content[0].text", "matcher": {"exact": "b"}}],
            }
        ],
    }
    (tmp_path / "mcptest.yml").write_text(json.dumps(suite))
    done = mcptest("run", "--reporter", reporter)
    assert done.returncode == 0, done.stdout
    said = json.loads(done.stdout)["warnings"][0] if reporter == "json" else done.stdout + done.stderr
    assert 'sent an object with "text", "content" twice in its answer to "tools/call" of "line"' in said


def test_arguments_that_are_not_utf_8_are_refused(mcptest_command: str, tmp_path: Path) -> None:
    """A byte that is no text cannot be sent as JSON."""
    command = [mcptest_command.encode(), b"call", b"status", b"--args", b'{"a":"\xff"}', b"--command", b"cat"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: --args is not UTF-8: byte 0xff after 6 characters\n"


def test_half_a_character_is_an_answer_of_the_mock_and_not_its_end(mcptest: Command) -> None:
    """Another client may send it as an escape."""
    arguments = ("--args", '{"a":"\\ud800"}', "--command", "mcptest mock --preset demo")
    done = mcptest("call", "status", *arguments)
    assert "half a character" in done.stdout + done.stderr
    assert "bug in mcptest" not in done.stderr


@pytest.mark.parametrize("command", ["mcp-server", "mock --preset demo"])
def test_a_server_without_stdin_says_so(command: str, mcptest_command: str, tmp_path: Path) -> None:
    """It would read its requests there."""
    line = ["sh", "-c", f"{shlex.quote(mcptest_command)} {command} <&-"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "stdin is closed: " in done.stderr
    assert "Traceback" not in done.stderr


def test_half_a_character_that_a_schema_refuses_is_a_failed_assertion(mcptest: Command, tmp_path: Path) -> None:
    """The validator cannot quote it in its reason."""
    suite = {
        "servers": {"s": {"command": shlex.split(script("bad_answers"))}},
        "tools": [
            {
                "name": "half",
                "tool": "line",
                "args": json.loads(answer('{"content":[],"v":{"a":"\\ud800"}}')),
                "expect": [
                    {
                        "target": "result.v",
                        "matcher": {"schema": {"properties": {"a": {"type": "string", "minLength": 2}}}},
                    }
                ],
            }
        ],
    }
    (tmp_path / "mcptest.yml").write_text(json.dumps(suite))
    done = mcptest("run")
    assert done.returncode == 1
    assert "is not valid under the schema" in done.stdout
    assert "bug in mcptest" not in done.stdout


def test_a_pipe_that_does_not_wait_gets_everything(mcptest_command: str) -> None:
    """Parents such as node leave it so; a pipe holds 64 KiB, the schema is larger."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    process = subprocess.Popen(
        [mcptest_command, "schema"], executable=mcptest_command, stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert process.stderr is not None
    with os.fdopen(reader, "rb") as stream, process.stderr:
        text = stream.read()
        assert process.stderr.read() == b""
    assert process.wait() == 0
    assert json.loads(text)


def test_what_a_cassette_names_its_server_forges_no_line(mcptest: Command, tmp_path: Path) -> None:
    name = "x\x1b]0;owned\x07\n::error::forged"
    cassette = {"schema_version": "mcptest.cassette/v1", "servers": {name: {"exchanges": []}}}
    (tmp_path / "c.json").write_text(json.dumps(cassette))
    done = mcptest("serve", "--cassette", "c.json")
    assert "serving 0 recorded exchanges" in done.stderr
    assert "\x1b" not in done.stderr
    assert "\n::error" not in done.stderr


def test_the_traceback_of_a_bug_is_neither_obeyed_nor_quotes_a_secret(tmp_path: Path) -> None:
    (tmp_path / "bug.py").write_text(
        "import click\n"
        "from mcptest_engine.cli import main\n"
        "def wrong(*_, **__): raise RuntimeError('said \\x1b]0;x\\x07\\n::error::forged hunter2-secret-99')\n"
        "click.Command.main = wrong\n"
        "raise SystemExit(main.main(['schema']))\n"
    )
    done = subprocess.run(
        [sys.executable, "bug.py"],
        cwd=tmp_path,
        env={**os.environ, "MY_API_KEY": "hunter2-secret-99"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "this is a bug in mcptest" in done.stderr, done.stderr
    assert "\x1b" not in done.stderr
    assert "\n::error" not in done.stderr
    assert "hunter2" not in done.stderr
