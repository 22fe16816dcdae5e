"""Nothing outlives mcptest, whoever ends it, whenever, and however; and what it found is saved where it can be."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.processes import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SERVERS = Path(__file__).resolve().parents[1] / "servers"
LIMIT_SECONDS = 60
MOST_GRACE_MS = 60_000
RUN = ("run",)
WATCH = ("run", "--watch")
TOOLS = ("tools", "--config", "mcptest.yml")
CALL = ("call", "look", "--config", "mcptest.yml")
CAPABILITIES = ("capabilities", "--config", "mcptest.yml")
GUARDIAN = b"mcptest-guardian"

# Makes the terminal on stdin its own, as a login shell has it, and becomes mcptest.
IN_TERMINAL = (
    "import os, sys, fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfds and /proc to see processes")


class Started:
    """One mcptest with a server that clings to life, and what that server tells."""

    def __init__(self, process: subprocess.Popen[str], folder: Path, fifo: int) -> None:
        self.process = process
        self._folder = folder
        self._fifo = fifo
        self._told = b""

    def wait_for(self, word: str) -> None:
        """Wait until the server has told this."""
        while word.encode() + b"\n" not in self._told:
            assert select.select([self._fifo], [], [], LIMIT_SECONDS)[0], f"it never told {word!r}"
            self._told += os.read(self._fifo, 4096)

    def servers(self) -> list[int]:
        """The processes that work in the test's folder, mcptest itself left out."""
        return [pid for pid in processes_in(self._folder) if pid != self.process.pid]

    def guardian(self) -> int | None:
        """The one child of mcptest that is neither a server nor in its group."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        found = [int(pid) for pid in children if GUARDIAN in command_line(int(pid))]
        return found[0] if found else None

    def end(self) -> tuple[str, str]:
        """What it wrote until its own end."""
        return self.process.communicate(timeout=LIMIT_SECONDS)

    def record(self) -> dict[str, object]:
        (saved,) = (self._folder / ".mcptest" / "runs").glob("*.json")
        return dict(json.loads(saved.read_text(encoding="utf-8")))


@pytest.fixture
def start(mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str]) -> Iterator[Callable[..., Started]]:
    """`start(*words, silent=…, wrapper=…, **streams)`: mcptest on a suite whose one server clings to life.

    `patient`: mcptest waits for the server's end for longer than a test takes to do something about it.
    """
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    descriptor = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    running: list[Started] = []

    def begin(
        *words: str, silent: bool = False, wrapper: tuple[str, ...] = (), patient: bool = False, **streams: int
    ) -> Started:
        write_suite(tmp_path, fifo, silent=silent, grace_ms=MOST_GRACE_MS if patient else 50)
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(
            [*wrapper, mcptest_command, *words],
            cwd=tmp_path,
            env=clean_environ,
            encoding="utf-8",
            start_new_session=True,
            **(given | streams),
        )
        running.append(Started(process, tmp_path, descriptor))
        return running[-1]

    yield begin
    for one in running:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
        one.process.communicate()
    for pid in processes_in(tmp_path):
        os.kill(pid, signal.SIGKILL)
    os.close(descriptor)


def write_suite(folder: Path, fifo: Path, *, silent: bool, grace_ms: int) -> None:
    (folder / ".mcptest").mkdir(exist_ok=True)
    command = [sys.executable, "-S", str(SERVERS / "clinging.py"), str(fifo), *(["silent"] if silent else [])]
    server = {"command": command, "shutdown_grace_ms": grace_ms}
    tests = [{"name": "look", "tool": "look"}]
    (folder / "mcptest.yml").write_text(json.dumps({"servers": {"s": server}, "tools": tests}), encoding="utf-8")


def processes_in(folder: Path) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != os.getpid() and (entry / "cwd").resolve(strict=True) == folder.resolve():
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


class Watched:
    """Processes by descriptor, so that a number used again is nobody else's."""

    def __init__(self, pids: list[int]) -> None:
        self._descriptors = [os.pidfd_open(pid) for pid in pids]

    def wait_until_gone(self) -> None:
        for descriptor in self._descriptors:
            assert select.select([descriptor], [], [], LIMIT_SECONDS)[0], "a process was left behind"
            os.close(descriptor)


MOMENTS = {"at the start": "started", "in a call": "called", "at the end": "eof"}


def reach(one: Started, word: str, *, ending: bool) -> None:
    """Bring it to the moment that `word` tells of; what only ends when it is asked is asked."""
    if word == "eof" and ending:
        one.wait_for("called")
        one.process.send_signal(signal.SIGINT)
    one.wait_for(word)


