"""What can be wrong with a suite whose shape is right: names that lead nowhere, tests that assert nothing, and the like.

Everything is told at once, each thing at its own place, and what the structural check refuses anyway is passed over here.
The surprising thing: the manifest of our own mock server is read, because a misspelt tool name is then known before
anything runs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import SuiteError, did_you_mean
from mcptest_engine.core.kinds import TestKind
from mcptest_engine.core.sanitise import first_control, replace_unsafe
from mcptest_engine.suite.assertion_checks import AssertionChecks
from mcptest_engine.suite.places import quoted
from mcptest_engine.suite.secrets import USERINFO_HINT, USERINFO_MESSAGE, has_userinfo, holds_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.suite.merge import Merged, Placed, PlacedTest
    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.yaml import Pointer

LIST_METHODS = frozenset({"tools/list", "resources/list", "resources/templates/list", "prompts/list", "ping"})
"""Names of `tool:` that stand for the MCP request of that name."""

_OTHER_METHODS = {
    "tools/call": "name the tool itself: `tool: NAME`",
    "resources/read": "use an entry of `resources:` with `uri:`",
    "prompts/get": "use an entry of `prompts:` with `prompt:`",
    "initialize": "the session does that; look at the answer with `mcptest capabilities`",
}
_LARGEST_MANIFEST = 4_000_000
_NAMES_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What checks need to know beside the suite.

    `environ` is the environment with `.env` behind it, `start_dir` where mcptest was started; `secrets` are the values that
    no report may show.
    """

    environ: Mapping[str, str]
    start_dir: str
    in_ci: bool = False
    secrets: frozenset[str] = frozenset()


def check_merged(merged: Merged, places: Places, surroundings: Surroundings) -> None:
    """Tell `places` everything that is wrong with the suite as a whole and with each of its parts."""
    if merged.complete:
        _check_presence(merged, places)
    _check_name(merged.name, "a suite's name", 0, ("name",), places)
    _check_no_secret(merged.name, "the suite's name", 0, ("name",), places, surroundings.secrets)
    for name, server in merged.servers.items():
        _check_server(name, server, places, surroundings)
    tests = _TestChecks(merged, places, surroundings)
    for test in merged.tests:
        if type(test.entry) is dict:
            tests.check(test)
    tests.assertions.finish()


def _check_presence(merged: Merged, places: Places) -> None:
    if not merged.servers and merged.knows_servers:
        path = ("servers",) if places.raw(0, ("servers",)) is not None else ()
        hint = 'a server is declared so: `servers: { api: { command: ["python", "server.py"] } }`'
        places.tell(0, path, "the suite declares no server", hint)
    if not merged.tests and merged.knows_tests:
        places.warn(0, (), "the suite has no tests", "add an entry under `tools`, `resources` or `prompts`")


def _check_server(name: str, server: Placed, places: Places, surroundings: Surroundings) -> None:
    _check_name(name, "a server's name", server.file, server.path, places)
    value = server.value
    if not isinstance(value, dict):
        return
    cwd = value.get("cwd")
    if isinstance(cwd, str) and "\0" not in cwd and not _is_directory(cwd, surroundings):
        hint = None if os.path.isabs(cwd) else _CWD_HINT  # noqa: PTH117  (no Path for a question about text)
        places.tell(server.file, (*server.path, "cwd"), f"there is no directory {quoted(cwd)}", hint)
    _check_way(value, server, places)
    auth = value.get("auth")
    if isinstance(auth, dict):
        token = auth.get("bearer_token_env")
        _check_variable(token, server, ("auth", "bearer_token_env"), places, surroundings)
    headers = value.get("headers")
    for header, source in headers.items() if isinstance(headers, dict) else ():
        if isinstance(source, dict):
            _check_variable(source.get("env"), server, ("headers", header, "env"), places, surroundings)


def _check_way(value: dict[str, Any], server: Placed, places: Places) -> None:
    """Keys of one way to reach a server do nothing on the other, and a URL is no place for a password."""
    if ("command" in value) == ("url" in value):
        return  # the structural check tells
    way, other = ("command", "url") if "command" in value else ("url", "command")
    for key in _ONLY_WITH[other]:
        if key in value:
            message = f"`{key}` does nothing for a server with `{way}`; it goes with `{other}`"
            places.tell(server.file, (*server.path, key), message, _INSTEAD.get(key, "remove it"), key=True)
    url = value.get("url")
    if isinstance(url, str) and has_userinfo(url):
        places.tell(server.file, (*server.path, "url"), USERINFO_MESSAGE, USERINFO_HINT)


