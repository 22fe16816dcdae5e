"""A server in this process: an object of the `mcp` SDK or of `fastmcp`, connected in memory.

The SDK's own stdio server reads and writes here, over two texts in place of stdin and stdout. So a server sends the same bytes
as in its own process, and no process is started. It shares the event loop of its caller: blocking code blocks both, and no
timeout can end it.
"""

from __future__ import annotations

import asyncio
import traceback
from contextlib import AsyncExitStack
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import UsageError
from mcptest_engine.servers.failures import Ending
from mcptest_engine.servers.transport import ConnectionlessTransport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcptest_engine.servers.calls import Call
    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.servers.transport import Receiver

_LOW_LEVEL = ("_mcp_server", "_lowlevel_server")
"""The attributes in which `FastMCP` and `MCPServer` hold the low-level server; the SDK's clients use them too."""


def low_level_server(app: object) -> Any:
    """The low-level server of an object. Raises: UsageError for an object that is none and holds none."""
    for name in _LOW_LEVEL:
        inner = getattr(app, name, None)
        if inner is not None:
            return inner
    if callable(getattr(app, "run", None)) and callable(getattr(app, "create_initialization_options", None)):
        return app
    raise UsageError(
        f"an object of type {type(app).__name__} is not an MCP server",
        hint="pass a FastMCP, MCPServer or low-level Server object, a command, or a URL",
    )


def connecting_in_process(app: object) -> Callable[[ServerSpec], Awaitable[Session]]:
    """Make a `connect` that runs `app` in the event loop. Raises: UsageError for an object that is no server."""
    server = low_level_server(app)

    async def connect(spec: ServerSpec) -> Session:
        from mcptest_engine.servers.session import open_over

        return await open_over(InProcessTransport(app, server), spec)

    return connect


class InProcessTransport(ConnectionlessTransport):
    """A transport to a server object in this process."""

    kind = "in-process"
    auth = "none"

    def __init__(self, app: object, server: Any) -> None:
        self._app, self._server = app, server
        self._input = _Input()
        self._task: asyncio.Task[None] | None = None
        self._trace = ""

    def open(self, receiver: Receiver) -> None:
        """Start the server as a task of this loop."""
        self._task = asyncio.get_running_loop().create_task(self._run(receiver), name="server in this process")

    async def _run(self, receiver: Receiver) -> None:
        from mcp.server.stdio import stdio_server  # the application that made this object has imported the SDK

        clause = "ended"
        try:
            async with AsyncExitStack() as stack:
                lifespan = getattr(self._app, "_lifespan_manager", None)  # fastmcp opens it in front of its sessions
                if lifespan is not None:
                    await stack.enter_async_context(lifespan())
                streams: Any = stdio_server(self._input, _Output(receiver))  # type: ignore[arg-type]
                reading, writing = await stack.enter_async_context(streams)
                await self._server.run(reading, writing, self._server.create_initialization_options())
        except asyncio.CancelledError:
            clause = "was ended"
            raise
        except BaseException as wrong:
            self._trace = "".join(traceback.format_exception(wrong))
            clause = f"raised {type(wrong).__name__}"
            if not isinstance(wrong, Exception):
                raise
        finally:
            receiver.lost(Ending(clause=clause))

    def send(self, line: bytes, call: Call | None, *, urgent: bool) -> None:  # noqa: ARG002
        """Hand the server one line."""
        self._input.put(line.decode("utf-8", "replace"))

    async def close(self) -> Ending:
        """End the server's input, and the server where it goes on."""
        self._input.end()
        if self._task is not None:
            await asyncio.wait((self._task,), timeout=1.0)
            self._task.cancel()
            await asyncio.wait((self._task,), timeout=1.0)
        return Ending(clause="was closed")

    def stderr_since(self, at: float) -> str:  # noqa: ARG002
        """The traceback of a server that raised; what it writes on stderr goes where this process writes."""
        return self._trace

    def withdraw(self, call: Call) -> bool:  # noqa: ARG002
        """Return false: a sent request cannot be taken back."""
        return False


class _Input:
    """Replaces the server's stdin: an asynchronous iterator of lines."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    def put(self, line: str) -> None:
        self._lines.put_nowait(line)

    def end(self) -> None:
        self._lines.put_nowait(None)

    def __aiter__(self) -> _Input:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line


class _Output:
    """Replaces the server's stdout: each text that is written is one message and its newline."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    async def write(self, text: str) -> None:
        self._receiver.received(text.rstrip("\n").encode("utf-8", "backslashreplace"), monotonic())

    async def flush(self) -> None:
        """Do nothing: each text has been handed over."""
