"""The other commands: validate, list, schema, the catalog, call, and the front page."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.cli import sinks
from tests.tui.servers.driving import ODD

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[..., subprocess.CompletedProcess[str]]
    Write = Callable[..., Path]

SERVERS = Path(__file__).parents[1] / "servers"
MOCK = ("--command", "mcptest mock --preset demo")


def test_validate_prints_exactly_the_document(mcptest: Command, suite_with: Write) -> None:
    """Agent interface, validate_suite: {valid, errors: [{path, message, hint}]}."""
    suite_with("serverz: {}\ntools:\n  - { name: a, tool: get_status }\n")
    done = mcptest("validate", "--format", "json")
    assert done.returncode == 2
    assert json.loads(done.stdout) == {
        "valid": False,
        "errors": [
            {
                "path": "",
                "message": "Additional properties are not allowed ('serverz' was unexpected)",
                "hint": "did you mean `servers`?",
            }
        ],
        "warnings": [
            {
                "path": "/tools/0",
                "message": "the test has no assertion: it passes if the server answers without an error",
                "hint": "add `expect:` with at least one assertion",
            }
        ],
    }


def test_the_demo_runs_a_copy_that_may_be_changed(mcptest: Command, tmp_path: Path) -> None:
    own = tmp_path / "mcptest-demo.yml"
    done = mcptest("demo")
    assert done.returncode == 0
    assert "mcptest run mcptest-demo.yml" in done.stderr
    assert "One test in it is wrong on purpose and was left out: correct it." in done.stderr
    lesson = mcptest("run", "mcptest-demo.yml")
    assert lesson.returncode == 1
    assert "15 passed, 1 failed" in lesson.stdout
    own.write_text(own.read_text("utf-8").replace("contains: operational", "contains: never said"), encoding="utf-8")
    assert mcptest("demo").returncode == 1
    own.unlink()
    own.symlink_to(tmp_path / "gone" / "file.yml")
    done = mcptest("demo")
    assert (done.returncode, list(tmp_path.glob("gone"))) == (2, [])


def test_validate_of_a_sound_suite(mcptest: Command, write: Write) -> None:
    """Valid is exit 0, with an empty list."""
    write()
    done = mcptest("validate", "mcptest.yml", "--format", "json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"valid": True, "errors": []})
    assert mcptest("validate").stdout == "mcptest.yml: valid, 4 tests\n"


def test_a_test_that_asserts_nothing_is_a_warning_and_strict_refuses_it(mcptest: Command, suite_with: Write) -> None:
    """`validate` warns; warnings never change an exit code unless `--strict`."""
    suite_with("tools:\n  - { name: a, tool: get_status }\n")
    done = mcptest("validate")
    assert done.returncode == 0
    assert "warning: " in done.stderr
    assert mcptest("validate", "--strict").returncode == 2
    assert mcptest("run", "--strict").returncode == 2


ASKING = """\
agents: [{ name: talks, prompt: hi, runs: 2, expect: [{ target: turns, matcher: { exact: 1 } }] }]
"""


def test_list_takes_other_models_and_validate_counts_what_a_run_takes(mcptest: Command, suite_with: Write) -> None:
    """The same tests by all three commands."""
    suite_with(ASKING)
    assert mcptest("validate").stdout.endswith("valid, 2 tests\n")
    listed = json.loads(mcptest("list", "--models", "one,two", "--format", "json").stdout)
    names = [f"talks [{model}] #{run}" for model in ("one", "two") for run in (1, 2)]
    assert [test["name"] for test in listed["tests"]] == names


def test_models_that_nothing_asks_are_told(mcptest: Command, write: Write, suite_with: Write) -> None:
    write()
    told = "`--models` has no effect: no model answers in these tests"
    assert told in mcptest("list", "--models", "one").stdout
    assert told in mcptest("run", "--models", "one", "--reporter", "json").stdout
    suite_with(ASKING)
    assert told not in mcptest("list", "--models", "one").stdout


def test_models_are_told_as_a_grid_where_nobody_says_how(mcptest: Command, suite_with: Write, tmp_path: Path) -> None:
    """`matrix` is the default with `--models`."""
    suite_with(ASKING)
    run = mcptest("run", "--models", "one,two")
    assert run.stdout.startswith("<!doctype html>")
    assert "ran 4 tests" in run.stderr
    assert not mcptest("run", "--models", "one", "--output", "grid.html").stdout
    assert (tmp_path / "grid.html").read_text().startswith("<!doctype html>")
    assert "INCONC  talks [one] #1" in mcptest("run", "--models", "one", "--reporter", "pretty").stdout


@pytest.mark.parametrize(
    ("models", "output", "watch", "wanted"),
    [
        ("a,b", None, False, "pretty"),
        ("a,b", "grid.html", False, "matrix"),
        ("a,b", "grid.html", True, "pretty"),
        (None, "run.txt", False, "pretty"),
    ],
)
def test_at_a_terminal_no_page_is_the_default(
    monkeypatch: pytest.MonkeyPatch, models: str | None, output: str | None, watch: bool, wanted: str
) -> None:
    monkeypatch.setattr(sinks, "is_terminal", lambda _stream: True)
    assert sinks.default_format(models=models, output=output, watch=watch) == wanted


def test_list_shows_what_a_run_would_take(mcptest: Command, write: Write) -> None:
    """`mcptest list`, after filters."""
    write()
    listed = json.loads(mcptest("list", "--format", "json", "--filter", "memo").stdout)
    assert listed["declared"] == 4
    assert [(test["name"], test["method"]) for test in listed["tests"]] == [("memo reads", "resources/read")]
    assert "prompts/get greet" in mcptest("list").stdout
    assert mcptest("list", "--tag", "nope").returncode == 7


@pytest.mark.parametrize("flags", [(), ("--record",)])
def test_schema_prints_a_json_schema(mcptest: Command, flags: tuple[str, ...]) -> None:
    """`mcptest schema`, and of the run record."""
    import jsonschema

    schema = json.loads(mcptest("schema", *flags).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_record_of_a_run_satisfies_its_own_schema(mcptest: Command, write: Write) -> None:
    """JSON against our own published schema of the run record."""
    import jsonschema

    write()
    schema = json.loads(mcptest("schema", "--record").stdout)
    ran = json.loads(mcptest("run", "--reporter", "json").stdout)
    jsonschema.Draft202012Validator(schema).validate(ran)


@pytest.mark.parametrize(
    ("kind", "members"),
    [("tools", ["tools"]), ("resources", ["resources", "resourceTemplates"]), ("prompts", ["prompts"])],
)
def test_a_servers_lists_come_as_the_server_sent_them(mcptest: Command, kind: str, members: list[str]) -> None:
    """`mcptest tools|resources|prompts --format json|table`."""
    done = mcptest(kind, *MOCK, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found) == members
    assert found[kind]
    assert mcptest(kind, *MOCK).stdout.count("\n") >= len(found[kind])


def test_capabilities_tell_what_the_handshake_told(mcptest: Command) -> None:
    """`mcptest capabilities`."""
    found = json.loads(mcptest("capabilities", *MOCK, "--format", "json").stdout)
    assert found["protocolVersion"] == "2025-11-25"
    assert "tools" in found["capabilities"]


def test_call_prints_the_result(mcptest: Command, write: Write) -> None:
    """`mcptest call TOOL --args`, on a server of the suite."""
    write()
    done = mcptest("call", "get_status", "--args", '{"service": "api"}', "--server", "mock")
    assert (done.returncode, done.stdout) == (0, "status: api operational\n")
    failed = mcptest("call", "get_flaky")
    assert (failed.returncode, failed.stdout) == (1, "not yet\n")
    assert mcptest("call", "get_status", "--args", "[1]").returncode == 2
    for args, told in (
        ("[" * 50_000, "--args: it is nested too deeply to be read"),
        (
            '{"n": %s}' % ("9" * 5000),
            "--args: it contains an integer of more than 4,300 digits, too many to read",
        ),
        ('{"n": 1e999}', "--args: it contains a number that is too large to read: 1e999"),
        ('{"n": NaN}', "--args: it is not JSON: NaN is not a JSON value"),
    ):
        refused = mcptest("call", "get_status", "--args", args)
        assert (refused.returncode, refused.stderr.startswith(f"error: {told}")) == (2, True), refused.stderr[:300]
    unknown = mcptest("call", "nope")
    assert unknown.returncode == 1
    assert "-32602" in unknown.stderr


@pytest.mark.parametrize(("validity", "code", "level"), [("fail", 1, "error"), ("warn", 0, "warning"), ("off", 0, "")])
def test_call_says_what_is_invalid_as_a_run_does(
    mcptest: Command, tmp_path: Path, validity: str, code: int, level: str
) -> None:
    """A result that breaks the protocol, or the tool's own `outputSchema`; the result is printed all the same."""
    command = [sys.executable, str(ODD), "invalid"]
    servers = {"bad": {"command": command, "validity": validity}}
    (tmp_path / "mcptest.yml").write_text(json.dumps({"name": "s", "servers": servers, "tools": []}))
    for tool, told in (
        ("bad_block", 'the result is not valid MCP 2025-11-25: /content/0/text: 5 is not of type "string" (server'),
        ("bad_output", "`structuredContent` does not match the tool's `outputSchema`: "),
    ):
        done = mcptest("call", tool, "--format", "json")
        assert (done.returncode, "content" in json.loads(done.stdout)) == (code, True)
        assert (f"{level}: {told}" in done.stderr) == bool(level), done.stderr
        assert level or told not in done.stderr


