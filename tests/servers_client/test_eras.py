"""Opening a session in either era: the handshake, the stateless revision, and the probe that tells them apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import CallTimeout, ServerDidNotStart
from mcptest_engine.servers.session import connect

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.servers.calls import Exchange
    from mcptest_engine.servers.session import Session

STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"


async def called(session: Session, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> Exchange:
    params = {"name": tool, "arguments": arguments or {}, **more}
    return await session.request("tools/call", params, timeout_seconds=30)


def told(exchange: Exchange) -> Any:
    return json.loads(exchange.answer["result"]["content"][0]["text"])


def sent(session: Session) -> list[str]:
    return [entry.message["method"] for entry in session.traffic.entries() if entry.sent and "method" in entry.message]


def test_the_stateless_revision_is_opened_by_discover_alone(script: Callable, with_session: Callable) -> None:
    """MCP 2026-07-28: no `initialize`, no `notifications/initialized`."""

    async def use(session: Session) -> None:
        assert (session.stateless, session.protocol_version) == (True, STATELESS)
        assert session.server_info == {"name": "stateless", "version": "1.0"}
        assert "tools" in session.capabilities
        assert sent(session) == ["server/discover"]

    with_session(script("stateless", protocol=STATELESS), use)


def test_every_stateless_request_says_who_asks(script: Callable, with_session: Callable) -> None:
    """MCP 2026-07-28, basic: per-request protocol fields; the test's own `_meta` is kept beside them."""

    async def use(session: Session) -> None:
        meta = told(await called(session, "seen", _meta={"progressToken": "p"}))
        assert meta[f"{META}protocolVersion"] == STATELESS
        assert meta[f"{META}clientInfo"]["name"] == "mcptest"
        assert meta[f"{META}clientCapabilities"] == {"roots": {}}
        assert meta["progressToken"] == "p"

    with_session(script("stateless", protocol=STATELESS, client={"roots": []}), use)


def test_a_handshake_server_refuses_the_stateless_revision_with_a_way_on(script: Callable, run: Callable) -> None:
    with pytest.raises(ServerDidNotStart) as failed:
        run(connect(script("echo", protocol=STATELESS)))
    assert "it refused `server/discover`: error -32601" in failed.value.message
    assert failed.value.hint == "it may know only the handshake revisions: leave `protocol:` out, or use `auto`"


def test_a_server_that_does_not_list_the_revision_is_not_spoken_to_in_it(script: Callable, run: Callable) -> None:
    with pytest.raises(ServerDidNotStart) as failed:
        run(connect(script("stateless", "--versions", "2025-11-25", protocol=STATELESS)))
    assert "it does not support 2026-07-28: its `supportedVersions` are `2025-11-25`" in failed.value.message


@pytest.mark.parametrize(
    ("arguments", "stateless"),
    [
        ((), True),
        (("--versions", "2025-11-25,2026-07-28", "--shuts-out-initialize", "--discover-after-initialize"), True),
        (("--versions", "2025-11-25,2026-07-28", "--silent-discover"), False),
        (("--versions", "2025-11-25"), False),
    ],
    ids=["answers", "answers late", "never answers", "answers with old revisions"],
)
def test_auto_finds_the_era(script: Callable, with_session: Callable, arguments: tuple, stateless: bool) -> None:
    """A probe that is not answered soon does not stand in the way of either era."""

    async def use(session: Session) -> None:
        assert session.stateless is stateless
        assert session.protocol_version == (STATELESS if stateless else "2025-11-25")
        assert "result" in (await session.request("tools/list", None, timeout_seconds=30)).answer

    with_session(script("stateless", *arguments, protocol="auto"), use)


