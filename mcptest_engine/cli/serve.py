"""`mcptest serve --cassette FILE`: a recorded server for any client, over stdio or HTTP."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.common import find_here
from mcptest_engine.core.errors import UsageError, did_you_mean
from mcptest_engine.core.sanitise import one_line, sanitise

if TYPE_CHECKING:
    from mcptest_engine.mock.messages import Served


@click.command()
@click.option(
    "--cassette", "file", required=True, metavar="FILE", help="A file, or the name of a cassette in .mcptest/cassettes."
)
@click.option("--server", "wanted", metavar="NAME", help="The recorded server, if there are several.")
@click.option("--http", metavar="[HOST:]PORT", help="Serve Streamable HTTP on loopback; port 0 picks a free one.")
@click.pass_context
def command(ctx: click.Context, file: str, wanted: str | None, http: str | None) -> None:
    """Run an MCP server that gives the recorded answers of a cassette.

    A request that was not recorded gets an error.

    \b
    Example:
      mcptest serve --cassette weather --http 8080
    """
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.mock.log import Log, LogLevel
    from mcptest_engine.mock.replaying import ReplaySession
    from mcptest_engine.servers.recorded_exchanges import OPENINGS
    from mcptest_engine.workspace.cassettes import open_cassette

    cassette = open_cassette(find_here(), file)
    name = _chosen_server(cassette, wanted)
    exchanges = cassette["servers"][name]["exchanges"]
    redactor = Redactor(one["text"] for one in cassette.get("stand_ins", ()))

    def make() -> Served:
        return ReplaySession(exchanges, redact=redactor.redact)

    if not any(exchange["method"] in OPENINGS for exchange in exchanges):
        _say("warning: the cassette has no handshake, so no client can open a session")
    _say(f"serving {len(exchanges)} recorded exchanges of `{one_line(name)}`")
    log = Log(LogLevel.WARNING)
    if http is None:
        from mcptest_engine.mock.stdio import serve_stdio

        command_line = ["mcptest", "serve", "--cassette", file, *(["--server", name] if wanted else [])]
        _say("for a client: " + json.dumps({name: {"command": command_line[0], "args": command_line[1:]}}))
        ctx.exit(serve_stdio(make(), log))
    from mcptest_engine.mock.http import parse_address, serve_http

    def announce(url: str) -> None:
        _say(f"listening on {url}\nfor a client: {json.dumps({name: {'url': url}})}")

    ctx.exit(serve_http(make, log, address=parse_address(http), token=None, announce=announce))


def _chosen_server(cassette: dict[str, Any], wanted: str | None) -> str:
    servers = cassette["servers"]
    if wanted is None and len(servers) == 1:
        return str(next(iter(servers)))
    names = ", ".join(f"`{name}`" for name in servers) or "none"
    if wanted is None:
        raise UsageError(f"the cassette has several servers: {names}", hint="name one with --server")
    if wanted not in servers:
        raise UsageError(
            f"the cassette has no server `{wanted}`", hint=did_you_mean(wanted, servers) or f"it has {names}"
        )
    return wanted


def _say(text: str) -> None:
    sys.stderr.write(f"{sanitise(text)}\n")  # the name of a cassette's server is untrusted
    sys.stderr.flush()
