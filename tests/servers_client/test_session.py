"""A session with a server that behaves: what is sent, what is kept, calls in flight together."""

from __future__ import annotations

import asyncio
import json
import os
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import CallTimeout, ServerDidNotStart, ServerDied
from mcptest_engine.core.waits import _LEAST_SECONDS
from mcptest_engine.servers.session import connect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcptest_engine.servers.calls import Exchange
    from mcptest_engine.servers.session import Session


def call(session: Session, tool: str, *, timeout: float = 30, **arguments: Any) -> Any:
    params = {"name": tool, "arguments": arguments}
    return session.request("tools/call", params, timeout_seconds=timeout)


def text_of(exchange: Exchange) -> str:
    return str(exchange.answer["result"]["content"][0]["text"])


def test_the_answer_is_kept_as_it_was_sent(script: Callable, with_session: Callable) -> None:
    """Design 2, "Own the wire": unknown fields stay, an absent `isError` stays absent."""

    async def use(session: Session) -> None:
        exchange = await call(session, "echo", text="hi", extra=None, big=2**70)
        result = exchange.answer["result"]
        assert result["structuredContent"] == {"arguments": {"text": "hi", "extra": None, "big": 2**70}}
        assert "isError" not in result
        assert exchange.duration_ms > 0
        assert exchange.http is None
        assert session.handshake is not None
        assert session.handshake.answer["result"]["vendor/extra"] == 1

    with_session(script("echo"), use)


def test_the_handshake_offers_the_newest_revision_and_no_capabilities(script: Callable, with_session: Callable) -> None:
    """MCP 2025-11-25, lifecycle#initialization. Nothing else is sent unasked."""

    async def use(session: Session) -> None:
        messages = (await call(session, "seen")).answer["result"]["structuredContent"]["messages"]
        assert [message["method"] for message in messages] == ["initialize", "notifications/initialized", "tools/call"]
        offer = messages[0]["params"]
        assert (offer["protocolVersion"], offer["capabilities"]) == ("2025-11-25", {})
        assert offer["clientInfo"]["name"] == "mcptest"
        assert session.protocol_version == "2025-11-25"
        assert session.server_info == {"name": "echo", "version": "1.0"}
        assert session.capabilities == {"tools": {}}
        assert session.instructions == "call echo"

    with_session(script("echo"), use)


@pytest.mark.parametrize("offer", ["2024-11-05", "1999-01-01", "whatever"])
def test_any_revision_may_be_offered_verbatim(offer: str, script: Callable, with_session: Callable) -> None:
    """Libraries 11.6: any string may be offered."""

    async def use(session: Session) -> None:
        assert session.protocol_version == offer

    with_session(script("echo", protocol=offer), use)


def test_a_revision_that_is_not_known_is_told_and_not_refused(script: Callable, with_session: Callable) -> None:
    """What its answers are worth is the suite's to judge."""

    async def use(session: Session) -> None:
        assert session.protocol_version == "2099-01-01"
        (remark,) = session.remarks.texts
        assert '"2099-01-01", which mcptest does not support' in remark

    with_session(script("echo", "--version-answered", "2099-01-01"), use)


def test_an_empty_answer_to_initialize_is_told_and_not_refused(script: Callable, with_session: Callable) -> None:
    """The same for a server that leaves everything out."""

    async def use(session: Session) -> None:
        assert session.remarks.texts == ['server "bad_start" answered `initialize` without a `protocolVersion`']
        assert (session.server_info, session.capabilities) == (None, {})

    with_session(script("bad_start", "no-version"), use)


def test_a_refused_initialize_says_what_the_server_speaks(script: Callable, run: Callable) -> None:
    """A failure says why, and how to go on."""
    with pytest.raises(ServerDidNotStart) as failed:
        run(connect(script("echo", "--refuse-initialize")))
    expected = 'server "echo" did not start: it refused `initialize`: error -32602 "Unsupported protocol version"'
    assert failed.value.message == expected
    assert failed.value.hint == "it speaks `2026-07-28`: offer one with `protocol:`"


