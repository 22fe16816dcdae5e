"""Servers with `command` and `url`: a program that mcptest starts, waits for, talks to over HTTP, and ends."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.live import live
from mcptest_engine.core.results import Verdict
from tests.processes import free_port, is_running, until

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from mcptest_engine.core.run_record import RunRecord

    RecordOf = Callable[..., RunRecord]

PROGRAM = Path(__file__).parent.parent / "servers" / "http_program.py"
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells who listens")


def server(*arguments: str, port: int = 0, more: str = "") -> str:
    """The suite's `servers:` with the program on this port."""
    command = json.dumps([sys.executable, "-S", str(PROGRAM), "{port}", *arguments])
    return f"servers:\n  web: {{ command: {command}, url: 'http://127.0.0.1:{port}/mcp'{more} }}\n"


def calls(*tools: str, more: str = "") -> str:
    rows = "".join(f"  - {{ name: {tool} {at}, tool: {tool}{more} }}\n" for at, tool in enumerate(tools))
    return f"tools:\n{rows}"


def said(record: RunRecord) -> list[str]:
    return [str(test.output["result"]["content"][0]["text"]) for test in record.tests if test.tool and test.output]


def failure(record: RunRecord, at: int = 0) -> str:
    found = record.tests[at].failure
    assert found is not None
    return f"{found.kind}: {found.message} | {found.hint} | {(found.stderr_tail or '').strip()}"


@pytest.fixture(name="free_port")
def a_free_port() -> int:
    return free_port()


