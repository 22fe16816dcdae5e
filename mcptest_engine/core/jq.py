"""Bounded jq programs, run in one worker process that can be killed.

jq inside our own process could not be stopped (it holds the interpreter while it runs), would abort us when memory runs out,
and reads the environment. So `jq_worker.py` runs beside us: isolated, with an empty environment, without HOME (jq would load
`~/.jq`), with 1 GiB of memory, started on first use, killed at the deadline and started anew on the next use.

Integers keep all their digits as long as a program only moves them about; arithmetic in jq is done in doubles.
The deadline is one of the worker's own computing where the system tells of that (Linux), so that no program is stopped because
the machine is busy. The calls block until then: code that must not wait calls them in a thread.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import select
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.live import start_listing, stop_listing

if TYPE_CHECKING:
    from subprocess import Popen

    from mcptest_engine.core.json_types import Json, JsonDict

_WORKER = Path(__file__).with_name("jq_worker.py")
_START_SECONDS = 15.0
_BUSY_SECONDS = 20.0
"""How much longer than it may compute a program may take on a machine that has no time for it."""
_SECONDS_PER_BYTE = 0.4e-6  # what a machine three times slower than ours needs to read a large value; comes on top
_CHUNK = 1 << 20
_COMPILE_ERROR = re.compile(r"jq: error: (.*?)(?: at <top-level>, line (\d+), column (\d+):)?\n", re.DOTALL)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_LARGEST_FLOAT = 1.7976931348623157e308


class JqProgramError(ValueError):
    """A program that does not compile. `line` and `column` count from 1; None when jq did not say where."""

    def __init__(self, message: str, *, line: int | None = None, column: int | None = None) -> None:
        self.line = line
        self.column = column
        self.message = message if line is None else f"{message} (line {line}, column {column})"
        super().__init__(self.message)


class JqRunError(Exception):
    """A program that failed on a value; `timed_out` when it was stopped at its deadline."""

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.timed_out = timed_out


def check_program(text: str) -> None:
    """Compile `text`. Raises: JqProgramError with the author's own line and column."""
    _run_program(text, b"", 1.0)


def run_program(text: str, value: object, *, timeout_seconds: float = 1.0) -> list[object]:
    """All outputs of the program for `value`, which is JSON; NaN goes in as null, as jq has no other word for it.

    It may compute for `timeout_seconds`, and for large values what it takes to hand them over (0.4 s a megabyte at most).
    Raises: JqProgramError; JqRunError when the program fails, exceeds its time or its memory.
    """
    return _run_program(text, _to_json(value), timeout_seconds)


@atexit.register
def close_worker() -> None:
    """End the worker, if one runs. It comes back on the next use; at exit this is called for you."""
    with _LOCK:
        _drop()


class _Deadline:
    """So many seconds of a worker's computing; of the clock where that is not told, or where no `pid` is given."""

    def __init__(self, seconds: float, pid: int | None = None) -> None:
        self._pid, self._seconds = pid, seconds
        self._began, self._began_computing = time.monotonic(), self._computed()

    def wait(self, ready: select.poll) -> None:
        """Until a descriptor is ready. Raises: TimeoutError once the time is over."""
        while not ready.poll(max(0.0, self._left()) * 1000):
            if self._left() <= 0:
                raise TimeoutError

    def _left(self) -> float:
        by_clock = self._seconds - (time.monotonic() - self._began)
        computed = self._computed()
        if self._began_computing is None or computed is None:
            return by_clock
        by_computing = self._seconds - (computed - self._began_computing)
        # what it can take at the least, but not again and again for the last moment
        return min(max(by_computing, 0.005) if by_computing > 0 else 0.0, by_clock + _BUSY_SECONDS)

    def _computed(self) -> float | None:
        """Seconds of processor time that the worker has had. Source: clock_getcpuclockid(3), `MAKE_PROCESS_CPUCLOCK`."""
        if self._pid is None or sys.platform != "linux":
            return None
        try:
            return time.clock_gettime(~self._pid << 3 | 2)
        except OSError:  # it is gone, or nobody may look
            return None


