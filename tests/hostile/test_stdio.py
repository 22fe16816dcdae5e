"""Whatever a server does over stdio, its own test fails once and says why, and nobody else's is harmed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.servers.failures import duration
from tests.hostile.behaviours import BEHAVIOURS, SERVER, Behaviour
from tests.hostile.runs import (
    ECHO,
    SERVERS,
    assert_told,
    call,
    hostile,
    processes_in,
    run,
    server_of,
    told_as,
    write_suite,
)
from tests.processes import longer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcptest_engine.core.results import TestResult

SHORT_MS = 100


@pytest.mark.parametrize("row", BEHAVIOURS, ids=lambda row: row.mode or "not-executable")
def test_one_bad_server_fails_its_own_test_and_no_other(row: Behaviour, tmp_path: Path, fifo: Path) -> None:
    """One clear failure of the tests concerned within its timeout, the rest of the run unharmed."""
    tests = [call("before", "good"), call("bad", SERVER), call("after", "good")]
    for limited in with_more_and_more_time(row):
        servers = {"good": ECHO, SERVER: server_of(limited, tmp_path)}
        record = run(write_suite(tmp_path, servers, tests))
        before, bad, after = record.tests
        if not row.hint or (bad.failure is not None and told_as(bad.failure.hint or "", row.hint)):
            break  # else what is hinted at had no time to come, or not all of it
    assert [test.verdict.value for test in (before, after)] == ["pass", "pass"]
    assert bad.verdict.value == ("fail" if row.says else "pass")
    if row.says:
        program = str(tmp_path / "server.py")
        hint = row.hint and row.hint.replace("{program}", program)
        assert_told(bad.failure, row.kind, limited.says.replace("{program}", program), hint)
    fails_the_run = any(finding["fails"] for server in record.servers for finding in server.findings)
    assert record.exit_code == (1 if row.says or fails_the_run else 0)
    assert len(record.tests) == 3
    survivors = processes_in(tmp_path)
    assert len(survivors) == (1 if row.mode == "daemon" else 0)  # it left the group on purpose, which is not followed


def with_more_and_more_time(row: Behaviour) -> Iterator[Behaviour]:
    """The behaviour, and where something has to come before the time is over, the same with more of it."""
    if not (row.waits_ms and row.hint):
        yield row
        return
    for seconds in longer(row.waits_ms / 1000):
        says = row.says.replace(duration(row.waits_ms / 1000), duration(seconds))
        yield row._replace(waits_ms=round(seconds * 1000), says=says)


def two_calls(folder: Path, mode: str, *, first: dict[str, Any]) -> tuple[TestResult, ...]:
    text = {"target": "result.content[0].text", "matcher": {"exact": "in time"}}
    second = call("second", SERVER, serial=True, expect=[text] if mode == "late" else [])
    tests = [call("first", SERVER, serial=True, **first), second]
    return run(write_suite(folder, {SERVER: hostile(mode, folder / "fifo")}, tests)).tests


def test_an_answer_that_comes_late_is_no_answer_to_the_next_call(tmp_path: Path) -> None:
    """The first call timed out; the second gets its own answer, although the first one's came just before."""
    first, second = two_calls(tmp_path, "late", first={"timeout_ms": SHORT_MS})
    assert first.failure is not None
    assert first.failure.kind.value == "timeout"
    assert second.verdict.value == "pass", second.failure


def test_an_answer_that_comes_before_its_call_is_no_answer(tmp_path: Path) -> None:
    """Ids can be guessed: what was said before the question is noise."""
    tests = [call("first", SERVER, serial=True), call("second", SERVER, serial=True, timeout_ms=SHORT_MS)]
    record = run(write_suite(tmp_path, {SERVER: hostile("early", tmp_path / "fifo")}, tests))
    first, second = record.tests
    assert first.verdict.value == "pass"
    assert second.failure is not None
    assert second.failure.kind.value == "timeout"


def test_a_server_that_exits_once_initialized_is_told_as_gone(tmp_path: Path) -> None:
    """Whether it was seen to end before the call or in it, and before or after it was started once more."""
    server = hostile("exit-after-initialize", tmp_path / "fifo")
    record = run(write_suite(tmp_path, {SERVER: server, "good": ECHO}, [call("bad", SERVER), call("good", "good")]))
    bad, good = record.tests
    assert good.verdict.value == "pass"
    assert bad.failure is not None
    assert bad.failure.kind.value == "server"
    assert f'server "{SERVER}" exited with code 0' in bad.failure.message
    assert processes_in(tmp_path) == []


def test_a_refused_request_is_told_as_method_not_found(tmp_path: Path) -> None:
    """MCP 2025-11-25, client/sampling: a capability that was not declared may not be used."""
    refused = {"target": "result.content[0].text", "matcher": {"contains": '"code": -32601'}}
    tests = [call("asked", SERVER, expect=[refused])]
    (test,) = run(write_suite(tmp_path, {SERVER: hostile("asks-and-goes-on", tmp_path / "fifo")}, tests)).tests
    assert test.verdict.value == "pass", test.failure


def test_a_stopped_server_is_killed_all_the_same(tmp_path: Path) -> None:
    """SIGTERM waits until a stopped process goes on; SIGKILL does not."""
    tests = [call("stopped", SERVER, timeout_ms=SHORT_MS)]
    path = write_suite(tmp_path, {SERVER: hostile("stop", tmp_path / "fifo")}, tests)
    assert run(path).exit_code == 1
    assert processes_in(tmp_path) == []


def test_the_table_has_every_mode_of_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that none is there for nothing; what is not in the table has a test of its own."""
    monkeypatch.syspath_prepend(SERVERS)
    modes = importlib.import_module("hostile")
    assert {*modes.AT_START, *modes.IN_CALL} - {"early", "exit-after-initialize"} == {
        row.mode for row in BEHAVIOURS if row.mode
    }
