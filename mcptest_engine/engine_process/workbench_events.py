"""The events that the engine process sends to the workbench: each is one JSON object, whose `event` is its name.

`WorkbenchEvent` is the union of all of them, so that mypy refuses an unknown member in the engine and in the workbench. The
classes are only for type checking: at run time an event is a dict. The events inside the engine are in `core/events.py`;
`event_lines.py` turns those of a run into these.

`run` is the key that the workbench gave a run, `path` the absolute path of a suite, `id` the id of a test. Times are
milliseconds where named `_ms`, else seconds since 1970. Texts are redacted, and long ones are cut (`pages.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NotRequired, TypedDict


class ErrorMembers(TypedDict):
    """Why something was refused or failed. `kind` is a word for programs, such as "suite", "usage" or "cancelled".

    `problems` are those of a suite. For a server, `stderr` is the end of its stderr, and `short` the failure in a few words.
    """

    message: str
    hint: NotRequired[str]
    kind: str
    problems: NotRequired[list[dict[str, Any]]]
    stderr: NotRequired[str]
    short: NotRequired[str]


# --- runs


class RunQueued(TypedDict):
    """A run was queued; it starts when those before it have ended."""

    event: Literal["run.queued"]
    run: str
    path: str


class TestOfRun(TypedDict):
    """A test in the plan of a run. `file` is an absolute path."""

    id: str
    name: str
    kind: str
    server: str
    file: str
    line: int


class RunStarted(TypedDict):
    """A run has started; `tests` are in the order of the suite. `run_id` is the id of its record."""

    event: Literal["run.started"]
    run: str
    path: str
    run_id: str
    workers: int
    tests: list[TestOfRun]


class CaseStarted(TypedDict):
    """The first attempt of a test has started."""

    event: Literal["case.started"]
    run: str
    id: str


class CaseAnswered(TypedDict):
    """A test's call has ended. Its verdict needs the server's list of tools ("list"), or another run of the test alone."""

    event: Literal["case.answered"]
    run: str
    id: str
    waits_for: Literal["list", "alone"]


class CaseFinished(TypedDict):
    """A test has a result: the one of the record, without request and output."""

    event: Literal["case.finished"]
    run: str
    id: str
    result: dict[str, Any]


class CaseExplained(TypedDict):
    """The cause of a failed test is known better than when it finished; `result` replaces the earlier one."""

    event: Literal["case.explained"]
    run: str
    id: str
    result: dict[str, Any]


class NodeChanged(TypedDict):
    """A node of a composition has started or ended. `message` is why it failed or was skipped, else ""."""

    event: Literal["node.changed"]
    run: str
    id: str
    node: str
    status: str
    duration_ms: float | None
    message: str


class AgentTurn(TypedDict):
    """The model of an agent test has answered.

    `turn` counts from 1; `trial` is absent if there is one conversation. `tokens` and `cost_usd` are those of the conversation
    so far; an unknown price is None.
    """

    event: Literal["agent.turn"]
    run: str
    id: str
    turn: int
    trial: NotRequired[int]
    text: str
    tools: list[str]
    tokens: int
    cost_usd: float | None


class HookStarted(TypedDict):
    """A command of a hook has started; `test` is absent for a hook of the whole run."""

    event: Literal["hook.started"]
    run: str
    phase: str
    test: NotRequired[str]
    command: str


class HookFinished(TypedDict):
    """A command of a hook has ended. `hook` is a `HookResult` as JSON, with only the end of its output."""

    event: Literal["hook.finished"]
    run: str
    hook: dict[str, Any]


class Warned(TypedDict):
    """A warning on one line; it fails nothing."""

    event: Literal["warned"]
    run: str
    message: str


class RunFinished(TypedDict):
    """The last event of a run, which was saved if the disk allowed it. `record` is made by `event_lines.record_shown`."""

    event: Literal["run.finished"]
    run: str
    path: str
    record: dict[str, Any]


class RunFailed(ErrorMembers):
    """The run did not start, or failed; its last event. The workbench sends it itself for a run it could not request."""

    event: Literal["run.failed"]
    run: str
    path: NotRequired[str]


class RunAdopted(TypedDict):
    """A run of a coding agent has ended, and its results are valid for the suite as it is. The workbench sends it to itself."""

    event: Literal["run.adopted"]
    path: str
    run_id: str
    results: list[dict[str, Any]]


# --- servers


class ServerState(TypedDict):
    """The state of a server has changed to "starting", "ready", "restarting", "failed" or "closed".

    A server of a run or a spare server has `path`; one that a person connected has `session`, its key. With "ready" come
    `server_info`, `protocol` and `duration_ms`, and in a session `transport` and `remarks`. With "failed" come `message`,
    `short` (the same in a few words), `hint`, the end of `stderr`, and in a session the time `at`.
    """

    event: Literal["server.state"]
    run: NotRequired[str]
    path: NotRequired[str]
    session: NotRequired[str]
    server: str
    state: str
    server_info: NotRequired[dict[str, Any] | None]
    protocol: NotRequired[str | None]
    duration_ms: NotRequired[float]
    message: NotRequired[str]
    short: NotRequired[str]
    hint: NotRequired[str]
    stderr: NotRequired[str]
    transport: NotRequired[str]
    remarks: NotRequired[list[str]]
    at: NotRequired[float]


class ServerNews(TypedDict):
    """A server sent notifications of changed `lists` ("tools", …) or of `updated` resources, given by their URIs."""

    event: Literal["server.news"]
    session: str
    lists: list[str]
    updated: list[str]


class CatalogRemembered(TypedDict):
    """A new catalog of a suite's server was stored, for completion in the editor."""

    event: Literal["catalog.remembered"]
    path: str
    server: str


