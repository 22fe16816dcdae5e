"""The figures of runs in parts: eight shards brought together, and two local workers of a Dask cluster against the ideal.

The ideal is what the calls alone take: 400 tests of 100 ms, one after the other on each of two workers.
"""

from __future__ import annotations

import json
import statistics
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.processes import in_turns
from tests.bench.report import record
from tests.bench.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.run import Bench

SHARDS, SHARD_TESTS = 8, 1_250
TESTS, CALL_MS, WORKERS = 400, 100, 2
MANIFEST = f"""\
mock_server:
  tools:
    - {{ name: fetch, description: Answers late, delay_ms: {CALL_MS}, response: {{ content: [{{ type: text, text: hi }}] }} }}
"""
MCPTEST = str(Path(sys.executable).with_name("mcptest"))
TEST = '  - { name: "fetch %d", tool: fetch, expect: [{ target: "result.content[0].text", matcher: { exact: hi } }] }\n'


def merged_shards(bench: Bench) -> Iterator[Row]:
    whole = record(SHARDS * SHARD_TESTS)
    names = []
    for index in range(SHARDS):
        shard = _shard(whole, index)
        names.append(f"shard-{index}.json")
        (bench.directory / names[-1]).write_text(json.dumps(shard), encoding="utf-8")
    (results,) = in_turns(3, lambda: bench.mcptest("report", "--merge", *names, "--format", "minimal"))
    took = statistics.median(result.cpu_ms for result in results)
    note = "CPU time, reading the records included"
    yield Row(what=f"report --merge, {SHARDS} shards of {SHARD_TESTS:,} tests", measured=took, limit=1_000, note=note)


def _shard(whole: dict[str, Any], index: int) -> dict[str, Any]:
    tests = whole["tests"][index * SHARD_TESTS : (index + 1) * SHARD_TESTS]
    count = {verdict: sum(test["verdict"] == verdict for test in tests) for verdict in ("pass", "fail")}
    totals = {
        **dict.fromkeys(whole["totals"], 0),
        "total": len(tests),
        "passed": count["pass"],
        "failed": count["fail"],
    }
    return {**whole, "shard": {"index": index + 1, "count": SHARDS}, "tests": tests, "totals": totals}


def on_a_cluster(bench: Bench) -> Iterator[Row]:
    try:
        import distributed
    except ImportError:
        yield Row(what="run --executor dask", measured=None, note="the extra `dask` is not installed")
        return
    (bench.directory / "late.yml").write_text(MANIFEST, encoding="utf-8")
    head = f"name: late\nservers:\n  late: {{ command: [{MCPTEST}, mock, --tools-from, late.yml] }}\ntools:\n"
    tests = "".join(TEST % number for number in range(TESTS))
    (bench.directory / "sweep.yml").write_text(head + tests, encoding="utf-8")
    with distributed.LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        asked = (
            "run",
            "sweep.yml",
            "--executor",
            "dask",
            "--scheduler",
            cluster.scheduler_address,
            "--reporter",
            "minimal",
        )
        for at_once, most in ((1, 1.3), (8, None)):
            flags = (*asked, "--workers", str(at_once))
            (results,) = in_turns(1 if at_once == 1 else 3, partial(bench.mcptest, *flags))
            took = statistics.median(result.wall_ms for result in results)
            ideal = TESTS * CALL_MS / WORKERS / at_once
            what = f"run --executor dask, {TESTS} tests of {CALL_MS} ms, {at_once} at once on each of {WORKERS} workers"
            yield Row(what=what, measured=took, floor=ideal, most=most)


SECTIONS = (merged_shards, on_a_cluster)
