"""Find the server that the workbench describes: one of a suite, a command, a URL, or one in a coding agent's settings."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.engine_process.protocol import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.engine_process.surroundings import Surroundings
    from mcptest_engine.servers.spec import ServerSpec


class Target(NamedTuple):
    """How to start or reach a server, and the redactor for its secrets.

    `shown` is the command or URL of a suite's server on one line, without secrets; "" for another server.
    """

    spec: ServerSpec
    redactor: Redactor
    shown: str = ""


def target_of(description: Mapping[str, object], surroundings: Surroundings, *, name: str) -> Target:
    """Find the server of a description, which has one of these forms:

    {"suite", "server"?}, {"command", "env"?, "cwd"?}, {"url", "bearer_token_env"?} or {"found", "agreed"?}, the key of a server
    in a coding agent's settings. With both "command" and "url", and "ready"? as in a suite, the command starts an HTTP server.

    `name` is the name of a server outside a suite. Raises: Refused for a description without a server, or with a wrong one.
    """
    if "suite" in description:
        return _of_suite(description, surroundings)
    settings = _settings(description, surroundings)
    from mcptest_engine.core.errors import SuiteError
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.servers.spec import spec_from_settings
    from mcptest_engine.suite.secrets import secret_values

    environ = surroundings.environ
    redactor = Redactor((*secret_values({name: settings}, {}, {}, environ), *_typed_secrets(settings)))
    try:
        spec = spec_from_settings(
            name,
            settings,
            suite_env={},
            environ=environ,
            redactor=redactor,
        )
    except SuiteError as wrong:
        raise _refused(wrong) from None
    return Target(spec, redactor)


def _of_suite(description: Mapping[str, object], surroundings: Surroundings) -> Target:
    from mcptest_engine.core.errors import SuiteError, did_you_mean
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.running.documents import server_item
    from mcptest_engine.running.launch import server_specs
    from mcptest_engine.running.settings import RunSettings

    suite = surroundings.load(surroundings.absolute(str(description["suite"])))
    server = str(description.get("server") or next(iter(suite.servers), ""))
    if server not in suite.servers:
        raise Refused(f"the suite has no server `{server}`", hint=did_you_mean(server, suite.servers), kind="gone")
    redactor = Redactor(suite.secrets)
    try:
        specs = server_specs(
            suite,
            RunSettings(environ=surroundings.environ),
            redact=redactor.redact_text,
            keep_secret=redactor.register,
        )
    except SuiteError as wrong:
        raise _refused(wrong) from None
    item = server_item(server, suite.servers[server], start_dir=surroundings.start_dir, secrets=suite.secrets)
    return Target(specs[server], redactor, item.target)


def _settings(description: Mapping[str, Any], surroundings: Surroundings) -> dict[str, Any]:
    if "found" in description:
        from mcptest_engine.engine_process.found import found_settings

        start_dir, environ = surroundings.start_dir, surroundings.environ
        return found_settings(str(description["found"]), start_dir, environ, agreed=description.get("agreed"))
    from mcptest_engine.suite.secrets import USERINFO_HINT, USERINFO_MESSAGE, has_userinfo

    url, command = description.get("url"), description.get("command")
    if url is None and command is None:
        raise Refused("a server is a suite's, a command or a URL: name one")
    over_http: dict[str, Any] = {}
    if url is not None:
        if has_userinfo(str(url)):
            raise Refused(USERINFO_MESSAGE, hint=USERINFO_HINT)
        if not str(url).startswith(("http://", "https://")):
            raise Refused("a server's URL begins with http:// or https://")
        token = description.get("bearer_token_env")
        over_http = {"url": str(url), **({"auth": {"bearer_token_env": str(token)}} if token else {})}
        over_http |= {"ready": description["ready"]} if description.get("ready") else {}
        if command is None:
            return over_http
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command or ()]
    except ValueError as wrong:
        raise Refused(f"the command cannot be split: {wrong}", hint="quote it as for a shell") from None
    if not words:
        raise Refused("the command is empty")
    settings: dict[str, Any] = {"command": words, **over_http, "env": dict(description.get("env") or {})}
    return {**settings, "cwd": str(description["cwd"])} if description.get("cwd") else settings


def _typed_secrets(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the secrets in a command's flags, and the values of query parameters of a URL with secret-looking names."""
    from urllib.parse import parse_qsl, urlsplit

    from mcptest_engine.core.secret_names import is_secret_name
    from mcptest_engine.suite.secrets import secrets_in_command

    yield from secrets_in_command(settings.get("command", ()))
    given = parse_qsl(urlsplit(settings.get("url", "")).query)
    yield from (value for name, value in given if is_secret_name(name))


def _refused(wrong: Any) -> Refused:
    first = wrong.problems[0]
    return Refused(first.message, hint=first.hint, kind="suite")
