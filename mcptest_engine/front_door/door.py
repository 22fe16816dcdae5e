"""What a tool of the MCP server receives: the workspace, the permissions, the arguments, and a way to send progress."""

from __future__ import annotations

import asyncio
from dataclasses import field
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.redaction import SHORTEST_SUBSTRING, Redactor
from mcptest_engine.core.values import dataclass
from mcptest_engine.front_door.handles import Handles
from mcptest_engine.front_door.lineages import Lineages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping

    from mcptest_engine.workspace.workspace import Workspace

    Progress = Callable[[float, float | None, str], Awaitable[None]]


class Runs:
    """The runs that an MCP server has begun. Each is a task of its own, so that it ends in order even if its caller is
    cancelled.
    """

    def __init__(self) -> None:
        self._going: set[asyncio.Task[object]] = set()
        self._called_off: set[asyncio.Task[object]] = set()

    def begin(self, run: Coroutine[object, object, object]) -> asyncio.Task[Any]:
        """Start a task that stores its own record."""
        task = asyncio.ensure_future(run)
        self._going.add(task)
        task.add_done_callback(self._going.discard)
        task.add_done_callback(self._called_off.discard)
        return task

    def call_off(self, run: asyncio.Task[object]) -> None:
        """Cancel a run. A second cancellation is ignored, because it would interrupt the cleanup."""
        if run in self._going and run not in self._called_off:
            self._called_off.add(run)
            run.cancel()

    async def end(self) -> None:
        """Cancel all runs, and wait until they have ended."""
        going = tuple(self._going)
        for run in going:
            self.call_off(run)
        if going:
            await asyncio.wait(going)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One MCP server.

    The process works in `workspace.root`, so that relative commands and `repro` lines mean the same. `known_secrets` are those
    of the servers and suites of a request: its answer contains none of them. Each request has its own, since a secret of one
    suite may be an ordinary word in another; stored data was redacted when it was stored.
    """

    workspace: Workspace
    environ: Mapping[str, str] = field(repr=False)
    writes_enabled: bool = False
    allowed_env: frozenset[str] = frozenset()
    known_secrets: Redactor = field(default_factory=Redactor, repr=False, compare=False)
    runs: Runs = field(default_factory=Runs, repr=False, compare=False)
    lineages: Lineages = field(default_factory=Lineages, repr=False, compare=False)
    handles: Handles = field(default_factory=Handles, repr=False, compare=False)

    def keep_secrets(self, secrets: Iterable[str]) -> None:
        """Remove these from the answer; a short one may be any word of ours."""
        for secret in secrets:
            if len(secret) >= SHORTEST_SUBSTRING:
                self.known_secrets.register(secret)


async def _drop_progress(done: float, total: float | None, message: str) -> None:
    """Drop a progress notification that no client asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of a tool; `arguments` match its schema. `client` is {name, version} of the caller, None when it did not say."""

    door: Door
    arguments: Mapping[str, Any]
    progress: Progress = _drop_progress
    client: Mapping[str, str] | None = None

    @property
    def workspace(self) -> Workspace:
        return self.door.workspace
