"""Which server a command uses: `--url U`, `--command "argv"`, both for a program over HTTP, or `--server NAME`."""

from __future__ import annotations

import math
import os
import re
import shlex
import sys
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from mcptest_engine.cli.common import find_here, load, parse_variables, suite_path
from mcptest_engine.core.errors import ServerError, UsageError, did_you_mean
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.workspace.workspace import SUITE_FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from typing import TypeVar

    from mcptest_engine.authoring.targets import Target
    from mcptest_engine.safety.tool_surface import Surface
    from mcptest_engine.servers.catalog import Catalog
    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.suite.load import LoadedSuite

    Result = TypeVar("Result")


def target_options(function: Callable[..., object]) -> Callable[..., object]:
    """The flags that name a server."""
    options = (
        click.option(
            "--url",
            metavar="URL",
            help="A Streamable HTTP endpoint. With --command, the program is started and must serve there; port 0 is a free "
            "port, `{port}` in ARGV and --env.",
        ),
        click.option("--bearer-token-env", metavar="NAME", help="The variable that holds the token for --url."),
        click.option(
            "--command", "argv", metavar="ARGV", help="The program of a server and its arguments, in one string."
        ),
        click.option(
            "--env",
            "env",
            multiple=True,
            metavar="K=V",
            help="An environment variable for --command; `${NAME}` reads the environment.",
        ),
        click.option("--server", metavar="NAME", help="A server of the suite."),
        click.option("--config", type=click.Path(), metavar="FILE", help="The suite that declares --server."),
        click.option("--protocol", metavar="REV", help="The protocol revision to offer."),
        click.option(
            "--timeout",
            "timeout_seconds",
            type=float,
            default=30.0,
            metavar="SECONDS",
            show_default=True,
            callback=_positive,
            help="The time limit for each answer.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _positive(ctx: click.Context, param: click.Parameter, value: float) -> float:
    if not 0 < value < math.inf:
        raise click.BadParameter("must be a number of seconds above 0", ctx=ctx, param=param)
    return value


def target_spec(flags: Mapping[str, object]) -> ServerSpec:
    """The server that the flags name. Raises: UsageError unless they name one."""
    from mcptest_engine.servers.spec import spec_from_settings

    if (flags["url"] or flags["argv"]) and flags["server"]:
        raise UsageError(
            "--server names a server of a suite, --url and --command another server", hint="use one of them"
        )
    if flags["bearer_token_env"] and flags["url"] is None:
        raise UsageError("--bearer-token-env requires --url", hint="for a command's environment use --env K=V")
    if flags["env"] and flags["argv"] is None:
        raise UsageError("--env requires --command")
    if (flags["url"] or flags["argv"]) and flags["config"]:
        raise UsageError("--config has no effect with --url and --command", hint="use one of them")
    environ = dict(os.environ)
    if flags["url"] is None and flags["argv"] is None:
        return _from_suite(flags, environ)
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.suite.secrets import secret_values

    settings = _offering(_settings(flags), flags)
    given = declared_target(flags).secrets.values()
    secrets = Redactor((*secret_values({"target": settings}, {}, {}, environ), *given))
    return spec_from_settings(
        "target",
        settings,
        suite_env={},
        environ=environ,
        redactor=secrets,
    )


class Declared(NamedTuple):
    """A server as a suite declares it, the notes for a person, and the secrets by the variables in their places."""

    target: Target
    notes: tuple[str, ...] = ()
    secrets: Mapping[str, str] = MappingProxyType({})


def declared_target(flags: Mapping[str, object], *, optional_secrets: bool = False) -> Declared:
    """The server that the flags name; a server of a suite as that file declares it.

    With `optional_secrets`, a suite with this server loads also when the variables of its secrets are not set. Raises:
    UsageError as `target_spec` does.
    """
    from mcptest_engine.authoring.targets import (
        TARGET,
        Target,
        declared_command,
        declared_env,
        declared_url,
        variable_notes,
        with_free_names,
        with_variables,
    )

    if flags["url"] is None and flags["argv"] is None:
        return _declared_in_suite(flags)
    settings, secrets = dict(_offering(_settings(flags), flags)), dict[str, str]()
    env = settings.pop("env", {})
    given = given_env(flags)
    if env:
        settings["env"] = declared_env(env, secrets, given.references)
    if "command" in settings:
        settings["command"] = declared_command(settings["command"], secrets)
    if "url" in settings:
        settings["url"] = declared_url(settings["url"], secrets)
    settings, secrets, notes = with_free_names(settings, secrets, os.environ, TARGET)
    target = with_variables(settings, secrets) if optional_secrets else Target(settings=settings)
    secrets = {**given.read, **secrets}
    return Declared(target, (*variable_notes(secrets), *notes), secrets)


def _declared_in_suite(flags: Mapping[str, object]) -> Declared:
    from dataclasses import replace

    from mcptest_engine.authoring.targets import declared_in_suite
    from mcptest_engine.suite.templates import expressions_in

    suite, server = _suite_server(flags)
    target = declared_in_suite(suite, server)
    notes: list[str] = []
    if flags.get("into") is None:  # otherwise it is mostly the suite that will be extended
        if suite.env and "command" in target.settings:
            notes.append(f"`{suite.path.name}` gives the server more variables in its `env:`, which are not copied")
        if "CONFIG_DIR" in expressions_in([target.settings, list(target.variables.values())]):
            notes.append("`${CONFIG_DIR}` means the folder of the new suite there")
    return Declared(replace(target, settings=_offering(target.settings, flags)), tuple(notes))


def _settings(flags: Mapping[str, Any]) -> dict[str, Any]:
    from mcptest_engine.suite.secrets import has_userinfo

    settings: dict[str, Any] = {}
    if flags["url"] is not None:
        if has_userinfo(flags["url"]):
            hint = "use --bearer-token-env NAME, or a suite whose server has `headers:` with `{ env: NAME }`"
            raise UsageError("--url must not contain a user name or password", hint=hint)
        settings = {"url": flags["url"]}
        if flags["bearer_token_env"]:
            settings["auth"] = {"bearer_token_env": flags["bearer_token_env"]}
    if flags["argv"] is None:
        return settings
    try:
        argv = shlex.split(flags["argv"])
    except ValueError as wrong:
        raise UsageError(f"--command cannot be split: {wrong}", hint="quote it as for a shell") from None
    if not argv:
        raise UsageError("--command is empty")
    return {"command": argv, **settings, "env": given_env(flags).values}


class GivenEnv(NamedTuple):
    """The variables of `--env`: their values for the server, their templates, and the variables in those."""

    values: dict[str, str]
    references: dict[str, str]
    read: dict[str, str]


def given_env(flags: Mapping[str, Any]) -> GivenEnv:
    """Read `--env`; `K=${NAME}` reads the environment as in a suite. Raises: UsageError when it is not set."""
    found = GivenEnv(parse_variables(flags["env"], flag="--env"), {}, {})
    for name, text in found.values.items():
        template = _REFERENCE.fullmatch(text)
        if template is None:
            continue
        variable = template["variable"]
        if variable not in os.environ:
            raise UsageError(
                f"`--env {name}`: environment variable `{variable}` is not set",
                hint=did_you_mean(variable, os.environ) or "export it, and try again",
            )
        found.references[name] = text
        found.read[variable] = os.environ[variable]
        found.values[name] = f"{template['scheme']}{os.environ[variable]}"
    return found


_REFERENCE = re.compile(r"(?P<scheme>(?:(?:Bearer|Basic|Token) +)?)\$\{(?:env\.)?(?P<variable>\w+)\}")


def _offering(settings: Mapping[str, object], flags: Mapping[str, object]) -> Mapping[str, Any]:
    return settings if flags["protocol"] is None else {**settings, "protocol": flags["protocol"]}


def _from_suite(flags: Mapping[str, object], environ: Mapping[str, str]) -> ServerSpec:
    """The spec of a server of the suite, as a run would have it."""
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.servers.spec import spec_from_settings

    suite, server = _suite_server(flags)
    secrets = Redactor(suite.secrets)
    return spec_from_settings(
        server,
        _offering(suite.servers[server], flags),
        suite_env=suite.env,
        environ=environ,
        lookups=suite.lookups,
        config_dir=suite.path.parent,
        run_options={key: value for key, value in suite.run_options.items() if key == "connect_timeout_ms"},
        redactor=secrets,
    )


def _suite_server(flags: Mapping[str, Any]) -> tuple[LoadedSuite, str]:
    """The suite and the name of its server. Raises: UsageError, SuiteError."""
    if flags["config"] is None and not any(Path(name).is_file() for name in SUITE_FILES):
        here = " nor ".join(f"`{name}`" for name in SUITE_FILES)
        hint = "name a server: --url URL, --command ARGV, or --server NAME of a suite given by --config FILE"
        raise UsageError(f"no server is named, and neither {here} is here", hint=hint)
    suite = load(suite_path(None, flags["config"]), find_here(), {})
    server = flags["server"]
    if server is None:
        if len(suite.servers) != 1:
            names = ", ".join(f"`{name}`" for name in suite.servers)
            raise UsageError("the suite has several servers", hint=f"name one with --server: {names}")
        server = next(iter(suite.servers))
    if server not in suite.servers:
        raise UsageError(f"the suite has no server `{one_line(server)}`", hint=did_you_mean(server, suite.servers))
    return suite, server


def with_session(spec: ServerSpec, use: Callable[[Session], Coroutine[Any, Any, Result]]) -> Result:
    """Open a session, use it, and close it; the result contains no secret that was sent to the server.

    Raises: ServerError as `connect` and `use` do, its message and the server's stderr without secrets.
    """
    import asyncio

    from mcptest_engine.cli.ending import ending_on_signals
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
        found: Result = spec.redact_known(asyncio.run(main()))
        return found
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except ServerError as error:
        error.message = spec.redact(error.message)
        error.hint = error.hint and spec.redact(error.hint)
        error.stderr_tail = spec.redact(error.stderr_tail)
        raise


class Listed(NamedTuple):
    """What a server offers, the lists that it did not return, and how its secrets are redacted."""

    surface: Surface
    failed: frozenset[str]
    redact: Callable[[str], str]


def listed_surface(flags: Mapping[str, Any]) -> Listed:
    """List everything that the server of the flags offers; a list that it does not return causes a warning."""
    from mcptest_engine.safety.tool_surface import Surface

    spec = target_spec(flags)

    async def read_lists(session: Session) -> Catalog:
        from mcptest_engine.servers.catalog import read_catalog

        return await read_catalog(session, timeout_seconds=flags["timeout_seconds"])

    catalog = with_session(spec, read_lists)
    for what, why in catalog.errors.items():
        sys.stderr.write(f"warning: {what} could not be listed: {one_line(spec.redact(why), 300)}\n")
    surface = Surface(
        tools=catalog.tools,
        prompts=catalog.prompts,
        resources=catalog.resources,
        templates=catalog.templates,
        instructions=catalog.instructions,
    )
    return Listed(surface, frozenset(catalog.errors), spec.redact)
