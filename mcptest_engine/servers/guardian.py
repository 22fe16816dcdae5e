"""Nothing that we started outlives us: a list of process groups that are killed when this process ends, however it ends.

A normal exit and an unhandled crash are covered by `atexit`. For SIGKILL there is the guardian: one `sh` in a session of its
own that reads "+pgid" and "-pgid" from a pipe whose only write end is ours. When we are gone the pipe ends, and it kills the
groups still on its list. It starts with the first group, costs about a millisecond, and ends with us.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import threading

# Only builtins: no PATH is needed. A trap keeps it alive when somebody signals every process of the user's terminal.
_SCRIPT = """trap '' INT TERM HUP QUIT
list=' '
while read -r line; do
  id=${line#?}
  case $line in
    +*) list="$list$id " ;;
    -*) case $list in *" $id "*) list="${list%% $id *} ${list#* $id }" ;; esac ;;
  esac
done
for id in $list; do kill -9 "-$id"; done
"""


def watch(pgid: int) -> None:
    """Have the process group killed when this process ends, unless `forget` comes first."""
    _guardian.watch(pgid)


def forget(pgid: int) -> None:
    """The group is gone. Must be called before its number can be used again, so right after reaping its leader."""
    _guardian.forget(pgid)


def kill_all() -> None:
    """Kill every group on the list now: for an end that waits for nothing, such as a second Ctrl-C."""
    _guardian.kill_all()


def kill_group(pgid: int, signum: int = signal.SIGKILL) -> None:
    """Signal a whole process group; one that is gone already is fine."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS says EPERM for a group of zombies
        os.killpg(pgid, signum)


class _Guardian:
    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        self._lock = threading.Lock()

    def watch(self, pgid: int) -> None:
        with self._lock:
            if self._owner != os.getpid():  # forked: the list and the pipe are the parent's
                self._owner, self._groups, self._process = os.getpid(), set(), None
            self._groups.add(pgid)
            self._tell(f"+{pgid}\n")

    def forget(self, pgid: int) -> None:
        with self._lock:
            if pgid in self._groups and self._owner == os.getpid():
                self._groups.discard(pgid)
                self._tell(f"-{pgid}\n")

    def kill_all(self) -> None:
        # The groups stay listed: their leaders are not reaped yet, and whoever owns them still will.
        if self._owner == os.getpid():
            for pgid in self._groups:
                kill_group(pgid)

    def end(self) -> None:
        """At exit: kill what is still listed, and let the guardian go."""
        if self._owner != os.getpid():
            return
        self.kill_all()
        self._groups.clear()
        if self._process is not None:
            self._stop(self._process)
            self._process = None

    def _tell(self, line: str) -> None:
        if self._process is not None and self._write(self._process, line):
            return
        if not self._groups:
            return
        if self._process is not None:
            self._stop(self._process)
        self._process = _start()
        if self._process is not None:
            self._write(self._process, "".join(f"+{pgid}\n" for pgid in self._groups))

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
        except subprocess.TimeoutExpired:  # a fork of ours holds the pipe open: our groups are dead, so it may go
            process.kill()
            process.wait()


def _start() -> subprocess.Popen[bytes] | None:
    """A guardian with an empty list, or None where there is no `sh`: then only what `atexit` covers is covered."""
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "mcptest-guardian"],
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
