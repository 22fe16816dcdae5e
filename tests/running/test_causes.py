"""Why a test failed beside others: what becomes of calls that shared a server with one that ended it, and who is blamed.

Source: capabilities A5; findings V12 and V13.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptest_engine.core.events import CaseFinished, NodeChanged, RunFinished
from mcptest_engine.core.results import Cause, FailureKind, RunRecord, Verdict
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import RenderOptions, render
from mcptest_engine.workspace.snapshots import read_snapshots

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

SCRIPT = Path(__file__).parent.parent / "servers" / "parallel.py"
STDIO = json.dumps([sys.executable, "-S", str(SCRIPT)])


@contextmanager
def http_server() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-S", str(SCRIPT), "--http"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        process.stdin.close()


@pytest.fixture(params=["stdio", "stdio, stateless", "http", "http, stateless"])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The settings of the server as a suite has them, over each transport and in each lifecycle."""
    way = str(request.param)
    protocol = ', protocol: "2026-07-28"' if "stateless" in way else ""
    if way.startswith("stdio"):
        yield f"command: {STDIO}{protocol}"
        return
    with http_server() as url:
        yield f"url: {url}{protocol}"


def row(name: str, tool: str, *, who: str = "", **more: Any) -> str:
    expect = [{"target": "result.content[0].text", "matcher": {"exact": who}}]
    return f"  - {json.dumps({'name': name, 'tool': tool, 'args': {'who': who}, 'expect': expect, **more})}\n"


def suite(*rows: str, server: str = f"command: {STDIO}", timeout_ms: int = 20_000, top: str = "") -> str:
    return f"{top}servers: {{ s: {{ {server}, timeout_ms: {timeout_ms} }} }}\ntools:\n{''.join(rows)}"


def verdicts(record: RunRecord) -> dict[str, str]:
    return {test.name: test.verdict.value for test in record.tests}


def red(record: RunRecord) -> list[str]:
    return [test.name for test in record.tests if test.verdict is Verdict.FAIL]


def test_a_server_that_mixes_up_parallel_answers_fails_with_the_pair(
    record_of: Callable[..., RunRecord], server: str
) -> None:
    rows = [row("ann", "mix", who="ann"), row("quiet", "look"), row("bob", "mix", who="bob")]
    record = record_of(suite(*rows, server=server))
    (wrong,) = (test for test in record.tests if test.verdict is Verdict.FAIL)
    other = {"ann": "bob", "bob": "ann"}[wrong.name]
    assert wrong.failure is not None
    assert wrong.failure.kind is FailureKind.ASSERTION
    assert wrong.failure.cause is not None
    assert (wrong.failure.cause.kind, wrong.failure.cause.beside) == ("interference", other)
    assert wrong.failure.hint == f'passes alone; fails beside "{other}": the server mixes up parallel calls'
    assert record.exit_code == 1
    assert record_fault(record.to_json()) is None
    assert RunRecord.from_json(record.to_json()) == record


def test_a_server_that_takes_longer_beside_other_calls_is_told_from_one_that_is_slow(
    record_of: Callable[..., RunRecord],
) -> None:
    limit = {"max_duration_ms": 1000}
    rows = [row("one", "tire", expect=limit), row("two", "tire", expect=limit), row("fast", "look", expect=limit)]
    record = record_of(suite(*rows))
    assert red(record) == ["one", "two"]
    for test, other in zip(record.tests, ("two", "one"), strict=False):
        assert test.failure is not None
        assert test.failure.kind is FailureKind.BUDGET
        assert test.failure.cause is not None
        assert test.failure.cause.beside == other
        assert test.failure.hint is not None
        assert test.failure.hint.endswith("delays parallel calls; where its times matter, give it `serial: true`")


def test_a_test_that_fails_alone_as_well_is_told_as_ever(record_of: Callable[..., RunRecord]) -> None:
    wrong = {"expect": [{"target": "result.content[0].text", "matcher": {"exact": "no"}}]}
    record = record_of(suite(row("wrong", "linger", **wrong), row("other", "linger")))
    assert verdicts(record) == {"wrong": "fail", "other": "pass"}
    failure = record.tests[0].failure
    assert failure is not None
    assert (failure.hint, failure.cause) == (None, None)
    assert record.warnings == ()


def test_what_runs_alone_is_not_tried_again(record_of: Callable[..., RunRecord]) -> None:
    wrong = {"expect": [{"target": "result.content[0].text", "matcher": {"exact": "no"}}]}
    record = record_of(suite(row("a", "look", **wrong), row("b", "look", **wrong)), workers=1)
    assert record.effects is not None
    assert [effect.count for effect in record.effects.calls] == [2]


def test_a_call_that_is_made_again_counts_among_the_effects(record_of: Callable[..., RunRecord]) -> None:
    wrong = {"expect": [{"target": "result.content[0].text", "matcher": {"exact": "no"}}]}
    record = record_of(suite(row("a", "linger", **wrong), row("b", "linger")))
    assert record.effects is not None
    assert [effect.count for effect in record.effects.calls] == [3]