_ONLY_WITH = {"command": ("env", "cwd", "inherit_env", "shutdown_grace_ms"), "url": ("headers", "auth")}
_INSTEAD = {
    "headers": "remove it, or give the program what it needs under `env:`",
    "auth": "remove it, or give the program its token under `env:`",
}
_CWD_HINT = "a relative path starts where mcptest was started; `${CONFIG_DIR}` is the suite's directory"


def _is_directory(path: str, surroundings: Surroundings) -> bool:
    return os.path.isdir(os.path.join(surroundings.start_dir, path))  # noqa: PTH112, PTH118


def _check_variable(
    name: Any, server: Placed, below: tuple[str, ...], places: Places, surroundings: Surroundings
) -> None:
    if isinstance(name, str) and name and not surroundings.environ.get(name):
        if name in surroundings.environ:
            message, hint = f"environment variable {quoted(name)} is empty", None
        else:
            message = f"environment variable {quoted(name)} is not set"
            hint = did_you_mean(name[:80], surroundings.environ) or _UNSET_HINT
        places.warn(server.file, (*server.path, *below), message, hint)


_UNSET_HINT = "set it, or put it into a file `.env` beside the suite"


def _check_name(name: Any, whose: str, file: int, path: tuple[str | int, ...], places: Places) -> None:
    if type(name) is not str or name.isprintable():
        return
    at = first_control(name)
    if at is not None:
        message = f"{whose} must not hold control characters: U+{ord(name[at]):04X} is character {at + 1}"
        places.tell(file, path, message, "reports are read line by line; remove it")
        return
    at = replace_unsafe(name, lambda _: "\0").find("\0")
    if at >= 0:
        message = f"{whose} must not hold invisible characters: U+{ord(name[at]):04X} is character {at + 1}"
        places.tell(file, path, message, "nobody could type the name to select the test; remove it")


def _check_no_secret(
    text: Any, whose: str, file: int, path: tuple[str | int, ...], places: Places, secrets: frozenset[str]
) -> None:
    """Names and tags are what `--filter` and `--tag` go by, so they are never masked and must hold nothing to mask."""
    if type(text) is not str or not any(secret in text for secret in secrets):
        return
    if holds_secret(text, secrets, templated=places.raw(file, path) != text):
        hint = "names and tags stand in every report as they are: say it in words"
        places.tell(file, path, f"{whose} holds the value of a secret variable", hint)


