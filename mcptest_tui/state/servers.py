"""The servers to browse: those of the suites, those found in the settings of agents, those that were typed.

Nothing here starts anything. The surprising thing: whether a server may be started without a question is kept here, and for
this workbench's life only. A command that somebody else wrote down, in settings or in a session, is asked about once.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.servers.transport import transport_of
from mcptest_tui.state.new_suite import declared_target, server_name, shown_target, target_of
from mcptest_tui.state.processes import running_server_text
from mcptest_tui.state.tree_rows import suite_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest_engine.engine_process.workbench_events import ServerState, WorkbenchEvent
    from mcptest_engine.running.documents import Document
    from mcptest_tui.state.processes import Process

MOST_RECENT = 12
HEADINGS = {"suite": "Suites", "recent": "Typed here", "found": "Found on this machine"}
BUSY = ("starting", "stopping")


@dataclass(slots=True, eq=False)
class Server:
    """One server. `state` is "off", "starting", "ready", "failed" or "stopping"; `key` is also its session's.

    `ask` says that a person has to agree before it is first started; `origin` is what stands behind the name: a client, a file.
    `failed_at` is the time of day; `died` tells a server that had been connected from one that did not start.
    `runs` says what runs of it without being connected here, such as "in a run".
    `watched` are the resources that are subscribed to, each "subscribed" or, until it is read, "updated".
    """

    key: str
    name: str
    group: str
    target: Mapping[str, Any]
    shown: str
    transport: str = "stdio"
    origin: str = ""
    path: str = ""
    source: str = ""
    argv: tuple[str, ...] = ()
    cwd: str = ""
    env_names: tuple[str, ...] = ()
    header_names: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    ask: bool = False
    state: str = "off"
    message: str = ""
    short: str = "failed"
    hint: str = ""
    stderr: str = ""
    failed_at: str = ""
    died: bool = False
    since: float = 0.0
    duration_ms: float | None = None
    protocol: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    catalog: dict[str, Any] | None = None
    catalog_problem: str = ""
    level: str | None = None
    runs: str = ""
    watched: dict[str, str] = field(default_factory=dict)
    version: int = 0

    @property
    def consent(self) -> tuple[str, str]:
        """What a person agrees to: another when anything of its settings has changed, be it shown or not."""
        return self.key, str(self.target.get("agreed", self.shown))

    @property
    def connected(self) -> bool:
        """Whether the tools of the server can be called now."""
        return self.state == "ready"

    def has_capability(self, capability: str, member: str = "") -> bool:
        """Whether it has this capability; `member` is one that has to be true in it."""
        told = (self.catalog or {}).get("capabilities")
        found = told.get(capability) if isinstance(told, dict) else None
        if member:
            return isinstance(found, dict) and found.get(member) is True
        return found is not None and found is not False

    @property
    def own_name(self) -> str:
        """The name and version that the server reports of itself."""
        parts = [self.info.get(key) for key in ("name", "version")]
        return " ".join(str(part) for part in parts if isinstance(part, (str, int, float)) and part)


class Heading(NamedTuple):
    """A row above the servers of one group."""

    title: str


class ConfigProblem(NamedTuple):
    """An agent's settings file that could not be read."""

    path: str
    client: str
    message: str


