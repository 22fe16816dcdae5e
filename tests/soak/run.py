"""`make soak`: thousands of calls over stdio and HTTP with faults at random, in many short runs of real suites.

    python -m tests.soak.run [--seconds 60] [--seed N] [--rounds N] [--size 60]

Each round is a suite out of a seeded plan in which every verdict is known beforehand. Most rounds run in this process, so that
what the engine holds on to adds up here; some are cancelled on the way, some are the installed command, and some of those are
killed. After each round verdicts, descriptors, tasks, threads, child processes and files are held against the plan; at the end,
memory, the number of objects and blocks, and the memory in use once what is free was given back. Exits 1 on any deviation,
with the seed and the test.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.events import CaseFinished
from mcptest_engine.running.launch import launch
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace
from tests.soak.judging import (
    GROWTH,
    KEEP_RUNS,
    call_deviations,
    growth_deviations,
    holding_deviations,
    quarter,
    use_deviations,
    verdict_deviations,
)
from tests.soak.measuring import Holdings, holdings, left_behind, rss_mb_in_use
from tests.soak.planning import HERE, Round, planned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.events import Event

MCPTEST = str(Path(sys.executable).with_name("mcptest"))
PATIENCE_SECONDS = 180
WARM_UP = 4  # rounds until what is loaded once and kept is loaded
FILLED = 30  # and until runs are as many as are kept, and caches full
KINDS = ("cut short", "command", "killed", *["whole"] * 7)  # in turn, once all is warm
MEMORY_EVERY = 5


@dataclass(slots=True)
class Soak:
    """A soak under way: where it runs, and what it has seen."""

    folder: Path
    seed: int
    size: int
    url: str
    random: Random = field(init=False)
    token: str = field(init=False)
    workspace: Workspace = field(init=False)
    first: Holdings | None = None
    last: Holdings | None = None
    samples: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in GROWTH})
    in_use: list[float | None] = field(default_factory=list)
    tests: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    faults: int = 0
    rounds: Counter[str] = field(default_factory=Counter)
    deviations: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.token = f"{self.seed}-{os.getpid()}"
        self.workspace = Workspace(self.folder, keep_runs=KEEP_RUNS)

    async def round(self) -> None:
        """One round more, and what it leaves."""
        number = self.rounds.total()
        kind = "whole" if number < WARM_UP else KINDS[(number - WARM_UP) % len(KINDS)]
        plan = planned(number, self.random, url=self.url, token=self.token, folder=self.folder, size=self.size)
        path = self.folder / "soak.yml"
        path.write_text(json.dumps(plan.suite), encoding="utf-8")
        self.rounds[kind] += 1
        found: list[str] = []
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                found += await self._runs(kind, plan, path)
        except TimeoutError:
            found.append(f"the run did not end within {PATIENCE_SECONDS} s")
        found += self._held(number)
        self.deviations += [f"seed {self.seed}, round {number} ({kind}): {one}" for one in found]

    async def _runs(self, kind: str, plan: Round, path: Path) -> list[str]:
        if kind == "killed":
            return await asyncio.to_thread(self._killed, path)
        if kind == "command":
            record = await asyncio.to_thread(self._commanded, path)
        else:
            at = self.random.randrange(len(plan.expected)) if kind == "cut short" else None
            record = await self._launched(path, stop_after=at)
        tests = record["tests"]
        self.tests.update(test["verdict"] for test in tests)
        self.calls += sum(
            row["count"] for row in record.get("effects", {"calls": ()})["calls"]
        )  # none: cut short at once
        if kind == "cut short":
            return list(verdict_deviations(tests, plan.expected, cut_short=True))
        self.faults += plan.faults
        return [*verdict_deviations(tests, plan.expected), *call_deviations(record, plan.calls)]

    async def _launched(self, path: Path, stop_after: int | None) -> dict[str, Any]:
        """The record of a run in this process, which is cancelled after so many tests have finished."""
        suite = load_suite(path, LoadOptions(environ=os.environ, workspace_root=self.folder))
        finished = 0

        def emit(event: Event) -> None:
            nonlocal finished
            finished += isinstance(event, CaseFinished)
            if finished == stop_after:
                running.cancel()

        settings = RunSettings()
        running = asyncio.ensure_future(launch(suite, settings, workspace=self.workspace, emit=emit))
        record = (await running).to_json()
        self.workspace.save_run(record)
        return record

    def _commanded(self, path: Path) -> dict[str, Any]:
        """The record of a run by the installed command."""
        done = subprocess.run(
            [MCPTEST, "run", str(path), "--reporter", "json"],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        record: dict[str, Any] = json.loads(done.stdout)
        return record

    def _killed(self, path: Path) -> list[str]:
        """Kill -9 of the command in the middle of a run; what it had started must be gone soon after."""
        process = subprocess.Popen(
            [MCPTEST, "run", str(path), "--reporter", "ndjson"],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        for _ in range(self.random.randrange(1, self.size)):
            process.stdout.readline()
        process.kill()
        process.communicate()
        deadline = time.monotonic() + 10
        while (left := left_behind(self.token)) and time.monotonic() < deadline:
            time.sleep(0.02)
        return [f"processes left after kill -9 of mcptest: {left}"] if left else []

    def _held(self, number: int) -> Iterator[str]:
        """What is held after this round beyond what was held when all was warm."""
        now = holdings(self.workspace.data_dir)
        if number + 1 == WARM_UP:
            self.first = now
        if number % MEMORY_EVERY == 0 and number >= WARM_UP:
            for name, value in zip(GROWTH, (now.rss_mb, now.objects, now.blocks), strict=True):
                self.samples[name].append(value)
        if number == FILLED:
            self.in_use.append(rss_mb_in_use())
        self.last = now
        left = left_behind(self.token)
        if left:
            yield f"processes left of this soak's servers: {left}"
        if self.first is not None:
            yield from holding_deviations(self.first, now)

    def closing_deviations(self) -> list[str]:
        """What is only seen over all rounds."""
        found = [one for name, samples in self.samples.items() for one in growth_deviations(name, samples)]
        if self.in_use:
            self.in_use.append(rss_mb_in_use())
            found += use_deviations(self.in_use[0], self.in_use[1])
        return [f"seed {self.seed}: {one}" for one in found]

    def progress(self, seconds: float) -> str:
        memory = f"{self.samples['memory, MB'][-1]:.0f} MB" if self.samples["memory, MB"] else "warming up"
        told = f"{self.rounds.total()} rounds, {self.calls} calls, {memory}, {len(self.deviations)} deviations"
        return f"{seconds:6.0f} s  {told}"

    def summary(self) -> str:
        """A table of what was seen."""
        rounds = ", ".join(f"{count} {kind}" for kind, count in self.rounds.most_common())
        tests = ", ".join(f"{count} {verdict}" for verdict, count in self.tests.most_common())
        rows = [("seed", str(self.seed)), ("rounds", rounds), ("tests", f"{self.tests.total()} ({tests})")]
        rows.append(("calls", f"{self.calls}, and {self.faults} faults in rounds that were not cut short"))
        for name, samples in self.samples.items():
            if samples:
                rows.append((name, f"{samples[0]:.1f} when warm, {samples[-1]:.1f} at the end"))
            if len(samples) >= 4:
                rows.append((f"{name} by quarter", ", ".join(f"{quarter(samples, n):.1f}" for n in range(4))))
        if len(self.in_use) == 2 and None not in self.in_use:
            rows.append(("memory in use, MB", f"{self.in_use[0]:.1f} when warm, {self.in_use[1]:.1f} at the end"))
        if self.first is not None and self.last is not None:
            counts = ("descriptors", "tasks", "threads")
            rows += [
                (name, f"{getattr(self.first, name)} when warm, {getattr(self.last, name)} at the end")
                for name in counts
            ]
            rows.append(
                ("child processes", f"{len(self.first.children)} when warm, {len(self.last.children)} at the end")
            )
            rows.append(("files in .mcptest", str(self.last.files)))
        rows.append(("deviations", str(len(self.deviations)) if self.deviations else "none"))
        return "\n".join(f"{name:<22} {told}" for name, told in rows)


async def soak(folder: Path, seed: int, *, seconds: float, rounds: int | None, size: int, say: Any = print) -> Soak:
    """Rounds until the time is over or there were so many; the soak with all that it has seen."""
    started = told = time.monotonic()
    with serving() as url:
        this = Soak(folder, seed, size, url)
        while this.rounds.total() < rounds if rounds is not None else time.monotonic() - started < seconds:
            before = len(this.deviations)
            await this.round()
            for deviation in this.deviations[before:]:
                say(deviation)
            if time.monotonic() - told >= 10:
                told = time.monotonic()
                say(this.progress(told - started))
    for deviation in this.closing_deviations():
        this.deviations.append(deviation)
        say(deviation)
    return this


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """The HTTP server, one for the whole soak; gives its URL."""
    process = subprocess.Popen(
        [sys.executable, "-S", str(HERE / "http_server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
    finally:
        process.stdin.close()
        process.wait(PATIENCE_SECONDS)
        process.stdout.close()


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seconds", type=float, default=60, help="how long, unless --rounds says how often")
    asked.add_argument("--rounds", type=int, help="how many rounds, whatever the time")
    asked.add_argument("--size", type=int, default=60, help="how many tests a round has")
    asked.add_argument(
        "--seed", type=int, default=int.from_bytes(os.urandom(3)), help="repeats the rounds of an earlier soak"
    )
    flags = asked.parse_args()
    print(f"seed {flags.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="mcptest-soak-") as folder:
        this = asyncio.run(
            soak(Path(folder), flags.seed, seconds=flags.seconds, rounds=flags.rounds, size=flags.size, say=_say)
        )
    print(this.summary())
    return 1 if this.deviations else 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
