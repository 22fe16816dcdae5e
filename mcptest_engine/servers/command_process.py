"""One command of a hook or of a scorer: started without a shell in its own process group, fed, read, and ended.

What a command leaves running, such as a fixture server in the background, may run until `end`, and no longer. Until then, the
command's own process is not reaped: only that keeps the number of its group from being reused. The rest of the group is still
read, since it may write to our pipe.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.live import start_listing, stop_listing
from mcptest_engine.servers import guardian
from mcptest_engine.servers.child import ExitWatch, own_descriptor, signal_name, start_process
from mcptest_engine.servers.spec import own_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

OUTPUT_KEPT_BYTES = 64 * 1024
LARGEST_ANSWER_BYTES = 1024 * 1024
GRACE_SECONDS = 0.5
"""The time between SIGTERM and SIGKILL."""

_UNSURE = 4096  # characters stored beyond what is shown: a cut may leave the second half of a secret there
_READ_BYTES = 64 * 1024
_READS_A_TURN = 16
_LAST_WORDS_SECONDS = 0.2  # for what the command's own children still write, as with `exec > >(tee log)`
_LAST_WAIT_SECONDS = 2.0
_POLL_SECONDS = 0.01
_SIGNAL_0 = 0


class NotStarted(Exception):
    """The command could not be started. `str()` is a clause without its subject: "could not be started: …"."""


class Tail:
    """The last part of what was written."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._cut = False

    def add(self, data: bytes) -> None:
        self._kept += data
        most = OUTPUT_KEPT_BYTES + _UNSURE
        if len(self._kept) > 2 * most:
            del self._kept[:-most]
            self._cut = True

    def text(self, redact: Callable[[str], str]) -> str:
        """The last 64 KiB; secrets are removed before the text is cut."""
        text = redact(self._kept.decode("utf-8", "replace"))
        return text[_UNSURE if self._cut else 0 :][-OUTPUT_KEPT_BYTES:]


