"""What a soak saw, held against what it should have seen: verdicts after each round, holdings over all of them."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.soak.measuring import Holdings
    from tests.soak.planning import Calls, Expected

KEEP_RUNS = 20
# Threads of the loop's own pool come as they are needed and stay; it has at most this many on a small machine.
POOL_THREADS = 8
RUN_FILES = KEEP_RUNS * 40
FEWEST_SAMPLES = 12
GROWTH = {"memory, MB": (1.10, 5.0), "objects": (1.01, 200), "blocks": (1.02, 0)}
"""By how much each may grow once all is warm: a factor, and so much besides."""
GROWTH_IN_USE = (1.05, 2.0)


def verdict_deviations(
    tests: Sequence[Mapping[str, Any]], expected: Mapping[str, Expected], *, cut_short: bool = False
) -> Iterator[str]:
    """Every test of a record (as JSON) that did not come to what was planned; skips are fine where a run was `cut_short`."""
    seen = {test["name"]: test for test in tests}
    if list(seen) != list(expected):
        yield f"{len(expected)} tests were planned and {len(seen)} are in the record, or in another order"
    for name, plan in expected.items():
        test = seen.get(name)
        if test is None or (cut_short and test["verdict"] == "skip"):
            continue
        failure = test.get("failure") or {}
        got = (test["verdict"], failure.get("kind"), bool(test.get("flaky")))
        if got != (plan.verdict, plan.kind, plan.flaky):
            yield f'test "{name}": planned {_told(plan.verdict, plan.kind, plan.flaky)}, got {_told(*got)}: {_why(test)}'


def call_deviations(record: Mapping[str, Any], calls: Mapping[str, Calls]) -> Iterator[str]:
    """Every server that has not read as many calls as the record says were made; both are beside each other in its tally."""
    made = {row["server"]: row["count"] for row in record["effects"]["calls"] if row["tool"] == "do"}
    for server, plan in calls.items():
        tally = next(test for test in record["tests"] if test["name"] == f"{server} tally")
        if tally["verdict"] != "pass":
            continue  # nobody was there to tell, as was planned, or it is a deviation already
        sent = made[server] + plan.repeats
        read = int(tally["output"]["result"]["content"][0]["text"])
        if not sent - plan.unsure <= read <= sent:
            yield f"{server}: {read} calls were read, and {sent} were made by the record"
        if not plan.planned <= made[server] <= plan.planned + plan.again:
            yield f"{server}: {made[server]} calls were made, {plan.planned} were planned and {plan.again} more allowed"


def holding_deviations(first: Holdings, now: Holdings) -> Iterator[str]:
    """What is held now and was not at first, when the engine had started what it keeps (its guardian, its jq worker)."""
    if now.descriptors != first.descriptors:
        yield f"{now.descriptors} open descriptors, {first.descriptors} at first"
    if now.tasks != first.tasks:
        yield f"{now.tasks} asyncio tasks, {first.tasks} at first"
    if now.threads > first.threads + POOL_THREADS:
        yield f"{now.threads} threads, {first.threads} at first"
    extra = now.children - first.children
    if len(now.children) > len(first.children):
        yield f"child processes left: {', '.join(map(str, sorted(extra)))}"
    if now.files > RUN_FILES:
        yield f"{now.files} files in .mcptest, of at most {KEEP_RUNS} runs"


def growth_deviations(name: str, samples: Sequence[float]) -> Iterator[str]:
    """Each must be flat once warm: the last quarter of the samples against the second. `name` is a key of `GROWTH`."""
    if len(samples) < FEWEST_SAMPLES:
        return
    factor, besides = GROWTH[name]
    second, last = quarter(samples, 1), quarter(samples, 3)
    if last > second * factor + besides:
        yield f"{name} grew from {second:.1f} (second quarter) to {last:.1f} (last quarter)"


def use_deviations(warm: float | None, last: float | None) -> Iterator[str]:
    """Memory in use, in MB, must be the same at the end as when all was warm."""
    factor, besides = GROWTH_IN_USE
    if warm is not None and last is not None and last > warm * factor + besides:
        yield f"memory in use grew from {warm:.1f} MB when warm to {last:.1f} MB at the end"


def quarter(samples: Sequence[float], number: int) -> float:
    """The median of one quarter, counted from 0."""
    size = len(samples) // 4
    return statistics.median(samples[number * size : (number + 1) * size])


def _told(verdict: str, kind: str | None, flaky: bool) -> str:
    return " ".join(word for word in (verdict, kind and f"({kind})", "flaky" if flaky else "") if word)


def _why(test: Mapping[str, Any]) -> str:
    return str(test.get("message") or "it says no more")[:300]