def test_a_tool_that_changes_state_is_not_called_again_and_the_failure_says_so(
    record_of: Callable[..., RunRecord],
) -> None:
    rows = [row(who, "store", who=who, serial=False) for who in ("ann", "bob")]
    record = record_of(suite(*rows))
    (wrong,) = (test for test in record.tests if test.verdict is Verdict.FAIL)
    assert wrong.failure is not None
    assert wrong.failure.hint == "not tried again alone: `store` changes state"
    assert wrong.failure.cause is None
    assert record.effects is not None
    assert [effect.count for effect in record.effects.calls] == [2]


def test_a_suite_that_has_it_called_again_may_have_it_tried_alone(record_of: Callable[..., RunRecord]) -> None:
    """Both are tried again at once by `retries` and fail again; interference is looked for afterwards."""
    rows = [row(who, "store", who=who, serial=False, retries=1) for who in ("ann", "bob", "cid")]
    record = record_of(suite(*rows))
    for test in record.tests:
        if test.verdict is Verdict.FAIL:
            assert test.failure is not None
            assert test.failure.cause is not None
            assert len(test.attempts) == 2
    assert any(test.verdict is Verdict.FAIL or test.flaky for test in record.tests)


def test_one_crash_is_one_failure(record_of: Callable[..., RunRecord], server: str) -> None:
    rows = [row(name, "linger") for name in "abcd"]
    rows.insert(2, row("crasher", "die"))
    record = record_of(suite(*rows, server=server))
    assert red(record) == ["crasher"]
    assert record.totals.passed == 4
    failure = record.tests[2].failure
    assert failure is not None
    assert failure.kind is FailureKind.SERVER
    assert failure.cause is None
    assert (record.servers[0].restarts > 0) == server.startswith("command")


def test_tests_that_each_end_the_server_alone_all_fail(record_of: Callable[..., RunRecord], server: str) -> None:
    rows = [row("one", "die"), *(row(name, "linger") for name in "abcdef"), row("two", "die")]
    assert red(record_of(suite(*rows, server=server))) == ["one", "two"]


def test_a_crash_that_needs_two_calls_is_one_failure_with_the_pair(record_of: Callable[..., RunRecord]) -> None:
    rows = [row("one", "die_beside"), *(row(name, "look") for name in "ab"), row("two", "die_beside")]
    record = record_of(suite(*rows))
    (wrong,) = (test for test in record.tests if test.verdict is Verdict.FAIL)
    assert wrong.name == "one"
    assert wrong.failure is not None
    assert wrong.failure.kind is FailureKind.SERVER
    assert wrong.failure.cause == Cause(kind="interference", beside="two", reruns=2)
    assert wrong.failure.hint is not None
    assert wrong.failure.hint.startswith('passes alone; fails beside "two": the server does not stand parallel calls')


@pytest.mark.parametrize("workers", [1, 5])
def test_one_hang_is_one_failure_and_the_rest_goes_on_with_a_fresh_server(
    record_of: Callable[..., RunRecord], workers: int
) -> None:
    rows = [row("stuck", "freeze"), *(row(f"t{number}", "look") for number in range(12))]
    record = record_of(suite(*rows, timeout_ms=500), workers=workers)
    assert red(record) == ["stuck"]
    assert record.totals.passed == 12
    failure = record.tests[0].failure
    assert failure is not None
    assert failure.kind is FailureKind.TIMEOUT
    assert record.servers[0].restarts > 0


def test_a_call_that_comes_after_the_one_that_stopped_the_server_is_not_blamed(
    record_of: Callable[..., RunRecord],
) -> None:
    """One worker waits for `later` while the other one's call has timed out, and begins another over the same session."""
    rows = [
        row("stuck", "freeze"),
        row("later", "look", timeout_ms=1500),
        *(row(f"t{number}", "look") for number in range(5)),
    ]
    assert red(record_of(suite(*rows, timeout_ms=500), workers=2)) == ["stuck"]


def test_a_call_that_is_never_answered_ends_no_server_that_answers_others(
    record_of: Callable[..., RunRecord], server: str
) -> None:
    rows = [row("stuck", "dawdle"), *(row(f"t{number}", "look") for number in range(3))]
    record = record_of(suite(*rows, server=server, timeout_ms=500), workers=1)
    assert red(record) == ["stuck"]
    assert record.servers[0].restarts == 0


def test_a_server_that_hangs_and_must_not_be_started_again_is_asked_no_more(
    record_of: Callable[..., RunRecord],
) -> None:
    rows = [row("stuck", "freeze"), *(row(f"t{number}", "look") for number in range(3))]
    top = "run_options: { restart: false }\n"
    record = record_of(suite(*rows, timeout_ms=300, top=top), workers=1)
    assert [(test.verdict.value, test.message) for test in record.tests[1:]] == [
        ("skip", 'not run: server "s" hung')
    ] * 3
    assert red(record) == ["stuck"]


def test_a_server_that_dies_in_every_call_is_given_up(record_of: Callable[..., RunRecord]) -> None:
    record = record_of(suite(*(row(f"t{number}", "die") for number in range(30))))
    assert record.totals.failed == 30
    assert record.servers[0].restarts <= 8


