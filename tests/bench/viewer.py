"""The figures of the viewer: the first page of 500 runs, and the pages after it."""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.request import urlopen

from tests.bench import report
from tests.bench.processes import ENVIRON
from tests.bench.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.run import Bench

MCPTEST = str(Path(sys.executable).with_name("mcptest"))
RUNS = 500
TESTS = 40
ROUNDS = 5
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
BEGAN_MS = 1_767_322_800_000


def viewer(bench: Bench) -> Iterator[Row]:
    root = bench.directory / "viewed"
    _fill(root)
    first, again, suite = [], [], []
    for _ in range(ROUNDS):
        process = subprocess.Popen(
            [MCPTEST, "view", "--no-open"], cwd=root, env=ENVIRON, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )  # fmt: skip
        try:
            assert process.stdout is not None
            url = process.stdout.readline().decode().strip()
            first.append(_asked(url))
            again.append(_asked(url))
            suite.append(_asked(f"{url}suites?suite=bench.yml"))
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()
    note = "from the request to its last byte; no record has been looked at before"
    yield Row(what="view, the first page of 500 runs", measured=statistics.median(first), limit=200, note=note)
    yield Row(what="  the same page again", measured=statistics.median(again))
    yield Row(
        what="  trends of a suite, first asked for", measured=statistics.median(suite), note="50 runs of 40 tests"
    )


def _asked(url: str) -> float:
    started = perf_counter()
    with urlopen(url) as answer:
        answer.read()
    return (perf_counter() - started) * 1000


def _fill(root: Path) -> None:
    runs = root / ".mcptest" / "runs"
    runs.mkdir(parents=True)
    record = report.record(TESTS)
    for at in range(RUNS):
        number = (BEGAN_MS + at * 60_000 << 80) | at
        run_id = "".join(ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
        (runs / f"{run_id}.json").write_text(json.dumps({**record, "run_id": run_id}), encoding="utf-8")


SECTIONS = (viewer,)
