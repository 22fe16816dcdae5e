"""Reads the MCP servers from the settings of the coding agents on this machine; never writes them.

Each agent has its own file, its own key for the servers and its own names for the same settings. All are translated to the keys
of a suite's server. A value of `env` or of a header may be a secret: to show a server, use `shown`, `argv` and `env_names`;
`target` is for starting it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import sys
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.lenient_json import LenientError, loads
from mcptest_engine.core.safe_json import json_fault
from mcptest_engine.core.values import dataclass
from mcptest_engine.servers.transport import transport_of
from mcptest_engine.suite.secrets import command_without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonDict, JsonMapping

MOST_BYTES = 8 * 1024 * 1024
MOST_SERVERS = 500
MOST_PARENTS = 20
_VARIABLE = re.compile(r"\$\{(?:(env|input):)?([^${}:]+)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundServer:
    """One server of one agent's settings.

    `target` holds what a suite's server would: `command`, `env` and `cwd`, or `url` and `headers`. `words` are the words of the
    command, or the URL, as they are written. `variables` are the variables in them, and `missing` names those without a value
    here. `header_variables` are those in its headers, which may be sent to its URL. `enabled` is false where the agent does not
    start the server. `secrets` are values marked as secret, by their place in the settings. `places` are temporary folders, by
    the variable that stands for them.
    """

    name: str
    source_path: str
    client: str
    target: JsonMapping = field(repr=False)
    words: tuple[str, ...] = field(default=(), repr=False)
    variables: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    header_variables: tuple[str, ...] = ()
    enabled: bool = True
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def transport(self) -> str:
        return transport_of(self.target.get("url"))

    @property
    def key(self) -> str:
        """Identify this entry: the same text at every reading."""
        return f"{self.source_path}\0{self.client}\0{self.name}"

    @property
    def env_names(self) -> tuple[str, ...]:
        """The names of its environment variables; never their values."""
        return tuple(self.target.get("env") or ())

    @property
    def header_names(self) -> tuple[str, ...]:
        """The names of the headers of every request."""
        return tuple(self.target.get("headers") or ())

    @property
    def argv(self) -> tuple[str, ...]:
        """The command's words with secrets masked; () for a URL."""
        return self._without_secrets() if "command" in self.target else ()

    @property
    def shown(self) -> str:
        """The command or the URL as one line, without secrets."""
        words = self._without_secrets()
        return shlex.join(words) if "command" in self.target else words[0]

    @property
    def digest(self) -> str:
        """A hash of words, `env`, headers and folder; it differs when any of these changes, shown or not."""
        content = json.dumps([self.words, dict(self.target)], sort_keys=True)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    def _without_secrets(self) -> tuple[str, ...]:
        return command_without_secrets(self.words, {**(self.target.get("env") or {}), **self.secrets})


class ConfigProblem(NamedTuple):
    """A file that could not be read, or an entry of it."""

    path: str
    client: str
    message: str


class AgentConfigs(NamedTuple):
    """All servers and problems found. `read` are the files that exist."""

    servers: tuple[FoundServer, ...] = ()
    problems: tuple[ConfigProblem, ...] = ()
    read: tuple[str, ...] = ()


class _Place(NamedTuple):
    client: str
    path: Path
    entries: Callable[[JsonMapping, Path], Iterator[tuple[str, Any]]]
    folder: Path | None = None


def find_agent_servers(start_dir: Path, environ: Mapping[str, str], *, platform: str = sys.platform) -> AgentConfigs:
    """The servers in the settings of the project around `start_dir` and of this user, in that order. Never raises.

    A file that cannot be read, or an entry with neither a command nor a URL, becomes a problem; all others are returned.
    """
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    servers: list[FoundServer] = []
    problems: list[ConfigProblem] = []
    read: list[str] = []
    seen: set[Path] = set()
    for place in (*_project(start_dir, home), *_user(home, environ, platform)):
        if place.path in seen:
            continue
        seen.add(place.path)
        try:
            settings = read_settings(place.path)
            if settings is None:
                continue
            read.append(str(place.path))
            entries = list(place.entries(settings, start_dir))
        except (OSError, ValueError, RecursionError) as wrong:
            problems.append(ConfigProblem(str(place.path), place.client, _problem_text(wrong)))
            continue
        _add_servers(entries, place, environ, start_dir, servers, problems)
    return AgentConfigs(tuple(servers), tuple(problems), tuple(read))


