"""`mcptest mock`: a mock MCP server from a manifest, a captured catalog or a preset."""

from __future__ import annotations

import os

import click

from mcptest_engine.mock.faults import SPELLINGS
from mcptest_engine.mock.log import LOG_LEVELS
from mcptest_engine.mock.main import MockOptions, run_mock


@click.command(
    "mock",
    short_help="Serve a mock MCP server.",
    epilog="Example: mcptest mock --tools-from manifest.yml --fault slow:200",
)
@click.option("--tools-from", metavar="PATH", help="A YAML manifest, or a .json tools/list snapshot.")
@click.option("--preset", metavar="NAME", help="A built-in catalog: demo or evil.")
@click.option(
    "--fault",
    metavar="KIND",
    default="none",
    show_default=True,
    help=f"Simulate a fault on tools/call: {', '.join(SPELLINGS)}.",
)
@click.option("--http", metavar="[HOST:]PORT", help="Serve Streamable HTTP on loopback; port 0 picks a free one.")
@click.option("--require-bearer-env", metavar="NAME", help="With --http: answer 401 without this variable's token.")
@click.option(
    "--log-level",
    metavar="LEVEL",
    default="warning",
    show_default=True,
    help=f"The level of logs on stderr: {', '.join(LOG_LEVELS)}.",
)
@click.pass_context
def command(
    context: click.Context,
    tools_from: str | None,
    preset: str | None,
    fault: str,
    http: str | None,
    require_bearer_env: str | None,
    log_level: str,
) -> None:
    """Serve a mock MCP server over stdio until stdin closes, or over HTTP until it gets a signal.

    Exactly one of --tools-from and --preset is needed. Logs and errors go to stderr.
    """
    options = MockOptions(
        tools_from=tools_from,
        preset=preset,
        fault=fault,
        http=http,
        require_bearer_env=require_bearer_env,
        log_level=log_level,
    )
    context.exit(run_mock(options, os.environ))
