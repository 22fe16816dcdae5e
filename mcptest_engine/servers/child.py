"""One child process from its start until it is reaped: its pipes, its exit, its process group.

`Child` is a server. What it does to start a process and to notice its exit also serves the commands of `command_process.py`.

The process leads a session of its own, so that its whole group can be signalled and the terminal's Ctrl-C does not reach it.
`subprocess` is used directly, not through the event loop: so the guardian knows the group before the loop runs on, and the
caller may write to the child at once. The group is killed before its dead leader is reaped, because only then its number cannot
belong to another process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from typing import IO, TYPE_CHECKING

from mcptest_engine.core.live import start_listing, stop_listing
from mcptest_engine.servers import guardian
from mcptest_engine.servers.failures import BY_HAND, Ending, could_not_spawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcptest_engine.servers.spec import ServerSpec

_LAST_WAIT_SECONDS = 2.0
_BY_HAND_SECONDS = 0.5


class Child:
    """A running program. `stdin`, `stdout`, `stderr` are our ends, not blocking; the caller closes them.

    `exited` is done once the process is reaped and nothing of its group is left.
    Raises: ServerDidNotStart when the program cannot be run.
    """

    def __init__(
        self,
        spec: ServerSpec,
        on_exit: Callable[[], None],
        waiting: Callable[[], Iterable[tuple[str, float]]] | None = None,
    ) -> None:
        assert spec.command is not None
        try:
            self._process, self.stdin = start_process(spec.command, spec.env, spec.cwd)
        except (OSError, ValueError) as wrong:
            raise could_not_spawn(spec, wrong) from None
        self.pid = self._process.pid
        guardian.watch(self.pid)
        self._is_ended_by_hand = False
        self._listed = start_listing(
            "server", spec.name, pid=self.pid, shown=spec.command or (), end=self._end_by_hand, waiting=waiting
        )
        self._on_exit = on_exit
        self.stdout, self.stderr = own_descriptor(self._process.stdout), own_descriptor(self._process.stderr)
        self._loop = asyncio.get_running_loop()
        guardian.stand_by(self._loop)
        self.exited: asyncio.Future[None] = self._loop.create_future()
        self._exit = ExitWatch(self._process, self._reap, after_reaping=self._forget_group)

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while it runs and when a signal ended it."""
        code = self._process.returncode
        return code if code is not None and code >= 0 else None

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended it, None when none did."""
        code = self._process.returncode
        return signal_name(-code) if code is not None and code < 0 else None

    async def stop(self, grace_seconds: float, *, by_signal: bool = False) -> str:
        """Wait for the exit, then send SIGTERM, then SIGKILL, each after its grace; return the last step: "eof", "SIGTERM",
        "SIGKILL".

        `by_signal`: send SIGTERM at once, for a program that ignores the end of its stdin. The caller has closed `stdin`, which
        is how MCP asks a server to exit (2025-11-25, lifecycle#shutdown). If the caller is cancelled meanwhile, the process is
        killed and reaped at once.
        """
        try:
            if not by_signal and await self._wait(grace_seconds):
                return "eof"
            for signum in (signal.SIGTERM, signal.SIGKILL):
                self._signal(signum)
                self._signal(signal.SIGCONT)  # a stopped process reacts to SIGKILL only
                if await self._wait(grace_seconds if signum is signal.SIGTERM else _LAST_WAIT_SECONDS):
                    break
            return signum.name
        finally:
            if not self.exited.done():
                self._kill_now()

    def _end_by_hand(self) -> None:
        """End the group because a person requested it: SIGTERM, then SIGKILL. Its calls fail as with any exit."""
        if self._process.returncode is None:
            self._is_ended_by_hand = True
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)
            self._loop.call_later(_BY_HAND_SECONDS, self._signal, signal.SIGKILL)

    def _kill_now(self) -> None:
        """Kill and reap without the loop, which may be about to close; a killed process exits within a millisecond."""
        self._signal(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_WAIT_SECONDS)
            self._reap()

    def _signal(self, signum: int) -> None:
        """Signal the group, unless its leader is reaped: then the group is dead, and its number may be reused."""
        if self._process.returncode is None:
            guardian.kill_group(self.pid, signum)

    def ending(self, how_far: str = "") -> Ending | None:
        """How the process ended, None while it runs."""
        if self._process.returncode is None:
            return None
        code, name = self.exit_code, self.signal
        clause = f"exited with code {code}" if name is None else f"was ended by {name}"
        if self._is_ended_by_hand:
            clause = BY_HAND
        return Ending(clause=clause, exit_code=code, signal=name, how_far=how_far)

    async def _wait(self, seconds: float) -> bool:
        await asyncio.wait((self.exited,), timeout=seconds)
        return self.exited.done()

    def _forget_group(self) -> None:
        guardian.kill_group(self.pid)
        guardian.forget(self.pid)

    def _reap(self) -> None:
        self._exit.stop()
        if self.exited.done():
            return
        self._signal(signal.SIGKILL)
        self._process.wait()
        guardian.forget(self.pid)
        stop_listing(self._listed)
        self.exited.set_result(None)
        self._on_exit()


class ExitWatch:
    """Calls `on_exit` in the event loop when a process has ended; it is not reaped, where the system allows that.

    macOS before Python 3.13 reports the exit only by reaping: then `after_reaping` is called at once, in a thread.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        on_exit: Callable[[], None],
        after_reaping: Callable[[], None] = lambda: None,
    ) -> None:
        self._process = process
        self._on_exit, self._after_reaping = on_exit, after_reaping
        self._loop = asyncio.get_running_loop()
        self._pidfd = -1
        try:
            self._pidfd = os.pidfd_open(process.pid)
        except (AttributeError, OSError):  # not Linux, or a sandbox that forbids it
            threading.Thread(target=self._wait, name=f"mcptest-wait-{process.pid}", daemon=True).start()
        else:
            self._loop.add_reader(self._pidfd, on_exit)

    def stop(self) -> None:
        """Stop watching; a second call does nothing."""
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    def _wait(self) -> None:
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
            self._after_reaping()
        with contextlib.suppress(RuntimeError):  # the loop is closed: `atexit` kills the group
            self._loop.call_soon_threadsafe(self._on_exit)


def start_process(
    argv: Sequence[str], env: Mapping[str, str], cwd: str | None, *, stderr: int = subprocess.PIPE
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a process that leads a session of its own; return it and our end of its stdin.

    The guardian knows that pipe before the process exists. Raises: OSError, ValueError.
    """
    theirs, ours = os.pipe()
    guardian.starting(theirs)
    try:
        process = subprocess.Popen(
            argv,
            bufsize=0,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
    except BaseException:
        guardian.did_not_start()
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    os.set_blocking(ours, False)
    return process, ours


def own_descriptor(pipe: IO[bytes] | None) -> int:
    """Duplicate our end as a bare descriptor: the file object would close it a second time, when the number may be reused."""
    assert pipe is not None
    descriptor = os.dup(pipe.fileno())
    pipe.close()
    os.set_blocking(descriptor, False)
    return descriptor


def signal_name(number: int) -> str:
    """The name of a signal, such as "SIGKILL"."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
