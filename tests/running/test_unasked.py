"""What a server sends unasked during a test: which of it the test sees, and how long it is waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.core.run_record import RunRecord

    RecordOf = Callable[..., RunRecord]
    Ledger = Callable[..., str]

MESSAGE = "notifications/message"


def told(record: RunRecord) -> list[tuple[str, str | None]]:
    return [(test.verdict.value, test.message) for test in record.tests]


def test_a_test_sees_what_came_since_its_call_began_and_nothing_earlier(record_of: RecordOf, ledger: Ledger) -> None:
    """A test that targets `notifications` is serial, and so are they its own."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - {{ name: noise, tool: notify, args: {{ count: 3 }} }}
  - name: two and the progress
    tool: notify
    args: {{ count: 2 }}
    expect:
      - {{ target: "notifications[*].method", matcher: {{ exact: [{MESSAGE}, {MESSAGE}, notifications/progress] }} }}
      - {{ target: server_requests, matcher: {{ length: 0 }} }}
  - name: none
    tool: balance
    expect: [{{ target: notifications, matcher: {{ length: 0 }} }}]
""")
    assert told(record) == [("pass", None)] * 3
    assert record.tests[1].output is not None
    assert len(record.tests[1].output["notifications"]) == 3


def test_a_call_whose_notifications_are_looked_at_asks_for_progress(record_of: RecordOf, ledger: Ledger) -> None:
    """basic/utilities/progress: a server reports only to a token. A token of the test's own stands."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: by itself
    tool: notify
    expect: [{{ target: "notifications[0].params.progressToken", matcher: {{ exact: mcptest-1 }} }}]
  - name: its own
    tool: notify
    meta: {{ progressToken: 7, trace: a }}
    expect: [{{ target: "notifications[0].params.progressToken", matcher: {{ exact: 7 }} }}]
  - {{ name: not looked at, tool: notify, meta: {{ trace: a }} }}
""")
    assert told(record) == [("pass", None)] * 3
    sent = [test.request["params"].get("_meta") for test in record.tests if test.request is not None]
    assert sent == [{"progressToken": "mcptest-1"}, {"progressToken": 7, "trace": "a"}, {"trace": "a"}]


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an assertion misses has all the time that a busy machine may take."""
    monkeypatch.setattr("mcptest_engine.running.calling.SETTLING_SECONDS", 30.0)


@pytest.mark.usefixtures("patience")
def test_a_notification_that_comes_after_the_answer_is_waited_for(record_of: RecordOf, ledger: Ledger) -> None:
    """Over HTTP it comes on another stream; a test that does not look pays nothing."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: missed at first
    tool: late
    expect: [{{ target: "notifications[0].params.data", matcher: {{ exact: late }} }}]
  - name: in a step
    tool: balance
    verify: [{{ tool: late, expect: [{{ target: notifications, matcher: {{ length: 1 }} }}] }}]
""")
    assert told(record) == [("pass", None)] * 2


def test_a_notification_that_never_comes_is_told_as_missing(record_of: RecordOf, ledger: Ledger) -> None:
    """The wait has an end, and the failure is the assertion's."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: notify
    args: {{ count: 1 }}
    expect: [{{ target: notifications, matcher: {{ length: 3 }} }}]
""")
    (test,) = record.tests
    assert test.failure is not None
    assert test.failure.kind == "assertion"
    assert "notifications" in test.failure.message


@pytest.mark.usefixtures("patience")
def test_a_program_that_looks_at_notifications_is_judged_again_too(record_of: RecordOf, ledger: Ledger) -> None:
    """jq programs run in a thread of their own; what comes meanwhile is not missed."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: late
    expect: [{{ target: notifications, matcher: {{ jq: 'map(.params.data) == ["late"]' }} }}]
""")
    assert told(record) == [("pass", None)]
