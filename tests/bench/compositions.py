"""The figures of compositions: what a node costs, what planning takes, and that what may run at once does.

`planning NODES` as arguments: prints how many milliseconds it takes to load a suite of so many nodes and to plan its run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from tests.bench.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.bench.processes import Finished
    from tests.bench.run import Bench

HERE = Path(__file__).parent
DELAY_MS = 50
ROUNDS = 5


def write_nodes(path: Path, nodes: Sequence[dict[str, Any]], server: str) -> str:
    """A suite of one composition on a server of this folder. Returns its path."""
    command = json.dumps([sys.executable, str(HERE / "servers" / f"{server}.py")])
    first = "{ id: one, tool: echo, args: { text: hello } }"
    lines = [f"servers: {{ bench: {{ command: {command} }} }}", "compositions:"]
    lines += ["  - name: the server is there", f"    nodes: [{first}]", "  - name: bench", "    nodes:"]
    for node in nodes:
        lines += [
            f"      {'-' if at == 0 else ' '} {key}: {json.dumps(value)}"
            for at, (key, value) in enumerate(node.items())
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def chain(length: int) -> list[dict[str, Any]]:
    """Each node sends on what the one before it was answered."""
    nodes: list[dict[str, Any]] = [{"id": "n0", "tool": "echo", "args": {"text": "hello"}}]
    for before, number in pairwise(range(length)):
        text = f"${{n{before}.content[0].text}}"
        nodes.append({"id": f"n{number}", "needs": [f"n{before}"], "tool": "echo", "args": {"text": text}})
    return nodes


def node_cost(bench: Bench) -> Iterator[Row]:
    few, many = 200, 2_200
    suites = [write_nodes(bench.directory / f"chain{count}.yml", chain(count), "echo") for count in (few, many)]
    runs: dict[int, list[Finished]] = {few: [], many: []}
    bare: dict[int, list[Finished]] = {few: [], many: []}
    for _ in range(ROUNDS):
        for count, suite in zip((few, many), suites, strict=True):
            runs[count].append(bench.mcptest("run", suite, "--reporter", "minimal"))
            bare[count].append(bench.bare(count, 1, "echo"))
    # Nothing makes a run faster than it is, so that the difference of the fastest is the least noisy.
    costs = [
        (min(one.wall_ms for one in of[many]) - min(one.wall_ms for one in of[few])) / (many - few)
        for of in (runs, bare)
    ]
    yield Row(what="a node of a chain", measured=costs[0], floor=costs[1], most=2.5, note="reading and record included")


def planning(bench: Bench) -> Iterator[Row]:
    for count, limit in ((1_000, 100), (10_000, 1_500)):
        path = write_nodes(bench.directory / f"plan{count}.yml", chain(count), "echo")
        command = [sys.executable, __file__, path]
        times = [
            float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(ROUNDS)
        ]
        note = "read, checked, planned; CPU time"
        yield Row(what=f"planning {count:,} nodes", measured=min(times), limit=limit, note=note)


def fanning_out(bench: Bench) -> Iterator[Row]:
    items = [f"hello {number}" for number in range(1_000)]
    each = {"id": "each", "needs": ["list"], "for_each": "${list}", "max_concurrency": 50, "tool": "slow"}
    listing = {"id": "list", "tool": "list", "mock": {"result": items}}
    nodes: list[dict[str, Any]] = [listing, {**each, "args": {"text": "${item}"}}]
    suite = write_nodes(bench.directory / "fan.yml", nodes, "slow")
    yield Row(
        what="1,000 elements of 50 ms, 50 at once",
        measured=_trace(bench, suite)["duration_ms"],
        limit=1_300,
        floor=len(items) / 50 * DELAY_MS,
        note="floor: 20 rounds",
    )


def diamond(bench: Bench) -> Iterator[Row]:
    args = {"text": "hello"}
    sides = [
        {"id": f"side{at}", "needs": ["top"], "tool": "slow", "args": {"text": "${top.content[0].text}"}}
        for at in range(50)
    ]
    ids = [side["id"] for side in sides]
    bottom = {"id": "bottom", "needs": ids, "tool": "slow", "args": {"text": "${side7.content[0].text}"}}
    suite = write_nodes(
        bench.directory / "diamond.yml", [{"id": "top", "tool": "slow", "args": args}, *sides, bottom], "slow"
    )
    trace = _trace(bench, suite)
    path = sum(trace["nodes"][name]["duration_ms"] for name in trace["composition"]["critical_path"])
    yield Row(
        what="a diamond of width 50",
        measured=trace["duration_ms"],
        floor=path,
        most=1.1,
        note=f"floor: its critical path, 3 calls of {DELAY_MS} ms at best",
    )


def _trace(bench: Bench, suite: str) -> dict[str, Any]:
    """The trace of a composition at its fastest, run when its server is there."""
    traces: list[dict[str, Any]] = []
    for _ in range(ROUNDS):
        told = bench.directory / "record.json"
        bench.mcptest("run", suite, "--workers", "1", "--reporter", f"json={told}")
        traces.append(json.loads(told.read_text(encoding="utf-8"))["tests"][1]["trace"])
    return min(traces, key=lambda trace: trace["duration_ms"])


def _planned(path: Path) -> float:
    from mcptest_engine.running.plan import make_plan
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadOptions, load_suite

    def once(which: Path) -> float:
        began = process_time()
        suite = load_suite(which, LoadOptions(environ={}, workspace_root=which.parent))
        make_plan(suite, RunSettings(), relative=str)
        return (process_time() - began) * 1000

    small = path.with_suffix(".small.yml")
    write_nodes(small, chain(2), "echo")
    once(small)  # what has to be imported
    return once(path)


SECTIONS = (node_cost, planning, fanning_out, diamond)

if __name__ == "__main__":
    print(_planned(Path(sys.argv[1])))