def test_call_waits_for_the_list_no_longer_than_for_the_answer(mcptest: Command, tmp_path: Path) -> None:
    """A server whose `tools/list` hangs held up the answer for 30 s, whatever `--timeout` said."""
    server, heard = tmp_path / "server.py", tmp_path / "heard"
    server.write_text(SILENT_LIST)
    command = shlex.join([sys.executable, "-S", str(server), str(SERVERS), str(heard)])
    done = mcptest("call", "get", "--command", command, "--timeout", "0.5")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    assert "0.5 s" in heard.read_text()


SILENT_LIST = """\
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import minimcp

for message in minimcp.messages():
    if message["method"] == "initialize":
        minimcp.answer(message["id"], minimcp.initialized(message["params"], "silent", {"tools": {}}))
    elif message["method"] == "tools/call":
        minimcp.answer(message["id"], minimcp.text("ok"))
    elif message["method"] == "notifications/cancelled":
        Path(sys.argv[2]).write_text(message["params"]["reason"])
"""


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((), "workbench"),
        (("vlidate",), "did you mean `validate`?"),
        (("suite.yml",), "mcptest run suite.yml"),
    ],
)
def test_what_is_not_there_says_so(mcptest: Command, arguments: tuple[str, ...], word: str) -> None:
    """What is not there yet says so in one clear error; it never pretends."""
    done = mcptest(*arguments)
    assert done.returncode == 2
    assert word in done.stderr


