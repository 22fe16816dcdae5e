"""The engine child from the workbench's side: asked, listened to, lost, started again, and ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_tui.engine_client import EngineClient, EngineError
from tests.engine_process.conftest import SERVERS, Clinging, echoes
from tests.engine_process.processes import Watched, processes_in
from tests.forked import WarmPopen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent

pytestmark = pytest.mark.anyio
LIMIT_SECONDS = 60


@pytest.fixture(autouse=True)
def _nothing_is_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """How the process itself is started and ends is the point."""
    monkeypatch.setattr(subprocess, "Popen", WarmPopen.__mro__[1])


class Listening:
    """An engine client, and everything that it told."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.states: list[tuple[str, str]] = []
        self.client = EngineClient(self._event, self._state)
        self._news = asyncio.Event()

    def _event(self, event: WorkbenchEvent) -> None:
        self.events.append(dict(event))
        self._news.set()

    def _state(self, state: str, why: str) -> None:
        self.states.append((state, why))
        self._news.set()

    async def until(self, condition: Callable[[], Any]) -> Any:
        async with asyncio.timeout(LIMIT_SECONDS):
            while True:
                value = condition()
                if value:
                    return value
                self._news.clear()
                await self._news.wait()

    async def event(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = await self.until(
            lambda: next((event for event in self.events if event["event"] == name), None)
        )
        return found

    async def ready(self, times: int = 1) -> None:
        await self.until(lambda: self.states.count(("ready", "")) >= times)


@pytest.fixture
async def engine(place: Path) -> AsyncIterator[Listening]:
    """A client whose child is ready, in `place`."""
    listening = Listening()
    await listening.client.start(str(place))
    await listening.ready()
    yield listening
    await listening.client.close()


@pytest.fixture
def clinging(tmp_path: Path, place: Path) -> Iterator[Clinging]:
    server = Clinging(tmp_path / "fifo")
    command = [sys.executable, "-S", str(SERVERS / "clinging.py"), str(server.path)]
    write(place, command, [{"name": "look", "tool": "look"}])
    yield server
    server.close()
    for pid in processes_in(place):
        if pid != os.getpid():
            os.kill(pid, signal.SIGKILL)


def write(place: Path, command: list[str], tests: list[Any]) -> None:
    suite = {"servers": {"s": {"command": command}}, "tools": tests}
    (place / "mcptest.yml").write_text(json.dumps(suite), encoding="utf-8")


async def test_a_run_is_asked_for_and_told(engine: Listening, demo: Path) -> None:
    assert await engine.client.request("run", run="r", path=str(demo)) == {}
    record = (await engine.event("run.finished"))["record"]
    assert record["totals"]["passed"] > 10
    assert engine.states == [("ready", "")]


async def test_a_refusal_carries_what_to_do(engine: Listening, place: Path) -> None:
    (place / "mcptest.yml").write_text("serverz: {}\n", encoding="utf-8")
    with pytest.raises(EngineError) as refused:
        await engine.client.request("connect", session="s", target={"suite": "mcptest.yml"})
    assert refused.value.kind == "suite"
    assert refused.value.hint == "did you mean `servers`?"
    assert refused.value.more["problems"][0]["line"] == 1


async def test_asks_are_answered_in_any_order(engine: Listening, place: Path) -> None:
    write(place, [sys.executable, "-S", str(SERVERS / "echo.py")], [])
    target = {"command": [sys.executable, "-S", str(SERVERS / "echo.py")]}
    await engine.client.request("connect", session="s", target=target)
    hung = asyncio.ensure_future(call(engine, "slow", ms=600_000))
    quick = await call(engine, "echo", text="a")
    assert not hung.done()
    assert quick["answer"]["result"]["content"][0]["text"] == "a"
    slept = await call(engine, "slow", ms=1)
    assert slept["answer"]["result"]["content"][0]["text"] == "slept"
    hung.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hung


async def call(engine: Listening, tool: str, **arguments: Any) -> Any:
    params = {"name": tool, "arguments": arguments}
    return await engine.client.request("call", session="s", method="tools/call", params=params)


async def test_an_ask_that_nobody_waits_for_is_given_up_there_too(engine: Listening) -> None:
    target = {"command": [sys.executable, "-S", str(SERVERS / "echo.py")]}
    await engine.client.request("connect", session="s", target=target)
    asking = asyncio.ensure_future(call(engine, "slow", ms=60_000))
    await engine.event("server.state")
    await call(engine, "echo", text="a")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    seen = (await call(engine, "seen"))["answer"]["result"]["structuredContent"]["messages"]
    assert "notifications/cancelled" in [message.get("method") for message in seen]


async def test_a_child_that_is_killed_is_started_again(engine: Listening, clinging: Clinging, place: Path) -> None:
    """What was asked fails, its servers are gone, and what was set is set again."""
    engine.client.send("watch", paths=[str(place / "mcptest.yml")])
    await engine.client.request("run", run="r", path="mcptest.yml")
    clinging.wait_for("called")
    await engine.client.request("connect", session="s", target={"command": ["sleep", "60"]})
    waiting = asyncio.ensure_future(engine.client.request("catalog", session="s"))
    await engine.client.request("find", paths=["."])
    processes = Watched([pid for pid in processes_in(place) if pid != os.getpid()])
    assert engine.client.pid is not None
    os.kill(engine.client.pid, signal.SIGKILL)
    with pytest.raises(EngineError, match=r"the engine stopped \(signal 9\)"):
        await waiting
    processes.wait_until_gone()
    await engine.ready(2)
    assert engine.states == [("ready", ""), ("lost", "signal 9"), ("ready", "")]
    await engine.client.request("find", paths=["."])
    write(place, ["true"], [])
    await engine.event("files.changed")


async def test_an_ask_made_between_two_children_waits_for_the_new_one(engine: Listening) -> None:
    assert engine.client.pid is not None
    os.kill(engine.client.pid, signal.SIGKILL)
    await engine.until(lambda: ("lost", "signal 9") in engine.states)
    assert engine.client.pid is None
    assert await engine.client.request("find", paths=["."]) == []


async def test_a_child_that_is_lost_three_times_is_gone_until_it_is_started(engine: Listening, place: Path) -> None:
    for number in range(3):
        await engine.ready(number + 1)
        assert engine.client.pid is not None
        os.kill(engine.client.pid, signal.SIGSEGV)
    await engine.until(lambda: engine.states[-1][0] == "gone")
    assert engine.states[-1][1] == "it stopped 3 times within a minute, at last with signal 11"
    with pytest.raises(EngineError, match="the engine is gone"):
        await engine.client.request("find", paths=["."])
    await engine.client.start(str(place))
    assert await engine.client.request("find", paths=["."]) == []


async def test_a_directory_that_is_gone_is_told(place: Path) -> None:
    with pytest.raises(EngineError, match="the engine cannot be started"):
        await Listening().client.start(str(place / "nowhere"))


async def test_closing_leaves_nothing_whatever_a_server_does(
    engine: Listening, clinging: Clinging, place: Path
) -> None:
    await engine.client.request("run", run="r", path="mcptest.yml")
    clinging.wait_for("called")
    waiting = asyncio.ensure_future(engine.client.request("connect", session="x", target={"command": ["sleep", "60"]}))
    processes = Watched([pid for pid in processes_in(place) if pid != os.getpid()])
    await engine.client.close()
    processes.wait_until_gone()
    assert engine.states == [("ready", "")]
    with pytest.raises(EngineError):
        await waiting
    with pytest.raises(EngineError, match="the engine was closed"):
        await engine.client.request("find", paths=["."])
    await engine.client.close()


async def test_a_child_that_hangs_is_killed_at_the_end(engine: Listening) -> None:
    pid = engine.client.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    processes = Watched([pid])
    await engine.client.close()
    processes.wait_until_gone()


async def test_a_listener_that_fails_costs_no_other_event(place: Path) -> None:
    told: list[WorkbenchEvent] = []
    wrong: list[dict[str, Any]] = []

    def take(event: WorkbenchEvent) -> None:
        told.append(event)
        if event["event"] == "run.queued":
            raise ZeroDivisionError

    asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))
    client = EngineClient(take, lambda *_: None)
    await client.start(str(place))
    await client.request("run", run="r", path="nowhere.yml")
    async with asyncio.timeout(LIMIT_SECONDS):
        while not any(event["event"] == "run.failed" for event in told):
            await client.request("find", paths=["."])
    await client.close()
    assert [type(context["exception"]) for context in wrong] == [ZeroDivisionError]


