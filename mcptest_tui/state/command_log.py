"""What a person did here, as the `mcptest` commands that do the same: made from the requests to the engine."""

from __future__ import annotations

import json
import re
import shlex
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.sanitise import one_line
from mcptest_tui.places import path_here
from mcptest_tui.state.run_view import repro_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

KEPT = 100
MOST_NAMES = 5
LISTS = {"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts"}


class Done(NamedTuple):
    """One command, and its time in seconds since the epoch."""

    at: float
    command: str


class CommandLog:
    """`name_of` gives a test's name by its id, or None; `clock` the time of day."""

    def __init__(self, name_of: Callable[[str], str | None], clock: Callable[[], float]) -> None:
        self._name_of, self._clock = name_of, clock
        self._targets: dict[str, Mapping[str, Any]] = {}
        self._done: deque[Done] = deque(maxlen=KEPT)

    def log_command(self, do: str, arguments: Mapping[str, Any]) -> None:
        """Store the command that a request to the engine corresponds to."""
        command = None
        if do == "connect":
            self._targets[str(arguments.get("session"))] = arguments.get("target") or {}
            command = self._looked(arguments, "capabilities")
        elif do == "run":
            command = self._ran(str(arguments.get("path")), arguments.get("ids"))
        elif do == "call":
            command = self._called(arguments)
        if command:
            self.note(command)

    def note(self, command: str) -> None:
        """One more; the same as the last one stands there once, with its newest time."""
        if self._done and self._done[-1].command == command:
            self._done.pop()
        self._done.append(Done(self._clock(), command))

    def newest_first(self) -> list[Done]:
        """Return the stored commands, the newest first."""
        return list(reversed(self._done))

    def _ran(self, path: str, ids: list[str] | None) -> str:
        near = shown_path(path)
        names = [] if ids is None else [name for name in map(self._name_of, ids) if name]
        if not names:
            return f"mcptest run {shlex.quote(near)}"
        if len(names) == 1:
            return repro_command(near, one_line(names[0]))
        if len(names) > MOST_NAMES:
            return f"mcptest run {shlex.quote(near)}  # {len(names)} of its tests"
        escaped = (re.sub(r"([.^$*+?{}\[\]\\|()])", r"\\\1", one_line(name)) for name in names)
        pattern = f"re:^({'|'.join(escaped)})$"
        return f"mcptest run {shlex.quote(near)} --filter {shlex.quote(pattern)}"

    def _called(self, arguments: Mapping[str, Any]) -> str | None:
        method, params = arguments.get("method"), arguments.get("params") or {}
        if method in LISTS:
            return self._looked(arguments, LISTS[str(method)])
        server = self._server(arguments)
        if method != "tools/call" or server is None:
            return None
        given = params.get("arguments")
        args = f" --args {shlex.quote(one_line(json.dumps(given, ensure_ascii=False)))}" if given else ""
        return f"mcptest call {shlex.quote(one_line(str(params.get('name'))))}{args} {server}"

    def _looked(self, arguments: Mapping[str, object], verb: str) -> str | None:
        server = self._server(arguments)
        return None if server is None else f"mcptest {verb} {server}"

    def _server(self, arguments: Mapping[str, object]) -> str | None:
        """The options that name a session's server; None for one that no option names. Values of variables are left out."""
        target = self._targets.get(str(arguments.get("session")), {})
        if "server" in target:
            name, path = (one_line(str(target[key])) for key in ("server", "suite"))
            return f"--server {shlex.quote(name)} --config {shlex.quote(shown_path(path))}"
        if "command" in target:
            return f"--command {shlex.quote(shlex.join(map(one_line, target['command'])))}"
        if "url" in target:
            token = target.get("bearer_token_env")
            option = f" --bearer-token-env {shlex.quote(str(token))}" if token else ""
            return f"--url {shlex.quote(one_line(str(target['url'])))}{option}"
        return None


def shown_path(path: str) -> str:
    """Return a path as a person would type it in this folder."""
    return one_line(path_here(path))