def servers_in(settings: Mapping[str, object], path: Path, environ: Mapping[str, str]) -> AgentConfigs:
    """Return the servers in a settings file of any agent; `environ` gives `input:NAME` the value that a person entered.

    Raises: ValueError where a member for servers has the wrong type.
    """
    place = _Place("the file", path, _any_agent)
    folder = Path(os.path.abspath(path)).parent  # noqa: PTH100
    servers: list[FoundServer] = []
    problems: list[ConfigProblem] = []
    _add_servers(list(_any_agent(settings, folder)), place, environ, folder, servers, problems)
    return AgentConfigs(tuple(servers), tuple(problems), (str(path),))


def _any_agent(settings: Mapping[str, object], start_dir: Path) -> Iterator[tuple[str, object]]:
    """Return the member that holds the servers, under any agent's key."""
    for entries in (_claude_code, _vs_code_own, _opencode, _codex, _zed):
        yield from entries(settings, start_dir)


def _add_servers(
    entries: Sequence[tuple[str, object]],
    place: _Place,
    environ: Mapping[str, str],
    start_dir: Path,
    servers: list[FoundServer],
    problems: list[ConfigProblem],
) -> None:
    """Add each entry as a server, or as a problem."""
    for name, entry in entries[:MOST_SERVERS]:
        try:
            servers.append(_found_server(name, entry, place, environ, start_dir))
        except ValueError as wrong:
            problems.append(ConfigProblem(str(place.path), place.client, f"`{name}`: {wrong}"))


# --- where agents keep their settings


def _project(start_dir: Path, home: Path) -> Iterator[_Place]:
    for folder in _folders(start_dir, home):
        for client, name, entries in (
            ("Claude Code", ".mcp.json", _mcp_servers),
            ("Claude Code", ".claude/mcp.json", _mcp_servers),
            ("Cursor", ".cursor/mcp.json", _mcp_servers),
            ("VS Code", ".vscode/mcp.json", _vs_code),
            ("Gemini CLI", ".gemini/settings.json", _mcp_servers),
            ("opencode", "opencode.json", _opencode),
            ("opencode", "opencode.jsonc", _opencode),
            ("Codex", ".codex/config.toml", _codex),
            ("Zed", ".zed/settings.json", _zed),
        ):
            yield _Place(client, folder / name, entries, folder)


