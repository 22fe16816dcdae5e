"""The `mcptest` command: finds the subcommand, runs it, and turns exceptions into messages and an exit code.

Subcommands are imported when they are used, so that `mcptest validate` does not import what `mcptest run` needs.
"""

from __future__ import annotations

import codecs
import errno
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING

from mcptest_engine import __version__
from mcptest_engine.cli.streams import discard_output
from mcptest_engine.core.environment import survive_stray_signals
from mcptest_engine.core.errors import (
    ExitCode,
    McptestError,
    NotInstalled,
    PolicyDenied,
    SuiteError,
    UsageError,
    did_you_mean,
)
from mcptest_engine.core.lazy_patterns import lazily_compiled

with lazily_compiled():
    import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

GROUPS = {
    "Run tests": {
        "run": ("mcptest_engine.cli.run", "command", "run a suite and report the verdicts"),
        "eval": ("mcptest_engine.cli.eval", "command", "grade answers with scorers and models"),
        "record": ("mcptest_engine.cli.record", "command", "run a suite and save the servers' answers"),
        "serve": ("mcptest_engine.cli.serve", "command", "replay the recorded answers of a server"),
        "cache": ("mcptest_engine.cli.cache", "group", "show or delete the results of `--cache`"),
        "mock": ("mcptest_engine.cli.mock", "command", "run an MCP server whose answers are in a file"),
        "demo": ("mcptest_engine.cli.demo", "command", "run the demo suite"),
    },
    "Write suites": {
        "init": ("mcptest_engine.cli.init", "command", "write a first suite for your server; asks a few questions"),
        "generate": ("mcptest_engine.cli.generate", "group", "write a suite from a server's lists"),
        "propose": ("mcptest_engine.cli.propose", "command", "call one tool and propose assertions"),
        "review": ("mcptest_engine.cli.review", "command", "accept or reject proposals and changed snapshots"),
        "validate": ("mcptest_engine.cli.validate", "command", "check suites without running them"),
        "fmt": ("mcptest_engine.cli.fmt", "command", "format suites; convert assertions to the short or long form"),
        "list": ("mcptest_engine.cli.list", "command", "list the tests that would run"),
        "schema": ("mcptest_engine.cli.schema", "command", "print the JSON Schema of suites, or of run records"),
    },
    "Look at a server": {
        "tools": ("mcptest_engine.cli.catalog", "tools", "list a server's tools"),
        "resources": ("mcptest_engine.cli.catalog", "resources", "list a server's resources"),
        "prompts": ("mcptest_engine.cli.catalog", "prompts", "list a server's prompts"),
        "capabilities": (
            "mcptest_engine.cli.catalog",
            "capabilities",
            "show a server's name, revision and capabilities",
        ),
        "call": ("mcptest_engine.cli.call", "command", "call one tool and print its result"),
        "doctor": ("mcptest_engine.cli.doctor", "command", "find out why something does not work, layer by layer"),
        "security": (
            "mcptest_engine.cli.security",
            "command",
            "find hidden instructions and weak schemas in descriptions",
        ),
        "login": ("mcptest_engine.cli.login", "command", "log in to a server with OAuth and store the token"),
    },
    "Report and compare": {
        "report": ("mcptest_engine.cli.report", "command", "print a saved run in another format, or merge shards"),
        "view": ("mcptest_engine.cli.view", "command", "show the saved runs in a browser"),
        "coverage": ("mcptest_engine.cli.coverage", "command", "show how much of the servers a run has tested"),
        "mutate": ("mcptest_engine.cli.mutate", "command", "measure how many wrong answers a suite notices"),
        "diff-runs": ("mcptest_engine.cli.diff_runs", "command", "compare the tests of two runs"),
        "diff": ("mcptest_engine.cli.diff", "command", "compare two catalogs: which changes break a client?"),
        "evidence": ("mcptest_engine.cli.evidence", "command", "print a document that states what a run proves"),
    },
    "Work with coding agents": {
        "mcp-server": (
            "mcptest_engine.cli.mcp_server",
            "command",
            "make mcptest available to a coding agent, over MCP",
        ),
        "skill": ("mcptest_engine.cli.skill", "command", "print or install a skill for coding agents"),
    },
    "Find your way": {
        "help": ("mcptest_engine.cli.help", "command", "show the help of a command, or of a topic such as matchers"),
        "completion": ("mcptest_engine.cli.completion", "command", "print the completion script for bash, zsh or fish"),
    },
}
"""The commands by purpose: name -> (module, attribute, one line for the overview)."""
COMMANDS = {name: place for commands in GROUPS.values() for name, place in commands.items()}
WORKBENCH = "tui"
"""The console script opens the workbench before it imports this module: the engine does not know the workbench."""
OUTSIDE_TROUBLE = {
    errno.ENOSPC: "the output cannot be written",
    errno.EDQUOT: "the output cannot be written",
    errno.EIO: "the output cannot be written",
    errno.ENOENT: "the directory in which mcptest was started no longer exists",
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used; its overview needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        found = getattr(import_module(place[0]), place[1])
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name == WORKBENCH:
            raise UsageError("only the `mcptest` command opens the workbench", hint="start `mcptest tui` by that name")
        if name not in COMMANDS and not name.startswith("-"):
            if name.endswith((".yml", ".yaml")):
                raise UsageError(f"no such command `{name}`", hint=f"to run that suite: mcptest run {name}")
            raise UsageError(f"no such command `{name}`", hint=did_you_mean(name, COMMANDS) or "see `mcptest --help`")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command by the lines of the overview, without importing it."""
        from click.shell_completion import CompletionItem

        named = {WORKBENCH: "open the workbench", **{name: what for name, (_, _, what) in COMMANDS.items()}}
        commands = [CompletionItem(name, help=what) for name, what in named.items() if name.startswith(incomplete)]
        return [*commands, *(click.Command.shell_complete(self, ctx, incomplete) if incomplete else ())]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        opened = (WORKBENCH, "open the workbench; the same as no command")
        width = max(map(len, COMMANDS)) + 2  # one width for all groups
        for title, commands in GROUPS.items():
            rows = [(name, what) for name, (_, _, what) in commands.items()]
            rows = [(name.ljust(width - 2), what) for name, what in ([opened, *rows] if "run" in commands else rows)]
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog="A suite is code: it starts the programs that it names. Run only suites that you trust.",
)
@click.version_option(__version__, "-V", "--version", message="mcptest %(version)s")
@click.pass_context
def group(ctx: click.Context) -> None:
    """Test MCP servers with suites in YAML. Reports are for people, CI and coding agents.

    \b
    Example:
      mcptest run mcptest.yaml --reporter pretty --reporter junit=out.xml
    """
    if ctx.invoked_subcommand is None:
        raise UsageError(
            "only the `mcptest` command opens the workbench",
            hint="run a suite with `mcptest run`, try `mcptest demo`, or see `mcptest --help`",
        )


def main(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code of the process."""
    _accept_every_character()
    survive_stray_signals()
    try:
        code = group.main(
            args=list(arguments), prog_name="mcptest", complete_var="_MCPTEST_COMPLETE", standalone_mode=False
        )
        sys.stdout.flush()
    except click.exceptions.Abort:
        return ExitCode.INTERRUPTED
    except click.ClickException as wrong:
        from mcptest_engine.core.sanitise import one_line

        # It quotes arguments of the command line, and a file name may hold any character.
        wrong.message = one_line(wrong.message)  # type: ignore[misc]
        wrong.show()
        return ExitCode.INVALID
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except McptestError as error:
        return _report_error(error)
    except OSError as wrong:
        if wrong.filename is not None or wrong.errno not in OUTSIDE_TROUBLE:
            return _bug()
        _say(f"error: {OUTSIDE_TROUBLE[wrong.errno]}: {wrong.strerror}")
        discard_output(sys.stdout.fileno())
        return ExitCode.FAILED
    except Exception:  # noqa: BLE001 - the last line of defence: whatever is ours to blame is said to be ours
        return _bug()
    return code if isinstance(code, int) else ExitCode.PASSED


def _accept_every_character() -> None:
    """Let stdout and stderr accept any text, whatever their encoding.

    JSON, XML and Markdown are UTF-8 wherever they go to a file or a pipe. A terminal keeps its encoding, and shows missing
    characters as escapes.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            encoding = None if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _bug() -> int:
    import os
    import traceback

    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.sanitise import sanitise
    from mcptest_engine.suite.secrets import inherited_secrets

    # The text of an exception may quote a server.
    trace = Redactor(inherited_secrets(os.environ)).redact_text(traceback.format_exc())
    _say(sanitise(trace).rstrip("\n"))
    _say(f"this is a bug in mcptest {__version__}, not in your suite or server; please report it with the lines above")
    return ExitCode.FAILED


def _report_error(error: McptestError) -> int:
    from mcptest_engine.cli.common import show_error, show_problems
    from mcptest_engine.core.sanitise import sanitise

    if isinstance(error, SuiteError):
        show_problems(error.problems)
        return ExitCode.INVALID
    show_error(error)
    if isinstance(error, PolicyDenied):
        return ExitCode.POLICY
    if isinstance(error, NotInstalled):
        return ExitCode.NOT_READY
    tail = getattr(error, "stderr_tail", "")
    if tail:
        _say("the server wrote on stderr:")
        _say("".join(f"  {line}\n" for line in sanitise(tail).splitlines()[-20:]).rstrip("\n"))
    return ExitCode.FAILED if hasattr(error, "stderr_tail") else ExitCode.INVALID


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