def test_a_test_that_ends_the_server_at_each_retry_costs_no_other_test(record_of: Callable[..., RunRecord]) -> None:
    rows = [row("crasher", "die", retries=5), *(row(name, "look") for name in "abc")]
    assert red(record_of(suite(*rows), workers=1)) == ["crasher"]


def test_a_bail_counts_what_failed_alone_and_not_what_stood_beside(record_of: Callable[..., RunRecord]) -> None:
    rows = [row("crasher", "die"), *(row(f"t{number}", "linger") for number in range(7))]
    record = record_of(suite(*rows), bail=2)
    assert red(record) == ["crasher"]
    assert record.totals.passed == 7


def test_a_run_that_is_interrupted_while_it_looks_for_causes_tells_every_failure(
    run_of: Callable[..., Coroutine[None, None, RunRecord]],
) -> None:
    async def work() -> list[Any]:
        events: list[Any] = []
        stuck = asyncio.Event()
        seen = 0

        def emit(event: Any) -> None:
            nonlocal seen
            events.append(event)
            if isinstance(event, NodeChanged) and event.status == "running":
                seen += 1
                if seen == 2:  # tried again
                    stuck.set()

        composition = "compositions:\n  - name: c\n    nodes: [{ id: n, server: s, tool: dawdle, timeout_ms: 500 }]\n"
        run = asyncio.ensure_future(run_of(suite(row("ok", "dawdle"), timeout_ms=400) + composition, emit=emit))
        await stuck.wait()
        run.cancel()
        await asyncio.wait([run])
        return events

    events = asyncio.run(work())
    assert isinstance(events[-1], RunFinished)
    assert verdicts(events[-1].record) == {"ok": "fail", "c": "fail"}
    assert events[-1].record.interrupted


def test_every_report_tells_of_interference(record_of: Callable[..., RunRecord]) -> None:
    record = record_of(suite(*(row(who, "mix", who=who) for who in ("ann", "bob"))))
    for name in ("pretty", "minimal", "json", "ndjson", "junit", "tap", "md", "matrix", "html", "github"):
        rendered = render(name, record, RenderOptions())
        assert "passes alone; fails beside" in rendered.stdout + rendered.stderr, name
    for name in ("sarif", "gitlab", "openinference", "agent"):
        rendered = render(name, record, RenderOptions())
        assert "passes alone; fails beside" in rendered.stdout + rendered.stderr, name


TOOLS = st.lists(st.sampled_from(["look", "linger"]), min_size=1, max_size=12)
LESS = partial(settings, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def only_the_culprit_is_red(
    record_of: Callable[..., RunRecord], culprit: str, tools: list[str], at: int, workers: int, timeout_ms: int
) -> None:
    rows = [row(f"t{number}", name) for number, name in enumerate(tools)]
    rows.insert(at % (len(rows) + 1), row("culprit", culprit))
    record = record_of(suite(*rows, timeout_ms=timeout_ms), workers=workers)
    assert red(record) == ["culprit"], [test.failure for test in record.tests if test.failure is not None]
    assert record.totals.passed == len(tools)


@LESS(max_examples=15)
@given(tools=TOOLS, at=st.integers(0, 12), workers=st.integers(1, 8))
def test_exactly_the_test_that_ends_the_server_is_red(
    record_of: Callable[..., RunRecord], tools: list[str], at: int, workers: int
) -> None:
    only_the_culprit_is_red(record_of, "die", tools, at, workers, 20_000)


@LESS(max_examples=5)
@given(tools=TOOLS, at=st.integers(0, 12), workers=st.integers(1, 8))
def test_exactly_the_test_that_stops_the_server_is_red(
    record_of: Callable[..., RunRecord], tools: list[str], at: int, workers: int
) -> None:
    only_the_culprit_is_red(record_of, "freeze", tools, at, workers, 2_000)


def test_a_case_ends_once_whatever_is_tried_again(record_of: Callable[..., RunRecord]) -> None:
    events: list[Any] = []
    record_of(suite(row("crasher", "die"), *(row(name, "linger") for name in "abc")), emit=events.append)
    ended = [event.index for event in events if isinstance(event, CaseFinished)]
    assert sorted(ended) == [0, 1, 2, 3]


@pytest.mark.parametrize("settings", [{"update_snapshots": True}, {"interactive": True}])
def test_a_snapshot_is_taken_while_no_other_call_is_under_way(
    record_of: Callable[..., RunRecord], tmp_path: Path, settings: dict[str, Any]
) -> None:
    """Nothing would show that the value was another test's: a test that takes a snapshot passes."""
    expect = [{"target": "result.content[0].text", "matcher": {"snapshot": True}}]
    rows = "".join(row(name, "mix", who=name, expect=expect) for name in ("ann", "bob"))
    record = record_of(f"servers: {{ s: {{ command: {STDIO} }} }}\ntools:\n{rows}", **settings)
    assert record.totals.passed == 2
    (taken,) = (tmp_path / ".mcptest" / "snapshots").iterdir()
    assert read_snapshots(taken) == {f"{name} / result.content[0].text": name for name in ("ann", "bob")}
