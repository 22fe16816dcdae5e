"""`make bench`: each figure of the design as one row, measured beside its floor in the same run.

    python -m tests.bench.run [--only WORD]… [--json]
    python -m tests.bench.run --only workbench

The subject is the installed `mcptest`, started anew for every measurement as a user starts it; the floor is a bare client
that makes the same calls and does nothing else. Subject and floor take turns, so that a busy machine slows both. Figures are
medians. A row that misses its figure is printed as missed; the exit code is 1 then, with `--strict` only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from tests.bench import agents, cluster, compositions, door, evals, mutation, plugin, report, viewer, workbench
from tests.bench.processes import Finished, in_turns, kill_test, run_once, watch_times
from tests.bench.rows import Row
from tests.bench.suites import write_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

HERE = Path(__file__).parent
PYTHON = sys.executable
MCPTEST = str(Path(PYTHON).with_name("mcptest"))
SERVERS = HERE / "servers"


class Bench:
    """A temporary workspace with the suites that the rows run."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "mcptest.yaml").write_text("name: marks the workspace\n", encoding="utf-8")

    def suite(self, name: str, tests: int, server: str, *arguments: str, wanted: str | None = None) -> str:
        path = write_suite(
            self.directory / f"{name}.yml", tests, command=server_argv(server, *arguments), wanted=wanted
        )
        return str(path)

    def mcptest(self, *arguments: str) -> Finished:
        return run_once([MCPTEST, *arguments], self.directory)

    def bare(self, calls: int, in_flight: int, server: str, *arguments: str) -> Finished:
        client = [PYTHON, str(HERE / "bare_client.py"), str(calls), str(in_flight)]
        return run_once([*client, *server_argv(server, *arguments)], self.directory)


def server_argv(server: str, *arguments: str) -> list[str]:
    return [PYTHON, str(SERVERS / f"{server}.py"), *arguments]


def wall(results: Sequence[Finished]) -> float:
    return statistics.median(result.wall_ms for result in results)


def start_up(bench: Bench) -> Iterator[Row]:
    version, floor = in_turns(
        9, lambda: bench.mcptest("--version"), lambda: run_once([PYTHON, "-c", "pass"], bench.directory)
    )
    yield Row(
        what="mcptest --version", measured=wall(version), limit=60, floor=wall(floor), note="floor: python -c pass"
    )


def validate(bench: Bench) -> Iterator[Row]:
    for tests, limit, times in ((10, 110, 7), (1_000, 300, 5), (10_000, 1_800, 3)):
        suite = bench.suite(f"validate{tests}", tests, "echo")
        (results,) = in_turns(times, partial(bench.mcptest, "validate", suite))
        yield Row(what=f"validate, {tests:,} tests", measured=wall(results), limit=limit)


def synthesis(bench: Bench) -> Iterator[Row]:
    script = str(Path(__file__).with_name("synthesis.py"))
    (results,) = in_turns(5, lambda: run_once([PYTHON, script], bench.directory))
    yield Row(what="arguments, 1,000 schemas", measured=wall(results), limit=1_000, note="process start included")


def scaffolding(bench: Bench) -> Iterator[Row]:
    """A suite for 100 tools of public servers, over what it takes to ask a mock server for them."""
    public = json.loads((HERE.parent / "authoring" / "synthesize" / "public_servers.json").read_text("utf-8"))
    schemas = islice(cycle(tool["inputSchema"] for server in public["servers"] for tool in server["tools"]), 100)
    tools = [
        {"name": f"read_{at:03}", "input_schema": schema, "response": {"content": [{"type": "text", "text": "done"}]}}
        for at, schema in enumerate(schemas)
    ]
    manifest = bench.directory / "hundred.yml"
    manifest.write_text(json.dumps({"mock_server": {"tools": tools}}), encoding="utf-8")
    server = ("--command", f"{MCPTEST} mock --tools-from {manifest}")
    generated, asked = in_turns(
        7,
        lambda: bench.mcptest("generate", "suite", "--all", *server),
        lambda: bench.mcptest("tools", "--format", "json", *server),
    )
    over = statistics.median(one.cpu_ms for one in generated) - statistics.median(one.cpu_ms for one in asked)
    yield Row(what="generate suite, 100 tools", measured=over, limit=500, note="CPU time over `mcptest tools`")


def one_test(bench: Bench) -> Iterator[Row]:
    suite = bench.suite("one", 1, "echo")
    run, bare = in_turns(9, lambda: bench.mcptest("run", suite), lambda: bench.bare(1, 1, "echo"))
    yield Row(what="run, 1 test", measured=wall(run), floor=wall(bare), most=1.6)


