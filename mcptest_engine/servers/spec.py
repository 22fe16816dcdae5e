"""Everything needed to reach one server: argv or URL, the complete child environment, headers, times.

`ServerSpec` is complete: nothing below it reads the environment or the suite. A command whose first word is `mcptest` means the
mcptest that is running, not the one on PATH, so that a suite's mock server is always of the same version as its runner.
"""

from __future__ import annotations

import json
import sys
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from mcptest_engine.core.errors import Problem, SuiteError
from mcptest_engine.core.text import pointer, seconds_of
from mcptest_engine.core.values import dataclass
from mcptest_engine.servers.wire import as_it_is

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.core.redaction import Redactor

ALWAYS_PASSED = frozenset({"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"})
"""The variables that every server gets, besides LC_*; the suite names all others."""

DEFAULT_MAX_MESSAGE_BYTES = 256 * 1024 * 1024

_BOOTSTRAP = "import sys; sys.path.insert(0, {root!r}); from mcptest_tui.__main__ import main; sys.exit(main())"


class HttpOptions(NamedTuple):
    """How to talk to an HTTP server.

    `timeout_seconds` limits one exchange from its first byte sent to its last byte received; None leaves that to the call's own
    time. `connect_timeout_seconds` limits one connection. `verify` is True for the system's certificates, False for none, or
    the path of a file or directory of trusted authorities. `proxy` is the URL of an HTTP proxy.
    """

    timeout_seconds: float | None = None
    connect_timeout_seconds: float | None = None
    verify: bool | str = True
    proxy: str | None = None


DEFAULT_HTTP = HttpOptions()


class Readiness(NamedTuple):
    """How long to wait for a server that is still starting.

    `url` answers with 2xx once it is ready; None: its port accepts connections. Of a program that mcptest starts, a `path` of
    its own URL answers so, another `port` accepts connections, or its output contains a text; at most one of these is set.
    """

    timeout_seconds: float
    url: str | None = None
    path: str | None = None
    port: int | None = None
    output: str | None = None


DEFAULT_READINESS_SECONDS = 60.0


DEFAULT_GRACE_SECONDS = 2.0
"""How long a server may run after the end of its stdin before it is ended, and counts as outliving it."""
_NO_OPTIONS: Mapping[str, object] = {}


def _ignore_secret(secret: str) -> None:
    """Ignore a secret, for a spec whose user shows nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One server, ready to be connected to: a `command` for stdio, a `url`, or both for a program that serves HTTP at `url`.

    `ready` says when such a program can be used, None when its port takes connections. Sessions with the same `programs` share
    it; without, each session has its own.

    `env` is the whole environment of the child, `cwd` None is the directory mcptest was started in. `headers` holds what goes
    with every HTTP request, the bearer token included; `secret_headers` names (lower case) those that go only to https or
    loopback. `auth` is "none", "bearer", "oauth" or "headers". `bearer_token_env` is the variable for the token, also when it
    is empty. `oauth` holds the suite's `auth.oauth` with `client_secret` looked up, else None. `protocol` is the revision to
    offer, "auto" for a probe, None for the newest handshake revision. `client` is what this client declares and answers, as the
    suite's `client:` has it. `withheld` names the variables that are set here and were not passed on, for hints. `config_dir`
    is the suite's directory, for hints. `redact` removes secrets from a text before it is cut; texts that are not cut are left
    to the caller. `redact_known` removes only registered secrets from a value that is shown as the server sent it.
    `keep_secret` registers each token that is obtained during the run, so that `redact` removes it from everything that the run
    shows.

    `validity` is the effect of an invalid result, and `hygiene` that of misbehaviour beside the answers: "fail", "warn" or
    "off". `reads_catalog`: the run lists its tools and prompts. `is_strict`: warnings are failures.
    """

    name: str
    command: tuple[str, ...] | None = None
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    http: HttpOptions = DEFAULT_HTTP
    wait_for_ready: Readiness | None = None
    ready: Readiness | None = None
    programs: Any = field(default=None, repr=False, compare=False)  # `program.Programs`, whose module imports this one
    oauth: Mapping[str, object] | None = field(default=None, repr=False)
    client: JsonMapping = field(default_factory=dict)
    protocol: str | None = None
    timeout_seconds: float = 30.0
    connect_timeout_seconds: float = 15.0
    grace_seconds: float = DEFAULT_GRACE_SECONDS
    auth: str = "none"
    bearer_token_env: str | None = None
    secret_headers: frozenset[str] = frozenset()
    withheld: frozenset[str] = field(default=frozenset(), repr=False)
    config_dir: str | None = None
    validity: str = "fail"
    hygiene: str = "warn"
    reads_catalog: bool = True
    is_strict: bool = False
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    redact: Callable[[str], str] = field(default=as_it_is, repr=False, compare=False)
    redact_known: Callable[[Any], Any] = field(default=as_it_is, repr=False, compare=False)
    keep_secret: Callable[[str], None] = field(default=_ignore_secret, repr=False, compare=False)

    @property
    def has_fixed_port(self) -> bool:
        """Whether it is a program with a fixed port, so that only one can run at a time."""
        return self.command is not None and self.url is not None and urlsplit(self.url).port != 0


