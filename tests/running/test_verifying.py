"""The steps of `verify`: in which order, over which session, what they make of the verdict, and what ends them early."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

from mcptest_engine.core.events import CaseFinished
from mcptest_engine.core.results import FailureKind
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.record_schema import record_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from mcptest_engine.core.events import Event
    from mcptest_engine.core.results import TestResult

    RecordOf = Callable[..., RunRecord]
    RunOf = Callable[..., Coroutine[None, None, RunRecord]]
    Ledger = Callable[..., str]


def one(record: RunRecord) -> TestResult:
    (test,) = record.tests
    return test


def transfers(count: int) -> str:
    return f"[{{ target: result.structuredContent.transfers, matcher: {{ exact: {count} }} }}]"


def test_steps_are_taken_in_order_over_the_tests_session_and_all_are_told(record_of: RecordOf, ledger: Ledger) -> None:
    """The ledger is in the server's memory; a step that fails ends nothing."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: transfer
    args: {{ amount: 1 }}
    verify:
      - {{ tool: transfer, args: {{ amount: 1 }}, expect: {transfers(2)} }}
      - {{ name: wrong on purpose, tool: transfer, args: {{ amount: 1 }}, expect: {transfers(9)} }}
      - {{ tool: transfer, args: {{ amount: 1 }}, expect: {transfers(4)} }}
      - {{ name: also wrong, tool: balance, expect: {transfers(5)} }}
""")
    test = one(record)
    assert [(step.index, step.name, step.verdict) for step in test.verify] == [
        (0, None, "pass"),
        (1, "wrong on purpose", "fail"),
        (2, None, "pass"),
        (3, "also wrong", "fail"),
    ]
    assert test.failure is not None
    assert test.failure.kind is FailureKind.ASSERTION
    assert test.message == test.failure.message
    assert test.message == (
        "verify step 2 (wrong on purpose): "
        "assertion 1, line 9 (`result.structuredContent.transfers`) failed: expected `9`, got `3`"
    )
    data = json.loads(json.dumps(record.to_json()))
    assert record_fault(data) is None
    assert RunRecord.from_json(data) == record


def test_the_tests_own_failure_comes_first_and_its_message_tells_both(record_of: RecordOf, ledger: Ledger) -> None:
    """A call that failed or timed out is when its state is worth a look."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: fails
    tool: transfer
    args: {{ amount: 1 }}
    expect: {transfers(7)}
    verify: [{{ tool: balance, expect: {transfers(8)} }}]
  - name: times out
    tool: hang
    timeout_ms: 100
    verify: [{{ tool: balance, timeout_ms: 9000, expect: {transfers(8)} }}]
  - name: only the call fails
    tool: balance
    expect: {transfers(7)}
    verify: [{{ tool: balance, expect: {transfers(1)} }}]
""")
    fails, times_out, only = record.tests

    def words(line: int) -> str:
        return f"assertion 1, line {line} (`result.structuredContent.transfers`) failed: expected"

    assert fails.message == f"{words(7)} `7`, got `1`; verify step 1 (balance): {words(8)} `8`, got `1`"
    assert times_out.failure is not None
    assert times_out.failure.kind is FailureKind.TIMEOUT
    assert times_out.message == (
        f'server "s" did not answer "tools/call" within 100 ms; verify step 1 (balance): {words(12)} `8`, got `1`'
    )
    assert only.message == f"{words(15)} `7`, got `1`"
    assert [step.verdict for step in only.verify] == ["pass"]


def test_a_server_that_dies_in_a_step_is_asked_no_more_and_others_are(record_of: RecordOf, ledger: Ledger) -> None:
    """The rest of the run is unharmed: the server gets its second chance."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }}, t: {{ command: {ledger()} }} }}
tools:
  - name: n
    server: s
    tool: balance
    verify:
      - {{ tool: crash }}
      - {{ tool: balance }}
      - {{ server: t, tool: transfer, args: {{ amount: 5 }}, expect: {transfers(1)} }}
  - {{ name: later, server: s, tool: balance, expect: {transfers(0)} }}
""")
    test, later = record.tests
    assert [(step.server, step.verdict) for step in test.verify] == [("s", "fail"), ("s", "skip"), ("t", "pass")]
    assert test.verify[1].message == "not run: the server has ended"
    assert (test.verify[1].request, test.verify[1].output) == (None, None)
    assert test.failure is not None
    assert test.failure.kind is FailureKind.SERVER
    assert test.failure.message.startswith('verify step 1 (crash): server "s" exited with code 4')
    assert "the vault is on fire" in (test.failure.stderr_tail or "")
    assert later.verdict == "pass"
    assert {server.name: server.restarts for server in record.servers} == {"s": 1, "t": 0}
    assert record_fault(json.loads(json.dumps(record.to_json()))) is None


def test_nothing_is_verified_on_a_server_that_is_gone_or_never_came(record_of: RecordOf, ledger: Ledger) -> None:
    """The steps are in the record all the same, as not run."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }}, never: {{ command: ["false"] }} }}
tools:
  - {{ name: dies, server: s, tool: crash, verify: [{{ tool: balance }}] }}
  - {{ name: never comes, server: never, tool: balance, verify: [{{ tool: balance }}] }}