def many_tests(bench: Bench) -> Iterator[Row]:
    thousand, two = bench.suite("thousand", 1_000, "echo"), bench.suite("two-thousand", 2_000, "echo")
    run, more, bare = in_turns(
        5,
        lambda: bench.mcptest("run", thousand),
        lambda: bench.mcptest("run", two),
        lambda: bench.bare(1_000, 8, "echo"),
    )
    yield Row(what="run, 1,000 tests", measured=wall(run), limit=360, floor=wall(bare))
    # The difference of two medians is noisy; of two minima it is not, because nothing makes a run faster than it is.
    fastest, fastest_more = (min(result.wall_ms for result in results) for results in (run, more))
    yield Row(
        what="  each further test", measured=(fastest_more - fastest) / 1_000, limit=0.15, note="2,000 less 1,000"
    )
    yield Row(what="  memory", measured=max(result.rss_mb for result in run), unit="MB", limit=60)
    ten = bench.suite("ten-thousand", 10_000, "echo")
    yield Row(what="memory, 10,000 tests", measured=bench.mcptest("run", ten).rss_mb, unit="MB", limit=400)


def many_suites(bench: Bench) -> Iterator[Row]:
    """Many suites of one server in one command, over one suite with the same tests; the quickest of the turns."""
    suites, tests = 20, 10
    paths = [bench.suite(f"many-{at}", tests, "echo", "listed") for at in range(suites)]
    whole = bench.suite("many-in-one", suites * tests, "echo", "listed")
    many, one = in_turns(
        7,
        lambda: bench.mcptest("run", *paths, "--reporter", "minimal"),
        lambda: bench.mcptest("run", whole, "--reporter", "minimal"),
    )
    for what, (least, least_one) in {
        "wall": (min(result.wall_ms for result in many), min(result.wall_ms for result in one)),
        "CPU": (plugin.least_cpu(many), plugin.least_cpu(one)),
    }.items():
        yield Row(
            what=f"a further suite, {what} time",
            measured=max((least - least_one) / (suites - 1), 0.0),
            limit=5,
            note=f"{suites} suites of {tests} tests ({least:.0f} ms) over one of {suites * tests} ({least_one:.0f} ms)",
        )


def cached(bench: Bench) -> Iterator[Row]:
    """Fifty tests on a server that takes 300 ms to start: without the cache, with an empty cache, and from the cache."""
    slowly = f"import runpy, time; time.sleep(0.3); runpy.run_path({str(SERVERS / 'echo.py')!r}, run_name='__main__')"
    suite = str(write_suite(bench.directory / "cached.yml", 50, command=[PYTHON, "-c", slowly]))
    fresh = (str(bench.directory / f"fresh{number}") for number in range(100))
    bench.mcptest("run", suite, "--cache")
    warm, cold, asked = in_turns(
        7,
        lambda: bench.mcptest("run", suite, "--cache"),
        lambda: bench.mcptest("run", suite, "--cache-dir", next(fresh)),
        lambda: bench.mcptest("run", suite),
    )
    yield Row(what="run --cache, 50 tests, warm", measured=wall(warm), floor=wall(asked), most=0.6, note="floor: asked")
    yield Row(what="  the first time", measured=wall(cold), floor=wall(asked), most=1.3, note="floor: without --cache")


def latency(bench: Bench) -> Iterator[Row]:
    suite = bench.suite("slow", 100, "slow")
    run, bare = in_turns(3, lambda: bench.mcptest("run", suite), lambda: bench.bare(100, 8, "slow"))
    yield Row(what="100 calls of 50 ms", measured=wall(run), limit=950, floor=wall(bare), most=1.25, note="8 in flight")


def large_result(bench: Bench) -> Iterator[Row]:
    suite = bench.suite("blob", 1, "blob", "50", wanted="operational")
    server = server_argv("blob", "50")
    run, bare, alone = in_turns(
        3,
        lambda: bench.mcptest("run", suite),
        lambda: bench.bare(1, 1, "blob", "50"),
        lambda: run_once(server, bench.directory),
    )
    # The server needs its own time to make 50 MB; that is neither ours nor the figure's.
    own = wall(alone)
    yield Row(
        what="one 50 MB result",
        measured=wall(run) - own,
        limit=1_000,
        floor=wall(bare) - own,
        note="less the server's start",
    )
    yield Row(what="  memory", measured=max(result.rss_mb for result in run), unit="MB", limit=300)


