"""What a verb gets to work with: the workspace, what is allowed, the arguments, and a way to tell how far it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcptest_engine.workspace.workspace import Workspace

    Progress = Callable[[float, float | None, str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One front door. The process works in `workspace.root`, so that relative commands and `repro` lines mean the same."""

    workspace: Workspace
    environ: Mapping[str, str] = field(repr=False)
    writes_enabled: bool = False


async def _silent(done: float, total: float | None, message: str) -> None:
    """Nobody asked for progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of a verb; `arguments` fit its schema. `client` is {name, version} of who calls, None where it did not say."""

    door: Door
    arguments: Mapping[str, Any]
    progress: Progress = _silent
    client: Mapping[str, str] | None = None

    @property
    def workspace(self) -> Workspace:
        return self.door.workspace
