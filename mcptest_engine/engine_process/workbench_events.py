"""What the engine process sends to the workbench unasked: each event is one JSON object, with `event` for its name.

These are the only events there are. `WorkbenchEvent` is their union, so that mypy refuses a member that an event does not have,
on either side. A class costs nothing when the program runs: a sender writes a dict, a receiver reads the dict of its line.
`core/events.py` has the events inside the engine; `event_lines.py` makes the events of a run from those.

`run` is the key that the workbench gave a run, `path` the absolute path of a suite, `id` that of a test. Times are milliseconds
where named `_ms`, else seconds since 1970. Texts are redacted, and long ones are cut (`pages.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NotRequired, TypedDict


class ErrorMembers(TypedDict):
    """Why something was refused, or failed. `kind` is a word for programs, such as "suite", "usage" or "cancelled".

    `problems` are those of a suite; of a server there are the end of its `stderr`, and in `short` what happened in a few words.
    """

    message: str
    hint: NotRequired[str]
    kind: str
    problems: NotRequired[list[dict[str, Any]]]
    stderr: NotRequired[str]
    short: NotRequired[str]


# --- runs


class RunQueued(TypedDict):
    """The run begins when those before it are over."""

    event: Literal["run.queued"]
    run: str
    path: str


class TestOfRun(TypedDict):
    """A test that a run is going to decide. `file` is an absolute path."""

    id: str
    name: str
    kind: str
    server: str
    file: str
    line: int


class RunStarted(TypedDict):
    """The plan is made; `tests` stand in declared order. `run_id` is that of the record."""

    event: Literal["run.started"]
    run: str
    path: str
    run_id: str
    workers: int
    tests: list[TestOfRun]


class CaseStarted(TypedDict):
    """A test's first attempt is under way."""

    event: Literal["case.started"]
    run: str
    id: str


class CaseAnswered(TypedDict):
    """A test's call has ended. Its verdict waits for the server's list of tools, or for being run again alone."""

    event: Literal["case.answered"]
    run: str
    id: str
    waits_for: Literal["list", "alone"]


class CaseFinished(TypedDict):
    """A test is decided. `result` is that of the record without request and output."""

    event: Literal["case.finished"]
    run: str
    id: str
    result: dict[str, Any]


class CaseExplained(TypedDict):
    """Why a failed test failed is known better than when it finished; `result` replaces the one before."""

    event: Literal["case.explained"]
    run: str
    id: str
    result: dict[str, Any]


class NodeChanged(TypedDict):
    """A node of a composition was begun or has ended. `message` is why it failed or was skipped, "" for neither."""

    event: Literal["node.changed"]
    run: str
    id: str
    node: str
    status: str
    duration_ms: float | None
    message: str


class AgentTurn(TypedDict):
    """The model of an agent test has answered.

    `turn` counts from 1, `trial` is missing where there is one conversation. `tokens` and `cost_usd` are those of the
    conversation so far; a price that is not known is None.
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
    """A command of a hook is running; `test` is missing where it is for the whole run."""

    event: Literal["hook.started"]
    run: str
    phase: str
    test: NotRequired[str]
    command: str


class HookFinished(TypedDict):
    """A command of a hook has ended. `hook` is a `HookResult` as JSON, of its output the end."""

    event: Literal["hook.finished"]
    run: str
    hook: dict[str, Any]


class Warned(TypedDict):
    """Something a person should know that fails nothing; one line."""

    event: Literal["warned"]
    run: str
    message: str


class RunFinished(TypedDict):
    """The run is over and saved; the last event of a run. `record` is without its tests, with `gates` for what was missed."""

    event: Literal["run.finished"]
    run: str
    path: str
    record: dict[str, Any]


class RunFailed(ErrorMembers):
    """The run did not begin; the last event of a run. The workbench sends it too, about a run that it could not request."""

    event: Literal["run.failed"]
    run: str
    path: NotRequired[str]


class RunAdopted(TypedDict):
    """An agent's run has ended, with results of the suite as it stands now. The workbench sends it to itself."""

    event: Literal["run.adopted"]
    path: str
    run_id: str
    results: list[dict[str, Any]]


# --- servers


class ServerState(TypedDict):
    """What happened to a server of a run, a spare server of a suite (both with `path`), or one that a person connected
    (`session` is its key): `state` is "starting", "ready", "restarting", "failed" or "closed".

    Of one that is ready there are `server_info`, `protocol` and `duration_ms`, in a session `transport` and `remarks`; of one
    that failed `message`, `short` (the same in a few words), `hint`, the end of its `stderr`, in a session the time `at`.
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
    """A server notified a session of changed lists ("tools", …), or of updated resources, by their URIs."""

    event: Literal["server.news"]
    session: str
    lists: list[str]
    updated: list[str]


class CatalogRemembered(TypedDict):
    """Another catalog of a suite's server was stored, for the editor."""

    event: Literal["catalog.remembered"]
    path: str
    server: str


class RunningProcess(TypedDict):
    """A process of ours, or a session over HTTP, whose `pid` is None.

    `role` is "workbench", "engine", "run", "spare", "hand", "hook", "scorer", "jq" or "guardian"; `waits` are the requests
    without an answer as [what, since]. `memory` is in bytes, None where it is not known; the event has none.
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
    """All that runs because of us, the oldest first."""

    event: Literal["processes"]
    rows: list[RunningProcess]


class TrafficRow(TypedDict):
    """A message between mcptest and a server, a line on stderr, noise on stdout, or the end of a session (`kind` "end").

    `n` counts from 1, `stream` is the number of the session, `size` is in bytes, `ms` how long an answer took, `status` that of
    HTTP. `test` is the id of the test that sent a request.
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
    """New rows, the oldest first; `dropped` is how many before them are no longer there."""

    event: Literal["traffic"]
    rows: list[TrafficRow]
    dropped: NotRequired[int]


# --- files and commands


class FilesChanged(TypedDict):
    """The contents of watched files have changed."""

    event: Literal["files.changed"]
    paths: list[str]


class FilesWatched(TypedDict):
    """These files are watched from now on; what was read before may be old."""

    event: Literal["files.watched"]
    paths: list[str]


class CommandFailed(ErrorMembers):
    """The command `do`, which wants no answer, was refused."""

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
