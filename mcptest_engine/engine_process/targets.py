"""The server that a screen names: one of a suite, a command, or a URL."""

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
    """How to reach the server, and the redactor for its secrets.

    `shown` is the command or URL of a suite's server on one line, without secrets.
    """

    spec: ServerSpec
    redactor: Redactor
    shown: str = ""


def target_of(told: Mapping[str, object], surroundings: Surroundings, *, name: str) -> Target:
    """The server that is told: {"suite", "server"}, {"command", "env"?, "cwd"?}, {"url", "bearer_token_env"?} or {"found"}.

    With "command" and "url", and "ready" as in a suite, a program is started that serves HTTP.
    `name` is what one that has none of its own goes by. Raises: Refused when it names none, or one that cannot be.
    """
    if "suite" in told:
        return _of_suite(told, surroundings)
    settings = _settings(told, surroundings)
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


def _of_suite(told: Mapping[str, object], surroundings: Surroundings) -> Target:
    from mcptest_engine.core.errors import SuiteError, did_you_mean
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.running.documents import server_item
    from mcptest_engine.running.launch import server_specs
    from mcptest_engine.running.settings import RunSettings

    suite = surroundings.load(surroundings.absolute(str(told["suite"])))
    server = str(told.get("server") or next(iter(suite.servers), ""))
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


def _settings(told: Mapping[str, Any], surroundings: Surroundings) -> dict[str, Any]:
    if "found" in told:
        from mcptest_engine.engine_process.found import found_settings

        start_dir, environ = surroundings.start_dir, surroundings.environ
        return found_settings(str(told["found"]), start_dir, environ, agreed=told.get("agreed"))
    from mcptest_engine.suite.secrets import USERINFO_HINT, USERINFO_MESSAGE, has_userinfo

    url, command = told.get("url"), told.get("command")
    if url is None and command is None:
        raise Refused("a server is a suite's, a command or a URL: name one")
    over_http: dict[str, Any] = {}
    if url is not None:
        if has_userinfo(str(url)):
            raise Refused(USERINFO_MESSAGE, hint=USERINFO_HINT)
        if not str(url).startswith(("http://", "https://")):
            raise Refused("a server's URL begins with http:// or https://")
        token = told.get("bearer_token_env")
        over_http = {"url": str(url), **({"auth": {"bearer_token_env": str(token)}} if token else {})}
        over_http |= {"ready": told["ready"]} if told.get("ready") else {}
        if command is None:
            return over_http
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command or ()]
    except ValueError as wrong:
        raise Refused(f"the command cannot be split: {wrong}", hint="quote it as for a shell") from None
    if not words:
        raise Refused("the command is empty")
    settings: dict[str, Any] = {"command": words, **over_http, "env": dict(told.get("env") or {})}
    return {**settings, "cwd": str(told["cwd"])} if told.get("cwd") else settings


def _typed_secrets(settings: Mapping[str, Any]) -> Iterator[str]:
    """The values of secret-looking flags in a command, and of such names in a URL."""
    from urllib.parse import parse_qsl, urlsplit

    from mcptest_engine.core.secret_names import is_secret_name
    from mcptest_engine.suite.secrets import secrets_in_command

    yield from secrets_in_command(settings.get("command", ()))
    given = parse_qsl(urlsplit(settings.get("url", "")).query)
    yield from (value for name, value in given if is_secret_name(name))


def _refused(wrong: Any) -> Refused:
    first = wrong.problems[0]
    return Refused(first.message, hint=first.hint, kind="suite")
