"""A run with hooks that is ended early: brackets are closed, in bounded time, and no hook outlives mcptest however it ends."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.events import CaseStarted, HookStarted, RunFinished
from tests.running.hook_suites import SERVERS, Folder, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from mcptest_engine.core.run_record import RunRecord

LIMIT_SECONDS = 60
INTERRUPTED = "was killed: the run was interrupted"
STEPS = ("beforeAll", "beforeEach", "afterEach", "afterAll")

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfds and /proc to see processes")


class Started:
    """One mcptest in a folder, and what its hooks tell through a FIFO."""

    def __init__(self, command: str, folder: Path, environ: dict[str, str]) -> None:
        self.folder = folder
        os.mkfifo(folder / "told")
        self._fifo = os.open(folder / "told", os.O_RDWR | os.O_NONBLOCK)
        self._told = ""
        self.process = subprocess.Popen(
            [command, "run", "--reporter", "json"],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )

    def wait_for(self, word: str) -> None:
        while word not in self._told.split():
            assert select.select([self._fifo], [], [], LIMIT_SECONDS)[0], f"no hook ever told {word!r}: {self._told!r}"
            self._told += os.read(self._fifo, 4096).decode()

    def others(self) -> list[int]:
        """The processes that work in the folder, but for mcptest itself."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if (entry / "cwd").resolve(strict=True) == self.folder and int(entry.name) != self.process.pid:
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def record(self) -> dict[str, Any]:
        """What it prints when it ends."""
        stdout, stderr = self.process.communicate(timeout=LIMIT_SECONDS)
        assert stdout, stderr
        return dict(json.loads(stdout))

    def clear(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        for pid in self.others():
            os.kill(pid, signal.SIGKILL)
        os.close(self._fifo)


@pytest.fixture
def start(mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str]) -> Iterator[Callable[[str], Started]]:
    """`start(text)`: mcptest on a suite of this text."""
    (tmp_path / ".mcptest").mkdir()
    running: list[Started] = []

    def begin(text: str) -> Started:
        (tmp_path / "mcptest.yml").write_text(text, encoding="utf-8")
        running.append(Started(mcptest_command, tmp_path.resolve(), clean_environ))
        return running[-1]

    yield begin
    for one in running:
        one.clear()


def gone(pids: list[int]) -> bool:
    """Wait until all of these processes are gone."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended = select.select([descriptor], [], [], LIMIT_SECONDS)[0]
        os.close(descriptor)
        if not ended:
            return False
    return True


def telling(folder: Folder, phase: str, *, stuck: bool) -> str:
    """A hook that tells its phase; a stuck one clings to life, and so does what it started."""
    told = f"echo {phase} > {folder.path}/told"
    return folder.script(phase, f"trap '' TERM\nsleep 1000 &\n{told}\nwait; sleep 1000" if stuck else told)


def suite_stuck_in(folder: Folder, place: str, *, hanging: bool = False) -> str:
    hooks = {phase: telling(folder, phase, stuck=phase == place) for phase in STEPS}
    command = [sys.executable, "-S", str(SERVERS / "ledger.py")]
    test = {"name": "t", "tool": "hang"} if hanging else {"name": "t", "tool": "balance"}
    return json.dumps({"servers": {"s": {"command": command}}, "hooks": hooks, "tools": [test]})


@pytest.mark.parametrize("place", STEPS)
def test_kill_9_leaves_no_hook(place: str, tmp_path: Path, start: Callable[[str], Started]) -> None:
    """Nothing of its process group, at whatever point of the run."""
    one = start(suite_stuck_in(Folder(tmp_path), place))
    one.wait_for(place)
    left = one.others()
    assert len(left) >= 2
    one.process.kill()
    assert gone(left)


@pytest.mark.parametrize("place", STEPS)
def test_ctrl_c_kills_the_hook_and_closes_the_brackets(
    place: str, tmp_path: Path, start: Callable[[str], Started]
) -> None:
    """130; the hook that was under way says so; what cleans up has run, but for what was interrupted itself."""
    one = start(suite_stuck_in(Folder(tmp_path), place))
    one.wait_for(place)
    left = one.others()
    one.process.send_signal(signal.SIGINT)
    record = one.record()
    assert one.process.returncode == 130
    assert record["interrupted"] is True
    ran = {hook["phase"]: hook.get("message") for hook in record["hooks"]}
    reached = {"beforeAll": ["beforeAll", "afterAll"]}.get(place, list(STEPS))
    assert ran == {phase: INTERRUPTED if phase == place else None for phase in reached}
    verdict = "pass" if place.startswith("after") else "skip"
    assert [test["verdict"] for test in record["tests"]] == [verdict]
    assert gone(left)


def test_ctrl_c_in_a_test_closes_its_bracket(tmp_path: Path, start: Callable[[str], Started]) -> None:
    """The test is skipped as interrupted, and its hooks are told so."""
    folder = Folder(tmp_path)
    text = json.loads(suite_stuck_in(folder, "nowhere", hanging=True))
    text["hooks"]["afterEach"] = [text["hooks"]["afterEach"], folder.context("each.py")]
    text["hooks"]["afterAll"] = folder.context("all.py")
    one = start(json.dumps(text))
    one.wait_for("beforeEach")
    one.process.send_signal(signal.SIGTERM)
    record = one.record()
    told = record["tests"][0]["message"]
    assert "interrupted" in told  # the signal may come while the hook ends, or in the call
    assert [hook["phase"] for hook in record["hooks"]] == [
        "beforeAll",
        "beforeEach",
        "afterEach",
        "afterEach",
        "afterAll",
    ]
    assert [context["result"] for context in folder.contexts()] == [
        {"verdict": "skip", "message": told},
        {"verdict": "fail", "message": "the run was interrupted"},
    ]


def test_a_second_ctrl_c_kills_the_hook_that_cleans_up(tmp_path: Path, start: Callable[[str], Started]) -> None:
    """At once, without a report, and with nothing left."""
    folder = Folder(tmp_path)
    hooks = {phase: telling(folder, phase, stuck=True) for phase in ("beforeAll", "afterAll")}
    one = start(folder.suite(hooks))
    for phase in hooks:
        one.wait_for(phase)
        left = one.others()
        one.process.send_signal(signal.SIGINT)
    assert one.process.wait(LIMIT_SECONDS) == 130
    assert gone(left)


def test_after_an_interruption_cleaning_up_has_a_bounded_time(
    tmp_path: Path, run_of: Callable[..., Coroutine[None, None, RunRecord]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each phase that is left, whatever the time of its commands is; one that takes longer ends its phase."""
    monkeypatch.setattr("mcptest_engine.running.hooks.AFTER_INTERRUPT_SECONDS", 0.2)
    folder = Folder(tmp_path)
    hooks = {"beforeEach": "sleep 1000", "afterEach": "sleep 1001", "afterAll": ["sleep 1002", folder.script("unseen")]}

    async def main() -> RunRecord:
        reached = asyncio.Event()

        def listen(event: object) -> None:
            if isinstance(event, HookStarted):
                reached.set()

        task = asyncio.ensure_future(run_of(folder.suite(hooks), emit=listen))
        await reached.wait()
        task.cancel()
        return await task

    record = asyncio.run(main())
    bounded = "took longer than the 200 ms after an interruption and was killed"
    assert [hook.message for hook in record.hooks] == [INTERRUPTED, bounded, bounded]
    assert {test.message for test in record.tests} == {"not run: interrupted"}
    assert folder.lines() in ([], ["server starts"], ["server starts", "server ends"])


