"""How a test comes to its verdict: attempts, answers taken away on purpose, and what is verified afterwards."""

from __future__ import annotations

import json
import re
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.results import TestResult
from tests.processes import longer

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.core.run_record import RunRecord

    RecordOf = Callable[..., RunRecord]
    Ledger = Callable[..., str]

SERVERS = Path(__file__).parents[1] / "servers"
FAULTS = (None, "drop_response", "disconnect")
MOVED_ONCE = "{ target: result.structuredContent.transfers, matcher: { exact: 1 } }"
NOT_MOVED = "{ target: result.structuredContent.transfers, matcher: { exact: 0 } }"


def one(record: RunRecord) -> TestResult:
    (test,) = record.tests
    return test


def verdicts(test: TestResult) -> list[str]:
    return [attempt.verdict.value for attempt in test.attempts]


def test_the_record_says_what_a_test_was_behind(record_of: RecordOf) -> None:
    """A server that works on one call at a time; the durations stay what was waited."""
    server = json.dumps([sys.executable, "-S", str(SERVERS / "echo.py"), "--one-at-a-time"])
    for seconds in longer(0.08):
        record = record_of(f"""
servers: {{ s: {{ command: {server} }} }}
tools:
  - {{ name: slow, tool: slow, args: {{ ms: {seconds * 1000} }} }}
  - {{ name: quick, tool: echo, serial: false }}
""")
        slow, quick = record.tests
        if quick.behind:  # else it was called when the slow one had ended
            break
    assert slow.behind is None
    assert quick.behind is not None
    assert quick.behind["tool"] == "slow"
    assert quick.own_ms == quick.duration_ms - quick.behind["ms"]
    assert TestResult.from_json(quick.to_json()) == quick


def test_every_fault_with_every_number_of_retries_comes_to_what_the_tool_did(
    record_of: RecordOf, ledger: Ledger, tmp_path: Path
) -> None:
    """A tool that applies its effect once passes whatever is lost; one that applies it twice is found by a retry alone."""
    table = list(product(FAULTS, range(3), ("transfer", "transfer_once")))
    rows = ""
    for number, (fault, retries, tool) in enumerate(table):
        arguments = json.dumps({"amount": 10, "account": number, "key": number})
        look = f"{{ tool: balance, args: {{ account: {number} }}, expect: [{MOVED_ONCE}] }}"
        faulted = f"    fault: {fault}\n" if fault else ""
        rows += f"  - name: n{number}\n    tool: {tool}\n    args: {arguments}\n    retries: {retries}\n{faulted}"
        rows += f"    verify: [{look}]\n"
    record = record_of(f"servers: {{ s: {{ command: {ledger(tmp_path / 'book')} }} }}\ntools:\n{rows}")
    for (fault, retries, tool), test in zip(table, record.tests, strict=True):
        again = fault is not None and retries > 0
        twice = again and tool == "transfer"
        attempts = [] if fault is None else ["inconclusive", *(["fail" if twice else "pass"] if again else [])]
        assert (test.verdict, verdicts(test)) == ("fail" if twice else "pass", attempts), (fault, retries, tool)
        assert not test.flaky
        assert [step.verdict for step in test.verify] == ["fail" if twice else "pass"]
    assert [server.restarts for server in record.servers] == [0]


def test_an_answer_that_was_taken_away_is_no_failure_and_stands_in_the_record(
    record_of: RecordOf, ledger: Ledger
) -> None:
    """The attempt has no verdict of its own, and the pass after it is not flaky."""
    test = one(
        record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: transfer_once
    args: {{ amount: 10, key: a }}
    fault: drop_response
    retries: 1
    expect: [{MOVED_ONCE}, {{ target: attempt, matcher: {{ exact: 2 }} }}]
""")
    )
    lost, judged = test.attempts
    assert (lost.verdict, lost.fault) == ("inconclusive", "drop_response")
    assert lost.message == 'server "s" had its answer to "tools/call" dropped by `fault: drop_response`'
    assert (judged.verdict, judged.fault, judged.message) == ("pass", None, None)
    assert (test.verdict, test.flaky, test.message, test.failure) == ("pass", False, None, None)


def test_without_retries_the_steps_of_verify_alone_judge(record_of: RecordOf, ledger: Ledger) -> None:
    """Nothing came that could be judged, and nothing is told as the test's own answer."""
    test = one(
        record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: transfer
    args: {{ amount: 10 }}
    fault: drop_response
    verify:
      - {{ name: moved once, tool: balance, expect: [{MOVED_ONCE}] }}
      - {{ name: nothing moved, tool: balance, expect: [{NOT_MOVED}] }}
""")
    )
    assert (test.verdict, test.output, test.assertions) == ("fail", None, ())
    assert test.message == (
        "verify step 2 (nothing moved): "
        "assertion 1, line 10 (`result.structuredContent.transfers`) failed: expected `0`, got `1`"
    )
    assert verdicts(test) == ["inconclusive"]


def test_a_failed_verify_is_repeated_with_its_call_where_retries_are_left(record_of: RecordOf, ledger: Ledger) -> None:
    """An attempt is the call and what is verified after it."""
    test = one(
        record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: transfer
    args: {{ amount: 10 }}
    retries: 2
    verify: [{{ tool: balance, expect: [{{ target: result.structuredContent.transfers, matcher: {{ exact: 2 }} }}] }}]
""")
    )
    assert (test.verdict, verdicts(test), test.flaky) == ("pass", ["fail", "pass"], True)
    assert "verify step 1 (balance): assertion 1" in (test.attempts[0].message or "")


