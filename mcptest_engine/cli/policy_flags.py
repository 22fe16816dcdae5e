"""The flags of every command that calls tools by itself. See docs/explanation/safety.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from mcptest_engine.safety.execution_policy import ExecutionPolicy


def policy_options(function: Callable[..., object]) -> Callable[..., object]:
    """Add `--max-calls`, `--concurrency`, `--call-delay` and `--execute-destructive` to a command."""
    options = (
        click.option("--max-calls", type=click.IntRange(min=0), metavar="N", help="Make at most N tool calls."),
        click.option(
            "--concurrency",
            type=click.IntRange(min=1),
            default=2,
            show_default=True,
            metavar="N",
            help="Make at most N calls at once.",
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


def allowing_options(function: Callable[..., object]) -> Callable[..., object]:
    """Add `--allow` and `--presumed`, for a command that calls many tools."""
    options = (
        click.option(
            "--allow",
            multiple=True,
            metavar="TOOL",
            help="Also call this tool, which does not declare that it is read-only; repeatable. A tool that "
            "changes something is called once.",
        ),
        click.option(
            "--presumed", is_flag=True, help="Also call all tools whose names suggest that they are read-only."
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def take_policy(flags: dict[str, Any]) -> ExecutionPolicy:
    """Remove the policy's flags from `flags` and return the policy. With `--allow`, only declared tools are called unasked."""
    from mcptest_engine.safety.execution_policy import DEFAULT_POLICY, ExecutionPolicy

    return ExecutionPolicy(
        execute_destructive=flags.pop("execute_destructive", False),
        max_calls=flags.pop("max_calls", None),
        concurrency=flags.pop("concurrency", DEFAULT_POLICY.concurrency),
        call_delay_seconds=flags.pop("call_delay", DEFAULT_POLICY.call_delay_seconds),
        declared_only="allow" in flags,
        allowed=frozenset(flags.pop("allow", ())),
        presumed=flags.pop("presumed", False),
    )


def check_allowed(policy: ExecutionPolicy, known: Collection[str]) -> None:
    """Raises: UsageError when `--allow` names a tool that the server does not list."""
    from mcptest_engine.core.errors import UsageError, did_you_mean

    for name in sorted(policy.allowed.difference(known)):
        raise UsageError(f"--allow: the server has no tool `{name}`", hint=did_you_mean(name, known))


def _seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """Parse a duration as in suites; a bare number is milliseconds."""
    from mcptest_engine.core.text import seconds_of

    text = f"{value}ms" if value.replace(".", "", 1).isdigit() else value
    try:
        return seconds_of(text)
    except ValueError:
        message = f"`{value}` is not a duration; write 100ms, 1.5s, or a number of milliseconds"
        raise click.BadParameter(message, ctx=ctx, param=param) from None