@pytest.fixture
def held() -> Iterator[int]:
    """A port on which this test listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield int(listening.getsockname()[1])


def test_a_program_is_started_and_used_over_http_and_ended_with_its_group(record_of: RecordOf, tmp_path: Path) -> None:
    record = record_of(server("--leave", str(tmp_path / "child")) + calls("count", "pid"))
    assert [test.verdict for test in record.tests] == [Verdict.PASS, Verdict.PASS]
    (entry,) = record.servers
    assert (entry.transport, entry.server_info, entry.restarts) == ("http", {"name": "program", "version": "1"}, 0)
    pids = [int(said(record)[1]), int((tmp_path / "child").read_text())]
    until(lambda: not any(map(is_running, pids)))  # a child of its own is killed, and reaped by init
    assert [one for one in live() if one.kind == "server"] == []


def test_sessions_share_the_program_of_a_run(record_of: RecordOf) -> None:
    """A test with its own `client` and a revision of its own get sessions of their own, and the same state."""
    own = calls("pid", "pid", more=", client: { sampling: hello }") + "  - { name: shared, tool: pid }\n"
    pinned = "compliance:\n  - { name: old, check: ping, spec_version: '2025-06-18' }\n"
    record = record_of(server() + own + pinned)
    assert len(set(said(record))) == 1
    assert {test.verdict for test in record.tests} == {Verdict.PASS}


@pytest.mark.parametrize(
    ("arguments", "ready"),
    [
        (["--unhealthy", "2"], ", ready: /health"),
        (["--unhealthy", "1"], ", ready: { path: /health, timeout: 60s }"),
        ([], ", ready: { output: serving now }"),
    ],
)
def test_ready_says_what_is_waited_for(record_of: RecordOf, arguments: list[str], ready: str) -> None:
    record = record_of(server(*arguments, more=ready) + calls("count"))
    assert said(record) == ["1"]


def test_ready_waits_for_a_port(record_of: RecordOf, free_port: int) -> None:
    suite = server(port=free_port, more=f", ready: {free_port}") + calls("count")
    assert said(record_of(suite)) == ["1"]
    closed = suite.replace(f"ready: {free_port}", "ready: { port: 1, timeout: 200ms }")
    assert 'server "web" did not start: it was not ready within 200 ms' in failure(record_of(closed))


def test_a_program_that_listens_late_is_waited_for(
    run_of: Callable[..., Coroutine[None, None, RunRecord]], tmp_path: Path
) -> None:
    async def work() -> RunRecord:
        late = tmp_path / "late"
        running = asyncio.ensure_future(run_of(server("--late", str(late)) + calls("count")))
        while not any(one.kind == "server" and "http_program" in one.shown for one in live()):  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        late.touch()
        return await running

    assert said(asyncio.run(work())) == ["1"]


def test_an_early_end_is_told_with_the_last_output(record_of: RecordOf) -> None:
    command = json.dumps(["sh", "-c", "echo starting; echo no database >&2; exit 3"])
    told = failure(
        record_of(f"servers: {{ web: {{ command: {command}, url: 'http://127.0.0.1:1/mcp' }} }}\n" + calls("x"))
    )
    assert told.startswith('server: server "web" did not start: it exited with code 3 before it was ready')
    assert "starting\nno database" in told


@LINUX
def test_a_wait_that_runs_out_names_the_port_that_the_program_listens_on(record_of: RecordOf, free_port: int) -> None:
    told = failure(record_of(server("--other-port", port=free_port, more=", ready: { timeout: 1s }") + calls("count")))
    assert 'server "web" did not start: it was not ready within 1 s: connection refused' in told
    assert "it listens on port " in told
    assert f"and `url` has port {free_port}" in told
    assert told.endswith("serving now")


def test_a_taken_port_is_never_taken_for_the_program(record_of: RecordOf, held: int) -> None:
    told = failure(record_of(server(port=held) + calls("count")))
    assert told.startswith(f'server: server "web" did not start: port {held} is taken by ')
    assert not sys.platform.startswith("linux") or f"process {os.getpid()} (" in told
    assert "port 0 in `url`" in told


@LINUX
def test_a_port_that_somebody_else_takes_meanwhile_is_noticed(
    run_of: Callable[..., Coroutine[None, None, RunRecord]], free_port: int, tmp_path: Path
) -> None:
    async def work() -> RunRecord:
        text = server("--late", str(tmp_path / "never"), port=free_port) + calls("count")
        running = asyncio.ensure_future(run_of(text))
        while not any(one.kind == "server" and "http_program" in one.shown for one in live()):  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", free_port):
            return await running

    told = failure(asyncio.run(work()))
    assert f"process {os.getpid()} (" in told
    assert f"listens on port {free_port} in its place" in told


def test_a_crash_names_the_exit_and_the_program_is_started_again(record_of: RecordOf) -> None:
    record = record_of(server() + calls("count", "crash", "count"), workers=1)
    assert failure(record, 1).startswith('server: server "web" exited with code 3 while "tools/call" waited')
    assert failure(record, 1).endswith("out of cheese")
    assert said(record) == ["1", "1"]
    assert record.servers[0].restarts == 1


def test_a_program_that_hangs_is_replaced(record_of: RecordOf, free_port: int) -> None:
    for port in (0, free_port):
        record = record_of(
            server("--late", "/", port=port) + calls("count") + "  - { name: h, tool: hang, timeout_ms: 200 }\n",
            workers=1,
        )
        assert [test.verdict for test in record.tests] == [Verdict.PASS, Verdict.FAIL]


def test_repeats_keep_one_program_and_a_fixed_port_serves_run_after_run(record_of: RecordOf, free_port: int) -> None:
    text = server(port=free_port) + calls("count", more=", serial: true")
    for _ in range(2):
        assert said(record_of(text, repeat=2)) == ["1", "2"]


def test_a_lost_answer_leaves_the_state_of_the_program(record_of: RecordOf) -> None:
    record = record_of(server() + calls("count", more=", fault: disconnect, retries: 1"))
    assert said(record) == ["2"]


def test_another_command_serves_at_the_same_url(record_of: RecordOf) -> None:
    text = server().replace("http_program.py", "nothing.py") + calls("count")
    other = (sys.executable, "-S", str(PROGRAM), "{port}")
    assert said(record_of(text, server_command=other)) == ["1"]