def test_an_error_is_an_answer(script: Callable, with_session: Callable) -> None:
    """The envelope holds it, nothing is raised."""

    async def use(session: Session) -> None:
        assert (await call(session, "nothing")).answer["error"] == {"code": -32602, "message": "Unknown tool: nothing"}
        assert (await call(session, "fail")).answer["result"]["isError"] is True
        exchange = await session.request("vendor/odd", None, timeout_seconds=30)
        assert exchange.answer["error"]["code"] == -32601

    with_session(script("echo"), use)


def test_calls_are_in_flight_together(script: Callable, with_session: Callable) -> None:
    """One session per server, requests multiplexed: the short call overtakes the long one."""

    async def use(session: Session) -> None:
        long = asyncio.ensure_future(call(session, "slow", ms=60_000))
        await asyncio.gather(call(session, "slow", ms=1), *(call(session, "echo", text=str(n)) for n in range(50)))
        assert not long.done()
        long.cancel()

    with_session(script("echo"), use)


def test_each_call_gets_its_own_answer(script: Callable, with_session: Callable) -> None:
    """Hundreds at once, told apart by their ids."""

    async def use(session: Session) -> None:
        texts = [str(number) * 50 for number in range(500)]
        exchanges = await asyncio.gather(*(call(session, "echo", text=text) for text in texts))
        assert [text_of(exchange) for exchange in exchanges] == texts

    with_session(script("echo"), use)


def test_a_timed_out_call_is_cancelled_and_the_session_stays_usable(script: Callable, with_session: Callable) -> None:
    """MCP 2025-11-25, basic/utilities/cancellation. The late answer is dropped, and kept in the traffic."""

    async def use(session: Session) -> None:
        with pytest.raises(CallTimeout) as failed:
            await call(session, "x", timeout=0.05)
        assert failed.value.message == 'server "bad_calls" did not answer "tools/call" within 50 ms'
        assert text_of(await call(session, "x")) == "in time"
        sent = [entry.message for entry in session.traffic.entries() if entry.sent]
        cancelled = {"requestId": 2, "reason": "no answer within 0.05 s"}
        assert {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled} in sent
        received = [entry.message for entry in session.traffic.entries() if not entry.sent]
        assert [message["id"] for message in received] == [1, 2, 3]

    with_session(script("bad_calls", "late"), use)


