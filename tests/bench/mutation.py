"""The figures of mutation testing: what a mutant costs, and what `mcptest mutate` takes of a suite of 100 tests.

`SUITE` as an argument: prints the milliseconds of a mutant, and of judging an unchanged answer, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

from tests.bench.processes import in_turns
from tests.bench.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.run import Bench

TESTS, ROUNDS = 100, 5


def mutants(bench: Bench) -> Iterator[Row]:
    """Tests of one assertion: at least 2,000 mutants a second on one core."""
    suite = bench.suite("mutants", TESTS, "echo")
    argv = [sys.executable, __file__, suite]
    told = [subprocess.run(argv, cwd=bench.directory, capture_output=True, check=True) for _ in range(ROUNDS)]
    costs = [json.loads(one.stdout) for one in told]
    yield Row(
        what="a mutant of a one-assertion test",
        measured=statistics.median(cost["mutant_ms"] for cost in costs),
        limit=0.5,
        floor=statistics.median(cost["judge_ms"] for cost in costs),
        most=6,
        note="floor: judging the unchanged answer",
    )


def mutating_a_suite(bench: Bench) -> Iterator[Row]:
    """Two runs and the judging, over one run."""
    suite = bench.suite("mutated", TESTS, "echo")
    mutated, ran = in_turns(
        ROUNDS,
        lambda: bench.mcptest("mutate", suite, "--no-proposals", "--format", "json"),
        lambda: bench.mcptest("run", suite, "--reporter", "minimal"),
    )
    wall = [statistics.median(one.wall_ms for one in results) for results in (mutated, ran)]
    yield Row(what=f"mutate, {TESTS} tests", measured=wall[0], limit=3_000, floor=wall[1], most=4, note="floor: run")


def _measure(path: Path) -> dict[str, float]:
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.mutation.recording import record_answers
    from mcptest_engine.mutation.replay import Options, replay_for
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadOptions, load_suite
    from mcptest_engine.workspace.workspace import Workspace

    workspace = Workspace(path.parent)
    suite = load_suite(path, LoadOptions(environ=dict(os.environ), workspace_root=path.parent))
    recording = asyncio.run(record_answers(suite, RunSettings(), workspace=workspace, emit=lambda _event: None))
    assert recording is not None
    replay = replay_for(suite, workspace, Options(), redactor=Redactor())
    began = process_time()
    judged = len(replay.run(recording).mutants)
    mutant_ms = (process_time() - began) * 1000 / judged
    began = process_time()
    for _ in range(10):
        for test in recording.tests:
            replay.judge(test, test.answers[0], test.answers[0].source.answer)
    return {"mutant_ms": mutant_ms, "judge_ms": (process_time() - began) * 100 / len(recording.tests)}


SECTIONS = (mutants, mutating_a_suite)

if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]))))