def test_every_command_shows_an_example_in_its_help(mcptest: Command) -> None:
    """`--help` on each shows one example."""
    from mcptest_engine.cli.main import COMMANDS

    for name in COMMANDS:
        assert "Example" in mcptest(name, "--help").stdout, name


SELDOM = (
    "unicodedata zlib mcptest_engine.suite.dotenv mcptest_engine.suite.hook_checks mcptest_engine.core.patterns "
    "mcptest_engine.suite.problem_messages mcptest_engine.running.verify_steps mcptest_engine.judging.budgets "
    "mcptest_engine.workspace.snapshots"
)
"""What a run needs for some suites and results only."""


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], "yaml asyncio jsonschema_rs"),
        (["validate", "mcptest.yml"], "asyncio jsonschema_rs"),
        (["run", "mcptest.yml"], f"httpx2 {SELDOM}"),
    ],
)
def test_heavy_imports_stay_out_of_commands_that_do_not_need_them(
    write: Write, tmp_path: Path, arguments: list[str], heavy: str
) -> None:
    """Speed is a feature: what a command does not need, it does not import."""
    write()
    always = "textual mcp pydantic rich jsonschema jq watchfiles importlib.metadata regex"
    script = (
        "import sys\nfrom mcptest_engine.cli.main import main\n"
        f"main({arguments!r})\n"
        f"print(*(name for name in {(always + ' ' + heavy).split()!r} if name in sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    assert done.stderr.splitlines()[-1].strip() == ""


def test_many_warnings_do_not_bury_a_run(mcptest: Command, suite_with: Write) -> None:
    """A run shows the first few; `validate` shows them all."""
    suite_with("tools:\n" + "".join(f"  - {{ name: t{number}, tool: get_status }}\n" for number in range(9)))
    done = mcptest("run")
    assert done.stderr.count("has no assertion") == 3
    assert "and 6 more warnings; `mcptest validate` shows them" in done.stderr
    assert mcptest("validate").stderr.count("has no assertion") == 9


def test_a_command_that_needs_a_server_says_how_one_is_named(mcptest: Command) -> None:
    """It needs no suite, so `mcptest run FILE` is no help."""
    done = mcptest("tools")
    assert done.returncode == 2
    assert done.stderr == (
        "error: no server is named, and neither `mcptest.yaml` nor `mcptest.yml` is here\n"
        "  name a server: --url URL, --command ARGV, or --server NAME of a suite given by --config FILE\n"
    )
    assert "mcptest validate FILE" in mcptest("validate").stderr


@pytest.mark.parametrize("seconds", ["-1", "0", "nan", "inf"])
def test_a_timeout_is_a_number_above_0(mcptest: Command, seconds: str) -> None:
    """Nothing could answer within less."""
    done = mcptest("call", "t", "--command", "no-such-program", "--timeout", seconds)
    assert done.returncode == 2
    assert "must be a number of seconds above 0" in done.stderr


def test_a_password_in_a_url_is_refused_and_not_shown(mcptest: Command) -> None:
    done = mcptest("tools", "--url", "http://user:hunter2@127.0.0.1:9/mcp")
    assert done.returncode == 2
    assert "--url must not contain a user name or password" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


def test_a_server_that_knows_no_templates_still_lists_its_resources(mcptest: Command, tmp_path: Path) -> None:
    server = shlex.join([sys.executable, "-S", str(SERVERS / "offering.py"), str(tmp_path / "log"), "plain"])
    done = mcptest("resources", "--command", server)
    assert (done.returncode, done.stdout, done.stderr) == (0, "memo://one  one\n", "")
