"""What a walk of a composition needs of the outside, and how that says no."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.errors import ServerError
    from mcptest_engine.core.results import FailureKind
    from mcptest_engine.running.compositions.trace import Call, NodeTrace


class World(Protocol):
    """What a walk needs of the outside."""

    async def call(
        self, server: str, tool: str, args: Mapping[str, Any], timeout_seconds: float
    ) -> tuple[Mapping[str, Any], str | None]:
        """The answer of `tools/call`, {"result"} or {"error"}, and what the server's list has against the call.

        Raises: ServerError when no answer came.
        """
        ...

    async def compute(self, program: str, value: Any) -> list[Any]:
        """The outputs of a jq program. Raises: ComputeError."""
        ...

    def frozen(self, node: NodeTrace, call: Call) -> Mapping[str, Any]:
        """The answer that was kept of a call, in the shape of one that comes. Raises: NotFrozen when none was."""
        ...

    def freeze(self, node: NodeTrace) -> None:
        """Keep what came of a node's calls."""
        ...

    def kind_of(self, error: ServerError) -> FailureKind:
        """Whose failure an error is."""
        ...

    def told(self, node: NodeTrace, *, begun: bool) -> None:
        """A node was begun, or has ended."""
        ...

    def redact(self, value: Any) -> Any:
        """The value without secrets, for what is quoted of it."""
        ...

    def clock(self) -> float:
        """Seconds, of a clock that only goes forward."""
        ...


class ComputeError(Exception):
    """A jq program that gave nothing usable; the message says why."""


class NotFrozen(Exception):
    """Nothing was kept of a call; `hint` says how to keep it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