@pytest.mark.parametrize("word", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize(
    ("words", "whole_group"), [(RUN, False), (RUN, True), (WATCH, False)], ids=["run", "the whole group", "watch"]
)
def test_kill_9_leaves_no_process_at_any_moment(
    words: tuple[str, ...], whole_group: bool, word: str, start: Callable[..., Started]
) -> None:
    """Nothing of its servers' process groups, grandchildren that ignore SIGTERM included."""
    one = start(*words, silent=word == "started", patient=word == "eof")
    reach(one, word, ending=True)
    servers = one.servers()
    assert len(servers) == 2
    watched = Watched(servers)
    (os.killpg if whole_group else os.kill)(one.process.pid, signal.SIGKILL)
    watched.wait_until_gone()


@pytest.mark.parametrize(("words", "word"), [(TOOLS, "started"), (CALL, "called"), (CAPABILITIES, "eof")])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_command_that_talks_to_one_server_leaves_none_either(
    number: signal.Signals, words: tuple[str, ...], word: str, start: Callable[..., Started]
) -> None:
    """`mcptest tools`, `call` and `capabilities`: 130 for whatever can be handled."""
    one = start(*words, silent=word == "started", patient=word == "eof")
    reach(one, word, ending=False)
    watched = Watched(one.servers())
    one.process.send_signal(number)
    one.end()
    assert one.process.returncode == (-number if number is signal.SIGKILL else 130)
    watched.wait_until_gone()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("word", ["started", "called"])
def test_a_run_that_is_ended_saves_what_it_found(
    word: str, number: signal.Signals, start: Callable[..., Started]
) -> None:
    """130, and the report of what ran is still written."""
    one = start("run", "--reporter", "json", silent=word == "started")
    one.wait_for(word)
    watched = Watched(one.servers())
    one.process.send_signal(number)
    stdout, stderr = one.end()
    assert one.process.returncode == 130, stderr
    assert json.loads(stdout) == one.record()
    assert (one.record()["interrupted"], one.record()["exit_code"]) == (True, 130)
    watched.wait_until_gone()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_watch_mode_ends_with_its_servers(number: signal.Signals, start: Callable[..., Started]) -> None:
    """In the middle of a run, and with 130 for it."""
    one = start(*WATCH)
    one.wait_for("called")
    watched = Watched(one.servers())
    one.process.send_signal(number)
    one.end()
    assert one.process.returncode == 130
    watched.wait_until_gone()


def test_a_hangup_that_comes_twice_does_not_kill(start: Callable[..., Started]) -> None:
    """The kernel and the shell both tell of a closed terminal."""
    one = start("run")
    one.wait_for("called")
    one.process.send_signal(signal.SIGHUP)
    one.wait_for("eof")
    one.process.send_signal(signal.SIGHUP)
    one.end()
    assert one.process.returncode == 130
    assert one.record()["interrupted"] is True


def test_under_nohup_a_hangup_is_still_ignored(start: Callable[..., Started]) -> None:
    """POSIX, nohup: whoever starts a program with SIGHUP ignored wants it to go on."""
    one = start("run", wrapper=("nohup",))
    one.wait_for("called")
    status = Path(f"/proc/{one.process.pid}/status").read_text(encoding="ascii")
    (ignored,) = (int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigIgn:"))
    assert ignored & 1 << (signal.SIGHUP - 1)


def test_a_closed_terminal_ends_the_run_and_saves_it(start: Callable[..., Started]) -> None:
    """SIGHUP. Nobody can read the report any more, so the record is all that is left of the run."""
    ours, theirs = os.openpty()
    one = start("run", wrapper=(sys.executable, "-c", IN_TERMINAL), stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    one.wait_for("called")
    watched = Watched(one.servers())
    os.close(ours)
    assert one.process.wait(LIMIT_SECONDS) == 130
    assert (one.record()["interrupted"], one.record()["exit_code"]) == (True, 130)
    watched.wait_until_gone()


def test_a_guardian_that_was_killed_is_replaced_before_anybody_needs_it(start: Callable[..., Started]) -> None:
    """Kill the guardian, then mcptest: still nothing is left."""
    one = start("run")
    one.wait_for("called")
    first = one.guardian()
    assert first is not None
    ended = Watched([first])
    os.kill(first, signal.SIGKILL)
    ended.wait_until_gone()
    until(lambda: one.guardian() not in {None, first})
    watched = Watched(one.servers())
    one.process.kill()
    watched.wait_until_gone()


@pytest.mark.parametrize("milliseconds", [80, 110, 140, 170, 200])
def test_kill_9_at_an_arbitrary_moment_leaves_nothing(
    milliseconds: int, start: Callable[..., Started], tmp_path: Path
) -> None:
    """Also in the millisecond in which a server runs whose number nobody has been told."""
    one = start("run")
    with_end = os.pidfd_open(one.process.pid)
    select.select([with_end], [], [], milliseconds / 1000)
    os.close(with_end)
    one.process.kill()
    one.process.wait(LIMIT_SECONDS)
    until(lambda: not processes_in(tmp_path))
