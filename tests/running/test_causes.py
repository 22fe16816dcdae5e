"""Why a test failed beside others: what becomes of calls that shared a server with one that ended it, and who is blamed."""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptest_engine.core.events import CaseAnswered, CaseExplained, CaseFinished, CaseStarted, NodeChanged, RunFinished
from mcptest_engine.core.results import Cause, FailureKind, Verdict
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import RenderOptions, render
from mcptest_engine.running import causes
from mcptest_engine.running.runner import Overlaps
from mcptest_engine.workspace.snapshots import read_snapshots
from tests.conftest import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

STDIO = json.dumps([sys.executable, "-S", str(SERVERS / "parallel.py")])


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """To run tests again: what a busy machine takes is no reason to stop."""
    monkeypatch.setattr(causes, "LEAST_SECONDS", 600.0)


def test_a_test_ran_beside_those_that_were_under_way_or_ended_since_its_begin() -> None:
    overlaps = Overlaps()
    overlaps.begin(0)
    overlaps.end(0)  # before the others
    first = overlaps.begin(1)
    overlaps.begin(2)
    overlaps.end(2)
    overlaps.begin(3)
    overlaps.end(1)
    assert overlaps.beside(1, first) == [2, 3]


@pytest.fixture
def server(parallel_server: str) -> str:
    """The settings of the server as a suite has them, over each transport and in each lifecycle."""
    return parallel_server


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
    assert wrong.failure.hint == f'passes alone; fails beside "{other}": the server mixes up concurrent calls'
    assert record.exit_code == 1
    assert record_fault(record.to_json()) is None
    assert RunRecord.from_json(record.to_json()) == record


@pytest.mark.parametrize(
    ("limit", "failed_as"),
    [
        ({"max_duration_ms": 2000}, FailureKind.BUDGET),
        ([{"target": "duration_ms", "matcher": {"lt": 2000}}], FailureKind.ASSERTION),
    ],
    ids=["budget", "assertion"],
)
def test_a_server_that_takes_longer_beside_other_calls_is_told_from_one_that_is_slow(
    record_of: Callable[..., RunRecord], limit: Any, failed_as: FailureKind
) -> None:
    rows = [row("one", "tire", expect=limit), row("two", "tire", expect=limit), row("fast", "look", expect=limit)]
    record = record_of(suite(*rows))
    assert red(record) == ["one", "two"]
    for test, other in zip(record.tests, ("two", "one"), strict=False):
        assert test.failure is not None
        assert test.failure.kind is failed_as
        assert test.failure.cause is not None
        assert test.failure.cause.beside == other
        assert test.failure.hint is not None
        assert test.failure.hint.endswith("delays concurrent calls; if durations matter, set `serial: true` on it")


FLAKY = """
import sys
sys.path.insert(0, FOLDER)
import minimcp
calls = 0

def handle(method, params, message):
    global calls
    calls += 1
    return {**minimcp.text("x"), "isError": calls in FAILING}

minimcp.serve(handle)
"""


@pytest.mark.parametrize(
    ("failing", "hint", "cause"),
    [
        ({1, 4, 6}, "sometimes passes and sometimes fails, even alone: the server or the test is flaky", None),
        ({1, 4}, "passes alone; failed while another test was running, and in ", "interference"),
    ],
    ids=["also alone", "once"],
)
def test_a_server_that_fails_now_and_then_is_not_said_to_mix_up_calls_of_a_pair(
    record_of: Callable[..., RunRecord], tmp_path: Path, failing: set[int], hint: str, cause: str | None
) -> None:
    """A pair that fails once shows nothing: the test has to pass alone again, and the pair to fail again."""
    script = tmp_path / "flaky.py"
    script.write_text(FLAKY.replace("FOLDER", repr(str(SERVERS))).replace("FAILING", repr(failing)))
    rows = [row(name, "look", who="x") for name in "ab"]
    record = record_of(suite(*rows, server=f"command: {json.dumps([sys.executable, '-S', str(script)])}"), workers=2)
    (wrong,) = (test for test in record.tests if test.verdict is Verdict.FAIL)
    assert wrong.failure is not None
    assert (wrong.failure.hint or "").startswith(hint)
    assert (wrong.failure.cause and wrong.failure.cause.kind) == cause
    assert "mixes up" not in (wrong.failure.hint or "") or cause is not None