class CommandProcess:
    """A started command. `wait`, then `end`, must be awaited in every case.

    With `stdin` (a JSON document), stdout is its `answer`, of which at most one byte over the limit is stored, and `output` is
    stderr only. Without, its stdin is empty and `output` holds both. `flooded` is done when the answer exceeds the limit.
    `exit_code` is None, and `signal` is set, when a signal ended it. `cwd` None is the directory in which mcptest was started.
    `kind` and `name` are for the list of processes. Must be made in a running loop.
    Raises: NotStarted.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        *,
        kind: str,
        name: str,
        stdin: bytes | None = None,
        cwd: str | None = None,
    ) -> None:
        self.output = Tail()
        self.answer = bytearray()
        self.exit_code: int | None = None
        self.signal: str | None = None
        self._listening = True
        stderr = subprocess.STDOUT if stdin is None else subprocess.PIPE
        try:
            self._process, self._stdin = start_process(own_command(tuple(argv)), env, cwd, stderr=stderr)
        except (OSError, ValueError) as wrong:
            raise NotStarted(f"could not be started: {_reason(argv[0], env, wrong, cwd)}") from None
        self._pid = self._process.pid
        guardian.watch(self._pid)
        self._listed = start_listing(kind, name, pid=self._pid, shown=argv, end=self._end_by_hand)
        self._loop = asyncio.get_running_loop()
        guardian.stand_by(self._loop)
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._silent: asyncio.Future[None] = self._loop.create_future()
        self.flooded: asyncio.Future[None] = self._loop.create_future()
        self._ended = False
        self._exit: ExitWatch | None = None
        self._readers: dict[int, Callable[[bytes], None]] = {}
        self._unwritten = memoryview(stdin or b"")
        try:
            self._listen()
            self._feed()
            self._exit = ExitWatch(self._process, self._note_exit)
        except BaseException:  # no descriptor is left: a command that cannot be read must not run
            self._abandon()
            raise

    async def wait(self, timeout_seconds: float, *, unless_flooded: bool = False) -> bool:
        """Wait for the command to end; false when the time ran out. Its whole group is killed then, and on cancellation.

        `unless_flooded`: kill it also when its answer exceeds the limit.
        """
        ends = (self._exited, self.flooded) if unless_flooded else (self._exited,)
        try:
            await asyncio.wait(ends, timeout=max(timeout_seconds, 0), return_when=asyncio.FIRST_COMPLETED)
            if self._exited.done():
                await asyncio.wait((self._silent,), timeout=_LAST_WORDS_SECONDS)
                return True
            await self._kill()
            return False
        except asyncio.CancelledError:
            await self._kill()
            raise
        finally:
            self._close_stdin()
            self._listening = False

    async def end(self) -> None:
        """End what the command left running: SIGTERM, then SIGKILL. A second call does nothing."""
        if self._ended:
            return
        self._signal_group(signal.SIGTERM)
        self._signal_group(signal.SIGCONT)
        self._reap()  # the group keeps its number while any process of it exists
        try:
            for _ in range(int(GRACE_SECONDS / _POLL_SECONDS)):
                if not _lives(self._pid):
                    break
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            self._let_go()

    def _end_by_hand(self) -> None:
        """End the group because a person requested it."""
        self._signal_group(signal.SIGTERM)
        self._signal_group(signal.SIGCONT)
        self._loop.call_later(GRACE_SECONDS, lambda: None if self._ended else self._signal_group(signal.SIGKILL))

    async def _kill(self) -> None:
        try:
            self._signal_group(signal.SIGTERM)
            self._signal_group(signal.SIGCONT)  # a stopped process reacts to SIGKILL only
            await asyncio.wait((self._exited,), timeout=GRACE_SECONDS)
        finally:
            self._signal_group(signal.SIGKILL)
            self._reap()
            self._drain()
            self._let_go()

    def _signal_group(self, signum: int) -> None:
        if self._process.returncode is None or _exists(self._pid):
            guardian.kill_group(self._pid, signum)

    def _reap(self) -> None:
        """Reap a command that has ended, or that was killed and is about to end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_WAIT_SECONDS)
            self._note_exit()

    def _let_go(self) -> None:
        """Kill the rest of the group, and stop watching it."""
        if self._ended:
            return
        self._ended = True
        stop_listing(self._listed)
        if _exists(self._pid):  # the number is still the group's own
            guardian.kill_group(self._pid)
        if self._process.returncode is not None:
            guardian.forget(self._pid)
        self._close_stdin()
        for descriptor in tuple(self._readers):
            self._close_reader(descriptor)

    def _abandon(self) -> None:
        guardian.kill_group(self._pid)
        self._process.wait()
        self._let_go()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _note_exit(self) -> None:
        """Store how the command ended, without reaping it where the system allows that."""
        if self._exit is not None:
            self._exit.stop()
        if self._exited.done():
            return
        code = self._process.returncode
        if code is None and hasattr(os, "waitid"):
            code = self._code_unreaped()
        if code is not None and code < 0:
            self.signal = signal_name(-code)
        else:
            self.exit_code = code
        self._exited.set_result(None)

    def _code_unreaped(self) -> int:
        """The exit code, or the negative signal, of a command that has ended; it is not reaped."""
        try:
            found = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:  # the parent of mcptest had SIGCHLD ignored: the system has reaped it
            return self._process.wait()
        assert found is not None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def _listen(self) -> None:
        process = self._process
        assert process.stdout is not None
        self._readers[own_descriptor(process.stdout)] = self._add_output if process.stderr is None else self._add_answer
        if process.stderr is not None:
            self._readers[own_descriptor(process.stderr)] = self._add_output
        for descriptor in self._readers:
            self._loop.add_reader(descriptor, self._read, descriptor)

    def _add_output(self, data: bytes) -> None:
        self.output.add(data)

    def _add_answer(self, data: bytes) -> None:
        room = LARGEST_ANSWER_BYTES + 1 - len(self.answer)  # one byte over the limit shows that there was more
        self.answer += data[:room]
        if len(data) >= room and not self.flooded.done():
            self.flooded.set_result(None)

    def _read(self, descriptor: int) -> None:
        for _ in range(_READS_A_TURN):
            try:
                data = os.read(descriptor, _READ_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._close_reader(descriptor)
                return
            if self._listening:
                self._readers[descriptor](data)

    def _drain(self) -> None:
        """Read what is left in the pipes, then close them."""
        for descriptor in tuple(self._readers):
            self._read(descriptor)

    def _close_reader(self, descriptor: int) -> None:
        if self._readers.pop(descriptor, None) is not None:
            self._loop.remove_reader(descriptor)
            os.close(descriptor)
        if not self._readers and not self._silent.done():
            self._silent.set_result(None)

    def _feed(self) -> None:
        """Write what fits in the pipe, and the rest when there is room. The command need not read it."""
        try:
            while self._unwritten:
                self._unwritten = self._unwritten[os.write(self._stdin, self._unwritten) :]
        except BlockingIOError:
            self._loop.add_writer(self._stdin, self._feed)
            return
        except OSError:  # it has closed its stdin, or ended
            pass
        self._close_stdin()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = -1


_SHELL = frozenset("|&;<>$`")


def _reason(program: str, env: Mapping[str, str], wrong: OSError | ValueError, cwd: str | None) -> str:
    """Why a program cannot be started, and how to fix it."""
    # `subprocess` puts the directory into `filename` when `cwd` failed, and the program otherwise.
    if cwd is not None and isinstance(wrong, OSError) and wrong.filename == cwd:
        return f"its cwd `{cwd}` is not a directory that can be entered"
    if isinstance(wrong, FileNotFoundError):
        return _missing(program, cwd)
    found = str(Path(cwd or "", program)) if "/" in program else shutil.which(program, path=env.get("PATH")) or program
    if isinstance(wrong, PermissionError):
        if Path(found).is_dir():
            return f"`{program}` is a directory"
        return f"`{program}` is not executable (`chmod +x` it, or name its interpreter: `{_by_interpreter(program)}`)"
    if isinstance(wrong, OSError) and wrong.errno == errno.ENOEXEC:
        return f"`{program}` has no `#!` line (name its interpreter: `{_by_interpreter(program)}`)"
    return str(wrong.strerror or wrong) if isinstance(wrong, OSError) else str(wrong)


def _by_interpreter(program: str) -> str:
    from mcptest_engine.servers.failures import INTERPRETERS

    return f"{INTERPRETERS.get(Path(program).suffix, 'sh')} {program}"


def _missing(program: str, cwd: str | None) -> str:
    if not _SHELL.isdisjoint(program):
        return (
            f"there is no program `{program}` (run a shell command with a shell: {json.dumps(['sh', '-c', program])})"
        )
    if " " in program and not Path(cwd or "", program).exists():
        words = json.dumps(program.split())
        return f"there is no program `{program}` (each word is a list item of its own: {words})"
    if "/" not in program:
        beside = f" (a file here is named by its path: `./{program}`)" if Path(cwd or "", program).is_file() else ""
        return f"there is no program `{program}` on PATH{beside}"
    if Path(cwd or "", program).exists():
        return f"the interpreter that the `#!` line of `{program}` names is not there"
    place = f" in {Path.cwd()}, where mcptest was started" if cwd is None else f" in its cwd `{cwd}`"
    return f"there is no file `{program}`{'' if Path(program).is_absolute() else place}"


def _exists(pgid: int) -> bool:
    try:
        os.killpg(pgid, _SIGNAL_0)
    except (ProcessLookupError, PermissionError):  # macOS reports EPERM for a group of zombies
        return False
    return True


def _lives(pgid: int) -> bool:
    """Whether a process of the group still runs. In many containers nobody reaps orphans: zombies do not count."""
    if not _exists(pgid):
        return False
    states = [state for state in map(_process_state, Path("/proc").glob("[0-9]*/stat")) if state]
    return not states or any(group == pgid and letter not in {"Z", "X"} for letter, group in states)


def _process_state(stat: Path) -> tuple[str, int] | None:
    """The state and the process group of a process, None when it does not exist. Source: proc_pid_stat(5)."""
    try:
        letter, _parent, group, *_ = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return letter, int(group)