def spec_from_settings(
    name: str,
    settings: JsonMapping,
    *,
    suite_env: JsonMapping,
    environ: Mapping[str, str],
    lookups: Mapping[str, str] | None = None,
    config_dir: Path | str | None = None,
    wait_for_ready_seconds: float | None = None,
    run_options: JsonMapping = _NO_OPTIONS,
    is_strict: bool = False,
    redactor: Redactor | None = None,
) -> ServerSpec:
    """The spec of the server that a suite declares as `settings` (validated, templates expanded).

    `wait_for_ready_seconds` is the command line's, over the suite's, and holds for a URL. `environ` is what the child may
    inherit from; `lookups` is where tokens and headers are looked up, `environ` when None (a suite's `.env` feeds look-ups and
    never a server). `run_options` are the suite's, for settings that the server does not have. `redactor` removes secrets from
    the server's texts; without one nothing is removed.

    Raises: SuiteError when a header names a variable that is not set.
    """
    lookups = environ if lookups is None else lookups
    headers, secret = _headers(name, settings, lookups)
    auth = settings.get("auth") or {}
    token_env = auth.get("bearer_token_env")
    oauth = _oauth(auth.get("oauth"), lookups)
    if token_env and lookups.get(token_env):
        headers = {key: value for key, value in headers.items() if key.lower() != "authorization"}
        headers["Authorization"] = f"Bearer {lookups[token_env]}"
        secret |= {"authorization"}
    env = child_environment(settings, suite_env=suite_env, environ=environ)
    command, is_program = settings.get("command"), is_http_program(settings)
    options = {**run_options, **settings}
    connect_timeout_seconds = _seconds(options, "connect_timeout_ms", 15.0)
    return ServerSpec(
        name=name,
        command=own_command(tuple(str(word) for word in command)) if command else None,
        url=settings.get("url"),
        env=env,
        cwd=settings.get("cwd"),
        headers=headers,
        http=_http_options(settings.get("http") or {}),
        wait_for_ready=None if is_program else _readiness(settings, wait_for_ready_seconds),
        ready=_program_readiness(settings, wait_for_ready_seconds or connect_timeout_seconds) if is_program else None,
        oauth=oauth,
        client=settings.get("client") or {},
        protocol=settings.get("protocol"),
        timeout_seconds=_seconds(settings, "timeout_ms", 30.0),
        connect_timeout_seconds=connect_timeout_seconds,
        grace_seconds=_seconds(settings, "shutdown_grace_ms", DEFAULT_GRACE_SECONDS),
        auth="bearer" if token_env else "oauth" if oauth is not None else "headers" if headers else "none",
        bearer_token_env=token_env,
        secret_headers=secret,
        withheld=frozenset(environ) - frozenset(env),
        config_dir=None if config_dir is None else str(config_dir),
        validity=_gate(options, "validity", "fail", is_strict=is_strict),
        hygiene=_gate(options, "hygiene", "warn", is_strict=is_strict),
        reads_catalog=options.get("catalog") != "off",
        is_strict=is_strict,
        redact=as_it_is if redactor is None else redactor.redact_text,
        redact_known=as_it_is if redactor is None else redactor.redact_registered,
        keep_secret=_ignore_secret if redactor is None else redactor.register,
    )


def is_http_program(settings: Mapping[str, object]) -> bool:
    """Whether mcptest starts the server and talks to it over HTTP."""
    return bool(settings.get("command")) and settings.get("url") is not None


def child_environment(settings: JsonMapping, *, suite_env: JsonMapping, environ: Mapping[str, str]) -> dict[str, str]:
    """The allowlist, then `inherit_env`, the suite's `env:` and the server's own; later ones override earlier ones."""
    inherit = settings.get("inherit_env", False)
    named = frozenset(inherit) if isinstance(inherit, list | tuple) else frozenset()
    env = {
        key: value
        for key, value in environ.items()
        if inherit is True or key in ALWAYS_PASSED or key in named or key.startswith("LC_")
    }
    for source in (suite_env, settings.get("env") or {}):
        env.update((str(key), value if isinstance(value, str) else json.dumps(value)) for key, value in source.items())
    return env