def test_what_a_lost_call_comes_to_alone_is_what_its_test_comes_to(record_of: Callable[..., RunRecord]) -> None:
    """Also where that is no pass: here a guess that is open, and an assertion that fails."""
    rows = [
        row("guessed", "linger", guess=["who"], outcome="error"),
        row("wrong", "linger", who="ann", expect=[{"target": "result.content[0].text", "matcher": {"exact": "bob"}}]),
        row("crasher", "die"),
    ]
    record = record_of(suite(*rows))
    kinds = {test.name: test.failure and test.failure.kind for test in record.tests}
    assert kinds == {
        "guessed": FailureKind.ASSERTION,
        "wrong": FailureKind.ASSERTION,
        "crasher": FailureKind.SERVER,
    }


def test_a_call_that_was_lost_to_the_fault_of_another_test_fails_nothing(record_of: Callable[..., RunRecord]) -> None:
    cut = row("cut", "linger", fault="disconnect", retries=1, serial=False)
    record = record_of(suite(row("a", "linger"), cut, row("b", "linger")))
    assert verdicts(record) == {"a": "pass", "cut": "pass", "b": "pass"}


def test_every_report_says_that_a_test_fails_alone_too(record_of: Callable[..., RunRecord]) -> None:
    wrong: dict[str, Any] = {"expect": [{"target": "result.content[0].text", "matcher": {"exact": "no"}}]}
    record = record_of(suite(row("wrong", "linger", **wrong), row("other", "linger")))
    assert verdicts(record) == {"wrong": "fail", "other": "pass"}
    failure = record.tests[0].failure
    assert failure is not None
    assert (failure.hint, failure.cause) == (None, Cause(kind="fails_alone", beside=None, reruns=1))
    assert failure.distrust is None
    assert record.warnings == ()
    assert record_fault(record.to_json()) is None
    for name in REPORTS:
        rendered = render(name, record, RenderOptions())
        told = "fails_alone" if name in ("json", "ndjson") else "run again alone: fails too"
        assert told in rendered.stdout + rendered.stderr, name


def test_what_runs_alone_is_not_tried_again(record_of: Callable[..., RunRecord]) -> None:
    wrong: dict[str, Any] = {"expect": [{"target": "result.content[0].text", "matcher": {"exact": "no"}}]}
    record = record_of(suite(row("a", "look", **wrong), row("b", "look", **wrong)), workers=1)
    assert record.effects is not None
    assert [effect.count for effect in record.effects.calls] == [2]