class _TestChecks:
    """Checks tests one by one; `assertions` is to be finished afterwards."""

    def __init__(self, merged: Merged, places: Places, surroundings: Surroundings) -> None:
        self.assertions = AssertionChecks(places)
        self._places, self._surroundings = places, surroundings
        self._servers = merged.servers
        self._knows_servers = bool(merged.servers) and merged.knows_servers and merged.complete
        self._hints: dict[str, str] = {}
        self._mocks: dict[str, frozenset[str] | None] = {}

    def check(self, test: PlacedTest) -> None:
        entry: dict[str, Any] = test.entry
        name = entry.get("name")
        if type(name) is str and not name.isprintable():
            _check_name(name, "a test's name", test.file, (*test.path, "name"), self._places)
        if self._surroundings.secrets:
            self._check_secrets(entry, test)
        self._check_server(entry, test)
        if entry.get("only") is True and self._surroundings.in_ci:
            message, hint = (
                "focused tests (`only`) are refused under CI",
                "remove it, and select with `--filter` instead",
            )
            self._places.tell(test.file, (*test.path, "only"), message, hint, key=True)
        self._check_expect(entry, test)
        if test.kind is TestKind.TOOL:
            self._check_tool(entry, test)
        args = entry.get("args")
        if args and type(args) is dict and self._places.has_templates(test.file):
            self._check_keys(args, test, (*test.path, "args"))

    def _check_keys(self, value: Any, test: PlacedTest, path: Pointer) -> None:
        """A template is replaced in values only."""
        if isinstance(value, list):
            for index, item in enumerate(value):
                self._check_keys(item, test, (*path, index))
        for key, item in value.items() if isinstance(value, dict) else ():
            if "${" in key:
                message = f"templates are replaced in values, not in keys: {quoted(key)} is sent as it stands"
                self._places.warn(test.file, (*path, key), message, key=True)
            if isinstance(item, dict | list):
                self._check_keys(item, test, (*path, key))

    def _check_secrets(self, entry: dict[str, Any], test: PlacedTest) -> None:
        secrets, tags = self._surroundings.secrets, entry.get("tags")
        path = (*test.path, "name")
        _check_no_secret(entry.get("name"), "the test's name", test.file, path, self._places, secrets)
        for index, tag in enumerate(tags if isinstance(tags, list) else ()):
            _check_no_secret(tag, "the tag", test.file, (*test.path, "tags", index), self._places, secrets)

    def _check_server(self, entry: dict[str, Any], test: PlacedTest) -> None:
        server = entry.get("server")
        if type(server) is str:
            if server not in self._servers and self._knows_servers:
                self._places.tell(
                    test.file, (*test.path, "server"), f"unknown server {quoted(server)}", self._server_hint(server)
                )
        elif "server" not in entry and len(self._servers) > 1 and self._knows_servers:
            message = f"the test names no server, and the suite declares {len(self._servers)}"
            self._places.tell(test.file, test.path, message, f"add `server:` with one of {_listed(self._servers)}")

    def _server_hint(self, server: str) -> str:
        if server not in self._hints:
            near = did_you_mean(server[:80], self._servers)
            self._hints[server] = near or f"declared are {_listed(self._servers)}"
        return self._hints[server]

    def _check_expect(self, entry: dict[str, Any], test: PlacedTest) -> None:
        expect = entry.get("expect")
        if type(expect) is list:
            self.assertions.check(expect, test.file, (*test.path, "expect"))
            silent = not expect
        elif type(expect) is dict:
            assertions = expect.get("assertions")
            if type(assertions) is list:
                self.assertions.check(assertions, test.file, (*test.path, "expect", "assertions"))
            silent = not assertions and "max_duration_ms" not in expect and "max_response_tokens" not in expect
        else:
            silent = "expect" not in entry
        if silent:
            message = "the test asserts nothing: it passes whenever the server answers without an error"
            self._places.warn(test.file, test.path, message, "add `expect:` with at least one assertion")

    def _check_tool(self, entry: dict[str, Any], test: PlacedTest) -> None:
        tool = entry.get("tool")
        if type(tool) is not str or tool in LIST_METHODS:
            return
        if tool in _OTHER_METHODS:
            message = f"{quoted(tool)} is called as a tool of that name, not as the request"
            self._places.warn(test.file, (*test.path, "tool"), message, _OTHER_METHODS[tool])
            return
        tools = self._mock_tools(entry.get("server"))
        if tools is not None and tool not in tools and not _expects_an_error(entry.get("expect")):
            hint = did_you_mean(tool[:80], tools) or f"it has {_listed(tools)}" if tools else "its manifest lists none"
            message = f"the mock server has no tool {quoted(tool)}"
            self._places.warn(test.file, (*test.path, "tool"), message, hint)

    def _mock_tools(self, server: Any) -> frozenset[str] | None:
        """The tools of a server that is our mock with a readable manifest; None for any other."""
        if server is None and len(self._servers) == 1:
            server = next(iter(self._servers))
        if type(server) is not str or server not in self._servers:
            return None
        if server not in self._mocks:
            self._mocks[server] = _manifest_tools(self._servers[server].value, self._surroundings)
        return self._mocks[server]


def _expects_an_error(expect: Any) -> bool:
    """Whether a test is about a call that fails: an unknown tool may be just its point."""
    assertions = expect.get("assertions") if isinstance(expect, dict) else expect
    for assertion in assertions if isinstance(assertions, list) else ():
        if not isinstance(assertion, dict):
            continue
        target, matcher = assertion.get("target"), assertion.get("matcher")
        if target == "result.isError" and matcher == {"exact": True}:
            return True
        about_error = isinstance(target, str) and (target == "error" or target.startswith("error."))
        if about_error and matcher not in ({"exact": None}, {"exists": False}):
            return True
    return False


def _manifest_tools(server: Any, surroundings: Surroundings) -> frozenset[str] | None:
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


def _manifest_path(server: Any) -> str | None:
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


def _tool_names(manifest: Any) -> frozenset[str] | None:
    if isinstance(manifest, dict):
        manifest = manifest.get("mock_server", manifest)
    tools = manifest.get("tools", []) if isinstance(manifest, dict) else None
    if not isinstance(tools, list):
        return None
    names = [tool.get("name") for tool in tools if isinstance(tool, dict)]
    return frozenset(name for name in names if isinstance(name, str))


def _listed(names: Any) -> str:
    known = sorted(names) if isinstance(names, frozenset) else list(names)
    shown = ", ".join(f"`{name}`" for name in known[:_NAMES_SHOWN])
    return f"{shown} and {len(known) - _NAMES_SHOWN} more" if len(known) > _NAMES_SHOWN else shown