class RunningProcess(TypedDict):
    """A process of mcptest, or an HTTP session, whose `pid` is None.

    `role` is "workbench", "engine", "run", "spare", "hand", "hook", "scorer", "jq" or "guardian"; `waits` are the requests
    without an answer as [text, since]. `memory` is in bytes, None where it is not known; the event `processes` has none.
    """

    number: int
    role: str
    pid: int | None
    name: str
    shown: str
    suite: str
    session: str
    since: float
    waits: list[tuple[str, float]]
    memory: NotRequired[int | None]


class ProcessesChanged(TypedDict):
    """The list of processes has changed; `rows` is the whole list, oldest first."""

    event: Literal["processes"]
    rows: list[RunningProcess]


class TrafficRow(TypedDict):
    """A message between mcptest and a server, a line on stderr, noise on stdout, or the end of a session (`kind` "end").

    `n` counts from 1, `stream` is the number of the session, `size` is in bytes, `ms` is how long the answer took, `status` is
    the HTTP status. `test` is the id of the test that sent the message.
    """

    n: int
    at: float
    server: str
    stream: int
    sent: bool
    kind: str
    size: int
    pid: int | None
    test: NotRequired[str]
    spare: NotRequired[bool]
    id: NotRequired[str | int]
    method: NotRequired[str]
    about: NotRequired[str]
    ms: NotRequired[float]
    error: NotRequired[bool]
    text: NotRequired[str]
    status: NotRequired[int]


class TrafficSent(TypedDict):
    """New rows, oldest first; `dropped` is how many rows before them were dropped without being sent."""

    event: Literal["traffic"]
    rows: list[TrafficRow]
    dropped: NotRequired[int]


# --- files and commands


class FilesChanged(TypedDict):
    """The contents of watched files have changed."""

    event: Literal["files.changed"]
    paths: list[str]


class FilesWatched(TypedDict):
    """These files are watched from now on; what was read from them before may be outdated."""

    event: Literal["files.watched"]
    paths: list[str]


class CommandFailed(ErrorMembers):
    """The command `do`, which was sent without `ask`, was refused."""

    event: Literal["command.failed"]
    do: str


WorkbenchEvent = (
    RunQueued
    | RunStarted
    | CaseStarted
    | CaseAnswered
    | CaseFinished
    | CaseExplained
    | NodeChanged
    | AgentTurn
    | HookStarted
    | HookFinished
    | Warned
    | RunFinished
    | RunFailed
    | RunAdopted
    | ServerState
    | ServerNews
    | CatalogRemembered
    | ProcessesChanged
    | TrafficSent
    | FilesChanged
    | FilesWatched
    | CommandFailed
)
Send = Callable[[WorkbenchEvent], None]
