"""Nothing is left running: after a close, a death, a cancelled start, a crash of ours, a kill -9 of ours."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import ServerDidNotStart, ServerDied
from mcptest_engine.servers import guardian
from mcptest_engine.servers.child import Child
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import ServerSpec
from tests.processes import is_running, longer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.servers.session import Session

LIMIT_SECONDS = 60

# A run of ours in a process of its own: connects, then does what the test is about.
CLIENT = """
import asyncio, os, sys
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import ServerSpec

async def main():
    how, *command = sys.argv[1:]
    session = await connect(ServerSpec(name="s", command=tuple(command), env=dict(os.environ)))
    print("connected", flush=True)
    if how == "crash":
        raise RuntimeError("a bug of ours")
    if how == "exit":
        sys.exit(0)
    await asyncio.Event().wait()

asyncio.run(main())
"""

# The same, killed as soon as its server is there and before the guardian has been told its number.
CUT_SHORT = """
import asyncio, os, signal, sys
from mcptest_engine.servers import guardian
from mcptest_engine.servers.child import Child
from mcptest_engine.servers.spec import ServerSpec

def cut_short(pgid):
    print(pgid, flush=True)
    sys.stdin.read(1)
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    guardian.watch = cut_short
    Child(ServerSpec(name="s", command=tuple(sys.argv[1:]), env=dict(os.environ)), lambda: None)

asyncio.run(main())
"""


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Path]:
    """The file that `stubborn.py` writes its pids to; whatever a failed test leaves running is killed."""
    file = tmp_path / "pids"
    yield file
    for pid in read_pids(file):
        if is_running(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def read_pids(file: Path) -> list[int]:
    return [int(word) for word in file.read_text().split()] if file.exists() else []


def wait_until_gone(pid: int) -> None:
    """Wait for the end of a process that is not our child."""
    if not is_running(pid):
        return
    if not hasattr(os, "pidfd_open"):
        while is_running(pid):
            time.sleep(0.01)
        return
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], LIMIT_SECONDS)[0], f"{pid} still runs"
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(("mode", "how_far"), [("polite", "eof"), ("eof", "SIGTERM"), ("term", "SIGKILL")])
def test_closing_goes_as_far_as_it_must_and_says_so(
    mode: str, how_far: str, script: Callable, run: Callable, pids: Path
) -> None:
    """Libraries 11.1; MCP 2025-11-25, lifecycle#shutdown: end of stdin, then SIGTERM, then SIGKILL."""

    async def work(grace: float) -> Session:
        session: Session = await connect(script("stubborn", mode, pids, grace_seconds=grace))
        await session.close()
        return session

    for grace in [LIMIT_SECONDS] if mode == "polite" else longer(0.1):
        session = run(work(grace))
        if mode != "eof" or session.ending.how_far == how_far:  # it may be slower to go than it is given time
            break
    assert session.ending is not None
    assert session.ending.how_far == how_far
    assert session.ending.signal == (None if how_far == "eof" else how_far)
    assert session.stderr_tail == ("goodbye\n" if mode == "polite" else "")
    assert not any(map(is_running, read_pids(pids)))


def test_a_grandchild_is_killed_after_a_clean_exit(script: Callable, run: Callable, pids: Path) -> None:
    """Libraries 11.1: always what is left of the group, also when the server itself went when asked."""

    async def work() -> Session:
        session: Session = await connect(script("stubborn", "grandchild", pids, grace_seconds=LIMIT_SECONDS))
        await session.close()
        return session

    session = run(work())
    assert session.ending is not None
    assert (session.ending.how_far, session.ending.exit_code) == ("eof", 0)
    server, grandchild = read_pids(pids)
    assert not is_running(server)
    wait_until_gone(grandchild)


def test_a_grandchild_does_not_hide_that_the_server_died(script: Callable, run: Callable, pids: Path) -> None:
    """It holds the pipes open, so that no end of file comes: the exit alone must end the call, and the group."""

    async def work() -> ServerDied:
        session = await connect(script("stubborn", "crash", pids))
        with pytest.raises(ServerDied) as died:
            await session.request("tools/call", None, timeout_seconds=LIMIT_SECONDS)
        wait_until_gone(read_pids(pids)[1])
        await session.close()
        return died.value

    assert run(work()).exit_code == 9


