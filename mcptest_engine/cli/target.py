"""Which server a command talks to: `--url U`, `--command "argv"`, or `--server NAME` out of the suite."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.common import find_here, load, parse_variables, suite_path
from mcptest_engine.core.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from typing import TypeVar

    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec

    Result = TypeVar("Result")


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The flags that name a server."""
    options = (
        click.option("--url", metavar="URL", help="A Streamable HTTP endpoint."),
        click.option("--bearer-token-env", metavar="NAME", help="The variable that holds the token for --url."),
        click.option("--command", "argv", metavar="ARGV", help="A stdio server, as one string split as a shell would."),
        click.option("--env", "env", multiple=True, metavar="K=V", help="A variable for --command."),
        click.option("--server", metavar="NAME", help="A server of the suite."),
        click.option("--config", type=click.Path(), metavar="FILE", help="The suite that --server is looked up in."),
        click.option("--protocol", metavar="REV", help="The protocol revision to offer."),
        click.option("--timeout", "timeout_seconds", type=float, default=30.0, metavar="SECONDS", show_default=True),
    )
    for option in reversed(options):
        function = option(function)
    return function


def target_spec(flags: Mapping[str, Any]) -> ServerSpec:
    """The server that the flags name. Raises UsageError unless they name exactly one."""
    from mcptest_engine.servers.spec import spec_from_settings

    if flags["url"] is not None and flags["argv"] is not None:
        raise UsageError("both --url and --command are given", hint="a command talks to one server")
    if (flags["url"] or flags["argv"]) and flags["server"]:
        raise UsageError("--server names a server of the suite; --url and --command name one without", hint="give one")
    if flags["bearer_token_env"] and flags["url"] is None:
        raise UsageError("--bearer-token-env goes with --url", hint="for a command's environment use --env K=V")
    if flags["env"] and flags["argv"] is None:
        raise UsageError("--env goes with --command")
    settings, suite_env, name, lookups = _settings(flags)
    if flags["protocol"] is not None:
        settings = {**settings, "protocol": flags["protocol"]}
    return spec_from_settings(name, settings, suite_env=suite_env, environ=dict(os.environ), lookups=lookups)


def _settings(flags: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, str], str, Mapping[str, str] | None]:
    if flags["url"] is not None:
        settings: dict[str, Any] = {"url": flags["url"]}
        if flags["bearer_token_env"]:
            settings["auth"] = {"bearer_token_env": flags["bearer_token_env"]}
        return settings, {}, "target", None
    if flags["argv"] is not None:
        try:
            argv = shlex.split(flags["argv"])
        except ValueError as wrong:
            raise UsageError(f"--command cannot be split: {wrong}", hint="quote it as for a shell") from None
        if not argv:
            raise UsageError("--command is empty")
        return {"command": argv, "env": parse_variables(flags["env"])}, {}, "target", None
    return _from_suite(flags["server"], flags["config"])


def _from_suite(
    server: str | None, config: str | None
) -> tuple[dict[str, Any], Mapping[str, str], str, Mapping[str, str]]:
    suite = load(suite_path(None, config), find_here(), {})
    if server is None:
        if len(suite.servers) != 1:
            names = ", ".join(f"`{name}`" for name in suite.servers)
            raise UsageError("the suite has several servers", hint=f"name one with --server: {names}")
        server = next(iter(suite.servers))
    if server not in suite.servers:
        raise UsageError(f"the suite has no server `{server}`", hint=did_you_mean(server, suite.servers))
    return dict(suite.servers[server]), suite.env, server, suite.lookups


def with_session(spec: ServerSpec, use: Callable[[Session], Coroutine[Any, Any, Result]]) -> Result:
    """Open a session, use it, close it, whatever happens. Raises ServerError as `connect` and `use` do."""
    import asyncio

    from mcptest_engine.cli.run import ending_on_signals
    from mcptest_engine.servers.session import connect

    async def talk() -> Result:
        session = await connect(spec)
        try:
            return await use(session)
        finally:
            await session.close()

    async def main() -> Result:
        task = asyncio.ensure_future(talk())
        with ending_on_signals(task):
            return await task

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