def _user(home: Path, environ: Mapping[str, str], platform: str) -> Iterator[_Place]:
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    application = home / "Library" / "Application Support" if platform == "darwin" else config
    yield _Place("Claude Code", home / ".claude.json", _claude_code)
    yield _Place("Claude Desktop", application / "Claude" / "claude_desktop_config.json", _mcp_servers)
    yield _Place("Cursor", home / ".cursor" / "mcp.json", _mcp_servers)
    for folder in ("Code", "Code - Insiders", "VSCodium"):
        yield _Place("VS Code", application / folder / "User" / "mcp.json", _vs_code)
    yield _Place("Codex", Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml", _codex)
    yield _Place("Windsurf", home / ".codeium" / "windsurf" / "mcp_config.json", _mcp_servers)
    yield _Place("Zed", config / "zed" / "settings.json", _zed)
    yield _Place("Gemini CLI", home / ".gemini" / "settings.json", _mcp_servers)
    yield _Place("opencode", config / "opencode" / "opencode.json", _opencode)


def _folders(start_dir: Path, home: Path) -> Iterator[Path]:
    """`start_dir` and its parents up to the repository's root, without the home directory."""
    start = Path(os.path.abspath(start_dir))  # noqa: PTH100  (resolve() would follow links)
    for folder in (start, *start.parents)[:MOST_PARENTS]:
        if folder == home and folder != start:
            return
        yield folder
        if (folder / ".git").exists():
            return


def read_settings(path: Path) -> Mapping[str, object] | None:
    """Parse the file; None when it does not exist. Raises: OSError, ValueError."""
    try:
        if not path.is_file():
            return None
        if path.stat().st_size > MOST_BYTES:
            raise ValueError("larger than settings can be")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if path.suffix == ".toml":
            import tomllib  # imported here, since each run imports this module for its rules about secrets

            value = tomllib.loads(text)
        else:
            value = loads(text) if text.strip() else {}
    except ValueError as wrong:
        if type(wrong) is not ValueError:
            raise
        raise ValueError(str(json_fault(wrong))) from None  # an integer with more digits than Python reads
    if not isinstance(value, dict):
        raise ValueError("expected an object")
    return value


def _problem_text(wrong: Exception) -> str:
    if isinstance(wrong, LenientError):
        return f"line {wrong.line}, column {wrong.column}: {wrong.message}"
    if isinstance(wrong, OSError):
        return f"cannot be read: {wrong.strerror or wrong}"
    return str(wrong) or "nested too deeply"


# --- the member that holds the servers


def _items_of_object(settings: Mapping[str, object], name: str) -> Iterator[tuple[str, object]]:
    value = settings.get(name)
    if value is None:
        return
    if not isinstance(value, dict):
        raise ValueError(f"`{name}` is not an object")
    yield from value.items()


def _mcp_servers(settings: Mapping[str, object], start_dir: Path) -> Iterator[tuple[str, object]]:  # noqa: ARG001
    return _items_of_object(settings, "mcpServers")


def _vs_code(settings: Mapping[str, object], start_dir: Path) -> Iterator[tuple[str, object]]:
    yield from _vs_code_own(settings, start_dir)
    yield from _mcp_servers(settings, start_dir)


def _vs_code_own(settings: Mapping[str, object], start_dir: Path) -> Iterator[tuple[str, object]]:  # noqa: ARG001
    nested = settings.get("mcp")  # settings.json uses `mcp` for other things too
    inside = nested if isinstance(nested, dict) and isinstance(nested.get("servers"), dict) else {}
    yield from _items_of_object(settings, "servers")
    yield from _items_of_object(inside, "servers")


def _opencode(settings: Mapping[str, object], start_dir: Path) -> Iterator[tuple[str, object]]:  # noqa: ARG001
    nested = settings.get("mcp")
    return iter(()) if isinstance(nested, dict) and "servers" in nested else _items_of_object(settings, "mcp")


def _codex(settings: Mapping[str, object], start_dir: Path) -> Iterator[tuple[str, object]]:  # noqa: ARG001
    return _items_of_object(settings, "mcp_servers")


def _zed(settings: Mapping[str, object], start_dir: Path) -> Iterator[tuple[str, object]]:  # noqa: ARG001
    return _items_of_object(settings, "context_servers")


def _claude_code(settings: Mapping[str, object], start_dir: Path) -> Iterator[tuple[str, object]]:
    yield from _mcp_servers(settings, start_dir)
    projects = settings.get("projects")
    here = Path(os.path.abspath(start_dir))  # noqa: PTH100
    for folder in (here, *here.parents):
        project = projects.get(str(folder)) if isinstance(projects, dict) else None
        if isinstance(project, dict):
            yield from _mcp_servers(project, start_dir)


# --- one entry


def _found_server(name: str, entry: object, place: _Place, environ: Mapping[str, str], start_dir: Path) -> FoundServer:
    """Build the server of an entry. Raises: ValueError when it names none."""
    if not name.strip():
        raise ValueError("a server needs a name")
    if not isinstance(entry, dict):
        raise ValueError("expected an object")
    missing: dict[str, None] = {}
    used: dict[str, None] = {}

    def text(value: object) -> str:
        return _expanded(str(value), environ, place.folder or start_dir, used, missing)

    url = next((entry[key] for key in ("url", "serverUrl", "httpUrl", "uri") if isinstance(entry.get(key), str)), None)
    if url is not None:
        target: JsonDict = {"url": text(url)}
        words: tuple[str, ...] = (url,)
        in_headers, not_set = dict[str, None](), dict[str, None]()
        if headers := _headers(entry, environ, place.folder or start_dir, in_headers, not_set):
            target["headers"] = headers
        used, missing = used | in_headers, missing | not_set
    else:
        in_headers = not_set = {}
        words, target = _command(entry, text, place)
    return FoundServer(
        name=str(name),
        source_path=str(place.path),
        client=place.client,
        target=target,
        words=words,
        variables=tuple(used),
        missing=tuple(missing),
        header_variables=(*in_headers, *not_set),
        enabled=entry.get("enabled") is not False and entry.get("disabled") is not True,
    )


def _command(entry: JsonMapping, text: Callable[[object], str], place: _Place) -> tuple[tuple[str, ...], JsonDict]:
    command, holder = entry.get("command"), entry
    if isinstance(command, dict):  # Zed's older spelling: {"command": {"path", "args", "env"}}
        holder, command = command, command.get("path")
    words = [*command] if isinstance(command, list) else [command]
    arguments = holder.get("args", ())
    if not words or not all(isinstance(word, str) and word for word in words):
        raise ValueError("names neither a command nor a URL")
    if not isinstance(arguments, (list, tuple)):
        raise ValueError("`args` is not a list")
    env: JsonDict = next((holder[key] for key in ("env", "environment") if isinstance(holder.get(key), dict)), {})
    target: JsonDict = {
        "command": [text(word) for word in (*words, *arguments)],
        "env": {str(key): text(_value_text(value)) for key, value in env.items() if value is not None},
    }
    cwd = entry.get("cwd")
    if isinstance(cwd, str) and cwd:
        try:
            folder = Path(text(cwd)).expanduser()
        except RuntimeError:
            raise ValueError("`cwd` names the home of a user who does not exist on this machine") from None
        target["cwd"] = str((place.folder or place.path.parent) / folder)
    elif place.folder is not None:
        target["cwd"] = str(place.folder)
    return tuple(str(word) for word in (*words, *arguments)), target


def _headers(
    entry: Mapping[str, object],
    environ: Mapping[str, str],
    folder: Path,
    used: dict[str, None],
    missing: dict[str, None],
) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name in ("headers", "http_headers"):
        given = entry.get(name)
        if isinstance(given, dict):
            texts = {str(key): value for key, value in given.items() if isinstance(value, str)}
            headers |= {key: _expanded(value, environ, folder, used, missing) for key, value in texts.items()}
    named, token = entry.get("env_http_headers"), entry.get("bearer_token_env_var")
    looked_up = [(str(key), str(value), "") for key, value in named.items()] if isinstance(named, dict) else []
    if isinstance(token, str):
        looked_up.append(("Authorization", token, "Bearer "))
    for header, variable, scheme in looked_up:
        if value := environ.get(variable):
            used[variable] = None
            headers[header] = scheme + value
        else:
            missing[variable] = None
    return headers


def _expanded(
    text: str, environ: Mapping[str, str], folder: Path, used: dict[str, None], missing: dict[str, None]
) -> str:
    """Expand `${VAR}`, `${VAR:-default}`, `${env:VAR}` and editors' folder variables; others stay and are added to the missing
    ones.
    """
    if "${" not in text:
        return text

    def value(found: re.Match[str]) -> str:
        kind, name, default = found.groups()
        if kind is None and name in ("workspaceFolder", "workspaceRoot"):
            return str(folder)
        if kind is None and name == "userHome":
            return environ.get("HOME", "")
        if kind == "input" and f"input:{name}" in environ:
            return environ[f"input:{name}"]
        if kind != "input":
            if environ.get(name):
                used[name] = None
                return environ[name]
            if default is not None:
                return default
        missing[name] = None
        return found[0]

    return _VARIABLE.sub(value, text)


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
