"""The options of `mcptest mock`, and that both ways in have the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
AS_COMMAND = [sys.executable, "-c", "from mcptest_engine.cli.mock import command; command()"]
AS_MODULE = [sys.executable, "-m", "mcptest_engine.mock"]


def run(argv: list[str], *, env: dict[str, str] | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    return subprocess.run(
        argv, input=stdin, env=environ, capture_output=True, encoding="utf-8", timeout=60, check=False
    )


@pytest.mark.parametrize("way_in", [AS_COMMAND, AS_MODULE], ids=["command", "module"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to serve\n  give --tools-from PATH or --preset NAME\n"),
        (["--preset", "demo", "--tools-from", "x.yml"], "give --tools-from or --preset, not both\n"),
        (["--preset", "dmo"], 'unknown preset "dmo"\n  did you mean `demo`?\n'),
        (["--preset", "zzz"], 'unknown preset "zzz"\n  known presets: demo, evil\n'),
        (["--preset", "demo", "--fault", "hanging"], 'unknown fault "hanging"\n  did you mean `hang`?\n'),
        (["--preset", "demo", "--log-level", "dbug"], 'unknown log level "dbug"\n  did you mean `debug`?\n'),
        (
            ["--preset", "demo", "--http", "x:y"],
            '"x:y" is not an address\n  write PORT or HOST:PORT, such as 127.0.0.1:8080\n',
        ),
        (
            ["--preset", "demo", "--require-bearer-env", "T"],
            "--require-bearer-env needs --http: there are no headers over stdio\n",
        ),
        (
            ["--preset", "demo", "--http", "0", "--require-bearer-env", "NO_SUCH_VARIABLE"],
            'the environment variable "NO_SUCH_VARIABLE" of --require-bearer-env is not set or is empty\n',
        ),
        (["--tools-from", "no-such.yml"], "no-such.yml: there is no such file\n"),
    ],
)
def test_options_that_cannot_be_served_exit_with_2_and_say_why(way_in, arguments, message):
    """Exit code 2: the invocation is invalid; stdout stays empty, it belongs to the protocol."""
    done = run([*way_in, *arguments])
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


@pytest.mark.parametrize("way_in", [AS_COMMAND, AS_MODULE], ids=["command", "module"])
def test_both_ways_in_serve(way_in):
    """The same server behind either."""
    done = run([*way_in, "--preset", "demo"], stdin='{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert (done.returncode, done.stdout, done.stderr) == (0, '{"jsonrpc":"2.0","id":1,"result":{}}\n', "")


def test_both_ways_in_have_the_same_options():
    """One reads with click, the other with argparse; neither may know more."""
    import click

    from mcptest_engine.cli.mock import command
    from mcptest_engine.mock.main import MockOptions

    options = {option.name for option in command.params if isinstance(option, click.Option)}
    assert options == set(MockOptions._fields)
    assert {option.name: option.default for option in command.params if option.name in ("fault", "log_level")} == {
        "fault": MockOptions().fault,
        "log_level": MockOptions().log_level,
    }
    usage = run([*AS_MODULE, "--help"]).stdout
    assert all(f"--{name.replace('_', '-')}" in usage for name in options)


def test_the_help_shows_an_example():
    """Each command's help shows one example."""
    assert "Example: mcptest mock" in run([*AS_COMMAND, "--help"]).stdout


def test_a_mock_over_stdio_imports_nothing_heavy():
    """A mock starts once for every server of every run, so its imports are its start-up time."""
    heavy = {"asyncio", "pydantic", "rich", "mcp", "httpx2", "jsonschema_rs", "h11", "click", "logging", "starlette"}
    code = (
        "import sys\n"
        "from mcptest_engine.mock import main, stdio\n"
        "from mcptest_engine.mock.presets import load_preset\n"
        "load_preset('demo')\n"
        f"print(sorted({heavy!r} & sys.modules.keys()))\n"
    )
    assert run([sys.executable, "-c", code]).stdout == "[]\n"
