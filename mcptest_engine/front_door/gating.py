"""Decides which servers under test a tool of `mcptest mcp-server` may reach: an arbitrary command needs permission.

A `command` runs only with `--enable-writes`, or when exactly this argv is declared under `servers:` of the workspace's
`mcptest.yml`. Then it runs with the environment declared there, and any other `env` is refused. The variable of a token must be
meant for the server: declared for its origin in the workspace (by a suite or an agent's settings), allowed by the person who
started mcptest, or named `MCP_…` or `MCPTEST_…`. See docs/how-to/mcp-server.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcptest_engine.authoring.targets import (
    Target,
    declared_command,
    declared_env,
    declared_in_suite,
    declared_url,
    untemplated,
    with_variables,
)
from mcptest_engine.core.errors import PolicyDenied, SuiteError, UsageError
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.front_door.inside import is_own_file, own_suites
from mcptest_engine.servers.spec import spec_from_settings
from mcptest_engine.servers.urls import shown_url
from mcptest_engine.suite.secrets import has_userinfo, secret_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.front_door.door import Door
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.suite.load import LoadedSuite

_LONGEST_WORD = 200
_MOST_WORDS = 20

_OWN_PREFIXES = ("MCP_", "MCPTEST_")
"""The prefixes of variables that are meant for MCP servers only."""


def target_of(door: Door, arguments: JsonMapping) -> tuple[ServerSpec, Target]:
    """The server of `url` or `command`, ready to be connected to, and as a suite declares it.

    Raises: UsageError unless exactly one is given, PolicyDenied for a command without permission, or a token that may not be
    sent.
    """
    url, command = arguments.get("url"), arguments.get("command")
    if url is None and command is None:
        raise UsageError(
            "neither `url` nor `command` is given",
            hint='name one server: {"url": "https://…"} or {"command": ["node", "server.js"]}',
        )
    if command is None:
        return _of_url(door, str(url), arguments)
    if arguments.get("bearer_token_env") is not None:
        raise UsageError("`bearer_token_env` requires `url`", hint="a command gets its environment from `env`")
    return _of_command(door, [str(word) for word in command or ()], arguments.get("env"), url)


def _of_url(door: Door, url: str, arguments: JsonMapping) -> tuple[ServerSpec, Target]:
    if arguments.get("env"):
        raise UsageError("`env` requires `command`", hint="a URL takes `bearer_token_env`")
    settings: JsonDict = {"url": _checked_url(url)}
    variable = arguments.get("bearer_token_env")
    if variable is not None:
        if not _may_send(door, variable, url):
            raise PolicyDenied(
                f"the environment variable `{variable}` is not sent to {shown_url(url)}: it is not declared for "
                f"this server",
                hint=f"start the server with `mcptest mcp-server --allow-env {variable}`, have a server of this origin in "
                f"mcptest.yml or in an agent's settings here declare it, or use a variable whose name begins "
                "with MCP_ or MCPTEST_",
            )
        settings["auth"] = {"bearer_token_env": variable}
    secrets: dict[str, str] = {}
    written = declared_url(url, secrets)
    return _spec(door, settings, secrets.values()), with_variables({**settings, "url": written}, secrets)


def _checked_url(url: str) -> str:
    """Check the URL. Raises: UsageError."""
    if has_userinfo(url):
        raise UsageError("`url` must not contain a user name or password", hint="use `bearer_token_env`")
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"`url` is not an http or https URL: {shown_url(url)}")
    return url


def _of_command(
    door: Door, argv: list[str], env: Mapping[str, str] | None, url: str | None
) -> tuple[ServerSpec, Target]:
    over_http = {} if url is None else {"url": _checked_url(url)}
    if door.writes_enabled:
        settings: JsonDict = {"command": argv, **over_http, **({"env": dict(env)} if env else {})}
        secrets: dict[str, str] = {}
        written: JsonDict = {**settings, **({"env": declared_env(env, secrets)} if env else {})}
        written["command"] = declared_command(argv, secrets)
        written |= {} if url is None else {"url": declared_url(url, secrets)}
        return _spec(door, settings, secrets.values()), with_variables(written, secrets)
    declared = [
        (suite, name)
        for suite, name in _declared_servers(door)
        if suite.servers[name].get("command") == argv and suite.servers[name].get("url") == url
    ]
    if not declared:
        shown = json.dumps([word[:_LONGEST_WORD] for word in argv[:_MOST_WORDS]], ensure_ascii=False)
        raise PolicyDenied(
            f"the command {shown} is not run: this MCP server was started without --enable-writes",
            hint="either start it with --enable-writes, or declare exactly this argv under `servers:` in the "
            "workspace's mcptest.yml",
        )
    alike = [(suite, name) for suite, name in declared if not env or dict(env) == _env_of(suite, name)]
    if not alike:
        raise PolicyDenied(
            "`env` differs from what mcptest.yml declares for this command, so it is not run",
            hint="leave `env` out: the declared one is used; or start the MCP server with --enable-writes",
        )
    suite, name = alike[0]
    redactor = Redactor(suite.secrets)
    spec = spec_from_settings(
        "target",
        suite.servers[name],
        suite_env=suite.env,
        environ=door.environ,
        lookups=suite.lookups,
        config_dir=suite.path.parent,
        redactor=redactor,
    )
    as_written = declared_in_suite(suite, name).settings
    secrets = {}
    own = _declared_env(_env_of(suite, name), as_written.get("env") or {}, redactor, secrets)
    written = {"command": declared_command(argv, secrets), **over_http, **({"env": own} if own else {})}
    written |= {"ready": as_written["ready"]} if url is not None and "ready" in as_written else {}
    cwd = suite.servers[name].get("cwd")
    if cwd:
        looked_up = as_written.get("cwd")
        written["cwd"] = (
            looked_up if _names_the_environment(looked_up) else untemplated(redactor.redact_registered(str(cwd)))
        )
    return spec, with_variables(written, secrets)


def _declared_env(
    env: Mapping[str, str], as_written: Mapping[str, object], redactor: Redactor, secrets: dict[str, str]
) -> dict[str, str]:
    """The `env` of a declared server for another suite: look-ups keep their names, other secrets go into `secrets`."""
    looked_up = {key: str(value) for key, value in as_written.items() if _names_the_environment(value)}
    rest = {key: value for key, value in env.items() if key not in looked_up}
    hidden = {key: value for key, value in rest.items() if redactor.redact_registered(value) != value}
    secrets.update(hidden)
    return declared_env(env, secrets, looked_up)


def _names_the_environment(value: object) -> bool:
    """Whether a text has templates, and all of them look up environment variables."""
    named = _TEMPLATE.findall(value.replace("$${", "")) if isinstance(value, str) else ()
    return bool(named) and not any(name.startswith("var.") or name == "CONFIG_DIR" for name in named)


_TEMPLATE = re.compile(r"\$\{([^{}]*)\}")


def _env_of(suite: LoadedSuite, name: str) -> dict[str, str]:
    return {str(key): str(value) for key, value in (suite.servers[name].get("env") or {}).items()}


def _spec(door: Door, settings: Mapping[str, object], given: Iterable[str]) -> ServerSpec:
    """The spec of a server that the caller named; `given` are secrets in its command or URL."""
    values = (*secret_values({"target": settings}, {}, {}, door.environ), *given)
    secrets = Redactor(values)
    door.keep_secrets(values)
    return spec_from_settings(
        "target",
        settings,
        suite_env={},
        environ=door.environ,
        redactor=secrets,
    )


def _declared_servers(door: Door) -> Iterator[tuple[LoadedSuite, str]]:
    """The servers of the workspace's own suite. Raises: PolicyDenied when it does not load, or is outside."""
    from mcptest_engine.suite.load import LoadOptions, load_suite

    options = LoadOptions(
        environ=door.environ, workspace_root=door.workspace.root, start_dir=door.workspace.root, only_own_files=True
    )
    for path in own_suites(door.workspace.root):
        try:
            suite = load_suite(path, options)
        except SuiteError as broken:
            raise PolicyDenied(
                f"{path.name} does not load, so it declares no server: {broken.problems[0].message}",
                hint="correct it first",
            ) from None
        door.keep_secrets(suite.secrets)
        for name in suite.servers:
            yield suite, name


def _may_send(door: Door, variable: str, url: str) -> bool:
    """Whether a caller may have this variable's value sent to the URL's origin as a token. Raises: PolicyDenied."""
    if variable.startswith(_OWN_PREFIXES) or variable in door.allowed_env:
        return True
    for suite, name in _declared_servers(door):
        settings = suite.servers[name]
        auth = settings.get("auth") or {}
        if auth.get("bearer_token_env") == variable and _origin(str(settings.get("url", ""))) == _origin(url):
            return True
    from mcptest_engine.servers.agent_configs import find_agent_servers

    found = find_agent_servers(door.workspace.root, door.environ).servers
    own = [server for server in found if is_own_file(door.workspace.root, Path(server.source_path))]
    return any(variable in one.header_variables and _origin(one.target.get("url", "")) == _origin(url) for one in own)


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    """Scheme, host and port; None for text that is no URL with a host. Source: RFC 6454, 4."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None
