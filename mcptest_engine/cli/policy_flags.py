"""The flags of every command that calls tools on its own account. Source: decisions 13; execution-safety, knobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.safety.execution import ExecutionPolicy

_NAMES = ("max_calls", "concurrency", "call_delay", "execute_destructive")


def policy_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--max-calls`, `--concurrency`, `--call-delay`, `--execute-destructive`."""
    options = (
        click.option("--max-calls", type=click.IntRange(min=0), metavar="N", help="Make at most N tool calls."),
        click.option(
            "--concurrency",
            type=click.IntRange(min=1),
            default=2,
            show_default=True,
            metavar="N",
            help="At most N calls at once.",
        ),
        click.option(
            "--call-delay",
            default="100ms",
            show_default=True,
            metavar="TIME",
            callback=_seconds,
            help="The pause between calls over HTTP.",
        ),
        click.option(
            "--execute-destructive", is_flag=True, help="Allow one call of a tool that is classified as destructive."
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def take_policy(flags: dict[str, Any]) -> ExecutionPolicy:
    """The policy that the flags set; they are taken out of `flags`."""
    from mcptest_engine.safety.execution import ExecutionPolicy

    told: Mapping[str, Any] = {name: flags.pop(name) for name in _NAMES}
    return ExecutionPolicy(
        execute_destructive=told["execute_destructive"],
        max_calls=told["max_calls"],
        concurrency=told["concurrency"],
        call_delay_seconds=told["call_delay"],
    )


def _seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """A duration as in suites; a bare number is milliseconds."""
    from mcptest_engine.core.durations import seconds_of

    text = f"{value}ms" if value.replace(".", "", 1).isdigit() else value
    try:
        return seconds_of(text)
    except ValueError:
        message = f"`{value}` is no duration; write 100ms, 1.5s, or a number of milliseconds"
        raise click.BadParameter(message, ctx=ctx, param=param) from None