class _Worker:
    """The running child: its pipes, and a buffer of what it has said so far."""

    def __init__(self) -> None:
        import subprocess

        self.process: Popen[bytes] = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_WORKER), str(_binding_directory())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            bufsize=0,
            start_new_session=True,  # a Ctrl-C at the terminal is ours to handle, not the worker's
        )
        self.listed = start_listing("jq", "jq", pid=self.process.pid, shown="jq", end=self._end_by_hand)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.stdin, False)
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(self.stdout, select.POLLIN)
        self._writable.register(self.stdin, select.POLLOUT)
        self.read_line(_Deadline(_START_SECONDS))

    def write(self, data: bytes, deadline: _Deadline) -> None:
        """Hand over `data`. Raises: TimeoutError; OSError when the worker is gone."""
        written = 0
        view = memoryview(data)
        while written < len(data):
            try:
                written += os.write(self.stdin, view[written : written + _CHUNK])
            except BlockingIOError:
                deadline.wait(self._writable)

    def read_line(self, deadline: _Deadline) -> bytes:
        """One line without its end. Raises: TimeoutError; EOFError when the worker is gone."""
        chunks: list[bytes] = []
        while True:
            deadline.wait(self._readable)
            chunk = os.read(self.stdout, _CHUNK)
            if not chunk:
                raise EOFError
            chunks.append(chunk)
            if chunk.endswith(b"\n"):
                return b"".join(chunks)

    def _end_by_hand(self) -> None:
        self.process.kill()
        stop_listing(self.listed)  # it is reaped when jq is next needed

    def kill(self) -> int | None:
        """End the child and reap it; its return code, negative for a signal it had died of before."""
        import subprocess

        stop_listing(self.listed)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            # It leaves when its input ends. One that is busy does not notice, and is not worth waiting for.
            return self.process.wait(0.05)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None


_LOCK = threading.Lock()
_WORKERS: list[_Worker] = []  # none or one; a list, so that no `global` is needed


def _run_program(program: str, value: bytes, timeout_seconds: float) -> list[Json]:
    if "\0" in program:
        raise JqProgramError("a program cannot contain a NUL character")
    allowed = timeout_seconds + len(value) * _SECONDS_PER_BYTE
    # The worker's own alarm is only for when we are gone; ours rings first.
    request = b"%.3f\n%b\n%b\n" % (allowed + 0.5, json.dumps(program).encode(), value)
    with _LOCK:
        line = _exchange(request, allowed, timeout_seconds)
    try:
        answer: JsonDict = json.loads(line)
    except RecursionError:
        raise JqRunError("the outputs are nested too deeply") from None
    if "c" in answer:
        raise _program_error(program, answer["c"], answer["p"])
    if "e" in answer:
        raise JqRunError(answer["e"])
    outputs: list[Json] = answer["o"]
    return outputs


def _exchange(request: bytes, allowed: float, timeout_seconds: float) -> bytes:
    try:
        worker = _started()
    except (OSError, EOFError, TimeoutError) as wrong:
        _drop()
        raise JqRunError(f"jq could not be started: {str(wrong) or type(wrong).__name__}") from wrong
    deadline = _Deadline(allowed, worker.process.pid)
    try:
        worker.write(request, deadline)
        return worker.read_line(deadline)
    except TimeoutError:
        _drop()
        raise JqRunError(f"stopped after {timeout_seconds:g} s", timed_out=True) from None
    except (OSError, EOFError):
        code = _drop()
        # Out of memory, jq aborts; Python is killed or ends with a MemoryError. Nothing else ends the worker by itself.
        raise JqRunError("ran out of memory" if code else "the jq worker ended unexpectedly") from None
    except BaseException:
        _drop()  # interrupted half-way: the answer would be taken for the next one's
        raise


def _started() -> _Worker:
    if _WORKERS and _WORKERS[0].process.poll() is not None:
        _drop()
    if not _WORKERS:
        _WORKERS.append(_Worker())
    return _WORKERS[0]


def _drop() -> int | None:
    return _WORKERS.pop().kill() if _WORKERS else None


def _binding_directory() -> Path:
    """Where the `jq` binding lies, found without importing it; `-S` hides it from the worker otherwise."""
    from importlib.util import find_spec

    spec = find_spec("jq")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the Python package `jq` is not installed")
    origin = Path(spec.origin)
    return origin.parent.parent if spec.submodule_search_locations else origin.parent


def _to_json(value: object) -> bytes:
    try:
        try:
            text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        except ValueError:
            text = json.dumps(_without_special_floats(value), ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise JqRunError("the value is nested too deeply") from None
    except TypeError:
        raise JqRunError("the value is not JSON") from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).encode()


def _without_special_floats(value: object) -> object:
    if isinstance(value, float) and value - value != 0:  # NaN and the infinities
        return None if value != value else (_LARGEST_FLOAT if value > 0 else -_LARGEST_FLOAT)
    if isinstance(value, dict):
        return {key: _without_special_floats(item) for key, item in value.items()}
    return [_without_special_floats(item) for item in value] if isinstance(value, list) else value


def _program_error(program: str, said: str, shift: int) -> JqProgramError:
    """The first compile error, its place counted in the author's text and not in ours."""
    found = _COMPILE_ERROR.match(said + "\n")
    if found is None:
        return JqProgramError(said.partition("\n")[0])
    message = found[1].replace("INVALID_CHARACTER", "character").replace("syntax error, ", "")
    if found[2] is None:
        return JqProgramError(message.strip())
    line, column = int(found[2]), int(found[3])
    if line == 1:
        column = max(1, column - shift)
    lines = program.split("\n")
    # jq counts bytes, people count characters.
    before = lines[line - 1].encode("utf-8", "replace")[: column - 1] if line <= len(lines) else b""
    return JqProgramError(message, line=line, column=len(before.decode("utf-8", "ignore")) + 1)
