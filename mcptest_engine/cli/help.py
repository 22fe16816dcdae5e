"""`mcptest help [TOPIC]`: the overview, the help of a command, or a list of names for suites and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mcptest_engine.core.errors import ExitCode, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CODES = {
    ExitCode.PASSED: "success",
    ExitCode.FAILED: "a test or a check failed",
    ExitCode.INVALID: "the command line or the suite is not valid; nothing was run",
    ExitCode.NOT_READY: "not ready; trying again later may help",
    ExitCode.POLICY: "refused by policy",
    ExitCode.GATE: "a quality gate was not met",
    ExitCode.NO_TESTS: "no test was selected, or the suite skips all that were",
    ExitCode.INTERRUPTED: "interrupted",
}


@click.command()
@click.argument("topic", required=False)
@click.pass_context
def command(ctx: click.Context, topic: str | None) -> None:
    """Show the help of a command, or of a topic: matchers, reporters, exit-codes.

    \b
    Examples:
      mcptest help run
      mcptest help matchers
    """
    outer = ctx.parent
    assert outer is not None
    group = outer.command
    assert isinstance(group, click.Group)
    if topic is None:
        click.echo(outer.get_help())
        return
    if topic in TOPICS:
        formatter = outer.make_formatter()
        formatter.write_dl(list(TOPICS[topic]()))
        click.echo(formatter.getvalue().rstrip("\n"))
        return
    known = (*group.list_commands(outer), *TOPICS)
    found = group.get_command(outer, topic)
    if topic == "tui":
        raise UsageError("the workbench has its own help", hint="mcptest tui --help; in the workbench, press ?")
    if found is None:
        raise UsageError(
            f"there is no help on `{topic[:80]}`",
            hint=did_you_mean(topic, known) or f"topics: every command, {', '.join(TOPICS)}",
        )
    with click.Context(found, info_name=topic, parent=outer) as inner:
        click.echo(found.get_help(inner))


def _matchers() -> Iterator[tuple[str, str]]:
    import json

    from mcptest_engine.suite.schema import schema_text

    for name, schema in json.loads(schema_text())["$defs"]["Matcher"]["properties"].items():
        yield name, schema["description"]


def _reporters() -> Iterator[tuple[str, str]]:
    from mcptest_engine.reporting.registry import FORMATS

    for name, reporter in FORMATS.items():
        yield name, reporter.summary


def _exit_codes() -> Iterator[tuple[str, str]]:
    for code, meaning in _CODES.items():
        yield str(code.value), meaning


TOPICS: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "matchers": _matchers,
    "reporters": _reporters,
    "exit-codes": _exit_codes,
}
