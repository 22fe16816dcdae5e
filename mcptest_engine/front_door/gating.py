"""Which server a verb may talk to. A raw argv would make reading a way to run programs, so it needs leave.

A `command` runs only with `--enable-writes`, or when exactly this argv is declared under `servers:` of the workspace's
`mcptest.yml`; then it runs with the environment declared there, and any other `env` is refused. The variable of a token
has to be meant for the server: declared for its origin in the workspace, allowed by who started mcptest, or named `MCP_…` or
`MCPTEST_…`.
Source: agent-interface, "Command targets are gated"; decisions 14, Front door.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcptest_engine.authoring.targets import Target, declared_env, declared_url, declared_words, untemplated
from mcptest_engine.core.errors import PolicyDenied, SuiteError, UsageError
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.front_door.inside import own_suites
from mcptest_engine.servers.auth import shown_url
from mcptest_engine.servers.spec import spec_from_settings
from mcptest_engine.suite.secrets import has_userinfo, secret_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest_engine.front_door.door import Door
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.suite.load import LoadedSuite

_LONGEST_WORD = 200
_MOST_WORDS = 20

_OWN_PREFIXES = ("MCP_", "MCPTEST_")
"""How the names of variables begin that are meant for MCP servers, and for nothing else."""


def target_of(door: Door, arguments: Mapping[str, Any]) -> tuple[ServerSpec, Target]:
    """The server that `url` or `command` names, ready to be connected to, and as a suite declares it.

    Raises: UsageError unless exactly one is named, PolicyDenied for a command without leave, or a token that is not to be sent.
    """
    url, command = arguments.get("url"), arguments.get("command")
    if (url is None) == (command is None):
        told = "both `url` and `command` are given" if url is not None else "neither `url` nor `command` is given"
        raise UsageError(told, hint='name one server: {"url": "https://…"} or {"command": ["node", "server.js"]}')
    if url is not None:
        return _of_url(door, url, arguments)
    if arguments.get("bearer_token_env") is not None:
        raise UsageError("`bearer_token_env` goes with `url`", hint="a command gets its environment from `env`")
    return _of_command(door, [str(word) for word in command or ()], arguments.get("env"))


def _of_url(door: Door, url: str, arguments: Mapping[str, Any]) -> tuple[ServerSpec, Target]:
    if arguments.get("env"):
        raise UsageError("`env` goes with `command`", hint="a URL takes `bearer_token_env`")
    if has_userinfo(url):
        raise UsageError("`url` must not hold a user name or password", hint="use `bearer_token_env`")
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"`url` is no http or https URL: {shown_url(url)}")
    settings: dict[str, Any] = {"url": url}
    variable = arguments.get("bearer_token_env")
    if variable is not None:
        if not _may_send(door, variable, url):
            raise PolicyDenied(
                f"the environment variable `{variable}` is not sent to {shown_url(url)}: nothing says that it is meant for it",
                hint=f"start the server with `mcptest mcp-server --allow-env {variable}`, have a server of this origin in "
                f"mcptest.yml declare `auth: {{ bearer_token_env: {variable} }}`, or use a variable whose name begins "
                "with MCP_ or MCPTEST_",
            )
        settings["auth"] = {"bearer_token_env": variable}
    secrets: dict[str, str] = {}
    written = declared_url(url, secrets)
    return _spec(door, settings, secrets.values()), Target(settings={**settings, "url": written})


def _of_command(door: Door, argv: list[str], env: Mapping[str, str] | None) -> tuple[ServerSpec, Target]:
    if door.writes_enabled:
        settings: dict[str, Any] = {"command": argv, **({"env": dict(env)} if env else {})}
        secrets: dict[str, str] = {}
        written: dict[str, Any] = {**settings, **({"env": declared_env(env, secrets)} if env else {})}
        written["command"] = declared_words(argv, secrets)
        return _spec(door, settings, secrets.values()), Target(settings=written)
    declared = [(suite, name) for suite, name in _declared_servers(door) if suite.servers[name].get("command") == argv]
    if not declared:
        shown = json.dumps([word[:_LONGEST_WORD] for word in argv[:_MOST_WORDS]], ensure_ascii=False)
        raise PolicyDenied(
            f"the command {shown} is not run: this front door was started read-only",
            hint="either start it with --enable-writes, or declare exactly this argv under `servers:` in the "
            "workspace's mcptest.yml",
        )
    alike = [(suite, name) for suite, name in declared if not env or dict(env) == _env_of(suite, name)]
    if not alike:
        raise PolicyDenied(
            "`env` differs from what mcptest.yml declares for this command, so it is not run",
            hint="leave `env` out: the declared one is used; or start the front door with --enable-writes",
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
        redact=redactor.redact_text,
        redact_known=redactor.redact_registered,
        keep_secret=redactor.register,
    )
    secrets = {}
    own = declared_env(_env_of(suite, name), secrets)
    return spec, Target(
        settings={"command": declared_words(argv, secrets), **({"env": own} if own else {}), **_cwd_of(suite, name)}
    )


def _cwd_of(suite: LoadedSuite, name: str) -> dict[str, str]:
    cwd = suite.servers[name].get("cwd")
    return {"cwd": untemplated(str(cwd))} if cwd else {}


def _env_of(suite: LoadedSuite, name: str) -> dict[str, str]:
    return {str(key): str(value) for key, value in (suite.servers[name].get("env") or {}).items()}


def _spec(door: Door, settings: Mapping[str, Any], given: Iterable[str]) -> ServerSpec:
    """The spec of a server that the caller named; `given` are secrets that stand in its command or URL."""
    secrets = Redactor((*secret_values({"target": settings}, {}, {}, door.environ), *given))
    return spec_from_settings(
        "target",
        settings,
        suite_env={},
        environ=door.environ,
        redact=secrets.redact_text,
        redact_known=secrets.redact_registered,
        keep_secret=secrets.register,
    )


def _declared_servers(door: Door) -> Iterator[tuple[LoadedSuite, str]]:
    """The servers of the workspace's own suite. Raises: PolicyDenied for one that does not load, or is not here."""
    from mcptest_engine.suite.load import LoadOptions, load_suite

    options = LoadOptions(environ=door.environ, workspace_root=door.workspace.root, start_dir=door.workspace.root)
    for path in own_suites(door.workspace.root):
        try:
            suite = load_suite(path, options)
        except SuiteError as broken:
            raise PolicyDenied(
                f"{path.name} does not load, so it declares no server: {broken.problems[0].message}",
                hint="mend it first",
            ) from None
        for name in suite.servers:
            yield suite, name


def _may_send(door: Door, variable: str, url: str) -> bool:
    """Whether a caller may have the value of this variable sent to the URL's origin as a token. Raises: PolicyDenied."""
    if variable.startswith(_OWN_PREFIXES) or variable in door.allowed_env:
        return True
    for suite, name in _declared_servers(door):
        settings = suite.servers[name]
        auth = settings.get("auth") or {}
        if auth.get("bearer_token_env") == variable and _origin(str(settings.get("url", ""))) == _origin(url):
            return True
    return False


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    """Scheme, host and port, or None for what is no URL with a host. Source: RFC 6454, 4."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None
