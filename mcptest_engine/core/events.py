"""What happens in a run, emitted as it happens.

Events are frozen and complete: a listener needs nothing else. `emit(event)` is a plain call; a listener that raises is
reported and dropped. `RunFinished` is always the last one, also after Ctrl-C. Times are monotonic seconds where named
`at`, milliseconds where named `_ms`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.core.results import Failure, TestKind, TestResult
    from mcptest_engine.core.run_record import HookResult, RunRecord, SuiteInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTest:
    """A test that the run is going to decide."""

    id: str
    name: str
    kind: TestKind
    server: str
    file: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The plan is made; `tests` stand in declared order."""

    run_id: str
    suite: SuiteInfo
    tests: tuple[PlannedTest, ...]
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStarting:
    """A server is being started or reached."""

    server: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReady:
    """The handshake is done. `server_info` is as the server sent it."""

    server: str
    server_info: JsonMapping | None
    protocol_version: str | None
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFailed:
    """A server could not be started, or died, of `short` in a few words. `restarting`: it is given another try."""

    server: str
    failure: Failure
    restarting: bool
    short: str = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookStarted:
    """A command of a hook is running. `test` is the id of the test around which it runs, None where it is the whole run."""

    phase: str
    command: str
    test: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFinished:
    """A command of a hook has ended, one way or another; one that failed may fail tests, which have events of their own."""

    result: HookResult


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseStarted:
    """A test's first attempt is under way; `index` is its place in `RunStarted.tests`."""

    index: int
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChanged:
    """A node of a composition was begun (`status` "running") or has ended ("ok", "err", "skipped"); `test` is the test's id.

    `message` is why it failed or was skipped. A node that is skipped because of its parents has no event; the result has it.
    """

    test: str
    node: str
    status: str
    duration_ms: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTurn:
    """The model of an agent test has answered; `test` is the test's id.

    `turn` counts from 1, `run` says which of the test's trials it belongs to (0 where there is one conversation). `text` is the
    beginning of what it said, `tools` are the names that it asks for. `tokens` and `cost_usd` are those of the conversation so
    far; a price that is not known is None.
    """

    test: str
    turn: int
    text: str
    tools: tuple[str, ...]
    tokens: int
    cost_usd: float | None
    run: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseAnswered:
    """The call of a test has ended, and its verdict waits: for the server's list that decides about the answer, or, where
    `is_held` says so, for being run again alone, because the server ended or hung while other calls were under way.
    """

    id: str
    is_held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFinished:
    """A test has its result; `CaseExplained` may follow. Events come in the order of finishing; reports order by `index`."""

    index: int
    result: TestResult


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseExplained:
    """The cause of a failed test is known better, mostly from running it again alone. It stays failed; the record has this."""

    index: int
    result: TestResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something a person should know that fails nothing; one line."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The run is over and its record complete."""

    record: RunRecord


Event = (
    RunStarted
    | ServerStarting
    | ServerReady
    | ServerFailed
    | HookStarted
    | HookFinished
    | CaseStarted
    | CaseAnswered
    | NodeChanged
    | AgentTurn
    | CaseFinished
    | CaseExplained
    | Warned
    | RunFinished
)
if TYPE_CHECKING:
    Emit = Callable[[Event], None]
