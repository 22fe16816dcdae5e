"""What can be wrong with a server whose shape is right: directories, variables, URLs, and keys that do nothing there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcptest_engine.core.errors import Suggestion, SuiteError, did_you_mean
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.text import quoted
from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.compliance import HANDSHAKE_REVISIONS, STATELESS_REVISION
from mcptest_engine.suite.secrets import USERINFO_HINT, USERINFO_MESSAGE, has_userinfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.suite.merge import Placed
    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.yaml import Pointer

ONLY_WITH = {
    "command": ("env", "cwd", "inherit_env", "shutdown_grace_ms", "fresh"),
    "url": ("headers", "auth", "http", "wait_for_ready"),
}
_PORT_PLACE = "{port}"
_NOT_READY = {
    "url": "use `wait_for_ready`, which waits for a server that mcptest does not start",
    "command": "remove it; `connect_timeout_ms` is the time limit for the start of the program",
}
_CONDITIONS = ("path", "port", "output")
_INSTEAD = {
    "headers": "remove it, or give the program what it needs under `env:`",
    "auth": "remove it, or give the program its token under `env:`",
    "wait_for_ready": "remove it; `connect_timeout_ms` is the time limit for the start of the program",
}
_CWD_HINT = "a relative path starts where mcptest was started; `${CONFIG_DIR}` is the suite's directory"
_UNSET_HINT = "set it, or write it to `.env` beside the suite"
_NO_PASSWORD = {
    "token_endpoint": "the client authenticates with `client_id` and `client_secret_env`",
    "proxy": "a suite must not contain a password: use a proxy that needs none",
    "wait_for_ready": "use a URL that needs no password",
}
_DATE = lazy_pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NO_TIME = lazy_pattern(r"[0.]+(?:ms|s|m|h)")
_LARGEST_MANIFEST = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What checks need to know beside the suite.

    `environ` is the environment with `.env` behind it, `start_dir` where mcptest was started; `secrets` are the values that
    no report may show. `misspelt` are the keys that are meant by unknown keys of the suite.
    """

    environ: Mapping[str, str]
    start_dir: str
    in_ci: bool = False
    secrets: frozenset[str] = frozenset()
    misspelt: frozenset[str] = frozenset()


def check_server(server: Placed, places: Places, surroundings: Surroundings) -> None:
    """Tell `places` what is wrong with one server, its `client` aside."""
    value = server.value
    cwd = value.get("cwd")
    if isinstance(cwd, str) and "\0" not in cwd and not os.path.isdir(_path(cwd, surroundings)):  # noqa: PTH112
        hint = None if os.path.isabs(cwd) else _CWD_HINT  # noqa: PTH117  (no Path for a question about text)
        places.report(server.file, (*server.path, "cwd"), f"there is no directory {quoted(cwd)}", hint)
    _check_way(value, server, places)
    if "protocol" in value:
        _check_protocol(value["protocol"], server, places)
    for key, check in (("auth", _check_auth), ("http", _check_http)):
        if isinstance(part := value.get(key), dict):
            check(part, server, places, surroundings)
    if "wait_for_ready" in value:
        _check_readiness(value["wait_for_ready"], server, places)
    headers = value.get("headers")
    for header, source in headers.items() if isinstance(headers, dict) else ():
        if isinstance(source, dict):
            _check_variable(source.get("env"), server, ("headers", header, "env"), places, surroundings)


def _check_way(value: dict[str, Any], server: Placed, places: Places) -> None:
    """Keys of one way to reach a server do nothing on the other, and a URL is no place for a password."""
    _check_program(value, server, places)
    if ("command" in value) == ("url" in value):
        return  # a program that serves HTTP, or neither, which the structural check tells
    way, other = ("command", "url") if "command" in value else ("url", "command")
    for key in ONLY_WITH[other]:
        if key in value:
            message = f"`{key}` has no effect on a server with `{way}`; it goes with `{other}`"
            places.report(server.file, (*server.path, key), message, _INSTEAD.get(key, "remove it"), key=True)


