"""The server for which `init` writes a suite: how to reach it now, and how the suite declares it, without secrets.

The two differ where a secret is: its value is used now, and the suite names a variable for it.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.cli.target import declared_target, given_env
from mcptest_engine.core.errors import SuiteError, UsageError, did_you_mean
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.authoring.targets import Target
    from mcptest_engine.cli.start_commands import StartCommand
    from mcptest_engine.servers.agent_configs import FoundServer
    from mcptest_engine.servers.server_files import ServerFile
    from mcptest_engine.servers.spec import ServerSpec

_MOST_OFFERED = 9
_SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})
_NO_FLAGS: dict[str, object] = {
    "url": None,
    "argv": None,
    "bearer_token_env": None,
    "env": (),
    "protocol": None,
    "server": None,
    "config": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A server. `settings` reach it now; `target` is what the suite declares, with the variables of `secrets` for values."""

    settings: Mapping[str, Any] = field(repr=False)
    target: Target
    notes: tuple[str, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def url(self) -> str | None:
        """Its URL, None for a command."""
        return self.settings.get("url")

    def spec(self, connect_timeout_seconds: float | None) -> ServerSpec:
        """The spec to reach it now. Raises: UsageError when a variable that it names is not set."""
        from mcptest_engine.core.redaction import Redactor
        from mcptest_engine.servers.spec import spec_from_settings
        from mcptest_engine.suite.secrets import secret_values

        environ = {**os.environ, **self.secrets}
        redactor = Redactor((*secret_values({"target": self.settings}, {}, {}, environ), *self.secrets.values()))
        try:
            spec = spec_from_settings(
                self.target.key,
                self.settings,
                suite_env={},
                environ=environ,
                redactor=redactor,
            )
        except SuiteError as wrong:
            problem = wrong.problems[0]
            raise UsageError(problem.message, hint=problem.hint) from None
        if connect_timeout_seconds is not None:
            spec = replace(
                spec, connect_timeout_seconds=connect_timeout_seconds, timeout_seconds=connect_timeout_seconds
            )
        return spec

    def with_token(self, variable: str) -> Chosen:
        """The same server with a bearer token from a variable."""
        auth = {"auth": {"bearer_token_env": variable}}
        return replace(
            self,
            settings={**self.settings, **auth},
            target=replace(self.target, settings={**self.target.settings, **auth}),
        )

    def doctor(self, redact: Any) -> str:
        """The command that diagnoses it; the reader must fill in secrets."""
        from mcptest_engine.core.secret_names import is_secret_name
        from mcptest_engine.servers.urls import shown_url

        words = ["mcptest", "doctor"]
        if self.url is not None:
            words += ["--url", redact(shown_url(self.url))]
            variable = (self.settings.get("auth") or {}).get("bearer_token_env")
            words += ["--bearer-token-env", variable] if variable else []
        if "command" in self.settings:
            words += ["--command", redact(shlex.join(self.settings["command"]))]
            for name, value in (self.settings.get("env") or {}).items():
                words += ["--env", f"{name}=…" if is_secret_name(name) else f"{name}={redact(value)}"]
        return shlex.join(words)


def chosen_by_flags(flags: Mapping[str, Any]) -> Chosen | None:
    """The server that the flags name; None when they name none. Raises: UsageError."""
    check_flags(flags)
    if flags["from_config"] is not None:
        return _with_extras(_of_agent(_agent_server(flags["from_config"])), flags)
    if flags["url"] is None and flags["argv"] is None:
        return None
    return _with_extras(_typed({**_NO_FLAGS, **{key: flags[key] for key in _NO_FLAGS if key in flags}}), flags)


def parse_choice(text: str, offers: Sequence[FoundServer | StartCommand]) -> Chosen:
    """Read what a person typed: the number of a candidate, a URL, or a command. Raises: UsageError."""
    from mcptest_engine.cli.start_commands import StartCommand

    if text.isdecimal():
        number = int(text)
        if not 1 <= number <= len(offers):
            raise UsageError(f"there is no number {number}")
        offer = offers[number - 1]
        if isinstance(offer, StartCommand):
            return _typed({**_NO_FLAGS, "argv": offer.shown})
        return _of_agent(offer)
    return _typed({**_NO_FLAGS, **({"url": text} if "://" in text else {"argv": text})})


def find_candidates(folder: Path) -> tuple[FoundServer | StartCommand, ...]:
    """The likely servers: those in the settings of coding agents, and commands that may start the one in this folder."""
    from mcptest_engine.cli.start_commands import start_commands

    found: list[FoundServer | StartCommand] = [server for server in agent_servers(folder) if server.enabled]
    argvs = {server.argv for server in agent_servers(folder)}
    found += [command for command in start_commands(folder) if command.argv not in argvs]
    return tuple(found[:_MOST_OFFERED])


def agent_servers(folder: Path) -> tuple[FoundServer, ...]:
    """The servers in the settings of coding agents, except mcptest itself."""
    from mcptest_engine.servers.agent_configs import find_agent_servers

    found = find_agent_servers(folder, os.environ).servers
    return tuple(
        server for server in found if not {"mcptest", "mcp-server"} <= {Path(word).name for word in server.words}
    )


def check_flags(flags: Mapping[str, object]) -> None:
    ways = [
        name
        for name, key in (
            ("--url", "url"),
            ("--command", "argv"),
            ("--from-config", "from_config"),
            ("--all-from", "all_from"),
        )
        if flags[key] is not None
    ]
    if len(ways) > 1 and ways != ["--url", "--command"]:
        raise UsageError(f"both {ways[0]} and {ways[1]} are given", hint="a suite is written for one server")
    over_http = flags["url"] is not None or flags["from_config"] is not None
    for key in ("bearer_token_env", "auth", "auth_env", "header_name", "header_env", "wait_for_ready"):
        if flags[key] is not None and not over_http:
            raise UsageError(f"--{key.replace('_', '-')} requires --url")
    if flags["env"] and flags["argv"] is None:
        raise UsageError("--env requires --command")
    kind = flags["auth"]
    if (flags["auth_env"] is not None) != (kind == "bearer"):
        raise UsageError("--auth bearer and --auth-env NAME go together", hint="or use --bearer-token-env NAME")
    if flags["auth_env"] is not None and flags["bearer_token_env"] is not None:
        raise UsageError("--auth-env and --bearer-token-env mean the same", hint="give one")
    header = (flags["header_name"], flags["header_env"])
    if (kind == "custom-header") != all(header) or (kind != "custom-header" and any(header)):
        raise UsageError("--auth custom-header, --header-name H and --header-env NAME need each other")
    if kind not in (None, "bearer") and flags["bearer_token_env"] is not None:
        raise UsageError(f"--auth {kind} and --bearer-token-env are two ways to log in", hint="give one")


def _with_extras(chosen: Chosen, flags: Mapping[str, Any]) -> Chosen:
    """Add the flags that only `init` has: other ways to log in, and waiting for a server."""
    more: dict[str, Any] = {}
    variable = flags["auth_env"] or flags["bearer_token_env"]
    if variable is not None:
        more["auth"] = {"bearer_token_env": variable}
    if flags["header_name"] is not None:
        more["headers"] = {flags["header_name"]: {"env": flags["header_env"]}}
    if flags["wait_for_ready"] is not None:
        waited = _duration(flags["wait_for_ready"])
        more |= {"ready": {"timeout": waited}} if "command" in chosen.settings else {"wait_for_ready": waited}
    if more and chosen.url is None:
        raise UsageError("the server of --from-config is a command: it has no options of HTTP")
    return replace(
        chosen,
        settings={**chosen.settings, **more},
        target=replace(chosen.target, settings={**chosen.target.settings, **more}),
    )


def _duration(text: str) -> str:
    from mcptest_engine.core.text import seconds_of

    try:
        seconds_of(text)
    except ValueError as wrong:
        raise UsageError(f"--wait-for-ready: {wrong}", hint="for example: --wait-for-ready 60s") from None
    return text


def _typed(flags: Mapping[str, Any]) -> Chosen:
    target, notes, secrets = declared_target(flags)
    env = given_env(flags).values
    settings: dict[str, Any] = dict(target.settings)
    if flags["argv"] is not None:
        settings["command"] = shlex.split(flags["argv"])
        settings.pop("env", None)
        settings |= {"env": env} if env else {}
    if flags["url"] is not None:
        settings["url"] = flags["url"]
    return Chosen(settings=settings, target=target, notes=notes, secrets=secrets)


# --- from a file


def file_of(text: str) -> tuple[Path, str] | None:
    """Split `FILE` or `FILE#NAME`; None for a name alone. Raises: UsageError for a missing file."""
    path, _, name = text.partition("#")
    if Path(path).is_file():
        return Path(path), name
    if "/" in path or Path(path).suffix in (".json", ".jsonc", ".toml", ".mcpb"):
        raise UsageError(f"there is no file `{path}`")
    return None


def server_in_file(found: ServerFile, path: Path, name: str) -> FoundServer:
    """The server of that name; for "" the only one. Raises: UsageError."""
    known = {server.name: server for server in found.servers}
    names = ", ".join(f"`{one}`" for one in list(known)[:20])
    if not known:
        raise UsageError(f"`{path}` names no server that can be started", hint="; ".join(found.problems[:5]) or None)
    if not name and len(known) > 1:
        hint = f"name one with `{path}#NAME`, or take all with --all-from: {names}"
        raise UsageError(f"`{path}` names several servers", hint=hint)
    if name and name not in known:
        raise UsageError(f"`{path}` names no server `{name}`", hint=did_you_mean(name, known) or f"there are {names}")
    return known[name] if name else next(iter(known.values()))


def chosen_in_file(server: FoundServer, path: Path, flags: Mapping[str, object]) -> Chosen:
    """Translate a server of a file to a suite's keys. Raises: UsageError when a required value is missing."""
    if server.missing:
        names = ", ".join(f"`{name}`" for name in server.missing)
        raise UsageError(
            f"`{server.name}` in `{path}` needs a value for {names}", hint=f"give it: --input {server.missing[0]}=VALUE"
        )
    return _with_extras(_of_agent(server), flags)


def local_remarks(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The parts of a server's declaration that work on this machine only."""
    from urllib.parse import urlsplit

    from mcptest_engine.servers.urls import is_loopback, shown_url

    found = []
    url = settings.get("url")
    if url is not None and "command" not in settings and is_loopback(urlsplit(url).hostname or ""):
        found.append(
            f"{shown_url(url)} is on this machine: elsewhere, such as in CI, add `command`, which starts the server"
        )
    command = settings.get("command", ())
    argv = command.split() if isinstance(command, str) else command
    words = [*argv, settings.get("cwd") or "", *(settings.get("env") or {}).values()]
    local = [
        word
        for word in dict.fromkeys(map(str, words))
        if word.startswith("/") and word.rstrip("/") not in ("", "/tmp") and not word.startswith(_EVERYWHERE)  # noqa: S108
    ]
    if local:
        paths = ", ".join(local[:3])
        found.append(f"{paths}: a path of this machine; `${{CONFIG_DIR}}` is the folder of the suite")
    return tuple(found)


_EVERYWHERE = ("/usr/", "/bin/", "/opt/", "/etc/", "/dev/")


# --- from an agent's settings


def _agent_server(name: str) -> FoundServer:
    """The nearest server of that name; for "" the only one."""
    found = agent_servers(Path.cwd())
    if not name and len(found) > 1:
        names = ", ".join(f"`{server.name}`" for server in found[:20])
        raise UsageError("the settings of coding agents here name several servers", hint=f"name one: {names}")
    named = [server for server in found if server.name == name] if name else list(found)
    if not name and not named:
        raise UsageError("no coding agent's settings here name a server", hint="`mcptest doctor` says which it finds")
    if not named:
        known = list(dict.fromkeys(server.name for server in found))
        names = ", ".join(f"`{one}`" for one in known[:20])
        hint = did_you_mean(name, known) or (
            f"there are {names}" if known else "`mcptest doctor` says which settings it finds"
        )
        raise UsageError(f"no coding agent's settings here name a server `{name}`", hint=hint)
    return named[0]


def _of_agent(server: FoundServer) -> Chosen:
    """Translate the server to a suite's keys. Raises: UsageError when a variable that it needs has no value here."""
    from mcptest_engine.authoring.targets import Target, variable_notes, with_free_names

    if server.missing:
        names = ", ".join(f"`{name}`" for name in server.missing)
        raise UsageError(f"`{server.name}` needs {names}, which has no value here", hint="export it, and try again")
    key, secrets = key_of(server.name), dict[str, str]()
    settings: dict[str, Any] = {}
    declared: dict[str, object] = {}
    if "command" in server.target:
        settings, declared = _stdio_settings(server, secrets)
    if "url" in server.target:
        over_http = _http_settings(server, key, secrets)
        settings, declared = {**settings, **over_http[0]}, {**declared, **over_http[1]}
    written = with_free_names(declared, secrets, os.environ, key)
    if "headers" in settings:  # they name the variables of secrets as what is written does
        settings["headers"] = with_free_names({"headers": settings["headers"]}, secrets, os.environ, key).settings[
            "headers"
        ]
    return Chosen(
        settings=settings,
        target=Target(settings=written.settings, key=key),
        notes=(*variable_notes(written.secrets), *written.notes),
        secrets=written.secrets,
    )


def _http_settings(server: FoundServer, key: str, secrets: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings to use now and those to write; secrets go into `secrets`."""
    from mcptest_engine.authoring.targets import declared_url, untemplated, variable_name
    from mcptest_engine.core.secret_names import is_secret_name

    now: dict[str, Any] = {"url": server.target["url"]}
    declared: dict[str, Any] = {}
    for name, value in (server.target.get("headers") or {}).items():
        if name.lower() in _SECRET_HEADERS or is_secret_name(name) or value in server.secrets.values():
            variable = variable_name(f"{key}_{name}")
            secrets[variable] = value
            written: Any = {"env": variable}
        else:
            written = untemplated(value)
        now.setdefault("headers", {})[name] = written if isinstance(written, dict) else value
        declared.setdefault("headers", {})[name] = written
    return now, {"url": declared_url(server.target["url"], secrets), **declared}


def _stdio_settings(server: FoundServer, secrets: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    from mcptest_engine.authoring.targets import declared_command, declared_env, untemplated, variable_name

    words, env = list(server.target["command"]), dict(server.target.get("env") or {})
    named = {variable_name(name): value for name, value in {**server.secrets, **server.places}.items()}

    def hidden(text: str, scope: str = "env.") -> str:
        """Replace secrets and temporary folders in the text by variables."""
        for name, value in named.items():
            if value and value in text:
                secrets[name] = value
                text = text.replace(value, f"${{{scope}{name}}}")
        return text

    references = {name: hidden(value, "") for name, value in env.items()}
    written = declared_env(env, secrets, {name: text for name, text in references.items() if text != env[name]})
    now: dict[str, Any] = {"command": words}
    hidden_words = list(map(hidden, words))
    kept = iter(
        declared_command([word for word, text in zip(words, hidden_words, strict=True) if word == text], secrets)
    )
    command = [next(kept) if word == text else text for word, text in zip(words, hidden_words, strict=True)]
    declared: dict[str, Any] = {"command": command}
    if env:
        now["env"], declared["env"] = env, written
    cwd = server.target.get("cwd")
    if cwd is not None and Path(cwd) != Path.cwd():
        now["cwd"], declared["cwd"] = cwd, untemplated(cwd)
    return now, declared


def key_of(name: str) -> str:
    """A name that a suite accepts for a server."""
    key = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")
    return key[:64] or "target"
