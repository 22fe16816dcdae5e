"""A soak in small: a few rounds of one seed, every kind of round among them. `make soak` goes on for as long as one likes."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import ServerError
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import ServerSpec
from tests.soak.judging import (
    GROWTH,
    call_deviations,
    growth_deviations,
    holding_deviations,
    use_deviations,
    verdict_deviations,
)
from tests.soak.measuring import Holdings, holdings
from tests.soak.planning import HTTP, PASS, SERVER, STDIO, Calls, planned
from tests.soak.run import WARM_UP, serving, soak

if TYPE_CHECKING:
    from mcptest_engine.servers.session import Session

SEED = 4
HELD = Holdings(rss_mb=50.0, objects=9, blocks=9, descriptors=10, threads=1, tasks=1, children=frozenset({7}), files=3)


def test_a_short_soak_finds_every_verdict_right_and_nothing_left(tmp_path: Path) -> None:
    """Verdicts right, descriptors flat, processes zero."""
    seen = asyncio.run(soak(tmp_path, SEED, seconds=0, rounds=WARM_UP + 4, size=24))
    assert seen.deviations == []
    assert set(seen.rounds) == {"whole", "cut short", "command", "killed"}
    assert seen.tests["pass"] > 50
    assert seen.tests["fail"] > 20


def test_a_refused_answer_costs_no_other_call_its_connection() -> None:
    """Found by a soak: an answer was refused once its body was read, and its connection cut, which served another by then."""

    async def calls(url: str) -> list[bool]:
        session = await connect(ServerSpec(name="web", url=url, connect_timeout_seconds=60))
        try:
            async with asyncio.TaskGroup() as group:
                workers = [group.create_task(in_turn(session, number)) for number in range(16)]
            return [well for worker in workers for well in worker.result()]
        finally:
            await session.close()

    async def in_turn(session: Session, number: int) -> list[bool]:
        return [await answered(session, "empty" if (number + turn) % 2 else "none") for turn in range(40)]

    async def answered(session: Session, fault: str) -> bool:
        arguments = {"round": 0, "token": "t", "fault": fault}
        try:
            await session.request("tools/call", {"name": "do", "arguments": arguments}, timeout_seconds=60)
        except ServerError:
            return fault == "empty"
        return fault == "none"

    with serving() as url:
        assert asyncio.run(calls(url)).count(False) == 0


def test_a_plan_is_a_function_of_its_seed() -> None:
    """What a seed names can be run again."""
    first, second = (planned(0, Random(9), url="http://x", token="t", folder=Path("x"), size=50) for _ in range(2))
    assert first == second


def test_a_long_plan_asks_for_every_behaviour() -> None:
    """Nothing that is described is left out."""
    plan = planned(0, Random(1), url="http://x", token="t", folder=Path("x"), size=4000)
    asked = Counter(tuple(name.split()[::2]) for name in plan.expected if "tally" not in name)
    assert set(asked) == {("pipes", name) for name in STDIO} | {("web", name) for name in HTTP}


def test_a_verdict_that_was_not_planned_is_a_deviation() -> None:
    """The soak can fail: a pass that should be none, a test that is missing, one of another kind."""
    passed = {"name": "a", "verdict": "pass"}
    assert [*verdict_deviations([passed], {"a": PASS})] == []
    assert "planned fail (server), got pass" in next(verdict_deviations([passed], {"a": SERVER}))
    timeout = {"name": "a", "verdict": "fail", "failure": {"kind": "timeout"}, "message": "too late"}
    assert "got fail (timeout): too late" in next(verdict_deviations([timeout], {"a": SERVER}))
    assert "2 tests were planned and 1 are in the record" in next(verdict_deviations([passed], {"a": PASS, "b": PASS}))
    skipped = {"name": "a", "verdict": "skip"}
    assert [*verdict_deviations([skipped], {"a": PASS}, cut_short=True)] == []
    assert "got skip" in next(verdict_deviations([skipped], {"a": PASS}))


def test_what_is_held_beyond_the_beginning_is_a_deviation() -> None:
    """The soak can fail: a descriptor, a task, a child process, or files without end."""
    assert [*holding_deviations(HELD, HELD)] == []
    more = replace(HELD, descriptors=11, tasks=2, threads=30, children=frozenset({7, 8}), files=9_999)
    said = " · ".join(holding_deviations(HELD, more))
    for word in ("11 open descriptors", "2 asyncio tasks", "30 threads", "child processes left: 8", "9999 files"):
        assert word in said


def test_memory_that_grows_is_a_deviation_and_noise_is_none() -> None:
    """The soak can fail: the last quarter is held against the second, when all is warm."""
    assert [*growth_deviations("memory, MB", [30, 50, 52, 51] * 10)] == []
    for name in GROWTH:
        assert f"{name} grew" in next(growth_deviations(name, [float(50_000 + 50 * step**2) for step in range(40)]))


def test_memory_in_use_is_held_against_what_it_was_when_warm() -> None:
    """What the C library keeps of freed memory is no growth; what is left once it was given back is."""
    assert [*use_deviations(54.0, 53.3)] == []
    assert [*use_deviations(None, None)] == []
    assert "memory in use grew from 54.0 MB when warm to 70.0 MB" in next(use_deviations(54.0, 70.0))


def test_one_object_more_in_each_round_is_seen(tmp_path: Path) -> None:
    """The counts see what is held on to, however small; memory in MB would not."""

    async def counts() -> list[int]:
        kept: list[object] = []
        samples = []
        for _ in range(4):  # the first collects what came before
            samples.append(holdings(tmp_path).objects)
            kept += ([] for _ in range(1_000))
        return samples

    samples = asyncio.run(counts())
    assert samples[2] - samples[1] >= 1_000
    assert samples[3] - samples[2] >= 1_000


def test_a_call_that_was_lost_or_made_once_more_is_a_deviation() -> None:
    """The soak can fail: what the server has read, what the record counts and what was planned are held against each other."""

    def found(read: int, made: int, calls: Calls) -> str:
        tally = {"name": "web tally", "verdict": "pass", "output": {"result": {"content": [{"text": str(read)}]}}}
        record = {"tests": [tally], "effects": {"calls": [{"server": "web", "tool": "do", "count": made}]}}
        return " · ".join(call_deviations(record, {"web": calls}))

    assert found(10, 10, Calls(planned=10)) == ""
    assert found(14, 12, Calls(planned=10, repeats=2, again=2)) == ""
    assert found(9, 10, Calls(planned=10, unsure=1)) == ""
    assert "9 calls were read, and 10 were made" in found(9, 10, Calls(planned=10))
    assert "11 calls were read, and 10 were made" in found(11, 10, Calls(planned=10, again=5))
    assert "13 calls were made, 10 were planned and 2 more allowed" in found(13, 13, Calls(planned=10, again=2))