def test_auto_falls_back_at_once_on_a_server_that_knows_no_discover(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        assert session.protocol_version == "2025-11-25"
        assert sent(session)[:2] == ["server/discover", "initialize"]

    with_session(script("echo", protocol="auto"), use)


def test_auto_starts_a_server_again_that_ended_at_the_probe(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        assert session.protocol_version == "2025-11-25"
        assert "result" in (await session.request("tools/list", None, timeout_seconds=30)).answer
        (remark,) = session.remarks.texts
        assert "ended when it got `server/discover`" in remark

    with_session(script("stateless", "--versions", "2025-11-25", "--exits-on-discover", protocol="auto"), use)


def test_a_server_that_speaks_only_the_stateless_revision_is_found_by_default(
    script: Callable, with_session: Callable
) -> None:
    """`server/discover` is sent after `initialize` was refused as unsupported."""

    async def use(session: Session) -> None:
        assert session.stateless
        assert sent(session) == ["initialize", "server/discover"]
        assert "refused `initialize`" in session.remarks.texts[0]

    with_session(script("stateless"), use)


def test_a_request_for_input_is_answered_and_the_call_made_again(script: Callable, with_session: Callable) -> None:
    """SEP-2322; the state goes back as it came, and a bare accept takes the defaults."""

    async def use(session: Session) -> None:
        exchange = await called(session, "ask", {"kind": "elicitation", "rounds": 2})
        assert told(exchange) == {"a": {"action": "accept", "content": {"count": 3}}}
        assert [request["method"] for request in session.server_messages.requests] == ["elicitation/create"] * 2
        assert exchange.params == {"name": "ask", "arguments": {"kind": "elicitation", "rounds": 2}}

    with_session(script("stateless", protocol=STATELESS, client={"elicitation": "accept"}), use)


def test_a_request_for_input_that_nobody_declared_is_the_answer(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        result = (await called(session, "ask", {"kind": "sampling"})).answer["result"]
        assert result["resultType"] == "input_required"

    with_session(script("stateless", protocol=STATELESS, client={"elicitation": "accept"}), use)


def test_a_server_that_asks_without_end_is_asked_ten_times_again(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        result = (await called(session, "ask", {"kind": "roots", "rounds": 1000})).answer["result"]
        assert result["requestState"] == "11"

    with_session(script("stateless", protocol=STATELESS, client={"roots": []}), use)


def test_a_result_that_only_wants_to_be_asked_again_is(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        exchange = await called(session, "wait_for_state")
        assert exchange.answer["result"]["content"][0]["text"] == "came 2 times"

    with_session(script("stateless", protocol=STATELESS), use)


def test_a_stateless_call_that_is_not_answered_is_cancelled_on_the_pipe(
    script: Callable, with_session: Callable
) -> None:
    async def use(session: Session) -> None:
        with pytest.raises(CallTimeout, match=r'did not answer "tools/call" within 200 ms'):
            await session.request("tools/call", {"name": "slow"}, timeout_seconds=0.2)
        assert sent(session)[-1] == "notifications/cancelled"
        assert told(await called(session, "seen"))

    with_session(script("stateless", protocol=STATELESS), use)


def test_a_stateless_server_is_asked_for_its_notifications_in_one_standing_request(
    script: Callable, with_session: Callable
) -> None:
    """MCP 2026-07-28, subscriptions/listen."""

    async def use(session: Session) -> None:
        before = len(session.server_messages.notifications)
        await called(session, "hear")
        heard = [message["method"] for message in session.server_messages.notifications[before:]]
        assert heard == ["notifications/tools/list_changed", "notifications/resources/updated"]
        assert session.remarks.texts == []

    client = {"subscriptions": ["memo://today"], "list_changed": True}
    with_session(script("stateless", protocol=STATELESS, client=client), use)


def test_a_refused_subscription_is_a_remark(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        assert told(await called(session, "seen"))
        (remark,) = session.remarks.texts
        assert "refused `subscriptions/listen`: error -32601" in remark

    with_session(script("stateless", "--no-listening", protocol=STATELESS, client={"list_changed": True}), use)


def test_the_log_level_goes_with_every_stateless_request(script: Callable, with_session: Callable) -> None:
    async def use(session: Session) -> None:
        await called(session, "log")
        assert session.server_messages.notifications[-1]["params"] == {"level": "warning", "data": "as you wished"}

    with_session(script("stateless", protocol=STATELESS, client={"log_level": "warning"}), use)


@pytest.mark.usefixtures("public_python_servers")
def test_the_sdk_is_spoken_to_in_both_eras(run: Callable) -> None:
    """Somebody else's reading of the specification."""
    import os
    import sys
    from pathlib import Path

    from mcptest_engine.servers.spec import ServerSpec

    server = Path(__file__).resolve().parents[1] / "servers" / "sdk_server.py"
    env = {"PATH": os.environ["PATH"]}

    async def both() -> list[Any]:
        sums = []
        for protocol in ("auto", "2025-06-18"):
            spec = ServerSpec(
                name="sdk",
                command=(sys.executable, str(server)),
                env=env,
                protocol=protocol,
                connect_timeout_seconds=60,
            )
            session = await connect(spec)
            try:
                exchange = await called(session, "add", {"a": 2, "b": 3})
                sums.append((session.protocol_version, exchange.answer["result"]["content"][0]["text"]))
            finally:
                await session.close()
        return sums

    assert run(both()) == [(STATELESS, "5"), ("2025-06-18", "5")]