def own_command(command: tuple[str, ...]) -> tuple[str, ...]:
    """Replace a leading `mcptest` of `command` by the argv of the running mcptest.

    `-P` keeps the working directory off the module path, where a stray `json.py` would be imported. In a checkout, the package
    is found by its path; an installed one is left to the interpreter, so that nothing precedes its own library.
    """
    if not command or command[0] != "mcptest":
        return command
    root = Path(__file__).resolve().parents[2]
    if str(root) in _site_directories():
        return (sys.executable, "-P", "-m", "mcptest_tui", *command[1:])
    return (sys.executable, "-P", "-c", _BOOTSTRAP.format(root=str(root)), *command[1:])


def is_own(command: tuple[str, ...]) -> bool:
    """Whether `command` came from `own_command`."""
    return command[:2] == own_command(("mcptest",))[:2]


def _site_directories() -> frozenset[str]:
    import site

    found = [*site.getsitepackages(), site.getusersitepackages()]
    return frozenset(str(Path(folder).resolve()) for folder in found)


def _http_options(settings: JsonMapping) -> HttpOptions:
    timeout, connect = settings.get("timeout"), settings.get("connect_timeout")
    return HttpOptions(
        timeout_seconds=None if timeout is None else seconds_of(timeout),
        connect_timeout_seconds=None if connect is None else seconds_of(connect),
        verify=settings.get("verify", True),
        proxy=settings.get("proxy"),
    )


def _readiness(settings: JsonMapping, asked_seconds: float | None) -> Readiness | None:
    """Read a duration, a URL, or a mapping of both; only a server with a URL can be waited for."""
    if settings.get("url") is None:
        return None
    declared = settings.get("wait_for_ready")
    if declared is None:
        return None if asked_seconds is None else Readiness(asked_seconds)
    if isinstance(declared, dict):
        timeout = declared.get("timeout")
        ready = Readiness(DEFAULT_READINESS_SECONDS if timeout is None else seconds_of(timeout), declared.get("url"))
    elif "://" in declared:
        ready = Readiness(DEFAULT_READINESS_SECONDS, declared)
    else:
        ready = Readiness(seconds_of(declared))
    return ready if asked_seconds is None else ready._replace(timeout_seconds=asked_seconds)


def _program_readiness(settings: JsonMapping, default_seconds: float) -> Readiness:
    """Read `ready`: a path, a port, or a mapping with one of them or a text of the output."""
    declared = settings.get("ready")
    if isinstance(declared, str):
        declared = {"path": declared}
    elif isinstance(declared, int):
        declared = {"port": declared}
    declared = dict(declared or {})
    timeout = declared.pop("timeout", None)
    return Readiness(default_seconds if timeout is None else seconds_of(timeout), **declared)


def _oauth(settings: JsonMapping | None, lookups: Mapping[str, str]) -> JsonDict | None:
    """Read the suite's `auth.oauth`, and look up the client's secret; "" when its variable is not set."""
    if settings is None:
        return None
    variable = settings.get("client_secret_env")
    return {**settings, **({} if variable is None else {"client_secret": lookups.get(variable, "")})}


def _headers(name: str, settings: JsonMapping, environ: Mapping[str, str]) -> tuple[dict[str, str], frozenset[str]]:
    headers: dict[str, str] = {}
    secret = {"authorization", "cookie", "proxy-authorization"}
    problems = []
    for header, value in (settings.get("headers") or {}).items():
        if not isinstance(value, dict):
            headers[header] = str(value)
            continue
        variable = value["env"]
        if not environ.get(variable):
            problems.append(_unset_header(name, header, variable))
            continue
        headers[header] = environ[variable]
        secret.add(header.lower())
    if problems:
        raise SuiteError(problems)
    return headers, frozenset(secret & {header.lower() for header in headers})


def _unset_header(name: str, header: str, variable: str) -> Problem:
    return Problem(
        message=f"env var `{variable}`, which holds the header `{header}` of server `{name}`, is not set or is empty",
        pointer=pointer(("servers", name, "headers", header, "env")),
        hint=f"export a value into `{variable}`",
    )


def _gate(options: JsonMapping, key: str, default: str, *, is_strict: bool) -> str:
    """An option of "fail", "warn" or "off"; `--strict` turns "warn" into "fail"."""
    gate: str = options.get(key) or default
    return "fail" if is_strict and gate == "warn" else gate


def _seconds(settings: JsonMapping, key: str, default: float) -> float:
    value = settings.get(key)
    return default if value is None else float(value) / 1000