def test_a_clean_up_that_is_interrupted_goes_on_with_its_next_command(
    tmp_path: Path, run_of: Callable[..., Coroutine[None, None, RunRecord]]
) -> None:
    """The command that was running is killed; what it left to the others is still theirs."""
    folder = Folder(tmp_path)
    hooks = {"afterAll": ["sleep 1001", folder.script("teardown")]}

    async def main() -> RunRecord:
        reached = asyncio.Event()

        def listen(event: object) -> None:
            if isinstance(event, HookStarted):
                reached.set()

        task = asyncio.ensure_future(run_of(folder.suite(hooks), emit=listen))
        await reached.wait()
        task.cancel()
        return await task

    record = asyncio.run(main())
    assert [(hook.passed, hook.message) for hook in record.hooks] == [(False, INTERRUPTED), (True, None)]
    assert folder.lines()[-1] == "teardown"
    assert record.interrupted


def test_a_run_that_is_ended_between_two_hooks_still_ends_in_order(
    tmp_path: Path, run_of: Callable[..., Coroutine[None, None, RunRecord]]
) -> None:
    """`RunFinished` is the last event, and the second test has no bracket."""
    folder = Folder(tmp_path)
    events: list[object] = []
    hooks = {
        "beforeEach": folder.script("before"),
        "afterEach": folder.script("after"),
        "afterAll": folder.script("all"),
    }

    async def main() -> RunRecord:
        begun = asyncio.Event()

        def listen(event: object) -> None:
            events.append(event)
            if isinstance(event, CaseStarted):
                begun.set()

        task = asyncio.ensure_future(run_of(folder.suite(hooks, writing("one"), writing("two")), emit=listen))
        await begun.wait()
        task.cancel()
        return await task

    record = asyncio.run(main())
    assert isinstance(events[-1], RunFinished)
    assert [hook.phase for hook in record.hooks] == ["beforeEach", "afterEach", "afterAll"]
    begun, left = (test.message or "" for test in record.tests)
    assert begun.startswith("interrupted after ")
    assert left == "not run: interrupted"


@pytest.mark.parametrize("hooks", [True, False])
def test_a_run_that_is_interrupted_at_every_turn_still_ends_in_order(
    tmp_path: Path, run_of: Callable[..., Coroutine[None, None, RunRecord]], hooks: bool
) -> None:
    """Found by a soak: a second interruption while servers were ended lost the record."""
    folder = Folder(tmp_path)
    events: list[object] = []

    async def main() -> RunRecord:
        begun = asyncio.Event()

        def listen(event: object) -> None:
            events.append(event)
            if isinstance(event, CaseStarted):
                begun.set()

        steps = {"afterAll": folder.script("all")} if hooks else {}
        task = asyncio.ensure_future(run_of(folder.suite(steps, writing("one"), writing("two")), emit=listen))
        await begun.wait()
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        return task.result()

    record = asyncio.run(main())
    assert record.interrupted
    assert isinstance(events[-1], RunFinished)