async def test_a_thousand_results_come_in_order(engine: Listening, place: Path) -> None:
    write(place, [sys.executable, "-S", str(SERVERS / "echo.py")], echoes(1_000))
    await engine.client.request("run", run="r", path="mcptest.yml")
    await engine.event("run.finished")
    for test in (await engine.event("run.started"))["tests"]:
        of_test = [event["event"] for event in engine.events if event.get("id") == test["id"]]
        assert [name for name in of_test if name != "case.answered"] == ["case.started", "case.finished"]
        break
    finished = [event["id"] for event in engine.events if event["event"] == "case.finished"]
    assert len(finished) == len(set(finished)) == 1_000


USER_INTERFACE = """
import asyncio, sys
from mcptest_tui.engine_client import EngineClient

async def main():
    client = EngineClient(lambda event: None, lambda state, why: None)
    await client.start(sys.argv[1])
    await client.request("run", run="r", path="mcptest.yml")
    await asyncio.sleep(3600)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_user_interface_that_is_killed(
    place: Path, clinging: Clinging, number: signal.Signals
) -> None:
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen([sys.executable, "-c", USER_INTERFACE, str(place)], cwd=root)
    clinging.wait_for("called")
    processes = Watched([pid for pid in processes_in(place) if pid != os.getpid()])
    process.send_signal(number)
    process.wait()
    processes.wait_until_gone()