@pytest.mark.parametrize("mode", ["crash", "grandchild"])
def test_a_grandchild_is_killed_where_only_reaping_tells_of_the_exit(
    mode: str, script: Callable, run: Callable, pids: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS with Python 3.11 and 3.12 has neither `pidfd_open` nor `waitid`."""
    monkeypatch.delattr(os, "waitid", raising=False)

    def no_pidfd(_pid: int) -> int:
        raise OSError

    monkeypatch.setattr("mcptest_engine.servers.child.os.pidfd_open", no_pidfd, raising=False)

    async def work() -> None:
        session = await connect(script("stubborn", mode, pids, grace_seconds=10))
        if mode == "crash":
            with pytest.raises(ServerDied):
                await session.request("tools/call", None, timeout_seconds=LIMIT_SECONDS)
        await session.close()

    run(work())
    monkeypatch.undo()
    for pid in read_pids(pids):
        wait_until_gone(pid)


def test_a_group_is_never_signalled_once_its_leader_is_reaped(
    script: Callable, run: Callable, pids: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number may be somebody else's by then."""
    signalled: list[int] = []

    async def work() -> None:
        child = Child(script("stubborn", "polite", pids), lambda: None)
        for descriptor in (child.stdin, child.stdout, child.stderr):
            os.close(descriptor)
        await child.exited
        monkeypatch.setattr(os, "killpg", lambda pgid, _signum: signalled.append(pgid))
        loop = asyncio.get_running_loop()
        child.exited = loop.create_future()  # as when the loop has not been told yet
        loop.call_later(0.1, child.exited.set_result, None)
        await child.stop(0.0)

    run(work())
    assert signalled == []


def test_a_start_that_is_cancelled_leaves_nothing(script: Callable, run: Callable, until: Callable, pids: Path) -> None:
    """Ctrl-C while a server starts."""

    async def work() -> None:
        # It serves, but its answer is never waited for: the start is cancelled as soon as the process is there.
        task = asyncio.create_task(connect(script("stubborn", "term", pids, grace_seconds=0.1)))
        await until(lambda: pids.exists() or task.done())
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await task).close()

    run(work())
    assert not any(map(is_running, read_pids(pids)))


def test_a_close_that_is_cancelled_leaves_nothing(script: Callable, pids: Path) -> None:
    """Ctrl-C twice: the loop ends while a stubborn server is being waited for."""

    async def work() -> None:
        session = await connect(script("stubborn", "term", pids, grace_seconds=LIMIT_SECONDS))
        task = asyncio.create_task(session.close())
        await asyncio.sleep(0)
        task.cancel()  # and the loop's end cancels the closing itself

    asyncio.run(work())
    for pid in read_pids(pids):
        wait_until_gone(pid)


@pytest.mark.parametrize("mode", ["term", "grandchild"])
@pytest.mark.parametrize("how", ["crash", "exit", "SIGKILL", "SIGTERM"])
def test_whatever_ends_mcptest_its_servers_end_too(how: str, mode: str, script: Callable, pids: Path) -> None:
    """Kill -9 of mcptest leaves nothing of its servers' process groups; nor do a crash or an exit."""
    command = script("stubborn", mode, pids).command
    root = str(Path(__file__).resolve().parents[2])
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, how, *command],
        env=os.environ | {"PYTHONPATH": root},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with client:
        assert client.stdout is not None
        assert client.stdout.readline() == b"connected\n"
        if how.startswith("SIG"):
            client.send_signal(signal.Signals[how])
        client.wait(LIMIT_SECONDS)
    for pid in read_pids(pids):
        wait_until_gone(pid)


def test_killing_all_ends_every_server_at_once(script: Callable, run: Callable, tmp_path: Path) -> None:
    """A second Ctrl-C: no grace for anybody, and the sessions see their servers die."""

    async def work() -> list[str | None]:
        specs = [script("stubborn", "term", tmp_path / name, grace_seconds=LIMIT_SECONDS) for name in "ab"]
        sessions = await asyncio.gather(*map(connect, specs))
        guardian.kill_all()
        await asyncio.gather(*(session.close() for session in sessions))
        return [session.ending.signal for session in sessions if session.ending is not None]

    assert run(work()) == ["SIGKILL", "SIGKILL"]