def test_what_is_verified_follows_the_attempt_that_decides_and_no_other(record_of: RecordOf, ledger: Ledger) -> None:
    """A call that fails while a retry is left decides nothing; the step moves money as well, and so counts how often it ran."""
    test = one(
        record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: transfer
    args: {{ amount: 1 }}
    retries: 2
    expect: [{{ target: result.isError, matcher: {{ exact: true }} }}]
    verify:
      - name: three calls and this one
        tool: transfer
        args: {{ amount: 1 }}
        expect: [{{ target: result.structuredContent.transfers, matcher: {{ exact: 4 }} }}]
""")
    )
    assert (test.verdict, verdicts(test)) == ("fail", ["fail", "fail", "fail"])
    assert [step.verdict for step in test.verify] == ["pass"]


def test_a_failed_call_after_a_lost_answer_is_repeated_as_ever(record_of: RecordOf, ledger: Ledger) -> None:
    """The fault strikes the first attempt only; what follows are ordinary retries."""
    test = one(
        record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: transfer
    args: {{ amount: 10 }}
    fault: drop_response
    retries: 2
    expect: [{{ target: result.structuredContent.transfers, matcher: {{ exact: 3 }} }}]
""")
    )
    assert (test.verdict, verdicts(test), test.flaky) == ("pass", ["inconclusive", "fail", "pass"], True)


def test_a_delayed_answer_counts_as_come_that_much_later(record_of: RecordOf, ledger: Ledger) -> None:
    """A timeout may strike first; the call after it is made as by a client that gave up waiting."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: in time
    tool: balance
    fault: {{ delay_ms: 120 }}
    expect: [{{ target: duration_ms, matcher: {{ gte: 120 }} }}]
  - name: too late
    tool: balance
    fault: {{ delay_ms: 20000 }}
    timeout_ms: 100
  - name: applied twice
    tool: transfer
    args: {{ amount: 10 }}
    fault: {{ delay_ms: 20000 }}
    timeout_ms: 200
    retries: 1
    verify: [{{ tool: balance, timeout_ms: 9000, expect: [{MOVED_ONCE}] }}]
""")
    in_time, too_late, twice = record.tests
    assert (in_time.verdict, [attempt.fault for attempt in in_time.attempts]) == ("pass", ["delay_ms"])
    assert too_late.failure is not None
    assert too_late.failure.kind == "timeout"
    assert (twice.verdict, verdicts(twice)) == ("fail", ["fail", "fail"])
    assert "verify step 1 (balance)" in (twice.message or "")


def test_a_duration_is_told_in_microseconds_at_most(record_of: RecordOf, ledger: Ledger) -> None:
    test = one(
        record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: never so fast
    tool: balance
    expect: [{{ target: duration_ms, matcher: {{ lt: 0 }} }}]
""")
    )
    assert re.fullmatch(r".*failed: `\d+\.\d{1,3}` is not less than `0`", test.message or "")


def test_a_session_of_the_tests_own_is_new_for_each_attempt(record_of: RecordOf, ledger: Ledger) -> None:
    """What `client` answers begins anew, and here so does the server's memory."""
    test = one(
        record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: transfer
    args: {{ amount: 10 }}
    client: {{ roots: [] }}
    retries: 2
    expect: [{{ target: result.structuredContent.transfers, matcher: {{ exact: 2 }} }}]
""")
    )
    assert (test.verdict, verdicts(test)) == ("fail", ["fail", "fail", "fail"])
    assert all("got `1`" in (attempt.message or "") for attempt in test.attempts)


@pytest.mark.parametrize(("fault", "transfers"), [("drop_response", 2), ("disconnect", 1)])
def test_after_a_lost_answer_a_session_of_the_tests_own_goes_on_if_it_can(
    record_of: RecordOf, ledger: Ledger, fault: str, transfers: int
) -> None:
    """As a client would, which never got its answer; a connection that was cut is opened again."""
    test = one(
        record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: transfer
    args: {{ amount: 10 }}
    client: {{ roots: [] }}
    fault: {fault}
    retries: 1
    verify: [{{ tool: balance, expect: [{{ target: result.structuredContent.transfers, matcher: {{ exact: {transfers} }} }}] }}]
""")
    )
    assert test.verdict == "pass", test.message


