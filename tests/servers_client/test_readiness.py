"""Waiting for a server that somebody else starts: `wait_for_ready`."""

from __future__ import annotations

import asyncio
import re
import socket
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.errors import NotReady
from mcptest_engine.servers.readiness import wait_until_ready
from mcptest_engine.servers.spec import Readiness, ServerSpec
from tests.processes import longer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    """A port that refuses connections and is nobody else's meanwhile: bound, and not listened on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound


def port_of(bound: socket.socket) -> int:
    return int(bound.getsockname()[1])


def spec(port: int, ready: Readiness) -> ServerSpec:
    return ServerSpec(name="api", url=f"http://127.0.0.1:{port}/mcp", wait_for_ready=ready)


def answering(*statuses: int) -> Callable:
    """A connection handler that answers with one status after the other; the last one repeats."""
    left = list(statuses)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        status = left.pop(0) if len(left) > 1 else left[0]
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
        await writer.drain()
        writer.close()

    return handle


def test_a_port_that_opens_later_is_waited_for(run: Callable, taken: socket.socket) -> None:
    async def work() -> None:
        waiting = asyncio.ensure_future(wait_until_ready(spec(port_of(taken), Readiness(60))))
        await asyncio.sleep(0)
        assert not waiting.done()
        server = await asyncio.start_server(answering(200), sock=taken)
        async with server:
            await waiting

    run(work())


def test_a_port_that_stays_closed_is_told_with_the_reason(run: Callable, taken: socket.socket) -> None:
    port = port_of(taken)
    expected = (
        f'server "api" was not ready within 200 ms (`wait_for_ready`): '
        f"connection refused at http://127.0.0.1:{port}/mcp"
    )
    with pytest.raises(NotReady, match=f"^{re.escape(expected)}$"):
        run(wait_until_ready(spec(port, Readiness(0.2))))


def test_a_url_that_tells_is_asked_until_it_answers_well(run: Callable, taken: socket.socket) -> None:
    async def work() -> None:
        server = await asyncio.start_server(answering(503, 500, 204), "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            await wait_until_ready(spec(port_of(taken), Readiness(60, f"http://127.0.0.1:{port}/health")))

    run(work())


def test_a_url_that_never_answers_well_is_told_with_its_status(run: Callable) -> None:
    async def work(seconds: float) -> None:
        server = await asyncio.start_server(answering(503), "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            await wait_until_ready(spec(port, Readiness(seconds, f"http://127.0.0.1:{port}/health?token=x")))

    for seconds in longer(0.2):
        with pytest.raises(NotReady) as failed:
            run(work(seconds))
        if "HTTP" in failed.value.message:  # else there was no time for any answer
            break
    assert re.search(r"HTTP 503 at http://127\.0\.0\.1:\d+/health$", failed.value.message)


def test_a_url_that_answers_with_an_event_stream_tells_by_its_status(run: Callable, taken: socket.socket) -> None:
    """The body has no end."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\n")
        await reader.read()
        writer.close()
        await writer.wait_closed()
        left.set()

    left = asyncio.Event()

    async def work() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            await wait_until_ready(spec(port_of(taken), Readiness(60, f"http://127.0.0.1:{port}/events")))
            await left.wait()

    run(work())


def test_a_server_behind_a_proxy_of_the_environment_is_asked_through_it(
    run: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its calls are; its own port may be out of reach."""

    async def work() -> None:
        server = await asyncio.start_server(answering(503, 405), "127.0.0.1", 0)
        async with server:
            for name in ("http_proxy", "HTTP_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            url = "http://mcp.example.invalid/mcp"
            await wait_until_ready(ServerSpec(name="api", url=url, wait_for_ready=Readiness(60)))

    run(work())


def test_a_server_that_accepts_and_says_nothing_is_ready_by_its_port_and_not_by_its_url(run: Callable) -> None:
    async def work(port: int) -> None:
        await wait_until_ready(spec(port, Readiness(60)))
        await wait_until_ready(spec(port, Readiness(0.2, f"http://127.0.0.1:{port}/health")))

    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(NotReady, match="no answer"):
        run(work(silent.getsockname()[1]))
