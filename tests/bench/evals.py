"""The figures of evals: what mcptest adds to the time of scorers, and what saved verdicts save.

`COUNT AT_ONCE ARGV…` as arguments: runs a wrapper so often, so many at once, each with a request on its stdin.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.processes import in_turns, run_once
from tests.bench.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.bench.processes import Finished
    from tests.bench.run import Bench

COUNT, AT_ONCE, ROUNDS = 200, 8, 3
PLATFORM_SECONDS = 0.25
"""What a platform takes to answer a wrapper; one that works offline takes nothing but its start."""
WRAPPER = Path(__file__).parents[2] / "examples" / "scorers" / "promptfoo.py"
RUBRIC = "contains: checkout-api\ncontains: v2.3.1\nmax-words: 50"
OUTPUT = "checkout-api failed after release v2.3.1 and was rolled back"


def write_evals(path: Path, wrapper: Sequence[str]) -> str:
    """A suite of so many evals of one scorer. Returns its path."""
    evals = [
        {"name": f"eval {at}", "prompt": f"question {at}", "output": OUTPUT, "rubric": RUBRIC} for at in range(COUNT)
    ]
    scorers = [{"name": "keyword", "type": "exec", "command": list(wrapper)}]
    suite = {"servers": {"none": {"command": ["true"]}}, "scorers": scorers, "evals": evals}
    path.write_text(json.dumps(suite), encoding="utf-8")
    return str(path)


def graded_offline(bench: Bench) -> Iterator[Row]:
    """Two hundred gradings, eight at once, by a wrapper that does nothing: by mcptest, and by a plain loop."""
    wrapper = [sys.executable, str(WRAPPER)]
    asked, bare, _ = _measured(bench, "offline", wrapper)
    note = f"floor: the same wrapper bare, {AT_ONCE} at once"
    yield Row(what=f"eval, {COUNT} gradings, offline", measured=_wall(asked), floor=_wall(bare), most=1.2, note=note)


def graded_by_a_platform(bench: Bench) -> Iterator[Row]:
    """The same by a wrapper that waits for a platform, and from saved verdicts."""
    wait = f"import runpy, time; time.sleep({PLATFORM_SECONDS}); runpy.run_path({str(WRAPPER)!r}, run_name='__main__')"
    asked, bare, kept = _measured(bench, "platform", [sys.executable, "-c", wait])
    what = f"eval, {COUNT} gradings of {PLATFORM_SECONDS * 1000:.0f} ms"
    yield Row(what=what, measured=_wall(asked), floor=_wall(bare), most=1.2, note="floor: the same bare")
    yield Row(what="  kept verdicts", measured=_wall(kept), floor=_wall(asked), most=0.05, note="floor: asked")


def _measured(bench: Bench, name: str, wrapper: Sequence[str]) -> list[list[Finished]]:
    """The wrapper run by `mcptest eval`, run alone, and not run, because its verdicts are saved."""
    suite = write_evals(bench.directory / f"{name}.yml", wrapper)
    bare = [sys.executable, __file__, str(COUNT), str(AT_ONCE), *wrapper]
    bench.mcptest("eval", suite, "--cache")
    return in_turns(
        ROUNDS,
        lambda: bench.mcptest("eval", suite, "--workers", str(AT_ONCE)),
        lambda: run_once(bare, bench.directory),
        lambda: bench.mcptest("eval", suite, "--cache"),
    )


def _wall(results: Sequence[Finished]) -> float:
    return statistics.median(result.wall_ms for result in results)


def _ask(count: int, at_once: int, wrapper: Sequence[str]) -> None:
    """A loop that starts a wrapper whenever one has ended, and reads what each has said."""
    request = {"input": "question", "output": OUTPUT, "criteria": RUBRIC, "metadata": {"eval": "eval"}}
    running: dict[int, tuple[int, subprocess.Popen[bytes]]] = {}
    with tempfile.TemporaryFile() as stdin:
        stdin.write(json.dumps(request).encode())
        stdin.flush()
        for number in range(count + at_once):
            if len(running) == at_once or number >= count:
                pid, status = os.wait()
                told, process = running.pop(pid)
                process.returncode = os.waitstatus_to_exitcode(status)
                assert process.returncode == 0
                with os.fdopen(told) as answer:
                    assert json.load(answer)["verdict"] == "pass"
            if number < count:
                said, theirs = os.pipe()
                own = os.open(f"/proc/self/fd/{stdin.fileno()}", os.O_RDONLY)  # each reads it from the beginning
                # In a session of its own, as mcptest starts it: the kernel may share its time out by sessions.
                process = subprocess.Popen(wrapper, stdin=own, stdout=theirs, start_new_session=True)
                running[process.pid] = said, process
                os.close(theirs)
                os.close(own)


SECTIONS = (graded_offline, graded_by_a_platform)

if __name__ == "__main__":
    _ask(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