def test_tests_with_a_client_of_their_own_do_not_share_it(record_of: RecordOf, ledger: Ledger) -> None:
    """`client:` on a test gives it a session of its own; the server's other tests see nothing of it."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: without
    tool: ask
    args: {{ method: roots/list }}
    expect: [{{ target: "server_requests[0].error.code", matcher: {{ exact: -32601 }} }}]
  - name: with
    tool: ask
    args: {{ method: roots/list }}
    client: {{ roots: ["file:///data"] }}
    expect: [{{ target: "server_requests[0].result.roots[0].uri", matcher: {{ exact: "file:///data" }} }}]
""")
    assert [(test.verdict, test.message) for test in record.tests] == [("pass", None), ("pass", None)]
    assert record.tests[1].output is not None
    assert record.tests[1].output["server_requests"][0]["method"] == "roots/list"


def test_a_fault_that_never_struck_is_no_pass(record_of: RecordOf, ledger: Ledger) -> None:
    """Green means checked: the call failed by itself, so that no answer was lost and asking again would prove nothing."""
    test = one(
        record_of(f"""
servers: {{ s: {{ command: {ledger()}, timeout_ms: 300 }} }}
tools:
  - name: n
    tool: transfer_later
    args: {{ amount: 10 }}
    fault: drop_response
    retries: 1
    verify: [{{ tool: balance, expect: [{NOT_MOVED}] }}]
""")
    )
    assert (test.verdict, verdicts(test)) == ("fail", ["fail"])
    assert test.failure is not None
    assert test.failure.kind == "timeout"


REFUSING = """
mock_server:
  tools:
    - name: down
      response: { isError: true, content: [{ type: text, text: "database is down" }] }
    - name: cursed
      error: { code: -32050, message: "the book is cursed" }
    - name: fine
      response: { content: [{ type: text, text: "all is well" }] }
"""


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("fault", ["drop_response", "disconnect"])
def test_an_error_is_no_lost_answer_of_a_test_that_wants_success(
    record_of: RecordOf, tmp_path: Path, fault: str, era: str
) -> None:
    """The call failed by itself; nor is a success the lost answer of a test that wants an error."""
    manifest = tmp_path / "manifest.yml"
    manifest.write_text(REFUSING, encoding="utf-8")
    command = json.dumps([sys.executable, "-m", "mcptest_engine.mock", "--tools-from", str(manifest)])
    look = "verify: [{ tool: fine }]"
    record = record_of(f"""
servers: {{ s: {{ command: {command}, protocol: "{era}" }} }}
tools:
  - {{ name: reported, tool: down, fault: {fault}, {look} }}
  - {{ name: answered with an error, tool: cursed, fault: {fault}, {look} }}
  - {{ name: reported and asked again, tool: down, fault: {fault}, retries: 1 }}
  - {{ name: success, tool: fine, outcome: error, fault: {fault}, {look} }}
  - {{ name: wanted error, tool: down, outcome: error, fault: {fault}, {look} }}
  - {{ name: either, tool: down, outcome: any, fault: {fault}, {look} }}
  - {{ name: wanted success, tool: fine, fault: {fault}, {look} }}
""")
    kinds = [test.failure and test.failure.kind.value for test in record.tests]
    assert kinds == ["tool_error", "protocol_error", "tool_error", "assertion", None, None, None]
    assert record.tests[0].message == "the tool reported an error: database is down"


def test_a_lost_answer_without_any_retry_left_fails(record_of: RecordOf, ledger: Ledger) -> None:
    """`--retries 0` over the suite's own number leaves nothing to judge by."""
    test = one(
        record_of(
            f"""
servers: {{ s: {{ command: {ledger()} }} }}
run_options: {{ retries: 1 }}
tools:
  - name: n
    tool: transfer
    args: {{ amount: 10 }}
    fault: drop_response
    expect: [{MOVED_ONCE}]
""",
            retries=0,
        )
    )
    assert test.verdict == "fail"
    assert "no retry is left" in (test.message or "")
