"""`mcptest call`: one tool call that a person names, its result printed as the server sent it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.common import json_text
from mcptest_engine.cli.target import target_options, target_spec, with_session
from mcptest_engine.core.errors import ExitCode, UsageError
from mcptest_engine.core.safe_json import load_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.servers.session import Session


@click.command()
@click.argument("tool")
@click.option("--args", "arguments", default="{}", metavar="JSON", help="The arguments, a JSON object. [default: {}]")
@target_options
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(ctx: click.Context, /, tool: str, arguments: str, form: str, **flags: Any) -> None:
    """Call one tool and print its result.

    The exit code is 1 if the tool or the server reports an error, or if the answer violates the protocol or the
    tool's outputSchema.

    \b
    Example:
      mcptest call status --command "mcptest mock --preset demo"
    """
    from mcptest_engine.judging.validity import find_fault

    given = take_arguments(arguments)
    spec = target_spec(flags)

    async def call_tool(session: Session) -> tuple[Mapping[str, Any], str | None]:
        params, seconds = {"name": tool, "arguments": given}, flags["timeout_seconds"]
        exchange = await session.request("tools/call", params, timeout_seconds=seconds)
        declared = None if exchange.answer.get("error") is not None else await _output_schema(session, tool, seconds)
        return exchange.answer, find_fault(session, "tools/call", exchange.answer, declared, spec.redact_known)

    answer, fault = with_session(spec, call_tool)
    result, error = answer.get("result"), answer.get("error")
    if form == "json":
        sys.stdout.write(json_text(result if error is None else {"error": error}))
    elif error is None:
        sys.stdout.write(_result_text(result))
    if error is not None and form != "json":
        from mcptest_engine.core.clipping import describe_error

        sys.stderr.write(f"error: the server answered {describe_error(error, spec.redact)}\n")
    if fault is not None:
        sys.stderr.write(f"{'error' if spec.validity == 'fail' else 'warning'}: {fault}\n")
    is_failed = (
        error is not None
        or (isinstance(result, dict) and result.get("isError") is True)
        or (fault is not None and spec.validity == "fail")
    )
    ctx.exit(ExitCode.FAILED if is_failed else ExitCode.PASSED)


async def _output_schema(session: Session, tool: str, timeout_seconds: float) -> object:
    """The output schema that the server lists for the tool; None when there is no list, or it cannot be read."""
    from mcptest_engine.core.errors import ServerError
    from mcptest_engine.servers.catalog import list_all

    if session.spec.validity == "off":
        return None
    try:
        listed = await list_all(session, "tools", timeout_seconds=timeout_seconds)
    except ServerError:
        return None
    return next((one.get("outputSchema") for one in listed if one.get("name") == tool), None)


def check_is_text(text: str, option: str) -> None:
    """Raises: UsageError for an argument of the command line that is not valid text."""
    try:
        text.encode()
    except UnicodeEncodeError as wrong:
        byte = ord(text[wrong.start]) & 0xFF
        raise UsageError(f"{option} is not UTF-8: byte 0x{byte:02x} after {wrong.start} characters") from None


def take_arguments(text: str) -> dict[str, object]:
    """Parse `--args`. Raises: UsageError unless it is a JSON object."""
    check_is_text(text, "--args")
    try:
        given = load_json(text)
    except ValueError as wrong:
        raise UsageError(f"--args: {wrong}", hint="""for example: --args '{"path": "/tmp"}'""") from None
    if not isinstance(given, dict):
        raise UsageError("--args is not a JSON object", hint="""for example: --args '{"path": "/tmp"}'""")
    return given


def _result_text(result: object) -> str:
    """Text content as text; other content as JSON."""
    from mcptest_engine.core.safe_json import safe_json
    from mcptest_engine.core.sanitise import sanitise

    content = result.get("content") if isinstance(result, dict) else None
    if not isinstance(content, list):
        return json_text(result)
    parts = []
    for item in content:
        text = item.get("text") if isinstance(item, dict) and item.get("type") == "text" else None
        parts.append(sanitise(text) if isinstance(text, str) else safe_json(item))
    return "\n".join(parts) + "\n"