def test_what_no_time_is_left_for_is_not_run_again_and_says_so(
    record_of: Callable[..., RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causes, "_seconds", lambda _: 1_000)  # it took long
    wrong: dict[str, Any] = {"expect": [{"target": "result.content[0].text", "matcher": {"exact": "no"}}]}
    record = record_of(suite(row("a", "linger", **wrong), row("b", "linger")))
    failure = record.tests[0].failure
    assert failure is not None
    assert failure.cause == Cause(kind="not_tried", beside=None, reruns=0)
    assert (failure.hint or "").startswith("not run again alone: the time for repeats (600 s) is used up")


def test_a_call_that_is_made_again_counts_among_the_effects(record_of: Callable[..., RunRecord]) -> None:
    wrong: dict[str, Any] = {"expect": [{"target": "result.content[0].text", "matcher": {"exact": "no"}}]}
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
    assert wrong.failure.hint == "not run again alone: `store` may change state"
    assert wrong.failure.cause == Cause(kind="not_tried", beside=None, reruns=0)
    assert "was not run again alone" in (wrong.failure.distrust or "")
    assert record_fault(record.to_json()) is None
    for name in REPORTS:
        rendered = render(name, record, RenderOptions())
        assert "not run again alone" in rendered.stdout + rendered.stderr, name
    assert record.effects is not None
    assert [effect.count for effect in record.effects.calls] == [2]


def test_retries_make_no_tool_that_changes_state_one_that_is_tried_alone(record_of: Callable[..., RunRecord]) -> None:
    """They say how often the suite wants it called at the most."""
    rows = [row(who, "store", who=who, serial=False, retries=1) for who in ("ann", "bob", "cid")]
    record = record_of(suite(*rows))
    for test in record.tests:
        if test.verdict is Verdict.FAIL:
            assert test.failure is not None
            assert test.failure.cause == Cause(kind="not_tried", beside=None, reruns=0)
            assert len(test.attempts) == 2
    assert record.effects is not None
    assert sum(effect.count for effect in record.effects.calls) <= 6


def test_more_calls_may_hang_than_are_tried_without_limit_where_there_is_time(
    record_of: Callable[..., RunRecord],
) -> None:
    """The one that was in their way is green."""
    rows = [
        *(row(f"stuck {number}", "dawdle", timeout_ms=500) for number in range(4)),
        row("freezes", "freeze", timeout_ms=500),
        row("ok", "linger", timeout_ms=2000),
    ]
    record = record_of(suite(*rows), workers=8)
    assert verdicts(record)["ok"] == "pass"
    assert len(red(record)) == 5
    (told,) = (text for text in record.warnings if "its server stopped answering" in text)
    assert told.startswith("freezes: ")


def test_one_crash_is_one_failure(record_of: Callable[..., RunRecord], server: str) -> None:
    rows = [row(name, "linger") for name in "abcd"]
    rows.insert(2, row("crasher", "die"))
    record = record_of(suite(*rows, server=server))
    assert red(record) == ["crasher"]
    assert record.totals.passed == 4
    failure = record.tests[2].failure
    assert failure is not None
    assert failure.kind is FailureKind.SERVER
    assert failure.cause == Cause(kind="fails_alone", beside=None, reruns=1)
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
    assert wrong.failure.cause is not None
    assert (wrong.failure.cause.kind, wrong.failure.cause.beside) == ("interference", "two")
    assert wrong.failure.cause.reruns >= 4
    assert wrong.failure.hint is not None
    assert wrong.failure.hint.startswith('passes alone; fails beside "two": the server fails on concurrent calls')


@pytest.mark.parametrize("workers", [1, 5])
def test_one_hang_is_one_failure_and_the_rest_goes_on_with_a_fresh_server(
    record_of: Callable[..., RunRecord], workers: int
) -> None:
    rows = [row("stuck", "freeze", timeout_ms=500), *(row(f"t{number}", "look") for number in range(12))]
    record = record_of(suite(*rows, timeout_ms=2000), workers=workers)
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
        row("stuck", "freeze", timeout_ms=500),
        row("later", "look", timeout_ms=3000),
        *(row(f"t{number}", "look") for number in range(5)),
    ]
    assert red(record_of(suite(*rows, timeout_ms=2000), workers=2)) == ["stuck"]


def test_a_call_that_is_never_answered_ends_no_server_that_answers_others(
    record_of: Callable[..., RunRecord], server: str
) -> None:
    rows = [row("stuck", "dawdle", timeout_ms=300), *(row(f"t{number}", "look") for number in range(3))]
    record = record_of(suite(*rows, server=server), workers=1)
    assert red(record) == ["stuck"]
    assert record.servers[0].restarts == 0


def test_a_server_that_hangs_and_must_not_be_started_again_is_asked_no_more(
    record_of: Callable[..., RunRecord],
) -> None:
    rows = [
        row("stuck", "freeze"),
        *(row(f"t{number}", "look") for number in range(2)),
        row("t2", "look", fault="drop_response", retries=1),
    ]
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
    for name in REPORTS:
        rendered = render(name, record, RenderOptions())
        assert "passes alone; fails beside" in rendered.stdout + rendered.stderr, name


REPORTS = (
    *("pretty", "minimal", "json", "ndjson", "junit", "tap", "md", "matrix", "html", "github"),
    *("sarif", "gitlab", "openinference", "agent"),
)
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


