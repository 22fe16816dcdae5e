"""Processes measured from outside: wall time and largest memory of one, watched for a line, or killed on purpose."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PATIENCE_SECONDS = 30
# As a user has it: compiled modules are cached. Without the cache every start compiles the package anew, 0.2 s.
ENVIRON = {name: value for name, value in os.environ.items() if name not in {"PYTHONDONTWRITEBYTECODE", "CI"}}
RSS_UNIT = 1024 if os.uname().sysname == "Linux" else 1  # macOS counts bytes


@dataclass(frozen=True, slots=True)
class Finished:
    """`cpu_ms` is what it and the processes that it waited for took of the processors, which other work changes little."""

    wall_ms: float
    rss_mb: float
    cpu_ms: float = 0.0


def run_once(argv: Sequence[str], cwd: Path) -> Finished:
    """Start, wait, measure. Raises RuntimeError with the end of stderr when the process fails."""
    with open(cwd / "stderr", "w+b") as stderr:
        started = perf_counter()
        process = subprocess.Popen(
            argv, cwd=cwd, env=ENVIRON, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_ms = (perf_counter() - started) * 1000
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            stderr.seek(0)
            tail = stderr.read().decode(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"exit {process.returncode} of {' '.join(argv[:3])}: {''.join(tail)}")
    return Finished(wall_ms, usage.ru_maxrss * RSS_UNIT / 1e6, (usage.ru_utime + usage.ru_stime) * 1000)


def in_turns(times: int, *measures: Callable[[], Finished]) -> list[list[Finished]]:
    """Each measured `times` times, in turns, after a first turn that only warms the caches."""
    if times > 3:
        for measure in measures:
            measure()
    rounds = [[measure() for measure in measures] for _ in range(times)]
    return [list(results) for results in zip(*rounds, strict=True)]


def watch_times(argv: Sequence[str], suite: Path, *, saves: int) -> list[float]:
    """Milliseconds from each save of the suite to the line with the verdicts; the first save only warms up."""
    process = subprocess.Popen(
        argv,
        cwd=suite.parent,
        env=ENVIRON,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    times = []
    try:
        _read_until(process, "watching")
        for number in range(saves + 1):
            time.sleep(0.3)  # a person does not save while the servers of the next run are still being started
            started = perf_counter()
            with suite.open("a", encoding="utf-8") as file:
                file.write(f"# save {number}\n")
            _read_until(process, "passed")
            times.append((perf_counter() - started) * 1000)
            _read_until(process, "watching")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
    return times[1:]


def kill_test(argv: Sequence[str], cwd: Path, report: Path) -> tuple[int, int]:
    """Kill -9 in the middle of a run; how many of the processes in `report` are left, and how many records are torn.

    The server writes the process ids of itself and its child to `report` once it runs.
    """
    report.unlink(missing_ok=True)
    process = subprocess.Popen(
        argv, cwd=cwd, env=ENVIRON, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(lambda: report.exists() and report.read_text().endswith("\n"))
        time.sleep(0.2)  # into the calls
        if process.poll() is not None:
            raise RuntimeError(f"exit {process.returncode} before it could be killed")
    finally:
        process.kill()
        process.wait()
    pids = [int(pid) for pid in report.read_text().split()]
    _wait_for(lambda: not any(map(is_alive, pids)), seconds=5)
    left = [pid for pid in pids if is_alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    records = [*(cwd / ".mcptest" / "runs").glob("*.json")]
    return len(left), sum(map(_is_torn, records))


def _read_until(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    for text in process.stdout:
        if word in text:
            return
    raise RuntimeError(f'ended before it said "{word}"')


def _wait_for(holds: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    end = perf_counter() + seconds
    while perf_counter() < end and not holds():
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and only waits to be reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def _is_torn(record: Path) -> bool:
    try:
        json.loads(record.read_bytes())
    except ValueError:
        return True
    return False
