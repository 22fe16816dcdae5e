"""Real servers out of `tests/servers/`, and an event loop with a limit."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import ServerSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

SERVERS = Path(__file__).resolve().parents[1] / "servers"
LIMIT_SECONDS = 180


@pytest.fixture
def script() -> Callable[..., ServerSpec]:
    """`script("echo", "--name", "x", grace_seconds=…)`: the spec of a fixture server."""

    def make(name: str, *arguments: object, **settings: Any) -> ServerSpec:
        command = (sys.executable, "-S", str(SERVERS / f"{name}.py"), *map(str, arguments))
        settings.setdefault("env", {"PATH": os.environ["PATH"]})
        settings.setdefault("connect_timeout_seconds", 30)
        return ServerSpec(name=name, command=command, **settings)

    return make


@pytest.fixture
def until() -> Callable[[Callable[[], object]], Coroutine[Any, Any, None]]:
    """`await until(condition)`: for events without a future, such as a line on stderr; `run` limits it."""

    async def wait(condition: Callable[[], object]) -> None:
        while not condition():  # noqa: ASYNC110  # there is no event to wait for
            await asyncio.sleep(0.002)

    return wait


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Run a coroutine to its end, under a limit that only a hang reaches."""

    async def limited(work: Coroutine[Any, Any, Any]) -> Any:
        async with asyncio.timeout(LIMIT_SECONDS):
            return await work

    return lambda work: asyncio.run(limited(work))


@pytest.fixture
def with_session(run: Callable[..., Any]) -> Callable[..., Any]:
    """`with_session(spec, use)`: connect, `await use(session)`, close; gives what `use` returned."""

    async def work(spec: ServerSpec, use: Callable[..., Coroutine[Any, Any, Any]]) -> Any:
        session = await connect(spec)
        try:
            return await use(session)
        finally:
            await session.close()

    return lambda spec, use: run(work(spec, use))