def _check_program(value: dict[str, Any], server: Placed, places: Places) -> None:
    """What is wrong with the URL, and with how a program is started that serves there."""
    url, ready, path = value.get("url"), value.get("ready"), server.path
    if isinstance(url, str) and has_userinfo(url):
        places.report(server.file, (*path, "url"), USERINFO_MESSAGE, USERINFO_HINT)
    if isinstance(url, str) and "${" not in url and not _is_readable(url):
        hint = "write a URL such as `http://127.0.0.1:0/mcp`: mcptest puts a free port in the place of port 0"
        places.report(server.file, (*path, "url"), "the host or the port in this URL cannot be read", hint)
    if "command" not in value or "url" not in value:
        way = "command" if "command" in value else "url"
        if "ready" in value and way in value:
            told = f"`ready` has no effect on a server with `{way}` alone; it goes with `command` and `url`"
            places.report(server.file, (*path, "ready"), told, _NOT_READY[way], key=True)
        if isinstance(url, str) and _port_of(url) == 0 and "command" not in value:
            told = "port 0 means a free port, but mcptest can choose a port only for a program that it starts"
            places.report(server.file, (*path, "url"), told, "add `command`, or write the port of the server")
        return
    if "wait_for_ready" in value:
        told = "`wait_for_ready` has no effect on a server with `command` and `url`: mcptest starts it"
        places.report(server.file, (*path, "wait_for_ready"), told, "use `ready`", key=True)
    if isinstance(url, str) and _port_of(url) == 0 and _PORT_PLACE not in str([value["command"], value.get("env")]):
        told = f"`url` has port 0, which means a free port, but the program does not get its number: `{_PORT_PLACE}` is missing"
        hint = f"write `{_PORT_PLACE}` where `command` or `env` takes the port, such as `--port={_PORT_PLACE}`"
        places.report(server.file, (*path, "url"), told, hint)
    if isinstance(ready, dict):
        _check_some_time(ready.get("timeout"), server, ("ready", "timeout"), places)
        given = [key for key in ready if key in _CONDITIONS]
        if len(given) > 1:
            told = f"`ready` waits for one thing, found {' and '.join(f'`{key}`' for key in given)}"
            places.report(server.file, (*path, "ready", given[1]), told, "keep one of them", key=True)


def _is_readable(url: str) -> bool:
    try:
        urlsplit(url).port  # noqa: B018 - raises for what is no port
    except ValueError:
        return False
    return True