@pytest.mark.skipif(sys.platform != "linux", reason="the guardian looks through /proc")
def test_a_kill_between_a_servers_start_and_its_listing_leaves_nothing(script: Callable, pids: Path) -> None:
    """A server runs for a moment before its number is known to anybody but us."""
    command = script("stubborn", "term", pids).command
    client = subprocess.Popen(
        [sys.executable, "-c", CUT_SHORT, *command],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with client:
        assert client.stdout is not None
        started = int(client.stdout.readline())
        descriptor = os.pidfd_open(started)
        client.communicate(b"go on")
    try:
        assert client.returncode == -signal.SIGKILL
        assert select.select([descriptor], [], [], LIMIT_SECONDS)[0], f"{started} still runs"
    finally:
        os.close(descriptor)


def test_a_stopped_server_ends_by_sigterm(script: Callable, run: Callable) -> None:
    """A stopped process hears of SIGTERM only when it goes on."""

    async def work(grace: float) -> Session:
        session: Session = await connect(script("echo", grace_seconds=grace))
        os.kill(session._transport._child.pid, signal.SIGSTOP)  # type: ignore[attr-defined]
        await session.close()
        return session

    for grace in longer(0.1):
        ending = run(work(grace)).ending
        if ending.how_far == "SIGTERM":
            break
    assert (ending.how_far, ending.signal) == ("SIGTERM", "SIGTERM")


def test_many_rounds_leave_no_descriptor_and_no_zombie(script: Callable, run: Callable) -> None:
    """A run of many servers must not run out of either."""

    async def cycle(count: int) -> None:
        for _ in range(count):
            await (await connect(script("echo"))).close()

    run(cycle(1))  # the guardian starts with the first
    before, children = len([*Path("/dev/fd").iterdir()]), own_children()
    run(cycle(25))
    assert len([*Path("/dev/fd").iterdir()]) <= before  # what earlier tests have left to be collected may go meanwhile
    assert own_children() <= children


def own_children() -> set[str]:
    """The processes whose parent is this one, zombies included; none where that cannot be seen."""
    file = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(file.read_text().split()) if file.exists() else set()


def test_a_program_that_cannot_be_started_leaves_no_descriptor(run: Callable) -> None:
    """The pipe is made before the process is."""

    async def attempt() -> None:
        with pytest.raises(ServerDidNotStart):
            await connect(ServerSpec(name="s", command=("/no/such/program",)))

    run(attempt())
    before = len([*Path("/dev/fd").iterdir()])
    run(attempt())
    assert len([*Path("/dev/fd").iterdir()]) <= before


def test_the_guardian_comes_back_when_somebody_kills_it(script: Callable, run: Callable, pids: Path) -> None:
    """Its list is ours, so another can be started with it."""

    async def work() -> tuple[Any, Any]:
        first = await connect(script("echo"))
        before = guardian._guardian._process
        assert before is not None
        before.kill()
        before.wait()
        second = await connect(script("echo"))
        after = guardian._guardian._process
        await asyncio.gather(first.close(), second.close())
        return before.pid, after

    killed, after = run(work())
    assert after is not None
    assert after.pid != killed
    assert after.poll() is None


def test_servers_do_not_hold_our_end_of_the_guardians_pipe(script: Callable, run: Callable) -> None:
    """Else the pipe would not end with us."""

    async def work() -> list[str]:
        session = await connect(script("echo"))
        process = guardian._guardian._process
        assert process is not None
        assert process.stdin is not None
        ours = Path(f"/proc/self/fd/{process.stdin.fileno()}").readlink()  # noqa: ASYNC240
        pid = session._transport._child.pid  # type: ignore[attr-defined]
        theirs = [link.readlink() for link in Path(f"/proc/{pid}/fd").iterdir()]  # noqa: ASYNC240
        await session.close()
        assert str(ours).startswith("pipe:")
        return [str(link) for link in theirs if link == ours]

    if sys.platform == "linux":
        assert run(work()) == []