def test_a_second_answer_counts_for_nothing_and_is_remarked_upon_once(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        for _ in range(3):  # each comes after the second answer to the one before
            assert text_of(await call(session, "x")) == "first"
        assert session.remarks.texts == ['server "bad_calls" answered a request twice; the first answer counts']
        session.start_over(session.spec, used_by="first.yml")
        assert session.remarks.texts == []
        for _ in range(2):
            await call(session, "x")
        assert session.remarks.texts == ['server "bad_calls" answered a request twice; the first answer counts']

    with_session(script("bad_calls", "twice"), use)


def test_a_call_whose_caller_is_cancelled_is_cancelled_on_the_wire(script: Callable, with_session: Callable) -> None:
    """Ctrl-C in a run: the server is told."""

    async def use(session: Session) -> None:
        task = asyncio.create_task(call(session, "slow", ms=60_000))
        await call(session, "echo")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        seen = (await call(session, "seen")).answer["result"]["structuredContent"]["messages"]
        assert seen[-2]["params"] == {"requestId": 3, "reason": "the caller was cancelled"}

    with_session(script("echo"), use)


def test_different_timeouts_end_in_their_own_time(script: Callable, with_session: Callable) -> None:
    """One timer for all calls: a later call with a shorter time is not forgotten, nor the longer one ended early."""

    async def use(session: Session) -> None:
        async def outcome(ms: int, limit: float) -> str:
            try:
                await call(session, "slow", ms=ms, timeout=limit)
            except CallTimeout:
                return "timeout"
            return "answer"

        calls = ((100, 60), (120_000, 0.02), (100, 80), (120_000, 0.01))
        assert await asyncio.gather(*(outcome(*one) for one in calls)) == ["answer", "timeout", "answer", "timeout"]

    with_session(script("echo"), use)


@pytest.mark.parametrize(
    ("method", "reply"),
    [
        ("ping", {"result": {}}),
        ("roots/list", {"error": {"code": -32601, "message": "mcptest declared no capability for 'roots/list'"}}),
        ("vendor/x", {"error": {"code": -32601, "message": "mcptest declared no capability for 'vendor/x'"}}),
    ],
)
def test_the_server_is_answered_what_the_protocol_owes_it(
    method: str, reply: dict[str, Any], script: Callable, with_session: Callable
) -> None:
    """MCP 2025-11-25: `ping` must be answered; what no capability was declared for is unknown. Its id is a string here."""

    async def use(session: Session) -> None:
        answered = json.loads(text_of(await call(session, "ask", method=method)))
        assert answered == {"jsonrpc": "2.0", "id": "ask-1", **reply}

    with_session(script("echo"), use)


def test_notifications_are_kept_in_order_as_sent(script: Callable, with_session: Callable) -> None:
    """Also unknown ones, which a typed client would drop."""

    async def use(session: Session) -> None:
        await call(session, "notify", count=3)
        assert [note["params"]["number"] for note in session.server_messages.notifications] == [0, 1, 2]
        assert session.server_messages.notifications[0]["method"] == "notifications/vendor/tick"

    with_session(script("echo"), use)


def test_the_traffic_holds_every_message_both_ways_with_rising_times(script: Callable, with_session: Callable) -> None:
    """Libraries 11.8."""

    async def use(session: Session) -> None:
        await call(session, "echo", text="x" * 200_000)
        entries = session.traffic.entries()
        assert [entry.sent for entry in entries] == [True, False, True, True, False]
        assert sorted(entry.at for entry in entries) == [entry.at for entry in entries]
        assert entries[-1].message["result"]["content"][0]["text"] == "x" * 200_000

    with_session(script("echo"), use)


def test_the_child_gets_exactly_the_environment_of_the_spec(script: Callable, with_session: Callable) -> None:
    """Nothing of ours comes along."""

    async def use(session: Session) -> None:
        environment = (await call(session, "environment")).answer["result"]["structuredContent"]
        assert environment.pop("LC_CTYPE", "C.UTF-8") == "C.UTF-8"  # the interpreter's own doing
        assert environment == {"PATH": os.environ["PATH"], "ONLY": "this"}

    with_session(script("echo", env={"PATH": os.environ["PATH"], "ONLY": "this"}), use)


def test_the_child_runs_where_the_spec_says(script: Callable, with_session: Callable, tmp_path: Path) -> None:
    expected = str(tmp_path.resolve())

    async def use(session: Session) -> None:
        assert text_of(await call(session, "cwd")) == expected

    with_session(script("echo", cwd=str(tmp_path)), use)


def test_stderr_is_kept_and_can_be_asked_for_since_a_time(
    script: Callable, with_session: Callable, until: Callable
) -> None:
    """Libraries 11.4: stderr with time stamps, so that a test can be shown its own."""

    async def use(session: Session) -> None:
        await call(session, "stderr", text="first")
        await until(lambda: session.stderr_tail == "first\n")
        between = monotonic()
        await call(session, "stderr", text="second")
        await until(lambda: session.stderr_tail == "first\nsecond\n")
        assert session.stderr_since(between) == "second\n"

    with_session(script("echo"), use)


def test_stderr_since_a_time_begins_with_its_whole_line(
    script: Callable, with_session: Callable, until: Callable
) -> None:
    """Of a secret that was half written by then, no half is left that nobody would know for one."""

    async def use(session: Session) -> None:
        await call(session, "stderr", text="first\nhunter2-", end="")
        await until(lambda: session.stderr_tail.endswith("-"))
        between = monotonic()
        await call(session, "stderr", text="opensesame")
        await until(lambda: session.stderr_tail.endswith("\n"))
        assert session.stderr_since(between) == "<secret>\n"

    redact = lambda text: text.replace("hunter2-opensesame", "<secret>")  # noqa: E731
    with_session(script("echo", redact=redact), use)


def test_a_closed_session_says_so(script: Callable, run: Callable) -> None:
    """A call after the end fails at once, and closing again is fine."""

    async def work() -> None:
        session = await connect(script("echo"))
        waiting = asyncio.create_task(call(session, "slow", ms=60_000))
        await call(session, "echo")
        await asyncio.gather(session.close(), session.close())
        with pytest.raises(ServerDied, match='was closed by mcptest while "tools/call" waited'):
            await waiting
        with pytest.raises(ServerDied, match='server "echo" is gone: it exited with code 0'):
            await call(session, "echo")
        assert not session.alive
        assert session.ending is not None
        assert (session.ending.exit_code, session.ending.how_far) == (0, "eof")

    run(work())


def test_initialize_is_written_before_the_loop_gets_a_turn(script: Callable, run: Callable) -> None:
    """The caller imports what it needs while the server starts: nothing of ours may stand between."""

    async def work() -> None:
        task = asyncio.create_task(connect(script("echo")))
        await asyncio.sleep(0)
        frames = task.get_stack()
        assert frames[0].f_code.co_name == "connect"
        coroutine: Any = task.get_coro()
        while getattr(coroutine, "cr_await", None) is not None and hasattr(coroutine.cr_await, "cr_frame"):
            coroutine = coroutine.cr_await
        assert coroutine.cr_code.co_name == "send_request"  # it waits for the answer, so the request is out
        await (await task).close()

    run(work())


@pytest.fixture
def hold(tmp_path: Path, until: Callable) -> Callable[..., tuple[Any, Callable[[int], Any]]]:
    """A call that `ledger.py`, which works on one at a time, is on until it is let go: once so many calls have been sent."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def hold(session: Session, timeout: float = 30) -> tuple[Any, Callable[[int], Any]]:
        async def let_go(count: int) -> None:
            def calls() -> list[float]:
                entries = [e for e in session.traffic.entries() if e.sent and "id" in e.message]
                return [e.at for e in entries if e.message["method"] == "tools/call"]

            await until(lambda: len(calls()) == count)
            await until(lambda: monotonic() - calls()[-1] > _LEAST_SECONDS)  # a shorter wait counts for none
            await asyncio.to_thread(fifo.write_text, "go on")

        return call(session, "hold", timeout=timeout, until=str(fifo)), let_go

    return hold


def test_a_call_knows_how_long_it_was_behind_one_that_was_sent_earlier(
    script: Callable, with_session: Callable, hold: Callable
) -> None:
    """A server that works on one call at a time. Whose wait counts among many, `core/test_waits.py` tells."""

    async def use(session: Session) -> None:
        slow, let_go = hold(session)
        slow, quick, _ = await asyncio.gather(slow, call(session, "balance"), let_go(2))
        assert slow.behind is None
        assert quick.behind["tool"] == "hold"
        assert 0 < quick.behind["ms"] <= round(quick.duration_ms, 3)
        assert (await call(session, "balance")).behind is None

    with_session(script("ledger"), use)


def test_a_call_is_not_behind_one_that_was_sent_later_or_is_answered_later(
    script: Callable, with_session: Callable
) -> None:
    """A server that works on all at once."""

    async def use(session: Session) -> None:
        slow, quick = await asyncio.gather(call(session, "slow", ms=60), call(session, "echo"))
        assert (slow.behind, quick.behind) == (None, None)

    with_session(script("echo"), use)


def test_a_call_may_be_behind_one_that_nobody_waits_for_any_longer(
    script: Callable, with_session: Callable, hold: Callable
) -> None:
    """The server still works on it."""

    async def use(session: Session) -> None:
        slow, let_go = hold(session, timeout=0.02)
        with pytest.raises(CallTimeout):
            await slow
        behind, _ = await asyncio.gather(call(session, "balance"), let_go(2))
        assert behind.behind["tool"] == "hold"

    with_session(script("ledger"), use)
