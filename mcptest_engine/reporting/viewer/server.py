"""Serves the viewer at 127.0.0.1 until it is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import logging
import signal
import socket
from functools import partial
from typing import TYPE_CHECKING

import uvicorn
from anyio import to_thread
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcptest_engine.core.errors import UsageError
from mcptest_engine.reporting.viewer.app import Live, make_app
from mcptest_engine.reporting.viewer.frame import warm
from mcptest_engine.reporting.viewer.run_index import RunIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.workspace.workspace import Workspace

HOST = "127.0.0.1"
MOST_AT_ONCE = 100
SILENT_SECONDS = 10.0
"""How long a connection may take to its first request."""
_ANY_PORT = "leave --port out to use a free port"


def listening(port: int) -> socket.socket:
    """A socket on loopback; port 0 is one that is free. Raises: UsageError when that port cannot be had."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # a port is free again as soon as its viewer has ended
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(128)
    except OSError as wrong:
        listener.close()
        if wrong.errno == errno.EADDRINUSE:
            raise UsageError(f"port {port} is in use", hint=_ANY_PORT) from None
        raise UsageError(f"cannot listen on port {port}: {wrong.strerror or wrong}", hint=_ANY_PORT) from None
    return listener


def serve(workspace: Workspace, listener: socket.socket, announce: Callable[[str], None]) -> None:
    """Until SIGINT or SIGTERM; `announce` is told the address once it answers."""
    asyncio.run(_serve(workspace, listener, announce))


class _Connection(H11Protocol):
    """uvicorn's counts a connection that asks for nothing as one at work, and waits for its request for ever.

    Here such a one goes after a while, and the oldest of them at once when there are too many.
    """

    numbers = itertools.count()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for this one."""
        super().connection_made(transport)
        self.number = next(self.numbers)
        self.loop.call_later(SILENT_SECONDS, self._end_if_silent)
        others = (one for one in self.connections if isinstance(one, _Connection) and one is not self and one.is_idle)
        idle = sorted(others, key=lambda one: one.number)
        for one in idle[: max(len(self.connections) - MOST_AT_ONCE + 1, 0)]:
            one.connections.discard(one)
            one.transport.close()

    @property
    def is_idle(self) -> bool:
        """Whether no request of it is being answered."""
        return not self._has_request or self.cycle.response_complete

    @property
    def _has_request(self) -> bool:
        return getattr(self, "cycle", None) is not None

    def _end_if_silent(self) -> None:
        if not self._has_request:
            self.transport.close()


class _Server(uvicorn.Server):
    """uvicorn's would raise the signal once more when it has ended, which is for programs that have something left to do.

    `when_ready` is called once it answers.
    """

    when_ready: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then report that requests are answered."""
        await super().startup(sockets)
        self.when_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers: `_serve` has its own."""
        yield


async def _serve(workspace: Workspace, listener: socket.socket, announce: Callable[[str], None]) -> None:
    port = listener.getsockname()[1]
    shelf = RunIndex(workspace)
    live = Live(shelf.state)
    config = uvicorn.Config(
        make_app(shelf, live, port),
        access_log=False,
        date_header=True,
        http=_Connection,
        interface="asgi3",
        lifespan="off",
        limit_concurrency=MOST_AT_ONCE,
        log_config=None,
        log_level="error",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        ws="none",
    )
    server = _Server(config)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what is cut off now is no news
        server.should_exit = True
        live.close()

    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop)
    server.when_ready = partial(announce, f"http://{HOST}:{port}/")
    await to_thread.run_sync(warm)  # by the way of the first page, which has nothing to load then
    reading = asyncio.create_task(to_thread.run_sync(shelf.rows))  # while a browser opens
    await server.serve(sockets=[listener])
    await reading