def test_a_failure_is_told_while_others_go_on_and_its_cause_when_it_is_known(
    record_of: Callable[..., RunRecord],
) -> None:
    """A test is begun after the failures were told; nothing turns green that was told as red."""
    events: list[Any] = []
    rows = [row(who, "mix", who=who) for who in ("ann", "bob")]
    more = (row(f"t{number}", "linger") for number in range(9))
    record = record_of(suite(*rows, *more), workers=2, emit=events.append)
    (wrong,) = red(record)
    at = next(
        place for place, event in enumerate(events) if isinstance(event, CaseFinished) and event.result.name == wrong
    )
    assert events[at].result.verdict is Verdict.FAIL
    assert events[at].result.failure.cause is None
    assert any(isinstance(event, CaseStarted) for event in events[at:])
    (explained,) = (event for event in events[at:] if isinstance(event, CaseExplained))
    assert explained.result.name == wrong
    failure = explained.result.failure
    assert failure is not None
    assert failure.cause is not None
    assert failure.cause.kind == "interference"
    assert explained.result == next(test for test in record.tests if test.name == wrong)


def test_what_a_crash_comes_to_is_told_before_the_next_tests_are_begun(record_of: Callable[..., RunRecord]) -> None:
    """Those whose calls it cut off are tried again at once, not when all others have ended."""
    events: list[Any] = []
    rows = [row("crasher", "die"), *(row(f"t{number}", "linger") for number in range(20))]
    record = record_of(suite(*rows), workers=4, emit=events.append)
    assert red(record) == ["crasher"]
    finished = next(
        place
        for place, event in enumerate(events)
        if isinstance(event, CaseFinished) and event.result.name == "crasher"
    )
    begun = {event.index for event in events[:finished] if isinstance(event, CaseStarted)}
    assert begun <= set(range(4))
    assert not any(isinstance(event, CaseExplained) for event in events)


def test_calls_that_are_never_answered_end_no_server_that_answers_others_beside_them(
    record_of: Callable[..., RunRecord], server: str
) -> None:
    """Nothing was answered after them, and a ping is: found by a soak, where the server was given up."""
    stuck = (row(f"stuck {number}", "dawdle", timeout_ms=300) for number in range(4))
    record = record_of(suite(*(row(f"t{number}", "look") for number in range(3)), *stuck, server=server), workers=8)
    assert red(record) == [f"stuck {number}" for number in range(4)]
    assert record.servers[0].restarts == 0


def test_a_server_that_was_given_up_alone_is_not_started_again_for_tests_that_run_beside_each_other(
    record_of: Callable[..., RunRecord],
) -> None:
    rows = [
        *(row(f"crasher {number}", "die", serial=True) for number in range(3)),
        *(row(name, "look") for name in "abcd"),
    ]
    record = record_of(suite(*rows))
    assert record.totals.failed == 7
    assert record.servers[0].restarts == 2


LISTS_BEFORE_IT_ENDS = """
import json, pathlib, sys
sessions = pathlib.Path(sys.argv[1])
number = len(sessions.read_text()) if sessions.exists() else 0
sessions.write_text("x" * (number + 1))
seen = set()
for line in sys.stdin:
    said = json.loads(line)
    result = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}, "protocolVersion": "2025-11-25"}
    if said.get("method") == "tools/list":
        result = {"tools": [{"name": "die", "inputSchema": {"type": "object"}}]}
    seen.add(said.get("method"))
    if said.get("method") in ("initialize", "tools/list"):
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": result}), flush=True)
    if "tools/call" in seen and (number != 1 or "tools/list" in seen):
        sys.exit(3)
"""


def test_a_list_that_no_test_asked_for_is_no_sign_that_a_server_is_of_use(
    record_of: Callable[..., RunRecord], tmp_path: Path
) -> None:
    """It dies in each call; in the second session it answers our list first. It is given up as if it had not."""
    script = tmp_path / "ends.py"
    script.write_text(LISTS_BEFORE_IT_ENDS)
    command = json.dumps([sys.executable, "-S", str(script), str(tmp_path / "sessions")])
    rows = [row(f"crasher {number}", "die", serial=True) for number in range(6)]
    record = record_of(suite(*rows, server=f"command: {command}"))
    assert (record.totals.failed, record.servers[0].restarts) == (6, 2)


