"""Kills the listed process groups when this process ends, however it ends: nothing that it started outlives it.

A normal exit and an unhandled crash are covered by `atexit`. For SIGKILL there is the guardian: one `sh` in its own session
that reads "+pgid" and "-pgid" from a pipe. This process holds the only write end, so the pipe ends with it, and the guardian
kills the groups still on its list. It starts just before the first server, costs about a millisecond, and ends with this
process. When somebody kills the guardian alone, another takes its place at once (on Linux; elsewhere with the next server that
starts or ends).

A server runs for about a millisecond before its number is known. So the guardian first gets the pipe that will be its stdin
("?inode"). If this process is killed within that millisecond, the guardian looks for the process that holds the pipe (Linux
only).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import threading
from typing import TYPE_CHECKING

from mcptest_engine.core.live import Live, start_listing, stop_listing

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

# Only builtins, but for one look through /proc: no PATH is needed. A trap keeps it alive when somebody signals every process
# of the user's terminal. The list it begins with stands in its arguments: it holds from the moment that the guardian exists.
# The look is repeated, since a child that is about to run its program has our stdin for a moment.
_SCRIPT = """trap '' INT TERM HUP QUIT USR1 USR2 ALRM
list=" $* "
starting=
while read -r line; do
  id=${line#?}
  case $line in
    \\?*) starting=$id ;;
    +*) starting=; list="$list$id " ;;
    -*) case $list in *" $id "*) list="${list%% $id *} ${list#* $id }" ;; esac ;;
    *) starting= ;;
  esac
done
for id in $list; do kill -9 "-$id"; done
[ -n "$starting" ] || exit 0
for look in 1 2 3; do
  /bin/ls -l /proc/[0-9]*/fd/0 | while read -r line; do
    case $line in
      *" -> pipe:[$starting]") id=${line#*/proc/}; id=${id%%/*}; kill -9 "-$id" || kill -9 "$id" ;;
    esac
  done
done
"""


def starting(stdin: int) -> None:
    """Announce that a server will be started with this end of a pipe as its stdin; `watch` or `did_not_start` must follow."""
    _guardian.starting(os.fstat(stdin).st_ino)


def did_not_start() -> None:
    """Withdraw the announcement of a server that could not be started."""
    _guardian.did_not_start()


def stand_by(loop: asyncio.AbstractEventLoop) -> None:
    """Replace the guardian as soon as it is killed, where the system can report that to `loop`."""
    _guardian.stand_by(loop)


def watch(pgid: int) -> None:
    """Kill the process group when this process ends, unless `forget` is called first."""
    _guardian.watch(pgid)


def forget(pgid: int) -> None:
    """Remove a group that has ended. Call it right after reaping its leader, before its number can be reused."""
    _guardian.forget(pgid)


def kill_all() -> None:
    """Kill every group on the list now: for an exit that does not wait, such as a second Ctrl-C."""
    _guardian.kill_all()


def kill_group(pgid: int, signum: int = signal.SIGKILL) -> None:
    """Signal a whole process group; one that has ended already is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS reports EPERM for a group of zombies
        os.killpg(pgid, signum)


class _Guardian:
    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None  # the one that waits for the guardian's end
        self._pidfd = -1
        self._listed: Live | None = None

    def starting(self, inode: int) -> None:
        with self._lock:
            self._own()
            if self._process is None or not self._write(self._process, f"?{inode}\n"):
                self._start_anew()
                if self._process is not None:
                    self._write(self._process, f"?{inode}\n")

    def did_not_start(self) -> None:
        with self._lock:
            if self._process is not None:
                self._write(self._process, "!\n")

    def watch(self, pgid: int) -> None:
        with self._lock:
            self._own()
            self._groups.add(pgid)
            self._write_line(f"+{pgid}\n")

    def forget(self, pgid: int) -> None:
        with self._lock:
            if pgid in self._groups and self._owner == os.getpid():
                self._groups.discard(pgid)
                self._write_line(f"-{pgid}\n")

    def stand_by(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            if self._process is None or (self._pidfd >= 0 and self._loop is loop):
                return
            try:
                if self._pidfd < 0:
                    self._pidfd = os.pidfd_open(self._process.pid)
                loop.add_reader(self._pidfd, self._replace)
                self._loop = loop
            except (AttributeError, OSError):  # not Linux, or a sandbox that forbids it
                return

    def kill_all(self) -> None:
        # The groups stay listed: their leaders are not reaped yet, and their owners will do that.
        if self._owner == os.getpid():
            for pgid in self._groups:
                kill_group(pgid)

    def end(self) -> None:
        """At exit: kill what is still listed, and end the guardian."""
        if self._owner != os.getpid():
            return
        self.kill_all()
        self._groups.clear()
        if self._process is not None:
            self._stop(self._process)
            self._process = None
            stop_listing(self._listed)

    def _own(self) -> None:
        """After a fork, start with an empty list: list and pipe belong to the parent."""
        if self._owner != os.getpid():
            self._owner, self._groups, self._process = os.getpid(), set(), None
            self._loop, self._pidfd = None, -1

    def _replace(self) -> None:
        """Replace a guardian that somebody killed. Called by the loop of `stand_by`."""
        with self._lock:
            loop = self._loop
            self._start_anew()
        if loop is not None:
            self.stand_by(loop)

    def _write_line(self, line: str) -> None:
        if self._process is not None and self._write(self._process, line):
            return
        if self._groups:
            self._start_anew()

    def _start_anew(self) -> None:
        """Start another guardian with the same list, and reap the one before."""
        self._stand_down()
        if self._process is not None:
            self._stop(self._process)
        stop_listing(self._listed)
        self._process = _start(self._groups)
        if self._process is not None:
            self._listed = start_listing(
                "guardian", "guardian", pid=self._process.pid, shown="/bin/sh", end=self._process.kill
            )

    def _stand_down(self) -> None:
        if self._pidfd < 0:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._loop, self._pidfd = None, -1

    @staticmethod
    def _write(process: subprocess.Popen[bytes], text: str) -> bool:
        assert process.stdin is not None
        try:
            process.stdin.write(text.encode())
        except BrokenPipeError:  # somebody killed it: the caller starts another
            return False
        return True

    @staticmethod
    def _stop(process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:  # a fork of ours holds the pipe open; all groups are dead by now
            process.kill()
            process.wait()


def _start(groups: Iterable[int]) -> subprocess.Popen[bytes] | None:
    """Start a guardian with these groups, or return None without `sh`: then only `atexit` kills them."""
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "mcptest-guardian", *map(str, groups)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env={},
        )
    except OSError:
        return None


_guardian = _Guardian()
atexit.register(_guardian.end)