class Servers:
    """All servers by key, and the rows of the list that shows them."""

    def __init__(self) -> None:
        self.by_key: dict[str, Server] = {}
        self.rows: list[Heading | Server | ConfigProblem] = []
        self.problems: tuple[ConfigProblem, ...] = ()
        self.searched = False
        self.agreed: set[tuple[str, str]] = set()
        self.processes: tuple[Process, ...] = ()
        self.rebuild()

    # Where they come from

    def put_suites(self, documents: Iterable[Document]) -> None:
        """The servers of the open suites as they stand now; a connected one stays, even if it stands nowhere any more."""
        found: dict[str, Server] = {}
        documents = list(documents)
        paths = [document.path for document in documents]
        for document in documents:
            for item in document.servers:
                key = f"suite:{document.path}\0{item.name}"
                target = {"suite": document.path, "server": item.name}
                server = self.by_key.get(key) or Server(key, item.name, "suite", target, item.target)
                server.shown, server.transport, server.path = item.target, item.transport, document.path
                server.origin = suite_title(document.path, paths)
                server.env_names = item.env_names
                found[key] = server
        self._replace("suite", found)

    def put_found(self, answer: Mapping[str, Any]) -> None:
        """Add the servers that the engine found in settings of agents."""
        found: dict[str, Server] = {}
        for told in answer.get("servers", ()):
            key = f"found:{told['key']}"
            server = self.by_key.get(key) or Server(key, told["name"], "found", {}, told["target"])
            server.target = {"found": told["key"], "agreed": told["digest"]}
            server.shown, server.transport = told["target"], told["transport"]
            server.origin, server.source = told["client"], told["source"]
            server.argv, server.cwd = tuple(told["argv"]), told.get("cwd") or ""
            server.env_names, server.header_names = tuple(told["env_names"]), tuple(told["header_names"])
            server.variables, server.missing = tuple(told["variables"]), tuple(told["missing"])
            server.ask = True
            found[key] = server
        self.problems = tuple(
            ConfigProblem(told["path"], told["client"], told["message"]) for told in answer.get("problems", ())
        )
        self.searched = True
        self._replace("found", found)

    def add(self, typed: str, *, ask: bool = False) -> Server | None:
        """A command or URL that was typed; None when it is neither. `ask` is for one that comes from a file."""
        target = target_of(typed)
        if target is None:
            return None
        secrets: dict[str, str] = {}
        declared, told = declared_target(target, secrets), shown_target(target)
        key = f"typed:{told if secrets else typed.strip()}"
        server = self.by_key.pop(key, None)
        if server is not None:
            server.target = target  # the secrets in it may be others
        else:
            transport = transport_of(target.get("url"))
            argv, name = tuple(declared.get("command", ())), server_name(target)
            told = told if secrets or "url" in target else typed.strip()
            server = Server(key, name, "recent", target, told, transport, origin=told, argv=argv, ask=ask)
            token = target.get("bearer_token_env")
            server.env_names = (token,) if token else ()
        self.by_key = {key: server, **self.by_key}  # newest first
        typed_ones = [one for one in self.by_key.values() if one.group == "recent"]
        for one in typed_ones[MOST_RECENT:]:
            if one.state == "off":
                del self.by_key[one.key]
        self.rebuild()
        return server

    def recent(self) -> list[str]:
        """What was typed, newest first, for the session; never anything that looks like a secret."""
        clean, texts = Redactor(), []
        for server in self.by_key.values():
            secrets: dict[str, str] = {}
            if server.group == "recent":
                declared_target(server.target, secrets)
                text = server.key.removeprefix("typed:")
                texts += [] if secrets or _holds_secret(text, clean) else [text]
        return texts

    # What becomes of them

    def apply(self, events: Iterable[WorkbenchEvent], now: float) -> set[str]:
        """Apply `server.state` events of the workbench's sessions; return the changed servers' keys."""
        changed: set[str] = set()
        for event in events:
            if event["event"] != "server.state":
                continue
            server = self.by_key.get(event.get("session", ""))
            if server is not None:
                self._move(server, event, now)
                changed.add(server.key)
        return changed

    def put_processes(self, processes: tuple[Process, ...]) -> set[str]:
        """Store which servers run without a connection; return the changed servers' keys."""
        self.processes = processes
        changed = set[str]()
        for server in self.by_key.values():
            words = running_server_text(processes, server.path, server.name) if server.path else ""
            if words != server.runs:
                server.runs, server.version = words, server.version + 1
                changed.add(server.key)
        return changed

    def refused(self, server: Server, message: str, hint: str | None) -> None:
        """Mark a server as failed, because connecting could not even be tried."""
        server.state, server.message, server.hint, server.stderr = "failed", message, hint or "", ""
        server.failed_at, server.died, server.short = "", False, "failed"
        server.version += 1

    def lost(self) -> None:
        """Mark all servers as disconnected, because the engine process has ended."""
        for server in self.by_key.values():
            if server.state != "off":
                server.state, server.message, server.hint = "off", "the engine stopped; connect it again", ""
                server.catalog = None
                server.version += 1

    def named(self, name: str, suite: str = "") -> Server | None:
        """Return the server of this name, a connected one before others."""
        found = [one for one in self.by_key.values() if one.name == name and (not suite or one.path == suite)]
        return next((one for one in found if one.connected), found[0] if found else None)

    def needs_consent(self, server: Server) -> bool:
        """Whether the person must agree before this server is started."""
        return server.ask and server.consent not in self.agreed

    def agree(self, consent: tuple[str, str]) -> None:
        """Remember that the person agreed to a command or URL with its settings."""
        self.agreed.add(consent)

    def rebuild(self) -> None:
        """Build the rows of the list from the groups of servers."""
        rows: list[Heading | Server | ConfigProblem] = []
        for group, title in HEADINGS.items():
            servers = [server for server in self.by_key.values() if server.group == group]
            problems = self.problems if group == "found" else ()
            if servers or problems:
                rows += [Heading(title), *servers, *problems]
        self.rows = rows

    def _replace(self, group: str, found: dict[str, Server]) -> None:
        kept = {
            key: one
            for key, one in self.by_key.items()
            if one.group != group or (key not in found and one.state != "off")
        }
        self.by_key = {**found, **kept}
        self.rebuild()

    def _move(self, server: Server, event: ServerState, now: float) -> None:
        state = event["state"]
        server.version += 1
        if state == "closed":
            if server.state != "failed":
                server.state = "off"
            server.catalog = None
            return
        if state == "failed":
            server.died = server.state == "ready"
            server.failed_at = time.strftime("%H:%M:%S", time.localtime(event.get("at")))
        server.state = "starting" if state == "restarting" else state
        server.message, server.hint = event.get("message", ""), event.get("hint", "")
        server.short, server.stderr = event.get("short", "failed"), event.get("stderr", "")
        if state == "starting":
            server.since = now
            server.catalog, server.catalog_problem, server.info, server.protocol = None, "", {}, ""
            server.level = None
            server.watched.clear()
        elif state == "ready":
            info = event.get("server_info")
            server.info = info if isinstance(info, dict) else {}
            server.protocol = event.get("protocol") or ""
            server.duration_ms = event.get("duration_ms")
            server.remarks = tuple(event.get("remarks", ()))


def state_mark(server: Server) -> str:
    """Return the name of the mark for the server's state."""
    known = {"off": "off", "ready": "on", "failed": "fail"}
    return "on" if server.runs else known.get(server.state, "queued")


def state_text(server: Server, now: float) -> str:
    """The state in a few words: `12 tools`, `starting 3 s`, `exited 1`, `not started`."""
    if server.state == "ready":
        if server.catalog is None:
            return "connected"
        tools = len(server.catalog.get("tools") or ())
        return f"connected, {tools:,} tool{'' if tools == 1 else 's'}"
    if server.state == "starting":
        return f"starting {max(now - server.since, 0):.0f} s"
    if server.state == "stopping":
        return "stopping"
    if server.state == "failed":
        return server.short
    if server.runs:
        return server.runs
    return "not started" if not server.missing else f"needs {server.missing[0]}"


def _holds_secret(text: str, redactor: Redactor) -> bool:
    from mcptest_engine.core.secret_names import is_secret_flag, is_secret_name

    words = re.split(r"[\s=&?]+", text)
    return redactor.redact_text(text) != text or any(
        is_secret_flag(word) or is_secret_name(word.lstrip("-")) for word in words if word[:1] != "$"
    )