""")
    for test in record.tests:
        assert test.failure is not None
        assert test.failure.kind is FailureKind.SERVER
        assert "verify" not in test.failure.message
        assert [step.verdict for step in test.verify] == ["skip"]


def test_a_step_may_read_a_resource_or_get_a_prompt(record_of: RecordOf, ledger: Ledger) -> None:
    """What goes on the wire is as for a test; a step without a name is told by its method."""
    test = one(
        record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: balance
    verify:
      - {{ uri: "file:///book" }}
      - {{ prompt: greet, args: {{ who: you }}, expect: [{{ target: error.code, matcher: {{ exact: -32601 }} }}] }}
""")
    )
    assert [step.request for step in test.verify] == [
        {"method": "resources/read", "params": {"uri": "file:///book"}},
        {"method": "prompts/get", "params": {"name": "greet", "arguments": {"who": "you"}}},
    ]
    assert [step.verdict for step in test.verify] == ["fail", "pass"]
    assert (test.message or "").startswith("verify step 1 (resources/read): the server answered error -32601")


def test_a_misspelt_tool_in_a_step_gets_the_nearest_name(record_of: RecordOf, ledger: Ledger) -> None:
    """A name counts as known once it was answered."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - {{ name: n, tool: balance, verify: [{{ tool: balence }}] }}
""")
    failure = one(record).failure
    assert failure is not None
    assert failure.hint == "did you mean `balance`?"


def test_snapshots_of_steps_are_kept_apart(record_of: RecordOf, ledger: Ledger) -> None:
    """The same target in the call and in two steps are three values."""
    same = "expect: [{ target: result.structuredContent, matcher: { snapshot: true } }]"
    suite = f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: transfer
    args: {{ amount: 1 }}
    {same}
    verify:
      - {{ tool: transfer, args: {{ amount: 1 }}, {same} }}
      - {{ tool: transfer, args: {{ amount: 1 }}, {same} }}
"""
    assert one(record_of(suite, update_snapshots=True)).verdict == "pass"
    assert one(record_of(suite)).verdict == "pass"


def test_budgets_that_only_warn_are_told_with_their_step(record_of: RecordOf, ledger: Ledger) -> None:
    """Nobody would know which call was meant."""
    record = record_of(f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - name: n
    tool: balance
    verify: [{{ name: look, tool: balance, expect: {{ max_response_tokens: {{ budget: 1, mode: warn }} }} }}]
""")
    assert record.warnings == ("n: verify step 1 (look): response token budget exceeded: 8 > 1 (max_response_tokens)",)


async def heard(fifo: Path) -> None:
    """Wait until a server has written to the FIFO."""
    await asyncio.get_running_loop().run_in_executor(None, fifo.read_text)


def test_a_run_that_is_interrupted_while_it_verifies_still_has_its_record(
    run_of: RunOf, ledger: Ledger, tmp_path: Path
) -> None:
    """Ctrl-C cancels the run's task; the test under way is told as not run, and nobody is left waiting."""
    os.mkfifo(tmp_path / "tell")
    suite = f"""
servers: {{ s: {{ command: {ledger()} }} }}
tools:
  - {{ name: before, tool: balance, serial: true }}
  - name: n
    tool: balance
    verify:
      - {{ tool: balance }}
      - {{ tool: hold, args: {{ tell: {tmp_path / "tell"}, until: {tmp_path / "never"} }} }}
      - {{ tool: balance }}
"""
    os.mkfifo(tmp_path / "never")

    async def interrupted() -> RunRecord:
        run = asyncio.ensure_future(run_of(suite))
        await heard(tmp_path / "tell")
        run.cancel()
        return await run

    record = asyncio.run(interrupted())
    assert (record.exit_code, record.interrupted) == (130, True)
    assert [(test.name, test.verdict) for test in record.tests] == [("before", "pass"), ("n", "skip")]
    assert (record.tests[1].message or "").startswith("interrupted after ")
    assert record.tests[1].verify == ()


def test_a_bail_lets_a_test_that_is_being_verified_come_to_its_verdict(
    record_of: RecordOf, ledger: Ledger, tmp_path: Path
) -> None:
    """Tests under way are finished, so that what they changed is known; only new ones are not begun."""
    fifos = {name: tmp_path / name for name in ("verifying", "failed")}
    for fifo in fifos.values():
        os.mkfifo(fifo)

    def emit(event: Event) -> None:
        if isinstance(event, CaseFinished) and event.result.name == "fails":
            fifos["failed"].write_text("now")

    record = record_of(
        f"""
servers: {{ s: {{ command: {ledger()} }}, t: {{ command: {ledger()} }} }}
tools:
  - name: verified
    server: s
    serial: false
    tool: transfer
    args: {{ amount: 1 }}
    fault: drop_response
    retries: 1
    verify:
      - {{ tool: hold, args: {{ tell: {fifos["verifying"]}, until: {fifos["failed"]} }} }}
      - {{ tool: balance, expect: {transfers(2)} }}
  - {{ name: fails, server: t, tool: hold, args: {{ until: {fifos["verifying"]} }}, expect: {transfers(1)} }}
  - {{ name: never begun, server: t, tool: balance, serial: true }}
""",
        emit=emit,
        bail=1,
    )
    assert [test.verdict for test in record.tests] == ["pass", "fail", "skip"]
    assert [step.verdict for step in record.tests[0].verify] == ["pass", "pass"]
    assert record.tests[2].message == "not run: stopped after 1 failure (bail)"


def test_the_record_of_a_test_without_steps_does_not_speak_of_them(record_of: RecordOf, ledger: Ledger) -> None:
    """Absent means absent, and so does `attempts` where there was one and nothing befell it."""
    test = one(
        record_of(f"servers: {{ s: {{ command: {ledger()} }} }}\ntools: [{{ name: n, tool: balance }}]\n")
    ).to_json()
    assert " ".join(test) == (
        "id name kind server tool verdict duration_ms started_offset_ms cached file line tags strength "
        "assertions request output"
    )
    assert list(test["output"]) == ["result"]