def over_http(bench: Bench) -> Iterator[Row]:
    server = subprocess.Popen(server_argv("http_echo"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/mcp"
        costs = {in_flight: http_costs(bench, url, in_flight) for in_flight in (8, 32)}
    finally:
        server.communicate("")
    for in_flight, (cost, floor) in costs.items():
        yield Row(what=f"HTTP call, {in_flight} in flight", measured=cost, floor=floor, most=1.3)
    yield Row(what="  32 against 8 in flight", measured=costs[32][0], floor=costs[8][0], most=1.1, note="no drop")


def http_costs(bench: Bench, url: str, in_flight: int) -> tuple[float, float]:
    """Milliseconds of one call, ours and the bare client's: what 500 further calls take."""
    few, many = 100, 600
    suites = [str(write_suite(bench.directory / f"http{calls}.yml", calls, url=url)) for calls in (few, many)]
    client = [PYTHON, str(HERE / "bare_http_client.py")]
    measures: list[Callable[[], Finished]] = []
    for calls, suite in zip((few, many), suites, strict=True):
        measures.append(partial(bench.mcptest, "run", suite, "--workers", str(in_flight)))
        measures.append(partial(run_once, [*client, str(calls), str(in_flight), url], bench.directory))
    small, small_bare, large, large_bare = (min(one.wall_ms for one in results) for results in in_turns(3, *measures))
    return (large - small) / (many - few), (large_bare - small_bare) / (many - few)


def watching(bench: Bench) -> Iterator[Row]:
    suite = bench.suite("watch", 20, "echo")
    times = watch_times([MCPTEST, "run", "--watch", "--reporter", "minimal", suite], Path(suite), saves=7)
    yield Row(what="watch: save to verdicts, 20 tests", measured=statistics.median(times), limit=150)


def killed(bench: Bench) -> Iterator[Row]:
    report = bench.directory / "pids"
    suite = bench.suite("killed", 400, "slow", str(report))
    left, torn = 0, 0
    for _ in range(3):
        left_now, torn_now = kill_test([MCPTEST, "run", suite], bench.directory, report)
        left, torn = left + left_now, torn + torn_now
    yield Row(
        what="left after kill -9: processes", measured=left, unit="", limit=0, note="server and its child, 3 kills"
    )
    yield Row(what="  torn records", measured=torn, unit="", limit=0)


SECTIONS = (
    start_up,
    validate,
    one_test,
    many_tests,
    many_suites,
    cached,
    synthesis,
    scaffolding,
    latency,
    watching,
    large_result,
    over_http,
    killed,
    *compositions.SECTIONS,
    *evals.SECTIONS,
    *mutation.SECTIONS,
    *plugin.SECTIONS,
    *agents.SECTIONS,
    *door.SECTIONS,
    *report.SECTIONS,
    *viewer.SECTIONS,
    *cluster.SECTIONS,
    *workbench.SECTIONS,
)


def measure(bench: Bench, words: Sequence[str]) -> Iterator[Row]:
    for section in SECTIONS:
        if words and not any(word in section.__name__ for word in words):
            continue
        try:
            yield from section(bench)
        except (AssertionError, OSError, RuntimeError) as wrong:
            yield Row(
                what=section.__name__,
                measured=None,
                note=str(wrong).splitlines()[0][:100] if str(wrong) else repr(wrong),
            )


def cells(row: Row) -> tuple[str, ...]:
    figures = []
    if row.limit is not None:
        figures.append(f"≤ {row.limit:g} {row.unit}".strip())
    if row.most is not None:
        figures.append(f"≤ {row.most:g} x")
    figure = " and ".join(figures)
    return (
        row.what,
        number(row.measured, row.unit),
        number(row.floor, row.unit),
        "" if row.ratio is None else f"{row.ratio:.2f} x",
        figure,
        row.verdict,
        row.note,
    )


def number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    digits = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 3
    return f"{value:,.{digits}f} {unit}".strip()


HEADINGS = ("what", "measured", "floor", "ratio", "figure", "", "")
WIDTHS = (36, 12, 12, 9, 26, 8, 0)


def line(texts: Sequence[str]) -> str:
    right = (1, 2, 3)
    padded = [
        text.rjust(width) if at in right else text.ljust(width)
        for at, (text, width) in enumerate(zip(texts, WIDTHS, strict=True))
    ]
    return "  ".join(padded).rstrip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", action="append", default=[], metavar="WORD", help="sections whose name holds the word"
    )
    parser.add_argument("--json", action="store_true", help="one JSON array instead of the table")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a figure is missed")
    options = parser.parse_args()
    if not Path(MCPTEST).exists():
        print(f"no mcptest beside {PYTHON}; run `make setup`", file=sys.stderr)
        return 2
    started, rows = perf_counter(), []
    with tempfile.TemporaryDirectory(prefix="mcptest-bench-") as directory:
        if not options.json:
            print(line(HEADINGS))
        for row in measure(Bench(Path(directory).resolve()), options.only):
            rows.append(row)
            if not options.json:
                print(line(cells(row)), flush=True)
    if options.json:
        print(json.dumps([{**asdict(row), "ratio": row.ratio, "verdict": row.verdict} for row in rows], indent=2))
    else:
        missed = sum(row.verdict == "missed" for row in rows)
        print(f"\n{len(rows)} figures, {missed} missed, in {perf_counter() - started:.0f} s on {os.cpu_count()} CPUs")
    return 1 if options.strict and any(row.verdict == "missed" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