def _port_of(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        return None


def _check_protocol(protocol: object, server: Placed, places: Places) -> None:
    """Any text may be offered on purpose, but a date that is no revision, or a misspelt `auto`, hardly is."""
    known = (*HANDSHAKE_REVISIONS, STATELESS_REVISION)
    if not isinstance(protocol, str) or protocol in (*known, "auto"):
        return
    if protocol.lower() == "auto":
        near: str | None = Suggestion(protocol, "auto")
    elif _DATE.fullmatch(protocol):
        near = did_you_mean(protocol, known) or "known: " + ", ".join(f"`{revision}`" for revision in known)
    else:
        return
    message = f"{quoted(protocol)} is not a known protocol revision and is offered unchanged"
    places.warn(server.file, (*server.path, "protocol"), message, near)


def _check_auth(auth: dict[str, Any], server: Placed, places: Places, surroundings: Surroundings) -> None:
    token = auth.get("bearer_token_env")
    _check_variable(token, server, ("auth", "bearer_token_env"), places, surroundings)
    oauth = auth.get("oauth")
    if isinstance(oauth, dict):
        below = ("auth", "oauth")
        secret = oauth.get("client_secret_env")
        _check_variable(secret, server, (*below, "client_secret_env"), places, surroundings)
        _check_no_password(oauth.get("token_endpoint"), "token_endpoint", server, (*below, "token_endpoint"), places)


def _check_http(http: dict[str, Any], server: Placed, places: Places, surroundings: Surroundings) -> None:
    for key in ("timeout", "connect_timeout"):
        _check_some_time(http.get(key), server, ("http", key), places)
    _check_no_password(http.get("proxy"), "proxy", server, ("http", "proxy"), places)
    verify, path = http.get("verify"), (*server.path, "http", "verify")
    if verify is False:
        hint = "to trust your own certificate authority, name its PEM file: `verify: path/to/ca.pem`"
        places.warn(
            server.file, path, "certificates are not checked: another server could take the place of this one", hint
        )
    elif isinstance(verify, str) and verify and "\0" not in verify and not os.path.exists(_path(verify, surroundings)):  # noqa: PTH110
        _report_missing(verify, server, path, places)


def _report_missing(verify: str, server: Placed, path: Pointer, places: Places) -> None:
    """A file may only be made where the suite is run, so a missing one is a warning; `no`, which is text here, is a slip."""
    from mcptest_engine.suite.problem_messages import boolean_hint

    meant, message = boolean_hint(verify), f"there is no file or directory {quoted(verify)}"
    if meant is None:
        places.warn(server.file, path, message, None if os.path.isabs(verify) else _CWD_HINT)  # noqa: PTH117
    else:
        places.report(server.file, path, f"expected true or false, or a file, found the text {quoted(verify)}", meant)


def _check_readiness(ready: object, server: Placed, places: Places) -> None:
    below: tuple[str, ...] = ("wait_for_ready",)
    if isinstance(ready, dict):
        _check_no_password(ready.get("url"), "wait_for_ready", server, (*below, "url"), places)
        _check_some_time(ready.get("timeout"), server, (*below, "timeout"), places)
    else:
        _check_no_password(ready, "wait_for_ready", server, below, places)
        _check_some_time(ready, server, below, places)


def _check_some_time(duration: object, server: Placed, below: tuple[str, ...], places: Places) -> None:
    if isinstance(duration, str) and _NO_TIME.fullmatch(duration):
        message = f"`{below[-1]}`: {quoted(duration)} is not a duration above zero"
        places.report(server.file, (*server.path, *below), message, "write how long, such as `30s`")


def _check_no_password(url: object, whose: str, server: Placed, below: tuple[str, ...], places: Places) -> None:
    if isinstance(url, str) and has_userinfo(url):
        places.report(server.file, (*server.path, *below), USERINFO_MESSAGE, _NO_PASSWORD[whose])


def _check_variable(
    name: object, server: Placed, below: tuple[str, ...], places: Places, surroundings: Surroundings
) -> None:
    if isinstance(name, str) and name and not surroundings.environ.get(name):
        if name in surroundings.environ:
            message, hint = f"environment variable {quoted(name)} is empty", None
        else:
            message = f"environment variable {quoted(name)} is not set"
            hint = did_you_mean(name, surroundings.environ) or _UNSET_HINT
        places.warn(server.file, (*server.path, *below), message, hint)


def _path(path: str, surroundings: Surroundings) -> str:
    return os.path.join(surroundings.start_dir, path)  # noqa: PTH118


def manifest_tools(server: Any, surroundings: Surroundings) -> frozenset[str] | None:
    """The names of the tools of a server that is our mock with a readable manifest; None for any other."""
    path = _manifest_path(server)
    if path is None:
        return None
    base = server.get("cwd")
    start = Path(surroundings.start_dir, base if isinstance(base, str) else "")
    from mcptest_engine.suite.yaml import read_file

    try:
        file = start / path
        if not file.is_file() or file.stat().st_size > _LARGEST_MANIFEST:
            return None
        manifest = read_file(file, file=path).value
    except (SuiteError, OSError, ValueError, RecursionError):
        return None  # the mock itself tells what is wrong with its manifest
    return _tool_names(manifest)


def _manifest_path(server: object) -> str | None:
    """FILE of `mcptest mock --tools-from FILE`, whichever way mcptest is started."""
    command = server.get("command") if isinstance(server, dict) else None
    if not isinstance(command, list) or not all(isinstance(part, str) for part in command) or "mock" not in command:
        return None
    before, after = command[: command.index("mock")], command[command.index("mock") + 1 :]
    if not any(os.path.basename(part).startswith("mcptest") for part in before):  # noqa: PTH119
        return None
    for index, part in enumerate(after):
        if part.startswith("--tools-from="):
            return str(part.partition("=")[2])
        if part == "--tools-from" and index + 1 < len(after):
            return str(after[index + 1])
    return None


def _tool_names(manifest: object) -> frozenset[str] | None:
    if isinstance(manifest, dict):
        manifest = manifest.get("mock_server", manifest)
    tools = manifest.get("tools", []) if isinstance(manifest, dict) else None
    if not isinstance(tools, list):
        return None
    names = [tool.get("name") for tool in tools if isinstance(tool, dict)]
    return frozenset(name for name in names if isinstance(name, str))