def test_a_server_that_ends_in_every_call_is_given_up_by_two_workers_too(record_of: Callable[..., RunRecord]) -> None:
    record = record_of(suite(*(row(f"t{number}", "die") for number in range(20))), workers=2)
    assert record.totals.failed == 20
    assert record.servers[0].restarts <= 8


@pytest.mark.parametrize("ends", ["die", "freeze"])
def test_beside_eight_calls_the_culprit_alone_fails_and_whatever_else_is_red_says_why_it_was_not_tried(
    record_of: Callable[..., RunRecord], server: str, ends: str
) -> None:
    """Over HTTP nobody starts the server anew, so that one which hangs can be asked no more."""
    is_gone = ends == "freeze" and server.startswith("url")
    rows = [
        row("culprit", ends, timeout_ms=500 if ends == "freeze" else 3000),
        *(row(name, "linger") for name in "abcd"),
        *(row(name, "slow_call") for name in "ef"),
    ]
    opening = f"{server}, connect_timeout_ms: {2000 if is_gone else 15_000}"
    record = record_of(suite(*rows, server=opening, timeout_ms=3000), workers=8)
    for test in record.tests:
        if test.verdict is not Verdict.FAIL:
            continue
        assert test.failure is not None
        if test.name == "culprit" and not is_gone:
            assert test.failure.cause == Cause(kind="fails_alone", beside=None, reruns=1)
            continue
        assert is_gone or test.tool == "slow_call", test.name
        assert test.failure.cause == Cause(kind="not_tried", beside=None, reruns=0)
        assert test.failure.hint is not None
        assert test.failure.hint.startswith("not run again alone: ")
    assert "culprit" in red(record)
    assert all(test.verdict in (Verdict.PASS, Verdict.FAIL) for test in record.tests)


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


def test_no_change_of_a_snapshot_waits_of_a_test_that_was_not_run_again_alone(
    record_of: Callable[..., RunRecord], tmp_path: Path
) -> None:
    expect = [{"target": "result.content[0].text", "matcher": {"snapshot": True}}]
    rows = "".join(row(name, "store", who=name, expect=expect, serial=False) for name in ("ann", "bob"))
    text = f"servers: {{ s: {{ command: {STDIO} }} }}\ntools:\n{rows}"
    record_of(text, update_snapshots=True)
    record = record_of(text)
    (wrong,) = red(record)
    assert [
        test.failure and test.failure.cause and test.failure.cause.kind for test in record.tests if test.name == wrong
    ]
    assert not [warning for warning in record.warnings if "mcptest review" in warning]
    assert [path.name for path in (tmp_path / ".mcptest" / "snapshots").iterdir()] == ["mcptest.yml"]


IN_TURN = """
import sys, time
sys.path.insert(0, FOLDER)
import minimcp

def handle(method, params, message):
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("quick", "hang")]}
    if params["name"] == "hang":
        time.sleep(60)
    return minimcp.text("x")

minimcp.serve(handle, lists=True)
"""


def test_which_calls_were_answered_is_told_while_the_list_waits_behind_a_call_that_hangs(
    record_of: Callable[..., RunRecord], tmp_path: Path
) -> None:
    """A server that answers in turn: the verdict of an answered call waits for the list of tools."""
    script = tmp_path / "in_turn.py"
    script.write_text(IN_TURN.replace("FOLDER", repr(str(SERVERS))), encoding="utf-8")
    command = json.dumps([sys.executable, "-S", str(script)])
    events: list[Any] = []
    rows = [row("quick", "quick", who="x"), row("hangs", "hang", who="x", timeout_ms=1_000)]
    record = record_of(suite(*rows, server=f"command: {command}", timeout_ms=2_000), workers=2, emit=events.append)
    assert verdicts(record) == {"quick": "pass", "hangs": "fail"}
    answered = [(event.id, event.is_held) for event in events if isinstance(event, CaseAnswered)]
    assert answered == [(record.tests[0].id, False), (record.tests[1].id, True)]
